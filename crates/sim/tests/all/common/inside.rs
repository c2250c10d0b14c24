//! Scenarios for looking inside, and their files read again.

use super::scenario;
use haltere_sim::result::TraceResult;
use haltere_sim::{Fidelity, Files, Pcap, trace_at};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A traced run with all its files.
pub struct Traced {
    pub folder: TempDir,
    pub traced: TraceResult,
}

/// One link of 10 Mbit/s and 20 ms RTT with loss in the data direction, whose queue never overflows, and a flow for each
/// contender.
pub fn link(contenders: &[&str], loss: &str, app: &str) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": {
            "rate": "10Mbit/s", "delay": "10ms", "queue": "10000p", "down": { "loss": loss } } },
        "flows": contenders.iter().map(|c| json!({ "contender": c, "size": "1MB", "app": app })).collect::<Vec<_>>(),
    })
}

/// Runs a scenario with all records.
pub fn look(given: &Value, links: &[&str]) -> Traced {
    look_at(Fidelity::Model, given, links)
}

/// Runs a scenario at a fidelity with all records.
pub fn look_at(fidelity: Fidelity, given: &Value, links: &[&str]) -> Traced {
    let folder = tempfile::tempdir().unwrap();
    let pcap = Pcap { folder: folder.path().to_path_buf(), links: links.iter().map(ToString::to_string).collect() };
    let files = Files { qlog: Some(folder.path().to_path_buf()), pcap: Some(pcap), ..Files::default() };
    let traced = trace_at(fidelity, &scenario(given), 1, 0, &files).unwrap();
    Traced { folder, traced }
}

impl Traced {
    /// The bytes of a file.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}
