//! MPTCP and MPQUIC over several paths of a scenario.

use haltere_sim::result::TraceResult;
use haltere_sim::{RunResult, Scenario, run, trace};
use serde_json::{Value as Json, json};

/// A scenario with a fast path of short delay and a slow one of long delay.
fn scenario(contender: &str, more: Json) -> Json {
    let mut flow = json!({ "contender": contender, "size": "4MB" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "topology": { "kind": "multipath", "paths": [
            { "rate": "20Mbit/s", "delay": "5ms", "queue": "50p" },
            { "rate": "10Mbit/s", "delay": "25ms", "queue": "50p" },
        ] },
        "flows": [flow],
    })
}

fn result(scenario: &Json) -> RunResult {
    run(&Scenario::from_json(&scenario.to_string()).unwrap(), 1, 0).unwrap()
}

fn seconds(contender: &str, more: Json) -> f64 {
    result(&scenario(contender, more)).flows[0].completion_s.unwrap()
}

/// Bytes that came down each path.
fn down(result: &RunResult) -> Vec<u64> {
    let links = serde_json::to_value(&result.links).unwrap();
    let links = links.as_array().unwrap();
    (0..2)
        .map(|k| {
            let name = format!("path {k}");
            let link = links.iter().find(|l| l["link"] == name.as_str() && l["direction"] == "down").unwrap();
            link["delivered_bytes"].as_u64().unwrap()
        })
        .collect()
}

#[test]
fn both_use_both_paths_and_are_faster_than_the_better_one() {
    for (several, single) in [("mptcp/cubic", "tcp/cubic"), ("mpquic/cubic", "quic/cubic")] {
        let both = result(&scenario(several, json!({})));
        let shares = down(&both);
        assert!(shares.iter().all(|&bytes| bytes > 500_000), "{several}: {shares:?}");
        let (ours, one) = (both.flows[0].completion_s.unwrap(), seconds(single, json!({})));
        assert!(ours < one * 0.85, "{several}: {ours} s, {single}: {one} s");
    }
}

#[test]
fn a_flow_connects_on_the_path_that_it_is_given() {
    for contender in ["tcp/cubic", "quic/cubic"] {
        let second = result(&scenario(contender, json!({ "first_path": 1 })));
        assert_eq!(down(&second)[0], 0, "{contender}");
    }
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let far = result(&scenario(contender, json!({ "first_path": 1 })));
        let near = result(&scenario(contender, json!({})));
        let handshake = |r: &RunResult| r.flows[0].handshake_s.unwrap();
        assert!(handshake(&far) > handshake(&near) * 3.0, "{contender}");
        assert!(down(&far).iter().all(|&bytes| bytes > 100_000));
    }
    let wrong = scenario("mptcp/cubic", json!({ "first_path": 2 }));
    let error = run(&Scenario::from_json(&wrong.to_string()).unwrap(), 1, 0).unwrap_err().to_string();
    assert!(error.contains("flows[0].first_path") && error.contains("0 to 1"), "{error}");
}

#[test]
fn schedulers_have_names_in_contenders() {
    let times = ["", "+round-robin", "+redundant", "+scheduler=priority"]
        .map(|s| [seconds(&format!("mptcp/cubic{s}"), json!({})), seconds(&format!("mpquic/cubic{s}"), json!({}))]);
    for protocol in 0..2 {
        // The same data on both paths is no faster than the better path.
        assert!(times[2][protocol] > times[0][protocol] * 1.1, "{times:?}");
    }
    // The kernel's default, and with a coupled control that of Linux's first implementation.
    for (default, named) in [("cubic", "cubic+linux"), ("olia", "olia+lowest-rtt")] {
        let [default, named] = [default, named].map(|name| seconds(&format!("mptcp/{name}"), json!({})));
        assert_eq!(default, named);
    }
    assert_ne!(seconds("mptcp/olia", json!({})), seconds("mptcp/olia+linux", json!({})));
    let refused =
        |contender: &str| Scenario::from_json(&scenario(contender, json!({})).to_string()).unwrap_err().message;
    let single = refused("tcp/cubic+scheduler=linux");
    assert!(single.contains("single path"), "{single}");
    assert!(refused("mptcp/cubic+tfo").contains("tfo"));
}

/// A client with two links of its own to the router in front of a shared bottleneck, and another host beside it.
fn shared(contender: &str, other: &str) -> Json {
    let link = |from: &str, to: &str, link: Json| json!({ "from": from, "to": to, "link": link });
    let own = |n: u8| {
        let mut own = link("router", "phone", json!({ "rate": "100Mbit/s", "delay": "1ms" }));
        own["name"] = json!(format!("own {n}"));
        own
    };
    json!({
        "duration": "60s",
        "measure_from": "10s",
        "topology": { "kind": "graph", "links": [
            link("server", "gate", json!({ "rate": "1Gbit/s", "delay": "0ms" })),
            link("gate", "router", json!({ "rate": "10Mbit/s", "delay": "19ms", "queue": "33p" })),
            own(0),
            own(1),
            link("router", "laptop", json!({ "rate": "100Mbit/s", "delay": "1ms" })),
        ] },
        "flows": [
            { "contender": contender, "app": "raw", "server": "server", "client": "phone", "start_spread": "1s" },
            { "contender": other, "app": "raw", "server": "server", "client": "laptop", "start_spread": "1s" },
        ],
    })
}

/// The mean goodputs of the flows over some replications, Mbit/s.
fn goodputs(scenario: &Json, replications: u64) -> Vec<f64> {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut sums = vec![0.0; scenario.flows.len()];
    for replication in 0..replications {
        for (sum, flow) in sums.iter_mut().zip(run(&scenario, 1, replication).unwrap().flows) {
            *sum += flow.goodput_bps.unwrap() / 1e6;
        }
    }
    sums.iter().map(|sum| sum / replications as f64).collect()
}

#[test]
fn coupled_controls_take_no_more_than_one_flow_where_their_paths_share_a_bottleneck() {
    for (several, single) in [("mptcp", "tcp/newreno"), ("mpquic", "quic/newreno")] {
        for control in ["lia", "olia", "balia"] {
            let found = goodputs(&shared(&format!("{several}/{control}"), single), 8);
            println!("{several}/{control}: {found:?}");
            assert!(found[0] < 1.2 * found[1], "{several}/{control}: {found:?}");
            assert!(found[0] + found[1] > 8.5, "{several}/{control} leaves the link idle: {found:?}");
        }
        let uncoupled = goodputs(&shared(&format!("{several}/newreno"), single), 8);
        println!("{several} uncoupled: {uncoupled:?}");
        assert!(uncoupled[0] > 1.5 * uncoupled[1], "two uncoupled flows take more than one: {uncoupled:?}");
    }
}

#[test]
fn coupled_controls_take_what_disjoint_paths_give() {
    for several in ["mptcp", "mpquic"] {
        for control in ["lia", "olia", "balia", "wvegas"] {
            let path = |rate: &str, delay: &str| json!({ "rate": rate, "delay": delay, "queue": "1bdp" });
            let found = goodputs(
                &json!({
                    "duration": "30s",
                    "measure_from": "5s",
                    "topology": { "kind": "multipath", "paths": [path("10Mbit/s", "10ms"), path("5Mbit/s", "20ms")] },
                    "flows": [{ "contender": format!("{several}/{control}"), "app": "raw" }],
                }),
                1,
            );
            println!("{several}/{control}: {found:?}");
            assert!(found[0] > 0.9 * 10.0, "{several}/{control}: {found:?}");
        }
    }
}

#[test]
fn on_one_path_multipath_quic_is_quic_but_for_a_transport_parameter() {
    // The identifier 0x3e, a length and a value below 64 (draft-ietf-quic-multipath section 2), from the server.
    const PARAMETER: u64 = 3;
    for control in ["cubic", "newreno", "bbr"] {
        for loss in ["0%", "1%", "3%"] {
            let one = |transport: &str| {
                let path = json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "1bdp", "loss": loss });
                result(&json!({
                    "topology": { "kind": "multipath", "paths": [path] },
                    "flows": [{ "contender": format!("{transport}/{control}"), "size": "2MB" }],
                }))
            };
            let (quic, mpquic) = (one("quic"), one("mpquic"));
            let packets = |r: &RunResult| {
                let flow = &r.flows[0];
                let links = serde_json::to_value(&r.links).unwrap();
                let counts =
                    ["offered_packets", "delivered_packets", "dropped_queue", "dropped_loss", "max_queue_packets"];
                let links: Vec<Json> =
                    links.as_array().unwrap().iter().flat_map(|l| counts.map(|count| l[count].clone())).collect();
                (flow.sent_packets, flow.retransmitted_packets, flow.lost_packets, flow.timeouts, links)
            };
            assert_eq!(packets(&quic), packets(&mpquic), "{control}, {loss}");
            let (a, b) = (&quic.flows[0], &mpquic.flows[0]);
            assert_eq!(a.wire_bytes + PARAMETER, b.wire_bytes, "{control}, {loss}");
            let (a, b) = (a.completion_s.unwrap(), b.completion_s.unwrap());
            assert!((a - b).abs() < 1e-4 * a, "{control}, {loss}: {a} s and {b} s");
        }
    }
}

/// The share of reordered packets, and the mean out-of-order delay times the data over the time, which is the mean of what is held.
fn reordered(contender: &str, paths: &Json) -> (f64, [f64; 2]) {
    let scenario = json!({
        "topology": { "kind": "multipath", "paths": paths },
        "flows": [{ "contender": contender, "size": "1MB", "app": "raw" }],
    });
    let result = result(&scenario);
    let flow = &result.flows[0];
    let law = flow.out_of_order_delay_mean_s.unwrap() * flow.bytes as f64 / flow.completion_s.unwrap();
    (flow.reordered_ratio.unwrap(), [flow.mean_held_bytes.unwrap(), law])
}

#[test]
fn nothing_is_reordered_where_nothing_can_be() {
    let clean = json!([{ "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p" }]);
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/cubic", "mpquic/cubic"] {
        assert_eq!(reordered(contender, &clean), (0.0, [0.0, 0.0]), "{contender}");
    }
    for contender in ["tcp/cubic", "quic/cubic"] {
        let second = json!([clean[0], { "rate": "20Mbit/s", "delay": "50ms", "queue": "1000p" }]);
        assert_eq!(reordered(contender, &second).0, 0.0, "{contender} uses the first path");
    }
}

#[test]
fn repaired_losses_and_unlike_paths_reorder_data() {
    let lossy = json!([{ "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p", "down": { "loss": "1%" } }]);
    let unlike = json!([
        { "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p" },
        { "rate": "10Mbit/s", "delay": "50ms", "queue": "1000p" },
    ]);
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/cubic", "mpquic/cubic"] {
        let (ratio, [held, law]) = reordered(contender, &lossy);
        // Few packets beyond those that were lost.
        assert!((0.002..0.03).contains(&ratio), "{contender}: {ratio}");
        assert!((held / law - 1.0).abs() < 0.01, "{contender}, Little's law: {held} {law}");
    }
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let (ratio, [held, law]) = reordered(contender, &unlike);
        assert!(ratio > 0.03, "{contender}: {ratio}");
        assert!((held / law - 1.0).abs() < 0.05, "{contender}, Little's law: {held} {law}");
    }
}

/// Two paths of which the second loses packets.
fn traced(contender: &str) -> TraceResult {
    let mut scenario = scenario(contender, json!({ "size": "1MB", "app": "raw" }));
    scenario["topology"]["paths"][1]["down"] = json!({ "loss": "2%" });
    trace(&Scenario::from_json(&scenario.to_string()).unwrap(), 1, 0).unwrap()
}

#[test]
fn a_trace_has_the_schedule_and_what_the_receiver_holds() {
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let traced = traced(contender);
        let (flow, schedule) = (&traced.result.flows[0], &traced.schedule[0]);
        let count = schedule.t_s.len();
        let rows = (0..count).filter(|&k| schedule.stream[k] == 0);
        // Every byte was sent for the first time on some path, and what was sent before is marked.
        let mut sent = vec![false; flow.bytes as usize];
        let mut again = 0;
        for k in rows {
            let (start, bytes) = (schedule.start[k] as usize, schedule.bytes[k] as usize);
            let part = &mut sent[start..start + bytes];
            assert_eq!(schedule.again[k], part.iter().all(|sent| *sent), "{contender}: row {k}");
            part.fill(true);
            again += u64::from(schedule.again[k]);
        }
        assert!(sent.iter().all(|sent| *sent), "{contender}");
        assert!(again > 0 && schedule.t_s.is_sorted(), "{contender}");
        for path in [0, 1] {
            let carried: u64 =
                (0..count).filter(|&k| schedule.path[k] == path).map(|k| u64::from(schedule.bytes[k])).sum();
            let offered = down(&traced.result)[usize::from(path)] as f64 / if path == 1 { 0.98 } else { 1.0 };
            let headers = offered / carried as f64;
            assert!((1.0..1.1).contains(&headers), "{contender}: path {path}: {carried} {offered}");
            assert!(carried > 100_000, "{contender}: path {path} {carried}");
        }
        let held = traced.series.iter().find(|s| s.name == "held").unwrap();
        assert_eq!((held.who.as_str(), held.unit, held.v.last()), ("flow 0", "B", Some(&0.0)));
        assert_eq!(held.v.iter().fold(0.0, |a: f64, b| a.max(*b)), flow.most_held_bytes.unwrap() as f64);
        let times = held.t_s.iter().zip(&held.t_s[1..]).zip(&held.v);
        let blocked: f64 = times.map(|((a, b), v)| if *v > 0.0 { b - a } else { 0.0 }).sum();
        assert!((blocked - flow.blocked_s.unwrap()).abs() < 1e-6, "{contender}: {blocked}");
        for name in ["cwnd", "bytes_in_flight", "rtt", "delivery_rate"] {
            let of_paths = traced.series.iter().filter(|s| s.name == name).map(|s| s.who.as_str()).collect::<Vec<_>>();
            assert_eq!(of_paths, ["flow 0", "flow 0 path 1"], "{contender}: {name}");
        }
        let density: f64 = traced.reordering[0].density.iter().map(|d| d.1).sum();
        assert!((density - 1.0).abs() < 1e-9 && traced.reordering[0].density.len() > 3, "{contender}");
    }
    assert!(traced("tcp/cubic").schedule.is_empty() && traced("quic/cubic").schedule.is_empty());
}

#[test]
fn a_path_in_reserve_carries_data_only_while_no_other_can() {
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let mut given = scenario(contender, json!({}));
        given["topology"]["paths"][1]["backup"] = json!(true);
        let reserved = down(&result(&given));
        assert!(reserved[1] < 5_000, "{contender}: {reserved:?}");
        given["topology"]["paths"][0]["outage"] = json!([{ "from": "500ms", "to": "100s" }]);
        let repaired = result(&given);
        assert_eq!(repaired.status, "ok", "{contender}: {:?}", repaired.error);
        assert!(down(&repaired)[1] > 1_000_000, "{contender}");
        // The path that the connection opens on may be the one in reserve.
        let mut first = scenario(contender, json!({}));
        first["topology"]["paths"][0]["backup"] = json!(true);
        let first = down(&result(&first));
        assert!(first[1] > 3_500_000, "{contender}: {first:?}");
    }
    let link = json!({
        "topology": { "kind": "point-to-point", "link": { "backup": true } },
        "flows": [{ "contender": "mptcp/cubic", "size": "1MB" }],
    });
    let error = Scenario::from_json(&link.to_string()).unwrap_err().to_string();
    assert!(error.contains("topology.link.backup") && error.contains("leave it out"), "{error}");
}

#[test]
fn without_its_options_mptcp_goes_on_as_tcp() {
    let mut all = scenario("mptcp/cubic", json!({ "app": "raw" }));
    for k in [0, 1] {
        all["topology"]["paths"][k]["strip_options"] = json!(true);
    }
    let fallen = result(&all);
    assert_eq!(fallen.status, "ok", "{:?}", fallen.error);
    assert_eq!(down(&fallen)[1], 0, "there is one subflow");
    // It keeps the segments of MPTCP, 1420 bytes, and sends them with TCP's headers alone.
    let plain = seconds("tcp/cubic", json!({ "app": "raw" }));
    let ours = fallen.flows[0].completion_s.unwrap();
    assert!((ours / plain - 1.0).abs() < 0.1, "{ours} s, TCP {plain} s");
    let headers = fallen.flows[0].overhead_bytes as f64 / (4e6 / 1420.0);
    assert!((52.0..54.0).contains(&headers), "{headers} bytes of headers a segment");
    // Where the options are removed on the second path alone, no subflow opens there.
    let mut second = scenario("mptcp/cubic", json!({}));
    second["topology"]["paths"][1]["strip_options"] = json!(true);
    let second = result(&second);
    assert_eq!(second.status, "ok");
    assert!(down(&second)[1] < 1_000, "{:?}", down(&second));
    // Other transports do not notice.
    for contender in ["tcp/cubic", "mpquic/cubic"] {
        let mut given = scenario(contender, json!({}));
        given["topology"]["paths"][0]["strip_options"] = json!(true);
        let ours = result(&given).flows[0].completion_s.unwrap();
        assert_eq!(ours, seconds(contender, json!({})), "{contender}");
    }
}

#[test]
fn what_is_sent_again_on_another_path_is_counted() {
    let dying = |contender: &str, outage: bool| {
        let mut scenario = scenario(contender, json!({}));
        if outage {
            scenario["topology"]["paths"][0]["outage"] = json!([{ "from": "300ms", "to": "3s" }]);
        }
        let flow = &result(&scenario).flows[0];
        (flow.reinjected_bytes.unwrap(), flow.bytes)
    };
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let (again, all) = dying(contender, true);
        // What was in flight on the first path at least, and not all of the data.
        assert!(again > 20_000 && again < all, "{contender}: {again} of {all}");
    }
    // Without losses every path repairs its own.
    assert_eq!(dying("mptcp/cubic", false).0, 0);
    for contender in ["tcp/cubic", "quic/cubic"] {
        assert_eq!(dying(contender, true).0, 0, "{contender} has one path");
    }
    // Copies on the second path count, too.
    assert!(dying("mpquic/cubic+redundant", false).0 > 1_000_000);
}
