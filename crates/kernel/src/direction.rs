//! One direction of a connection, from its segments where they leave: counters, samples of the RTT, how much is in flight.

use crate::segment::Segment;
use haltere_net::Time;
use haltere_transport::Stats;
use std::collections::VecDeque;

/// The most segments whose times are remembered.
const REMEMBERED: usize = 1 << 16;

/// The segments that one end has sent.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    /// The sequence number of the SYN.
    first: Option<u32>,
    /// The position after all that was sent, and after all that was acknowledged; the SYN has position 0.
    sent: u64,
    acknowledged: u64,
    /// The end of the stream stands before this position.
    end: Option<u64>,
    /// Ends of segments that were sent once, with their times.
    times: VecDeque<(u64, Time)>,
}

impl Direction {
    /// The position of a sequence number, as the nearest to `near`.
    fn position(&self, seq: u32, near: u64) -> Option<u64> {
        let relative = seq.wrapping_sub(self.first?);
        let distance = relative.wrapping_sub(near as u32).cast_signed();
        near.checked_add_signed(i64::from(distance))
    }

    /// A segment leaves.
    pub fn on_sent(&mut self, segment: &Segment, now: Time, stats: &mut Stats) {
        stats.sent_all += 1;
        if segment.syn && self.first.is_none() {
            self.first = Some(segment.seq);
        }
        let space = u64::from(segment.space());
        let Some(from) = self.position(segment.seq, self.sent).filter(|_| space > 0) else { return };
        let to = from + space;
        stats.sent_packets += 1;
        if segment.fin {
            self.end = Some(to);
        }
        if from < self.sent {
            if segment.data > 0 || segment.syn {
                stats.retransmitted_packets += 1;
                stats.lost_packets += 1;
            }
            // It is not known which of the two will be acknowledged (RFC 6298 section 3).
            self.times.retain(|(end, _)| *end <= from || *end > to);
        } else if self.times.len() < REMEMBERED {
            self.times.push_back((to, now));
        }
        self.sent = self.sent.max(to);
    }

    /// A segment of the other direction arrives.
    pub fn on_received(&mut self, segment: &Segment, now: Time, stats: &mut Stats) {
        let Some(ack) = segment.ack.and_then(|ack| self.position(ack, self.acknowledged)) else { return };
        if ack <= self.acknowledged || ack > self.sent {
            return;
        }
        self.acknowledged = ack;
        let mut sample = None;
        while let Some(&(_, at)) = self.times.front().filter(|(end, _)| *end <= ack) {
            sample = Some(at);
            self.times.pop_front();
        }
        if let Some(at) = sample {
            stats.count_rtt(now.since(at));
        }
    }

    /// Bytes of data that were sent.
    pub fn data_sent(&self) -> u64 {
        self.sent.saturating_sub(1 + u64::from(self.end.is_some()))
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acknowledged
    }

    /// Whether the stream was ended and all of it was acknowledged.
    pub fn has_finished(&self) -> bool {
        self.end.is_some_and(|end| self.acknowledged >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::tests::packet;
    use haltere_net::Span;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_stream_across_the_end_of_sequence_numbers() {
        let (mut direction, mut stats) = (Direction::default(), Stats::default());
        let first = u32::MAX - 50;
        let segment = |flags, seq, ack, data| Segment::parse(&packet(flags, seq, ack, data)).unwrap();
        direction.on_sent(&segment(2, first, 0, 0), at(0), &mut stats);
        direction.on_received(&segment(0x12, 0, first.wrapping_add(1), 0), at(20), &mut stats);
        direction.on_sent(&segment(0x10, first.wrapping_add(1), 0, 100), at(20), &mut stats);
        direction.on_sent(&segment(0x11, first.wrapping_add(101), 0, 10), at(21), &mut stats);
        direction.on_sent(&segment(0x10, first.wrapping_add(1), 0, 100), at(30), &mut stats);
        assert_eq!((direction.data_sent(), direction.in_flight(), stats.retransmitted_packets), (110, 111, 1));
        direction.on_received(&segment(0x10, 0, first.wrapping_add(112), 0), at(41), &mut stats);
        assert_eq!((stats.rtt_samples, stats.min_rtt), (2, Some(Span::from_millis(20))));
        assert!(direction.has_finished() && direction.in_flight() == 0);
    }

    proptest! {
        #[test]
        fn any_segments_are_counted(all in proptest::collection::vec((any::<bool>(), 0u8..32, any::<u32>(), any::<u32>(), 0usize..9), 0..60)) {
            let (mut direction, mut stats) = (Direction::default(), Stats::default());
            for (sent, flags, seq, ack, data) in all {
                let segment = Segment::parse(&packet(flags, seq, ack, data)).unwrap();
                if sent {
                    direction.on_sent(&segment, at(1), &mut stats);
                } else {
                    direction.on_received(&segment, at(1), &mut stats);
                }
                prop_assert!(direction.acknowledged <= direction.sent);
            }
        }
    }
}
