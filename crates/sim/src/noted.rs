//! The bytes that flows have received, noted while a run goes on.

use crate::build::Run;
use crate::run::Ends;
use crate::world::Stall;
use haltere_net::{Span, Time};

/// How often a recorded run notes what each flow has received.
const NOTED: Span = Span::from_millis(100);
/// Steps in a window over which goodput is measured.
pub(crate) const STEPS: usize = 10;

/// The bytes of its object that a flow had received, over time.
pub(crate) type Noted = Vec<(Time, u64)>;

/// The bytes of its object that each flow had received after each step.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Steps {
    /// The length of a step, a tenth of the window.
    pub step: Span,
    /// Of each flow, the bytes at the time zero, after the first step, after the second and so on.
    pub bytes: Vec<Vec<u64>>,
}

impl Steps {
    /// When the next value is due.
    fn next(&self) -> Time {
        let noted = self.bytes.first().map_or(0, Vec::len) as u64;
        Time::from_nanos(self.step.as_nanos().saturating_mul(noted))
    }
}

/// All that is noted of a run.
pub(crate) struct Notes {
    /// Of each flow of a recorded run; empty in others.
    series: Vec<Noted>,
    /// For the goodput over windows, if the scenario gives their length.
    steps: Option<Steps>,
}

impl Notes {
    /// Nothing yet. Recorded runs have a series of each of the `recorded` flows, others of none; `window` is the length of
    /// windows over which the goodput of all `flows` is measured.
    pub fn new(recorded: usize, flows: usize, window: Option<Span>) -> Notes {
        let of = |window: Span| Steps { step: window.scaled(1, STEPS as u64), bytes: vec![Vec::new(); flows] };
        Notes { series: vec![Noted::new(); recorded], steps: window.filter(|_| flows > 0).map(of) }
    }

    /// The series and the steps.
    pub fn into_parts(self) -> (Vec<Noted>, Option<Steps>) {
        (self.series, self.steps)
    }

    /// Runs until `until`, and notes what flows have received: for the series at the beginning, every [`NOTED`], and at the
    /// end; for the steps at their times.
    pub fn go(&mut self, run: &mut Run, until: Time, ends: &mut Ends) -> Result<bool, Stall> {
        let mut series_due = run.world.now();
        loop {
            let now = run.world.now();
            if now >= series_due || now >= until {
                self.note_series(run, now);
                series_due = if self.series.is_empty() { Time::NEVER } else { now + NOTED };
            }
            self.note_step(run, now);
            if now >= until {
                return Ok(false);
            }
            let step_due = self.steps.as_ref().map_or(Time::NEVER, Steps::next);
            match run.world.run(until.min(series_due).min(step_due), |all, called| ends.reached(all, called)) {
                Ok(false) => {}
                over => {
                    let now = run.world.now();
                    self.series.iter_mut().enumerate().for_each(|(flow, noted)| noted.push((now, received(run, flow))));
                    return over;
                }
            }
        }
    }

    fn note_series(&mut self, run: &Run, now: Time) {
        for (flow, noted) in self.series.iter_mut().enumerate() {
            if noted.last().is_none_or(|last| last.0 < now) {
                noted.push((now, received(run, flow)));
            }
        }
    }

    fn note_step(&mut self, run: &Run, now: Time) {
        let Some(steps) = self.steps.as_mut().filter(|steps| steps.next() <= now) else { return };
        steps.bytes.iter_mut().enumerate().for_each(|(flow, bytes)| bytes.push(received(run, flow)));
    }
}

/// The bytes of its object that a flow has received.
pub(crate) fn received(run: &Run, flow: usize) -> u64 {
    let bytes = run.world.process(run.flows[flow].ends.client).received();
    // Without those that its receiver only says have arrived.
    bytes.saturating_sub(run.receiver(flow).concealed_bytes)
}
