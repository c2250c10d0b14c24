//! TCP's mechanisms.

use super::{Kind, Mechanism, Value, off_at_zero};
use crate::cc::Arithmetic;
use crate::cc::{RenoFriendly, SlowStart};
use crate::tcp::EchoRule;
use crate::tcp::config::{Autotuning, Config, NetworkCard, RtoRule};
use haltere_net::Span;

type Tcp = Mechanism<Config>;

const fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Every mechanism of TCP.
pub const TCP: &[Tcp] = &[
    Tcp::new(
        "hystart",
        Kind::OneOf(&["linux", "rfc9406"]),
        "slow start ends early: by ACK trains and delays as in Linux, or by HyStart++; auto: linux for cubic, else off",
        "Ha, Rhee 2011; tcp_cubic.c; RFC 9406",
        (
            |c| of_slow_start(c.slow_start),
            |c, v| c.slow_start = to_slow_start(v),
        ),
    )
    .on(Value::Word("linux"))
    .off(),
    Tcp::new(
        "reno-friendly",
        Kind::OneOf(&["linux", "rfc9438", "quinn"]),
        "cubic where Reno would have the larger window: follows it a round later (linux), has it (rfc9438), or runs ahead (quinn)",
        "RFC 9438 section 4.3; tcp_cubic.c; quinn-proto cubic.rs",
        (|c| of_reno_friendly(c.reno_friendly), |c, v| c.reno_friendly = to_reno_friendly(v)),
    ),
    Tcp::new(
        "growth",
        Kind::OneOf(&["linux", "exact"]),
        "how cubic computes its curve: in Linux's units of 1024ths and with its cube root, or with exact numbers",
        "tcp_cubic.c, bictcp_update",
        (
            |c| Value::Word(if c.arithmetic == Arithmetic::Exact { "exact" } else { "linux" }),
            |c, v| c.arithmetic = if v == Value::Word("exact") { Arithmetic::Exact } else { Arithmetic::Linux },
        ),
    ),
    Tcp::new(
        "initial-window",
        Kind::Segments(1, 10_000),
        "congestion window after the handshake",
        "RFC 6928; TCP_INIT_CWND",
        (|c| Value::Number(c.initial_window.into()), |c, v| c.initial_window = v.small()),
    ),
    Tcp::new(
        "segment",
        Kind::Bytes(64, 65_495),
        "data bytes in a full segment at most; auto: what the MTU leaves",
        "RFC 9293 section 3.7.1",
        (
            |c| c.largest_segment.map_or(Value::Auto, |n| Value::Number(n.into())),
            |c, v| c.largest_segment = v.is_on().then(|| v.small()),
        ),
    )
    .only("QUIC's datagrams have a size: write +datagram=…"),
    Tcp::new(
        "header",
        Kind::Bytes(40, 200),
        "bytes of IP and TCP header without options; 60 for IPv6, more for a tunnel",
        "RFC 791 section 3.1, RFC 9293 section 3.1",
        (|c| Value::Number(c.base_header.into()), |c, v| c.base_header = v.small()),
    ),
    Tcp::new(
        "pacing",
        Kind::OnOff,
        "window-based algorithms are paced, as with the queue discipline fq; algorithms with a rate always are",
        "tcp_update_pacing_rate, sch_fq",
        (|c| Value::from(c.paced), |c, v| c.paced = v.is_on()),
    ),
    Tcp::new(
        "unpaced",
        Kind::Segments(0, 10_000),
        "segments at the start that a paced sender does not pace",
        "tcp_update_skb_after_send",
        (|c| Value::Number(c.unpaced.into()), |c, v| c.unpaced = v.small()),
    ),
    Tcp::new(
        "idle-restart",
        Kind::OnOff,
        "a window-based sender idle for longer than a timeout starts from a smaller window",
        "RFC 5681 section 4.1; tcp_slow_start_after_idle",
        (|c| Value::from(c.idle_restart), |c, v| c.idle_restart = v.is_on()),
    ),
    Tcp::new(
        "whole-segments",
        Kind::OnOff,
        "windows are kept in whole segments, and algorithms follow the kernel where it departs from their papers",
        "tcp_cong.c",
        (|c| Value::from(c.whole_segments), |c, v| c.whole_segments = v.is_on()),
    ),
    Tcp::new(
        "emulated-connections",
        Kind::Count(1, 10),
        "the window of cubic grows and shrinks as those of so many connections together",
        "Chromium, cubic_bytes.cc, SetNumConnections",
        (|c| Value::Number(c.emulated_connections.into()), |c, v| c.emulated_connections = v.small() as u8),
    ),
    Tcp::new(
        "tso",
        Kind::Bytes(1_000, 65_215),
        "data bytes that go out back to back as a super-segment at most; off: one segment at a time",
        "tcp_tso_autosize",
        (|c| off_at_zero(c.tso.into()), |c, v| c.tso = v.small()),
    )
    .on(Value::Number(65_215))
    .off()
    .only("segmentation offload is TCP's here: QUIC's bursts are set by +burst=…"),
    Tcp::new(
        "tso-least",
        Kind::Segments(1, 64),
        "segments of a super-segment at least, where window and data suffice",
        "tcp_min_tso_segs",
        (|c| Value::Number(c.tso_least.into()), |c, v| c.tso_least = v.small()),
    )
    .only("segmentation offload is TCP's here: QUIC's bursts are set by +burst=…"),
    Tcp::new(
        "tso-defer",
        Kind::Count(1, 100),
        "a super-segment waits for a millisecond to fill up while less than one in this many parts of the window is free",
        "tcp_tso_should_defer, tcp_tso_win_divisor",
        (|c| off_at_zero(c.tso_defer.into()), |c, v| c.tso_defer = v.small()),
    )
    .on(Value::Number(3))
    .off()
    .only("segmentation offload is TCP's here: QUIC's bursts are set by +burst=…"),
    Tcp::new(
        "tsq",
        Kind::Bytes(1_000, 1 << 30),
        "TCP small queues: bytes of an unpaced connection in its host's interface at most, where a link has a ring",
        "tcp_small_queue_check, tcp_limit_output_bytes",
        (|c| off_at_zero(c.small_queue), |c, v| c.small_queue = v.number()),
    )
    .on(Value::Number(1 << 20))
    .off()
    .only("a UDP socket blocks at its send buffer instead, of 212992 bytes"),
    Tcp::new(
        "send-buffer",
        Kind::Bytes(4_096, 1 << 30),
        "data bytes that are sent and not acknowledged at most; off: the buffer never limits",
        "tcp_wmem",
        (|c| off_at_zero(c.send_buffer), |c, v| c.send_buffer = v.number()),
    )
    .off()
    .only("QUIC's send buffer never limits here: write +connection-window=…"),
    Tcp::new(
        "sack",
        Kind::OnOff,
        "selective acknowledgements; off: losses are found by duplicate ACKs, without rack, tlp and sack-compression",
        "RFC 2018, RFC 6582; tcp_sack",
        (|c| Value::from(c.sack), |c, v| c.sack = v.is_on()),
    )
    .only("QUIC's acknowledgements always name what has arrived"),
    Tcp::new(
        "sack-blocks",
        Kind::Count(1, 3),
        "blocks that an acknowledgement reports at most",
        "RFC 2018 section 3",
        (|c| Value::Number(c.sack_blocks.into()), |c, v| c.sack_blocks = v.small()),
    )
    .only("QUIC's acknowledgements hold ranges: write +ack-ranges=…"),
    Tcp::new(
        "dsack",
        Kind::OnOff,
        "acknowledgements report data that came twice",
        "RFC 2883; tcp_dsack",
        (|c| Value::from(c.dsack), |c, v| c.dsack = v.is_on()),
    )
    .only("QUIC numbers each packet anew, so that no acknowledgement is ambiguous"),
    Tcp::new(
        "rack",
        Kind::OnOff,
        "losses are found by time (RACK); off: by SACKs of later segments alone, as many as loss-threshold says",
        "RFC 8985, RFC 6675 section 4; tcp_recovery",
        (|c| Value::from(c.rack), |c, v| c.rack = v.is_on()),
    )
    .only("QUIC has a threshold of time in its place: write +time-threshold=… or -time-threshold"),
    Tcp::new(
        "loss-threshold",
        Kind::Segments(1, 300),
        "SACKed segments that make an earlier one lost, until reordering is seen",
        "RFC 5681 section 3.2, RFC 8985 section 6.2; tcp_reordering",
        (|c| Value::Number(c.loss_threshold.into()), |c, v| c.loss_threshold = v.small()),
    )
    .only("QUIC counts packets: write +packet-threshold=…"),
    Tcp::new(
        "tlp",
        Kind::OnOff,
        "tail loss probes",
        "RFC 8985 section 7; tcp_early_retrans",
        (|c| Value::from(c.tlp), |c, v| c.tlp = v.is_on()),
    )
    .only("QUIC's probe timeout (RFC 9002 section 6.2) stands for probe and retransmission timeout both"),
    Tcp::new(
        "prr",
        Kind::OnOff,
        "the window comes down in proportion to what is delivered; off: at once, as in RFC 6675",
        "RFC 6937, RFC 9937",
        (|c| Value::from(c.prr), |c, v| c.prr = v.is_on()),
    )
    .only("QUIC's window here comes down at once (RFC 9002 section 7.3.2)"),
    Tcp::new(
        "frto",
        Kind::OnOff,
        "spurious timeouts are found by what is acknowledged next",
        "RFC 5682; tcp_frto",
        (|c| Value::from(c.frto), |c, v| c.frto = v.is_on()),
    )
    .only("a probe timeout of QUIC declares nothing lost (RFC 9002 section 6.2)"),
    Tcp::new(
        "undo",
        Kind::OnOff,
        "a reduction whose losses prove to be none is taken back",
        "RFC 3522, RFC 4015; tcp_try_undo_recovery",
        (|c| Value::from(c.undo), |c, v| c.undo = v.is_on()),
    ),
    Tcp::new(
        "rto",
        Kind::OneOf(&["linux", "rfc6298"]),
        "how the retransmission timeout is computed",
        "tcp_rtt_estimator; RFC 6298",
        (
            |c| Value::Word(if matches!(c.rto, RtoRule::Linux { .. }) { "linux" } else { "rfc6298" }),
            |c, v| {
                c.rto = match v {
                    Value::Word("rfc6298") => RtoRule::RFC_6298,
                    _ => RtoRule::LINUX,
                }
            },
        ),
    )
    .only("QUIC has a probe timeout, computed as RFC 9002 section 6.2 says"),
    Tcp::new(
        "rto-min",
        Kind::Time(ms(1), Span::from_secs(120)),
        "the least that the timeout's variance term (rto=linux: 200ms) or the timeout itself (rto=rfc6298: 1s) counts",
        "RFC 6298 section 2.4; tcp_rto_min_us",
        (
            |c| {
                let (RtoRule::Linux { floor } | RtoRule::Rfc6298 { least: floor }) = c.rto;
                Value::Time(floor)
            },
            |c, v| {
                let (RtoRule::Linux { floor } | RtoRule::Rfc6298 { least: floor }) = &mut c.rto;
                *floor = v.span();
            },
        ),
    )
    .only("QUIC has a probe timeout without such a bound (RFC 9002 section 6.2)"),
    Tcp::new(
        "tick",
        Kind::Time(Span::from_micros(1), Span::from_secs(1)),
        "the tick of the host's timers; off: exact timers",
        "HZ = 250; kernel/time/timer.c",
        (
            |c| if c.tick.is_zero() { Value::Off } else { Value::Time(c.tick) },
            |c, v| c.tick = v.span(),
        ),
    )
    .off()
    .only("a stack in user space reads an exact clock; its timers' granularity is set by +granularity=…"),
    Tcp::new(
        "clock-unit",
        Kind::Time(Span::from_nanos(1), ms(1)),
        "the times of packets, from which RTTs and delivery rates come, are taken in whole units of this; off: exactly",
        "tcp_mstamp_refresh, tcp_skb_timestamp_us",
        (
            |c| if c.clock_unit.is_zero() { Value::Off } else { Value::Time(c.clock_unit) },
            |c, v| c.clock_unit = v.span(),
        ),
    )
    .on(Value::Time(Span::from_micros(1)))
    .off()
    .only("a stack in user space reads an exact clock; its timers' granularity is set by +granularity=…"),
    Tcp::new(
        "clock-step",
        Kind::Time(Span::from_nanos(1), Span::from_nanos(500)),
        "the clock that packets are paced by moves in steps of this, and the timer is late by them, as in a user-mode Linux; off: exact",
        "arch/um/kernel/time.c, timer_read and itimer_next_event",
        (
            |c| if c.clock_step.is_zero() { Value::Off } else { Value::Time(c.clock_step) },
            |c, v| c.clock_step = v.span(),
        ),
    )
    .on(Value::Time(Span::from_nanos(256)))
    .off()
    .only("a stack in user space reads an exact clock; its timers' granularity is set by +granularity=…"),
    Tcp::new(
        "timestamps",
        Kind::OnOff,
        "the timestamp option: 12 bytes in each segment, RTT samples of retransmissions, evidence for undo",
        "RFC 7323; tcp_timestamps",
        (|c| Value::from(c.timestamps), |c, v| c.timestamps = v.is_on()),
    )
    .only("QUIC has no such option"),
    Tcp::new(
        "ecn",
        Kind::OneOf(&["rfc3168", "dctcp", "accurate"]),
        "packets are ECN-capable, marks heeded and echoed by this rule; dctcp and prague have their own always",
        "RFC 3168, RFC 8257, RFC 9768; tcp_ecn",
        (
            |c| match c.ecn {
                None => Value::Off,
                Some(EchoRule::Rfc3168) => Value::Word("rfc3168"),
                Some(EchoRule::Dctcp) => Value::Word("dctcp"),
                Some(EchoRule::Accurate) => Value::Word("accurate"),
            },
            |c, v| {
                c.ecn = match v {
                    Value::Off => None,
                    Value::Word("dctcp") => Some(EchoRule::Dctcp),
                    Value::Word("accurate") => Some(EchoRule::Accurate),
                    Value::Word(_) => Some(EchoRule::Rfc3168),
                    _ => c.ecn.or(Some(EchoRule::Rfc3168)),
                }
            },
        ),
    )
    .on(Value::On)
    .off(),
    Tcp::new(
        "l4s",
        Kind::OnOff,
        "packets are sent as ECT(1) where ECN is used: queues such as dualpi2 give them L4S treatment",
        "RFC 9331 section 4.1",
        (|c| Value::from(c.l4s), |c, v| c.l4s = v.is_on()),
    ),
    Tcp::new(
        "hides-marks",
        Kind::OnOff,
        "the receiver reports no ECN marks: it misbehaves, to be sent more",
        "RFC 3168 section 18.2, RFC 9743 section 7.6",
        (|c| Value::from(c.hides_marks), |c, v| c.hides_marks = v.is_on()),
    ),
    Tcp::new(
        "splits-acks",
        Kind::Count(2, 1000),
        "the receiver sends so many acknowledgements in place of one, each of a part: it misbehaves, to be sent more",
        "Savage et al. 1999, section 2.1; RFC 3465 section 2.1",
        (|c| off_at_zero(c.split_acks.into()), |c, v| c.split_acks = v.short()),
    )
    .on(Value::Number(10))
    .off()
    .only("QUIC acknowledges whole packets (RFC 9000 section 13.2)"),
    Tcp::new(
        "optimistic-acks",
        Kind::Segments(0, 1000),
        "the receiver acknowledges what is lost, and so many segments before they arrive: it misbehaves, to be sent more",
        "Savage et al. 1999, section 2.3; RFC 9743 section 7.6",
        (
            |c| c.optimistic_acks.map_or(Value::Off, |n| Value::Number(n.into())),
            |c, v| c.optimistic_acks = v.is_on().then(|| v.short()),
        ),
    )
    .on(Value::Number(4))
    .off()
    .only("a sender of QUIC finds it by packet numbers that it skips (RFC 9000 section 21.4), which the model has not"),
    Tcp::new(
        "byte-counting",
        Kind::OnOff,
        "windows grow by what is acknowledged; off: by a segment for each acknowledgement of new data",
        "RFC 3465; RFC 2581 section 3.1",
        (|c| Value::from(c.byte_counting), |c, v| c.byte_counting = v.is_on()),
    )
    .only("QUIC counts bytes always (RFC 9002 section 7)"),
    Tcp::new(
        "nagle",
        Kind::OnOff,
        "what does not fill a segment waits while an earlier such segment is not acknowledged (no TCP_NODELAY)",
        "RFC 9293 section 3.7.4; tcp_minshall_check",
        (|c| Value::from(c.nagle), |c, v| c.nagle = v.is_on()),
    )
    .only("QUIC has none: leave it out"),
    Tcp::new(
        "delack",
        Kind::OnOff,
        "acknowledgements are delayed; off: every data segment is acknowledged at once",
        "RFC 9293 section 3.8.6.3",
        (|c| Value::from(c.delayed_ack), |c, v| c.delayed_ack = v.is_on()),
    ),
    Tcp::new(
        "ack-every",
        Kind::Segments(1, 1000),
        "full segments that are answered by one acknowledgement",
        "RFC 9293 section 3.8.6.3",
        (|c| Value::Number(c.ack_every.into()), |c, v| c.ack_every = v.small()),
    ),
    Tcp::new(
        "ack-delay",
        Kind::Time(Span::from_nanos(1), ms(500)),
        "the longest an acknowledgement is delayed",
        "RFC 9293 section 3.8.6.3; TCP_DELACK_MAX",
        (|c| Value::Time(c.max_ack_delay), |c, v| c.max_ack_delay = v.span()),
    ),
    Tcp::new(
        "hurried-acks",
        Kind::OnOff,
        "acknowledgements are hurried at the start, after disorder, to offer a larger window, and after a pushed segment",
        "tcp_enter_quickack_mode, tcp_grow_window, tcp_cleanup_rbuf",
        (|c| Value::from(c.hurried_acks), |c, v| c.hurried_acks = v.is_on()),
    )
    .only("QUIC hurries acknowledgements only as RFC 9000 section 13.2.1 says: write +ack-reordering=…"),
    Tcp::new(
        "ack-window",
        Kind::OnOff,
        "an acknowledgement of two segments that does not open the window counts as a duplicate while there is a gap",
        "__tcp_ack_snd_check, __tcp_select_window",
        (|c| Value::from(c.ack_window), |c, v| c.ack_window = v.is_on()),
    )
    .only("QUIC's acknowledgements open no window"),
    Tcp::new(
        "quick-acks",
        Kind::Segments(1, 1000),
        "of the first segments, and after disorder, so many are acknowledged at once",
        "TCP_MAX_QUICKACKS",
        (|c| off_at_zero(c.quick_acks.into()), |c, v| c.quick_acks = v.small()),
    )
    .on(Value::Number(16))
    .off()
    .only("QUIC has none: write +ack-every=… or -delack"),
    Tcp::new(
        "forget-sacks",
        Kind::OnOff,
        "a SACK block is extended only by those of the last four that were reported, and not by all that is held behind a gap",
        "tcp_sack_new_ofo_skb, tcp_sack_maybe_coalesce",
        (|c| Value::from(c.forget_sacks), |c, v| c.forget_sacks = v.is_on()),
    )
    .only("QUIC reports what it holds: write +ack-ranges=…"),
    Tcp::new(
        "sack-compression",
        Kind::Time(Span::from_micros(1), ms(100)),
        "duplicate ACKs after the third are held back, at most so long and a twentieth of the RTT",
        "tcp_comp_sack_delay_ns",
        (
            |c| if c.sack_compression.is_zero() { Value::Off } else { Value::Time(c.sack_compression) },
            |c, v| c.sack_compression = v.span(),
        ),
    )
    .on(Value::Time(ms(1)))
    .off()
    .only("QUIC has none: write +ack-reordering=…"),
    Tcp::new(
        "sack-compression-share",
        Kind::Count(1, 100),
        "so much of an RTT duplicate ACKs are held back at most, percent",
        "tcp_comp_sack_rtt_percent",
        (|c| Value::Number(c.sack_compression_share.into()), |c, v| c.sack_compression_share = v.small()),
    )
    .only("QUIC has none: write +ack-reordering=…"),
    Tcp::new(
        "sack-compression-slack",
        Kind::Time(Span::from_micros(1), ms(100)),
        "the timer of duplicate ACKs that are held back expires so much later",
        "tcp_comp_sack_slack_ns",
        (
            |c| if c.sack_compression_slack.is_zero() { Value::Off } else { Value::Time(c.sack_compression_slack) },
            |c, v| c.sack_compression_slack = v.span(),
        ),
    )
    .on(Value::Time(Span::from_micros(100)))
    .off()
    .only("QUIC has none: write +ack-reordering=…"),
    Tcp::new(
        "sack-compression-acks",
        Kind::Count(1, 255),
        "duplicate ACKs held back in a row at most",
        "tcp_comp_sack_nr",
        (|c| Value::Number(c.sack_compression_acks.into()), |c, v| c.sack_compression_acks = v.small()),
    )
    .only("QUIC has none: write +ack-reordering=…"),
    Tcp::new(
        "network-card",
        Kind::OneOf(&["veth", "virtio", "tun"]),
        "network card of receivers, whose driver decides what memory a segment takes beside its data, and so how much of a buffer is window",
        "veth.c, virtio_net.c, tun.c; skb_try_coalesce, tcp_measure_rcv_mss",
        (|c| Value::Word(c.network_card.name()), |c, v| {
            let largest = c.max_receive_window / c.network_card.window_share();
            let card = NetworkCard::ALL.into_iter().find(|card| v == Value::Word(card.name()));
            c.network_card = card.unwrap_or(NetworkCard::Veth);
            c.max_receive_window = largest * c.network_card.window_share();
        }),
    )
    .only("QUIC's windows are bytes of data"),
    Tcp::new(
        "autotuning",
        Kind::OneOf(&["drs", "linux"]),
        "receive buffers are sized by what is read in a smoothed RTT (drs), or by that less what waits, in one whose smaller samples count at once (linux)",
        "Fisk, Feng 2001; tcp_rcv_space_adjust of Linux 6.16 and 6.12.117",
        (
            |c| Value::Word(c.autotuning.name()),
            |c, v| c.autotuning = if v == Value::Word("linux") { Autotuning::Linux } else { Autotuning::Drs },
        ),
    )
    .only("QUIC's windows are bytes of data"),
    Tcp::new(
        "receive-window",
        Kind::Bytes(2_048, 1 << 30),
        "receive window at first: half of the receive buffer",
        "a host tuned for measurements; tcp_rmem",
        (|c| Value::Number(c.initial_receive_window), |c, v| c.initial_receive_window = v.number()),
    )
    .only("QUIC has windows of streams and of the connection: write +stream-window=… or +connection-window=…"),
    Tcp::new(
        "max-receive-window",
        Kind::Bytes(2_048, 1 << 30),
        "the largest receive window that auto-tuning gives",
        "a host tuned for measurements; tcp_rmem",
        (|c| Value::Number(c.max_receive_window), |c, v| c.max_receive_window = v.number()),
    )
    .only("QUIC has windows of streams and of the connection: write +max-stream-window=… or +max-connection-window=…"),
    Tcp::new(
        "syn-retries",
        Kind::Count(0, 30),
        "retransmissions of a SYN or SYN-ACK before the connection is given up",
        "tcp_syn_retries",
        (|c| Value::Number(c.syn_retries.into()), |c, v| c.syn_retries = v.tiny()),
    )
    .only("QUIC gives up by time: write +idle-timeout=…"),
    Tcp::new(
        "data-retries",
        Kind::Count(0, 100),
        "retransmissions of data before the connection is given up",
        "tcp_retries2",
        (|c| Value::Number(c.data_retries.into()), |c, v| c.data_retries = v.tiny()),
    )
    .only("QUIC gives up by time: write +idle-timeout=…"),
];

/// The value for an exit of slow start that is set or unset.
pub(super) fn of_slow_start(exit: Option<SlowStart>) -> Value {
    match exit {
        None => Value::Auto,
        Some(SlowStart::Standard) => Value::Off,
        Some(SlowStart::HyStart) => Value::Word("linux"),
        Some(SlowStart::HyStartPlusPlus) => Value::Word("rfc9406"),
    }
}

/// The value for a rule of the Reno-friendly region.
pub(super) fn of_reno_friendly(rule: RenoFriendly) -> Value {
    Value::Word(match rule {
        RenoFriendly::Linux => "linux",
        RenoFriendly::Rfc9438 => "rfc9438",
        RenoFriendly::Quinn => "quinn",
    })
}

/// The rule of the Reno-friendly region with that name.
pub fn to_reno_friendly(value: Value) -> RenoFriendly {
    match value {
        Value::Word("rfc9438") => RenoFriendly::Rfc9438,
        Value::Word("quinn") => RenoFriendly::Quinn,
        _ => RenoFriendly::Linux,
    }
}

/// The exit of slow start with that name.
pub(super) fn to_slow_start(value: Value) -> Option<SlowStart> {
    match value {
        Value::Off => Some(SlowStart::Standard),
        Value::Word("linux") => Some(SlowStart::HyStart),
        Value::Word("rfc9406") => Some(SlowStart::HyStartPlusPlus),
        _ => None,
    }
}
