use super::*;
use crate::rng::Streams;

fn control() -> Control {
    Control {
        target: Span::from_millis(15),
        tupdate: in_ticks(Span::from_millis(15)),
        alpha: gain(2),
        beta: gain(20),
        ecn: None,
        bytemode: false,
        dq_rate_estimator: false,
        mtu: 1500,
    }
}

/// A state with a probability, and the delays of the last two updates in ms.
fn state(probability: f64, delay: u64, before: u64) -> State {
    let (delay, delay_before) = (Span::from_millis(delay), Span::from_millis(before));
    State { probability, delay, delay_before, burst: Span::ZERO, ..State::default() }
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// RFC 8033 section 4.2: the table of auto-tuning. With 25 ms now and 20 ms before, the change at full gain is
/// 0.125 · 10 ms + 1.25 · 5 ms = 0.0075.
#[test]
fn the_gains_follow_the_table_of_auto_tuning() {
    let table = [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_009, 512.0),
        (0.000_01, 128.0),
        (0.000_1, 32.0),
        (0.001, 8.0),
        (0.01, 2.0),
        (0.099, 2.0),
        (0.1, 1.0),
        (0.9, 1.0),
    ];
    for (probability, divisor) in table {
        let mut state = state(probability, 25, 20);
        control().update(&mut state, 10_000);
        let change = state.probability - probability;
        assert!((change * divisor - 0.0075).abs() < 1e-9, "at {probability}: {change}");
    }
}

/// RFC 8033 section 5.5 and the non-linear part of section 4.2.
#[test]
fn steps_are_limited_at_high_probabilities_and_larger_at_long_delays() {
    for (probability, delay, before, change) in [
        (0.2, 115, 15, 0.02),          // 0.1375 is cut
        (0.2, 251, 251, 0.02 + 0.02),  // 0.0295 is cut, and the delay is long
        (0.2, 250, 250, 0.02),         // not longer than 250 ms
        (0.05, 115, 15, 0.1375 / 2.0), // not cut below 10 %
        (0.2, 0, 10, -0.125 * 0.015 - 1.25 * 0.01),
    ] {
        let mut state = state(probability, delay, before);
        control().update(&mut state, 10_000);
        let got = state.probability - probability;
        assert!((got - change).abs() < 1e-12, "{delay} after {before} ms at {probability}: {got}");
    }
}

/// An idle queue: the probability falls by the integral part and by 1/64, then the burst allowance comes back.
#[test]
fn an_idle_queue_comes_to_rest() {
    let mut idle = state(0.3, 0, 0);
    control().update(&mut idle, 0);
    assert!((idle.probability - (0.3 - 0.125 * 0.015) * 63.0 / 64.0).abs() < 1e-12);
    control().update_until(&mut idle, 0, at(3_600_000));
    assert_eq!((idle.probability, idle.burst), (0.0, BURST));
    // A small queue without delay does not decay.
    let mut small = state(0.3, 0, 0);
    control().update(&mut small, 1500);
    assert!((small.probability - (0.3 - 0.125 * 0.015)).abs() < 1e-12);
}

#[test]
fn updates_are_made_up_for_each_at_its_own_time() {
    let (mut once, mut often) = (state(0.01, 30, 20), state(0.01, 30, 20));
    control().update_until(&mut once, 10_000, at(1000));
    for ms in 0..=1000 {
        control().update_until(&mut often, 10_000, at(ms));
    }
    assert_eq!(once, often);
    // 15 ms are four ticks, at whose end the timer has to wait for the next edge.
    assert_eq!(once.updates, 50);
    let mut next = state(0.01, 30, 20);
    control().update_until(&mut next, 10_000, at(19));
    assert_eq!(next.updates, 0);
    control().update_until(&mut next, 10_000, at(20));
    assert_eq!(next.updates, 1);
}

/// Linux kernel/time/timer.c: from 63 ticks on a timer fires at a multiple of 8, from 504 on of 64.
#[test]
fn periods_end_at_edges_of_the_timer_wheel() {
    let period = |ms| in_ticks(Span::from_millis(ms)).as_millis();
    let expected =
        [(0, 0), (1, 8), (4, 8), (15, 20), (16, 20), (17, 24), (248, 252), (252, 256), (500, 512), (2016, 2048)];
    for (tupdate, actual) in expected {
        assert_eq!(period(tupdate), actual, "{tupdate} ms");
    }
}

#[test]
fn nothing_is_dropped_with_a_burst_allowance_a_short_delay_or_a_short_queue() {
    let mut stream = Streams::new(1, 0).named("pie");
    let mut hits = |mut state: State, backlog| {
        (0..1000).filter(|_| control().hits(&mut state, backlog, 1500, &mut stream)).count()
    };
    let burst = State { burst: Span::from_nanos(1), ..state(0.15, 30, 30) };
    assert_eq!(hits(burst, 100_000), 0);
    assert_eq!(hits(state(0.15, 7, 7), 100_000), 0);
    assert!(hits(state(0.2, 7, 7), 100_000) > 0);
    assert_eq!(hits(state(0.15, 30, 30), 2999), 0);
    assert!(hits(state(0.15, 30, 30), 3000) > 0);
}

/// RFC 8033 section 5.4: at least 0.85 / p packets lie between two drops, so drops are rarer than at random and evenly
/// spaced.
#[test]
fn drops_are_spread_evenly() {
    let mut stream = Streams::new(1, 0).named("pie");
    let mut state = state(0.1, 30, 30);
    let hits: Vec<usize> = (0..10_000).filter(|_| control().hits(&mut state, 100_000, 1500, &mut stream)).collect();
    let gaps: Vec<usize> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| (9..=86).contains(&gap)), "{gaps:?}");
    // From the ninth packet on each is hit with 0.1: a gap of 8 + 10 in the mean.
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 18.0).abs() < 1.5, "{mean}");
}

#[test]
fn in_byte_mode_short_packets_are_dropped_less() {
    let mut stream = Streams::new(1, 0).named("pie");
    let control = Control { bytemode: true, ..control() };
    let mut hits = |len| {
        let mut state = state(0.1, 30, 30);
        (0..60_000).filter(|_| control.hits(&mut state, 100_000, len, &mut stream)).count() as f64
    };
    let ratio = hits(1500) / hits(150);
    assert!((8.5..11.5).contains(&ratio), "{ratio}");
}

/// RFC 8033 section 5.2: 16 384 bytes are measured at a time, averages have a weight of 1/8.
#[test]
fn the_departure_rate_is_measured_while_enough_waits() {
    let control = Control { dq_rate_estimator: true, ..control() };
    let mut state = State::default();
    // A packet of 1500 bytes each ms: 1.5 MB/s.
    for ms in 0..50 {
        control.departed(&mut state, 1500, Time::ZERO, 16_383, at(ms));
    }
    assert_eq!((state.rate, state.burst), (0.0, BURST));
    for ms in 50..61 {
        control.departed(&mut state, 1500, Time::ZERO, 20_000, at(ms));
    }
    // The first packet counts at the time when the measurement begins: 11 packets in 10 ms.
    assert!((state.rate - 1_650_000.0).abs() < 1.0, "{}", state.rate);
    assert_eq!(state.burst, BURST - Span::from_millis(10));
    control.update(&mut state, 33_000);
    assert_eq!(state.delay, Span::from_millis(20));
}

/// A second measurement counts for an eighth, and one that ends while less waits is the last one.
#[test]
fn later_rates_are_averaged_and_measuring_ends_with_the_backlog() {
    let control = Control { dq_rate_estimator: true, ..control() };
    let mut state = State { rate: 1_000_000.0, ..State::default() };
    for ms in 0..11 {
        control.departed(&mut state, 1500, Time::ZERO, 16_384, at(ms));
    }
    let averaged = 1_000_000.0 + 650_000.0 / 8.0;
    assert!((state.rate - averaged).abs() < 1.0, "{}", state.rate);
    assert_eq!((state.counted, state.left), (Some(0), Some(at(10))), "the next one begins at once");
    for ms in 11..22 {
        control.departed(&mut state, 1500, Time::ZERO, 16_383, at(ms));
    }
    assert_eq!(state.counted, None);
    let rate = state.rate;
    control.departed(&mut state, 1500, Time::ZERO, 16_383, at(23));
    assert_eq!((state.counted, state.rate), (None, rate));
}

/// RFC 8033 section 4.2: the allowance comes back where nothing is dropped and both delays are below half of the target.
#[test]
fn the_burst_allowance_comes_back_only_after_two_short_delays() {
    let rested = |probability, now_us: u64, before_us: u64, rate| {
        let control = Control { dq_rate_estimator: rate > 0.0, ..control() };
        let [now, before] = [now_us, before_us].map(Span::from_micros);
        // An estimator finds the delay by what waits, and has the one before from its last update.
        let delay = if control.dq_rate_estimator { before } else { now };
        let mut state = State { probability, delay, delay_before: before, burst: Span::ZERO, rate, ..State::default() };
        let backlog = (rate * now.as_secs_f64()).round() as u64;
        control.update(&mut state, backlog);
        state.burst == BURST
    };
    for rate in [0.0, 1_000_000.0] {
        assert!(rested(0.0, 7_499, 7_499, rate), "{rate}");
        assert!(!rested(0.0, 7_500, 7_499, rate), "{rate}");
        assert!(!rested(0.0, 7_499, 7_500, rate), "{rate}");
        assert!(!rested(0.3, 7_499, 7_499, rate), "{rate}");
    }
}
