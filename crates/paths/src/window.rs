//! A window over a stream. Its memory grows with the bytes of the current record that were read, not with the length
//! that the record's header gives.

use std::io::{ErrorKind, Read};

/// Bytes asked of the stream at once.
const CHUNK: usize = 256 * 1024;

/// The bytes of a stream between what was consumed and what was read.
pub(crate) struct Window<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Position in the stream of `buffer[start]`.
    offset: u64,
    ended: bool,
    failure: Option<String>,
}

impl<R: Read> Window<R> {
    /// A window over what comes from `offset` on, bytes from the start of the whole stream.
    pub fn new(inner: R, offset: u64) -> Window<R> {
        Window { inner, buffer: Vec::new(), start: 0, end: 0, offset, ended: false, failure: None }
    }

    /// How many bytes of the stream were consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes in memory.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until `n` bytes are in memory; false if the stream ends before.
    #[inline]
    pub fn need(&mut self, n: usize) -> bool {
        while self.end - self.start < n {
            if !self.refill() {
                return false;
            }
        }
        true
    }

    /// Reads at least one more byte; false at the end of the stream.
    pub fn refill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize((self.buffer.len() * 2).max(CHUNK), 0);
        }
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.ended = true;
                    self.failure = Some(e.to_string());
                }
            }
            return !self.ended;
        }
    }

    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Why the stream ended early; returned once.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_what_is_there_and_not_with_what_is_claimed() {
        let mut window = Window::new(std::io::repeat(7).take(1000), 0);
        assert!(!window.need(1 << 40));
        assert_eq!(window.bytes().len(), 1000);
        assert_eq!(window.buffer.len(), CHUNK);
    }

    #[test]
    fn what_was_consumed_makes_room() {
        let mut window = Window::new(std::io::repeat(7).take(100 << 20), 0);
        while window.need(50_000) {
            window.consume(50_000);
        }
        assert_eq!(window.offset(), (100 << 20) / 50_000 * 50_000);
        assert!(window.buffer.len() <= 2 * CHUNK, "{}", window.buffer.len());
    }
}
