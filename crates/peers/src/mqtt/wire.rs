//! A connection to a broker: tasks that carry bytes between sockets and a client's state machine.

use super::sealed;
use super::spec::{Carrier, Route};
use crate::congestion::Congestion;
use crate::{Error, args, timer, transport};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Endpoint, EndpointConfig};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

/// Bytes that are gathered before they are sent: a client's output goes at once, in as few packets as it fits into.
const GATHERED: usize = 256 << 10;
/// Bytes that are read at a time.
pub(super) const READ: usize = 64 << 10;

/// An event on a connection.
#[derive(Debug)]
pub enum News {
    /// Bytes can be sent.
    Open,
    /// Bytes have come.
    Bytes(Vec<u8>),
    /// It is gone.
    Gone(String),
}

/// An order to a connection.
#[derive(Debug)]
pub enum Order {
    /// These bytes, over TLS in a record of their own.
    Bytes(Vec<u8>),
    /// Nothing more: the connection closes.
    Close,
}

/// A connection. It ends when this is dropped.
pub struct Wire {
    pub orders: UnboundedSender<Order>,
    pub news: UnboundedReceiver<News>,
    task: AbortHandle,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Wire {
    /// Begins to connect.
    pub fn open(route: &Route, tls: &Arc<ClientConfig>, name: &str) -> Wire {
        let (orders, to_send) = unbounded_channel();
        let (tell, news) = unbounded_channel();
        let (route, tls, name) = (route.clone(), tls.clone(), name.to_string());
        let task = tokio::task::spawn_local(async move {
            let ended = run(&route, tls, &name, to_send, &tell).await;
            // Nobody listens any more if the client has given it up.
            let _ = tell.send(News::Gone(ended.err().map_or_else(|| "closed".into(), |e| e.to_string())));
        });
        Wire { orders, news, task: task.abort_handle() }
    }
}

async fn run(
    route: &Route,
    tls: Arc<ClientConfig>,
    name: &str,
    orders: UnboundedReceiver<Order>,
    tell: &UnboundedSender<News>,
) -> Result<(), Error> {
    let at = |e: &dyn std::fmt::Display| Error::new(route.broker, e);
    match route.carrier {
        Carrier::Tcp => {
            let (read, write) = connect(route).await?.into_split();
            carry(read, BufWriter::with_capacity(GATHERED, write), orders, tell).await
        }
        Carrier::Tls => {
            let name = ServerName::try_from(name.to_string()).map_err(|e| Error::new("name", e))?;
            let tls = ClientConnection::new(tls, name).map_err(|e| Error::new("TLS", e))?;
            sealed::carry(connect(route).await?, tls, orders, tell).await
        }
        Carrier::Quic => {
            let crypto = QuicClientConfig::try_from(tls).map_err(|e| Error::new("TLS", e))?;
            let mut config = quinn::ClientConfig::new(Arc::new(crypto));
            config.transport_config(Arc::new(transport::alone(congestion(route)?.as_ref())?));
            let own = SocketAddr::new(route.own, 0);
            let socket = inside(route, || transport::socket(own))?;
            let runtime = timer::runtime(args::Timer::Precise);
            let endpoint =
                Endpoint::new(EndpointConfig::default(), None, socket, runtime).map_err(|e| Error::new(own, e))?;
            let connecting = endpoint.connect_with(config, route.broker, name).map_err(|e| at(&e))?;
            let connection = connecting.await.map_err(|e| at(&format!("cannot be connected to: {e}")))?;
            let (write, read) = connection.open_bi().await.map_err(|e| at(&e))?;
            let carried = carry(read, write, orders, tell).await;
            connection.close(0u32.into(), b"");
            endpoint.wait_idle().await;
            carried
        }
    }
    .map_err(|e| at(&e))
}

/// Carries bytes in both directions until one end closes.
async fn carry(
    mut read: impl AsyncRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
    mut orders: UnboundedReceiver<Order>,
    tell: &UnboundedSender<News>,
) -> Result<(), Error> {
    let lost = |e: std::io::Error| Error::new("connection", e);
    let _ = tell.send(News::Open);
    let sending = async {
        while let Some(first) = orders.recv().await {
            let mut next = Some(first);
            // All that is to be sent now is handed to the transport in one piece.
            while let Some(order) = next {
                match order {
                    Order::Bytes(bytes) => write.write_all(&bytes).await.map_err(lost)?,
                    Order::Close => return write.shutdown().await.map_err(lost),
                }
                next = orders.try_recv().ok();
            }
            write.flush().await.map_err(lost)?;
        }
        Ok(())
    };
    let receiving = async {
        let mut buffer = vec![0; READ];
        loop {
            match read.read(&mut buffer).await.map_err(lost)? {
                0 => return Ok(()),
                // A client that has gone does not mind.
                n => drop(tell.send(News::Bytes(buffer[..n].to_vec()))),
            }
        }
    };
    tokio::pin!(sending, receiving);
    tokio::select! {
        ended = &mut receiving => ended,
        sent = &mut sending => match sent {
            // The broker answers the end with its own.
            Ok(()) => receiving.await,
            failed => failed,
        },
    }
}

fn congestion(route: &Route) -> Result<Option<Congestion>, Error> {
    route.congestion.as_deref().map(str::parse).transpose()
}

/// Makes something in the network namespace of a client, and goes back.
fn inside<T>(route: &Route, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let Some(path) = &route.netns else { return make() };
    let enter = |path: &str| {
        let space = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
    };
    let failed = |e: rustix::io::Errno| Error::new(path, format!("cannot be entered: {e}"));
    let home = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    enter(path).map_err(failed)?;
    let made = make();
    move_into_link_name_space(home.as_fd(), Some(LinkNameSpaceType::Network)).map_err(failed)?;
    made
}

async fn connect(route: &Route) -> Result<TcpStream, Error> {
    let at = |e: std::io::Error| Error::new(route.broker, format!("cannot be connected to: {e}"));
    let socket = inside(route, || {
        let socket = Socket::new(Domain::for_address(route.broker), Type::STREAM.nonblocking(), Some(Protocol::TCP));
        let socket = socket.map_err(at)?;
        if let Some(congestion) = congestion(route)? {
            congestion.set(&socket)?;
        }
        socket.bind(&SocketAddr::new(route.own, 0).into()).map_err(|e| Error::new(route.own, e))?;
        socket.set_tcp_nodelay(!route.nagle).map_err(at)?;
        Ok(socket)
    })?;
    TcpSocket::from_std_stream(socket.into()).connect(route.broker).await.map_err(at)
}
