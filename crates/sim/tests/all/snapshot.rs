//! A small table of results protects the whole. If a change alters results, the table shows which, and they are
//! reviewed.
//!
//! To rewrite the table: `HALTERE_BLESS=1 cargo test -p haltere-sim --test all snapshot`

use crate::common;

use serde_json::json;
use std::fmt::Write;

/// Medians of five replications of 2 MB over 20 Mbit/s, rounded, so that only changes of results change digits.
fn table() -> String {
    let mut table = String::from("# Regenerate: HALTERE_BLESS=1 cargo test -p haltere-sim --test all snapshot\n");
    table.push_str("# 2 MB over 20 Mbit/s, queue 1bdp (at least 10 packets); medians of 5 replications\n");
    table.push_str("contender      loss   rtt_ms  completion_ms  retransmissions\n");
    for contender in ["tcp/newreno", "tcp/cubic", "tcp/bbr", "quic/newreno", "quic/cubic", "quic/bbr"] {
        for loss in ["0%", "0.1%", "2%"] {
            for rtt in [10, 100] {
                let (completion, again) = cell(contender, loss, rtt);
                writeln!(table, "{contender:<14} {loss:<6} {rtt:>6}  {completion:>13}  {again:>15}").unwrap();
            }
        }
    }
    table
}

fn cell(contender: &str, loss: &str, rtt: u32) -> (u64, u64) {
    let delay = format!("{}ms", rtt / 2);
    let queue = format!("{}p", (20_000_000 / 8 * u64::from(rtt) / 1000 / 1500).max(10));
    let link = json!({ "rate": "20Mbit/s", "delay": delay, "queue": queue, "down": { "loss": loss } });
    let given = common::scenario(&json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender, "size": "2MB" }],
    }));
    let runs: Vec<_> = (0..5).map(|replication| haltere_sim::run(&given, 1, replication).unwrap()).collect();
    let median = |mut of: Vec<u64>| {
        of.sort_unstable();
        of[of.len() / 2]
    };
    // Rounded to ten milliseconds.
    let completion = runs.iter().map(|r| 10 * (r.flows[0].completion_s.unwrap() * 100.0).round() as u64).collect();
    (median(completion), median(runs.iter().map(|r| r.flows[0].retransmitted_packets).collect()))
}

#[test]
fn transfers_take_what_the_table_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/transfers.txt");
    let now = table();
    if std::env::var_os("HALTERE_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<String> =
        kept.lines().zip(now.lines()).filter(|(a, b)| a != b).map(|(a, b)| format!("- {a}\n+ {b}")).collect();
    assert!(kept == now, "results have changed:\n{}", changed.join("\n"));
}
