//! Loads: a source of datagrams that keeps to its own times, and the sink that counts or answers them.
//!
//! A load is a [`Pattern`], one file each; the source asks it when packets leave.

mod constant;
mod on_off;
mod replay;
mod trains;

pub use constant::Constant;
pub use on_off::OnOff;
pub use replay::Replay;
pub use trains::Trains;

use super::{Application, Report};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Rate, Span, Time};
use haltere_transport::datagram::{Datagram, Protocol};
use haltere_transport::{CloseReason, Event};

/// The times at which packets leave, in rounds that follow each other.
pub trait Pattern: Send {
    /// A round begins. Returns when its first packet leaves.
    fn begin(&mut self, at: Time) -> Time {
        at
    }

    /// Whether the next packet belongs to another round.
    fn is_over(&self, round: &Round) -> bool;

    /// The packet that leaves next: its conversation and its datagram, which has this number and, if the pattern has no length
    /// of its own, this payload.
    fn packet(&self, _: &Round, number: u64, payload: u32) -> (usize, Datagram) {
        (0, Datagram::new(Protocol::Udp, number, payload))
    }

    /// When the next packet leaves, or the next round begins, after a packet with so many bytes left now.
    fn next(&mut self, round: &Round, now: Time, bytes: u32) -> Time;

    /// A packet of this round was answered. Returns when the next packet leaves or the next round begins, if that changes.
    fn on_answer(&mut self, _: &Round, _: Time) -> Option<Time> {
        None
    }
}

/// A train, a period with packets and the one without after it, or a repetition.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its beginning.
    pub since: Time,
    /// Packets of it that were sent.
    pub sent: u64,
    /// Packets of it that were answered.
    pub answered: u64,
    /// When the next packet leaves, or the next round begins.
    pub next: Time,
    /// Whether no other round follows.
    pub last: bool,
}

/// The counters of a source.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sourced {
    /// Packets.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// Trains whose answers were waited for, or repetitions of a capture.
    pub rounds: u64,
    /// Why nothing could be sent.
    pub failed: Option<CloseReason>,
}

/// The end that sends.
pub struct Source {
    pattern: Box<dyn Pattern>,
    payload: u32,
    to: Remote,
    /// By the number of the conversation.
    sockets: Vec<Option<SocketId>>,
    count: Option<u64>,
    until: Time,
    round: Round,
    sourced: Sourced,
}

/// When packet `n` of a series leaves that begins at `since`, with this many bytes each. The remainder of a division is kept,
/// so that the rate is exact.
fn departure(since: Time, n: u64, bytes: u32, rate: Rate) -> Time {
    let ns = u128::from(n) * u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
    since + Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl Source {
    /// A source of datagrams with this payload, which are sent until a time or a number of rounds.
    pub fn new(pattern: Box<dyn Pattern>, payload: u32, to: Remote, count: Option<u64>, until: Time) -> Source {
        let round = Round { since: Time::NEVER, sent: 0, answered: 0, next: Time::NEVER, last: false };
        Source { pattern, payload, to, sockets: Vec::new(), count, until, round, sourced: Sourced::default() }
    }

    /// The socket of a conversation.
    fn socket(&mut self, flow: usize, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) -> Option<SocketId> {
        if self.sockets.len() <= flow {
            self.sockets.resize(flow + 1, None);
        }
        if self.sockets[flow].is_none() {
            match sockets.connect(self.to, cx) {
                Ok(socket) => self.sockets[flow] = Some(socket),
                Err(reason) => self.sourced.failed = Some(reason),
            }
        }
        self.sockets[flow]
    }

    /// Begins a round.
    fn begin(&mut self, at: Time) {
        let left = self.count.map(|count| count.saturating_sub(self.sourced.rounds));
        let first = self.pattern.begin(at);
        let next = if left == Some(0) { Time::NEVER } else { first };
        self.round = Round { since: at, sent: 0, answered: 0, next, last: left.is_some_and(|left| left <= 1) };
    }

    /// Sends what is due.
    fn send(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while self.round.next <= cx.now && self.sourced.failed.is_none() {
            if self.round.next > self.until {
                self.round.next = Time::NEVER;
                return;
            }
            if self.pattern.is_over(&self.round) {
                self.sourced.rounds += 1;
                self.begin(self.round.next.max(cx.now));
                continue;
            }
            let (flow, datagram) = self.pattern.packet(&self.round, self.sourced.packets, self.payload);
            let Some(connection) = self.socket(flow, sockets, cx).and_then(|socket| sockets.get(socket)) else {
                return;
            };
            connection.send_datagram(datagram);
            self.sourced.packets += 1;
            self.sourced.bytes += u64::from(datagram.len);
            self.round.sent += 1;
            self.round.next = self.pattern.next(&self.round, cx.now, datagram.len);
        }
    }

    /// An answer arrived to the packet of this number.
    fn hear(&mut self, number: u64, now: Time) {
        self.sourced.answered += 1;
        // An answer to a packet of an earlier round is late.
        if number + self.round.sent < self.sourced.packets {
            return;
        }
        self.round.answered += 1;
        if let Some(next) = self.pattern.on_answer(&self.round, now) {
            self.round.next = next;
        }
    }
}

impl Application for Source {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.begin(cx.now);
        self.send(sockets, cx);
    }

    fn on_event(&mut self, _: SocketId, event: Event, _: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        if let Event::Datagram(datagram) = event {
            self.hear(datagram.number, cx.now);
        }
    }

    fn alarm(&self) -> Time {
        if self.sourced.failed.is_some() { Time::NEVER } else { self.round.next }
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.send(sockets, cx);
    }

    fn is_over(&self) -> bool {
        self.sourced.failed.is_some() || (self.round.since < Time::NEVER && self.round.next == Time::NEVER)
    }

    fn report(&self) -> Report {
        Report::Sourced(self.sourced)
    }
}

/// The end that receives.
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    /// Payload of the answer to each datagram, if it is answered.
    answer: Option<u32>,
}

impl Sink {
    /// The end that answers with this payload, or does not answer.
    pub fn new(answer: Option<u32>) -> Sink {
        Sink { answer }
    }
}

impl Application for Sink {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, _: &mut Cx<'_>) {
        if let (Event::Datagram(datagram), Some(payload)) = (event, self.answer)
            && let Some(connection) = sockets.get(socket)
        {
            connection.send_datagram(Datagram::new(Protocol::Udp, datagram.number, payload));
        }
    }

    fn report(&self) -> Report {
        Report::Serve(super::Serve::default())
    }
}
