//! A stream that another thread reads ahead of who needs its bytes.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes that are handed over at once.
const PIECE: usize = 256 * 1024;
/// How many pieces wait at most.
const WAITING: usize = 4;

/// The bytes of a stream that a thread of its own reads, in the same order and with the same error at the same place.
pub(crate) struct Ahead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Pieces that were read go back, to be filled again.
    empty: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Ahead {
    /// Begins to read the stream.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new(stream: impl Read + Send + 'static) -> io::Result<Ahead> {
        let (full, pieces) = sync_channel(WAITING);
        let (empty, spare) = channel();
        thread::Builder::new().name("unpack".to_owned()).spawn(move || feed(stream, &full, &spare))?;
        Ok(Ahead { pieces, empty, piece: Vec::new(), at: 0 })
    }
}

/// Hands over piece after piece until the stream ends, cannot be read, or nobody wants more of it.
fn feed(mut stream: impl Read, full: &SyncSender<io::Result<Vec<u8>>>, spare: &Receiver<Vec<u8>>) {
    loop {
        let mut piece = spare.try_recv().unwrap_or_default();
        piece.resize(PIECE, 0);
        let (filled, end) = fill(&mut stream, &mut piece);
        piece.truncate(filled);
        if filled > 0 && full.send(Ok(piece)).is_err() {
            return;
        }
        if let Some(end) = end {
            // Nobody needs to be told of an end twice: a channel that is closed says it.
            let _ = end.map(|e| full.send(Err(e)));
            return;
        }
    }
}

/// Fills a piece; how far, and whether the stream ended there or why it cannot be read further.
fn fill(stream: &mut impl Read, piece: &mut [u8]) -> (usize, Option<Option<io::Error>>) {
    let mut filled = 0;
    while filled < piece.len() {
        match stream.read(&mut piece[filled..]) {
            Ok(0) => return (filled, Some(None)),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (filled, Some(Some(e))),
        }
    }
    (filled, None)
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            // Its place is free again; if the other thread has ended it needs none.
            let _ = self.empty.send(std::mem::take(&mut self.piece));
            self.at = 0;
            match self.pieces.recv() {
                Ok(piece) => self.piece = piece?,
                Err(_) => return Ok(0),
            }
        }
        let n = buffer.len().min(self.piece.len() - self.at);
        buffer[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Gives so many bytes and then an error.
    struct Broken(u64, Arc<AtomicU64>);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(10_000).min(self.0 as usize);
            if n == 0 {
                return Err(io::Error::other("broken"));
            }
            buffer[..n].iter_mut().zip((0..=self.0).rev()).for_each(|(byte, at)| *byte = at as u8);
            self.0 -= n as u64;
            self.1.fetch_add(n as u64, Ordering::Relaxed);
            Ok(n)
        }
    }

    #[test]
    fn the_bytes_are_the_streams_with_its_error_behind_them() {
        let made: Vec<u8> = {
            let mut all = Vec::new();
            assert!(Broken(1_000_003, Arc::default()).read_to_end(&mut all).is_err());
            all
        };
        let mut ahead = Ahead::new(Broken(1_000_003, Arc::default())).unwrap();
        let mut found = Vec::new();
        let error = ahead.read_to_end(&mut found).unwrap_err();
        assert_eq!((found == made, error.to_string().as_str()), (true, "broken"));
        assert_eq!(ahead.read(&mut [0; 8]).unwrap(), 0);
        let mut whole = Vec::new();
        Ahead::new(io::repeat(7).take(3 * PIECE as u64)).unwrap().read_to_end(&mut whole).unwrap();
        assert_eq!(whole, vec![7; 3 * PIECE]);
    }

    #[test]
    fn no_more_is_read_than_waits() {
        let read = Arc::new(AtomicU64::new(0));
        let mut ahead = Ahead::new(Broken(1 << 40, Arc::clone(&read))).unwrap();
        ahead.read_exact(&mut [0; 10]).unwrap();
        drop(ahead);
        assert!(read.load(Ordering::Relaxed) <= ((WAITING + 3) * PIECE) as u64);
    }
}
