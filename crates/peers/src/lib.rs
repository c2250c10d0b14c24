//! A server and a client of HTTP/2 over TCP and of HTTP/3 over QUIC, and clients of MQTT, made to be measured on real Linux.
//!
//! | mode | made of |
//! |---|---|
//! | `tcp` | hyper's HTTP/2, rustls (TLS 1.3), the kernel's TCP with the congestion control that is asked for |
//! | `quic` | h3's HTTP/3 on quinn's QUIC with quinn's CUBIC, NewReno or BBR |
//!
//! [`mqtt`] has the clients of MQTT.
//!
//! The server answers `GET /N` with N bytes. Both ends run on one thread and sleep whenever nothing is due, so that they
//! also run in a kernel's virtual time. [`run`] is the door of both; what they say about themselves stands in [`report`].
//! Linux only: congestion control by socket and exact timers are Linux's.
#![cfg(target_os = "linux")]

mod args;
pub mod certificate;
mod client;
mod clock;
mod congestion;
mod error;
pub mod mqtt;
mod qlog;
pub mod report;
mod server;
mod sys;
mod timer;
mod tls;
mod transport;

pub use error::Error;

use args::{Command, Peer};
use clap::Parser;

/// Runs one end with the arguments of a command line, without the program's name; returns the exit status: 0 after
/// success, 1 after a failure, 2 for arguments that cannot be understood. Messages go to the standard error stream.
///
/// A server runs until it is sent SIGTERM or SIGINT.
pub fn run<I: IntoIterator<Item = String>>(arguments: I) -> i32 {
    let named = std::iter::once("haltere-peer".to_string()).chain(arguments);
    let peer = match Peer::try_parse_from(named) {
        Ok(peer) => peer,
        Err(wrong) => {
            // When even the standard error stream is closed there is nobody left to tell.
            let _ = wrong.print();
            return wrong.exit_code();
        }
    };
    match start(peer.command) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("haltere-peer: {error}");
            1
        }
    }
}

fn start(command: Command) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new("start", format!("the runtime cannot be made: {e}")))?;
    match command {
        Command::Server(server) => runtime.block_on(server::run(&server)),
        Command::Client(client) => runtime.block_on(client::run(&client)),
        Command::Messages(messages) => runtime.block_on(mqtt::run(&messages)),
        Command::Certificate(made) => certificate::write(&made.folder, made.kind),
    }
}
