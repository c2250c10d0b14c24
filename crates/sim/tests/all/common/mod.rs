//! Parts that the tests of the whole simulator share: random scenarios, each named by its number, and the checks of
//! every result.
#![allow(dead_code)]

pub mod generator;
pub mod inside;

use haltere_sim::{RunResult, Scenario, run};
use serde_json::Value;

/// Parses a valid scenario.
pub fn scenario(value: &Value) -> Scenario {
    let text = value.to_string();
    Scenario::from_json(&text).unwrap_or_else(|e| panic!("{e} in {text}"))
}

/// Runs a valid scenario.
pub fn result(value: &Value) -> RunResult {
    run(&scenario(value), 1, 0).unwrap_or_else(|e| panic!("{e} in {value}"))
}

/// The words with which a run may report a hopeless path.
const HONEST: [&str; 6] = [
    "the handshake was given up after too many retransmissions",
    "retransmission was given up after too many timeouts",
    "nothing was heard from the peer for the idle timeout",
    "not finished after",
    "none was connected in time",
    "messages was delivered",
];

/// Checks what holds of every result, whatever the scenario. Returns the first violation in words.
pub fn flaw(value: &Value, result: &RunResult) -> Option<String> {
    let claim = |holds: bool, words: &str| (!holds).then(|| words.to_string());
    let mut flaws = vec![claim(
        result.error.as_ref().is_none_or(|e| e.starts_with("flow ") && HONEST.iter().any(|h| e.contains(h))),
        "failed for a reason that no path gives",
    )];
    flaws.push(claim((result.status == "ok") == result.error.is_none(), "status and error disagree"));
    for link in &result.links {
        let dropped = link.dropped_queue + link.dropped_loss + link.dropped_mtu;
        let in_all = link.offered_packets + link.duplicated_packets;
        flaws.push(claim(link.delivered_packets + dropped <= in_all, "a link delivered what it never got"));
        flaws.push(claim(link.duplicated_packets <= link.offered_packets, "a link copied more than it got"));
    }
    let limit = value["duration"].is_string();
    for (flow, spec) in result.flows.iter().zip(value["flows"].as_array().into_iter().flatten()) {
        let whole = flow.completion_s.is_some() && ["size", "page", "mqtt"].iter().any(|what| !spec[what].is_null());
        let size = spec["size"].as_str().and_then(|s| s.strip_suffix('B')).and_then(|s| s.parse::<u64>().ok());
        let bytes = flow.bytes + flow.concealed_bytes.unwrap_or(0);
        flaws.push(claim(!whole || size.is_none_or(|s| s == bytes), "a finished flow has another size"));
        flaws.push(claim(limit || flow.status == "failed" || whole, "an unfinished flow is ok"));
        // What was held behind missing data when the measured time began arrived before it and is read in it.
        let held = if value["measure_from"].is_string() { flow.most_held_bytes.unwrap_or(0) } else { 0 };
        flaws.push(claim(flow.wire_bytes + held >= flow.bytes, "fewer bytes on the wire than delivered"));
        flaws.push(claim(flow.retransmitted_packets <= flow.sent_packets, "more sent again than sent"));
        let times = [flow.handshake_s, flow.first_byte_s, flow.completion_s];
        let ordered = times.iter().flatten().zip(times.iter().flatten().skip(1)).all(|(a, b)| a <= b);
        flaws.push(claim(ordered, "handshake, first byte and completion are not in this order"));
        flaws.push(claim(flow.handshake_s.is_some() || flow.bytes == 0, "bytes without a handshake"));
    }
    // A packet costs a call at each link, one at its end, and at most a few timers. An application that has its data bit by
    // bit is called for each bit, however few of them are sent; an encoder and its pacer are for each frame, those of the last second
    // included, which results leave out.
    let supplied = value["flows"].as_array().into_iter().flatten().any(|spec| !spec["supply"].is_null());
    let offered: u64 = result.links.iter().map(|l| l.offered_packets + l.duplicated_packets).sum();
    let frames: u64 = result.flows.iter().filter_map(|flow| flow.call.as_ref()).map(|call| call.frames_sent + 30).sum();
    // A scheduler that shares resource blocks decides in each interval in which it sends a block, however little fits into one.
    let shared = result.cells.iter().filter(|cell| cell.carriers.down_used_ratio.is_some());
    let blocks: u64 = shared.map(|cell| cell.transmissions).sum();
    let most = 6 * offered + 200 * result.flows.len() as u64 + 3 * frames + blocks;
    flaws.push(claim(supplied || result.events <= most, "a storm of timers"));
    flaws.into_iter().flatten().next()
}
