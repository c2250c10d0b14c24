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

/// Reads line after line.
pub(crate) struct Lines<R>(Window<R>);

impl<R: Read> Lines<R> {
    /// The lines of a stream, which is read in large pieces.
    pub fn new(stream: R) -> Lines<R> {
        Lines(Window::new(stream))
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
