//! MQTT from a scenario to its results.

use haltere_sim::{Scenario, run};
use serde_json::{Value, json};

/// A publisher, a bottleneck, a broker, a fast link, a subscriber.
fn scenario(contender: &str, link: Value, mqtt: Value) -> Value {
    let mut about = json!({ "subscriber": "subscriber", "messages": 20 });
    about.as_object_mut().unwrap().extend(mqtt.as_object().unwrap().clone());
    json!({
        "topology": { "kind": "graph", "links": [
            { "name": "bottleneck", "from": "publisher", "to": "broker", "link": link },
            { "from": "broker", "to": "subscriber", "link": { "rate": "1Gbit/s", "delay": "0ms" } },
        ] },
        "flows": [{ "contender": contender, "server": "broker", "client": "publisher", "mqtt": about }],
    })
}

/// The row of its only flow, as the results have it.
fn row(scenario: &Value) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let result = run(&scenario, 1, 0).unwrap();
    let result = serde_json::to_value(result).unwrap();
    assert_eq!(result["status"], "ok", "{}", result["error"]);
    result["flows"][0].clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {}", row[name]))
}

/// 100 ms of round-trip time.
fn slow() -> Value {
    json!({ "rate": "10Mbit/s", "delay": "50ms" })
}

/// Contenders, and how many round trips pass until CONNACK.
const CONTENDERS: [(&str, f64); 8] = [
    ("tcp/cubic", 3.0),
    ("tcp/cubic+tls12", 4.0),
    ("tcp/cubic+earlydata", 2.0),
    ("tcp/bbr+tfo+earlydata", 1.0),
    ("quic/cubic", 2.0),
    ("quic/reno+0rtt", 1.0),
    ("mptcp/lia", 3.0),
    ("mpquic/olia", 2.0),
];

#[test]
fn messages_arrive_after_half_a_round_trip_over_every_transport() {
    for (contender, round_trips) in CONTENDERS {
        for qos in 0..3 {
            let row = row(&scenario(contender, slow(), json!({ "qos": qos })));
            assert_eq!(row["messages_delivered"], 20, "{contender}: {row}");
            assert_eq!(row["messages_duplicated"], 0);
            for name in ["delivery_p50_s", "delivery_max_s"] {
                let took = number(&row, name);
                assert!((0.050..0.055).contains(&took), "{contender} {qos} {name}: {took}");
            }
            let handshake = number(&row, "handshake_s");
            let least = 0.1 * round_trips;
            assert!((least..least + 0.02).contains(&handshake), "{contender}: CONNACK after {handshake} s");
            // 20 messages of 500 bytes at one a second.
            assert_eq!(row["bytes"], 10_000);
            assert!((19.0..20.0).contains(&number(&row, "completion_s")), "{row}");
        }
    }
}
