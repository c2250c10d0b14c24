//! Bundles: the mechanisms that a stack of some time or house had, under one name (`+as=linux-2010`).
//!
//! A bundle stands for switches that a contender could write one by one; [`Bundle::sets`] names each with its source, and
//! [`Bundle::lacks`] what such a stack did that no switch says. What a contender switches itself goes before its bundle.
//! A bundle says nothing of the congestion control, and skips what the contender's own ignores.

use super::Transport;
use haltere_net::Span;
use haltere_transport::mechanisms::Value;

/// A mechanism that a bundle sets.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The mechanism's name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
    /// Where that is published.
    pub source: &'static str,
}

/// The mechanisms of a stack of some time or house.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Its name in contenders, after `+as=`.
    pub name: &'static str,
    /// The transport it is of.
    pub transport: Transport,
    /// A description, in one line.
    pub summary: &'static str,
    /// Its departures from the transport's defaults.
    pub sets: &'static [Part],
    /// Further departures of such a stack that no switch says.
    pub lacks: &'static str,
}

const fn part(name: &'static str, value: Value, source: &'static str) -> Part {
    Part { name, value, source }
}

const fn ms(n: u64) -> Value {
    Value::Time(Span::from_millis(n))
}

const fn micros(n: u64) -> Value {
    Value::Time(Span::from_micros(n))
}

/// Super-segments of 45 segments: as large as 64 KiB allow, which is what Linux sent before it chose their size.
const WHOLE: Value = Value::Number(45);
const NO_COMPRESSION: Part =
    part("sack-compression", Value::Off, "acknowledgements are held back since Linux 4.18 (commit 5d9f4262b7ea)");
const NO_RACK: Part = part("rack", Value::Off, "RACK came with Linux 4.4 (commit 4f41b1c58a32)");
const NO_AUTOSIZING: Part = part("tso-least", WHOLE, "the size is chosen since Linux 3.12 (commit 95bd09eb2750)");

const IN_EXACT_UNITS: Part = part("growth", Value::Word("exact"), "a real number of seconds and of segments");
const IN_EXACT_TIMES: Part = part("clock-unit", Value::Off, "whole microseconds are Linux's (tcp_mstamp_refresh)");
const NO_ACK_WINDOW: Part = part("ack-window", Value::Off, "the rule is Linux's (__tcp_ack_snd_check)");
const ALL_BLOCKS: Part = part("forget-sacks", Value::Off, "the list of blocks is Linux's (tcp_sack_new_ofo_skb)");
const RIGHT_SIZING: Part = part("autotuning", Value::Word("drs"), "the rule that takes off what waits is Linux's");

/// All bundles.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        name: "linux-2010",
        transport: Transport::Tcp,
        summary: "Linux 2.6.32 to 2.6.38",
        sets: &[
            part("initial-window", Value::Number(3), "RFC 3390; 10 since Linux 2.6.39 (commit 442b9635c569)"),
            part("prr", Value::Off, "PRR came with Linux 3.2 (commit a262f0cdf1f2)"),
            part("tlp", Value::Off, "tail loss probes came with Linux 3.10 (commit 6ba8a3b19e76)"),
            NO_RACK,
            part("tsq", Value::Off, "small queues came with Linux 3.6 (commit 46d3ceabd8d9)"),
            NO_AUTOSIZING,
            NO_COMPRESSION,
        ],
        lacks: "the window halved a packet for every second ACK, losses found by FACK, 3 s before a SYN is repeated, HyStart's exit from 2 ms of delay; receive buffers by a smoothed RTT are +autotuning=drs",
    },
    Bundle {
        name: "linux-2013",
        transport: Transport::Tcp,
        summary: "Linux 3.10",
        sets: &[
            NO_RACK,
            part("tsq", Value::Number(131_072), "tcp_limit_output_bytes of Linux 3.6 to 4.1 (commit 46d3ceabd8d9)"),
            NO_AUTOSIZING,
            NO_COMPRESSION,
        ],
        lacks: "losses found by FACK, early retransmit, HyStart's exit from 2 ms of delay; receive buffers by a smoothed RTT are +autotuning=drs",
    },
    Bundle {
        name: "linux-2017",
        transport: Transport::Tcp,
        summary: "Linux 4.13",
        sets: &[
            part("tsq", Value::Number(262_144), "tcp_limit_output_bytes since Linux 4.2 (commit c39c4c6abb89)"),
            NO_COMPRESSION,
        ],
        lacks: "RACK's window for reordering as it was: it did not adapt yet, and three SACKs did not close it; receive buffers by a smoothed RTT are +autotuning=drs",
    },
    Bundle {
        name: "linux-6.12",
        transport: Transport::Tcp,
        summary: "Linux 6.12: the defaults, by their name",
        sets: &[],
        lacks: "its random numbers, such as the phase of BBR's cycle, and timers of the kernel itself (docs/explanation/validation.md)",
    },
    Bundle {
        name: "linux-7.3",
        transport: Transport::Tcp,
        summary: "Linux 7.3",
        sets: &[
            part(
                "sack-compression-share",
                Value::Number(33),
                "tcp_comp_sack_rtt_percent of Linux 7.3, read from /proc/sys",
            ),
            part("sack-compression-slack", micros(10), "tcp_comp_sack_slack_ns of Linux 7.3, read from /proc/sys"),
            part("tsq", Value::Number(4 << 20), "tcp_limit_output_bytes of Linux 7.3, read from /proc/sys"),
        ],
        lacks: "receive buffers that grow less below a round trip of 1 ms (tcp_rcvbuf_low_rtt), the option of accurate ECN",
    },
    Bundle {
        name: "ns3-2017",
        transport: Transport::Tcp,
        summary: "ns-3.27, whose TCP sends segments one by one and goes by RFC 6675 and RFC 6298",
        sets: &[
            part("hystart", Value::Off, "its slow start ends by loss alone"),
            part("initial-window", Value::Number(1), "attribute TcpSocket::InitialCwnd"),
            part("whole-segments", Value::Off, "TcpSocketState::m_cWnd counts bytes"),
            part("tso", Value::Off, "TcpSocketBase::SendDataPacket sends a segment"),
            part("tsq", Value::Off, "TcpSocketBase knows nothing of queues below it"),
            part("prr", Value::Off, "PRR came with ns-3.29 (CHANGES.html)"),
            part("rack", Value::Off, "RFC 6675 (CHANGES.html of ns-3.27)"),
            part("tlp", Value::Off, "RFC 6675 (CHANGES.html of ns-3.27)"),
            part("frto", Value::Off, "RFC 6298: a timeout loses all that is in flight"),
            part("undo", Value::Off, "reductions are not taken back"),
            part("rto", Value::Word("rfc6298"), "attribute TcpSocketBase::MinRto is 1 s"),
            part("tick", Value::Off, "the simulator's clock is exact"),
            part("hurried-acks", Value::Off, "attribute TcpSocket::DelAckCount alone"),
            IN_EXACT_UNITS,
            IN_EXACT_TIMES,
            NO_ACK_WINDOW,
            ALL_BLOCKS,
            NO_COMPRESSION,
            RIGHT_SIZING,
        ],
        lacks: "segments of 536 bytes and buffers of 131072 bytes, which scripts mostly change: +segment=536B, +send-buffer=131072B",
    },
    Bundle {
        name: "freebsd-14",
        transport: Transport::Tcp,
        summary: "FreeBSD 14 with its default stack, which has neither RACK nor tail loss probes",
        sets: &[
            part("whole-segments", Value::Off, "cc_cubic.c counts bytes"),
            part("tso-least", WHOLE, "tcp_output.c: as much as the window allows"),
            part("tso-defer", Value::Off, "tcp_output.c: a full segment is sent at once"),
            part("tsq", Value::Off, "tcp_output.c"),
            part("rack", Value::Off, "tcp_rack(4) is a stack to choose"),
            part("tlp", Value::Off, "tcp_rack(4) is a stack to choose"),
            part("frto", Value::Off, "tcp_timer.c"),
            part("hystart", Value::Off, "cc_cubic.c: HyStart++ where a stack allows it (CCF_HYSTART_ALLOWED)"),
            part("tick", ms(1), "kern.hz is 1000"),
            part("hurried-acks", Value::Off, "tcp_input.c has no such mode"),
            part("ack-delay", ms(40), "net.inet.tcp.delacktime"),
            IN_EXACT_UNITS,
            IN_EXACT_TIMES,
            NO_ACK_WINDOW,
            ALL_BLOCKS,
            NO_COMPRESSION,
            RIGHT_SIZING,
        ],
        lacks: "timeouts 200 ms (rexmit_slop) above RFC 6298's, where these count at least 200 ms of variance; undo by a timestamp alone",
    },
    Bundle {
        name: "windows-2019",
        transport: Transport::Tcp,
        summary: "Windows 10 and Server 2019, template Internet, as far as published",
        sets: &[
            part("hystart", Value::Word("rfc9406"), "draft-balasubramanian-tcpm-hystartplusplus-02"),
            part("timestamps", Value::Off, "Get-NetTCPSetting, Timestamps"),
            part("idle-restart", Value::Off, "Get-NetTCPSetting, CwndRestart"),
            part("rto", Value::Word("rfc6298"), "Get-NetTCPSetting names the least timeout itself"),
            part("rto-min", ms(300), "Get-NetTCPSetting, MinRto"),
            part("ack-delay", ms(40), "Get-NetTCPSetting, DelayedAckTimeout"),
            IN_EXACT_UNITS,
            IN_EXACT_TIMES,
            NO_ACK_WINDOW,
            ALL_BLOCKS,
            NO_COMPRESSION,
            RIGHT_SIZING,
        ],
        lacks: "limited slow start after HyStart, as it was before RFC 9406; what is not published stays as in Linux; whether HyStart++ was on by default in 2019 is not",
    },
    Bundle {
        name: "google-quic-2017",
        transport: Transport::Quic,
        summary: "Google's QUIC (proto-quic of 2017), whose cubic stands for two connections",
        sets: &[
            part("emulated-connections", Value::Number(2), "kDefaultNumConnections"),
            part(
                "reno-friendly",
                Value::Word("rfc9438"),
                "cubic_bytes.cc: the window is the estimate if that is larger",
            ),
            part("initial-window", Value::Number(32), "quic_constants.h, kInitialCongestionWindow"),
            part("datagram", Value::Number(1350), "quic_constants.h, kDefaultMaxPacketSize"),
            part("unpaced", Value::Number(10), "pacing_sender.cc, kInitialUnpacedBurst"),
            part("time-threshold", Value::Off, "general_loss_algorithm.cc: three later packets (kNack)"),
            part("undo", Value::Off, "tcp_cubic_sender_bytes.cc takes no reduction back"),
            part("max-stream-window", Value::Number(16 << 20), "quic_constants.h, kStreamReceiveWindowLimit"),
            part("max-connection-window", Value::Number(24 << 20), "quic_constants.h, kSessionReceiveWindowLimit"),
        ],
        lacks: "its own handshake and headers, PRR, HyStart by delay alone, two tail loss probes, early retransmit; windows in units of 1460 bytes, 2000 of them at most",
    },
    Bundle {
        name: "quinn-0.11",
        transport: Transport::Quic,
        summary: "quinn-proto 0.11.19 as it is set up here: Default, with wide windows",
        sets: &[
            part("hystart", Value::Off, "congestion/cubic.rs: slow start ends by loss alone"),
            part("growth", Value::Word("quinn"), "congestion/cubic.rs, congestion/new_reno.rs"),
            part("pacer", Value::Word("bucket"), "connection/pacing.rs"),
            part(
                "full-window",
                Value::Off,
                "connection/mod.rs, poll_transmit: in flight and a datagram stay below the window",
            ),
            part("mtu-probes", Value::Word("halving"), "connection/mtud.rs; connection/mod.rs, poll_transmit"),
            part("idle-restart", Value::Off, "congestion/cubic.rs knows of no idle time"),
            part("undo", Value::Off, "connection/mod.rs, detect_lost_packets: a lost packet is forgotten"),
            part("probe-data", Value::Off, "connection/spaces.rs, maybe_queue_probe"),
            part(
                "small-probes",
                Value::On,
                "connection/mod.rs, poll_transmit; connection/spaces.rs, maybe_queue_probe",
            ),
            part("ecn", Value::On, "connection/paths.rs, PathData::sending_ecn"),
            part("ack-ranges", Value::Number(64), "connection/spaces.rs, MAX_ACK_BLOCKS"),
            part(
                "ack-elicit",
                Value::Number(1000),
                "connection/spaces.rs: packets of acknowledgements alone ask for nothing",
            ),
            part(
                "connection-ids",
                Value::Number(5),
                "cid_queue.rs, CidQueue::LEN; connection/mod.rs, issue_first_cids",
            ),
            part("skipped-numbers", Value::On, "connection/spaces.rs, PacketNumberFilter"),
            part(
                "keepsakes",
                Value::Word("quinn"),
                "connection/mod.rs, on_path_validated, issue_first_cids; rustls, send_tls13_tickets",
            ),
            part("flights", Value::Word("rustls"), "crates/stacks, null.rs: rustls with an Ed25519 key"),
            part("acks-wait", Value::Word("behind"), "connection/mod.rs, poll_transmit and populate_packet"),
            part("stream-window", Value::Number(64 << 20), "crates/stacks: wide windows (docs/reference/stacks.md)"),
            part(
                "connection-window",
                Value::Number(96 << 20),
                "crates/stacks: wide windows (docs/reference/stacks.md)",
            ),
        ],
        lacks: "ranges that are forgotten when packets of acknowledgements alone are acknowledged, detection of black holes, persistent congestion during recovery",
    },
    Bundle {
        name: "noq-1.4",
        transport: Transport::Quic,
        summary: "noq-proto 1.4.0 as it is set up here: Default, with wide windows",
        sets: &[
            part("hystart", Value::Off, "congestion/cubic.rs: slow start ends by loss alone"),
            part("growth", Value::Word("noq"), "congestion/cubic.rs, congestion/new_reno.rs"),
            part(
                "pacer",
                Value::Word("short-bucket"),
                "connection/pacing.rs; connection/mod.rs, path_congestion_check",
            ),
            part(
                "mtu-probes",
                Value::Word("halving"),
                "connection/mtud.rs; connection/mod.rs, poll_transmit_mtu_probe",
            ),
            part("idle-restart", Value::Off, "congestion/cubic.rs knows of no idle time"),
            part("probe-data", Value::Off, "connection/spaces.rs, queue_tail_loss_probe"),
            part(
                "small-probes",
                Value::On,
                "connection/mod.rs, poll_transmit_path_space; connection/spaces.rs, queue_tail_loss_probe",
            ),
            part("probe-step", Value::Time(Span::from_secs(2)), "connection/mod.rs, pto_time_and_space"),
            part("ecn", Value::On, "connection/paths.rs, PathData::sending_ecn"),
            part("ack-ranges", Value::Number(64), "connection/spaces.rs, MAX_ACK_BLOCKS"),
            part(
                "ack-elicit",
                Value::Number(1000),
                "connection/spaces.rs: packets of acknowledgements alone ask for nothing",
            ),
            part(
                "connection-ids",
                Value::Number(5),
                "cid_queue.rs, CidQueue::LEN; connection/mod.rs, issue_first_cids",
            ),
            part("skipped-numbers", Value::On, "connection/spaces.rs, PacketNumberFilter"),
            part(
                "keepsakes",
                Value::Word("quinn"),
                "connection/mod.rs, on_path_validated, issue_first_cids; rustls, send_tls13_tickets",
            ),
            part("flights", Value::Word("rustls"), "crates/stacks, null.rs: rustls with an Ed25519 key"),
            part("acks-wait", Value::Word("until-due"), "connection/mod.rs, path_congestion_check and populate_packet"),
            part("stream-window", Value::Number(64 << 20), "crates/stacks: wide windows (docs/reference/stacks.md)"),
            part(
                "connection-window",
                Value::Number(96 << 20),
                "crates/stacks: wide windows (docs/reference/stacks.md)",
            ),
        ],
        lacks: "ranges that are forgotten when packets of acknowledgements alone are acknowledged, detection of black holes, persistent congestion during recovery",
    },
    Bundle {
        name: "quiche-0.30",
        transport: Transport::Quic,
        summary: "quiche 0.30.0 as it is set up here: its defaults, with MTU search and wide windows",
        sets: &[
            part("hystart", Value::Word("rfc9406"), "recovery/congestion/hystart.rs; lib.rs, Config::hystart"),
            part("growth", Value::Word("quiche"), "recovery/congestion/cubic.rs, reno.rs, prr.rs"),
            part("pacing", Value::Off, "recovery/congestion/recovery.rs, get_packet_send_time"),
            part("cut-packets", Value::On, "lib.rs, send_single"),
            part("lone-frames", Value::On, "lib.rs, send_single"),
            part("takes-by-window", Value::On, "lib.rs, update_tx_cap"),
            part("mtu-probes", Value::Word("first"), "pmtud.rs; path.rs, should_send_pmtu_probe"),
            part("idle-restart", Value::Off, "recovery/congestion/cubic.rs, on_packet_sent, shifts the curve alone"),
            part("undo", Value::Off, "recovery/congestion/cubic.rs takes reductions back by its own rule"),
            part(
                "persistent-congestion",
                Value::Off,
                "recovery/congestion/recovery.rs, detect_lost_packets, knows of none",
            ),
            part("probe-oldest", Value::On, "recovery/congestion/recovery.rs, on_loss_detection_timeout"),
            part("delack", Value::Off, "lib.rs, send_single: ack_elicited"),
            part("ack-ranges", Value::Number(68), "lib.rs, MAX_ACK_RANGES"),
            part("ack-elicit", Value::Number(25), "recovery/mod.rs, MAX_OUTSTANDING_NON_ACK_ELICITING, and one more"),
            part("long-ids", Value::On, "crates/worker, stacks/quiche.rs: MAX_CONN_ID_LEN"),
            part(
                "connection-ids",
                Value::Number(2),
                "lib.rs, active_connection_id_limit; crates/worker, stacks/quiche.rs",
            ),
            part("keepsakes", Value::Word("quiche"), "BoringSSL, two NewSessionTicket messages"),
            part("flights", Value::Word("boringssl"), "crates/worker, stacks/quiche.rs: BoringSSL with an Ed25519 key"),
            part("stream-window", Value::Number(64 << 20), "crates/stacks: wide windows (docs/reference/stacks.md)"),
            part(
                "connection-window",
                Value::Number(96 << 20),
                "crates/stacks: wide windows (docs/reference/stacks.md)",
            ),
        ],
        lacks: "skipped packet numbers, thresholds of loss that grow when losses prove to be none, packets cut to the amplification limit",
    },
];

impl Bundle {
    /// The bundle of this name.
    pub fn named(name: &str) -> Option<&'static Bundle> {
        BUNDLES.iter().find(|bundle| bundle.name == name)
    }

    /// The switches that it stands for, as contenders write them.
    pub fn means(&self) -> String {
        self.sets.iter().map(|part| super::switch::written(self.transport, part.name, part.value)).collect()
    }

    /// The value of one of its mechanisms, as contenders write it.
    pub fn shown(&self, part: &Part) -> String {
        let facts = super::parse::facts(self.transport).find(|f| f.name == part.name);
        facts.map_or_else(String::new, |f| f.show(part.value))
    }
}
