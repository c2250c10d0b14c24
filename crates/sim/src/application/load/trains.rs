//! Trains of datagrams, each of which follows the answers to the one before.

use super::{Pattern, Round, departure};
use haltere_net::{Rate, Span, Time};

/// Trains of packets. A round is a train.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    /// Packets of a train.
    pub packets: u64,
    /// The rate at which they leave; without it they leave at once.
    pub rate: Option<Rate>,
    /// The time from the last answer to the next train.
    pub gap: Span,
    /// How long an answer is waited for after the last packet or answer.
    pub timeout: Span,
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
