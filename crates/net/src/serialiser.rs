//! Serialisation of packets onto a link: at a rate, at a trace's opportunities, or instantly.

use crate::link::LinkConfig;
use crate::time::{Span, Time};
use crate::trace::TraceServer;
use crate::units::Rate;
use crate::varying::{InOutage, Supply};

/// The serialiser. It keeps the remainder of each division, so that long trains are exact.
#[derive(Clone, Debug)]
pub(crate) struct Serialiser {
    bps: u64,
    pub(crate) busy_until: Time,
    pub(crate) remainder: u64,
    trace: Option<Box<TraceServer>>,
    /// A rate that changes, outages that hold packets, and grants that an idle sender waits for.
    supply: Option<Box<Supply>>,
}

impl Serialiser {
    pub(crate) fn new(config: &LinkConfig) -> Serialiser {
        let trace = config.trace.clone().map(|t| Box::new(TraceServer::new(t)));
        let hold = config.outages.clone().filter(|o| o.packets() == InOutage::Hold);
        let bps = config.rate.map_or(0, Rate::as_bps);
        let grants = config.cellular.filter(|cellular| trace.is_none() && cellular.asks());
        let varies = trace.is_none() && (config.rate_profile.is_some() || hold.is_some() || grants.is_some());
        let supply = varies.then(|| Box::new(Supply::new(bps, config.rate_profile.clone(), hold).with_grants(grants)));
        let plain = trace.is_none() && supply.is_none();
        Serialiser { bps: if plain { bps } else { 0 }, busy_until: Time::ZERO, remainder: 0, trace, supply }
    }

    /// Whether it has one limited rate for ever.
    pub(crate) fn is_constant(&self) -> bool {
        self.bps != 0
    }

    /// How long `len` bytes take at the constant rate after a pause, and the remainder of the division.
    #[inline]
    pub(crate) fn fresh(&self, len: u32) -> (Span, u64) {
        let bit_ns = u64::from(len) * 8_000_000_000;
        (Span::from_nanos(bit_ns / self.bps.max(1)), bit_ns % self.bps.max(1))
    }

    /// A packet arrives at `now` and finds no packet before it.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(trace) = &mut self.trace {
            trace.begin(now);
        }
    }

    /// Sends `len` bytes from `start` on and returns when they are serialised.
    #[inline]
    pub(crate) fn send(&mut self, start: Time, len: u32) -> Time {
        if self.bps == 0 {
            return self.send_specially(start, len);
        }
        if start > self.busy_until {
            self.remainder = 0;
        }
        let bit_ns = u64::from(len) * 8_000_000_000 + self.remainder;
        self.remainder = bit_ns % self.bps;
        self.busy_until = start + Span::from_nanos(bit_ns / self.bps);
        self.busy_until
    }

    /// Sends at an unlimited rate, or one that is not constant.
    fn send_specially(&mut self, start: Time, len: u32) -> Time {
        self.busy_until = match (&mut self.trace, &self.supply) {
            (Some(trace), _) => trace.send(len),
            (None, None) => start,
            (None, Some(supply)) => {
                let idle = start > self.busy_until || self.busy_until == Time::ZERO;
                let start = if idle { supply.granted(start) } else { start };
                if start > self.busy_until {
                    self.remainder = 0;
                }
                let (out, remainder) = supply.send(start, u64::from(len) * 8_000_000_000 + self.remainder);
                self.remainder = remainder;
                out
            }
        };
        self.busy_until
    }
}
