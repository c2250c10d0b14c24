//! Multipath measurements: what scamper itself wrote of a known topology, damaged and whole, in warts and JSON.

use haltere_paths::count::Progress;
use haltere_paths::store::{Lake, Options, ingest, sources};
use haltere_paths::{Damage, FlowLink, Multipath, ReadTraces, Step, Trace, json, warts};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use std::fs::File;

const WARTS: &[u8] = include_bytes!("../data/tracelb.warts");
const JSON: &[u8] = include_bytes!("../data/tracelb.json");

fn read(reader: &mut dyn ReadTraces) -> (Vec<Multipath>, Vec<Damage>) {
    let (mut found, mut damage, mut trace) = (Vec::new(), Vec::new(), Trace::default());
    loop {
        match reader.read_into(&mut trace) {
            Step::Trace => {}
            Step::Multipath(one) => found.push(*one),
            Step::Damaged(one) => damage.push(one),
            Step::End => return (found, damage),
        }
    }
}

fn links(found: &Multipath) -> Vec<(u8, String, String, u32)> {
    let one = |l: &FlowLink| (l.ttl, l.near.to_string(), l.far.to_string(), l.flows);
    found.links.iter().map(one).collect()
}

/// The diamond of the topology (`data/README.md`); the flows were counted by hand in what `sc_wartsdump` prints.
#[test]
fn links_are_those_of_the_topology_with_their_flows() {
    let (found, damage) = read(&mut warts::Reader::new(WARTS));
    assert!(damage.is_empty(), "{damage:?}");
    let link = |ttl, near: &str, far: &str, flows| (ttl, near.to_owned(), far.to_owned(), flows);
    assert_eq!(
        links(&found[0]),
        [
            link(2, "10.0.0.2", "10.0.1.2", 3),
            link(2, "10.0.0.2", "10.0.2.2", 8),
            link(3, "10.0.1.2", "10.0.3.2", 3),
            link(3, "10.0.2.2", "10.0.3.2", 3),
            link(4, "10.0.3.2", "10.0.5.2", 1),
        ]
    );
    let about = &found[0];
    assert_eq!((about.method, about.confidence, about.probes), ("udp-dport", 95, 19));
    assert_eq!((about.source_port, about.destination_port), (56790, 33435));
    assert_eq!((about.source.to_string(), about.destination.to_string()), ("10.0.0.1".into(), "10.0.5.2".into()));
    assert_eq!(about.monitor.as_deref(), Some("vm"));
    assert_eq!(about.links[0].rtt_us, Some(75), "the least of 97, 80 and 75");
    // By ICMP all flows took one way; of a host that is not there, the last router answered.
    assert_eq!(links(&found[1]).iter().map(|l| l.3).collect::<Vec<_>>(), [6, 6, 1]);
    assert_eq!(links(&found[2]).last().unwrap().2, "10.0.3.2");
}

#[test]
fn warts_and_json_say_the_same() {
    let (of_warts, _) = read(&mut warts::Reader::new(WARTS));
    let (of_json, damage) = read(&mut json::Reader::new(JSON));
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!((of_warts.len(), of_json.len()), (3, 3));
    for (warts, json) in of_warts.iter().zip(&of_json) {
        // JSON has neither monitors nor lists, and no ports where flows differ by ICMP's checksum.
        let mut bare = Multipath { monitor: None, list_id: 0, cycle_id: 0, ..warts.clone() };
        if bare.method == "icmp-echo" {
            (bare.source_port, bare.destination_port) = (0, 0);
        }
        assert_eq!(&bare, json);
    }
}

#[test]
fn links_become_a_table_of_the_lake() {
    let folder = tempfile::tempdir().unwrap();
    let (file, lake) = (folder.path().join("a.warts"), folder.path().join("lake"));
    std::fs::write(&file, WARTS).unwrap();
    let lake = Lake::open(&lake).unwrap();
    let files = sources(&[file], lake.root()).unwrap();
    let reports = ingest(&lake, &files, &Options { source: None, threads: 1 }, &Progress::default()).unwrap();
    let entry = reports[0].entry.as_ref().unwrap();
    let all: usize = read(&mut warts::Reader::new(WARTS)).0.iter().map(|found| found.links.len()).sum();
    assert_eq!((entry.counts.traces, entry.multipaths, entry.links), (1, 3, all as u64));
    assert!(entry.adds_up());
    let part = entry.parts.iter().find(|part| part.starts_with("multipath/source=ark/day=2026-11-23/")).unwrap();
    let reader = SerializedFileReader::new(File::open(lake.root().join(part)).unwrap()).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows.len(), all);
    for said in [
        "monitor: \"vm\"",
        "method: \"udp-dport\"",
        "confidence: 95",
        "ttl: 2",
        "flows: 3",
        "rtt_us: 75",
        "sport: 56790",
    ] {
        assert!(rows[0].contains(said), "{said}: {}", rows[0]);
    }
    // Whoever takes the entry away takes the links with it.
    drop(lake);
    std::fs::remove_file(folder.path().join(format!("lake/ingested/{}.json", entry.digest))).unwrap();
    Lake::open(&folder.path().join("lake")).unwrap();
    assert!(!folder.path().join("lake").join(part).exists());
}

proptest! {
    /// Whatever is damaged: no panic, and no more bytes are lost than there are.
    #[test]
    fn damaged_files_end(changes in prop::collection::vec((0usize..20_000, any::<u8>()), 1..30), cut in 0usize..20_000) {
        for (whole, as_json) in [(WARTS, false), (JSON, true)] {
            let mut bytes = whole.to_vec();
            changes.iter().for_each(|&(at, byte)| bytes[at % whole.len()] = byte);
            bytes.truncate(whole.len() - cut % (whole.len() / 2));
            let (_, damage) =
                if as_json { read(&mut json::Reader::new(&bytes[..])) } else { read(&mut warts::Reader::new(&bytes[..])) };
            prop_assert!(damage.iter().map(|d| d.skipped).sum::<u64>() <= bytes.len() as u64);
        }
    }
}
