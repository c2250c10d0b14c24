//! Changes of the addresses of connections: a network address translator (NAT) gives a client another port or address, or a
//! client moves to another of its own.
//!
//! The number of a connection stands for its ports. A rebinding gives the packets of a path a number of its own from then on,
//! and a source address of its own if that changes too. Packets to the former number find nobody at the client, as the NAT has
//! forgotten it. The server's socket is asked whether it recognises the connection: QUIC does, by its connection IDs. A TCP host
//! answers such a segment with a reset (RFC 9293 section 3.10.7.1).

use super::socket::SocketPath;
use super::tables::{ConnectionEnd, SocketRef};
use super::{World, context, reverse};
use haltere_net::{Address, ConnectionId, FlowKey, Packet, PathId, Time};
use haltere_transport::path::AddressChange;
use haltere_transport::{Body, reset};

/// A change of a process's addresses in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A NAT gives its packets on a path another port, or address. Without a path it is the one that it uses, or opened on.
    Rebinding(Option<PathId>, AddressChange),
    /// It leaves the path that it uses, or opened on, for this one.
    Migration(PathId),
    /// It leaves the network: its connections are no more, and nobody is told.
    End,
}

/// When something happens to the client's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// When.
    pub at: Time,
    /// The change.
    pub change: Change,
}

/// The first number of a path that a server gives to rebound addresses. The numbers below are those of the scenario's paths. A
/// scenario has no more rebindings than there are numbers from here on.
const FIRST_REBOUND: usize = 128;

/// A rebinding of a path of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebinding {
    /// The connection.
    pub connection: ConnectionId,
    /// The client's socket.
    pub client: SocketRef,
    /// The path, by the client's number.
    pub path: PathId,
    pub change: AddressChange,
    /// The flow of the client's packets before it. Its addresses may be those of an earlier rebinding.
    pub flow: FlowKey,
    /// How many rebindings the connection had before.
    pub rank: usize,
}

impl World {
    /// A packet arrived at the client of a connection of which a path was rebound. The NAT has forgotten the former ports.
    #[cold]
    pub(super) fn deliver_moved(&mut self, end: SocketRef, packet: Packet<Body>) -> Option<usize> {
        let socket = self.processes[end.process as usize].table.get(end.socket)?;
        let path = socket.paths.get(usize::from(packet.path.0)).copied().flatten();
        if path.is_some_and(|path| path.flow.connection == packet.flow.connection) {
            return Some(self.deliver(end, packet));
        }
        self.stray += 1;
        None
    }

    /// A packet arrived at a node whose addresses and ports are those of a rebinding.
    #[cold]
    pub(super) fn deliver_rebound(&mut self, number: u32, mut packet: Packet<Body>) -> Option<usize> {
        let &Rebinding { connection, client, path, change, flow, rank } = self.tables.rebinding(number)?;
        if packet.flow.destination != flow.destination {
            // It is for the client, which has not noticed that its path was rebound.
            let there = self.processes[client.process as usize].table.get(client.socket);
            if there.is_none_or(|socket| socket.connection != connection) {
                self.stray += 1;
                return None;
            }
            packet.path = path;
            return self.deliver_moved(client, packet);
        }
        let node = self.tables.at(packet.route).to;
        let ConnectionEnd::Claimed(end) = self.tables.end(connection, node) else {
            self.stray += 1;
            return None;
        };
        // Each rebinding of a connection has a number of its own, so that the path there has one, too.
        debug_assert!(rank < FIRST_REBOUND, "a scenario has at most 100 of them");
        let way = PathId(u8::try_from(FIRST_REBOUND + rank).unwrap_or(u8::MAX));
        let socket = self.processes[end.process as usize].table.get_mut(end.socket)?;
        if !matches!(socket.paths.get(usize::from(way.0)), Some(Some(_))) {
            let known = socket.paths.get(usize::from(path.0)).copied().flatten()?;
            let back = SocketPath { flow: reverse(packet.flow), ..known };
            let me = (self.elements.len() + end.process as usize) as u32;
            let mut cx = context(self.now, me, &mut self.recorder);
            if !socket.endpoint.on_new_address(path, way, change, &mut cx) {
                self.refuse(end, &packet, back);
                return None;
            }
            socket.learn(way, back);
        }
        packet.path = way;
        Some(self.deliver(end, packet))
    }

    /// A host answers a packet that belongs to none of its connections.
    fn refuse(&mut self, end: SocketRef, packet: &Packet<Body>, back: SocketPath) {
        self.stray += 1;
        let Some(answer) = reset::answer(packet) else { return };
        let class = self.processes[end.process as usize].class;
        let packet = answer.with(|p| {
            p.route = back.route;
            p.flow = back.flow;
            p.class = class;
        });
        if let Some(recorder) = &mut self.recorder {
            recorder.sent(end.process, self.now, &packet);
        }
        self.injected += 1;
        self.offer(back.first, packet);
    }
}

/// The address that a NAT gives a client, in the place of its own. No interface has it.
pub(super) fn fresh_address(interfaces: usize, rebinding: u32) -> Address {
    Address(u32::try_from(interfaces).unwrap_or(u32::MAX).saturating_add(rebinding))
}
