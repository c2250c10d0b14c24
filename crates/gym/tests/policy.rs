//! A policy as the congestion control of a run: it sees, decides and sends as an agent of an environment does.

use haltere_gym::{Action, Environment, FIELDS, Limits, Observation, Pace, Plan, Policy, Reward, Stacked, Terms};
use haltere_net::Span;
use haltere_net::registry::{Description, Entry as _, Loader};
use haltere_sim::{RunResult, Scenario};
use haltere_transport::cc::{Algorithm, Implementation};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Observations, each with the action that answered it.
type Decisions = Vec<(Vec<f32>, f64)>;

/// The decisions of policies, by their names.
static SEEN: Mutex<Option<HashMap<String, Decisions>>> = Mutex::new(None);

/// The terms of a test by its name.
fn terms(kind: &str) -> Terms {
    let all = || Observation::Fields((0..FIELDS.len()).collect());
    let (of, action, pace, delay) = match kind {
        "aurora" => (Observation::Aurora, Action::Aurora(Limits::AURORA), Pace::Rtts(1.0), Span::ZERO),
        "orca" => (all(), Action::Orca, Pace::Every(Span::from_millis(20)), Span::ZERO),
        "window" => (all(), Action::Window, Pace::Rtts(0.5), Span::from_millis(7)),
        "rate" => (all(), Action::Rate(Limits::AURORA), Pace::Every(Span::from_millis(30)), Span::from_millis(70)),
        _ => (Observation::Orca, Action::Orca, Pace::Rtts(2.0), Span::ZERO),
    };
    Terms { observation: Stacked { of, history: 3 }, action, pace, delay }
}

/// A policy that depends on all that it sees.
fn decide(kind: &str, observation: &[f32]) -> f64 {
    let sum: f64 = observation.iter().zip(1..).map(|(x, place)| (f64::from(*x) * f64::from(place)).sin()).sum();
    let part = sum.sin();
    match kind {
        "aurora" => 8.0 * part,
        "window" => 20.0 + 15.0 * part,
        "rate" => 4e6 + 3e6 * part,
        "wrong" if observation.iter().any(|x| *x > 0.0) => f64::NAN,
        _ => 0.3 * part,
    }
}

fn named(file: &str) -> Result<String, String> {
    Err(format!("{file} has no digest"))
}

/// Makes the policy of `./KIND.onnx#00`.
fn load(name: &str) -> Result<&'static Implementation, String> {
    let kind = name.trim_start_matches("./").split('.').next().unwrap().to_string();
    let name: &'static str = name.to_string().leak();
    let control = Algorithm::named(if kind == "wrong-control" { "bbr" } else { "cubic" }).unwrap();
    let terms = terms(&kind);
    let policy = Policy {
        description: Description { name, summary: "", reference: "" },
        shown: name,
        label: name,
        terms,
        control,
        decide: Box::new(move |observation| {
            let action = decide(&kind, observation);
            let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
            let own = seen.get_or_insert_default().entry(kind.clone()).or_default();
            own.push((observation.to_vec(), action));
            Ok(action)
        }),
    };
    Ok(Box::leak(Box::new(policy.implementation()?)))
}

fn scenario(contenders: &[&str], size: &str) -> Result<Scenario, String> {
    Implementation::shelf().load_by(Loader { named, load });
    let flows: Vec<_> = contenders
        .iter()
        .map(|contender| format!(r#"{{"contender":"{contender}","app":"raw","size":"{size}"}}"#))
        .collect();
    let json = format!(
        r#"{{"time_limit":"300s","topology":{{"kind":"point-to-point","link":{{"rate":"6Mbit/s","queue":"40p",
        "down":{{"delay":"20ms","loss":"0.5%"}},"up":{{"delay":"20ms"}}}}}},"flows":[{}]}}"#,
        flows.join(",")
    );
    Scenario::from_json(&json).map_err(|error| error.to_string())
}

fn run(contenders: &[&str], size: &str) -> RunResult {
    haltere_sim::run(&scenario(contenders, size).unwrap(), 5, 0).unwrap()
}

/// The observations and actions of an agent of an environment in the place of `contender`'s congestion control, and when the
/// transfer was done.
fn in_environment(kind: &str, contender: &str, size: &str) -> (Decisions, f64) {
    let plan = Plan {
        scenarios: vec![Arc::new(scenario(&[contender], size).unwrap())],
        agents: vec![0],
        terms: terms(kind),
        reward: Reward::Nothing,
        start: None,
        steps: None,
    };
    plan.check().unwrap();
    let mut environment = Environment::new(Arc::new(plan), 5);
    environment.reset(Some(5)).unwrap();
    let mut seen = Vec::new();
    loop {
        let mut observation = vec![0.0; terms(kind).observation.len()];
        environment.observe(&mut observation);
        let action = decide(kind, &observation);
        seen.push((observation, action));
        if environment.step(&[action]).unwrap().is_over() {
            return (seen, environment.intervals().next().unwrap().time_s);
        }
    }
}

#[test]
fn a_policy_sees_decides_and_sends_in_a_run_as_in_an_environment() {
    for (kind, transport) in
        [("aurora", "tcp"), ("window", "tcp"), ("rate", "tcp"), ("orca", "tcp"), ("orca-rtts", "quic")]
    {
        let (seen, ended_s) = in_environment(kind, &format!("{transport}/cubic"), "1MB");
        assert!(seen.len() > 15, "{kind}: {} decisions", seen.len());
        let result = run(&[&format!("{transport}/./{kind}.onnx#00")], "1MB");
        assert_eq!((result.status, result.error.as_deref()), ("ok", None));
        let mut found = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.as_mut().unwrap().remove(kind).unwrap();
        assert_eq!(found, seen, "{kind}");
        let completion_s = result.flows[0].completion_s.unwrap();
        assert!((completion_s - ended_s).abs() < 1e-9, "{kind}: {completion_s} and {ended_s}");
    }
}

#[test]
fn an_action_that_is_no_number_ends_the_run() {
    let result = run(&["tcp/./wrong.onnx#00"], "1MB");
    let said = result.error.unwrap();
    assert_eq!(result.status, "failed");
    assert!(said.starts_with("./wrong.onnx#00: at 0.") && said.contains("is no number (NaN)"), "{said}");
}

#[test]
fn terms_on_which_no_policy_can_decide_are_refused() {
    let refused = scenario(&["tcp/./wrong-control.onnx#00"], "1MB").unwrap_err();
    assert!(refused.contains("bbr has no window that could be adjusted"), "{refused}");
}

#[test]
fn policies_share_a_bottleneck_with_others_and_decide_on_each_path() {
    let shared = run(&["tcp/./share.onnx#00", "tcp/cubic", "mptcp/./share.onnx#00", "quic/./share.onnx#00"], "500kB");
    assert_eq!(shared.error, None);
    assert!(shared.flows.iter().all(|flow| flow.completion_s.is_some()));
}
