//! The shared receive buffer: data of all subflows in one order.

use crate::ranges::RangeSet;
use crate::reassembly::{Reassembly, Waiting};
use crate::reordering::{Release, Sequence};
use crate::tcp::{Config, Window};
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
    /// Bytes held behind a gap.
    pub held: u64,
    /// The end of the window that was offered.
    pub edge: u64,
    pub window: Window,
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
            held: 0,
            edge: 0,
            window: Window::measured(config),
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
            self.out_of_order.insert(start, end, |s, e| fresh += e - s);
            self.duplicate_bytes += end - start - fresh;
            self.held += fresh;
            return;
        }
        self.duplicate_bytes += self.next - start;
        self.next = end;
        while let Some(range) = self.out_of_order.first().filter(|r| r.0 <= self.next) {
            self.duplicate_bytes += self.next.min(range.1) - range.0;
            self.next = self.next.max(range.1);
            self.held -= range.1 - range.0;
            self.out_of_order.pop_first();
        }
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

    /// Whether all data has arrived.
    pub fn is_complete(&self) -> bool {
        self.fin == Some(self.next)
    }

    pub fn readable(&self) -> u64 {
        self.next - self.read
    }

    /// Bytes that the buffer holds.
    pub fn buffered(&self) -> u64 {
        self.held + self.readable()
    }

    /// The application takes what is in order. `rtt` is the longest of the subflows'.
    pub fn consume(&mut self, rtt: Option<Span>, now: Time) -> u64 {
        let bytes = self.readable();
        self.read = self.next;
        self.window.adjust(now, rtt.unwrap_or_default(), self.read, 0);
        bytes
    }

    /// The window to be offered beyond what is acknowledged, if a subflow would offer `space`. It never moves back.
    pub fn offer(&mut self, space: u64) -> u64 {
        let (room, before) = (self.window.clamp.saturating_sub(self.buffered()), self.edge);
        self.edge = self.edge.max(self.next.saturating_add(space.min(room)));
        let unit = (1 << self.window.scale) - 1;
        let window = (self.edge.saturating_sub(self.next) + unit) & !unit;
        self.edge = self.next + window;
        debug_assert!(self.edge >= before, "{} is below {before}", self.edge);
        window
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
        assert_eq!((r.readable(), r.held, r.buffered()), (100, 150, 250));
        r.take(100, 220);
        assert_eq!((r.next, r.held), (250, 100));
        r.take(300, 350);
        r.take(250, 300);
        r.count_waiting(0, at(7));
        assert_eq!((r.next, r.held), (400, 0));
        assert_eq!((r.reassembly().most_held, r.reassembly().blocked), (157, Span::from_millis(5)));
        assert_eq!(r.duplicate_bytes, 20 + 50);
        assert_eq!(r.consume(None, at(8)), 400);
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
    fn the_window_never_moves_back() {
        let mut r = receiving();
        let first = r.offer(100_000);
        r.take(0, 1000);
        assert!(r.next + r.offer(10) >= first);
    }
}
