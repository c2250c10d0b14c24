//! Where the versions of BBR that share this state machine differ.

use super::State;

/// The choices of one version.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Rules {
    /// Gains of pacing rate and window in Startup and in Drain.
    pub startup: (f64, f64),
    pub drain: (f64, f64),
    /// The gain of the pacing rate while what a probe left in a queue drains (ProbeBW_DOWN).
    pub down: f64,
    /// The gain of the window while bandwidth is probed (ProbeBW_UP).
    pub up_window: f64,
    /// Runs of lost packets in a round that end Startup.
    pub startup_losses: u32,
    /// The number of rounds after which Drain ends in any case.
    pub drain_rounds: u64,
    /// Volume in flight over the estimated path's at which a probe ends; `None`: it ends when the bandwidth grows no more.
    pub up_ends_at: Option<f64>,
    /// Whether an undo goes back to the state of before the losses.
    pub restores_state: bool,
}

impl Rules {
    /// Whether these are version 2's: the choices that have no number of their own follow from it.
    pub(super) fn are_of_two(&self) -> bool {
        self.up_ends_at.is_some()
    }

    /// The gains of pacing rate and window in a state.
    pub(super) fn gains(&self, state: State) -> (f64, f64) {
        match state {
            State::Startup => self.startup,
            State::Drain => self.drain,
            State::Down => (self.down, 2.0),
            State::Cruise | State::Refill => (1.0, 2.0),
            State::Up => (1.25, self.up_window),
            State::ProbeRtt => (1.0, 0.5),
        }
    }
}

/// Version 3: the table of section "Summary of Control Behavior in the State Machine" of the draft, and its constants.
pub(super) const THREE: Rules = Rules {
    startup: (2.77, 2.0),
    drain: (0.5, 2.0),
    down: 0.9,
    up_window: 2.25,
    startup_losses: 6,
    drain_rounds: 3,
    up_ends_at: None,
    restores_state: true,
};
