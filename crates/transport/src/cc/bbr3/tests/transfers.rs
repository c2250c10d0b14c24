//! The draft's example cases on whole transfers.

use super::super::*;
use crate::cc::bench::*;

fn bench(path: Path) -> Bench<Bbr3> {
    Bench::with(Bbr3::new(config()), path)
}

fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// Runs until `reached` or, at most, for `most`; whether it was.
pub(super) fn run_until(bench: &mut Bench<Bbr3>, most: Span, reached: impl Fn(&Bench<Bbr3>) -> bool) -> bool {
    let end = bench.now + most;
    while bench.now < end {
        if reached(bench) {
            return true;
        }
        bench.run(Span::from_millis(1), |_| {});
    }
    reached(bench)
}

/// The estimate as a share of what the path carries.
pub(super) fn estimate(bench: &Bench<Bbr3>) -> f64 {
    bench.cc.max_bw() as f64 / bench.path.goodput().as_bps() as f64
}

/// The share of the path that was used over `span`.
pub(super) fn used(bench: &mut Bench<Bbr3>, span: Span) -> f64 {
    let start = bench.sampler.delivered();
    bench.run(span, |_| {});
    let rate = Rate::of(bench.sampler.delivered() - start, span).map_or(0, Rate::as_bps);
    rate as f64 / bench.path.goodput().as_bps() as f64
}

/// "Exiting STARTUP on Bandwidth Plateau", steps 1 to 3, over a range of paths.
#[test]
fn startup_finds_the_bandwidth_within_two_per_cent() {
    for (rate, rtt) in [(1, 10), (10, 50), (50, 80), (200, 10), (100, 300)] {
        let mut bench = bench(Path { queue: 100_000, ..Path::new(rate, rtt) });
        assert!(run_until(&mut bench, Span::from_secs(20), |b| b.cc.state == State::Drain), "{rate} Mbit/s");
        let ratio = estimate(&bench);
        assert!((ratio - 1.0).abs() < 0.02, "{rate} Mbit/s, {rtt} ms: {ratio}");
    }
}

#[test]
fn a_long_transfer_uses_the_path_and_keeps_the_queue_short() {
    for (rate, rtt) in [(10, 20), (50, 80), (200, 10)] {
        let mut bench = bench(Path::new(rate, rtt));
        bench.run(Span::from_secs(3), |_| {});
        bench.max_queue = 0;
        let share = used(&mut bench, Span::from_secs(20));
        assert!(share > 0.96, "{rate} Mbit/s: {share}");
        // Probing goes on while the bandwidth seems to grow, at most to the window of 2.25 BDP.
        let most = bench.path.bdp() as usize * 13 / 10 + 40;
        assert!(bench.max_queue < most, "{rate} Mbit/s: {} packets of {most}", bench.max_queue);
    }
}

/// "Achieving Expected STARTUP Bandwidth on a Link With Aggregation" and the same of Cruise.
#[test]
fn aggregated_acks_neither_hide_the_bandwidth_nor_stall_the_sender() {
    let mut bench = bench(Path { stretch: 8, ..Path::new(40, 50) });
    assert!(run_until(&mut bench, Span::from_secs(20), |b| b.cc.state == State::Drain));
    let extra = bench.cc.extra_acked.get().unwrap_or(0);
    assert!(extra > 4 * MSS, "{extra} bytes");
    assert!((estimate(&bench) - 1.0).abs() < 0.05, "{}", estimate(&bench));
    assert!(run_until(&mut bench, Span::from_secs(20), |b| b.cc.state == State::Cruise));
    assert!(bench.cc.window() > 2 * bench.cc.bdp(bench.cc.bw, 1.0));
    let share = used(&mut bench, Span::from_secs(10));
    assert!(share > 0.96, "{share}");
}

/// "Correctly Managing Sub-Packet BDPs".
#[test]
fn four_segments_are_the_least_window() {
    let path = Path { rate: Rate::from_bps(200_000), ..Path::new(1, 10) };
    let mut bench = bench(path);
    assert!(run_until(&mut bench, Span::from_secs(60), |b| b.cc.state.probes_bandwidth()));
    bench.run(Span::from_secs(10), |b| assert!(b.cc.window() >= 4 * MSS));
    let share = used(&mut bench, Span::from_secs(20));
    assert!(share > 0.97, "{share}");
    let pacing = bench.cc.pacing_rate().map_or(0, Rate::as_bps) as f64 / path.goodput().as_bps() as f64;
    assert!((0.85..1.3).contains(&pacing), "{pacing}");
}

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached": with a bound in flight that it has to break.
#[test]
fn ten_times_the_bandwidth_is_found_in_some_cycles() {
    let mut bench = bench(Path { queue: 60, ..Path::new(10, 40) });
    assert!(run_until(&mut bench, Span::from_secs(30), |b| b.cc.state == State::Cruise));
    bench.path.rate = mbps(100);
    bench.path.queue = 600;
    let mut steps = Vec::new();
    let mut last = (bench.cc.rounds, bench.cc.probe_up_acked_per_inc);
    bench.run(Span::from_secs(12), |b| {
        if b.cc.state == State::Up && b.cc.probe_up_rounds > 1 && last.0 != b.cc.rounds {
            steps.push(b.cc.probe_up_rounds);
        }
        last = (b.cc.rounds, b.cc.probe_up_acked_per_inc);
    });
    let ratio = estimate(&bench);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let share = used(&mut bench, Span::from_secs(5));
    assert!(share > 0.95, "{share}");
}

/// The step of that growth: 1, 2, 4, ... segments a round trip.
#[test]
fn the_bound_in_flight_grows_by_twice_as_much_each_round_trip() {
    let mut cc = Bbr3::new(config());
    (cc.state, cc.window, cc.inflight_longterm) = (State::Up, 64 * MSS, 64 * MSS);
    cc.raise_slope();
    let mut gained = Vec::new();
    for _ in 0..5 {
        let before = cc.inflight_longterm;
        for n in 0..64 {
            cc.round_start = n == 63;
            let sample = Sample { rate: 1, tx_in_flight: 0, lost: 0, app_limited: false };
            cc.window = cc.inflight_longterm;
            let window = 64 * MSS;
            cc.adapt_long_term_model(&ack(|a| a.prior_in_flight = window), &sample);
        }
        gained.push((cc.inflight_longterm - before) / MSS);
    }
    assert_eq!(gained[0], 1);
    for pair in gained.windows(2) {
        let growth = pair[1] as f64 / pair[0] as f64;
        assert!((1.4..=2.7).contains(&growth), "{gained:?}");
    }
}

/// "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down".
#[test]
fn a_tenth_of_the_bandwidth_is_learnt_in_two_cycles() {
    let mut bench = bench(Path { queue: 300, ..Path::new(100, 40) });
    assert!(run_until(&mut bench, Span::from_secs(10), |b| b.cc.state == State::Cruise));
    bench.path.rate = mbps(10);
    assert!(run_until(&mut bench, Span::from_secs(2), |b| b.cc.bw < mbps(50).as_bps()), "{}", bench.cc.bw);
    let mut ups = 0;
    let mut before = bench.cc.state;
    let mut after_two = None;
    bench.run(Span::from_secs(30), |b| {
        ups += u32::from(before == State::Up && b.cc.state == State::Down);
        before = b.cc.state;
        if ups == 3 {
            after_two.get_or_insert(b.cc.max_bw());
        }
    });
    let ratio = after_two.map(|bw| bw as f64 / bench.path.goodput().as_bps() as f64);
    assert!(ratio.is_some_and(|r| (r - 1.0).abs() < 0.05), "{ratio:?}");
}

/// "Handling Token Bucket Policers".
#[test]
fn a_policer_is_obeyed_without_much_loss() {
    let policer = Policer { rate: mbps(10), depth: 60_000 };
    let mut bench = bench(Path { policer: Some(policer), ..Path::new(100, 40) });
    let mut bounded = false;
    bench.run(Span::from_secs(20), |b| bounded |= b.cc.bw_shortterm != u64::MAX);
    assert!(bounded);
    let (lost, delivered) = (bench.lost_packets, bench.sampler.delivered());
    bench.run(Span::from_secs(20), |_| {});
    let lost = (bench.lost_packets - lost) as f64;
    let delivered = (bench.sampler.delivered() - delivered) as f64;
    let share = lost / (lost + delivered / MSS as f64);
    assert!(share < 0.1, "{share} lost");
    let rate = delivered / 20.0 / policer.rate.scaled(MSS, WIRE).as_bytes_per_sec() as f64;
    assert!(rate > 0.8, "{rate} of the policer's rate");
}

/// "Exiting STARTUP on Loss When Application-Limited", with a sender that has little to send.
#[test]
fn a_lossy_path_ends_startup_though_data_is_short() {
    let mut lossy = bench(Path::new(100, 100));
    lossy.limit(mbps(10));
    lossy.lose = Some(|n| n % 10 == 0);
    assert!(run_until(&mut lossy, Span::from_secs(5), |b| b.cc.state == State::Drain), "{:?}", lossy.cc.state);
    assert!(lossy.sampler.is_app_limited());
    // Without loss it stays, but for probes of the minimum RTT.
    let mut clean = bench(Path::new(100, 100));
    clean.limit(mbps(10));
    let stays = |b: &Bench<Bbr3>| matches!(b.cc.state, State::Startup | State::ProbeRtt);
    assert!(!run_until(&mut clean, Span::from_secs(8), |b| !stays(b)));
}

/// The volume in flight is bounded by losses of more than 2 % in a shallow buffer, and 1 % of random losses is borne.
#[test]
fn losses_below_the_threshold_cost_little() {
    let mut bench = bench(Path::new(50, 40));
    bench.lose = Some(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / 100);
    bench.run(Span::from_secs(3), |_| {});
    let share = used(&mut bench, Span::from_secs(20));
    assert!(share > 0.8, "{share}");
}
