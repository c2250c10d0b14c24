//! The memory of many MQTT publishers on one broker.
//!
//! The counting allocator belongs to the whole program, so this file has one test only.

use haltere_net::{Span, Time};
use haltere_sim::{Scenario, build};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PUBLISHERS: usize = 10_000;
/// The upper bound of the memory of a connection, both ends with their MQTT, bytes. The aim is 10 000 for both; of QUIC's the
/// transport's ends alone are more (`benches/README.md`).
const MOST: [(&str, usize); 2] = [("tcp/cubic", 9_200), ("quic/cubic", 13_800)];

fn held() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// The most bytes that a connection takes at any moment, read every 50 ms: all that the run has allocated, divided by the
/// publishers. Each sends a message a second.
fn bytes_per_connection(contender: &str) -> usize {
    let text = json!({
        "duration": "10s",
        "topology": { "kind": "graph", "links": [
            { "from": "publishers", "to": "broker", "link": { "rate": "1Gbit/s", "delay": "10ms" } },
            { "from": "broker", "to": "subscriber", "link": { "rate": "1Gbit/s", "delay": "0ms" } },
        ] },
        "flows": [{ "contender": contender, "server": "broker", "client": "publishers", "mqtt": {
            "subscriber": "subscriber", "publishers": PUBLISHERS, "spread": "1s", "interval": "1s", "payload": "100B",
        } }],
    });
    let before = held();
    let scenario = Scenario::from_json(&text.to_string()).unwrap();
    let mut world = build::world(&scenario, 1, 0).unwrap();
    let (mut until, mut most) = (Time::ZERO, 0);
    while until < Time::ZERO + Span::from_secs(10) {
        until += Span::from_millis(50);
        world.run(until, |_, _| false).unwrap();
        most = most.max(held() - before);
    }
    assert_eq!(world.processes().iter().map(|p| p.sockets()).max(), Some(PUBLISHERS + 1), "the broker's connections");
    most / PUBLISHERS
}

#[test]
fn ten_thousand_publishers_occupy_little() {
    for (contender, most) in MOST {
        let bytes = bytes_per_connection(contender);
        println!("{contender}: {bytes} bytes a connection");
        assert!(bytes < most, "{contender}: {bytes} bytes a connection");
    }
}
