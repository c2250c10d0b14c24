//! The retransmission timer, and the probe timer that replaces it.

use super::{Forced, Order, Sender, Timer};
use crate::cc::Phase;
use crate::tcp::config::Config;
use crate::tcp::trace;
use haltere_net::incident::{TimerChange, TimerName};
use haltere_net::{Cx, Incident, Span, Time};

impl Sender {
    pub(in crate::tcp) fn set_timer(&mut self, kind: Timer, now: Time, span: Span) {
        self.timer = Some((
            kind,
            if self.firing { self.ticks.deadline_from_timer(now, span) } else { self.ticks.deadline(now, span) },
        ));
        self.timer_set = (now, span);
    }

    /// The retransmission timeout with its backoff.
    pub(in crate::tcp) fn rto(&self) -> Span {
        self.rtt.rto(self.ticks.tick())
    }

    pub(in crate::tcp) fn timer(&self) -> Option<Timer> {
        self.timer.map(|(kind, _)| kind)
    }

    /// How long it is until the timer is due, if it runs (Linux: `icsk_timeout`).
    pub(in crate::tcp) fn timer_left(&self, now: Time) -> Option<Span> {
        let (since, span) = self.timer_set;
        self.timer.map(|_| self.ticks.left(now, self.ticks.due(since, span)))
    }

    /// When the sender must be called.
    pub(in crate::tcp) fn next_wake(&self) -> Time {
        let timer = self.timer.map_or(Time::NEVER, |(_, at)| at);
        timer.min(self.pacing_wake)
    }

    /// Runs the timer if it is due. Returns whether the connection should be given up.
    pub(in crate::tcp) fn on_wake(&mut self, config: &Config, cx: &mut Cx<'_>) -> bool {
        let Some((kind, at)) = self.timer.filter(|(_, at)| *at <= cx.now) else { return false };
        debug_assert!(at <= cx.now);
        self.timer = None;
        self.firing = true;
        self.local.retry();
        self.rack.now = self.clock.stamp(cx.now);
        cx.tell(Incident::Timer(trace::name(kind), TimerChange::Expired));
        match kind {
            Timer::Probe if self.tlp.is_none() && !self.board.is_empty() && !self.new_data_is_paced(cx.now) => {
                self.force(Forced::Probe);
            }
            Timer::Probe => {
                // The retransmission timeout counts from when the head was sent.
                self.timer = Some((kind, at));
                self.rearm_rto(cx.now);
            }
            Timer::Reordering => self.on_reordering_timeout(cx.now),
            Timer::Rto => {
                if self.retransmits >= config.data_retries.into() {
                    return true;
                }
                self.on_retransmission_timeout(cx.now);
            }
        }
        self.order = Order::LostFirst;
        self.tell_losses(cx);
        false
    }

    /// The armed timer, with its name in traces.
    pub(in crate::tcp) fn due_timer(&self) -> Option<(TimerName, Time)> {
        self.timer.map(|(kind, at)| (trace::name(kind), at))
    }

    /// Arms the probe timer if the state requires it, otherwise the retransmission timer.
    pub(in crate::tcp) fn set_xmit_timer(&mut self, now: Time) {
        if !self.schedule_probe(now, now) {
            self.rearm_rto(now);
        }
    }

    /// RFC 8985 section 7.2. The probe is not sent later than the retransmission timeout, which counts from `since`.
    pub(super) fn schedule_probe(&mut self, now: Time, since: Time) -> bool {
        if !self.rules.tlp || self.board.is_empty() || !matches!(self.phase, Phase::Open | Phase::Reducing) {
            return false;
        }
        let mut span = match self.rtt.srtt() {
            // A single segment may meet a delayed ACK.
            Some(srtt) if self.board.out() == 1 => srtt * 2 + self.rtt.floor(),
            Some(srtt) => srtt * 2 + self.ticks.slack(),
            None => Span::from_secs(1),
        };
        let rto = (since + self.rto()).since(self.clock.stamp(now));
        if !rto.is_zero() {
            span = span.min(rto);
        }
        self.set_timer(Timer::Probe, now, span + self.pacing_delay(now));
        true
    }

    /// The head was retransmitted, from where the retransmission timeout counts now.
    pub(in crate::tcp) fn restart_timeout(&mut self, now: Time) {
        if !matches!(self.timer, Some((Timer::Reordering, _))) {
            self.set_timer(Timer::Rto, now, self.rto() + self.pacing_delay(now));
        }
    }

    /// The time until the retransmission timeout of the head.
    fn rto_left(&self, now: Time) -> Span {
        (self.head_sent(now) + self.rto()).since(self.clock.stamp(now))
    }

    /// When the head was sent; `now` if nothing is in flight.
    pub(super) fn head_sent(&self, now: Time) -> Time {
        self.board.head().map_or(now, |h| self.clock.stamp(h.sent))
    }

    pub(in crate::tcp) fn rearm_rto(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer = None;
            return;
        }
        let span = match self.timer {
            Some((Timer::Probe | Timer::Reordering, _)) => self.rto_left(now).max(Span::from_nanos(1)),
            _ => self.rto(),
        };
        self.set_timer(Timer::Rto, now, span + self.pacing_delay(now));
    }
}
