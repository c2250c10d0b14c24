//! What schedulers and coupled congestion controls are given of each path of a connection.

use haltere_net::{PathId, Rate, Span, Time};

/// In which part of its life a path is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PathState {
    /// It is not known yet whether the peer can be reached on it (RFC 9000 section 8.2); it carries no data.
    Validating,
    /// It carries data.
    #[default]
    Active,
    /// It is there to be used if no active path is left.
    Standby,
    /// A timeout passed without an answer: it is probed, and carries no data until one comes while another path can.
    Suspect,
    /// It is given up, by either end, and will not come back.
    Abandoned,
}

impl PathState {
    /// Whether a scheduler may put data on it.
    pub const fn usable(self) -> bool {
        matches!(self, PathState::Active | PathState::Standby)
    }
}

/// A path as others see it, at one instant. Sizes are in bytes, as congestion control counts them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathView {
    /// Its number within the connection.
    pub id: PathId,
    /// In which part of its life it is.
    pub state: PathState,
    /// Whether it is the path of the controller that is given the view; never in what schedulers are given.
    pub own: bool,
    /// Congestion window, bytes.
    pub window: u64,
    /// Slow-start threshold, bytes; `u64::MAX` while there is none.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub in_flight: u64,
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
    /// The rate that its packets are paced at, if they are.
    pub pacing_rate: Option<Rate>,
    /// When pacing lets the next packet go; up to the present if it may go at once.
    pub paced_until: Time,
    /// Whether the window grows exponentially.
    pub in_slow_start: bool,
    /// Bytes acknowledged since the last loss.
    pub since_loss: u64,
    /// Bytes acknowledged between the last two losses (with `since_loss`, what OLIA goes by).
    pub between_losses: u64,
}

impl PathView {
    /// Whether the window has room for a full packet.
    pub fn has_room(&self) -> bool {
        self.in_flight + self.mss <= self.window
    }

    /// Whether a full packet may go on it at `now`: the path is usable, and neither window nor pacing holds it back.
    pub fn can_send(&self, now: Time) -> bool {
        self.state.usable() && self.has_room() && self.paced_until <= now
    }

    /// Of what a coupled controller is given, its own path; `None` on a connection with a single path.
    pub fn own(paths: &[PathView]) -> Option<&PathView> {
        paths.iter().find(|path| path.own)
    }
}

/// Why a connection does not take or give up a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathError {
    /// The transport has one path, or is configured to have one.
    SinglePath,
    /// The peer has not agreed to have several, or the handshake is not over.
    NotNegotiated,
    /// The connection has or had a path of this number; numbers are not used again.
    Taken,
    /// More paths than either end allows.
    TooMany,
    /// There is no such path, or it is given up already.
    NoSuchPath,
    /// It is the only path left.
    LastPath,
    /// No links lead from the one address to the other.
    Unreachable,
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
            PathError::LastPath => "it is the connection's only path: close the connection instead",
        }
    }
}
