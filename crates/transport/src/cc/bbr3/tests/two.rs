//! Version 2: where it differs from version 3.

use super::super::*;
use super::Hand;
use super::transfers::{estimate, run_until, used};
use crate::cc::bbr2::TWO;
use crate::cc::bench::{Bench, MSS, Path, config};

const RTT: Span = Span::from_millis(50);

fn hand() -> Hand {
    let mut hand = Hand::new();
    let mut cc = Bbr3::with(config(), &TWO);
    cc.on_established(&Established { now: hand.ack.now, rtt: Some(RTT) });
    hand.cc = cc;
    hand
}

#[test]
fn gains_are_those_of_the_module() {
    let gains = [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt];
    let table =
        [(2.885, 2.885), (1.0 / 2.885, 2.885), (0.75, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.0), (1.0, 0.5)];
    assert_eq!(gains.map(|state| TWO.gains(state)), table);
}

#[test]
fn the_pipe_is_full_when_the_largest_bandwidth_stops_growing_and_drain_waits_for_the_queue() {
    let mut hand = hand();
    hand.round(100, |_| {});
    // Samples fall and rise again by more than a quarter, below the largest.
    for segments in [60, 80, 100] {
        assert_eq!(hand.cc.state, State::Startup);
        hand.round(segments, |ack| ack.in_flight = 1000 * MSS);
    }
    assert_eq!(hand.cc.state, State::Drain);
    for _ in 0..20 {
        hand.round(100, |ack| ack.in_flight = 1000 * MSS);
    }
    assert_eq!(hand.cc.state, State::Drain);
}

#[test]
fn a_probe_ends_with_a_quarter_more_in_flight_after_a_round_trip() {
    let up = || {
        let mut hand = hand();
        for _ in 0..4 {
            hand.round(100, |ack| ack.in_flight = 400 * MSS);
        }
        hand.round(100, |ack| ack.in_flight = 100 * MSS);
        assert_eq!(hand.cc.state, State::Cruise);
        for _ in 0..80 {
            if hand.cc.state == State::Cruise {
                hand.round(100, |ack| ack.in_flight = 100 * MSS);
            }
        }
        hand.round(100, |_| {});
        assert_eq!(hand.cc.state, State::Up);
        hand
    };
    let mut short = up();
    for _ in 0..10 {
        short.round(100, |ack| ack.prior_in_flight = 120 * MSS);
    }
    assert_eq!(short.cc.state, State::Up, "the bandwidth does not grow, but no queue is seen");
    let mut full = up();
    full.round(100, |ack| ack.prior_in_flight = 200 * MSS);
    assert_eq!(full.cc.state, State::Up, "a round trip has not passed");
    full.round(100, |ack| ack.prior_in_flight = 200 * MSS);
    assert_eq!(full.cc.state, State::Down);
    let mut lossy = up();
    lossy.round(100, |ack| (ack.rate.in_flight, ack.rate.lost, ack.in_flight) = (150 * MSS, 4 * MSS, 400 * MSS));
    assert_eq!((lossy.cc.state, lossy.cc.inflight_longterm), (State::Down, 150 * MSS));
}

#[test]
fn eight_runs_of_losses_end_startup() {
    for (runs, ends) in [(7, false), (8, true)] {
        let mut hand = hand();
        hand.round(100, |_| {});
        hand.lose(runs, 100, 2);
        hand.congestion(Trigger::Loss);
        hand.round(100, |ack| (ack.phase, ack.rate.in_flight) = (Phase::Recovery, 100 * MSS));
        hand.round(100, |ack| {
            (ack.phase, ack.rate.in_flight) = (Phase::Recovery, 100 * MSS);
            (ack.rate.lost, ack.in_flight) = (runs * MSS, 1000 * MSS);
        });
        assert_eq!(hand.cc.state == State::Drain, ends, "{runs}");
        // A spurious loss gives the bounds back, and not the state.
        hand.cc.on_undo();
        assert_eq!(hand.cc.state == State::Drain, ends);
    }
}

#[test]
fn probe_rtt_comes_every_five_seconds() {
    let mut bench = Bench::with(Bbr3::with(config(), &TWO), Path::new(20, 40));
    let (mut visits, mut before) = (0, State::Startup);
    bench.run(Span::from_secs(31), |b| {
        visits += u32::from(before != State::ProbeRtt && b.cc.state == State::ProbeRtt);
        before = b.cc.state;
    });
    assert!((5..=6).contains(&visits), "{visits}");
}

#[test]
fn a_long_transfer_uses_the_path_and_keeps_the_queue_shorter_than_version_3() {
    for (rate, rtt) in [(10, 20), (50, 80), (200, 10)] {
        let queue = |rules| {
            let mut bench = Bench::with(Bbr3::with(config(), rules), Path::new(rate, rtt));
            assert!(run_until(&mut bench, Span::from_secs(20), |b| b.cc.state.probes_bandwidth()));
            assert!((estimate(&bench) - 1.0).abs() < 0.03, "{}", estimate(&bench));
            bench.run(Span::from_secs(1), |_| {});
            bench.max_queue = 0;
            let share = used(&mut bench, Span::from_secs(20));
            assert!(share > 0.93, "{rate} Mbit/s: {share}");
            bench.max_queue
        };
        let (two, three) = (queue(&TWO), queue(&THREE));
        assert!(two <= three, "{rate} Mbit/s: {two} and {three} packets");
    }
}
