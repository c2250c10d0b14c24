//! Tests of BBR: the effect of single ACKs, fed by hand, and of transfers in a closed loop.

mod transfers;

use super::bandwidth::UNIT;
use super::model::{CYCLE, DRAIN_GAIN};
use super::*;
use crate::recovery::RateSample;
use crate::cc::bench::{Bench, MSS, Path, ack, config};
use haltere_net::Span;
use haltere_net::rng::Streams;

impl Bench<Bbr> {
    fn new(path: Path) -> Bench<Bbr> {
        Bench::with(Bbr::new(config()), path)
    }
}

/// A BBR that is fed ACKs by hand, one per round.
struct Hand {
    cc: Bbr,
    now: Time,
    ack: Ack,
}

const RTT: Span = Span::from_millis(50);

impl Hand {
    fn new() -> Hand {
        let mut cc = Bbr::new(config());
        let now = Time::from_nanos(1_000_000_000);
        cc.on_established(&Established { now, rtt: Some(RTT) });
        let rate = RateSample { delivered: 0, interval: RTT, prior_delivered: 0, lost: 0, in_flight: 0, app_limited: false };
        let ack = ack(|ack| {
            (ack.now, ack.delivered, ack.in_flight, ack.prior_in_flight) = (now, 0, 0, 0);
            (ack.rtt, ack.srtt, ack.min_rtt, ack.rate) = (Some(RTT), Some(RTT), Some(RTT), rate);
        });
        Hand { cc, now, ack }
    }

    /// A round of `segments` segments ends, with an ACK changed by `alter`.
    fn round(&mut self, segments: u64, alter: impl FnOnce(&mut Ack)) {
        self.now += RTT;
        let ack = &mut self.ack;
        ack.rate.prior_delivered = ack.total_delivered;
        ack.now = self.now;
        ack.next_departure = self.now;
        ack.delivered = segments * MSS;
        ack.total_delivered += segments * MSS;
        ack.rate.delivered = segments * MSS;
        let mut altered = *ack;
        alter(&mut altered);
        ack.total_lost += altered.lost;
        altered.total_lost = ack.total_lost;
        self.cc.on_ack(&altered, &[]);
    }

    /// Fills the pipe at 100 segments a round and drains it.
    fn reach_probe_bandwidth(&mut self) {
        for _ in 0..4 {
            self.round(100, |ack| ack.in_flight = 400 * MSS);
        }
        assert_eq!(self.cc.mode, Mode::Drain);
        self.round(100, |_| {});
        assert_eq!(self.cc.mode, Mode::ProbeBandwidth);
    }

    fn segments(&self) -> u64 {
        assert_eq!(self.cc.window() % MSS, 0);
        self.cc.window() / MSS
    }
}

#[test]
fn gains_are_the_kernels_fractions() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
    assert_eq!(CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
}

/// The first pacing rates of two kernel senders (Linux 6.18, MSS 1448), whose handshakes measured these RTTs: ten
/// segments of data an RTT, times the gain, less the margin.
#[test]
fn the_first_pacing_rate_is_the_kernels() {
    for (rtt, rate) in [(50_159, 824_811), (50_116, 825_551)] {
        let mut cc = Bbr::new(config());
        cc.on_established(&Established { now: Time::ZERO, rtt: Some(Span::from_micros(rtt)) });
        assert_eq!(cc.pacing_rate(), Some(Rate::from_bytes_per_sec(rate)));
    }
    // While no RTT is known, a millisecond is assumed. A known RTT counts even though the rate falls.
    let mut hand = Hand::new();
    hand.cc = Bbr::new(config());
    let nominal = hand.cc.pacing_rate();
    hand.round(2, |_| {});
    assert!(nominal > Some(Rate::from_bps(300_000_000)));
    assert!(hand.cc.pacing_rate() < Some(Rate::from_bps(7_000_000)));
}

#[test]
fn startup_ends_after_three_flat_rounds_and_sets_ssthresh() {
    let mut hand = Hand::new();
    let mut rate = 0;
    for n in 4..8 {
        hand.round(1 << n, |ack| ack.in_flight = 400 * MSS);
        assert_eq!(hand.cc.mode, Mode::Startup);
        assert!(n == 4 || hand.cc.pacing + 2 >= 2 * rate);
        rate = hand.cc.pacing;
    }
    // 24 % more counts as no growth; application-limited rounds do not count.
    for _ in 0..2 {
        hand.round(158, |ack| ack.in_flight = 400 * MSS);
        hand.round(158, |ack| {
            ack.in_flight = 400 * MSS;
            ack.rate.app_limited = true;
        });
    }
    assert_eq!((hand.cc.mode, hand.cc.ssthresh()), (Mode::Startup, u64::MAX));
    hand.round(158, |ack| ack.in_flight = 400 * MSS);
    assert_eq!((hand.cc.mode, hand.cc.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    assert_eq!(hand.cc.pacing, hand.cc.max_bandwidth().paced(MSS, DRAIN_GAIN));
    // 158 segments and three super-segments of 8. Each holds what Startup's last pacing rate sends in a millisecond.
    assert_eq!(hand.cc.ssthresh(), (158 + 3 * 8) * MSS);
}

#[test]
fn until_the_pipe_is_full_the_pacing_rate_only_rises() {
    let mut hand = Hand::new();
    hand.round(40, |_| {});
    let rate = hand.cc.pacing;
    for _ in 0..2 {
        // More than ten rounds later the filter has discarded the value. Application-limited rounds do not change the
        // estimator of a full pipe.
        for _ in 0..12 {
            hand.round(10, |ack| ack.rate.app_limited = true);
        }
        hand.round(10, |_| {});
    }
    assert_eq!((hand.cc.mode, hand.cc.pacing), (Mode::Startup, rate));
    assert!(hand.cc.max_bandwidth().paced(MSS, HIGH_GAIN) < rate);
}

#[test]
fn growth_of_a_quarter_keeps_startup_going() {
    let mut hand = Hand::new();
    for n in [16, 20, 25, 32, 40, 50, 63, 79, 99, 124, 155] {
        hand.round(n, |_| {});
        assert_eq!((hand.cc.mode, hand.cc.full_rounds), (Mode::Startup, 0));
    }
}

#[test]
fn drain_ends_when_the_flight_at_the_next_departure_is_a_bdp() {
    let mut hand = Hand::new();
    for _ in 0..4 {
        hand.round(100, |ack| ack.in_flight = 400 * MSS);
    }
    // In Drain: 100 segments and 3 super-segments of 2 at the drained rate.
    let target = hand.cc.flight_at(UNIT);
    assert_eq!(target, 106 * MSS);
    hand.round(100, |ack| ack.in_flight = target + MSS);
    assert_eq!(hand.cc.mode, Mode::Drain);
    // One segment leaves the network in half a millisecond.
    hand.round(100, |ack| {
        ack.in_flight = target + MSS;
        ack.next_departure = ack.now + Span::from_micros(510);
    });
    assert_eq!(hand.cc.mode, Mode::ProbeBandwidth);
}

#[test]
fn cycles_begin_in_every_phase_but_the_draining_one() {
    let mut seen = [0; 8];
    for replication in 0..700 {
        let stream = Streams::new(1, replication).named("bbr");
        let mut hand = Hand::new();
        hand.cc = Bbr::new(Config { stream, ..config() });
        hand.cc.on_established(&Established { now: hand.now, rtt: Some(RTT) });
        hand.reach_probe_bandwidth();
        seen[hand.cc.cycle_index] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!([0, 2, 3, 4, 5, 6, 7].iter().all(|&i| (60..140).contains(&seen[i])), "{seen:?}");
}

#[test]
fn cycles_begin_in_the_phases_that_are_given() {
    let values: &'static [f64] = &[318.0];
    let mut hand = Hand::new();
    hand.cc = Bbr::new(Config { values, ..config() });
    let begin = |_| {
        hand.cc.enter_probe_bandwidth();
        hand.cc.cycle_index
    };
    assert_eq!([1, 2, 3].map(begin), [2, 0, 7]);
    assert!((0..20).any(|_| {
        hand.cc.enter_probe_bandwidth();
        hand.cc.cycle_index != 7
    }));
}

#[test]
fn cruising_paces_a_hundredth_below_the_bandwidth_with_a_window_of_two_bdp() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    while hand.cc.cycle_index < 3 {
        hand.round(100, |_| {});
    }
    let bandwidth = 100 * MSS * 20;
    assert!(hand.cc.pacing.abs_diff(bandwidth * 99 / 100) < 1000, "{}", hand.cc.pacing);
    hand.round(100, |_| {});
    let (cruise, probe) = (hand.cc.flight_at(UNIT), {
        let mut probing = hand.cc.clone();
        probing.cycle_index = 0;
        probing.flight_at(UNIT)
    });
    assert_eq!(probe, cruise + 2 * MSS);
    // 2 * 100 segments, 3 super-segments of 2, and 101 for aggregation: the single ACK of a round brings 100, and 99 of
    // those of the round before were expected, as the bandwidth is rounded down. The sum is made even.
    assert_eq!(hand.segments(), 200 + 6 + 101 + 1);
}

#[test]
fn recovery_conserves_packets_for_a_round_then_grows_then_restores() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    hand.round(100, |_| {});
    let before = hand.segments();
    let (now, in_flight, lost) = (hand.now, 80 * MSS, 10 * MSS);
    hand.cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight, lost });
    assert_eq!(hand.segments(), before);
    let repair = |ack: &mut Ack| {
        ack.phase = Phase::Recovery;
        ack.in_flight = 80 * MSS;
    };
    // A sample from before the round, so that the first round of recovery continues.
    for n in [1, 5] {
        hand.round(n, |ack| {
            repair(ack);
            ack.lost = 10 * MSS;
            ack.rate.prior_delivered = 0;
        });
        assert!(hand.cc.conserving);
        // The sender may send as much as is delivered, however much was lost.
        assert_eq!(hand.segments(), (80 + n).max(81 - 10));
    }
    hand.round(2, repair);
    assert!(!hand.cc.conserving);
    assert_eq!(hand.segments(), 85 + 2);
    hand.round(1, |_| {});
    assert!(hand.segments() >= before, "{} < {before}", hand.segments());
}

/// QUIC counts bytes. A recovery that began with the ACK of a 34-byte packet and nothing else in flight once left a
/// window of 34 bytes, and no packet was ever sent again.
#[test]
fn recovery_after_a_tiny_packet_still_lets_a_full_one_out() {
    let mut hand = Hand { cc: Bbr::new(Config { grain: 1, ..config() }), ..Hand::new() };
    hand.round(100, |ack| ack.in_flight = 10 * MSS);
    hand.round(0, |ack| {
        ack.delivered = 34;
        ack.in_flight = 0;
        ack.lost = 10 * MSS;
        ack.phase = Phase::Recovery;
    });
    assert!(hand.cc.window() >= MSS, "{}", hand.cc.window());
}

#[test]
fn a_timeout_leaves_one_segment_and_its_end_restores_the_window() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    let before = hand.segments();
    let (now, lost) = (hand.now, 20 * MSS);
    hand.cc.on_congestion(&Congestion { now, trigger: Trigger::Timeout, new_episode: true, in_flight: 0, lost });
    assert_eq!(hand.segments(), 1);
    assert_eq!(hand.cc.full_bandwidth, Bandwidth(0));
    hand.round(1, |ack| ack.phase = Phase::Loss);
    assert_eq!(hand.segments(), 4);
    hand.cc.on_undo();
    hand.round(1, |_| {});
    assert!(hand.segments() >= before, "{} < {before}", hand.segments());
}

#[test]
fn an_ack_without_a_sample_still_moves_timers_and_window() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    let (rounds, window) = (hand.cc.rounds, hand.cc.window());
    hand.now += Span::from_secs(11);
    hand.round(4, |ack| {
        ack.rate = RateSample { delivered: 0, interval: Span::ZERO, ..ack.rate };
        ack.in_flight = 20 * MSS;
        ack.delayed = true;
    });
    assert_eq!((hand.cc.rounds, hand.cc.mode), (rounds, Mode::ProbeRtt));
    assert_eq!((hand.segments(), hand.cc.prior_window), (4, window));
    assert_eq!(hand.cc.asks(), Ask::MarkAppLimited);
}

#[test]
fn an_expired_minimum_rtt_is_not_replaced_by_a_delayed_acks() {
    for (delayed, expected) in [(true, 50_000), (false, 70_000)] {
        let mut hand = Hand::new();
        hand.reach_probe_bandwidth();
        hand.now += Span::from_secs(11);
        hand.round(4, |ack| {
            ack.rtt = Some(Span::from_millis(70));
            ack.delayed = delayed;
        });
        assert_eq!(hand.cc.min_rtt, Some(expected));
    }
}

#[test]
fn a_restart_after_idle_time_paces_at_the_bandwidth_and_puts_probe_rtt_off() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    while hand.cc.cycle_index != 0 {
        hand.round(100, |_| {});
    }
    hand.now += Span::from_secs(30);
    let sent = Sent {
        now: hand.now,
        bytes: 1000,
        in_flight: 0,
        total_delivered: hand.ack.total_delivered,
        after_idle: Some(Span::from_secs(30)),
        app_limited: true,
        timeout: Span::from_millis(250),
    };
    hand.cc.on_sent(&Sent { app_limited: false, ..sent });
    assert_eq!(hand.cc.pacing, hand.cc.max_bandwidth().paced(MSS, UNIT * 5 / 4));
    hand.cc.on_sent(&sent);
    assert_eq!(hand.cc.pacing, hand.cc.max_bandwidth().paced(MSS, UNIT));
    hand.round(10, |_| {});
    assert_eq!(hand.cc.mode, Mode::ProbeBandwidth);
    assert!(!hand.cc.idle_restart);
}

#[test]
fn bursts_follow_the_pacing_rate_and_the_length_of_the_path() {
    let mut cc = Bbr::new(config());
    for (pacing, rtt, segments) in [
        (149_999, 50_000, 1),
        (150_000, 50_000, 2),
        (12_500_000, 50_000, 8),
        (125_000_000, 50_000, 45),
        (150_000, 100, 45),
        (150_000, 1_100, 11),
        (150_000, 5_000, 2),
    ] {
        cc.pacing = pacing;
        cc.path_min_rtt = Some(rtt);
        assert_eq!(cc.send_quantum(), segments * MSS, "{pacing} B/s, {rtt} us");
    }
}

#[test]
fn another_segment_size_leaves_the_rate_as_it_is() {
    let mut hand = Hand::new();
    hand.reach_probe_bandwidth();
    let rate = hand.cc.max_bandwidth().paced(MSS, UNIT);
    hand.cc.set_mss(724, 776);
    assert!(hand.cc.max_bandwidth().paced(724, UNIT).abs_diff(rate) < rate / 1000);
    assert_eq!(hand.cc.window() % 724, 0);
}

#[test]
fn no_quantity_in_an_ack_makes_it_panic() {
    let mut hand = Hand::new();
    let mut random = Streams::new(3, 0).named("extremes");
    for _ in 0..20_000 {
        let size = |random: &mut Stream| random.bits() >> (random.below(50) + 14) as u32;
        let (a, b, c, d) = (size(&mut random), size(&mut random), size(&mut random), size(&mut random));
        let phase = [Phase::Open, Phase::Disorder, Phase::Recovery, Phase::Loss][random.below(4) as usize];
        hand.now += Span::from_nanos(c);
        hand.round(1, |ack| {
            (ack.delivered, ack.lost, ack.in_flight, ack.prior_in_flight, ack.phase) = (a, b, c, d, phase);
            (ack.rate.delivered, ack.rate.interval) = (b, Span::from_nanos(d));
            ack.rtt = Some(Span::from_nanos(a));
        });
        assert!(hand.cc.window() >= MSS);
    }
}
