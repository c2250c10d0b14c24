//! The mechanisms of MPTCP and MPQUIC beside those of TCP and QUIC.

use super::{Kind, Mechanism, Value, off_at_zero};
use crate::mptcp::{self, Reinjection};
use crate::quic;
use crate::quic::{Design, PathAcks};
use crate::scheduler::Scheduler;

type Mptcp = Mechanism<mptcp::Config>;
type Mpquic = Mechanism<quic::Config>;

/// Why a transport with a single path has no scheduler.
const SINGLE: &str = "a transport with a single path has none";

fn scheduler(value: Value, present: Scheduler) -> Scheduler {
    if let Value::Scheduler(scheduler) = value { scheduler } else { present }
}

/// Every mechanism that MPTCP has and TCP has not.
pub const MPTCP: &[Mptcp] = &[
    Mptcp::new(
        "scheduler",
        Kind::Scheduler,
        "which subflow gets the next data; its name alone sets it, too",
        "docs/reference/schedulers.md",
        (
            |c: &mptcp::Config| Value::Scheduler(c.scheduler),
            |c: &mut mptcp::Config, v| c.scheduler = scheduler(v, c.scheduler),
        ),
    )
    .only(SINGLE),
    Mptcp::new(
        "reinjection",
        Kind::OneOf(&["timer", "timeout"]),
        "data is given to another subflow when nothing is acknowledged to the connection for the longest timeout of its \
         subflows (timer), or at each timeout of a subflow",
        "Linux __mptcp_retrans; RFC 8684 section 3.3.6",
        (
            |c| Value::Word(if c.reinjection == Reinjection::Timer { "timer" } else { "timeout" }),
            |c, v| {
                c.reinjection = if v == Value::Word("timer") { Reinjection::Timer } else { Reinjection::Timeout };
            },
        ),
    )
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "opportunistic",
        Kind::OnOff,
        "a subflow with room repeats what holds back a full receive window",
        "Raiciu et al. 2012, section 4.2",
        (|c| Value::from(c.opportunistic), |c, v| c.opportunistic = v.is_on()),
    )
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "penalisation",
        Kind::OnOff,
        "the window of the subflow that holds it back is reduced",
        "Raiciu et al. 2012, section 4.2",
        (|c| Value::from(c.penalisation), |c, v| c.penalisation = v.is_on()),
    )
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "stale-after",
        Kind::Count(1, 100),
        "timeouts without news after which a subflow gets no new data",
        "Linux mptcp.stale_loss_cnt",
        (|c| off_at_zero(c.stale_after.into()), |c, v| c.stale_after = v.small()),
    )
    .off()
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "add-addr",
        Kind::OnOff,
        "the server announces its further addresses, and the client waits for that before it joins",
        "RFC 8684 section 3.4.1",
        (|c| Value::from(c.announce), |c, v| c.announce = v.is_on()),
    )
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "subflow-buffer",
        Kind::Bytes(10_000, 1 << 40),
        "send buffer of a subflow; auto: it grows with the congestion window",
        "Linux tcp_sndbuf_expand",
        (
            |c| c.send_buffer.map_or(Value::Auto, Value::Number),
            |c, v| c.send_buffer = v.is_on().then(|| v.number()),
        ),
    )
    .only("only MPTCP has subflows"),
    Mptcp::new(
        "header-room",
        Kind::Bytes(0, 4096),
        "room for headers in the memory of a segment, which send buffers grow by; 256B in kernels without wireless networks",
        "Linux MAX_TCP_HEADER",
        (|c| Value::Number(c.header_room), |c, v| c.header_room = v.number()),
    )
    .only("only MPTCP has subflows"),
];

/// Every mechanism that MPQUIC has and QUIC has not.
pub const MPQUIC: &[Mpquic] = &[
    Mpquic::new(
        "scheduler",
        Kind::Scheduler,
        "which path takes the next packet; its name alone sets it, too",
        "docs/reference/schedulers.md",
        (
            |c: &quic::Config| Value::Scheduler(c.scheduler),
            |c: &mut quic::Config, v| c.scheduler = scheduler(v, c.scheduler),
        ),
    )
    .only(SINGLE),
    Mpquic::new(
        "path-acks",
        Kind::OneOf(&["own", "lowest"]),
        "which path acknowledgements take: that of the packets, or all the one with the lowest number, as noq",
        "draft-ietf-quic-multipath section 4.1",
        (
            |c: &quic::Config| Value::Word(if c.path_acks == PathAcks::Lowest { "lowest" } else { "own" }),
            |c: &mut quic::Config, v| {
                c.path_acks = if v == Value::Word("lowest") { PathAcks::Lowest } else { PathAcks::Own };
            },
        ),
    )
    .only("a transport with a single path has no other for them"),
    Mpquic::new(
        "design",
        Kind::OneOf(&["draft", "2017"]),
        "draft: paths are validated first; 2017: they carry copies of data at once",
        "draft-ietf-quic-multipath; De Coninck, Bonaventure 2017",
        (
            |c: &quic::Config| Value::Word(if c.design == Design::Conext2017 { "2017" } else { "draft" }),
            |c, v| c.design = if v == Value::Word("2017") { Design::Conext2017 } else { Design::Draft },
        ),
    )
    .only("a transport with a single path has neither"),
];
