//! Two ends that exchange messages on one stream by a script. In a download, the last message is the object.

use super::feed::Feed;
use super::{Application, Fetch, Report, Serve};
use crate::http::{Say, Script};
use crate::scenario::Supplied;
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Time};
use haltere_transport::{Event, StreamId};

/// The messages of one end, and how many of them were sent.
#[derive(Clone, Debug)]
pub(super) struct Part {
    says: Vec<Say>,
    said: usize,
    /// Bytes that were read.
    pub(super) heard: u64,
    stream: Option<StreamId>,
    /// Whether the stream is to be ended once everything was heard: its end would have taken a packet of its own.
    open_end: bool,
}

impl Part {
    pub(super) fn new(says: &[Say]) -> Part {
        Part { says: says.to_vec(), said: 0, heard: 0, stream: None, open_end: false }
    }

    pub(super) fn listen(&mut self, stream: StreamId, socket: SocketId, sockets: &mut Sockets<'_>, now: Time) {
        self.stream = Some(stream);
        if let Some(connection) = sockets.get(socket) {
            self.heard += connection.read(stream, now);
        }
    }

    /// Sends the messages that are due. Returns whether the last was among them.
    #[inline(always)]
    fn speak(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) -> bool {
        if !self.is_due() {
            return false;
        }
        let said = self.said;
        self.say(socket, sockets);
        self.said > said && self.said == self.says.len()
    }

    /// Ends a client's stream with its last message, if the end goes with it.
    fn end_with_data(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        if let Some(connection) = sockets.get(socket) {
            self.open_end = !connection.ends_with_data();
            if !self.open_end {
                self.finish(socket, sockets);
            }
        }
    }

    /// Ends the stream.
    fn finish(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        if let (Some(stream), Some(connection)) = (self.stream, sockets.get(socket)) {
            connection.finish(stream);
        }
    }

    /// Ends the stream, if its last message did not.
    fn end(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        if std::mem::take(&mut self.open_end) {
            self.finish(socket, sockets);
        }
    }

    /// Opens the stream and sends the messages that are due.
    pub(super) fn open(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        if self.stream.is_none() {
            self.stream = sockets.get(socket).and_then(|connection| connection.open());
            self.say(socket, sockets);
        }
    }

    /// Whether message number `k` was sent.
    #[inline]
    pub(super) fn has_said(&self, k: usize) -> bool {
        self.said > k
    }

    /// Whether there is a message whose time has come.
    #[inline]
    fn is_due(&self) -> bool {
        self.says.get(self.said).is_some_and(|say| say.after <= self.heard)
    }

    /// Sends the messages that are due.
    pub(super) fn say(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        if !self.is_due() {
            return;
        }
        let (Some(stream), Some(connection)) = (self.stream, sockets.get(socket)) else { return };
        while let Some(say) = self.says.get(self.said).filter(|s| s.after <= self.heard) {
            connection.write(stream, say.bytes);
            self.said += 1;
        }
    }
}

/// The end that sends the request and receives the response.
#[derive(Clone, Debug)]
struct Asking {
    part: Part,
    server: Remote,
    /// The number of the message with the request.
    request: usize,
    /// The positions at which the response begins and ends in the received bytes.
    response: u64,
    end: u64,
    fetch: Fetch,
}

impl Asking {
    fn open(&mut self, socket: SocketId, sockets: &mut Sockets<'_>, now: Time) {
        if self.part.stream.is_none() {
            self.part.stream = sockets.get(socket).and_then(|connection| connection.open());
            self.speak(socket, sockets, now);
        }
    }

    /// Sends the messages that are due, and notes when the request was among them.
    #[inline]
    fn speak(&mut self, socket: SocketId, sockets: &mut Sockets<'_>, now: Time) {
        if self.part.speak(socket, sockets) {
            self.part.end_with_data(socket, sockets);
        }
        if self.fetch.ready.is_none() && self.part.has_said(self.request) {
            self.fetch.ready = Some(now);
        }
    }
}

/// The last message of a server whose application has it little by little.
#[derive(Clone, Debug)]
struct Fed {
    feed: Feed,
    /// The bytes that the server must have received before it begins.
    after: u64,
    /// The connection, once it is there.
    socket: Option<SocketId>,
}

impl Fed {
    /// Begins, if the messages before were said and enough was heard.
    fn look(&mut self, part: &Part, socket: SocketId, now: Time) {
        self.socket = Some(socket);
        if part.said == part.says.len() && part.heard >= self.after {
            self.feed.begin(now);
        }
    }

    /// Writes what is there now.
    fn write(&mut self, part: &mut Part, sockets: &mut Sockets<'_>, now: Time) {
        let Some(socket) = self.socket.filter(|_| self.feed.next() <= now) else { return };
        let bytes = self.feed.take(now);
        if let (Some(stream), Some(connection)) = (part.stream, sockets.get(socket)) {
            connection.write(stream, bytes);
        }
        if self.feed.is_over() {
            part.finish(socket, sockets);
        }
    }
}

/// One end of a dialogue.
#[derive(Clone, Debug)]
pub struct Dialogue(End);

#[derive(Clone, Debug)]
enum End {
    Client(Asking),
    Server(Part, Serve),
    Fed(Part, Serve, Box<Fed>),
}

impl Dialogue {
    /// The end that opens the connection to `server`.
    pub fn client(script: &Script, server: Remote) -> Dialogue {
        let (part, fetch) = (Part::new(&script.client), Fetch::default());
        let Script { request, response, end, .. } = *script;
        Dialogue(End::Client(Asking { part, server, request, response, end, fetch }))
    }

    /// The end that accepts the connection.
    pub fn server(script: &Script) -> Dialogue {
        Dialogue(End::Server(Part::new(&script.server), Serve::default()))
    }

    /// The end that accepts the connection, whose application has the last message as `supplied`.
    pub fn supplied(script: &Script, supplied: &Supplied) -> Dialogue {
        let Some((last, before)) = script.server.split_last() else { return Dialogue::server(script) };
        let fed = Fed { feed: Feed::new(supplied, last.bytes), after: last.after, socket: None };
        Dialogue(End::Fed(Part::new(before), Serve::default(), Box::new(fed)))
    }
}

impl Application for Dialogue {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let End::Client(asking) = &mut self.0 else { return };
        match sockets.connect(asking.server, cx) {
            Ok(socket) if sockets.get(socket).is_some_and(|c| c.can_send_early_data()) => {
                asking.open(socket, sockets, cx.now);
            }
            Ok(_) => {}
            Err(reason) => asking.fetch.failed = Some(reason),
        }
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match (&mut self.0, event) {
            (End::Client(asking), Event::Connected) => asking.open(socket, sockets, cx.now),
            (End::Server(_, serve) | End::Fed(_, serve, _), Event::Connected) => serve.connected = Some(cx.now),
            (End::Client(asking), Event::Readable(stream)) => {
                asking.part.listen(stream, socket, sockets, cx.now);
                let (heard, fetch) = (asking.part.heard, &mut asking.fetch);
                if heard > asking.response {
                    fetch.first_byte.get_or_insert(cx.now);
                    fetch.note_read(cx.now);
                    fetch.received = heard.min(asking.end) - asking.response;
                    if heard >= asking.end {
                        fetch.completed.get_or_insert(cx.now);
                    }
                }
                asking.speak(socket, sockets, cx.now);
                if heard >= asking.end {
                    asking.part.end(socket, sockets);
                }
            }
            (End::Server(part, _), Event::Readable(stream)) => {
                part.listen(stream, socket, sockets, cx.now);
                if part.speak(socket, sockets) {
                    part.finish(socket, sockets);
                }
            }
            (End::Fed(part, _, fed), Event::Readable(stream)) => {
                part.listen(stream, socket, sockets, cx.now);
                part.say(socket, sockets);
                fed.look(part, socket, cx.now);
            }
            (End::Client(asking), Event::Failed(reason)) => asking.fetch.failed = Some(reason),
            (End::Server(_, serve) | End::Fed(_, serve, _), Event::Failed(reason)) => serve.failed = Some(reason),
            (_, Event::Writable(_) | Event::Openable | Event::Finished(_) | Event::Datagram(_) | Event::Media(_)) => {}
            (_, Event::Multipath | Event::Closed) => {}
        }
    }

    fn alarm(&self) -> Time {
        if let End::Fed(_, _, fed) = &self.0 { fed.feed.next() } else { Time::NEVER }
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        if let End::Fed(part, _, fed) = &mut self.0 {
            fed.write(part, sockets, cx.now);
        }
    }

    fn is_over(&self) -> bool {
        matches!(&self.0, End::Client(asking) if asking.fetch.is_over())
    }

    fn report(&self) -> Report {
        match &self.0 {
            End::Client(asking) => Report::Fetch(asking.fetch),
            End::Server(_, serve) | End::Fed(_, serve, _) => Report::Serve(*serve),
        }
    }
}
