//! The transmit path of a host: TCP small queues, byte queue limits, and a full local queue, which pushes back instead of
//! losing.

use crate::common;

use haltere_sim::result::{FlowResult, LinkResult};
use haltere_sim::{RunResult, trace};
use serde_json::{Value, json};

/// Downloads over a link of 10 Mbit/s whose server's interface has this queue and ring, for 20 s unless they have a size.
fn given(contenders: &[&str], down: Value, size: Option<&str>) -> Value {
    let flows: Vec<Value> = contenders
        .iter()
        .map(|contender| {
            let mut flow = json!({ "contender": contender, "app": "raw" });
            if let Some(size) = size {
                flow["size"] = json!(size);
            }
            flow
        })
        .collect();
    let link = json!({ "rate": "10Mbit/s", "delay": "5ms", "down": down });
    let mut scenario = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": flows });
    if size.is_none() {
        scenario["duration"] = json!("20s");
    }
    scenario
}

fn run(contenders: &[&str], down: Value, size: Option<&str>) -> RunResult {
    let given = given(contenders, down, size);
    let result = common::result(&given);
    assert_eq!(common::flaw(&given, &result), None, "{given}");
    assert_eq!(result.error, None, "{given}");
    result
}

fn down(result: &RunResult) -> &LinkResult {
    result.links.iter().find(|l| l.direction == "down").unwrap()
}

fn longest(result: &RunResult) -> (u64, u64) {
    let stages = &down(result).stages;
    (stages.max_qdisc_packets.unwrap(), stages.max_ring_packets.unwrap())
}

fn mean_rtt_ms(flow: &FlowResult) -> f64 {
    1e3 * flow.mean_rtt_s.unwrap()
}

const BUSY_BPS: f64 = 9.3e6;

/// The two kernels: without small queues and byte limits, one flow fills the stages below it; with them it keeps a few
/// packets there. Both keep the wire busy.
#[test]
fn small_queues_and_byte_limits_keep_a_flow_from_filling_its_own_host() {
    let stages = |bql: bool| json!({ "queue": "1000p", "ring": "256p", "bql": bql });
    let old = run(&["tcp/cubic-tsq-hystart"], stages(false), None);
    let new = run(&["tcp/cubic-hystart"], stages(true), None);
    let only_tsq = run(&["tcp/cubic-hystart"], stages(false), None);
    let only_bql = run(&["tcp/cubic-tsq-hystart"], stages(true), None);
    for result in [&old, &new, &only_tsq, &only_bql] {
        assert!(result.flows[0].goodput_bps.unwrap() > BUSY_BPS, "{:?}", result.flows[0]);
    }
    let (qdisc, ring) = longest(&old);
    assert_eq!((qdisc, ring), (1000, 256));
    assert!(mean_rtt_ms(&old.flows[0]) > 500.0, "{}", mean_rtt_ms(&old.flows[0]));
    // Three super-segments of two packets: two of them may be below when the third is sent.
    let (qdisc, ring) = longest(&new);
    assert!(qdisc <= 12 && ring <= 4, "{qdisc} and {ring}");
    assert!(mean_rtt_ms(&new.flows[0]) < 30.0, "{}", mean_rtt_ms(&new.flows[0]));
    // A flow's own small queue bounds both stages; a ring that is not limited then holds all of it.
    let (qdisc, ring) = longest(&only_tsq);
    assert!(qdisc == 0 && ring <= 16, "{qdisc} and {ring}");
    let (qdisc, ring) = longest(&only_bql);
    assert!(qdisc == 1000 && ring <= 4, "{qdisc} and {ring}");
}

/// The means of each stage are the recorded occupancies, integrated over the measured time; also without a ring, and without
/// a recorder.
#[test]
fn mean_occupancies_are_those_of_the_measured_time() {
    let paths = [
        json!({ "queue": "fq_codel", "ring": "20p", "bql": false }),
        json!({ "queue": "100p", "ring": "20p", "bql": true }),
        json!({ "queue": "100p" }),
        json!({ "queue": "codel" }),
    ];
    for path in paths {
        let mut given = given(&["tcp/cubic-tsq", "tcp/cubic"], path.clone(), None);
        given["measure_from"] = json!("3s");
        let traced = trace(&common::scenario(&given), 1, 0).unwrap();
        let means = down(&common::result(&given)).occupancy.clone();
        assert_eq!(means, down(&traced.result).occupancy, "{path}");
        let mut stages = vec![("queue", means.mean_queue_bytes)];
        if path["ring"].is_string() {
            stages.push(("qdisc", means.mean_qdisc_bytes));
            stages.push(("qdisc_packets", means.mean_qdisc_packets));
            stages.push(("ring_packets", means.mean_ring_packets));
        }
        for (name, mean) in stages {
            let series = traced.series.iter().find(|s| s.who == "link down" && s.name == name).unwrap();
            let ends = series.t_s.iter().skip(1).copied().chain([20.0]);
            let area =
                series.t_s.iter().zip(ends).zip(&series.v).map(|((from, to), v)| v * (to.max(3.0) - from.max(3.0)));
            let (area, mean) = (area.sum::<f64>(), mean.unwrap());
            assert!(mean > 1.0 && (area / 17.0 - mean).abs() < 1e-6 * mean, "{path} {name}: {} {mean}", area / 17.0);
        }
    }
}

/// Small queues bound each flow: many flows still fill the interface, each with its share.
#[test]
fn small_queues_bound_each_flow_by_itself() {
    let path = json!({ "queue": "1000p", "ring": "256p", "bql": false });
    let ten = run(&["tcp/cubic"; 10], path.clone(), None);
    let one = run(&["tcp/cubic"], path, None);
    let total = |result: &RunResult| down(result).max_queue_packets;
    assert!(total(&ten) > 4 * total(&one) && total(&ten) <= 160, "{} and {}", total(&ten), total(&one));
    let limited = run(&["tcp/cubic+tsq=3kB"], json!({ "queue": "1000p", "ring": "256p" }), None);
    // One packet may exceed the limit; what is sent together is not divided.
    assert!(down(&limited).max_queue_bytes <= 9_000, "{}", down(&limited).max_queue_bytes);
    assert!(limited.flows[0].goodput_bps.unwrap() > BUSY_BPS);
}

/// A download over two paths of 10 Mbit/s, each with this interface at the server.
fn over_two_paths(contender: &str, stages: &Value) -> RunResult {
    let path = |delay: &str| json!({ "rate": "10Mbit/s", "delay": delay, "down": stages });
    let given = json!({
        "topology": { "kind": "multipath", "paths": [path("5ms"), path("15ms")] },
        "flows": [{ "contender": contender, "app": "raw" }],
        "duration": "20s",
    });
    let result = common::result(&given);
    assert_eq!(common::flaw(&given, &result), None, "{given}");
    result
}

/// Each subflow of MPTCP has a small queue of its own in the interface that it goes through.
#[test]
fn small_queues_bound_each_subflow() {
    let stages = json!({ "queue": "1000p", "ring": "256p", "bql": true });
    let longest = |contender: &str| {
        let result = over_two_paths(contender, &stages);
        let goodput = result.flows[0].goodput_bps.unwrap();
        assert!(goodput > 1.8 * BUSY_BPS, "{contender}: {goodput}");
        let down = result.links.iter().filter(|l| l.direction == "down");
        down.map(|l| l.stages.max_qdisc_packets.unwrap()).collect::<Vec<_>>()
    };
    // As TCP's own: three super-segments of two packets.
    let bounded = longest("mptcp/cubic-hystart");
    assert!(bounded.len() == 2 && bounded.iter().all(|&packets| packets <= 12), "{bounded:?}");
    let filled = longest("mptcp/cubic-hystart-tsq");
    assert!(filled.iter().all(|&packets| packets > 300), "{filled:?}");
}

/// `tcp_transmit_skb`: what the own interface refuses was never sent. The window comes down, and nothing is retransmitted.
#[test]
fn a_full_local_queue_reduces_the_window_and_loses_nothing() {
    let path = json!({ "queue": "50p", "ring": "10p", "bql": false });
    let others = ["tcp/cubic-tsq-prr", "tcp/newreno-tsq-sack", "tcp/cubic-tsq-tso", "tcp/prague-tsq", "tcp/dctcp-tsq"];
    for contender in ["tcp/cubic-tsq", "tcp/newreno-tsq"].into_iter().chain(others) {
        let result = run(&[contender], path.clone(), None);
        let flow = &result.flows[0];
        assert!(down(&result).dropped_queue > 5, "{contender}: {}", down(&result).dropped_queue);
        let repairs = (flow.retransmitted_packets, flow.lost_packets, flow.timeouts);
        assert_eq!(repairs, (0, 0, Some(0)), "{contender}");
        // What was refused does not count as sent.
        let sent = down(&result).offered_packets - down(&result).dropped_queue;
        assert!(
            sent >= flow.sent_packets && sent <= flow.sent_packets + 3,
            "{contender}: {sent} {}",
            flow.sent_packets
        );
        assert!(flow.goodput_bps.unwrap() > BUSY_BPS, "{contender}");
    }
    let given = given(&["tcp/newreno-tsq"], path, None);
    let traced = trace(&common::scenario(&given), 1, 0).unwrap();
    let of = |name: &str| traced.series.iter().find(|s| s.who == "flow 0" && s.name == name).unwrap();
    // Each reduction sets the threshold to half of what was in flight: the length of both stages and the path. In between
    // the window grows until the stages are full.
    let threshold = *of("ssthresh").v.last().unwrap();
    assert!((40_000.0..55_000.0).contains(&threshold), "{threshold}");
    let teeth = of("cwnd").v.windows(2).filter(|w| w[0] > 1.5 * threshold && w[1] <= 1.5 * threshold).count();
    assert!((3..20).contains(&teeth), "{teeth}");
    for name in ["qdisc", "qdisc_packets", "ring_packets"] {
        assert!(traced.series.iter().any(|s| s.who == "link down" && s.name == name), "{name}");
    }
}

/// Several flows on one host refuse each other's packets, those of others too: all go on, and end.
#[test]
fn a_tiny_local_queue_is_survived() {
    for queue in ["0p", "1p", "3p"] {
        for ring in ["1p", "2p"] {
            let path = json!({ "queue": queue, "ring": ring, "bql": false });
            let contenders = ["tcp/cubic-tsq", "tcp/cubic", "tcp/bbr", "quic/cubic"];
            let result = run(&contenders, path, Some("500kB"));
            assert!(
                result.flows[..3].iter().all(|f| f.retransmitted_packets == 0),
                "{queue} {ring}: {:?}",
                result.flows
            );
        }
    }
}

/// The queue of a router is nobody's own: what it drops is lost.
#[test]
fn a_routers_ring_pushes_nobody_back() {
    let bottleneck = json!({ "rate": "10Mbit/s", "delay": "5ms", "queue": "50p", "ring": "10p", "bql": false });
    let result = common::result(&json!({
        "topology": { "kind": "dumbbell", "bottleneck": bottleneck },
        "duration": "20s",
        "flows": [{ "contender": "tcp/cubic-tsq", "app": "raw" }],
    }));
    let narrow = result.links.iter().find(|l| l.link == "bottleneck" && l.direction == "down").unwrap();
    assert!(narrow.dropped_queue > 5);
    assert_eq!(result.flows[0].retransmitted_packets, narrow.dropped_queue);
    assert_eq!(narrow.stages.max_ring_packets, Some(10));
    let access = result.links.iter().find(|l| l.link == "server access 0").unwrap();
    assert_eq!(access.stages.max_ring_packets, None);
}

/// A UDP socket blocks when its send buffer is full, so a QUIC sender's own host loses nothing of it.
#[test]
fn a_udp_socket_blocks_at_its_send_buffer() {
    let result = run(&["quic/cubic-hystart"], json!({ "queue": "1000p", "ring": "256p", "bql": false }), None);
    let held = down(&result).max_queue_bytes;
    assert!((200_000..=212_992 + 1_500).contains(&held), "{held}");
    assert_eq!(down(&result).dropped_queue, 0);
    assert!(result.flows[0].goodput_bps.unwrap() > 0.95 * BUSY_BPS);
    // A queue shorter than the buffer drops, and the socket does not learn of it: the packets are lost.
    let short = run(&["quic/cubic-hystart"], json!({ "queue": "50p", "ring": "10p", "bql": false }), None);
    assert!(down(&short).dropped_queue > 5);
    assert!(short.flows[0].lost_packets >= down(&short).dropped_queue);
}

/// The sockets of loads and probes block as well: a train waits in its program, and nothing of it is dropped below.
#[test]
fn a_train_is_held_back_by_its_own_host() {
    let link = json!({ "rate": "10Mbit/s", "delay": "5ms", "queue": "200p", "ring": "50p", "bql": false });
    let load = json!({ "kind": "trains", "packets": 3000, "size": "1450B", "count": 1 });
    let given = json!({ "topology": { "kind": "point-to-point", "link": link }, "loads": [load], "flows": [] });
    let result = common::result(&given);
    let there = down(&result);
    assert_eq!((there.offered_packets, there.delivered_packets, there.dropped_queue), (3000, 3000, 0));
    // 212 992 bytes are 145 packets of 1478, and the one that went beyond.
    assert_eq!(there.max_queue_packets, 144);
    assert_eq!(result.loads[0].answered_packets, 3000);
}

#[test]
fn a_send_buffer_bounds_what_is_in_flight() {
    for (contender, most) in
        [("tcp/cubic-tsq-hystart+send-buffer=64KiB", 65_536), ("tcp/cubic-tsq+send-buffer=4096B", 4096)]
    {
        let result = run(&[contender], json!({ "queue": "1000p", "ring": "256p", "bql": false }), None);
        // Data, and a header of 52 bytes for each segment.
        let held = down(&result).max_queue_bytes;
        assert!(held <= most + most / 1000 * 52 && held > most / 4, "{contender}: {held}");
    }
}
