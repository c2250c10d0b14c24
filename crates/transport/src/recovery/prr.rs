//! Proportional Rate Reduction (RFC 6937; RFC 9937), with the choices Linux makes.

/// State of one recovery episode. All counts are in bytes; if all segments have one size, they are whole segments.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    ssthresh: u64,
    recover_fs: u64,
    delivered: u64,
    out: u64,
    window: u64,
}

/// The effect of an ACK, as PRR needs it.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// Bytes newly delivered, cumulatively or selectively.
    pub delivered: u64,
    /// Bytes in flight after the ACK (`pipe`).
    pub in_flight: u64,
    /// Whether the cumulative ACK advanced and no new loss was found (`SafeACK` of RFC 9937).
    pub safe: bool,
    /// Segment size.
    pub mss: u64,
}

impl Prr {
    /// Begins an episode. The window before it was `recover_fs`; the target is `ssthresh`.
    pub fn new(recover_fs: u64, ssthresh: u64) -> Prr {
        Prr { ssthresh, recover_fs: recover_fs.max(1), delivered: 0, out: 0, window: recover_fs }
    }

    /// Goes on to another target.
    pub fn aim(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }

    /// Records that `bytes` were sent during the episode, new or retransmitted.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Bytes of [`on_sent`](Self::on_sent) were not sent after all.
    pub fn on_withdrawn(&mut self, bytes: u64) {
        self.out = self.out.saturating_sub(bytes);
    }

    /// Computes how much may be sent on this ACK. The first ACK always allows one segment, so that a fast retransmit is
    /// never delayed.
    pub fn on_ack(&mut self, ack: PrrAck) {
        if ack.delivered == 0 {
            return;
        }
        self.delivered += ack.delivered;
        let mut budget = if ack.in_flight > self.ssthresh {
            // Proportional part: send the target's share of what was delivered.
            let share = u128::from(self.ssthresh) * u128::from(self.delivered);
            let segments = share.div_ceil(u128::from(self.recover_fs) * u128::from(ack.mss)) as u64;
            (segments * ack.mss).saturating_sub(self.out)
        } else {
            // Slow-start part: catch up with the target. On a safe ACK send one segment more than was delivered.
            let limit = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let limit = if ack.safe { limit + ack.mss } else { limit };
            limit.min(self.ssthresh - ack.in_flight)
        };
        if self.out == 0 {
            budget = budget.max(ack.mss);
        }
        self.window = ack.in_flight + budget;
    }

    /// The window that limits the sender until the next ACK, bytes.
    pub fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 3.1, first figure: 20 segments in flight, the first lost, ssthresh 10. `pipe` falls by one with
    /// each SACK; what PRR sends on each ACK from the third on is the figure's row of N, spaces and the first R.
    #[test]
    fn a_single_loss_sends_on_every_other_ack() {
        let mut prr = Prr::new(20, 10);
        // At the third duplicate ACK two segments were sent by limited transmit; pipe is 18 as one is lost too.
        let mut pipe = 18;
        let mut sent = String::new();
        for _ in 0..17 {
            prr.on_ack(PrrAck { delivered: 1, in_flight: pipe, safe: false, mss: 1 });
            let n = prr.window() - pipe;
            prr.on_sent(n);
            pipe = pipe + n - 1;
            sent.push(char::from_digit(n as u32, 10).unwrap_or('+'));
        }
        assert_eq!(&sent[..16], "1010101010101010");
        // With the two segments of limited transmit, ten segments went out, and the pipe has come down to the target.
        assert_eq!(sent.matches('1').count() + 2, 10);
        assert_eq!(pipe + 1, 10);
    }

    #[test]
    fn after_a_burst_loss_the_safe_part_catches_up() {
        // Second figure: 15 of 20 lost, pipe 4 at the third duplicate: conservative CRB-like steps of 1, or 2 when safe.
        let mut prr = Prr::new(20, 10);
        prr.on_ack(PrrAck { delivered: 1, in_flight: 4, safe: false, mss: 1 });
        assert_eq!(prr.window(), 5);
        prr.on_sent(1);
        prr.on_ack(PrrAck { delivered: 1, in_flight: 4, safe: true, mss: 1 });
        assert_eq!(prr.window(), 6);
    }

    #[test]
    fn segments_of_many_bytes_are_counted_whole() {
        let mut prr = Prr::new(20_000, 10_000);
        let ack = |delivered, in_flight| PrrAck { delivered, in_flight, safe: false, mss: 1000 };
        prr.on_ack(ack(1000, 18_000));
        assert_eq!(prr.window(), 19_000);
        prr.on_sent(1000);
        // Half of 2000 bytes has been sent; of 3000 one segment more is due.
        prr.on_ack(ack(1000, 17_000));
        assert_eq!(prr.window(), 17_000);
        prr.on_ack(ack(1000, 16_000));
        assert_eq!(prr.window(), 17_000);
        // A segment that was not sent after all is due again.
        prr.on_sent(1000);
        prr.on_withdrawn(1000);
        prr.on_ack(ack(1000, 15_000));
        assert_eq!(prr.window(), 16_000);
    }

    #[test]
    fn an_ack_that_delivers_nothing_changes_nothing_and_the_target_is_not_exceeded() {
        let mut prr = Prr::new(20, 10);
        prr.on_ack(PrrAck { delivered: 0, in_flight: 4, safe: true, mss: 1 });
        assert_eq!(prr.window(), 20);
        prr.on_ack(PrrAck { delivered: 30, in_flight: 4, safe: true, mss: 1 });
        assert_eq!(prr.window(), 10);
    }
}
