//! The processes of a run, each with its owner, and the ports and connection numbers of those that open connections.

use crate::world::{Port, ProcessId, Remote, Spawn};
use haltere_net::topology::NodeId;
use haltere_net::{Address, ConnectionId};
use haltere_transport::Role;
use std::collections::BTreeSet;

/// The first port inside kernels.
const FIRST_PORT: u32 = 5000;

/// A port of a kernel, of the number that [`Slot::kernel_port`] gives.
///
/// # Errors
/// If a kernel has no such port.
#[cfg(feature = "kernels")]
pub(super) fn port_of_kernel(number: u32) -> Result<u16, String> {
    u16::try_from(number).map_err(|_| "there are more flows than a kernel has ports: take fewer".into())
}

/// The part that a process belongs to, by its number among the scenario's flows, probes or loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A flow, of which the process is this end. The client receives the data. With MQTT it is the subscriber, and the server
    /// is the publishers.
    Flow(usize, Role),
    /// A probe; the client sends the requests.
    Probe(usize, Role),
    /// A load; the client sends.
    Load(usize, Role),
    /// A broker.
    Broker,
}

/// The two processes of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    /// The one that begins, and that is over when the part is.
    pub client: ProcessId,
    /// The one that answers.
    pub server: ProcessId,
}

/// A probe or load of a run.
pub(crate) struct Part<S> {
    /// Its number among those of its kind.
    pub number: usize,
    pub spec: S,
    pub ends: Ends,
}

/// A port that belongs to one part, and the number of the first connection to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot(u32);

impl Slot {
    pub fn port(self) -> Port {
        Port(self.0)
    }

    /// The port inside kernels, and of a rig (`python/haltere/rig/plan.py`). A simulation may have more parts than a kernel has ports.
    pub fn kernel_port(self) -> u32 {
        FIRST_PORT + self.0
    }

    pub fn connection(self) -> ConnectionId {
        ConnectionId(self.0)
    }

    /// The port at an address.
    pub fn at(self, address: Address) -> Remote {
        Remote { address, port: self.port() }
    }
}

/// The processes that were spawned so far. They are numbered in this order, and slots in the order in which they are taken.
#[derive(Default)]
pub(super) struct Roster {
    spawns: Vec<Spawn>,
    owners: Vec<Owner>,
    taken: u32,
}

impl Roster {
    /// Makes room for the processes of so many more parts, which each have two.
    pub fn make_room(&mut self, parts: usize) {
        self.spawns.reserve(2 * parts);
        self.owners.reserve(2 * parts);
    }

    /// Slots that nobody else has.
    pub fn slots(&mut self, count: usize) -> impl Iterator<Item = Slot> + use<> {
        let first = self.taken;
        self.taken += count as u32;
        (first..self.taken).map(Slot)
    }

    pub fn spawn(&mut self, owner: Owner, spawn: Spawn) -> ProcessId {
        self.spawns.push(spawn);
        self.owners.push(owner);
        ProcessId(self.spawns.len() as u32 - 1)
    }

    /// Spawns the two processes of a part.
    pub fn pair(&mut self, owner: fn(usize, Role) -> Owner, number: usize, [client, server]: [Spawn; 2]) -> Ends {
        let mut spawn = |role, spawn| self.spawn(owner(number, role), spawn);
        Ends { client: spawn(Role::Client, client), server: spawn(Role::Server, server) }
    }

    /// The nodes with processes.
    pub fn hosts(&self) -> BTreeSet<NodeId> {
        self.spawns.iter().map(|spawn| spawn.node).collect()
    }

    /// The processes, and the owner of each.
    pub fn finish(self) -> (Vec<Spawn>, Vec<Owner>) {
        (self.spawns, self.owners)
    }
}

#[cfg(test)]
#[cfg(feature = "kernels")]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_has_more_parts_than_a_kernel_has_ports() {
        let last = Roster::default().slots(100_000).last().unwrap().kernel_port();
        assert_eq!(last, FIRST_PORT + 99_999);
        assert!(port_of_kernel(last).unwrap_err().contains("take fewer"));
        assert_eq!(port_of_kernel(FIRST_PORT), Ok(5000));
    }
}
