//! What puts packets onto a link one after the other: at a rate, at a trace's opportunities, or in no time.

use crate::link::LinkConfig;
use crate::time::{Span, Time};
use crate::trace::TraceServer;
use crate::units::Rate;

/// The serialiser: keeps the remainder of each division, so that long trains are exact.
#[derive(Clone, Debug)]
pub(crate) struct Serialiser {
    bps: u64,
    pub(crate) busy_until: Time,
    remainder: u64,
    trace: Option<Box<TraceServer>>,
}

impl Serialiser {
    pub(crate) fn new(config: &LinkConfig) -> Serialiser {
        let trace = config.trace.clone().map(|t| Box::new(TraceServer::new(t)));
        let bps = if trace.is_some() { 0 } else { config.rate.map_or(0, Rate::as_bps) };
        Serialiser { bps, busy_until: Time::ZERO, remainder: 0, trace }
    }

    /// A packet comes at `now` and finds nothing before it.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(trace) = &mut self.trace {
            trace.begin(now);
        }
    }

    /// Sends `len` bytes from `start` on and returns when they are out.
    #[inline]
    pub(crate) fn send(&mut self, start: Time, len: u32) -> Time {
        if self.bps == 0 {
            self.busy_until = self.trace.as_mut().map_or(start, |trace| trace.send(len));
            return self.busy_until;
        }
        if start > self.busy_until {
            self.remainder = 0;
        }
        let bit_ns = u64::from(len) * 8_000_000_000 + self.remainder;
        self.remainder = bit_ns % self.bps;
        self.busy_until = start + Span::from_nanos(bit_ns / self.bps);
        self.busy_until
    }
}
