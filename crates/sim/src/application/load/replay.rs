//! The packets of a capture, over and over.

use super::{Pattern, Round};
use crate::capture::Capture;
use haltere_net::{Span, Time};
use haltere_transport::datagram::{Datagram, HEADERS, Protocol};
use std::sync::Arc;

/// The packets of a capture at their times. A round is a repetition.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The capture.
    pub capture: Arc<Capture>,
    /// The time from its last packet to the next repetition.
    pub gap: Span,
}

impl Pattern for Replay {
    fn begin(&mut self, at: Time) -> Time {
        // One way of a capture may begin later, or be empty.
        self.capture.at_ns.first().map_or(Time::NEVER, |first| at + Span::from_nanos(*first))
    }

    fn is_over(&self, round: &Round) -> bool {
        round.sent as usize >= self.capture.at_ns.len()
    }

    fn packet(&self, round: &Round, number: u64, _: u32) -> (usize, Datagram) {
        let at = round.sent as usize;
        let (len, flow) = (self.capture.len.get(at), self.capture.flow.get(at));
        debug_assert!(len.is_some() && flow.is_some(), "no packet leaves after the last one of a repetition");
        let len = len.copied().unwrap_or(HEADERS);
        (flow.copied().unwrap_or(0) as usize, Datagram { protocol: Protocol::Any, number, len })
    }

    fn next(&mut self, round: &Round, _: Time, _: u32) -> Time {
        match self.capture.at_ns.get(round.sent as usize) {
            Some(&at) => round.since + Span::from_nanos(at),
            None => round.since + self.capture.span() + self.gap,
        }
    }
}
