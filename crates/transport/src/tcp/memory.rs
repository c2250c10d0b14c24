//! The memory that data takes in the receiver's buffer: segments that wait behind a gap, or to be read.

use super::config::NetworkCard;
use std::collections::VecDeque;

/// Data that is held behind a gap.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Held {
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of memory that it takes.
    pub memory: u64,
}

/// A buffer of segments that follow one another (Linux: `struct sk_buff`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Buffer {
    start: u64,
    end: u64,
    memory: u32,
    segments: u8,
}

/// How a segment behind a gap was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stored {
    /// With the segments before it.
    Together,
    /// In a buffer of its own.
    Apart,
}

/// The buffers in which a receiver's segments wait.
#[derive(Clone, Default, Debug)]
pub(super) struct Buffers {
    /// Buffers behind gaps, if there are any.
    behind: Option<Box<Behind>>,
    /// Buffers in order, which nobody has read yet.
    queue: Queue,
}

/// Buffers behind gaps.
#[derive(Clone, Default, Debug)]
struct Behind {
    /// In ascending order. Those that are adjacent are apart: a buffer is filled at its end alone.
    list: VecDeque<Buffer>,
    /// Their memory, bytes.
    memory: u64,
}

/// The buffers of data in order that nobody has read yet.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    /// Bytes of the first buffer.
    first: u32,
    /// The memory of all, bytes.
    memory: u32,
    /// Segments of the last buffer; 0 if nothing waits.
    segments: u8,
    /// Whether the first buffer is not the last.
    several: bool,
}

impl Buffers {
    /// The memory of what is held behind gaps, bytes.
    pub(super) fn memory(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.memory)
    }

    /// Stores `[start, end)`, which is new and behind a gap, with the data before it if there is room (Linux:
    /// `tcp_data_queue_ofo`, `skb_try_coalesce`).
    pub(super) fn store(&mut self, start: u64, end: u64, card: NetworkCard) -> Stored {
        let Behind { list, memory: all } = &mut **self.behind.get_or_insert_default();
        let place = match list.back() {
            Some(last) if start < last.start => list.partition_point(|buffer| buffer.start < start),
            _ => list.len(),
        };
        let len = (end - start) as u32;
        if let Some(before) = place.checked_sub(1).and_then(|i| list.get_mut(i))
            && before.end == start
            && before.segments < card.together()
        {
            let memory = card.appended(len.into()) as u32;
            (before.end, before.segments) = (end, before.segments + 1);
            before.memory = before.memory.saturating_add(memory);
            *all += u64::from(memory);
            return Stored::Together;
        }
        let memory = card.memory(len.into()) as u32;
        *all += u64::from(memory);
        if list.capacity() == 0 {
            list.reserve_exact(1);
        }
        list.insert(place, Buffer { start, end, memory, segments: 1 });
        Stored::Apart
    }

    /// A segment with `len` bytes of data in order arrived (Linux: `tcp_queue_rcv`).
    #[inline]
    pub(super) fn append(&mut self, len: u64, card: NetworkCard) {
        self.queue.append(len, 1, card.memory(len), card);
    }

    /// The memory of all that waits, in order or behind gaps, bytes (Linux: `sk_rmem_alloc`).
    pub(super) fn taken(&self) -> u64 {
        self.memory() + u64::from(self.queue.memory)
    }

    /// The data that was held below `next` is in order now (Linux: `tcp_ofo_queue`).
    pub(super) fn release(&mut self, next: u64, card: NetworkCard) {
        let Some(behind) = &mut self.behind else { return };
        while let Some(buffer) = behind.list.front().copied().filter(|buffer| buffer.start < next) {
            behind.list.pop_front();
            behind.memory = behind.memory.saturating_sub(buffer.memory.into());
            self.queue.append(buffer.end - buffer.start, buffer.segments, buffer.memory.into(), card);
        }
        if behind.list.is_empty() {
            self.behind = None;
        }
    }

    /// All that is in order is read. Returns the bytes of its first buffer.
    #[inline]
    pub(super) fn read(&mut self) -> u64 {
        std::mem::take(&mut self.queue).first.into()
    }
}

impl Queue {
    /// Appends a buffer of so many bytes, segments and bytes of memory.
    #[inline]
    fn append(&mut self, bytes: u64, segments: u8, memory: u64, card: NetworkCard) {
        let whole = |bytes| u32::try_from(bytes).unwrap_or(u32::MAX);
        let (bytes, mut memory) = (whole(bytes), whole(memory));
        if self.segments == 0 {
            (self.first, self.segments) = (bytes, segments);
        } else if self.segments.saturating_add(segments) <= card.together() {
            memory = memory.saturating_sub(whole(card.given_back()));
            self.segments += segments;
            self.first = self.first.saturating_add(if self.several { 0 } else { bytes });
        } else {
            (self.segments, self.several) = (segments, true);
        }
        self.memory = self.memory.saturating_add(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRTIO: NetworkCard = NetworkCard::Virtio;
    const FULL: u64 = 1448;

    /// Stores full segments, by their numbers.
    fn store(buffers: &mut Buffers, numbers: impl IntoIterator<Item = u64>, card: NetworkCard) {
        for i in numbers {
            buffers.store(i * FULL, (i + 1) * FULL, card);
        }
    }

    /// The number of buffers behind gaps.
    fn number(buffers: &Buffers) -> usize {
        buffers.behind.as_ref().map_or(0, |behind| behind.list.len())
    }

    #[test]
    fn a_buffer_is_filled_at_its_end_and_holds_so_many_segments() {
        let mut buffers = Buffers::default();
        for i in 1..=18 {
            let stored = buffers.store(i * FULL, (i + 1) * FULL, VIRTIO);
            assert_eq!(stored, if i == 1 { Stored::Apart } else { Stored::Together });
        }
        assert_eq!(buffers.memory(), 18 * FULL + 728 + 17 * 472);
        // There is no room for the next, and what a later segment makes adjacent stays apart.
        store(&mut buffers, [19, 40, 39, 41], VIRTIO);
        assert_eq!(number(&buffers), 4);
        buffers.append(FULL, VIRTIO);
        buffers.release(20 * FULL, VIRTIO);
        assert_eq!((buffers.memory(), number(&buffers)), (3 * FULL + 2 * 728 + 472, 2));
        buffers.release(42 * FULL, VIRTIO);
        assert_eq!((buffers.memory(), number(&buffers)), (0, 0));
    }

    #[test]
    fn segments_between_namespaces_add_their_data_alone_and_seventeen_make_a_buffer() {
        let mut buffers = Buffers::default();
        store(&mut buffers, 1..=18, NetworkCard::Veth);
        assert_eq!((buffers.memory(), number(&buffers)), (18 * FULL + 2 * 960, 2));
    }

    #[test]
    fn the_first_buffer_of_a_read_ends_where_the_next_finds_no_room_in_it() {
        let mut buffers = Buffers::default();
        buffers.append(FULL, VIRTIO);
        buffers.append(FULL, VIRTIO);
        assert_eq!((buffers.read(), buffers.read()), (2 * FULL, 0));
        // A segment fills the gap before a buffer of 18 segments and one of 12.
        store(&mut buffers, 1..=30, VIRTIO);
        buffers.append(FULL, VIRTIO);
        buffers.release(31 * FULL, VIRTIO);
        assert_eq!(buffers.read(), FULL);
        store(&mut buffers, 1..=17, VIRTIO);
        buffers.append(FULL, VIRTIO);
        buffers.release(18 * FULL, VIRTIO);
        assert_eq!(buffers.read(), 18 * FULL);
    }
}
