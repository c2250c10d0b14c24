//! The agents that decide in the place of flows' congestion controls.

use crate::contender::Contender;
use crate::fidelity::{Fidelity, Subject};
use crate::scenario::{Flow, ScenarioError, Task};
use haltere_transport::cc::{Command, Desk};
use haltere_transport::mechanisms::settable_window;

/// Whether the flows are there for which agents decide, and their controllers can do what agents ask.
///
/// # Errors
///
/// The first flow for which no agent can decide, and why; the path is `agents`, or the flow's.
pub(crate) fn check(agents: &[(usize, Desk)], flows: &[Flow], fidelity: Fidelity) -> Result<(), ScenarioError> {
    for (k, (number, desk)) in agents.iter().enumerate() {
        let wrong = |message: String| Err(ScenarioError { path: "agents".into(), message });
        let Some(flow) = flows.get(*number) else {
            return wrong(format!("there is no flow {number}: the scenario has {}, counted from 0", flows.len()));
        };
        if agents[..k].iter().any(|(other, _)| other == number) {
            return wrong(format!("flow {number} has two agents: name each flow once"));
        }
        can_follow(flow, desk.command(), fidelity)
            .map_err(|message| ScenarioError { path: format!("flows[{number}]"), message })?;
    }
    Ok(())
}

fn can_follow(flow: &Flow, command: Command, fidelity: Fidelity) -> Result<(), String> {
    let contender: &Contender = &flow.contender;
    if contender.transport.is_multipath() {
        return Err(format!(
            "{contender} has a window for each path, and an agent decides for one: write tcp/… or quic/…"
        ));
    }
    if !matches!(flow.task, Task::Object { .. }) {
        return Err(
            "it may have several connections, and an agent decides for one: give it an object, by size or without"
                .into(),
        );
    }
    if !matches!(contender.at(fidelity)?, Subject::Model(_)) {
        return Err(format!("{contender} is a production stack, which asks no agent: run the model"));
    }
    if command == Command::Adjustment && !contender.algorithm().is_ok_and(settable_window) {
        return Err(format!(
            "{contender} has no window that an agent can adjust: write a window-based one, as in \"tcp/cubic\""
        ));
    }
    Ok(())
}
