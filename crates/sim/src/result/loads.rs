//! The results of loads.

use crate::application::Report;
use crate::build::Part;
use crate::load::{Load, Sourced};
use crate::world::World;
use haltere_net::columns;

columns! {
    /// One load's result.
    #[of(Load)]
    pub struct LoadResult {
        /// Its number.
        pub load: u32,
        /// Its kind, such as `trains`.
        pub load_kind: &'static str,
        /// Its pair of hosts.
        pub pair: u32,
        /// Packets sent.
        pub sent_packets: u64,
        /// Their bytes, IP headers included.
        pub sent_bytes: u64,
        /// Packets that the receiver got.
        pub received_packets: u64,
        /// Their bytes.
        pub received_bytes: u64,
        /// Trains: packets whose answers arrived.
        pub answered_packets: u64,
        /// Trains whose answers arrived or were given up, periods, or repetitions of a capture; only whole ones count.
        pub rounds: u64,
        /// Why nothing could be sent.
        pub error: Option<String>,
    }
}

impl Part<Load> {
    /// The result of a load.
    pub(super) fn result(&self, world: &World) -> LoadResult {
        let sourced = match world.process(self.ends.client).report() {
            Report::Sourced(sourced) => sourced,
            _ => Sourced::default(),
        };
        let received = world.process(self.ends.server).stats();
        LoadResult {
            load: self.number as u32,
            load_kind: self.spec.kind,
            pair: self.spec.beside.place.pair,
            sent_packets: sourced.packets,
            sent_bytes: sourced.bytes,
            received_packets: received.received_packets,
            received_bytes: received.received_wire_bytes,
            answered_packets: sourced.answered,
            rounds: sourced.rounds,
            error: sourced.failed.map(|reason| reason.text().to_string()),
        }
    }
}
