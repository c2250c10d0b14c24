//! DATAGRAM frames (RFC 9221): data that is sent once and lost with its packet.
//!
//! They are congestion controlled, paced and acknowledged like streams, and go before them. One that does not fit into a packet is
//! refused, or dropped where the path's packets have become smaller since (section 5 there).

use super::Verdict;
use super::connection::Connection;
use super::draft::Draft;
use super::frame::{Frame, varint_len};
use super::packet::SpaceId;
use super::sent::Record;
use crate::StreamId;
use crate::rtp;
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest frame that an end accepts, bytes with type and length: the value that RFC 9221 section 3 recommends.
pub(super) const MAX_FRAME: u16 = u16::MAX;
/// The transport parameter `max_datagram_frame_size` (RFC 9221 section 3): its number 0x20 1, length 1, 65535 4.
pub(super) const PARAMETER: u32 = 1 + 1 + 4;
/// The longest packet number (RFC 9000 section 17.3.1).
const LONGEST_NUMBER: u32 = 4;

/// A DATAGRAM frame's content.
#[derive(Clone, Debug)]
pub struct DatagramFrame {
    /// Bytes of its data.
    pub bytes: u32,
    /// The packet of a call that the data are; `None` if they are counted alone.
    pub packet: Option<Arc<rtp::Packet>>,
}

/// Two are equal if they carry one and the same packet.
impl PartialEq for DatagramFrame {
    fn eq(&self, other: &DatagramFrame) -> bool {
        let same = match (&self.packet, &other.packet) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same && self.bytes == other.bytes
    }
}

impl Eq for DatagramFrame {}

impl DatagramFrame {
    /// Bytes of the frame: type and length (section 4 there), and the data.
    pub fn size(&self) -> u32 {
        (1 + varint_len(u64::from(self.bytes))).saturating_add(self.bytes)
    }
}

/// A packet of a call that ends at a place of a stream. It takes no bytes of a QUIC packet: the frames of the stream carry its bytes, which
/// are not simulated.
#[derive(Clone, Debug)]
pub struct StreamContent {
    /// The stream.
    pub id: u64,
    /// The offset of the first byte after the packet.
    pub end: u64,
    /// The packet.
    pub packet: Arc<rtp::Packet>,
}

/// Two are equal if they are one and the same packet at one place.
impl PartialEq for StreamContent {
    fn eq(&self, other: &StreamContent) -> bool {
        (self.id, self.end) == (other.id, other.end) && Arc::ptr_eq(&self.packet, &other.packet)
    }
}

impl Eq for StreamContent {}

/// The fates of an end's DATAGRAM frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DatagramCounts {
    /// Frames that were sent.
    pub sent: u64,
    /// Frames whose packets were acknowledged.
    pub delivered: u64,
    /// Frames whose packets were declared lost.
    pub lost: u64,
    /// Frames that were never sent, as they fitted into no packet.
    pub dropped: u64,
}

/// The DATAGRAM frames of an end.
#[derive(Default, Debug)]
pub(super) struct DatagramFrames {
    /// Frames to be sent, in order.
    queue: VecDeque<DatagramFrame>,
    /// Frames that arrived and were not taken.
    arrived: VecDeque<DatagramFrame>,
    counts: DatagramCounts,
}

impl DatagramFrames {
    pub fn owes(&self) -> bool {
        !self.queue.is_empty()
    }

    pub fn on_acked(&mut self) {
        self.counts.delivered += 1;
    }

    pub fn on_lost(&mut self) {
        self.counts.lost += 1;
    }

    /// Puts frames into a packet, as far as there is room. `most` is the room of an empty packet.
    #[cold]
    pub fn draft(&mut self, draft: &mut Draft, room: u32, most: u32) {
        while let Some(frame) = self.queue.front() {
            let size = frame.size();
            if size > most {
                self.counts.dropped += 1;
                self.queue.pop_front();
            } else if draft.payload + size > room {
                return;
            } else if let Some(frame) = self.queue.pop_front() {
                self.counts.sent += 1;
                draft.records.push(Record::Datagram);
                draft.push(Frame::Datagram(Box::new(frame)));
            }
        }
    }
}

impl Connection {
    /// The room for frames in an empty 1-RTT packet, bytes.
    pub(super) fn room_of_empty_packet(&self, i: usize) -> u32 {
        let overhead = SpaceId::Data.overhead() + self.config.header() + LONGEST_NUMBER;
        self.paths[i].mtu.current().saturating_sub(overhead)
    }

    /// Whether a stream was opened and nothing is owed on it any more.
    pub(crate) fn is_over(&self, stream: StreamId) -> bool {
        self.streams.is_over(stream.0)
    }

    /// The most bytes of data that a DATAGRAM frame can carry now; 0 if the peer takes none.
    pub fn max_datagram(&self) -> u32 {
        let peer = self.peer.and_then(|peer| peer.max_datagram_frame_size).map_or(0, u32::from);
        let frame = self.room_of_empty_packet(self.main_path()).min(peer);
        let header = 1 + varint_len(u64::from(frame));
        frame.saturating_sub(header)
    }

    /// Sends data in a DATAGRAM frame, as soon as window and pacing allow. Returns whether it fits into a packet; if not, it is dropped
    /// and counted.
    pub fn send_datagram_frame(&mut self, frame: DatagramFrame) -> bool {
        let fits = frame.bytes <= self.max_datagram();
        if let Some(frames) = self.extras.as_mut().and_then(|extras| extras.datagrams.as_mut()) {
            if fits {
                frames.queue.push_back(frame);
            } else {
                frames.counts.dropped += 1;
            }
        }
        fits
    }

    /// The next DATAGRAM frame that arrived.
    pub fn next_datagram_frame(&mut self) -> Option<DatagramFrame> {
        self.extras.as_mut()?.datagrams.as_mut()?.arrived.pop_front()
    }

    /// The fates of the DATAGRAM frames so far.
    pub fn datagram_counts(&self) -> DatagramCounts {
        self.extras.as_ref().and_then(|extras| extras.datagrams.as_ref()).map_or_else(Default::default, |d| d.counts)
    }

    /// A DATAGRAM frame arrived.
    ///
    /// # Errors
    /// If this end allowed none, or none of this size (RFC 9221 section 3).
    #[cold]
    pub(super) fn on_datagram_frame(&mut self, frame: &DatagramFrame) -> Verdict {
        let Some(frames) = self.extras.as_mut().and_then(|extras| extras.datagrams.as_mut()) else {
            return Err("PROTOCOL_VIOLATION: a DATAGRAM frame, and none was allowed");
        };
        if frame.size() > u32::from(MAX_FRAME) {
            return Err("PROTOCOL_VIOLATION: a DATAGRAM frame that is longer than was allowed");
        }
        frames.arrived.push_back(frame.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: u32) -> DatagramFrame {
        DatagramFrame { bytes, packet: None }
    }

    #[test]
    fn a_frame_has_the_size_of_rfc_9221_section_4() {
        assert_eq!([frame(0), frame(63), frame(64), frame(1200)].map(|f| f.size()), [2, 65, 67, 1203]);
        assert_eq!(Frame::Datagram(Box::new(frame(100))).size(), 103);
        assert!(Frame::Datagram(Box::new(frame(1))).ack_eliciting());
    }

    #[test]
    fn frames_go_whole_and_in_order_and_one_that_fits_nowhere_is_dropped() {
        let mut frames = DatagramFrames::default();
        frames.queue.extend([frame(500), frame(5000), frame(600), frame(10)]);
        let mut draft = Draft::default();
        frames.draft(&mut draft, 1000, 1100);
        assert_eq!(
            (draft.payload, frames.counts.sent, frames.counts.dropped),
            (503, 1, 1),
            "600 does not fit any more"
        );
        assert!(draft.traits.eliciting && frames.owes());
        let mut next = Draft::default();
        frames.draft(&mut next, 1000, 1100);
        assert_eq!((next.payload, frames.owes()), (603 + 12, false));
    }
}
