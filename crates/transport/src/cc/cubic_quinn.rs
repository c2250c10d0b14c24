//! CUBIC as quinn has it (quinn-proto 0.11.19, `congestion/cubic.rs`): RFC 8312 in bytes, packet by packet.
//!
//! It differs from Linux's beyond the Reno-friendly region. The curve's time counts from the loss and not from the first ACK after
//! it; its plateau is reached after cbrt(W_max (1 - beta) / C) also where fast convergence has lowered W_max (RFC 8312 section
//! 4.1), so that the window then begins above the curve; the target is one smoothed RTT ahead, not one minimum RTT. Each packet
//! acknowledged adds to a lead, and a lead of a datagram becomes growth at once, what is left of it being forgotten. Packets that an
//! ACK acknowledges count before the losses that it shows. Slow start ends by loss alone.
//!
//! noq's (noq-proto 1.4.0, the same file), which descends from it, keeps what is left of a lead, and takes a reduction back that
//! proves to be for nothing.

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
    /// As noq, which descends from quinn: a lead is kept, and a reduction may be taken back (noq-proto 1.4.0, `congestion/`). Over QUIC
    /// only.
    Noq,
    /// As quiche, packet by packet and after the losses of an ACK (quiche 0.30.0, `recovery/congestion/`). Over QUIC only.
    Quiche,
}

/// `BETA_CUBIC` and `C` (RFC 8312 sections 4.5 and 5).
const BETA: f64 = 0.7;
const C: f64 = 0.4;

/// quinn's CUBIC, or noq's.
#[derive(Clone, Debug)]
pub(super) struct QuinnCubic {
    state: State,
    mss: u64,
    arithmetic: Arithmetic,
    /// The time of the last loss that reduced the window, which persistent congestion needs.
    answered: Option<Time>,
    /// noq: the state before the last reduction by a loss.
    before: Option<State>,
}

/// The part of the state that noq takes back (`State`).
#[derive(Clone, Copy, PartialEq, Debug)]
struct State {
    window: u64,
    ssthresh: u64,
    /// When the window was last reduced; packets sent until then add nothing.
    reduced: Option<Time>,
    /// W_max, bytes, and seconds from the reduction to the plateau.
    w_max: f64,
    k: f64,
    /// The growth that has been added up, bytes.
    lead: u64,
}

impl QuinnCubic {
    pub(super) fn new(config: &Config) -> QuinnCubic {
        let window = config.initial_window;
        let state = State { window, ssthresh: u64::MAX, reduced: None, w_max: 0.0, k: 0.0, lead: 0 };
        QuinnCubic { state, mss: config.mss, arithmetic: config.arithmetic, answered: None, before: None }
    }

    fn least(&self) -> u64 {
        2 * self.mss
    }

    /// The growth that a packet adds in congestion avoidance, bytes.
    fn gain(&mut self, packet: &AckedPacket) -> u64 {
        let start = *self.state.reduced.get_or_insert_with(|| {
            // Slow start has ended without a loss: the curve begins at its plateau.
            (self.state.w_max, self.state.k) = (self.state.window as f64, 0.0);
            packet.now
        });
        let (mss, window) = (self.mss as f64, self.state.window as f64);
        let (t, rtt) = (packet.now.since(start), packet.rtt);
        let past = (t + rtt).as_secs_f64() - self.state.k;
        let plateau = self.state.w_max / mss;
        let cubic = (C * past * past * past + plateau) * mss;
        let rounds = t.as_secs_f64() / rtt.as_secs_f64().max(f64::MIN_POSITIVE);
        let reno = (plateau * BETA + 3.0 * (1.0 - BETA) / (1.0 + BETA) * rounds) * mss;
        if cubic < reno {
            (reno as u64).saturating_sub(self.state.window)
        } else if self.state.window < cubic as u64 {
            ((cubic - window) / window.max(1.0) * mss) as u64
        } else {
            0
        }
    }

    /// A loss or a mark.
    fn reduce(&mut self, now: Time) {
        let window = self.state.window as f64;
        // RFC 8312 section 4.6: fast convergence.
        self.state.w_max = if window < self.state.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.state.ssthresh = ((window * BETA) as u64).max(self.least());
        self.state.window = self.state.ssthresh;
        self.state.k = libm::cbrt(self.state.w_max / self.mss as f64 * (1.0 - BETA) / C);
        self.state.lead = (self.state.lead as f64 * BETA) as u64;
        (self.state.reduced, self.answered) = (Some(now), Some(now));
    }

    /// Persistent congestion, which quinn heeds only together with a reduction.
    fn collapse(&mut self) {
        self.state.w_max = self.state.window as f64;
        self.state.ssthresh = ((self.state.window as f64 * BETA) as u64).max(self.least());
        self.state.window = self.least();
        self.state.lead = 0;
        self.state.reduced = None;
    }
}

impl CongestionController for QuinnCubic {
    fn on_ack(&mut self, _: &Ack, _: &[PathView]) {}

    fn wants_packets(&self) -> bool {
        true
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if !packet.window_limited || self.state.reduced.is_some_and(|at| packet.sent <= at) {
            return;
        }
        if self.state.window < self.state.ssthresh {
            self.state.window += packet.bytes;
            return;
        }
        self.state.lead = self.state.lead.saturating_add(self.gain(packet));
        if self.state.lead >= self.mss {
            self.state.window += self.mss;
            self.state.lead = match self.arithmetic {
                Arithmetic::Noq => self.state.lead - self.mss,
                _ => 0,
            };
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.trigger {
            Trigger::PersistentCongestion if self.answered == Some(event.now) => self.collapse(),
            Trigger::PersistentCongestion => {}
            trigger => {
                if trigger != Trigger::Ecn && self.arithmetic == Arithmetic::Noq {
                    self.before = Some(self.state);
                }
                self.reduce(event.now);
            }
        }
    }

    fn on_undo(&mut self) {
        if let Some(before) = self.before.take()
            && self.state.window < before.window
        {
            self.state = before;
        }
    }

    fn window(&self) -> u64 {
        self.state.window
    }

    fn ssthresh(&self) -> u64 {
        self.state.ssthresh
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.mss = mss;
        self.state.window = self.state.window.max(self.least());
    }

    fn set_window(&mut self, bytes: u64) -> bool {
        self.state.window = bytes.max(self.least());
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

    fn reached(state: State) -> QuinnCubic {
        QuinnCubic { state, ..cubic() }
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
        let mut cubic = reached(State { window: 100 * MSS, ..cubic().state });
        cubic.on_congestion(&loss(Trigger::Loss, 500));
        assert_eq!((cubic.window(), cubic.ssthresh()), (70 * MSS, 70 * MSS));
        cubic.on_packet_acked(&acked(500, 600));
        assert_eq!((cubic.window(), cubic.state.lead), (70 * MSS, 0));
        // K is cbrt(100 · 0.3 / 0.4) = 4.217 s. 0.2 s after the loss, with an RTT ahead, the curve is at
        // 100 + 0.4 · (0.3 - 4.217)³ = 75.96 datagrams: (75.96 - 70) / 70 of a datagram for each packet.
        cubic.on_packet_acked(&acked(600, 700));
        assert_eq!(cubic.state.lead, 102);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_and_not_the_time_to_it() {
        let mut cubic = reached(State { window: 80 * MSS, w_max: (100 * MSS) as f64, ..cubic().state });
        cubic.on_congestion(&loss(Trigger::Loss, 500));
        assert!((cubic.state.w_max - (68 * MSS) as f64).abs() < 1e-6);
        assert!((cubic.state.k - libm::cbrt(68.0 * 0.3 / 0.4)).abs() < 1e-9);
        assert_eq!(cubic.window(), 56 * MSS);
    }

    #[test]
    fn a_lead_of_a_datagram_is_growth_and_the_rest_of_it_is_forgotten() {
        let mut cubic = reached(State { window: 5 * MSS, ..cubic().state });
        cubic.on_congestion(&loss(Trigger::Loss, 0));
        assert_eq!(cubic.window(), 3 * MSS + MSS / 2);
        // Ten RTTs later Reno would have 3.5 + 5.29 datagrams.
        cubic.on_packet_acked(&acked(900, 1000));
        assert_eq!((cubic.window(), cubic.state.lead), (4 * MSS + MSS / 2, 0));
    }

    #[test]
    fn noq_keeps_the_rest_of_a_lead() {
        let mut cubic =
            QuinnCubic { arithmetic: Arithmetic::Noq, ..reached(State { window: 5 * MSS, ..cubic().state }) };
        cubic.on_congestion(&loss(Trigger::Loss, 0));
        cubic.on_packet_acked(&acked(900, 1000));
        // 8.79 datagrams are 5.29 more than the window, and one of them is growth.
        assert_eq!((cubic.window(), cubic.state.lead), (4 * MSS + MSS / 2, 5152));
        cubic.on_packet_acked(&acked(900, 1000));
        assert_eq!((cubic.window(), cubic.state.lead), (5 * MSS + MSS / 2, 9104));
    }

    #[test]
    fn noq_takes_a_reduction_by_loss_back_unless_the_window_has_outgrown_it() {
        let start = State { window: 100 * MSS, lead: 7, ..cubic().state };
        let mut cubic = QuinnCubic { arithmetic: Arithmetic::Noq, ..reached(start) };
        cubic.on_congestion(&loss(Trigger::Ecn, 400));
        cubic.on_undo();
        assert_eq!(cubic.window(), 70 * MSS, "a mark is no mistake");
        cubic.state = start;
        cubic.on_congestion(&loss(Trigger::Loss, 500));
        cubic.on_undo();
        assert_eq!(cubic.state, start);
        cubic.on_congestion(&loss(Trigger::Loss, 600));
        cubic.state.window = 101 * MSS;
        cubic.on_undo();
        assert_eq!(cubic.window(), 101 * MSS);
        let mut quinn = reached(start);
        quinn.on_congestion(&loss(Trigger::Loss, 500));
        quinn.on_undo();
        assert_eq!(quinn.window(), 70 * MSS);
    }

    #[test]
    fn persistent_congestion_counts_with_a_reduction_alone() {
        let mut cubic = reached(State { window: 100 * MSS, ..cubic().state });
        cubic.on_congestion(&loss(Trigger::PersistentCongestion, 500));
        assert_eq!(cubic.window(), 100 * MSS);
        cubic.on_congestion(&loss(Trigger::Loss, 600));
        cubic.on_congestion(&loss(Trigger::PersistentCongestion, 600));
        let seven_tenths = ((70 * MSS) as f64 * BETA) as u64;
        assert_eq!((cubic.window(), cubic.ssthresh(), cubic.state.reduced), (2 * MSS, seven_tenths, None));
    }

    #[test]
    fn an_avoidance_without_a_loss_begins_at_the_plateau() {
        let mut cubic = reached(State { window: 100 * MSS, ssthresh: 50 * MSS, ..cubic().state });
        cubic.on_packet_acked(&acked(0, 100));
        assert_eq!((cubic.state.reduced, cubic.state.k), (Some(at(100)), 0.0));
        cubic.set_mss(1472, 1500);
        assert_eq!(cubic.window(), 100 * MSS);
    }
}
