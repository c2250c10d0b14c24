//! The rate that losses allow (draft-ietf-rmcat-gcc-02 section 6; libwebrtc, send_side_bandwidth_estimation.cc, for how often).

use super::super::{Heard, Range};
use haltere_net::{Span, Time};

/// More losses than this lower the rate, and fewer than that raise it (section 6).
const MANY: f64 = 0.1;
const FEW: f64 = 0.02;
/// The factor of an increase (section 6).
const INCREASE: f64 = 1.05;
/// Packets over which a share of losses is taken at least (`kLimitNumPackets`).
const PACKETS: u32 = 20;
/// The time between two increases, and between two decreases beside the RTT (`kBweIncreaseInterval`, `kBweDecreaseInterval`).
const INCREASE_PAUSE: Span = Span::from_secs(1);
const DECREASE_PAUSE: Span = Span::from_millis(300);

/// The control by losses.
#[derive(Debug)]
pub(super) struct ByLosses {
    range: Range,
    rate: f64,
    /// Packets of which reports told since the last share, and how many of them were lost.
    told: u32,
    lost: u32,
    increased: Time,
    decreased: Option<Time>,
}

impl ByLosses {
    pub fn new(range: Range, now: Time) -> ByLosses {
        ByLosses { range, rate: range.start, told: 0, lost: 0, increased: now, decreased: None }
    }

    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// A probe found that the path carries a rate.
    pub fn allow(&mut self, rate: f64) {
        self.rate = self.rate.max(rate.min(self.range.most));
    }

    /// Takes a report; the control as a whole has the rate `used`.
    pub fn on_report(&mut self, heard: &Heard<'_>, used: f64, rtt: Span) {
        self.told += heard.packets.len() as u32;
        self.lost += heard.packets.iter().filter(|told| told.arrived.is_none()).count() as u32;
        if self.told < PACKETS {
            return;
        }
        let share = f64::from(self.lost) / f64::from(self.told);
        (self.told, self.lost) = (0, 0);
        let now = heard.now;
        if share > MANY && self.decreased.is_none_or(|last| last + DECREASE_PAUSE + rtt <= now) {
            // A rate that is not used cannot be lowered.
            self.rate = (used * (1.0 - 0.5 * share)).max(self.range.least);
            self.decreased = Some(now);
        } else if share < FEW && self.increased + INCREASE_PAUSE <= now {
            self.rate = (INCREASE * self.rate).min(self.range.most);
            self.increased = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Told;
    use super::*;
    use haltere_net::Ecn;

    /// The rate from 1 Mbit/s on after so many seconds with reports of 20 packets each 100 ms, of which so many were lost.
    fn after(seconds: u64, lost: usize) -> f64 {
        let range = Range { least: 150e3, most: 5e6, start: 1e6 };
        let mut control = ByLosses::new(range, Time::ZERO);
        for k in 1..=10 * seconds {
            let now = Time::ZERO + Span::from_millis(100 * k);
            let told = |j: usize| Told {
                number: 20 * k + j as u64,
                sent: now,
                bytes: 1200,
                arrived: (j >= lost).then_some((now, Ecn::NotEct)),
            };
            let packets: Vec<Told> = (0..20).map(told).collect();
            let heard = Heard { now, packets: &packets, rtt: None, in_flight: 0, summary: None };
            let used = control.rate;
            control.on_report(&heard, used, Span::from_millis(100));
        }
        control.rate
    }

    #[test]
    fn few_losses_raise_the_rate_some_hold_it_and_many_lower_it() {
        assert!((after(10, 0) / (1e6 * libm::pow(1.05, 10.0)) - 1.0).abs() < 1e-9);
        assert_eq!(after(10, 1), 1e6);
        assert!(after(10, 4) < 0.2e6);
    }
}
