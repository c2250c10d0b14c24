//! Results of congestion controls that ran in the shadow of a flow's.

use super::SeriesResult;
use crate::recorder::Shadow;
use haltere_net::Rate;
use haltere_net::control::{ControlEvent, Decision, Parting};
use haltere_net::incident::CongestionState;
use serde::Serialize;

/// A congestion control in the shadow of a flow's.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowResult {
    /// The flow.
    pub flow: usize,
    /// The path of the connection, from 0.
    pub path: u8,
    /// The number of the shadow, from 1.
    pub shadow: u8,
    /// The contender in the shadow.
    pub contender: String,
    /// Where it parted from the flow's congestion control; `None` if it never did.
    pub parted: Option<PartingResult>,
}

/// The first event after which two congestion controls asked for different things.
#[derive(Clone, Debug, Serialize)]
pub struct PartingResult {
    /// When it occurred, s.
    pub t_s: f64,
    /// The event.
    pub event: EventResult,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The requests of both before it.
    pub before: Both,
    /// The requests of both after it.
    pub after: Both,
}

/// The flow's congestion control and the one in its shadow.
#[derive(Clone, Debug, Serialize)]
pub struct Both {
    /// The flow's.
    pub first: DecisionResult,
    /// The shadow's.
    pub shadow: DecisionResult,
}

/// The requests of a congestion control.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionResult {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` if it is not set.
    pub ssthresh: Option<u64>,
    /// The pacing rate that the algorithm asks for, bit/s.
    pub pacing_rate_bps: Option<u64>,
    /// `slow_start`, `avoidance`, `recovery` or `timeout`.
    pub state: &'static str,
}

/// An event that a congestion control receives.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EventResult {
    /// `start`, `established`, `sent`, `ack`, `echo`, `arrival`, `lost`, `congestion`, `undo`, `recovered` or `segment_size`.
    pub kind: &'static str,
    /// Bytes that an ACK delivered, that were lost or marked, or of a segment.
    pub bytes: Option<u64>,
    /// The RTT sample of an ACK, s.
    pub rtt_s: Option<f64>,
    /// The time without anything to send before a packet, s.
    pub idle_s: Option<f64>,
    /// The cause of congestion.
    pub cause: Option<&'static str>,
}

impl From<&Parting> for PartingResult {
    fn from(parting: &Parting) -> Self {
        let both = |[first, shadow]: &[Decision; 2]| Both { first: first.into(), shadow: shadow.into() };
        PartingResult {
            t_s: parting.at.as_secs_f64(),
            event: parting.event.into(),
            bytes_in_flight: parting.in_flight,
            before: both(&parting.before),
            after: both(&parting.after),
        }
    }
}

impl From<&Decision> for DecisionResult {
    fn from(decision: &Decision) -> Self {
        DecisionResult {
            cwnd: decision.window,
            ssthresh: (decision.ssthresh < u64::MAX).then_some(decision.ssthresh),
            pacing_rate_bps: decision.pacing_rate.map(Rate::as_bps),
            state: match decision.state {
                CongestionState::SlowStart => "slow_start",
                CongestionState::Avoidance => "avoidance",
                CongestionState::Recovery => "recovery",
                CongestionState::Timeout => "timeout",
            },
        }
    }
}

impl From<ControlEvent> for EventResult {
    fn from(event: ControlEvent) -> Self {
        let kind = |kind| EventResult { kind, ..EventResult::default() };
        match event {
            ControlEvent::Start => kind("start"),
            ControlEvent::Established => kind("established"),
            ControlEvent::Sent { after_idle } => {
                EventResult { idle_s: after_idle.map(|idle| idle.as_secs_f64()), ..kind("sent") }
            }
            ControlEvent::Acknowledged { delivered, rtt } => {
                EventResult { bytes: Some(delivered), rtt_s: rtt.map(|rtt| rtt.as_secs_f64()), ..kind("ack") }
            }
            ControlEvent::Echo { marked } => EventResult { bytes: Some(marked), ..kind("echo") },
            ControlEvent::Arrival { rtt } => EventResult { rtt_s: rtt.map(|rtt| rtt.as_secs_f64()), ..kind("arrival") },
            ControlEvent::Lost { bytes } => EventResult { bytes: Some(bytes), ..kind("lost") },
            ControlEvent::Congestion { cause } => EventResult { cause: Some(cause), ..kind("congestion") },
            ControlEvent::Undo => kind("undo"),
            ControlEvent::Recovered => kind("recovered"),
            ControlEvent::SegmentSize { bytes } => EventResult { bytes: Some(bytes), ..kind("segment_size") },
        }
    }
}

/// The series of a controller called `who`: window, threshold and pacing rate.
pub(crate) fn series(who: &str, shadow: &Shadow) -> Vec<SeriesResult> {
    type Get = fn(&Decision) -> Option<f64>;
    let all: [(&'static str, &'static str, Get); 3] = [
        ("cwnd", "B", |d| Some(d.window as f64)),
        ("ssthresh", "B", |d| (d.ssthresh < u64::MAX).then_some(d.ssthresh as f64)),
        ("pacing_rate", "bit/s", |d| d.pacing_rate.map(|rate| rate.as_bps() as f64)),
    ];
    let changes = |(name, unit, get): (&'static str, &'static str, Get)| {
        let mut one =
            SeriesResult { who: who.to_string(), name, unit, t_s: Vec::new(), v: Vec::new(), values: Vec::new() };
        let mut last = None;
        for (at, decision) in &shadow.decisions {
            let value = get(decision);
            if last.replace(value) != Some(value) {
                one.t_s.push(at.as_secs_f64());
                one.v.push(value.unwrap_or(f64::NAN));
            }
        }
        one.v.iter().any(|v| !v.is_nan()).then_some(one)
    };
    all.into_iter().filter_map(changes).collect()
}
