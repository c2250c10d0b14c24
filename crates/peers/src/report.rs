//! The reports of the two ends, as JSON.

use crate::Error;
use haltere_net::{Span, Time};
use quinn::{Connection, ConnectionStats};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// The client's report; seconds count from just before it connected.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Fetched {
    /// `CLOCK_MONOTONIC` just before connecting, nanoseconds.
    pub started_ns: u64,
    /// Time until TLS had finished and requests could be sent.
    pub handshake_s: Option<f64>,
    /// Time until the first head of an answer, as programs and the model count it: a body's first TLS record of 16 KiB may be
    /// more than the first window takes.
    pub first_byte_s: Option<f64>,
    /// Time until the last byte of all bodies.
    pub completion_s: Option<f64>,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// HTTP status of the answers: the first one that is not 200, if any.
    pub status: Option<u16>,
    /// The error that ended the transfer.
    pub error: Option<String>,
    /// The counters of quinn at this end.
    pub quic: Option<Quic>,
}

impl Fetched {
    /// Nothing has been seen at `started`.
    pub fn at(started: Time) -> Fetched {
        Fetched { started_ns: started.as_nanos(), ..Fetched::default() }
    }

    /// Seconds since the start.
    pub fn since(&self, now: Time) -> f64 {
        now.since(Time::from_nanos(self.started_ns)).as_secs_f64()
    }

    /// The head of an answer came.
    pub fn on_answer(&mut self, now: Time, status: u16) {
        self.first_byte_s = self.first_byte_s.or(Some(self.since(now)));
        self.completion_s = Some(self.since(now));
        if self.status.is_none_or(|known| known == 200) {
            self.status = Some(status);
        }
    }

    /// Bytes of a body came.
    pub fn on_bytes(&mut self, now: Time, bytes: usize) {
        self.bytes += bytes as u64;
        self.completion_s = Some(self.since(now));
    }
}

/// The server's report on its connections.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Served {
    /// In the order in which they came.
    pub connections: Vec<Connected>,
}

/// One connection of the server.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Connected {
    /// Whether it is over.
    pub ended: bool,
    /// Requests that were answered, whole or in part.
    pub requests: u64,
    /// Bytes of bodies handed to the transport.
    pub bytes: u64,
    /// The error that ended the connection, if one did.
    pub error: Option<String>,
    /// The counters of quinn; TCP's counters are the kernel's.
    pub quic: Option<Quic>,
}

/// The counters of quinn at one end of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct Quic {
    /// Congestion window at the end, bytes.
    pub cwnd: u64,
    /// Smoothed round-trip time at the end, seconds.
    pub rtt_s: f64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that were taken for lost; some may have arrived late.
    pub lost_packets: u64,
    /// Bytes of these.
    pub lost_bytes: u64,
    /// Reductions of the window.
    pub congestion_events: u64,
    /// Largest datagram in use, bytes of UDP payload.
    pub mtu: u16,
    /// Probes for a larger one.
    pub mtu_probes: u64,
    /// Times that datagrams of the known size vanished.
    pub black_holes: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes of UDP payload sent.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Bytes of UDP payload received.
    pub bytes_received: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// ACK frames received.
    pub acks_received: u64,
}

impl Quic {
    /// The connection's counters so far.
    pub fn of(connection: &Connection) -> Quic {
        let ConnectionStats { udp_tx, udp_rx, frame_tx, frame_rx, path, .. } = connection.stats();
        Quic {
            cwnd: path.cwnd,
            rtt_s: Span::from_nanos(u64::try_from(path.rtt.as_nanos()).unwrap_or(u64::MAX)).as_secs_f64(),
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            lost_bytes: path.lost_bytes,
            congestion_events: path.congestion_events,
            mtu: path.current_mtu,
            mtu_probes: path.sent_plpmtud_probes,
            black_holes: path.black_holes_detected,
            datagrams_sent: udp_tx.datagrams,
            bytes_sent: udp_tx.bytes,
            datagrams_received: udp_rx.datagrams,
            bytes_received: udp_rx.bytes,
            acks_sent: frame_tx.acks,
            acks_received: frame_rx.acks,
        }
    }
}

/// Writes `value` as one line of JSON: into `file`, whole or not at all, or to the standard output.
pub fn write<T: Serialize>(value: &T, file: Option<&Path>) -> Result<(), Error> {
    let mut line = serde_json::to_string(value).map_err(|e| Error::new("report", e))?;
    line.push('\n');
    match file {
        None => std::io::stdout().write_all(line.as_bytes()).map_err(|e| Error::new("standard output", e)),
        Some(file) => {
            let mut part = file.as_os_str().to_owned();
            part.push(".part");
            let whole = std::fs::write(&part, line).and_then(|()| std::fs::rename(&part, file));
            whole.map_err(|e| Error::new(file.display(), format!("cannot be written: {e}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_the_start_and_a_refusal_stays() {
        let mut seen = Fetched::at(Time::from_nanos(5_000_000_000));
        let at = |ms: u64| Time::from_nanos(5_000_000_000 + ms * 1_000_000);
        seen.on_answer(at(100), 200);
        seen.on_answer(at(110), 404);
        seen.on_answer(at(120), 200);
        seen.on_bytes(at(130), 10);
        seen.on_bytes(at(250), 20);
        assert_eq!((seen.first_byte_s, seen.completion_s), (Some(0.1), Some(0.25)));
        assert_eq!((seen.bytes, seen.status), (30, Some(404)));
    }
}
