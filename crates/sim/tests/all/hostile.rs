//! Invalid and extreme scenarios. Each must give an error that names the field, or a result; never a panic, whatever
//! the numbers.

use crate::common;

use common::generator::case;
use haltere_net::Span;
use haltere_net::rng::{Stream, Streams};
use haltere_sim::scenario::{Duration, Task, Topology};
use haltere_sim::{Scenario, run};
use serde_json::{Value, json};

const TEXTS: [&str; 14] =
    ["", " ", "-1", "NaN", "inf", "1e400", "tcp/cubic+", "/", "list", "graph", "µs", "\u{0}", "n0", "raw"];
/// Quantities by their unit: the ends of what is allowed, and beyond.
const QUANTITIES: [&[&str]; 5] = [
    &["0s", "1ns", "1µs", "1h", "100000000s", "100000001s"],
    &["0bit/s", "1bit/s", "10000Gbit/s", "10001Gbit/s"],
    &["0B", "1B", "1280B", "65535B", "65536B", "1000000GB"],
    &["0p", "1p", "1000000000p", "0bdp", "0.000001bdp", "1000000bdp"],
    &["0%", "100%", "101%", "0.5", "1e-300"],
];

fn one_of<T: Clone>(of: &[T], random: &mut Stream) -> T {
    of[random.below(of.len() as u64) as usize].clone()
}

/// A replacement for a value.
fn nasty(random: &mut Stream) -> Value {
    let numbers =
        [json!(0), json!(-1), json!(1), json!(255), json!(u64::MAX), json!(i64::MIN), json!(1e308), json!(0.5)];
    match random.below(8) {
        0 => json!(null),
        1 => json!(random.below(2) == 0),
        2 | 3 => one_of(&numbers, random),
        4 => json!([]),
        5 => json!({}),
        6 => json!(one_of(one_of(&QUANTITIES, random), random)),
        _ => json!(one_of(&TEXTS, random)),
    }
}

/// Another quantity of the same kind, if it is one.
fn alike(text: &str, random: &mut Stream) -> Option<Value> {
    let unit = |t: &str| t.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').chars().last();
    let kind = QUANTITIES.iter().find(|q| q.iter().any(|t| unit(t) == unit(text)))?;
    Some(json!(one_of(kind, random)))
}

/// Descends to a random place in the value and changes it.
fn mutate(value: &mut Value, random: &mut Stream) {
    let here = random.below(4) == 0;
    match value {
        Value::Object(map) if !here && !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len() as u64) as usize).cloned().unwrap();
            match random.below(12) {
                0 => {
                    map.remove(&key);
                }
                1 => {
                    let words = ["loss", "jitter", "delay", "queue", "mtu", "size", "pair", "every", "packets", "x"];
                    map.insert(words[random.below(10) as usize].to_string(), nasty(random));
                }
                _ => mutate(&mut map[&key], random),
            }
        }
        Value::Array(list) if !here && !list.is_empty() => {
            let at = random.below(list.len() as u64) as usize;
            match random.below(8) {
                0 => {
                    list.remove(at);
                }
                1 => list.push(list[at].clone()),
                _ => mutate(&mut list[at], random),
            }
        }
        Value::String(text) if random.below(4) > 0 => *value = alike(text, random).unwrap_or_else(|| nasty(random)),
        other => *other = nasty(random),
    }
}

/// Breaks the text itself.
fn garble(text: &str, random: &mut Stream) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 => bytes.truncate(at.max(1)),
            1 => bytes[at] = random.below(256) as u8,
            2 => bytes.insert(at, b"{}[]\",:0"[random.below(8) as usize]),
            _ => bytes.extend_from_within(at..),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs an accepted scenario, reduced to the time that a test has.
fn try_to_run(text: &str) -> bool {
    let Ok(mut scenario) = Scenario::from_json(text) else { return false };
    let second = Span::from_secs(1);
    scenario.time_limit = Some(second);
    scenario.duration = scenario.duration.map(|duration| {
        let whole = duration.whole.min(second);
        Duration { whole, measure_from: duration.measure_from.filter(|from| *from < whole) }
    });
    scenario.flows.truncate(50);
    if let Topology::Dumbbell { pairs, .. } = &mut scenario.topology {
        *pairs = (*pairs).min(1000);
    }
    for flow in &mut scenario.flows {
        if let Task::Object { size, .. } = &mut flow.task {
            *size = Some(size.unwrap_or(20_000).min(20_000));
        }
        if let Topology::Dumbbell { pairs, .. } = &scenario.topology {
            flow.place = scenario.topology.pair(flow.place.pair.min(pairs - 1)).unwrap();
        }
    }
    if let Ok(result) = run(&scenario, 1, 0) {
        let error = result.error.unwrap_or_default();
        assert!(!error.contains("without a counted cause"), "{error}: {text}");
        serde_json::to_string(&result.flows).unwrap();
    }
    true
}

#[test]
fn mutated_scenarios_give_an_error_or_a_result() {
    let mut accepted = 0;
    for number in 0..30_000 {
        let mut random = Streams::new(number, 0).named("mutation");
        let mut value = case(number % 1000).scenario;
        for _ in 0..=random.below(3) {
            mutate(&mut value, &mut random);
        }
        accepted += u64::from(try_to_run(&value.to_string()));
    }
    // Otherwise only the parser was tested.
    assert!(accepted > 2_500, "{accepted} were accepted");
}

#[test]
fn mutated_films_give_an_error_or_a_result() {
    let mut accepted = 0;
    for number in 0..10_000 {
        let mut random = Streams::new(number, 2).named("mutation");
        let adaptation = one_of(&["bba", "throughput", "mpc"], &mut random);
        let contender = one_of(&["tcp/cubic", "quic/bbr"], &mut random);
        let mut film = json!({
            "adaptation": adaptation, "length": "2s", "chunk": "200ms",
            "rates": ["100kbit/s", "1Mbit/s", "4Mbit/s"], "spread": "15%", "buffer": "1s", "startup": "400ms",
        });
        for _ in 0..=random.below(2) {
            mutate(&mut film, &mut random);
        }
        let given = json!({
            "topology": { "kind": "point-to-point", "link": { "rate": "5Mbit/s", "delay": "5ms", "queue": "20p" } },
            "flows": [{ "contender": contender, "video": film }],
        });
        accepted += u64::from(try_to_run(&given.to_string()));
    }
    // Otherwise only the parser was tested.
    assert!((1_000..9_000).contains(&accepted), "{accepted} were accepted");
}

#[test]
fn garbled_text_gives_an_error_or_a_result() {
    for number in 0..20_000 {
        let mut random = Streams::new(number, 1).named("mutation");
        try_to_run(&garble(&case(number % 1000).scenario.to_string(), &mut random));
    }
}

#[test]
fn unlimited_nesting_is_an_error() {
    for (open, close) in [("[", "]"), ("{\"topology\":", "}"), ("{\"flows\":[", "]}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(Scenario::from_json(&deep).is_err());
        let inside =
            format!("{{\"topology\":{{\"kind\":\"point-to-point\",\"link\":{{\"loss\":{deep}}}}},\"flows\":[]}}");
        assert!(Scenario::from_json(&inside).is_err());
    }
}

#[test]
fn the_largest_and_smallest_of_everything_is_carried_through() {
    let rates = ["1bit/s", "10000Gbit/s"];
    let spans = ["0s", "1ns", "1h", "100000000s"];
    let queues = ["0p", "1000000000p", "0B", "1000000GB", "1000000bdp", "0.000001bdp"];
    for contender in ["tcp/cubic", "tcp/newreno+rto1s", "tcp/bbr", "quic/cubic", "quic/newreno", "quic/bbr"] {
        for (rate, span) in rates.iter().flat_map(|r| spans.iter().map(move |s| (r, s))) {
            for queue in queues {
                let jitter = json!({ "spread": span, "reorder": true, "distribution": "normal" });
                let link = json!({ "rate": rate, "delay": span, "queue": queue, "jitter": jitter });
                let given = json!({
                    "time_limit": "100000000s",
                    "duration": "20s",
                    "topology": { "kind": "dumbbell", "bottleneck": link, "access": { "delay": span } },
                    "flows": [{ "contender": contender, "size": "1000000GB" }, { "contender": contender, "size": "1B" }],
                });
                // A path of ten terabits without delay would carry petabytes.
                let quick = *rate == "10000Gbit/s" && *span != "1h" && *span != "100000000s";
                let mut given = given;
                if quick {
                    given["duration"] = json!("1ms");
                }
                assert_eq!(common::result(&given).error, None, "{given}");
            }
        }
    }
}
