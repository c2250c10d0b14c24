//! A socket: one end of a connection, the paths of its packets, and what interfaces hold of it.

use super::tables::{Hop, Port};
use haltere_net::{ConnectionId, FlowKey, PathId};
use haltere_transport::Endpoint;

/// The route and the addresses of the packets on one path of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketPath {
    pub route: u32,
    /// The first step of it.
    pub first: Hop,
    pub flow: FlowKey,
}

/// One end of a connection.
pub(super) struct Socket {
    pub endpoint: Box<dyn Endpoint>,
    pub connection: ConnectionId,
    /// The port that the connection was opened to.
    pub port: Port,
    /// By the path's number in the connection.
    pub paths: Vec<Option<SocketPath>>,
    /// The path of the process on which the connection opened. In the connection it has the number 0, and path 0 of the
    /// process has its number.
    pub opened_on: PathId,
    /// Bytes of it in interfaces of its node that credit.
    pub below: u64,
    /// Bytes of each path in such interfaces, once it has had several paths.
    below_paths: Vec<u64>,
    /// Whether it waits for these to become fewer, and is not asked for packets.
    pub blocked: bool,
    /// Whether it stands in the list of those that may have something to say or to send.
    pub active: bool,
}

impl Socket {
    /// A socket without a path.
    pub fn new(endpoint: Box<dyn Endpoint>, connection: ConnectionId, port: Port) -> Socket {
        Socket {
            endpoint,
            connection,
            port,
            paths: Vec::new(),
            opened_on: PathId(0),
            below: 0,
            below_paths: Vec::new(),
            blocked: false,
            active: false,
        }
    }

    /// Takes up a path that the peer's packet came on.
    pub fn learn(&mut self, path: PathId, known: SocketPath) {
        let at = usize::from(path.0);
        if self.paths.len() <= at {
            // Mostly there is no further one.
            self.paths.reserve_exact(at + 1 - self.paths.len());
            self.paths.resize(at + 1, None);
        }
        self.paths[at].get_or_insert(known);
    }

    /// Whether it must not send because of what is below it.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.below > 0 && (self.blocked || self.below >= self.endpoint.local_limit())
    }

    /// The number in the connection of a path of the process.
    pub fn own_number(&self, path: PathId) -> PathId {
        match path {
            path if path == self.opened_on => PathId(0),
            PathId(0) => self.opened_on,
            other => other,
        }
    }

    /// The interface below a path takes this many bytes. Returns how many it holds of the path now.
    pub fn charge(&mut self, path: PathId, bytes: u64) -> u64 {
        if self.paths.len() > 1 && self.below_paths.is_empty() {
            // What is below so far went on the only path.
            self.below_paths.push(self.below);
        }
        self.below += bytes;
        let below = self.below;
        self.below_path(path).map_or(below, |held| {
            *held += bytes;
            *held
        })
    }

    /// The interface has sent or dropped this many bytes of a flow. Returns the flow's path, and how many bytes it holds of that
    /// now.
    pub fn credit(&mut self, flow: FlowKey, bytes: u64) -> (PathId, u64) {
        let at = self.paths.iter().position(|path| path.is_some_and(|path| path.flow == flow));
        let path = PathId(at.unwrap_or(0) as u8);
        self.below = self.below.saturating_sub(bytes);
        let below = self.below;
        let held = self.below_path(path).map_or(below, |held| {
            *held = held.saturating_sub(bytes);
            *held
        });
        (path, held)
    }

    /// Bytes of a path in interfaces; `None` as long as there was one path only.
    fn below_path(&mut self, path: PathId) -> Option<&mut u64> {
        let at = usize::from(path.0);
        if !self.below_paths.is_empty() && self.below_paths.len() <= at {
            self.below_paths.resize(at + 1, 0);
        }
        self.below_paths.get_mut(at)
    }
}
