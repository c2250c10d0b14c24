//! IP addresses and ports. A run only has numbers, but files of packets need addresses and ports.

use haltere_net::{Address, ConnectionId, FlowKey};
use haltere_transport::Role;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The first of the ports that RFC 6335 assigns to clients, and how many there are.
const FIRST_CLIENT_PORT: u16 = 49_152;
const CLIENT_PORTS: u32 = 16_384;
/// The port of servers. It belongs to no protocol, so that no reader tries to parse the data.
const SERVER_PORT: u16 = 40_440;

/// An address. They are numbered through 10.0.0.0/8 (RFC 1918), from 10.0.0.1 on.
pub(super) fn ip(address: Address) -> Ipv4Addr {
    let [_, a, b, c] = (address.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

/// The ports of a connection, the client's and the server's. Connections differ in the client's port, and in the
/// server's port too if there are more of them than client ports.
fn ports(connection: ConnectionId) -> (u16, u16) {
    let (round, port) = (connection.0 / CLIENT_PORTS, connection.0 % CLIENT_PORTS);
    (FIRST_CLIENT_PORT + port as u16, SERVER_PORT.wrapping_add(round as u16))
}

/// The source and destination of a packet whose sender has this role.
pub(super) fn ends(flow: FlowKey, sender: Role) -> (SocketAddrV4, SocketAddrV4) {
    let (client, server) = ports(flow.connection);
    let (from, to) = if sender == Role::Client { (client, server) } else { (server, client) };
    (SocketAddrV4::new(ip(flow.source), from), SocketAddrV4::new(ip(flow.destination), to))
}

/// A name as part of a file's or host's name: letters, digits and `._-`; all other characters become `-`.
pub(super) fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(keep).collect();
    // The name must be neither hidden nor a folder.
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}
