//! Configuration of a TCP endpoint.

use super::echo::EchoRule;
use crate::cc::{self, Algorithm, CongestionController, RenoFriendly, SlowStart};
use crate::endpoint::Role;
use haltere_net::fault::Faults;
use haltere_net::rng::Stream;
use haltere_net::{Ecn, PathId, Span};

/// How the retransmission timeout is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoRule {
    /// Linux's rule: RFC 6298, but the variance term is never below `floor` and falls slowly.
    Linux {
        /// The lower bound of the variance term; Linux has 200 ms.
        floor: Span,
    },
    /// The rule of RFC 6298.
    Rfc6298 {
        /// The smallest timeout; the RFC has 1 s (section 2.4).
        least: Span,
    },
}

impl RtoRule {
    /// Linux's rule with its floor.
    pub const LINUX: RtoRule = RtoRule::Linux { floor: Span::from_millis(200) };
    /// RFC 6298 with its smallest timeout.
    pub const RFC_6298: RtoRule = RtoRule::Rfc6298 { least: Span::from_secs(1) };
}

/// The mechanisms that the sending half consults while it runs.
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
    pub unpaced: u32,
    pub tso: u32,
    pub tso_least: u32,
    pub tso_defer: u32,
    pub small_queue: u64,
    pub send_buffer: u64,
    pub wire: u64,
    pub nagle: bool,
    pub byte_counting: bool,
}

/// The part of a receive buffer that is advertised as window once full segments have arrived, in 256ths. The rest is
/// for the host's own overhead (Linux: `scaling_ratio`, which is 128 before the first segment).
pub const WINDOW_SHARE: u64 = NetworkCard::Veth.window_share();
/// Data bytes of a full segment, from whose memory the share is computed.
const FULL_SEGMENT: u64 = 1448;

haltere_net::named! {
    /// The network card of a receiver, whose driver decides what memory a segment takes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum NetworkCard {
        /// The card between network namespaces (Linux: `veth.c`): the sender's own segment, whose data stands apart from its headers.
        Veth = "veth",
        /// The card of a virtual machine (Linux: `virtio_net.c`, without mergeable buffers): headers and data stand in one buffer.
        Virtio = "virtio",
        /// A TUN device, into which a program writes packets (Linux: `tun.c`): a buffer of 2 KiB is allocated for each, and shared with no other.
        Tun = "tun",
    }
}

haltere_net::named! {
    /// How a receiver sizes its buffer.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Autotuning {
        /// By what was read in a smoothed round trip (M. Fisk, W. Feng, "Dynamic Right-Sizing in TCP", 2001; Linux before 6.16).
        Drs = "drs",
        /// By that, less what waits to be read, in a round trip of which a smaller sample counts at once (Linux 6.16, 6.12.117).
        Linux = "linux",
    }
}

impl NetworkCard {
    /// The memory that a full segment takes beside its data, bytes: Linux's `struct sk_buff` (256), and of `veth` the buffer of the headers
    /// (704), of `virtio` what its buffer for a whole packet has beyond the data (472), of `tun` likewise (600). The
    /// buffers have `struct skb_shared_info` (320).
    pub const fn overhead(self) -> u64 {
        match self {
            NetworkCard::Veth => 960,
            NetworkCard::Virtio => 728,
            NetworkCard::Tun => 856,
        }
    }

    /// The memory of a segment with `len` bytes of data, bytes. A driver's buffer has room for a full one, whatever is in it.
    pub(super) const fn memory(self, len: u64) -> u64 {
        let data = if len < FULL_SEGMENT && !matches!(self, NetworkCard::Veth) { FULL_SEGMENT } else { len };
        data + self.overhead()
    }

    /// The memory of a segment without a buffer of headers that stands apart (Linux: `truesize_adjust`).
    pub(super) const fn of_data(self, len: u64) -> u64 {
        match self {
            NetworkCard::Veth => len,
            NetworkCard::Virtio | NetworkCard::Tun => self.memory(len),
        }
    }

    /// The memory of a segment that is stored together with the one before it, bytes (Linux: `skb_try_coalesce`).
    pub(super) const fn appended(self, len: u64) -> u64 {
        self.memory(len) - self.given_back()
    }

    /// The memory that is given back where segments are stored together, bytes: headers that stand apart, or `struct sk_buff` alone.
    pub(super) const fn given_back(self) -> u64 {
        match self {
            NetworkCard::Veth => 960,
            NetworkCard::Virtio | NetworkCard::Tun => 256,
        }
    }

    /// How many full segments are stored as one (Linux: `skb_try_coalesce`, `MAX_SKB_FRAGS`): 17 pieces, and the first one where its data
    /// stands with the headers. The buffers of `tun` are no parts of pages, and are not shared (`skb_head_is_locked`).
    pub(super) const fn together(self) -> u8 {
        match self {
            NetworkCard::Veth => 17,
            NetworkCard::Virtio => 18,
            NetworkCard::Tun => 1,
        }
    }

    /// The share of a buffer that is window, in 256ths (Linux: `tcp_measure_rcv_mss`).
    pub const fn window_share(self) -> u64 {
        FULL_SEGMENT * 256 / (FULL_SEGMENT + self.overhead())
    }
}

/// Configuration of a TCP endpoint. The defaults are Linux's.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which end of the connection this is.
    pub role: Role,
    /// The path of its packets. The endpoint is one subflow.
    pub path: PathId,
    /// The path's MTU, bytes.
    pub mtu: u32,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// The agent that decides in its place, if one does.
    pub agent: Option<cc::Desk>,
    /// Where loaded code of congestion control says that it failed, if somebody listens.
    pub faults: Option<Faults>,
    /// How slow start ends before the first loss; `None` leaves it to the algorithm.
    pub slow_start: Option<SlowStart>,
    /// The configuration of a congestion control that receives the same events and is recorded, but never used; its own
    /// `shadow` is the next one ([`cc::Shadowed`]).
    pub shadow: Option<Box<Config>>,
    /// How CUBIC counts.
    pub arithmetic: cc::Arithmetic,
    /// How CUBIC grows where Reno would have the larger window.
    pub reno_friendly: RenoFriendly,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// The largest number of data bytes in a segment; `None` derives it from the MTU.
    pub largest_segment: Option<u32>,
    /// Bytes of IP and TCP headers without options.
    pub base_header: u32,
    /// Bytes of options that segments with data carry beside timestamps, added by a protocol above (MPTCP's DSS).
    pub data_options: u32,
    /// Whether windows are kept in whole segments, as Linux keeps them.
    pub whole_segments: bool,
    /// How many connections the congestion window grows and shrinks like (Chromium: `num_emulated_connections`).
    pub emulated_connections: u8,
    /// The number of segments that are sent unpaced at the start (from `sch_fq`).
    pub unpaced: u32,
    /// Whether a sender idle for longer than a timeout starts from a smaller window (RFC 5681 section 4.1; Linux:
    /// `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// The largest number of data bytes in a super-segment: 64 KiB less one and the room for headers. With 0, segments
    /// leave one by one.
    pub tso: u32,
    /// The smallest super-segment, in segments, that the sender chooses (Linux: `tcp_min_tso_segs`).
    pub tso_least: u32,
    /// A super-segment waits to fill up while less than 1/n of the window is free; this is n (Linux:
    /// `tcp_tso_win_divisor`). With 0, none waits.
    pub tso_defer: u32,
    /// TCP small queues: the most bytes that an unpaced connection keeps in the interface of its own node, if the
    /// interface credits (Linux: `tcp_limit_output_bytes`). With 0 there is no limit.
    pub small_queue: u64,
    /// The socket's send buffer: the most data bytes that are sent and not acknowledged. With 0 there is no limit.
    pub send_buffer: u64,
    /// Selective acknowledgements (RFC 2018). Without them losses are found by duplicate ACKs (RFC 6582), and neither RACK
    /// nor tail loss probes work.
    pub sack: bool,
    /// The largest number of SACK blocks in a segment (RFC 2018 section 3), from 1 to 3.
    pub sack_blocks: u32,
    /// Whether data that arrived twice is reported by D-SACK (RFC 2883).
    pub dsack: bool,
    /// Whether a block that is reported is extended only by those of the last four that were reported, and not by all that is
    /// held (Linux: `tcp_sack_new_ofo_skb`).
    pub forget_sacks: bool,
    /// Whether losses are found by time (RFC 8985) or by the number of segments SACKed above (RFC 6675 section 4).
    pub rack: bool,
    /// The smallest number of segments SACKed above a lost one. It is the duplicate-ACK threshold (RFC 5681) and the
    /// smallest reordering degree (Linux: `tcp_reordering`).
    pub loss_threshold: u32,
    /// Tail loss probes (RFC 8985 section 7).
    pub tlp: bool,
    /// Proportional rate reduction (RFC 6937). Without it the window is reduced at once (RFC 6675 section 5).
    pub prr: bool,
    /// Whether F-RTO detects spurious timeouts (RFC 5682).
    pub frto: bool,
    /// Whether a reduction is undone if its losses prove spurious (RFC 3522, RFC 4015).
    pub undo: bool,
    /// Timestamps (RFC 7323): 12 bytes in each segment.
    pub timestamps: bool,
    /// ECN, and how marks are echoed. It is used if the peer has it too. The default is `None`, except for algorithms
    /// that need it (Linux: `tcp_ecn = 2`).
    pub ecn: Option<EchoRule>,
    /// Packets are sent as ECT(1), which asks the network for L4S treatment (RFC 9331). Default: the algorithm's.
    pub l4s: bool,
    /// As a receiver, it takes marked packets for unmarked ones, as one that hides congestion from its sender does
    /// (RFC 3168 section 18.2, RFC 9743 section 7.6). Default false.
    pub hides_marks: bool,
    /// As a receiver, it sends so many acknowledgements in place of one for new data, each for a part of that (Savage et al.
    /// 1999, section 2.1). With 0 and 1 it does not.
    pub split_acks: u16,
    /// As a receiver, it acknowledges so many full segments beyond those that have arrived, and gaps as well: it never asks
    /// for data again (Savage et al. 1999, section 2.3). With 0 it acknowledges gaps alone. `None`: only data that it has.
    pub optimistic_acks: Option<u16>,
    /// Whether congestion control is told how much an acknowledgement delivers (RFC 3465), or that each one for new data
    /// delivers a full segment (RFC 2581 section 3.1).
    pub byte_counting: bool,
    /// The retransmission timeout.
    pub rto: RtoRule,
    /// Whether the distribution of RTT samples is kept for results, not only their mean. Default false.
    pub rtts: bool,
    /// The unit in which the times of packets are taken, from which RTTs and delivery rates come (Linux: a microsecond); zero
    /// for exact times.
    pub clock_unit: Span,
    /// The step in which the host's clock moves, and by which its pacing is late (a user-mode Linux: 256 ns); zero for an
    /// exact clock. Default zero.
    pub clock_step: Span,
    /// Granularity of the retransmission and delayed-ACK timers: the kernel's tick (HZ = 250 gives 4 ms).
    pub tick: Span,
    /// The time from an edge of the coarsest level of the host's timer wheel, 512 ticks, to the start of the run. It is
    /// in whole milliseconds, so that the timestamp clock does not depend on it.
    pub phase: Span,
    /// Delayed acknowledgements. Without them every data segment is acknowledged at once.
    pub delayed_ack: bool,
    /// The number of full segments that one acknowledgement answers (RFC 9293 section 3.8.6.3: 2).
    pub ack_every: u32,
    /// The longest delay of an acknowledgement (Linux: `TCP_DELACK_MAX`, 200 ms).
    pub max_ack_delay: Span,
    /// Whether acknowledgements are sent at once where Linux does so: at the start, after disorder, to advertise a
    /// larger window, and after a pushed segment was read.
    pub hurried_acks: bool,
    /// Whether an acknowledgement of two segments that does not open the window counts as a duplicate while there is a gap (Linux:
    /// `__tcp_ack_snd_check`).
    pub ack_window: bool,
    /// Quick acknowledgements: the number of segments at the start that are acknowledged at once (Linux: 16).
    pub quick_acks: u32,
    /// The largest delay of SACK compression, which begins after the third duplicate; zero switches it off (Linux: 1
    /// ms).
    pub sack_compression: Span,
    /// The largest delay of SACK compression as a share of the RTT, percent (Linux: 5; since 7.x `tcp_comp_sack_rtt_percent`).
    pub sack_compression_share: u32,
    /// How much later its timer expires (Linux: `tcp_comp_sack_slack_ns`, 0.1 ms): a timer with slack waits for its latest time, unless the kernel has
    /// another one to look after before.
    pub sack_compression_slack: Span,
    /// The largest number of successive duplicate ACKs that compression withholds (Linux: `tcp_comp_sack_nr`).
    pub sack_compression_acks: u32,
    /// Nagle's algorithm (RFC 9293 section 3.7.4) as Minshall changed it and Linux has it: what does not fill a segment waits
    /// while an earlier such segment is not acknowledged. Servers and clients of HTTP and MQTT set TCP_NODELAY.
    pub nagle: bool,
    /// Whether window-based algorithms are paced. Linux paces them only with a pacing queue discipline.
    pub paced: bool,
    /// The initial receive window, bytes: half of the receive buffer. The default is that of a host tuned for
    /// measurements, with a buffer of 16 MiB, so that flow control does not limit the sender in place of congestion
    /// control.
    pub initial_receive_window: u64,
    /// The network card by which segments are received.
    pub network_card: NetworkCard,
    /// How the receive buffer is sized.
    pub autotuning: Autotuning,
    /// The largest receive window of auto-tuning, bytes: [`WINDOW_SHARE`] of the largest buffer, here 128 MiB.
    pub max_receive_window: u64,
    /// The number of retransmissions of a SYN or SYN-ACK before the connection fails (Linux: 6).
    pub syn_retries: u8,
    /// The number of retransmissions of data before the connection fails (Linux: 15).
    pub data_retries: u8,
    /// TCP Fast Open (RFC 7413) with a cookie from an earlier connection. Both ends must agree.
    pub fast_open: bool,
    /// The random stream of the congestion control.
    pub stream: Stream,
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

    /// Linux's defaults for one end of a connection with `algorithm`.
    pub fn new(role: Role, algorithm: Algorithm, stream: Stream) -> Config {
        Config {
            role,
            path: PathId(0),
            mtu: 1500,
            algorithm,
            slow_start: None,
            agent: None,
            faults: None,
            shadow: None,
            arithmetic: cc::Arithmetic::Linux,
            reno_friendly: RenoFriendly::default(),
            initial_window: 10,
            largest_segment: None,
            base_header: super::segment::BASE_HEADER,
            data_options: 0,
            whole_segments: true,
            emulated_connections: 1,
            unpaced: 10,
            idle_restart: true,
            tso: 65_536 - 1 - 320,
            tso_least: 2,
            tso_defer: 3,
            small_queue: 1 << 20,
            send_buffer: 0,
            sack: true,
            sack_blocks: super::segment::MAX_SACK_BLOCKS as u32,
            dsack: true,
            forget_sacks: true,
            rack: true,
            loss_threshold: 3,
            tlp: true,
            prr: true,
            frto: true,
            undo: true,
            timestamps: true,
            ecn: algorithm.needs_ecn().then(|| if algorithm.is_l4s() { EchoRule::Accurate } else { EchoRule::Dctcp }),
            l4s: algorithm.is_l4s(),
            hides_marks: false,
            split_acks: 0,
            optimistic_acks: None,
            byte_counting: true,
            rto: RtoRule::LINUX,
            rtts: false,
            clock_unit: Span::from_micros(1),
            clock_step: Span::ZERO,
            tick: Span::from_millis(4),
            phase: Span::ZERO,
            delayed_ack: true,
            ack_every: 2,
            max_ack_delay: Span::from_millis(200),
            hurried_acks: true,
            quick_acks: 16,
            ack_window: true,
            sack_compression: Span::from_millis(1),
            sack_compression_share: 5,
            sack_compression_slack: Span::from_micros(100),
            sack_compression_acks: 44,
            nagle: false,
            paced: false,
            initial_receive_window: 8 << 20,
            network_card: NetworkCard::Veth,
            autotuning: Autotuning::Linux,
            max_receive_window: (128 << 20) / 256 * WINDOW_SHARE,
            syn_retries: 6,
            data_retries: 15,
            fast_open: false,
            stream,
        }
    }

    /// Bytes of IP and TCP headers, options included, on a segment with data and without SACK blocks.
    pub fn header(&self) -> u32 {
        self.base_header + self.data_options + if self.timestamps { super::segment::TIMESTAMP_OPTION } else { 0 }
    }

    /// Data bytes that a SYN may carry: the space that the longest options leave (Linux: `tcp_send_syn_data`).
    pub fn syn_data(&self) -> u64 {
        u64::from(self.limited(self.mtu.saturating_sub(self.base_header + super::segment::MAX_OPTIONS)))
    }

    /// Data bytes in a full segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.limited(self.mtu.saturating_sub(self.header()).max(64)))
    }

    /// The configurations of all that are in its shadow.
    fn shadows(&self) -> impl Iterator<Item = &Config> {
        std::iter::successors(self.shadow.as_deref(), |config| config.shadow.as_deref())
    }

    /// The configuration of its congestion control, with segments of `mss` bytes.
    fn facts(&self, mss: u64, stream: Stream) -> cc::Config {
        cc::Config {
            role: self.role,
            mss,
            wire: u64::from(self.mtu),
            grain: if self.whole_segments { mss } else { 1 },
            connections: self.emulated_connections.into(),
            initial_window: u64::from(self.initial_window) * mss,
            slow_start: self.slow_start,
            reno_friendly: self.reno_friendly,
            arithmetic: self.arithmetic,
            paced: self.paced,
            tick: self.tick,
            phase: self.phase,
            stream,
            values: &[],
            faults: self.faults.clone(),
        }
    }

    /// Its congestion control, with those in its shadow.
    pub(super) fn controller(&self, stream: &Stream) -> Box<dyn CongestionController> {
        let facts = |config: &Config| config.facts(self.mss(), stream.clone());
        let shadows = self.shadows().map(|shadow| (shadow.algorithm, facts(shadow)));
        let controller = cc::controller(self.algorithm, self.agent.as_ref(), facts(self));
        cc::with_shadows(cc::Contestant { controller, paced: self.paced }, shadows)
    }

    fn limited(&self, bytes: u32) -> u32 {
        self.largest_segment.map_or(bytes, |most| bytes.min(most))
    }

    /// Length of a segment on the wire, IP header included.
    pub(crate) fn wire_len(&self, segment: &super::Segment) -> u32 {
        segment.wire_len() + self.base_header.saturating_sub(super::segment::BASE_HEADER)
    }

    /// The mechanisms that the sending half consults while it runs.
    pub(super) fn rules(&self) -> Rules {
        let Config { prr, sack, rack, tlp, frto, undo, idle_restart, loss_threshold, unpaced, .. } = *self;
        let Config { tso, tso_least, tso_defer, small_queue, send_buffer, nagle, byte_counting, .. } = *self;
        let wire = self.mss() + u64::from(self.header());
        // Linux checks `tcp_is_sack` for both.
        let (rack, tlp) = (rack && sack, tlp && sack);
        Rules {
            prr,
            sack,
            rack,
            tlp,
            frto,
            undo,
            idle_restart,
            loss_threshold,
            unpaced,
            tso,
            tso_least,
            tso_defer,
            small_queue,
            send_buffer: if send_buffer == 0 { u64::MAX } else { send_buffer },
            wire,
            nagle,
            byte_counting,
        }
    }
}
