//! The ends of a flow whose work is done by programs inside kernels: nothing is written here, and what packets carry is read.

use super::{Application, Fetch, Report, Serve};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Span, Time};
use haltere_transport::Event;

/// The end at which the client program runs. Its flow is complete when the program has ended well; the time at which it was is that of
/// the last new payload, counted from the client's first packet, as a tap at a real host tells it.
#[derive(Debug)]
pub struct ProgramClient {
    server: Remote,
    start: Time,
    /// When its first packet left.
    first: Option<Time>,
    fetch: Fetch,
}

impl ProgramClient {
    /// The end whose packets go to `server`.
    pub fn new(server: Remote) -> ProgramClient {
        ProgramClient { server, start: Time::ZERO, first: None, fetch: Fetch::default() }
    }

    /// When the flow was complete, if its program has just ended well.
    fn completed(&self, now: Time) -> Time {
        let last = self.fetch.last.unwrap_or(now);
        let waited = self.first.map_or(Span::ZERO, |first| first.since(self.start));
        self.start + last.since(self.start).saturating_sub(waited)
    }
}

impl Application for ProgramClient {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.start = cx.now;
        self.fetch.failed = sockets.connect(self.server, cx).err();
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => self.first = Some(cx.now),
            Event::Readable(stream) => {
                let read = sockets.get(socket).map_or(0, |connection| connection.read(stream, cx.now));
                self.fetch.received += read;
                self.fetch.note_read(cx.now);
            }
            Event::Closed => self.fetch.completed = Some(self.completed(cx.now)),
            Event::Failed(reason) => self.fetch.failed = Some(reason),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.fetch.is_over()
    }

    fn report(&self) -> Report {
        Report::Fetch(self.fetch)
    }
}

/// The end at which the program of a flow's publishers runs. The flow is over when its subscriber is; this says whether the program failed.
#[derive(Debug)]
pub struct ProgramPublishers {
    broker: Remote,
    serve: Serve,
}

impl ProgramPublishers {
    /// The end whose packets go to `broker`.
    pub fn new(broker: Remote) -> ProgramPublishers {
        ProgramPublishers { broker, serve: Serve::default() }
    }
}

impl Application for ProgramPublishers {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.serve.failed = sockets.connect(self.broker, cx).err();
    }

    fn on_event(&mut self, _: SocketId, event: Event, _: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => self.serve.connected = Some(cx.now),
            Event::Failed(reason) => self.serve.failed = Some(reason),
            _ => {}
        }
    }

    fn report(&self) -> Report {
        Report::Serve(self.serve)
    }
}

/// The end at which the server program runs.
#[derive(Debug, Default)]
pub struct ProgramServer(Serve);

impl Application for ProgramServer {
    fn on_event(&mut self, _: SocketId, event: Event, _: &mut Sockets<'_>, _: &mut Cx<'_>) {
        if let Event::Failed(reason) = event {
            self.0.failed = Some(reason);
        }
    }

    fn report(&self) -> Report {
        Report::Serve(self.0)
    }
}
