//! Configuration of an MPTCP endpoint.

use super::option;
use crate::scheduler::{self, Scheduler};
use crate::tcp;

/// The room for headers in a kernel with tunnels and wireless networks, as distributions build it.
const HEADER_ROOM: u64 = 320;

/// When data that a subflow was given is given to another, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reinjection {
    /// When nothing was acknowledged to the connection for the longest retransmission timeout of its subflows: its oldest
    /// data, on a subflow that has nothing else to do (Linux since 5.6: `__mptcp_retrans`).
    Timer,
    /// At each retransmission timeout of a subflow: all that it has in flight (Linux's first implementation).
    Timeout,
}

/// Configuration of an MPTCP endpoint. The defaults are Linux's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Each subflow's configuration. Its path is set for each.
    pub tcp: tcp::Config,
    /// Which subflow gets the next data.
    pub scheduler: Scheduler,
    /// The most subflows at a time.
    pub max_subflows: u8,
    /// When data is sent again on another subflow.
    pub reinjection: Reinjection,
    /// Whether a subflow with room repeats what holds back a full receive window (C. Raiciu et al., NSDI 2012, section
    /// 4.2, mechanism 1).
    pub opportunistic: bool,
    /// Whether the window of the subflow that holds it back is reduced (the same, mechanism 2).
    pub penalisation: bool,
    /// A subflow is given nothing more after this many data-level timeouts without an acknowledgement (Linux:
    /// `stale_loss_cnt`); 0 never gives one up.
    pub stale_after: u32,
    /// Whether the server announces its further addresses (ADD_ADDR), and the client waits for that before it joins.
    pub announce: bool,
    /// Whether a super-segment ends where a mapping ends, as in Linux. Without it, a connection with one path sends the segments
    /// that TCP sends.
    pub mappings_apart: bool,
    /// The send buffer of each subflow, bytes. `None` lets it grow with the congestion window up to `max_send_buffer`, as
    /// Linux does.
    pub send_buffer: Option<u64>,
    /// The largest send buffer of a subflow that grows, bytes (Linux: `net.ipv4.tcp_wmem`). The default is that of a host
    /// tuned for measurements.
    pub max_send_buffer: u64,
    /// The bytes that a kernel reserves for headers in a segment's memory (Linux: `MAX_TCP_HEADER`): 320 if it is built with tunnels
    /// and wireless networks, 256 without wireless networks. With segments of 1460 bytes the 64 bytes decide whether a segment
    /// counts 4352 bytes or 2304, so how large first send buffers are.
    pub header_room: u64,
}

impl Config {
    /// Linux's defaults, on subflows of this configuration: those of the kernel, or, with a coupled congestion control, of its
    /// first implementation.
    pub fn new(mut tcp: tcp::Config) -> Config {
        tcp.data_options = option::DATA_OPTIONS;
        // The kernel has no coupled control. Linux's first implementation had them, with the lowest RTT first. The kernel's
        // scheduler fills send buffers of some windows, and a coupled control may take the window away afterwards: what the
        // path was given then holds up all other data.
        let scheduler = if tcp.algorithm.coupled { scheduler::LOWEST_RTT } else { scheduler::LINUX };
        Config {
            tcp,
            scheduler,
            max_subflows: 8,
            reinjection: Reinjection::Timer,
            opportunistic: false,
            penalisation: false,
            stale_after: 4,
            announce: false,
            mappings_apart: true,
            send_buffer: None,
            header_room: HEADER_ROOM,
            max_send_buffer: 128 << 20,
        }
    }

    /// The number of SACK blocks that fit beside a DATA_ACK, if they are to be so many.
    pub(super) fn sack_blocks(&self) -> u32 {
        let stamps = if self.tcp.timestamps { tcp::segment::TIMESTAMP_OPTION } else { 0 };
        let left = tcp::segment::MAX_OPTIONS - stamps - option::DATA_ACK - 4;
        self.tcp.sack_blocks.min(left / 8)
    }

    /// The memory that Linux reckons for a full segment in a send buffer (`tcp_sndbuf_expand`), bytes: the segment, the
    /// longest headers and the end of the buffer, rounded up to a power of two, and the descriptor.
    pub(super) fn segment_memory(&self) -> u64 {
        const END: u64 = 320;
        const DESCRIPTOR: u64 = 256;
        let mss = u64::from(self.tcp.mtu.saturating_sub(self.tcp.base_header));
        (mss + self.header_room + END).next_power_of_two() + DESCRIPTOR
    }
}
