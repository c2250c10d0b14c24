//! quiche, with BoringSSL.
//!
//! Set up as quiche's defaults and its own programs do (`apps/src/args.rs`, `tokio-quiche/src/quic/io/worker.rs`), but
//! for what `docs/reference/stacks.md` lists. Two things are done as in those programs, since quiche leaves them to its caller:
//! connection ids, and when a paced datagram goes.

use crate::interposed::draw;
use crate::protocol::{Figures, PathFigures, Setup};
use crate::stack::{Chunk, Next, Read, Stack, State};
use ::quiche as q;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The laboratory's certificates (`crates/stacks/src/tls/`).
const AUTHORITY: &[u8] = include_bytes!("../../../stacks/src/tls/authority.der");
const SERVER: &[u8] = include_bytes!("../../../stacks/src/tls/server.der");
const KEY: &[u8] = include_bytes!("../../../stacks/src/tls/key.der");
const NAME: &str = "haltere.test";

const AT_CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 50_000);
const AT_SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// Length of the connection ids that an end gives itself, bytes, as in quiche's programs.
const CONNECTION_ID: usize = q::MAX_CONN_ID_LEN;
/// Open streams and the idle timeout, as quiche's programs set them; its library has 0, which forbids streams and never times
/// out.
const STREAMS: u64 = 100;
const IDLE_MILLIS: u64 = 30_000;
/// The largest windows that autotuning gives, bytes, unless larger ones are asked for at the start.
const MOST_STREAM_WINDOW: u64 = 16 << 20;
const MOST_WINDOW: u64 = 24 << 20;
/// The share to sleep of the time for which a datagram may wait in the kernel, when there is more to wait for.
const SLEEP: f32 = 0.8;

/// Bytes that quiche writes and the host takes.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One end of a connection of quiche.
pub struct Quiche {
    config: q::Config,
    connection: Option<q::Connection>,
    server: bool,
    wants_qlog: bool,
    secrets: Shared,
    qlog: Shared,
    /// Streams of its own that were written so far.
    opened: u64,
    /// The application has closed the connection.
    closed: bool,
    /// Length of the buffer of the last datagram.
    payload: usize,
}

fn text(error: impl std::fmt::Display) -> String {
    format!("quiche: {error}")
}

impl Quiche {
    /// An end that has no connection yet.
    ///
    /// # Errors
    /// A sentence about the setup, if it cannot be had.
    pub fn new(setup: &Setup) -> Result<Quiche, String> {
        Ok(Quiche {
            config: config(setup)?,
            connection: None,
            server: setup.server,
            wants_qlog: setup.qlog,
            secrets: Shared::default(),
            qlog: Shared::default(),
            opened: 0,
            closed: false,
            payload: usize::from(setup.max_udp_payload.max(1200)),
        })
    }

    fn begin(&mut self, mut connection: q::Connection) {
        if self.server {
            connection.set_keylog(Box::new(self.secrets.clone()));
        }
        if self.wants_qlog {
            let title = if self.server { "server" } else { "client" };
            connection.set_qlog(Box::new(self.qlog.clone()), title.into(), "quiche in virtual time".into());
        }
        self.connection = Some(connection);
    }

    /// Makes the connection that a client's first datagram asks for.
    fn accept(&mut self, datagram: &mut [u8], answers: &mut Vec<Vec<u8>>) {
        let Ok(header) = q::Header::from_slice(datagram, CONNECTION_ID) else { return };
        if !q::version_is_supported(header.version) {
            let mut room = vec![0; 1200];
            if let Ok(len) = q::negotiate_version(&header.scid, &header.dcid, &mut room) {
                room.truncate(len);
                answers.push(room);
            }
            return;
        }
        if header.ty != q::Type::Initial {
            return;
        }
        let id = connection_id();
        if let Ok(connection) = q::accept(&id, None, AT_SERVER, AT_CLIENT, &mut self.config) {
            self.begin(connection);
        }
    }

    fn spare_ids(connection: &mut q::Connection) {
        while connection.is_established() && connection.scids_left() > 0 {
            let mut token = [0; 16];
            draw(&mut token);
            if connection.new_scid(&connection_id(), u128::from_be_bytes(token), false).is_err() {
                return;
            }
        }
    }
}

fn connection_id() -> q::ConnectionId<'static> {
    let mut id = [0; CONNECTION_ID];
    draw(&mut id);
    q::ConnectionId::from_vec(id.to_vec())
}

// ---- configuration ----

fn config(setup: &Setup) -> Result<q::Config, String> {
    let tls = if setup.server { server_tls() } else { client_tls() }.map_err(text)?;
    let mut config = q::Config::with_boring_ssl_ctx_builder(q::PROTOCOL_VERSION, tls).map_err(text)?;
    config.set_cc_algorithm(match setup.congestion.as_str() {
        "cubic" => q::CongestionControlAlgorithm::CUBIC,
        "newreno" => q::CongestionControlAlgorithm::Reno,
        "bbr2" => q::CongestionControlAlgorithm::Bbr2Gcongestion,
        other => return Err(format!("quiche has no congestion control {other:?}: there are cubic, newreno, bbr2")),
    });
    config.set_application_protos(&[b"h3"]).map_err(text)?;
    if setup.server {
        config.log_keys();
    } else {
        config.verify_peer(true);
    }
    config.set_max_idle_timeout(IDLE_MILLIS);
    config.set_initial_max_streams_bidi(STREAMS);
    config.set_initial_max_streams_uni(STREAMS);
    config.set_initial_max_data(setup.connection_window);
    config.set_initial_max_stream_data_bidi_local(setup.stream_window);
    config.set_initial_max_stream_data_bidi_remote(setup.stream_window);
    config.set_initial_max_stream_data_uni(setup.stream_window);
    config.set_max_stream_window(setup.stream_window.max(MOST_STREAM_WINDOW));
    config.set_max_connection_window(setup.connection_window.max(MOST_WINDOW));
    let payload = usize::from(setup.max_udp_payload.max(1200));
    config.set_max_recv_udp_payload_size(payload);
    config.set_max_send_udp_payload_size(payload);
    config.discover_pmtu(true);
    Ok(config)
}

/// Groups whose key shares are as long as the model's: without the hybrid ones, for which a first flight needs two
/// datagrams.
const GROUPS: &str = "X25519:P-256:P-384";

/// The key without its public half, which BoringSSL does not read: of PKCS #8 it knows version 1 only (RFC 5958 section
/// 2, RFC 8410 section 7).
fn key() -> Vec<u8> {
    const HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    [&HEAD, KEY.get(HEAD.len()..HEAD.len() + 32).unwrap_or_default()].concat()
}

fn server_tls() -> Result<SslContextBuilder, boring::error::ErrorStack> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    let (certificate, key) = (X509::from_der(SERVER)?, PKey::private_key_from_pkcs8(&key())?);
    tls.set_certificate(&certificate)?;
    tls.set_private_key(&key)?;
    tls.set_curves_list(GROUPS)?;
    Ok(tls)
}

fn client_tls() -> Result<SslContextBuilder, boring::error::ErrorStack> {
    use SslSignatureAlgorithm as A;
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    let authority = X509::from_der(AUTHORITY)?;
    tls.cert_store_mut().add_cert(&authority)?;
    tls.set_curves_list(GROUPS)?;
    // BoringSSL's own list and, at its end, what the laboratory's certificate is signed by.
    tls.set_verify_algorithm_prefs(&[
        A::ECDSA_SECP256R1_SHA256,
        A::RSA_PSS_RSAE_SHA256,
        A::RSA_PKCS1_SHA256,
        A::ECDSA_SECP384R1_SHA384,
        A::RSA_PSS_RSAE_SHA384,
        A::RSA_PKCS1_SHA384,
        A::RSA_PSS_RSAE_SHA512,
        A::RSA_PKCS1_SHA512,
        A::RSA_PKCS1_SHA1,
        A::ED25519,
    ])?;
    Ok(tls)
}

// ---- the stack ----

impl Stack for Quiche {
    fn connect(&mut self) -> Result<(), String> {
        let id = connection_id();
        let connection = q::connect(Some(NAME), &id, AT_CLIENT, AT_SERVER, &mut self.config).map_err(text)?;
        self.begin(connection);
        Ok(())
    }

    fn receive(&mut self, _: u8, datagram: &mut [u8], answers: &mut Vec<Vec<u8>>) -> bool {
        let fresh = self.connection.is_none();
        if fresh && self.server {
            self.accept(datagram, answers);
        }
        let Some(connection) = &mut self.connection else { return !answers.is_empty() };
        let before = connection.stats().recv;
        let (from, to) = if self.server { (AT_CLIENT, AT_SERVER) } else { (AT_SERVER, AT_CLIENT) };
        // An error closes the connection; its state shows that.
        let _ = connection.recv(datagram, q::RecvInfo { from, to });
        let taken = connection.stats().recv > before;
        if fresh && !taken {
            self.connection = None;
        }
        taken
    }

    fn wake(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.on_timeout();
        }
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_ref().and_then(q::Connection::timeout_instant)
    }

    /// BBR's pacing is asked for before a datagram is made, as tokio-quiche does: it may wait in the kernel for a
    /// while, and is not made at all if it had to wait for longer. Reno's and CUBIC's datagrams go at once, for they
    /// know no pacing (`recovery/congestion/recovery.rs`, `get_packet_send_time`).
    fn send(&mut self, room: &mut [u8]) -> Next {
        let Some(connection) = &mut self.connection else { return Next::Nothing };
        Quiche::spare_ids(connection);
        let now = now();
        let paced = connection.gcongestion_enabled().unwrap_or(false);
        let release = paced.then(|| connection.get_next_release_time().and_then(|r| r.time(now))).flatten();
        let ahead = connection.max_release_into_future();
        if release.is_some_and(|at| at.saturating_duration_since(now) >= ahead) {
            return Next::Later(now + ahead.mul_f32(SLEEP));
        }
        let most = self.payload.min(room.len());
        match connection.send(&mut room[..most]) {
            Ok((len, info)) => {
                Next::Datagram { len, at: if paced { release.unwrap_or(now) } else { info.at }, path: 0 }
            }
            Err(_) => Next::Nothing,
        }
    }

    fn state(&mut self) -> State {
        let Some(connection) = &self.connection else { return State::Handshake };
        if connection.is_timed_out() {
            return State::IdleTimeout;
        }
        if let Some(error) = connection.peer_error() {
            return if error.is_app { State::Closed } else { State::Failed(error.error_code) };
        }
        match connection.local_error() {
            Some(_) if self.closed => State::Closed,
            Some(error) => State::Failed(error.error_code),
            // Without an error of either side: the peer knows nothing of the connection.
            None if connection.is_closed() => State::Failed(u64::MAX),
            None if connection.is_established() => State::Connected,
            None => State::Handshake,
        }
    }

    fn write(&mut self, stream: u64, Chunk { bytes, last }: Chunk<'_>) -> Option<usize> {
        let connection = self.connection.as_mut()?;
        if stream & 1 == u64::from(self.server) {
            self.opened = self.opened.max((stream >> 2) + 1);
        }
        match connection.stream_send(stream, bytes, last) {
            Ok(taken) => Some(taken),
            Err(q::Error::Done | q::Error::StreamLimit) => Some(0),
            Err(_) => None,
        }
    }

    /// quiche forgets a stream once both directions have ended and all is acknowledged, and reports nothing before
    /// that.
    fn delivered(&mut self, stream: u64) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        matches!(connection.stream_capacity(stream), Err(q::Error::InvalidStreamState(_)))
    }

    fn read(&mut self) -> Option<Read> {
        let connection = self.connection.as_mut()?;
        let stream = connection.stream_readable_next()?;
        let mut read = Read { stream, bytes: 0, ended: false };
        loop {
            match connection.stream_discard(stream, usize::MAX) {
                Ok((bytes, ended)) => {
                    read.bytes += bytes as u64;
                    read.ended = ended;
                    if ended {
                        return Some(read);
                    }
                }
                Err(q::Error::Done) => return Some(read),
                Err(_) => return Some(Read { ended: true, ..read }),
            }
        }
    }

    fn openable(&self) -> u64 {
        self.connection.as_ref().map_or(0, |c| self.opened + c.peer_streams_left_bidi())
    }

    fn close(&mut self) {
        if let Some(connection) = &mut self.connection {
            // An error says that it is closed already.
            let _ = connection.close(true, 0, b"");
            self.closed = true;
        }
    }

    fn figures(&mut self) -> Figures {
        let Some(connection) = &self.connection else { return Figures::default() };
        let stats = connection.stats();
        let path = connection.path_stats().next();
        let nanos = |d: std::time::Duration| d.as_nanos() as u64;
        let figures = PathFigures {
            window: path.as_ref().map_or(0, |p| p.cwnd as u64),
            in_flight: stats.sent_bytes.saturating_sub(stats.acked_bytes + stats.lost_bytes),
            rtt: path.as_ref().filter(|p| p.min_rtt.is_some()).map_or(0, |p| nanos(p.rtt)),
            min_rtt: path.as_ref().and_then(|p| p.min_rtt).map_or(0, nanos),
        };
        Figures {
            sent_packets: stats.sent as u64,
            lost_packets: stats.lost as u64,
            spurious: stats.spurious_lost as u64,
            timeouts: path.as_ref().map_or(0, |p| p.total_pto_count as u64),
            paths: vec![figures],
        }
    }

    fn secrets(&mut self) -> Vec<u8> {
        self.secrets.take()
    }

    fn qlog(&mut self) -> Vec<u8> {
        self.qlog.take()
    }
}

#[expect(clippy::disallowed_methods, reason = "it is the run's clock (`crate::interposed`)")]
fn now() -> Instant {
    Instant::now()
}
