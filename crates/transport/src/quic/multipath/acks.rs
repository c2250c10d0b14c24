//! Acknowledgements of several paths that go on one ([`PathAcks::Lowest`]).

use crate::path::PathState;
use crate::quic::config::PathAcks;
use crate::quic::connection::Connection;
use crate::quic::draft::{Draft, Traits};
use crate::quic::path::Path;
use haltere_net::Time;

impl Connection {
    /// Whether the acknowledgements of all paths go on one of them.
    #[inline(always)]
    pub(in crate::quic) fn gathers_acks(&self) -> bool {
        self.config.path_acks == PathAcks::Lowest && self.paths.len() > 1
    }

    /// Whether an acknowledgement must go now on the path at place `i`.
    #[inline(always)]
    pub(in crate::quic) fn ack_due(&self, i: usize, now: Time) -> bool {
        if self.gathers_acks() { self.any_ack_due(i, now) } else { self.spaces.data[i].received.due(now) }
    }

    /// Whether this is the path on which the acknowledgements of all paths go, and one of them is due.
    #[cold]
    fn any_ack_due(&self, i: usize, now: Time) -> bool {
        i == self.ack_path() && self.spaces.data.iter().any(|space| space.received.due(now))
    }

    /// The place of the path on which acknowledgements go, if they all go on one: also one that has failed, as long as it is
    /// not given up.
    fn ack_path(&self) -> usize {
        let there = |path: &Path| !matches!(path.state, PathState::Validating | PathState::Abandoned);
        self.paths.iter().position(there).unwrap_or(0)
    }

    /// Places of the paths of which a packet on the path at place `i` acknowledges packets, where all acknowledgements go on one.
    fn gathered(&self, i: usize) -> impl Iterator<Item = usize> {
        let gathers = i == self.ack_path();
        let owes = move |&k: &usize| self.spaces.data[k].received.owes() && self.paths[k].state != PathState::Abandoned;
        (0..self.paths.len()).filter(move |_| gathers).filter(owes)
    }

    /// Puts the acknowledgements of all paths into a packet, if it goes on the path that carries them.
    #[cold]
    pub(in crate::quic) fn gather_acks(&self, i: usize, draft: &mut Draft, now: Time) {
        for k in self.gathered(i) {
            let (id, space) = (self.paths[k].id, &self.spaces.data[k]);
            if k == i { draft.acknowledge_path(id, space, now) } else { draft.acknowledge_elsewhere(id, space, now) }
        }
    }

    /// The packet is made that carries the acknowledgements of all paths.
    #[cold]
    pub(in crate::quic) fn on_gathered_acks_sent(&mut self, i: usize, packet: Traits) {
        let others: Vec<usize> = self.gathered(i).filter(|k| *k != i).collect();
        for k in others {
            self.spaces.data[k].received.on_ack_sent(packet);
        }
    }
}
