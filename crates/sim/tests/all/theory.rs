//! Long-run windows and rates compared with theory.
//!
//! Average windows are computed as throughput × RTT. The models behind the figures count packets in each cycle from
//! loss to loss, and so do these tests. Rates are so high that only losses limit them. The first cycles, with slow
//! start and the approach to the steady state, are not counted.

use crate::common;

use common::scenario;
use haltere_sim::run;
use serde_json::{Value, json};

/// One bulk transfer over a path that only loses packets.
struct Bulk {
    contender: &'static str,
    rtt: f64,
    p: f64,
    /// Cycles from loss to loss: before counting, and counted.
    cycles: (f64, f64),
}

impl Bulk {
    /// The average window in segments, if the cycles last about as long as with a window of `about`.
    fn window(&self, loss: Value, about: f64) -> f64 {
        let cycle = self.rtt / (about * self.p);
        let (warm, counted) = (self.cycles.0 * cycle, self.cycles.1 * cycle);
        let delay = format!("{}s", self.rtt / 2.0);
        let link = json!({ "delay": delay, "rate": "100Gbit/s", "queue": "1000000p", "down": { "loss": loss } });
        let given = json!({
            "duration": format!("{:.9}s", warm + counted),
            "measure_from": format!("{warm:.9}s"),
            "topology": { "kind": "point-to-point", "link": link },
            "flows": [{ "contender": self.contender, "app": "raw" }],
        });
        let result = run(&scenario(&given), 1, 0).unwrap();
        assert_eq!(result.error, None);
        assert_eq!(result.flows[0].timeouts, Some(0));
        let data = if self.contender.starts_with("tcp") { 1448.0 } else { 1440.0 };
        result.flows[0].goodput_bps.unwrap() * self.rtt / 8.0 / data
    }

    fn periodic(&self, about: f64) -> f64 {
        self.window(json!({ "model": "periodic", "every": (1.0 / self.p).round() as u64 }), about)
    }
}

#[test]
fn bytes_and_rates_are_those_of_the_measured_time() {
    for size in [None, Some("1GB")] {
        let given = json!({
            "duration": "6s",
            "measure_from": "4s",
            "topology": { "kind": "point-to-point", "link": { "rate": "10Mbit/s", "delay": "10ms", "queue": "1bdp" } },
            "flows": [{ "contender": "tcp/cubic", "app": "raw", "size": size }],
        });
        let result = run(&scenario(&given), 1, 0).unwrap();
        let flow = &result.flows[0];
        // The queue is never empty then: the link carries packets of 1500 bytes, with 1448 of data.
        let rate = flow.throughput_bps.unwrap();
        assert!((9.9e6..10.01e6).contains(&rate), "{size:?}: {rate}");
        assert_near("goodput", flow.goodput_bps.unwrap(), rate * 1448.0 / 1500.0);
        assert_eq!(flow.wire_bytes, flow.bytes + flow.overhead_bytes);
        assert_eq!(rate, flow.wire_bytes as f64 * 8.0 / 2.0);
    }
}

/// RFC 9438 section 5.1: the average window with losses every 1/p packets; Reno's where that is larger (tables 1 and 2).
fn rfc_9438(p: f64, rtt: f64) -> f64 {
    (1.054 * libm::pow(rtt / p, 0.75)).max(1.2 / p.sqrt())
}

/// Segments the window grows by in a round trip where CUBIC follows Reno (RFC 9438 section 4.3).
const ALPHA: f64 = 3.0 * 0.3 / 1.7;

#[test]
fn the_formula_gives_the_table_of_rfc_9438() {
    let table = [(1e-2, 12.0), (1e-3, 38.0), (1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)];
    for (p, window) in table {
        assert!((rfc_9438(p, 0.1) / window - 1.0).abs() < 0.01, "{p}");
    }
}

fn assert_near(what: &str, got: f64, wanted: f64) {
    let ratio = got / wanted;
    assert!((0.9..1.1).contains(&ratio), "{what}: {got:.1} against {wanted:.1}, {ratio:.3} times it");
}

#[test]
fn cubic_has_the_windows_of_rfc_9438_where_segments_are_small_beside_them() {
    let cells = [
        // It takes six cycles until the window has come down from the level at which slow start left it.
        (0.1, 1e-6, (8.0, 6.0)),
        (0.01, 1e-3, (20.0, 400.0)),
        (0.01, 1e-4, (10.0, 60.0)),
        (0.01, 1e-5, (5.0, 20.0)),
    ];
    for (rtt, p, cycles) in cells {
        let wanted = rfc_9438(p, rtt);
        let got = Bulk { contender: "tcp/cubic", rtt, p, cycles }.periodic(wanted);
        assert_near(&format!("RTT {rtt} s, p = {p}"), got, wanted);
    }
}

/// The controller counts bytes instead of whole segments.
#[test]
fn cubic_in_bytes_has_the_windows_of_rfc_9438() {
    let cells = [
        (0.1, 1e-3, (20.0, 200.0)),
        (0.1, 1e-4, (10.0, 40.0)),
        (0.1, 1e-5, (5.0, 10.0)),
        (0.01, 1e-3, (20.0, 200.0)),
        (0.01, 1e-4, (10.0, 40.0)),
        (0.01, 1e-5, (5.0, 10.0)),
    ];
    for (rtt, p, cycles) in cells {
        let wanted = rfc_9438(p, rtt);
        let got = Bulk { contender: "quic/cubic", rtt, p, cycles }.periodic(wanted);
        assert_near(&format!("RTT {rtt} s, p = {p}"), got, wanted);
    }
}

/// The average window of CUBIC's rules, computed one step per round trip, in whole segments as Linux counts, from a
/// window far above the steady state.
///
/// Linux computes its target in whole segments. The window is therefore back at W_max as soon as the curve is less than
/// one segment below it: (1/C)^(1/3) = 1.36 s before the middle of the plateau. A loss at any later time finds W =
/// W_max and changes nothing. Instead of one fixed point there is a band of them. A window that comes down into the
/// band, as it does after slow start, stays near its upper edge. (From below it stays under the table.)
fn in_whole_segments(p: f64, rtt: f64) -> f64 {
    let (mut window, mut last_max) = ((3.0 * rfc_9438(p, rtt)).floor(), 0.0);
    let (mut packets, mut rounds) = (0.0, 0.0);
    for cycle in 0..120 {
        // Fast convergence (section 4.7), then the reduction (section 4.6) and a round trip of recovery.
        last_max = if window < last_max { (0.85 * window).floor() } else { window };
        window = (0.7 * window).floor().max(2.0);
        let origin = window.max(last_max);
        let k = libm::cbrt((origin - window) / 0.4);
        let (mut reno, mut t, mut sent, mut steps) = (window, 0.0, window, 1.0);
        while sent < 1.0 / p {
            sent += window;
            steps += 1.0;
            let from_k = t + rtt - k;
            let distance = (0.4 * libm::pow(from_k.abs(), 3.0)).floor();
            let target = if from_k < 0.0 { origin - distance } else { origin + distance };
            reno += ALPHA;
            window = window.max(target.min(1.5 * window).floor()).max(reno.floor());
            t += rtt;
        }
        if cycle >= 60 {
            packets += sent;
            rounds += steps;
        }
    }
    packets / rounds
}

/// Where a plateau of 1.36 s is a large part of a cycle, TCP's windows are up to a fifth above the table: see
/// [`in_whole_segments`]. The same happens where Reno's window and the curve cross, because the table takes the larger
/// of two averages and the algorithm takes the larger of two windows at each instant.
#[test]
fn whole_segments_let_cubic_rest_above_the_table() {
    for (rtt, p, cycles) in
        [(0.1, 1e-3, (20.0, 400.0)), (0.1, 1e-4, (10.0, 60.0)), (0.1, 1e-5, (5.0, 20.0)), (0.01, 1e-6, (4.0, 8.0))]
    {
        let wanted = in_whole_segments(p, rtt);
        let got = Bulk { contender: "tcp/cubic", rtt, p, cycles }.periodic(rfc_9438(p, rtt));
        assert_near(&format!("RTT {rtt} s, p = {p}"), got, wanted);
        assert!((1.0..1.2).contains(&(wanted / rfc_9438(p, rtt))), "RTT {rtt} s, p = {p}: {wanted}");
    }
}

/// Windows of a dozen segments are below the table, which does not include recovery. In each cycle the window does not
/// grow for one round trip in recovery, and for another until it follows Reno's, which Linux checks in whole segments.
/// W = 0.7 peak to peak in 0.3 peak / alpha + 2 round trips. A sender of super-segments waits for up to a millisecond
/// in each, so the true value is between the window and that over round trips longer by as much.
#[test]
fn small_windows_of_cubic_are_those_of_reno_with_two_round_trips_without_growth() {
    for rtt in [0.1, 0.01] {
        let p = 1e-2;
        // Packets in a cycle: 0.85 peak (0.3 peak / alpha) + 2 (0.7 peak) = 1/p.
        let (a, b, c) = (0.85 * 0.3 / ALPHA, 1.4, -1.0 / p);
        let peak = (-b + libm::sqrt(b * b - 4.0 * a * c)) / (2.0 * a);
        let wanted = 1.0 / p / (0.3 * peak / ALPHA + 2.0);
        let got = Bulk { contender: "tcp/cubic", rtt, p, cycles: (20.0, 400.0) }.periodic(wanted);
        assert_near(&format!("RTT {rtt} s, p = {p}"), got, got.clamp(wanted * rtt / (rtt + 1e-3), wanted));
    }
}

/// Padhye, Firoiu, Towsley, Kurose: Modeling TCP Reno performance (2000), equation 31, as a window: rate × RTT. Growth by
/// bytes delivered (RFC 3465) makes b = 1 although ACKs are delayed.
fn pftk(p: f64, rtt: f64) -> f64 {
    let (b, timeout) = (1.0, rtt + 0.2);
    let congestion_avoidance = rtt * libm::sqrt(2.0 * b * p / 3.0);
    let timeouts = timeout * (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    rtt / (congestion_avoidance + timeouts)
}

#[test]
fn reno_has_the_rate_of_pftk() {
    for rtt in [0.1, 0.01] {
        for (p, cycles) in [(1e-3, 3000.0), (3e-4, 1500.0), (1e-4, 800.0), (1e-5, 100.0)] {
            let wanted = pftk(p, rtt);
            let bulk = Bulk { contender: "tcp/newreno", rtt, p, cycles: (10.0, cycles) };
            let got = bulk.window(json!(format!("{p}")), wanted);
            assert_near(&format!("RTT {rtt} s, p = {p}"), got, wanted);
        }
    }
}
