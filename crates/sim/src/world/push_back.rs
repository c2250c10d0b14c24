//! Reports of the nodes' network interfaces to the sockets above them: how much they hold of each, and which packets
//! they refuse.
//!
//! Only interfaces that credit do (see [`haltere_net::element`]). A socket is charged for each packet that it offers to an
//! interface of its own node, and credited when the packet was sent or dropped there. What it does about that is its
//! transport's business: TCP has small queues, and a UDP socket blocks at its send buffer.

use super::tables::Hop;
use super::{World, context};
use crate::radio::Toward;
use haltere_net::Packet;
use haltere_net::element::{Admission, Credit, Element};
use haltere_transport::{Body, Role};

impl World {
    /// Offers a packet of a socket to an interface that credits, and tells the socket's transport what became of it.
    #[inline(never)]
    pub(super) fn send_credited(&mut self, process: usize, id: u32, hop: Hop, packet: Packet<Body>) {
        let me = (self.elements.len() + process) as u32;
        let (path, bytes) = (packet.path, u64::from(packet.len));
        // TCP takes back what is refused, and nobody saw it then. Other transports do not learn of it.
        let copy = packet.body.segment().is_some().then(|| packet.clone());
        if copy.is_none() {
            self.record_sent(process, id, &packet);
        }
        self.injected += 1;
        self.offer(hop, packet);
        let admission = self.elements[hop.element as usize].admission();
        if let Some(copy) = copy.as_ref().filter(|_| admission != Admission::Refused) {
            self.record_sent(process, id, copy);
        }
        let mut cx = context(self.now, me, &mut self.recorder);
        let table = &mut self.processes[process].table;
        if admission != Admission::Refused {
            table.note_on_radio(id, Toward::Network, bytes as u32, self.now);
        }
        table.has_sent(id);
        let Some(socket) = table.get_mut(id) else { return };
        let held = socket.charge(path, bytes);
        socket.endpoint.on_local_backlog(path, held);
        if let (true, Some(copy)) = (admission != Admission::Taken, &copy) {
            socket.endpoint.on_admission(admission, &copy.body, &mut cx);
        }
    }

    fn record_sent(&mut self, process: usize, id: u32, packet: &Packet<Body>) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(socket) = self.processes[process].table.get_mut(id) {
            let secrets = socket.endpoint.take_secrets();
            if !secrets.is_empty() {
                recorder.secrets(&secrets);
            }
        }
        recorder.sent(process as u32, self.now, packet);
    }

    /// Hands out the credits that are due of an element that was polled, and lets the sockets send that waited for them.
    /// Their processes then stand in `resumed`.
    #[inline(never)]
    pub(super) fn hand_out_credits(&mut self, machine: u32) {
        while let Some((_, credit)) = self.elements[machine as usize].poll_credit(self.now) {
            if let Some(process) = self.credit(machine, credit).filter(|process| self.resumed.last() != Some(process)) {
                self.resumed.push(process);
            }
        }
        self.schedule.set(machine, self.elements[machine as usize].next_wake());
        for n in 0..self.resumed.len() {
            self.pump(self.resumed[n]);
        }
    }

    /// Credits a packet to the socket that sent it, if that is on the interface's own node. Returns the process if the
    /// socket may go on sending.
    fn credit(&mut self, machine: u32, credit: Credit) -> Option<usize> {
        let node = self.tables.origin(machine, credit.port)?;
        match self.tables.topology().interfaces().get(credit.flow.source.0 as usize) {
            Some(interface) if interface.node == node => {}
            // An address that a NAT gave the client.
            None if self.tables.sender(credit.flow.connection, node) == Role::Server => {}
            _ => return None,
        }
        let end = self.tables.socket(credit.flow.connection, node)?;
        let table = &mut self.processes[end.process as usize].table;
        let socket = table.get_mut(end.socket)?;
        let (path, held) = socket.credit(credit.flow, u64::from(credit.bytes));
        let unblocked = socket.blocked && socket.below <= socket.endpoint.local_limit() / 2;
        socket.blocked &= !unblocked;
        if socket.endpoint.on_local_backlog(path, held) || unblocked {
            table.activate(end.socket);
            return Some(end.process as usize);
        }
        None
    }
}
