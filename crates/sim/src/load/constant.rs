//! Datagrams at a constant rate.

use super::{Fields, LoadKind, PAYLOAD, Pattern, Round, Shape, Shapes, Told, departure};
use crate::scenario::ScenarioError;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Time};
use std::sync::Arc;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "constant",
        summary: "UDP datagrams at a constant rate.",
        reference: "docs/how-to/probes.md",
    },
    fields: &["size", "rate"],
    shapes,
};

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let payload = fields.payload("size", fields.given.size, PAYLOAD)?;
    Ok((Arc::new(Constant { payload, rate: fields.needs("rate", fields.given.rate)?.0 }), None))
}

/// Datagrams at a constant rate. The one round has no end.
#[derive(Clone, Copy, Debug)]
struct Constant {
    payload: u32,
    rate: Rate,
}

impl Shape for Constant {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn pattern(&self, _: &Stream) -> Box<dyn Pattern> {
        Box::new(*self)
    }

    fn told(&self) -> Told {
        Told { rate: Some(self.rate), ..Told::default() }
    }
}

impl Pattern for Constant {
    fn is_over(&self, _: &Round) -> bool {
        false
    }

    fn next(&mut self, round: &Round, _: Time, bytes: u32) -> Time {
        departure(round.since, round.sent, bytes, self.rate)
    }
}
