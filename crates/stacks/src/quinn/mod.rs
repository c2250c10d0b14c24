//! quinn-proto behind the skin of a [`Machine`].
//!
//! An endpoint of quinn-proto with at most one connection; a server accepts the first that comes. Set up as quinn's
//! defaults say, but for what `docs/stacks.md` lists: dice, windows, path MTU, segmentation offload.

mod control;
mod counting;
mod crypto;

use crate::clock::{Calendar, Clock};
use crate::config::{Cipher, Config, Error, Own, Windows};
use crate::machine::{CLIENT, Counts, Inbox, Machine, NOUGHTS, News, SERVER, violation};
use crate::meter::Meter;
use crate::shell::Parts;
use crate::{seeds, tls};
use bytes::{Bytes, BytesMut};
use counting::Counting;
use haltere_net::rng::Stream;
use haltere_net::{Ecn, Time};
use haltere_transport::{CloseReason, Role};
use quinn_proto as q;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A quinn endpoint and its connection.
pub(crate) struct Quinn {
    endpoint: q::Endpoint,
    client: Option<q::ClientConfig>,
    connection: Option<(q::ConnectionHandle, q::Connection)>,
    peer: SocketAddr,
    news: VecDeque<News>,
}

impl Quinn {
    /// A machine and what its shell needs.
    pub fn parts(config: Config) -> Result<Parts<Quinn>, Error> {
        let (clock, calendar, meter) = (Clock::new(), Calendar::default(), Meter::default());
        let mut dice = config.stream.clone();
        let transport = Arc::new(transport(&config, clock, &meter));
        let payload = config.max_udp_payload.max(1200);
        let common = Arc::new(common(payload, &mut dice)?);
        let (mut server, mut client) = (None, None);
        match config.role {
            Role::Server => server = Some(Arc::new(server_config(&config, &calendar, &meter, transport, &mut dice)?)),
            Role::Client => client = Some(client_config(&config, &calendar, &meter, transport, dice)?),
        }
        let machine = Quinn {
            endpoint: q::Endpoint::new(common, server, true, None),
            client,
            connection: None,
            peer: if config.role == Role::Client { SERVER } else { CLIENT },
            news: VecDeque::new(),
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

    fn accept_first(&mut self, incoming: q::Incoming, now: Instant, answers: &mut VecDeque<Vec<u8>>) {
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

fn transport(config: &Config, clock: Clock, meter: &Meter) -> q::TransportConfig {
    let mut transport = q::TransportConfig::default();
    if config.windows == Windows::Wide {
        let (stream, connection, send) = Windows::WIDE;
        transport.stream_receive_window(stream.into()).receive_window(connection.into()).send_window(send);
    }
    let mut search = q::MtuDiscoveryConfig::default();
    search.upper_bound(config.max_udp_payload.max(1200));
    transport.mtu_discovery_config(Some(search)).enable_segmentation_offload(false);
    transport.congestion_controller_factory(control::factory(config, clock, meter));
    if let Some(sink) = &config.qlog {
        let mut qlog = q::QlogConfig::default();
        qlog.writer(Box::new(sink.clone())).start_time(clock.instant(Time::ZERO));
        transport.qlog_stream(qlog.into_stream());
    }
    transport
}

fn common(payload: u16, dice: &mut Stream) -> Result<q::EndpointConfig, Error> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &seeds::bytes::<64>(dice));
    let mut common = q::EndpointConfig::new(Arc::new(key));
    let ids = dice.clone();
    dice.bits();
    common.max_udp_payload_size(payload).map_err(Error::new)?;
    common.rng_seed(Some(seeds::bytes(dice))).cid_generator(move || Box::new(Ids(ids.clone())));
    Ok(common)
}

fn server_config(
    config: &Config,
    calendar: &Calendar,
    meter: &Meter,
    transport: Arc<q::TransportConfig>,
    dice: &mut Stream,
) -> Result<q::ServerConfig, Error> {
    let crypto: Arc<dyn q::crypto::ServerConfig> = match config.cipher {
        Cipher::Tls => {
            let mut tls = tls::server(calendar)?;
            tls.key_log = Arc::new(config.secrets.clone());
            Arc::new(QuicServerConfig::try_from(tls).map_err(Error::new)?)
        }
        Cipher::Null => Arc::new(crypto::Null),
    };
    let salt = ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]);
    let crypto = Arc::new(Counting::new(crypto, meter));
    let mut server = q::ServerConfig::new(crypto, Arc::new(salt.extract(&seeds::bytes::<64>(dice))));
    server.transport_config(transport).time_source(Arc::new(calendar.clone()));
    Ok(server)
}

fn client_config(
    config: &Config,
    calendar: &Calendar,
    meter: &Meter,
    transport: Arc<q::TransportConfig>,
    mut dice: Stream,
) -> Result<q::ClientConfig, Error> {
    let crypto: Arc<dyn q::crypto::ClientConfig> = match config.cipher {
        Cipher::Tls => Arc::new(QuicClientConfig::try_from(tls::client(calendar)?).map_err(Error::new)?),
        Cipher::Null => Arc::new(crypto::Null),
    };
    let mut client = q::ClientConfig::new(Arc::new(Counting::new(crypto, meter)));
    let first = seeds::bytes::<{ seeds::FIRST_CONNECTION_ID }>(&mut dice);
    client.transport_config(transport);
    client.initial_dst_cid_provider(Arc::new(move || q::ConnectionId::new(&first)));
    Ok(client)
}

impl q::TimeSource for Calendar {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.since_epoch()
    }
}

/// Connection ids from the run's dice.
struct Ids(Stream);

impl q::ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> q::ConnectionId {
        q::ConnectionId::new(&seeds::bytes::<{ seeds::CONNECTION_ID }>(&mut self.0))
    }
    fn cid_len(&self) -> usize {
        seeds::CONNECTION_ID
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

// ---- the machine ----

fn to_ecn(ecn: Option<q::EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(q::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(q::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(q::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn of_ecn(ecn: Ecn) -> Option<q::EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(q::EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(q::EcnCodepoint::Ect1),
        Ecn::Ce => Some(q::EcnCodepoint::Ce),
    }
}

fn stream_id(id: u64) -> q::StreamId {
    let side = if id & 1 == 0 { q::Side::Client } else { q::Side::Server };
    q::StreamId::new(side, if id & 2 == 0 { q::Dir::Bi } else { q::Dir::Uni }, id >> 2)
}

fn ending(reason: &q::ConnectionError) -> News {
    use q::ConnectionError as E;
    let failed = |text| News::Failed(CloseReason::ProtocolViolation(text));
    match reason {
        E::ApplicationClosed(_) | E::LocallyClosed => News::Closed,
        E::TimedOut => News::Silent,
        E::VersionMismatch => failed("the peer speaks no version of QUIC that quinn does"),
        E::TransportError(error) => News::Failed(violation(error.code.into())),
        E::ConnectionClosed(close) => News::Failed(violation(close.error_code.into())),
        E::Reset => failed("the peer knows nothing of the connection (stateless reset)"),
        E::CidsExhausted => failed("quinn has no connection ids left"),
    }
}

impl Machine for Quinn {
    fn connect(&mut self, now: Instant) -> Result<(), &'static str> {
        let Some(config) = self.client.take() else { return Ok(()) };
        match self.endpoint.connect(now, config, self.peer, tls::NAME) {
            Ok(connected) => self.connection = Some(connected),
            Err(_) => return Err("quinn refused to connect"),
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: Vec<u8>, answers: &mut VecDeque<Vec<u8>>) -> bool {
        let data = BytesMut::from(Bytes::from(datagram));
        let mut buffer = Vec::new();
        match self.endpoint.handle(now, self.peer, None, of_ecn(ecn), data, &mut buffer) {
            Some(q::DatagramEvent::ConnectionEvent(handle, event)) => match &mut self.connection {
                Some((own, connection)) if *own == handle => connection.handle_event(event),
                _ => return false,
            },
            Some(q::DatagramEvent::NewConnection(incoming)) => self.accept_first(incoming, now, answers),
            Some(q::DatagramEvent::Response(_)) => answers.push_back(buffer),
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
        let sent = connection.poll_transmit(now, 1, into)?;
        Some(to_ecn(sent.ecn))
    }

    fn news(&mut self) -> Option<News> {
        if let Some(news) = self.news.pop_front() {
            return Some(news);
        }
        let (_, connection) = self.connection.as_mut()?;
        loop {
            return Some(match connection.poll()? {
                q::Event::Connected => News::Connected,
                q::Event::ConnectionLost { reason } => ending(&reason),
                q::Event::Stream(event) => match event {
                    q::StreamEvent::Opened { dir: q::Dir::Bi } => News::Opened,
                    q::StreamEvent::Readable { id } => News::Readable(id.into()),
                    q::StreamEvent::Writable { id } => News::Writable(id.into()),
                    q::StreamEvent::Finished { id } | q::StreamEvent::Stopped { id, .. } => News::Delivered(id.into()),
                    q::StreamEvent::Available { dir: q::Dir::Bi } => News::Openable,
                    q::StreamEvent::Opened { .. } | q::StreamEvent::Available { .. } => continue,
                },
                // Datagrams are not used.
                _ => continue,
            });
        }
    }

    fn open(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().open(q::Dir::Bi).map(u64::from)
    }

    fn accept(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.streams().accept(q::Dir::Bi).map(u64::from)
    }

    fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut sender = connection.send_stream(stream_id(stream));
        let mut taken = 0;
        while taken < bytes {
            let len = (bytes - taken).min(NOUGHTS.len() as u64) as usize;
            match sender.write_chunks(&mut [Bytes::from_static(&NOUGHTS[..len])]) {
                Ok(written) => taken += written.bytes as u64,
                // A stream that the peer has stopped takes everything and sends nothing.
                Err(q::WriteError::Stopped(_) | q::WriteError::ClosedStream) => return bytes,
                Err(q::WriteError::Blocked) => break,
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
                Ok(None) | Err(q::ReadError::Reset(_)) => break true,
                Err(q::ReadError::Blocked) => break false,
            }
        };
        // Whether that calls for a packet is seen when packets are asked for, which follows in any case.
        let _ = chunks.finalize();
        ended
    }

    fn close(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, q::VarInt::from_u32(0), Bytes::new());
        }
    }

    fn counts(&mut self) -> Counts {
        let Some((_, connection)) = &self.connection else { return Counts::default() };
        let path = connection.stats().path;
        Counts { sent_packets: path.sent_packets, lost_packets: path.lost_packets, spurious: 0, min_rtt: path.min_rtt }
    }
}

/// The factory of a stack's own controller.
type Factory = Arc<dyn q::congestion::ControllerFactory + Send + Sync>;

fn own(which: Own) -> Factory {
    match which {
        // It has no BBRv2, and `Stack::congestion` gives none.
        Own::Cubic | Own::Bbr2 => Arc::new(q::congestion::CubicConfig::default()),
        Own::NewReno => Arc::new(q::congestion::NewRenoConfig::default()),
    }
}
