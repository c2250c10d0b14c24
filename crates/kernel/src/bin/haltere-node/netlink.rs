//! Routes with metrics and addresses of MPTCP's path manager, which the kernel is told by netlink.

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::Ipv4Addr;

/// Commands and attributes of the path manager (linux/mptcp_pm.h).
const ADD_ADDRESS: u8 = 1;
const SET_LIMITS: u8 = 5;
const ADDRESS: u16 = 1;
const ANNOUNCED: u16 = 2;
const SUBFLOWS: u16 = 3;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_V4: u16 = 3;
const ADDRESS_FLAGS: u16 = 6;
const NESTED: u16 = 1 << 15;
/// The most bytes of an answer.
const ANSWER: usize = 1 << 14;

/// A request to the path manager.
#[derive(Debug)]
struct PathManager {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl GenlFamily for PathManager {
    fn family_name() -> &'static str {
        "mptcp_pm"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for PathManager {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

fn garbled() -> io::Error {
    io::Error::from_raw_os_error(libc::EPROTO)
}

/// Asks the kernel something, and returns its first answer.
fn ask<T: NetlinkSerializable>(protocol: isize, mut message: NetlinkMessage<T>, flags: u16) -> io::Result<Vec<u8>> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = Vec::with_capacity(ANSWER);
    socket.recv(&mut answer, 0)?;
    Ok(answer)
}

/// Reads an answer: an acknowledgement or an error, or what was asked for.
fn read(answer: &[u8]) -> io::Result<Option<GenlCtrl>> {
    let message = NetlinkMessage::<GenlMessage<GenlCtrl>>::deserialize(answer).map_err(|_| garbled())?;
    match message.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::InnerMessage(message) => Ok(Some(message.payload)),
        _ => Ok(None),
    }
}

/// Sets a route to a host that a card leads to.
pub fn route(index: u32, to: Ipv4Addr, advmss: Option<u32>, initcwnd: Option<u32>) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: 32,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    let metrics = [advmss.map(RouteMetric::Advmss), initcwnd.map(RouteMetric::InitCwnd)];
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(to)),
        RouteAttribute::Oif(index),
        RouteAttribute::Metrics(metrics.into_iter().flatten().collect()),
    ];
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    read(&ask(NETLINK_ROUTE, RouteNetlinkMessage::NewRoute(message).into(), flags)?).map(|_| ())
}

fn tell_path_manager(command: u8, attributes: Vec<DefaultNla>) -> io::Result<()> {
    let name = GenlCtrlAttrs::FamilyName(PathManager::family_name().into());
    let asked = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] });
    let found = read(&ask(NETLINK_GENERIC, asked.into(), 0)?)?;
    let family = found.into_iter().flat_map(|answer| answer.nlas).find_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(family) => Some(family),
        _ => None,
    });
    let mut message = GenlMessage::from_payload(PathManager { command, attributes });
    message.set_resolved_family_id(family.ok_or_else(garbled)?);
    read(&ask(NETLINK_GENERIC, message.into(), NLM_F_ACK)?).map(|_| ())
}

/// Lets the path manager use so many further subflows, and as many addresses that are announced.
pub fn subflows(most: u8) -> io::Result<()> {
    let most = u32::from(most).to_ne_bytes().to_vec();
    tell_path_manager(SET_LIMITS, vec![DefaultNla::new(ANNOUNCED, most.clone()), DefaultNla::new(SUBFLOWS, most)])
}

/// Tells an address to the path manager.
pub fn endpoint(address: Ipv4Addr, flags: u32) -> io::Result<()> {
    let family = u16::try_from(libc::AF_INET).unwrap_or(0).to_ne_bytes().to_vec();
    let parts = [
        DefaultNla::new(ADDRESS_FAMILY, family),
        DefaultNla::new(ADDRESS_V4, address.octets().to_vec()),
        DefaultNla::new(ADDRESS_FLAGS, flags.to_ne_bytes().to_vec()),
    ];
    let mut nested = vec![0; parts.as_slice().buffer_len()];
    parts.as_slice().emit(&mut nested);
    tell_path_manager(ADD_ADDRESS, vec![DefaultNla::new(ADDRESS | NESTED, nested)])
}
