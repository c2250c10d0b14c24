//! The reports of a path to probes. Nothing here affects its behaviour.

use super::connection::Connection;
use super::few::Few;
use super::frame::Frame;
use super::path::{Path, spread};
use super::space::Spaces;
use crate::recovery::Reported;
use haltere_net::incident::{CongestionState, TimerName};
use haltere_net::{Cx, Incident, Span, Time};

impl Connection {
    /// Tells which data a packet on the path at place `i` carries, where there may be several paths.
    #[cold]
    pub fn tell_carried(&mut self, i: usize, frames: &Few<Frame>, cx: &mut Cx<'_>) {
        let Some(multi) = &mut self.multi else { return };
        let path = self.paths[i].id;
        for frame in frames.iter() {
            if let Frame::Stream { id: stream, offset: start, len: len @ 1.., .. } = *frame {
                let again = !multi.carried.entry(stream).or_default().extend(start, start + u64::from(len));
                cx.tell(Incident::Carried { path, stream, start, len, again });
            }
        }
    }
}

impl Path {
    /// Reports what changed on this path, at place `i`.
    #[inline]
    pub fn report(&mut self, spaces: &Spaces, i: usize, cx: &mut Cx<'_>) {
        if cx.probing() {
            self.report_changes(spaces, i, cx);
        }
    }

    #[cold]
    fn report_changes(&mut self, spaces: &Spaces, i: usize, cx: &mut Cx<'_>) {
        let now = Reported {
            window: self.window(),
            ssthresh: self.cc.ssthresh(),
            in_flight: self.in_flight,
            pacing_rate: self.pacing_rate(),
            state: self.congestion_state(),
            timer: (self.timer != Time::NEVER).then(|| (timer_name(spaces, i), self.timer)),
            model: self.cc.path_model(),
        };
        self.reported.get_or_insert_default().update(self.label, now, cx);
        let srtt = self.rtt.smoothed();
        if let Some(shadows) = self.cc.shadows() {
            shadows.report(self.label, |window, _| spread(window, srtt?), cx);
        }
    }

    /// Tells of an RTT sample.
    #[inline]
    pub fn tell_rtt(&self, latest: Span, cx: &mut Cx<'_>) {
        if let (true, Some(smoothed)) = (cx.probing(), self.rtt.smoothed()) {
            let min = self.rtt.min().unwrap_or(latest);
            cx.tell(Incident::RttSampled { latest, smoothed, min, variation: self.rtt.variation() });
        }
    }

    fn congestion_state(&self) -> CongestionState {
        match self.recovering {
            true => CongestionState::Recovery,
            false if self.cc.in_slow_start() => CongestionState::SlowStart,
            false => CongestionState::Avoidance,
        }
    }
}

fn timer_name(spaces: &Spaces, i: usize) -> TimerName {
    if spaces.on_path(i).any(|(_, s)| s.loss_time.is_some()) { TimerName::Loss } else { TimerName::Probe }
}
