//! Reports of a sender to the probe. They do not affect what the sender does.

use super::sender::{Sender, Timer, rate_of};
use crate::cc::Phase;
use crate::recovery::Reported;
use haltere_net::incident::{CongestionState, PacketName, TimerName};
use haltere_net::{Cx, Incident, Span};

impl Sender {
    /// Reports the changes of the sender's state.
    #[inline]
    pub(super) fn trace(&mut self, cx: &mut Cx<'_>) {
        if cx.probing() {
            self.trace_all(cx);
        }
    }

    #[cold]
    fn trace_all(&mut self, cx: &mut Cx<'_>) {
        self.board.listen();
        self.tell_losses(cx);
        let now = Reported {
            window: self.window(),
            ssthresh: self.cc.ssthresh(),
            in_flight: self.in_flight(),
            pacing_rate: self.pacing_rate(),
            state: self.congestion_state(),
            timer: self.due_timer(),
            model: self.cc.path_model(),
        };
        self.reported.get_or_insert_default().update(self.path, now, cx);
        let (out, srtt) = (u64::from(self.board.out()) * self.mss, self.rtt.srtt());
        if let Some(shadows) = self.cc.shadows() {
            shadows.report(self.path, |window, ssthresh| rate_of(window, ssthresh, out, srtt), cx);
        }
    }

    /// Reports the segments found lost since the last call.
    #[inline]
    pub(super) fn tell_losses(&mut self, cx: &mut Cx<'_>) {
        if cx.probing() {
            self.tell_all_losses(cx);
        }
    }

    #[cold]
    fn tell_all_losses(&mut self, cx: &mut Cx<'_>) {
        for (number, sign) in self.board.take_news() {
            cx.tell(Incident::Lost(PacketName { space: 0, number }, sign));
        }
    }

    /// Reports an RTT sample.
    pub(super) fn tell_rtt(&self, latest: Span, cx: &mut Cx<'_>) {
        if let (true, Some(smoothed)) = (cx.probing(), self.rtt.srtt()) {
            let min = self.rtt.min().unwrap_or(latest);
            cx.tell(Incident::RttSampled { latest, smoothed, min, variation: self.rtt.variation() });
        }
    }

    fn congestion_state(&self) -> CongestionState {
        match self.phase {
            Phase::Loss => CongestionState::Timeout,
            Phase::Recovery => CongestionState::Recovery,
            _ if self.cc.in_slow_start() => CongestionState::SlowStart,
            _ => CongestionState::Avoidance,
        }
    }
}

/// The name of a timer in traces.
pub(super) fn name(timer: Timer) -> TimerName {
    match timer {
        Timer::Reordering => TimerName::Loss,
        Timer::Rto | Timer::Probe => TimerName::Probe,
    }
}
