//! The sender's state as last reported to the probe.

use haltere_net::control::PathModel;
use haltere_net::incident::{CongestionState, TimerChange, TimerName};
use haltere_net::{Cx, Incident, Metric, PathId, Rate, Span, Time};

/// The part of a sender's state that is reported to the probe.
#[derive(Clone, Copy, Default, Debug)]
pub struct Reported {
    /// Congestion window, bytes.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` if it is not set.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
    /// Phase of congestion control.
    pub state: CongestionState,
    /// The timer that is armed, and when it expires.
    pub timer: Option<(TimerName, Time)>,
    /// BBR's model of the path, where BBR controls it.
    pub model: Option<PathModel>,
}

/// The metrics of BBR's model of its path, with their values.
fn metrics_of(model: &PathModel) -> [(Metric, u64); 9] {
    [
        (Metric::BbrState, model.state as u64),
        (Metric::MaxBandwidth, model.max_bandwidth.as_bps()),
        (Metric::ShortTermBandwidth, model.short_term_bandwidth.map_or(u64::MAX, Rate::as_bps)),
        (Metric::LongTermInflight, model.long_term_inflight.unwrap_or(u64::MAX)),
        (Metric::ShortTermInflight, model.short_term_inflight.unwrap_or(u64::MAX)),
        (Metric::ExtraAcked, model.extra_acked),
        (Metric::MinRtt, model.min_rtt.map_or(0, Span::as_nanos)),
        (Metric::Rounds, model.rounds),
        (Metric::FullRounds, u64::from(model.full_rounds)),
    ]
}

/// Reports to the probe where the second of two models of a path, the one that holds now, differs from the first.
pub fn report_model(path: PathId, [before, now]: [Option<PathModel>; 2], cx: &mut Cx<'_>) {
    let Some(model) = now.filter(|_| before != now) else { return };
    let before = before.as_ref().map(metrics_of);
    for (i, (metric, value)) in metrics_of(&model).into_iter().enumerate() {
        if before.is_none_or(|before| before[i].1 != value) {
            cx.record_on(path, metric, value);
        }
    }
}

impl Reported {
    /// Reports to the probe where `now` differs from the last report of the path, and stores `now`.
    pub fn update(&mut self, path: PathId, now: Reported, cx: &mut Cx<'_>) {
        let old = std::mem::replace(self, now);
        let rate = |reported: &Reported| reported.pacing_rate.map_or(0, Rate::as_bps);
        let metrics = [
            (Metric::Cwnd, old.window, now.window),
            (Metric::Ssthresh, old.ssthresh, now.ssthresh),
            (Metric::BytesInFlight, old.in_flight, now.in_flight),
            (Metric::PacingRate, rate(&old), rate(&now)),
        ];
        for (metric, before, after) in metrics {
            if before != after {
                cx.record_on(path, metric, after);
            }
        }
        report_model(path, [old.model, now.model], cx);
        if old.state != now.state {
            cx.tell(Incident::CongestionState(now.state));
        }
        if old.timer != now.timer {
            let set = now.timer.map(|(name, at)| Incident::Timer(name, TimerChange::Set(at)));
            // The expiry of a timer was reported when it happened.
            let gone = old.timer.filter(|(_, at)| *at > cx.now);
            let gone = gone.map(|(name, _)| Incident::Timer(name, TimerChange::Cancelled));
            if let Some(incident) = set.or(gone) {
                cx.tell(incident);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::control::BbrState;
    use haltere_net::{ComponentId, Probe};

    /// All that was reported.
    #[derive(Default)]
    struct Seen(Vec<(Metric, u64)>, Vec<Incident>);

    impl Probe for Seen {
        fn record(&mut self, _: Time, _: ComponentId, _: PathId, metric: Metric, value: u64) {
            self.0.push((metric, value));
        }
        fn happened(&mut self, _: Time, _: ComponentId, incident: Incident) {
            self.1.push(incident);
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// The reports of an update at 10 ms from one state to another.
    fn told(old: Reported, now: Reported) -> (Vec<(Metric, u64)>, Vec<Incident>) {
        let (mut seen, mut reported) = (Seen::default(), old);
        reported.update(PathId(0), now, &mut Cx::with_probe(at(10), ComponentId(0), Some(&mut seen)));
        (seen.0, seen.1)
    }

    #[test]
    fn only_changes_are_told() {
        let old = Reported { window: 5, ssthresh: 6, in_flight: 7, ..Reported::default() };
        assert_eq!(told(old, old), (vec![], vec![]));
        let rate = Some(Rate::from_bps(9));
        let state = CongestionState::Recovery;
        let now = Reported { window: 4, in_flight: 8, pacing_rate: rate, state, ..old };
        let metrics = vec![(Metric::Cwnd, 4), (Metric::BytesInFlight, 8), (Metric::PacingRate, 9)];
        assert_eq!(told(old, now), (metrics, vec![Incident::CongestionState(state)]));
        assert_eq!(told(now, Reported { ssthresh: 3, ..now }).0, [(Metric::Ssthresh, 3)]);
    }

    #[test]
    fn a_timer_is_set_or_cancelled_and_one_that_has_expired_is_not_cancelled() {
        let with = |timer| Reported { timer, ..Reported::default() };
        let armed = |ms| with(Some((TimerName::Probe, at(ms))));
        let incidents = |old, now| told(old, now).1;
        let set = |ms| Incident::Timer(TimerName::Probe, TimerChange::Set(at(ms)));
        assert_eq!(incidents(with(None), armed(20)), [set(20)]);
        assert_eq!(incidents(armed(20), armed(30)), [set(30)]);
        assert_eq!(incidents(armed(20), armed(20)), []);
        assert_eq!(incidents(armed(11), with(None)), [Incident::Timer(TimerName::Probe, TimerChange::Cancelled)]);
        assert_eq!(incidents(armed(10), with(None)), []);
    }

    #[test]
    fn of_a_model_the_first_report_is_whole_and_later_ones_have_what_changed() {
        let model = PathModel {
            state: BbrState::Cruise,
            max_bandwidth: Rate::from_bps(1000),
            short_term_bandwidth: None,
            long_term_inflight: Some(4),
            short_term_inflight: None,
            extra_acked: 5,
            min_rtt: Some(Span::from_nanos(6)),
            rounds: 7,
            full_rounds: 2,
        };
        let with = |model| Reported { model, ..Reported::default() };
        let metrics = |old, now| told(with(old), with(now)).0;
        let whole = [
            (Metric::BbrState, BbrState::Cruise as u64),
            (Metric::MaxBandwidth, 1000),
            (Metric::ShortTermBandwidth, u64::MAX),
            (Metric::LongTermInflight, 4),
            (Metric::ShortTermInflight, u64::MAX),
            (Metric::ExtraAcked, 5),
            (Metric::MinRtt, 6),
            (Metric::Rounds, 7),
            (Metric::FullRounds, 2),
        ];
        assert_eq!(metrics(None, Some(model)), whole);
        assert_eq!(metrics(Some(model), Some(model)), []);
        assert_eq!(metrics(Some(model), None), []);
        let later = PathModel { rounds: 8, short_term_inflight: Some(1), ..model };
        assert_eq!(metrics(Some(model), Some(later)), [(Metric::ShortTermInflight, 1), (Metric::Rounds, 8)]);
    }
}
