//! A run is a pure function of (scenario, seed, replication), and random streams do not disturb each other.

use crate::common;

use common::generator::case;
use common::scenario;
use haltere_net::loss::{Loss, LossModel};
use haltere_net::rng::Streams;
use haltere_sim::{Fidelity, Files, Pcap, RunResult, run, trace_at};
use serde_json::{Value, json};

fn text(value: &Value, seed: u64) -> String {
    let result = run(&scenario(value), seed, 0).unwrap();
    serde_json::to_string(&result).unwrap()
}

#[test]
fn the_same_run_twice_and_in_other_threads_is_the_same_to_the_last_digit() {
    let numbers: Vec<u64> = (0..300).collect();
    let here: Vec<String> = numbers.iter().map(|&n| text(&case(n).scenario, n)).collect();
    let again: Vec<String> = numbers.iter().map(|&n| text(&case(n).scenario, n)).collect();
    assert_eq!(here, again);
    // Two threads side by side, one of them from the last to the first.
    let elsewhere = std::thread::scope(|scope| {
        let forward = scope.spawn(|| numbers.iter().map(|&n| text(&case(n).scenario, n)).collect::<Vec<_>>());
        let backward = scope.spawn(|| numbers.iter().rev().map(|&n| text(&case(n).scenario, n)).collect::<Vec<_>>());
        let mut backward = backward.join().unwrap();
        backward.reverse();
        [forward.join().unwrap(), backward]
    });
    assert_eq!([&here, &here], [&elsewhere[0], &elsewhere[1]]);
}

#[test]
fn watching_a_run_does_not_change_it() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = Pcap { folder: folder.path().join("pcap"), links: Vec::new() };
    let all = Files { qlog: Some(folder.path().join("qlog")), pcap: Some(pcap), ..Files::default() };
    for number in 0..100 {
        let given = case(number).scenario;
        let files = if number % 4 == 0 { &all } else { &Files::default() };
        let traced = trace_at(Fidelity::Model, &scenario(&given), number, 0, files).unwrap();
        assert_eq!(serde_json::to_string(&traced.result).unwrap(), text(&given, number), "case {number}: {given}");
    }
}

#[test]
fn seeds_and_replications_differ() {
    let given = dumbbell(1, json!("1%"));
    let scenario = scenario(&given);
    let of = |seed, replication| run(&scenario, seed, replication).unwrap().flows[0].completion_s;
    assert_ne!(of(1, 0), of(2, 0));
    assert_ne!(of(1, 0), of(1, 1));
    assert_eq!(of(1, 1), of(1, 1));
}

fn dumbbell(flows: usize, loss: Value) -> Value {
    let flow = |pair: usize| json!({ "contender": "tcp/cubic", "pair": pair, "size": "2MB", "app": "raw" });
    json!({
        "topology": { "kind": "dumbbell", "pairs": 2,
            "bottleneck": { "rate": "20Mbit/s", "delay": "10ms", "queue": "10000p", "down": { "loss": loss } } },
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
    })
}

/// The number of packets among the first offered to the bottleneck that a loss of 2 % drops, and how many were offered.
fn losses(result: &RunResult, seed: u64) -> (u64, u64) {
    let link = result.links.iter().find(|l| (l.link.as_str(), l.direction) == ("bottleneck", "down")).unwrap();
    assert_eq!(link.dropped_queue, 0, "the loss process sees what is served");
    let stream = Streams::new(seed, 0).named("bottleneck/down/loss");
    let mut process = Loss::new(LossModel::Uniform { p: 0.02 }, stream);
    ((0..link.offered_packets).filter(|_| process.strikes()).count() as u64, link.dropped_loss)
}

/// Whether the n-th packet offered to a link is lost does not depend on its sender. A second flow shares the same
/// losses and causes none of its own (common random numbers).
#[test]
fn another_flow_does_not_change_which_packets_of_a_link_are_lost() {
    for (seed, flows) in (0..10).flat_map(|seed| [(seed, 1), (seed, 2)]) {
        let result = run(&scenario(&dumbbell(flows, json!("2%"))), seed, 0).unwrap();
        assert_eq!(result.error, None);
        let (expected, lost) = losses(&result, seed);
        assert_eq!(lost, expected, "seed {seed}, {flows} flows");
    }
}

/// With a list of losses the first flow alone and two flows together lose exactly those packets.
#[test]
fn listed_losses_strike_the_same_ordinals_whoever_sends() {
    let loss = json!({ "model": "list", "packets": [5, 50, 51, 700] });
    for flows in [1, 2] {
        let result = run(&scenario(&dumbbell(flows, loss.clone())), 1, 0).unwrap();
        let lost: u64 = result.links.iter().map(|l| l.dropped_loss).sum();
        assert_eq!((result.error, lost), (None, 4));
    }
}

/// A flow that starts after the first one has ended does not change the first one's result.
#[test]
fn a_later_flow_leaves_an_earlier_one_alone() {
    let alone = dumbbell(1, json!("2%"));
    let mut both = dumbbell(2, json!("2%"));
    both["flows"][1]["start"] = json!("600s");
    for seed in 0..5 {
        let first = |given: &Value| {
            let result = run(&scenario(given), seed, 0).unwrap();
            assert_eq!(result.error, None);
            // The run alone ends with the last byte, so that later acknowledgements give no sample.
            let mut flow = serde_json::to_value(&result.flows[0]).unwrap();
            let distribution = |name: &str| name.contains("rtt") && name != "min_rtt_s";
            flow.as_object_mut().unwrap().retain(|name, _| !distribution(name));
            flow
        };
        assert_eq!(first(&alone), first(&both), "seed {seed}");
    }
}

/// Jitter, duplication and the other direction's loss have random streams of their own.
#[test]
fn one_impairment_does_not_shift_the_draws_of_another() {
    let extras = [("jitter", json!("3ms")), ("duplication", json!("5%")), ("up", json!({ "loss": "3%" }))];
    for (field, value) in extras {
        let mut given = dumbbell(1, json!("2%"));
        given["topology"]["bottleneck"][field] = value;
        let (expected, lost) = losses(&run(&scenario(&given), 3, 0).unwrap(), 3);
        assert_eq!(lost, expected, "{field}");
    }
}
