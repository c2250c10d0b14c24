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
    /// As RFC 6298 says, with a least timeout of 1 s.
    Rfc6298,
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
            timestamps: true,
            ecn: algorithm.needs_ecn().then_some(EchoRule::Dctcp),
            rto: RtoRule::Linux { floor: Span::from_millis(200) },
            tick: Span::from_millis(4),
            phase: Span::ZERO,
            delayed_ack: true,
            ack_every: 2,
            max_ack_delay: Span::from_millis(200),
            hurried_acks: true,
            quick_acks: 16,
            sack_compression: Span::from_millis(1),
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
        super::segment::BASE_HEADER + if self.timestamps { super::segment::TIMESTAMP_OPTION } else { 0 }
    }

    /// Data bytes that a SYN may carry: what is left beside the longest options (Linux: `tcp_send_syn_data`).
    pub fn syn_data(&self) -> u64 {
        u64::from(self.mtu.saturating_sub(super::segment::BASE_HEADER + super::segment::MAX_OPTIONS))
    }

    /// Data bytes in a full segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.mtu.saturating_sub(self.header()).max(64))
    }
}
