//! A copy over SSH: a handshake by a script, then the object in packets as far as the channel's window allows.

use super::dialogue::Part;
use super::{Application, Fetch, Report, Serve};
use crate::http::Script;
use crate::ssh::{self, Receiver};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Time};
use haltere_transport::Event;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The meaning of the bytes after the handshake, which transports count and do not carry: the data in each packet of the
/// server, and the bytes by which each of the client's opens the window.
#[derive(Default, Debug)]
struct Notes {
    data: VecDeque<u64>,
    adjusts: VecDeque<u64>,
}

/// The settings and state that both ends of a copy share.
#[derive(Clone, Debug)]
pub struct Channel {
    script: Arc<Script>,
    notes: Arc<Mutex<Notes>>,
    size: u64,
}

impl Channel {
    /// The channel that carries an object of `size` bytes.
    pub fn new(size: u64) -> Channel {
        Channel { script: Arc::new(ssh::handshake()), notes: Arc::default(), size }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that fetches the object.
#[derive(Debug)]
pub struct CopyClient {
    channel: Channel,
    part: Part,
    server: Remote,
    window: Receiver,
    /// Bytes of the packets that were read, of the bytes that have arrived.
    read: u64,
    fetch: Fetch,
}

impl CopyClient {
    /// The end that opens the connection to `server`.
    pub fn new(channel: &Channel, server: Remote) -> CopyClient {
        let (part, fetch) = (Part::new(&channel.script.client), Fetch::default());
        CopyClient { channel: channel.clone(), part, server, window: Receiver::after_line(), read: 0, fetch }
    }

    /// Notes when the file was asked for.
    fn note_request(&mut self, now: Time) {
        if self.fetch.ready.is_none() && self.part.has_said(self.channel.script.request) {
            self.fetch.ready = Some(now);
        }
    }

    /// Reads the packets that have arrived completely, and opens the window.
    fn take(&mut self, now: Time) -> u64 {
        let data = self.part.heard.saturating_sub(self.channel.script.response);
        if data > 0 {
            self.fetch.first_byte.get_or_insert(now);
            self.fetch.note_read(now);
        }
        let mut adjusts = 0;
        let mut notes = self.channel.notes();
        while let Some(&bytes) = notes.data.front().filter(|bytes| self.read + ssh::data(**bytes) <= data) {
            notes.data.pop_front();
            self.read += ssh::data(bytes);
            self.fetch.received += bytes;
            if let Some(adjust) = self.window.read(bytes) {
                notes.adjusts.push_back(adjust);
                adjusts += ssh::ADJUST;
            }
        }
        if self.fetch.received >= self.channel.size {
            self.fetch.completed.get_or_insert(now);
        }
        adjusts
    }
}

impl Application for CopyClient {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match sockets.connect(self.server, cx) {
            Ok(socket) if sockets.get(socket).is_some_and(|c| c.can_send_early_data()) => {
                self.part.open(socket, sockets);
            }
            Ok(_) => {}
            Err(reason) => self.fetch.failed = Some(reason),
        }
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.part.open(socket, sockets);
            }
            Event::Readable(stream) => {
                self.part.listen(stream, socket, sockets, cx.now);
                self.part.say(socket, sockets);
                self.note_request(cx.now);
                let adjusts = self.take(cx.now);
                if let Some(connection) = sockets.get(socket).filter(|_| adjusts > 0) {
                    connection.write(stream, adjusts);
                }
            }
            Event::Failed(reason) => self.fetch.failed = Some(reason),
            Event::Writable(_)
            | Event::Openable
            | Event::Multipath
            | Event::Finished(_)
            | Event::Datagram(_)
            | Event::Media(_)
            | Event::Closed => {}
        }
    }

    fn is_over(&self) -> bool {
        self.fetch.is_over()
    }

    fn report(&self) -> Report {
        Report::Fetch(self.fetch)
    }
}

/// The end that sends the object.
#[derive(Debug)]
pub struct CopyServer {
    channel: Channel,
    part: Part,
    /// How much data the client takes.
    window: u64,
    left: u64,
    /// Bytes of the messages that were read, of the bytes that have arrived.
    read: u64,
    serve: Serve,
}

impl CopyServer {
    /// The end that accepts the connection.
    pub fn new(channel: &Channel) -> CopyServer {
        let handshake: u64 = channel.script.client.iter().map(|say| say.bytes).sum();
        CopyServer {
            channel: channel.clone(),
            part: Part::new(&channel.script.server),
            window: ssh::WINDOW - ssh::LINE,
            left: channel.size,
            read: handshake,
            serve: Serve::default(),
        }
    }

    /// The next packets, as far as the window allows: their size.
    fn packets(&mut self) -> u64 {
        if self.part.heard < self.read || self.left == 0 {
            return 0;
        }
        let mut notes = self.channel.notes();
        while self.read + ssh::ADJUST <= self.part.heard {
            self.read += ssh::ADJUST;
            let adjust = notes.adjusts.pop_front();
            debug_assert!(adjust.is_some(), "every window adjustment that was heard was written");
            self.window += adjust.unwrap_or(0);
        }
        let mut size = 0;
        while self.window.min(self.left) > 0 {
            let bytes = ssh::DATA_MAX.min(self.window).min(self.left);
            notes.data.push_back(bytes);
            size += ssh::data(bytes);
            self.window -= bytes;
            self.left -= bytes;
        }
        size
    }
}

impl Application for CopyServer {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => self.serve.connected = Some(cx.now),
            Event::Readable(stream) => {
                self.part.listen(stream, socket, sockets, cx.now);
                self.part.say(socket, sockets);
                let size = self.packets();
                if let Some(connection) = sockets.get(socket).filter(|_| size > 0) {
                    connection.write(stream, size);
                    if self.left == 0 {
                        connection.finish(stream);
                    }
                }
            }
            Event::Failed(reason) => self.serve.failed = Some(reason),
            Event::Writable(_)
            | Event::Openable
            | Event::Multipath
            | Event::Finished(_)
            | Event::Datagram(_)
            | Event::Media(_)
            | Event::Closed => {}
        }
    }

    fn report(&self) -> Report {
        Report::Serve(self.serve)
    }
}
