//! Measures a flow from the packets at the client's tap: which data arrived, and when.

use super::packet::{FIN, Packet, Protocol, RST, SYN, opens};
use super::{End, Ends, Ranges, between, ends, unwrap};
use haltere_net::{Span, Time};
use serde::Serialize;

/// The client's counts of received data, over all connections of the flow.
#[derive(Clone, Default, Debug, Serialize)]
pub struct ClientCounts {
    /// Packets from the server.
    pub received_packets: u64,
    /// Packets from the server with payload.
    pub received_data_packets: u64,
    /// Bytes of all packets from the server, IP headers included.
    pub wire_bytes: u64,
    /// Bytes of those packets that came in the measured time.
    pub measured_wire_bytes: u64,
    /// Bytes of payload, each counted once (TCP); including duplicates (UDP).
    pub payload_bytes: u64,
    /// Bytes of payload that had come before (TCP).
    pub duplicate_bytes: u64,
    /// Payload packets that came before others of lower sequence number (TCP).
    pub reordered_packets: u64,
    /// The client's first packet.
    #[serde(skip)]
    pub start: Option<Time>,
    /// The server's SYN-ACK arrived (TCP).
    #[serde(skip)]
    pub connected: Option<Time>,
    /// The server's first byte in order arrived.
    #[serde(skip)]
    pub first_byte: Option<Time>,
    /// The last new payload arrived, before the client closed.
    #[serde(skip)]
    pub completed: Option<Time>,
}

/// Follows one flow at the client's tap.
#[derive(Default)]
pub struct ClientMeter {
    counts: ClientCounts,
    connections: Vec<(Ends, Receiver)>,
    /// The measured time begins so long after the client's first packet.
    after: Span,
}

/// The receiving half of one TCP connection. Sequence numbers are 64 bits wide, the SYN having number 0.
#[derive(Default)]
struct Receiver {
    isn: Option<u32>,
    high: u64,
    got: Ranges,
    /// The client has closed: later data do not count as completion.
    closing: bool,
    /// One end has reset the connection: later packets are not part of it.
    over: bool,
}

impl ClientMeter {
    /// A meter whose measured time begins so long after the client's first packet.
    pub fn measuring_after(after: Span) -> ClientMeter {
        ClientMeter { after, ..ClientMeter::default() }
    }

    /// Takes the next packet of the flow.
    pub fn take(&mut self, p: &Packet, from: End) {
        let c = &mut self.counts;
        let measured_bytes = if c.start.is_none_or(|start| p.at >= start + self.after) { p.length } else { 0 };
        if p.protocol != Protocol::Tcp {
            return if from == End::Server { c.on_datagram(p, measured_bytes) } else { c.on_client(p) };
        }
        let receiver = between(&mut self.connections, ends(p, from));
        if receiver.over && opens(p) {
            *receiver = Receiver::default();
        }
        // A reset ends the connection; it is counted only if it came from the server of one that still stood.
        let over = receiver.over;
        receiver.over |= p.has(RST);
        if over {
            return;
        }
        if from == End::Client {
            receiver.closing |= p.has(FIN);
            return c.on_client(p);
        }
        c.on_server(p, measured_bytes);
        receiver.take(p, c);
    }

    /// The counts so far.
    pub fn counts(&self) -> &ClientCounts {
        &self.counts
    }
}

/// Notes when something happened first. Packets of several taps do not come in the order of time.
fn first(noted: &mut Option<Time>, p: &Packet) {
    *noted = Some(noted.map_or(p.at, |t| t.min(p.at)));
}

impl ClientCounts {
    fn on_client(&mut self, p: &Packet) {
        first(&mut self.start, p);
    }

    fn on_server(&mut self, p: &Packet, measured_bytes: u32) {
        self.received_packets += 1;
        self.wire_bytes += u64::from(p.length);
        self.measured_wire_bytes += u64::from(measured_bytes);
        self.received_data_packets += u64::from(p.payload > 0);
    }

    fn on_datagram(&mut self, p: &Packet, measured_bytes: u32) {
        self.on_server(p, measured_bytes);
        if p.payload > 0 {
            self.payload_bytes += u64::from(p.payload);
            self.first_byte.get_or_insert(p.at);
            self.completed = Some(p.at);
        }
    }
}

impl Receiver {
    fn take(&mut self, p: &Packet, counts: &mut ClientCounts) {
        if p.has(SYN) {
            self.isn = Some(p.seq);
            self.high = 1;
            first(&mut counts.connected, p);
            return;
        }
        // A tap that came late has not seen the SYN.
        let isn = *self.isn.get_or_insert_with(|| {
            self.high = 1;
            p.seq.wrapping_sub(1)
        });
        if p.payload == 0 {
            return;
        }
        let start = unwrap(p.seq, isn, self.high);
        let end = start + u64::from(p.payload);
        let mut new = 0;
        self.got.insert(start, end, |s, e| new += e - s);
        counts.payload_bytes += new;
        counts.duplicate_bytes += u64::from(p.payload) - new;
        if new > 0 && end < self.high {
            counts.reordered_packets += 1;
        }
        self.high = self.high.max(end);
        if self.got.end_from(1) > 1 {
            first(&mut counts.first_byte, p);
        }
        if new > 0 && !self.closing {
            counts.completed = counts.completed.max(Some(p.at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{ACK, tests::segment};
    use super::*;
    use End::{Client, Server};

    fn counts(packets: &[(Packet, End)]) -> ClientCounts {
        let mut meter = ClientMeter::default();
        packets.iter().for_each(|(p, from)| meter.take(p, *from));
        meter.counts().clone()
    }

    #[test]
    fn holes_are_filled_and_doubles_do_not_complete_anything() {
        // The sequence number wraps within the transfer.
        let isn = u32::MAX - 1000;
        let data = |us, offset: u32| (segment(us, Server, ACK, isn.wrapping_add(1 + offset), 2, 1000), Server);
        let c = counts(&[
            (segment(0, Client, SYN, 7, 0, 0), Client),
            (segment(10, Server, SYN | ACK, isn, 8, 0), Server),
            (segment(11, Client, ACK, 8, isn.wrapping_add(1), 1), Client),
            data(20, 1000),
            data(30, 0),
            data(40, 2000),
            data(50, 1000),
            (segment(60, Client, RST, 9, 0, 0), Client),
            data(70, 3000),
        ]);
        assert_eq!((c.received_packets, c.received_data_packets, c.wire_bytes), (5, 4, 40 + 4 * 1040));
        assert_eq!((c.payload_bytes, c.duplicate_bytes, c.reordered_packets), (3000, 1000, 1));
        let us = |t: Option<Time>| t.map(|t| t.as_nanos() / 1000);
        let times = [c.start, c.connected, c.first_byte, c.completed].map(us);
        assert_eq!(times, [Some(0), Some(10), Some(30), Some(40)]);
    }

    #[test]
    fn what_comes_after_the_client_has_closed_completes_nothing_but_is_counted() {
        let c = counts(&[
            (segment(0, Client, SYN, 7, 0, 0), Client),
            (segment(10, Server, SYN | ACK, 99, 8, 0), Server),
            (segment(20, Server, ACK, 100, 8, 500), Server),
            (segment(30, Client, FIN | ACK, 8, 600, 0), Client),
            (segment(40, Server, ACK, 600, 9, 500), Server),
        ]);
        assert_eq!((c.payload_bytes, c.completed), (1000, Some(Time::from_nanos(20_000))));
    }

    #[test]
    fn datagrams_are_counted_as_they_come() {
        let datagram = |us, from, payload| {
            let p = segment(us, from, 0, 0, 0, payload);
            (Packet { protocol: Protocol::Udp, length: payload + 28, ..p }, from)
        };
        let c = counts(&[datagram(5, Client, 1200), datagram(9, Server, 1200), datagram(12, Server, 300)]);
        assert_eq!((c.received_packets, c.wire_bytes, c.payload_bytes), (2, 1556, 1500));
        let us = |t: Option<Time>| t.map(|t| t.as_nanos() / 1000);
        assert_eq!([c.start, c.connected, c.first_byte, c.completed].map(us), [Some(5), None, Some(9), Some(12)]);
    }

    #[test]
    fn the_measured_time_begins_some_time_after_the_first_packet() {
        let mut meter = ClientMeter::measuring_after(Span::from_micros(30));
        meter.take(&segment(10, Client, SYN, 7, 0, 0), Client);
        meter.take(&segment(20, Server, SYN | ACK, 99, 8, 0), Server);
        for us in [39, 40, 41] {
            meter.take(&segment(us, Server, ACK, 100, 8, 500), Server);
        }
        assert_eq!((meter.counts().wire_bytes, meter.counts().measured_wire_bytes), (40 + 3 * 540, 2 * 540));
    }
}
