//! Datagrams: an endpoint that needs no connection. A UDP socket, or a host's ICMP echo.
//!
//! Datagrams are neither acknowledged nor sent again, and no congestion control holds it back.

use crate::{Body, Endpoint, Event, Stats};
use haltere_net::{Cx, Packet, PathId, Time};
use std::collections::VecDeque;

/// Bytes of headers: IPv4 (RFC 791 section 3.1) and either UDP (RFC 768) or an ICMP echo (RFC 792), both 8 bytes.
pub const HEADERS: u32 = 20 + 8;

/// The protocol of a datagram, as IP's header names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// An ICMP echo request (RFC 792).
    EchoRequest,
    /// An ICMP echo reply (RFC 792).
    EchoReply,
    /// UDP (RFC 768).
    Udp,
    /// Any protocol: a packet of which only the length is known.
    Any,
}

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number: the sequence number of an ICMP echo, or that in the payload of a probe. An answer has the number of
    /// what it answers.
    pub number: u64,
    /// Length of the IP packet, bytes.
    pub len: u32,
}

impl Datagram {
    /// A datagram with this many bytes of payload.
    pub const fn new(protocol: Protocol, number: u64, payload: u32) -> Datagram {
        Datagram { protocol, number, len: payload.saturating_add(HEADERS) }
    }

    /// The answer to it, of the same length.
    pub const fn answer(self) -> Datagram {
        let protocol = match self.protocol {
            Protocol::EchoRequest => Protocol::EchoReply,
            other => other,
        };
        Datagram { protocol, ..self }
    }
}

/// One end of an exchange of datagrams.
#[derive(Default, Debug)]
pub struct Socket {
    events: VecDeque<Event>,
    unsent: VecDeque<Datagram>,
    stats: Stats,
}

impl Endpoint for Socket {
    /// There is no handshake: the socket is connected at once.
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.stats.connected_at = Some(cx.now);
        self.events.push_back(Event::Connected);
    }

    fn on_packet(&mut self, packet: Packet<Body>, _: &mut Cx<'_>) {
        self.stats.received_packets += 1;
        self.stats.received_wire_bytes += u64::from(packet.len);
        match packet.body {
            Body::Datagram(datagram) => self.events.push_back(Event::Datagram(datagram)),
            _ => self.stats.invalid_packets += 1,
        }
    }

    fn on_wake(&mut self, _: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_>) -> Option<Packet<Body>> {
        let datagram = self.unsent.pop_front()?;
        self.stats.sent_packets += 1;
        self.stats.sent_all += 1;
        Some(Packet::new(datagram.len, Body::Datagram(datagram)))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn send_datagram(&mut self, datagram: Datagram) -> bool {
        self.unsent.push_back(datagram);
        true
    }
    fn stats(&self) -> Stats {
        self.stats.clone()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::ComponentId;

    fn cx() -> Cx<'static> {
        Cx::new(Time::ZERO, ComponentId(0))
    }

    #[test]
    fn a_payload_of_1450_bytes_is_an_ip_packet_of_1478() {
        let mut socket = Socket::default();
        assert!(socket.send_datagram(Datagram::new(Protocol::EchoRequest, 7, 1450)));
        let packet = socket.poll_transmit(&mut cx()).expect("a datagram was given");
        assert_eq!(packet.len, 1478);
        let Body::Datagram(sent) = packet.body else { panic!("not a datagram") };
        assert_eq!(sent.answer(), Datagram { protocol: Protocol::EchoReply, number: 7, len: 1478 });
        assert!(socket.poll_transmit(&mut cx()).is_none());
    }

    #[test]
    fn what_is_no_datagram_is_counted_as_invalid() {
        let mut socket = Socket::default();
        socket.on_packet(Packet::new(40, Body::Udp(Vec::new())), &mut cx());
        assert_eq!((socket.stats().received_packets, socket.stats().invalid_packets), (1, 1));
        assert_eq!(socket.poll_event(), None);
        let datagram = Datagram::new(Protocol::Udp, 1, 10);
        socket.on_packet(Packet::new(datagram.len, Body::Datagram(datagram)), &mut cx());
        assert_eq!(socket.poll_event(), Some(Event::Datagram(datagram)));
    }
}
