//! The view that schedulers and coupled congestion controls have of each path of a connection.

use haltere_net::{PathId, Rate, Span, Time};

/// The state of a path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PathState {
    /// Not validated yet: it is unknown whether the peer can be reached on it (RFC 9000 section 8.2). It carries no
    /// data.
    Validating,
    /// It carries data.
    #[default]
    Active,
    /// In reserve: it is used if no active path is left.
    Standby,
    /// A timeout passed without an answer. The path is probed. It carries no data before an answer arrives, unless no
    /// other path can.
    Suspect,
    /// Abandoned by either end. It does not come back.
    Abandoned,
}

/// The use that an end wants of a path (draft-ietf-quic-multipath section 3.3, the B bit of RFC 8684). Both ends heed it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PathStatus {
    /// It carries data.
    #[default]
    Available,
    /// In reserve: it carries data only while no other path can.
    Backup,
}

impl PathStatus {
    /// The state of a path that works.
    pub const fn working(self) -> PathState {
        match self {
            PathStatus::Available => PathState::Active,
            PathStatus::Backup => PathState::Standby,
        }
    }
}

impl PathState {
    /// Whether a scheduler may send data on it.
    pub const fn usable(self) -> bool {
        matches!(self, PathState::Active | PathState::Standby)
    }
}

/// The part of the address that is new where a peer's packets come from another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressChange {
    /// The port alone, as after most rebindings of a network address translator (NAT).
    Port,
    /// The IP address.
    Address,
}

/// A snapshot of a path. Sizes are in bytes, as congestion control counts them.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct PathView {
    /// The path's number within the connection.
    pub id: PathId,
    /// The path's state.
    pub state: PathState,
    /// Whether this is the path of the controller that receives the view. Always false in the views that schedulers
    /// receive.
    pub own: bool,
    /// Congestion window, bytes.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` if it is not set.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Bytes that the path was given and has not sent yet. QUIC gives a path only what it sends at once, so it has none;
    /// MPTCP fills the send buffer of a subflow.
    pub queued: u64,
    /// The most bytes that the path holds, in flight and queued: the congestion window in QUIC, the send buffer of a subflow
    /// in MPTCP.
    pub capacity: u64,
    /// Bytes that the send buffer keeps beside the bytes in flight and queued: data that has arrived but follows a gap, and
    /// descriptors.
    pub overhead: u64,
    /// Bytes of a full packet.
    pub mss: u64,
    /// Smoothed RTT, if there was a sample.
    pub srtt: Option<Span>,
    /// Minimum RTT, if there was a sample.
    pub min_rtt: Option<Span>,
    /// Mean deviation of the RTT.
    pub rtt_variation: Span,
    /// The newest sample of the delivery rate, if there was one.
    pub delivery_rate: Option<Rate>,
    /// The pacing rate, if the path is paced.
    pub pacing_rate: Option<Rate>,
    /// When pacing allows the next packet. A time that is not in the future means at once.
    pub paced_until: Time,
    /// Whether the window grows exponentially.
    pub in_slow_start: bool,
    /// Bytes acknowledged since the last loss.
    pub since_loss: u64,
    /// Bytes acknowledged between the last two losses. OLIA uses it together with `since_loss`.
    pub between_losses: u64,
}

impl PathView {
    /// The memory of the send buffer that is taken, as far as the path tells: bytes in flight and queued, and what else the
    /// buffer has to keep.
    pub fn memory(&self) -> u64 {
        self.held().saturating_add(self.overhead)
    }

    /// Bytes in flight and queued.
    pub fn held(&self) -> u64 {
        self.in_flight.saturating_add(self.queued)
    }

    /// Whether the congestion window has room for a full packet beyond what the path holds.
    pub fn has_room(&self) -> bool {
        self.held().saturating_add(self.mss) <= self.window
    }

    /// Whether a full packet would be sent on it at `now`: the path is usable, and neither the window nor pacing blocks
    /// it.
    pub fn can_send(&self, now: Time) -> bool {
        self.state.usable() && self.has_room() && self.paced_until <= now
    }

    /// Whether it takes a full packet at `now`, to send it at once or to queue it.
    pub fn takes(&self, now: Time) -> bool {
        self.state.usable() && self.has_capacity() && self.paced_until <= now
    }

    /// Whether its capacity has room for a full packet beyond what the path holds.
    pub fn has_capacity(&self) -> bool {
        self.memory().saturating_add(self.mss) <= self.capacity
    }

    /// The rate at which the path is expected to send: the pacing rate, or without pacing what the window gives in an RTT
    /// times 2 in the first half of slow start and times 1.2 after it (Linux: `tcp_update_pacing_rate`, which sets
    /// `sk_pacing_rate` for sockets that are not paced too). `None` before there is an RTT sample.
    pub fn nominal_rate(&self) -> Option<Rate> {
        self.pacing_rate.or_else(|| {
            let percent = if self.window < self.ssthresh / 2 { 200 } else { 120 };
            let bytes = self.window.max(self.in_flight);
            Some(Rate::of(bytes, self.srtt?)?.scaled(percent, 100))
        })
    }

    /// The controller's own path among those it receives; `None` on a connection with a single path.
    pub fn own(paths: &[PathView]) -> Option<&PathView> {
        paths.iter().find(|path| path.own)
    }
}

/// Why a connection cannot add or abandon a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathError {
    /// The transport supports one path only, or is configured for one.
    SinglePath,
    /// The peer has not agreed to several paths, or the handshake is not complete.
    NotNegotiated,
    /// The connection has, or had, a path with this number. Numbers are not used again.
    Taken,
    /// There would be more paths than either end allows.
    TooMany,
    /// There is no such path, or it is already abandoned.
    NoSuchPath,
    /// It is the only path left.
    LastPath,
    /// No links lead from the one address to the other.
    Unreachable,
    /// The connection is bound to its addresses.
    Bound,
    /// The connection has several paths at once: it does not move, but adds and abandons paths.
    Several,
}

impl PathError {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            PathError::SinglePath => "the transport has a single path: configure it for several",
            PathError::NotNegotiated => {
                "the peer has not agreed to several paths, or the handshake is not over: wait for it, and allow them at both ends"
            }
            PathError::Taken => "the connection has or had a path of this number: take the next one",
            PathError::TooMany => "there are as many paths as both ends allow: allow more",
            PathError::NoSuchPath => "the connection has no such path, or gave it up already",
            PathError::Unreachable => "no links lead from the one address to the other: take addresses that they join",
            PathError::Bound => "the transport binds a connection to its addresses: open another connection",
            PathError::Several => "the connection has several paths: abandon the one that it leaves",
            PathError::LastPath => "it is the connection's only path: close the connection instead",
        }
    }
}
