//! Trains of datagrams, each of which follows the answers to the one before.

use super::{Fields, LoadKind, PAYLOAD, Pattern, Round, Shape, Shapes, Told, departure};
use crate::scenario::ScenarioError;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
use std::sync::Arc;

/// The largest number of packets of a train: 128 bytes of memory each, if they leave at once.
const MAX_PACKETS: u64 = 10_000_000;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "trains",
        summary: "A number of UDP datagrams back to back. Each is answered; the next train follows the answers.",
        reference: "docs/how-to/probes.md",
    },
    fields: &["size", "rate", "packets", "answer", "timeout", "gap", "count"],
    shapes,
};

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let given = fields.given;
    let payload = fields.payload("size", given.size, PAYLOAD)?;
    let packets = fields.needs("packets", given.packets)?;
    if !(1..=MAX_PACKETS).contains(&packets) {
        let message = format!("{packets} packets: give a number from 1 to {MAX_PACKETS}");
        return Err(fields.error("packets", message));
    }
    let trains = Trains {
        payload,
        packets,
        rate: given.rate.map(|q| q.0),
        answer: fields.payload("answer", given.answer, 64)?,
        timeout: fields.time("timeout", given.timeout, Span::from_secs(5))?,
        gap: fields.time("gap", given.gap, Span::from_secs(1))?,
    };
    Ok((Arc::new(trains), None))
}

/// Trains of packets. A round is a train.
#[derive(Clone, Copy, Debug)]
struct Trains {
    payload: u32,
    packets: u64,
    /// The rate at which they leave; without it they leave at once.
    rate: Option<Rate>,
    answer: u32,
    /// How long an answer is waited for after the last packet or answer.
    timeout: Span,
    /// The time from the last answer to the next train.
    gap: Span,
}

impl Shape for Trains {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn answer(&self) -> Option<u32> {
        Some(self.answer)
    }

    fn pattern(&self, _: &Stream) -> Box<dyn Pattern> {
        Box::new(*self)
    }

    fn told(&self) -> Told {
        Told { rate: self.rate, packets: Some(self.packets), gap: self.gap, timeout: self.timeout }
    }
}

impl Pattern for Trains {
    fn is_over(&self, round: &Round) -> bool {
        round.sent == self.packets
    }

    fn next(&mut self, round: &Round, now: Time, bytes: u32) -> Time {
        if round.sent == self.packets {
            return now + self.timeout;
        }
        self.rate.map_or(now, |rate| departure(round.since, round.sent, bytes, rate))
    }

    fn on_answer(&mut self, round: &Round, now: Time) -> Option<Time> {
        // Nothing more is to come after the last answer.
        (round.sent == self.packets).then(|| match (round.answered == round.sent, round.last) {
            (false, _) => now + self.timeout,
            (true, false) => now + self.gap,
            (true, true) => now,
        })
    }
}
