//! Statistics of comparisons (`haltere_stats`) for `haltere.stats`. Values that cannot be used raise `ValueError`.

use haltere_stats::{Better, Interval, Kind, Lead, Looked, Paired, Replications, Unusable, Verdict, plain, student};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Value, low end, high end, and how the interval was made.
type Estimate = (f64, Option<f64>, Option<f64>, String);
/// The other's place, the logarithms of the ratios, whether they are exact, the confidence of their interval, the corrected
/// p-value, the number of pairs, where the comparison stands, and the replications needed.
type Standing = (usize, Vec<f64>, bool, f64, Option<f64>, usize, &'static str, Option<usize>);
/// A name, its aspects a replication, and whether something was seen of it.
type Observed = (String, Vec<Option<[f64; 3]>>, bool);
/// Places in order, who was compared with whom, and sentences.
type Judged = (Vec<usize>, Vec<(usize, Standing)>, Vec<String>);

fn refused(why: Unusable) -> PyErr {
    PyValueError::new_err(why.to_string())
}

fn estimate(found: Result<Interval, Unusable>) -> PyResult<Estimate> {
    let Interval { value, ends, method, .. } = found.map_err(refused)?;
    Ok((value, ends.map(|both| both.0), ends.map(|both| both.1), method))
}

fn standing(lead: Lead) -> Standing {
    let Lead { other, pair, p, pairs, stands, needed } = lead;
    (other, pair.logarithms().to_vec(), pair.exact(), pair.confidence(), p, pairs, stands.name(), needed)
}

#[pyfunction]
fn mean(values: Vec<f64>, confidence: f64) -> PyResult<Estimate> {
    estimate(haltere_stats::mean(&values, confidence))
}

#[pyfunction]
fn trimmed_mean(values: Vec<f64>, confidence: f64) -> PyResult<Estimate> {
    estimate(haltere_stats::trimmed_mean(&values, confidence))
}

#[pyfunction]
fn typical(values: Vec<f64>, confidence: f64) -> PyResult<Estimate> {
    estimate(haltere_stats::typical(&values, confidence))
}

#[pyfunction]
fn p_of_shift(values: Vec<f64>, shift: f64) -> PyResult<f64> {
    haltere_stats::p_of_shift(&values, shift).map_err(refused)
}

/// A comparison in pairs.
#[pyclass(frozen, module = "haltere._core")]
struct Pairs(Paired);

#[pymethods]
impl Pairs {
    #[new]
    #[expect(clippy::fn_params_excessive_bools, reason = "Python's keyword")]
    fn new(logarithms: Vec<f64>, exact: bool, confidence: f64) -> PyResult<Pairs> {
        let replications = if exact { Replications::Same } else { Replications::Varied };
        Paired::of(logarithms, replications, confidence).map(Pairs).map_err(refused)
    }

    /// The logarithms of the ratios of two contenders, and whether every replication gave the same two values.
    #[staticmethod]
    fn logarithms(a: Vec<f64>, b: Vec<f64>) -> PyResult<(Vec<f64>, bool)> {
        let found = Paired::new(&a, &b, 0.0).map_err(refused)?;
        Ok((found.logarithms().to_vec(), found.exact()))
    }

    fn p(&self) -> Option<f64> {
        self.0.p()
    }

    fn ratio(&self) -> PyResult<Estimate> {
        estimate(Ok(self.0.ratio()))
    }

    fn within(&self, least: f64, most: f64) -> bool {
        self.0.within(least, most)
    }

    fn real(&self) -> Option<bool> {
        self.0.real()
    }
}

#[pyfunction]
fn holm(p_values: Vec<f64>) -> Vec<f64> {
    haltere_stats::holm(&p_values)
}

#[pyfunction]
fn replications_needed(pairs: usize, confidence: f64) -> usize {
    haltere_stats::replications_needed(pairs, confidence)
}

#[pyfunction]
fn side(ends: Option<(f64, f64)>, margin: (f64, f64), equal: f64) -> &'static str {
    haltere_stats::side(ends, margin, equal).name()
}

#[pyfunction]
fn leads(values: Vec<Vec<Option<f64>>>, first: usize, alike: f64, confidence: f64) -> PyResult<Vec<Standing>> {
    let found = haltere_stats::leads(&values, first, alike, confidence).map_err(refused)?;
    Ok(found.into_iter().map(standing).collect())
}

/// Returns the places in order, who was compared with whom, and the sentences of a verdict.
#[pyfunction]
#[pyo3(signature = (names, values, *, better, alike, has, of, every))]
#[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python's keywords")]
fn verdict(
    names: Vec<String>,
    values: Vec<Vec<Option<f64>>>,
    better: &str,
    alike: f64,
    has: String,
    of: String,
    every: bool,
) -> PyResult<Judged> {
    let better = if better == "higher" { Better::Higher } else { Better::Lower };
    let found = Verdict { names, values, better, alike, has, of, every };
    let leads = found.leads().map_err(refused)?.into_iter();
    let leads = leads.map(|(better, lead)| (better, standing(lead))).collect();
    Ok((found.order().map_err(refused)?, leads, found.lines().map_err(refused)?))
}

/// Returns what a person would notice of calls, or of films, each its name, its aspects and whether something was seen of it.
#[pyfunction]
fn noticed(kind: &str, looked: Vec<Observed>) -> PyResult<String> {
    let kind = if kind == "film" { Kind::Film } else { Kind::Call };
    let looked: Vec<Looked> =
        looked.into_iter().map(|(name, aspects, shown)| Looked { name, aspects, shown }).collect();
    haltere_stats::noticed(kind, &looked).map_err(refused)
}

/// A number as tables have it.
#[pyfunction]
fn plain_number(value: f64, digits: usize) -> String {
    plain::number(value, digits)
}

/// An estimate with its interval, if it has one that tells something, as tables have it.
#[pyfunction]
fn plain_interval(value: f64, ends: Option<(f64, f64)>, scale: f64, digits: usize, between: &str) -> String {
    let estimate = Interval { value, ends, n: 0, confidence: 0.0, method: String::new() };
    plain::interval(&estimate, plain::Style { scale, digits, between })
}

/// The probability of a value below `t` in Student's distribution.
#[pyfunction]
fn student_below(freedom: f64, t: f64) -> f64 {
    student::below(freedom, t)
}

/// The value of Student's distribution below which a value lies with this probability.
#[pyfunction]
fn student_quantile(freedom: f64, probability: f64) -> f64 {
    student::quantile(freedom, probability)
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Pairs>()?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(trimmed_mean, module)?)?;
    module.add_function(wrap_pyfunction!(typical, module)?)?;
    module.add_function(wrap_pyfunction!(p_of_shift, module)?)?;
    module.add_function(wrap_pyfunction!(holm, module)?)?;
    module.add_function(wrap_pyfunction!(replications_needed, module)?)?;
    module.add_function(wrap_pyfunction!(side, module)?)?;
    module.add_function(wrap_pyfunction!(leads, module)?)?;
    module.add_function(wrap_pyfunction!(verdict, module)?)?;
    module.add_function(wrap_pyfunction!(noticed, module)?)?;
    module.add_function(wrap_pyfunction!(plain_number, module)?)?;
    module.add_function(wrap_pyfunction!(plain_interval, module)?)?;
    module.add_function(wrap_pyfunction!(student_below, module)?)?;
    module.add_function(wrap_pyfunction!(student_quantile, module)?)
}
