//! The results of probes.

use crate::application::{Probed, Report, Sample};
use crate::build::Part;
use crate::scenario::{Probe, ProbeKind};
use crate::world::World;
use haltere_net::columns;
use haltere_net::columns::{About, Better, METRIC, MS, PLAIN, Shown};
use serde::Deserialize;

const RTT: About = About { better: Better::Lower, ..PLAIN };
const REQUEST: About = About { requests: true, ..PLAIN };

columns! {
    /// One probe's result. Requests that still waited for their answer when the run ended count neither as answered nor as
    /// lost.
    #[of(Probe)]
    pub struct ProbeResult {
        /// Its number.
        pub probe: u32,
        /// `icmp`, `udp` or `tcp`.
        pub probe_kind: &'static str,
        /// Payload of a request, bytes.
        pub size_bytes: u32,
        /// Its pair of hosts.
        pub pair: u32,
        /// Requests sent.
        pub sent: u64,
        /// Requests answered in time.
        pub answered: u64,
        /// Requests without an answer in time.
        pub lost: u64,
        /// Mean round-trip time of the requests that were answered.
        pub rtt_mean_s: Option<f64> =
            About { metrics: &[Shown { name: "latency", label: "RTT under load", scale: MS, ..METRIC }], ..RTT },
        /// The median of these times.
        pub rtt_median_s: Option<f64> = RTT,
        /// The 95th percentile of the round-trip times of the requests that were answered.
        pub rtt_p95_s: Option<f64> = About {
            metrics: &[Shown { name: "latency_p95", label: "RTT under load, 95th percentile", scale: MS, ..METRIC }],
            ..RTT
        },
        /// The 99th percentile of these times.
        pub rtt_p99_s: Option<f64> = RTT,
        /// The smallest of these times.
        pub rtt_min_s: Option<f64> = RTT,
        /// The largest of these times.
        pub rtt_max_s: Option<f64> = RTT,
        /// Round trips a minute: 60 s over the mean of the RTTs of which the largest 5 % are left out. This is the
        /// responsiveness of draft-ietf-ippm-responsiveness-09 section 5.3.1.1, with the RTTs of this probe in the place of
        /// its four kinds of round trips (handshakes of TCP and TLS, HTTP on new and on loaded connections).
        pub rpm: Option<f64> = About { better: Better::Higher, ..PLAIN },
        /// When the request was sent, of those that were answered or lost.
        pub sent_s: Vec<f64> = REQUEST,
        /// Its RTT; null if it was lost.
        pub rtt_s: Vec<Option<f64>> = REQUEST,
        /// Why its connection failed.
        pub error: Option<String>,
    }
}

/// The quantile `q` of sorted values, interpolated between the two nearest (type 7 of Hyndman and Fan: Sample quantiles in
/// statistical packages, 1996).
pub(super) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let at = q * sorted.len().checked_sub(1)? as f64;
    let below = at.floor();
    let (low, high) = (*sorted.get(below as usize)?, *sorted.get(at.ceil() as usize)?);
    Some(low + (high - low) * (at - below))
}

/// Round trips a minute from sorted RTTs in s, without the largest 5 %.
fn responsiveness(sorted: &[f64]) -> Option<f64> {
    // In whole numbers: 0.95 has no exact binary form.
    let kept = &sorted[..(19 * sorted.len()).div_ceil(20)];
    let sum: f64 = kept.iter().sum();
    (sum > 0.0).then(|| 60.0 * kept.len() as f64 / sum)
}

/// The observations of a probe, in the simulator or on real hosts.
#[derive(Clone, Debug, Deserialize)]
pub struct Seen {
    /// Its number.
    pub probe: u32,
    /// Its protocol.
    pub kind: ProbeKind,
    /// Payload of a request, bytes.
    pub size_bytes: u32,
    /// Its pair of hosts.
    pub pair: u32,
    /// Requests sent, also those of which it is not known yet whether they are lost.
    pub sent: u64,
    /// When each request that was answered or lost was sent, s.
    pub sent_s: Vec<f64>,
    /// Its RTT, s; null if it was lost.
    pub rtt_s: Vec<Option<f64>>,
    /// Why its connection failed.
    pub error: Option<String>,
}

impl From<Seen> for ProbeResult {
    fn from(seen: Seen) -> ProbeResult {
        let mut sorted: Vec<f64> = seen.rtt_s.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let answered = sorted.len();
        ProbeResult {
            probe: seen.probe,
            probe_kind: seen.kind.name(),
            size_bytes: seen.size_bytes,
            pair: seen.pair,
            sent: seen.sent,
            answered: answered as u64,
            lost: (seen.rtt_s.len() - answered) as u64,
            rtt_mean_s: (answered > 0).then(|| sorted.iter().sum::<f64>() / answered as f64),
            rtt_median_s: quantile(&sorted, 0.5),
            rtt_p95_s: quantile(&sorted, 0.95),
            rtt_p99_s: quantile(&sorted, 0.99),
            rtt_min_s: sorted.first().copied(),
            rtt_max_s: sorted.last().copied(),
            rpm: responsiveness(&sorted),
            sent_s: seen.sent_s,
            rtt_s: seen.rtt_s,
            error: seen.error,
        }
    }
}

impl Part<Probe> {
    /// The result of a probe.
    pub(super) fn result(&self, world: &World) -> ProbeResult {
        let Probed { samples, failed } = match world.process(self.ends.client).report() {
            Report::Probed(probed) => probed,
            _ => Probed::default(),
        };
        // Nothing more is to come over a connection that failed.
        let decided = |s: &&Sample| s.answered.is_some() || s.lost || failed.is_some();
        let rtt = |s: &Sample| s.answered.map(|at| at.since(s.sent).as_secs_f64());
        ProbeResult::from(Seen {
            probe: self.number as u32,
            kind: self.spec.kind,
            size_bytes: self.spec.payload,
            pair: self.spec.beside.place.pair,
            sent: samples.len() as u64,
            sent_s: samples.iter().filter(decided).map(|s| s.sent.as_secs_f64()).collect(),
            rtt_s: samples.iter().filter(decided).map(rtt).collect(),
            error: failed.map(|reason| reason.text().to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{quantile, responsiveness};

    #[test]
    fn the_largest_twentieth_does_not_count_for_responsiveness() {
        let mut rtts = vec![0.1; 19];
        assert!((responsiveness(&rtts).unwrap() - 600.0).abs() < 1e-9);
        rtts.push(7.0);
        assert!((responsiveness(&rtts).unwrap() - 600.0).abs() < 1e-9);
        rtts.push(7.0);
        assert!(responsiveness(&rtts).unwrap() < 200.0);
        assert_eq!(responsiveness(&[]), None);
    }

    #[test]
    fn quantiles_lie_between_the_two_nearest_values() {
        let values = [1.0, 2.0, 3.0, 5.0];
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(5.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
