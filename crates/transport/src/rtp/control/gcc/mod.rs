//! Google Congestion Control, all of it at the sender (draft-ietf-rmcat-gcc-02, with transport-wide feedback).
//!
//! | file | holds |
//! |---|---|
//! | `trend` | whether the delay grows: groups of packets, the trendline and the over-use detector of libwebrtc, which took the place of the draft's Kalman filter (section 5.3) |
//! | `increase` | the rate by delay (section 5.5) |
//! | `losses` | the rate by losses (section 6) |
//! | `probes` | trains of packets at the start, which the draft has not and libwebrtc has |

mod increase;
mod losses;
mod probes;
mod trend;

use super::{Backlog, Feedback, Heard, Implementation, MediaControl, Probe, Range, Rates};
use crate::rtp::packet::Form;
use haltere_net::registry::Description;
use haltere_net::{Ecn, Span, Time};
use increase::ByDelay;
use losses::ByLosses;
use probes::Probes;
use std::collections::VecDeque;
use trend::Trend;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "gcc",
        summary: "Google Congestion Control of WebRTC: the trend of one-way delays, and losses, with probes at the start",
        reference: "draft-ietf-rmcat-gcc-02; libwebrtc's trendline",
    },
    label: "GCC",
    ecn: Ecn::NotEct,
    feedback: Feedback::Arrivals(Form::TransportWide),
    build: |range, now| Box::new(Gcc::new(range, now)),
};

/// Packets leave so much faster than the encoder writes (libwebrtc: `kDefaultPaceMultiplier`).
const PACING: f64 = 2.5;
/// The time over which the rate that arrives is measured (section 5.5: 0.5 s to 1 s).
const WINDOW: Span = Span::from_millis(500);

/// Whether the path is used too much, by its delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Usage {
    Normal,
    Over,
    Under,
}

/// The control.
#[derive(Debug)]
struct Gcc {
    range: Range,
    trend: Trend,
    by_delay: ByDelay,
    by_losses: ByLosses,
    probes: Probes,
    /// Arrivals in the last window, by the receiver's clock, with their bytes.
    arrived: VecDeque<(Time, u32)>,
    rtt: Span,
}

impl Gcc {
    fn new(range: Range, now: Time) -> Gcc {
        Gcc {
            range,
            trend: Trend::default(),
            by_delay: ByDelay::new(range, now),
            by_losses: ByLosses::new(range, now),
            probes: Probes::new(range),
            arrived: VecDeque::new(),
            rtt: Span::from_millis(100),
        }
    }

    /// The rate that arrived in the last window, bit/s; `None` before there was one.
    fn received(&self) -> Option<f64> {
        let (first, last) = (self.arrived.front()?, self.arrived.back()?);
        let bytes: u64 = self.arrived.iter().map(|one| u64::from(one.1)).sum();
        // A window that is not full is taken as one, once there is half of it.
        (last.0.since(first.0) >= WINDOW.scaled(1, 2)).then(|| 8.0 * bytes as f64 / WINDOW.as_secs_f64())
    }

    fn rate(&self) -> f64 {
        self.by_delay.rate().min(self.by_losses.rate()).clamp(self.range.least, self.range.most)
    }
}

impl MediaControl for Gcc {
    fn on_sent(&mut self, number: u64, bytes: u32, now: Time) {
        self.probes.on_sent(number, bytes, now);
    }

    fn on_report(&mut self, heard: &Heard<'_>) {
        self.rtt = heard.rtt.unwrap_or(self.rtt);
        let mut usage = None;
        let mut came: Vec<_> = heard.packets.iter().filter_map(|told| Some((told.arrived?.0, told))).collect();
        came.sort_by_key(|(at, told)| (*at, told.number));
        for (at, told) in came {
            self.arrived.push_back((at, told.bytes));
            usage = self.trend.on_packet(told.sent, at).or(usage);
        }
        while let (Some(first), Some(last)) = (self.arrived.front(), self.arrived.back())
            && last.0.since(first.0) > WINDOW
        {
            self.arrived.pop_front();
        }
        let found = self.probes.on_report(heard);
        self.by_losses.on_report(heard, self.rate(), self.rtt);
        let usage = usage.unwrap_or_else(|| self.trend.usage());
        match found {
            Some(found) if usage != Usage::Over => {
                self.by_delay.set(found, heard.now);
                self.by_losses.allow(found);
            }
            _ => self.by_delay.on_usage(usage, self.received(), self.rtt, heard.now),
        }
    }

    fn rates(&self, _: Backlog) -> Rates {
        Rates { media: self.rate(), pacing: PACING * self.rate() }
    }

    fn probe(&mut self, _: Time) -> Option<Probe> {
        self.probes.next()
    }
}
