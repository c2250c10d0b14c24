//! Segments of kernels, read from the bytes of their packets into the form that the simulator's own segments have.

use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice, TcpOptionElement};
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::{Kind, MAX_SACK_BLOCKS, SackBlock};
use std::net::SocketAddrV4;

/// One direction of a connection: where its positions begin, and how its window is scaled.
#[derive(Clone, Copy, Debug)]
struct Direction {
    source: SocketAddrV4,
    destination: SocketAddrV4,
    /// The sequence number of the first byte, which stands after the SYN.
    first: u32,
    /// The position that was seen last.
    position: u64,
    scale: u8,
}

impl Direction {
    /// The position of a sequence number, as the nearest to the last.
    fn position(&self, sequence: u32) -> u64 {
        let distance = sequence.wrapping_sub(self.first).wrapping_sub(self.position as u32).cast_signed();
        self.position.saturating_add_signed(i64::from(distance))
    }
}

/// The connections whose segments are read.
#[derive(Debug, Default)]
pub(super) struct Bytes(Vec<Direction>);

impl Bytes {
    fn find(&self, source: SocketAddrV4, destination: SocketAddrV4) -> Option<usize> {
        self.0.iter().position(|one| (one.source, one.destination) == (source, destination))
    }

    /// The segment in an IPv4 packet. `None` if it has none, or if its connection was not seen from its beginning.
    pub fn segment(&mut self, packet: &[u8]) -> Option<Segment> {
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let tcp = TcpHeaderSlice::from_slice(packet.get(ip.slice().len()..)?).ok()?;
        let source = SocketAddrV4::new(ip.source_addr(), tcp.source_port());
        let destination = SocketAddrV4::new(ip.destination_addr(), tcp.destination_port());
        let data = packet.len().checked_sub(ip.slice().len() + tcp.slice().len())?;
        let scale = tcp.options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::WindowScale(scale)) => Some(scale),
            _ => None,
        });
        let own = match (self.find(source, destination), tcp.syn()) {
            (Some(own), false) => own,
            (None, false) => return None,
            (found, true) => {
                let (first, scale) = (tcp.sequence_number().wrapping_add(1), scale.unwrap_or(0).min(14));
                let begun = Direction { source, destination, first, position: 0, scale };
                found.inspect(|own| self.0[*own] = begun).unwrap_or_else(|| {
                    self.0.push(begun);
                    self.0.len() - 1
                })
            }
        };
        let kind = match (tcp.rst(), tcp.syn(), tcp.ack()) {
            (true, ..) => Kind::Reset,
            (_, true, true) => Kind::SynAck,
            (_, true, false) => Kind::Syn,
            _ => Kind::Data,
        };
        let seq = if tcp.syn() { 0 } else { self.0[own].position(tcp.sequence_number()) };
        let mut segment = Segment::bare(kind, seq);
        segment.len = u32::try_from(data).ok()?;
        self.0[own].position = self.0[own].position.max(seq + data as u64);
        // A SYN's window is not scaled (RFC 7323 section 2.2).
        let scale = if tcp.syn() { 0 } else { self.0[own].scale };
        segment.window = u64::from(tcp.window_size()) << scale;
        (segment.fin, segment.push) = (tcp.fin(), tcp.psh());
        (segment.ece, segment.cwr, segment.ae) = (tcp.ece(), tcp.cwr(), tcp.ns());
        if let Some(peer) = self.find(destination, source) {
            self.acknowledge(&mut segment, &tcp, peer);
        }
        Some(segment)
    }

    /// Fills in what a segment says of the other direction.
    fn acknowledge(&mut self, segment: &mut Segment, tcp: &TcpHeaderSlice<'_>, peer: usize) {
        let peer = &mut self.0[peer];
        if tcp.ack() {
            segment.ack = peer.position(tcp.acknowledgment_number());
        }
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::Timestamp(own, echo) => (segment.timestamp, segment.echo) = (own, echo),
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    let all = std::iter::once(first).chain(more.into_iter().flatten()).take(MAX_SACK_BLOCKS);
                    for (place, (start, end)) in segment.sack.iter_mut().zip(all) {
                        *place = SackBlock::new(peer.position(start), peer.position(end), segment.ack);
                        segment.sacks += 1;
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    /// Its ends are hosts 1 and 2, whose ports are their numbers.
    const UP: (u8, u8) = (1, 2);
    const DOWN: (u8, u8) = (2, 1);

    fn packet((from, to): (u8, u8), seq: u32, ack: u32, set: &[TcpOptionElement], flags: &str) -> Vec<u8> {
        let mut builder = PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
            .tcp(from.into(), to.into(), seq, 500)
            .options(set)
            .unwrap();
        for flag in flags.chars() {
            builder = match flag {
                'S' => builder.syn(),
                'F' => builder.fin(),
                _ => builder.ack(ack),
            };
        }
        let mut bytes = Vec::new();
        builder.write(&mut bytes, if flags == "A" && from == 2 { &[7; 100] } else { &[] }).unwrap();
        bytes
    }

    #[test]
    fn positions_begin_after_the_syn_and_do_not_wrap() {
        let mut bytes = Bytes::default();
        let scale = [TcpOptionElement::WindowScale(3)];
        let mut read =
            |ends, seq: u32, ack: u32, set: &[_], flags| bytes.segment(&packet(ends, seq, ack, set, flags)).unwrap();
        assert_eq!(read(UP, 5, 0, &scale, "S").kind, Kind::Syn);
        let answer = read(DOWN, u32::MAX - 20, 6, &scale, "SA");
        assert_eq!((answer.kind, answer.seq, answer.ack, answer.window), (Kind::SynAck, 0, 0, 500));
        let data = read(DOWN, u32::MAX - 19, 6, &[], "A");
        assert_eq!((data.seq, data.len, data.window), (0, 100, 4000));
        let sack = [TcpOptionElement::SelectiveAcknowledgement((80, 180), [None; 3])];
        let ack = read(UP, 6, 80, &sack, "A");
        assert_eq!((ack.seq, ack.ack, ack.sack_blocks().collect::<Vec<_>>()), (0, 100, vec![(100, 200)]));
        assert!(Bytes::default().segment(&packet(UP, 6, 80, &[], "A")).is_none(), "its beginning was not seen");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_segment_or_none(all in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..20)) {
            let mut bytes = Bytes::default();
            for (whole, mut some) in all {
                if whole {
                    let mut packet = packet(UP, 1, 2, &[], "S");
                    packet.truncate(20);
                    packet.append(&mut some);
                    some = packet;
                }
                let _ = bytes.segment(&some);
            }
        }
    }
}
