//! Makes the transports of a process, one for each connection that it opens or accepts.

use super::Site;
use super::endpoints::{End, FlowModule, FlowPrograms, Kernels, Worker, udp_payload};
use crate::ack::AckSpec;
use crate::call::Call;
use crate::contender::Contender;
use crate::fidelity::Subject;
use crate::stack::Past;
use crate::world::{Port, Transports};
use haltere_net::rng::Streams;
use haltere_net::topology::NodeId;
use haltere_net::{Address, Span, Time};
use haltere_transport::cc::Desk;
use haltere_transport::datagram::Socket;
use haltere_transport::{Endpoint, Role};
use std::path::PathBuf;
use std::sync::Arc;

/// Makes sockets for datagrams.
pub(super) struct Datagrams;

impl Transports for Datagrams {
    fn endpoint(&mut self, _: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        Ok(Box::new(Socket::default()))
    }
}

/// A path between the addresses of a client and of a server.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "kernels"), allow(dead_code, reason = "only kernels have addresses"))]
pub(super) struct Way {
    pub ends: [Address; 2],
    /// Whether it is in reserve.
    pub backup: bool,
}

/// The configuration that the transports of both ends share.
#[derive(Clone)]
#[cfg_attr(
    not(all(feature = "stacks", feature = "kernels")),
    allow(dead_code, reason = "only stacks have paths, a log, a past and a worker, and only kernels hosts and ports")
)]
pub(super) struct Kit {
    /// The name of its owner, for the names of random streams, such as `flow 0`.
    pub name: String,
    pub contender: Arc<Contender>,
    pub subject: Subject,
    pub mtu: u32,
    /// Contenders whose congestion control runs in the shadow of the sender's.
    pub shadows: Vec<Contender>,
    /// The agent that decides in the place of the sender's congestion control, if one does.
    pub agent: Option<Desk>,
    pub ack: Option<AckSpec>,
    /// The phases of the timer ticks of the hosts, the client's and the server's.
    pub phases: [Span; 2],
    /// Whether the distribution of RTTs is kept. Flows of messages have the times of these, and thousands of connections.
    pub rtts: bool,
    /// The call that it carries, if it carries one.
    pub call: Option<Call>,
    /// Whether its client moves to other addresses.
    pub moves: bool,
    /// The most paths that its connections may have.
    pub paths: u8,
    /// The folder and the number of the flow for a stack's own log.
    pub log: Option<(PathBuf, u32)>,
    pub past: Arc<Past>,
    pub worker: Worker,
    pub kernels: Kernels,
    /// The programs of the flow, if programs carry it.
    pub programs: Option<Arc<FlowPrograms>>,
    /// The module of its congestion control, if that is a file's.
    pub module: Option<Arc<FlowModule>>,
    /// The nodes of the client and of the server, their paths, the server's port there and the packets' type of service, for kernels.
    pub hosts: [NodeId; 2],
    pub ways: Vec<Way>,
    pub port: u32,
    pub tos: u8,
    pub streams: Streams,
}

/// Makes the transports of one end of a flow.
pub(super) struct Maker {
    kit: Arc<Kit>,
    role: Role,
    /// The first transport. It is made before the run, so that errors in its configuration are reported before the run.
    first: Option<Box<dyn Endpoint>>,
}

impl Maker {
    /// # Errors
    /// If the contender cannot be configured.
    pub fn new(kit: impl Into<Arc<Kit>>, role: Role) -> Result<Maker, String> {
        let kit = kit.into();
        let first = kit.make(role, 0)?;
        Ok(Maker { kit, role, first: Some(first) })
    }
}

impl Kit {
    /// Transports with one path, of a connection of the client's host to the server's that begins at `start`.
    ///
    /// # Errors
    /// If the contender has no earlier connection to resume, although it is to.
    pub fn new(
        site: &Site<'_>,
        name: String,
        (contender, subject): (&Arc<Contender>, Subject),
        hosts: [NodeId; 2],
        mtu: u32,
        start: Time,
    ) -> Result<Kit, String> {
        let earlier = ["client", "server"].map(|end| site.streams.named(&format!("{name}/{end}/earlier")));
        let past = Past::of(subject, contender, udp_payload(mtu), start, earlier)?;
        Ok(Kit {
            name,
            contender: contender.clone(),
            subject,
            mtu,
            shadows: Vec::new(),
            agent: None,
            ack: None,
            phases: hosts.map(|host| site.phase(host)),
            rtts: false,
            call: None,
            moves: false,
            paths: 1,
            log: None,
            past: Arc::new(past),
            worker: site.worker.clone(),
            kernels: site.kernels.clone(),
            programs: None,
            module: None,
            hosts,
            ways: vec![Way { ends: hosts.map(|host| site.topology.addresses(host)[0]), backup: false }],
            port: 0,
            tos: 0,
            streams: site.streams.clone(),
        })
    }

    /// The transport of this end's connection number `number`. Each connection has a random stream of its own.
    fn make(&self, role: Role, number: u32) -> Result<Box<dyn Endpoint>, String> {
        let end = if role == Role::Client { "client" } else { "server" };
        let name = match number {
            0 => format!("{}/{end}", self.name),
            _ => format!("{}/{end}/{number}", self.name),
        };
        let shadows: &[Contender] = if role == Role::Server { &self.shadows } else { &[] };
        let end = End { kit: self, contender: &self.contender, shadows, role };
        end.endpoint(number, self.streams.named(&name))
    }
}

impl Transports for Maker {
    fn endpoint(&mut self, role: Role, number: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        match self.first.take().filter(|_| role == self.role && number == 0) {
            Some(first) => Ok(first),
            None => self.kit.make(role, number),
        }
    }

    fn look_ahead(&self) -> bool {
        self.kit.subject.is_program()
    }
}
