//! Makes the transports of a flow's process, one for each connection that it opens or accepts.

use super::endpoints::{End, Worker};
use crate::ack::AckSpec;
use crate::contender::Contender;
use crate::fidelity::Subject;
use crate::recorder::Files;
use crate::stack::Past;
use crate::world::{Port, Transports};
use haltere_net::Span;
use haltere_net::rng::Streams;
use haltere_transport::{Endpoint, Role};
use std::sync::Arc;

/// The configuration that the transports of both ends of a flow share.
#[derive(Clone)]
pub(super) struct Kit {
    /// Whose it is, for the names of random streams, such as `flow 0`.
    pub name: String,
    pub contender: Contender,
    /// Those whose congestion control runs in the shadow of the sender's.
    pub shadows: Vec<Contender>,
    pub subject: Subject,
    pub ack: Option<AckSpec>,
    pub flow: u32,
    pub mtu: u32,
    pub phase: Span,
    /// Whether the distribution of RTTs is kept. Flows of messages have the times of these, and thousands of connections.
    pub rtts: bool,
    /// Whether its client moves to other addresses.
    pub moves: bool,
    /// The most paths that its connections may have.
    pub paths: u8,
    pub files: Option<Files>,
    pub past: Arc<Past>,
    pub worker: Worker,
    pub streams: Streams,
}

/// Makes the transports of one end of a flow.
pub(super) struct Maker {
    kit: Kit,
    role: Role,
    /// The first transport. It is made before the run, so that errors in its configuration are reported before the run.
    first: Option<Box<dyn Endpoint>>,
}

impl Maker {
    /// # Errors
    /// If the contender cannot be configured.
    pub fn new(kit: Kit, role: Role) -> Result<Maker, String> {
        let first = kit.make(role, 0)?;
        Ok(Maker { kit, role, first: Some(first) })
    }
}

impl Kit {
    /// The transport of this end's connection number `number`. Each connection has a random stream of its own.
    fn make(&self, role: Role, number: u32) -> Result<Box<dyn Endpoint>, String> {
        let flow = self.flow;
        let end = if role == Role::Client { "client" } else { "server" };
        let name = match number {
            0 => format!("{}/{end}", self.name),
            _ => format!("{}/{end}/{number}", self.name),
        };
        // A stack writes its own log for the first connection only.
        let files = self.files.as_ref().filter(|_| number == 0);
        let Kit { contender, shadows, ack, mtu, phase, rtts, moves, paths, past, worker, .. } = self;
        let end = End {
            contender,
            shadows: if role == Role::Server { shadows } else { &[] },
            ack: *ack,
            role,
            flow,
            mtu: *mtu,
            phase: *phase,
            rtts: *rtts,
            moves: *moves,
            paths: *paths,
            files,
            past,
            worker,
        };
        end.endpoint(self.subject, self.streams.named(&name))
    }
}

impl Transports for Maker {
    fn endpoint(&mut self, role: Role, number: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        match self.first.take().filter(|_| role == self.role && number == 0) {
            Some(first) => Ok(first),
            None => self.kit.make(role, number),
        }
    }
}
