//! The ends of a load: a source of datagrams that keeps to its own times, and the sink that counts or answers them.

use super::{Pattern, Round};
use crate::application::{Application, Report, Serve};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Time};
use haltere_transport::datagram::{Datagram, Protocol};
use haltere_transport::{CloseReason, Event};

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
        Report::Serve(Serve::default())
    }
}
