//! The module of WebAssembly answers as the native library does, to the byte.

#[allow(dead_code, reason = "the simulator's own tests use more of it")]
#[path = "../../sim/tests/all/common/generator.rs"]
mod generator;
#[path = "../../../tests/rust/skips.rs"]
mod skips;

use haltere_playground::answer;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the answers of the module in Node; none if there is no module or no Node.
fn by_node(questions: &[String]) -> Option<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let module = root.join("../../target/playground/playground.wasm");
    if !module.exists() {
        skips::skip("the playground's module is not built: make playground");
        return None;
    }
    let mut command = Command::new("node");
    command.arg(root.join("tests/ask.mjs")).arg(module).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut node) = command.spawn() else {
        skips::skip("node is not there");
        return None;
    };
    let mut input = node.stdin.take().unwrap();
    let text = questions.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// Asks both whether their answers agree, and returns the answers.
fn asked(questions: &[String], agree: fn(&str, &str) -> bool) -> Vec<String> {
    let Some(theirs) = by_node(questions) else { return Vec::new() };
    assert_eq!(theirs.len(), questions.len());
    for (question, there) in questions.iter().zip(&theirs) {
        let here = answer(question);
        assert!(agree(&here, there), "{question}\nhere:  {here}\nthere: {there}");
    }
    theirs
}

/// Whether both say the same. The names in an object may stand in any order, which depends on the features of serde_json that other
/// crates of the build ask for.
fn alike(here: &str, there: &str) -> bool {
    let [here, there] = [here, there].map(|text| serde_json::from_str::<Value>(text).unwrap());
    here == there
}

#[test]
fn random_scenarios_have_the_same_results_and_lines() {
    let questions: Vec<String> = (0..300)
        .map(|number| {
            let scenario = generator::case(number).scenario.to_string();
            let run = json!({ "scenario": scenario, "seed": number, "replication": number % 3 });
            let traced = number % 10 == 0;
            let mut question = json!({ if traced { "trace" } else { "run" }: run });
            if traced {
                question["trace"]["points"] = json!(500);
            }
            question.to_string()
        })
        .collect();
    let answers = asked(&questions, |here, there| here == there);
    let ran = answers.iter().filter(|answer| answer.starts_with("{\"answer\"")).count();
    assert!(answers.is_empty() || ran > 290, "{ran} ran");
}

#[test]
fn statistics_are_the_same() {
    let mut stream = haltere_net::rng::Streams::new(7, 0).named("values");
    let questions: Vec<String> = (0..200)
        .map(|number| {
            let (contenders, replications) = (2 + number % 4, [1, 3, 6, 10, 13, 20][number % 6]);
            let mut value = || libm::exp(0.3 * stream.unit());
            let values: Vec<Vec<f64>> = (0..contenders).map(|_| (0..replications).map(|_| value()).collect()).collect();
            let names: Vec<String> = (0..contenders).map(|at| format!("contender {at}")).collect();
            json!({ "verdict": {
                "names": names, "values": values, "higher": number % 2 == 0, "alike": 0.05, "has": "the best mean",
                "of": "time", "every": number % 5 == 0,
            } })
            .to_string()
        })
        .collect();
    asked(&questions, alike);
}

#[test]
fn what_is_wrong_is_said_the_same() {
    let scenario = |contender: &str| {
        json!({ "flows": [{ "contender": contender, "size": "1MB" }],
            "topology": { "kind": "point-to-point", "link": { "rate": "10Mbit/s", "delay": "5ms" } } })
        .to_string()
    };
    let of = |contender: &str| json!({ "check": { "scenario": scenario(contender) } }).to_string();
    let texts = ["tcp/cubik", "tcp/./mine.py", "", "tcp/cubic"];
    let mut questions: Vec<String> = texts.iter().map(|text| of(text)).collect();
    questions.extend(
        ["{}", "no JSON", "{\"halves\":{\"rtt\":\"50\"}}", "{\"halves\":{\"rtt\":\"51ns\"}}"].map(String::from),
    );
    let answers = asked(&questions, alike);
    if let Some(last) = answers.last() {
        assert_eq!(serde_json::from_str::<Value>(last).unwrap(), json!({ "answer": ["26ns", "25ns"] }));
    }
}

#[test]
fn a_production_stack_is_no_part_of_the_module() {
    let Some(answers) = by_node(&["\"catalogue\"".to_owned()]) else { return };
    let told: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(told["answer"]["algorithms"]["stacks"], json!([]));
}
