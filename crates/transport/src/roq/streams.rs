//! RTP packets on streams of the model's QUIC (draft-ietf-avtcore-rtp-over-quic-14 section 5.2), and their way back from there.

use super::FLOW;
use crate::quic::{self, Frame, StreamContent, varint_len};
use crate::rtp::Packet;
use crate::{Endpoint, StreamId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A packet, and the offset of its stream at which it ends.
type Placed = (u64, Arc<Packet>);

/// The sending half.
#[derive(Default)]
pub(super) struct Outgoing {
    /// The packets of each stream that is not over.
    placed: BTreeMap<u64, VecDeque<Placed>>,
}

impl Outgoing {
    /// Writes a packet to a stream, with the flow identifier before the first.
    pub fn write(&mut self, id: StreamId, packet: Arc<Packet>, quic: &mut quic::Connection) {
        let before = self.placed.get(&id.0).and_then(|placed| placed.back()).map(|placed| placed.0);
        if before.is_none() {
            self.placed.retain(|id, _| !quic.is_over(StreamId(*id)));
        }
        let bytes = packet.bare_len();
        let begin = if before.is_none() { FLOW } else { 0 };
        let bytes = u64::from(begin + varint_len(u64::from(bytes)) + bytes);
        quic.write(id, bytes);
        self.placed.entry(id.0).or_default().push_back((before.unwrap_or(0) + bytes, packet));
    }

    /// How many streams are not over.
    #[cfg(test)]
    pub fn streams(&self) -> usize {
        self.placed.len()
    }

    /// Adds to QUIC packets which packets of media their streams' bytes end.
    pub fn note(&self, datagram: &mut quic::Datagram) {
        for packet in datagram.packets.iter_mut() {
            let mut ended = Vec::new();
            for frame in packet.frames.iter() {
                let Frame::Stream { id, offset, len, .. } = *frame else { continue };
                let Some(placed) = self.placed.get(&id) else { continue };
                let first = placed.partition_point(|(end, _)| *end <= offset);
                let of = placed.iter().skip(first).take_while(|(end, _)| *end <= offset + u64::from(len));
                ended.extend(of.map(|(end, packet)| StreamContent { id, end: *end, packet: packet.clone() }));
            }
            ended.into_iter().for_each(|content| packet.frames.push(Frame::StreamContent(Box::new(content))));
        }
    }
}

/// A stream of the peer.
#[derive(Default)]
struct Arriving {
    /// Bytes that were read.
    read: u64,
    /// Its packets by the offsets at which they end.
    packets: BTreeMap<u64, Arc<Packet>>,
}

/// The receiving half.
#[derive(Default)]
pub(super) struct Incoming {
    streams: BTreeMap<u64, Arriving>,
}

impl Incoming {
    /// Takes down which packets of media end in a datagram's streams.
    pub fn note(&mut self, datagram: &quic::Datagram, quic: &quic::Connection) {
        for frame in datagram.packets.iter().flat_map(|packet| packet.frames.iter()) {
            let Frame::StreamContent(content) = frame else { continue };
            if !quic.is_over(StreamId(content.id)) {
                self.streams.entry(content.id).or_default().packets.insert(content.end, content.packet.clone());
            }
        }
    }

    /// So many more bytes of a stream were read. Returns the packets that are whole with them.
    pub fn read(&mut self, id: StreamId, bytes: u64) -> Vec<Arc<Packet>> {
        let stream = self.streams.entry(id.0).or_default();
        stream.read += bytes;
        let rest = stream.packets.split_off(&(stream.read + 1));
        std::mem::replace(&mut stream.packets, rest).into_values().collect()
    }

    /// Whether hardly a stream is being read.
    #[cfg(test)]
    pub fn is_quiet(&self) -> bool {
        self.streams.len() <= 1
    }

    /// A stream was read to its end.
    pub fn on_finished(&mut self, id: StreamId) {
        self.streams.remove(&id.0);
    }
}
