//! The congestion controls that run in the shadow of a flow's.

use crate::contender::Contender;
use crate::fidelity::{Fidelity, Subject};
use crate::scenario::{Flow, ScenarioError};
use haltere_net::registry::is_file;

/// The most shadows of a flow.
const MOST: usize = 8;

/// The mechanisms that a congestion control is told of. All others are the transport's, which a shadow shares with the
/// flow.
const OF_CONTROL: [&str; 6] =
    ["emulated-connections", "hystart", "initial-window", "pacing", "reno-friendly", "whole-segments"];

/// The contenders in the shadow of each flow, as `shadows` names them: a congestion control with switches, or a contender,
/// which then belongs to the flows of its transport.
///
/// # Errors
///
/// If a name is wrong, belongs to no flow, or cannot follow a flow; the path is `shadow`.
pub(super) fn of_flows(
    shadows: &[String],
    flows: &[Flow],
    fidelity: Fidelity,
) -> Result<Vec<Vec<Contender>>, ScenarioError> {
    let wrong = |message: String| ScenarioError { path: "shadow".into(), message };
    if shadows.len() > MOST {
        return Err(wrong(format!("has {} shadows: name at most {MOST}", shadows.len())));
    }
    let mut all = vec![Vec::new(); flows.len()];
    for text in shadows {
        let mut followed = false;
        for (flow, all) in flows.iter().zip(&mut all) {
            if let Some(shadow) = follows(text, flow, fidelity).map_err(wrong)? {
                all.push(shadow);
                followed = true;
            }
        }
        if !followed {
            let there: Vec<_> = flows.iter().map(|flow| flow.contender.as_str()).collect();
            return Err(wrong(format!(
                "{text:?} has the transport of no flow: there are {}; without a transport, as in \"cubic\", it follows all",
                there.join(", ")
            )));
        }
    }
    Ok(all)
}

/// The contender that `text` means in the shadow of this flow; `None` if it has another transport.
fn follows(text: &str, flow: &Flow, fidelity: Fidelity) -> Result<Option<Contender>, String> {
    let first = &flow.contender;
    let name = first.transport.describe().0;
    let shadow = if text.contains('/') && !is_file(text) { text.to_string() } else { format!("{name}/{text}") };
    let shadow = Contender::parse(&shadow)?;
    if shadow.transport != first.transport {
        return Ok(None);
    }
    let algorithm = shadow.modelled()?;
    if algorithm.coupled {
        return Err(format!(
            "{} cannot be a shadow: it couples the windows of all paths, and those are the flow's, not its own",
            shadow.congestion
        ));
    }
    if !matches!(first.at(fidelity)?, Subject::Model(_)) {
        return Err(format!(
            "{first} is a production stack, whose congestion control shows no events: write {name}@model/{}",
            first.congestion
        ));
    }
    let of_transport =
        |(name, value): &&(&'static str, _)| !OF_CONTROL.contains(name) && first.mechanism(name) != Some(*value);
    let foreign = shadow.mechanisms.iter().find(of_transport).map(|(name, _)| *name);
    let foreign = foreign.or_else(|| shadow.switches.iter().find(|s| !first.has(**s)).map(|s| s.describe().name));
    if let Some(switch) = foreign {
        return Err(format!(
            "{text:?} sets {switch:?}, which is the transport's: a shadow shares its flow's. It has switches of its own for {}",
            OF_CONTROL.join(", ")
        ));
    }
    Ok(Some(shadow))
}
