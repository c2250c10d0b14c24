//! HTTP/3 over quinn.

use super::{Log, asked, piece};
use crate::args::Server;
use crate::{Error, timer, transport};
use bytes::Bytes;
use h3::server::RequestResolver;
use http::{Response, StatusCode};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, ServerConfig};
use std::sync::Arc;

/// Serves until the endpoint ends.
pub async fn serve(server: &Server, tls: rustls::ServerConfig, log: Log) -> Result<(), Error> {
    let crypto = Arc::new(QuicServerConfig::try_from(tls).map_err(|e| Error::new("TLS", e))?);
    // What could be refused is refused before the port is open.
    let config = |name: &str| -> Result<Arc<ServerConfig>, Error> {
        let mut config = ServerConfig::with_crypto(crypto.clone());
        config.transport_config(Arc::new(transport::config(&server.common, name)?));
        Ok(Arc::new(config))
    };
    let socket = transport::socket(server.listen)?;
    let first = config("server-0")?;
    let runtime = timer::runtime(server.common.timer);
    let endpoint = Endpoint::new(EndpointConfig::default(), Some((*first).clone()), socket, runtime)
        .map_err(|e| Error::new(server.listen, e))?;
    let (mut next, mut number) = (Some(first), 0);
    while let Some(incoming) = endpoint.accept().await {
        let own = match next.take() {
            Some(config) => config,
            None => config(&format!("server-{number}"))?,
        };
        number += 1;
        let Ok(connecting) = incoming.accept_with(own) else { continue };
        let log = log.clone();
        tokio::task::spawn_local(async move {
            if let Ok(connection) = connecting.await {
                let number = log.open(Some(connection.clone()));
                let ended = serve_connection(connection, &log, number).await;
                log.close(number, ended.err());
            }
        });
    }
    Ok(())
}

async fn serve_connection(connection: quinn::Connection, log: &Log, number: usize) -> Result<(), String> {
    let made = h3::server::builder().build(h3_quinn::Connection::new(connection)).await;
    let mut h3: h3::server::Connection<_, Bytes> = made.map_err(|e| e.to_string())?;
    loop {
        match h3.accept().await {
            Ok(Some(resolver)) => {
                let log = log.clone();
                tokio::task::spawn_local(async move {
                    if let Err(error) = answer(resolver, &log, number).await {
                        log.note(number, |c| c.error = Some(error));
                    }
                });
            }
            Ok(None) => return Ok(()),
            Err(error) if error.is_h3_no_error() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

async fn answer(
    resolver: RequestResolver<h3_quinn::Connection, Bytes>,
    log: &Log,
    number: usize,
) -> Result<(), String> {
    let (request, mut stream) = resolver.resolve_request().await.map_err(|e| e.to_string())?;
    log.note(number, |c| c.requests += 1);
    let size = asked(request.uri().path());
    let mut head = Response::new(());
    if size.is_none() {
        *head.status_mut() = StatusCode::NOT_FOUND;
    }
    head.headers_mut().insert(http::header::CONTENT_LENGTH, size.unwrap_or(0).into());
    stream.send_response(head).await.map_err(|e| e.to_string())?;
    let mut left = size.unwrap_or(0);
    while left > 0 {
        let next = piece(left);
        let sent = next.len() as u64;
        stream.send_data(next).await.map_err(|e| e.to_string())?;
        left -= sent;
        log.note(number, |c| c.bytes += sent);
    }
    stream.finish().await.map_err(|e| e.to_string())
}
