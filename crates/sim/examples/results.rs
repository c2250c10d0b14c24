//! Runs scenarios and prints each result as a line of JSON: what a change that must not change results compares.
//!
//! usage: results SCENARIOS.jsonl > RESULTS.jsonl

use haltere_sim::Scenario;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: results SCENARIOS.jsonl");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) => {
            eprintln!("{file}: {e}");
            return ExitCode::from(2);
        }
    };
    for line in text.lines() {
        println!("{}", result(line).unwrap_or_else(|wrong| format!("{{\"error\":{:?}}}", wrong.to_string())));
    }
    ExitCode::SUCCESS
}

fn result(line: &str) -> Result<String, haltere_sim::ScenarioError> {
    let scenario = Scenario::from_json(line)?;
    let result = haltere_sim::run(&scenario, 1, 0)?;
    Ok(serde_json::to_string(&result).unwrap_or_else(|e| e.to_string()))
}
