//! The results of cells.

use crate::build::Run;
use haltere_net::element::Element;
use haltere_net::medium::MediumCounters;
use serde::Serialize;

/// What happened on the medium of a cell. Its links have the packets of each station.
#[derive(Clone, Debug, Serialize)]
pub struct CellResult {
    /// Its name.
    pub cell: String,
    /// Its stations, without the access point.
    pub stations: u64,
    /// Transmissions of data: single frames and aggregates.
    pub transmissions: u64,
    /// Frames in them.
    pub frames: u64,
    /// How many of these had been sent before.
    pub retries: u64,
    /// Times at which several stations began to send together.
    pub collisions: u64,
    /// Transmissions that were lost so.
    pub collided: u64,
    /// Frames that were dropped after the last retry.
    pub dropped_retries: u64,
    /// How long the medium carried frames, acknowledgements and the space between the two, s.
    pub busy_s: f64,
    /// The part of the run's time that this is; empty where that has no length.
    pub busy_ratio: Option<f64>,
}

impl Run {
    pub(super) fn cell_results(&self) -> Vec<CellResult> {
        let time = self.world.now().as_secs_f64();
        let media = self.world.topology().media().iter().filter_map(|medium| {
            let entry = self.world.entries().nth(2 * *medium.links.first()? as usize)?;
            let MediumCounters { transmissions, frames, retries, collisions, collided, given_up, busy } =
                entry.0.medium()?;
            let busy_s = busy.as_secs_f64();
            Some(CellResult {
                cell: medium.name.clone(),
                stations: medium.links.len() as u64,
                transmissions,
                frames,
                retries,
                collisions,
                collided,
                dropped_retries: given_up,
                busy_s,
                busy_ratio: (time > 0.0).then(|| busy_s / time),
            })
        });
        media.collect()
    }
}
