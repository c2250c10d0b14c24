//! MQTT's bytes on a connection of the simulator: the handshake and records of TLS over TCP, and streams of QUIC.

use crate::contents::{Content, Contents, StreamHalf};
use crate::tls::{Flights, RECORD_MAX, Seal};
use crate::world::{SocketId, Sockets};
use haltere_mqtt::{Lane, Output};
use haltere_net::{ConnectionId, Time};
use haltere_transport::{Role, StreamId};
use std::collections::VecDeque;
use std::sync::Arc;

/// The framing that the ends of connections with one contender share.
#[derive(Clone, Debug)]
pub struct Framing {
    /// The flights of TLS over TCP; none over QUIC and without TLS.
    pub flights: Arc<Flights>,
    /// Whether the transport has more than one stream.
    pub streams: bool,
    /// The bytes of all connections.
    pub contents: Contents,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub socket: SocketId,
    connection: ConnectionId,
    role: Role,
    framing: Framing,
    /// Whether the handshakes are so far that data may be sent.
    ready: bool,
    /// How many streams this end has opened.
    opened: u32,
    /// Output that waits for the handshake, or for a stream.
    waiting: VecDeque<Output>,
}

impl Wire {
    pub fn new(socket: SocketId, role: Role, framing: &Framing, sockets: &Sockets<'_>) -> Option<Wire> {
        let connection = sockets.connection(socket)?;
        let (framing, waiting) = (framing.clone(), VecDeque::new());
        // The server's answers wait for nothing: the client asks first.
        let ready = role == Role::Server;
        Some(Wire { socket, connection, role, framing, ready, opened: 0, waiting })
    }

    /// The client's transport may be written to.
    pub fn begin(&mut self, sockets: &mut Sockets<'_>) {
        if self.opened > 0 {
            return;
        }
        if self.open_up_to(0, sockets) {
            self.say_flight(0, sockets);
        }
        self.flush(sockets);
    }

    /// The stream of a lane. QUIC's numbers tell who has opened it (RFC 9000 section 2.1).
    fn stream(&self, lane: Lane) -> StreamId {
        if !self.framing.streams {
            return StreamId(0);
        }
        let by_server = lane.ours != (self.role == Role::Client);
        StreamId(u64::from(lane.number) << 2 | u64::from(by_server))
    }

    /// The lane of a stream.
    fn lane(&self, stream: StreamId) -> Lane {
        let by_client = !self.framing.streams || stream.0 & 1 == 0;
        Lane { ours: by_client == (self.role == Role::Client), number: (stream.0 >> 2) as u32 }
    }

    /// Opens own streams until there is one with this number. Returns whether there is.
    fn open_up_to(&mut self, number: u32, sockets: &mut Sockets<'_>) -> bool {
        let Some(connection) = sockets.get(self.socket) else { return false };
        while self.opened <= number {
            if connection.open().is_none() {
                return false;
            }
            self.opened += 1;
        }
        true
    }

    /// Sends the own flight number `k`, and the data that it allows.
    fn say_flight(&mut self, k: usize, sockets: &mut Sockets<'_>) {
        let flights = &self.framing.flights;
        let own = if self.role == Role::Client { &flights.client } else { &flights.server };
        let Some(&bytes) = own.get(k) else { return };
        let stream = StreamId(0);
        if bytes > 0
            && let Some(connection) = sockets.get(self.socket)
        {
            let place = StreamHalf::from(self.connection, stream, self.role);
            self.framing.contents.write_sealed(place, bytes, Content::Flight(k));
            connection.write(stream, bytes);
        }
        self.ready |= self.role == Role::Client && k == self.framing.flights.request;
    }

    /// Sends what the state machine has given.
    pub fn send(&mut self, output: Output, sockets: &mut Sockets<'_>) {
        let kept = if self.ready { self.say(output, sockets) } else { Some(output) };
        self.waiting.extend(kept);
    }

    /// Sends what waits, as far as it may be sent. What waits for a stream that the peer does not allow yet does not hold up the
    /// others: streams open in the order of their numbers, so that all of a lane waits or none.
    pub fn flush(&mut self, sockets: &mut Sockets<'_>) {
        if self.ready {
            for output in std::mem::take(&mut self.waiting) {
                let kept = self.say(output, sockets);
                self.waiting.extend(kept);
            }
        }
    }

    /// Sends one output. Returns it if it has to wait: for its stream, or to be last.
    fn say(&mut self, output: Output, sockets: &mut Sockets<'_>) -> Option<Output> {
        match output {
            Output::Bytes { lane, .. } if lane.ours && !self.open_up_to(lane.number, sockets) => return Some(output),
            Output::Bytes { lane, bytes, finish } => {
                let stream = self.stream(lane);
                self.write(stream, bytes, sockets);
                if let Some(connection) = sockets.get(self.socket).filter(|_| finish && self.framing.streams) {
                    connection.finish(stream);
                }
            }
            Output::Close if !self.waiting.is_empty() => return Some(output),
            Output::Close => {
                if let Some(connection) = sockets.get(self.socket) {
                    connection.close();
                }
            }
        }
        None
    }

    fn write(&mut self, stream: StreamId, bytes: Vec<u8>, sockets: &mut Sockets<'_>) {
        let Some(connection) = sockets.get(self.socket) else { return };
        let place = StreamHalf::from(self.connection, stream, self.role);
        let seal = self.framing.flights.seal;
        if seal == Seal::NONE {
            if !bytes.is_empty() {
                connection.write(stream, bytes.len() as u64);
                self.framing.contents.write(place, bytes);
            }
        } else {
            let mut rest = bytes;
            while !rest.is_empty() {
                let later = rest.split_off(rest.len().min(RECORD_MAX as usize));
                let size = seal.records(rest.len() as u64);
                self.framing.contents.write_sealed(place, size, Content::Data(rest));
                connection.write(stream, size);
                rest = later;
            }
        }
    }

    /// A stream has bytes to read. Returns its lane and those of MQTT.
    pub fn read(&mut self, stream: StreamId, sockets: &mut Sockets<'_>, now: Time) -> (Lane, Vec<Vec<u8>>) {
        let lane = self.lane(stream);
        let Some(connection) = sockets.get(self.socket) else { return (lane, Vec::new()) };
        let bytes = connection.read(stream, now);
        let peer = if self.role == Role::Client { Role::Server } else { Role::Client };
        let mut data = Vec::new();
        for content in self.framing.contents.arrive(StreamHalf::from(self.connection, stream, peer), bytes) {
            match content {
                // The client sends its flight k + 1 after the server's flight k, the server its flight k after the
                // client's.
                Content::Flight(k) => {
                    self.say_flight(if self.role == Role::Client { k + 1 } else { k }, sockets);
                    self.flush(sockets);
                }
                Content::Data(bytes) => data.push(bytes),
            }
        }
        (lane, data)
    }

    /// The lane of a stream that the peer has finished; `None` where a stream's end is the connection's.
    pub fn finished(&self, stream: StreamId) -> Option<Lane> {
        self.framing.streams.then(|| self.lane(stream))
    }

    /// Bytes of the control stream that were written and not sent, as far as the transport tells.
    pub fn unsent(&self, sockets: &mut Sockets<'_>) -> u64 {
        sockets.get(self.socket).map_or(0, |connection| connection.unsent(StreamId(0)))
    }

    /// Forgets the connection.
    pub fn release(self, sockets: &mut Sockets<'_>) {
        sockets.release(self.socket);
        self.framing.contents.forget(self.connection, self.role);
    }
}
