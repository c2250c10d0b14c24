//! Links as scenarios write them: queues as words and tables.

use haltere_net::interface::Ring;
use haltere_net::link::LinkConfig;
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::varying::{Between, InOutage, Outages, Period, Profile};
use haltere_net::{Rate, Span};
use haltere_sim::scenario::Link;
use serde_json::{Value, json};

fn configs(spec: Value) -> Result<(LinkConfig, LinkConfig), String> {
    let link = Link::from_json(&spec.to_string()).map_err(|e| format!("{}: {}", e.path, e.message))?;
    Ok((link.down, link.up))
}

fn down(spec: Value) -> LinkConfig {
    configs(spec).unwrap().0
}

#[test]
fn a_queue_is_a_word_or_a_table_with_the_same_meaning() {
    let table = json!({ "discipline": "drop-tail", "limit": "300p", "mark": "20p" });
    let same = [
        json!({ "queue": table }),
        json!({ "queue": "300p", "mark": "20p" }),
        json!({ "queue": { "limit": "300p" }, "down": { "mark": "20p" } }),
        json!({ "mark": "20p", "down": { "queue": { "limit": "300p" } }, "up": { "queue": "5p", "mark": "1p" } }),
    ];
    for spec in same {
        let expected = QueueConfig::drop_tail(Limit::Packets(300), Some(Limit::Packets(20)));
        assert_eq!(down(spec.clone()).queue, expected, "{spec}");
    }
    assert_eq!(down(json!({})).queue, Limit::Packets(1000).into());
}

#[test]
fn bandwidth_delay_products_work_inside_tables() {
    let base = json!({ "rate": "12Mbit/s", "delay": "50ms" });
    let with = |queue: Value| {
        let mut spec = base.clone();
        spec["queue"] = queue;
        down(spec).queue.get("limit")
    };
    assert_eq!(with(json!("1bdp")).as_deref(), Some("100p"));
    assert_eq!(with(json!({ "discipline": "head-drop", "limit": "0.5bdp" })).as_deref(), Some("50p"));
}

#[test]
fn a_ring_stands_beside_the_queue_of_a_direction() {
    let rings = |spec: Value| configs(spec).map(|(down, up)| (down.ring, up.ring));
    let ring = |packets, bql| Some(Ring { packets, bql });
    assert_eq!(rings(json!({})), Ok((None, None)));
    // Byte queue limits are on, as in today's Linux, unless the link says otherwise.
    assert_eq!(rings(json!({ "ring": "64p" })), Ok((ring(64, true), ring(64, true))));
    assert_eq!(rings(json!({ "ring": "64p", "down": { "bql": false } })), Ok((ring(64, false), ring(64, true))));
    assert_eq!(rings(json!({ "up": { "ring": "16000p" } })), Ok((None, ring(16_000, true))));
    for (spec, path) in [
        (json!({ "ring": "64kB" }), "ring"),
        (json!({ "up": { "ring": "0p" } }), "up.ring"),
        (json!({ "down": { "ring": "1bdp" } }), "down.ring"),
        (json!({ "bql": true }), "bql"),
        (json!({ "up": { "bql": false }, "down": { "ring": "9p" } }), "up.bql"),
    ] {
        let said = configs(spec.clone()).unwrap_err();
        assert!(said.starts_with(&format!("{path}: ")) && said.contains("256p"), "{spec}: {said}");
    }
}

#[test]
fn what_is_wrong_with_a_queue_is_named_with_what_there_is() {
    for (spec, path, hint) in [
        (json!({ "queue": { "discipline": "hfsc" } }), "queue", "there are drop-tail, head-drop"),
        (json!({ "queue": { "target": "5ms" } }), "queue", "it has limit, mark"),
        (json!({ "down": { "queue": "12 parsecs" } }), "down.queue", "a queue length"),
        (json!({ "queue": { "mark": "3p" }, "mark": "4p" }), "mark", "mark = \"3p\" too"),
        (json!({ "queue": { "mark": "3p" }, "up": { "mark": "4p" } }), "up.mark", "mark = \"3p\" too"),
        (json!({ "queue": "head-drop", "mark": "4p" }), "mark", "head-drop has no parameter \"mark\""),
    ] {
        let said = configs(spec.clone()).unwrap_err();
        assert!(said.starts_with(&format!("{path}: ")) && said.contains(hint), "{spec}: {said}");
    }
}

/// The emulator and rigs read the same JSON to which a scenario's link is converted.
#[test]
fn a_link_goes_to_the_emulator_as_it_is() {
    let spec = json!({ "rate": "1Mbit/s", "delay": "5ms", "queue": { "discipline": "head-drop", "limit": "2bdp" } });
    let config = down(spec);
    assert_eq!(config.delay, Span::from_millis(5));
    let read: LinkConfig = serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
    assert_eq!(read, config);
}

#[test]
fn rates_delays_and_outages_are_functions_of_time() {
    let config = down(json!({
        "rate": { "at": ["0s", "10s"], "value": ["10Mbit/s", "2Mbit/s"], "repeat": "20s" },
        "delay": { "at": ["0s", "5s"], "value": ["20ms", "50ms"], "between": "ramp", "reorder": true },
        "outage": [{ "from": "3s", "to": "4s" }],
    }));
    let at = |s: &[u64]| s.iter().map(|&s| Span::from_secs(s)).collect::<Vec<_>>();
    let rate = Profile::new(&at(&[0, 10]), &[10_000_000, 2_000_000], Between::Step, Some(Span::from_secs(20)));
    let delay = Profile::new(&at(&[0, 5]), &[20_000_000, 50_000_000], Between::Ramp, None);
    let period = Period { from: Span::from_secs(3), to: Span::from_secs(4) };
    let outages = Outages::new(vec![period], InOutage::Drop, None);
    assert_eq!((config.rate_profile.clone(), config.delay_profile.clone()), (rate.ok(), delay.ok()));
    assert_eq!((config.outages.clone(), config.delay_reorders), (outages.ok(), true));
    // Lengths in bandwidth-delay products are computed from the largest value of each.
    assert_eq!((config.rate, config.delay), (Some(Rate::from_bps(10_000_000)), Span::from_millis(50)));
    let read: LinkConfig = serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
    assert_eq!(read, config);

    let config = down(json!({
        "rate": { "trace": [1, 2, 2, 10] }, "delay": "50ms", "queue": "1bdp",
        "down": { "outage": { "periods": [{ "from": "0s", "to": "1s" }], "repeat": "15s" } },
    }));
    assert_eq!(config.trace.clone().map(Vec::from), Some(vec![1, 2, 2, 10]));
    // Four opportunities of 1504 bytes in 10 ms, 100 ms.
    assert_eq!(config.queue, Limit::Packets(40).into());
}

#[test]
fn a_bad_function_of_time_is_named_by_its_field() {
    let value = ["10Mbit/s"];
    for (spec, path, hint) in [
        (json!({ "rate": { "at": ["1s"], "value": value } }), "rate.at", "from the start"),
        (json!({ "rate": { "at": ["0s", "1s"], "value": value } }), "rate.value", "1 values and 2 times"),
        (json!({ "down": { "rate": { "at": ["0s"], "value": value, "repeat": "0s" } } }), "down.rate.repeat", "period"),
        (json!({ "rate": { "at": ["0s"] } }), "rate", "give at and value"),
        (json!({ "rate": { "trace": [5], "repeat": "1s" } }), "rate.trace", "its own times"),
        (json!({ "rate": { "trace": [5, 4] } }), "rate", "sort the lines"),
        (json!({ "rate": { "at": ["0s"], "value": ["0bit/s"] } }), "rate", "between 1bit/s"),
        (json!({ "rate": { "at": ["0s"], "value": value, "between": "curve" } }), "rate", "step"),
        (json!({ "delay": { "at": ["0s", "0s"], "value": ["1ms", "2ms"] } }), "delay.at", "ascending"),
        (json!({ "outage": [{ "from": "2s", "to": "1s" }] }), "outage.periods", "an end after"),
        (json!({ "up": { "outage": { "periods": [], "repeat": "1ms" } } }), "up.outage.repeat", "100ms"),
        (
            json!({ "rate": { "trace": [5] }, "outage": { "periods": [], "packets": "hold" } }),
            "outage",
            "let them drop",
        ),
    ] {
        let said = configs(spec.clone()).unwrap_err();
        assert!(said.starts_with(&format!("{path}: ")) && said.contains(hint), "{spec}: {said}");
    }
}

#[test]
fn a_transfer_completes_over_a_link_that_changes() {
    let scenario = json!({
        "topology": { "kind": "point-to-point", "link": {
            "delay": "10ms", "queue": "1bdp",
            "down": {
                "rate": { "at": ["0s", "1s"], "value": ["20Mbit/s", "5Mbit/s"], "between": "ramp", "repeat": "2s" },
                "outage": [{ "from": "1500ms", "to": "1900ms" }],
            },
        } },
        "flows": [{ "contender": "tcp/cubic", "size": "5MB" }],
    });
    let scenario = haltere_sim::Scenario::from_json(&scenario.to_string()).unwrap();
    let result = haltere_sim::run(&scenario, 1, 0).unwrap();
    let down = &result.links[0];
    assert!(down.dropped_outage > 0 && down.max_queueing_delay_s >= down.mean_queueing_delay_s);
    // 12.5 Mbit/s on average and 0.4 s without anything: 3.6 s at the least.
    let completion = result.flows[0].completion_s.unwrap();
    assert!((3.6..8.0).contains(&completion), "{completion}");
}
