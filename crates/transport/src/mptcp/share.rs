//! Which subflow gets which data.

use super::connection::{Connection, Mode};
use super::sending::{LEAST_BUFFER, piece_end};
use super::subflow::Subflow;
use crate::path::{PathState, PathView};
use crate::scheduler::{Demand, Pick};
use haltere_net::{PathId, Time};

impl Connection {
    /// Gives waiting data to subflows, as the scheduler decides, until it waits, nothing is left or the window is full.
    pub(super) fn share(&mut self, now: Time) {
        self.ask_at = Time::NEVER;
        if self.mode == Mode::Fallback {
            return self.give_all();
        }
        if self.sending.is_waiting() {
            self.fill();
            if self.demand().waiting > 0 {
                self.note_timeouts(now);
            }
        }
        // Set if no subflow but this one has changed since the states of all were read.
        let mut changed = None;
        while self.sending.is_waiting() {
            let demand = self.demand();
            let Some((start, most)) = self.waiting(&demand, now) else { break };
            if !self.has_place() {
                break;
            }
            match changed.take() {
                Some(path) => self.look_at(path),
                None => self.look(),
            }
            let pick = self.scheduler.pick(&self.views, &demand, now);
            let taken = match pick {
                Pick::On(path) if self.takes(path, now) => {
                    changed = Some(path);
                    self.give(path, start, most, now)
                }
                Pick::Ahead(path, skip) if self.takes(path, now) => {
                    changed = Some(path);
                    let (start, most) = self.ahead(path, skip).unwrap_or((start, most));
                    self.give(path, start, most, now)
                }
                Pick::On(_) | Pick::Ahead(..) => false,
                Pick::Copies(set) => {
                    let chosen: Vec<PathId> =
                        self.views.iter().filter(|v| set.contains(v.id) && v.takes(now)).map(|v| v.id).collect();
                    self.give_copies(&chosen, start, most, now)
                }
                Pick::WaitUntil(at) => {
                    self.ask_at = if at > now { at } else { Time::NEVER };
                    false
                }
            };
            if !taken {
                break;
            }
        }
        let more = self.sending.is_waiting();
        for subflow in self.subflows.iter_mut().flatten() {
            *subflow.tcp.expects_more() = more;
        }
    }

    /// After a fallback the only subflow gets all data.
    fn give_all(&mut self) {
        let left = self.sending.unsent();
        let finished = self.sending.finished;
        self.sending.next = self.sending.written;
        let Some(Some(subflow)) = self.subflows.first_mut() else { return };
        *subflow.tcp.expects_more() = false;
        if left > 0 {
            subflow.give(self.sending.written - left, left);
        }
        if finished && std::mem::take(&mut self.sending.fin_due) {
            crate::Endpoint::close(&mut subflow.tcp);
            subflow.ready = true;
        }
    }

    /// Fills the send buffer of the connection. It is as large as those of its open subflows together and the least that a socket
    /// has (Linux: `__mptcp_sync_sndbuf`).
    fn fill(&mut self) {
        let open = self.live().filter(|s| s.tcp.is_established());
        let buffers = open.map(|s| s.capacity).fold(LEAST_BUFFER, u64::saturating_add);
        self.sending.fill(buffers);
    }

    /// The data that there is to send.
    fn demand(&self) -> Demand {
        let again: u64 = self.sending.again.iter().map(|(start, end)| end - start).sum();
        Demand {
            waiting: self.sending.unassigned() + again,
            outstanding: self.sending.outstanding(),
            window: self.sending.edge.saturating_sub(self.sending.next),
            beyond: self.sending.written - self.sending.accepted,
        }
    }

    /// The data from further back that a subflow gets, unless there is data to be sent again.
    #[cold]
    fn ahead(&self, path: PathId, skip: u64) -> Option<(u64, u64)> {
        let mss = self.views.iter().find(|view| view.id == path)?.mss;
        let found = self.sending.again.is_empty().then(|| self.sending.further_back(skip, mss))?;
        (found.1 > 0).then_some(found)
    }

    /// Where the next data to be given begins, and how many bytes it has. `None` if flow control keeps it back.
    fn waiting(&mut self, demand: &Demand, now: Time) -> Option<(u64, u64)> {
        if let Some((start, end)) = self.sending.again.first() {
            return Some((start, end - start));
        }
        if let Some((start, end)) = self.sending.skipped.first() {
            return Some((start, end - start));
        }
        let unsent = self.sending.unassigned();
        if unsent == 0 {
            return None; // The send buffer is full: data comes with an acknowledgement.
        }
        let most = unsent.min(demand.window);
        let full = || self.live().map(|s| s.tcp.mss()).min().unwrap_or(1);
        // Less than a full segment waits for more window, unless nothing is on its way that would open it.
        if most > 0 && (most == unsent || demand.outstanding == 0 || most >= full()) {
            return Some((self.sending.next, most));
        }
        self.on_blocked(now);
        let closed = self.sending.edge <= self.sending.next && demand.outstanding == 0;
        // A closed window is probed with a byte: the subflow goes on asking (Linux: `mptcp_sendmsg_frag`).
        let idle = self.live().all(|s| s.tcp.is_idle());
        (closed && idle && unsent > 0 && self.sending.next > 0).then(|| (self.sending.next - 1, 1))
    }

    /// The peer's window keeps data back: the scheduler learns which subflow the others wait for.
    fn on_blocked(&mut self, now: Time) {
        if !std::mem::replace(&mut self.sending.told_blocked, true)
            && let Some(head) = self.carrier_of(self.sending.una)
        {
            self.scheduler.on_blocked(head, now);
        }
        self.repair_blocked(now);
    }

    /// The subflow that has the byte at `position` in flight or in its queue.
    pub(super) fn carrier_of(&self, position: u64) -> Option<PathId> {
        let has = |s: &&super::subflow::Subflow| s.unacknowledged().any(|(a, b)| (a..b).contains(&position));
        self.live().find(has).map(|s| s.tcp.path())
    }

    /// Whether there is something to decide: a subflow takes data. If none is usable, [`Connection::look`] may find one.
    fn has_place(&self) -> bool {
        let mut usable = self.subflows.iter().flatten().filter(|s| s.state().usable()).peekable();
        usable.peek().is_none() || usable.any(Subflow::has_place)
    }

    /// Looks at all subflows for the scheduler. Where none is usable, the stale ones carry on: there is nothing better.
    pub(super) fn look(&mut self) {
        let Connection { views, subflows, .. } = self;
        views.clear();
        views.extend(subflows.iter().flatten().map(|s| s.view()));
        if !views.iter().any(|view| view.state.usable()) {
            for view in views.iter_mut().filter(|view| view.state == PathState::Suspect) {
                view.state = PathState::Active;
            }
        }
    }

    /// Looks again at a subflow that was given data.
    fn look_at(&mut self, path: PathId) {
        let Connection { views, subflows, .. } = self;
        let subflow = subflows.get(usize::from(path.0)).and_then(Option::as_ref);
        let view = views.iter_mut().find(|view| view.id == path);
        match (view, subflow.filter(|s| s.state().usable())) {
            (Some(view), Some(subflow)) => *view = subflow.view(),
            // It carries data because no other is usable.
            _ => self.look(),
        }
    }

    fn takes(&self, path: PathId, now: Time) -> bool {
        self.views.iter().any(|view| view.id == path && view.takes(now))
    }

    /// How many bytes a subflow gets of those that wait: a burst, as far as it has room. Linux gives pieces as a whole
    /// (`__subflow_push_pending`), and a scheduler by segment gives one.
    fn portion(&self, view: &PathView, start: u64, most: u64) -> u64 {
        let room = (view.capacity - (view.mss - 1).min(view.capacity)).saturating_sub(view.memory());
        let bytes = self.scheduler.burst().min(room).max(1);
        if self.scheduler.burst() > view.mss {
            return most.min(piece_end(start.saturating_add(bytes - 1)) - start);
        }
        let unit = view.mss.max(1);
        most.min(bytes.div_ceil(unit).saturating_mul(unit))
    }

    /// Gives a subflow the next data. Returns whether it took some.
    fn give(&mut self, path: PathId, start: u64, most: u64, now: Time) -> bool {
        let Some(view) = self.views.iter().find(|view| view.id == path).copied() else { return false };
        let len = self.portion(&view, start, most);
        self.give_to(path, start, len);
        self.account(start, len);
        self.scheduler.on_given(path, len, now);
        len > 0
    }

    fn give_copies(&mut self, paths: &[PathId], start: u64, most: u64, now: Time) -> bool {
        let portions = self.views.iter().filter(|v| paths.contains(&v.id)).map(|v| self.portion(v, start, most));
        let Some(len) = portions.min().filter(|&len| len > 0) else { return false };
        for (k, &path) in paths.iter().enumerate() {
            self.give_to(path, start, len);
            self.sending.reinjected += if k > 0 { len } else { 0 };
            self.scheduler.on_given(path, len, now);
        }
        self.account(start, len);
        true
    }

    pub(super) fn give_to(&mut self, path: PathId, start: u64, len: u64) {
        if let Some(subflow) = self.subflow(path) {
            subflow.give(start, len);
        }
    }

    /// These bytes were given to a subflow, for the first time or again.
    pub(super) fn account(&mut self, start: u64, len: u64) {
        self.sending.reinjected += self.sending.account(start, start + len);
    }

    /// Lets the send buffers of subflows grow while the application waits for room. Returns whether one did.
    pub(super) fn expand(&mut self) -> bool {
        if self.mode != Mode::Multipath || !self.sending.is_full() {
            return false;
        }
        let Connection { subflows, config, .. } = self;
        subflows.iter_mut().flatten().fold(false, |grew, subflow| subflow.expand(config) | grew)
    }

    /// Reads the state of one subflow again, when it has sent a super-segment and not filled its window: Linux looks after each
    /// (`tcp_event_new_data_sent`).
    pub(super) fn expand_after_sending(&mut self, at: usize) -> bool {
        if self.mode != Mode::Multipath || !self.sending.is_full() {
            return false;
        }
        let Connection { subflows, config, .. } = self;
        let subflow = subflows.get_mut(at).and_then(Option::as_mut);
        subflow.is_some_and(|subflow| !subflow.tcp.sends_together() && subflow.expand(config))
    }

    /// Gives the coupled congestion control of a subflow the views of all subflows: it is about to learn of an
    /// acknowledgement.
    pub(super) fn couple(&mut self, at: usize) {
        self.look();
        let Connection { views, subflows, .. } = self;
        let several = views.iter().filter(|v| v.state.usable()).count() > 1;
        let Some(Some(subflow)) = subflows.get_mut(at) else { return };
        for view in &mut *views {
            view.own = view.id == subflow.tcp.path();
        }
        subflow.tcp.set_siblings(if several { views } else { &[] });
    }
}
