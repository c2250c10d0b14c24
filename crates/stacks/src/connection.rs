//! The interface that each stack is adapted to, and the types in it.

use crate::addresses::AddressPair;
use bytes::Bytes;
use haltere_net::{Ecn, PathId};
use haltere_transport::CloseReason;
use haltere_transport::path::PathError;
use haltere_transport::ranges::RangeSet;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The version of QUIC that all support (RFC 9000), and one that servers support no more.
pub(crate) const VERSION_1: u32 = 1;
pub(crate) const VERSION_DRAFT_29: u32 = 0xff00_001d;

/// The content of streams.
pub(crate) static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// How far a stream was read.
#[derive(Default, Debug)]
pub(crate) struct ReadProgress {
    /// Whether bytes are read in order, or as they come.
    pub ordered: bool,
    /// Bytes from the start without a gap.
    pub prefix: u64,
    /// Ranges that were read beyond a gap.
    pub beyond: RangeSet,
}

impl ReadProgress {
    /// `len` bytes at `offset` were read, for the first time.
    #[inline]
    pub fn take(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len);
        if offset == self.prefix && self.beyond.is_empty() {
            self.prefix = end;
            return;
        }
        self.beyond.insert(offset, end, |_, _| {});
        if let Some((start, end)) = self.beyond.first().filter(|(start, _)| *start <= self.prefix) {
            self.prefix = self.prefix.max(end);
            self.beyond.remove(start, end);
        }
    }
}

/// The reason to close for an error that ended a connection, by its code of RFC 9000 section 20.1.
pub(crate) fn violation(code: u64) -> CloseReason {
    CloseReason::ProtocolViolation(match code {
        0x01 => "a stack ended the connection with INTERNAL_ERROR (quinn's bound on gaps in a stream, among others)",
        0x02 => "a stack ended the connection with CONNECTION_REFUSED",
        0x03 => "a stack ended the connection with FLOW_CONTROL_ERROR",
        0x04 => "a stack ended the connection with STREAM_LIMIT_ERROR",
        0x05 => "a stack ended the connection with STREAM_STATE_ERROR",
        0x06 => "a stack ended the connection with FINAL_SIZE_ERROR",
        0x07 => "a stack ended the connection with FRAME_ENCODING_ERROR",
        0x08 => "a stack ended the connection with TRANSPORT_PARAMETER_ERROR",
        0x09 => "a stack ended the connection with CONNECTION_ID_LIMIT_ERROR",
        0x0a => "a stack ended the connection with PROTOCOL_VIOLATION",
        0x0b => "a stack ended the connection with INVALID_TOKEN",
        0x0d => "a stack ended the connection with CRYPTO_BUFFER_EXCEEDED",
        0x0e => "a stack ended the connection with KEY_UPDATE_ERROR",
        0x0f => "a stack ended the connection with AEAD_LIMIT_REACHED",
        0x100..=0x1ff => "a stack ended the connection with an alert of TLS",
        _ => "a stack ended the connection with an error of its own",
    })
}

/// An event that a stack reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StackEvent {
    /// Streams may be written.
    Connected,
    /// The peer does not support the version that was tried: [`StackConnection::connect`] tries the next.
    VersionRefused,
    /// The peer opened streams: [`StackConnection::accept`] gives them.
    Opened,
    /// The peer allows more streams.
    Openable,
    /// A stream has bytes to read, or its end.
    Readable(u64),
    /// A stream takes bytes again.
    Writable(u64),
    /// All of a stream that was ended is acknowledged.
    Delivered(u64),
    /// Both ends allow several paths: [`StackConnection::add_path`] works from now on.
    Multipath,
    /// The peer closed in good order.
    Closed,
    /// Nothing was received for the idle timeout.
    IdleTimeout,
    /// The connection failed.
    Failed(CloseReason),
}

/// The counters of a stack.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub spurious: u64,
    /// Smallest RTT; meaningful once there was a sample.
    pub min_rtt: Duration,
}

/// How a datagram came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The path that it came on.
    pub path: PathId,
    /// The addresses that it came to and from.
    pub addresses: AddressPair,
    pub ecn: Ecn,
}

/// How a datagram goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Departure {
    /// The address that it goes from, if the stack says.
    pub source: Option<IpAddr>,
    pub destination: SocketAddr,
    pub ecn: Ecn,
}

/// One end of a connection of a stack, with the stack's own timers, packets and streams. Streams go by their number on
/// the wire (RFC 9000 section 2.1).
pub(crate) trait StackConnection: Send {
    /// Begins the handshake.
    fn connect(&mut self, now: Instant) -> Result<(), &'static str>;
    /// Whether a client has keys for 0-RTT packets, so that streams may be opened before the handshake is over.
    fn has_early_keys(&self) -> bool;
    /// Whether the server took what came in 0-RTT packets; asked once connected.
    fn was_early_data_taken(&self) -> bool;
    /// Takes a datagram; what the stack answers outside of a connection goes into `answers`. False if the datagram is
    /// damaged or for another connection.
    fn receive(&mut self, now: Instant, arrival: Arrival, datagram: Vec<u8>, answers: &mut VecDeque<Vec<u8>>) -> bool;
    /// Runs the timers that are due.
    fn wake(&mut self, now: Instant);
    /// When the next timer is due.
    fn timeout(&mut self) -> Option<Instant>;
    /// Writes the next datagram that may go now.
    fn transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Departure>;
    /// The address of the peer that the connection uses now.
    fn remote(&self) -> Option<SocketAddr>;
    /// Begins to validate another path, or will as soon as the peer allows it.
    fn add_path(&mut self, _: Instant, _: PathId, _: AddressPair) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// Gives a path up.
    fn abandon_path(&mut self, _: Instant, _: AddressPair) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// The next event.
    fn poll_event(&mut self) -> Option<StackEvent>;
    /// Opens a bidirectional stream, if the peer allows one.
    fn open(&mut self) -> Option<u64>;
    /// The next bidirectional stream that the peer opened.
    fn accept(&mut self) -> Option<u64>;
    /// Writes up to `bytes` zero bytes; returns how many the stack took.
    fn write(&mut self, stream: u64, bytes: u64) -> u64;
    /// Ends a stream.
    fn finish(&mut self, stream: u64);
    /// Reads and discards what is there; returns whether all of the stream was read and it has ended.
    fn read(&mut self, stream: u64, progress: &mut ReadProgress) -> bool;
    /// Closes the connection at once.
    fn close(&mut self, now: Instant);
    /// The stack's counters.
    fn counts(&mut self) -> Counts;
}

/// The part of a connection that carries calls, beside its [`StackConnection`]: DATAGRAM frames (RFC 9221), and unidirectional streams with
/// real bytes.
pub(crate) trait CarriesCalls: Send {
    /// The most bytes of data that a DATAGRAM frame carries now; 0 if the peer takes none.
    fn max_datagram(&mut self) -> usize;
    /// Sends a DATAGRAM frame. Gives the data back as long as the stack's buffer is full; drops what fits into no packet.
    fn send_datagram(&mut self, data: Bytes) -> Result<(), Bytes>;
    /// The data of the next DATAGRAM frame that arrived.
    fn next_datagram(&mut self) -> Option<Bytes>;
    /// Opens a unidirectional stream, if the peer allows one.
    fn open_one_way(&mut self) -> Option<u64>;
    /// The next unidirectional stream that the peer opened.
    fn accept_one_way(&mut self) -> Option<u64>;
    /// Writes bytes; returns those that the stack did not take, none if the stream can be written no more.
    fn write_bytes(&mut self, stream: u64, bytes: Bytes) -> Bytes;
    /// Ends a stream that was opened here.
    fn end_one_way(&mut self, stream: u64);
    /// Appends the bytes that are there in order; returns whether the stream has ended.
    fn read_bytes(&mut self, stream: u64, into: &mut Vec<u8>) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_a_gap_count_once_it_is_closed() {
        let mut progress = ReadProgress::default();
        let mut after = |offset, len| {
            progress.take(offset, len);
            progress.prefix
        };
        assert_eq!([after(0, 10), after(20, 10), after(40, 5), after(10, 10), after(30, 10)], [10, 10, 10, 30, 45]);
        assert_eq!(after(45, 5), 50);
    }
}
