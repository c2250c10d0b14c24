//! The receiving half: reassembly, when to acknowledge and with which SACK blocks, the receive window.

mod blocks;
mod disorder;
mod misbehaving;
mod rtt;
mod sharing;
mod sizes;
mod telling;

use super::config::Config;
use super::echo::{Asks, Echo};
use super::memory::{Buffers, Held};
use super::segment::Segment;
use super::sender::Sender;
use super::ticks::{Ticks, is_older, timestamp};
use super::window::{Arrival, Window};
use crate::ranges::RangeSet;
use crate::reassembly::{Reassembly, Waiting};
use crate::reordering::{Release, Sequence};
use blocks::Blocks;
use haltere_net::{Cx, Ecn, Span, Time};
use misbehaving::Misbehaviour;
use rtt::ReceiverRtt;
use sizes::{LEAST_MSS, USUAL_MSS};

/// The delayed-ACK timer's lower bound (Linux: `TCP_DELACK_MIN`).
const DELAY_MIN: Span = Span::from_millis(40);
/// By how much a timestamp may be older than that of a segment in order, ms (Linux: `TCP_PAWS_WINDOW`).
const REPLAY: u32 = 1;
/// The number of acknowledgements that are sent at once after a mark.
const QUICK_AFTER_MARK: u32 = 2;

/// Whether and when an acknowledgement is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Nothing to acknowledge.
    No,
    /// By this time.
    At(Time),
    /// Now.
    Now,
}

/// The receiving half.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Next position expected.
    pub next: u64,
    fin: Option<u64>,
    read: u64,
    out_of_order: RangeSet,
    /// Blocks to report, the most recent first.
    recent: Blocks,
    /// Data that arrived twice, to be reported once; empty if none did.
    duplicate: (u64, u64),
    /// Blocks of a compressed acknowledgement. They must be sent before newer blocks displace them from the list.
    flush: Option<Box<[(u64, u64)]>>,
    due: Due,
    /// Whether the segment in process is to be acknowledged at once (Linux: `ICSK_ACK_NOW`).
    now: bool,
    /// Segments since the last acknowledgement that the peer pushed, or that are smaller than full: 0, 1 or more.
    pushed: u8,
    /// `next` at the last acknowledgement sent.
    acked: u64,
    /// Data bytes in a full segment of the peer, estimated from arrivals (Linux: `rcv_mss`). A window of fewer than two
    /// such segments keeps the peer from sending larger ones.
    mss: u64,
    /// Data bytes of the last segment, if it was smaller than these and not for its end (Linux: `last_seg_size`); 0 otherwise.
    small: u16,
    delayed_ack: bool,
    /// See [`Config::forget_sacks`].
    forgets: bool,
    quick: u32,
    quick_start: u32,
    interactive: bool,
    delay: Span,
    delay_max: Span,
    /// Bytes that may remain unacknowledged, in full segments. One more byte triggers an acknowledgement.
    tolerated: u32,
    hurried: bool,
    last_data: Option<Time>,
    compression: Span,
    /// See [`Config::ack_window`], the window that was offered last, and whether the next acknowledgement offers as much.
    ack_window: bool,
    offered: u32,
    opens: bool,
    /// The share of the RTT that bounds it, percent, and what its timer is late.
    compression_share: u8,
    slack: Span,
    compressed_most: u8,
    blocks: u8,
    dsack: bool,
    compressed: u8,
    duplicates: u8,
    duplicates_at: u64,
    /// Whether the acknowledgement that is due waits for a process that reads, which takes it some time by its host's clock.
    reading: bool,
    /// Whether an acknowledgement was due before the application read, has not left yet, and has its window already.
    promised: bool,
    /// When what is compressed is sent; [`Time::NEVER`] if nothing is.
    compressed_until: Time,
    /// When the timer of delayed acknowledgements expires. It runs on when an acknowledgement was sent before.
    delay_timer: Time,
    ticks: Ticks,
    recent_timestamp: u32,
    pub echo: Echo,
    /// An acknowledgement that is sent before any other: its position, and whether it echoes marks.
    early: Option<(u64, bool)>,
    /// How it misbehaves, if it does.
    misbehaves: Option<Box<Misbehaviour>>,
    window: Window,
    buffers: Buffers,
    rtt: ReceiverRtt,
    /// While acknowledgements are held back, the timestamp of when something arrived or was read last (Linux: `tcp_mstamp`);
    /// and whether the next acknowledgement carries it.
    heard: u32,
    stale: bool,
    /// Bytes held behind a gap, and how long they waited.
    pub held: u64,
    waiting: Waiting,
    order: Sequence,
    /// The timestamp of when an acknowledgement that had been overtaken was answered last; 0 if none was.
    answered: u32,
    /// Whether the window is that of an MPTCP connection, and the bytes that the connection holds.
    shared: Option<u64>,
    /// Whether the last acknowledgement has told all that there is to tell.
    told: bool,
}

impl Receiver {
    pub(super) fn new(config: &Config, ticks: Ticks) -> Receiver {
        Receiver {
            next: 0,
            fin: None,
            read: 0,
            out_of_order: RangeSet::default(),
            recent: Blocks::new(),
            duplicate: (0, 0),
            flush: None,
            due: Due::No,
            now: false,
            pushed: 0,
            acked: 0,
            mss: config.mss().min(config.initial_receive_window / 2).clamp(LEAST_MSS, USUAL_MSS),
            small: 0,
            delayed_ack: config.delayed_ack,
            forgets: config.forget_sacks,
            quick: 0,
            quick_start: if config.hurried_acks { config.quick_acks } else { 0 },
            interactive: false,
            delay: Span::ZERO,
            delay_max: config.max_ack_delay,
            tolerated: config.ack_every.saturating_sub(1),
            hurried: config.hurried_acks,
            last_data: None,
            compression: if config.sack { config.sack_compression } else { Span::ZERO },
            ack_window: config.ack_window,
            offered: 0,
            opens: true,
            compression_share: u8::try_from(config.sack_compression_share).unwrap_or(u8::MAX),
            slack: config.sack_compression_slack,
            compressed_most: u8::try_from(config.sack_compression_acks).unwrap_or(u8::MAX),
            blocks: if config.sack { config.sack_blocks as u8 } else { 0 },
            dsack: config.dsack,
            compressed: 0,
            duplicates: 0,
            duplicates_at: 0,
            reading: false,
            promised: false,
            compressed_until: Time::NEVER,
            delay_timer: Time::ZERO,
            ticks,
            recent_timestamp: 0,
            echo: Echo::default(),
            early: None,
            misbehaves: Misbehaviour::of(config),
            window: Window::new(config),
            buffers: Buffers::default(),
            rtt: ReceiverRtt::new(config.autotuning),
            heard: 0,
            stale: false,
            held: 0,
            waiting: Waiting::default(),
            order: Sequence::default(),
            answered: 0,
            shared: None,
            told: false,
        }
    }

    /// Whether a segment lies within the advertised window (RFC 9293 section 3.10.7.4; Linux: `tcp_sequence`), does not
    /// continue after the end of the stream and does not end the stream at another position.
    #[inline]
    pub(super) fn may_hold(&self, s: &Segment) -> bool {
        s.seq <= self.window.edge.max(self.next) && ((!s.fin && self.fin.is_none()) || self.agrees_on_end(s))
    }

    /// Whether a segment agrees with what is known of the end of the stream.
    fn agrees_on_end(&self, s: &Segment) -> bool {
        let (end, highest) = (s.end(), self.out_of_order.last().map_or(self.next, |r| r.1.max(self.next)));
        match self.fin {
            Some(fin) => end <= fin && (!s.fin || end == fin),
            None => end >= highest,
        }
    }

    /// Whether a segment is old, so that nothing in it counts: it ends before the last acknowledgement, which is outside the window
    /// (RFC 9293 section 3.10.7.4; Linux: `tcp_sequence`), or its timestamp is older than that of a segment in order (PAWS, RFC 7323
    /// section 5; Linux: `tcp_paws_check`). A receiver that conceals gaps looks at what fills them.
    #[inline]
    pub(super) fn is_overtaken(&self, s: &Segment) -> bool {
        let age = self.recent_timestamp.wrapping_sub(s.timestamp) as i32;
        (s.end() < self.acked || age > REPLAY as i32) && self.is_old(s)
    }

    #[cold]
    fn is_old(&self, s: &Segment) -> bool {
        (s.end() < self.acked || self.age(s) > REPLAY) && self.misbehaves.is_none()
    }

    /// By how much the timestamp of a segment is older than that of the last one in order, ms.
    #[inline]
    pub(super) fn age(&self, s: &Segment) -> u32 {
        let age = self.recent_timestamp.wrapping_sub(s.timestamp);
        if s.timestamp == 0 || age > i32::MAX as u32 { 0 } else { age }
    }

    /// Processes a segment's timestamp and data. `own` is the sending half.
    pub(super) fn on_segment(&mut self, s: &Segment, ecn: Ecn, now: Time, own: &Sender) {
        if s.timestamp != 0 && s.seq <= self.acked && is_older(self.recent_timestamp, s.timestamp) {
            self.recent_timestamp = s.timestamp;
        }
        let (start, end) = (s.seq, s.end());
        if self.compressed_until != Time::NEVER {
            self.heard = timestamp(now);
        }
        self.rtt.measure(now, s.echo, end - start, self.mss);
        if start == end {
            return;
        }
        self.told = false;
        self.misbehave(s);
        if s.fin && end > self.next {
            self.fin = Some(end);
        }
        if s.cwr {
            let asks = self.echo.take_reduced();
            self.grant(asks);
        }
        if end <= self.next {
            // Old data: the peer did not receive our acknowledgement, or sent the data unnecessarily.
            self.duplicate = (start, end);
            self.enter_quick();
            self.due = Due::Now;
            return;
        }
        if s.len > 0 {
            self.order.arrive(start, start + u64::from(s.len), Release::AtOnce, now, self.waiting.reordering());
        }
        if start > self.next {
            self.take_mark(ecn);
            self.take_out_of_order(s);
            self.waiting.update(self.held, now);
            // An acknowledgement that goes out for the sake of a third block stands for this segment, too.
            if self.flush.is_none() {
                self.schedule_duplicate(now, own);
            }
            return;
        }
        if start < self.next {
            self.duplicate = (start, self.next);
        }
        let had_gap = !self.out_of_order.is_empty();
        let stored = self.stored();
        let fresh = u64::from(s.len).saturating_sub(self.next - start);
        self.next = end;
        self.rtt.bound(now, end, self.offered.into());
        if fresh > 0 {
            self.buffers.append(fresh, self.window.card);
        }
        let mut released = 0;
        while let Some(range) = self.out_of_order.first().filter(|r| r.0 <= self.next) {
            self.next = self.next.max(range.1);
            released += range.1 - range.0;
            self.out_of_order.pop_first();
        }
        if had_gap {
            self.recent.drop_below(self.next);
            self.buffers.release(self.next, self.window.card);
        }
        self.measure(s);
        self.note_data(u64::from(s.len), stored, ecn, now, own);
        self.held -= released;
        if had_gap {
            self.waiting.update(self.held, now);
            self.order.deliver(self.next, now, self.waiting.reordering());
        }
        if had_gap && self.out_of_order.is_empty() {
            // RFC 5681 section 4.2: acknowledge at once when a gap is filled.
            self.due = Due::Now;
        } else if had_gap {
            self.opens = !self.ack_window || self.selected() >= self.offered.into();
            self.schedule_duplicate(now, own);
        } else {
            self.schedule(now, own.rtt.srtt());
        }
    }

    /// Linux's `tcp_event_data_recv`: the delay of acknowledgements follows the interval between arrivals. Both are counted
    /// in whole ticks.
    #[inline]
    fn note_data(&mut self, len: u64, stored: Held, ecn: Ecn, now: Time, own: &Sender) {
        match self.last_data {
            // With the least delay, nothing changes while data comes without pauses.
            Some(last) if self.delay == DELAY_MIN && now.since(last) <= DELAY_MIN / 4 => {}
            None => {
                self.quick = self.quick_start;
                self.delay = DELAY_MIN;
            }
            Some(last) => {
                let (gap, half) = (self.ticks.between(last, now), self.ticks.whole(self.delay / 2));
                if gap <= DELAY_MIN / 2 {
                    self.delay = half + DELAY_MIN / 2;
                } else if gap < self.delay {
                    self.delay = (half + gap).min(self.delay_max);
                } else if self.ticks.outlasts(gap, own.rto()) {
                    // After a long pause the sender may have restarted from a small window.
                    self.quick = self.quick_start;
                }
            }
        }
        self.last_data = Some(now);
        self.take_mark(ecn);
        self.offer_more(Arrival::InOrder { len }, stored);
    }

    fn take_mark(&mut self, ecn: Ecn) {
        let asks = self.echo.take_mark(ecn, self.next);
        self.grant(asks);
    }

    /// Schedules acknowledgements as ECN marks require.
    fn grant(&mut self, asks: Asks) {
        match asks {
            Asks::Nothing => {}
            Asks::Quick => {
                self.quick = self.quick.max(QUICK_AFTER_MARK.min(self.quick_start));
                self.interactive = false;
                self.delay = DELAY_MIN;
            }
            Asks::Now { before, echo } => {
                if matches!(self.due, Due::At(_)) && before > self.acked {
                    self.early = Some((before, echo));
                }
                self.now = true;
            }
        }
    }

    /// Grows the window with each data packet while there is room. The peer is informed at once (Linux:
    /// `tcp_grow_window`).
    fn offer_more(&mut self, arrival: Arrival, stored: Held) {
        if self.window.grow(arrival, self.mss, stored) && self.hurried {
            self.quick |= 1;
        }
    }

    /// The data that is held behind a gap.
    fn stored(&self) -> Held {
        Held { bytes: self.held, memory: self.buffers.memory() }
    }

    fn enter_quick(&mut self) {
        self.quick = self.quick_start;
        self.interactive = false;
        self.delay = DELAY_MIN;
    }

    /// Whether more data has arrived than may remain unacknowledged.
    fn exceeds(&self) -> bool {
        self.next - self.acked > self.mss * u64::from(self.tolerated)
    }

    fn quick_mode(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// RFC 5681 section 4.2, RFC 9293 section 3.8.6.3: acknowledges every second full segment; in quick mode at once,
    /// otherwise delayed.
    #[inline]
    fn schedule(&mut self, now: Time, srtt: Option<Span>) {
        if self.due == Due::Now {
            return;
        }
        if std::mem::take(&mut self.now) || !self.delayed_ack || self.exceeds() || self.quick_mode() {
            self.due = Due::Now;
            return;
        }
        let mut delay = self.delay;
        if delay > DELAY_MIN {
            let cap = srtt.map_or(self.delay_max, |r| r.max(DELAY_MIN).min(self.delay_max));
            delay = delay.min(cap);
        }
        let at = self.ticks.deadline(now, delay.min(self.delay_max));
        self.due = match self.due {
            Due::At(earlier) => Due::At(earlier.min(at)),
            _ => Due::At(at),
        };
        if let Due::At(at) = self.due {
            self.delay_timer = at;
        }
    }

    /// Our side sends data soon after it received some. In such a dialogue, data segments carry the ACKs.
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.interactive |= self.last_data.is_some_and(|t| now.since(t) < self.delay);
    }

    /// When an acknowledgement must go out.
    #[inline]
    pub(super) fn due(&self) -> Due {
        if self.flush.is_some() {
            return Due::Now;
        }
        match self.due {
            Due::At(at) => Due::At(at.min(self.compressed_until)),
            Due::No if self.compressed_until != Time::NEVER => Due::At(self.compressed_until),
            due => due,
        }
    }

    /// The window scale of segments (RFC 7323 section 2).
    pub(super) fn window_scale(&self) -> u8 {
        self.window.scale
    }

    /// The timer of acknowledgements has expired; `rto` is our own retransmission timeout. A delayed acknowledgement waited for
    /// nothing: in a dialogue, which there is none any more, the next ones wait no longer than the least delay, otherwise
    /// longer than before (Linux: `tcp_delack_timer_handler`).
    pub(super) fn on_timer(&mut self, now: Time, rto: Span) {
        self.told = false;
        if std::mem::take(&mut self.reading) {
            self.due = Due::Now;
            return;
        }
        if matches!(self.due, Due::At(at) if at <= now) {
            if std::mem::take(&mut self.interactive) {
                self.delay = DELAY_MIN;
            } else {
                self.delay = (self.delay * 2).min(rto);
            }
        }
        // The timer of SACK compression takes no time for the acknowledgement (Linux: `tcp_compressed_ack_kick`).
        self.stale = self.compressed_until <= now && self.delay_timer != self.compressed_until;
        self.acknowledge_now();
    }

    /// Requests an acknowledgement at once.
    pub(super) fn acknowledge_now(&mut self) {
        (self.due, self.told) = (Due::Now, false);
    }

    /// Bytes of data that are ready in order, without the FIN.
    pub(super) fn readable(&self) -> u64 {
        let fin = u64::from(self.fin.is_some_and(|f| self.next >= f));
        self.next - fin - self.read
    }

    /// Takes these bytes. Requests a window update if that opened the window much. Requests an acknowledgement if the
    /// last of them was pushed, either once outside a dialogue or more than once (Linux: `tcp_cleanup_rbuf`). That leaves once the process
    /// has `read`, if that takes time.
    pub(super) fn take(&mut self, now: Time, read: Option<Time>) -> u64 {
        self.told = false;
        let bytes = self.readable();
        let was_due = self.due == Due::Now;
        if was_due && !self.promised {
            self.promised = true;
            self.select();
        }
        self.read += bytes;
        self.tune(now, bytes);
        let advertised = self.window.edge.saturating_sub(self.next);
        if advertised < 2 * self.mss && self.window.space >= 4 * self.mss && self.window.edge > 0 {
            self.due = Due::Now;
        }
        // Data that did not open the window is acknowledged once it is read (Linux: `tcp_cleanup_rbuf`).
        if self.ack_window && bytes > 0 && self.exceeds() {
            self.due = Due::Now;
        }
        let least = if self.interactive { 2 } else { 1 };
        if self.hurried && bytes > 0 && self.held == 0 && self.pushed >= least && matches!(self.due, Due::At(_)) {
            self.due = Due::Now;
        }
        if let (false, Due::Now, Some(read)) = (was_due, self.due, read) {
            (self.due, self.reading) = (Due::At(read), true);
        }
        bytes
    }

    /// Whether the peer has ended its stream and all of the stream was read.
    pub(super) fn finished(&self) -> bool {
        self.fin.is_some_and(|f| self.next >= f) && self.readable() == 0
    }

    /// The timestamp in the peer's SYN.
    pub(super) fn on_handshake(&mut self, timestamp: u32) {
        self.recent_timestamp = timestamp;
    }

    /// The cost of data out of order so far.
    pub(super) fn reassembly(&self) -> &Reassembly {
        self.waiting.cost()
    }

    /// Looks whether the run is a trace.
    #[inline]
    pub(super) fn watch(&mut self, cx: &Cx<'_>) {
        self.waiting.watch(cx);
    }

    /// Reports to the probe. What a subflow holds, its connection reports.
    #[inline]
    pub(super) fn trace(&mut self, cx: &mut Cx<'_>) {
        if cx.probing() && self.shared.is_none() {
            self.waiting.report(cx);
        }
    }
}
