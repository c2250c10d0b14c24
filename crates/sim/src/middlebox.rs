//! A middlebox on a link that removes MPTCP's options.

use haltere_net::counters::{LinkCounters, Stages};
use haltere_net::element::{Admission, AnyElement, Credit, Element, Port};
use haltere_net::occupancy::Held;
use haltere_net::{Cx, Packet, Time};
use haltere_transport::Body;

/// A link behind a middlebox that removes MPTCP's options from all segments, as firewalls and proxies do with options that they do
/// not know (RFC 8684 section 3.7; M. Honda et al., "Is it still possible to extend TCP?", IMC 2011).
pub struct StripsOptions(AnyElement<Body>);

impl StripsOptions {
    /// The link behind it.
    pub fn before(link: AnyElement<Body>) -> StripsOptions {
        StripsOptions(link)
    }
}

/// A segment without MPTCP's options, and shorter by them. Other packets are left as they are.
fn stripped(mut packet: Packet<Body>) -> Packet<Body> {
    if let Body::Mptcp(segment) = &packet.body {
        let bytes = segment.options.wire_len(segment.tcp.kind, segment.tcp.len);
        let plain = Body::Tcp(segment.tcp.clone());
        (packet.len, packet.body) = (packet.len.saturating_sub(bytes), plain);
    }
    packet
}

impl Element<Body> for StripsOptions {
    fn offer(&mut self, port: Port, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.0.offer(port, stripped(packet), cx);
    }
    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<Body>)> {
        self.0.poll(until, cx)
    }
    fn next_wake(&self) -> Time {
        self.0.next_wake()
    }
    fn credits(&self) -> bool {
        self.0.credits()
    }
    fn poll_credit(&mut self, until: Time) -> Option<(Time, Credit)> {
        self.0.poll_credit(until)
    }
    fn room(&self, port: Port) -> u64 {
        self.0.room(port)
    }
    fn admission(&self) -> Admission {
        self.0.admission()
    }
    fn counters(&self) -> LinkCounters {
        self.0.counters()
    }
    fn stages(&self) -> Option<Stages> {
        self.0.stages()
    }
    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.0.held(until, cx)
    }
    fn inside(&self) -> u64 {
        self.0.inside()
    }
    fn conserves(&self) -> bool {
        self.0.conserves()
    }
}
