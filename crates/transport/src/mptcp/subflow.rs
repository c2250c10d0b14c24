//! A subflow: its TCP connection, the mappings between its data and the connection's, its send buffer.

use super::config::Config;
use super::option::Opening;
use crate::endpoint::Endpoint;
use crate::path::{PathState, PathStatus, PathView};
use crate::tcp;
use haltere_net::{PathId, Span, Time};
use std::collections::VecDeque;

/// The segments for which Linux makes room at least (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;

/// The timeout before there is an RTT sample (Linux: `TCP_TIMEOUT_INIT`).
const FIRST_TIMEOUT: Span = Span::from_secs(1);

/// A stretch of a subflow's data, and where it lies in the connection's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    /// Position in the subflow.
    pub subflow: u64,
    /// Position in the data.
    pub data: u64,
    pub len: u64,
}

impl Mapping {
    fn end(&self) -> u64 {
        self.subflow + self.len
    }
}

/// Mappings in the order of the subflow, without overlap.
#[derive(Default, Debug)]
pub(super) struct Mappings {
    all: VecDeque<Mapping>,
    /// The place of the one that was asked for last: the next is the same, or follows it.
    last: usize,
}

impl Mappings {
    /// Adds a mapping beyond all others. Returns whether it goes on where the last one ends, in both orders.
    pub fn push(&mut self, new: Mapping) -> bool {
        match self.all.back_mut() {
            Some(last) if last.end() == new.subflow && last.data + last.len == new.data => {
                last.len += new.len;
                true
            }
            _ => {
                self.all.push_back(new);
                false
            }
        }
    }

    /// Adds what a segment told, which may have come before. What is known already stays.
    pub fn learn(&mut self, new: Mapping) {
        if new.len == 0 || self.all.back().is_none_or(|last| last.end() <= new.subflow) {
            if new.len > 0 {
                self.push(new);
            }
            return;
        }
        let mut start = new.subflow;
        let mut at = self.all.partition_point(|m| m.end() <= start);
        while start < new.end() {
            let next = self.all.get(at).copied();
            let free = next.map_or(new.end(), |m| m.subflow.min(new.end()));
            if free > start {
                let part = Mapping { subflow: start, data: new.data + (start - new.subflow), len: free - start };
                self.all.insert(at, part);
                at += 1;
            }
            let Some(known) = next else { return };
            start = start.max(known.end());
            at += 1;
        }
    }

    /// Where the subflow's position lies in the data, and how many bytes go on from there.
    #[inline]
    pub fn find(&mut self, position: u64) -> Option<(u64, u64)> {
        let holds = |m: &&Mapping| m.subflow <= position && position < m.end();
        let m = match self.all.get(self.last).filter(holds) {
            Some(m) => m,
            None => {
                self.last = self.all.partition_point(|m| m.end() <= position);
                self.all.get(self.last).filter(holds)?
            }
        };
        let into = position - m.subflow;
        Some((m.data + into, m.len - into))
    }

    /// Forgets what lies below a position of the subflow.
    pub fn forget_below(&mut self, position: u64) {
        while self.all.front().is_some_and(|m| m.end() <= position) {
            self.all.pop_front();
            self.last = self.last.saturating_sub(1);
        }
    }

    /// The parts of the data at and beyond a position of the subflow.
    pub fn from(&self, position: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.all.iter().filter(move |m| m.end() > position).map(move |m| {
            let skip = position.saturating_sub(m.subflow);
            (m.data + skip, m.data + m.len)
        })
    }
}

/// Whether a subflow makes progress, as data-level timeouts see it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Progress {
    /// Packets that it has received (Linux: `rcv_tstamp`, the time of the last).
    pub heard: u64,
    /// Data-level timeouts in a row with data on it and without news from it (Linux: `stale_count`).
    pub silent: u32,
    /// The bytes that it had received at the first of these (Linux: `stale_rcv_tstamp`).
    mark: u64,
    /// Whether its data was given to others for that (Linux: `stale`).
    given_up: bool,
}

impl Progress {
    /// A data-level timeout while it has data (Linux: `mptcp_pm_subflow_chk_stale`). Returns whether it was silent before.
    pub fn on_timeout(&mut self) -> bool {
        if self.silent == 0 {
            (self.silent, self.mark) = (1, self.heard);
            return false;
        }
        if self.mark != self.heard {
            (self.silent, self.given_up) = (0, false);
            return false;
        }
        self.silent = self.silent.saturating_add(1);
        true
    }

    /// Others get its data. It is stale until something arrives on it.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Whether it gets nothing more. A packet that arrives ends that at once (Linux: `mptcp_subflow_active`).
    pub fn is_stale(&self) -> bool {
        self.given_up && self.mark == self.heard
    }
}

/// A subflow.
pub(super) struct Subflow {
    pub tcp: tcp::Connection,
    /// Whether it opened with MP_JOIN.
    pub joined: bool,
    /// When the third segment of a join is sent again, or [`Time::NEVER`].
    pub proof: Time,
    /// As either end asked.
    pub status: PathStatus,
    /// The answer that the peer was given to that, once it was given one. MP_CAPABLE says that a subflow is not in reserve.
    pub told_status: Option<PathStatus>,
    /// The peer has shown that it takes MPTCP's options on it: it may carry data of the connection.
    pub confirmed: bool,
    pub abandoned: bool,
    pub sent: Mappings,
    pub arrived: Mappings,
    /// The end of what was read from it.
    pub read: u64,
    /// The bytes that its send buffer holds.
    pub capacity: u64,
    pub progress: Progress,
    /// Retransmission timeouts that were seen.
    pub timeouts: u32,
    /// Whether it may have something to send.
    pub ready: bool,
    /// The options that are to go out on it beside acknowledgements.
    pub owes: Owed,
    /// When its TCP wants to be called, as long as it is not `ready`.
    wake: Time,
    /// The largest congestion window for which the send buffer was sized.
    sized_for: u64,
}

/// Options that a subflow's next segment is to carry.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Owed {
    /// DATA_FIN again.
    pub end: bool,
    pub add_address: bool,
    pub echo: bool,
    pub remove: Option<PathId>,
    pub priority: Option<PathStatus>,
}

impl Owed {
    pub fn is_some(&self) -> bool {
        *self != Owed::default()
    }
}

/// The send buffer for a window of some segments, bytes: room for some windows.
fn buffer_for(segments: u64, config: &Config) -> u64 {
    let memory = config
        .segment_memory()
        .saturating_mul(segments.max(LEAST_SEGMENTS))
        .saturating_mul(config.tcp.algorithm.send_windows);
    memory.min(config.max_send_buffer)
}

impl Subflow {
    pub fn new(config: &Config, path: PathId, opening: Opening) -> Subflow {
        let (joined, status) = match opening {
            Opening::Capable => (false, PathStatus::Available),
            Opening::Join(status) => (true, status),
        };
        let mut tcp = config.tcp.clone();
        tcp.path = path;
        tcp.sack_blocks = config.sack_blocks();
        if path.0 > 0 {
            tcp.stream = tcp.stream.part(&format!("path {}", path.0));
        }
        let mut connection = tcp::Connection::new(tcp);
        connection.share_window();
        if config.mappings_apart {
            connection.keep_mappings_apart();
        }
        Subflow {
            tcp: connection,
            joined,
            proof: Time::NEVER,
            status,
            told_status: (!joined).then_some(status),
            confirmed: false,
            abandoned: false,
            sent: Mappings::default(),
            arrived: Mappings::default(),
            read: 0,
            capacity: config.send_buffer.unwrap_or_else(|| buffer_for(LEAST_SEGMENTS, config)),
            progress: Progress::default(),
            timeouts: 0,
            ready: true,
            owes: Owed::default(),
            wake: Time::NEVER,
            sized_for: 0,
        }
    }

    pub fn state(&self) -> PathState {
        if self.abandoned || self.tcp.is_over() {
            PathState::Abandoned
        } else if !self.tcp.is_established() || !self.may_carry() {
            PathState::Validating
        } else if self.progress.is_stale() {
            PathState::Suspect
        } else {
            self.status.working()
        }
    }

    /// Data may be sent on the first subflow at once, and on others when the peer has acknowledged them (RFC 8684 section
    /// 3.2).
    fn may_carry(&self) -> bool {
        !self.joined || self.confirmed
    }

    /// Whether its send buffer takes data. A buffer that is not full takes a piece of data as a whole.
    pub fn has_place(&self) -> bool {
        let (in_flight, unsent) = self.tcp.holds();
        in_flight.saturating_add(unsent).saturating_add(self.tcp.buffer_overhead()) < self.capacity
    }

    pub fn view(&self) -> PathView {
        let view = self.tcp.view(self.state());
        // A buffer that is not full takes a piece of data as a whole.
        let capacity = self.capacity.saturating_add(view.mss - 1);
        PathView { capacity, ..view }
    }

    /// Lets the send buffer grow with the congestion window, when the window is not used for lack of data (Linux:
    /// `tcp_should_expand_sndbuf`, `tcp_sndbuf_expand`). Returns whether it did.
    pub fn expand(&mut self, config: &Config) -> bool {
        let window = self.tcp.window();
        let sized = window <= self.sized_for || config.send_buffer.is_some();
        if sized || !self.tcp.has_room() || !self.state().usable() {
            return false;
        }
        self.sized_for = window;
        let wanted = buffer_for(window / self.tcp.mss(), config);
        let grows = wanted > self.capacity;
        self.capacity = self.capacity.max(wanted);
        grows
    }

    /// It has nothing to send before its next timer, unless something happens to it.
    pub fn rest(&mut self) {
        (self.ready, self.wake) = (false, self.tcp.next_wake());
    }

    /// When it wants to be called.
    pub fn next_wake(&self) -> Time {
        let tcp = if self.ready { self.tcp.next_wake() } else { self.wake };
        tcp.min(self.proof)
    }

    /// The third segment of a join is sent again until the fourth has come (RFC 8684 section 3.2; Linux:
    /// `schedule_3rdack_retransmission`).
    pub fn expect_fourth(&mut self, now: Time) {
        let waits = self.joined && !self.confirmed && !self.abandoned && self.tcp.is_established();
        if waits && self.proof == Time::NEVER {
            self.proof = now + self.tcp.srtt().map_or(FIRST_TIMEOUT, |srtt| srtt * 2);
        }
    }

    /// The time for that has come, if it has.
    pub fn repeat_third(&mut self, now: Time) {
        if self.proof > now {
            return;
        }
        self.proof = Time::NEVER;
        if !self.confirmed {
            self.tcp.acknowledge_now();
            self.ready = true;
        }
    }

    /// Gives it the data from `start` on.
    pub fn give(&mut self, start: u64, len: u64) {
        if !self.sent.push(Mapping { subflow: self.tcp.written(), data: start, len }) {
            self.tcp.cut();
        }
        self.tcp.give(len);
        self.ready = true;
    }

    /// The data that it was given and that is not acknowledged on it.
    pub fn unacknowledged(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sent.from(self.tcp.acknowledged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(subflow: u64, data: u64, len: u64) -> Mapping {
        Mapping { subflow, data, len }
    }

    #[test]
    fn mappings_that_go_on_are_one() {
        let mut m = Mappings::default();
        assert!(!m.push(map(0, 500, 100)));
        assert!(m.push(map(100, 600, 50)));
        assert!(!m.push(map(150, 900, 50)));
        assert_eq!(m.find(120), Some((620, 30)));
        assert_eq!(m.find(150), Some((900, 50)));
        assert_eq!(m.find(200), None);
        assert_eq!(m.from(140).collect::<Vec<_>>(), [(640, 650), (900, 950)]);
        m.forget_below(150);
        assert_eq!(m.find(120), None);
    }

    #[test]
    fn a_subflow_that_was_given_up_is_back_with_the_first_packet() {
        let mut progress = Progress::default();
        let silent: Vec<_> = (0..5).map(|_| progress.on_timeout()).collect();
        assert_eq!(silent, [false, true, true, true, true], "the first timeout begins the count");
        assert!(!progress.is_stale(), "others decide that");
        progress.give_up();
        assert!(progress.is_stale());
        progress.heard += 1;
        assert!(!progress.is_stale());
        assert_eq!(progress.silent, 5, "its timer does not count before the next timeout");
        assert!(!progress.on_timeout());
        assert_eq!(progress.silent, 0);
    }

    #[test]
    fn what_came_before_stays() {
        let mut m = Mappings::default();
        m.learn(map(100, 1100, 100));
        m.learn(map(300, 2000, 100));
        m.learn(map(0, 1000, 350));
        let held = [0, 99, 100, 199, 200, 299, 300, 399].map(|p| m.find(p).map(|f| f.0));
        assert_eq!(held, [1000, 1099, 1100, 1199, 1200, 1299, 2000, 2099].map(Some));
        m.learn(map(0, 5, 1000));
        assert_eq!(m.find(500), Some((505, 500)));
        assert_eq!(m.find(50), Some((1050, 50)));
    }
}
