//! What a component may report beside changes of a [`Metric`](crate::Metric): single happenings.
//!
//! An incident is plain data and says nothing that the packets themselves say: who records packets sees them at the
//! hosts' and links' doors. Incidents are told only while somebody listens ([`Cx::probing`](crate::Cx::probing)).

use crate::time::{Span, Time};

/// Which packet of a connection is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketName {
    /// The packet number space, from 0; 0 where there is one only.
    pub space: u8,
    /// The packet's number in it; where packets have none (TCP), the position of its first byte.
    pub number: u64,
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// It was read.
    Read,
    /// It is kept until the keys to read it are there.
    Kept,
    /// It was thrown away, for this reason.
    Dropped(&'static str),
}

/// By what a packet is given up for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossSign {
    /// Later packets were acknowledged.
    Reordering,
    /// A later packet was acknowledged some time ago.
    Time,
    /// A timeout without any acknowledgement.
    Timeout,
}

/// In which state congestion control is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionState {
    /// The window grows exponentially.
    #[default]
    SlowStart,
    /// It grows as in the steady state.
    Avoidance,
    /// Losses found by acknowledgements are being repaired.
    Recovery,
    /// Losses found by a timeout are being repaired.
    Timeout,
}

/// A timer of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerName {
    /// The end of the time after which a packet older than an acknowledged one is lost.
    Loss,
    /// The timeout after which the peer is probed (QUIC: PTO; TCP: tail loss probe, retransmission timeout).
    Probe,
}

/// What happened to a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerChange {
    /// It now ends at this time.
    Set(Time),
    /// It was taken back.
    Cancelled,
    /// It ran out.
    Expired,
}

/// Something that happened to a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incident {
    /// A packet that arrived was dealt with; comes before what the packet brings about.
    Received(PacketName, Reception),
    /// A packet that was sent is given up for lost.
    Lost(PacketName, LossSign),
    /// An RTT sample was taken.
    RttSampled {
        /// The sample.
        latest: Span,
        /// Smoothed RTT after it.
        smoothed: Span,
        /// Minimum RTT after it.
        min: Span,
        /// Mean deviation after it.
        variation: Span,
    },
    /// Congestion control changed its state.
    CongestionState(CongestionState),
    /// A timer of loss recovery changed.
    Timer(TimerName, TimerChange),
    /// What the options of a TCP handshake's segment, which is about to be sent, say.
    Options {
        /// Maximum segment size, bytes.
        mss: u16,
        /// Shift of the windows in later segments (RFC 7323 section 2).
        window_scale: u8,
        /// Whether timestamps are offered.
        timestamps: bool,
    },
}
