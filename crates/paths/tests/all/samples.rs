//! Real files, which are not part of the project: `HALTERE_PATHS_SAMPLES` names the folder that holds them.

use crate::skips;

use haltere_paths::count::{FileCounts, Progress, count_file};
use haltere_paths::input;
use haltere_paths::{Step, Trace, classify};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sample(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HALTERE_PATHS_SAMPLES");
    let file = folder.map(|f| PathBuf::from(f).join(name)).filter(|f| f.exists());
    if file.is_none() {
        skips::skip(&format!("HALTERE_PATHS_SAMPLES names no folder with {name}"));
    }
    file
}

fn counts(file: &Path) -> FileCounts {
    let counts = count_file(file, 1, &Progress::default());
    assert_eq!((counts.error.as_deref(), counts.counts.damaged), (None, 0));
    counts
}

#[test]
fn what_scamper_made_in_namespaces_is_counted_as_it_must_be() {
    let (Some(file), Some(expected)) = (sample("netns-one-monitor.warts"), sample("netns-one-monitor.counts.json"))
    else {
        return;
    };
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(expected).unwrap()).unwrap();
    let found = json!(counts(&file).counts);
    for key in ["traces", "hop_replies", "stop_reason"] {
        assert_eq!(found[key], expected[key], "{key}");
    }
    for group in ["records", "flags"] {
        for (name, value) in expected[group].as_object().unwrap() {
            assert_eq!(&found[group][name], value, "{group}.{name}");
        }
    }
    let (nodes, edges) = clean_graph(&file);
    assert_eq!(json!({ "nodes": nodes, "undirected_edges": edges }), expected["clean_graph"]);
}

/// Nodes and edges that the clean traces span, source included.
fn clean_graph(file: &Path) -> (usize, usize) {
    let mut opened = input::open(file, &Default::default(), 1).unwrap();
    let (mut nodes, mut edges, mut trace) = (BTreeSet::new(), BTreeSet::new(), Trace::default());
    while opened.reader.read_into(&mut trace) == Step::Trace {
        if !classify(&trace).clean() {
            continue;
        }
        let mut before = (0, trace.source);
        for hop in &trace.hops {
            nodes.extend([trace.source, hop.address]);
            if hop.ttl == before.0 + 1 {
                edges.insert((hop.address.min(before.1), hop.address.max(before.1)));
            }
            before = (hop.ttl, hop.address);
        }
    }
    (nodes.len(), edges.len())
}

#[test]
fn a_file_of_mapped_addresses_is_read_to_its_end() {
    let Some(file) = sample("iris-sample.warts") else { return };
    assert_eq!(counts(&file).counts.traces, 1000);
    let mut opened = input::open(&file, &Default::default(), 1).unwrap();
    let mut trace = Trace::default();
    assert_eq!(opened.reader.read_into(&mut trace), Step::Trace);
    assert_eq!(trace.source.to_string(), "132.227.123.8");
    assert_eq!((trace.start_us, trace.time_us()), (0, 1_647_675_422_989_500), "the first probe tells when it was");
}
