//! Trained policies: models of which Python says how they are used, and which it computes (`haltere.plugins.policies`).

use super::{reason, shown};
use crate::gym::{TermsSettings, singles};
use haltere_gym::Policy;
use haltere_net::registry::{Description, Handle};
use haltere_transport::cc::{Algorithm, Implementation};
use pyo3::prelude::*;

/// A policy, as Python found it in its file (`haltere.plugins.policies.Trained`).
#[derive(FromPyObject)]
pub(super) struct Trained {
    label: String,
    summary: String,
    terms_json: String,
    control: String,
    /// How many numbers the model takes, if it says so.
    inputs: Option<usize>,
    decide: Py<PyAny>,
}

/// The congestion control of a policy.
pub(super) fn implementation(name: &'static str, trained: Trained) -> Result<&'static Implementation, String> {
    let shown = shown(name);
    let wrong = |message: String| format!("{shown}: {message}");
    let settings: TermsSettings =
        serde_json::from_str(&trained.terms_json).map_err(|error| wrong(format!("its metadata: {error}")))?;
    let terms = settings.terms().map_err(|error| wrong(format!("its metadata haltere.{error}")))?;
    let observed = terms.observation.len();
    if let Some(inputs) = trained.inputs.filter(|inputs| *inputs != observed) {
        return Err(wrong(format!(
            "its model takes {inputs} numbers, and its observation has {observed}, those of {} interval{}: stamp it with the \
             environment in which it was trained",
            terms.observation.history,
            if terms.observation.history == 1 { "" } else { "s" },
        )));
    }
    let decide = trained.decide;
    let policy = Policy {
        description: Description { name, summary: trained.summary.leak(), reference: "" },
        shown,
        label: trained.label.leak(),
        terms,
        control: control(&trained.control).map_err(wrong)?,
        decide: Box::new(move |observation| {
            Python::attach(|py| {
                let action =
                    singles(py, observation).and_then(|given| decide.bind(py).call1((given,))?.extract::<f64>());
                action.map_err(|error| reason(py, &error))
            })
        }),
    };
    let made = policy.implementation().map_err(|message| wrong(format!("its metadata haltere.{message}")))?;
    Ok(Box::leak(Box::new(made)))
}

/// The built-in congestion control of a name.
fn control(name: &str) -> Result<Algorithm, String> {
    let known = Algorithm::ALL.iter().copied();
    known.clone().find(|own| own.name() == name).ok_or_else(|| {
        let names: Vec<_> = known.map(Handle::name).collect();
        format!("its metadata haltere.control names the congestion control {name:?}: there are {}", names.join(", "))
    })
}
