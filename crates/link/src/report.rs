//! The report of an emulator.

use crate::engine::Engine;
use haltere_net::element::Element;
use haltere_net::occupancy::Held;
use haltere_net::report::{LinkResult, OccupancyResult};
use haltere_net::{Span, Time};
use hdrhistogram::Histogram;
use serde::Serialize;

/// How late packets were handed on: from the link's own time of arrival to the reading of the clock before the write.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// In ns; three significant digits.
    ns: Option<Histogram<u64>>,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { ns: Histogram::new(3).ok() }
    }
}

impl Lateness {
    /// Adds one packet's lateness.
    #[inline]
    pub fn record(&mut self, late: Span) {
        if let Some(ns) = &mut self.ns {
            let noted = ns.record(late.as_nanos());
            debug_assert!(noted.is_ok(), "the histogram grows as it must");
        }
    }

    fn add(&mut self, other: &Lateness) {
        if let (Some(mine), Some(other)) = (&mut self.ns, &other.ns) {
            // Both resize, so that nothing is too large for the sum.
            let _ = mine.add(other);
        }
    }

    /// Its percentiles, s.
    pub fn summary(&self) -> LatenessSummary {
        let at = |p: f64| self.ns.as_ref().map_or(0.0, |h| h.value_at_percentile(p) as f64 * 1e-9);
        let whole = |f: fn(&Histogram<u64>) -> f64| self.ns.as_ref().map_or(0.0, f);
        LatenessSummary {
            mean: whole(Histogram::mean) * 1e-9,
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max: whole(|h| h.max() as f64) * 1e-9,
        }
    }
}

/// Percentiles of lateness, s.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatenessSummary {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th.
    pub p99: f64,
    /// The 99.9th.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize)]
pub struct LegReport {
    /// The simulator's counters.
    #[serde(flatten)]
    pub counters: LinkResult,
    /// How late its packets were handed on.
    pub lateness_s: LatenessSummary,
}

/// The system calls of the loop.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct Calls {
    /// Reads that returned a packet.
    pub reads: u64,
    /// Reads that found nothing.
    pub empty_reads: u64,
    /// Writes.
    pub writes: u64,
    /// Sleeps.
    pub waits: u64,
    /// Settings of the timer.
    pub timers: u64,
    /// Packets read that were not IP, or super-packets that could not be cut.
    pub unreadable: u64,
    /// Writes that the kernel refused, such as to a device that is down.
    pub refused: u64,
}

/// The resources that the emulator's thread used.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// From start to stop.
    pub elapsed: Span,
    /// Its CPU time.
    pub cpu: Span,
    /// Whether it had real-time priority.
    pub realtime: bool,
    /// Its system calls.
    pub calls: Calls,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// From start to stop, s.
    pub elapsed_s: f64,
    /// CPU time of the emulator's thread, s.
    pub cpu_s: f64,
    /// Whether the thread had real-time priority.
    pub realtime: bool,
    /// Packets handed on.
    pub packets: u64,
    /// Lateness of all of them.
    pub lateness_s: LatenessSummary,
    /// The system calls.
    pub calls: Calls,
    /// The directions of links.
    pub links: Vec<LegReport>,
}

impl Report {
    /// The report of an engine's counts.
    pub fn new(engine: &mut Engine, thread: Thread) -> Report {
        let mut all = Lateness::default();
        let held = engine.held(Time::ZERO + thread.elapsed);
        let links = engine.legs().iter().zip(held).map(|(leg, held)| {
            let occupancy = held.map(|held| OccupancyResult::new(Held::default(), held, thread.elapsed));
            all.add(&leg.lateness);
            LegReport {
                counters: LinkResult::new(&leg.name, leg.direction, leg.link.counters())
                    .with_stages(leg.link.stages())
                    .with_occupancy(occupancy),
                lateness_s: leg.lateness.summary(),
            }
        });
        let links = links.collect();
        Report {
            elapsed_s: thread.elapsed.as_secs_f64(),
            cpu_s: thread.cpu.as_secs_f64(),
            realtime: thread.realtime,
            packets: engine.packets(),
            lateness_s: all.summary(),
            calls: thread.calls,
            links,
        }
    }
}
