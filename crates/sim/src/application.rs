//! Applications: what the two ends of a connection say to each other.

use crate::http::Script;
use haltere_net::{Cx, Time};
use haltere_transport::{CloseReason, Endpoint, Event, Role, StreamId};

/// How an application's part of a flow went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// When the connection was ready for data.
    pub connected: Option<Time>,
    /// When the first byte of the last turn was read.
    pub first_byte: Option<Time>,
    /// When the last byte was read.
    pub completed: Option<Time>,
    /// Bytes of the last turn read so far.
    pub received: u64,
    /// Why the connection failed, if it did.
    pub failed: Option<CloseReason>,
}

/// One end's application.
pub trait Application: Send {
    /// The flow's time has come (called on the client's side).
    fn on_start(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>);
    /// The connection has news.
    fn on_event(&mut self, event: Event, connection: &mut dyn Endpoint, cx: &mut Cx<'_>);
    /// When it wants to be called without an event, or [`Time::NEVER`].
    fn alarm(&self) -> Time {
        Time::NEVER
    }
    /// That time has come.
    fn on_alarm(&mut self, _: &mut dyn Endpoint, _: &mut Cx<'_>) {}
    /// How it goes.
    fn progress(&self) -> Progress;
    /// When each object of a page had come, if that is what it loads.
    fn objects(&self) -> Option<&[Option<Time>]> {
        None
    }
}

/// Two ends that talk on one stream as a script says; a download is the case in which the last thing said is the object.
#[derive(Clone, Debug)]
pub struct Dialogue {
    role: Role,
    script: Script,
    said: usize,
    heard: u64,
    stream: Option<StreamId>,
    progress: Progress,
}

impl Dialogue {
    /// One end of the dialogue.
    pub fn new(role: Role, script: Script) -> Dialogue {
        Dialogue { role, script, said: 0, heard: 0, stream: None, progress: Progress::default() }
    }

    /// Says what is ours to say now. Each side ends the stream with the last.
    fn speak(&mut self, connection: &mut dyn Endpoint) {
        let says = if self.role == Role::Client { &self.script.client } else { &self.script.server };
        let Some(stream) = self.stream else { return };
        while let Some(say) = says.get(self.said).filter(|s| s.after <= self.heard) {
            connection.write(stream, say.bytes);
            self.said += 1;
            if self.said == says.len() {
                connection.finish(stream);
            }
        }
    }

    fn listen(&mut self, stream: StreamId, connection: &mut dyn Endpoint, now: Time) {
        self.stream = Some(stream);
        self.heard += connection.read(stream, now);
        if self.role == Role::Client && self.heard > self.script.response {
            self.progress.first_byte.get_or_insert(now);
            self.progress.received = self.heard.min(self.script.end) - self.script.response;
            if self.heard >= self.script.end {
                self.progress.completed.get_or_insert(now);
            }
        }
        self.speak(connection);
    }

    fn open(&mut self, connection: &mut dyn Endpoint) {
        if self.stream.is_none() {
            self.stream = connection.open();
            self.speak(connection);
        }
    }
}

impl Application for Dialogue {
    fn on_start(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        connection.connect(cx);
        if connection.takes_early_data() {
            self.open(connection);
        }
    }

    fn on_event(&mut self, event: Event, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.progress.connected = Some(cx.now);
                if self.role == Role::Client {
                    self.open(connection);
                }
            }
            Event::Readable(stream) => self.listen(stream, connection, cx.now),
            Event::Failed(reason) => self.progress.failed = Some(reason),
            Event::Writable(_) | Event::Openable | Event::Finished(_) | Event::Closed => {}
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}
