//! RTP packets on streams (draft-ietf-avtcore-rtp-over-quic-14 section 5.2): which stream each takes, and their way back from there.

use super::{FLOW, Mapping};
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
    /// Packets that wait for a stream, which the peer does not allow yet.
    waiting: VecDeque<Arc<Packet>>,
    /// The stream to which packets are written, and the bytes written.
    open: Option<(StreamId, u64)>,
    /// The packets of each stream that is not over.
    placed: BTreeMap<u64, VecDeque<Placed>>,
}

impl Outgoing {
    /// Sends a packet with media on the stream that it belongs to.
    pub fn send(&mut self, packet: Arc<Packet>, mapping: Mapping, quic: &mut quic::Connection) {
        self.waiting.push_back(packet);
        self.write(mapping, quic);
    }

    /// Writes the packets that wait, as far as the peer allows streams.
    pub fn write(&mut self, mapping: Mapping, quic: &mut quic::Connection) {
        while let Some(packet) = self.waiting.front() {
            let Packet::Media(media) = &**packet else {
                self.waiting.pop_front();
                continue;
            };
            let begins = media.part.is_some_and(|part| {
                part.sequence == part.first && (mapping == Mapping::StreamPerFrame || part.frame.key)
            });
            let ends = mapping == Mapping::StreamPerFrame
                && media.part.is_some_and(|part| part.sequence + 1 == part.first + u64::from(part.parts));
            if begins && let Some((id, _)) = self.open.take() {
                quic.finish(id);
            }
            let Some((id, before)) = self.open.or_else(|| Some((quic.open()?, 0))) else { return };
            if before == 0 {
                self.placed.retain(|id, _| !quic.is_over(StreamId(*id)));
            }
            let bytes = packet.bare_len();
            let begin = if before == 0 { FLOW } else { 0 };
            let bytes = u64::from(begin + varint_len(u64::from(bytes)) + bytes);
            quic.write(id, bytes);
            self.open = Some((id, before + bytes));
            self.placed
                .entry(id.0)
                .or_default()
                .extend(self.waiting.pop_front().map(|packet| (before + bytes, packet)));
            if ends {
                quic.finish(id);
                self.open = None;
            }
        }
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
