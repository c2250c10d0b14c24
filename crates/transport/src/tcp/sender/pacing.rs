//! Pacing: at which rate data goes, and when the next segment may go.

use super::Sender;
use haltere_net::{Rate, Span, Time};

impl Sender {
    /// The rate that a paced sender keeps.
    pub(in crate::tcp) fn pacing_rate(&self) -> Option<Rate> {
        if self.paced { self.nominal_rate() } else { None }
    }

    /// Linux's pacing rate, which determines the super-segments of all senders. For window-based algorithms it is twice
    /// the window per RTT in slow start, and 1.2 times afterwards. If the bytes in flight exceed the window, they count
    /// instead (`tcp_update_pacing_rate`).
    pub(in crate::tcp) fn nominal_rate(&self) -> Option<Rate> {
        self.cc.pacing_rate().or_else(|| self.window_rate(self.window()))
    }

    /// The pacing rate of window-based algorithms.
    pub(in crate::tcp) fn window_rate(&self, window: u64) -> Option<Rate> {
        rate_of(window, self.cc.ssthresh(), u64::from(self.board.out()) * self.mss, self.rtt.srtt_exactly())
    }

    /// Whether pacing allows a segment; if not, stores when it will.
    pub(super) fn may_pace(&mut self, now: Time) -> bool {
        if !self.paced || self.forced.is_some() || self.together.is_begun() {
            return true;
        }
        let now = self.clock.written(now);
        match self.pacer.blocked(self.clock.read(now)) {
            None => true,
            Some(due) => {
                let retransmit = self.board.lost() > self.board.retransmitted();
                if retransmit || self.unsent() > 0 {
                    let at = self.clock.pacing_timer(now, due);
                    if self.has_room() {
                        self.pacing_wake = at;
                    }
                }
                false
            }
        }
    }

    /// Whether there is new data that pacing holds back: a probe with it is none (Linux: `tcp_send_loss_probe`, by `tcp_write_xmit`).
    pub(super) fn new_data_is_paced(&self, now: Time) -> bool {
        let offered = self.sendable_end().saturating_sub(self.nxt);
        let next = self.unsent().min(self.largest_segment());
        self.paced && next > 0 && next <= offered && self.pacer.blocked(self.clock.read(now)).is_some()
    }

    /// By how much timers are set later because pacing holds back what is sent next: whole ticks (Linux: `tcp_pacing_delay`).
    pub(super) fn pacing_delay(&self, now: Time) -> Span {
        if !self.paced {
            return Span::ZERO;
        }
        self.ticks.whole(self.pacer.next().since(self.clock.read(now)))
    }

    /// Paces data that is sent together as one, and each retransmission separately. The first segments are not paced,
    /// nor is the data sent together with the last but one of them (`tcp_update_skb_after_send`).
    pub(super) fn charge(&mut self, now: Time, len: u64) {
        if let Some(bytes) = self.together.charge(len) {
            self.pace(now, bytes);
        }
    }

    pub(super) fn pace(&mut self, now: Time, bytes: u64) {
        let now = self.clock.written(now);
        match self.pacing_rate() {
            Some(rate) if self.stats.sent_packets >= u64::from(self.rules.unpaced) => {
                self.pacer.on_sent(self.clock.read(now), bytes, rate)
            }
            _ => self.pacer.pass(self.clock.read(now)),
        }
    }

    /// When pacing allows the next segment, as congestion control is told. The time to it is counted on the host's clock.
    pub(super) fn next_departure(&self, now: Time) -> Time {
        if self.rack.now == now {
            return self.pacer.next();
        }
        self.rack.now + self.pacer.next().since(self.clock.read(now))
    }
}

/// Linux's pacing rate of a window-based algorithm with these bytes outstanding.
#[inline]
pub(in crate::tcp) fn rate_of(window: u64, ssthresh: u64, outstanding: u64, srtt: Option<Span>) -> Option<Rate> {
    let percent = if window < ssthresh / 2 { 200 } else { 120 };
    Rate::of(window.max(outstanding), srtt?).map(|r| r.scaled(percent, 100))
}
