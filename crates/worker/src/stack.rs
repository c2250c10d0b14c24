//! The interface that each stack is adapted to, in one file for each.

use crate::protocol::Figures;
use std::time::Instant;

/// Where a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Streams may not be written yet.
    Handshake,
    /// Streams may be written.
    Connected,
    /// It ended in good order.
    Closed,
    /// Nothing was received for the idle timeout.
    IdleTimeout,
    /// It ended by an error with this code (RFC 9000 section 20.1).
    Failed(u64),
}

/// The next thing to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A datagram of so many bytes that may go on this path at this instant, or at once if that is past.
    Datagram { len: usize, at: Instant, path: u8 },
    /// Nothing before this instant: ask again then.
    #[allow(dead_code, reason = "not every stack paces outside")]
    Later(Instant),
    /// Nothing.
    Nothing,
}

/// Bytes that were read of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// Its number.
    pub stream: u64,
    /// So many bytes more.
    pub bytes: u64,
    /// They were the last.
    pub ended: bool,
}

/// Bytes for a stream.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether the stream ends after them.
    pub last: bool,
}

/// One end of a connection of a stack. It may read the clock and draw random numbers
/// ([`crate::interposed`]). Streams are named by their number on the wire (RFC 9000 section 2.1).
pub trait Stack {
    /// Begins the handshake.
    ///
    /// # Errors
    /// The reason that the stack gives.
    fn connect(&mut self) -> Result<(), String>;
    /// Takes a datagram that came on a path; what is answered outside of a connection goes into `answers`. False if the datagram is damaged
    /// or for another connection.
    fn receive(&mut self, path: u8, datagram: &mut [u8], answers: &mut Vec<Vec<u8>>) -> bool;
    /// Runs the timers that are due.
    fn wake(&mut self);
    /// When the next timer is due.
    fn timeout(&mut self) -> Option<Instant>;
    /// Writes the next datagram.
    fn send(&mut self, room: &mut [u8]) -> Next;
    /// Where the connection stands.
    fn state(&mut self) -> State;
    /// Writes bytes to a stream, and its end if they are the last; returns how many were taken (the end, if all were),
    /// or none if the stream will never take any.
    fn write(&mut self, stream: u64, chunk: Chunk<'_>) -> Option<usize>;
    /// Whether all of a stream that was ended is acknowledged.
    fn delivered(&mut self, stream: u64) -> bool;
    /// Reads and discards what was received, of one stream at a time.
    fn read(&mut self) -> Option<Read>;
    /// Whether a client may open further paths.
    fn allows_paths(&mut self) -> bool {
        false
    }
    /// Opens a path as soon as the peer allows it.
    fn add_path(&mut self, _path: u8) {}
    /// Gives a path up.
    fn abandon_path(&mut self, _path: u8) {}
    /// How many bidirectional streams may have been opened by now.
    fn openable(&self) -> u64;
    /// Closes the connection without an error.
    fn close(&mut self);
    /// The stack's counters.
    fn figures(&mut self) -> Figures;
    /// Secrets that TLS has logged since the last call, in the lines of `SSLKEYLOGFILE`. A server's log has the secrets
    /// of both ends.
    fn secrets(&mut self) -> Vec<u8>;
    /// The stack's qlog since the last call.
    fn qlog(&mut self) -> Vec<u8>;
}
