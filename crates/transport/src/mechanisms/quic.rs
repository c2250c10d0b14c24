//! QUIC's mechanisms.

use super::tcp::{of_reno_friendly, of_slow_start, to_reno_friendly, to_slow_start};
use super::{Kind, Mechanism, Value, off_at_zero};
use crate::cc::Arithmetic;
use crate::quic::{AcksWait, Config, HandshakeSizes, KeepsakeSet, MtuProbes, Pacing};
use haltere_net::Span;

type Quic = Mechanism<Config>;

const fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Why TCP does not have what QUIC's acknowledgements have.
const SACKS: &str =
    "TCP's acknowledgements are cumulative with SACK blocks: write +sack-blocks=…, -sack-compression or -delack";
/// Why TCP does not have QUIC's flow-control windows.
const WINDOWS: &str = "TCP has one window, of the connection: write +receive-window=… or +max-receive-window=…";

/// Every mechanism of QUIC.
pub const QUIC: &[Quic] = &[
    Quic::new(
        "hystart",
        Kind::OneOf(&["linux", "rfc9406"]),
        "slow start ends early: by ACK trains and delays as in Linux, or by HyStart++; auto: linux for cubic, else off",
        "Ha, Rhee 2011; tcp_cubic.c; RFC 9406",
        (|c| of_slow_start(c.slow_start), |c, v| c.slow_start = to_slow_start(v)),
    )
    .on(Value::Word("linux"))
    .off(),
    Quic::new(
        "reno-friendly",
        Kind::OneOf(&["linux", "rfc9438", "quinn"]),
        "cubic where Reno would have the larger window: follows it a round later (linux), has it (rfc9438), or runs ahead (quinn)",
        "RFC 9438 section 4.3; tcp_cubic.c; quinn-proto cubic.rs",
        (|c| of_reno_friendly(c.reno_friendly), |c, v| c.reno_friendly = to_reno_friendly(v)),
    ),
    Quic::new(
        "growth",
        Kind::OneOf(&["exact", "quinn", "noq", "quiche"]),
        "how cubic and newreno count: as Linux but with exact numbers, or as quinn, packet by packet and cubic with its own curve and rule where Reno is ahead; noq's cubic wastes no credit; or as quiche, whose cubic takes reductions by few losses back",
        "tcp_cubic.c; quinn-proto 0.11.19 and noq-proto 1.4.0, congestion/cubic.rs and new_reno.rs; quiche 0.30.0, recovery/congestion",
        (
            |c| {
                Value::Word(match c.arithmetic {
                    Arithmetic::Exact | Arithmetic::Linux => "exact",
                    Arithmetic::Quinn => "quinn",
                    Arithmetic::Noq => "noq",
                    Arithmetic::Quiche => "quiche",
                })
            },
            |c, v| {
                c.arithmetic = match v {
                    Value::Word("quinn") => Arithmetic::Quinn,
                    Value::Word("noq") => Arithmetic::Noq,
                    Value::Word("quiche") => Arithmetic::Quiche,
                    _ => Arithmetic::Exact,
                }
            },
        ),
    ),
    Quic::new(
        "initial-window",
        Kind::Segments(1, 10_000),
        "congestion window at first, in datagrams",
        "RFC 9002 section 7.2",
        (|c| Value::Number(c.initial_window), |c, v| c.initial_window = v.number()),
    ),
    Quic::new(
        "datagram",
        Kind::Bytes(1200, 65_507),
        "the largest UDP payload that is probed for; 1200B: no search; auto: what the MTU leaves",
        "RFC 9000 section 14, RFC 8899",
        (
            |c| c.largest_datagram.map_or(Value::Auto, |n| Value::Number(n.into())),
            |c, v| c.largest_datagram = v.is_on().then(|| u16::try_from(v.number()).unwrap_or(u16::MAX)),
        ),
    )
    .only("TCP has segments: write +segment=…"),
    Quic::new(
        "mtu-probes",
        Kind::OneOf(&["largest", "first", "halving"]),
        "the search for the largest datagram: at once for the largest, when data wait beyond the window or before any of them (quiche), or by halves, where nothing else may go (quinn)",
        "RFC 8899 section 5.3.2; quinn-proto 0.11.19, connection/mtud.rs, next_mtu_to_probe; quiche 0.30.0, path.rs, should_send_pmtu_probe",
        (
            |c| {
                Value::Word(match c.mtu_probes {
                    MtuProbes::Largest => "largest",
                    MtuProbes::First => "first",
                    MtuProbes::Halving => "halving",
                })
            },
            |c, v| {
                c.mtu_probes = match v {
                    Value::Word("halving") => MtuProbes::Halving,
                    Value::Word("first") => MtuProbes::First,
                    _ => MtuProbes::Largest,
                }
            },
        ),
    )
    .only("TCP has segments: write +segment=…"),
    Quic::new(
        "header",
        Kind::Bytes(28, 200),
        "bytes of IP and UDP header; 48 for IPv6, more for a tunnel",
        "RFC 791 section 3.1, RFC 768",
        (|c| Value::Number(c.ip_udp.into()), |c, v| c.ip_udp = v.small()),
    ),
    Quic::new(
        "pacing",
        Kind::OnOff,
        "packets are spread over the round trip",
        "RFC 9002 section 7.7",
        (|c| Value::from(c.pacing), |c, v| c.pacing = v.is_on()),
    ),
    Quic::new(
        "unpaced",
        Kind::Segments(0, 10_000),
        "datagrams at the start that are not paced; auto: the initial window",
        "RFC 9002 section 7.7",
        (|c| c.unpaced.map_or(Value::Auto, Value::Number), |c, v| c.unpaced = Some(v.number())),
    ),
    Quic::new(
        "burst",
        Kind::Segments(1, 1000),
        "datagrams that leave back to back when paced and the algorithm does not say",
        "RFC 9002 section 7.7",
        (|c| Value::Number(c.burst), |c, v| c.burst = v.number()),
    )
    .only("TCP's bursts are super-segments: write +tso=…, +tso-least=… or -tso"),
    Quic::new(
        "pacer",
        Kind::OneOf(&["spread", "bucket", "short-bucket"]),
        "how packets are paced: in bursts at a rate, or from a bucket of 10 to 256 datagrams that is filled when it is empty (quinn), or of 10 ms at most that holds back every packet (noq)",
        "RFC 9002 section 7.7; quinn-proto 0.11.19 and noq-proto 1.4.0, connection/pacing.rs",
        (
            |c| {
                Value::Word(match c.pacer {
                    Pacing::Spread => "spread",
                    Pacing::Bucket => "bucket",
                    Pacing::ShortBucket => "short-bucket",
                })
            },
            |c, v| {
                c.pacer = match v {
                    Value::Word("bucket") => Pacing::Bucket,
                    Value::Word("short-bucket") => Pacing::ShortBucket,
                    _ => Pacing::Spread,
                }
            },
        ),
    )
    .only("TCP's bursts are super-segments: write +tso=…, +tso-least=… or -tso"),
    Quic::new(
        "full-window",
        Kind::OnOff,
        "a datagram may fill the congestion window to the last byte; off: a byte stays free, as in quinn",
        "RFC 9002 section 7; quinn-proto 0.11.19, connection/mod.rs, poll_transmit",
        (|c| Value::from(c.full_window), |c, v| c.full_window = v.is_on()),
    )
    .only("TCP counts what fits: write -whole-segments"),
    Quic::new(
        "cut-packets",
        Kind::OnOff,
        "a packet is cut to what the congestion window has left, as in quiche; off: it waits until it fits",
        "RFC 9002 section 7; quiche 0.30.0, lib.rs, send_single",
        (|c| Value::from(c.cut_packets), |c, v| c.cut_packets = v.is_on()),
    )
    .only("TCP counts what fits: write -whole-segments"),
    Quic::new(
        "lone-frames",
        Kind::OnOff,
        "a packet has one STREAM frame at most, with offset and a length of two bytes, so that data sent again do not fill packets up, as in quiche",
        "RFC 9000 section 19.8; quiche 0.30.0, lib.rs, send_single",
        (|c| Value::from(c.lone_frames), |c, v| c.lone_frames = v.is_on()),
    )
    .only("TCP has one stream"),
    Quic::new(
        "takes-by-window",
        Kind::OnOff,
        "no more of what the application writes is taken than the window has left when a datagram arrives, as in quiche; off: all at once",
        "quiche 0.30.0, lib.rs, update_tx_cap",
        (|c| Value::from(c.takes_by_window), |c, v| c.takes_by_window = v.is_on()),
    )
    .only("TCP's buffer is set by +send-buffer=…"),
    Quic::new(
        "idle-restart",
        Kind::OnOff,
        "a window-based sender idle for longer than a probe timeout starts from a smaller window",
        "RFC 5681 section 4.1",
        (|c| Value::from(c.idle_restart), |c, v| c.idle_restart = v.is_on()),
    ),
    Quic::new(
        "whole-segments",
        Kind::OnOff,
        "windows are kept in whole datagrams, and algorithms follow the kernel where it departs from their papers",
        "tcp_cong.c",
        (|c| Value::from(c.whole_segments), |c, v| c.whole_segments = v.is_on()),
    ),
    Quic::new(
        "emulated-connections",
        Kind::Count(1, 10),
        "the window of cubic grows and shrinks as those of so many connections together",
        "Chromium, cubic_bytes.cc, SetNumConnections",
        (|c| Value::Number(c.emulated_connections.into()), |c, v| c.emulated_connections = v.small() as u8),
    ),
    Quic::new(
        "packet-threshold",
        Kind::Segments(1, 1000),
        "packets later than one that is missing, after which it is lost; off: by time alone",
        "RFC 9002 section 6.1.1, kPacketThreshold",
        (|c| off_at_zero(c.packet_threshold), |c, v| c.packet_threshold = v.number()),
    )
    .on(Value::Number(3))
    .off()
    .only("TCP has one of its own: write +loss-threshold=…"),
    Quic::new(
        "time-threshold",
        Kind::Count(8, 800),
        "eighths of the RTT after which a packet that is missing is lost; off: by number alone",
        "RFC 9002 section 6.1.2, kTimeThreshold",
        (|c| off_at_zero(c.time_threshold), |c, v| c.time_threshold = v.number()),
    )
    .on(Value::Number(9))
    .off()
    .only("TCP finds losses by time with RACK: write +rack or -rack"),
    Quic::new(
        "persistent-congestion",
        Kind::Count(1, 100),
        "probe timeouts without an acknowledgement that bring the window down to its least",
        "RFC 9002 section 7.6, kPersistentCongestionThreshold",
        (|c| off_at_zero(c.persistent_congestion), |c, v| c.persistent_congestion = v.number()),
    )
    .on(Value::Number(3))
    .off()
    .only("TCP's retransmission timeout stands for it"),
    Quic::new(
        "probe-data",
        Kind::OnOff,
        "a probe without new data repeats stream data in flight; off: other frames or PING, as quinn and noq",
        "RFC 9002 section 6.2.4; quinn-proto spaces.rs, maybe_queue_probe",
        (|c| Value::from(c.probe_data), |c, v| c.probe_data = v.is_on()),
    )
    .only("TCP's probe always holds data: write +tlp or -tlp"),
    Quic::new(
        "probe-oldest",
        Kind::OnOff,
        "a probe timeout has the oldest data sent again, even beside new data, in one packet the first time, as in quiche",
        "RFC 9002 section 6.2.4; quiche 0.30.0, recovery/congestion/recovery.rs, on_loss_detection_timeout",
        (|c| Value::from(c.probe_oldest), |c, v| c.probe_oldest = v.is_on()),
    )
    .only("TCP's probe is a segment: write +tlp or -tlp"),
    Quic::new(
        "small-probes",
        Kind::OnOff,
        "a probe is a datagram of 1200 bytes at most, asks for an acknowledgement at once, and probes one space of the handshake, as quinn's",
        "quinn-proto 0.11.19, connection/mod.rs, poll_transmit, and spaces.rs, maybe_queue_probe",
        (|c| Value::from(c.small_probes), |c, v| c.small_probes = v.is_on()),
    )
    .only("TCP's probe is a segment: write +tlp or -tlp"),
    Quic::new(
        "probe-step",
        Kind::Time(ms(1), Span::from_secs(60)),
        "by how much a probe timeout may be longer than the one before, or 1.5 RTTs if that is more (noq: 2s); off: it doubles",
        "RFC 9002 section 6.2.1; noq-proto 1.4.0, connection/mod.rs, pto_time_and_space",
        (
            |c| if c.probe_step == Span::MAX { Value::Off } else { Value::Time(c.probe_step) },
            |c, v| c.probe_step = if v.is_on() { v.span() } else { Span::MAX },
        ),
    )
    .off()
    .only("TCP's timeouts double up to 120 s"),
    Quic::new(
        "granularity",
        Kind::Time(Span::from_micros(1), Span::from_secs(1)),
        "granularity of the loss timers",
        "RFC 9002 section 6.1.2, kGranularity",
        (|c| Value::Time(c.granularity), |c, v| c.granularity = v.span()),
    )
    .only("TCP's timers go by the host's tick: write +tick=…"),
    Quic::new(
        "initial-rtt",
        Kind::Time(ms(1), Span::from_secs(60)),
        "the RTT that is supposed before there is a sample",
        "RFC 9002 section 6.2.2, kInitialRtt",
        (|c| Value::Time(c.initial_rtt), |c, v| c.initial_rtt = v.span()),
    )
    .only("TCP's first timeout is that of the SYN, 1 s (RFC 6298 section 2.1)"),
    Quic::new(
        "undo",
        Kind::OnOff,
        "a reduction is taken back when all losses behind it prove to be none",
        "RFC 4015 in other words; deployed stacks",
        (|c| Value::from(c.undo), |c, v| c.undo = v.is_on()),
    ),
    Quic::new(
        "ecn",
        Kind::OnOff,
        "packets are ECN-capable and marks heeded; always for dctcp and prague",
        "RFC 9000 section 13.4",
        (|c| Value::from(c.ecn), |c, v| c.ecn = v.is_on()),
    ),
    Quic::new(
        "l4s",
        Kind::OnOff,
        "packets are sent as ECT(1) where ECN is used: queues such as dualpi2 give them L4S treatment",
        "RFC 9331 section 4.1",
        (|c| Value::from(c.l4s), |c, v| c.l4s = v.is_on()),
    ),
    Quic::new(
        "hides-marks",
        Kind::OnOff,
        "the receiver reports no ECN marks: it misbehaves, to be sent more",
        "RFC 3168 section 18.2, RFC 9743 section 7.6",
        (|c| Value::from(c.hides_marks), |c, v| c.hides_marks = v.is_on()),
    ),
    Quic::new(
        "delack",
        Kind::OnOff,
        "acknowledgements are delayed; off: every packet is acknowledged at once",
        "RFC 9000 section 13.2.1",
        (|c| Value::from(c.ack.every > 1), |c, v| c.ack.every = if v.is_on() { c.ack.every } else { 1 }),
    ),
    Quic::new(
        "ack-every",
        Kind::Segments(1, 1000),
        "ack-eliciting packets that are answered by one acknowledgement",
        "RFC 9000 section 13.2.2",
        (|c| Value::Number(c.ack.every.into()), |c, v| c.ack.every = v.small()),
    ),
    Quic::new(
        "ack-delay",
        Kind::Time(Span::from_nanos(1), ms((1 << 14) - 1)),
        "the longest an acknowledgement is delayed",
        "RFC 9000 section 18.2, max_ack_delay",
        (|c| Value::Time(c.ack.max_delay), |c, v| c.ack.max_delay = v.span()),
    ),
    Quic::new(
        "ack-reordering",
        Kind::Segments(1, 1000),
        "how far behind the largest a missing packet must be for an acknowledgement at once; off: never",
        "RFC 9000 section 13.2.1; draft-ietf-quic-ack-frequency section 6.2",
        (|c| off_at_zero(c.ack.reordering), |c, v| c.ack.reordering = v.number()),
    )
    .on(Value::Number(1))
    .off()
    .only(SACKS),
    Quic::new(
        "ack-ranges",
        Kind::Count(1, 1000),
        "ranges of packet numbers that an acknowledgement reports at most",
        "RFC 9000 section 13.2.3",
        (
            |c| Value::Number(c.ack.max_ranges as u64),
            |c, v| c.ack.max_ranges = usize::try_from(v.number()).unwrap_or(usize::MAX),
        ),
    )
    .only(SACKS),
    Quic::new(
        "ack-elicit",
        Kind::Count(1, 1000),
        "of so many packets that only acknowledge, the last asks for an answer, so that old ranges can be dropped",
        "RFC 9000 section 13.2.4; Chromium, kMaxConsecutiveNonRetransmittablePackets",
        (|c| Value::Number(c.ack.elicit_every.into()), |c, v| c.ack.elicit_every = v.small()),
    )
    .only(SACKS),
    Quic::new(
        "acks-wait",
        Kind::OneOf(&["behind", "until-due"]),
        "an acknowledgement waits while window or pacing keep data from going, and goes behind data until it is due (quinn), or only when it is due, before data (noq)",
        "quinn-proto 0.11.19 and noq-proto 1.4.0, connection/mod.rs, poll_transmit and populate_packet",
        (
            |c| match c.acks_wait {
                AcksWait::Never => Value::Off,
                AcksWait::Behind => Value::Word("behind"),
                AcksWait::UntilDue => Value::Word("until-due"),
            },
            |c, v| {
                c.acks_wait = match v {
                    Value::Word("behind") => AcksWait::Behind,
                    Value::Word("until-due") => AcksWait::UntilDue,
                    _ => AcksWait::Never,
                }
            },
        ),
    )
    .on(Value::Word("behind"))
    .off()
    .only("TCP's acknowledgements wait for nothing"),
    Quic::new(
        "ack-frequency",
        Kind::OnOff,
        "both ends have the extension by which the sender asks for four acknowledgements a round trip",
        "draft-ietf-quic-ack-frequency",
        (|c| Value::from(c.ack_frequency), |c, v| c.ack_frequency = v.is_on()),
    )
    .only("it is an extension of QUIC; TCP's acknowledgements are set by +ack-every=…"),
    Quic::new(
        "stream-window",
        Kind::Bytes(2_048, 1 << 40),
        "receive window of a stream at first",
        "Chromium, kQuicStreamMaxRecvWindowSize",
        (|c| Value::Number(c.stream_window), |c, v| c.stream_window = v.number()),
    )
    .only(WINDOWS),
    Quic::new(
        "max-stream-window",
        Kind::Bytes(2_048, 1 << 40),
        "what it may grow to",
        "five bandwidth-delay products of 1 Gbit/s and 100 ms",
        (|c| Value::Number(c.max_stream_window), |c, v| c.max_stream_window = v.number()),
    )
    .only(WINDOWS),
    Quic::new(
        "connection-window",
        Kind::Bytes(2_048, 1 << 40),
        "receive window of the connection at first",
        "Chromium, kQuicSessionMaxRecvWindowSize",
        (|c| Value::Number(c.connection_window), |c, v| c.connection_window = v.number()),
    )
    .only(WINDOWS),
    Quic::new(
        "max-connection-window",
        Kind::Bytes(2_048, 1 << 40),
        "what it may grow to",
        "half again that of a stream",
        (|c| Value::Number(c.max_connection_window), |c, v| c.max_connection_window = v.number()),
    )
    .only(WINDOWS),
    Quic::new(
        "max-streams",
        Kind::Count(1, 1 << 20),
        "bidirectional streams that the peer may have open",
        "RFC 9114 section 6.1",
        (|c| Value::Number(c.max_streams), |c, v| c.max_streams = v.number()),
    )
    .only("TCP has one stream"),
    Quic::new(
        "idle-timeout",
        Kind::Time(ms(1), Span::from_secs(3600)),
        "silence after which the connection is given up",
        "RFC 9000 section 10.1",
        (|c| Value::Time(c.idle_timeout), |c, v| c.idle_timeout = v.span()),
    )
    .only("TCP gives up after retransmissions: write +syn-retries=… or +data-retries=…"),
    Quic::new(
        "keep-alive",
        Kind::Time(ms(1), Span::from_secs(3600)),
        "silence after which the client sends a PING",
        "RFC 9000 section 10.1.2; Chromium kPingTimeoutSecs",
        (|c| c.keep_alive.map_or(Value::Off, Value::Time), |c, v| c.keep_alive = v.is_on().then(|| v.span())),
    )
    .on(Value::Time(Span::from_secs(15)))
    .off()
    .only("TCP's keep-alive comes after two hours, which no run waits for"),
    Quic::new(
        "connection-ids",
        Kind::Count(2, 63),
        "connection identifiers of an end in use or spare; with several paths, further paths that may be open",
        "RFC 9000 section 5.1.1; draft-ietf-quic-multipath section 3.2.1",
        (
            |c| c.connection_ids.map_or(Value::Off, |n| Value::Number(n.into())),
            |c, v| c.connection_ids = v.is_on().then(|| v.tiny()),
        ),
    )
    .off()
    .only("TCP knows its connections by their addresses"),
    Quic::new(
        "long-ids",
        Kind::OnOff,
        "connection identifiers have 20 bytes, as in quiche's programs; off: 8",
        "RFC 9000 section 17.2; quiche 0.30.0, lib.rs, MAX_CONN_ID_LEN",
        (|c| Value::from(c.long_ids), |c, v| c.long_ids = v.is_on()),
    )
    .only("TCP knows its connections by their addresses"),
    Quic::new(
        "skipped-numbers",
        Kind::OnOff,
        "packet numbers are left out now and then, so that a peer is found that acknowledges what it never got, as in quinn",
        "RFC 9000 section 21.4; quinn-proto 0.11.19, connection/spaces.rs, PacketNumberFilter",
        (|c| Value::from(c.skipped_numbers), |c, v| c.skipped_numbers = v.is_on()),
    )
    .only("TCP numbers bytes"),
    Quic::new(
        "keepsakes",
        Kind::OneOf(&["quinn", "quiche"]),
        "the server sends address tokens and session tickets for the client's next connection, and identifiers before the handshake is complete (quinn), or tickets alone (quiche)",
        "RFC 9000 section 8.1.3, RFC 8446 section 4.6.1; quinn-proto 0.11.19, connection/mod.rs, on_path_validated; quiche 0.30.0 with BoringSSL",
        (
            |c| match c.keepsakes {
                KeepsakeSet::None => Value::Off,
                KeepsakeSet::Quinn => Value::Word("quinn"),
                KeepsakeSet::Quiche => Value::Word("quiche"),
            },
            |c, v| {
                c.keepsakes = match v {
                    Value::Word("quinn") => KeepsakeSet::Quinn,
                    Value::Word("quiche") => KeepsakeSet::Quiche,
                    _ => KeepsakeSet::None,
                }
            },
        ),
    )
    .on(Value::Word("quinn"))
    .off()
    .only("TLS's tickets over TCP are left out"),
    Quic::new(
        "flights",
        Kind::OneOf(&["web", "rustls", "boringssl"]),
        "sizes of the handshake's messages: a browser's and a server's with RSA keys, or those of rustls or BoringSSL with an Ed25519 key",
        "RFC 8446 section 4; crates/stacks, null.rs; crates/worker, stacks/quiche.rs",
        (
            |c| {
                Value::Word(match c.messages {
                    HandshakeSizes::RUSTLS => "rustls",
                    HandshakeSizes::BORINGSSL => "boringssl",
                    _ => "web",
                })
            },
            |c, v| {
                c.messages = match v {
                    Value::Word("rustls") => HandshakeSizes::RUSTLS,
                    Value::Word("boringssl") => HandshakeSizes::BORINGSSL,
                    _ => HandshakeSizes::CLASSICAL,
                }
            },
        ),
    )
    .only("TLS over TCP has the sizes of the classical exchange here"),
    Quic::new(
        "key-exchange",
        Kind::OneOf(&["x25519", "x25519mlkem768"]),
        "the key exchange, which sets the sizes of ClientHello and ServerHello",
        "RFC 8446 section 4.2.8; draft-ietf-tls-ecdhe-mlkem",
        (
            |c| Value::Word(if c.messages == HandshakeSizes::HYBRID { "x25519mlkem768" } else { "x25519" }),
            |c, v| {
                c.messages = match v {
                    Value::Word("x25519mlkem768") => HandshakeSizes::HYBRID,
                    _ => HandshakeSizes::CLASSICAL,
                }
            },
        ),
    )
    .only("TLS over TCP has the sizes of the classical exchange here"),
];
