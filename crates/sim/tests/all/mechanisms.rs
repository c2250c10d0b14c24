//! Every switch of the tables of mechanisms has an effect: set to another value than its default, it changes the result
//! of some scenario.

use crate::common;

use haltere_sim::contender::{BUNDLES, Row, catalogue};
use haltere_sim::{Fidelity, Scenario, check_at, run};
use haltere_transport::mechanisms::{Facts, Kind, MPQUIC, MPTCP, QUIC, ROQ, TCP, Value};
use haltere_transport::scheduler::Scheduler;
use serde_json::{Value as Json, json};

/// The facts of a row, if it is a mechanism of a transport.
fn facts(row: &Row) -> Option<Facts> {
    let tables: [(&str, Vec<Facts>); 5] = [
        ("tcp", TCP.iter().map(|m| m.facts).collect()),
        ("quic", QUIC.iter().map(|m| m.facts).collect()),
        ("mptcp", MPTCP.iter().map(|m| m.facts).collect()),
        ("mpquic", MPQUIC.iter().map(|m| m.facts).collect()),
        ("roq", ROQ.iter().map(|m| m.facts).collect()),
    ];
    let table = tables.into_iter().find(|(transport, _)| *transport == row.transport)?.1;
    table.into_iter().find(|facts| facts.name == row.name)
}

/// Switches to compare: those of a base, and those added so that the row's switch differs from its default.
fn away(row: &Row) -> (&'static str, String) {
    let chosen = [
        ("tcp", "initial-window", "", "+initial-window=30"),
        ("tcp", "segment", "", "+segment=536B"),
        ("tcp", "header", "", "+header=60B"),
        ("tcp", "unpaced", "+pacing", "+unpaced=0"),
        ("tcp", "sack-compression-acks", "+sack-compression=5ms", "+sack-compression-acks=1"),
        ("tcp", "sack-compression-share", "+sack-compression=5ms", "+sack-compression-share=50"),
        ("tcp", "sack-compression-slack", "", "+sack-compression-slack=5ms"),
        ("tcp", "growth", "", "+growth=exact"),
        ("tcp", "rto-min", "", "+rto-min=1s"),
        ("tcp", "clock-unit", "+pacing", "+clock-unit=1ms"),
        ("tcp", "clock-step", "+pacing", "+clock-step=500ns"),
        ("tcp", "ack-delay", "-hurried-acks", "+ack-delay=10ms"),
        ("tcp", "receive-window", "", "+receive-window=16KiB"),
        ("tcp", "ack-window", "+receive-window=64KiB+max-receive-window=64KiB", "-ack-window"),
        ("tcp", "network-card", "+receive-window=16KiB", "+network-card=virtio"),
        ("tcp", "max-receive-window", "+receive-window=16KiB", "+max-receive-window=20KiB"),
        ("tcp", "send-buffer", "", "+send-buffer=32KiB"),
        ("tcp", "l4s", "+ecn=accurate", "+l4s"),
        ("tcp", "hides-marks", "+ecn", "+hides-marks"),
        ("tcp", "splits-acks", "-byte-counting", "+splits-acks"),
        ("tcp", "optimistic-acks", "", "+optimistic-acks"),
        ("quic", "hides-marks", "+ecn", "+hides-marks"),
        ("quic", "l4s", "+ecn", "+l4s"),
        ("quic", "initial-window", "", "+initial-window=30"),
        ("quic", "datagram", "", "+datagram=1200B"),
        ("quic", "header", "", "+header=48B"),
        ("quic", "unpaced", "", "+unpaced=0"),
        ("quic", "burst", "", "+burst=10"),
        ("quic", "probe-step", "", "+probe-step=1s"),
        ("quic", "granularity", "", "+granularity=50ms"),
        ("quic", "initial-rtt", "", "+initial-rtt=50ms"),
        ("quic", "ack-delay", "+ack-every=100", "+ack-delay=5ms"),
        ("quic", "stream-window", "", "+stream-window=32KiB"),
        ("tcp", "autotuning", "+receive-window=40kB", "+autotuning=drs"),
        ("mptcp", "autotuning", "+receive-window=40kB", "+autotuning=drs"),
        ("quic", "max-stream-window", "+stream-window=32KiB", "+max-stream-window=32KiB"),
        ("quic", "connection-window", "", "+connection-window=32KiB"),
        ("quic", "max-connection-window", "+connection-window=32KiB", "+max-connection-window=32KiB"),
        ("quic", "idle-timeout", "", "+idle-timeout=100ms"),
        ("quic", "connection-ids", "", "+connection-ids=2"),
        ("quic", "keep-alive", "", "+keep-alive=1s"),
        ("mptcp", "opportunistic", "+receive-window=40kB+max-receive-window=40kB+lowest-rtt", "+opportunistic"),
        ("mptcp", "penalisation", "+receive-window=40kB+max-receive-window=40kB+lowest-rtt", "+penalisation"),
        ("mptcp", "subflow-buffer", "", "+subflow-buffer=20kB"),
        ("mptcp", "header-room", "", "+header-room=256B"),
        ("mpquic", "scheduler", "", "+scheduler=daps"),
        ("mpquic", "path-acks", "", "+path-acks=lowest"),
    ];
    if let Some((.., base, more)) = chosen.iter().find(|(t, n, ..)| (*t, *n) == (row.transport, row.name)) {
        return (base, (*more).into());
    }
    let Some(facts) = facts(row) else { return ("", format!("+{}", row.name)) };
    let Facts { name, kind, off, .. } = facts;
    let other = match kind {
        Kind::OneOf(words) => words.iter().rev().find(|w| **w != row.default).map(|w| format!("+{name}={w}")),
        Kind::Scheduler => {
            Scheduler::ALL.iter().rev().find(|s| s.name() != row.default).map(|s| format!("+{name}={}", s.name()))
        }
        _ if off.is_some() && row.default != "off" => Some(format!("-{name}")),
        Kind::OnOff => Some(format!("+{name}")),
        Kind::Count(least, _) | Kind::Segments(least, _) => {
            let same = facts.show(Value::Number(least)) == row.default;
            Some(format!("+{name}={}", if same { least + 7 } else { least }))
        }
        Kind::Bytes(..) | Kind::Time(..) => None,
    };
    ("", other.unwrap_or_else(|| panic!("{name} of {}: choose another value in the list above", row.transport)))
}

/// A contender of a transport, without switches.
fn plain(transport: &str) -> String {
    format!("{transport}/{}", if transport == "roq" { "gcc" } else { "cubic" })
}

/// Scenarios that together exercise every mechanism.
fn scenarios(contender: &str) -> Vec<Json> {
    let bursts =
        json!({ "model": "gilbert-elliott", "good_to_bad": "0.3%", "bad_to_good": "20%", "loss_in_bad": "70%" });
    let overtaking = json!({ "distribution": "normal", "spread": "8ms", "reorder": true });
    let links = [
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "30p" }),
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "1000p", "loss": bursts }),
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "1000p", "jitter": overtaking }),
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "1000p", "loss": "20%" }),
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "1000p", "mark": "20p" }),
        json!({ "rate": "20Mbit/s", "delay": "30ms", "queue": "dualpi2" }),
        json!({ "rate": "1Gbit/s", "delay": "3ms", "queue": "1000p" }),
        json!({ "rate": "20Mbit/s", "delay": "300ms", "queue": "1000p", "loss": "45%" }),
        json!({ "rate": "20Mbit/s", "delay": "3ms", "queue": "20p", "ring": "16p" }),
    ];
    // Five objects at once, then one after three seconds without data.
    let late = json!({ "size": "300kB", "after": [4], "delay": "3s" });
    let objects: Vec<Json> = (0..5).map(|_| json!({ "size": "300kB" })).chain([late]).collect();
    let flows = [
        json!({ "contender": contender, "app": "raw", "size": "3MB" }),
        json!({ "contender": contender, "app": "https", "size": "20kB" }),
        json!({ "contender": contender, "app": "https", "page": { "objects": objects } }),
    ];
    if contender.starts_with("roq") {
        let call = |link: &Json| {
            let topology = json!({ "kind": "point-to-point", "link": link });
            json!({ "duration": "10s", "topology": topology, "flows": [{ "contender": contender }] })
        };
        return links.iter().map(call).collect();
    }
    // The second path of those that use several is slower and farther, and is interrupted.
    let outage = json!([{ "from": "400ms", "to": "8s" }]);
    let second = json!({ "rate": "4Mbit/s", "delay": "60ms", "queue": "60p", "down": { "outage": outage } });
    let of = |link: &Json, flow: &Json| {
        let topology = if contender.starts_with("mp") {
            json!({ "kind": "multipath", "paths": [link, second] })
        } else {
            json!({ "kind": "point-to-point", "link": link })
        };
        json!({ "time_limit": "40s", "topology": topology, "flows": [flow] })
    };
    let one_way = flows.iter().flat_map(|flow| links.iter().map(|link| of(link, flow)).collect::<Vec<_>>());
    one_way.chain([messages(contender)]).collect()
}

/// Small messages, of which several come in a round trip.
fn messages(contender: &str) -> Json {
    let slow = json!({ "rate": "20Mbit/s", "delay": "30ms" });
    let near = json!({ "rate": "1Gbit/s", "delay": "0ms" });
    let links = json!([
        { "from": "publisher", "to": "broker", "link": slow },
        { "from": "broker", "to": "subscriber", "link": near },
    ]);
    let mqtt = json!({ "subscriber": "subscriber", "messages": 50, "interval": "5ms" });
    let flow = json!({ "contender": contender, "client": "publisher", "server": "broker", "mqtt": mqtt });
    json!({ "time_limit": "40s", "topology": { "kind": "graph", "links": links }, "flows": [flow] })
}

/// The result without the contender's name; `None` if the scenario cannot have the contender's switches.
fn outcome(scenario: &Json) -> Option<Json> {
    let scenario = Scenario::from_json(&scenario.to_string()).ok()?;
    let mut result = serde_json::to_value(run(&scenario, 3, 0).unwrap()).unwrap();
    result["flows"][0]["contender"] = Json::Null;
    // It is derived from the contender.
    result["flows"][0]["label"] = Json::Null;
    Some(result)
}

/// Whether the additions to a contender change the result of any scenario.
fn acts(base: &str, changed: &str) -> bool {
    let pairs = scenarios(base).into_iter().zip(scenarios(changed));
    // TLS's switches are refused where there is no TLS.
    pairs.into_iter().any(|(before, after)| outcome(&after).is_some_and(|after| Some(after) != outcome(&before)))
}

#[test]
fn every_switch_changes_the_result_of_some_scenario() {
    let mut dead = Vec::new();
    for row in catalogue() {
        // Switches of production stacks do nothing in the model.
        if matches!(
            (row.transport, row.name),
            ("quic", "stockbuffers" | "haltere" | "nullcipher")
                | ("roq", "haltere" | "nullcipher")
                | ("rtp", "rawestimate")
        ) {
            continue;
        }
        let (base, more) = away(&row);
        let base = format!("{}{base}", plain(row.transport));
        let changed = format!("{base}{more}");
        if !acts(&base, &changed) {
            dead.push(changed);
        }
    }
    assert!(dead.is_empty(), "these change nothing: {dead:?}");
}

#[test]
fn every_bundle_is_its_switches_to_the_byte_and_changes_the_result_of_some_scenario() {
    for bundle in BUNDLES {
        let base = format!("{}/cubic", bundle.transport.describe().0);
        let (named, written) = (format!("{base}+as={}", bundle.name), format!("{base}{}", bundle.means()));
        assert!(!acts(&named, &written), "{named}");
        assert_eq!(acts(&base, &named), !bundle.sets.is_empty(), "{named}");
    }
}

#[test]
fn what_is_for_production_stacks_is_refused_in_the_model() {
    for name in ["stockbuffers", "haltere", "nullcipher"] {
        let given = common::scenario(&scenarios(&format!("quic/cubic+{name}"))[0]);
        let error = check_at(Fidelity::Model, &given).unwrap_err();
        assert!(error.message.contains("is for production stacks"), "{}", error.message);
    }
    let given = common::scenario(&scenarios("roq/gcc+haltere")[0]);
    let error = check_at(Fidelity::Model, &given).unwrap_err();
    assert!(error.message.contains("write roq@quinn/gcc"), "{}", error.message);
}

/// Setting a switch to its default changes nothing, so the default in the table is the one in force.
#[test]
fn the_default_of_each_switch_given_as_its_value_changes_nothing() {
    for row in catalogue().into_iter().filter(|row| facts(row).is_some() && row.default != "auto") {
        let base = plain(row.transport);
        let changed = match row.default.as_str() {
            "on" => format!("{base}+{}", row.name),
            "off" => format!("{base}-{}", row.name),
            value => format!("{base}+{}={value}", row.name),
        };
        let scenarios = scenarios(&base).into_iter().zip(scenarios(&changed)).step_by(4);
        for (before, after) in scenarios {
            assert_eq!(outcome(&before), outcome(&after), "{changed}");
        }
    }
}

/// A download of plain bytes across 20 Mbit/s and 40 ms. `down` configures the direction of the data.
fn download(contender: &str, size: &str, down: Json) -> haltere_sim::RunResult {
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1000p", "down": down });
    let flow = json!({ "contender": contender, "app": "raw", "size": size });
    let result = common::result(&json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [flow],
    }));
    assert_eq!(result.error, None, "{contender}");
    result
}

fn lost(packets: &[u64]) -> Json {
    json!({ "loss": { "model": "list", "packets": packets } })
}

/// Retransmissions and timeouts.
fn repairs(contender: &str, packets: &[u64]) -> (u64, u64) {
    let flow = &download(contender, "1MB", lost(packets)).flows[0];
    (flow.retransmitted_packets, flow.timeouts.unwrap())
}

#[test]
fn a_hole_is_repaired_once_with_and_without_rack_sack_and_prr() {
    for switches in ["", "-rack", "-sack", "-prr", "-sack-prr", "-frto", "-undo", "-rack-tlp-prr-frto-undo-tso"] {
        let contender = format!("tcp/cubic-hystart+max-receive-window=8MiB{switches}");
        assert_eq!(repairs(&contender, &[200]), (1, 0), "{contender}");
    }
}

#[test]
fn without_sack_a_window_with_several_holes_takes_a_round_trip_for_each() {
    let holes: Vec<u64> = (0..8).map(|i| 300 + 5 * i).collect();
    let time = |contender: &str| download(contender, "1MB", lost(&holes)).flows[0].completion_s.unwrap();
    assert_eq!(repairs("tcp/newreno", &holes).0, 8);
    assert_eq!(repairs("tcp/newreno-sack", &holes), (8, 0));
    assert_eq!(repairs("tcp/newreno-rack", &holes).0, 8);
    let rounds = (time("tcp/newreno-sack") - time("tcp/newreno")) / 0.04;
    assert!(rounds > 4.0 && rounds < 9.0, "{rounds}");
}

#[test]
fn a_tail_that_is_lost_takes_a_timeout_without_probes() {
    let offered =
        |result: &haltere_sim::RunResult| result.links.iter().find(|l| l.direction == "down").unwrap().offered_packets;
    let whole = offered(&download("tcp/cubic", "100kB", Json::Null));
    let timeouts = |contender: &str, last: u64| download(contender, "100kB", lost(&[last])).flows[0].timeouts.unwrap();
    let tails: Vec<u64> = (whole - 5..=whole).collect();
    assert!(tails.iter().all(|&n| timeouts("tcp/cubic", n) == 0));
    assert!(tails.iter().any(|&n| timeouts("tcp/cubic-tlp", n) == 1));
}

#[test]
fn a_retransmission_that_is_lost_is_found_by_time_alone() {
    let timeouts = |contender: &str| -> u64 {
        let many = (0..6).map(|seed| {
            let down = json!({ "loss": "8%" });
            let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1000p", "down": down });
            let flow = json!({ "contender": contender, "app": "raw", "size": "1MB" });
            let topology = json!({ "kind": "point-to-point", "link": link });
            run(&common::scenario(&json!({ "topology": topology, "flows": [flow] })), seed, 0).unwrap().flows[0]
                .timeouts
                .unwrap()
        });
        many.sum()
    };
    let (with, without) = (timeouts("tcp/newreno"), timeouts("tcp/newreno-rack"));
    assert!(without > with + 6, "{without} instead of {with}");
}

#[test]
fn sizes_are_those_that_are_set() {
    let plain = download("tcp/cubic", "1072kB", Json::Null);
    let small = download("tcp/cubic+segment=536B", "1072kB", Json::Null);
    assert_eq!(small.flows[0].sent_packets, 2000);
    assert_eq!(plain.flows[0].sent_packets, 1_072_000_u64.div_ceil(1448));
    for (name, header, more) in [("tcp", 60, 20), ("quic", 48, 20)] {
        let segment = if name == "tcp" { "+segment=1000B" } else { "+datagram=1200B" };
        let wire = |switches: &str| {
            let result = download(&format!("{name}/cubic{segment}{switches}"), "500kB", Json::Null);
            let down = result.links.iter().find(|l| l.direction == "down").unwrap().offered_packets;
            (result.flows[0].wire_bytes, down)
        };
        let ((before, packets), (after, same)) = (wire(""), wire(&format!("+header={header}B")));
        assert_eq!(packets, same, "{name}");
        // The acknowledgement that may still be in flight at the end has the same header.
        let added = after - before;
        assert!(
            added.is_multiple_of(more) && added.abs_diff(packets * more) <= 2 * more,
            "{name}: {added} of {packets}"
        );
    }
}

#[test]
fn a_larger_initial_window_saves_round_trips_and_pacing_spares_queues() {
    for transport in ["tcp", "quic"] {
        let time = |switches: &str| {
            let flow = &download(&format!("{transport}/cubic{switches}"), "40kB", Json::Null).flows[0];
            flow.completion_s.unwrap()
        };
        let saved = (time("") - time("+initial-window=40")) / 0.04;
        assert!(saved > 0.6 && saved < 2.1, "{transport}: {saved}");
    }
    let queue = |contender: &str| {
        let result = download(contender, "200kB", Json::Null);
        result.links.iter().find(|l| l.direction == "down").unwrap().max_queue_packets
    };
    assert!(queue("quic/cubic") < queue("quic/cubic-pacing"));
    assert!(queue("tcp/cubic+pacing") < queue("tcp/cubic"));
    assert!(queue("tcp/cubic+pacing-tso") < queue("tcp/cubic+pacing"));
}

/// Packets overtake up to dozens of others. A sender that waits longer retransmits fewer packets needlessly.
#[test]
fn thresholds_say_how_much_reordering_is_taken_for_loss() {
    let down = json!({ "jitter": { "distribution": "normal", "spread": "8ms", "reorder": true } });
    let spurious = |contender: &str| {
        let flow = &download(contender, "3MB", down.clone()).flows[0];
        flow.retransmitted_packets
    };
    // By number alone, by time alone, and by both, as is the default.
    let (number, time, both) = (
        spurious("quic/cubic-time-threshold+packet-threshold=60"),
        spurious("quic/cubic-packet-threshold+time-threshold=24"),
        spurious("quic/cubic"),
    );
    assert!(number * 4 < both && time * 4 < both, "{number} {time} {both}");
    assert!(spurious("tcp/cubic-rack+loss-threshold=60") < spurious("tcp/cubic-rack"));
    let time = |contender: &str| download(contender, "3MB", down.clone()).flows[0].completion_s.unwrap();
    assert!(time("tcp/cubic") < time("tcp/cubic-undo"));
    assert!(time("quic/cubic") < time("quic/cubic-undo"));
}

/// The values at the ends of a type, and its words, as contenders write them.
fn ends(facts: &Facts) -> Vec<String> {
    let shown = |value: Value| format!("+{}={}", facts.name, facts.show(value));
    let mut texts: Vec<String> = match facts.kind {
        Kind::OnOff => vec![format!("+{}", facts.name)],
        Kind::Count(a, b) | Kind::Segments(a, b) | Kind::Bytes(a, b) => [a, b].map(Value::Number).map(shown).into(),
        Kind::Time(a, b) => [a, b].map(Value::Time).map(shown).into(),
        Kind::OneOf(words) => words.iter().map(|w| shown(Value::Word(w))).collect(),
        Kind::Scheduler => Scheduler::ALL.iter().map(|s| shown(Value::Scheduler(*s))).collect(),
    };
    texts.extend(facts.off.map(|_| format!("-{}", facts.name)));
    texts
}

/// With any switches there is no panic, no storm of timers, no bytes from nowhere, and the run ends.
#[test]
fn the_ends_of_all_ranges_alone_and_in_pairs_leave_connections_sound() {
    let mut dice = haltere_net::rng::Streams::new(7, 0).named("switches");
    let mut runs = 0;
    for transport in ["tcp", "quic", "mptcp", "mpquic"] {
        let own = catalogue().into_iter().filter(|row| row.transport == transport);
        let texts: Vec<String> = own.filter_map(|row| facts(&row)).flat_map(|f| ends(&f)).collect();
        let pair = |dice: &mut haltere_net::rng::Stream| {
            let mut one = || texts[dice.below(texts.len() as u64) as usize].clone();
            one() + &one() + &one()
        };
        let pairs: Vec<String> = (0..400).map(|_| pair(&mut dice)).collect();
        for (i, text) in texts.iter().chain(&pairs).enumerate() {
            let algorithm = ["cubic", "bbr", "newreno", "copa", "bbr3"][i % 5];
            let contender = format!("{transport}/{algorithm}{text}");
            for given in scenarios(&contender).iter().skip(i % 4).step_by(6) {
                // Some pairs contradict each other, and some algorithms ignore some switches.
                let Ok(scenario) = Scenario::from_json(&given.to_string()) else { continue };
                let result = run(&scenario, i as u64, 0).unwrap();
                assert_eq!(common::flaw(given, &result), None, "{given}");
                runs += 1;
            }
        }
    }
    assert!(runs > 2000, "only {runs} scenarios could be run");
}

/// RFC 7323 allows windows of up to 65 535 · 2^14 bytes.
#[test]
fn the_largest_receive_window_lets_data_through() {
    for switches in ["+receive-window=1073741824B", "+max-receive-window=1073741824B"] {
        let link = json!({ "kind": "point-to-point", "link": { "rate": "20Mbit/s", "delay": "30ms" } });
        let flow = json!({ "contender": format!("tcp/cubic{switches}"), "size": "1MB" });
        let given = json!({ "topology": link, "flows": [flow] });
        assert_eq!(common::result(&given).error, None, "{given}");
    }
}
