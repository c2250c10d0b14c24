//! Runs one scenario once and prints what was delivered: what an instruction count, a profiler or a memory checker runs.
//!
//! usage: once SCENARIO.json

use haltere_sim::Scenario;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(line) => println!("{line}"),
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run() -> Result<String, String> {
    let file = std::env::args().nth(1).ok_or("usage: once SCENARIO.json")?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let wrong = |e: haltere_sim::ScenarioError| format!("{file}: {}: {}", e.path, e.message);
    let scenario = Scenario::from_json(&text).map_err(wrong)?;
    let result = haltere_sim::run(&scenario, 1, 0).map_err(wrong)?;
    let packets: u64 = result
        .links
        .iter()
        .filter(|l| l.link == "bottleneck" && l.direction == "down")
        .map(|l| l.delivered_packets)
        .sum();
    Ok(format!("{} {packets} data packets, {} events", result.status, result.events))
}
