//! The packets of a capture, over and over.

use super::{Fields, LoadKind, PAYLOAD, Pattern, Round, Shape, Shapes, Told, Ways};
use crate::capture::Capture;
use crate::scenario::ScenarioError;
use crate::scenario::beside::SHORTEST;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Span, Time};
use haltere_transport::datagram::{Datagram, HEADERS, Protocol};
use std::sync::Arc;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "replay",
        summary: "The packets of a capture at their times, over and over.",
        reference: "docs/how-to/probes.md",
    },
    fields: &["capture", "ways", "gap", "count"],
    shapes,
};

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let capture = fields.needs("capture", fields.given.capture.clone())?;
    capture.check().map_err(|message| fields.error("capture", message))?;
    let gap = fields.given.gap.map_or(Span::ZERO, |q| q.0);
    if capture.span() + gap < SHORTEST {
        let message = "the capture is over at once, and would be repeated without end: give a gap, such as 1s";
        return Err(fields.error("gap", message));
    }
    let replay = |capture| Arc::new(Replay { capture, gap });
    if fields.given.ways != Some(Ways::Two) {
        return Ok((replay(capture), None));
    }
    let (there, back) = capture.split();
    Ok((replay(Arc::new(there)), Some(replay(Arc::new(back)))))
}

/// The packets of a capture at their times. A round is a repetition.
#[derive(Clone, Debug)]
struct Replay {
    capture: Arc<Capture>,
    /// The time from its last packet to the next repetition.
    gap: Span,
}

impl Shape for Replay {
    fn payload(&self) -> u32 {
        PAYLOAD
    }

    fn pattern(&self, _: &Stream) -> Box<dyn Pattern> {
        Box::new(self.clone())
    }

    fn told(&self) -> Told {
        Told { gap: self.gap, ..Told::default() }
    }

    fn fits(&self, mtu: u32, path: &str) -> Result<(), ScenarioError> {
        let longest = self.capture.longest();
        if longest <= mtu {
            return Ok(());
        }
        let message = format!(
            "its longest packet has {longest} bytes, more than the path's MTU of {mtu}: give a capture that was taken without \
             segmentation offload, or the links a larger mtu"
        );
        Err(ScenarioError { path: format!("{path}.capture"), message })
    }
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
