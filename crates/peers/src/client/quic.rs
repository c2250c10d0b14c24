//! HTTP/3 over quinn.

use super::{Seen, uri};
use crate::args::Client;
use crate::report::Quic;
use crate::{Error, clock, timer, transport};
use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use http::Request;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Fetches all objects, closes the connection and waits until the close has been sent.
pub async fn fetch(client: &Client, tls: rustls::ClientConfig, seen: &Seen) -> Result<(), Error> {
    let endpoint = endpoint(client)?;
    let crypto = QuicClientConfig::try_from(tls).map_err(|e| Error::new("TLS", e))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport::config(&client.common, "client")?));
    let connecting = endpoint.connect_with(config, client.connect, &client.name);
    let connecting = connecting.map_err(|e| Error::new(client.connect, e))?;
    let connection =
        connecting.await.map_err(|e| Error::new(client.connect, format!("cannot be connected to: {e}")))?;
    let now = clock::now();
    let since = seen.borrow().since(now);
    seen.borrow_mut().handshake_s = Some(since);
    let fetched = objects(client, &connection, seen).await;
    seen.borrow_mut().quic = Some(Quic::of(&connection));
    // H3_NO_ERROR, RFC 9114 section 8.1.
    connection.close(0x100u32.into(), b"");
    endpoint.wait_idle().await;
    fetched.map_err(|e| Error::new(client.connect, e))
}

fn endpoint(client: &Client) -> Result<Endpoint, Error> {
    let any: IpAddr =
        if client.connect.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let own = SocketAddr::new(client.bind.unwrap_or(any), 0);
    let socket = transport::socket(own)?;
    let runtime = timer::runtime(client.common.timer);
    Endpoint::new(EndpointConfig::default(), None, socket, runtime).map_err(|e| Error::new(own, e))
}

async fn objects(client: &Client, connection: &Connection, seen: &Seen) -> Result<(), String> {
    let made = h3::client::new(h3_quinn::Connection::new(connection.clone())).await;
    let (mut driver, sender) = made.map_err(|e| e.to_string())?;
    let driving = tokio::task::spawn_local(async move { driver.wait_idle().await });
    let mut objects = JoinSet::new();
    for _ in 0..client.parallel {
        objects.spawn_local(object(sender.clone(), uri(client), seen.clone()));
    }
    while let Some(ended) = objects.join_next().await {
        ended.map_err(|e| e.to_string())??;
    }
    driving.abort();
    Ok(())
}

async fn object(mut sender: SendRequest<OpenStreams, Bytes>, uri: String, seen: Seen) -> Result<(), String> {
    let request = Request::get(uri).body(()).map_err(|e| e.to_string())?;
    let mut stream = sender.send_request(request).await.map_err(|e| e.to_string())?;
    stream.finish().await.map_err(|e| e.to_string())?;
    let response = stream.recv_response().await.map_err(|e| e.to_string())?;
    seen.borrow_mut().on_answer(clock::now(), response.status().as_u16());
    while let Some(data) = stream.recv_data().await.map_err(|e| e.to_string())? {
        seen.borrow_mut().on_bytes(clock::now(), data.remaining());
    }
    Ok(())
}
