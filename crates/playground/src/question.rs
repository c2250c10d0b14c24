//! The questions that the module answers.

use crate::lines;
use haltere_net::units::parse_span;
use haltere_sim::scenario::Scenario;
use haltere_sim::{Fidelity, ScenarioError, catalogue, check_at, result, run, trace};
use haltere_stats::{Better, Interval, Kind, Lead, Looked, Unusable, Verdict, mean, noticed, plain, typical};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A question, such as `"catalogue"` or `{"check": {"scenario": …}}`. Scenarios are texts, so that what is run is what was given.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    /// The names that scenarios can use, and the columns of results.
    Catalogue,
    /// A time such as `50ms` in two parts, of the way down and of the way up; the first is the longer one.
    Halves { rtt: String },
    /// Whether a scenario can be run here.
    Check { scenario: String },
    /// The result of a run.
    Run { scenario: String, seed: u64, replication: u64 },
    /// How a run went, as lines of at most so many points.
    Trace { scenario: String, seed: u64, replication: u64, points: usize },
    /// Values as a table has them.
    Cells { cells: Vec<Cell> },
    /// Differences of calls that a person would notice.
    Noticed { calls: Vec<Call> },
    /// Who is first, and whether the difference is real.
    Verdict(Compared),
}

/// The values of a cell of a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    values: Vec<Number>,
    estimate: Estimate,
    scale: f64,
    digits: usize,
    between: String,
}

/// The estimate that a cell shows of its values.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Estimate {
    /// The trimmed mean, geometric where all values are positive.
    Typical,
    /// The mean.
    Mean,
}

/// A call that is looked at (`haltere_stats::Looked`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    aspects: Vec<Option<[Number; 3]>>,
    shown: bool,
}

/// A comparison that is judged (`haltere_stats::Verdict`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compared {
    names: Vec<String>,
    values: Vec<Vec<Option<Number>>>,
    higher: bool,
    alike: f64,
    has: String,
    of: String,
    every: bool,
}

/// A number of which the last digit counts: serde_json reads a float to within one unit of it, the standard library exactly.
#[derive(Clone, Copy)]
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        let text = <Box<RawValue>>::deserialize(from)?;
        let number = text.get().parse();
        number.map(Number).map_err(|_| serde::de::Error::custom(format!("{} is not a number", text.get())))
    }
}

/// Why there is no answer: a sentence, and the path of the field inside the scenario.
struct Refusal {
    message: String,
    path: String,
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Refusal {
        Refusal { message: error.message, path: error.path }
    }
}

impl From<Unusable> for Refusal {
    fn from(error: Unusable) -> Refusal {
        Refusal { message: error.to_string(), path: String::new() }
    }
}

/// Answers a question: `{"answer": …}`, or `{"error": {"message", "path"}}`. The answer depends on the question alone.
pub fn answer(question: &str) -> String {
    let parsed = serde_json::from_str::<Question>(question);
    let found = match parsed {
        Ok(question) => answered(question),
        Err(error) => Err(Refusal { message: format!("is not a question: {error}"), path: String::new() }),
    };
    match found {
        // The result stays a text, so that it has the bytes that Python gets.
        Ok(text) => format!("{{\"answer\":{text}}}"),
        Err(Refusal { message, path }) => json!({ "error": { "message": message, "path": path } }).to_string(),
    }
}

fn answered(question: Question) -> Result<String, Refusal> {
    Ok(match question {
        Question::Catalogue => written(&json!({
            "algorithms": catalogue::algorithms(), "queues": catalogue::queues(), "presets": catalogue::presets(),
            "columns": result::all_columns(), "version": env!("CARGO_PKG_VERSION"),
        })),
        Question::Halves { rtt } => {
            let nanoseconds =
                parse_span(&rtt).map_err(|error| Refusal { message: error.to_string(), path: "rtt".into() })?;
            let (all, up) = (nanoseconds.as_nanos(), nanoseconds.as_nanos() / 2);
            written(&[format!("{}ns", all - up), format!("{up}ns")])
        }
        Question::Check { scenario } => {
            let scenario = Scenario::from_json(&scenario)?;
            check_at(Fidelity::Model, &scenario)?;
            scenario.check_lengths()?;
            written(&scenario.topology.in_words())
        }
        Question::Run { scenario, seed, replication } => {
            written(&run(&Scenario::from_json(&scenario)?, seed, replication)?)
        }
        Question::Trace { scenario, seed, replication, points } => {
            written(&lines::of(trace(&Scenario::from_json(&scenario)?, seed, replication)?, points))
        }
        Question::Cells { cells } => written(&cells.iter().map(shown).collect::<Result<Vec<String>, Unusable>>()?),
        Question::Noticed { calls } => written(&seen(calls)?),
        Question::Verdict(compared) => written(&judged(compared)?),
    })
}

fn written<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("results are plain data")
}

fn shown(cell: &Cell) -> Result<String, Unusable> {
    let values: Vec<f64> = cell.values.iter().map(|number| number.0).collect();
    let found = match cell.estimate {
        Estimate::Typical => typical(&values, 0.95)?,
        Estimate::Mean => mean(&values, 0.95)?,
    };
    Ok(plain::interval(&found, plain::Style { scale: cell.scale, digits: cell.digits, between: &cell.between }))
}

fn seen(calls: Vec<Call>) -> Result<String, Unusable> {
    let looked = |call: Call| {
        let aspects = call.aspects.into_iter().map(|own| own.map(|each| each.map(|number| number.0))).collect();
        Looked { name: call.name, aspects, shown: call.shown }
    };
    noticed(Kind::Call, &calls.into_iter().map(looked).collect::<Vec<_>>())
}

fn judged(compared: Compared) -> Result<Value, Unusable> {
    let numbers = |own: Vec<Option<Number>>| own.into_iter().map(|one| one.map(|number| number.0)).collect();
    let verdict = Verdict {
        names: compared.names,
        values: compared.values.into_iter().map(numbers).collect(),
        better: if compared.higher { Better::Higher } else { Better::Lower },
        alike: compared.alike,
        has: compared.has,
        of: compared.of,
        every: compared.every,
    };
    let leads: Vec<Value> = verdict.leads()?.iter().map(|(better, lead)| led(*better, lead)).collect();
    let means: Vec<Option<Value>> = verdict.typical()?.iter().map(|one| one.as_ref().map(estimated)).collect();
    Ok(json!({ "order": verdict.order()?, "typical": means, "leads": leads, "lines": verdict.lines()? }))
}

fn estimated(interval: &Interval) -> Value {
    let Interval { value, ends, n, .. } = interval;
    json!({ "value": value, "ends": ends, "n": n, "exact": interval.exact() })
}

fn led(better: usize, lead: &Lead) -> Value {
    let ratio = estimated(&lead.pair.ratio());
    json!({ "better": better, "other": lead.other, "ratio": ratio, "p": lead.p, "stands": lead.stands.name() })
}
