//! Clusters of brokers from a scenario to its results: publishers at one broker, the subscriber at another.

use haltere_sim::{Scenario, run};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Publisher, edge broker, a slow link, cloud broker, subscriber. The edge has a bridge to the cloud.
fn scenario(contender: &str, mqtt: Value, bridge: Value) -> Value {
    let mut about = json!({ "subscriber": "subscriber", "subscriber_broker": "cloud", "messages": 20 });
    about.as_object_mut().unwrap().extend(mqtt.as_object().unwrap().clone());
    let qos = about["qos"].as_u64().unwrap_or(0);
    let mut to_cloud = json!({ "to": "cloud", "contender": contender, "topics": [{ "qos": qos }] });
    to_cloud.as_object_mut().unwrap().extend(bridge.as_object().unwrap().clone());
    json!({
        "topology": { "kind": "graph", "links": [
            { "from": "publisher", "to": "edge", "link": { "rate": "100Mbit/s", "delay": "5ms" } },
            { "name": "bottleneck", "from": "edge", "to": "cloud", "link": { "rate": "10Mbit/s", "delay": "40ms" } },
            { "from": "cloud", "to": "subscriber", "link": { "rate": "100Mbit/s", "delay": "10ms" } },
        ] },
        "flows": [{ "contender": contender, "server": "edge", "client": "publisher", "mqtt": about }],
        "brokers": [{ "node": "edge", "bridges": [to_cloud] }],
    })
}

fn result(scenario: &Value, replication: u64) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    serde_json::to_value(run(&scenario, 1, replication).unwrap()).unwrap()
}

/// The row of its only flow, which is complete.
fn row(scenario: &Value) -> Value {
    let result = result(scenario, 0);
    assert_eq!(result["status"], "ok", "{}", result["error"]);
    result["flows"][0].clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {}", row[name]))
}

#[test]
fn a_message_takes_the_time_of_each_step() {
    for contender in ["tcp/cubic", "quic/cubic"] {
        for version in ["3.1.1", "5"] {
            for qos in 0..3 {
                let about = json!({ "qos": qos, "version": version });
                let row = row(&scenario(contender, about, json!({ "version": version })));
                assert_eq!(row["messages_delivered"], 20, "{row}");
                assert_eq!(row["messages_duplicated"], 0, "{row}");
                // A broker passes a message of QoS 2 on a round trip after it came.
                let took = number(&row, "delivery_p50_s") - if qos == 2 { 0.090 } else { 0.0 };
                assert!((0.055..0.060).contains(&took), "{contender} {version} {qos}: {took}");
            }
        }
    }
}

/// The bridge may be that of the subscriber's broker, and there may be brokers between.
#[test]
fn messages_come_over_bridges_either_way_and_over_several() {
    for qos in 0..3 {
        let mut chain = scenario("quic/cubic", json!({ "qos": qos, "subscriber_broker": "last" }), json!({}));
        let links = chain["topology"]["links"].as_array_mut().unwrap();
        links.push(json!({ "from": "cloud", "to": "last", "link": { "rate": "10Mbit/s", "delay": "20ms" } }));
        links.push(json!({ "from": "last", "to": "subscriber", "link": { "rate": "10Mbit/s", "delay": "15ms" } }));
        let topics = json!([{ "filter": "flow/0/#", "direction": "in", "qos": qos }]);
        let from_cloud = json!({ "to": "cloud", "contender": "tcp/cubic", "topics": topics });
        chain["brokers"].as_array_mut().unwrap().push(json!({ "node": "last", "bridges": [from_cloud] }));
        chain["brokers"].as_array_mut().unwrap().push(json!({ "node": "cloud", "queue": 5 }));
        let row = row(&chain);
        assert_eq!((&row["messages_delivered"], &row["messages_duplicated"]), (&json!(20), &json!(0)), "{row}");
        // Two brokers get the message as servers, and pass QoS 2 on a round trip later; the third fetches it as a client.
        let took = number(&row, "delivery_p50_s") - if qos == 2 { 0.090 } else { 0.0 };
        assert!((0.080..0.086).contains(&took), "QoS {qos}: {took}");
    }
}

#[test]
fn messages_of_both_ways_do_not_come_back() {
    for version in ["3.1.1", "5"] {
        let both = json!({ "version": version, "topics": [{ "direction": "both", "qos": 2 }] });
        let mut pair = scenario("tcp/cubic", json!({ "qos": 2, "version": version }), both);
        // Another flow goes the other way.
        pair["topology"]["links"].as_array_mut().unwrap().extend([
            json!({ "from": "other publisher", "to": "cloud", "link": { "rate": "100Mbit/s", "delay": "5ms" } }),
            json!({ "from": "other subscriber", "to": "edge", "link": { "rate": "100Mbit/s", "delay": "5ms" } }),
        ]);
        let about = json!({
            "subscriber": "other subscriber", "subscriber_broker": "edge", "messages": 20, "qos": 2, "version": version,
        });
        let other = json!({ "contender": "quic/cubic", "server": "cloud", "client": "other publisher", "mqtt": about });
        pair["flows"].as_array_mut().unwrap().push(other);
        let result = result(&pair, 0);
        for flow in result["flows"].as_array().unwrap() {
            assert_eq!(flow["messages_delivered"], 20, "{version}: {flow}");
            assert_eq!(flow["messages_duplicated"], 0, "{version}: {flow}");
        }
        // Each crosses the bridge once, with what acknowledges it: 40 messages of 500 bytes and their packets.
        let links = result["links"].as_array().unwrap();
        let crossed: f64 =
            links.iter().filter(|l| l["link"] == "bottleneck").map(|l| number(l, "delivered_bytes")).sum();
        assert!((20_000.0..60_000.0).contains(&crossed), "{version}: {crossed}");
    }
}

/// The link between the brokers is out from 10 s to 40 s.
fn with_outage(qos: u64, queue: u64) -> Value {
    let about = json!({ "qos": qos, "messages": 200, "interval": "200ms" });
    let mut out = scenario("tcp/cubic", about, json!({ "keep_alive": "5s", "reconnect": "2s" }));
    out["topology"]["links"][1]["link"]["outage"] = json!([{ "from": "10s", "to": "40s" }]);
    out["brokers"][0]["queue"] = json!(queue);
    out
}

#[test]
fn messages_wait_at_the_broker_while_its_bridge_is_out() {
    for qos in 1..3 {
        let row = row(&with_outage(qos, 1000));
        assert_eq!(row["messages_delivered"], 200, "{row}");
        assert!(qos == 1 || row["messages_duplicated"] == 0, "{row}");
        // Published right at the beginning of the outage, and delivered once the bridge is there again.
        let longest = number(&row, "delivery_max_s");
        assert!((29.0..45.0).contains(&longest), "QoS {qos}: {longest}");
    }
}

#[test]
fn a_bridge_that_is_out_drops_what_its_queue_does_not_hold() {
    let row = row(&with_outage(1, 20));
    let [published, delivered, dropped] =
        ["published", "delivered", "dropped"].map(|name| number(&row, &format!("messages_{name}")));
    // 30 s of five messages a second, of which 20 wait and 20 are in flight; then the bridge connects again.
    assert!((80.0..160.0).contains(&dropped), "{row}");
    assert_eq!(published, delivered + dropped, "{row}");
}

#[test]
fn a_bridge_of_qos_0_may_lose_messages_of_qos_2() {
    let mut out = with_outage(2, 1000);
    out["brokers"][0]["bridges"][0]["topics"] = json!([{ "filter": "#" }]);
    let row = row(&out);
    assert!(number(&row, "messages_delivered") < 200.0, "{row}");
    assert_eq!(row["messages_duplicated"], 0, "{row}");
}

#[test]
fn wrong_bridges_are_refused_where_they_are_wrong() {
    let bridge = |change: Value| scenario("tcp/cubic", json!({}), change);
    let mut circle = bridge(json!({}));
    let back = json!({ "to": "edge", "contender": "tcp/cubic", "topics": [{}] });
    circle["brokers"].as_array_mut().unwrap().push(json!({ "node": "cloud", "bridges": [back] }));
    let mut lonely = bridge(json!({}));
    lonely.as_object_mut().unwrap().remove("brokers");
    let flow = |mqtt| scenario("tcp/cubic", mqtt, json!({}));
    let at = |rest: &str| format!("brokers[0].bridges[0].{rest}");
    let cases = [
        (bridge(json!({ "to": "edge" })), at("to")),
        (bridge(json!({ "to": "nobody" })), at("to")),
        (bridge(json!({ "contender": "mptcp/lia" })), at("contender")),
        (bridge(json!({ "topics": [] })), at("topics")),
        (bridge(json!({ "topics": [{ "filter": "a/#/b" }] })), at("topics[0].filter")),
        (bridge(json!({ "topics": [{ "qos": 3 }] })), at("topics[0].qos")),
        (bridge(json!({ "reconnect": "0s" })), at("reconnect")),
        (bridge(json!({ "keep_alive": "1500ms" })), at("keep_alive")),
        (bridge(json!({ "contender": "quic/cubic", "tls": false })), at("tls")),
        (circle, "brokers[1].bridges[0].to".into()),
        (bridge(json!({ "topics": [{ "direction": "in" }] })), "flows[0].mqtt.subscriber_broker".into()),
        (bridge(json!({ "topics": [{ "filter": "flow/1/#" }] })), "flows[0].mqtt.subscriber_broker".into()),
        (lonely, "flows[0].mqtt.subscriber_broker".into()),
        (flow(json!({ "subscriber_broker": "nobody" })), "flows[0].mqtt.subscriber_broker".into()),
        (flow(json!({ "subscriber_broker": "subscriber" })), "flows[0].mqtt.subscriber".into()),
    ];
    for (wrong, path) in cases {
        let error = Scenario::from_json(&wrong.to_string()).unwrap_err();
        assert_eq!(error.path, path, "{}", error.message);
    }
}

/// Losses and outages of the links on both sides of the edge broker.
fn hostile(seed: u64) -> Value {
    let outage = |from: u64, lasts: u64, every: u64| {
        let (from, to) = (from % (every - lasts), from % (every - lasts) + lasts);
        json!({ "periods": [{ "from": format!("{from}s"), "to": format!("{to}s") }], "repeat": format!("{every}s") })
    };
    json!([
        { "rate": "2Mbit/s", "delay": "20ms", "loss": "3%", "outage": outage(seed, 7, 31) },
        { "rate": "1Mbit/s", "delay": "30ms", "loss": "3%", "outage": outage(seed / 31, 9, 43) },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the links do and whichever bridges there are, QoS 2 has neither a gap nor a duplicate, QoS 1 no gap, QoS 0 no
    /// duplicate.
    #[test]
    fn a_chain_of_brokers_keeps_what_its_qos_promises(
        seed in 0..1000_u64, qos in 0..3_u64, version in prop_oneof![Just("3.1.1"), Just("5")],
        contenders in prop_oneof![Just(["tcp/cubic", "quic/cubic"]), Just(["quic/bbr", "tcp/reno"])], both in any::<bool>(),
    ) {
        let about = json!({ "qos": qos, "messages": 150, "interval": "300ms", "keep_alive": "3s", "version": version });
        let direction = if both { "both" } else { "out" };
        let change = json!({
            "contender": contenders[1], "keep_alive": "3s", "reconnect": "1s", "version": version,
            "topics": [{ "direction": direction, "qos": qos }],
        });
        let mut chain = scenario(contenders[0], about, change);
        for (k, link) in hostile(seed).as_array().unwrap().iter().enumerate() {
            chain["topology"]["links"][k]["link"] = link.clone();
        }
        let result = result(&chain, seed);
        let row = &result["flows"][0];
        prop_assert_eq!(&row["messages_published"], 150, "{}", row);
        if qos > 0 {
            prop_assert_eq!(&row["messages_delivered"], 150, "{}", row);
        }
        if qos != 1 {
            prop_assert_eq!(&row["messages_duplicated"], 0, "{}", row);
        }
    }
}

/// The example of `docs/how-to/mqtt.md`.
#[test]
fn publishers_at_the_edge_reach_a_subscriber_in_the_cloud_over_4g() {
    let about = json!({
        "subscriber": "dashboard", "subscriber_broker": "cloud", "publishers": 5, "messages": 20, "qos": 2,
    });
    let topics = json!([{ "filter": "flow/0/#", "direction": "out", "qos": 2 }]);
    let row = row(&json!({
        "topology": { "kind": "graph", "links": [
            { "from": "sensors", "to": "edge", "link": { "rate": "100Mbit/s", "delay": "5ms" } },
            { "name": "uplink", "from": "edge", "to": "cloud", "link": { "preset": "4g" } },
            { "from": "cloud", "to": "dashboard", "link": { "rate": "100Mbit/s", "delay": "10ms" } },
        ] },
        "flows": [{ "contender": "tcp/cubic", "client": "sensors", "server": "edge", "mqtt": about }],
        "brokers": [{ "node": "edge", "bridges": [{ "to": "cloud", "contender": "quic/cubic", "topics": topics }] }],
    }));
    assert_eq!((&row["messages_delivered"], &row["messages_duplicated"]), (&json!(100), &json!(0)), "{row}");
}
