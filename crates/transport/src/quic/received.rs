//! Which packets arrived and when that is to be acknowledged (RFC 9000 section 13.2).

use super::draft::Traits;
use super::ecn::EcnCounts;
use super::frame::{Ack, LowerRanges};
use crate::ranges::RangeSet;
use haltere_net::{Ecn, Span, Time};
use std::cell::OnceCell;
use std::sync::Arc;

/// When acknowledgements are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckPolicy {
    /// Ack-eliciting packets that are answered by one ACK (RFC 9000 section 13.2.2: 2).
    pub every: u32,
    /// The longest an ACK is held back (section 18.2, `max_ack_delay`).
    pub max_delay: Span,
    /// How far behind the largest packet a missing one must be for an ACK at once (draft-ietf-quic-ack-frequency section
    /// 6.2); 1 is what RFC 9000 section 13.2.1 says, 0 never.
    pub reordering: u64,
    /// Ranges of packet numbers remembered; the oldest are forgotten (section 13.2.3).
    pub max_ranges: usize,
    /// After so many ACK-only packets one carries a PING, if nothing else is awaiting an answer, so that the peer
    /// acknowledges and old ranges can be dropped (section 13.2.4; Chromium: 19 packets go without,
    /// `kMaxConsecutiveNonRetransmittablePackets`).
    pub elicit_every: u32,
}

impl Default for AckPolicy {
    fn default() -> Self {
        AckPolicy { every: 2, max_delay: Span::from_millis(25), reordering: 1, max_ranges: 32, elicit_every: 20 }
    }
}

/// A packet that was processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub number: u64,
    pub at: Time,
    pub ecn: Ecn,
    /// Whether it is to be acknowledged.
    pub eliciting: bool,
}

/// The receiving side of a packet number space.
#[derive(Clone, Default, Debug)]
pub(super) struct Received {
    ranges: RangeSet,
    /// All of them but the highest, as the last ACK had them, until they change.
    lower: OnceCell<Option<Arc<LowerRanges>>>,
    /// Packets below are taken for duplicates: their range was forgotten or is known to the peer as acknowledged.
    floor: u64,
    largest: Option<u64>,
    largest_at: Time,
    largest_eliciting: Option<u64>,
    /// Ack-eliciting packets since the last ACK was sent.
    unacked: u32,
    immediate: bool,
    deadline: Option<Time>,
    /// Packets by ECN codepoint, once there was one.
    counts: Option<EcnCounts>,
    /// The largest packet acknowledged.
    acked: Option<u64>,
    /// ACK-only packets sent since the last one that had to be acknowledged.
    unanswered: u32,
}

impl Received {
    /// Whether this packet was processed before or can no longer be told from one that was.
    #[inline]
    pub fn is_duplicate(&self, number: u64) -> bool {
        number < self.floor || self.ranges.contains(number)
    }

    /// A packet was processed. One that was marked is acknowledged at once (section 13.2.1).
    #[inline(always)]
    pub fn on_packet(&mut self, packet: Arrival, now: Time, policy: &AckPolicy) {
        let Arrival { number, at, ecn, eliciting } = packet;
        if ecn != Ecn::NotEct {
            self.counts.get_or_insert_default().count(ecn);
            self.immediate |= eliciting && ecn == Ecn::Ce;
        }
        let gap = !self.ranges.continues_at(number) && self.insert(number, policy);
        if self.largest.is_none_or(|l| number > l) {
            self.largest = Some(number);
            self.largest_at = at;
        }
        if !eliciting {
            return;
        }
        // Section 13.2.1: out of order, or ahead of a gap, is acknowledged at once.
        self.immediate |= match policy.reordering {
            1 => gap || self.largest_eliciting.is_some_and(|l| number < l),
            threshold => self.reordered(threshold),
        };
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        self.unacked += 1;
        self.immediate |= self.unacked >= policy.every;
        if self.deadline.is_none() {
            self.deadline = Some(now + policy.max_delay);
        }
    }

    /// A packet was processed whose number is not the next; returns whether there were others before.
    #[inline(never)]
    fn insert(&mut self, number: u64, policy: &AckPolicy) -> bool {
        let others = !self.ranges.is_empty();
        self.ranges.insert_all(number, number + 1);
        self.lower.take();
        while self.ranges.len() > 1 && self.ranges.len() > policy.max_ranges {
            if let Some(oldest) = self.ranges.pop_first() {
                self.floor = self.floor.max(oldest.1);
            }
        }
        others
    }

    /// Whether any packet was processed.
    pub fn any(&self) -> bool {
        self.largest.is_some()
    }
    /// The largest packet number processed.
    pub fn largest(&self) -> Option<u64> {
        self.largest
    }
    /// Whether a packet is missing so far below the largest, counting only above what was last acknowledged.
    fn reordered(&self, threshold: u64) -> bool {
        let mut ranges = self.ranges.iter().rev();
        let (Some(last), Some(before)) = (ranges.next(), ranges.next()) else { return false };
        let far = last.1 - 1 - before.1 >= threshold;
        threshold > 0 && far && self.acked.is_none_or(|acked| acked < before.1 + threshold)
    }
    /// An ACK is wanted at once.
    pub fn hurry(&mut self) {
        self.immediate = true;
    }
    /// Whether anything is owed an acknowledgement.
    #[inline]
    pub fn owes(&self) -> bool {
        self.unacked > 0
    }
    /// Whether an ACK must go now.
    #[inline]
    pub fn due(&self, now: Time) -> bool {
        self.unacked > 0 && (self.immediate || self.deadline.is_some_and(|d| d <= now))
    }
    /// When an ACK will have to go by itself.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline.unwrap_or(Time::NEVER)
    }
    /// No ACK goes by itself until another reason for one comes, as in quinn once an ACK of another space was sent.
    #[cold]
    pub fn stop_deadline(&mut self) {
        self.deadline = self.deadline.map(|_| Time::NEVER);
    }
    /// A packet without an ACK frame went out that is to be acknowledged.
    pub fn on_asked(&mut self) {
        self.unanswered = 0;
    }
    /// Whether the next ACK-only packet should ask for an answer.
    pub fn should_elicit(&self, policy: &AckPolicy) -> bool {
        self.unanswered + 1 >= policy.elicit_every
    }

    /// The ACK frame of this moment.
    #[inline]
    pub fn frame(&self, now: Time) -> Ack {
        let mut ranges = self.ranges.iter().rev().map(|(start, end)| start..end);
        let highest = ranges.next().unwrap_or(0..0);
        let lower = self.lower.get_or_init(|| LowerRanges::new(ranges));
        Ack::sharing(highest, lower.clone(), now.since(self.largest_at))
    }

    /// The ECN counts to report with it.
    #[inline]
    pub fn counts(&self) -> Option<EcnCounts> {
        self.counts
    }

    /// An ACK went out in this packet.
    #[inline]
    pub fn on_ack_sent(&mut self, packet: Traits) {
        self.unacked = 0;
        self.immediate = false;
        self.deadline = None;
        self.acked = self.largest;
        self.unanswered = if packet.eliciting { 0 } else { self.unanswered + 1 };
    }

    /// The peer has an ACK of ours whose largest was `largest`: what it reported need not be reported again (section 13.2.4).
    /// The highest range stays, for an ACK must name the largest.
    pub fn on_ack_acked(&mut self, largest: u64) {
        while self.ranges.len() > 1 && self.ranges.first().is_some_and(|r| r.1 <= largest + 1) {
            self.lower.take();
            if let Some(lowest) = self.ranges.pop_first() {
                self.floor = self.floor.max(lowest.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_nanos(1_000_000);

    fn arrival(number: u64) -> Arrival {
        Arrival { number, at: NOW, ecn: Ecn::NotEct, eliciting: true }
    }

    fn receive(received: &mut Received, numbers: &[u64]) {
        for &n in numbers {
            received.on_packet(arrival(n), NOW, &AckPolicy::default());
        }
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once_and_the_first_after_the_delay() {
        let mut received = Received::default();
        receive(&mut received, &[0]);
        assert!(received.owes() && !received.due(NOW));
        assert_eq!(received.deadline(), NOW + Span::from_millis(25));
        assert!(received.due(NOW + Span::from_millis(25)));
        receive(&mut received, &[1]);
        assert!(received.due(NOW));
        received.on_ack_sent(Traits::default());
        assert!(!received.owes());
    }

    #[test]
    fn with_a_reordering_threshold_a_packet_must_be_missing_for_so_long() {
        // The first example of the draft's section 6.2.1, threshold 3: 0, 1, 3, 4 and 5 arrive, 2 is missing.
        let policy = AckPolicy { reordering: 3, every: 100, ..AckPolicy::default() };
        let mut received = Received::default();
        let mut due = |n| {
            received.on_packet(arrival(n), NOW, &policy);
            let due = received.due(NOW);
            if due {
                received.on_ack_sent(Traits::default());
            }
            due
        };
        assert_eq!([0, 1, 3, 4, 5, 6].map(&mut due), [false, false, false, false, true, false]);
        let never = AckPolicy { reordering: 0, every: 100, ..AckPolicy::default() };
        let mut received = Received::default();
        for n in [0, 5, 3, 20] {
            received.on_packet(arrival(n), NOW, &never);
        }
        assert!(!received.due(NOW));
    }

    #[test]
    fn a_gap_and_what_fills_it_are_acknowledged_at_once() {
        let mut received = Received::default();
        receive(&mut received, &[0, 1]);
        received.on_ack_sent(Traits::default());
        receive(&mut received, &[3]);
        assert!(received.due(NOW));
        received.on_ack_sent(Traits::default());
        receive(&mut received, &[2]);
        assert!(received.due(NOW));
        received.on_ack_sent(Traits::default());
        receive(&mut received, &[4]);
        assert!(!received.due(NOW));
    }

    #[test]
    fn ranges_are_bounded_and_forgotten_once_the_peer_knows_them() {
        let mut received = Received::default();
        let odd: Vec<u64> = (0..100).map(|n| 2 * n + 1).collect();
        receive(&mut received, &odd);
        let frame = received.frame(NOW);
        assert_eq!(frame.ranges().count(), 32);
        assert!(frame.well_formed());
        assert!(received.is_duplicate(0) && received.is_duplicate(199) && !received.is_duplicate(198));
        received.on_ack_acked(189);
        assert_eq!(received.frame(NOW).ranges().count(), 5);
        received.on_ack_acked(199);
        assert_eq!(received.frame(NOW).largest(), Some(199));
    }
}
