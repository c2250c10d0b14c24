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
                // The broker passes a message of QoS 2 on a round trip after it came.
                let took = number(&row, name) - if qos == 2 { 0.1 } else { 0.0 };
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

/// A link that loses packets, and is out now and then for longer than keep-alive waits.
fn hostile() -> Value {
    let outage = json!({ "periods": [{ "from": "12s", "to": "22s" }], "repeat": "30s" });
    json!({ "rate": "2Mbit/s", "delay": "30ms", "loss": "5%", "outage": outage })
}

#[test]
fn messages_survive_losses_and_lost_connections() {
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/lia"] {
        for streams in ["one", "topic", "message"] {
            if streams != "one" && !contender.starts_with("quic") {
                continue;
            }
            for qos in 0..3 {
                let about = json!({
                    "qos": qos, "messages": 400, "interval": "200ms", "keep_alive": "2s", "streams": streams, "topics": 4,
                });
                let row = row(&scenario(contender, hostile(), about));
                let case = format!("{contender} {streams} QoS {qos}: {row}");
                assert_eq!(row["messages_published"], 400, "{case}");
                match qos {
                    0 => assert_eq!(row["messages_duplicated"], 0, "{case}"),
                    1 => assert_eq!(row["messages_delivered"], 400, "{case}"),
                    _ => {
                        assert_eq!(row["messages_delivered"], 400, "{case}");
                        assert_eq!(row["messages_duplicated"], 0, "{case}");
                    }
                }
                // The outage of 10 s shows.
                assert!(qos == 0 || number(&row, "delivery_max_s") > 5.0, "{case}");
            }
        }
    }
}

#[test]
fn a_stream_for_each_topic_saves_messages_from_waiting_for_others() {
    let lossy = || json!({ "rate": "20Mbit/s", "delay": "50ms", "loss": "3%" });
    let p95 = |streams: &str| {
        let about = json!({ "messages": 3000, "interval": "5ms", "topics": 20, "streams": streams });
        number(&row(&scenario("quic/bbr3", lossy(), about)), "delivery_p95_s")
    };
    let (one, topic, message) = (p95("one"), p95("topic"), p95("message"));
    // Fewer than 5 % of the messages are lost themselves; the others wait for them on one stream only.
    assert!(topic < 0.7 * one, "{topic} {one}");
    assert!(message < 0.7 * one, "{message} {one}");
}

#[test]
fn a_batch_costs_time_and_saves_packets() {
    let with = |batch: Value| {
        let mut about = json!({ "messages": 200, "interval": "20ms", "payload": "50B" });
        about.as_object_mut().unwrap().extend(batch.as_object().unwrap().clone());
        row(&scenario("quic/cubic", slow(), about))
    };
    let (single, batched) = (with(json!({})), with(json!({ "batch": { "messages": 10, "delay": "1s" } })));
    assert_eq!(batched["messages_delivered"], 200);
    assert!(number(&batched, "sent_packets") < 0.3 * number(&single, "sent_packets"));
    let longer = number(&batched, "delivery_max_s") - number(&single, "delivery_max_s");
    assert!((0.17..0.20).contains(&longer), "nine intervals: {longer}");
}

#[test]
fn a_sleeping_publisher_pays_the_handshake_for_each_message() {
    let median = |contender: &str, sleep: bool| {
        let row = row(&scenario(contender, slow(), json!({ "sleep": sleep, "qos": 1, "interval": "8s" })));
        assert_eq!(row["messages_delivered"], 20, "{contender} {row}");
        number(&row, "delivery_p50_s")
    };
    for (contender, round_trips) in [("tcp/cubic", 3.0), ("quic/cubic", 2.0), ("quic/cubic+0rtt", 1.0)] {
        let extra = median(contender, true) - median(contender, false);
        assert!((extra / 0.1 - round_trips).abs() < 0.1, "{contender}: {extra} s");
    }
}

#[test]
fn a_full_queue_of_the_broker_drops_messages() {
    for drop in ["newest", "oldest"] {
        let mut about = scenario("tcp/cubic", slow(), json!({ "qos": 1, "messages": 500, "interval": "2ms" }));
        about["topology"]["links"][1]["link"] = json!({ "rate": "1Mbit/s", "delay": "20ms" });
        about["brokers"] = json!([{ "node": "broker", "queue": 10, "drop": drop, "receive_maximum": 1000 }]);
        let scenario = Scenario::from_json(&about.to_string()).unwrap();
        let row = serde_json::to_value(run(&scenario, 1, 0).unwrap()).unwrap()["flows"][0].clone();
        let [published, delivered, dropped] =
            ["published", "delivered", "dropped"].map(|name| number(&row, &format!("messages_{name}")));
        assert!(dropped > 100.0, "{row}");
        assert_eq!(published, delivered + dropped, "{row}");
        // Ten messages wait at most: what waits longest is gone with `oldest`.
        assert!(number(&row, "delivery_max_s") < 0.5, "{row}");
        assert_eq!(row["status"], "ok");
    }
}

#[test]
fn many_publishers_and_several_flows_share_a_broker() {
    let about = json!({ "publishers": 50, "messages": 4, "spread": "2s", "arrivals": "poisson" });
    let mut scenario = scenario("tcp/cubic", slow(), about);
    let mut other = scenario["flows"][0].clone();
    other["contender"] = json!("quic/bbr");
    other["mqtt"]["qos"] = json!(2);
    scenario["flows"].as_array_mut().unwrap().push(other);
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let result = serde_json::to_value(run(&parsed, 1, 0).unwrap()).unwrap();
    for flow in result["flows"].as_array().unwrap() {
        assert_eq!(flow["messages_delivered"], 200, "{flow}");
        assert_eq!(flow["messages_duplicated"], 0);
    }
    let again = serde_json::to_value(run(&parsed, 1, 0).unwrap()).unwrap();
    assert_eq!(result, again);
}

/// A message that comes while the connection closes is not left until the next one comes.
#[test]
fn a_sleeping_publisher_wakes_up_for_what_came_while_it_closed() {
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/lia", "mpquic/olia"] {
        for (qos, interval) in [(0, "70ms"), (0, "230ms"), (1, "70ms"), (2, "370ms")] {
            let about = json!({ "sleep": true, "qos": qos, "interval": interval, "messages": 12 });
            let row = row(&scenario(contender, slow(), about));
            assert_eq!(row["messages_delivered"], 12, "{contender} {qos} {interval}: {row}");
        }
    }
}

#[test]
fn a_trace_gives_times_and_sizes() {
    let trace = json!([["0s", "100B"], ["1s", "200B"], ["1s", "300B"], ["5s", "12B"]]);
    let mut scenario = scenario("quic/cubic", slow(), json!({ "arrivals": "trace", "trace": trace }));
    scenario["flows"][0]["mqtt"].as_object_mut().unwrap().remove("messages");
    let row = row(&scenario);
    assert_eq!(row["messages_delivered"], 4);
    assert_eq!(row["bytes"], 612);
    let last = number(&row, "completion_s") - number(&row, "handshake_s");
    assert!((5.05..5.06).contains(&last), "{last}");
}

#[test]
fn wrong_scenarios_are_refused_where_they_are_wrong() {
    let cases = [
        (json!({ "subscriber": "nobody" }), "flows[0].mqtt.subscriber"),
        (json!({ "subscriber": "broker" }), "flows[0].mqtt.subscriber"),
        (json!({ "qos": 3 }), "flows[0].mqtt.qos"),
        (json!({ "payload": "11B" }), "flows[0].mqtt.payload"),
        (json!({ "messages": 0 }), "flows[0].mqtt.messages"),
        (json!({ "interval": "0s" }), "flows[0].mqtt.interval"),
        (json!({ "keep_alive": "1500ms" }), "flows[0].mqtt.keep_alive"),
        (json!({ "burst": 3 }), "flows[0].mqtt.burst"),
        (json!({ "arrivals": "on-off" }), "flows[0].mqtt"),
        (json!({ "streams": "topic" }), "flows[0].mqtt.streams"),
        (json!({ "version": "4" }), "flows[0].mqtt.version"),
    ];
    for (about, path) in cases {
        let wrong = Scenario::from_json(&scenario("tcp/cubic", slow(), about.clone()).to_string()).unwrap_err();
        assert_eq!(wrong.path, path, "{about}: {}", wrong.message);
    }
    let mut others =
        [scenario("tcp/cubic", slow(), json!({})), scenario("tcp/cubic+tls12", slow(), json!({ "tls": false }))];
    others[0]["flows"][0]["size"] = json!("1MB");
    let paths = others.map(|scenario| Scenario::from_json(&scenario.to_string()).unwrap_err().path);
    assert_eq!(paths, ["flows[0].size", "flows[0].mqtt.tls"]);
    let number = scenario("tcp/cubic", slow(), json!({ "version": 5 }));
    let wrong = Scenario::from_json(&number.to_string()).unwrap_err();
    assert_eq!((wrong.path.as_str(), wrong.message.contains("quotes")), ("flows[0].mqtt.version", true), "{wrong:?}");
    let mut lonely = scenario("tcp/cubic", slow(), json!({}));
    lonely["brokers"] = json!([{ "node": "subscriber" }]);
    assert_eq!(Scenario::from_json(&lonely.to_string()).unwrap_err().path, "brokers[0].node");
    lonely["brokers"] = json!([{ "node": "broker", "queue": 5 }, { "node": "broker", "queue": 7 }]);
    let wrong = Scenario::from_json(&lonely.to_string()).unwrap_err();
    assert_eq!((wrong.path.as_str(), wrong.message.contains("twice")), ("brokers[0].node", true), "{}", wrong.message);
}

#[test]
fn publishers_without_end_have_as_many_messages_as_memory_allows() {
    let path = |interval: &str, duration: &str| {
        let mut scenario = scenario("tcp/cubic", slow(), json!({ "interval": interval }));
        scenario["flows"][0]["mqtt"].as_object_mut().unwrap().remove("messages");
        scenario["duration"] = json!(duration);
        Scenario::from_json(&scenario.to_string()).err().map(|wrong| wrong.path)
    };
    assert_eq!(path("1us", "1h").as_deref(), Some("flows[0].mqtt.interval"));
    assert_eq!(path("1ms", "1h"), None);
}

/// A stream of a topic stays open. Messages of a topic without a stream would wait for ever.
#[test]
fn there_are_no_more_topics_with_streams_than_streams() {
    let wrong = |contender: &str, mqtt: Value| {
        let scenario = scenario(contender, slow(), mqtt);
        Scenario::from_json(&scenario.to_string()).err().map(|wrong| wrong.path)
    };
    let refused = Some("flows[0].mqtt.streams".to_string());
    let publisher = |topics: u32| wrong("quic/cubic", json!({ "streams": "topic", "topics": topics }));
    assert_eq!((publisher(99), publisher(100)), (None, refused.clone()));
    let subscriber = |publishers: u32| wrong("quic/cubic", json!({ "streams": "topic", "publishers": publishers }));
    assert_eq!((subscriber(100), subscriber(101)), (None, refused.clone()));
    // Over TCP the subscriber has one stream.
    let mixed = json!({ "streams": "topic", "publishers": 101, "delivery": "tcp/cubic" });
    assert_eq!(wrong("quic/cubic", mixed), None);
    // As many as there may be do arrive.
    let row = row(&scenario("quic/cubic", slow(), json!({ "streams": "topic", "publishers": 100, "qos": 1 })));
    assert_eq!(row["messages_delivered"], 2000);
}

/// A publisher with two networks, which leaves the first one after 10 s for the second, and later goes back.
fn moving(contender: &str, mqtt: Value) -> Value {
    let mut moved = scenario(contender, json!({ "rate": "20Mbit/s", "delay": "10ms" }), mqtt);
    let links = moved["topology"]["links"].as_array_mut().unwrap();
    links[0]["link"]["outage"] = json!([{ "from": "10s", "to": "25s" }]);
    let second = json!({ "rate": "10Mbit/s", "delay": "40ms" });
    links.insert(1, json!({ "name": "second", "from": "publisher", "to": "broker", "link": second }));
    moved["flows"][0]["migrate"] = json!([{ "at": "10s", "path": 1 }, { "at": "30s", "path": 0 }]);
    moved
}

#[test]
fn a_publisher_goes_on_from_another_network() {
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/lia", "mpquic/olia"] {
        for qos in 0..3 {
            let about = json!({ "qos": qos, "messages": 300, "interval": "100ms", "reconnect": "500ms" });
            let row = row(&moving(contender, about));
            let case = format!("{contender} QoS {qos}: {row}");
            assert_eq!(row["messages_published"], 300, "{case}");
            if qos > 0 {
                assert_eq!(row["messages_delivered"], 300, "{case}");
            }
            // A message of QoS 2 takes a round trip more, of the second network for most of the time.
            let release = if qos == 2 { 0.08 } else { 0.0 };
            if contender == "tcp/cubic" {
                // Connecting takes three round trips of the second network, 80 ms each, and the message half of one. The first
                // that waits is published within 100 ms after the loss.
                let most = 0.5 + 3.0 * 0.08 + 0.04;
                assert!((most - 0.1..most + release + 0.01).contains(&number(&row, "delivery_max_s")), "{case}");
            } else if contender == "quic/cubic" {
                // Three packets of its probe timeout, or a probe of the new network and its answer.
                assert!(number(&row, "delivery_max_s") < release + 0.2, "{case}");
            }
            // Messages arrive at the end as at the beginning.
            assert!(number(&row, "delivery_p50_s") < release + 0.05, "{case}");
        }
    }
}

#[test]
fn a_publisher_notices_that_its_connection_is_dead() {
    // The broker forgets connections during the outages, and neither its FIN nor a reset reaches the publisher, which has a message
    // every 500 ms and so is never silent.
    let link = json!({
        "rate": "20Mbit/s", "delay": "12500us", "loss": "2%",
        "outage": { "periods": [{ "from": "40s", "to": "60s" }], "repeat": "100s" },
    });
    for qos in 1..3 {
        let about = json!({ "messages": 400, "interval": "500ms", "qos": qos, "keep_alive": "5s" });
        let mut dead = scenario("tcp/cubic", link.clone(), about);
        dead["flows"][0]["start_spread"] = json!("1s");
        let scenario = Scenario::from_json(&dead.to_string()).unwrap();
        for replication in 0..40 {
            let result = serde_json::to_value(run(&scenario, 2021, replication).unwrap()).unwrap();
            assert_eq!(result["flows"][0]["messages_lost"], 0, "QoS {qos}, replication {replication}: {result}");
        }
    }
}

/// A publisher on LTE, a message of QoS 1 a minute for 20 minutes.
fn metered(mqtt: Value) -> Value {
    let mut about = json!({ "interval": "60s", "qos": 1, "keep_alive": "0s" });
    about.as_object_mut().unwrap().extend(mqtt.as_object().unwrap().clone());
    let mut scenario = scenario("tcp/cubic", slow(), about);
    scenario["flows"][0]["radio"] = json!("lte");
    scenario
}

#[test]
fn the_radio_of_a_publisher_is_on_for_each_message_and_for_keep_alive() {
    let plain = row(&metered(json!({})));
    // Promotion and tail of one message, 260 ms and 11.576 s, and as much for the handshake, which ends with the first message;
    // the exchange itself takes a few round trips.
    let on = number(&plain, "radio_on_s");
    assert!((20.0 * 11.8..20.0 * 12.2).contains(&on), "{plain}");
    assert_eq!(plain["radio_promotions"], 20);
    assert!((number(&plain, "radio_on_per_message_s") - on / 20.0).abs() < 1e-9);
    // PINGREQ every 10 s comes before the tail is over.
    let kept = row(&metered(json!({ "keep_alive": "10s" })));
    assert_eq!(kept["radio_promotions"], 1, "{kept}");
    assert!(number(&kept, "radio_on_s") > 19.0 * 60.0);
    for name in ["radio_energy_estimate_j", "radio_bytes"] {
        assert!(number(&kept, name) > 1.2 * number(&plain, name), "{name}: {kept} {plain}");
    }
}

/// Nothing orders DISCONNECT behind messages on other streams, so that a publisher waits until they were read.
#[test]
fn a_publisher_that_falls_asleep_loses_nothing_on_its_streams() {
    let lossy = json!({ "rate": "10Mbit/s", "delay": "50ms", "loss": "5%" });
    for streams in ["one", "topic", "message"] {
        let about = json!({ "sleep": true, "streams": streams, "topics": 3, "messages": 60, "interval": "700ms" });
        let row = row(&scenario("quic/cubic", lossy.clone(), about));
        assert_eq!(row["messages_delivered"], 60, "{streams}: {row}");
    }
}

/// PINGREQ does not wait behind messages for which the peer does not allow streams yet.
#[test]
fn streams_that_are_not_allowed_yet_hold_up_no_others() {
    let about = json!({
        "streams": "message", "qos": 1, "arrivals": "bursts", "burst": 400, "messages": 400, "payload": "20kB", "keep_alive": "5s",
    });
    let row = row(&scenario("quic/cubic", json!({ "rate": "2Mbit/s", "delay": "20ms" }), about));
    assert_eq!((&row["messages_delivered"], &row["messages_duplicated"]), (&json!(400), &json!(0)), "{row}");
}

#[test]
fn a_flow_that_delivers_nothing_has_failed() {
    // The link of the subscriber is out, or that of the publisher.
    for (link, duration, published) in [(1, None, 20), (1, Some("30s"), 20), (0, Some("30s"), 0)] {
        let mut dead = scenario("tcp/cubic", slow(), json!({}));
        dead["topology"]["links"][link]["link"]["outage"] = json!([{ "from": "0s", "to": "10000s" }]);
        if let Some(duration) = duration {
            dead["duration"] = json!(duration);
        }
        let parsed = Scenario::from_json(&dead.to_string()).unwrap();
        let result = serde_json::to_value(run(&parsed, 1, 0).unwrap()).unwrap();
        let row = &result["flows"][0];
        assert_eq!((&row["status"], &row["messages_delivered"]), (&json!("failed"), &json!(0)), "{row}");
        assert_eq!(row["messages_published"], published, "{row}");
    }
}

#[test]
fn each_publisher_has_a_radio_and_a_run_does_not_depend_on_it() {
    let one = row(&metered(json!({})));
    let three = row(&metered(json!({ "publishers": 3 })));
    assert_eq!(three["radio_promotions"], 60);
    assert!((number(&three, "radio_on_s") / number(&one, "radio_on_s") - 3.0).abs() < 0.01);
    let mut without = metered(json!({}));
    without["flows"][0].as_object_mut().unwrap().remove("radio");
    let without = row(&without);
    for (name, value) in without.as_object().unwrap() {
        assert_eq!(&one[name], value, "{name}");
    }
    assert!(without.get("radio_on_s").is_none());
}

/// Each message has a connection of its own, with handshakes: three round trips more over TCP, but no longer tail.
#[test]
fn a_publisher_that_sleeps_between_messages_has_one_radio_over_all_its_connections() {
    let row = row(&metered(json!({ "sleep": true })));
    assert_eq!((&row["messages_delivered"], &row["radio_promotions"]), (&json!(20), &json!(20)), "{row}");
}

#[test]
fn the_publishers_and_messages_of_all_flows_are_limited() {
    let path = |publishers: u32, messages: u32, copies: u32| {
        let mut all = scenario("tcp/cubic", slow(), json!({ "publishers": publishers, "messages": messages }));
        all["flows"][0]["copies"] = json!(copies);
        let mut flows = all["flows"].as_array().unwrap().clone();
        flows.push(flows[0].clone());
        all["flows"] = json!(flows);
        Scenario::from_json(&all.to_string()).err().map(|wrong| wrong.path)
    };
    assert_eq!(path(50_000, 1, 10), None);
    assert_eq!(path(50_001, 1, 10).as_deref(), Some("flows[1].copies"));
    assert_eq!(path(600_000, 1, 1).as_deref(), Some("flows[1].mqtt.publishers"));
    assert_eq!(path(1_000, 10_001, 1).as_deref(), Some("flows[1].mqtt.publishers"));
}

/// Publishers on one connection: a stream for each saves their messages from waiting for those of others.
#[test]
fn publishers_that_share_a_connection_have_a_stream_each() {
    let lossy = || json!({ "rate": "20Mbit/s", "delay": "50ms", "loss": "3%" });
    for topics in [1, 3] {
        for qos in 0..3 {
            let about = json!({
                "streams": "publisher", "publishers": 20, "topics": topics, "qos": qos, "spread": "1s", "interval": "100ms",
                "messages": 100,
            });
            let row = row(&scenario("quic/bbr3", lossy(), about));
            assert_eq!((&row["messages_delivered"], &row["messages_duplicated"]), (&json!(2000), &json!(0)), "{row}");
        }
    }
    let p95 = |about: Value| number(&row(&scenario("quic/bbr3", lossy(), about)), "delivery_p95_s");
    let one = p95(json!({ "messages": 3000, "interval": "5ms" }));
    let each = p95(json!({
        "streams": "publisher", "publishers": 20, "messages": 150, "interval": "100ms", "spread": "100ms",
    }));
    // Fewer than 5 % of the messages are lost themselves; the others wait for them on one stream only.
    assert!(each < 0.7 * one, "{each} {one}");
    let refused = |publishers: u32| {
        let about = json!({ "streams": "publisher", "publishers": publishers });
        Scenario::from_json(&scenario("quic/cubic", slow(), about).to_string()).err().map(|wrong| wrong.path)
    };
    assert_eq!((refused(99), refused(100).as_deref()), (None, Some("flows[0].mqtt.streams")));
}
