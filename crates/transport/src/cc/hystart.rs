//! Early exits from slow start: HyStart as Linux has it, and HyStart++.
//!
//! HyStart: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011; the thresholds
//! are those of Linux (`tcp_cubic.c`). HyStart++: RFC 9406.

use super::{Ack, SlowStart};
use haltere_net::{Rate, Span, Time};

/// HyStart does not act below this many segments.
const LOW_WINDOW: u64 = 16;
/// RTT samples a round needs before its minimum counts (RFC 9406: `N_RTT_SAMPLE`).
const MIN_SAMPLES: u32 = 8;
/// ACKs with less time than this between them belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// The delay threshold's bounds (RFC 9406: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const THRESHOLD_MIN: Span = Span::from_millis(4);
const THRESHOLD_MAX: Span = Span::from_millis(16);
/// RFC 9406: `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`.
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// RFC 9406: `L`, segments an ACK may add without pacing.
const UNPACED_LIMIT: u64 = 8;
/// The largest super-segment a host hands to its network card. It bounds the bursts that widen an ACK train.
const SUPER_SEGMENT: u64 = 65_536;

/// The advice to slow start on an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Advice {
    /// Grow by what was delivered.
    Grow,
    /// Grow by a fraction of it: 1 / the number.
    GrowSlowly(u64),
    /// Grow by what was delivered, but by no more than this an ACK.
    GrowAtMost(u64),
    /// Leave slow start at the present window.
    Exit,
}

/// Slow start's early exit.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    Standard,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
}

/// The state that the exits examine besides the ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub window: u64,
    pub mss: u64,
    pub paced: bool,
}

impl Exit {
    pub(super) fn new(kind: SlowStart) -> Exit {
        match kind {
            SlowStart::Standard => Exit::Standard,
            SlowStart::HyStart => Exit::HyStart(HyStart::default()),
            SlowStart::HyStartPlusPlus => Exit::PlusPlus(HyStartPlusPlus::default()),
        }
    }

    /// Processes an ACK that arrived in slow start.
    pub(super) fn on_ack(&mut self, ack: &Ack, delay_min: Option<Span>, view: View) -> Advice {
        match self {
            Exit::Standard => Advice::Grow,
            Exit::HyStart(h) => h.on_ack(ack, delay_min, view),
            Exit::PlusPlus(h) => h.on_ack(ack, view),
        }
    }

    /// Slow start restarts after a timeout.
    pub(super) fn restart(&mut self) {
        match self {
            Exit::Standard => {}
            Exit::HyStart(h) => *h = HyStart::default(),
            // RFC 9406 section 4.3: HyStart++ is for the initial slow start only.
            Exit::PlusPlus(h) => h.done = true,
        }
    }
}

/// One round of packets: it begins at a position in the sequence and ends when the sender's position at that time is
/// acknowledged.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Time,
    end: u64,
    min_rtt: Option<Span>,
    samples: u32,
    last_ack: Time,
}

impl Round {
    fn at(ack: &Ack) -> Round {
        Round { start: ack.now, end: ack.sent_to, min_rtt: None, samples: 0, last_ack: ack.now }
    }
}

/// Linux's HyStart: leaves slow start when a train of close ACKs spans more than half the minimum RTT, or when the RTT
/// has risen by an eighth.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    round: Option<Round>,
    found: bool,
}

impl HyStart {
    fn on_ack(&mut self, ack: &Ack, delay_min: Option<Span>, view: View) -> Advice {
        let (Some(rtt), Some(delay_min)) = (ack.rtt, delay_min) else { return Advice::Grow };
        if self.found {
            return Advice::Grow;
        }
        let round = match &mut self.round {
            // The first round begins with the connection, before anything was sent.
            None => self.round.insert(Round { start: Time::ZERO, last_ack: Time::ZERO, end: 0, ..Round::at(ack) }),
            Some(round) => round,
        };
        if ack.acked_to > round.end {
            *round = Round::at(ack);
        }
        if view.window < LOW_WINDOW * view.mss {
            return Advice::Grow;
        }
        if ack.now.since(round.last_ack) <= TRAIN_GAP {
            round.last_ack = ack.now;
            let mut threshold = delay_min + burst_cushion(ack, view);
            if !view.paced {
                threshold = threshold / 2;
            }
            self.found |= ack.now.since(round.start) > threshold;
        }
        let min = round.min_rtt.map_or(rtt, |m| m.min(rtt));
        round.min_rtt = Some(min);
        if round.samples < MIN_SAMPLES {
            round.samples += 1;
        } else {
            self.found |= min > delay_min + delay_threshold(delay_min);
        }
        if self.found { Advice::Exit } else { Advice::Grow }
    }
}

/// An eighth of the base RTT, between 4 and 16 ms.
fn delay_threshold(base: Span) -> Span {
    (base / 8).clamp(THRESHOLD_MIN, THRESHOLD_MAX)
}

/// The time by which bursts of super-segments widen a train, at twice the window per RTT; at most 1 ms.
fn burst_cushion(ack: &Ack, view: View) -> Span {
    let rate = ack.srtt.and_then(|srtt| Rate::of(2 * view.window, srtt));
    rate.map_or(Span::ZERO, |r| r.time_for(4 * SUPER_SEGMENT).min(Span::from_millis(1)))
}

/// HyStart++ (RFC 9406 section 4.2).
#[derive(Clone, Debug, Default)]
pub(super) struct HyStartPlusPlus {
    round: Option<Round>,
    last_round_min: Option<Span>,
    css: Option<Css>,
    done: bool,
}

/// Conservative slow start. It begins when the RTT rises. It ends when the rise proves false, or after some rounds.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline: Span,
    rounds_left: u32,
}

impl HyStartPlusPlus {
    fn on_ack(&mut self, ack: &Ack, view: View) -> Advice {
        if self.done {
            return Advice::Grow;
        }
        let ended = self.round.is_none_or(|r| ack.acked_to > r.end);
        if ended {
            self.last_round_min = self.round.and_then(|r| r.min_rtt);
            self.round = Some(Round::at(ack));
            if let Some(css) = &mut self.css {
                css.rounds_left -= 1;
                if css.rounds_left == 0 {
                    self.done = true;
                    return Advice::Exit;
                }
            }
        }
        if let (Some(round), Some(rtt)) = (&mut self.round, ack.rtt) {
            round.min_rtt = Some(round.min_rtt.map_or(rtt, |m| m.min(rtt)));
            round.samples += 1;
        }
        self.judge();
        match self.css {
            Some(_) => Advice::GrowSlowly(CSS_GROWTH_DIVISOR),
            None if view.paced => Advice::Grow,
            None => Advice::GrowAtMost(UNPACED_LIMIT * view.mss),
        }
    }

    fn judge(&mut self) {
        let Some(round) = self.round.filter(|r| r.samples >= MIN_SAMPLES) else { return };
        let Some(min) = round.min_rtt else { return };
        match (self.css, self.last_round_min) {
            (Some(css), _) if min < css.baseline => self.css = None,
            (None, Some(last)) if min >= last + delay_threshold(last) => {
                self.css = Some(Css { baseline: min, rounds_left: CSS_ROUNDS });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack};

    const UNPACED: View = View { window: 100 * MSS, mss: MSS, paced: false };
    const PACED: View = View { paced: true, ..UNPACED };
    /// ACKs in a round.
    const SAMPLES: u64 = 20;

    /// Feeds a round of ACKs with each of these RTTs, ms. Returns each round's last advice, or its exit.
    fn rounds(exit: &mut Exit, view: View, rtts: &[u64]) -> Vec<Advice> {
        let (mut advice, mut position, mut now) = (Vec::new(), 0, Time::ZERO);
        let base = Span::from_millis(rtts[0]);
        for &rtt in rtts {
            let (rtt, mut last, end) = (Span::from_millis(rtt), Advice::Grow, position + SAMPLES);
            now += rtt;
            while position < end {
                position += 1;
                now += Span::from_millis(3);
                let ack = ack(|ack| {
                    (ack.now, ack.rtt, ack.srtt, ack.min_rtt) = (now, Some(rtt), Some(rtt), Some(base));
                    (ack.acked_to, ack.sent_to) = (position, end);
                });
                let new = exit.on_ack(&ack, Some(base), view);
                // An exit is advised once, within a round.
                last = if last == Advice::Exit { last } else { new };
            }
            advice.push(last);
        }
        advice
    }

    #[test]
    fn hystart_leaves_when_the_rtt_of_a_round_has_risen_by_an_eighth() {
        let advice = rounds(&mut Exit::new(SlowStart::HyStart), UNPACED, &[100, 100, 111, 114]);
        assert_eq!(advice, [Advice::Grow, Advice::Grow, Advice::Grow, Advice::Exit]);
        // At 20 ms the threshold is 4 ms, not an eighth.
        let advice = rounds(&mut Exit::new(SlowStart::HyStart), UNPACED, &[20, 23, 25]);
        assert_eq!(advice, [Advice::Grow, Advice::Grow, Advice::Exit]);
    }

    #[test]
    fn hystart_plus_plus_slows_down_for_five_rounds_and_then_leaves() {
        let slow = Advice::GrowSlowly(4);
        let advice = rounds(&mut Exit::new(SlowStart::HyStartPlusPlus), PACED, &[100, 100, 120, 120, 120, 120, 120]);
        assert_eq!(advice[..2], [Advice::Grow, Advice::Grow]);
        assert_eq!(advice[2..], [slow; 5]);
        let mut exit = Exit::new(SlowStart::HyStartPlusPlus);
        let all = rounds(&mut exit, PACED, &[100, 100, 120, 120, 120, 120, 120, 120, 120]);
        assert_eq!(all.last(), Some(&Advice::Grow), "after the exit nothing is advised any more");
    }

    #[test]
    fn hystart_plus_plus_resumes_when_the_rise_proves_false_and_is_bounded_without_pacing() {
        let advice = rounds(&mut Exit::new(SlowStart::HyStartPlusPlus), UNPACED, &[100, 100, 120, 105]);
        let bounded = Advice::GrowAtMost(8 * MSS);
        assert_eq!(advice, [bounded, bounded, Advice::GrowSlowly(4), bounded]);
    }
}
