//! H-TCP (D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06).
//!
//! The window grows by alpha segments an RTT, which rises with the time since the last congestion, and is reduced to
//! beta = RTT_min / RTT_max, which empties the queue, unless the achieved rate changed by more than a fifth. Linux counts
//! in ticks and 128ths, scales alpha with the RTT over 100 ms, looks at the window before it counts an ACK, and lets one
//! segment of growth cost all that was counted.

use super::observed::{Cumulative, Ticks};
use super::windows::{Windows, by_windows};
use super::{Ack, Arrival, Config, Congestion, CongestionController, Description, Established, Implementation, PathView, Phase, SlowStart, Trigger};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "H-TCP",
    linux: Some("htcp"),
    ..Implementation::new(
        Description {
            name: "htcp",
            summary: "increase that rises with the time since the last loss, backoff that empties the queue",
            reference: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06",
        },
        |config| Box::new(Htcp::new(config)),
    )
};

/// Delta_L: H-TCP grows as Reno does for this time after congestion.
const LEGACY: Span = Span::from_secs(1);
/// Bounds of beta.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// Below this RTT a quotient of RTTs is inaccurate (Linux).
const RTT_FLOOR: Span = Span::from_millis(10);
/// The largest increase of an RTT over the maximum that is accepted as the new maximum (Linux).
const RTT_STEP: Span = Span::from_millis(20);
/// The share of the distance between largest and smallest RTT that is kept after each congestion, per cent (Linux).
const RTT_MEMORY: u64 = 95;
/// 1.0 in the kernel's fixed point.
const ONE: u64 = 128;

/// alpha: growth in segments an RTT, `since` the last congestion, before it is scaled by 2 (1 - beta).
fn increase(since: Span) -> f64 {
    let late = since.saturating_sub(LEGACY).as_secs_f64();
    1.0 + 10.0 * late + (late / 2.0) * (late / 2.0)
}

/// The state that congestion changes and an undo restores.
#[derive(Clone, Copy, Debug)]
struct Memory {
    last_congestion: Time,
    max_rtt: Span,
    old_rate: u64,
}

/// H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    w: Windows,
    ticks: Ticks,
    beta: f64,
    min_rtt: Option<Span>,
    memory: Memory,
    undo: Option<Memory>,
    /// Whether a congestion with a steady rate occurred before (Linux).
    steady: bool,
    phase: Phase,
    rate: Achieved,
    /// alpha in 128ths (Linux).
    alpha: u64,
    acked: Cumulative,
    /// Whether the arrival of the ACK now processed was told, and with it measured.
    arrived: bool,
    /// Segments that the next ACK counts for growth: those of the last ACK that arrived while nothing was out of order, also of
    /// one without news, and 1 once they are counted (Linux: `pkts_acked`).
    counts: u64,
}

/// The achieved rate, segments a second in Linux, else bytes a second.
#[derive(Clone, Copy, Default, Debug)]
struct Achieved {
    smoothed: u64,
    largest: u64,
    counted: u64,
    since: Time,
}

impl Achieved {
    fn restart(&mut self, now: Time) {
        self.counted = 0;
        self.since = now;
    }

    /// Processes a sample, taken so many rounds after a backoff. The first ones count in full.
    fn sample(&mut self, rate: u64, rounds: u64) {
        if rounds <= 3 {
            self.smoothed = rate;
            self.largest = rate;
        } else {
            self.smoothed = (3 * self.smoothed + rate) / 4;
            self.largest = self.largest.max(self.smoothed);
        }
    }
}

impl Htcp {
    pub(super) fn new(config: Config) -> Htcp {
        Htcp {
            w: Windows::new(&config, SlowStart::Standard),
            ticks: Ticks::new(&config),
            beta: BETA_MIN,
            min_rtt: None,
            memory: Memory { last_congestion: Time::ZERO, max_rtt: Span::ZERO, old_rate: 0 },
            undo: None,
            steady: false,
            phase: Phase::Open,
            rate: Achieved::default(),
            alpha: ONE,
            acked: Cumulative::default(),
            arrived: false,
            counts: 1,
        }
    }

    /// Notes what an ACK acknowledges, before the phase follows from it; returns it in segments.
    fn note(&mut self, acked_to: u64) -> u64 {
        let acked = self.acked.take(acked_to, self.w.mss);
        if self.phase == Phase::Open {
            self.counts = acked;
        }
        acked
    }

    /// A time span by the algorithm's clock: in whole ticks, rounded up.
    fn measured(&self, span: Span) -> Span {
        if self.w.as_linux() { self.ticks.length() * self.ticks.of(span) } else { span }
    }

    /// The time between two instants by the algorithm's clock.
    fn between(&self, from: Time, to: Time) -> Span {
        if self.w.as_linux() {
            self.ticks.length() * self.ticks.at(to).saturating_sub(self.ticks.at(from))
        } else {
            to.since(from)
        }
    }

    fn observe_rtt(&mut self, rtt: Option<Span>) {
        let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()).map(|rtt| self.measured(rtt)) else { return };
        let min = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min);
        if self.phase == Phase::Open {
            let max = self.memory.max_rtt.max(min);
            let outlier = self.w.as_linux() && rtt > max + self.measured(RTT_STEP);
            self.memory.max_rtt = if outlier { max } else { max.max(rtt) };
        }
    }

    /// The rate achieved over at least a window and an RTT.
    fn observe_rate(&mut self, now: Time, acked: u64) {
        if self.phase >= Phase::Reducing {
            return self.rate.restart(now);
        }
        self.rate.counted += acked;
        let Some(min_rtt) = self.min_rtt else { return };
        let span = self.between(self.rate.since, now);
        let grown = if self.w.as_linux() { (self.alpha / ONE).max(1) * self.w.mss } else { self.w.mss };
        if self.w.window.checked_sub(grown).is_none_or(|least| self.rate.counted < least) || span < min_rtt {
            return;
        }
        let unit = if self.w.as_linux() { self.w.mss } else { 1 };
        let rate = u128::from(self.rate.counted / unit) * 1_000_000_000 / u128::from(span.as_nanos().max(1));
        let rounds = self.between(self.memory.last_congestion, now).as_nanos() / min_rtt.as_nanos().max(1);
        self.rate.sample(rate as u64, rounds);
        self.rate.restart(now);
    }

    /// Growth of 2 (1 - beta) alpha segments an RTT.
    fn grow_exactly(&mut self, ack: &Ack, rest: u64) {
        let alpha = 2.0 * (1.0 - self.beta) * increase(ack.now.since(self.memory.last_congestion));
        self.w.additive(rest, (self.w.window as f64 / alpha) as u64);
    }

    fn grow_linux(&mut self, now: Time) {
        let counts = std::mem::replace(&mut self.counts, 1) * self.w.mss;
        if self.w.credit / self.w.mss * self.alpha / ONE >= self.w.segments() {
            self.w.window += self.w.mss;
            self.w.credit = 0;
            self.alpha = self.alpha_linux(now);
        } else {
            self.w.credit += counts;
        }
    }

    /// alpha as the kernel's module computes it: in whole segments, scaled by RTT over 100 ms within 0.1 and 2.
    fn alpha_linux(&self, now: Time) -> u64 {
        let hz = self.ticks.per_second();
        let since = self.ticks.at(now).saturating_sub(self.ticks.at(self.memory.last_congestion));
        let late = since.saturating_sub(hz);
        let mut factor = 1;
        if late > 0 {
            factor += (10 * late + (late / 2) * (late / 2) / hz) / hz;
        }
        if let Some(min_rtt) = self.min_rtt {
            let scale = ((hz << 3) / (10 * self.ticks.of(min_rtt).max(1))).clamp(4, 80);
            factor = ((factor << 3) / scale).max(1);
        }
        let alpha = 2 * factor * (ONE - self.beta_128ths());
        if alpha == 0 { ONE } else { alpha }
    }

    fn beta_128ths(&self) -> u64 {
        (self.beta * ONE as f64) as u64
    }

    /// Whether RTTs may set beta. In Linux this is not so at first, nor for RTTs that are too short for its clock.
    fn trusts(&self, min_rtt: Span) -> bool {
        !self.w.as_linux() || (self.steady && min_rtt > self.measured(RTT_FLOOR))
    }

    /// beta for the next reductions.
    fn adapt(&mut self) {
        let (old, new) = (self.memory.old_rate, self.rate.largest);
        self.memory.old_rate = new;
        let min_rtt = self.min_rtt.unwrap_or(Span::ZERO);
        let max_rtt = self.memory.max_rtt;
        if 5 * new < 4 * old || 5 * new > 6 * old {
            (self.beta, self.steady) = (BETA_MIN, false);
        } else if self.trusts(min_rtt) && !max_rtt.is_zero() {
            let beta = min_rtt.as_nanos() as f64 / max_rtt.as_nanos() as f64;
            let beta = beta.clamp(BETA_MIN, BETA_MAX);
            self.beta = if self.w.as_linux() { libm::floor(beta * ONE as f64) / ONE as f64 } else { beta };
        } else {
            (self.beta, self.steady) = (BETA_MIN, true);
        }
    }
}

impl CongestionController for Htcp {
    by_windows!(on_sent, window, ssthresh, set_mss, set_window);

    fn on_established(&mut self, event: &Established) {
        self.memory.last_congestion = event.now;
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        if self.w.as_linux() {
            // The kernel measures an ACK before it looks what is lost or marked.
            let acked = self.note(arrival.acked_to) * self.w.mss;
            self.observe_rtt(arrival.rtt);
            self.observe_rate(arrival.now, acked);
            self.arrived = true;
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        if !std::mem::take(&mut self.arrived) {
            let cumulative = self.note(ack.acked_to) * self.w.mss;
            self.observe_rtt(ack.rtt);
            self.observe_rate(ack.now, if self.w.as_linux() { cumulative } else { ack.delivered });
        }
        self.phase = ack.phase;
        if ack.phase == Phase::Open && self.undo.take().is_some() {
            // The time counts from the end of recovery.
            self.memory.last_congestion = ack.now;
        }
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if !self.w.as_linux() {
            if let Some(rest) = self.w.grow(ack, delivered) {
                self.grow_exactly(ack, rest);
            }
        } else if self.w.in_slow_start() {
            self.w.grow(ack, delivered);
        } else if ack.window_limited && ack.may_grow {
            self.grow_linux(ack.now);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        if event.trigger != Trigger::Timeout && !self.arrived {
            // The ACK that showed the congestion may have ended a sample.
            self.observe_rate(event.now, 0);
        }
        if event.new_episode {
            self.adapt();
            self.alpha = self.alpha_linux(event.now);
            let (min, max) = (self.min_rtt.unwrap_or(Span::ZERO), self.memory.max_rtt);
            if max > min {
                // Old RTTs fade, in case the route has changed.
                let above = (max - min).scaled(RTT_MEMORY, 100);
                self.memory.max_rtt = min + if self.w.as_linux() { self.ticks.whole(above) } else { above };
            }
        }
        self.w.reduce(event, (window as f64 * self.beta) as u64);
        self.undo = Some(self.memory);
        self.memory.last_congestion = event.now;
        // The ACK that showed the congestion is not measured by the new window.
        self.phase = if event.trigger == Trigger::Timeout { Phase::Loss } else { Phase::Recovery };
    }

    fn on_undo(&mut self) {
        self.w.undo();
        if let Some(before) = self.undo.take() {
            self.memory = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};

    /// An ACK up to this position, in segments, after which loss recovery is in this phase.
    fn tell(cc: &mut Htcp, segments: u64, phase: Phase) -> u64 {
        let told = ack(|ack| (ack.acked_to, ack.phase, ack.may_grow) = (segments * MSS, phase, phase == Phase::Open));
        cc.on_arrival(&Arrival {
            now: told.now,
            rtt: told.rtt,
            srtt: told.srtt,
            min_rtt: told.min_rtt,
            acked_to: told.acked_to,
            sent_to: told.sent_to,
            total_delivered: told.total_delivered,
            prior_delivered: None,
            in_flight: told.in_flight,
            stamps: None,
        });
        cc.on_ack(&told, &[]);
        cc.w.credit / MSS
    }

    /// As in the kernel's module: the number is taken while nothing is out of order, and the first duplicate still is.
    #[test]
    fn the_ack_that_ends_recovery_counts_what_the_first_duplicate_acknowledged() {
        let mut cc = Htcp::new(config());
        (cc.w.window, cc.w.ssthresh) = (100 * MSS, 50 * MSS);
        assert_eq!(tell(&mut cc, 2, Phase::Open), 2);
        assert_eq!(tell(&mut cc, 5, Phase::Open), 5);
        assert_eq!(tell(&mut cc, 5, Phase::Disorder), 5);
        assert_eq!(tell(&mut cc, 5, Phase::Recovery), 5);
        assert_eq!(tell(&mut cc, 40, Phase::Open), 5, "nothing");
        assert_eq!(tell(&mut cc, 42, Phase::Open), 7);
        let mut late = Htcp::new(config());
        (late.w.window, late.w.ssthresh, late.phase) = (100 * MSS, 50 * MSS, Phase::Disorder);
        assert_eq!(tell(&mut late, 9, Phase::Open), 1, "a segment");
    }
}
