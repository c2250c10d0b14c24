//! IP addresses and ports: a run has numbers in their place, but files of packets need them.

use haltere_net::{Address, ConnectionId, FlowKey};
use haltere_transport::Role;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The first of the ports that RFC 6335 leaves to clients, and how many there are.
const FIRST_CLIENT_PORT: u16 = 49_152;
const CLIENT_PORTS: u32 = 16_384;
/// The port of servers: one of no protocol that a reader would look for in what is sent.
const SERVER_PORT: u16 = 40_440;

/// An address: they are counted through 10.0.0.0/8 (RFC 1918), from 10.0.0.1 on.
pub(super) fn ip(address: Address) -> Ipv4Addr {
    let [_, a, b, c] = (address.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// The ports of a connection, the client's and the server's: connections differ in the client's; after as many as there are,
/// in the server's too.
fn ports(connection: ConnectionId) -> (u16, u16) {
    let (round, port) = (connection.0 / CLIENT_PORTS, connection.0 % CLIENT_PORTS);
    (FIRST_CLIENT_PORT + port as u16, SERVER_PORT.wrapping_add(round as u16))
}

/// Where a packet comes from and goes to, if its sender has this role.
pub(super) fn ends(flow: FlowKey, sender: Role) -> (SocketAddrV4, SocketAddrV4) {
    let (client, server) = ports(flow.connection);
    let (from, to) = if sender == Role::Client { (client, server) } else { (server, client) };
    (SocketAddrV4::new(ip(flow.source), from), SocketAddrV4::new(ip(flow.destination), to))
}

/// A name as part of a file's name, or of a host: letters, digits and `._-`, all else becomes `-`.
pub(super) fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(keep).collect();
    // Neither hidden nor a folder.
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}
