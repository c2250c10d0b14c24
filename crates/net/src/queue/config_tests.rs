use super::*;
use serde_json::json;

fn config(value: serde_json::Value) -> Result<QueueConfig, String> {
    serde_json::from_value(value).map_err(|e| e.to_string())
}

#[test]
fn a_queue_is_a_word_or_a_table() {
    let plain = QueueConfig::drop_tail(Limit::Packets(1000), None);
    for same in [json!("1000p"), json!("drop-tail"), json!({"packets": 1000}), json!({"limit": "1000p"}), json!({})] {
        assert_eq!(config(same), Ok(plain.clone()));
    }
    let marks = json!({"discipline": "drop-tail", "limit": "64kB", "mark": "3p"});
    assert_eq!(config(marks), Ok(QueueConfig::drop_tail(Limit::Bytes(64_000), Some(Limit::Packets(3)))));
    assert_eq!(config(json!({"bytes": 5})), Ok(Limit::Bytes(5).into()));
    assert_eq!(config(json!("head-drop")).map(|c| c.discipline()), Ok(crate::queue::HEAD_DROP));
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    for (wrong, hint) in [
        (json!("fq-coddle"), "there are drop-tail, head-drop"),
        (json!({"discipline": "hfsc"}), "there are drop-tail, head-drop"),
        (json!({"discipline": "head-drop", "mark": "3p"}), "head-drop has no parameter \"mark\": it has limit"),
        (json!({"target": "5ms"}), "drop-tail has no parameter \"target\": it has limit, mark"),
        (json!({"limit": "5 parsecs"}), "limit: \"5 parsecs\" is not a queue length"),
        (json!({"packets": 5, "mark": "1p"}), "no parameter \"packets\""),
        (json!(["1000p"]), "a table with discipline and parameters"),
    ] {
        let said = config(wrong.clone()).unwrap_err();
        assert!(said.contains(hint), "{wrong}: {said}");
    }
}

#[test]
fn every_discipline_goes_through_json_and_back_and_can_be_built() {
    let scale = Scale { rate: None, rtt: Span::ZERO, mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(1, 0) };
    for &discipline in Discipline::ALL {
        let about = discipline.describe();
        assert_eq!(Discipline::named(about.name), Some(discipline));
        assert!(!about.summary.is_empty() && !about.reference.is_empty());
        let default = QueueConfig::of(discipline);
        assert_eq!(config(serde_json::to_value(&default).unwrap()), Ok(default.clone()));
        assert_eq!(default.build::<()>(&place).backlog().packets, 0);
        for parameter in discipline.parameters() {
            let mut changed = default.clone();
            assert_eq!(changed.set(parameter.name, parameter.example), Ok(()), "{}: {}", about.name, parameter.name);
            assert_eq!(config(serde_json::to_value(&changed).unwrap()), Ok(changed));
        }
    }
}

#[test]
fn bandwidth_delay_products_are_resolved_in_every_parameter() {
    let mut queue = config(json!({"limit": "2bdp", "mark": "0.1bdp"})).unwrap();
    queue.resolve(&Scale { rate: Some(Rate::from_bps(12_000_000)), rtt: Span::from_millis(100), mtu: 1500 });
    assert_eq!(queue, QueueConfig::drop_tail(Limit::Packets(200), Some(Limit::Packets(10))));
}

/// A discipline that has the parameters below and heeds none.
struct Heedless;

impl Heedless {
    fn at(_: &Config, place: &Place<'_>) -> drop_tail::DropTail<Ticket> {
        drop_tail::DropTail::at(&drop_tail::Config::default(), place)
    }
}

queue_parameters! {
    /// All kinds of values.
    pub struct Config for Heedless {
        /// A time.
        target: Span = Span::from_millis(5),
        /// A rate.
        rate: Option<Rate> = None,
        /// Bytes.
        quantum: Bytes = Bytes(1514),
        /// A number.
        flows: u64 = 1024,
        /// A share.
        weight: f64 = 0.002,
        /// A switch.
        ecn: bool = true,
    }
}

#[test]
fn every_kind_of_value_is_read_as_it_is_shown() {
    let mut config = Config::default();
    for (name, text) in [
        ("target", "20ms"),
        ("rate", "1Mbit/s"),
        ("quantum", "300B"),
        ("flows", "64"),
        ("weight", "0.25"),
        ("ecn", "false"),
    ] {
        assert_eq!(config.set(name, text), Some(Ok(())));
        assert_eq!(config.texts().iter().find(|(its, _)| *its == name), Some(&(name, text.to_string())));
        assert!(matches!(config.set(name, "what?"), Some(Err(_))), "{name}");
    }
    assert_eq!(config.set("interval", "1s"), None);
    assert!(matches!(config.set("weight", "inf"), Some(Err(_))));
    assert_eq!(Config::default().list()[0].summary, "A time.");
}
