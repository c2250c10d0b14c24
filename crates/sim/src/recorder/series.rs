//! Metrics over time, as columns.

use haltere_net::{ComponentId, Metric, Time};

/// One metric of one component over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The component.
    pub who: ComponentId,
    /// The metric.
    pub metric: Metric,
    /// Times, ns.
    pub at: Vec<u64>,
    /// Values, in the unit [`Metric`] states.
    pub value: Vec<u64>,
}

/// Keeps every change of every metric.
#[derive(Clone, Default, Debug)]
pub struct AllSeries {
    series: Vec<Series>,
}

impl AllSeries {
    /// What was recorded, by component and metric.
    pub fn into_series(mut self) -> Vec<Series> {
        self.series.sort_by_key(|s| (s.who, s.metric));
        self.series
    }

    /// Component `who` had `metric` change to `value` at `at`.
    pub fn record(&mut self, at: Time, who: ComponentId, metric: Metric, value: u64) {
        let position = self.series.iter().position(|s| s.who == who && s.metric == metric);
        let index = position.unwrap_or_else(|| {
            self.series.push(Series { who, metric, at: Vec::new(), value: Vec::new() });
            self.series.len() - 1
        });
        let series = &mut self.series[index];
        // Several changes at one instant: the last one stands.
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
