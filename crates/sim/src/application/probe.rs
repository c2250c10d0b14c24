//! Probes: requests whose round-trip times are recorded, and the other end, which answers them.

use super::{Application, Report};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Metric, Span, Time};
use haltere_transport::datagram::{Datagram, Protocol};
use haltere_transport::{CloseReason, Event, StreamId};

/// The carrier of requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Datagrams of this protocol.
    Datagrams(Protocol),
    /// Messages of the same size, one after the other on the stream of a connection.
    Stream,
}

/// When the next request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// After the interval, but not before the last request was answered or the time-out has passed.
    StopAndWait,
    /// After the interval.
    FreeRunning,
}

/// The work of a prober.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The carrier of the requests.
    pub carrier: Carrier,
    /// Payload of a request and of its answer, bytes.
    pub payload: u32,
    /// The shortest time between two requests.
    pub interval: Span,
    /// When the next request is sent.
    pub pace: Pace,
    /// How long an answer is waited for.
    pub timeout: Span,
    /// The number of requests, if it is limited.
    pub count: Option<u64>,
    /// The time after which no request is sent.
    pub until: Time,
}

/// A request, and when its answer came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// When the request was sent.
    pub sent: Time,
    /// When the answer arrived.
    pub answered: Option<Time>,
    /// Whether the request is lost: no answer came before its time-out.
    pub lost: bool,
}

/// The observations of a prober.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Probed {
    /// The requests, in the order of sending.
    pub samples: Vec<Sample>,
    /// Why the connection failed, if it did.
    pub failed: Option<CloseReason>,
}

/// The end that sends requests.
pub struct Prober {
    plan: Plan,
    to: Remote,
    socket: Option<SocketId>,
    stream: StreamId,
    /// Bytes of answers that were read from the stream.
    heard: u64,
    /// The number of answers that were read whole from the stream.
    answers: u64,
    /// The first request that is neither answered nor lost, if all before it are.
    undecided: usize,
    /// When the next request may be sent.
    next: Time,
    probed: Probed,
}

impl Prober {
    /// A prober of the host and port `to`.
    pub fn new(plan: Plan, to: Remote) -> Prober {
        let (stream, next, probed) = (StreamId::default(), Time::NEVER, Probed::default());
        Prober { plan, to, socket: None, stream, heard: 0, answers: 0, undecided: 0, next, probed }
    }

    /// Sends the requests that are due.
    fn send(&mut self, sockets: &mut Sockets<'_>, now: Time) {
        let Some(connection) = self.socket.and_then(|socket| sockets.get(socket)) else { return };
        while self.next <= now {
            let number = self.probed.samples.len() as u64;
            if self.next > self.plan.until || self.plan.count.is_some_and(|count| number >= count) {
                self.next = Time::NEVER;
                return;
            }
            match self.plan.carrier {
                Carrier::Datagrams(protocol) => {
                    connection.send_datagram(Datagram::new(protocol, number, self.plan.payload));
                }
                Carrier::Stream => connection.write(self.stream, u64::from(self.plan.payload)),
            }
            self.probed.samples.push(Sample { sent: now, answered: None, lost: false });
            self.next = match self.plan.pace {
                Pace::FreeRunning => now + self.plan.interval,
                // The answer or the time-out sets it.
                Pace::StopAndWait => Time::NEVER,
            };
        }
    }

    fn answered(&mut self, number: u64, cx: &mut Cx<'_>) {
        let Some(sample) = self.probed.samples.get_mut(number as usize) else { return };
        // A copy, or an answer that came after the time-out.
        if sample.answered.is_some() || sample.lost {
            return;
        }
        sample.answered = Some(cx.now);
        let sent = sample.sent;
        // A connection reports the RTTs of its own packets.
        if self.plan.carrier != Carrier::Stream {
            cx.record(Metric::Rtt, cx.now.since(sent).as_nanos());
        }
        self.decided(sent, cx.now);
    }

    /// The request that was sent at `sent` is answered or lost.
    fn decided(&mut self, sent: Time, now: Time) {
        if self.plan.pace == Pace::StopAndWait {
            self.next = (sent + self.plan.interval).max(now);
        }
        let samples = &self.probed.samples;
        while samples.get(self.undecided).is_some_and(|s| s.answered.is_some() || s.lost) {
            self.undecided += 1;
        }
    }

    /// Gives up the requests whose time-out has passed.
    fn give_up(&mut self, now: Time) {
        while let Some(sample) = self.probed.samples.get_mut(self.undecided)
            && sample.sent + self.plan.timeout <= now
        {
            sample.lost = true;
            let sent = sample.sent;
            self.decided(sent, now);
        }
    }
}

impl Application for Prober {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match sockets.connect(self.to, cx) {
            Ok(socket) => self.socket = Some(socket),
            Err(reason) => self.probed.failed = Some(reason),
        }
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                if let Some(stream) = sockets.get(socket).and_then(|connection| connection.open()) {
                    self.stream = stream;
                }
                self.next = cx.now;
            }
            Event::Datagram(datagram) => self.answered(datagram.number, cx),
            Event::Readable(stream) => {
                self.heard += sockets.get(socket).map_or(0, |connection| connection.read(stream, cx.now));
                let whole = self.heard / u64::from(self.plan.payload.max(1));
                while self.answers < whole {
                    self.answered(self.answers, cx);
                    self.answers += 1;
                }
            }
            Event::Failed(reason) => {
                self.probed.failed = Some(reason);
                self.next = Time::NEVER;
            }
            Event::Writable(_)
            | Event::Openable
            | Event::Finished(_)
            | Event::Multipath
            | Event::Media(_)
            | Event::Closed => {}
        }
        self.send(sockets, cx.now);
    }

    fn alarm(&self) -> Time {
        if self.probed.failed.is_some() {
            return Time::NEVER;
        }
        let timeout = self.probed.samples.get(self.undecided).map_or(Time::NEVER, |s| s.sent + self.plan.timeout);
        self.next.min(timeout)
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.give_up(cx.now);
        self.send(sockets, cx.now);
    }

    fn is_over(&self) -> bool {
        let sent = self.probed.samples.len();
        let last = self.plan.count.is_some_and(|count| sent as u64 >= count) || (sent > 0 && self.next == Time::NEVER);
        self.probed.failed.is_some() || (last && self.undecided == sent)
    }

    fn report(&self) -> Report {
        Report::Probed(self.probed.clone())
    }
}

/// The end that answers: each datagram with one of the same length, and each message of `payload` bytes on a stream with
/// as many bytes.
#[derive(Clone, Debug)]
pub struct Echo {
    payload: u64,
    heard: u64,
    answered: u64,
}

impl Echo {
    /// The end that answers requests with this payload.
    pub fn new(payload: u32) -> Echo {
        Echo { payload: u64::from(payload.max(1)), heard: 0, answered: 0 }
    }
}

impl Application for Echo {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let Some(connection) = sockets.get(socket) else { return };
        match event {
            Event::Datagram(datagram) => {
                connection.send_datagram(datagram.answer());
            }
            Event::Readable(stream) => {
                self.heard += connection.read(stream, cx.now);
                let whole = self.heard / self.payload;
                if whole > self.answered {
                    connection.write(stream, (whole - self.answered) * self.payload);
                    self.answered = whole;
                }
            }
            _ => {}
        }
    }

    fn report(&self) -> Report {
        Report::Serve(super::Serve::default())
    }
}
