//! Data behind a gap: how it is held and reported, and the compression of its acknowledgements.

use super::{Arrival, Due, Receiver, Segment, Sender};
use crate::tcp::memory::Stored;
use crate::tcp::ticks::timestamp;
use haltere_net::Time;

/// The number of duplicate ACKs that are never compressed.
const UNCOMPRESSED: u8 = 3;
/// The number of blocks that an ACK is sure to report beside a new one (Linux: `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// The least time from one answer to an overtaken acknowledgement to the next, ms (Linux: `tcp_invalid_ratelimit`).
const ANSWERS_APART: u32 = 500;

impl Receiver {
    /// Answers a segment that has been overtaken by an acknowledgement, and returns whether it does: data each time, acknowledgements
    /// rarely, as two ends could answer each other for ever (Linux: `tcp_send_dupack`, `tcp_oow_rate_limited`).
    pub(in crate::tcp) fn answer_overtaken(&mut self, s: &Segment, now: Time) -> bool {
        let at = timestamp(now);
        if s.seq < s.end() {
            if s.seq < self.next {
                self.duplicate = (s.seq, s.end().min(self.next));
                self.enter_quick();
            }
        } else if self.answered != 0 && at.wrapping_sub(self.answered) < ANSWERS_APART {
            return false;
        } else {
            self.answered = at;
        }
        self.acknowledge_now();
        true
    }

    /// Takes a segment that came behind a gap.
    pub(super) fn take_out_of_order(&mut self, s: &Segment) {
        self.measure(s);
        let (start, end, len) = (s.seq, s.end(), u64::from(s.len));
        // If the next ACK cannot report all blocks, the withheld ACK is sent (Linux: `tcp_sack_new_ofo_skb`).
        let place = self.recent.place((start, end));
        if place >= EXPECTED_BLOCKS && self.compressed > 0 {
            let mut blocks = self.recent.list().to_vec();
            if let Some(block) = blocks.get_mut(place) {
                *block = (block.0.min(start), block.1.max(end));
            }
            self.flush = Some(blocks.into());
            self.compressed = 0;
            self.compressed_until = Time::NEVER;
        }
        let stored = self.stored();
        let mut fresh = 0;
        let (mut last, card, buffers) = (Stored::Apart, self.window.card, &mut self.buffers);
        self.out_of_order.insert(start, end, |s, e| {
            fresh += e - s;
            last = buffers.store(s, e, card);
        });
        if fresh < end - start {
            self.duplicate = (start, end);
        }
        let arrival = match last {
            Stored::Together => Arrival::Appended { len },
            Stored::Apart => Arrival::BehindGap { len },
        };
        // Without SACK the window stays, so that duplicates are recognized (Linux: `tcp_data_queue_ofo`).
        if fresh > 0 && self.blocks > 0 {
            self.offer_more(arrival, stored);
        }
        self.held += fresh;
        let held = || self.out_of_order.containing(start).unwrap_or((start, end));
        self.recent.add((start, end), (!self.forgets).then(held));
    }

    /// Data arrived behind a gap: acknowledges at once, or compressed after some duplicates (Linux:
    /// `__tcp_ack_snd_check`).
    pub(super) fn schedule_duplicate(&mut self, now: Time, own: &Sender) {
        let opens = std::mem::replace(&mut self.opens, true);
        if self.due == Due::Now
            || std::mem::take(&mut self.now)
            || (opens && self.exceeds())
            || self.compression.is_zero()
            || self.quick_mode()
            || self.compressed >= self.compressed_most
        {
            self.due = Due::Now;
            return;
        }
        if self.duplicates_at != self.next {
            self.duplicates_at = self.next;
            self.duplicates = 0;
        }
        if self.duplicates < UNCOMPRESSED {
            self.duplicates += 1;
            self.due = Due::Now;
            return;
        }
        self.compressed += 1;
        if self.compressed_until == Time::NEVER {
            self.heard = timestamp(now);
            let rtt = own.rtt.srtt().map_or(self.rtt.get(), |srtt| srtt.min(self.rtt.get()));
            // The timer of delayed acknowledgements is not stopped when one is sent. If it expires meanwhile, what was
            // compressed is sent (Linux: `tcp_delack_timer_handler`).
            let early = if self.delay_timer > now { self.delay_timer } else { Time::NEVER };
            let delay = self.compression.min(rtt * u64::from(self.compression_share) / 100);
            self.compressed_until = own.clock.late_timer(now, delay + self.slack).min(early);
        }
    }
}
