//! How quinn and its kin are set up: as their defaults say, but for what `docs/stacks.md` lists: dice, windows, path MTU,
//! segmentation offload.

use super::counting::Counting;
use super::{Factory, control, crypto, machine::Connected, proto as p, seam};
use crate::clock::{Calendar, Clock};
use crate::config::{Cipher, Config, Error, Own, Windows};
use crate::machine::{VERSION_1, VERSION_DRAFT_29};
use crate::memory::{Memory, Tokens};
use crate::meter::Meter;
use crate::shell::Parts;
use crate::{seeds, tls};
use bytes::Bytes;
use haltere_net::rng::Stream;
use haltere_transport::Role;
use haltere_transport::quic::Session;
use p::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A machine and what its shell needs.
pub(crate) fn parts(config: Config) -> Result<Parts<Connected>, Error> {
    let (clock, calendar, meter) = (Clock::new(), Calendar::default(), Meter::default());
    let mut dice = config.stream.clone();
    let common = Arc::new(common(&config, &mut dice)?);
    let (mut server, mut attempts) = (None, VecDeque::new());
    match config.role {
        Role::Server => server = Some(Arc::new(server_config(&config, clock, &calendar, &meter, &mut dice)?)),
        Role::Client => attempts = client_configs(&config, clock, &calendar, &meter, dice)?,
    }
    let machine = Connected::new(seam::endpoint(common, server), attempts, &config, &meter);
    Ok(Parts {
        machine,
        role: config.role,
        clock,
        calendar,
        meter,
        max_udp_payload: config.max_udp_payload.max(1200),
        ordered: config.windows == Windows::Stock,
        early: config.role == Role::Client && config.session == Session::EarlyData,
    })
}

fn transport(config: &Config, clock: Clock, meter: &Meter) -> Arc<p::TransportConfig> {
    let mut transport = p::TransportConfig::default();
    if config.windows == Windows::Wide {
        let (stream, connection, send) = Windows::WIDE;
        transport.stream_receive_window(stream.into()).receive_window(connection.into()).send_window(send);
    }
    let mut search = p::MtuDiscoveryConfig::default();
    search.upper_bound(config.max_udp_payload.max(1200));
    transport.mtu_discovery_config(Some(search)).enable_segmentation_offload(false);
    transport.congestion_controller_factory(control::factory(config, clock, meter));
    if let Some(sink) = &config.qlog {
        seam::log(&mut transport, sink.clone(), clock);
    }
    Arc::new(transport)
}

fn common(config: &Config, dice: &mut Stream) -> Result<p::EndpointConfig, Error> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &seeds::bytes::<64>(dice));
    let mut common = p::EndpointConfig::new(Arc::new(key));
    let ids = dice.clone();
    dice.bits();
    common.max_udp_payload_size(config.max_udp_payload.max(1200)).map_err(Error::new)?;
    if config.unknown_version && config.role == Role::Server {
        common.supported_versions(vec![VERSION_1]);
    }
    common.rng_seed(Some(seeds::bytes(dice)));
    seam::ids(&mut common, move || Box::new(Ids(ids.clone())));
    Ok(common)
}

fn server_config(
    config: &Config,
    clock: Clock,
    calendar: &Calendar,
    meter: &Meter,
    dice: &mut Stream,
) -> Result<p::ServerConfig, Error> {
    let crypto: Arc<dyn p::crypto::ServerConfig> = match config.cipher {
        Cipher::Tls => {
            let shared = config.memory.as_ref().and_then(|m| m.tls.as_ref());
            let mut tls = shared.map_or_else(|| tls::server(calendar), |pair| Ok(pair.server(calendar)))?;
            tls.key_log = Arc::new(config.secrets.clone());
            Arc::new(QuicServerConfig::try_from(tls).map_err(Error::new)?)
        }
        Cipher::Null => Arc::new(crypto::Null(Memory::past(config.memory.as_ref(), config.session))),
    };
    let key = seam::token_key(config.memory.as_ref(), dice);
    let mut server = p::ServerConfig::new(Arc::new(Counting::new(crypto, meter)), key);
    server.transport_config(transport(config, clock, meter)).time_source(Arc::new(calendar.clone()));
    Ok(server)
}

/// How a client tries to connect: at last as configured, before that with a version that the server has not.
fn client_configs(
    config: &Config,
    clock: Clock,
    calendar: &Calendar,
    meter: &Meter,
    mut dice: Stream,
) -> Result<VecDeque<p::ClientConfig>, Error> {
    let mut attempts = VecDeque::new();
    let memory = config.memory.as_ref();
    // A session is of one version (RFC 9001 section 4.6): it is of no use with another one. Nor is what is given up logged.
    let first = config.unknown_version.then(|| (VERSION_DRAFT_29, None, Config { qlog: None, ..config.clone() }));
    for (version, memory, config) in first.into_iter().chain([(VERSION_1, memory, config.clone())]) {
        let crypto: Arc<dyn p::crypto::ClientConfig> = match config.cipher {
            Cipher::Tls => {
                let shared = memory.and_then(|m| m.tls.as_ref());
                let of = |pair: &tls::Pair| Ok(pair.client(calendar, config.session == Session::EarlyData));
                let tls = shared.map_or_else(|| tls::client(calendar), of)?;
                Arc::new(QuicClientConfig::try_from(tls).map_err(Error::new)?)
            }
            Cipher::Null => Arc::new(crypto::Null(Memory::past(memory, config.session))),
        };
        let mut client = p::ClientConfig::new(Arc::new(Counting::new(crypto, meter)));
        let first = seeds::bytes::<{ seeds::FIRST_CONNECTION_ID }>(&mut dice);
        client.transport_config(transport(&config, clock, meter)).version(version);
        client.initial_dst_cid_provider(Arc::new(move || p::ConnectionId::new(&first)));
        if let Some(memory) = memory.filter(|_| !config.retry) {
            client.token_store(Arc::new(memory.tokens.clone()));
        }
        attempts.push_back(client);
    }
    Ok(attempts)
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

/// Connection ids from the run's dice.
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
pub(super) fn own(which: Own) -> Factory {
    match which {
        // They have no BBRv2, and `Stack::own` lists none.
        Own::Cubic | Own::Bbr2 => Arc::new(p::congestion::CubicConfig::default()),
        Own::NewReno => Arc::new(p::congestion::NewRenoConfig::default()),
    }
}
