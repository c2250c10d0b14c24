//! The interface between a transport connection and what drives it.

use crate::Body;
use crate::datagram::Datagram;
use crate::histogram::Histogram;
use crate::media::{self, Frame};
use crate::path::{AddressChange, PathError, PathStatus, PathView};
use crate::reassembly::Reassembly;
use crate::spares::Spares;
use haltere_net::element::Admission;
use haltere_net::{Cx, Packet, PathId, Span, Time};
use std::borrow::Cow;

/// Number of a stream within a connection. TCP has stream 0 only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct StreamId(pub u64);

/// Which end of the connection this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The client: it opens the connection.
    Client,
    /// The server: it waits for a connection.
    Server,
}

/// Why a connection ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The peer did not answer the opening packets.
    HandshakeTimeout,
    /// The sender retransmitted as often as it is allowed to, without an answer.
    RetransmissionTimeout,
    /// No packet arrived for the idle timeout.
    IdleTimeout,
    /// The peer broke the protocol; the text says how.
    ProtocolViolation(&'static str),
    /// No links lead to the peer and back.
    Unreachable,
    /// There is no transport to connect with.
    NoTransport,
    /// The client left the address to which the connection is bound.
    AddressLeft,
    /// The program at the client's end has ended with this status.
    Exited(i32),
    /// The program at the client's end was ended by this signal.
    Killed(i32),
    /// The program at the client's end cannot be started; the error as Linux numbers it.
    NotStarted(i32),
}

impl CloseReason {
    /// The reason in words.
    pub fn text(self) -> Cow<'static, str> {
        let text = match self {
            CloseReason::HandshakeTimeout => "the handshake was given up after too many retransmissions",
            CloseReason::RetransmissionTimeout => "retransmission was given up after too many timeouts",
            CloseReason::IdleTimeout => "nothing was heard from the peer for the idle timeout",
            CloseReason::ProtocolViolation(what) => what,
            CloseReason::Unreachable => "no links lead to the peer and back",
            CloseReason::NoTransport => "there is no transport to connect with",
            CloseReason::AddressLeft => "the client left the address to which the connection is bound",
            CloseReason::Exited(status) => return format!("the client program ended with status {status}").into(),
            CloseReason::Killed(signal) => return format!("the client program was ended by signal {signal}").into(),
            CloseReason::NotStarted(errno) => {
                let why = std::io::Error::from_raw_os_error(errno);
                return format!("the client program cannot be started: {why}").into();
            }
        };
        text.into()
    }
}

/// A report of a connection to its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The transport's handshake is complete: the application may write to streams.
    Connected,
    /// The stream has bytes to read. The first such event of an unknown stream means that the peer has opened it.
    Readable(StreamId),
    /// Fewer bytes of the stream are unsent than [`Endpoint::wait_writable`] asked for.
    Writable(StreamId),
    /// A stream can be opened, after [`Endpoint::open`] had refused one.
    Openable,
    /// Every byte of the stream was delivered to the application, and the peer has finished the stream.
    Finished(StreamId),
    /// Both ends allow several paths: [`Endpoint::add_path`] works from now on.
    Multipath,
    /// A datagram arrived.
    Datagram(Datagram),
    /// News of a transport of media.
    Media(media::News),
    /// The connection was closed without an error.
    Closed,
    /// The connection failed.
    Failed(CloseReason),
}

/// A distribution of RTT samples, ns.
pub type Rtts = Histogram<128>;

/// Counters of a connection, for results. Bytes of data are application bytes on streams (or in TCP's byte stream).
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Stats {
    /// Packets sent that carried data or had to be acknowledged.
    pub sent_packets: u64,
    /// All packets sent, acknowledgements included.
    pub sent_all: u64,
    /// Packets that carried retransmitted data.
    pub retransmitted_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Losses that proved spurious.
    pub spurious_retransmissions: u64,
    /// Bytes of data that were sent again on another path of the connection.
    pub reinjected_bytes: u64,
    /// Timeouts: retransmission timeouts (TCP), persistent congestion (QUIC).
    pub timeouts: u64,
    /// Probes sent: tail loss probes (TCP), probe timeouts (QUIC).
    pub probes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets that were dropped because they were damaged, forged, or not part of the connection.
    pub invalid_packets: u64,
    /// Bytes of the packets received on the wire, IP headers included.
    pub received_wire_bytes: u64,
    /// Bytes of data that were acknowledged and handed to the application, and that never arrived: only receivers that
    /// misbehave have any.
    pub concealed_bytes: u64,
    /// The smallest RTT sample.
    pub min_rtt: Option<Span>,
    /// Sum of the RTT samples, ns.
    pub rtt_sum_ns: u128,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// How the RTT samples are distributed; `None` if the endpoint was not asked to keep it.
    pub rtts: Option<Box<Rtts>>,
    /// When the transport's handshake was complete.
    pub connected_at: Option<Time>,
    /// The cost of data that arrived out of order; `None` if the transport does not know.
    pub reassembly: Option<Box<Reassembly>>,
}

impl Stats {
    /// The sum of the counters of two connections.
    pub fn and(self, other: Stats) -> Stats {
        let both = |a: Option<Box<Reassembly>>, b: Option<Box<Reassembly>>| match (a, b) {
            (Some(a), Some(b)) => Some(Box::new(a.and(&b))),
            (a, b) => a.or(b),
        };
        let all = |a: Option<Box<Rtts>>, b: Option<Box<Rtts>>| match (a, b) {
            (Some(mut a), Some(b)) => {
                a.merge(&b);
                Some(a)
            }
            (a, b) => a.or(b),
        };
        let earlier = |a: Option<Time>, b: Option<Time>| a.into_iter().chain(b).min();
        Stats {
            sent_packets: self.sent_packets + other.sent_packets,
            sent_all: self.sent_all + other.sent_all,
            retransmitted_packets: self.retransmitted_packets + other.retransmitted_packets,
            lost_packets: self.lost_packets + other.lost_packets,
            spurious_retransmissions: self.spurious_retransmissions + other.spurious_retransmissions,
            reinjected_bytes: self.reinjected_bytes + other.reinjected_bytes,
            timeouts: self.timeouts + other.timeouts,
            probes: self.probes + other.probes,
            received_packets: self.received_packets + other.received_packets,
            invalid_packets: self.invalid_packets + other.invalid_packets,
            received_wire_bytes: self.received_wire_bytes + other.received_wire_bytes,
            concealed_bytes: self.concealed_bytes + other.concealed_bytes,
            min_rtt: self.min_rtt.into_iter().chain(other.min_rtt).min(),
            rtt_sum_ns: self.rtt_sum_ns + other.rtt_sum_ns,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            rtts: all(self.rtts, other.rtts),
            connected_at: earlier(self.connected_at, other.connected_at),
            reassembly: both(self.reassembly, other.reassembly),
        }
    }
    /// Counts an RTT sample.
    pub fn count_rtt(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        self.rtt_sum_ns += u128::from(rtt.as_nanos());
        self.rtt_samples += 1;
        if let Some(rtts) = &mut self.rtts {
            rtts.add(rtt.as_nanos(), 1);
        }
    }
    /// The mean of the RTT samples.
    pub fn mean_rtt(&self) -> Option<Span> {
        (self.rtt_samples > 0).then(|| Span::from_nanos((self.rtt_sum_ns / u128::from(self.rtt_samples)) as u64))
    }
    /// The value that so much of the RTT samples does not exceed, within one part in 128; `None` if there are none, or if the
    /// distribution was not kept.
    pub fn rtt_quantile(&self, share: f64) -> Option<Span> {
        let rtts = self.rtts.as_deref().filter(|_| self.rtt_samples > 0)?;
        Some(Span::from_nanos(rtts.quantile(share, 0) as u64))
    }
}

/// The send buffer of a UDP socket, bytes (Linux: `net.core.wmem_default`).
pub const UDP_SEND_BUFFER: u64 = 212_992;

/// One end of a connection.
///
/// The driver repeats four steps. It calls [`on_packet`](Endpoint::on_packet) or [`on_wake`](Endpoint::on_wake). It
/// lets the application take events from [`poll_event`](Endpoint::poll_event) until there are none; the application may
/// read and write meanwhile. It takes packets from [`poll_transmit`](Endpoint::poll_transmit) until there are none. It
/// asks [`next_wake`](Endpoint::next_wake). All calls of one cycle have the same `cx.now`. Packets come out with `len`,
/// `path`, `ecn` and `body` set; the driver fills in flow and route.
pub trait Endpoint: Send {
    /// Begins the handshake (client only).
    fn connect(&mut self, cx: &mut Cx<'_>);
    /// Takes a packet that arrived at `cx.now`.
    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>);
    /// Runs the timers that are due at `cx.now`.
    fn on_wake(&mut self, cx: &mut Cx<'_>);
    /// When the next timer is due, or [`Time::NEVER`].
    fn next_wake(&self) -> Time;
    /// From `now` until then nothing happens in the world but what this endpoint's own process does. Transports that look ahead are told so
    /// before each call; it holds for one call, at this instant.
    fn look_ahead(&mut self, _now: Time, _until: Time) {}
    /// The next packet that may be sent now.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>>;
    /// The next event for the application.
    fn poll_event(&mut self) -> Option<Event>;
    /// Like [`on_packet`](Endpoint::on_packet); `spares` may get the packet once it was read.
    fn read_packet(&mut self, packet: Packet<Body>, _spares: &mut Spares, cx: &mut Cx<'_>) {
        self.on_packet(packet, cx);
    }
    /// Like [`poll_transmit`](Endpoint::poll_transmit); the packet may be one of `spares`, made anew.
    fn make_packet(&mut self, _spares: &mut Spares, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.poll_transmit(cx)
    }

    /// Whether the client may open streams and write before the handshake is complete. Its first packets then carry the
    /// data (TCP Fast Open, QUIC's 0-RTT).
    fn can_send_early_data(&self) -> bool {
        false
    }
    /// Opens a stream; `None` if the transport cannot open another one now, or has none, as those of datagrams and media. TCP
    /// returns its only stream, once.
    fn open(&mut self) -> Option<StreamId> {
        None
    }
    /// Appends `bytes` bytes to the stream's send buffer.
    fn write(&mut self, _: StreamId, _bytes: u64) {}
    /// Bytes of the stream that were written and never sent. Only TCP knows them, because it sends in the order of
    /// writing.
    fn unsent(&self, _: StreamId) -> u64 {
        0
    }
    /// Requests one [`Event::Writable`] for the time at which fewer than `below` bytes of the stream are unsent.
    fn wait_writable(&mut self, _: StreamId, _below: u64) {}
    /// Ends the stream after the bytes written so far.
    fn finish(&mut self, _: StreamId) {}
    /// Whether the end of a stream goes with data that a client just wrote. If not, it takes a packet of its own.
    fn ends_with_data(&self) -> bool {
        true
    }
    /// Takes the bytes that are ready in order at `now`, and returns their number.
    fn read(&mut self, _: StreamId, _now: Time) -> u64 {
        0
    }
    /// Sends a datagram. Returns whether the transport has datagrams; if not, nothing is sent.
    fn send_datagram(&mut self, _datagram: Datagram) -> bool {
        false
    }
    /// Sends a frame of media. Returns whether the transport carries media; if not, nothing is sent.
    fn send_frame(&mut self, _frame: Frame, _cx: &mut Cx<'_>) -> bool {
        false
    }
    /// Asks the peer of a transport of media for a key frame.
    fn want_key_frame(&mut self) {}
    /// Closes the connection once everything written is delivered. A call lasts until the run ends.
    fn close(&mut self) {}

    /// The TLS secrets that were added since the last call, as lines of `SSLKEYLOGFILE` (draft-ietf-tls-keylogfile). An
    /// endpoint without real cryptography has none.
    fn take_secrets(&mut self) -> String {
        String::new()
    }

    /// The network interface of the own node holds this many bytes of the path of the connection now. Only interfaces that credit are
    /// reported (see [`haltere_net::element`]). Returns whether the endpoint held packets back for that and may send now.
    fn on_local_backlog(&mut self, _path: PathId, _bytes: u64) -> bool {
        false
    }
    /// The interface did not simply take the packet that was sent last, which had this body. By default nothing is done
    /// about that: a UDP socket does not learn of it, unless it asks to (Linux: `IP_RECVERR`).
    fn on_admission(&mut self, _: Admission, _: &Body, _: &mut Cx<'_>) {}
    /// With this many bytes in the interface the socket blocks: no packet is asked for. It goes on when half of them have
    /// left (Linux: `sock_def_write_space`). This is the rule of UDP; TCP's own is in its `poll_transmit`.
    fn local_limit(&self) -> u64 {
        UDP_SEND_BUFFER
    }

    /// The counters so far.
    fn stats(&self) -> Stats;
    /// Adds a path. It carries data once the peer has answered on it. The peer adds the path when the first packet
    /// arrives on it.
    ///
    /// # Errors
    /// If the path cannot be added.
    fn add_path(&mut self, _path: PathId, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// Abandons a path. What is in flight on it is sent again on other paths. Its number is not used again.
    ///
    /// # Errors
    /// If the path cannot be abandoned.
    fn abandon_path(&mut self, _path: PathId, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// Moves the connection to another of the client's addresses (RFC 9000 section 9.2): `path` is the number of the path from there.
    /// It carries data once the peer has answered on it. The path that the connection leaves is not used any more, and its
    /// number may be given again when the client moves back.
    ///
    /// # Errors
    /// If the connection cannot move. [`PathError::Bound`] says that the transport knows its connections by their addresses.
    fn migrate(&mut self, _path: PathId, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::Bound)
    }
    /// Packets of the peer on path `of` come from a new address, to which `path` leads back. The peer may not know that
    /// (RFC 9000 section 9.3). Returns whether the transport recognises its connection nevertheless; the packets of one that does
    /// not are not part of it.
    fn on_new_address(&mut self, _of: PathId, _path: PathId, _change: AddressChange, _cx: &mut Cx<'_>) -> bool {
        false
    }
    /// Puts a path in reserve from now on, or takes it back. The peer is told, and does the same.
    ///
    /// # Errors
    /// If the transport has a single path, or no such path.
    fn set_status(&mut self, _path: PathId, _status: PathStatus, _cx: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }
    /// The present state of a path; `None` if the connection never had the path, or does not report on it.
    fn path_view(&self, _path: PathId) -> Option<PathView> {
        None
    }
    /// Number of paths of the connection, abandoned ones included.
    fn paths(&self) -> usize {
        1
    }
    /// Bytes in flight on a path.
    fn bytes_in_flight(&self, path: PathId) -> u64;
}
