//! The server: `GET /N` is answered with N bytes.

mod quic;
mod tcp;

use crate::args::{Mode, Server};
use crate::report::{self, Connected, Quic, Served};
use crate::{Error, tls};
use bytes::Bytes;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use tokio::signal::unix::{SignalKind, signal};

/// Bytes handed to the transport at a time.
const CHUNK: usize = 64 << 10;
static CHUNK_BYTES: [u8; CHUNK] = [0; CHUNK];

/// Serves until SIGTERM or SIGINT, then writes the statistics.
pub async fn run(server: &Server) -> Result<(), Error> {
    let log = Log::new(server.stats.clone());
    let tls = tls::server(server.common.mode, &server.cert, &server.key)?;
    let local = tokio::task::LocalSet::new();
    let served = async {
        match server.common.mode {
            Mode::Tcp => tcp::serve(server, tls, log.clone()).await,
            Mode::Quic => quic::serve(server, tls, log.clone()).await,
        }
    };
    let listen = |kind| signal(kind).map_err(|e| Error::new("signals", e));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::select! {
        ended = local.run_until(served) => ended?,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    log.write()
}

/// The bytes asked for by a path like `/2097152`.
fn asked(path: &str) -> Option<u64> {
    path.strip_prefix('/')?.parse().ok()
}

/// The next piece of a body of which `left` bytes remain.
fn piece(left: u64) -> Bytes {
    let whole = Bytes::from_static(&CHUNK_BYTES);
    match usize::try_from(left) {
        Ok(left) if left < CHUNK => whole.slice(..left),
        _ => whole,
    }
}

/// The server's report on its connections, shared by their tasks on the one thread.
#[derive(Clone)]
struct Log {
    file: Option<PathBuf>,
    served: Rc<RefCell<Vec<Known>>>,
}

/// A connection; quinn keeps counters of its own.
type Known = (Connected, Option<quinn::Connection>);

impl Log {
    fn new(file: Option<PathBuf>) -> Log {
        Log { file, served: Rc::default() }
    }

    /// Notes a new connection and returns its number.
    fn open(&self, quic: Option<quinn::Connection>) -> usize {
        let mut served = self.served.borrow_mut();
        served.push((Connected::default(), quic));
        served.len() - 1
    }

    fn note(&self, number: usize, change: impl FnOnce(&mut Connected)) {
        if let Some((connection, _)) = self.served.borrow_mut().get_mut(number) {
            change(connection);
        }
    }

    /// Notes that a connection has ended.
    fn close(&self, number: usize, error: Option<String>) {
        self.note(number, |c| (c.ended, c.error) = (true, error));
        if let Err(error) = self.write() {
            eprintln!("haltere-peer: {error}");
        }
    }

    fn write(&self) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        let all = self.served.borrow();
        let connections =
            all.iter().map(|(seen, quic)| Connected { quic: quic.as_ref().map(Quic::of), ..seen.clone() });
        report::write(&Served { connections: connections.collect() }, Some(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_number_of_bytes() {
        assert_eq!(asked("/2097152"), Some(2 << 20));
        assert_eq!(asked("/0"), Some(0));
        for wrong in ["", "/", "/x", "/-1", "/1/2", "12"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pieces_add_up() {
        for size in [0, 1, CHUNK as u64, CHUNK as u64 + 1, u64::MAX] {
            let first = piece(size).len() as u64;
            assert_eq!(first, size.min(CHUNK as u64));
        }
    }
}
