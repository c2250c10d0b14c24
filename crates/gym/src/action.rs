//! The meanings of the number that an agent decides.

use haltere_net::Rate;
use haltere_transport::cc::{Command, Desk};

/// The pacing rates that an agent may choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The least.
    pub least: Rate,
    /// The most.
    pub most: Rate,
}

impl Limits {
    /// 40 to 1000 packets of 1500 bytes a second, as Aurora's published simulator has it.
    pub const AURORA: Limits = Limits { least: Rate::from_bps(480_000), most: Rate::from_bps(12_000_000) };
}

/// The meaning of an action, which is one number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// The rate x becomes x (1 + αa) for a ≥ 0, and x / (1 − αa) for a < 0, with α = 0.025 (Jay et al., A Deep Reinforcement
    /// Learning Perspective on Internet Congestion Control, ICML 2019). a is between −40 and 40, which halves and
    /// doubles the rate; the paper has no bounds.
    Aurora(Limits),
    /// The window of the flow's own congestion control is multiplied by 4^a, and it goes on from there. a is between −1 and 1:
    /// the factor is between 1/4 and 4 (Abbasloo et al., Classic Meets Modern: a Pragmatic Learning-Based Congestion Control for
    /// the Internet, SIGCOMM 2020).
    Orca,
    /// The pacing rate, bit/s.
    Rate(Limits),
    /// The window, packets, between 1 and [`MOST_PACKETS`].
    Window,
}

/// α of Aurora's action.
const ALPHA: f64 = 0.025;
/// The largest of Aurora's actions.
const AURORA_MOST: f64 = 40.0;
/// Orca's factor at an action of 1.
const ORCA_FACTOR: f64 = 4.0;
/// The largest window that an agent may choose, packets.
pub(crate) const MOST_PACKETS: f64 = 1e6;

impl Action {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Action::Aurora(_) => "aurora",
            Action::Orca => "orca",
            Action::Rate(_) => "rate",
            Action::Window => "window",
        }
    }

    /// The least and the largest action. Others are taken as the nearest of these.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Action::Aurora(_) => (-AURORA_MOST, AURORA_MOST),
            Action::Orca => (-1.0, 1.0),
            Action::Rate(limits) => (limits.least.as_bps() as f64, limits.most.as_bps() as f64),
            Action::Window => (1.0, MOST_PACKETS),
        }
    }

    /// The limits of the rate, if the action sets it.
    pub fn limits(self) -> Option<Limits> {
        match self {
            Action::Aurora(limits) | Action::Rate(limits) => Some(limits),
            Action::Orca | Action::Window => None,
        }
    }

    /// The command to the controller.
    pub fn command(self) -> Command {
        match self {
            Action::Aurora(_) | Action::Rate(_) => Command::Rate,
            Action::Orca => Command::Adjustment,
            Action::Window => Command::Window,
        }
    }

    /// Begins a flow, at a rate or its own one, within the limits.
    pub(crate) fn begin(self, rate: Option<Rate>, desk: &Desk) {
        if let (Some(limits), Some(rate)) = (self.limits(), rate.or(desk.seen().rate)) {
            desk.set_rate(rate.clamp(limits.least, limits.most));
        }
    }

    /// Does what a number asks for.
    pub(crate) fn apply(self, given: f64, desk: &Desk) {
        let (least, most) = self.bounds();
        let given = given.clamp(least, most);
        let seen = desk.seen();
        match self {
            Action::Aurora(limits) => {
                let now = seen.rate.unwrap_or(limits.least).as_bps() as f64;
                let next = if given >= 0.0 { now * (1.0 + ALPHA * given) } else { now / (1.0 - ALPHA * given) };
                desk.set_rate(Rate::from_bps(next as u64).clamp(limits.least, limits.most));
            }
            Action::Rate(_) => desk.set_rate(Rate::from_bps(given as u64)),
            Action::Orca => desk.set_window((seen.window as f64 * libm::pow(ORCA_FACTOR, given)) as u64),
            Action::Window => desk.set_window((given * seen.mss as f64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_after(action: Action, given: f64, bps: u64) -> u64 {
        let desk = Desk::new(action.command());
        desk.set_rate(Rate::from_bps(bps));
        action.apply(given, &desk);
        desk.seen().rate.unwrap().as_bps()
    }

    #[test]
    fn auroras_action_changes_the_rate_by_a_factor_and_its_negative_takes_that_back() {
        let action = Action::Aurora(Limits::AURORA);
        assert_eq!(rate_after(action, 2.0, 2_000_000), 2_100_000);
        assert_eq!(rate_after(action, -2.0, 2_100_000), 2_000_000);
        assert_eq!(rate_after(action, 0.0, 2_000_000), 2_000_000);
        assert_eq!((rate_after(action, 1e9, 2_000_000), rate_after(action, -1e9, 2_000_000)), (4_000_000, 1_000_000));
    }

    #[test]
    fn rates_stay_within_their_limits() {
        let action = Action::Aurora(Limits::AURORA);
        assert_eq!((rate_after(action, 40.0, 11_000_000), rate_after(action, -40.0, 500_000)), (12_000_000, 480_000));
        assert_eq!(rate_after(Action::Rate(Limits::AURORA), 3e6, 1_000_000), 3_000_000);
    }

    #[test]
    fn orcas_action_multiplies_the_window_by_a_quarter_to_four() {
        let desk = Desk::new(Command::Adjustment);
        desk.set_window(8000);
        let mut windows = Vec::new();
        for given in [1.0, -1.0, 0.0, -0.5, 7.0] {
            Action::Orca.apply(given, &desk);
            windows.push(desk.seen().window);
        }
        assert_eq!(windows, [32_000, 8000, 8000, 4000, 16_000]);
    }
}
