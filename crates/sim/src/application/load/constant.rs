//! Datagrams at a constant rate.

use super::{Pattern, Round, departure};
use haltere_net::{Rate, Time};

/// Datagrams at a constant rate. The one round has no end.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub Rate);

impl Pattern for Constant {
    fn is_over(&self, _: &Round) -> bool {
        false
    }

    fn next(&mut self, round: &Round, _: Time, bytes: u32) -> Time {
        departure(round.since, round.sent, bytes, self.0)
    }
}
