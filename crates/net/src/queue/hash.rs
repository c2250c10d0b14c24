//! Hashes of flows, and tables of those that have packets.

use crate::packet::FlowKey;

/// The hash of a flow. Queues with different keys put different flows together.
#[inline]
pub fn flow_hash(flow: &FlowKey, key: u64) -> u64 {
    mix(pair_hash(flow.source.0, flow.destination.0, key) ^ u64::from(flow.connection.0))
}

/// The hash of two words.
#[inline]
pub(super) fn pair_hash(first: u32, second: u32, key: u64) -> u64 {
    mix((u64::from(first) << 32 | u64::from(second)) ^ key)
}

/// The finaliser of MurmurHash3 (Appleby, 2011).
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// Hashes flows in tables. It needs no secret key: nobody attacks a simulation, and results must repeat.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FlowHasher(u64);

impl std::hash::Hasher for FlowHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }
    fn write_u32(&mut self, n: u32) {
        self.0 = mix(self.0 ^ u64::from(n));
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table of flows.
pub(super) type FlowTable<T> = std::collections::HashMap<FlowKey, T, std::hash::BuildHasherDefault<FlowHasher>>;

/// The slots of buckets that are in use. A slot is taken when a bucket's first packet comes and given back when its
/// last one has gone.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    /// The slot of each bucket.
    of_bucket: Vec<u32>,
    slots: Vec<T>,
    free: Vec<u32>,
}

/// A bucket without a slot.
const NONE: u32 = u32::MAX;

impl<T> Slots<T> {
    pub(super) fn new(buckets: usize) -> Slots<T> {
        Slots { of_bucket: vec![NONE; buckets.max(1)], slots: Vec::new(), free: Vec::new() }
    }

    /// The bucket of a hash.
    #[inline]
    pub(super) fn bucket(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.of_bucket.len() as u128) >> 64) as usize
    }

    /// The slot of a bucket.
    #[inline]
    pub(super) fn find(&self, bucket: usize) -> Option<u32> {
        let slot = self.of_bucket[bucket];
        (slot != NONE).then_some(slot)
    }

    /// Takes a slot for a bucket that has none.
    pub(super) fn take(&mut self, bucket: usize, new: T) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                (self.slots.len() - 1) as u32
            }
        };
        self.of_bucket[bucket] = slot;
        slot
    }

    /// Gives a slot back.
    pub(super) fn give_back(&mut self, bucket: usize, slot: u32) {
        self.of_bucket[bucket] = NONE;
        self.free.push(slot);
    }

    /// How many slots are in use.
    pub(super) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Address, ConnectionId};

    #[test]
    fn flows_spread_evenly_over_buckets_and_differently_with_each_key() {
        let slots = Slots::<()>::new(64);
        let flow =
            |n: u32| FlowKey { source: Address(n / 100), destination: Address(7), connection: ConnectionId(n % 100) };
        let buckets = |key: u64| (0..6400).map(|n| slots.bucket(flow_hash(&flow(n), key))).collect::<Vec<_>>();
        let (a, b) = (buckets(1), buckets(2));
        let mut counts = [0i32; 64];
        a.iter().for_each(|&bucket| counts[bucket] += 1);
        // 100 each, with a standard deviation of 10.
        assert!(counts.iter().all(|&n| (n - 100).abs() < 45), "{counts:?}");
        assert!(a.iter().zip(&b).filter(|(a, b)| a == b).count() < 150);
    }

    #[test]
    fn slots_are_used_again() {
        let mut slots = Slots::new(4);
        assert_eq!([slots.take(3, 'a'), slots.take(1, 'b')], [0, 1]);
        slots.give_back(3, 0);
        assert_eq!((slots.find(3), slots.find(1), slots.used()), (None, Some(1), 1));
        assert_eq!((slots.take(2, 'c'), slots[0]), (0, 'c'));
    }
}
