//! PIE's control of one queue (RFC 8033), shared by `pie` and `fq_pie`.
//!
//! It is the algorithm of Linux (`net/sched/sch_pie.c`, `include/net/pie.h`). Where RFC and kernel differ, Linux is
//! followed:
//! - The delay is that of the last packet that left, or is estimated by the departure rate (RFC 8033 sections 4.3 and 5.2).
//! - The burst allowance runs down with the time between departures, not by a period an update (section 4.4).
//! - Drops are derandomized (section 5.4) always.
//! - ECN-capable packets are marked instead of dropped while the probability is at most 10 % (section 5.1).
//! - The probability can grow beyond 1, at which the RFC ends it (section 4.2): Linux has no bound but the overflow of its
//!   number at 256, at which it returns to 1. While it is above 1 every packet is dropped, and it takes longer to fall.
//! - Updates happen at ticks of 4 ms, as with timers at HZ = 250: a period of 15 ms takes 20 ms, since timers that are set
//!   for 4 ticks fire at the edge after (`kernel/time/timer.c`, `calc_index`). The first update comes a period after the
//!   start of the run; in Linux half a second after the discipline was made, usually long before.
//!
//! Updates are made up for when a packet comes or leaves, each at its own time. Nothing that an update depends on changes
//! in between, so it makes no difference when they are made up for.

use super::{DropReason, Fates};
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// The period of a timer at HZ = 250.
const TICK: Span = Span::from_millis(4);

/// The burst that passes without drops (RFC 8033 section 4.4).
const BURST: Span = Span::from_millis(150);

/// The number of bytes over which a departure rate is measured (RFC 8033 section 5.2).
const MEASURED: u64 = 16_384;

/// From this delay on the probability grows by 2 % more an update (RFC 8033 section 4.2).
const LONG: Span = Span::from_millis(250);

/// The probability at which Linux's number overflows: 64 bits of which 56 are the fraction.
const OVERFLOW: f64 = 256.0;

/// The most updates that are made up for one by one. Only a queue from which nothing leaves for minutes has more that
/// change something; those beyond are left out.
const MADE_UP: u64 = 100_000;

/// The parameters of PIE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// The delay to hold.
    pub(super) target: Span,
    /// The period of updates; none if zero.
    pub(super) tupdate: Span,
    /// The gain for the deviation from the target, 1/s.
    pub(super) alpha: f64,
    /// The gain for the change since the last update, 1/s.
    pub(super) beta: f64,
    /// Up to this probability ECN-capable packets are marked; `None` if ECN is off.
    pub(super) ecn: Option<f64>,
    /// Whether the probability is proportional to a packet's length.
    pub(super) bytemode: bool,
    /// Whether the delay is estimated by the departure rate instead of being measured.
    pub(super) dq_rate_estimator: bool,
    /// The length of the greatest packet, bytes.
    pub(super) mtu: u32,
}

/// Sixteenths of 1/s, in which Linux gives `alpha` and `beta`.
pub(super) fn gain(sixteenths: u64) -> f64 {
    sixteenths as f64 / 16.0
}

/// A period as Linux keeps it: in whole ticks, rounded up, and then to the next edge of the timer wheel, whose edges are 1,
/// 8, 64 … ticks apart for times from 0, 63, 504 … ticks. Zero, without updates, stays zero.
pub(super) fn in_ticks(tupdate: Span) -> Span {
    if tupdate.is_zero() {
        return tupdate;
    }
    let ticks = tupdate.as_nanos().div_ceil(TICK.as_nanos());
    let level = (0..8).map(|level| 3 * level).find(|shift| ticks < 63 << shift).unwrap_or(21);
    TICK * (((ticks >> level) + 1) << level)
}

/// The state of PIE for one queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct State {
    /// The delay at the last update or departure.
    delay: Span,
    /// The delay at the update before.
    delay_before: Span,
    /// The rest of the burst allowance.
    burst: Span,
    /// The probability of a drop.
    pub(super) probability: f64,
    /// The sum of probabilities since the last drop (RFC 8033 section 5.4).
    sum: f64,
    /// When the last packet left, or the measurement of the departure rate began.
    left: Option<Time>,
    /// The bytes that have left in this measurement; `None` if there is none.
    counted: Option<u64>,
    /// The average departure rate, bytes/s; 0 if it was not measured yet.
    rate: f64,
    /// The number of updates so far.
    updates: u64,
}

impl Default for State {
    fn default() -> State {
        State {
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            burst: BURST,
            probability: 0.0,
            sum: 0.0,
            left: None,
            counted: None,
            rate: 0.0,
            updates: 0,
        }
    }
}

impl Control {
    /// Makes up for the updates that were due by `now`. `backlog` is what has stood in the queue since the last call,
    /// in bytes.
    #[inline]
    pub(super) fn update_until(&self, state: &mut State, backlog: u64, now: Time) {
        if self.tupdate.is_zero() {
            return;
        }
        let due = now.as_nanos() / self.tupdate.as_nanos();
        if state.updates < due {
            self.make_up(state, backlog, due);
        }
    }

    fn make_up(&self, state: &mut State, backlog: u64, due: u64) {
        let last = due.min(state.updates.saturating_add(MADE_UP));
        while state.updates < last {
            let before = *state;
            self.update(state, backlog);
            state.updates += 1;
            if (State { updates: state.updates, ..before }) == *state {
                break;
            }
        }
        state.updates = due;
    }

    /// An update of the probability (RFC 8033 section 4.2).
    fn update(&self, state: &mut State, backlog: u64) {
        let (delay, before) = if self.dq_rate_estimator {
            state.delay_before = state.delay;
            let estimate = if state.rate > 0.0 { Span::from_secs_f64(backlog as f64 / state.rate) } else { Span::ZERO };
            (estimate, state.delay)
        } else {
            (state.delay, state.delay_before)
        };
        let scale = scale(state.probability);
        let seconds = |a: Span, b: Span| a.as_secs_f64() - b.as_secs_f64();
        let mut change = self.alpha * scale * seconds(delay, self.target) + self.beta * scale * seconds(delay, before);
        // RFC 8033 section 5.5.
        if change > 0.02 && state.probability >= 0.1 {
            change = 0.02;
        }
        if delay > LONG {
            change += 0.02;
        }
        state.probability += change;
        let mut decays = delay.is_zero() && before.is_zero() && backlog == 0;
        if state.probability >= OVERFLOW {
            state.probability = 1.0;
            decays = false;
        }
        state.probability = state.probability.max(0.0);
        if decays {
            state.probability -= state.probability / 64.0;
        }
        state.delay = delay;
        let short = |delay: Span| delay.as_nanos() < self.target.as_nanos() / 2;
        let measured = !self.dq_rate_estimator || state.rate > 0.0;
        if short(state.delay) && short(state.delay_before) && state.probability == 0.0 && measured {
            let State { delay, delay_before, updates, .. } = *state;
            *state = State { delay, delay_before, updates, ..State::default() };
        }
        if !self.dq_rate_estimator {
            state.delay_before = delay;
        }
    }

    /// An arriving packet if it may join its queue, marked or not; otherwise it is dropped. `has_room` says whether it is
    /// within the limit, and `backlog` is what waits in its queue, in bytes.
    #[inline]
    pub(super) fn admit<B>(
        &self,
        state: &mut State,
        (mut packet, has_room): (Packet<B>, bool),
        backlog: u64,
        stream: &mut Stream,
        fates: &mut Fates<'_, B>,
    ) -> Option<Packet<B>> {
        let reason = if !has_room {
            DropReason::QueueFull
        } else if self.hits(state, backlog, packet.len, stream) && !(self.may_mark(state) && fates.mark(&mut packet)) {
            DropReason::Early
        } else {
            return Some(packet);
        };
        // The sum of probabilities starts anew with each drop.
        state.sum = 0.0;
        fates.drop(packet, reason);
        None
    }

    /// Whether an arriving packet is to be dropped or marked (RFC 8033 sections 4.1, 5.4). `backlog` is what waits, in
    /// bytes.
    #[inline]
    pub(super) fn hits(&self, state: &mut State, backlog: u64, len: u32, stream: &mut Stream) -> bool {
        if !state.burst.is_zero() {
            return false;
        }
        if state.delay.as_nanos() < self.target.as_nanos() / 2 && state.probability < 0.2 {
            return false;
        }
        if backlog < 2 * u64::from(self.mtu) {
            return false;
        }
        let mut probability = state.probability;
        if self.bytemode && len <= self.mtu {
            probability *= f64::from(len) / f64::from(self.mtu.max(1));
        }
        state.sum = if probability == 0.0 { 0.0 } else { state.sum + probability };
        if state.sum < 0.85 {
            return false;
        }
        if state.sum >= 8.5 {
            return true;
        }
        let hits = stream.chance(probability);
        if hits {
            state.sum = 0.0;
        }
        hits
    }

    /// Whether a packet that is hit may be marked instead of dropped (RFC 8033 section 5.1).
    pub(super) fn may_mark(&self, state: &State) -> bool {
        self.ecn.is_some_and(|most| state.probability <= most)
    }

    /// A packet of `len` bytes that arrived at `arrived` leaves; `backlog` is what is left, in bytes.
    #[inline]
    pub(super) fn departed(&self, state: &mut State, len: u32, arrived: Time, backlog: u64, now: Time) {
        let elapsed = if self.dq_rate_estimator {
            self.measure(state, len, backlog, now)
        } else {
            state.delay = if backlog == 0 { Span::ZERO } else { now.since(arrived) };
            let elapsed = state.left.map_or(Span::ZERO, |left| now.since(left));
            state.left = Some(now);
            elapsed
        };
        state.burst = state.burst - elapsed;
    }

    /// Measures the departure rate over 16 384 bytes while at least as much waits (RFC 8033 section 5.2). Returns for how
    /// long, if a measurement ends.
    fn measure(&self, state: &mut State, len: u32, backlog: u64, now: Time) -> Span {
        if backlog >= MEASURED && state.counted.is_none() {
            (state.left, state.counted) = (Some(now), Some(0));
        }
        let (Some(counted), Some(began)) = (&mut state.counted, state.left) else { return Span::ZERO };
        *counted += u64::from(len);
        let elapsed = now.since(began);
        if *counted < MEASURED || elapsed.is_zero() {
            return Span::ZERO;
        }
        let rate = *counted as f64 / elapsed.as_secs_f64();
        state.rate = if state.rate == 0.0 { rate } else { state.rate + (rate - state.rate) / 8.0 };
        if backlog < MEASURED {
            state.counted = None;
        } else {
            (state.left, state.counted) = (Some(now), Some(0));
        }
        elapsed
    }
}

/// The factor of both gains at a probability, which makes PIE gentle while it is low (RFC 8033 section 4.2, the table of
/// auto-tuning).
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
#[path = "pie_control_tests.rs"]
mod tests;
