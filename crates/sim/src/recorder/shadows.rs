//! The requests of congestion controllers in the shadow of a flow's.

use haltere_net::PathId;
use haltere_net::Time;
use haltere_net::control::{Decision, Parting, ShadowNews, ShadowReport};
use std::collections::BTreeMap;

/// A controller of a process: the process, the path, and the number of the shadow, 0 for the controller in command.
pub type Whose = (u32, PathId, u8);

/// The requests of one controller over time.
#[derive(Clone, Default, Debug)]
pub struct Shadow {
    /// Its decisions, each with its time. Of several at one instant the last is kept.
    pub decisions: Vec<(Time, Decision)>,
    /// Where it parted from the controller in command. Of several connections of a process, the first parting counts.
    pub parting: Option<Parting>,
}

/// All controllers that were compared.
#[derive(Clone, Default, Debug)]
pub struct Shadows {
    by_controller: BTreeMap<Whose, Shadow>,
}

impl Shadows {
    /// Records a report of a process.
    pub fn add(&mut self, at: Time, process: u32, report: ShadowReport<'_>) {
        let shadow = self.by_controller.entry((process, report.path, report.number)).or_default();
        match report.told {
            ShadowNews::Decided(decision) => match shadow.decisions.last_mut() {
                Some((last, old)) if *last == at => *old = decision,
                _ => shadow.decisions.push((at, decision)),
            },
            ShadowNews::Parted(parting) => {
                shadow.parting.get_or_insert(*parting);
            }
        }
    }

    /// All controllers, by process, path and number.
    pub fn iter(&self) -> impl Iterator<Item = (Whose, &Shadow)> {
        self.by_controller.iter().map(|(whose, shadow)| (*whose, shadow))
    }
}
