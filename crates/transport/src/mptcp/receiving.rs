//! The shared receive buffer: data of all subflows in one order.

use super::repair::LEAST_TIMEOUT;
use crate::ranges::RangeSet;
use crate::reassembly::{Reassembly, Waiting};
use crate::reordering::{Release, Sequence};
use crate::tcp::{Buffers, Config, Window, whole_micros};
use haltere_net::{Cx, Span, Time};

/// The receiving side of the data.
#[derive(Debug)]
pub(super) struct Receiving {
    /// Next position expected.
    pub next: u64,
    /// The end of what the application read.
    pub read: u64,
    /// The end of the data, if the peer told it.
    pub fin: Option<u64>,
    out_of_order: RangeSet,
    /// The memory of what waits.
    buffers: Buffers,
    /// The data bytes of a full segment.
    segment: u64,
    /// When the end of the data was last acknowledged.
    answered: Option<Time>,
    /// Bytes held behind a gap.
    pub held: u64,
    /// The end of the window that was offered.
    pub edge: u64,
    /// The window that was offered last, on whichever subflow.
    pub told: u64,
    pub window: Window,
    /// The round trip with which the buffer was last looked at.
    round: Span,
    /// Bytes that arrived twice.
    pub duplicate_bytes: u64,
    waiting: Waiting,
    order: Sequence,
}

impl Receiving {
    pub fn new(config: &Config) -> Receiving {
        Receiving {
            next: 0,
            read: 0,
            fin: None,
            out_of_order: RangeSet::default(),
            buffers: Buffers::default(),
            segment: config.mss(),
            answered: None,
            held: 0,
            edge: 0,
            told: 0,
            window: Window::new(config),
            round: Span::ZERO,
            duplicate_bytes: 0,
            waiting: Waiting::default(),
            order: Sequence::default(),
        }
    }

    /// Whether data up to `end` fits into the window that was offered and into the stream.
    pub fn may_hold(&self, end: u64) -> bool {
        end <= self.edge.max(self.next) && self.fin.is_none_or(|fin| end <= fin)
    }

    /// Takes data that a subflow delivered in its own order.
    pub fn take(&mut self, start: u64, end: u64) {
        if end <= self.next {
            self.duplicate_bytes += end - start;
            return;
        }
        if start > self.next {
            let mut fresh = 0;
            let Receiving { out_of_order, buffers, segment, window, .. } = self;
            out_of_order.insert(start, end, |s, e| {
                fresh += e - s;
                for (s, e) in segments(s, e, *segment) {
                    buffers.store(s, e, window.card);
                }
            });
            self.duplicate_bytes += end - start - fresh;
            self.held += fresh;
            return;
        }
        self.duplicate_bytes += self.next - start;
        for (s, e) in segments(self.next, end, self.segment) {
            self.buffers.append(e - s, self.window.card);
        }
        self.next = end;
        while let Some(range) = self.out_of_order.first().filter(|r| r.0 <= self.next) {
            self.duplicate_bytes += self.next.min(range.1) - range.0;
            self.next = self.next.max(range.1);
            self.held -= range.1 - range.0;
            self.out_of_order.pop_first();
        }
        self.buffers.release(self.next, self.window.card);
    }

    /// The peer's data ends at `position`. Returns whether that agrees with what is known.
    pub fn end_at(&mut self, position: u64) -> bool {
        let highest = self.out_of_order.last().map_or(self.next, |r| r.1.max(self.next));
        if position < highest || self.fin.is_some_and(|fin| fin != position) {
            return false;
        }
        self.fin = Some(position);
        true
    }

    /// The position that DATA_ACK tells: DATA_FIN takes one.
    pub fn data_ack(&self) -> u64 {
        self.next + u64::from(self.is_complete())
    }

    /// The peer told the end of its data: whether that is answered now. The answer may be lost, so that a repetition is answered, too;
    /// but two ends that both tell theirs in every acknowledgement do not go on answering each other.
    pub fn answers_end(&mut self, now: Time) -> bool {
        let answers = self.is_complete() && self.answered.is_none_or(|last| now.since(last) >= LEAST_TIMEOUT);
        if answers {
            self.answered = Some(now);
        }
        answers
    }

    /// Whether all data has arrived.
    pub fn is_complete(&self) -> bool {
        self.fin == Some(self.next)
    }

    pub fn readable(&self) -> u64 {
        self.next - self.read
    }

    /// The application takes what is in order.
    pub fn consume(&mut self) -> u64 {
        let bytes = self.readable();
        self.read = self.next;
        self.buffers.read();
        bytes
    }

    /// The application has taken data: looks, once in a round trip, how large the buffer should be (Linux: `mptcp_rcv_space_adjust`).
    /// `rtt` is the longest of the subflows'. `share` is the least share of a buffer that is window on any of them, in 256ths.
    pub fn tune(&mut self, rtt: Span, share: u8, now: Time) {
        if whole_micros(now).since(self.window.since) < self.round {
            return;
        }
        self.round = rtt;
        self.window.take_share(share);
        self.window.adjust(now, rtt, self.read, 0);
    }

    /// The memory that data takes which waits to be read or for what is missing, bytes.
    pub fn taken(&self) -> u64 {
        self.buffers.taken()
    }

    /// The window for which the buffer has room.
    pub fn room(&self) -> u64 {
        self.window.room(self.taken(), self.segment)
    }

    /// The window to be offered beyond what is acknowledged, if a subflow would offer `space`. It never moves back. Where another
    /// subflow has offered more, what the scale does not tell of that is left out (Linux: `mptcp_set_rwin`).
    pub fn offer(&mut self, space: u64) -> u64 {
        self.edge = self.edge.max(self.next.saturating_add(self.window.scaled(space)));
        self.told = self.offered();
        self.told & !((1 << self.window.scale) - 1)
    }

    /// The rest of the window that was offered.
    pub fn offered(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// Counts what waits for data that is missing: here, and in subflows, which hold `below` bytes.
    pub fn count_waiting(&mut self, below: u64, now: Time) {
        if self.held + below > 0 || self.waiting.is_waiting() {
            self.waiting.update(self.held + below, now);
        }
    }

    /// A segment arrived on some subflow with the data from `start` to `end`, and what it allowed to be delivered was.
    pub fn count_arrival(&mut self, start: u64, end: u64, now: Time) {
        let counts = self.waiting.reordering();
        let release = if self.next < end { Release::Later } else { Release::AtOnce };
        self.order.arrive(start, end, release, now, counts);
        self.order.deliver(self.next, now, counts);
    }

    /// Looks whether the run is a trace.
    pub fn watch(&mut self, cx: &Cx<'_>) {
        self.waiting.watch(cx);
    }

    /// Reports to the probe.
    pub fn trace(&mut self, cx: &mut Cx<'_>) {
        self.waiting.report(cx);
    }

    pub fn reassembly(&self) -> &Reassembly {
        self.waiting.cost()
    }
}

/// The parts of a stretch of data that full segments carry.
fn segments(start: u64, end: u64, full: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..(end - start).div_ceil(full)).map(move |i| (start + i * full, (start + (i + 1) * full).min(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::cc;
    use haltere_net::rng::Streams;

    fn receiving() -> Receiving {
        let config = Config::new(Role::Client, cc::CUBIC, Streams::new(1, 0).named("test"));
        Receiving::new(&config)
    }

    #[test]
    fn data_is_put_in_order_and_waiting_is_counted() {
        let (mut r, at) = (receiving(), |ms| Time::ZERO + Span::from_millis(ms));
        r.take(0, 100);
        r.take(300, 400);
        r.count_waiting(0, at(2));
        r.take(200, 250);
        r.count_waiting(7, at(3));
        assert_eq!((r.readable(), r.held), (100, 150));
        r.take(100, 220);
        assert_eq!((r.next, r.held), (250, 100));
        r.take(300, 350);
        r.take(250, 300);
        r.count_waiting(0, at(7));
        assert_eq!((r.next, r.held), (400, 0));
        assert_eq!((r.reassembly().most_held, r.reassembly().blocked), (157, Span::from_millis(5)));
        assert_eq!(r.duplicate_bytes, 20 + 50);
        assert_eq!(r.consume(), 400);
    }

    #[test]
    fn the_end_of_the_data_takes_a_position() {
        let mut r = receiving();
        r.take(0, 100);
        assert!(!r.end_at(50), "data lies beyond");
        assert!(r.end_at(200));
        assert!(!r.end_at(201));
        assert_eq!(r.data_ack(), 100);
        r.take(100, 200);
        assert_eq!(r.data_ack(), 201);
    }

    #[test]
    fn the_window_never_moves_back_and_its_digits_are_those_of_the_scale() {
        let mut r = receiving();
        assert_eq!(r.offer(100_000), r.window.scaled(100_000));
        let edge = r.edge;
        r.take(0, 1000);
        let unit = 1 << r.window.scale;
        assert_eq!(r.offer(10), (edge - 1000) / unit * unit, "another subflow has offered more");
        assert_eq!((r.edge, r.offered()), (edge, edge - 1000));
    }

    #[test]
    fn data_that_waits_takes_memory_until_it_is_read() {
        let mut r = receiving();
        let (full, all) = (r.segment, r.room());
        r.take(2 * full, 4 * full);
        let behind = r.taken();
        assert!(behind > 2 * full, "descriptors count");
        r.take(0, 2 * full);
        assert!(r.taken() > behind && r.room() < all);
        r.consume();
        assert_eq!((r.taken(), r.room()), (0, all));
    }

    #[test]
    fn the_end_is_answered_once_and_again_when_its_repetition_comes_late() {
        let (mut r, at) = (receiving(), |ms| Time::ZERO + Span::from_millis(ms));
        assert!(r.end_at(100));
        assert!(!r.answers_end(at(1)), "data is missing");
        r.take(0, 100);
        assert!(r.answers_end(at(2)));
        assert!(!r.answers_end(at(201)));
        assert!(r.answers_end(at(202)));
    }

    #[test]
    fn the_buffer_follows_the_least_share_of_the_subflows_once_a_round_trip() {
        let (mut r, at) = (receiving(), |ms| Time::ZERO + Span::from_millis(ms));
        let half = r.window.clamp;
        r.tune(Span::from_millis(40), 128, at(50));
        assert_eq!(r.window.clamp, half);
        r.tune(Span::from_millis(40), 160, at(89));
        assert_eq!(r.window.clamp, half, "the round trip is not over");
        r.tune(Span::from_millis(40), 160, at(90));
        assert_eq!(r.window.clamp, half / 128 * 160);
    }
}
