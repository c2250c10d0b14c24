//! Whole transfers over a bottleneck, against what the path is and what the kernel measured.

use super::super::*;
use crate::cc::bbr::bandwidth::UNIT;
use crate::cc::bench::*;
use haltere_net::Span;

/// Medians of Linux 6.18, loss-free, with a 1000-packet queue: Mbit/s, one-way delay to the client, MiB, seconds, the
/// longest queue. The opening costs one delay before the data.
#[test]
fn transfers_take_as_long_as_the_kernels() {
    for (mbps, delay, mib, seconds, queue) in [
        (5, 50, 2u64, 3.61123, 46.0),
        (5, 100, 32, 57.58408, 88.0),
        (40, 10, 32, 6.99674, 91.0),
        (100, 50, 32, 3.12777, 858.0),
    ] {
        let mut bench = Bench::new(Path { stretch: 2, ..Path::new(mbps, delay) });
        bench.left = Some((mib << 20).div_ceil(MSS));
        bench.run(Span::from_secs(100), |_| {});
        let took = bench.elapsed().as_secs_f64() + delay as f64 * 1e-3;
        assert!((took / seconds - 1.0).abs() < 0.005, "{mbps} Mbit/s: {took} s, the kernel {seconds} s");
        let longest = bench.max_queue as f64;
        assert!((longest / queue - 1.0).abs() < 0.03, "{mbps} Mbit/s: {longest} packets, the kernel {queue}");
    }
}

/// Windows of a kernel sender (Linux 6.18) at 40 Mbit/s and 50 ms: at most 510 segments in Startup, ssthresh 196 when it
/// ends; then the windows of its trace (344 to 378, from the second second on).
#[test]
fn windows_are_the_kernels() {
    // Its handshake measured 50.116 ms.
    let rtt = Span::from_micros(50_116);
    let mut bench = Bench::new(Path { rtt, stretch: 2, ..Path::new(40, 50) });
    let (mut peak, mut least, mut most) = (0, u64::MAX, 0);
    bench.run(Span::from_secs(7), |b| {
        let segments = b.cc.window() / MSS;
        match b.cc.mode {
            Mode::Startup => peak = peak.max(segments),
            Mode::ProbeBandwidth if b.elapsed() > Span::from_secs(2) => {
                (least, most) = (least.min(segments), most.max(segments));
            }
            _ => {}
        }
    });
    assert_eq!((peak, bench.cc.ssthresh() / MSS), (510, 196));
    assert!(least >= 342 && most <= 378, "{least} to {most}");
}

#[test]
fn the_bandwidth_is_found_and_the_queue_stays_short() {
    for (mbps, rtt) in [(2, 40), (10, 20), (50, 80), (200, 10)] {
        let path = Path::new(mbps, rtt);
        let mut bench = Bench::new(path);
        bench.run(Span::from_secs(3), |_| {});
        let at_start = bench.sampler.delivered();
        let (mut longest, mut sum, mut n) = (0, 0, 0);
        bench.run(Span::from_secs(6), |b| {
            let estimate = b.cc.max_bandwidth().paced(MSS, UNIT) as f64 / 0.99;
            let ratio = estimate / path.goodput().as_bytes_per_sec() as f64;
            assert!((ratio - 1.0).abs() < 0.02, "{mbps} Mbit/s: estimate {ratio}");
            let queued = b.queued() as u64;
            longest = longest.max(queued);
            (sum, n) = (sum + queued, n + 1);
        });
        let goodput = (bench.sampler.delivered() - at_start) as f64 / 6.0;
        let share = goodput / path.goodput().as_bytes_per_sec() as f64;
        assert!(share > 0.97, "{mbps} Mbit/s: {share} of the path");
        // A probe ends at 5/4 of a BDP and three super-segments (of its own rate), made even, plus two; what departs then
        // still comes. Draining ends at a BDP and three super-segments. Both take a quarter of the time.
        let burst = (bench.cc.max_bandwidth().paced(MSS, UNIT * 5 / 4) / 1024 / MSS).max(2);
        let drained = 3 * burst + 2;
        let allowed = path.bdp() / 4 + drained + 2 + burst;
        assert!(longest <= allowed, "{mbps} Mbit/s: {longest} packets of {allowed}");
        assert!(sum <= (drained + path.bdp() / 16) * n, "{mbps} Mbit/s: {} packets on average", sum / n);
    }
}

#[test]
fn phases_last_a_minimum_rtt_and_follow_their_order() {
    let mut bench = Bench::new(Path::new(20, 40));
    bench.run(Span::from_secs(3), |_| {});
    let mut phases: Vec<(Time, usize)> = Vec::new();
    bench.run(Span::from_secs(5), |b| {
        if phases.last().is_none_or(|&(_, index)| index != b.cc.cycle_index) {
            phases.push((b.now, b.cc.cycle_index));
        }
    });
    assert!(phases.len() > 80);
    for pair in phases[1..].windows(2) {
        let ((start, index), (end, next)) = (pair[0], pair[1]);
        let length = end.since(start);
        assert_eq!(next, (index + 1) % 8);
        match index {
            // Probing needs an RTT for the queue to show; draining ends early when it has gone.
            0 => assert!((40..=90).contains(&length.as_millis()), "{length}"),
            1 => assert!(length <= Span::from_millis(42), "{length}"),
            _ => assert!((40..=42).contains(&length.as_millis()), "{length}"),
        }
    }
}

#[test]
fn the_minimum_rtt_is_probed_every_ten_seconds_for_200_ms() {
    let mut bench = Bench::new(Path::new(20, 40));
    let mut probes: Vec<(Time, Time)> = Vec::new();
    let mut before = 0;
    let mut inside = false;
    bench.run(Span::from_secs(45), |b| {
        let probing = b.cc.mode == Mode::ProbeRtt;
        match (inside, probing) {
            (false, true) => probes.push((b.now, b.now)),
            (true, false) => {
                assert!(b.cc.window() >= before, "{} < {before}", b.cc.window());
                if let Some(last) = probes.last_mut() {
                    last.1 = b.now;
                }
            }
            (true, true) => assert_eq!(b.cc.window(), 4 * MSS),
            (false, false) => before = b.cc.prior_window.max(100 * MSS),
        }
        assert!(!probing || b.sampler.is_app_limited());
        inside = probing;
    });
    assert_eq!(probes.len(), 4);
    for pair in probes.windows(2) {
        // Ten seconds since the last minimum, which stands from the probe's end on at the latest.
        let apart = pair[1].0.since(pair[0].1).as_millis();
        assert!((9_700..=10_100).contains(&apart), "{apart} ms");
    }
    for (start, end) in probes {
        // What was in flight first has to leave: an RTT, and another until 200 ms have been counted from there.
        let length = end.since(start).as_millis();
        assert!((200..=300).contains(&length), "{length} ms");
    }
}

#[test]
fn a_policer_is_recognised_and_its_rate_kept_to() {
    let policed = Rate::from_bps(4_000_000);
    let mut path = Path::new(50, 40);
    path.policer = Some(Policer { rate: policed, depth: 500_000 });
    let mut bench = Bench::new(path);
    let mut found = None;
    let mut ended = None;
    let mut lost = 0;
    bench.run(Span::from_secs(12), |b| match (found, ended, b.cc.long_term.bandwidth()) {
        (None, _, Some(bandwidth)) => {
            let ratio = bandwidth.paced(MSS, UNIT) as f64 / 0.99 / policed.scaled(MSS, WIRE).as_bytes_per_sec() as f64;
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
            assert_eq!(b.cc.pacing_gain, UNIT);
            found = Some((b.now, b.cc.rounds));
            lost = b.lost_packets;
        }
        (Some(_), None, None) => {
            ended = Some((b.now, b.cc.rounds));
            lost = b.lost_packets - lost;
        }
        _ => {}
    });
    let (Some((since, first)), Some((until, last))) = (found, ended) else {
        panic!("found {found:?}, ended {ended:?}");
    };
    assert_eq!(last - first, 48);
    // While the rate is known, little is lost (what exceeded it before is still found lost then).
    let sent = policed.bytes_in(until.since(since)) / WIRE;
    assert!(lost * 5 < sent, "{lost} of {sent}");
}

#[test]
fn the_same_stream_gives_the_same_transfer() {
    let run = || {
        let mut bench = Bench::new(Path { queue: 30, ..Path::new(10, 30) });
        bench.run(Span::from_secs(5), |_| {});
        (bench.sampler.delivered(), bench.lost_packets, bench.cc.window())
    };
    assert_eq!(run(), run());
}
