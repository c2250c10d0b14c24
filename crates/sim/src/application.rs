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
    /// How it goes.
    fn progress(&self) -> Progress;
}

/// Two ends that talk in turns on one stream; a download is the case in which the last turn is the object.
#[derive(Clone, Debug)]
pub struct Dialogue {
    role: Role,
    turns: Vec<u64>,
    turn: usize,
    heard: u64,
    stream: Option<StreamId>,
    progress: Progress,
}

impl Dialogue {
    /// One end of the dialogue.
    pub fn new(role: Role, script: Script) -> Dialogue {
        Dialogue { role, turns: script.turns, turn: 0, heard: 0, stream: None, progress: Progress::default() }
    }

    fn my_turn(&self) -> bool {
        self.turn.is_multiple_of(2) == (self.role == Role::Client)
    }

    /// Says what is ours to say now.
    fn speak(&mut self, connection: &mut dyn Endpoint) {
        while self.turn < self.turns.len() && self.my_turn() {
            let Some(stream) = self.stream else { return };
            connection.write(stream, self.turns[self.turn]);
            self.turn += 1;
            // Each side ends the stream after its last turn.
            if self.turn + 1 >= self.turns.len() {
                connection.finish(stream);
            }
        }
    }

    fn listen(&mut self, stream: StreamId, connection: &mut dyn Endpoint, now: Time) {
        self.stream = Some(stream);
        self.heard += connection.read(stream, now);
        while let Some(&turn) = self.turns.get(self.turn).filter(|_| !self.my_turn()) {
            let last = self.turn + 1 == self.turns.len();
            if last && self.heard > 0 {
                self.progress.first_byte.get_or_insert(now);
                self.progress.received = self.heard.min(turn);
            }
            if self.heard < turn {
                return;
            }
            self.heard -= turn;
            self.turn += 1;
            if last {
                self.progress.completed = Some(now);
            }
            self.speak(connection);
        }
    }
}

impl Application for Dialogue {
    fn on_start(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        connection.connect(cx);
    }

    fn on_event(&mut self, event: Event, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.progress.connected = Some(cx.now);
                if self.role == Role::Client {
                    self.stream = connection.open();
                    self.speak(connection);
                }
            }
            Event::Readable(stream) => self.listen(stream, connection, cx.now),
            Event::Failed(reason) => self.progress.failed = Some(reason),
            Event::Finished(_) | Event::Closed => {}
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}
