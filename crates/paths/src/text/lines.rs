//! The lines of a stream, none of them longer than what memory is meant for.

use crate::window::Window;
use std::io::Read;

/// Longest line that is accepted, bytes.
const MAX_LINE: usize = 64 * 1024;

/// One line of the stream.
pub(crate) enum Row {
    /// Its text, without its end.
    Text(String),
    /// It does not end within what is accepted.
    TooLong {
        /// Where it begins, bytes from the start of the stream.
        offset: u64,
        /// Its length, bytes.
        skipped: u64,
    },
    /// The end of the stream.
    End,
}

/// Where lines begin, from the last before `to` to the first, and then from `to` on; the first byte's is left out.
pub(crate) fn beginnings(bytes: &[u8], to: usize) -> impl Iterator<Item = usize> + '_ {
    let to = to.min(bytes.len());
    let ends = move |at: &usize| bytes[at - 1] == b'\n';
    (1..to).rev().filter(ends).chain((to.max(1)..bytes.len()).filter(ends))
}

/// Reads line after line.
pub(crate) struct Lines<R>(Window<R>);

impl<R: Read> Lines<R> {
    /// The lines of what comes from `offset` on, bytes from the start of the whole stream. It is read in large pieces.
    pub fn new(stream: R, offset: u64) -> Lines<R> {
        Lines(Window::new(stream, offset))
    }

    /// Where the next line begins, bytes from the start of the stream.
    pub fn offset(&self) -> u64 {
        self.0.offset()
    }

    /// Why the stream ended early; returned once.
    pub fn take_failure(&mut self) -> Option<String> {
        self.0.take_failure()
    }

    /// The next line.
    pub fn row(&mut self) -> Row {
        let mut looked = 0;
        loop {
            let bytes = self.0.bytes();
            let end = bytes[looked..].iter().position(|&b| b == b'\n');
            if let Some(at) = end.filter(|at| looked + at <= MAX_LINE) {
                let text = String::from_utf8_lossy(&bytes[..looked + at]).into_owned();
                self.0.consume(looked + at + 1);
                return Row::Text(text);
            }
            looked = bytes.len();
            if looked > MAX_LINE || end.is_some() {
                return self.long_row();
            }
            if !self.0.refill() {
                let text = String::from_utf8_lossy(self.0.bytes()).into_owned();
                self.0.consume(looked);
                return if text.is_empty() { Row::End } else { Row::Text(text) };
            }
        }
    }

    fn long_row(&mut self) -> Row {
        let offset = self.0.offset();
        loop {
            let bytes = self.0.bytes();
            let end = bytes.iter().position(|&b| b == b'\n');
            self.0.consume(end.map_or(bytes.len(), |at| at + 1));
            if end.is_some() || !self.0.refill() {
                return Row::TooLong { offset, skipped: self.0.offset() - offset };
            }
        }
    }
}
