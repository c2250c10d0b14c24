//! The queueing delay as both versions of SCReAM measure it, and the delay that they aim at.

use crate::rtp::control::Heard;
use haltere_net::Span;
use std::collections::VecDeque;

/// RFC 8298 section 4.1.1.1 and the draft of version 2: the bounds of the delay that is aimed at, s.
pub(in crate::rtp::control) const QDELAY_TARGET_LO: f64 = 0.1;
const QDELAY_TARGET_HI: f64 = 0.4;
/// The samples of normalised delays whose variance and whose mean count (RFC 8298 section 4.1.2.3).
const VARIANCE: usize = 200;
const MEAN: usize = 50;
/// The weight of an RTT with losses, and how many losses in RTTs mean that others fill the queue (RFC 8298 section 4.1.2.3, which
/// gives the bound alone).
const LOSS_WEIGHT: f64 = 0.01;
const LOSSY: f64 = 0.002;
/// The base delay is the least of these minutes (RFC 6817 section 4.2: `BASE_HISTORY`).
const BASE_MINUTES: usize = 10;

/// The delays of a path, s.
#[derive(Debug)]
pub(in crate::rtp::control) struct Delays {
    /// The smoothed RTT; 0 if there is none.
    pub srtt: f64,
    /// The queueing delay of the packet that came last.
    pub qdelay: f64,
    /// The queueing delay that is aimed at.
    pub target: f64,
    /// The least delays of minutes, with the number of each.
    base: VecDeque<(u64, Span)>,
    normalised: VecDeque<f64>,
    /// The share of RTTs with losses.
    loss_rate: f64,
    lost: bool,
}

impl Delays {
    pub fn new() -> Delays {
        Delays {
            srtt: 0.0,
            qdelay: 0.0,
            target: QDELAY_TARGET_LO,
            base: VecDeque::new(),
            normalised: VecDeque::new(),
            loss_rate: 0.0,
            lost: false,
        }
    }

    /// Takes the RTT and the queueing delay of a report (RFC 6817).
    pub fn measure(&mut self, heard: &Heard<'_>) {
        self.lost |= heard.lost();
        if let Some(rtt) = heard.rtt {
            let rtt = rtt.as_secs_f64();
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        }
        let Some((sent, at)) = heard.packets.iter().rev().find_map(|told| Some((told.sent, told.arrived?.0))) else {
            return;
        };
        let (delay, minute) = (at.since(sent), at.as_nanos() / 60_000_000_000);
        match self.base.back_mut().filter(|last| last.0 == minute) {
            Some(last) => last.1 = last.1.min(delay),
            None => self.base.push_back((minute, delay)),
        }
        if self.base.len() > BASE_MINUTES {
            self.base.pop_front();
        }
        let base = self.base.iter().map(|one| one.1).min().unwrap_or(delay);
        self.qdelay = delay.saturating_sub(base).as_secs_f64();
        self.adjust_target();
    }

    /// Counts a round trip that has ended.
    pub fn end_round(&mut self) {
        let lost = f64::from(u8::from(std::mem::take(&mut self.lost)));
        self.loss_rate += LOSS_WEIGHT * (lost - self.loss_rate);
    }

    /// Others that fill the queue raise the delay that is aimed at (RFC 8298 section 4.1.2.3).
    fn adjust_target(&mut self) {
        self.normalised.push_back(self.qdelay / QDELAY_TARGET_LO);
        if self.normalised.len() > VARIANCE {
            self.normalised.pop_front();
        }
        let count = self.normalised.len() as f64;
        let mean = self.normalised.iter().sum::<f64>() / count;
        let variance = self.normalised.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        let of_late = self.normalised.iter().rev().take(MEAN);
        let average = of_late.clone().sum::<f64>() / of_late.count().max(1) as f64;
        let wanted = (average + variance.sqrt()) * QDELAY_TARGET_LO;
        self.target = if self.loss_rate > LOSSY {
            1.5 * wanted
        } else if variance < 0.2 {
            wanted
        } else if wanted < QDELAY_TARGET_LO {
            (0.5 * self.target).max(wanted)
        } else {
            0.9 * self.target
        };
        self.target = self.target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }
}
