//! The command line, parsed into types at once.

use crate::certificate::Kind;
use crate::congestion::Congestion;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// One end of a transfer that is measured.
#[derive(Parser, Debug)]
#[command(name = "haltere-peer", version)]
pub struct Peer {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Answer GET /N with N bytes until SIGTERM or SIGINT
    Server(Server),
    /// Fetch objects over one connection and print one line of JSON
    Client(Client),
    /// Publish or take the messages of a flow through a broker, and print a line of JSON for whatever happens
    Messages(Messages),
    /// Write ca.pem, cert.pem and key.pem into a folder
    Certificate(Made),
}

/// The protocols below HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// HTTP/2, TLS 1.3, the kernel's TCP
    Tcp,
    /// HTTP/3, quinn's QUIC
    Quic,
}

/// The timer that wakes QUIC up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Timer {
    /// A timer of the kernel, to the nanosecond
    Precise,
    /// Tokio's timer, as in an ordinary quinn program: late by up to a millisecond
    Tokio,
}

/// Options of both ends.
#[derive(Args, Debug)]
pub struct Common {
    #[arg(long, value_enum)]
    pub mode: Mode,
    /// tcp: any algorithm the kernel has (its default if not given); quic: cubic, newreno or bbr
    #[arg(long)]
    pub congestion: Option<Congestion>,
    #[arg(long, value_enum, default_value = "precise")]
    pub timer: Timer,
    /// tcp: sockets of MPTCP
    #[arg(long)]
    pub multipath: bool,
    /// quic: let the kernel cut large sends into datagrams, as an ordinary quinn program does
    #[arg(long)]
    pub gso: bool,
    /// quic: write a qlog of every connection into this folder
    #[arg(long)]
    pub qlog: Option<PathBuf>,
}

impl Common {
    /// The protocol of a TCP socket.
    pub fn protocol(&self) -> socket2::Protocol {
        if self.multipath { socket2::Protocol::MPTCP } else { socket2::Protocol::TCP }
    }
}

#[derive(Args, Debug)]
pub struct Server {
    #[command(flatten)]
    pub common: Common,
    /// Address and port, e.g. 10.0.0.1:4433
    #[arg(long)]
    pub listen: SocketAddr,
    /// Certificate chain, PEM
    #[arg(long)]
    pub cert: PathBuf,
    /// Private key, PEM
    #[arg(long)]
    pub key: PathBuf,
    /// Write what the server saw of each connection into this file when one ends, and at the end
    #[arg(long)]
    pub stats: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Client {
    #[command(flatten)]
    pub common: Common,
    /// The server's address and port
    #[arg(long)]
    pub connect: SocketAddr,
    /// Own address
    #[arg(long)]
    pub bind: Option<std::net::IpAddr>,
    /// The server's name in its certificate
    #[arg(long, default_value = crate::certificate::NAME)]
    pub name: String,
    /// Certificate that is trusted, PEM
    #[arg(long)]
    pub ca: PathBuf,
    /// Bytes of each object
    #[arg(long)]
    pub size: u64,
    /// Objects fetched at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub parallel: u16,
    /// Write the line of JSON into this file instead of the standard output
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Messages {
    /// The clients' messages and subscriptions, as JSON
    #[arg(long)]
    pub spec: PathBuf,
    /// Write the lines of JSON into this file instead of the standard output
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Made {
    /// The folder; made if it is missing
    pub folder: PathBuf,
    #[arg(long, value_enum, default_value = "p256")]
    pub kind: Kind,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Peer::command().debug_assert();
    }

    #[test]
    fn more_objects_than_streams_are_refused() {
        let line = |n| {
            let all = ["-", "client", "--mode", "tcp", "--connect", "10.0.0.1:1", "--ca", "a", "--size", "1"];
            Peer::try_parse_from(all.into_iter().chain(["--parallel", n]))
        };
        assert!(line("100").is_ok());
        assert!(line("0").is_err() && line("101").is_err());
    }
}
