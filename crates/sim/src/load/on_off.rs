//! Datagrams at a constant rate in some periods, and none between them.

use super::{Fields, LoadKind, PAYLOAD, Pattern, Periods, Round, Shape, Shapes, Told, departure};
use crate::scenario::ScenarioError;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
use std::sync::Arc;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "on-off",
        summary: "UDP datagrams at a constant rate in some periods, and none between them.",
        reference: "docs/how-to/probes.md",
    },
    fields: &["size", "rate", "on", "off", "periods"],
    shapes,
};

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let given = fields.given;
    let payload = fields.payload("size", given.size, PAYLOAD)?;
    let (rate, on) = (fields.needs("rate", given.rate)?.0, fields.needs("on", given.on)?);
    let means = [fields.time("on", Some(on), Span::from_secs(1))?, fields.needs("off", given.off)?.0];
    Ok((Arc::new(OnOff { payload, rate, means, periods: given.periods.unwrap_or(Periods::Exponential) }), None))
}

/// Periods with and without packets.
#[derive(Clone, Copy, Debug)]
struct OnOff {
    payload: u32,
    rate: Rate,
    /// The mean lengths of periods with packets and without.
    means: [Span; 2],
    periods: Periods,
}

impl Shape for OnOff {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn pattern(&self, stream: &Stream) -> Box<dyn Pattern> {
        Box::new(Running { shape: *self, drawn: stream.clone(), until: Time::NEVER })
    }

    fn told(&self) -> Told {
        Told { rate: Some(self.rate), ..Told::default() }
    }

    fn periods(&self, stream: &Stream) -> Box<dyn Iterator<Item = Span>> {
        let mut running = Running { shape: *self, drawn: stream.clone(), until: Time::NEVER };
        Box::new([0, 1].into_iter().cycle().map(move |which| running.length(which)))
    }
}

/// The load as it runs. A round is a period with packets and the one without after it.
#[derive(Clone, Debug)]
struct Running {
    shape: OnOff,
    drawn: Stream,
    /// The end of the present period with packets.
    until: Time,
}

impl Running {
    /// The length of the next period: with packets (0) or without (1).
    fn length(&mut self, which: usize) -> Span {
        let mean = self.shape.means[which];
        match self.shape.periods {
            Periods::Constant => mean,
            Periods::Exponential => Span::from_secs_f64(mean.as_secs_f64() * self.drawn.exponential()),
        }
    }
}

impl Pattern for Running {
    fn begin(&mut self, at: Time) -> Time {
        self.until = at + self.length(0);
        at
    }

    fn is_over(&self, round: &Round) -> bool {
        round.next >= self.until
    }

    fn next(&mut self, round: &Round, _: Time, bytes: u32) -> Time {
        let next = departure(round.since, round.sent, bytes, self.shape.rate);
        if next < self.until { next } else { self.until + self.length(1) }
    }
}
