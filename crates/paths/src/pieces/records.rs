//! Cutting streams of records that tell their lengths: a walk from header to header.

use super::cut::{Cut, Cutting, Seen};
use crate::framed::Format;

/// A format whose records may change what later records mean.
pub(crate) trait Stateful: Format + Clone + Send {
    /// Takes notice of a record that is passed on the walk.
    fn note(&mut self, _header: &[u8], _body: &[u8]) {}

    /// As [`Resume::behind`](super::Resume::behind). Where records change nothing, any state is like any other.
    fn behind(now: &Self, _start: &Self, _end: &Self) -> Option<Self> {
        Some(now.clone())
    }
}

/// Walks from record to record.
pub(crate) struct Walk<F>(pub F);

impl<F: Stateful> Walk<F> {
    /// Where the record at `at` ends; none if none begins there, or its end is not in sight.
    fn end(bytes: &[u8], at: usize) -> Result<usize, Lacking> {
        let Some(header) = bytes.get(at..at + F::HEADER) else {
            let there = &bytes[at..];
            let may = there.starts_with(&F::MAGIC) || F::MAGIC.starts_with(there);
            return Err(if may { Lacking::Bytes } else { Lacking::Record });
        };
        if !header.starts_with(&F::MAGIC) || F::body(header) > F::MAX_BODY {
            return Err(Lacking::Record);
        }
        let end = at + F::HEADER + F::body(header);
        if end > bytes.len() { Err(Lacking::Bytes) } else { Ok(end) }
    }

    /// Whether a record begins at `at`, as far as can be seen; or the stream ends there.
    fn begins(Seen { bytes, end }: Seen<'_>, at: usize) -> Result<(), Lacking> {
        match &bytes[at..] {
            [] if end => Ok(()),
            there if there.starts_with(&F::MAGIC) => Ok(()),
            there if F::MAGIC.starts_with(there) => Err(Lacking::Bytes),
            _ => Err(Lacking::Record),
        }
    }

    /// The next place behind the first byte where a record may begin that is followed by another.
    fn find(seen: Seen<'_>) -> Option<usize> {
        let bytes = seen.bytes;
        (1..bytes.len()).find(|&at| {
            bytes[at..].starts_with(&F::MAGIC)
                && bytes.get(at..at + F::HEADER).is_some_and(F::plausible)
                && Self::end(bytes, at).is_ok_and(|next| Self::begins(seen, next).is_ok())
        })
    }
}

/// Why the walk cannot go on.
enum Lacking {
    /// More bytes have to be there.
    Bytes,
    /// No record is there.
    Record,
}

impl<F: Stateful> Cut for Walk<F> {
    type State = F;

    fn cut(&mut self, seen: Seen<'_>) -> Option<Cutting> {
        let bytes = seen.bytes;
        let mut at = 0;
        while at < Self::WANTED {
            let next = Self::end(bytes, at).and_then(|next| Self::begins(seen, next).map(|()| next));
            match next {
                Ok(next) => {
                    let (header, body) = bytes[at..next].split_at(F::HEADER);
                    self.0.note(header, body);
                    at = next;
                    if at == bytes.len() {
                        break;
                    }
                }
                Err(_) if at > 0 => break,
                Err(Lacking::Bytes) => return None,
                Err(Lacking::Record) => {
                    let found = Self::find(seen)?;
                    self.0.lost();
                    return Some(Cutting { bytes: found, sound: false });
                }
            }
        }
        (at > 0).then_some(Cutting { bytes: at, sound: true })
    }

    fn state(&self) -> F {
        self.0.clone()
    }
}
