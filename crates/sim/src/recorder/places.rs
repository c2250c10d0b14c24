//! Addresses and ports: none are simulated, but files of packets need them.

use crate::network::FlowPath;
use haltere_net::PathId;
use haltere_net::topology::NodeId;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The first of the ports that RFC 6335 leaves to clients, and how many there are.
const FIRST_CLIENT_PORT: u16 = 49_152;
const CLIENT_PORTS: u32 = 16_384;
/// The port of servers: one of no protocol that a reader would look for in what is sent.
const SERVER_PORT: u16 = 40_440;
/// More than there are times the client's ports, for 100 000 flows.
const ROUNDS: u16 = 10;

/// The address of a node: they are counted through 10.0.0.0/8 (RFC 1918), from 10.0.0.1 on.
pub(super) fn address(node: NodeId) -> Ipv4Addr {
    let [_, a, b, c] = (node.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// Where the hosts of each flow are, by their numbers: client and server of flow 0, of flow 1, …
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<SocketAddrV4>);

impl Places {
    /// Flows differ in the client's port; after as many flows as there are ports, in the server's too.
    pub(super) fn new(paths: &[FlowPath]) -> Places {
        let ends = |(flow, path): (usize, &FlowPath)| {
            let (round, port) = (flow as u32 / CLIENT_PORTS, flow as u32 % CLIENT_PORTS);
            [
                SocketAddrV4::new(address(path.client), FIRST_CLIENT_PORT + port as u16),
                SocketAddrV4::new(address(path.server), SERVER_PORT + round as u16),
            ]
        };
        Places(paths.iter().enumerate().flat_map(ends).collect())
    }

    /// Where a host is.
    pub(super) fn of(&self, host: u32) -> SocketAddrV4 {
        self.0.get(host as usize).copied().unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))
    }

    /// The same for one of its connections: those after the first differ in the server's port.
    pub(super) fn of_path(&self, host: u32, path: PathId) -> SocketAddrV4 {
        let mut place = self.of(host);
        if host % 2 == 1 {
            place.set_port(place.port().wrapping_add(ROUNDS * u16::from(path.0)));
        }
        place
    }
}

/// The other end of a host's connection: hosts stand in pairs.
pub(super) const fn peer(host: u32) -> u32 {
    host ^ 1
}

/// A name as part of a file's name, or of a host: letters, digits and `._-`, all else becomes `-`.
pub(super) fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(keep).collect();
    // Neither hidden nor a folder.
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}
