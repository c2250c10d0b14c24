//! NewReno as quinn has it (quinn-proto 0.11.19, `congestion/new_reno.rs`): packet by packet, and a loss does not take away what was
//! acknowledged towards the next datagram of growth. With small windows and many losses that is much of the growth.

use super::{Ack, AckedPacket, Config, Congestion, CongestionController, PathView, Sent, Trigger};
use haltere_net::Time;

/// quinn's NewReno.
#[derive(Clone, Debug)]
pub(super) struct QuinnNewReno {
    window: u64,
    ssthresh: u64,
    mss: u64,
    /// When the window was last reduced, and before that, when the connection began (`NewReno::new`); packets sent until then add
    /// nothing.
    reduced: Option<Time>,
    /// Bytes acknowledged towards the next datagram of growth.
    credit: u64,
}

impl QuinnNewReno {
    pub(super) fn new(config: &Config) -> QuinnNewReno {
        let (window, mss) = (config.initial_window, config.mss);
        QuinnNewReno { window, ssthresh: u64::MAX, mss, reduced: None, credit: 0 }
    }

    fn least(&self) -> u64 {
        2 * self.mss
    }
}

impl CongestionController for QuinnNewReno {
    fn on_ack(&mut self, _: &Ack, _: &[PathView]) {}

    fn wants_packets(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.reduced.get_or_insert(sent.now);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if !packet.window_limited || self.reduced.is_some_and(|at| packet.sent <= at) {
            return;
        }
        if self.window < self.ssthresh {
            self.window += packet.bytes;
            if self.window >= self.ssthresh {
                self.credit = self.window - self.ssthresh;
            }
            return;
        }
        self.credit += packet.bytes;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += self.mss;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.trigger == Trigger::PersistentCongestion {
            if self.reduced == Some(event.now) {
                self.window = self.least();
            }
            return;
        }
        self.window = (self.window / 2).max(self.least());
        (self.ssthresh, self.reduced) = (self.window, Some(event.now));
    }

    fn on_undo(&mut self) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.mss = mss;
        self.window = self.window.max(self.least());
    }

    fn set_window(&mut self, bytes: u64) -> bool {
        self.window = bytes.max(self.least());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::config;
    use haltere_net::Span;

    const MSS: u64 = 1200;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn reno(window: u64) -> QuinnNewReno {
        QuinnNewReno::new(&Config { mss: MSS, initial_window: window * MSS, ..config() })
    }

    fn acked(sent_ms: u64) -> AckedPacket {
        let (now, sent, rtt) = (at(sent_ms + 100), at(sent_ms), Span::from_millis(100));
        AckedPacket { now, sent, bytes: MSS, window_limited: true, rtt }
    }

    fn event(trigger: Trigger, ms: u64) -> Congestion {
        Congestion { now: at(ms), trigger, new_episode: true, in_flight: 0, lost: MSS }
    }

    #[test]
    fn what_was_acknowledged_before_a_loss_counts_after_it() {
        let mut reno = QuinnNewReno { ssthresh: 8 * MSS, ..reno(8) };
        (0..7).for_each(|_| reno.on_packet_acked(&acked(0)));
        assert_eq!((reno.window, reno.credit), (8 * MSS, 7 * MSS));
        reno.on_congestion(&event(Trigger::Loss, 150));
        reno.on_packet_acked(&acked(150));
        assert_eq!((reno.window, reno.credit), (4 * MSS, 7 * MSS), "sent before the loss was found");
        reno.on_packet_acked(&acked(151));
        assert_eq!((reno.window, reno.credit), (5 * MSS, 4 * MSS));
    }

    #[test]
    fn packets_of_the_moment_in_which_the_connection_began_add_nothing() {
        let mut reno = reno(10);
        let (timeout, after_idle) = (Span::MAX, None);
        let sent = |ms| Sent {
            now: at(ms),
            bytes: MSS,
            in_flight: 0,
            total_delivered: 0,
            after_idle,
            app_limited: false,
            timeout,
        };
        (7..9).for_each(|ms| reno.on_sent(&sent(ms)));
        reno.on_packet_acked(&acked(7));
        assert_eq!(reno.window, 10 * MSS);
        reno.on_packet_acked(&acked(8));
        assert_eq!(reno.window, 11 * MSS);
    }

    #[test]
    fn slow_start_leaves_what_is_beyond_the_threshold_as_credit() {
        let mut reno = QuinnNewReno { ssthresh: 10 * MSS + 100, ..reno(10) };
        reno.on_packet_acked(&AckedPacket { window_limited: false, ..acked(0) });
        assert_eq!(reno.window, 10 * MSS);
        reno.on_packet_acked(&acked(0));
        assert_eq!((reno.window, reno.credit), (11 * MSS, MSS - 100));
    }

    #[test]
    fn persistent_congestion_counts_with_a_reduction_alone() {
        let mut reno = reno(100);
        reno.on_congestion(&event(Trigger::PersistentCongestion, 5));
        assert_eq!(reno.window, 100 * MSS);
        reno.on_congestion(&event(Trigger::Loss, 6));
        reno.on_congestion(&event(Trigger::PersistentCongestion, 6));
        assert_eq!((reno.window, reno.ssthresh), (2 * MSS, 50 * MSS));
        reno.set_mss(1472, 1500);
        assert_eq!(reno.window, 2 * 1472);
    }
}
