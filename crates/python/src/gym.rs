//! Environments in which agents learn congestion control (`haltere_gym`), for Python: numbers are passed as bytes of arrays.

use crate::refuse;
use crate::scenario::Scenario;
use haltere_gym::{
    Action, Autoreset, Batch, FIELDS, Limits, Observation, Outcomes, Pace, Plan, Reward, Stacked, Terms,
};
use haltere_net::units::{parse_rate, parse_span};
use haltere_sim::ScenarioError as Wrong;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use serde::Deserialize;
use std::sync::Arc;

/// The terms on which an agent decides, as Python gives them.
#[derive(Deserialize)]
pub(crate) struct TermsSettings {
    /// `aurora`, `orca`, or names of the numbers of an interval.
    observation: Observed,
    history: usize,
    action: String,
    /// The least and the most rate.
    rates: [String; 2],
    /// A time, or a number of RTTs such as `1rtt`.
    interval: String,
    delay: String,
}

/// The settings of the environments of a batch, as Python gives it.
#[derive(Deserialize)]
struct Settings {
    agents: Vec<usize>,
    #[serde(flatten)]
    terms: TermsSettings,
    /// `aurora`, `orca`; none if Python makes it.
    reward: Option<String>,
    start: Option<(f64, f64)>,
    steps: Option<u32>,
    count: usize,
    seed: u64,
    autoreset: String,
    threads: usize,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Observed {
    Preset(String),
    Fields(Vec<String>),
}

fn wrong(path: &str, message: impl Into<String>) -> Wrong {
    Wrong { path: path.into(), message: message.into() }
}

fn unknown(path: &str, given: &str, known: &str) -> Wrong {
    wrong(path, format!("{given:?} is not known: there are {known}"))
}

impl TermsSettings {
    /// The terms; the path of an error is the name of a field.
    pub(crate) fn terms(&self) -> Result<Terms, Wrong> {
        let span = |path: &str, text: &str| parse_span(text).map_err(|error| wrong(path, error.to_string()));
        let rate = |text: &str| parse_rate(text).map_err(|error| wrong("rates", error.to_string()));
        let limits = Limits { least: rate(&self.rates[0])?, most: rate(&self.rates[1])? };
        let pace = match self.interval.strip_suffix("rtt") {
            Some(number) => Pace::Rtts(number.trim().parse().map_err(|_| {
                wrong("interval", format!("{:?} is no number of RTTs: write \"1rtt\" or \"20ms\"", self.interval))
            })?),
            None => Pace::Every(span("interval", &self.interval)?),
        };
        let of = match &self.observation {
            Observed::Preset(name) if name == "aurora" => Observation::Aurora,
            Observed::Preset(name) if name == "orca" => Observation::Orca,
            Observed::Preset(name) => return Err(unknown("observation", name, "aurora, orca, and lists of fields")),
            Observed::Fields(names) => {
                Observation::Fields(names.iter().map(|name| field(name)).collect::<Result<_, _>>()?)
            }
        };
        let action = match self.action.as_str() {
            "aurora" => Action::Aurora(limits),
            "orca" => Action::Orca,
            "rate" => Action::Rate(limits),
            "window" => Action::Window,
            name => return Err(unknown("action", name, "aurora, orca, rate, window")),
        };
        Ok(Terms {
            observation: Stacked { of, history: self.history },
            action,
            pace,
            delay: span("delay", &self.delay)?,
        })
    }
}

impl Settings {
    fn plan(&self, scenarios: Vec<Arc<haltere_sim::Scenario>>) -> Result<Plan, Wrong> {
        Ok(Plan {
            scenarios,
            agents: self.agents.clone(),
            terms: self.terms.terms()?,
            reward: match self.reward.as_deref() {
                None => Reward::Nothing,
                Some("aurora") => Reward::Aurora,
                Some("orca") => Reward::Orca,
                Some(name) => return Err(unknown("reward", name, "aurora and orca")),
            },
            start: self.start,
            steps: self.steps,
        })
    }

    fn autoreset(&self) -> Result<Autoreset, Wrong> {
        Ok(match self.autoreset.as_str() {
            "next-step" => Autoreset::NextStep,
            "same-step" => Autoreset::SameStep,
            "disabled" => Autoreset::Disabled,
            name => return Err(unknown("autoreset", name, "next-step, same-step, disabled")),
        })
    }
}

fn field(name: &str) -> Result<usize, Wrong> {
    FIELDS.iter().position(|field| field.name == name).ok_or_else(|| {
        let known: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
        unknown("observation", name, &known.join(", "))
    })
}

/// The answers of all environments (`haltere_gym::Outcomes`), as bytes of arrays of float32, float64 and bool.
type Returned<'py> = (
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Vec<u32>,
    Vec<(usize, Bound<'py, PyByteArray>)>,
);

pub(crate) fn singles<'py>(py: Python<'py>, numbers: &[f32]) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, size_of_val(numbers), |bytes| {
        bytes.chunks_exact_mut(4).zip(numbers).for_each(|(into, from)| into.copy_from_slice(&from.to_ne_bytes()));
        Ok(())
    })
}

fn doubles<'py>(py: Python<'py>, numbers: &[f64]) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, size_of_val(numbers), |bytes| {
        bytes.chunks_exact_mut(8).zip(numbers).for_each(|(into, from)| into.copy_from_slice(&from.to_ne_bytes()));
        Ok(())
    })
}

fn returned<'py>(py: Python<'py>, outcomes: &Outcomes) -> PyResult<Returned<'py>> {
    let last = outcomes.last.iter().map(|(at, numbers)| Ok((*at, singles(py, numbers)?)));
    Ok((
        singles(py, &outcomes.observations)?,
        doubles(py, &outcomes.rewards)?,
        PyByteArray::new(py, &outcomes.terminated),
        PyByteArray::new(py, &outcomes.truncated),
        doubles(py, &outcomes.intervals)?,
        outcomes.scenarios.clone(),
        last.collect::<PyResult<_>>()?,
    ))
}

/// Many environments of one plan. The interpreter is free while they are stepped.
#[pyclass(module = "haltere._core")]
struct Environments {
    batch: Batch,
    /// The numbers of an observation.
    #[pyo3(get)]
    observation_bounds: Vec<(f64, f64)>,
    #[pyo3(get)]
    history: usize,
    #[pyo3(get)]
    action_bounds: (f64, f64),
    /// The congestion controls in whose place agents decide.
    #[pyo3(get)]
    controls: Vec<String>,
}

#[pymethods]
impl Environments {
    /// Raises `ScenarioError` if they cannot be made.
    #[new]
    fn new(scenarios: Vec<PyRef<'_, Scenario>>, settings_json: &str) -> PyResult<Environments> {
        let settings: Settings =
            serde_json::from_str(settings_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let plan = settings.plan(scenarios.iter().map(|scenario| scenario.shared()).collect()).map_err(refuse)?;
        plan.check().map_err(refuse)?;
        let terms = &plan.terms;
        let (observation_bounds, action_bounds) = (terms.observation.of.bounds(), terms.action.bounds());
        let (history, autoreset) = (terms.observation.history, settings.autoreset().map_err(refuse)?);
        let controls = plan.controls();
        let batch = Batch::new(plan, settings.count, settings.seed, autoreset, settings.threads);
        Ok(Environments { batch, observation_bounds, history, action_bounds, controls })
    }

    /// Begins an episode in each environment that `which` names.
    fn reset<'py>(&mut self, py: Python<'py>, seeds: Vec<Option<u64>>, which: Vec<bool>) -> PyResult<Returned<'py>> {
        let outcomes = py.detach(|| self.batch.reset(&seeds, &which)).map_err(PyRuntimeError::new_err)?;
        returned(py, &outcomes)
    }

    /// Goes on for an interval in each. `actions` are the bytes of an array of float64.
    fn step<'py>(&mut self, py: Python<'py>, actions: &[u8]) -> PyResult<Returned<'py>> {
        let number = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).map_or(f64::NAN, f64::from_ne_bytes);
        let actions: Vec<f64> = actions.chunks(8).map(number).collect();
        let outcomes = py.detach(|| self.batch.step(&actions)).map_err(PyRuntimeError::new_err)?;
        returned(py, &outcomes)
    }
}

/// The names and meanings of the numbers of an interval, in their order.
#[pyfunction]
fn interval_fields() -> Vec<(&'static str, String)> {
    FIELDS.iter().map(|field| (field.name, field.summary.trim().to_string())).collect()
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Environments>()?;
    module.add_function(wrap_pyfunction!(interval_fields, module)?)
}
