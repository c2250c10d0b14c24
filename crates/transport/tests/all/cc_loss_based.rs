//! Loss-based congestion controls compared with the numbers of their specifications: growth per RTT at given windows
//! and RTTs, and the reduction by a loss. `Grain::Exact` follows the paper, `Grain::Linux` the kernel's module.

use crate::common;

use common::rounds::{Grain, Rounds};
use haltere_net::Span;
use haltere_transport::cc::{Algorithm, SlowStart, Startup, Trigger};

const RTT: Span = Span::from_millis(100);
const BOTH: [Grain; 2] = [Grain::Linux, Grain::Exact];

/// All algorithms of this file, and the coupled ones, which are Reno on a single path.
const NAMES: [&str; 14] = [
    "tahoe",
    "reno",
    "bic",
    "highspeed",
    "scalable",
    "htcp",
    "hybla",
    "illinois",
    "westwood",
    "veno",
    "yeah",
    "lia",
    "olia",
    "balia",
];

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// The window right after a loss at `segments`, as a part of it.
fn kept(name: &str, grain: Grain, segments: u64) -> f64 {
    let mut path = Rounds::new(name, grain, segments, RTT);
    path.congestion(Trigger::Loss);
    path.cc.ssthresh() as f64 / (segments * path.mss) as f64
}

#[track_caller]
fn assert_near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got} instead of {want}");
}

#[test]
fn every_one_takes_each_way_for_slow_start_to_end() {
    for name in NAMES {
        assert_ne!(Algorithm::named(name).unwrap().slow_start, Startup::Own, "{name}");
        for grain in BOTH {
            // The RTT rises by half from the fourth round on.
            let ends = |exit| {
                let mut path = Rounds::with(name, grain, 10, ms(25), Some(exit));
                for round in 0..12 {
                    path.rtt = if round < 4 { ms(25) } else { ms(38) };
                    path.round();
                }
                path.cc.ssthresh()
            };
            // YeAH drains a long queue in slow start too.
            assert!(ends(SlowStart::Standard) == u64::MAX || name == "yeah", "{name} {grain:?}");
            assert!(ends(SlowStart::HyStart) < 1_000_000, "{name} {grain:?}");
            assert!(ends(SlowStart::HyStartPlusPlus) < 1_000_000, "{name} {grain:?}");
        }
    }
}

#[test]
fn a_false_alarm_gives_the_window_back_but_to_tahoe() {
    for name in NAMES {
        for grain in BOTH {
            let mut path = Rounds::new(name, grain, 200, RTT);
            let before = path.segments();
            path.congestion(Trigger::Loss);
            path.cc.on_undo();
            assert_eq!(path.segments(), before, "{name} {grain:?}: Tahoe may send one segment beyond those in flight");
            assert_eq!(path.cc.ssthresh() > 150_000, name != "tahoe", "{name} {grain:?}");
            // The next ACK takes the data in flight out of Tahoe's window, which leaves one segment.
            path.ack(1);
            match name {
                "tahoe" => assert_eq!(path.segments(), 1.0, "{grain:?}"),
                _ => assert!(path.segments() >= before, "{name} {grain:?}: {}", path.segments()),
            }
        }
    }
}

#[test]
fn after_a_timeout_slow_start_begins_from_one_segment() {
    for name in NAMES {
        let mut path = Rounds::after_loss(name, Grain::Linux, 200, RTT);
        path.expire();
        assert_eq!(path.cc.window(), path.mss, "{name}");
        assert!(path.cc.in_slow_start(), "{name}");
    }
}

mod tahoe {
    use super::*;

    /// SIGCOMM 1988: the threshold is half the window, the window one segment.
    #[test]
    fn a_loss_leaves_one_segment_beyond_what_is_in_flight_and_slow_start_to_half() {
        for grain in BOTH {
            let mut path = Rounds::new("tahoe", grain, 64, RTT);
            path.congestion(Trigger::Loss);
            assert_eq!(path.cc.ssthresh(), 32_000);
            assert_eq!(path.cc.window(), path.in_flight() - path.mss + path.mss);
            let mut path = Rounds::after_loss("tahoe", grain, 64, RTT);
            let mut seen = Vec::new();
            for _ in 0..7 {
                seen.push(path.segments());
                path.round();
            }
            // QUIC's recovery lasts until the repair is acknowledged, which allows two segments.
            let begin = usize::from(grain == Grain::Exact);
            assert_eq!(seen[begin..begin + 5], [2.0, 4.0, 8.0, 16.0, 32.0]);
            assert_near(seen[6], 33.0, 1.0);
        }
    }
}

mod reno {
    use super::*;

    #[test]
    fn with_delayed_acks_slow_start_grows_by_half_where_bytes_are_counted() {
        // RFC 5681 equation 2: min(N, SMSS) an ACK. Linux counts what was delivered (RFC 3465).
        for (grain, grown) in [(Grain::Exact, 10.0), (Grain::Linux, 20.0)] {
            let mut path = Rounds::new("reno", grain, 20, RTT);
            path.per_ack = 2;
            assert_eq!(path.round(), grown);
        }
        assert_eq!(kept("reno", Grain::Exact, 64), 0.5);
    }
}

mod highspeed {
    use super::*;

    /// RFC 3649 appendix B: b(w) of windows, and between which a(w) the window lies that is left.
    const TABLE: [(u64, f64, f64, f64); 4] =
        [(38, 0.5, 1.0, 1.0), (1058, 0.33, 6.0, 7.0), (10_661, 0.21, 26.0, 27.0), (84_035, 0.10, 69.0, 70.0)];

    #[test]
    fn growth_and_backoff_are_those_of_the_table() {
        for (w, b, low, high) in TABLE {
            assert_near(kept("highspeed", Grain::Exact, w), 1.0 - b, 0.0055);
            let mut path = Rounds::after_loss("highspeed", Grain::Exact, w, RTT);
            // A round adds whole segments.
            let grown = path.rounds(4) / 4.0;
            assert!(grown >= low - 0.5 && grown <= high * 1.02 + 0.5, "{grown} at {w}");
        }
    }

    #[test]
    fn linux_backs_off_by_the_row_of_congestion_avoidance() {
        // Out of slow start that is the first row.
        assert_near(kept("highspeed", Grain::Linux, 10_661), 0.5, 1e-4);
        let mut path = Rounds::after_loss("highspeed", Grain::Linux, 10_661, RTT);
        path.round();
        let before = path.segments();
        path.congestion(Trigger::Loss);
        // 5331 segments and a few: the row of 5497, 61 / 256.
        assert_near(path.cc.ssthresh() as f64 / path.mss as f64 / before, 1.0 - 61.0 / 256.0, 0.001);
    }

    #[test]
    fn the_kernel_counts_acks() {
        let grown = |per_ack| {
            let mut path = Rounds::after_loss("highspeed", Grain::Linux, 1580, RTT);
            path.round();
            path.per_ack = per_ack;
            path.round()
        };
        // 790 segments: a(w) = 7, of which delayed ACKs leave half.
        assert_near(grown(1), 7.0, 1.0);
        assert_near(grown(2), 3.5, 1.0);
    }
}

mod scalable {
    use super::*;

    #[test]
    fn the_window_grows_by_a_hundredth_an_rtt_and_loses_an_eighth() {
        for grain in BOTH {
            assert_near(kept("scalable", grain, 800), 0.875, 0.0);
            let mut path = Rounds::after_loss("scalable", grain, 800, RTT);
            assert_near(path.round(), 7.0, 0.5);
            // Kelly: after a loss the rate is back in about 13.4 RTTs: ln(1 / (1 - b)) / ln(1 + a).
            let mut rounds = 1;
            while path.segments() < 800.0 {
                path.round();
                rounds += 1;
            }
            assert!((13..=15).contains(&rounds), "{rounds}");
        }
    }

    #[test]
    fn small_windows_are_renos() {
        // The paper's up to 16 segments; Linux's growth is a segment an RTT up to 100, its backoff an eighth.
        assert_eq!(kept("scalable", Grain::Exact, 16), 0.5);
        assert_eq!(kept("scalable", Grain::Linux, 16), 0.875);
        let mut path = Rounds::after_loss("scalable", Grain::Exact, 20, RTT);
        assert_near(path.segments(), 17.5, 0.0);
        let mut path_linux = Rounds::after_loss("scalable", Grain::Linux, 50, RTT);
        assert_near(path.rounds(10), 1.75, 0.75);
        assert_near(path_linux.rounds(10), 10.0, 1.0);
    }
}

mod bic {
    use super::*;

    /// Section III.E: beta 0.125; half the distance an RTT, S_max = 32 at most.
    #[test]
    fn the_paper_searches_by_halves_and_by_s_max_at_most() {
        assert_near(kept("bic", Grain::Exact, 1000), 0.875, 0.001);
        let mut path = Rounds::after_loss("bic", Grain::Exact, 1000, RTT);
        // 875 to 1000: half the distance is 62, so S_max.
        assert_near(path.round(), 32.0, 2.0);
        path.rounds(1);
        // From 64 below on growth is half the distance an RTT, continuously: what is left shrinks by exp(-1/2).
        let left = 1000.0 - path.segments();
        path.round();
        assert_near((1000.0 - path.segments()) / left, 0.607, 0.06);
    }

    #[test]
    fn beyond_the_maximum_growth_doubles_up_to_s_max() {
        let mut path = Rounds::after_loss("bic", Grain::Exact, 1000, RTT);
        while path.segments() < 1000.0 {
            path.round();
        }
        let grown: Vec<f64> = (0..10).map(|_| path.round()).collect();
        assert!(grown.windows(2).all(|w| w[1] + 1.0 >= w[0]), "{grown:?}");
        assert_near(grown[9], 32.0, 2.0);
    }

    #[test]
    fn a_second_loss_below_the_maximum_lowers_it() {
        for (grain, beta) in [(Grain::Exact, 0.875), (Grain::Linux, 0.8)] {
            let mut path = Rounds::after_loss("bic", grain, 1000, RTT);
            let window = path.segments();
            assert_near(window, 1000.0 * beta, 1.0);
            path.lose();
            // The maximum is now between window and reduced window: growth is slowest there.
            let middle = window * (1.0 + beta) / 2.0;
            let mut slowest = (f64::MAX, 0.0);
            while path.segments() < window {
                let grown = path.round();
                if grown < slowest.0 {
                    slowest = (grown, path.segments());
                }
            }
            assert_near(slowest.1 / middle, 1.0, 0.02);
        }
    }

    #[test]
    fn linux_takes_16_segments_and_makes_up_for_delayed_acks() {
        assert_near(kept("bic", Grain::Linux, 1000), 0.799, 0.001);
        let mut path = Rounds::after_loss("bic", Grain::Linux, 4000, RTT);
        // The estimate of segments an ACK begins at 2, and in integers it falls to 31/16 and no further.
        path.round();
        assert_near(path.round(), 16.0 * 31.0 / 16.0, 1.0);
        path.per_ack = 4;
        path.round();
        assert_near(path.round(), 64.0, 4.0);
    }

    #[test]
    fn small_windows_are_renos() {
        for grain in BOTH {
            assert_eq!(kept("bic", grain, 14), 0.5);
        }
    }
}

mod htcp {
    use super::*;

    /// Draft section 2: alpha = 1 + 10 (t - 1) + ((t - 1) / 2)^2 after 1 s, scaled by 2 (1 - beta).
    #[test]
    fn growth_rises_with_the_time_since_the_last_loss() {
        let mut path = Rounds::after_loss("htcp", Grain::Exact, 2000, RTT);
        // beta is 0.5 after the first loss, so the scale is 1.
        let start = path.now;
        assert_eq!(path.segments(), 1000.0);
        let mut grown = Vec::new();
        for _ in 0..50 {
            let middle = path.now.since(start).as_secs_f64() + 0.05;
            grown.push((middle, path.round()));
        }
        for (t, got) in grown {
            let late = (t - 1.0).max(0.0);
            assert_near(got, 1.0 + 10.0 * late + (late / 2.0) * (late / 2.0), 1.6);
        }
    }

    #[test]
    fn linux_scales_with_the_rtt_over_100_ms_and_spends_all_it_counted() {
        let growth = |rtt| {
            let mut path = Rounds::after_loss("htcp", Grain::Linux, 2000, rtt);
            let end = path.now + Span::from_secs(3);
            while path.now < end {
                path.round();
            }
            path.round()
        };
        // alpha(3 s) is 22: at 100 ms 1000 / 22 is 46 segments to count, and one ACK more each time.
        assert_near(growth(RTT), 21.0, 2.0);
        assert_near(growth(ms(200)) / growth(RTT), 2.0, 0.25);
    }

    /// The window that a loss leaves on a path of 5000 segments a second and 100 ms, whose queue adds up to `queue`, once H-TCP
    /// knows it.
    fn kept_on(grain: Grain, queue: u64) -> f64 {
        let mut path = Rounds::after_loss("htcp", grain, 800, RTT);
        let mut kept = 0.0;
        for _ in 0..6 {
            loop {
                path.rtt = RTT.max(Span::from_micros(path.segments() as u64 * 200));
                if path.rtt > RTT + ms(queue) {
                    break;
                }
                path.round();
            }
            path.rtt = RTT + ms(queue);
            let before = path.segments();
            path.lose();
            kept = path.cc.ssthresh() as f64 / path.mss as f64 / before;
        }
        kept
    }

    /// Draft section 3: beta = RTT_min / RTT_max, between 0.5 and 0.8, once the rate is steady.
    #[test]
    fn the_backoff_empties_the_queue() {
        for grain in BOTH {
            for (queue, beta) in [(10, 0.8), (40, 0.714), (150, 0.5)] {
                assert_near(kept_on(grain, queue), beta, 0.03);
            }
        }
    }

    #[test]
    fn a_first_loss_halves() {
        for grain in BOTH {
            assert_eq!(kept("htcp", grain, 1000), 0.5);
        }
    }
}

mod hybla {
    use super::*;

    /// Equation 6: rho^2 segments an RTT, rho = RTT / 25 ms, at least 1.
    #[test]
    fn congestion_avoidance_grows_by_rho_squared() {
        for grain in BOTH {
            for (rtt, expected) in [(10, 1.0), (25, 1.0), (50, 4.0), (100, 16.0), (200, 64.0)] {
                let mut path = Rounds::after_loss("hybla", grain, 4000, ms(rtt));
                // The initial window is another; what counts is that there was a loss.
                let window = path.segments();
                if window < 100.0 {
                    path.rounds(60);
                }
                path.lose();
                let grown = path.rounds(4) / 4.0;
                assert_near(
                    grown / expected,
                    1.0,
                    0.15 + 8.0 / window.max(8.0) + 0.1 * (grain == Grain::Linux) as u64 as f64,
                );
            }
        }
    }

    #[test]
    fn slow_start_takes_as_long_as_at_25_ms() {
        // Equation 5: W = rho 2^(t / 25 ms): after 100 ms 16 times as much, whatever the RTT.
        for rtt in [25, 50, 100] {
            let mut path = Rounds::new("hybla", Grain::Exact, 10, ms(rtt));
            let begin = path.segments();
            assert_near(begin, 10.0 * rtt as f64 / 25.0, 0.0);
            path.rounds(100 / rtt);
            assert_near(path.segments() / begin, 16.0, 1e-9);
        }
        // Linux begins with rho segments.
        assert_eq!(Rounds::new("hybla", Grain::Linux, 10, RTT).segments(), 4.0);
        assert_eq!(kept("hybla", Grain::Exact, 100), 2.0);
    }
}

mod illinois {
    use super::*;

    /// The round's growth and what a loss then takes, with a mean queueing delay of `part` of 100 ms.
    fn at(grain: Grain, part: f64) -> (f64, f64) {
        let mut path = Rounds::after_loss("illinois", grain, 2000, RTT);
        path.rtt = ms(200);
        path.round();
        path.rtt = ms(100) + ms(100).scaled((part * 1000.0) as u64, 1000);
        path.rounds(8);
        let grown = path.round();
        let before = path.segments();
        path.congestion(Trigger::Loss);
        (grown, path.cc.ssthresh() as f64 / path.mss as f64 / before)
    }

    /// Equations 2 to 5 with the largest delay 100 ms: alpha from 10 to 0.3, beta from 1/8 to 1/2.
    #[test]
    fn growth_and_backoff_follow_the_delay() {
        for grain in BOTH {
            for (part, alpha, beta) in
                [(0.0, 10.0, 0.125), (0.1, 2.57, 0.125), (0.45, 0.66, 0.3125), (0.8, 0.375, 0.5), (1.0, 0.3, 0.5)]
            {
                let (grown, kept) = at(grain, part);
                // A round either adds a segment or not.
                assert_near(grown, alpha, 1.0);
                assert_near(kept, 1.0 - beta, 0.018);
            }
        }
    }

    #[test]
    fn small_windows_are_renos() {
        for grain in BOTH {
            let mut path = Rounds::after_loss("illinois", grain, 12, RTT);
            path.round();
            assert_near(path.rounds(3), 3.0, 1.0);
            path.congestion(Trigger::Loss);
            assert_near(path.cc.ssthresh() as f64 / path.cc.window() as f64, 1.0, 0.01);
        }
    }
}

mod westwood {
    use super::*;

    /// ssthresh = bandwidth * RTT_min: a window that waits in queues for half of its RTT is halved, one that waits for a
    /// fifth loses a fifth.
    #[test]
    fn a_loss_leaves_what_the_path_carries() {
        for grain in BOTH {
            for (rtt, part) in [(100, 1.0), (125, 0.8), (200, 0.5)] {
                let mut path = Rounds::new("westwood", grain, 400, RTT);
                // A window that stands still, so that the filter's lag plays no part.
                path.window_limited = false;
                path.rounds(3);
                path.rtt = ms(rtt);
                path.rounds(60);
                let before = path.segments();
                path.lose();
                assert_near(path.cc.ssthresh() as f64 / path.mss as f64 / before, part, 0.05);
            }
        }
    }
}

mod veno {
    use super::*;

    fn at(grain: Grain, rtt: Span) -> Rounds {
        let mut path = Rounds::after_loss("veno", grain, 110, RTT);
        path.round();
        path.rtt = rtt;
        // The smoothed RTT follows by eighths.
        path.rounds(12);
        path
    }

    /// Section II: N = window (RTT - BaseRTT) / RTT; with N < 3 a loss takes a fifth, else half.
    #[test]
    fn a_loss_with_a_short_queue_takes_a_fifth() {
        for grain in BOTH {
            // At about 100 segments 2 % of the RTT are 2 segments, 5 % are 5.
            for (rtt, part) in [(ms(100), 0.8), (ms(102), 0.8), (ms(105), 0.5)] {
                let mut path = at(grain, rtt);
                let before = path.segments();
                path.congestion(Trigger::Loss);
                assert_near(path.cc.ssthresh() as f64 / path.mss as f64 / before, part, 0.01);
            }
        }
    }

    #[test]
    fn with_a_long_queue_a_segment_takes_two_rounds() {
        for grain in BOTH {
            assert_near(at(grain, ms(100)).rounds(20), 20.0, 1.0);
            assert_near(at(grain, ms(120)).rounds(20), 10.0, 1.5);
        }
    }
}

mod yeah {
    use super::*;

    /// Section III: fast with a queue up to 80 segments and an RTT up to an eighth above the base.
    #[test]
    fn on_a_short_queue_it_is_scalable_and_on_a_long_one_reno() {
        for grain in BOTH {
            let mut path = Rounds::after_loss("yeah", grain, 457, RTT);
            assert_near(path.segments(), 400.0, 1.0);
            path.round();
            assert_near(path.round(), 4.0, 1.0);
            // 400 segments, 13 % above the base: 47 segments wait, but the RTT tells.
            path.rtt = ms(113);
            path.rounds(2);
            assert_near(path.rounds(10), 10.0, 1.5);
        }
    }

    #[test]
    fn a_queue_beyond_80_segments_is_drained() {
        for grain in BOTH {
            let mut path = Rounds::after_loss("yeah", grain, 1143, RTT);
            path.round();
            path.rtt = ms(125);
            path.round();
            let before = path.segments();
            // A fifth of 1000 segments waits: that is taken.
            path.round();
            assert_near(path.segments() / before, 0.8, 0.02);
        }
    }

    #[test]
    fn a_loss_takes_the_queue_an_eighth_at_least_and_half_against_others() {
        for grain in BOTH {
            assert_near(kept("yeah", grain, 400), 0.875, 0.0);
            let after = |rounds| {
                let mut path = Rounds::after_loss("yeah", grain, 400, RTT);
                path.round();
                path.rtt = ms(125);
                path.rounds(rounds);
                let before = path.segments();
                path.congestion(Trigger::Loss);
                path.cc.ssthresh() as f64 / path.mss as f64 / before
            };
            // A fifth of the RTT is spent in the queue.
            assert_near(after(4), 0.8, 0.01);
            assert_near(after(20), 0.5, 0.01);
        }
    }
}
