//! What a TCP endpoint is told at birth.

use super::echo::EchoRule;
use crate::cc::{Algorithm, SlowStart};
use crate::endpoint::Role;
use haltere_net::rng::Stream;
use haltere_net::{PathId, Span};

/// How the retransmission timeout is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoRule {
    /// As Linux: RFC 6298 with a variance that is never below `floor` and falls slowly.
    Linux {
        /// The least the variance term counts; Linux has 200 ms.
        floor: Span,
    },
    /// As RFC 6298 says.
    Rfc6298 {
        /// The least timeout; the RFC has 1 s (section 2.4).
        least: Span,
    },
}

impl RtoRule {
    /// Linux's rule with its floor.
    pub const LINUX: RtoRule = RtoRule::Linux { floor: Span::from_millis(200) };
    /// RFC 6298 with its least timeout.
    pub const RFC_6298: RtoRule = RtoRule::Rfc6298 { least: Span::from_secs(1) };
}

/// The mechanisms of the sending half, as it asks for them while it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub prr: bool,
    pub sack: bool,
    pub rack: bool,
    pub tlp: bool,
    pub frto: bool,
    pub undo: bool,
    pub idle_restart: bool,
    pub loss_threshold: u32,
    pub unpaced: u64,
    pub tso: u64,
    pub tso_least: u64,
    pub tso_defer: u64,
}

/// How much of a receive buffer is offered as window once full segments have arrived, in 256ths; the rest is the host's own
/// expense (Linux: `scaling_ratio`; it supposes 128 before). The network device decides it: 153 was measured on veth, 158 on
/// TUN.
pub const WINDOW_SHARE: u64 = 153;

/// Configuration of a TCP endpoint. The defaults are Linux's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which end this is.
    pub role: Role,
    /// The path its packets travel on: this is one subflow.
    pub path: PathId,
    /// The path's MTU, bytes.
    pub mtu: u32,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// Slow start's early exit; `None` leaves it to the algorithm.
    pub slow_start: Option<SlowStart>,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Data bytes in a full segment at most; `None` leaves it to the MTU.
    pub largest_segment: Option<u32>,
    /// Bytes of IP and TCP header without options.
    pub base_header: u32,
    /// Whether windows are kept in whole segments, as Linux keeps them.
    pub whole_segments: bool,
    /// Segments that go out before any are paced (as `sch_fq` had it).
    pub unpaced: u64,
    /// Whether a sender idle for longer than a timeout starts from a smaller window (RFC 5681 section 4.1; Linux:
    /// `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// Data bytes of a super-segment at most: 64 KiB less one and the headers' room. 0: segments leave one by one.
    pub tso: u64,
    /// Fewer segments are not sent on purpose (Linux: `tcp_min_tso_segs`).
    pub tso_least: u64,
    /// A super-segment waits to fill up while less than this fraction of the window, one in so many, is free (Linux:
    /// `tcp_tso_win_divisor`). 0: none waits.
    pub tso_defer: u64,
    /// Selective acknowledgements (RFC 2018). Without them losses are found by duplicate ACKs (RFC 6582), and neither RACK
    /// nor tail loss probes work.
    pub sack: bool,
    /// SACK blocks in a segment at most (RFC 2018 section 3), from 1 to 3.
    pub sack_blocks: u32,
    /// Whether data that came twice is reported (RFC 2883).
    pub dsack: bool,
    /// Whether losses are found by time (RFC 8985) or by the number of segments SACKed above (RFC 6675 section 4).
    pub rack: bool,
    /// The least number of segments SACKed above a lost one: the duplicate-ACK threshold (RFC 5681) and the least
    /// reordering degree (Linux: `tcp_reordering`).
    pub loss_threshold: u32,
    /// Tail loss probes (RFC 8985 section 7).
    pub tlp: bool,
    /// Proportional rate reduction (RFC 6937); without it the window comes down at once (RFC 6675 section 5).
    pub prr: bool,
    /// Spurious timeouts are found by F-RTO (RFC 5682).
    pub frto: bool,
    /// Whether a reduction is taken back whose losses prove to be none (RFC 3522, RFC 4015).
    pub undo: bool,
    /// Timestamps (RFC 7323): 12 bytes in each segment.
    pub timestamps: bool,
    /// ECN, and how marks are echoed; used if the peer has it too. `None` but for algorithms that need it (Linux:
    /// `tcp_ecn = 2`).
    pub ecn: Option<EchoRule>,
    /// The retransmission timeout.
    pub rto: RtoRule,
    /// Granularity of the retransmission and delayed-ACK timers: the kernel's tick (HZ = 250 gives 4 ms).
    pub tick: Span,
    /// How long after an edge of the coarsest grain of the host's timers, 512 ticks, the run begins. Whole milliseconds,
    /// so that the clock of timestamps need not know it.
    pub phase: Span,
    /// Delayed acknowledgements; without them every data segment is acknowledged at once.
    pub delayed_ack: bool,
    /// Full segments that are answered by one acknowledgement (RFC 9293 section 3.8.6.3: 2).
    pub ack_every: u32,
    /// The longest an acknowledgement is delayed (Linux: `TCP_DELACK_MAX`, 200 ms).
    pub max_ack_delay: Span,
    /// Whether acknowledgements are hurried where Linux does: at the start, after disorder, to offer a larger window, and when a
    /// pushed segment was read.
    pub hurried_acks: bool,
    /// Quick acknowledgements: how many of the first segments are acknowledged at once (Linux: 16).
    pub quick_acks: u32,
    /// Compression of SACKs after the third duplicate: at most this delay; zero switches it off (Linux: 1 ms).
    pub sack_compression: Span,
    /// Duplicates held back in a row at most (Linux: `tcp_comp_sack_nr`).
    pub sack_compression_acks: u32,
    /// Whether window-based algorithms are paced (Linux does not without a pacing queue discipline).
    pub paced: bool,
    /// The receive window at first, bytes: half of the receive buffer. The default is that of a host tuned for
    /// measurements, with a buffer of 16 MiB, so that flow control does not stand in for congestion control.
    pub initial_receive_window: u64,
    /// The largest receive window auto-tuning gives, bytes: [`WINDOW_SHARE`] of the largest buffer, here 128 MiB.
    pub max_receive_window: u64,
    /// Retransmissions of a SYN or SYN-ACK before the connection is given up (Linux: 6).
    pub syn_retries: u32,
    /// Retransmissions of data before the connection is given up (Linux: 15).
    pub data_retries: u32,
    /// TCP Fast Open (RFC 7413) with a cookie that the client got in an earlier connection; both ends must agree.
    pub fast_open: bool,
    /// Dice for the congestion control.
    pub stream: Stream,
}

impl Config {
    /// Linux's defaults for one end of a connection with `algorithm`.
    pub fn new(role: Role, algorithm: Algorithm, stream: Stream) -> Config {
        Config {
            role,
            path: PathId(0),
            mtu: 1500,
            algorithm,
            slow_start: None,
            initial_window: 10,
            largest_segment: None,
            base_header: super::segment::BASE_HEADER,
            whole_segments: true,
            unpaced: 10,
            idle_restart: true,
            tso: 65_536 - 1 - 320,
            tso_least: 2,
            tso_defer: 3,
            sack: true,
            sack_blocks: super::segment::MAX_SACK_BLOCKS as u32,
            dsack: true,
            rack: true,
            loss_threshold: 3,
            tlp: true,
            prr: true,
            frto: true,
            undo: true,
            timestamps: true,
            ecn: algorithm.needs_ecn().then_some(EchoRule::Dctcp),
            rto: RtoRule::LINUX,
            tick: Span::from_millis(4),
            phase: Span::ZERO,
            delayed_ack: true,
            ack_every: 2,
            max_ack_delay: Span::from_millis(200),
            hurried_acks: true,
            quick_acks: 16,
            sack_compression: Span::from_millis(1),
            sack_compression_acks: 44,
            paced: false,
            initial_receive_window: 8 << 20,
            max_receive_window: (128 << 20) / 256 * WINDOW_SHARE,
            syn_retries: 6,
            data_retries: 15,
            fast_open: false,
            stream,
        }
    }

    /// Bytes of IP and TCP header, options included, on a segment without SACK blocks.
    pub fn header(&self) -> u32 {
        self.base_header + if self.timestamps { super::segment::TIMESTAMP_OPTION } else { 0 }
    }

    /// Data bytes that a SYN may carry: what is left beside the longest options (Linux: `tcp_send_syn_data`).
    pub fn syn_data(&self) -> u64 {
        u64::from(self.limited(self.mtu.saturating_sub(self.base_header + super::segment::MAX_OPTIONS)))
    }

    /// Data bytes in a full segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.limited(self.mtu.saturating_sub(self.header()).max(64)))
    }

    fn limited(&self, bytes: u32) -> u32 {
        self.largest_segment.map_or(bytes, |most| bytes.min(most))
    }

    /// Length of a segment on the wire, IP header included.
    pub(super) fn wire_len(&self, segment: &super::Segment) -> u32 {
        segment.wire_len(self.timestamps) + self.base_header.saturating_sub(super::segment::BASE_HEADER)
    }

    /// What the sending half asks for while it runs.
    pub(super) fn rules(&self) -> Rules {
        let Config { prr, sack, rack, tlp, frto, undo, idle_restart, loss_threshold, unpaced, .. } = *self;
        let Config { tso, tso_least, tso_defer, .. } = *self;
        // As in Linux, which asks `tcp_is_sack` for both.
        let (rack, tlp) = (rack && sack, tlp && sack);
        Rules { prr, sack, rack, tlp, frto, undo, idle_restart, loss_threshold, unpaced, tso, tso_least, tso_defer }
    }
}
