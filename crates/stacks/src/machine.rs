//! What a stack looks like from here: the skin that each is given.

use haltere_net::Ecn;
use haltere_transport::CloseReason;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What a stack tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Streams may be written.
    Connected,
    /// The peer opened streams: [`Machine::accept`] gives them.
    Opened,
    /// A stream has bytes to read, or its end.
    Readable(u64),
    /// A stream takes bytes again.
    Writable(u64),
    /// All of a stream that was ended is acknowledged.
    Delivered(u64),
    /// The peer closed in good order.
    Closed,
    /// Nothing was heard for the idle timeout.
    Silent,
    /// The connection failed.
    Failed(CloseReason),
}

/// What a stack counted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub spurious: u64,
    /// Smallest RTT; meaningful once there was a sample.
    pub min_rtt: Duration,
}

/// One end of a connection of a stack, with the stack's own timers, packets and streams. Streams go by their number on
/// the wire (RFC 9000 section 2.1).
pub(crate) trait Machine: Send {
    /// Begins the handshake.
    fn connect(&mut self, now: Instant) -> Result<(), &'static str>;
    /// Takes a datagram; what the stack answers outside of a connection goes into `answers`. False if the datagram is
    /// nothing to it: damaged, or for another.
    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: Vec<u8>, answers: &mut VecDeque<Vec<u8>>) -> bool;
    /// Runs the timers that are due.
    fn wake(&mut self, now: Instant);
    /// When the next timer is due.
    fn timeout(&mut self) -> Option<Instant>;
    /// Writes the next datagram that may go now.
    fn transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Ecn>;
    /// The next news.
    fn news(&mut self) -> Option<News>;
    /// Opens a bidirectional stream, if the peer allows one.
    fn open(&mut self) -> Option<u64>;
    /// The next bidirectional stream that the peer opened.
    fn accept(&mut self) -> Option<u64>;
    /// Writes up to `bytes` noughts; returns how many the stack took.
    fn write(&mut self, stream: u64, bytes: u64) -> u64;
    /// Ends a stream.
    fn finish(&mut self, stream: u64);
    /// Reads and discards what is there in order; returns how many bytes, and whether the stream has ended.
    fn read(&mut self, stream: u64) -> (u64, bool);
    /// Closes the connection at once.
    fn close(&mut self, now: Instant);
    /// What the stack counted.
    fn counts(&mut self) -> Counts;
}
