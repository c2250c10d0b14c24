//! Congestion controls in the shadow of a flow's: they change nothing, and part where their algorithms do.

use crate::common;

use common::scenario;
use haltere_sim::result::{ShadowResult, TraceResult};
use haltere_sim::{Fidelity, Files, ScenarioError, run, trace_at};
use serde_json::{Value, json};

/// One link of 20 Mbit/s and 40 ms with room for an RTT's data, and flows of 2 MB.
fn link(contenders: &[&str], loss: &str) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": {
            "rate": "20Mbit/s", "delay": "20ms", "queue": "70p", "down": { "loss": loss } } },
        "flows": contenders.iter().map(|c| json!({ "contender": c, "size": "2MB", "app": "raw" })).collect::<Vec<_>>(),
    })
}

/// Two paths between the ends, and a flow over both.
fn two_paths(contender: &str) -> Value {
    let path = json!({ "rate": "10Mbit/s", "delay": "10ms", "queue": "40p", "down": { "loss": "0.5%" } });
    json!({
        "topology": { "kind": "multipath", "paths": [path, path] },
        "flows": [{ "contender": contender, "size": "2MB", "app": "raw" }],
    })
}

fn traced_at(fidelity: Fidelity, given: &Value, shadows: &[&str]) -> Result<TraceResult, ScenarioError> {
    let shadows = shadows.iter().map(ToString::to_string).collect();
    trace_at(fidelity, &scenario(given), 1, 0, &Files { shadows, ..Files::default() })
}

fn traced(given: &Value, shadows: &[&str]) -> TraceResult {
    traced_at(Fidelity::Model, given, shadows).unwrap_or_else(|e| panic!("{e} in {given}"))
}

fn text(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).unwrap()
}

#[test]
fn shadows_change_nothing_over_any_transport() {
    let flows = ["tcp/cubic", "tcp/bbr", "tcp/cubic+pacing", "quic/cubic", "quic/bbr3", "quic/newreno-pacing"];
    let single = flows.iter().map(|contender| link(&[contender], "1%"));
    let multi = ["mptcp/cubic", "mptcp/lia", "mpquic/cubic", "mpquic/olia"].iter().map(|c| two_paths(c));
    for given in single.chain(multi) {
        let plain = text(&run(&scenario(&given), 1, 0).unwrap());
        let seen = traced(&given, &["bbr", "newreno", "vegas"]);
        assert_eq!(text(&seen.result), plain, "{given}");
        assert!(seen.shadows.iter().any(|shadow| shadow.parted.is_some()), "{given}");
        // All other series are the same as well.
        let own = |traced: &TraceResult| {
            let of_flows = traced.series.iter().filter(|s| !s.who.contains("shadow") && !s.who.contains("controller"));
            text(&of_flows.collect::<Vec<_>>())
        };
        assert_eq!(own(&seen), own(&traced(&given, &[])), "{given}");
    }
}

#[test]
fn a_shadow_of_itself_never_parts() {
    for (contender, own) in [
        ("tcp/cubic", "cubic"),
        ("tcp/bbr", "tcp/bbr"),
        ("tcp/cdg", "cdg"),
        ("tcp/cubic+initial-window=20-rack", "tcp/cubic+initial-window=20-rack"),
        ("quic/cubic", "quic/cubic"),
        ("quic/bbr", "bbr"),
        ("quic/cubic-pacing", "cubic-pacing"),
    ] {
        let seen = traced(&link(&[contender], "1%"), &[own]);
        let [shadow] = &seen.shadows[..] else { panic!("{:?}", seen.shadows) };
        assert!(shadow.parted.is_none(), "{contender}: {:?}", shadow.parted);
        let windows = |who: &str| {
            let series = seen.series.iter().find(|s| s.who == who && s.name == "cwnd").unwrap();
            assert!(series.v.len() > 10);
            text(&(&series.t_s, &series.v))
        };
        assert_eq!(windows("flow 0 controller"), windows("flow 0 shadow 1"));
    }
    for contender in ["mptcp/cubic", "mpquic/bbr"] {
        let (_, own) = contender.split_once('/').unwrap();
        let seen = traced(&two_paths(contender), &[own]);
        assert_eq!(seen.shadows.iter().map(|s| s.path).collect::<Vec<_>>(), [0, 1]);
        assert!(seen.shadows.iter().all(|shadow| shadow.parted.is_none()), "{contender}: {:?}", seen.shadows);
    }
}

#[test]
fn hystart_is_where_cubic_and_cubic_without_it_part() {
    for contender in ["tcp/cubic", "quic/cubic"] {
        let seen = traced(&link(&[contender], "0%"), &["cubic-hystart"]);
        let [ShadowResult { parted: Some(parted), contender: name, .. }] = &seen.shadows[..] else { panic!() };
        assert_eq!(name, &format!("{}-hystart", contender));
        assert_eq!(parted.event.kind, "ack");
        assert_eq!(text(&parted.before.first), text(&parted.before.shadow));
        assert_eq!((parted.after.first.state, parted.after.shadow.state), ("avoidance", "slow_start"));
        assert!(parted.after.shadow.ssthresh.is_none());
        // HyStart's exit is where the flow's threshold is set for the first time.
        let threshold = seen.series.iter().find(|s| s.who == "flow 0" && s.name == "ssthresh").unwrap();
        let exit = threshold.v.iter().position(|v| v.is_finite()).unwrap();
        // Controls of TCP see times in whole microseconds.
        assert!((threshold.t_s[exit] - parted.t_s).abs() < 1e-6, "{contender}: {parted:?}");
    }
}

#[test]
fn different_initial_windows_part_at_the_start() {
    let seen = traced(&link(&["tcp/cubic"], "0%"), &["cubic+initial-window=20", "cubic"]);
    let [wider, same] = &seen.shadows[..] else { panic!() };
    let parted = wider.parted.as_ref().unwrap();
    assert_eq!((parted.event.kind, parted.after.shadow.cwnd), ("start", 2 * parted.after.first.cwnd));
    assert_eq!((wider.shadow, same.shadow), (1, 2));
    assert!(same.parted.is_none());
}

#[test]
fn a_shadow_with_a_transport_follows_the_flows_of_that_transport() {
    let seen = traced(&link(&["tcp/cubic", "quic/cubic"], "0%"), &["quic/newreno"]);
    assert_eq!(seen.shadows.iter().map(|s| (s.flow, s.contender.as_str())).collect::<Vec<_>>(), [(1, "quic/newreno")]);
}

#[test]
fn what_cannot_be_a_shadow_is_refused_with_the_reason() {
    let refused = |fidelity, given: &Value, shadow: &str| {
        let error = traced_at(fidelity, given, &[shadow]).map(drop).unwrap_err();
        assert_eq!(error.path, "shadow");
        error.message
    };
    let model = |contender: &str, shadow| refused(Fidelity::Model, &link(&[contender], "0%"), shadow);
    assert!(model("tcp/cubic", "quic/cubic").contains("has the transport of no flow: there are tcp/cubic"));
    assert!(model("tcp/cubic", "cubik").contains("the model has no congestion control \"cubik\""));
    assert!(model("tcp/cubic", "cubic-rack").contains("which is the transport's"));
    assert!(model("tcp/cubic", "tcp@linux/cubic").contains("real implementation"));
    let coupled = refused(Fidelity::Model, &two_paths("mptcp/cubic"), "lia");
    assert!(coupled.contains("couples the windows of all paths"), "{coupled}");
    let many = vec!["bbr"; 9];
    assert!(traced_at(Fidelity::Model, &link(&["tcp/cubic"], "0%"), &many).is_err());
}
