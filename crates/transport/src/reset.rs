//! The answer of a host to a segment that belongs to none of its connections (RFC 9293 section 3.10.7.1).

use crate::Body;
use crate::mptcp;
use crate::tcp::Segment;
use crate::tcp::segment::{BASE_HEADER, Kind};
use haltere_net::Packet;

/// The reset that answers a packet, without a flow and a route. `None` if it is answered by nothing: it is a reset itself, or no
/// segment (QUIC's stateless reset is not modelled).
pub fn answer(packet: &Packet<Body>) -> Option<Packet<Body>> {
    let segment = packet.body.segment().filter(|segment| segment.kind != Kind::Reset)?;
    let reset = Segment::bare(Kind::Reset, segment.ack);
    let body = match &packet.body {
        Body::Mptcp(_) => {
            let options = mptcp::Options::default();
            Body::Mptcp(Box::new(mptcp::Segment { tcp: reset, options, subflow: packet.path }))
        }
        _ => Body::Tcp(reset),
    };
    Some(Packet::new(BASE_HEADER, body).with(|p| p.path = packet.path))
}
