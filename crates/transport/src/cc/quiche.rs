//! CUBIC and NewReno as quiche has them (quiche 0.30.0, `recovery/congestion/`).
//!
//! The losses that an ACK shows count first, and then each packet that it acknowledges, unless the last packet that was sent left room
//! in the window. Datagrams have the largest size from the beginning (`Congestion::max_datagram_size`), while the window is ten
//! datagrams of 1200 bytes until the handshake is complete (`recovery.rs`, `pmtud_update_max_datagram_size`).
//!
//! CUBIC (`cubic.rs`) counts the curve's time from the loss, and has PRR (`prr.rs`), which allows bytes beyond the reduced window. It
//! takes a reduction back when a packet that was sent after it is acknowledged and fewer than a fifth of a window were lost since, or
//! fewer than two packets: a single loss in congestion avoidance costs nothing for longer than a round trip. NewReno (`reno.rs`) grows
//! in slow start by a datagram for each packet, however small.
//!
//! Slow start ends by HyStart++ (`hystart.rs`), in which packets and not ACKs count as samples. A round ends with a packet that was
//! sent after the round before.

use super::{
    Ack, AckedPacket, Config, Congestion, CongestionController, Established, Lost, PathView, Sent, SlowStart, Trigger,
};
use haltere_net::{Span, Time};

/// `BETA_CUBIC`, `C` and `ALPHA_AIMD` of `cubic.rs`.
const BETA: f64 = 0.7;
const C: f64 = 0.4;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// A reduction stays if so many hundredths of a window, and at least so many packets, were lost (`cubic.rs`,
/// `ROLLBACK_THRESHOLD_PERCENT` and `MIN_ROLLBACK_THRESHOLD`).
const ROLLBACK_PERCENT: u64 = 20;
const LEAST_ROLLBACK: u64 = 2;
/// The size of datagrams that the first window counts in, bytes (RFC 9000 section 14).
const SMALLEST: u64 = 1200;
/// Datagrams in the least window (`recovery/mod.rs`, `MINIMUM_WINDOW_PACKETS`).
const LEAST_DATAGRAMS: u64 = 2;
/// HyStart++'s constants (`hystart.rs`).
const LEAST_RISE: Span = Span::from_millis(4);
const MOST_RISE: Span = Span::from_millis(16);
const SAMPLES: u32 = 8;
const SLOWER: u64 = 4;
const ROUNDS: u32 = 5;

/// quiche's HyStart++.
#[derive(Clone, Copy, Debug)]
struct HyStart {
    on: bool,
    /// A packet that was sent then or later ends the round.
    end: Option<Time>,
    last: Span,
    current: Span,
    baseline: Span,
    samples: u32,
    /// Since when slow start is conservative.
    since: Option<Time>,
    rounds: u32,
}

impl HyStart {
    fn new(config: &Config) -> HyStart {
        let on = config.slow_start != Some(SlowStart::Standard);
        let (last, current, baseline) = (Span::MAX, Span::MAX, Span::MAX);
        HyStart { on, end: None, last, current, baseline, samples: 0, since: None, rounds: 0 }
    }

    /// A packet is sent in slow start.
    fn on_sent(&mut self, now: Time) {
        if self.on && self.end.is_none() {
            self.end = Some(now);
            self.last = std::mem::replace(&mut self.current, Span::MAX);
            self.samples = 0;
        }
    }

    /// A packet of slow start was acknowledged. Returns whether slow start is over.
    fn on_acked(&mut self, sent: Time, rtt: Span, now: Time) -> bool {
        if !self.on {
            return false;
        }
        self.current = self.current.min(rtt);
        self.samples += 1;
        if self.samples >= SAMPLES {
            self.judge(now);
        }
        if self.end.is_some_and(|end| sent >= end) {
            self.end = None;
            self.rounds += u32::from(self.since.is_some());
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                return true;
            }
        }
        false
    }

    fn judge(&mut self, now: Time) {
        if self.since.is_some() {
            self.samples = 0;
            if self.current < self.baseline {
                (self.baseline, self.since, self.rounds) = (Span::MAX, None, 0);
            }
        } else if self.last != Span::MAX && self.current >= self.last + (self.last / 8).max(LEAST_RISE).min(MOST_RISE) {
            (self.baseline, self.since) = (self.current, Some(now));
        }
    }

    /// By how much the window grows for a datagram of `mss` bytes.
    fn growth(&self, mss: u64) -> u64 {
        if self.since.is_some() { mss / SLOWER } else { mss }
    }

    fn on_congestion(&mut self) {
        if self.since.is_some() {
            (self.end, self.since) = (None, None);
        }
    }
}

/// The parts that both algorithms share.
#[derive(Clone, Debug)]
struct Shared {
    window: u64,
    ssthresh: u64,
    mss: u64,
    /// The window at first, and the one of larger datagrams that it becomes once the handshake is complete, unless it has changed by
    /// then.
    first: (u64, u64),
    /// The handshake is complete, and nothing was sent since.
    fresh: bool,
    /// When the last recovery period began; packets sent until then add nothing.
    reduced: Option<Time>,
    hystart: HyStart,
    /// The packets of the ACK at hand: when they were sent, and their bytes.
    acked: Vec<(Time, u64)>,
    /// The newest RTT.
    rtt: Span,
}

impl Shared {
    fn new(config: &Config) -> Shared {
        let (window, mss) = (config.initial_window, config.mss);
        let (first, fresh) = ((window, window / SMALLEST * mss), false);
        let (hystart, acked) = (HyStart::new(config), Vec::new());
        Shared { window, ssthresh: u64::MAX, mss, first, fresh, reduced: None, hystart, acked, rtt: Span::ZERO }
    }

    fn least(&self) -> u64 {
        LEAST_DATAGRAMS * self.mss
    }

    fn in_recovery(&self, sent: Time) -> bool {
        self.reduced.is_some_and(|at| sent <= at)
    }

    fn on_sent(&mut self, now: Time) {
        if std::mem::take(&mut self.fresh) && self.window == self.first.0 {
            self.window = self.first.1;
        }
        if self.window < self.ssthresh {
            self.hystart.on_sent(now);
        }
    }

    /// The packets of an ACK, which is complete.
    fn take(&mut self, ack: &Ack) -> Vec<(Time, u64)> {
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        std::mem::take(&mut self.acked)
    }

    /// Keeps the memory of the packets for the next ACK.
    fn put_back(&mut self, mut packets: Vec<(Time, u64)>) {
        packets.clear();
        self.acked = packets;
    }

    /// A packet of slow start was acknowledged.
    fn look_for_exit(&mut self, sent: Time, now: Time) {
        if self.hystart.on_acked(sent, self.rtt, now) {
            self.ssthresh = self.window;
        }
    }
}

/// quiche's NewReno.
#[derive(Clone, Debug)]
pub(super) struct QuicheNewReno {
    shared: Shared,
    /// Bytes acknowledged towards the next datagram of growth.
    credit: u64,
}

impl QuicheNewReno {
    pub(super) fn new(config: &Config) -> QuicheNewReno {
        QuicheNewReno { shared: Shared::new(config), credit: 0 }
    }

    fn on_packet(&mut self, (sent, bytes): (Time, u64), now: Time) {
        let shared = &mut self.shared;
        if shared.in_recovery(sent) {
            return;
        }
        if shared.window < shared.ssthresh {
            shared.window += shared.hystart.growth(shared.mss);
            shared.look_for_exit(sent, now);
            return;
        }
        self.credit += bytes;
        if self.credit >= shared.window {
            self.credit -= shared.window;
            shared.window += shared.mss;
        }
    }
}

/// Both controllers do this alike.
macro_rules! by_shared {
    () => {
        fn wants_packets(&self) -> bool {
            true
        }
        fn on_established(&mut self, _: &Established) {
            self.shared.fresh = true;
        }
        fn on_packet_acked(&mut self, packet: &AckedPacket) {
            self.shared.acked.push((packet.sent, packet.bytes));
        }
        fn begins_recovery(&self, _: Option<Time>, sent: Time) -> bool {
            !self.shared.in_recovery(sent)
        }
        fn on_undo(&mut self) {}
        fn window(&self) -> u64 {
            self.shared.window
        }
        fn ssthresh(&self) -> u64 {
            self.shared.ssthresh
        }
        fn set_mss(&mut self, _: u64, _: u64) {}
        fn set_window(&mut self, bytes: u64) -> bool {
            self.shared.window = bytes.max(self.shared.least());
            true
        }
    };
}

impl CongestionController for QuicheNewReno {
    by_shared!();

    fn on_sent(&mut self, sent: &Sent) {
        self.shared.on_sent(sent.now);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let packets = self.shared.take(ack);
        if ack.window_limited {
            packets.iter().for_each(|packet| self.on_packet(*packet, ack.now));
        }
        self.shared.put_back(packets);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.trigger == Trigger::PersistentCongestion {
            return;
        }
        let shared = &mut self.shared;
        shared.reduced = Some(event.now);
        shared.window = (shared.window / 2).max(shared.least());
        self.credit = shared.window / 2;
        shared.ssthresh = shared.window;
        shared.hystart.on_congestion();
    }
}

/// PRR as quiche has it: an allowance beyond the window (`prr.rs`).
#[derive(Clone, Copy, Default, Debug)]
struct Prr {
    delivered: u64,
    flight: u64,
    out: u64,
    allowed: u64,
}

impl Prr {
    fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowed = self.allowed.saturating_sub(bytes);
    }

    /// A packet of the recovery period was acknowledged while `pipe` bytes were in flight, those of the whole ACK included.
    fn on_acked(&mut self, bytes: u64, pipe: u64, ssthresh: u64, mss: u64) {
        self.delivered += bytes;
        self.allowed = if pipe > ssthresh {
            match self.flight {
                0 => 0,
                flight => self.delivered.saturating_mul(ssthresh).div_ceil(flight).saturating_sub(self.out),
            }
        } else {
            (ssthresh - pipe).min(self.delivered.saturating_sub(self.out).max(bytes) + mss)
        };
    }
}

/// The state that a reduction may be taken back to.
#[derive(Clone, Copy, Default, Debug)]
struct Prior {
    window: u64,
    ssthresh: u64,
    w_max: f64,
    k: f64,
    reduced: Option<Time>,
    lost: u64,
}

/// quiche's CUBIC.
#[derive(Clone, Debug)]
pub(super) struct QuicheCubic {
    shared: Shared,
    prr: Prr,
    /// W_max and W_est, bytes, and seconds from the reduction to the plateau.
    w_max: f64,
    w_est: f64,
    k: f64,
    alpha: f64,
    /// Bytes acknowledged in slow start, and growth of congestion avoidance, towards the next datagram.
    credit: u64,
    lead: u64,
    prior: Prior,
    /// Packets lost; the last time at which some were found, and those before that time.
    lost: u64,
    found: (Option<Time>, u64),
    last_ack: Option<Time>,
    last_sent: Option<Time>,
}

impl QuicheCubic {
    pub(super) fn new(config: &Config) -> QuicheCubic {
        QuicheCubic {
            shared: Shared::new(config),
            prr: Prr::default(),
            w_max: 0.0,
            w_est: 0.0,
            k: 0.0,
            alpha: 0.0,
            credit: 0,
            lead: 0,
            prior: Prior::default(),
            lost: 0,
            found: (None, 0),
            last_ack: None,
            last_sent: None,
        }
    }

    fn on_packet(&mut self, (sent, bytes): (Time, u64), pipe: u64, ack: &Ack) {
        let shared = &self.shared;
        if shared.in_recovery(sent) {
            self.prr.on_acked(bytes, pipe, shared.ssthresh, shared.mss);
            return;
        }
        if !ack.window_limited || self.rolls_back() {
            return;
        }
        let shared = &mut self.shared;
        if shared.window < shared.ssthresh {
            self.credit += bytes;
            if self.credit >= shared.mss {
                self.credit -= shared.mss;
                shared.window += shared.hystart.growth(shared.mss);
            }
            shared.look_for_exit(sent, ack.now);
        } else {
            self.avoid(bytes, ack);
        }
    }

    /// Takes the last reduction back if it was by few losses; returns whether it did.
    fn rolls_back(&mut self) -> bool {
        let shared = &mut self.shared;
        if shared.reduced.is_none() {
            return false;
        }
        let few = (shared.window / shared.mss * ROLLBACK_PERCENT / 100).max(LEAST_ROLLBACK);
        let prior = &self.prior;
        // Never back into slow start.
        if self.lost - prior.lost >= few || prior.window < prior.ssthresh || shared.window >= prior.window {
            return false;
        }
        (shared.window, shared.ssthresh, shared.reduced) = (prior.window, prior.ssthresh, prior.reduced);
        (self.w_max, self.k) = (prior.w_max, prior.k);
        true
    }

    /// The curve begins at its plateau.
    fn begin_at_plateau(&mut self) {
        self.w_max = self.shared.window as f64;
        (self.w_est, self.k, self.alpha) = (self.w_max, 0.0, ALPHA);
    }

    fn curve(&self, past: Span) -> f64 {
        let mss = self.shared.mss as f64;
        let t = past.as_secs_f64() - self.k;
        (C * t * t * t + self.w_max / mss) * mss
    }

    /// A packet of congestion avoidance was acknowledged.
    fn avoid(&mut self, bytes: u64, ack: &Ack) {
        let start = match (self.shared.hystart.since, self.shared.reduced) {
            (Some(since), _) => {
                if self.w_max == 0.0 {
                    self.begin_at_plateau();
                }
                since
            }
            (None, Some(at)) => at,
            (None, None) => {
                self.shared.reduced = Some(ack.now);
                self.begin_at_plateau();
                ack.now
            }
        };
        let (mss, window) = (self.shared.mss, self.shared.window);
        let t = ack.now.since(start);
        let target = self.curve(t + ack.min_rtt.unwrap_or(Span::ZERO)).max(window as f64).min(window as f64 * 1.5);
        self.w_est += self.alpha * (bytes as f64 / window as f64) * mss as f64;
        if self.w_est >= self.w_max {
            self.alpha = 1.0;
        }
        self.lead += if self.curve(t) < self.w_est {
            (self.w_est as u64).saturating_sub(window)
        } else {
            mss * (target as u64 - window) / window
        };
        if self.lead >= mss {
            self.shared.window += mss;
            self.lead -= mss;
        }
    }
}

impl CongestionController for QuicheCubic {
    by_shared!();

    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight == 0
            && let Some(at) = self.shared.reduced
            && let Some(idle) = self.last_ack.max(self.last_sent)
        {
            // Growth goes on after idle time where it stood.
            self.shared.reduced = Some(at + sent.now.since(idle));
        }
        self.last_sent = Some(sent.now);
        self.prr.on_sent(sent.bytes);
        self.shared.on_sent(sent.now);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.last_ack = Some(ack.now);
        let packets = self.shared.take(ack);
        let pipe = ack.in_flight + ack.delivered;
        packets.iter().for_each(|packet| self.on_packet(*packet, pipe, ack));
        self.shared.put_back(packets);
    }

    fn on_lost(&mut self, lost: &Lost) {
        if self.found.0 != Some(lost.now) {
            self.found = (Some(lost.now), self.lost);
        }
        self.lost += 1;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.trigger == Trigger::PersistentCongestion {
            return;
        }
        let shared = &mut self.shared;
        let window = shared.window as f64;
        self.prior = Prior {
            window: shared.window,
            ssthresh: shared.ssthresh,
            w_max: self.w_max,
            k: self.k,
            reduced: shared.reduced,
            lost: self.found.1,
        };
        shared.reduced = Some(event.now);
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        shared.ssthresh = ((window * BETA) as u64).max(shared.least());
        shared.window = shared.ssthresh;
        let below = (self.w_max - shared.window as f64) / shared.mss as f64;
        self.k = libm::cbrt(below.max(0.0) / C);
        self.lead = (self.lead as f64 * BETA) as u64;
        (self.w_est, self.alpha) = (shared.window as f64, ALPHA);
        shared.hystart.on_congestion();
        let acked: u64 = shared.acked.iter().map(|(_, bytes)| bytes).sum();
        self.prr = Prr { flight: event.in_flight + event.lost + acked, ..Prr::default() };
    }

    fn allowance(&self) -> u64 {
        self.prr.allowed
    }
}

#[cfg(test)]
mod tests;
