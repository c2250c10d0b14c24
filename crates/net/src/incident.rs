//! Single events that a component may report beside changes of a [`Metric`](crate::Metric).
//!
//! An incident is plain data. It does not repeat what the packets themselves show: a recorder of packets sees them
//! enter and leave hosts and links. Incidents are reported only if a probe is attached
//! ([`Cx::probing`](crate::Cx::probing)).

use crate::packet::PathId;
use crate::time::{Span, Time};

/// Identifies a packet of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketName {
    /// The packet number space, from 0; 0 if there is only one.
    pub space: u8,
    /// The packet's number in that space. If packets have no numbers (TCP), the position of its first byte.
    pub number: u64,
}

/// The outcome for a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// It was read.
    Read,
    /// It is buffered until the keys to read it are available.
    Kept,
    /// It was discarded, for this reason.
    Dropped(&'static str),
}

/// Why a packet is declared lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossSign {
    /// Later packets were acknowledged.
    Reordering,
    /// A later packet was acknowledged, and enough time has passed since.
    Time,
    /// A timeout without any acknowledgement.
    Timeout,
}

/// The state of congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionState {
    /// The window grows exponentially.
    #[default]
    SlowStart,
    /// The window grows as in the steady state.
    Avoidance,
    /// Losses found by acknowledgements are being repaired.
    Recovery,
    /// Losses found by a timeout are being repaired.
    Timeout,
}

/// A timer of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerName {
    /// The end of the time after which a packet older than an acknowledged one is declared lost.
    Loss,
    /// The timeout after which the peer is probed (QUIC: PTO; TCP: tail loss probe, retransmission timeout).
    Probe,
}

/// A change of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerChange {
    /// It now expires at this time.
    Set(Time),
    /// It was cancelled.
    Cancelled,
    /// It expired.
    Expired,
}

/// How far a path is that goes on with other addresses (RFC 9000 section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MigrationStep {
    /// New addresses are probed.
    ProbingStarted,
    /// Nobody answered there.
    ProbingAbandoned,
    /// The path uses the new addresses.
    Started,
    /// The peer answered there: the path stays.
    Complete,
    /// The peer did not answer there: the path uses the addresses that it had before.
    Abandoned,
}

/// An event of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incident {
    /// A packet that arrived was processed. This comes before the effects of the packet.
    Received(PacketName, Reception),
    /// A packet that was sent is declared lost.
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
    /// A packet that is sent on one of several paths carries data.
    Carried {
        /// The path.
        path: PathId,
        /// The stream of the data; 0 if there is only one.
        stream: u64,
        /// The position of its first byte.
        start: u64,
        /// Bytes.
        len: u32,
        /// Whether it was sent before, on this path or another.
        again: bool,
    },
    /// A path goes on with other addresses.
    Migration {
        /// The path.
        path: PathId,
        /// How far it is.
        step: MigrationStep,
    },
    /// The options of the segment of a TCP handshake that is about to be sent.
    Options {
        /// Maximum segment size, bytes.
        mss: u16,
        /// Scale of the windows in later segments (RFC 7323 section 2).
        window_scale: u8,
        /// Whether timestamps are offered.
        timestamps: bool,
    },
}
