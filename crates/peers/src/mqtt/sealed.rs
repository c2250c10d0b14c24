//! TLS over TCP, with the flights of the model: what a client writes before the handshake is over goes out together with its
//! Finished, and so does the ChangeCipherSpec that rustls has ready earlier (RFC 8446 appendix D.4).

use super::wire::{News, Order, READ};
use crate::Error;
use rustls::ClientConnection;
use std::io::{ErrorKind, Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// A ChangeCipherSpec record: type, version, length, and its one byte.
const CHANGE_CIPHER_SPEC: [u8; 6] = [20, 3, 3, 0, 1, 1];

/// Carries bytes in both directions until one end closes. Each order is a record of its own.
pub async fn carry(
    tcp: TcpStream,
    mut tls: ClientConnection,
    mut orders: UnboundedReceiver<Order>,
    tell: &UnboundedSender<News>,
) -> Result<(), Error> {
    let lost = |e: std::io::Error| Error::new("connection", e);
    let (mut read, mut write) = tcp.into_split();
    tls.set_buffer_limit(None);
    let mut buffer = vec![0; READ];
    let (mut closing, mut out) = (false, Vec::new());
    // A client that has gone does not mind what happens.
    let _ = tell.send(News::Open);
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut out).map_err(lost)?;
        }
        if !out.is_empty() && out != CHANGE_CIPHER_SPEC {
            write.write_all(&out).await.map_err(lost)?;
            out.clear();
        }
        if closing && !tls.is_handshaking() {
            write.shutdown().await.map_err(lost)?;
            closing = false;
        }
        tokio::select! {
            got = read.read(&mut buffer) => {
                let got = got.map_err(lost)?;
                if got == 0 {
                    return Ok(());
                }
                take(&mut tls, &buffer[..got], tell)?;
            }
            Some(first) = orders.recv() => {
                let mut next = Some(first);
                // All that is to be sent now is handed to the transport in one piece.
                while let Some(order) = next {
                    match order {
                        Order::Bytes(bytes) => tls.writer().write_all(&bytes).map_err(lost)?,
                        Order::Close => {
                            tls.send_close_notify();
                            closing = true;
                        }
                    }
                    next = orders.try_recv().ok();
                }
            }
        }
    }
}

/// Takes bytes of the connection, and tells what they hold.
fn take(tls: &mut ClientConnection, mut bytes: &[u8], tell: &UnboundedSender<News>) -> Result<(), Error> {
    while !bytes.is_empty() {
        tls.read_tls(&mut bytes).map_err(|e| Error::new("TLS", e))?;
        let state = tls.process_new_packets().map_err(|e| Error::new("TLS", e))?;
        let mut plain = vec![0; state.plaintext_bytes_to_read()];
        match tls.reader().read_exact(&mut plain) {
            Ok(()) if plain.is_empty() => {}
            Ok(()) => drop(tell.send(News::Bytes(plain))),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => return Err(Error::new("TLS", e)),
        }
    }
    Ok(())
}
