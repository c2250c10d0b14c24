//! What a sender's state was when it was last told to whoever listens.

use haltere_net::incident::{CongestionState, TimerChange, TimerName};
use haltere_net::{Cx, Incident, Metric, PathId, Rate, Time};

/// A sender's state as far as it is told of.
#[derive(Clone, Copy, Default, Debug)]
pub struct Told {
    /// Congestion window, bytes.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` while there is none.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
    /// State of congestion control.
    pub state: CongestionState,
    /// The timer that is set, and when it ends.
    pub timer: Option<(TimerName, Time)>,
}

impl Told {
    /// Tells in what `now` differs from what was told before of a path, and remembers it.
    pub fn update(&mut self, path: PathId, now: Told, cx: &mut Cx<'_>) {
        let old = std::mem::replace(self, now);
        let rate = |told: &Told| told.pacing_rate.map_or(0, Rate::as_bps);
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
        if old.state != now.state {
            cx.tell(Incident::CongestionState(now.state));
        }
        if old.timer != now.timer {
            let set = now.timer.map(|(name, at)| Incident::Timer(name, TimerChange::Set(at)));
            // One that ran out was told of when it did.
            let gone = old.timer.filter(|(_, at)| *at > cx.now);
            let gone = gone.map(|(name, _)| Incident::Timer(name, TimerChange::Cancelled));
            if let Some(incident) = set.or(gone) {
                cx.tell(incident);
            }
        }
    }
}
