//! `prio`: bands with strict priority between them, from 2 to 16.
//!
//! Source: Linux net/sched/sch_prio.c, tc-prio(8). Each band is a drop-tail queue (`pfifo`), which is what the kernel
//! puts there unless told otherwise. Filters, which could classify packets by something other than their priority, are
//! not modelled.

use super::bands::{Bands, PrioMap};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::Time;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "prio",
        summary: "bands by the ToS field with strict priority between them; each is a drop-tail queue",
        reference: "Linux net/sched/sch_prio.c; tc-prio(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of `prio`.
    pub struct Config for Prio {
        /// The number of bands, from 2 to 16.
        bands: Bands = Bands(3),
        /// The band of each priority from 0 to 15; band 0 is served first.
        priomap: PrioMap = PrioMap::LINUX,
        /// The limit of each band.
        limit: Length = Length::Packets(1000),
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    let bands = u64::from(config.bands.0);
    match config.priomap.0.iter().find(|&&band| band >= bands) {
        Some(band) => Err(format!("priomap: there is no band {band}: {bands} bands are numbered 0 to {}", bands - 1)),
        None => Ok(()),
    }
}

/// Bands with strict priority between them.
#[derive(Clone, Debug)]
pub struct Prio<B>(Banded<B>);

impl<B> Prio<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Prio<B> {
        Prio(Banded::new(config.bands.0.into(), config.priomap, config.limit.limit(&place.scale), 1))
    }
}

impl<B: Send> QueueDiscipline<B> for Prio<B> {
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

/// Drop-tail queues with strict priority between them.
#[derive(Clone, Debug)]
pub(super) struct Banded<B> {
    limit: Limit,
    map: PrioMap,
    bands: Vec<Band<B>>,
    backlog: Backlog,
}

#[derive(Clone, Debug)]
struct Band<B> {
    packets: VecDeque<Packet<B>>,
    bytes: u64,
    places: Places,
}

/// The places of a band that is an array (Linux include/linux/ptr_ring.h): those of packets that have left become free
/// some at a time, and all of them when the array's end is reached.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// How many there are.
    size: u64,
    /// How many become free at a time.
    batch: u64,
    /// The place of the next packet to leave.
    head: u64,
    /// The first place that is not free, though its packet may have left.
    tail: u64,
}

impl Places {
    fn new(limit: Limit, batch: u64) -> Places {
        let (size, batch) = match limit {
            Limit::Packets(size) if batch <= size / 2 => (size, batch.max(1)),
            Limit::Packets(size) => (size, 1),
            Limit::Bytes(_) => (u64::MAX, 1),
        };
        Places { size, batch, head: 0, tail: 0 }
    }

    /// How many are taken though their packets have left.
    fn kept(&self) -> u64 {
        self.head - self.tail
    }

    fn leave(&mut self) {
        self.head += 1;
        if self.head - self.tail >= self.batch || self.head >= self.size {
            self.tail = self.head;
        }
        if self.head >= self.size {
            (self.head, self.tail) = (0, 0);
        }
    }
}

impl<B> Banded<B> {
    /// Bands with this limit each, whose places become free `batch` at a time.
    pub(super) fn new(bands: usize, map: PrioMap, limit: Limit, batch: u64) -> Banded<B> {
        let places = Places::new(limit, batch);
        let bands = (0..bands.max(1)).map(|_| Band { packets: VecDeque::new(), bytes: 0, places }).collect();
        Banded { limit, map, bands, backlog: Backlog::default() }
    }

    pub(super) fn push(&mut self, packet: Packet<B>, fates: &mut Fates<'_, B>) {
        let band = self.map.band(packet.class, self.bands.len() - 1);
        let band = &mut self.bands[band];
        let waiting = Backlog { packets: band.packets.len() as u64 + band.places.kept(), bytes: band.bytes };
        if !self.limit.admits(waiting, packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        let len = u64::from(packet.len);
        band.bytes += len;
        self.backlog.bytes += len;
        self.backlog.packets += 1;
        band.packets.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Packet<B>> {
        let band = self.bands.iter_mut().find(|band| !band.packets.is_empty())?;
        let packet = band.packets.pop_front()?;
        band.places.leave();
        let len = u64::from(packet.len);
        band.bytes -= len;
        self.backlog.bytes -= len;
        self.backlog.packets -= 1;
        Some(packet)
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::testing::{Bench, packet};

    /// Classes are DiffServ codepoints: 4 is the ToS byte 0x10 (minimise delay), 2 is 0x08 (maximise throughput).
    #[test]
    fn bands_are_served_in_strict_order_and_each_has_the_limit() {
        for word in ["pfifo_fast:limit=2p", "prio:limit=2p"] {
            let mut queue = Bench::new(word);
            for (n, class) in [2, 0, 4, 2, 0, 4, 2, 0, 4].into_iter().enumerate() {
                queue.put(0, packet(n as u32, 100, 0).with(|p| p.class = class));
            }
            assert_eq!(queue.dropped(), [6, 7, 8], "{word}");
            assert_eq!(queue.drain(0), [2, 5, 1, 4, 0, 3], "{word}");
        }
    }

    #[test]
    fn places_in_pfifo_fast_become_free_sixteen_at_a_time() {
        let mut queue = Bench::new("pfifo_fast:limit=40p");
        let fill = |queue: &mut Bench| {
            let before = queue.dropped().len();
            (0..50).take_while(|&n| (queue.put(0, packet(n, 100, 0)), queue.dropped().len()).1 == before).count()
        };
        let take = |queue: &mut Bench, count: usize| assert!((0..count).all(|_| queue.take(0).is_some()));
        assert_eq!(fill(&mut queue), 40);
        take(&mut queue, 15);
        assert_eq!(fill(&mut queue), 0, "15 places of packets that have left are still taken");
        take(&mut queue, 1);
        assert_eq!(fill(&mut queue), 16);
        take(&mut queue, 16);
        assert_eq!(fill(&mut queue), 16);
        // At the end of the array the places become free whatever their number: after 32 packets come 8.
        take(&mut queue, 7);
        assert_eq!(fill(&mut queue), 0);
        take(&mut queue, 1);
        assert_eq!(fill(&mut queue), 8);
    }

    #[test]
    fn places_of_short_arrays_and_of_older_kernels_become_free_at_once() {
        for (word, limit) in [("pfifo_fast:limit=31p", 31), ("pfifo_fast:limit=100p,batch=1", 100)] {
            let mut queue = Bench::new(word);
            for n in 0..limit {
                queue.put(0, packet(n, 100, 0));
            }
            assert!(queue.take(0).is_some());
            queue.put(0, packet(limit, 100, 0));
            assert!(queue.dropped().is_empty(), "{word}");
        }
    }

    #[test]
    fn a_map_of_ones_own_says_which_band_is_first() {
        let mut queue = Bench::new("prio:bands=2,priomap=0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
        for (n, class) in [4, 2, 0].into_iter().enumerate() {
            queue.put(0, packet(n as u32, 100, 0).with(|p| p.class = class));
        }
        assert_eq!(queue.drain(0), [2, 0, 1]);
        let refused = crate::queue::QueueConfig::from_word("prio:bands=2").unwrap_err();
        assert_eq!(refused, "priomap: there is no band 2: 2 bands are numbered 0 to 1");
    }
}
