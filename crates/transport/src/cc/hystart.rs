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

    /// An ACK of one more position at this many µs, of a path of 100 ms and in the round that ends at `end`.
    fn at(us: u64, acked_to: u64, end: u64) -> Ack {
        let rtt = Some(Span::from_millis(100));
        ack(|ack| {
            (ack.now, ack.rtt, ack.srtt, ack.min_rtt) = (Time::from_nanos(1000 * us), rtt, rtt, rtt);
            (ack.acked_to, ack.sent_to) = (acked_to, end);
        })
    }

    /// The time from the first ACK of a round, µs, at which a train of ACKs every 500 µs ends slow start, if it does in 200 ms.
    fn train(exit: &mut Exit, view: View) -> Option<u64> {
        let delay = Some(Span::from_millis(100));
        let mut acks = (0..400).map(|i| (500 * i, at(70_000 + 500 * i, 1 + i, 1000)));
        acks.find(|(_, ack)| exit.on_ack(ack, delay, view) == Advice::Exit).map(|(since, _)| since)
    }

    #[test]
    fn a_train_of_close_acks_ends_slow_start_once_it_is_longer_than_half_the_rtt() {
        // The threshold is half of 100 ms and 1 ms for bursts; a train of just that length is not yet too long.
        assert_eq!(train(&mut Exit::new(SlowStart::HyStart), UNPACED), Some(51_000));
        assert_eq!(train(&mut Exit::new(SlowStart::HyStart), PACED), Some(101_500), "paced, the whole RTT");
        let of = |window| train(&mut Exit::new(SlowStart::HyStart), View { window, ..UNPACED });
        assert_eq!(of(LOW_WINDOW * MSS - 1), None, "the window is small");
        assert!(of(LOW_WINDOW * MSS).is_some());
        let mut exit = Exit::new(SlowStart::HyStart);
        assert_eq!(
            (train(&mut exit, UNPACED).is_some(), train(&mut exit, UNPACED)),
            (true, None),
            "it is advised once"
        );
        exit.restart();
        assert!(train(&mut exit, UNPACED).is_some(), "a slow start that restarts is watched again");
    }

    #[test]
    fn acks_with_two_milliseconds_between_them_are_a_train_and_with_more_they_are_not() {
        let ends = |gap: u64| {
            let mut exit = Exit::new(SlowStart::HyStart);
            (0..100)
                .any(|i| exit.on_ack(&at(gap * i, 1 + i, 1000), Some(Span::from_millis(100)), UNPACED) == Advice::Exit)
        };
        assert!(ends(2000) && !ends(2001));
    }

    #[test]
    fn the_first_round_begins_with_the_connection_and_the_next_with_the_first_ack_of_data() {
        let delay = Some(Span::from_millis(100));
        // ACKs of nothing yet: the train is as old as the connection.
        let mut exit = Exit::new(SlowStart::HyStart);
        let advice: Vec<_> = (1..=52).map(|ms| exit.on_ack(&at(1000 * ms, 0, 1000), delay, UNPACED)).collect();
        assert_eq!(advice.iter().position(|a| *a == Advice::Exit), Some(50), "51 ms after the start");
        // The first ACK comes more than 2 ms after the start and is of no train.
        let mut exit = Exit::new(SlowStart::HyStart);
        assert!((5..=99).all(|ms| exit.on_ack(&at(1000 * ms, 0, 1000), delay, UNPACED) == Advice::Grow));
        // A round lasts until more is acknowledged than was sent when it began: its train is then as long.
        let mut exit = Exit::new(SlowStart::HyStart);
        let advice = (0..=60).map(|ms| exit.on_ack(&at(200_000 + 1000 * ms, (1 + ms).min(30), 30), delay, UNPACED));
        assert_eq!(advice.into_iter().position(|a| a == Advice::Exit), Some(51));
        let mut exit = Exit::new(SlowStart::HyStart);
        let advice = (0..=60).map(|ms| exit.on_ack(&at(200_000 + 1000 * ms, 1 + ms, 30), delay, UNPACED));
        assert_eq!(advice.into_iter().position(|a| a == Advice::Exit), None, "the second round begins after 30 ms");
    }

    #[test]
    fn the_ninth_rtt_of_a_round_is_the_first_to_be_judged_and_must_be_above_the_threshold() {
        let exits = |rtt_us: u64| {
            let mut exit = Exit::new(SlowStart::HyStart);
            (0..20).position(|i| {
                let risen = Ack { rtt: Some(Span::from_micros(rtt_us)), ..at(3000 * i, 1 + i, 1000) };
                exit.on_ack(&risen, Some(Span::from_millis(100)), UNPACED) == Advice::Exit
            })
        };
        assert_eq!((exits(112_501), exits(112_500)), (Some(8), None));
    }

    #[test]
    fn bursts_widen_a_train_by_four_super_segments_at_twice_the_window_per_rtt() {
        let cushion = |window, srtt| burst_cushion(&Ack { srtt, ..at(0, 1, 1) }, View { window, ..UNPACED });
        let ms = Span::from_millis;
        // 262 144 bytes at 2 × 512 MiB in 1 ms.
        assert_eq!(cushion(512 << 20, Some(ms(1))), Span::from_nanos(244));
        assert_eq!(cushion(100 * MSS, Some(ms(100))), ms(1), "never by more than 1 ms");
        assert_eq!(cushion(100 * MSS, None), Span::ZERO);
    }

    #[test]
    fn hystart_plus_plus_judges_a_round_from_its_eighth_rtt_on() {
        let mut exit = Exit::new(SlowStart::HyStartPlusPlus);
        let mut feed = |i: u64, rtt_ms: u64, end: u64| {
            exit.on_ack(&Ack { rtt: Some(Span::from_millis(rtt_ms)), ..at(3000 * i, 1 + i, end) }, None, PACED)
        };
        for i in 0..20 {
            assert_eq!(feed(i, 100, 20), Advice::Grow);
        }
        let second: Vec<_> = (20..30).map(|i| feed(i, 120, 40)).collect();
        assert_eq!(second.iter().position(|a| *a == Advice::GrowSlowly(4)), Some(7));
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
