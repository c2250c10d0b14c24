//! The results of cells of IEEE 802.11 and of LTE.

use crate::build::Run;
use haltere_net::columns;
use haltere_net::columns::{About, PLAIN, SIMULATED};
use haltere_net::element::Element;
use haltere_net::lte::{BLOCK_HZ, TTI};
use haltere_net::medium::{Carrier, MediumCounters};

const OF_CELL: About = About { at: SIMULATED, ..PLAIN };
const EFFICIENCY: About = About { unit: Some("bit/s/Hz"), ..OF_CELL };

columns! {
    /// Counts of the medium of a cell. Its links have the packets of each station.
    #[of(Cell)]
    pub struct CellResult {
        /// Its name.
        pub cell: String = OF_CELL,
        /// Its stations or users, without the access point or base station.
        pub stations: u64 = OF_CELL,
        /// Transmissions of data: single frames and aggregates; LTE: transport blocks, also those that were sent again.
        pub transmissions: u64 = OF_CELL,
        /// Frames in them; LTE: packets.
        pub frames: u64 = OF_CELL,
        /// How many of these had been sent before; LTE: transport blocks that were sent again.
        pub retries: u64 = OF_CELL,
        /// Times at which several stations began to send together.
        pub collisions: u64 = OF_CELL,
        /// Transmissions that were lost so.
        pub collided: u64 = OF_CELL,
        /// Frames that were dropped after the last retry.
        pub dropped_retries: u64 = OF_CELL,
        /// How long the medium carried frames, acknowledgements and the space between the two; LTE: intervals in which something
        /// was sent in either direction.
        pub busy_s: f64 = OF_CELL,
        /// The part of the run's time that this is; empty where that has no length.
        pub busy_ratio: Option<f64> = OF_CELL,
        /// The use of its carriers, if a scheduler shares them.
        #[serde(flatten)]
        pub carriers: CarriersResult,
    }
}

columns! {
    /// The use of the carriers of a cell of LTE. All are left out for a cell of IEEE 802.11.
    #[of(Cell)]
    #[derive(Default)]
    pub struct CarriersResult {
        /// LTE: the share of the resource blocks down that were used, also to send blocks again.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub down_used_ratio: Option<f64> = OF_CELL,
        /// LTE: the share of the resource blocks up that were used so.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub up_used_ratio: Option<f64> = OF_CELL,
        /// LTE: the spectral efficiency down: bits of packets in the resource blocks that were used, per second and Hz.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub down_efficiency: Option<f64> = EFFICIENCY,
        /// LTE: the spectral efficiency up.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub up_efficiency: Option<f64> = EFFICIENCY,
    }
}

impl CarriersResult {
    /// The use of the carriers down and up in so many seconds.
    fn new([down, up]: [Carrier; 2], seconds: f64) -> CarriersResult {
        let used = |one: Carrier| {
            let all = f64::from(one.blocks) * seconds / TTI.as_secs_f64();
            (all > 0.0).then(|| one.used as f64 / all)
        };
        let efficiency = |one: Carrier| {
            let all = one.used as f64 * BLOCK_HZ * TTI.as_secs_f64();
            (all > 0.0).then(|| one.bytes as f64 * 8.0 / all)
        };
        CarriersResult {
            down_used_ratio: used(down),
            up_used_ratio: used(up),
            down_efficiency: efficiency(down),
            up_efficiency: efficiency(up),
        }
    }
}

impl Run {
    pub(super) fn cell_results(&self) -> Vec<CellResult> {
        let time = self.world.now().as_secs_f64();
        let media = self.world.topology().media().iter().filter_map(|medium| {
            let entry = self.world.entries().nth(2 * *medium.links.first()? as usize)?;
            let MediumCounters { transmissions, frames, retries, collisions, collided, given_up, busy, carriers } =
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
                carriers: carriers.map(|both| CarriersResult::new(both, time)).unwrap_or_default(),
            })
        });
        media.collect()
    }
}
