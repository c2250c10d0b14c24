//! A stack of this family as a [`StackConnection`]: an endpoint with at most one connection; a server accepts the first
//! that comes.

use super::{differences, proto as p};
use crate::addresses::AddressPair;
use crate::config::Config;
use crate::connection::{
    Arrival, CarriesCalls, Counts, Departure, ReadProgress, StackConnection, StackEvent, ZEROS, violation,
};
use crate::meter::Meter;
use crate::tls;
use bytes::{Bytes, BytesMut};
use haltere_net::{Ecn, PathId};
use haltere_transport::CloseReason;
use haltere_transport::path::PathError;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

/// An endpoint and its connection.
pub(crate) struct Connection {
    endpoint: p::Endpoint,
    /// How a client tries to connect, one after the other.
    attempts: VecDeque<p::ClientConfig>,
    connection: Option<(p::ConnectionHandle, p::Connection)>,
    /// The peer's address on path 0.
    peer: Option<SocketAddr>,
    events: VecDeque<StackEvent>,
    /// Whether the server has addresses validated by a Retry packet.
    retry: bool,
    /// Packets of attempts that were given up.
    given_up: u64,
    meter: Meter,
    /// Whether the connection may use several paths at the same time.
    multipath: bool,
    /// Paths that the stack does not let open yet.
    wanted: VecDeque<(PathId, AddressPair)>,
}

impl Connection {
    /// An endpoint without a connection.
    pub fn new(
        endpoint: p::Endpoint,
        attempts: VecDeque<p::ClientConfig>,
        config: &Config,
        meter: &Meter,
    ) -> Connection {
        Connection {
            endpoint,
            attempts,
            connection: None,
            peer: config.addresses.first().map(|pair| pair.remote),
            events: VecDeque::new(),
            retry: config.retry,
            given_up: 0,
            meter: meter.clone(),
            multipath: config.multipath,
            wanted: VecDeque::new(),
        }
    }

    /// Lets endpoint and connection tell each other what they must.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    /// Opens the paths that wait for the peer's permission, as far as it has come.
    fn open_wanted(&mut self, now: Instant) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(&(path, addresses)) = self.wanted.front() {
            self.meter.turn_to(path.0.into());
            // An error has been reported before, or cannot be mended.
            if let Ok(differences::Opening::NotYet) = differences::open_path(connection, now, addresses) {
                return;
            }
            self.wanted.pop_front();
        }
    }

    fn accept_first(&mut self, incoming: p::Incoming, now: Instant, answers: &mut VecDeque<Vec<u8>>) {
        let mut buffer = Vec::new();
        if self.connection.is_some() {
            self.endpoint.ignore(incoming);
            return;
        }
        if self.retry && !incoming.remote_address_validated() {
            // An address that is not validated may always be asked again.
            if self.endpoint.retry(incoming, &mut buffer).is_ok() {
                answers.push_back(buffer);
            }
            return;
        }
        match self.endpoint.accept(incoming, now, &mut buffer, None) {
            Ok(accepted) => self.connection = Some(accepted),
            Err(refused) => {
                if refused.response.is_some() {
                    answers.push_back(buffer);
                }
            }
        }
    }
}

fn to_ecn(ecn: Option<p::EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(p::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(p::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(p::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn of_ecn(ecn: Ecn) -> Option<p::EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(p::EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(p::EcnCodepoint::Ect1),
        Ecn::Ce => Some(p::EcnCodepoint::Ce),
    }
}

fn stream_id(id: u64) -> p::StreamId {
    let side = if id & 1 == 0 { p::Side::Client } else { p::Side::Server };
    p::StreamId::new(side, if id & 2 == 0 { p::Dir::Bi } else { p::Dir::Uni }, id >> 2)
}

fn ending(reason: &p::ConnectionError) -> StackEvent {
    use p::ConnectionError as E;
    let failed = |text| StackEvent::Failed(CloseReason::ProtocolViolation(text));
    match reason {
        E::ApplicationClosed(_) | E::LocallyClosed => StackEvent::Closed,
        E::TimedOut => StackEvent::IdleTimeout,
        E::VersionMismatch => failed("the peer speaks no version of QUIC that the stack does"),
        E::TransportError(error) => StackEvent::Failed(violation(error.code.into())),
        E::ConnectionClosed(close) => StackEvent::Failed(violation(close.error_code.into())),
        E::Reset => failed("the peer knows nothing of the connection (stateless reset)"),
        E::CidsExhausted => failed("the stack has no connection ids left"),
    }
}

impl StackConnection for Connection {
    fn connect(&mut self, now: Instant) -> Result<(), &'static str> {
        let Some(config) = self.attempts.pop_front() else { return Ok(()) };
        self.given_up = self.counts().sent_packets;
        self.meter.turn_to(0);
        let peer = self.peer.ok_or("the connection has no path")?;
        match self.endpoint.connect(now, config, peer, tls::NAME) {
            Ok(connected) => self.connection = Some(connected),
            Err(_) => return Err("the stack refused to connect"),
        }
        Ok(())
    }

    fn has_early_keys(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, c)| c.has_0rtt())
    }

    fn was_early_data_taken(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, c)| c.accepted_0rtt())
    }

    fn receive(&mut self, now: Instant, arrival: Arrival, datagram: Vec<u8>, answers: &mut VecDeque<Vec<u8>>) -> bool {
        let data = BytesMut::from(Bytes::from(datagram));
        let mut buffer = Vec::new();
        if self.multipath {
            self.meter.turn_to(arrival.path.0.into());
        }
        match differences::handle(&mut self.endpoint, now, arrival.addresses, of_ecn(arrival.ecn), data, &mut buffer) {
            Some(p::DatagramEvent::ConnectionEvent(handle, event)) => match &mut self.connection {
                Some((own, connection)) if *own == handle => connection.handle_event(event),
                _ => return false,
            },
            Some(p::DatagramEvent::NewConnection(incoming)) => self.accept_first(incoming, now, answers),
            Some(p::DatagramEvent::Response(_)) => answers.push_back(buffer),
            None => return false,
        }
        self.settle();
        if !self.wanted.is_empty() {
            self.open_wanted(now);
        }
        true
    }

    fn wake(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
            self.settle();
        }
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, c)| c.poll_timeout())
    }

    fn transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Departure> {
        let (_, connection) = self.connection.as_mut()?;
        let sent = connection.poll_transmit(now, differences::ONE, into)?;
        Some(Departure { source: sent.src_ip, destination: sent.destination, ecn: to_ecn(sent.ecn) })
    }

    fn remote(&self) -> Option<SocketAddr> {
        self.connection.as_ref().and_then(|(_, c)| differences::remote(c))
    }

    fn add_path(&mut self, now: Instant, path: PathId, addresses: AddressPair) -> Result<(), PathError> {
        let (_, connection) = self.connection.as_mut().ok_or(PathError::NotNegotiated)?;
        self.meter.turn_to(path.0.into());
        if differences::open_path(connection, now, addresses)? == differences::Opening::NotYet {
            self.wanted.push_back((path, addresses));
        }
        self.settle();
        Ok(())
    }

    fn abandon_path(&mut self, now: Instant, addresses: AddressPair) -> Result<(), PathError> {
        let (_, connection) = self.connection.as_mut().ok_or(PathError::NoSuchPath)?;
        differences::close_path(connection, now, addresses)?;
        self.settle();
        Ok(())
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        if let Some(events) = self.events.pop_front() {
            return Some(events);
        }
        let (_, connection) = self.connection.as_mut()?;
        loop {
            return Some(match connection.poll()? {
                p::Event::Connected => StackEvent::Connected,
                event if self.multipath && differences::allows_paths(&event, connection) => StackEvent::Multipath,
                p::Event::ConnectionLost { reason: p::ConnectionError::VersionMismatch }
                    if !self.attempts.is_empty() =>
                {
                    StackEvent::VersionRefused
                }
                p::Event::ConnectionLost { reason } => ending(&reason),
                p::Event::Stream(event) => match event {
                    p::StreamEvent::Opened { dir: p::Dir::Bi } => StackEvent::Opened,
                    p::StreamEvent::Readable { id } => StackEvent::Readable(id.into()),
                    p::StreamEvent::Writable { id } => StackEvent::Writable(id.into()),
                    p::StreamEvent::Finished { id } | p::StreamEvent::Stopped { id, .. } => {
                        StackEvent::Delivered(id.into())
                    }
                    p::StreamEvent::Available { dir: p::Dir::Bi } => StackEvent::Openable,
                    p::StreamEvent::Opened { .. } | p::StreamEvent::Available { .. } => continue,
                },
                // Datagrams are asked for; other news of paths and traversal of address translation are not used.
                _ => continue,
            });
        }
    }

    fn open(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().open(p::Dir::Bi).map(u64::from)
    }

    fn accept(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().accept(p::Dir::Bi).map(u64::from)
    }

    fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut sender = connection.send_stream(stream_id(stream));
        let mut taken = 0;
        while taken < bytes {
            let len = (bytes - taken).min(ZEROS.len() as u64) as usize;
            match differences::write(&mut sender, Bytes::from_static(&ZEROS[..len])) {
                Ok(written) => taken += written as u64,
                // A stream that the peer has stopped takes everything and sends nothing.
                Err(p::WriteError::Stopped(_) | p::WriteError::ClosedStream) => return bytes,
                Err(p::WriteError::Blocked) => break,
            }
        }
        taken
    }

    fn finish(&mut self, stream: u64) {
        let Some((_, connection)) = &mut self.connection else { return };
        if connection.send_stream(stream_id(stream)).finish().is_err() {
            self.events.push_back(StackEvent::Delivered(stream));
        }
    }

    fn read(&mut self, stream: u64, progress: &mut ReadProgress) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        let mut receiver = connection.recv_stream(stream_id(stream));
        let Ok(mut chunks) = receiver.read(progress.ordered) else { return true };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => progress.take(chunk.offset, chunk.bytes.len() as u64),
                Ok(None) | Err(p::ReadError::Reset(_)) => break true,
                Err(p::ReadError::Blocked) => break false,
            }
        };
        // Whether that calls for a packet is seen when packets are asked for, which follows in any case.
        let _ = chunks.finalize();
        ended
    }

    fn close(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, p::VarInt::from_u32(0), Bytes::new());
        }
    }

    fn counts(&mut self) -> Counts {
        let Some((_, connection)) = &mut self.connection else { return Counts::default() };
        let counts = differences::counts(connection, &self.meter);
        Counts { sent_packets: self.given_up + counts.sent_packets, ..counts }
    }
}

impl CarriesCalls for Connection {
    fn max_datagram(&mut self) -> usize {
        self.connection.as_mut().and_then(|(_, connection)| connection.datagrams().max_size()).unwrap_or(0)
    }

    fn send_datagram(&mut self, data: Bytes) -> Result<(), Bytes> {
        let Some((_, connection)) = &mut self.connection else { return Ok(()) };
        match connection.datagrams().send(data, false) {
            Err(p::SendDatagramError::Blocked(data)) => Err(data),
            // A datagram that fits into no packet is lost, as on a path.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn next_datagram(&mut self) -> Option<Bytes> {
        self.connection.as_mut()?.1.datagrams().recv()
    }

    fn open_one_way(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().open(p::Dir::Uni).map(u64::from)
    }

    fn accept_one_way(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().accept(p::Dir::Uni).map(u64::from)
    }

    fn write_bytes(&mut self, stream: u64, mut bytes: Bytes) -> Bytes {
        let Some((_, connection)) = &mut self.connection else { return Bytes::new() };
        let mut sender = connection.send_stream(stream_id(stream));
        while !bytes.is_empty() {
            match differences::write(&mut sender, bytes.clone()) {
                Ok(0) | Err(p::WriteError::Blocked) => break,
                Ok(written) => bytes = bytes.slice(written.min(bytes.len())..),
                Err(p::WriteError::Stopped(_) | p::WriteError::ClosedStream) => return Bytes::new(),
            }
        }
        bytes
    }

    fn end_one_way(&mut self, stream: u64) {
        self.finish(stream);
    }

    fn read_bytes(&mut self, stream: u64, into: &mut Vec<u8>) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        let mut receiver = connection.recv_stream(stream_id(stream));
        let Ok(mut chunks) = receiver.read(true) else { return true };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => into.extend_from_slice(&chunk.bytes),
                Ok(None) | Err(p::ReadError::Reset(_)) => break true,
                Err(p::ReadError::Blocked) => break false,
            }
        };
        // Whether that calls for a packet is seen when packets are asked for, which follows in any case.
        let _ = chunks.finalize();
        ended
    }
}
