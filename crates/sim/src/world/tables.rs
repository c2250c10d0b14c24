//! The tables that the nodes of a network share: addresses, routes, listeners, and the ends of connections.

use super::rebinding::{Rebinding, fresh_address};
use haltere_net::element::Port as Entry;
use haltere_net::topology::{NodeId, Router, Topology};
use haltere_net::{Address, ConnectionId, FlowKey, PathId};
use haltere_transport::Role;
use haltere_transport::path::AddressChange;
use std::collections::BTreeMap;

/// The port at which a process listens at its node. Wider than IP's ports, so that each of a run's flows can have a
/// server of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub u32);

/// Where to connect to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Remote {
    /// The address.
    pub address: Address,
    /// The port there.
    pub port: Port,
}

/// A step of a route: where the packet is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hop {
    /// The network element, by number.
    pub element: u32,
    /// Where the packet enters it.
    pub port: Entry,
    /// The link direction that it stands for.
    pub edge: u32,
    /// The network element of the next step; `u32::MAX` if there is none.
    pub next: u32,
}

/// Where a route leads.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The steps along it.
    pub hops: Vec<Hop>,
    /// The node at its end.
    pub to: NodeId,
}

/// A socket of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SocketRef {
    pub process: u32,
    pub socket: u32,
}

/// Which socket is one of the two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConnectionEnd {
    /// None yet: no process has accepted the connection.
    Unclaimed,
    /// This one.
    Claimed(SocketRef),
    /// None any more: it was released.
    Released,
    /// This one, whose packets have other ports on some path since a rebinding.
    Moved(SocketRef),
    /// The ports are those of a rebinding, by its number.
    Rebound(u32),
}

/// A connection of a run.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The node that opened it.
    client: NodeId,
    port: Port,
    /// Who opened it, and who accepted it.
    ends: [ConnectionEnd; 2],
}

/// Addresses, routes, listeners and connections.
pub(super) struct Tables {
    topology: Topology,
    router: Router,
    /// The element and the port that each link direction of the topology enters.
    entries: Vec<(u32, Entry)>,
    routes: Vec<Route>,
    known: BTreeMap<(Address, Address), Option<(u32, Hop)>>,
    listeners: BTreeMap<(NodeId, Port), u32>,
    connections: Vec<Option<Connection>>,
    rebindings: Vec<Rebinding>,
}

impl Tables {
    /// Tables in which the first `reserved` connections have their numbers already.
    pub fn new(topology: Topology, entries: Vec<(u32, Entry)>, reserved: u32) -> Tables {
        Tables {
            topology,
            router: Router::new(),
            entries,
            routes: Vec::new(),
            known: BTreeMap::new(),
            listeners: BTreeMap::new(),
            connections: vec![None; reserved as usize],
            rebindings: Vec::new(),
        }
    }

    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The element and the port that each link direction of the topology enters.
    pub fn entries(&self) -> &[(u32, Entry)] {
        &self.entries
    }

    /// The number of the route between two addresses and its first step, if links lead there and the addresses are
    /// of two nodes.
    pub fn route(&mut self, from: Address, to: Address) -> Option<(u32, Hop)> {
        if let Some(&known) = self.known.get(&(from, to)) {
            return known;
        }
        let links = self.router.route(&self.topology, from, to).filter(|links| !links.is_empty());
        let found = links.map(|links| {
            let to = self.topology.interfaces()[to.0 as usize].node;
            let next = links.iter().skip(1).map(|&edge| self.entries[edge as usize].0).chain([u32::MAX]);
            let hop = |(&edge, next): (&u32, u32)| {
                let (element, port) = self.entries[edge as usize];
                Hop { element, port, edge, next }
            };
            let hops: Vec<Hop> = links.iter().zip(next).map(hop).collect();
            let first = hops[0];
            self.routes.push(Route { hops, to });
            (self.routes.len() as u32 - 1, first)
        });
        self.known.insert((from, to), found);
        found
    }

    /// The node that sends into an element at a port, if one does.
    pub fn origin(&self, element: u32, port: Entry) -> Option<NodeId> {
        let leads_there = |edge: &usize| self.entries.get(*edge) == Some(&(element, port));
        // Mostly each direction has an element of its own, in the same order.
        let same = Some(element as usize).filter(leads_there);
        let edge = same.or_else(|| (0..self.entries.len()).find(leads_there))?;
        Some(self.topology.edges()[edge].from)
    }

    #[inline]
    pub fn at(&self, route: u32) -> &Route {
        &self.routes[route as usize]
    }

    /// All routes, in the order in which they were found.
    #[inline]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    pub fn listen(&mut self, node: NodeId, port: Port, process: u32) {
        self.listeners.insert((node, port), process);
    }

    /// A number for a new connection.
    pub fn reserve(&mut self) -> ConnectionId {
        self.connections.push(None);
        ConnectionId(self.connections.len() as u32 - 1)
    }

    /// A connection is being opened.
    pub fn open(&mut self, connection: ConnectionId, by: SocketRef, client: NodeId, port: Port) {
        let opened = Connection { client, port, ends: [ConnectionEnd::Claimed(by), ConnectionEnd::Unclaimed] };
        self.connections[connection.0 as usize] = Some(opened);
    }

    /// The end to which a connection's packet belongs that arrived at a node.
    #[inline]
    pub fn end(&self, connection: ConnectionId, at: NodeId) -> ConnectionEnd {
        match &self.connections[connection.0 as usize] {
            Some(known) => known.ends[usize::from(known.client != at)],
            None => ConnectionEnd::Released,
        }
    }

    /// The socket at a node that packets of a connection are of.
    pub fn socket(&self, connection: ConnectionId, at: NodeId) -> Option<SocketRef> {
        match self.end(connection, at) {
            ConnectionEnd::Claimed(end) | ConnectionEnd::Moved(end) => Some(end),
            ConnectionEnd::Unclaimed | ConnectionEnd::Released => None,
            // No rebinding stands for another one, so that this ends.
            ConnectionEnd::Rebound(number) => self.socket(self.rebindings.get(number as usize)?.connection, at),
        }
    }

    /// Which end of its connection sent a packet to a node.
    pub fn sender(&self, connection: ConnectionId, to: NodeId) -> Role {
        let client = self.connections[connection.0 as usize].as_ref().is_some_and(|known| known.client == to);
        if client { Role::Server } else { Role::Client }
    }

    /// The process that would accept a connection, and the port on which it listens.
    pub fn listener(&self, connection: ConnectionId, at: NodeId) -> Option<(u32, Port)> {
        let known = self.connections[connection.0 as usize].as_ref()?;
        self.listeners.get(&(at, known.port)).map(|process| (*process, known.port))
    }

    /// A connection was accepted.
    pub fn accept(&mut self, connection: ConnectionId, by: SocketRef) {
        if let Some(known) = &mut self.connections[connection.0 as usize] {
            known.ends[1] = ConnectionEnd::Claimed(by);
        }
    }

    /// An end of a connection was released.
    pub fn close(&mut self, connection: ConnectionId, end: SocketRef) {
        if let Some(known) = &mut self.connections[connection.0 as usize] {
            let is_that = |p: &ConnectionEnd| [ConnectionEnd::Claimed(end), ConnectionEnd::Moved(end)].contains(p);
            for end in known.ends.iter_mut().filter(|p| is_that(p)) {
                *end = ConnectionEnd::Released;
            }
        }
    }

    /// A NAT gives the client's packets on a path of a connection other ports: the flow that they have from now on. `None` if the
    /// connection was not accepted yet, so that there is nothing to be bound to.
    pub fn rebind(
        &mut self,
        client: SocketRef,
        path: PathId,
        (of, flow): (ConnectionId, FlowKey),
        change: AddressChange,
    ) -> Option<FlowKey> {
        let known = self.connections.get_mut(of.0 as usize)?.as_mut()?;
        if matches!(known.ends[1], ConnectionEnd::Unclaimed | ConnectionEnd::Released) {
            return None;
        }
        known.ends[0] = ConnectionEnd::Moved(client);
        let number = self.rebindings.len() as u32;
        let ends = [ConnectionEnd::Rebound(number); 2];
        let rebound = Connection { ends, ..*known };
        let rank = self.rebindings.iter().filter(|other| other.connection == of).count();
        let source = match change {
            AddressChange::Port => flow.source,
            AddressChange::Address => fresh_address(self.topology.interfaces().len(), number),
        };
        self.rebindings.push(Rebinding { connection: of, client, path, change, flow, rank });
        self.connections.push(Some(rebound));
        let connection = ConnectionId(self.connections.len() as u32 - 1);
        Some(FlowKey { source, destination: flow.destination, connection })
    }

    /// A rebinding by its number.
    pub fn rebinding(&self, number: u32) -> Option<&Rebinding> {
        self.rebindings.get(number as usize)
    }
}
