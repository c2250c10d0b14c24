//! How a run went, as lines that a page can draw: few points that keep every peak.

use haltere_sim::result::{RunResult, SeriesResult, TraceResult};
use serde::Serialize;

/// The metrics that are drawn.
const DRAWN: [&str; 5] = ["cwnd", "delivery_rate", "pacing_rate", "rtt", "queue"];

/// A run with its lines.
#[derive(Serialize)]
pub struct Lines {
    result: RunResult,
    lines: Vec<Line>,
}

/// A metric of a flow or of a link over time: each value holds until the next.
#[derive(Serialize)]
struct Line {
    who: String,
    name: &'static str,
    unit: &'static str,
    t_s: Vec<f64>,
    v: Vec<f64>,
}

/// Returns the lines of a run, with `points` points at most, or a little more.
pub fn of(traced: TraceResult, points: usize) -> Lines {
    let drawn = traced.series.into_iter().filter(|series| DRAWN.contains(&series.name));
    Lines { result: traced.result, lines: drawn.map(|series| thinned(series, points)).collect() }
}

/// Of each stretch of time the first and the last point stay, and those with the least and the largest value.
fn thinned(series: SeriesResult, points: usize) -> Line {
    let SeriesResult { who, name, unit, t_s, v, .. } = series;
    if t_s.len() <= points {
        return Line { who, name, unit, t_s, v };
    }
    let stretches = (points / 4).max(1);
    let (begin, end) = (t_s[0], t_s[t_s.len() - 1]);
    let stretch = |t: f64| ((t - begin) / (end - begin) * stretches as f64) as usize;
    let mut kept: Vec<usize> = Vec::new();
    let mut first = 0;
    for next in 1..=t_s.len() {
        if next < t_s.len() && stretch(t_s[next]).min(stretches - 1) == stretch(t_s[first]).min(stretches - 1) {
            continue;
        }
        let own = first..next;
        let least = own.clone().min_by(|a, b| v[*a].total_cmp(&v[*b])).unwrap_or(first);
        let most = own.max_by(|a, b| v[*a].total_cmp(&v[*b])).unwrap_or(first);
        let mut some = [first, least, most, next - 1];
        some.sort_unstable();
        kept.extend(some);
        first = next;
    }
    kept.dedup();
    Line { who, name, unit, t_s: kept.iter().map(|at| t_s[*at]).collect(), v: kept.iter().map(|at| v[*at]).collect() }
}

#[cfg(test)]
mod tests {
    use super::{SeriesResult, thinned};

    #[test]
    fn a_thinned_line_keeps_its_peaks_and_its_ends() {
        let n = 10_000;
        let mut v: Vec<f64> = (0..n).map(|at| f64::from(at % 7)).collect();
        v[4321] = 99.0;
        v[8765] = -1.0;
        let t_s = (0..n).map(f64::from).collect();
        let series = SeriesResult { who: "flow 0".into(), name: "rtt", unit: "s", t_s, v, values: Vec::new() };
        let line = thinned(series, 400);
        assert!(line.t_s.len() <= 400);
        assert_eq!((line.t_s[0], *line.t_s.last().unwrap()), (0.0, 9999.0));
        for (at, value) in [(4321.0, 99.0), (8765.0, -1.0)] {
            assert!(line.t_s.iter().zip(&line.v).any(|(t, v)| (*t, *v) == (at, value)));
        }
        assert!(line.t_s.is_sorted());
    }
}
