//! Processing of acknowledgements.

use super::{Order, Sender};
use crate::cc::{self, Ask, Phase, Stamps, Trigger};
use crate::recovery::prr::PrrAck;
use crate::tcp::echo::EchoRule;
use crate::tcp::recovery::Answer;
use crate::tcp::scoreboard::{Delivery, Marks};
use crate::tcp::segment::{MAX_SACK_BLOCKS, Segment};
use crate::tcp::ticks::timestamp;
use haltere_net::{Cx, Metric, Span, Time};

/// The state before an acknowledgement.
struct Prior {
    una: u64,
    in_flight: u64,
    /// Bytes found lost so far.
    lost: u64,
}

/// The window that an acknowledgement offers, beside the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    Same,
    Changed,
}

impl Sender {
    /// Whether the peer may acknowledge this position: not one that was never sent, and not one older than any window
    /// it offered (RFC 5961 section 5.2).
    #[inline]
    pub(in crate::tcp) fn may_acknowledge(&self, ack: u64) -> bool {
        ack <= self.nxt && ack.saturating_add(self.largest_window) >= self.una
    }

    /// Whether a segment acknowledges and offers no more than is known.
    pub(in crate::tcp) fn repeats(&self, s: &Segment) -> bool {
        s.ack == self.una && s.ack + s.window <= self.window_end
    }

    /// Processes the acknowledgement of a segment.
    pub(in crate::tcp) fn on_ack(&mut self, s: &Segment, cx: &mut Cx<'_>) {
        let now = cx.now;
        if s.ack > self.nxt {
            return;
        }
        self.firing = false;
        self.rack.now = self.clock.stamp(now);
        self.local.retry();
        let advanced = s.ack > self.una;
        let old = s.ack < self.una;
        let window_update = !old && s.ack + s.window != self.window_end;
        if !old && (advanced || s.ack + s.window > self.window_end || s.len > 0) {
            self.window_end = s.ack + s.window;
            self.largest_window = self.largest_window.max(s.window);
        }
        if self.board.is_empty() {
            debug_assert!(!advanced, "there is nothing to acknowledge");
            let offer = if window_update { Offer::Changed } else { Offer::Same };
            self.take_late(s, offer, now);
            return;
        }
        let prior_highest = self.board.highest_sacked(self.una);
        let prior_sacked = self.board.sacked();
        let prior = Prior { una: self.una, in_flight: self.in_flight(), lost: self.sampler.lost() };
        if advanced {
            self.una = s.ack;
            self.retransmits = 0;
        }
        self.ece = self.echoes() && s.ece;
        let mut d = Delivery::default();
        let mut duplicate = None;
        if s.sacks > 0 {
            if let Some((block, segments)) = self.take_duplicate_sack(s, prior.una) {
                (duplicate, d.duplicates) = (Some(block), segments);
            }
            self.take_sacks(s.sack_blocks().skip(usize::from(duplicate.is_some())), prior.una, &mut d);
        }
        self.take_cumulative(&mut d);
        if !self.rules.sack {
            let plain = !(old || advanced || s.len > 0 || window_update);
            self.count_duplicates(if plain { Answer::Duplicate } else { Answer::Other }, &mut d, now);
        }
        if d.sacked > 0 || d.acked > 0 {
            self.check_reordering(&d, prior_highest);
        }
        let (rtt, delayed) = self.take_rtt(s, &d, prior.una, prior_sacked, cx);
        let mut set_timer = d.acked > 0;
        if d.acked == 0 {
            // A SACK of something sent after the head shows that the path works.
            if let (Some(sent), Some(head)) = (d.first_sacked, self.board.head()) {
                set_timer |= sent < head.sent;
            }
        }
        let prior_delivered = self.sampler.pending_prior_delivered();
        self.rack.update_window(prior_delivered, self.sampler.delivered());
        self.take_count(s, u64::from(d.delivered));
        self.tell_echo(u64::from(d.delivered + d.duplicates) * self.mss, now);
        self.tell_arrival(s, rtt, prior_delivered, cx.now);
        let plain = !(advanced || s.len > 0 || window_update);
        if self.tlp.is_some() {
            let answer = if plain && d.sacked == 0 { Answer::Duplicate } else { Answer::Other };
            self.take_probe_ack(s.ack, duplicate, answer, now);
        }
        let answer = match (advanced, plain && duplicate.is_none()) {
            (true, _) => Answer::Advance,
            (false, true) => Answer::Duplicate,
            (false, false) => Answer::Other,
        };
        let dubious = (!advanced && s.len == 0 && !window_update) || d.sacked > 0 || duplicate.is_some() || self.ece;
        self.order = Order::LostFirst;
        if dubious || self.phase != Phase::Open {
            let keep_timer = self.fast_retransmit_alert(s, &d, answer, now);
            set_timer &= !keep_timer;
        }
        if set_timer {
            self.set_xmit_timer(now);
        }
        self.control(s, &d, &prior, (rtt, delayed), cx);
        if self.board.is_empty() && self.unsent() == 0 {
            self.board.release();
        }
    }

    /// An acknowledgement with nothing in flight.
    fn take_late(&mut self, s: &Segment, offer: Offer, now: Time) {
        self.take_count(s, 0);
        // Linux begins its congestion control behind the acknowledgement that completes the handshake, and later looks at none on
        // data that comes as expected while nothing is in flight (header prediction). The first data has no memory yet, and takes the
        // slow path.
        let skipped = match self.nxt {
            0 => s.len == 0,
            _ => s.len > 0 && s.sacks == 0 && offer == Offer::Same,
        };
        if !skipped {
            self.tell_echo(0, now);
        }
        if s.sacks > 0 || self.tlp.is_some() {
            let plain = s.len == 0 && offer == Offer::Same;
            self.take_late_duplicate(s, if plain { Answer::Duplicate } else { Answer::Other }, now);
        }
    }

    /// An acknowledgement with nothing in flight may still report that a repair or a probe was unnecessary.
    fn take_late_duplicate(&mut self, s: &Segment, answer: Answer, now: Time) {
        let duplicate = self.take_duplicate_sack(s, self.una).map(|(block, _)| block);
        if duplicate.is_some() {
            self.fast_retransmit_alert(s, &Delivery::default(), Answer::Other, now);
        }
        self.take_probe_ack(s.ack, duplicate, answer, now);
    }

    /// Whether the peer echoes marks by a flag.
    fn echoes(&self) -> bool {
        self.ecn.is_some_and(|rule| rule != EchoRule::Accurate)
    }

    /// With accurate ECN: reads the count of marks from an acknowledgement that delivers this many packets.
    fn take_count(&mut self, s: &Segment, packets: u64) {
        if self.ecn == Some(EchoRule::Accurate) {
            let more = self.estimated.take((s.ace(), s.timestamp), packets);
            self.ece = more > 0;
            self.marked += more * self.mss;
        }
    }

    /// Counts the bytes that an acknowledgement delivered for the share of marks, even with nothing in flight.
    fn tell_echo(&mut self, delivered: u64, now: Time) {
        if self.ecn.is_none() {
            return;
        }
        self.marked += if self.ece && self.echoes() { delivered } else { 0 };
        self.cc.on_echo(&cc::Echo {
            now,
            acked_to: self.una,
            sent_to: self.nxt,
            total_delivered: self.sampler.delivered(),
            total_marked: self.marked,
        });
    }

    /// Tells what is known of an acknowledgement before losses are looked for.
    fn tell_arrival(&mut self, s: &Segment, rtt: Option<Span>, prior_delivered: Option<u64>, now: Time) {
        self.cc.on_arrival(&cc::Arrival {
            now: self.rack.now,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            acked_to: self.una,
            sent_to: self.nxt,
            total_delivered: self.sampler.delivered(),
            prior_delivered,
            in_flight: self.in_flight(),
            stamps: stamps(s, now),
        });
    }

    /// A D-SACK (RFC 2883): the first block lies below the ACK or within the second block.
    fn take_duplicate_sack(&mut self, s: &Segment, prior_una: u64) -> Option<((u64, u64), u32)> {
        let mut blocks = s.sack_blocks();
        let first = blocks.next()?;
        let within = |b: (u64, u64)| first.0 >= b.0 && first.1 <= b.1;
        if first.0 >= s.ack && !blocks.next().is_some_and(within) {
            return None;
        }
        let len = first.1.saturating_sub(first.0);
        if len == 0 || len > self.largest_window {
            return None;
        }
        let segments = u32::try_from(len.div_ceil(self.mss)).unwrap_or(u32::MAX);
        self.duplicates = self.duplicates.saturating_add(segments);
        if u64::from(self.duplicates) > self.stats.retransmitted_packets {
            // The network made the copy, or the peer is wrong.
            return None;
        }
        self.stats.spurious_retransmissions += 1;
        let of_probe = segments == 1 && self.tlp.is_some_and(|t| t.high_seq == first.1);
        if self.episode.reordering_seen && !of_probe {
            self.rack.duplicate_seen = true;
        }
        let e = &mut self.episode;
        if e.undo_retrans > 0 && e.undo_marker.is_some_and(|m| first.1 > m) && first.1 <= prior_una.max(s.ack) {
            e.undo_retrans = (e.undo_retrans - i64::from(segments)).max(0);
        }
        self.sampler.on_duplicate(self.rack.now, u64::from(segments) * self.mss);
        self.board.duplicate(first);
        Some((first, segments))
    }

    /// Takes blocks in the order of their positions: the RTT is that of the highest segment among those that are new (Linux:
    /// `tcp_sacktag_write_queue` sorts them).
    fn take_sacks(&mut self, reported: impl Iterator<Item = (u64, u64)>, prior_una: u64, d: &mut Delivery) {
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let count = blocks.iter_mut().zip(reported).map(|(slot, block)| *slot = block).count();
        let blocks = &mut blocks[..count];
        blocks.sort_unstable();
        let high_seq = if self.phase == Phase::Open { self.nxt } else { self.episode.high_seq };
        let mss = self.mss;
        let min_rtt = self.rtt.min();
        let Sender { board, rack, sampler, clock, .. } = self;
        let now = rack.now;
        for &mut (start, end) in blocks {
            if end <= prior_una || end > self.nxt {
                continue;
            }
            board.sack((start.max(prior_una), end), high_seq, prior_una, d, |r| {
                let sent = clock.stamp(r.sent);
                rack.advance(r, sent, min_rtt);
                sampler.on_delivered(now, mss, sent, r.tx);
            });
        }
    }

    /// This is a separate function because its many values would leave the caller's loop without registers.
    #[inline(never)]
    fn take_cumulative(&mut self, d: &mut Delivery) {
        let high_seq = if self.phase == Phase::Open { self.nxt } else { self.episode.high_seq };
        let (mss, una) = (self.mss, self.una);
        let min_rtt = self.rtt.min();
        let Sender { board, rack, sampler, clock, .. } = self;
        let now = rack.now;
        board.acknowledge(una, high_seq, d, |r| {
            if !r.marks.has(Marks::SACKED) {
                let sent = clock.stamp(r.sent);
                rack.advance(r, sent, min_rtt);
                sampler.on_delivered(now, mss, sent, r.tx);
            }
        });
    }

    /// Takes RTT samples. Returns the controller's sample and whether the ACK may have been delayed.
    fn take_rtt(
        &mut self,
        s: &Segment,
        d: &Delivery,
        prior_una: u64,
        prior_sacked: u32,
        cx: &mut Cx<'_>,
    ) -> (Option<Span>, bool) {
        let now = self.rack.now;
        let (mut sequence, mut newest, mut delayed) = (None, None, false);
        if let (Some(first), Some(last), false) = (d.first_acked, d.last_acked, d.retransmitted_acked) {
            sequence = Some(now.since(self.clock.stamp(first)));
            // Segments of one super-segment leave at one time.
            newest = if last == first { sequence } else { Some(now.since(self.clock.stamp(last))) };
            delayed = d.acked == 1 && prior_sacked == 0 && d.sacked == 0 && self.una - prior_una < self.mss;
        }
        if let (Some(first), Some(last)) = (d.first_sacked, d.last_sacked) {
            sequence = sequence.or(Some(now.since(self.clock.stamp(first))));
            newest = Some(now.since(self.clock.stamp(last)));
        }
        if sequence.is_none() && s.echo != 0 && d.acked > 0 {
            // Karn's rule applies, except with timestamps, whose clock ticks in milliseconds.
            let ms = timestamp(cx.now).wrapping_sub(s.echo).max(1);
            // An echo of a timestamp that was never sent lies in the future (Linux: `tcp_rtt_tsopt_us`).
            sequence = (ms < 1 << 31).then(|| Span::from_millis(u64::from(ms)));
            newest = sequence;
        }
        let Some(sample) = sequence else { return (None, delayed) };
        if let Some(rtt) = newest {
            if !(delayed && self.rtt.min().is_some_and(|min| rtt > min)) {
                self.rtt.sample_min(now, rtt);
            }
            self.stats.count_rtt(rtt);
            cx.record_on(self.path, Metric::Rtt, rtt.as_nanos());
        }
        self.rtt.sample(sample, self.una, self.nxt);
        if let Some(rtt) = newest {
            self.tell_rtt(rtt, cx);
        }
        (newest, delayed)
    }

    /// The bytes that congestion control is told an acknowledgement delivers. Without byte counting they are a segment for each
    /// that acknowledges new data in order, whatever part of a segment or number of segments that is.
    fn told(&self, d: &Delivery, prior: &Prior) -> u64 {
        let counts = self.rules.byte_counting || self.una == prior.una;
        if counts { u64::from(d.delivered + d.duplicates) * self.mss } else { self.mss }
    }

    /// Passes the ACK to congestion control, or to PRR during a reduction.
    fn control(
        &mut self,
        s: &Segment,
        d: &Delivery,
        prior: &Prior,
        (rtt, delayed): (Option<Span>, bool),
        cx: &mut Cx<'_>,
    ) {
        let (delivered, told) = (u64::from(d.delivered + d.duplicates) * self.mss, self.told(d, prior));
        let lost = self.sampler.lost().saturating_sub(prior.lost);
        let in_flight = self.in_flight();
        let rate = self.sampler.sample(self.rtt.min());
        if let Some(prr) = &mut self.prr {
            prr.on_ack(PrrAck { delivered, in_flight, safe: self.una > prior.una && lost == 0, mss: self.mss });
        }
        let arrived = if self.episode.reordering > self.rules.loss_threshold { d.delivered } else { d.acked };
        let progress = arrived > 0 || (!self.rules.byte_counting && self.una > prior.una);
        let ack = cc::Ack {
            now: self.rack.now,
            delivered: told,
            lost,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            in_flight,
            prior_in_flight: prior.in_flight,
            window_limited: self.window_limited(),
            may_grow: self.prr.is_none() && progress && !self.is_held(),
            phase: self.phase,
            acked_to: self.una,
            sent_to: self.nxt,
            rate,
            total_delivered: self.sampler.delivered(),
            total_lost: self.sampler.lost(),
            next_departure: self.next_departure(cx.now),
            delayed,
            stamps: stamps(s, cx.now),
        };
        self.tell_controller(&ack);
        match self.cc.asks() {
            Ask::Nothing => {}
            Ask::MarkAppLimited => self.sampler.on_app_limited(in_flight),
            Ask::Reduce => self.begin_reduction(Trigger::Delay, cx.now),
        }
        if cx.probing()
            && let Some(rate) = rate.rate()
        {
            cx.record_on(self.path, Metric::DeliveryRate, rate.as_bps());
        }
        self.tell_losses(cx);
    }
}

/// The timestamps of an acknowledgement, if it has them.
fn stamps(s: &Segment, now: Time) -> Option<Stamps> {
    (s.timestamp != 0).then(|| Stamps { now: timestamp(now), value: s.timestamp, echo: s.echo })
}
