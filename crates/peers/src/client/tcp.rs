//! HTTP/2 over TLS over the kernel's TCP.

use super::{Seen, uri};
use crate::args::Client;
use crate::transport::RECEIVE_WINDOW;
use crate::{Error, clock};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{Domain, Socket, Type};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// Fetches all objects.
pub async fn fetch(client: &Client, tls: ClientConfig, seen: &Seen) -> Result<(), Error> {
    let at = |e: &dyn std::fmt::Display| Error::new(client.connect, e);
    let name = ServerName::try_from(client.name.clone()).map_err(|e| Error::new("name", e))?;
    let stream = connect(client).await?;
    let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.map_err(|e| at(&format!("TLS: {e}")))?;
    let now = clock::now();
    let since = seen.borrow().since(now);
    seen.borrow_mut().handshake_s = Some(since);
    let made = Builder::new(TokioExecutor::new())
        .initial_stream_window_size(RECEIVE_WINDOW)
        .initial_connection_window_size(RECEIVE_WINDOW)
        .handshake(TokioIo::new(stream))
        .await;
    let (sender, connection) = made.map_err(|e| at(&e))?;
    tokio::task::spawn_local(connection);
    let mut objects = JoinSet::new();
    for _ in 0..client.parallel {
        objects.spawn_local(object(sender.clone(), uri(client), seen.clone()));
    }
    drop(sender);
    while let Some(ended) = objects.join_next().await {
        ended.map_err(|e| at(&e))?.map_err(|e| at(&e))?;
    }
    Ok(())
}

async fn connect(client: &Client) -> Result<TcpStream, Error> {
    let at = |e: std::io::Error| Error::new(client.connect, format!("cannot be connected to: {e}"));
    let protocol = client.common.protocol();
    let socket = Socket::new(Domain::for_address(client.connect), Type::STREAM.nonblocking(), Some(protocol));
    let socket = socket.map_err(at)?;
    if let Some(congestion) = &client.common.congestion {
        congestion.set(&socket)?;
    }
    if let Some(own) = client.bind {
        let bound = socket.bind(&SocketAddr::new(own, 0).into());
        bound.map_err(|e| Error::new(own, format!("cannot be bound to: {e}")))?;
    }
    socket.set_tcp_nodelay(true).map_err(at)?;
    TcpSocket::from_std_stream(socket.into()).connect(client.connect).await.map_err(at)
}

async fn object(mut sender: SendRequest<Empty<Bytes>>, uri: String, seen: Seen) -> Result<(), String> {
    let request = Request::get(uri).body(Empty::new()).map_err(|e| e.to_string())?;
    sender.ready().await.map_err(|e| e.to_string())?;
    let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
    seen.borrow_mut().on_answer(clock::now(), response.status().as_u16());
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.map_err(|e| e.to_string())?.data_ref() {
            seen.borrow_mut().on_bytes(clock::now(), data.len());
        }
    }
    Ok(())
}
