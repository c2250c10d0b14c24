//! The two ends of a byte stream: what is to be sent again or for the first time, and what has arrived.
//!
//! Both CRYPTO streams and application streams are made of them. Bytes are counted, not stored.

use super::frame::VARINT_MAX;
use crate::ranges::RangeSet;

/// The sending end.
#[derive(Clone, Default, Debug)]
pub(super) struct SendBuffer {
    /// Bytes the application wrote.
    written: u64,
    /// The end of what was sent.
    sent: u64,
    /// While a scheduler takes bytes from further back.
    parts: Option<Box<Parts>>,
    acked: RangeSet,
    /// Sent, lost and not sent again yet.
    lost: RangeSet,
    finish: bool,
    fin: Fin,
}

/// New bytes that are not sent in order.
#[derive(Clone, Default, Debug)]
struct Parts {
    /// Bytes below the end of what was sent that were never sent.
    skipped: RangeSet,
    /// How many bytes that were never sent the next chunk leaves out.
    skip: u64,
}

/// The state of the mark that ends a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Fin {
    #[default]
    Unsent,
    Sent,
    Lost,
    Acked,
}

/// Bytes that may be sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chunk {
    pub offset: u64,
    /// As many as there are; may be 0 where only the end is to be told.
    pub len: u64,
    /// Whether they were sent before.
    pub again: bool,
}

/// A part of a stream, and whether the stream ends with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StreamData {
    pub offset: u64,
    pub len: u32,
    pub fin: bool,
}

impl StreamData {
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.len.into())
    }
}

impl SendBuffer {
    pub fn write(&mut self, bytes: u64) {
        if !self.finish {
            // Offsets cannot exceed 2^62 - 1 (RFC 9000 section 4.5).
            self.written = self.written.saturating_add(bytes).min(VARINT_MAX);
        }
    }

    pub fn finish(&mut self) {
        self.finish = true;
    }

    /// The chunk to send next, if new bytes may reach up to the offset `limit`. Lost bytes go first.
    #[inline]
    pub fn next(&self, limit: u64) -> Option<Chunk> {
        if let Some(lost) = self.lost.first() {
            return Some(Chunk { offset: lost.0, len: lost.1 - lost.0, again: true });
        }
        let end = self.written.min(limit);
        if self.parts.is_some() {
            return self.next_of_parts(end);
        }
        if self.sent < end {
            return Some(Chunk { offset: self.sent, len: end - self.sent, again: false });
        }
        self.bare_end()
    }

    /// The chunk to send next where new bytes are not sent in order.
    #[cold]
    fn next_of_parts(&self, end: u64) -> Option<Chunk> {
        let parts = self.parts.as_deref()?;
        let mut skip = parts.skip;
        let beyond = (self.sent < end).then_some((self.sent, end));
        for (start, end) in parts.skipped.iter().chain(beyond) {
            if skip < end - start {
                return Some(Chunk { offset: start + skip, len: end - start - skip, again: false });
            }
            skip -= end - start;
        }
        self.bare_end()
    }

    /// The end alone, if it is to be told.
    #[inline]
    fn bare_end(&self) -> Option<Chunk> {
        let bare_fin = self.finish && self.sent == self.written && matches!(self.fin, Fin::Unsent | Fin::Lost);
        bare_fin.then_some(Chunk { offset: self.written, len: 0, again: self.fin == Fin::Lost })
    }

    /// The next chunk leaves out `skip` bytes that were never sent, or as many as leave `least` of those below `limit`. Not if
    /// bytes are to be sent again.
    #[cold]
    pub fn skip(&mut self, skip: u64, least: u64, limit: u64) {
        let skip = if self.lost.is_empty() { skip.min(self.unsent(limit).saturating_sub(least)) } else { 0 };
        if skip > 0 {
            self.parts.get_or_insert_default().skip = skip;
        } else {
            self.keep_order();
        }
    }

    /// The next chunk leaves out nothing.
    pub fn keep_order(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.skip = 0;
            self.parts.take_if(|parts| parts.skipped.is_empty());
        }
    }

    /// Bytes below the offset `limit` that were never sent.
    pub fn unsent(&self, limit: u64) -> u64 {
        self.written.min(limit).saturating_sub(self.sent) + self.left_out()
    }

    /// Bytes below the end of what was sent that were never sent.
    fn left_out(&self) -> u64 {
        self.parts.iter().flat_map(|parts| parts.skipped.iter()).map(|(start, end)| end - start).sum()
    }

    /// The first `len` bytes of a chunk go out; returns whether the stream ends with them.
    #[inline]
    pub fn on_sent(&mut self, chunk: Chunk, len: u64) -> bool {
        let end = chunk.offset + len;
        if chunk.again {
            self.lost.remove(chunk.offset, end);
        } else {
            if self.parts.is_some() {
                self.on_part_sent(chunk.offset, end);
            }
            self.sent = self.sent.max(end);
        }
        let fin = self.finish && end == self.written;
        if fin && self.fin != Fin::Acked {
            self.fin = Fin::Sent;
        }
        fin
    }

    #[cold]
    fn on_part_sent(&mut self, start: u64, end: u64) {
        if let Some(parts) = &mut self.parts {
            if start > self.sent {
                parts.skipped.insert_all(self.sent, start);
            } else {
                parts.skipped.remove(start, end);
            }
        }
        self.keep_order();
    }

    #[inline]
    pub fn on_acked(&mut self, data: StreamData) {
        if !self.lost.is_empty() {
            self.lost.remove(data.offset, data.end());
        }
        self.acked.insert_all(data.offset, data.end());
        if data.fin {
            self.fin = Fin::Acked;
        }
    }

    pub fn on_lost(&mut self, data: StreamData) {
        let SendBuffer { acked, lost, .. } = self;
        acked.missing(data.offset, data.end(), |start, end| lost.insert(start, end, |_, _| {}));
        if data.fin && self.fin == Fin::Sent {
            self.fin = Fin::Lost;
        }
    }

    /// Whether all that was written (and the end, if there is one) is acknowledged.
    pub fn delivered(&self) -> bool {
        self.acked.prefix() == self.written && (!self.finish || self.fin == Fin::Acked)
    }
    pub fn finished(&self) -> bool {
        self.finish
    }
    /// Bytes that were sent, from the first that is not acknowledged up to the last.
    pub fn outstanding(&self) -> u64 {
        self.sent.saturating_sub(self.acked.prefix()).saturating_sub(self.left_out())
    }
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Where new bytes begin.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// The receiving end.
#[derive(Clone, Default, Debug)]
pub(super) struct RecvBuffer {
    /// The offset up to which everything has arrived.
    in_order: u64,
    /// Ranges that have arrived behind a gap.
    ahead: RangeSet,
    highest: u64,
    read: u64,
    final_size: Option<u64>,
    /// Bytes behind a gap.
    held: u64,
}

impl RecvBuffer {
    /// Bytes arrived; returns by how much the highest offset grew, which is what flow control counts.
    ///
    /// # Errors
    /// The name of the transport error (RFC 9000 section 20.1) if they contradict the stream's final size.
    #[inline(always)]
    pub fn on_frame(&mut self, data: StreamData) -> Result<u64, &'static str> {
        let StreamData { offset, fin, .. } = data;
        let end = data.end();
        if end > VARINT_MAX {
            return Err("FRAME_ENCODING_ERROR: a stream's offset exceeds 2^62 - 1");
        }
        if let Some(size) = self.final_size {
            if end > size || (fin && end != size) {
                return Err("FINAL_SIZE_ERROR: data or an end contradict the stream's final size");
            }
        } else if fin {
            if end < self.highest {
                return Err("FINAL_SIZE_ERROR: the stream ends before data already received");
            }
            self.final_size = Some(end);
        }
        if self.held == 0 && offset <= self.in_order {
            self.in_order = self.in_order.max(end);
        } else {
            self.take_ahead(offset.max(self.in_order), end);
        }
        let grown = end.saturating_sub(self.highest);
        self.highest += grown;
        Ok(grown)
    }

    /// Bytes arrived behind a gap, or fill one.
    #[inline(never)]
    fn take_ahead(&mut self, offset: u64, end: u64) {
        self.ahead.insert(offset, end, |start, end| self.held += end - start);
        if let Some((start, end)) = self.ahead.first().filter(|first| first.0 <= self.in_order) {
            self.ahead.pop_first();
            self.held -= end - start;
            self.in_order = end;
        }
    }

    /// Bytes behind a gap.
    #[inline]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes in order that were not read yet.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.in_order - self.read
    }

    /// Takes them.
    pub fn read(&mut self) -> u64 {
        let bytes = self.readable();
        self.read += bytes;
        bytes
    }

    /// The offset up to which everything has arrived.
    pub fn in_order(&self) -> u64 {
        self.in_order
    }
    #[inline]
    pub fn highest(&self) -> u64 {
        self.highest
    }
    pub fn final_size(&self) -> Option<u64> {
        self.final_size
    }
    /// Whether everything has been read.
    pub fn exhausted(&self) -> bool {
        self.final_size == Some(self.read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, len: u32) -> StreamData {
        StreamData { offset, len, fin: false }
    }

    fn last(offset: u64, len: u32) -> StreamData {
        StreamData { offset, len, fin: true }
    }

    #[test]
    fn a_chunk_from_further_back_leaves_what_comes_before_it() {
        let mut buffer = SendBuffer::default();
        buffer.write(5000);
        buffer.finish();
        buffer.skip(2000, 1000, 4000);
        let chunk = buffer.next(4000).unwrap();
        assert_eq!(chunk, Chunk { offset: 2000, len: 2000, again: false });
        buffer.on_sent(chunk, 1000);
        assert_eq!((buffer.sent(), buffer.unsent(4000), buffer.outstanding()), (3000, 3000, 1000));
        let chunk = buffer.next(4000).unwrap();
        assert_eq!(chunk, Chunk { offset: 0, len: 2000, again: false }, "the next one is in order");
        buffer.on_sent(chunk, 500);
        buffer.skip(9000, 1000, 5000);
        let chunk = buffer.next(5000).unwrap();
        assert_eq!(chunk, Chunk { offset: 4000, len: 1000, again: false }, "there is no more: the last of it");
        assert!(buffer.on_sent(chunk, 1000), "the end goes with it");
        buffer.on_lost(part(2000, 1000));
        buffer.skip(700, 100, 5000);
        let chunk = buffer.next(5000).unwrap();
        assert_eq!(chunk, Chunk { offset: 2000, len: 1000, again: true }, "lost bytes go first");
        buffer.on_sent(chunk, 1000);
        for wanted in [(500, 1500), (3000, 1000)] {
            let chunk = buffer.next(5000).unwrap();
            assert_eq!((chunk.offset, chunk.len), wanted);
            buffer.on_sent(chunk, chunk.len);
        }
        assert_eq!(buffer.next(5000), None);
    }

    #[test]
    fn lost_bytes_go_first_and_late_acknowledgements_call_them_off() {
        let mut buffer = SendBuffer::default();
        buffer.write(3000);
        buffer.finish();
        let chunk = buffer.next(u64::MAX).unwrap();
        assert!(!buffer.on_sent(chunk, 1000));
        let chunk = buffer.next(u64::MAX).unwrap();
        assert_eq!(chunk, Chunk { offset: 1000, len: 2000, again: false });
        assert!(buffer.on_sent(chunk, 2000));
        assert_eq!(buffer.next(u64::MAX), None);
        buffer.on_lost(part(0, 1000));
        buffer.on_lost(last(1000, 2000));
        assert_eq!(buffer.next(u64::MAX), Some(Chunk { offset: 0, len: 3000, again: true }));
        buffer.on_acked(part(0, 1000));
        let chunk = buffer.next(u64::MAX).unwrap();
        assert_eq!(chunk, Chunk { offset: 1000, len: 2000, again: true });
        assert!(buffer.on_sent(chunk, 2000));
        buffer.on_acked(last(1000, 2000));
        assert!(buffer.delivered());
        assert_eq!(buffer.next(u64::MAX), None);
    }

    #[test]
    fn a_bare_end_is_sent_and_sent_again() {
        let mut buffer = SendBuffer::default();
        buffer.finish();
        let chunk = buffer.next(0).unwrap();
        assert!(buffer.on_sent(chunk, 0) && buffer.next(0).is_none() && !buffer.delivered());
        buffer.on_lost(last(0, 0));
        assert_eq!(buffer.next(0), Some(Chunk { offset: 0, len: 0, again: true }));
        buffer.on_acked(last(0, 0));
        assert!(buffer.delivered() && buffer.next(0).is_none());
    }

    #[test]
    fn new_bytes_stop_at_the_limit() {
        let mut buffer = SendBuffer::default();
        buffer.write(10_000);
        assert_eq!(buffer.next(4000).map(|c| c.len), Some(4000));
        let chunk = buffer.next(4000).unwrap();
        buffer.on_sent(chunk, 4000);
        assert_eq!(buffer.next(4000), None);
    }

    #[test]
    fn a_final_size_binds() {
        let mut buffer = RecvBuffer::default();
        assert_eq!(buffer.on_frame(part(100, 100)), Ok(200));
        assert_eq!(buffer.readable(), 0);
        assert!(buffer.clone().on_frame(last(0, 150)).is_err());
        assert_eq!(buffer.on_frame(part(0, 100)), Ok(0));
        assert_eq!(buffer.read(), 200);
        assert_eq!(buffer.on_frame(last(200, 0)), Ok(0));
        assert!(buffer.exhausted());
        assert!(buffer.on_frame(part(200, 1)).is_err());
        assert!(buffer.on_frame(part(VARINT_MAX, 5)).is_err());
    }
}
