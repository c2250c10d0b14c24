//! How the stacks of this family are set up: as their defaults say, but for what `docs/reference/stacks.md` lists: random
//! numbers, windows, path MTU, segmentation offload.

use super::connection::Connection;
use super::counting::Counting;
use super::null_crypto::Null;
use super::{Factory, control, differences, proto as p};
use crate::calls;
use crate::clock::{Calendar, Clock};
use crate::config::{Cipher, Config, Error, Windows};
use crate::connection::{VERSION_1, VERSION_DRAFT_29};
use crate::endpoint::{Parts, around};
use crate::handles::Handles;
use crate::memory::{Memory, Tokens};
use crate::meter::Meter;
use crate::null::Resumption;
use crate::{seeds, tls};
use bytes::Bytes;
use haltere_net::rng::Stream;
use haltere_transport::quic::Session;
use haltere_transport::roq::KEEP_ALIVE;
use haltere_transport::{Endpoint, Role};
use p::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One end of a connection.
pub(crate) fn endpoint(config: Config, handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    if config.over_quic.is_some() { calls::around(config, handles, parts) } else { around(config, handles, parts) }
}

/// Makes the endpoint's parts.
fn parts(config: Config, handles: Handles) -> Result<Parts<Connection>, Error> {
    let paths = if config.multipath { config.addresses.len() } else { 1 };
    let (clock, calendar, meter) = (Clock::new(), Calendar::default(), Meter::new(paths, &config));
    let mut random = handles.stream.clone();
    let common = Arc::new(common(&config, &mut random)?);
    let setup = Setup { config: &config, handles: &handles, clock, calendar: &calendar, meter: &meter };
    let (mut server, mut attempts) = (None, VecDeque::new());
    match config.role {
        Role::Server => server = Some(Arc::new(setup.server(&mut random)?)),
        Role::Client => attempts = setup.clients(random)?,
    }
    let connection = Connection::new(differences::endpoint(common, server), attempts, &config, &meter);
    Ok(Parts {
        connection,
        role: config.role,
        clock,
        calendar,
        meter,
        max_udp_payload: config.max_udp_payload.max(1200),
        ordered: config.windows == Windows::Stock,
        early_data: config.role == Role::Client && config.session == Session::EarlyData,
    })
}

fn common(config: &Config, random: &mut Stream) -> Result<p::EndpointConfig, Error> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &seeds::bytes::<64>(random));
    let mut common = p::EndpointConfig::new(Arc::new(key));
    let ids = random.clone();
    random.bits();
    common.max_udp_payload_size(config.max_udp_payload.max(1200)).map_err(Error::new)?;
    if config.unknown_version && config.role == Role::Server {
        common.supported_versions(vec![VERSION_1]);
    }
    common.rng_seed(Some(seeds::bytes(random)));
    differences::ids(&mut common, move || Box::new(Ids(ids.clone())));
    Ok(common)
}

/// The data from which the stack's configurations are made.
struct Setup<'a> {
    config: &'a Config,
    handles: &'a Handles,
    clock: Clock,
    calendar: &'a Calendar,
    meter: &'a Meter,
}

impl Setup<'_> {
    fn transport(&self) -> p::TransportConfig {
        let config = self.config;
        let mut transport = p::TransportConfig::default();
        if config.windows == Windows::Wide {
            let (stream, connection, send) = Windows::WIDE;
            transport.stream_receive_window(stream.into()).receive_window(connection.into()).send_window(send);
        }
        let mut search = p::MtuDiscoveryConfig::default();
        search.upper_bound(config.max_udp_payload.max(1200));
        transport.mtu_discovery_config(Some(search)).enable_segmentation_offload(false);
        let factory = control::factory(config, self.handles, self.clock, self.meter);
        transport.congestion_controller_factory(factory);
        if config.over_quic.is_some() && config.role == Role::Client {
            transport.keep_alive_interval(Some(Duration::from_nanos(KEEP_ALIVE.as_nanos())));
        }
        if config.multipath {
            differences::allow_paths(&mut transport, config.addresses.len());
        }
        transport
    }

    /// The transport's configuration, with the stack's own qlog if one is wanted.
    fn logged_transport(&self) -> p::TransportConfig {
        let mut transport = self.transport();
        if let Some(sink) = &self.handles.qlog {
            differences::log(&mut transport, sink.clone(), self.clock);
        }
        transport
    }

    fn server(&self, random: &mut Stream) -> Result<p::ServerConfig, Error> {
        let memory = self.handles.memory.as_ref();
        let crypto: Arc<dyn p::crypto::ServerConfig> = match self.config.cipher {
            Cipher::Tls => {
                let shared = memory.and_then(|m| m.tls.as_ref());
                let mut tls =
                    shared.map_or_else(|| tls::server(self.calendar), |pair| Ok(pair.server(self.calendar)))?;
                tls.key_log = Arc::new(self.handles.secrets.clone());
                Arc::new(QuicServerConfig::try_from(tls).map_err(Error::new)?)
            }
            Cipher::Null => Arc::new(Null(Resumption::of(memory, self.config.session))),
        };
        let key = differences::token_key(memory, random);
        let mut server = p::ServerConfig::new(Arc::new(Counting::new(crypto, self.meter)), key);
        server.transport_config(Arc::new(self.logged_transport())).time_source(Arc::new(self.calendar.clone()));
        Ok(server)
    }

    /// How a client tries to connect: at last as configured, before that with a version that the server does not
    /// support.
    fn clients(&self, mut random: Stream) -> Result<VecDeque<p::ClientConfig>, Error> {
        let mut attempts = VecDeque::new();
        if self.config.unknown_version {
            // A session belongs to one version (RFC 9001 section 4.6): it is of no use with another. The log is of the
            // connection that lasts.
            attempts.push_back(self.client(VERSION_DRAFT_29, None, self.transport(), &mut random)?);
        }
        let memory = self.handles.memory.as_ref();
        attempts.push_back(self.client(VERSION_1, memory, self.logged_transport(), &mut random)?);
        Ok(attempts)
    }

    fn client(
        &self,
        version: u32,
        memory: Option<&Memory>,
        transport: p::TransportConfig,
        random: &mut Stream,
    ) -> Result<p::ClientConfig, Error> {
        let (config, calendar) = (self.config, self.calendar);
        let crypto: Arc<dyn p::crypto::ClientConfig> = match config.cipher {
            Cipher::Tls => {
                let shared = memory.and_then(|m| m.tls.as_ref());
                let of = |pair: &tls::Pair| Ok(pair.client(calendar, config.session));
                let tls = shared.map_or_else(|| tls::client(calendar), of)?;
                Arc::new(QuicClientConfig::try_from(tls).map_err(Error::new)?)
            }
            Cipher::Null => Arc::new(Null(Resumption::of(memory, config.session))),
        };
        let mut client = p::ClientConfig::new(Arc::new(Counting::new(crypto, self.meter)));
        let first = seeds::bytes::<{ seeds::FIRST_CONNECTION_ID }>(random);
        client.transport_config(Arc::new(transport)).version(version);
        client.initial_dst_cid_provider(Arc::new(move || p::ConnectionId::new(&first)));
        if let Some(memory) = memory.filter(|_| !config.retry) {
            client.token_store(Arc::new(memory.tokens.clone()));
        }
        Ok(client)
    }
}

impl p::TokenStore for Tokens {
    fn insert(&self, _: &str, token: Bytes) {
        self.keep(token);
    }
    fn take(&self, _: &str) -> Option<Bytes> {
        Tokens::take(self)
    }
}

impl p::TimeSource for Calendar {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.since_epoch()
    }
}

/// Connection ids from the run's random numbers.
struct Ids(Stream);

impl p::ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> p::ConnectionId {
        p::ConnectionId::new(&seeds::bytes::<{ seeds::CONNECTION_ID }>(&mut self.0))
    }
    fn cid_len(&self) -> usize {
        seeds::CONNECTION_ID
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The factory of a stack's own controller.
pub(super) fn own(which: &str) -> Factory {
    match which {
        "newreno" => Arc::new(p::congestion::NewRenoConfig::default()),
        _ => {
            debug_assert_eq!(which, "cubic", "the entry of the stack lists no other");
            Arc::new(p::congestion::CubicConfig::default())
        }
    }
}
