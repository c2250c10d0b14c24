//! Links as scenarios write them: queues as words and tables.

use haltere_net::Span;
use haltere_net::link::LinkConfig;
use haltere_net::queue::{Limit, QueueConfig};
use haltere_sim::network::link;
use haltere_sim::scenario::LinkSpec;
use serde_json::{Value, json};

fn configs(spec: Value) -> Result<(LinkConfig, LinkConfig), String> {
    let spec = LinkSpec::from_json(&spec.to_string()).map_err(|e| format!("{}: {}", e.path, e.message))?;
    Ok(link(&spec))
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

/// The emulator and rigs read the very JSON that a scenario's link becomes.
#[test]
fn a_link_goes_to_the_emulator_as_it_is() {
    let spec = json!({ "rate": "1Mbit/s", "delay": "5ms", "queue": { "discipline": "head-drop", "limit": "2bdp" } });
    let config = down(spec);
    assert_eq!(config.delay, Span::from_millis(5));
    let read: LinkConfig = serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
    assert_eq!(read, config);
}
