//! noq-proto behind the skin of a [`Machine`].
//!
//! An endpoint of noq-proto with at most one connection; a server accepts the first that comes. Set up as noq's
//! defaults say, but for what `docs/stacks.md` lists: dice, windows, path MTU, segmentation offload.

mod control;
mod counting;
mod crypto;

use crate::clock::{Calendar, Clock};
use crate::config::{Cipher, Config, Error, Own, Sink, Windows};
use crate::machine::{CLIENT, Counts, Inbox, Machine, NOUGHTS, News, SERVER, violation};
use crate::meter::Meter;
use crate::shell::Parts;
use crate::{null, seeds, tls};
use bytes::{Bytes, BytesMut};
use counting::Counting;
use haltere_net::rng::Stream;
use haltere_net::{Ecn, Time};
use haltere_transport::{CloseReason, Role};
use noq_proto as n;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A noq endpoint and its connection.
pub(crate) struct Noq {
    endpoint: n::Endpoint,
    client: Option<n::ClientConfig>,
    connection: Option<(n::ConnectionHandle, n::Connection)>,
    peer: SocketAddr,
    news: VecDeque<News>,
    meter: Meter,
}

impl Noq {
    /// A machine and what its shell needs.
    pub fn parts(config: Config) -> Result<Parts<Noq>, Error> {
        let (clock, calendar, meter) = (Clock::new(), Calendar::default(), Meter::default());
        let mut dice = config.stream.clone();
        let transport = Arc::new(transport(&config, clock, &meter));
        let payload = config.max_udp_payload.max(1200);
        let common = Arc::new(common(payload, &mut dice)?);
        let (mut server, mut client) = (None, None);
        match config.role {
            Role::Server => server = Some(Arc::new(server_config(&config, &calendar, &meter, transport)?)),
            Role::Client => client = Some(client_config(&config, &calendar, &meter, transport, dice)?),
        }
        let machine = Noq {
            endpoint: n::Endpoint::new(common, server, true),
            client,
            connection: None,
            peer: if config.role == Role::Client { SERVER } else { CLIENT },
            news: VecDeque::new(),
            meter: meter.clone(),
        };
        let ordered = config.windows == Windows::Stock;
        Ok(Parts { machine, role: config.role, clock, calendar, meter, max_udp_payload: payload, ordered })
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

    fn accept_first(&mut self, incoming: n::Incoming, now: Instant, answers: &mut VecDeque<Vec<u8>>) {
        let mut buffer = Vec::new();
        if self.connection.is_some() {
            self.endpoint.ignore(incoming);
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

// ---- configuration ----

fn transport(config: &Config, clock: Clock, meter: &Meter) -> n::TransportConfig {
    let mut transport = n::TransportConfig::default();
    if config.windows == Windows::Wide {
        let (stream, connection, send) = Windows::WIDE;
        transport.stream_receive_window(stream.into()).receive_window(connection.into()).send_window(send);
    }
    let mut search = n::MtuDiscoveryConfig::default();
    search.upper_bound(config.max_udp_payload.max(1200));
    transport.mtu_discovery_config(Some(search)).enable_segmentation_offload(false);
    transport.congestion_controller_factory(control::factory(config, clock, meter));
    if let Some(sink) = &config.qlog {
        transport.qlog_factory(Arc::new(Log { sink: sink.clone(), clock }));
    }
    transport
}

/// Gives a connection the run's sink for its qlog.
struct Log {
    sink: Sink,
    clock: Clock,
}

impl n::QlogFactory for Log {
    fn for_connection(&self, _: n::Side, _: SocketAddr, _: n::ConnectionId, _: Instant) -> Option<n::QlogConfig> {
        let mut config = n::QlogConfig::new(Box::new(self.sink.clone()));
        config.start_time(self.clock.instant(Time::ZERO));
        Some(config)
    }
}

fn common(payload: u16, dice: &mut Stream) -> Result<n::EndpointConfig, Error> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &seeds::bytes::<64>(dice));
    let mut common = n::EndpointConfig::new(Arc::new(key));
    let ids = dice.clone();
    dice.bits();
    common.max_udp_payload_size(payload).map_err(Error::new)?;
    common.rng_seed(Some(seeds::bytes(dice))).cid_generator(Arc::new(move || Box::new(Ids(ids.clone()))));
    Ok(common)
}

fn server_config(
    config: &Config,
    calendar: &Calendar,
    meter: &Meter,
    transport: Arc<n::TransportConfig>,
) -> Result<n::ServerConfig, Error> {
    let crypto: Arc<dyn n::crypto::ServerConfig> = match config.cipher {
        Cipher::Tls => {
            let mut tls = tls::server(calendar)?;
            tls.key_log = Arc::new(config.secrets.clone());
            Arc::new(QuicServerConfig::try_from(tls).map_err(Error::new)?)
        }
        Cipher::Null => Arc::new(crypto::Null),
    };
    let crypto = Arc::new(Counting::new(crypto, meter));
    let mut server = n::ServerConfig::new(crypto, Arc::new(OpenTokens));
    server.transport_config(transport).time_source(Arc::new(calendar.clone()));
    Ok(server)
}

fn client_config(
    config: &Config,
    calendar: &Calendar,
    meter: &Meter,
    transport: Arc<n::TransportConfig>,
    mut dice: Stream,
) -> Result<n::ClientConfig, Error> {
    let crypto: Arc<dyn n::crypto::ClientConfig> = match config.cipher {
        Cipher::Tls => Arc::new(QuicClientConfig::try_from(tls::client(calendar)?).map_err(Error::new)?),
        Cipher::Null => Arc::new(crypto::Null),
    };
    let mut client = n::ClientConfig::new(Arc::new(Counting::new(crypto, meter)));
    let first = seeds::bytes::<{ seeds::FIRST_CONNECTION_ID }>(&mut dice);
    client.transport_config(transport);
    client.initial_dst_cid_provider(Arc::new(move || n::ConnectionId::new(&first)));
    Ok(client)
}

impl n::TimeSource for Calendar {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.since_epoch()
    }
}

/// Address tokens with a checksum in place of a seal: there is nobody here from whom to keep them, and noq's own key comes
/// from the system's dice.
struct OpenTokens;

impl n::crypto::HandshakeTokenKey for OpenTokens {
    fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), n::crypto::CryptoError> {
        let len = data.len();
        data.resize(len + null::TAG, 0);
        null::seal(nonce as u64, data, 0);
        Ok(())
    }
    fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], n::crypto::CryptoError> {
        let len = null::open(nonce as u64, &[], data).ok_or(n::crypto::CryptoError)?;
        Ok(&data[..len])
    }
}

/// Connection ids from the run's dice.
struct Ids(Stream);

impl n::ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> n::ConnectionId {
        n::ConnectionId::new(&seeds::bytes::<{ seeds::CONNECTION_ID }>(&mut self.0))
    }
    fn cid_len(&self) -> usize {
        seeds::CONNECTION_ID
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

// ---- the machine ----

fn to_ecn(ecn: Option<n::EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(n::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(n::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(n::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn of_ecn(ecn: Ecn) -> Option<n::EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(n::EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(n::EcnCodepoint::Ect1),
        Ecn::Ce => Some(n::EcnCodepoint::Ce),
    }
}

fn stream_id(id: u64) -> n::StreamId {
    let side = if id & 1 == 0 { n::Side::Client } else { n::Side::Server };
    n::StreamId::new(side, if id & 2 == 0 { n::Dir::Bi } else { n::Dir::Uni }, id >> 2)
}

fn ending(reason: &n::ConnectionError) -> News {
    use n::ConnectionError as E;
    let failed = |text| News::Failed(CloseReason::ProtocolViolation(text));
    match reason {
        E::ApplicationClosed(_) | E::LocallyClosed => News::Closed,
        E::TimedOut => News::Silent,
        E::VersionMismatch => failed("the peer speaks no version of QUIC that noq does"),
        E::TransportError(error) => News::Failed(violation(error.code.into())),
        E::ConnectionClosed(close) => News::Failed(violation(close.error_code.into())),
        E::Reset => failed("the peer knows nothing of the connection (stateless reset)"),
        E::CidsExhausted => failed("noq has no connection ids left"),
    }
}

impl Machine for Noq {
    fn connect(&mut self, now: Instant) -> Result<(), &'static str> {
        let Some(config) = self.client.take() else { return Ok(()) };
        match self.endpoint.connect(now, config, self.peer, tls::NAME) {
            Ok(connected) => self.connection = Some(connected),
            Err(_) => return Err("noq refused to connect"),
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: Vec<u8>, answers: &mut VecDeque<Vec<u8>>) -> bool {
        let data = BytesMut::from(Bytes::from(datagram));
        let mut buffer = Vec::new();
        match self.endpoint.handle(now, n::FourTuple::from_remote(self.peer), of_ecn(ecn), data, &mut buffer) {
            Some(n::DatagramEvent::ConnectionEvent(handle, event)) => match &mut self.connection {
                Some((own, connection)) if *own == handle => connection.handle_event(event),
                _ => return false,
            },
            Some(n::DatagramEvent::NewConnection(incoming)) => self.accept_first(incoming, now, answers),
            Some(n::DatagramEvent::Response(_)) => answers.push_back(buffer),
            None => return false,
        }
        self.settle();
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

    fn transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Ecn> {
        let (_, connection) = self.connection.as_mut()?;
        let sent = connection.poll_transmit(now, NonZeroUsize::MIN, into)?;
        Some(to_ecn(sent.ecn))
    }

    fn news(&mut self) -> Option<News> {
        if let Some(news) = self.news.pop_front() {
            return Some(news);
        }
        let (_, connection) = self.connection.as_mut()?;
        loop {
            return Some(match connection.poll()? {
                n::Event::Connected => News::Connected,
                n::Event::ConnectionLost { reason } => ending(&reason),
                n::Event::Stream(event) => match event {
                    n::StreamEvent::Opened { dir: n::Dir::Bi } => News::Opened,
                    n::StreamEvent::Readable { id } => News::Readable(id.into()),
                    n::StreamEvent::Writable { id } => News::Writable(id.into()),
                    n::StreamEvent::Finished { id } | n::StreamEvent::Stopped { id, .. } => News::Delivered(id.into()),
                    n::StreamEvent::Available { dir: n::Dir::Bi } => News::Openable,
                    n::StreamEvent::Opened { .. } | n::StreamEvent::Available { .. } => continue,
                },
                // Datagrams, paths and traversal of address translation are not used.
                _ => continue,
            });
        }
    }

    fn open(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().open(n::Dir::Bi).map(u64::from)
    }

    fn accept(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().accept(n::Dir::Bi).map(u64::from)
    }

    fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut sender = connection.send_stream(stream_id(stream));
        let mut taken = 0;
        while taken < bytes {
            let len = (bytes - taken).min(NOUGHTS.len() as u64) as usize;
            match sender.write_chunks(&mut &mut [Bytes::from_static(&NOUGHTS[..len])][..]) {
                Ok(written) => taken += written as u64,
                // A stream that the peer has stopped takes everything and sends nothing.
                Err(n::WriteError::Stopped(_) | n::WriteError::ClosedStream) => return bytes,
                Err(n::WriteError::Blocked) => break,
            }
        }
        taken
    }

    fn finish(&mut self, stream: u64) {
        let Some((_, connection)) = &mut self.connection else { return };
        if connection.send_stream(stream_id(stream)).finish().is_err() {
            self.news.push_back(News::Delivered(stream));
        }
    }

    fn read(&mut self, stream: u64, inbox: &mut Inbox) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        let mut receiver = connection.recv_stream(stream_id(stream));
        let Ok(mut chunks) = receiver.read(inbox.ordered) else { return true };
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => inbox.take(chunk.offset, chunk.bytes.len() as u64),
                Ok(None) | Err(n::ReadError::Reset(_)) => break true,
                Err(n::ReadError::Blocked) => break false,
            }
        };
        // Whether that calls for a packet is seen when packets are asked for, which follows in any case.
        let _ = chunks.finalize();
        ended
    }

    fn close(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, n::VarInt::from_u32(0), Bytes::new());
        }
    }

    fn counts(&mut self) -> Counts {
        let Some((_, connection)) = &mut self.connection else { return Counts::default() };
        let path = connection.path_stats(n::PathId::ZERO).unwrap_or_default();
        Counts {
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            spurious: path.spurious_congestion_events,
            min_rtt: self.meter.rtt().map_or(Duration::ZERO, |(_, _, _, least)| Duration::from_nanos(least)),
        }
    }
}

/// The factory of a stack's own controller.
type Factory = Arc<dyn n::congestion::ControllerFactory + Send + Sync>;

fn own(which: Own) -> Factory {
    match which {
        // It has no BBRv2, and `Stack::congestion` gives none.
        Own::Cubic | Own::Bbr2 => Arc::new(n::congestion::CubicConfig::default()),
        Own::NewReno => Arc::new(n::congestion::NewRenoConfig::default()),
    }
}
