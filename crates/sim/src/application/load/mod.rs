//! Loads: a source of datagrams that keeps to its own times, and the sink that counts or answers them.

use super::{Application, Report};
use crate::capture::Capture;
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::rng::Stream;
use haltere_net::{Cx, Rate, Span, Time};
use haltere_transport::datagram::{Datagram, HEADERS, Protocol};
use haltere_transport::{CloseReason, Event};
use std::sync::Arc;

/// The times at which packets leave.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Trains of packets. The next one follows the answers.
    Trains(Trains),
    /// A constant rate.
    Constant(Rate),
    /// A constant rate in some periods.
    OnOff(OnOff),
    /// The packets of a capture, again `gap` after its last.
    Replay {
        /// The capture.
        capture: Arc<Capture>,
        /// The time from its last packet to the next repetition.
        gap: Span,
    },
}

/// Trains of packets.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    /// Packets of a train.
    pub packets: u64,
    /// The rate at which they leave; without it they leave at once.
    pub rate: Option<Rate>,
    /// The time from the last answer to the next train.
    pub gap: Span,
    /// How long an answer is waited for after the last packet or answer.
    pub timeout: Span,
}

/// Periods with and without packets.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// The rate in a period with packets.
    pub rate: Rate,
    /// The mean length of a period with packets.
    pub on: Span,
    /// The mean length of a period without packets.
    pub off: Span,
    /// From which exponentially distributed lengths are drawn; without it, all are as long as the mean.
    pub drawn: Option<Stream>,
}

impl OnOff {
    /// The lengths of its periods in turn, with packets and without.
    pub fn lengths(mut self) -> impl Iterator<Item = Span> {
        let means = [self.on, self.off];
        means.into_iter().cycle().map(move |mean| self.length(mean))
    }

    fn length(&mut self, mean: Span) -> Span {
        match &mut self.drawn {
            None => mean,
            Some(stream) => Span::from_secs_f64(mean.as_secs_f64() * stream.exponential()),
        }
    }
}

/// What a source has sent.
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
    pattern: Pattern,
    payload: u32,
    to: Remote,
    /// By the number of the conversation.
    sockets: Vec<Option<SocketId>>,
    count: Option<u64>,
    until: Time,
    /// The beginning of the present train, period or repetition.
    since: Time,
    /// Packets of it that were sent, and were answered.
    sent: u64,
    answered: u64,
    /// The end of the present period with packets.
    on_until: Time,
    next: Time,
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
    pub fn new(pattern: Pattern, payload: u32, to: Remote, count: Option<u64>, until: Time) -> Source {
        Source {
            pattern,
            payload,
            to,
            sockets: Vec::new(),
            count,
            until,
            since: Time::NEVER,
            sent: 0,
            answered: 0,
            on_until: Time::NEVER,
            next: Time::NEVER,
            sourced: Sourced::default(),
        }
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

    /// Begins a train, period or repetition.
    fn begin(&mut self, at: Time) {
        let over = self.count.is_some_and(|count| self.sourced.rounds >= count);
        (self.since, self.sent, self.answered) = (at, 0, 0);
        self.next = if over { Time::NEVER } else { at };
        match &mut self.pattern {
            Pattern::OnOff(periods) => {
                let mean = periods.on;
                self.on_until = at + periods.length(mean);
            }
            // One way of a capture may begin later, or be empty.
            Pattern::Replay { capture, .. } if !over => {
                self.next = capture.at_ns.first().map_or(Time::NEVER, |first| at + Span::from_nanos(*first));
            }
            _ => {}
        }
    }

    /// The packet that leaves next: its conversation and its datagram.
    fn packet(&self) -> (usize, Datagram) {
        let number = self.sourced.packets;
        match &self.pattern {
            Pattern::Replay { capture, .. } => {
                let at = self.sent as usize;
                let len = capture.len.get(at).copied().unwrap_or(HEADERS);
                let flow = capture.flow.get(at).copied().unwrap_or(0);
                (flow as usize, Datagram { protocol: Protocol::Any, number, len })
            }
            _ => (0, Datagram::new(Protocol::Udp, number, self.payload)),
        }
    }

    /// Sends what is due.
    fn send(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while self.next <= cx.now && self.sourced.failed.is_none() {
            if self.next > self.until {
                self.next = Time::NEVER;
                return;
            }
            if self.begin_again(cx.now) {
                continue;
            }
            let (flow, datagram) = self.packet();
            let Some(connection) = self.socket(flow, sockets, cx).and_then(|socket| sockets.get(socket)) else {
                return;
            };
            connection.send_datagram(datagram);
            self.sourced.packets += 1;
            self.sourced.bytes += u64::from(datagram.len);
            self.sent += 1;
            self.schedule(cx.now, datagram.len);
        }
    }

    /// Whether no packet is due, but the next train, period or repetition begins.
    fn begin_again(&mut self, now: Time) -> bool {
        let finished = match &self.pattern {
            Pattern::Constant(_) => false,
            Pattern::OnOff(_) => self.next >= self.on_until,
            Pattern::Trains(trains) => self.sent == trains.packets,
            Pattern::Replay { capture, .. } => self.sent as usize >= capture.at_ns.len(),
        };
        if finished {
            self.sourced.rounds += 1;
            self.begin(self.next.max(now));
        }
        finished
    }

    /// Sets the time of the next packet, after one with this many bytes.
    fn schedule(&mut self, now: Time, bytes: u32) {
        self.next = match &mut self.pattern {
            Pattern::Constant(rate) => departure(self.since, self.sent, bytes, *rate),
            Pattern::OnOff(periods) => {
                let next = departure(self.since, self.sent, bytes, periods.rate);
                if next < self.on_until {
                    next
                } else {
                    let mean = periods.off;
                    self.on_until + periods.length(mean)
                }
            }
            Pattern::Trains(trains) if self.sent == trains.packets => now + trains.timeout,
            Pattern::Trains(trains) => trains.rate.map_or(now, |rate| departure(self.since, self.sent, bytes, rate)),
            Pattern::Replay { capture, gap } => match capture.at_ns.get(self.sent as usize) {
                Some(&at) => self.since + Span::from_nanos(at),
                None => self.since + capture.span() + *gap,
            },
        };
    }

    /// An answer arrived to the packet of this number.
    fn hear(&mut self, number: u64, now: Time) {
        self.sourced.answered += 1;
        let Pattern::Trains(trains) = &self.pattern else { return };
        // An answer to a packet of an earlier train is late.
        if number + self.sent < self.sourced.packets {
            return;
        }
        self.answered += 1;
        if self.sent == trains.packets {
            // Nothing more is to come after the last answer.
            let last = self.count.is_some_and(|count| self.sourced.rounds + 1 >= count);
            self.next = match (self.answered == self.sent, last) {
                (false, _) => now + trains.timeout,
                (true, false) => now + trains.gap,
                (true, true) => now,
            };
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
        if self.sourced.failed.is_some() { Time::NEVER } else { self.next }
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.send(sockets, cx);
    }

    fn is_over(&self) -> bool {
        self.sourced.failed.is_some() || (self.since < Time::NEVER && self.next == Time::NEVER)
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
