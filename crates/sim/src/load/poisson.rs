//! Datagrams at random times, independent of each other.

use super::{Fields, LoadKind, PAYLOAD, Pattern, Round, Shape, Shapes, Told, departure};
use crate::scenario::ScenarioError;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
use haltere_transport::datagram::HEADERS;
use std::sync::Arc;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "poisson",
        summary: "UDP datagrams at independent random times: the times between them are exponentially distributed.",
        reference: "F. Baccelli, S. Machiraju, D. Veitch, J. Bolot: The Role of PASTA in Network Measurement, SIGCOMM 2006",
    },
    fields: &["size", "rate"],
    shapes,
};

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let payload = fields.payload("size", fields.given.size, PAYLOAD)?;
    Ok((Arc::new(Poisson { payload, rate: fields.needs("rate", fields.given.rate)?.0 }), None))
}

/// Packets that arrive as a Poisson process.
#[derive(Clone, Copy, Debug)]
struct Poisson {
    payload: u32,
    /// The mean rate.
    rate: Rate,
}

impl Poisson {
    /// The time from a packet to the next.
    fn gap(self, drawn: &mut Stream) -> Span {
        let mean = departure(Time::ZERO, 1, self.payload + HEADERS, self.rate).since(Time::ZERO);
        // Two packets at one time would be one arrival.
        Span::from_secs_f64(mean.as_secs_f64() * drawn.exponential()).max(Span::from_nanos(1))
    }
}

impl Shape for Poisson {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn pattern(&self, stream: &Stream) -> Box<dyn Pattern> {
        Box::new(Running { shape: *self, drawn: stream.clone() })
    }

    fn told(&self) -> Told {
        Told { rate: Some(self.rate), ..Told::default() }
    }

    /// A packet leaves at the beginning of each period with packets, which is over before the second would leave.
    fn periods(&self, stream: &Stream) -> Box<dyn Iterator<Item = Span>> {
        let (shape, mut drawn, one) = (*self, stream.clone(), Span::from_nanos(1));
        Box::new(std::iter::repeat_with(move || [one, shape.gap(&mut drawn) - one]).flatten())
    }
}

/// The load as it runs. A round is a packet and the time until the next.
#[derive(Clone, Debug)]
struct Running {
    shape: Poisson,
    drawn: Stream,
}

impl Pattern for Running {
    fn is_over(&self, round: &Round) -> bool {
        round.sent == 1
    }

    fn next(&mut self, round: &Round, _: Time, _: u32) -> Time {
        round.since + self.shape.gap(&mut self.drawn)
    }
}
