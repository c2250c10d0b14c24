//! Reports of congestion controllers: those that are compared with each other on the same events, and the model that BBR has
//! of its path.

use crate::incident::CongestionState;
use crate::packet::PathId;
use crate::time::{Span, Time};
use crate::units::Rate;

/// The requests of a congestion controller at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Decision {
    /// Congestion window, bytes. A transport may use another one during recovery.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` if it is not set.
    pub ssthresh: u64,
    /// The pacing rate that the algorithm asks for, if it asks for one.
    pub pacing_rate: Option<Rate>,
    /// The state of congestion control.
    pub state: CongestionState,
}

crate::named! {
    /// The states of BBR (draft-ietf-ccwg-bbr, section "State Machine Operation"; version 1 has no names for those in which it
    /// probes for bandwidth).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum BbrState {
        /// The rate doubles each round.
        Startup = "Startup",
        /// The queue of Startup drains.
        Drain = "Drain",
        /// The queue of a probe drains.
        Down = "ProbeBW_DOWN",
        /// The rate is that of the path.
        Cruise = "ProbeBW_CRUISE",
        /// The pipe is filled before a probe.
        Refill = "ProbeBW_REFILL",
        /// More bandwidth is probed for.
        Up = "ProbeBW_UP",
        /// The least RTT is measured.
        ProbeRtt = "ProbeRTT",
        /// Version 1 probes for bandwidth.
        ProbeBandwidth = "ProbeBW",
    }
}

/// The model that BBR has of its path. Versions leave out what they do not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathModel {
    /// The state.
    pub state: BbrState,
    /// The largest bandwidth in the filter (`BBR.max_bw`).
    pub max_bandwidth: Rate,
    /// The short-term bound of the bandwidth (`BBR.bw_shortterm`).
    pub short_term_bandwidth: Option<Rate>,
    /// The long-term bound of the bytes in flight (`BBR.inflight_longterm`).
    pub long_term_inflight: Option<u64>,
    /// The short-term bound of the bytes in flight (`BBR.inflight_shortterm`).
    pub short_term_inflight: Option<u64>,
    /// How many bytes beyond the bandwidth ACKs bring at once (`BBR.extra_acked`).
    pub extra_acked: u64,
    /// The least RTT in the filter (`BBR.min_rtt`).
    pub min_rtt: Option<Span>,
    /// Round trips (`BBR.round_count`).
    pub rounds: u64,
    /// Rounds without growth of the bandwidth (`BBR.full_bw_count`).
    pub full_rounds: u32,
}

/// An event that a congestion controller receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlEvent {
    /// Its creation.
    Start,
    /// The handshake is complete.
    Established,
    /// A packet is sent, for the first time after this idle time if there was one.
    Sent {
        /// How long nothing was sent for lack of data.
        after_idle: Option<Span>,
    },
    /// An acknowledgement.
    Acknowledged {
        /// Bytes that it delivered.
        delivered: u64,
        /// Its RTT sample.
        rtt: Option<Span>,
    },
    /// An acknowledgement on a connection with ECN: the bytes that were marked since the start.
    Echo {
        /// Bytes acknowledged with marks since the start.
        marked: u64,
    },
    /// An acknowledgement, before its losses are looked for.
    Arrival {
        /// Its RTT sample.
        rtt: Option<Span>,
    },
    /// A packet was found lost.
    Lost {
        /// Its size, bytes.
        bytes: u64,
    },
    /// Congestion was detected.
    Congestion {
        /// Its cause, in words.
        cause: &'static str,
    },
    /// The last congestion event proved spurious.
    Undo,
    /// Recovery ended.
    Recovered,
    /// The segment size changed.
    SegmentSize {
        /// The new size, bytes.
        bytes: u64,
    },
}

/// The first event after which two controllers no longer ask for the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parting {
    /// When the event occurred.
    pub at: Time,
    /// The event.
    pub event: ControlEvent,
    /// Bytes in flight, as the event stated last.
    pub in_flight: u64,
    /// The decisions of the controller in command and of the one in the shadow before the event.
    pub before: [Decision; 2],
    /// Their decisions after it.
    pub after: [Decision; 2],
}

/// A report about a controller in the shadow of another.
#[derive(Clone, Copy, Debug)]
pub struct ShadowReport<'a> {
    /// The path of the connection.
    pub path: PathId,
    /// The number of the shadow, from 1; 0 for the controller in command.
    pub number: u8,
    /// The report.
    pub told: ShadowNews<'a>,
}

/// A report about a controller in the shadow.
#[derive(Clone, Copy, Debug)]
pub enum ShadowNews<'a> {
    /// It now asks for this. Where the algorithm asks for no pacing rate but the transport paces it, the rate is the
    /// transport's.
    Decided(Decision),
    /// It has parted from the controller in command.
    Parted(&'a Parting),
}
