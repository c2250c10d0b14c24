//! CUBIC as quinn has it (quinn-proto 0.11.19, `congestion/cubic.rs`): RFC 8312 in bytes, packet by packet.
//!
//! It differs from Linux's beyond the Reno-friendly region. The curve's time counts from the loss and not from the first ACK after
//! it; its plateau is reached after cbrt(W_max (1 - beta) / C) also where fast convergence has lowered W_max (RFC 8312 section
//! 4.1), so that the window then begins above the curve; the target is one smoothed RTT ahead, not one minimum RTT. Each packet
//! acknowledged adds to a lead, and a lead of a datagram becomes growth at once, what is left of it being forgotten. Packets that an
//! ACK acknowledges count before the losses that it shows. Slow start ends by loss alone.

use super::{Ack, AckedPacket, Config, Congestion, CongestionController, PathView, Trigger};
use haltere_net::Time;

/// How CUBIC and NewReno count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Arithmetic {
    /// As Linux (tcp_cubic.c) but with exact numbers, CUBIC with the rule of [`super::RenoFriendly`].
    #[default]
    Exact,
    /// As Linux, in its units: the constant C is 410/1024, time is in 1024ths of a second, the path's least delay in whole
    /// microseconds and then ticks, and the cube root is Linux's. Over TCP only.
    Linux,
    /// As quinn, packet by packet (quinn-proto 0.11.19, `congestion/`); its CUBIC has a rule of its own there. Over QUIC only.
    Quinn,
}

/// `BETA_CUBIC` and `C` (RFC 8312 sections 4.5 and 5).
const BETA: f64 = 0.7;
const C: f64 = 0.4;

/// quinn's CUBIC.
#[derive(Clone, Debug)]
pub(super) struct QuinnCubic {
    window: u64,
    ssthresh: u64,
    mss: u64,
    /// When the window was last reduced; packets sent until then add nothing.
    reduced: Option<Time>,
    /// W_max, bytes, and seconds from the reduction to the plateau.
    w_max: f64,
    k: f64,
    /// The growth that has been added up, bytes.
    lead: u64,
    /// The time of the last loss that reduced the window, which persistent congestion needs.
    answered: Option<Time>,
}

impl QuinnCubic {
    pub(super) fn new(config: &Config) -> QuinnCubic {
        QuinnCubic {
            window: config.initial_window,
            ssthresh: u64::MAX,
            mss: config.mss,
            reduced: None,
            w_max: 0.0,
            k: 0.0,
            lead: 0,
            answered: None,
        }
    }

    fn least(&self) -> u64 {
        2 * self.mss
    }

    /// The growth that a packet adds in congestion avoidance, bytes.
    fn gain(&mut self, packet: &AckedPacket) -> u64 {
        let start = *self.reduced.get_or_insert_with(|| {
            // Slow start has ended without a loss: the curve begins at its plateau.
            (self.w_max, self.k) = (self.window as f64, 0.0);
            packet.now
        });
        let (mss, window) = (self.mss as f64, self.window as f64);
        let (t, rtt) = (packet.now.since(start), packet.rtt);
        let past = (t + rtt).as_secs_f64() - self.k;
        let plateau = self.w_max / mss;
        let cubic = (C * past * past * past + plateau) * mss;
        let rounds = t.as_secs_f64() / rtt.as_secs_f64().max(f64::MIN_POSITIVE);
        let reno = (plateau * BETA + 3.0 * (1.0 - BETA) / (1.0 + BETA) * rounds) * mss;
        if cubic < reno {
            (reno as u64).saturating_sub(self.window)
        } else if self.window < cubic as u64 {
            ((cubic - window) / window.max(1.0) * mss) as u64
        } else {
            0
        }
    }

    /// A loss or a mark.
    fn reduce(&mut self, now: Time) {
        let window = self.window as f64;
        // RFC 8312 section 4.6: fast convergence.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.ssthresh = ((window * BETA) as u64).max(self.least());
        self.window = self.ssthresh;
        self.k = libm::cbrt(self.w_max / self.mss as f64 * (1.0 - BETA) / C);
        self.lead = (self.lead as f64 * BETA) as u64;
        (self.reduced, self.answered) = (Some(now), Some(now));
    }

    /// Persistent congestion, which quinn heeds only together with a reduction.
    fn collapse(&mut self) {
        self.w_max = self.window as f64;
        self.ssthresh = ((self.window as f64 * BETA) as u64).max(self.least());
        self.window = self.least();
        self.lead = 0;
        self.reduced = None;
    }
}

impl CongestionController for QuinnCubic {
    fn on_ack(&mut self, _: &Ack, _: &[PathView]) {}

    fn wants_packets(&self) -> bool {
        true
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if !packet.window_limited || self.reduced.is_some_and(|at| packet.sent <= at) {
            return;
        }
        if self.window < self.ssthresh {
            self.window += packet.bytes;
            return;
        }
        self.lead = self.lead.saturating_add(self.gain(packet));
        if self.lead >= self.mss {
            self.window += self.mss;
            self.lead = 0;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.trigger {
            Trigger::PersistentCongestion if self.answered == Some(event.now) => self.collapse(),
            Trigger::PersistentCongestion => {}
            _ => self.reduce(event.now),
        }
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

    fn cubic() -> QuinnCubic {
        QuinnCubic::new(&Config { mss: MSS, initial_window: 10 * MSS, ..config() })
    }

    fn acked(sent_ms: u64, now_ms: u64) -> AckedPacket {
        let (now, sent, rtt) = (at(now_ms), at(sent_ms), Span::from_millis(100));
        AckedPacket { now, sent, bytes: MSS, window_limited: true, rtt }
    }

    fn loss(trigger: Trigger, ms: u64) -> Congestion {
        Congestion { now: at(ms), trigger, new_episode: true, in_flight: 0, lost: MSS }
    }

    #[test]
    fn slow_start_adds_what_is_acknowledged_unless_the_application_limits() {
        let mut cubic = cubic();
        cubic.on_packet_acked(&acked(0, 100));
        cubic.on_packet_acked(&AckedPacket { window_limited: false, ..acked(0, 100) });
        assert_eq!(cubic.window(), 11 * MSS);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_packets_sent_before_it_add_nothing() {
        let mut cubic = QuinnCubic { window: 100 * MSS, ..cubic() };
        cubic.on_congestion(&loss(Trigger::Loss, 500));
        assert_eq!((cubic.window(), cubic.ssthresh()), (70 * MSS, 70 * MSS));
        cubic.on_packet_acked(&acked(500, 600));
        assert_eq!((cubic.window(), cubic.lead), (70 * MSS, 0));
        // K is cbrt(100 · 0.3 / 0.4) = 4.217 s. 0.2 s after the loss, with an RTT ahead, the curve is at
        // 100 + 0.4 · (0.3 - 4.217)³ = 75.96 datagrams: (75.96 - 70) / 70 of a datagram for each packet.
        cubic.on_packet_acked(&acked(600, 700));
        assert_eq!(cubic.lead, 102);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_and_not_the_time_to_it() {
        let mut cubic = QuinnCubic { window: 80 * MSS, w_max: (100 * MSS) as f64, ..cubic() };
        cubic.on_congestion(&loss(Trigger::Loss, 500));
        assert!((cubic.w_max - (68 * MSS) as f64).abs() < 1e-6);
        assert!((cubic.k - libm::cbrt(68.0 * 0.3 / 0.4)).abs() < 1e-9);
        assert_eq!(cubic.window(), 56 * MSS);
    }

    #[test]
    fn a_lead_of_a_datagram_is_growth_and_the_rest_of_it_is_forgotten() {
        let mut cubic = QuinnCubic { window: 5 * MSS, ..cubic() };
        cubic.on_congestion(&loss(Trigger::Loss, 0));
        assert_eq!(cubic.window(), 3 * MSS + MSS / 2);
        // Ten RTTs later Reno would have 3.5 + 5.29 datagrams.
        cubic.on_packet_acked(&acked(900, 1000));
        assert_eq!((cubic.window(), cubic.lead), (4 * MSS + MSS / 2, 0));
    }

    #[test]
    fn persistent_congestion_counts_with_a_reduction_alone() {
        let mut cubic = QuinnCubic { window: 100 * MSS, ..cubic() };
        cubic.on_congestion(&loss(Trigger::PersistentCongestion, 500));
        assert_eq!(cubic.window(), 100 * MSS);
        cubic.on_congestion(&loss(Trigger::Loss, 600));
        cubic.on_congestion(&loss(Trigger::PersistentCongestion, 600));
        let seven_tenths = ((70 * MSS) as f64 * BETA) as u64;
        assert_eq!((cubic.window(), cubic.ssthresh(), cubic.reduced), (2 * MSS, seven_tenths, None));
    }

    #[test]
    fn an_avoidance_without_a_loss_begins_at_the_plateau() {
        let mut cubic = QuinnCubic { window: 100 * MSS, ssthresh: 50 * MSS, ..cubic() };
        cubic.on_packet_acked(&acked(0, 100));
        assert_eq!((cubic.reduced, cubic.k), (Some(at(100)), 0.0));
        cubic.set_mss(1472, 1500);
        assert_eq!(cubic.window(), 100 * MSS);
    }
}
