//! Loss detection by counting: segments SACKed above (RFC 6675) if RACK is off, duplicate ACKs (RFC 6582) if there is
//! no SACK.

use super::recovery::{Answer, tell_lost};
use super::scoreboard::Delivery;
use super::sender::Sender;
use crate::cc::Phase;
use haltere_net::{Span, Time};

impl Sender {
    /// RFC 6675 section 4 (`IsLost`): marks each segment that has at least as many segments SACKed above it as the
    /// reordering degree. The loss of a retransmission is only found by a timeout.
    pub(super) fn detect_loss_by_count(&mut self) -> Span {
        let Sender { board, rack, cc, sampler, stats, mss, episode, .. } = self;
        let now = rack.now;
        board.detect_lost_below(episode.reordering, |r| tell_lost(r, now, *mss, sampler, stats, cc.as_mut()));
        Span::ZERO
    }

    /// Without SACK (RFC 6582): a duplicate ACK means that a segment beyond the head has arrived. The head is lost at
    /// the third duplicate and, in recovery, at an ACK that leaves a hole (Linux: `tcp_add_reno_sack`,
    /// `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
    pub(super) fn count_duplicates(&mut self, answer: Answer, d: &mut Delivery, now: Time) {
        let before = self.board.sacked();
        let beyond = self.phase != Phase::Loss || self.nxt > self.episode.high_seq;
        if d.acked > 0 {
            // One segment fills the hole; the others were already counted as duplicates.
            d.delivered = d.acked.saturating_sub(before).max(1);
            d.original_delivered &= !d.retransmitted_acked;
            let keep = self.phase >= Phase::Recovery && beyond;
            self.board.keep_duplicates(if keep { before.saturating_sub(d.acked - 1) } else { 0 });
        } else if answer == Answer::Duplicate && beyond {
            self.board.count_duplicate();
            d.delivered += 1;
        }
        let hole = self.phase == Phase::Recovery && d.acked > 0 && self.una < self.episode.high_seq;
        if hole || (self.phase < Phase::Recovery && self.board.sacked() >= self.episode.reordering) {
            let Sender { board, cc, sampler, stats, mss, .. } = self;
            board.mark_head_lost(|r| tell_lost(r, now, *mss, sampler, stats, cc.as_mut()));
        }
    }
}
