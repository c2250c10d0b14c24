//! tquic, with BoringSSL, over one path or several.
//!
//! Set up as tquic's defaults and its own programs do (`tools/src/bin`), but for what `docs/reference/stacks.md` lists. An endpoint of
//! tquic with at most one connection.

mod tls;

use crate::protocol::{Figures, PathFigures, Setup};
use crate::stack::{Chunk, Next, Read, Stack, State};
use ::tquic as t;
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use t::{CongestionControlAlgorithm as Control, Connection, MultipathAlgorithm as Scheduler, PacketInfo};

const NAME: &str = "haltere.test";
/// The idle timeout, as in tquic's programs.
const IDLE_MILLIS: u64 = 30_000;
/// tquic's default, which it does not tell: bidirectional streams that may be open at the same time.
const STREAMS: u64 = 200;
/// Room for what is read and discarded.
const ROOM: usize = 1 << 16;

/// Datagrams that tquic hands out, and the outcome of the connection and its streams.
#[derive(Default)]
struct Shared {
    index: Option<u64>,
    /// How it ended.
    over: Option<State>,
    outgoing: VecDeque<(Vec<u8>, PacketInfo)>,
    /// Streams of which all is delivered and all was read.
    closed: Vec<u64>,
    closed_so_far: u64,
    /// Whether streams were closed since it was last asked.
    news: bool,
    last: Figures,
}

/// tquic calls it back.
struct Handler(Rc<RefCell<Shared>>);

struct Sender(Rc<RefCell<Shared>>);

/// One end of a connection of tquic.
pub struct Tquic {
    endpoint: t::Endpoint,
    shared: Rc<RefCell<Shared>>,
    server: bool,
    paths: u8,
    /// Paths that the peer has given no connection identifiers for yet.
    wanted: VecDeque<u8>,
    /// Whether tquic may have something to send or to report.
    stirred: bool,
    /// The application has closed the connection.
    closed: bool,
    room: Vec<u8>,
    /// The endpoint goes before it.
    _tls: tls::Context,
}

fn text(error: impl std::fmt::Display) -> String {
    format!("tquic: {error}")
}

/// The addresses of a path at the client and at the server.
fn addresses(path: u8) -> [SocketAddr; 2] {
    let at = |host, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path, host)), port);
    [at(2, 50_000), at(1, 443)]
}

impl Tquic {
    /// An end that has no connection yet.
    ///
    /// # Errors
    /// A sentence about the setup, if it cannot be had.
    pub fn new(setup: &Setup) -> Result<Tquic, String> {
        let context =
            tls::Context::new(setup).map_err(|what| format!("tquic: BoringSSL does not take {what}"))?;
        let shared = Rc::new(RefCell::new(Shared::default()));
        let (handler, sender) = (Box::new(Handler(shared.clone())), Rc::new(Sender(shared.clone())));
        Ok(Tquic {
            endpoint: t::Endpoint::new(Box::new(config(setup, &context)?), setup.server, handler, sender),
            shared,
            server: setup.server,
            paths: setup.paths,
            wanted: VecDeque::new(),
            stirred: false,
            closed: false,
            room: vec![0; ROOM],
            _tls: context,
        })
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        let index = self.shared.borrow().index?;
        self.endpoint.conn_get_mut(index)
    }

    /// This end's address on a path and the peer's.
    fn ends(&self, path: u8) -> (SocketAddr, SocketAddr) {
        let [client, server] = addresses(path);
        if self.server { (server, client) } else { (client, server) }
    }

    /// Opens the paths that wait for connection identifiers, as far as they have come. tquic would take a path without one, and
    /// never use it.
    fn open_wanted(&mut self) {
        while let Some(&path) = self.wanted.front() {
            let (local, remote) = self.ends(path);
            let Some(connection) = self.connection() else { return };
            if !connection.dcid_iter().any(|id| id.path_id.is_none()) {
                return;
            }
            // An error says that the path is there already or the connection is over.
            let _ = connection.add_path(local, remote);
            self.wanted.pop_front();
            self.stirred = true;
        }
    }
}

fn config(setup: &Setup, context: &tls::Context) -> Result<t::Config, String> {
    let mut config = t::Config::new().map_err(text)?;
    config.set_congestion_control_algorithm(match setup.congestion.as_str() {
        "cubic" => Control::Cubic,
        "bbr" => Control::Bbr,
        "bbr3" => Control::Bbr3,
        "copa" => Control::Copa,
        other => return Err(format!("tquic has no congestion control {other:?}: there are cubic, bbr, bbr3, copa")),
    });
    if setup.paths > 1 {
        config.enable_multipath(true);
        config.set_multipath_algorithm(match setup.scheduler.as_str() {
            "" | "lowest-rtt" => Scheduler::MinRtt,
            "round-robin" => Scheduler::RoundRobin,
            "redundant" => Scheduler::Redundant,
            other => {
                return Err(format!("tquic has no scheduler {other:?}: there are lowest-rtt, round-robin, redundant"));
            }
        });
        config.set_active_connection_id_limit(u64::from(setup.paths) + 1);
    }
    config.set_max_idle_timeout(IDLE_MILLIS);
    config.set_initial_max_data(setup.connection_window);
    config.set_initial_max_stream_data_bidi_local(setup.stream_window);
    config.set_initial_max_stream_data_bidi_remote(setup.stream_window);
    config.set_initial_max_stream_data_uni(setup.stream_window);
    config.set_max_connection_window(setup.connection_window);
    config.set_max_stream_window(setup.stream_window);
    config.set_initial_max_streams_bidi(STREAMS);
    let payload = setup.max_udp_payload.max(1200);
    config.set_recv_udp_payload_size(payload);
    config.set_send_udp_payload_size(usize::from(payload));
    let mut tls = t::TlsConfig::new_with_ssl_ctx(context.as_ptr().cast());
    tls.set_application_protos(vec![b"h3".to_vec()]).map_err(text)?;
    config.set_tls_config(tls);
    Ok(config)
}

impl t::TransportHandler for Handler {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        self.0.borrow_mut().index = connection.index();
    }
    fn on_conn_established(&mut self, _: &mut Connection) {}
    fn on_conn_closed(&mut self, connection: &mut Connection) {
        let state = match (connection.peer_error(), connection.local_error()) {
            _ if connection.is_idle_timeout() || connection.is_handshake_timeout() => State::IdleTimeout,
            (Some(error), _) | (None, Some(error)) if error.is_app => State::Closed,
            (Some(error), _) | (None, Some(error)) => State::Failed(error.error_code),
            (None, None) => State::Failed(u64::MAX),
        };
        let mut shared = self.0.borrow_mut();
        shared.over.get_or_insert(state);
        shared.index = None;
    }
    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}
    // Streams are read when the simulator has its turn.
    fn on_stream_readable(&mut self, _: &mut Connection, _: u64) {}
    // What waits to be written is offered at each turn.
    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        let _ = connection.stream_want_write(stream, false);
    }
    fn on_stream_closed(&mut self, _: &mut Connection, stream: u64) {
        let mut shared = self.0.borrow_mut();
        shared.closed.push(stream);
        shared.closed_so_far += 1;
        shared.news = true;
    }
    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

impl t::PacketSendHandler for Sender {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> t::Result<usize> {
        self.0.borrow_mut().outgoing.extend(packets.iter().cloned());
        Ok(packets.len())
    }
}

impl Stack for Tquic {
    fn connect(&mut self) -> Result<(), String> {
        let (local, remote) = self.ends(0);
        self.endpoint.connect(local, remote, Some(NAME), None, None, None).map_err(text)?;
        self.stirred = true;
        Ok(())
    }

    fn receive(&mut self, path: u8, datagram: &mut [u8], _: &mut Vec<Vec<u8>>) -> bool {
        let (dst, src) = self.ends(path);
        let before = self.connection().map_or(0, |c| c.stats().recv_count);
        self.stirred = true;
        // An error closes the connection; its state shows that.
        let _ = self.endpoint.recv(datagram, &PacketInfo { src, dst, time: now() });
        let taken = self.connection().is_some_and(|c| c.stats().recv_count > before);
        self.open_wanted();
        taken
    }

    fn wake(&mut self) {
        self.stirred = true;
        self.shared.borrow_mut().news = false;
        self.endpoint.on_timeout(now());
    }

    /// tquic's programs wait by mio, which rounds up to milliseconds. Without that tquic's pacer stands still: it rounds its
    /// waiting time down to nanoseconds and the tokens that it gains in that time down to bytes, and forgets the rest
    /// (`congestion_control/pacing.rs`, `schedule`), so that the last byte's tokens never come.
    fn timeout(&mut self) -> Option<Instant> {
        let shared = self.shared.borrow();
        if shared.news {
            return Some(now());
        }
        drop(shared);
        let millis = |after: Duration| after.as_nanos().div_ceil(1_000_000).max(1) as u64;
        self.endpoint.timeout().map(|after| now() + Duration::from_millis(millis(after)))
    }

    fn send(&mut self, room: &mut [u8]) -> Next {
        if std::mem::take(&mut self.stirred) {
            // An error closes the connection; its state shows that.
            let _ = self.endpoint.process_connections();
        }
        let next = self.shared.borrow_mut().outgoing.pop_front();
        let Some((datagram, info)) = next else { return Next::Nothing };
        let local = info.src.ip();
        let path = (0..self.paths.max(1)).find(|path| self.ends(*path).0.ip() == local).unwrap_or(0);
        let len = datagram.len().min(room.len());
        room[..len].copy_from_slice(&datagram[..len]);
        Next::Datagram { len, at: info.time, path }
    }

    fn state(&mut self) -> State {
        if let Some(over) = self.shared.borrow().over {
            return over;
        }
        let closed = self.closed;
        match self.connection() {
            _ if closed => State::Closed,
            Some(connection) if connection.peer_error().is_some_and(|error| error.is_app) => State::Closed,
            Some(connection) if connection.is_established() => State::Connected,
            _ => State::Handshake,
        }
    }

    fn write(&mut self, stream: u64, Chunk { bytes, last }: Chunk<'_>) -> Option<usize> {
        let connection = self.connection()?;
        let written = connection.stream_write(stream, Bytes::copy_from_slice(bytes), last);
        match written {
            Ok(taken) => {
                self.stirred |= taken > 0 || last;
                Some(taken)
            }
            Err(t::Error::Done | t::Error::StreamLimitError) => Some(0),
            Err(_) => None,
        }
    }

    /// tquic reports a stream once both directions have ended and all is acknowledged, and nothing before that.
    fn delivered(&mut self, stream: u64) -> bool {
        let mut shared = self.shared.borrow_mut();
        let known = shared.closed.iter().position(|closed| *closed == stream);
        known.map(|at| shared.closed.swap_remove(at)).is_some()
    }

    fn read(&mut self) -> Option<Read> {
        let mut room = std::mem::take(&mut self.room);
        let read = self.connection().and_then(|connection| {
            let stream = connection.stream_readable_iter().next()?;
            let mut read = Read { stream, bytes: 0, ended: false };
            loop {
                match connection.stream_read(stream, &mut room) {
                    Ok((bytes, ended)) => {
                        read.bytes += bytes as u64;
                        read.ended = ended;
                        if ended || bytes == 0 {
                            return Some(read);
                        }
                    }
                    Err(t::Error::Done) => return (read.bytes > 0).then_some(read),
                    Err(_) => return Some(Read { ended: true, ..read }),
                }
            }
        });
        self.room = room;
        self.stirred |= read.is_some();
        read
    }

    fn allows_paths(&mut self) -> bool {
        let server = self.server;
        !server && self.connection().is_some_and(|c| c.is_multipath() && c.is_confirmed())
    }

    fn add_path(&mut self, path: u8) {
        self.wanted.push_back(path);
        self.open_wanted();
    }

    fn abandon_path(&mut self, path: u8) {
        let (local, remote) = self.ends(path);
        if let Some(connection) = self.connection() {
            let _ = connection.abandon_path(local, remote);
        }
        self.stirred = true;
    }

    /// tquic does not tell: those that may be open at the same time, and those that have closed. A stream that is not allowed
    /// yet waits.
    fn openable(&self) -> u64 {
        STREAMS + self.shared.borrow().closed_so_far
    }

    fn close(&mut self) {
        if let Some(connection) = self.connection() {
            // An error says that it is closed already.
            let _ = connection.close(true, 0, b"");
        }
        self.closed = true;
        self.stirred = true;
    }

    fn figures(&mut self) -> Figures {
        let ends: Vec<_> = (0..self.paths.max(1)).map(|path| self.ends(path)).collect();
        let Some(connection) = self.connection() else { return self.shared.borrow().last.clone() };
        let (sent_packets, lost_packets) = (connection.stats().sent_count, connection.stats().lost_count);
        let known: Vec<_> = connection.paths_iter().collect();
        let nanos = |micros: u64| Duration::from_micros(micros).as_nanos() as u64;
        let mut of_path = |(local, remote)| {
            let there = known.iter().any(|path| (path.local, path.remote) == (local, remote));
            let stats = if there { connection.get_path_stats(local, remote).ok()? } else { return None };
            let sampled = stats.min_rtt > 0 && stats.min_rtt < u64::MAX / 1000;
            Some(PathFigures {
                window: stats.final_cwnd,
                in_flight: 0,
                rtt: if sampled { nanos(stats.srtt) } else { 0 },
                min_rtt: if sampled { nanos(stats.min_rtt) } else { 0 },
            })
        };
        let paths = ends.into_iter().map(|ends| of_path(ends).unwrap_or_default()).collect();
        let figures = Figures { sent_packets, lost_packets, spurious: 0, timeouts: 0, paths };
        self.shared.borrow_mut().last = figures.clone();
        figures
    }

    fn secrets(&mut self) -> Vec<u8> {
        tls::take_secrets()
    }

    fn qlog(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

#[expect(clippy::disallowed_methods, reason = "it is the run's clock (`crate::interposed`)")]
fn now() -> Instant {
    Instant::now()
}
