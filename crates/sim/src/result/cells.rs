//! The results of cells.

use crate::build::Run;
use haltere_net::columns;
use haltere_net::columns::{About, PLAIN, SIMULATED};
use haltere_net::element::Element;
use haltere_net::medium::MediumCounters;

const OF_CELL: About = About { at: SIMULATED, ..PLAIN };

columns! {
    /// Counts of the medium of a cell. Its links have the packets of each station.
    #[of(Cell)]
    pub struct CellResult {
        /// Its name.
        pub cell: String = OF_CELL,
        /// Its stations, without the access point.
        pub stations: u64 = OF_CELL,
        /// Transmissions of data: single frames and aggregates.
        pub transmissions: u64 = OF_CELL,
        /// Frames in them.
        pub frames: u64 = OF_CELL,
        /// How many of these had been sent before.
        pub retries: u64 = OF_CELL,
        /// Times at which several stations began to send together.
        pub collisions: u64 = OF_CELL,
        /// Transmissions that were lost so.
        pub collided: u64 = OF_CELL,
        /// Frames that were dropped after the last retry.
        pub dropped_retries: u64 = OF_CELL,
        /// How long the medium carried frames, acknowledgements and the space between the two.
        pub busy_s: f64 = OF_CELL,
        /// The part of the run's time that this is; empty where that has no length.
        pub busy_ratio: Option<f64> = OF_CELL,
    }
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
