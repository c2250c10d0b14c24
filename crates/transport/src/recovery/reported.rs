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
