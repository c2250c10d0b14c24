//! Data that a subflow holds up is sent again on others.

use super::connection::{Connection, Mode};
use super::sending::piece_end;
use super::subflow::Subflow;
use crate::endpoint::Role;
use crate::path::{PathState, PathStatus};
use haltere_net::{PathId, Span, Time};

/// The data-level timeout if no subflow has a timer (Linux: `TCP_RTO_MIN`).
pub(super) const LEAST_TIMEOUT: Span = Span::from_millis(200);

impl Connection {
    /// Notes the longest of the subflows' timeouts, for which the data-level retransmission timer is set from now on (Linux:
    /// `mptcp_set_timeout`, which runs whenever data is to be given to a subflow, and then only).
    pub(super) fn note_timeouts(&mut self, now: Time) {
        let timers = self
            .live()
            .filter(|s| s.tcp.is_established() && s.progress.silent == 0)
            .filter_map(|s| s.tcp.timer_left(now));
        self.sending.interval = timers.max().filter(|span| !span.is_zero()).unwrap_or(LEAST_TIMEOUT);
    }

    /// Sets the data-level retransmission timer, if it does not run.
    pub(super) fn set_data_timer(&mut self, now: Time) {
        if self.config.tcp.role == Role::Client {
            self.subflows.iter_mut().flatten().for_each(|s| s.expect_fourth(now));
        }
        if self.mode != Mode::Multipath || !self.sending.is_outstanding() || self.over {
            self.sending.timer = Time::NEVER;
            return;
        }
        if self.sending.timer != Time::NEVER {
            return;
        }
        let interval = self.sending.interval;
        let at = self.live().next().map_or(Time::NEVER, |s| s.tcp.deadline(now, interval));
        self.sending.timer = at;
    }

    /// Nothing was acknowledged to the connection for the longest timeout of its subflows.
    pub(super) fn on_data_timeout(&mut self) {
        if self.sending.una == self.sending.next {
            // Only the end of the data is missing. All subflows tell it: the one that did may be dead, which nothing shows as
            // long as no data is in flight on it (Linux: `mptcp_send_ack`).
            for subflow in self.subflows.iter_mut().flatten() {
                (subflow.owes.end, subflow.ready) = (true, true);
            }
            return;
        }
        if let Some(path) = self.idle_subflow() {
            let start = self.sending.una;
            let end = self.sending.next.min(piece_end(start));
            // What the scheduler is about to give to a subflow again is left to it.
            let end = self.sending.again.first().map_or(end, |again| end.min(again.0));
            if end > start {
                self.give_to(path, start, end - start);
                self.account(start, end - start);
            }
        }
        // The buffers may hold what others can carry now.
        self.dirty = true;
    }

    /// A subflow without anything to do. The others are looked at: one that makes no progress becomes stale (Linux:
    /// `mptcp_subflow_get_retrans`).
    fn idle_subflow(&mut self) -> Option<PathId> {
        let (mut active, mut standby, mut least) = (None, None, u32::MAX);
        for at in 0..self.subflows.len() {
            let Some(subflow) = self.subflows[at].as_ref() else { continue };
            let state = subflow.state();
            if !matches!(state, PathState::Active | PathState::Standby | PathState::Suspect) {
                continue;
            }
            if !subflow.tcp.is_idle() {
                least = least.min(self.check_progress(at));
                continue;
            }
            let slot = if subflow.status == PathStatus::Backup { &mut standby } else { &mut active };
            slot.get_or_insert(subflow.tcp.path());
        }
        // A subflow in reserve repairs only what no other makes progress with.
        active.or(standby.filter(|_| least > 1))
    }

    /// Counts data-level timeouts without news from a subflow. One that has too many is stale if another makes progress: all that
    /// is outstanding is given again, and not to it (Linux: `mptcp_pm_nl_subflow_chk_stale`). Returns the count.
    fn check_progress(&mut self, at: usize) -> u32 {
        let limit = self.config.stale_after;
        let makes_progress = |s: &Subflow| s.state().usable() && s.progress.silent < limit.saturating_sub(1).max(1);
        let mut others = self.subflows.iter().enumerate().filter(|(k, _)| *k != at);
        let alternative = others.any(|(_, s)| s.as_ref().is_some_and(makes_progress));
        let Connection { subflows, sending, .. } = self;
        let Some(Some(Subflow { progress, .. })) = subflows.get_mut(at) else { return 0 };
        let silent = progress.on_timeout() && limit > 0 && progress.silent > limit;
        if silent && alternative && !progress.is_stale() {
            progress.give_up();
            sending.give_again(sending.una, sending.next);
        }
        progress.silent
    }

    /// A retransmission timeout of a subflow: others get what it has in flight.
    pub(super) fn repair_timeout(&mut self, at: usize) {
        let others = self.live().filter(|s| s.state().usable()).count() > 1;
        let Connection { subflows, sending, .. } = self;
        let Some(Some(subflow)) = subflows.get_mut(at) else { return };
        let in_row = subflow.tcp.timeouts_in_row();
        let before = std::mem::replace(&mut subflow.timeouts, in_row);
        if in_row > before && others {
            for (start, end) in subflow.unacknowledged() {
                sending.give_again(start, end);
            }
            self.dirty = true;
        }
    }

    /// The peer's window is full: the fastest subflow with room repeats the first segment of what is missing, and the one
    /// that holds it back is slowed down (Raiciu et al. 2012, section 4.2).
    pub(super) fn repair_blocked(&mut self, now: Time) {
        let una = self.sending.una;
        if !(self.config.opportunistic || self.config.penalisation) || self.sending.repaired == Some(una) {
            return;
        }
        let Some(slow) = self.carrier_of(una) else { return };
        let Some(slow_rtt) = self.subflow(slow).and_then(|s| s.tcp.srtt()) else { return };
        let usable = |s: &&Subflow| s.state().usable() && s.tcp.has_room();
        let fast = self.live().filter(usable).filter(|s| s.tcp.path() != slow);
        let fast = fast.filter_map(|s| Some((s.tcp.srtt()?, s.tcp.path(), s.tcp.mss()))).min();
        let Some((_, path, mss)) = fast.filter(|(rtt, ..)| *rtt < slow_rtt) else { return };
        self.sending.repaired = Some(una);
        if self.config.opportunistic {
            let len = mss.min(self.sending.next - una);
            self.give_to(path, una, len);
            self.account(una, len);
        }
        if self.config.penalisation
            && let Some(subflow) = self.subflow(slow)
        {
            // At most once in a round trip: a reduction lasts so long.
            subflow.tcp.penalise(now);
        }
    }
}
