//! `pfifo_fast`: three bands by the ToS field, strict priority between them. It is Linux's queue discipline of old, and
//! still the default of network interfaces with a single queue.
//!
//! Source: Linux net/sched/sch_generic.c (`pfifo_fast_ops`), tc-pfifo_fast(8). Each band holds `limit` packets, as
//! it does since each is an array of its own (Linux 4.16, include/linux/ptr_ring.h). The places of such an array become
//! free some at a time, so a long queue of `limit` packets drops at `limit - 15` to `limit`. In earlier kernels, which had
//! lists, all three bands shared the limit.

use super::bands::PrioMap;
use super::prio::Banded;
use super::{Backlog, Fates, Implementation, Length, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::Time;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "pfifo_fast",
        summary: "three bands by the ToS field with strict priority between them; each is a drop-tail queue",
        reference: "Linux net/sched/sch_generic.c; tc-pfifo_fast(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of `pfifo_fast`.
    pub struct Config for PfifoFast {
        /// The limit of each band: the interface's `txqueuelen`.
        limit: Length = Length::Packets(1000),
        /// How many places of a band become free at a time; 1 before Linux 4.16, and in bands of less than two batches.
        batch: u64 = 16,
    }
}

/// Three bands by the ToS field with strict priority between them.
#[derive(Clone, Debug)]
pub struct PfifoFast<B>(Banded<B>);

impl<B> PfifoFast<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> PfifoFast<B> {
        PfifoFast(Banded::new(3, PrioMap::LINUX, config.limit.limit(&place.scale), config.batch))
    }
}

impl<B: Send> QueueDiscipline<B> for PfifoFast<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        self.0.push(packet, fates);
    }

    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.0.pop()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}
