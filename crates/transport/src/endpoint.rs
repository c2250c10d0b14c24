//! The interface between a transport connection and what drives it.

use crate::Body;
use crate::path::{PathError, PathView};
use haltere_net::{Cx, Packet, PathId, Span, Time};

/// Number of a stream within a connection. TCP has stream 0 only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct StreamId(pub u64);

/// Which end of the connection this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It opens the connection.
    Client,
    /// It waits for one.
    Server,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The peer did not answer the opening packets.
    HandshakeTimeout,
    /// Retransmissions were given up.
    RetransmissionTimeout,
    /// Nothing was heard for the idle timeout.
    IdleTimeout,
    /// The peer broke the protocol; the text says how.
    ProtocolViolation(&'static str),
    /// No links lead to the peer and back.
    Unreachable,
    /// There is no transport to connect with.
    NoTransport,
}

impl CloseReason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            CloseReason::HandshakeTimeout => "the handshake was given up after too many retransmissions",
            CloseReason::RetransmissionTimeout => "retransmission was given up after too many timeouts",
            CloseReason::IdleTimeout => "nothing was heard from the peer for the idle timeout",
            CloseReason::ProtocolViolation(what) => what,
            CloseReason::Unreachable => "no links lead to the peer and back",
            CloseReason::NoTransport => "there is no transport to connect with",
        }
    }
}

/// What a connection tells its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The transport's handshake is over: streams may be written.
    Connected,
    /// The stream has bytes to read; a stream opened by the peer shows itself so.
    Readable(StreamId),
    /// Fewer bytes of the stream wait to be sent than [`Endpoint::wait_writable`] asked for.
    Writable(StreamId),
    /// A stream can be opened after [`Endpoint::open`] had refused one.
    Openable,
    /// Every byte of the stream was delivered to the application and the peer has finished it.
    Finished(StreamId),
    /// The connection is closed in good order.
    Closed,
    /// The connection failed.
    Failed(CloseReason),
}

/// What a connection counted, for results. Bytes of data are application bytes on streams (or in TCP's byte stream).
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Stats {
    /// Packets sent that carried data or had to be acknowledged.
    pub sent_packets: u64,
    /// Packets sent in all, acknowledgements included.
    pub sent_all: u64,
    /// Packets that carried data again.
    pub retransmitted_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Losses that turned out not to be.
    pub spurious_retransmissions: u64,
    /// Timeouts: retransmission timeouts (TCP), persistent congestion (QUIC).
    pub timeouts: u64,
    /// Probes sent: tail loss probes (TCP), probe timeouts (QUIC).
    pub probes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets that were dropped because they were damaged, forged, or no part of the connection.
    pub invalid_packets: u64,
    /// Bytes of the packets received on the wire, IP headers included.
    pub received_wire_bytes: u64,
    /// The smallest RTT sample.
    pub min_rtt: Option<Span>,
    /// Sum of the RTT samples, ns.
    pub rtt_sum_ns: u128,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// When the transport's handshake was over.
    pub connected_at: Option<Time>,
}

impl Stats {
    /// The counts of two connections together.
    pub fn and(self, other: Stats) -> Stats {
        let earlier = |a: Option<Time>, b: Option<Time>| a.into_iter().chain(b).min();
        Stats {
            sent_packets: self.sent_packets + other.sent_packets,
            sent_all: self.sent_all + other.sent_all,
            retransmitted_packets: self.retransmitted_packets + other.retransmitted_packets,
            lost_packets: self.lost_packets + other.lost_packets,
            spurious_retransmissions: self.spurious_retransmissions + other.spurious_retransmissions,
            timeouts: self.timeouts + other.timeouts,
            probes: self.probes + other.probes,
            received_packets: self.received_packets + other.received_packets,
            invalid_packets: self.invalid_packets + other.invalid_packets,
            received_wire_bytes: self.received_wire_bytes + other.received_wire_bytes,
            min_rtt: self.min_rtt.into_iter().chain(other.min_rtt).min(),
            rtt_sum_ns: self.rtt_sum_ns + other.rtt_sum_ns,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            connected_at: earlier(self.connected_at, other.connected_at),
        }
    }
    /// Counts an RTT sample.
    pub fn count_rtt(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        self.rtt_sum_ns += u128::from(rtt.as_nanos());
        self.rtt_samples += 1;
    }
    /// The mean of the RTT samples.
    pub fn mean_rtt(&self) -> Option<Span> {
        (self.rtt_samples > 0).then(|| Span::from_nanos((self.rtt_sum_ns / u128::from(self.rtt_samples)) as u64))
    }
}

/// One end of a connection.
///
/// The driver's cycle: call [`on_packet`](Endpoint::on_packet) or [`on_wake`](Endpoint::on_wake), let the application
/// take [`poll_event`](Endpoint::poll_event) until it is empty (it may read and write meanwhile), then take
/// [`poll_transmit`](Endpoint::poll_transmit) until it is empty, then ask [`next_wake`](Endpoint::next_wake).
/// Each call sees the same `cx.now`. Packets come out with `len`, `path`, `ecn` and `body` set; the driver fills in
/// flow and route.
pub trait Endpoint: Send {
    /// Begins the handshake (client only).
    fn connect(&mut self, cx: &mut Cx<'_>);
    /// Takes a packet that arrived at `cx.now`.
    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>);
    /// Runs the timers that are due at `cx.now`.
    fn on_wake(&mut self, cx: &mut Cx<'_>);
    /// When the next timer is due, or [`Time::NEVER`].
    fn next_wake(&self) -> Time;
    /// The next packet that may be sent now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>>;
    /// The next event for the application.
    fn poll_event(&mut self) -> Option<Event>;

    /// Whether the client may open streams and write before the handshake is over, for its first packets to carry
    /// (TCP Fast Open, QUIC's 0-RTT).
    fn takes_early_data(&self) -> bool {
        false
    }
    /// Opens a stream; `None` if the transport can have no further one now. TCP gives its only stream, once.
    fn open(&mut self) -> Option<StreamId>;
    /// Appends `bytes` bytes to the stream's send buffer.
    fn write(&mut self, stream: StreamId, bytes: u64);
    /// Bytes of the stream that were written and never sent. Only TCP knows: there what is written cannot be overtaken.
    fn unsent(&self, _: StreamId) -> u64 {
        0
    }
    /// Asks for one [`Event::Writable`] as soon as fewer than `below` bytes of the stream are unsent.
    fn wait_writable(&mut self, _: StreamId, _below: u64) {}
    /// Ends the stream after what was written.
    fn finish(&mut self, stream: StreamId);
    /// Takes at `now` the bytes that are ready in order, and returns how many.
    fn read(&mut self, stream: StreamId, now: Time) -> u64;
    /// Closes the connection once all that was written is delivered.
    fn close(&mut self);

    /// TLS secrets that are new since this was last asked, in the lines of `SSLKEYLOGFILE`
    /// (draft-ietf-tls-keylogfile); an endpoint without real cryptography has none.
    fn take_secrets(&mut self) -> String {
        String::new()
    }

    /// What was counted so far.
    fn stats(&self) -> Stats;
    /// Takes up a path. It carries data once the peer has answered on it; the peer takes it up with the first packet that comes.
    ///
    /// # Errors
    /// Why it does not.
    fn add_path(&mut self, _path: PathId, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// Gives a path up: what is in flight on it is sent again on others. Its number is not used again.
    ///
    /// # Errors
    /// Why it does not.
    fn abandon_path(&mut self, _path: PathId, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// A path as it is now; `None` if the connection never had it, or does not tell.
    fn path_view(&self, _path: PathId) -> Option<PathView> {
        None
    }
    /// Number of paths the connection has, or has had and abandoned.
    fn paths(&self) -> usize {
        1
    }
    /// Bytes in flight on a path.
    fn bytes_in_flight(&self, path: PathId) -> u64;
}
