//! Configuration of a QUIC connection.

use super::datagram_frames::{MAX_FRAME, PARAMETER as MAX_DATAGRAM_PARAMETER};
use super::frame::TransportParameters;
use super::frequency::MIN_ACK_DELAY;
use super::keepsakes::KeepsakeSet;
use super::mtu::MtuProbes;
use super::packet::Form;
use super::received::AckPolicy;
use super::sizes::{
    HandshakeSizes, LONGER, MAX_PATH_ID as MAX_PATH_ID_PARAMETER, MIN_ACK_DELAY as MIN_ACK_DELAY_PARAMETER, Session,
};
use crate::cc::{self, Algorithm, Arithmetic, RenoFriendly, SlowStart};
use crate::endpoint::Role;
use crate::scheduler::{self, Scheduler};
use haltere_net::fault::Faults;
use haltere_net::rng::Stream;
use haltere_net::{Ecn, Span};

/// On which path of several the acknowledgements of a path go (draft-ietf-quic-multipath section 4.1 allows any).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PathAcks {
    /// On the path itself.
    #[default]
    Own,
    /// All on the path with the lowest number that is validated and not abandoned, as noq does (n0-computer/noq#799).
    Lowest,
}

/// How a connection gets and uses several paths.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Design {
    /// As draft-ietf-quic-multipath says.
    #[default]
    Draft,
    /// As Q. De Coninck and O. Bonaventure, "Multipath QUIC: design and evaluation", CoNEXT 2017, sections 3.1 and 3.2: see
    /// `multipath/conext.rs`.
    Conext2017,
}

impl Design {
    /// Bytes that it adds to the header of a 1-RTT packet: the path's number.
    #[inline]
    pub(super) const fn header(self) -> u32 {
        self as u32
    }

    /// How 1-RTT packets are written.
    #[inline]
    pub(super) const fn form(self) -> Form {
        match self {
            Design::Draft => Form::Plain,
            Design::Conext2017 => Form::Numbered,
        }
    }
}

/// How packets are spread over the round trip.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Pacing {
    /// In bursts of [`Config::burst`] datagrams at the rate of RFC 9002 section 7.7, or as the algorithm says.
    #[default]
    Spread,
    /// As quinn: from a bucket of tokens of 10 to 256 datagrams, whatever the algorithm says (quinn-proto 0.11.19,
    /// `connection/pacing.rs`).
    Bucket,
    /// As noq: the bucket holds ten milliseconds at most, and keeps back probes, acknowledgements and the handshake too (noq-proto
    /// 1.4.0, `connection/pacing.rs`, and `connection/mod.rs`, `path_congestion_check`).
    ShortBucket,
}

/// Whether acknowledgements wait while window or pacing keep data from going, and where they stand in a packet with data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AcksWait {
    /// They never wait, and go before any data.
    #[default]
    Never,
    /// They wait, and go behind data until they are due, as in quinn (quinn-proto 0.11.19, `connection/mod.rs`, `poll_transmit` and
    /// `populate_packet`).
    Behind,
    /// They wait, and go when they are due, before data, as in noq (noq-proto 1.4.0, the same).
    UntilDue,
}

/// The default of [`Config::max_streams`] (RFC 9114 section 6.1 recommends at least that).
pub const MAX_STREAMS: u64 = 100;

/// Configuration of one end of a connection. [`Config::new`] gives the defaults, which are those of a deployment of
/// today where the RFCs leave a choice.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which end it is.
    pub role: Role,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// The agent that decides in its place, if one does.
    pub agent: Option<cc::Desk>,
    /// Where loaded code of congestion control says that it failed, if somebody listens.
    pub faults: Option<Faults>,
    /// Slow start's early exit; `None` leaves it to the algorithm.
    pub slow_start: Option<SlowStart>,
    /// The configuration of a congestion control that receives the same events and is recorded, but never used; its own
    /// `shadow` is the next one ([`cc::Shadowed`]).
    pub shadow: Option<Box<Config>>,
    /// How CUBIC grows where Reno would have the larger window.
    pub reno_friendly: RenoFriendly,
    /// How CUBIC and NewReno count.
    pub arithmetic: Arithmetic,
    /// Whether packets are ECN-capable and marks heeded (RFC 9000 section 13.4). Default false but for algorithms that need
    /// it.
    pub ecn: bool,
    /// Packets are sent as ECT(1), which asks the network for L4S treatment (RFC 9331). Default: the algorithm's.
    pub l4s: bool,
    /// As a receiver, it takes marked packets for unmarked ones, as one that hides congestion from its sender does
    /// (RFC 3168 section 18.2, RFC 9743 section 7.6). Default false.
    pub hides_marks: bool,
    /// Dice for congestion control: path 0 has them, each other path a part of its own, `path 1` and so on.
    pub stream: Stream,
    /// The initial window in datagrams; in bytes it is bounded as RFC 9002 section 7.2 says. Default 10.
    pub initial_window: u64,
    /// The largest UDP payload that probes look for and that is accepted, bytes; 1472 fills an Ethernet frame under
    /// IPv4. 1200 turns the search off.
    pub max_udp_payload: u16,
    /// The largest UDP payload that is sent, bytes; `None` leaves it to `max_udp_payload`, which also bounds what the peer may
    /// send. 1200 turns the search off.
    pub largest_datagram: Option<u16>,
    /// How that size is looked for. Default [`MtuProbes::Largest`].
    pub mtu_probes: MtuProbes,
    /// Bytes of IP and UDP header. Default that of IPv4.
    pub ip_udp: u32,
    /// Whether windows are kept in whole datagrams. Default false.
    pub whole_segments: bool,
    /// How many connections the congestion window grows and shrinks like (Chromium: `num_emulated_connections`).
    pub emulated_connections: u8,
    /// Whether a sender idle for longer than a probe timeout starts from a smaller window (RFC 5681 section 4.1). Default
    /// true.
    pub idle_restart: bool,
    /// Packets later than one that is missing, after which it is lost (RFC 9002 section 6.1.1, `kPacketThreshold`). Default
    /// 3; 0 for never.
    pub packet_threshold: u64,
    /// Eighths of the RTT after which a missing packet is lost (section 6.1.2, `kTimeThreshold`). Default 9; 0 for never.
    pub time_threshold: u64,
    /// Probe timeouts that make losses persistent congestion (section 7.6.1, `kPersistentCongestionThreshold`). Default 3; 0
    /// for never.
    pub persistent_congestion: u64,
    /// Whether a probe that has no new data to send repeats stream data in flight (section 6.2.4). Default true; quinn and
    /// noq then repeat other frames alone, or send PING, and send stream data again once it is lost.
    pub probe_data: bool,
    /// Whether a probe timeout has the oldest data in flight sent again although there are new data, in one packet the first time and
    /// in two from then on, in the handshake as well, as in quiche (quiche 0.30.0, `recovery/congestion/recovery.rs`,
    /// `on_loss_detection_timeout`). Default false.
    pub probe_oldest: bool,
    /// Whether probes are datagrams of 1200 bytes at most, with IMMEDIATE_ACK before other frames, as quinn's. Default false.
    pub small_probes: bool,
    /// By how much a probe timeout may at most be longer than the one before, or one and a half smoothed RTTs if that is more, as in noq
    /// (noq-proto 1.4.0, `connection/mod.rs`, `pto_time_and_space`). Default [`Span::MAX`]: it doubles without a bound (section 6.2.1).
    pub probe_step: Span,
    /// Granularity of the loss timers (section 6.1.2, `kGranularity`). Default 1 ms.
    pub granularity: Span,
    /// RTT supposed before there is a sample (section 6.2.2, `kInitialRtt`). Default 333 ms.
    pub initial_rtt: Span,
    /// Whether the distribution of RTT samples is kept for results, not only their mean. Default false.
    pub rtts: bool,
    /// Datagrams at the start that are not paced; `None` for the initial window, as section 7.7 allows.
    pub unpaced: Option<u64>,
    /// Whether packets are paced (RFC 9002 section 7.7). Default true.
    pub pacing: bool,
    /// Datagrams that leave back to back when paced and the algorithm does not say. Default 2.
    pub burst: u64,
    /// How packets are paced. Default [`Pacing::Spread`].
    pub pacer: Pacing,
    /// Whether a datagram may fill the congestion window to the last byte. Default true; in quinn a byte must be left.
    pub full_window: bool,
    /// Whether a packet is cut to what the window has left, as in quiche (quiche 0.30.0, `lib.rs`, `send_single`). Default false: it
    /// waits until it fits.
    pub cut_packets: bool,
    /// Whether a packet has one STREAM frame at most, which always has its offset and, in two bytes, its length, as in quiche (the
    /// same). Default false.
    pub lone_frames: bool,
    /// Whether no more of what the application writes is taken than the window has left when a datagram arrives, as in quiche (quiche
    /// 0.30.0, `lib.rs`, `update_tx_cap`). Default false: all of it is, at once.
    pub takes_by_window: bool,
    /// Whether connection identifiers have 20 bytes, the most that there may be, as in quiche's programs; both ends must agree. Default
    /// false: 8.
    pub long_ids: bool,
    /// When acknowledgements are sent.
    pub ack: AckPolicy,
    /// Whether acknowledgements wait for window and pacing. Default [`AcksWait::Never`].
    pub acks_wait: AcksWait,
    /// Whether this end has the acknowledgement-frequency extension (draft-ietf-quic-ack-frequency): it heeds what the
    /// peer asks, and asks a peer that has it too. Default false.
    pub ack_frequency: bool,
    /// First receive window of a stream, bytes. Default 6 MiB, as Chromium has it (`kQuicStreamMaxRecvWindowSize`).
    pub stream_window: u64,
    /// Its largest size, bytes. Default 64 MiB, five times the bandwidth-delay product of 1 Gbit/s x 100 ms.
    pub max_stream_window: u64,
    /// First receive window of the connection, bytes. Default 15 MiB, as Chromium has it.
    pub connection_window: u64,
    /// Its largest size, bytes. Default 96 MiB.
    pub max_connection_window: u64,
    /// Streams the peer may have open. Default [`MAX_STREAMS`].
    pub max_streams: u64,
    /// Whether the connection's streams are unidirectional (RFC 9000 section 2.1): the end that opens one alone writes to it. Both ends
    /// must agree. Default false: all are bidirectional.
    pub unidirectional: bool,
    /// Whether this end has DATAGRAM frames (RFC 9221). Default false.
    pub datagrams: bool,
    /// Silence after which the connection is given up. Default 30 s.
    pub idle_timeout: Span,
    /// Client: silence after which it sends a PING (RFC 9000 section 10.1.2). Default never.
    pub keep_alive: Option<Span>,
    /// Whether a window reduction is taken back when all losses behind it prove spurious. Default true.
    pub undo: bool,
    /// Paths that the connection may have at a time and in all (draft-ietf-quic-multipath), 1 for a connection without that
    /// extension. Default 1.
    pub max_paths: u8,
    /// Which path a packet takes where there are several. Default lowest RTT first.
    pub scheduler: Scheduler,
    /// On which path the acknowledgements of a path go.
    pub path_acks: PathAcks,
    /// How many connection identifiers of each end may be in use or spare at a time (RFC 9000 section 18.2,
    /// `active_connection_id_limit`), at least 2; with several paths, how many further paths may be open (`initial_max_path_id`). Both
    /// ends must agree. Default `None`: as many as are needed, which no packet carries.
    pub connection_ids: Option<u8>,
    /// How several paths are got and used; both ends must agree. Default that of the draft.
    pub design: Design,
    /// Whether packet numbers are left out now and then, as quinn's. Default false.
    pub skipped_numbers: bool,
    /// Server: the tokens and tickets that it sends for its client's next connection. Default none.
    pub keepsakes: KeepsakeSet,
    /// Sizes of this end's handshake messages, for a new session.
    pub messages: HandshakeSizes,
    /// Whether the session of an earlier connection is taken up; both ends must agree. Default new.
    pub session: Session,
    /// The server's parameters in that earlier connection, for 0-RTT packets to keep to (RFC 9000 section 7.4.1); `None`
    /// supposes this end's own.
    pub remembered: Option<TransportParameters>,
    /// Server: addresses are validated by a Retry packet (section 8.1.2). Default false.
    pub retry: bool,
    /// Client: the version it tries first is one that the server does not have (section 6). Default false.
    pub unknown_version: bool,
}

impl Config {
    /// The ECN field of a packet that arrived, as this end takes it.
    #[inline]
    pub(super) fn taken(&self, ecn: Ecn) -> Ecn {
        match ecn {
            Ecn::Ce if self.hides_marks => {
                if self.l4s {
                    Ecn::Ect1
                } else {
                    Ecn::Ect0
                }
            }
            other => other,
        }
    }

    /// The defaults for this end and this algorithm; `stream` is congestion control's dice.
    pub fn new(role: Role, algorithm: Algorithm, stream: Stream) -> Config {
        const MIB: u64 = 1 << 20;
        Config {
            role,
            algorithm,
            slow_start: None,
            agent: None,
            faults: None,
            shadow: None,
            reno_friendly: RenoFriendly::default(),
            arithmetic: Arithmetic::default(),
            ecn: algorithm.needs_ecn(),
            l4s: algorithm.is_l4s(),
            hides_marks: false,
            stream,
            initial_window: 10,
            max_udp_payload: 1472,
            largest_datagram: None,
            mtu_probes: MtuProbes::default(),
            ip_udp: super::sizes::IP_UDP,
            whole_segments: false,
            emulated_connections: 1,
            idle_restart: true,
            packet_threshold: 3,
            time_threshold: 9,
            persistent_congestion: 3,
            probe_data: true,
            probe_oldest: false,
            small_probes: false,
            probe_step: Span::MAX,
            granularity: Span::from_millis(1),
            initial_rtt: Span::from_millis(333),
            rtts: false,
            unpaced: None,
            pacing: true,
            burst: 2,
            pacer: Pacing::default(),
            full_window: true,
            cut_packets: false,
            lone_frames: false,
            takes_by_window: false,
            long_ids: false,
            ack: AckPolicy::default(),
            acks_wait: AcksWait::default(),
            ack_frequency: false,
            stream_window: 6 * MIB,
            max_stream_window: 64 * MIB,
            connection_window: 15 * MIB,
            max_connection_window: 96 * MIB,
            max_streams: MAX_STREAMS,
            unidirectional: false,
            datagrams: false,
            idle_timeout: Span::from_secs(30),
            keep_alive: None,
            undo: true,
            max_paths: 1,
            scheduler: scheduler::LOWEST_RTT,
            path_acks: PathAcks::Own,
            connection_ids: None,
            design: Design::Draft,
            skipped_numbers: false,
            keepsakes: KeepsakeSet::None,
            messages: HandshakeSizes::CLASSICAL,
            session: Session::New,
            remembered: None,
            retry: false,
            unknown_version: false,
        }
    }

    /// The largest UDP payload that may be sent, bytes.
    pub(super) fn largest(&self) -> u16 {
        self.largest_datagram.unwrap_or(self.max_udp_payload)
    }

    /// Bytes of the header of a 1-RTT packet beyond a plain one's.
    #[inline]
    pub(super) fn header(&self) -> u32 {
        self.design.header() + if self.long_ids { LONGER } else { 0 }
    }

    /// How 1-RTT packets are written.
    #[inline]
    pub(super) fn form(&self) -> Form {
        if self.long_ids { Form::LongIds } else { self.design.form() }
    }

    /// The configurations of all that are in its shadow.
    pub(super) fn shadows(&self) -> impl Iterator<Item = &Config> {
        std::iter::successors(self.shadow.as_deref(), |config| config.shadow.as_deref())
    }

    /// The configuration of a path's congestion control, with datagrams of `mss` bytes and headers of `ip_udp`.
    pub(super) fn facts(&self, mss: u64, ip_udp: u32, stream: Stream) -> cc::Config {
        // quiche's controllers count in the largest datagrams from the beginning.
        let counted = if self.arithmetic == Arithmetic::Quiche { mss.max(self.largest().into()) } else { mss };
        cc::Config {
            role: self.role,
            mss: counted,
            wire: counted + u64::from(ip_udp),
            grain: if self.whole_segments { mss } else { 1 },
            connections: self.emulated_connections.into(),
            // RFC 9002 section 7.2, for windows of other sizes in the same proportion.
            initial_window: (self.initial_window * mss).min((1472 * self.initial_window).max(2 * mss)),
            slow_start: self.slow_start,
            reno_friendly: self.reno_friendly,
            arithmetic: self.arithmetic,
            paced: self.pacing,
            // A user-space stack reads an exact clock.
            tick: Span::ZERO,
            phase: Span::ZERO,
            stream,
            values: &[],
            faults: self.faults.clone(),
        }
    }

    /// Sizes of this end's handshake messages in its session.
    pub(super) fn flights(&self) -> HandshakeSizes {
        let mut flights = self.messages.with(self.session);
        if self.ack_frequency {
            flights.client_hello += MIN_ACK_DELAY_PARAMETER;
            flights.encrypted_extensions += MIN_ACK_DELAY_PARAMETER;
        }
        if self.datagrams {
            flights.client_hello += MAX_DATAGRAM_PARAMETER;
            flights.encrypted_extensions += MAX_DATAGRAM_PARAMETER;
        }
        if self.max_paths > 1 {
            flights.client_hello += MAX_PATH_ID_PARAMETER;
            flights.encrypted_extensions += MAX_PATH_ID_PARAMETER;
        }
        flights
    }

    /// The transport parameters that this end tells the other.
    pub fn parameters(&self) -> TransportParameters {
        TransportParameters {
            initial_max_data: self.connection_window,
            initial_max_stream_data: self.stream_window,
            initial_max_streams: self.max_streams,
            max_ack_delay: self.ack.max_delay,
            max_udp_payload: self.max_udp_payload,
            max_idle_timeout: self.idle_timeout,
            min_ack_delay: self.ack_frequency.then_some(MIN_ACK_DELAY),
            initial_max_path_id: (self.max_paths > 1)
                .then(|| self.connection_ids.unwrap_or(u8::MAX).min(self.max_paths - 1)),
            max_datagram_frame_size: self.datagrams.then_some(MAX_FRAME),
        }
    }
}
