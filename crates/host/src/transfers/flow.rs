//! One transfer: the state of its two ends.

use super::spec::{Ends, FlowOutcome, FlowSpec, Series};
use crate::error::{Context, HostError};
use crate::netns::Namespaces;
use crate::sys;
use crate::tcp_info::{Changes, tcp_info};
use haltere_kernel::tcp_info::TcpInfo;
use haltere_net::{Metric, Span, Time};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_ip_tos, set_socket_linger, set_socket_recv_buffer_size, set_socket_reuseaddr, set_socket_send_buffer_size,
    set_tcp_congestion, set_tcp_quickack, socket_error,
};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrV4, SocketFlags, SocketType, accept_with, bind, connect, getsockname, ipproto,
    listen, send, socket_with,
};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Bytes of one write, so many that few writes fill a large socket buffer.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];
/// Writes that are made before another flow has its turn.
const WRITES: usize = 8;
/// Largest number of bytes that one read takes.
const READ: usize = 1 << 30;
/// The limit of the pacing rate that lets TCP pace at its own rate: above any rate, but not the default, which turns
/// pacing off.
const UNBOUNDED: u64 = u64::MAX - 1;

/// A descriptor of a flow, to which an event belongs.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    Listener,
    Server,
    Client,
}

impl Turn {
    pub(super) const COUNT: u64 = 3;

    pub(super) fn of(number: u64) -> Turn {
        match number % Turn::COUNT {
            0 => Turn::Listener,
            1 => Turn::Server,
            _ => Turn::Client,
        }
    }

    fn data(self, flow: usize) -> EventData {
        EventData::new_u64(flow as u64 * Turn::COUNT + self as u64)
    }
}

pub(super) struct Flow<'a> {
    pub(super) spec: &'a FlowSpec,
    index: usize,
    listener: OwnedFd,
    client: OwnedFd,
    server: Option<OwnedFd>,
    /// Bytes of the request that the server has not read.
    asked: u32,
    /// Bytes of the answer that the server has not written.
    unwritten: u64,
    start: Option<Time>,
    connected: Option<Time>,
    first_byte: Option<Time>,
    completed: Option<Time>,
    received: u64,
    baseline: u64,
    failure: Option<String>,
    client_info: Option<TcpInfo>,
    changes: [Changes; 6],
    /// The kernel's states of congestion avoidance, by its own numbers.
    states: Changes,
}

impl<'a> Flow<'a> {
    /// Makes the flow's sockets in their namespaces; the server listens.
    pub(super) fn new(
        spec: &'a FlowSpec,
        index: usize,
        epoll: &OwnedFd,
        spaces: &mut Namespaces,
    ) -> Result<Flow<'a>, HostError> {
        let (server_at, client_at) = (format!("flows[{index}].server"), format!("flows[{index}].client"));
        enter(spaces, spec.server.netns.as_deref(), &server_at)?;
        let listener = socket(spec, index)?;
        set_socket_reuseaddr(&listener, true).doing(&server_at, || "set SO_REUSEADDR".into())?;
        // A subflow may come to any address of its host: where the server announces them, to another than the first.
        let own = if spec.options.multipath { Ipv4Addr::UNSPECIFIED } else { spec.server.address };
        let address = SocketAddrV4::new(own, spec.server.port);
        bind(&listener, &address).doing(&server_at, || {
            format!("bind to {address} (the address must be one of the namespace, the port free there)")
        })?;
        listen(&listener, 1).doing(&server_at, || format!("listen at {address}"))?;
        enter(spaces, spec.client.netns.as_deref(), &client_at)?;
        let client = socket(spec, index)?;
        match spec.client.port {
            Some(_) => set_socket_reuseaddr(&client, true).doing(&client_at, || "set SO_REUSEADDR".into())?,
            // The port is chosen at connect(2), when the whole connection is known (ip(7), IP_BIND_ADDRESS_NO_PORT).
            None => sys::bind_address_alone(client.as_fd()).doing(&client_at, || "leave the port open".into())?,
        }
        let address = SocketAddrV4::new(spec.client.address, spec.client.port.unwrap_or(0));
        bind(&client, &address).doing(&client_at, || {
            format!("bind to {address} (the address must be one of the namespace, the port free there)")
        })?;
        epoll::add(epoll, &listener, Turn::Listener.data(index), EventFlags::IN)
            .doing(&server_at, || "watch the socket".into())?;
        Ok(Flow {
            spec,
            index,
            listener,
            client,
            server: None,
            asked: spec.request,
            unwritten: spec.size.unwrap_or(u64::MAX),
            start: None,
            connected: None,
            first_byte: None,
            completed: None,
            received: 0,
            baseline: 0,
            failure: None,
            client_info: None,
            changes: Default::default(),
            states: Changes::default(),
        })
    }

    pub(super) fn started(&self) -> bool {
        self.start.is_some()
    }

    pub(super) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(super) fn over(&self) -> bool {
        self.completed.is_some() || self.failed()
    }

    pub(super) fn begin_to_measure(&mut self) {
        self.baseline = self.received;
    }

    /// Lets the client begin to connect.
    pub(super) fn connect(&mut self, now: Time, epoll: &OwnedFd) {
        self.start = Some(now);
        let to = SocketAddrV4::new(self.spec.server.address, self.spec.server.port);
        let outcome = match connect(&self.client, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {
                epoll::add(epoll, &self.client, Turn::Client.data(self.index), EventFlags::OUT)
            }
            Err(e) => Err(e),
        };
        outcome.unwrap_or_else(|e| self.fail("the client cannot connect", e));
    }

    /// Handles an event at one of the flow's descriptors.
    pub(super) fn on_event(&mut self, turn: Turn, now: Time, epoll: &OwnedFd) {
        if self.failed() {
            return;
        }
        let (what, outcome) = match turn {
            Turn::Listener => ("the server cannot accept", self.accept(epoll)),
            Turn::Server if self.asked > 0 => ("the server cannot read", self.read_request(epoll)),
            Turn::Server => ("the server cannot write", self.write(epoll)),
            Turn::Client if self.connected.is_none() => ("the client cannot connect", self.establish(now, epoll)),
            Turn::Client => ("the client cannot read", self.read(now, epoll)),
        };
        match outcome {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => {
                self.fail(what, e);
                self.watch_no_more(epoll);
            }
        }
    }

    fn accept(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        let server = accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        epoll::add(epoll, &server, Turn::Server.data(self.index), EventFlags::IN)?;
        epoll::delete(epoll, &self.listener)?;
        self.server = Some(server);
        Ok(())
    }

    fn establish(&mut self, now: Time, epoll: &OwnedFd) -> Result<(), Errno> {
        socket_error(&self.client)??;
        self.connected = Some(now);
        let request = ZEROS.get(..self.spec.request as usize).unwrap_or(&ZEROS);
        send(&self.client, request, SendFlags::NOSIGNAL)?;
        epoll::modify(epoll, &self.client, Turn::Client.data(self.index), EventFlags::IN)
    }

    fn read_request(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        let Some(server) = &self.server else { return Ok(()) };
        let n = discard(server, self.asked as usize)?;
        if n == 0 {
            return Err(Errno::CONNRESET);
        }
        self.asked -= (n as u32).min(self.asked);
        if self.asked > 0 {
            return Ok(());
        }
        epoll::modify(epoll, server, Turn::Server.data(self.index), EventFlags::OUT)?;
        self.write(epoll)
    }

    fn write(&mut self, epoll: &OwnedFd) -> Result<(), Errno> {
        let Some(server) = &self.server else { return Ok(()) };
        for _ in 0..WRITES {
            if self.unwritten == 0 {
                // Errors are still reported.
                return epoll::modify(epoll, server, Turn::Server.data(self.index), EventFlags::empty());
            }
            let some = ZEROS.len().min(usize::try_from(self.unwritten).unwrap_or(usize::MAX));
            let written = send(server, &ZEROS[..some], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)? as u64;
            if self.spec.size.is_some() {
                self.unwritten -= written.min(self.unwritten);
            }
        }
        Ok(())
    }

    fn read(&mut self, now: Time, epoll: &OwnedFd) -> Result<(), Errno> {
        if self.completed.is_some() {
            return Ok(());
        }
        let n = discard(&self.client, READ)?;
        if n == 0 {
            return Err(Errno::CONNRESET);
        }
        self.first_byte.get_or_insert(now);
        self.received += n as u64;
        if self.spec.options.quickack {
            set_tcp_quickack(&self.client, true)?;
        }
        if self.spec.size.is_some_and(|size| self.received >= size) {
            self.completed = Some(now);
            self.client_info = tcp_info(self.client.as_fd()).ok();
            epoll::delete(epoll, &self.client)?;
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, why: Errno) {
        self.failure.get_or_insert(format!("{what}: {}", std::io::Error::from(why)));
    }

    /// Stops watching a failed flow's sockets, which would be ready for ever. It is no error if they were not watched.
    fn watch_no_more(&self, epoll: &OwnedFd) {
        for fd in [Some(&self.listener), Some(&self.client), self.server.as_ref()].into_iter().flatten() {
            let _ = epoll::delete(epoll, fd);
        }
    }

    /// Samples the state of the connection in the server's kernel.
    pub(super) fn sample(&mut self, now: Time) {
        let Some(server) = self.server.as_ref().filter(|_| self.completed.is_none()) else { return };
        let Ok(info) = tcp_info(server.as_fd()) else { return };
        if let Some(state) = info.get("ca_state") {
            self.states.push(now, state);
        }
        for (changes, value) in self.changes.iter_mut().zip(info.metrics()) {
            if let Some(value) = value {
                changes.push(now, value);
            }
        }
    }

    /// The outcome. `limit` is the time by which a flow with a size had to be done.
    pub(super) fn outcome(&self, epoch: Time, limit: Option<Span>) -> FlowOutcome {
        let start = self.start.unwrap_or(epoch);
        let since_start = |t: Option<Time>| t.map(|t| t.since(start).as_secs_f64());
        let unfinished = || {
            let (size, limit) = (self.spec.size?, limit.filter(|_| self.completed.is_none())?);
            let after = limit.saturating_sub(start.since(epoch));
            let arrived = self.received;
            Some(format!(
                "not finished after {after}: {arrived} of {size} bytes arrived; give time_limit a larger value"
            ))
        };
        let error = self.failure.clone().filter(|_| self.completed.is_none()).or_else(unfinished);
        let bytes = self.spec.size.map_or(self.received - self.baseline, |size| self.received.min(size));
        let client = self.client_info.clone().or_else(|| tcp_info(self.client.as_fd()).ok());
        let all = |info: TcpInfo| -> serde_json::Value {
            info.fields().map(|(name, value)| (name.to_owned(), value.into())).collect::<serde_json::Map<_, _>>().into()
        };
        let server = self.server.as_ref().and_then(|s| tcp_info(s.as_fd()).ok());
        let local = getsockname(&self.client).ok().and_then(|a| SocketAddrV4::try_from(a).ok());
        FlowOutcome {
            flow: self.spec.flow,
            status: if error.is_some() { "failed" } else { "ok" },
            error,
            start_s: start.since(epoch).as_secs_f64(),
            handshake_s: since_start(self.connected),
            first_byte_s: since_start(self.first_byte),
            completion_s: since_start(self.completed),
            bytes,
            server_port: self.spec.server.port,
            client_port: local.map(|a| a.port()).filter(|&p| p > 0),
            tcp_info: Ends { server: server.map(all), client: client.map(all) },
        }
    }

    /// Closes both ends at once, leaving nothing behind in the namespaces, and returns the samples.
    pub(super) fn close(self, epoch: Time) -> Vec<Series> {
        // If it fails, the socket closes in good order, which takes longer but does no harm.
        for fd in [Some(&self.client), self.server.as_ref()].into_iter().flatten() {
            let _ = set_socket_linger(fd, Some(Duration::ZERO));
        }
        let who = format!("flow {}", self.spec.flow);
        let metrics = Metric::ALL.iter().zip(self.changes).filter(|(_, c)| !c.at.is_empty());
        let series = metrics.map(|(metric, changes)| {
            let scale = if *metric == Metric::Rtt { 1e-9 } else { 1.0 };
            Series {
                who: who.clone(),
                name: metric.name(),
                unit: metric.unit(),
                t_s: changes.at.iter().map(|t| t.since(epoch).as_secs_f64()).collect(),
                v: changes.value.iter().map(|&v| v as f64 * scale).collect(),
            }
        });
        let states = Series {
            who: who.clone(),
            // TCP_CA_Open, _Disorder, _CWR, _Recovery and _Loss of the kernel's tcp.h, from 0.
            name: "ca_state",
            unit: "",
            t_s: self.states.at.iter().map(|t| t.since(epoch).as_secs_f64()).collect(),
            v: self.states.value.iter().map(|&v| v as f64).collect(),
        };
        series.chain((!states.v.is_empty()).then_some(states)).collect()
    }
}

fn discard(fd: &OwnedFd, most: usize) -> Result<usize, Errno> {
    sys::discard(fd.as_fd(), most).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}

fn enter(spaces: &mut Namespaces, path: Option<&str>, at: &str) -> Result<(), HostError> {
    spaces.enter(path).doing(&format!("{at}.netns"), || {
        format!(
            "enter {:?} (a network namespace as `ip netns add` makes it; needs root)",
            path.unwrap_or("the present one")
        )
    })
}

/// A TCP socket with the flow's congestion control and options, in the current namespace.
fn socket(spec: &FlowSpec, index: usize) -> Result<OwnedFd, HostError> {
    let at = |field: &str| format!("flows[{index}].{field}");
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let protocol = spec.options.multipath.then_some(ipproto::MPTCP);
    let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, protocol).doing(
        &format!("flows[{index}]"),
        || match protocol {
            None => "make a TCP socket".into(),
            Some(_) => "make an MPTCP socket (a kernel with CONFIG_MPTCP, net.mptcp.enabled = 1)".into(),
        },
    )?;
    set_tcp_congestion(&fd, &spec.congestion).map_err(|e| {
        let known = super::congestion_controls().unwrap_or_default().join(", ");
        let message = format!("the kernel refuses congestion control {:?} ({e}); it offers {known}", spec.congestion);
        HostError::at(at("congestion"), message)
    })?;
    if spec.options.paced {
        sys::set_max_pacing_rate(fd.as_fd(), UNBOUNDED).doing(&at("options.paced"), || "have TCP pace".into())?;
    }
    if let Some(tos) = spec.options.tos {
        set_ip_tos(&fd, tos).doing(&at("options.tos"), || "set IP_TOS".into())?;
    }
    if let Some(bytes) = spec.options.buffer {
        let bytes = bytes as usize;
        set_socket_send_buffer_size(&fd, bytes).doing(&at("options.buffer"), || "set SO_SNDBUF".into())?;
        set_socket_recv_buffer_size(&fd, bytes).doing(&at("options.buffer"), || "set SO_RCVBUF".into())?;
    }
    Ok(fd)
}
