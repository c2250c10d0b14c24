//! Metrics over time, as columns.

use haltere_net::{ComponentId, Metric, PathId, Time};

/// One metric of one component, or of one path of a connection's end, over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The component.
    pub who: ComponentId,
    /// The path of the connection; 0 if it has a single path, or for components without paths.
    pub path: PathId,
    /// The metric.
    pub metric: Metric,
    /// Times, ns.
    pub at: Vec<u64>,
    /// Values, in the unit [`Metric`] states.
    pub value: Vec<u64>,
}

impl Series {
    /// The name of the series if its component is called `who`. Paths after the first are included, as in `flow 0 path
    /// 1`.
    pub fn name_of(&self, who: &str) -> String {
        if self.path.0 == 0 { who.to_string() } else { format!("{who} path {}", self.path.0) }
    }
}

/// Keeps every change of every metric.
#[derive(Clone, Default, Debug)]
pub struct AllSeries {
    series: Vec<Series>,
}

impl AllSeries {
    /// The recorded series, by component, path and metric.
    pub fn into_series(mut self) -> Vec<Series> {
        self.series.sort_by_key(|s| (s.who, s.path, s.metric));
        self.series
    }

    /// Records that `metric` of `path` of component `who` changed to `value` at `at`.
    pub fn record(&mut self, at: Time, (who, path): (ComponentId, PathId), metric: Metric, value: u64) {
        let position = self.series.iter().position(|s| (s.who, s.path, s.metric) == (who, path, metric));
        let index = position.unwrap_or_else(|| {
            self.series.push(Series { who, path, metric, at: Vec::new(), value: Vec::new() });
            self.series.len() - 1
        });
        let series = &mut self.series[index];
        // Of several changes at one instant, the last is kept.
        if series.at.last() == Some(&at.as_nanos()) {
            if let Some(last) = series.value.last_mut() {
                *last = value;
            }
            return;
        }
        series.at.push(at.as_nanos());
        series.value.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_series_of_its_own_and_the_first_has_the_plain_name() {
        let mut all = AllSeries::default();
        for (path, value) in [(1, 10), (0, 20), (1, 30)] {
            all.record(Time::from_nanos(value), (ComponentId(3), PathId(path)), Metric::Cwnd, value);
        }
        let series = all.into_series();
        let seen: Vec<_> = series.iter().map(|s| (s.name_of("flow 0"), s.value.clone())).collect();
        assert_eq!(seen, [("flow 0".to_string(), vec![20]), ("flow 0 path 1".to_string(), vec![10, 30])]);
    }
}
