//! The scheduler and the retransmissions of a cellular base station: they make packets late, but keep their order and
//! lose none.
//!
//! - Packets travel in transport blocks. One block is sent in each transmission time interval (TTI), and what is in it
//!   arrives when the interval is over.
//! - A terminal without a grant must ask for one: its packet waits for the next opportunity to send a scheduling request, and
//!   then for the grant (3GPP TS 36.321 section 5.4.4). While packets wait, grants follow each other.
//! - A block that is not decoded is sent again one HARQ round trip later, up to a limit; after that, radio link control in
//!   acknowledged mode (RLC AM) sends it again once the receiver has reported it missing (3GPP TS 36.322 section 5.2). Blocks
//!   are passed on in order, so all that were sent behind it wait.

use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::varying::VaryingError;
use serde::{Deserialize, Serialize};

/// The scheduler and the retransmissions of a cellular link. In JSON: `{"tti_ns": 1000000, "block_error": 0.1, "harq_ns":
/// 8000000, "harq_limit": 3, "rlc_ns": 40000000}`. What is left out is not there.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cellular {
    /// The transmission time interval. Intervals are counted from the start of the run.
    #[serde(rename = "tti_ns")]
    pub tti: Span,
    /// The distance of two opportunities to ask for a grant.
    #[serde(rename = "request_period_ns")]
    pub request_period: Span,
    /// The time from a request to the first transmission.
    #[serde(rename = "grant_ns")]
    pub grant: Span,
    /// The probability that a transmission of a block is not decoded.
    pub block_error: f64,
    /// The time from a transmission of a block to the next one.
    #[serde(rename = "harq_ns")]
    pub harq: Span,
    /// How often a block is sent again before RLC must do so.
    pub harq_limit: u32,
    /// The time that RLC takes until the block is sent anew, from its last transmission.
    #[serde(rename = "rlc_ns")]
    pub rlc: Span,
}

/// The shortest interval: a slot at a subcarrier spacing of 240 kHz (3GPP TS 38.211 section 4.3.2).
const SHORTEST: Span = Span::from_nanos(62_500);
/// The largest probability: beyond it, most blocks would need RLC.
const WORST: f64 = 0.9;

impl Cellular {
    /// Whether senders must ask for grants.
    pub(crate) fn asks(&self) -> bool {
        !self.grant.is_zero() || !self.request_period.is_zero()
    }

    /// When the transmission of a packet begins that a sender without a grant gets at `at`.
    pub(crate) fn granted(&self, at: Time) -> Time {
        let period = self.request_period.as_nanos().max(1);
        Time::from_nanos(at.as_nanos().checked_next_multiple_of(period).unwrap_or(u64::MAX)) + self.grant
    }

    /// How much later than its first transmission a block is decoded. `again` is told how much later it is sent again, each time.
    pub(crate) fn late(&self, dice: &mut Stream, mut again: impl FnMut(Span)) -> Span {
        let Cellular { block_error, harq, harq_limit, rlc, .. } = *self;
        let mut late = Span::ZERO;
        if block_error <= 0.0 {
            return late;
        }
        for _ in 0..ROUNDS {
            for retransmission in 0..=u64::from(harq_limit) {
                if !dice.chance(block_error) {
                    return late + harq * retransmission;
                }
                if retransmission < u64::from(harq_limit) {
                    again(late + harq * (retransmission + 1));
                }
            }
            late += harq * u64::from(harq_limit) + rlc;
            again(late);
        }
        late
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    /// With the field, and what would be right.
    pub fn check(&self) -> Result<(), VaryingError> {
        let wrong = |field: &'static str, message: &str| Err(VaryingError::new(field, message));
        if !self.tti.is_zero() && self.tti < SHORTEST {
            return wrong("cellular.tti", "it is shorter than any slot: give at least 62500ns, such as \"1ms\"");
        }
        if !(0.0..=WORST).contains(&self.block_error) {
            return wrong("cellular.block_error", "give a probability from 0% to 90%");
        }
        if self.block_error > 0.0 && self.tti.is_zero() {
            return wrong("cellular.tti", "blocks need an interval: give one, such as \"1ms\"");
        }
        if self.block_error > 0.0 && self.harq.is_zero() {
            return wrong("cellular.harq", "a block is sent again after some time: give it, such as \"8ms\"");
        }
        if self.block_error > 0.0 && self.rlc.is_zero() {
            return wrong("cellular.rlc", "RLC sends a block again after some time: give it, such as \"40ms\"");
        }
        Ok(())
    }
}

/// The most blocks of one packet whose fate is drawn: the last ones. Those before are long decoded.
const DRAWN: u64 = 1000;
/// The most times that RLC sends a block again (maxRetxThreshold, 3GPP TS 36.331: up to 32).
const ROUNDS: u64 = 32;

/// The blocks of a running link.
pub(super) struct Blocks {
    config: Cellular,
    stream: Stream,
    /// The first block whose fate was not drawn.
    next: u64,
    /// When all blocks before it were passed on.
    complete: Time,
}

impl Blocks {
    pub(super) fn new(config: Cellular, stream: Stream) -> Blocks {
        Blocks { config, stream, next: 0, complete: Time::ZERO }
    }

    /// When a packet that is sent from `start` to `out` is passed on.
    pub(super) fn pass_on(&mut self, start: Time, out: Time) -> Time {
        let tti = self.config.tti.as_nanos();
        if tti == 0 {
            return out;
        }
        // What ends with an interval belongs to it.
        let (first, last) = (start.as_nanos() / tti, (out.as_nanos().max(1) - 1) / tti);
        let first = first.min(last).max(last.saturating_sub(DRAWN - 1)).max(self.next);
        for block in first..=last {
            let late = self.config.late(&mut self.stream, |_| {});
            let decoded = Time::from_nanos((block + 1).saturating_mul(tti)) + late;
            self.complete = self.complete.max(decoded);
        }
        self.next = self.next.max(last + 1);
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    const LTE: Cellular = Cellular {
        tti: Span::from_millis(1),
        request_period: Span::from_millis(10),
        grant: Span::from_millis(8),
        block_error: 0.1,
        harq: Span::from_millis(8),
        harq_limit: 3,
        rlc: Span::from_millis(40),
    };

    fn ms(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn packets_arrive_when_their_block_does() {
        let mut blocks = Blocks::new(Cellular { block_error: 0.0, ..LTE }, Streams::new(1, 0).named("harq"));
        let ends =
            [(100, 200), (200, 900), (900, 1000), (1000, 1001), (5500, 8300)].map(|(start, out)| (ms(start), ms(out)));
        let passed = ends.map(|(start, out)| blocks.pass_on(start, out));
        assert_eq!(passed, [1000, 1000, 1000, 2000, 9000].map(ms));
    }

    #[test]
    fn a_terminal_without_a_grant_asks_for_one() {
        assert_eq!([0, 1, 10_000].map(|at| LTE.granted(ms(at))), [8000, 18_000, 18_000].map(ms));
    }

    /// A block is late by one HARQ round trip with probability 0.1 · 0.9, by two with 0.01 · 0.9, and so on.
    #[test]
    fn block_errors_delay_in_steps() {
        let mut dice = Streams::new(1, 0).named("harq");
        let mut seen = [0u32; 5];
        for _ in 0..100_000 {
            let late = LTE.late(&mut dice, |_| {}).as_nanos() / 1_000_000;
            assert!(late.is_multiple_of(8), "{late} ms");
            seen[(late / 8).min(4) as usize] += 1;
        }
        for (steps, expected) in [(0, 90_000.0), (1, 9000.0), (2, 900.0), (3, 90.0)] {
            let off = (f64::from(seen[steps]) - expected) / f64::sqrt(expected);
            assert!(off.abs() < 4.0, "{steps} steps: {}", seen[steps]);
        }
        // 24 ms of HARQ and 40 of RLC.
        assert!(seen[4] > 0);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_its_field() {
        let field = |config: Cellular| config.check().unwrap_err().field;
        assert_eq!(LTE.check(), Ok(()));
        assert_eq!(field(Cellular { tti: Span::ZERO, ..LTE }), "cellular.tti");
        assert_eq!(field(Cellular { tti: Span::from_nanos(9), ..LTE }), "cellular.tti");
        assert_eq!(field(Cellular { block_error: 0.95, ..LTE }), "cellular.block_error");
        assert_eq!(field(Cellular { harq: Span::ZERO, ..LTE }), "cellular.harq");
        assert_eq!(field(Cellular { rlc: Span::ZERO, ..LTE }), "cellular.rlc");
    }
}
