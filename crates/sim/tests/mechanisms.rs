//! Every switch of the tables of mechanisms acts: switched away from its default, it changes the result of some scenario.

mod common;

use haltere_sim::contender::{Row, catalogue};
use haltere_sim::{Fidelity, Scenario, check_at, run};
use haltere_transport::mechanisms::{Facts, Kind, QUIC, TCP, Value};
use serde_json::{Value as Json, json};

/// The facts of a row, if it is a mechanism of a transport.
fn facts(row: &Row) -> Option<Facts> {
    let tcp = || TCP.iter().map(|m| m.facts).find(|f| f.name == row.name);
    let quic = || QUIC.iter().map(|m| m.facts).find(|f| f.name == row.name);
    if row.transport == "tcp" { tcp() } else { quic() }
}

/// Switches to compare: those of a base, and what is added to them so that the row's switch is not as it is by itself.
fn away(row: &Row) -> (&'static str, String) {
    let chosen = [
        ("tcp", "initial-window", "", "+initial-window=30"),
        ("tcp", "segment", "", "+segment=536B"),
        ("tcp", "header", "", "+header=60B"),
        ("tcp", "unpaced", "+pacing", "+unpaced=0"),
        ("tcp", "sack-compression-acks", "+sack-compression=5ms", "+sack-compression-acks=1"),
        ("tcp", "rto-min", "", "+rto-min=1s"),
        ("tcp", "ack-delay", "-hurried-acks", "+ack-delay=10ms"),
        ("tcp", "receive-window", "", "+receive-window=16KiB"),
        ("tcp", "max-receive-window", "+receive-window=16KiB", "+max-receive-window=20KiB"),
        ("quic", "initial-window", "", "+initial-window=30"),
        ("quic", "datagram", "", "+datagram=1200B"),
        ("quic", "header", "", "+header=48B"),
        ("quic", "unpaced", "", "+unpaced=0"),
        ("quic", "burst", "", "+burst=10"),
        ("quic", "granularity", "", "+granularity=50ms"),
        ("quic", "initial-rtt", "", "+initial-rtt=50ms"),
        ("quic", "ack-delay", "+ack-every=100", "+ack-delay=5ms"),
        ("quic", "stream-window", "", "+stream-window=32KiB"),
        ("quic", "max-stream-window", "+stream-window=32KiB", "+max-stream-window=32KiB"),
        ("quic", "connection-window", "", "+connection-window=32KiB"),
        ("quic", "max-connection-window", "+connection-window=32KiB", "+max-connection-window=32KiB"),
        ("quic", "idle-timeout", "", "+idle-timeout=100ms"),
    ];
    if let Some((.., base, more)) = chosen.iter().find(|(t, n, ..)| (*t, *n) == (row.transport, row.name)) {
        return (base, (*more).into());
    }
    let Some(facts) = facts(row) else { return ("", format!("+{}", row.name)) };
    let Facts { name, kind, off, .. } = facts;
    let other = match kind {
        Kind::OneOf(words) => words.iter().rev().find(|w| **w != row.default).map(|w| format!("+{name}={w}")),
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

/// Scenarios that between them ask something of every mechanism.
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
        json!({ "rate": "1Gbit/s", "delay": "3ms", "queue": "1000p" }),
        json!({ "rate": "20Mbit/s", "delay": "300ms", "queue": "1000p", "loss": "45%" }),
    ];
    // Five objects at once, then one after three seconds without data.
    let late = json!({ "size": "300kB", "after": [4], "delay": "3s" });
    let objects: Vec<Json> = (0..5).map(|_| json!({ "size": "300kB" })).chain([late]).collect();
    let flows = [
        json!({ "contender": contender, "app": "raw", "size": "3MB" }),
        json!({ "contender": contender, "app": "https", "size": "20kB" }),
        json!({ "contender": contender, "app": "https", "page": { "objects": objects } }),
    ];
    let of = |link: &Json, flow: &Json| {
        let topology = json!({ "kind": "point-to-point", "link": link });
        json!({ "time_limit": "40s", "topology": topology, "flows": [flow] })
    };
    flows.iter().flat_map(|flow| links.iter().map(|link| of(link, flow)).collect::<Vec<_>>()).collect()
}

/// The result without the contender's name; `None` if the scenario cannot have the contender's switches.
fn outcome(scenario: &Json) -> Option<Json> {
    let scenario = Scenario::from_json(&scenario.to_string()).ok()?;
    let mut result = serde_json::to_value(run(&scenario, 3, 0).unwrap()).unwrap();
    result["flows"][0]["contender"] = Json::Null;
    Some(result)
}

/// Whether what is added to a contender changes the outcome of any scenario.
fn acts(base: &str, changed: &str) -> bool {
    let pairs = scenarios(base).into_iter().zip(scenarios(changed));
    // TLS's switches are refused where there is no TLS.
    pairs.into_iter().any(|(before, after)| outcome(&after).is_some_and(|after| Some(after) != outcome(&before)))
}

#[test]
fn every_switch_changes_the_result_of_some_scenario() {
    let mut dead = Vec::new();
    for row in catalogue() {
        let of_stacks = row.transport == "quic" && ["stockbuffers", "haltere", "nullcipher"].contains(&row.name);
        if of_stacks {
            continue;
        }
        let (base, more) = away(&row);
        let base = format!("{}/cubic{base}", row.transport);
        let changed = format!("{base}{more}");
        if !acts(&base, &changed) {
            dead.push(changed);
        }
    }
    assert!(dead.is_empty(), "these change nothing: {dead:?}");
}

#[test]
fn what_is_for_production_stacks_is_refused_in_the_model() {
    for name in ["stockbuffers", "haltere", "nullcipher"] {
        let given = common::scenario(&scenarios(&format!("quic/cubic+{name}"))[0]);
        let error = check_at(Fidelity::Model, &given).unwrap_err();
        assert!(error.message.contains("is for production stacks"), "{}", error.message);
    }
}

/// What is given as it is by itself changes nothing, so that a default in the table is the one in force.
#[test]
fn the_default_of_each_switch_given_as_its_value_changes_nothing() {
    for row in catalogue().into_iter().filter(|row| facts(row).is_some() && row.default != "auto") {
        let base = format!("{}/cubic", row.transport);
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
