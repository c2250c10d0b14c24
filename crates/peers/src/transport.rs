//! How quinn is set up: like a deployment of today on a fast long path.
//!
//! | what | here | quinn's default | why |
//! |---|---|---|---|
//! | receive windows | 32 MiB each | 1.25 MB a stream | 1 Gbit/s x 250 ms; nothing but congestion control limits a flow |
//! | send window | 64 MiB | 10 MB | the server never waits for itself |
//! | first datagrams | 1200 bytes, then found out | the same | as the model; quinn looks up to 1452 bytes, the model up to 1472 |
//! | initial window | 10 datagrams, at most 14 720 bytes | the same | RFC 9002 section 7.2 |
//! | socket buffers | 8 MiB, as far as the kernel allows | the kernel's | a burst that comes while the program is busy is no loss of the path's |
//! | segmentation offload | off | on | a queue sees each datagram as a packet, not trains of them |
//!
//! Timers are those of [`crate::timer`]; the ACK frequency extension is off, as by default.

use crate::args::Common;
use crate::congestion::Congestion;
use crate::{Error, qlog};
use quinn::{TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, UdpSocket};

/// Receive window of HTTP/2 and of QUIC, of a stream and of a connection, bytes.
pub const RECEIVE_WINDOW: u32 = 32 << 20;
const SEND_WINDOW: u64 = 64 << 20;

const SOCKET_BUFFER: usize = 8 << 20;

/// A UDP socket at `own`.
pub fn socket(own: SocketAddr) -> Result<UdpSocket, Error> {
    let bound = Socket::new(Domain::for_address(own), Type::DGRAM, Some(Protocol::UDP)).and_then(|socket| {
        socket.set_recv_buffer_size(SOCKET_BUFFER)?;
        socket.set_send_buffer_size(SOCKET_BUFFER)?;
        socket.bind(&own.into())?;
        Ok(socket.into())
    });
    bound.map_err(|e| Error::new(own, format!("cannot be bound to: {e}")))
}

/// The configuration of a connection with this congestion control, without a qlog and without segmentation offload.
pub fn alone(congestion: Option<&Congestion>) -> Result<TransportConfig, Error> {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .send_window(SEND_WINDOW)
        .enable_segmentation_offload(false);
    if let Some(congestion) = congestion {
        transport.congestion_controller_factory(congestion.of_quinn()?);
    }
    Ok(transport)
}

/// The configuration of one connection, whose qlog is called `name` if one is wanted.
pub fn config(common: &Common, name: &str) -> Result<TransportConfig, Error> {
    let mut transport = alone(common.congestion.as_ref())?;
    transport.enable_segmentation_offload(common.gso);
    if let Some(folder) = &common.qlog {
        qlog::attach(&mut transport, folder, name)?;
    }
    Ok(transport)
}
