//! Counts of values in buckets whose width grows with the value.

/// Weights of values. `N` is the number of buckets of an octave, a power of two: a value is known within one part in `N`, and
/// values below 2 `N` have a bucket each. Its memory is bounded by the buckets that occur, whatever the number of values: fewer
/// than 64 `N`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Histogram<const N: u64> {
    /// Buckets and their weights, ascending. Most samples have few.
    buckets: Vec<(u16, u64)>,
    /// Where the last value was counted: the next is often like it.
    last: usize,
}

impl<const N: u64> Histogram<N> {
    const POWER_OF_TWO: () = assert!(N.is_power_of_two() && N <= 512);

    fn bucket(value: u64) -> u16 {
        let () = Self::POWER_OF_TWO;
        let octave = (value | N).ilog2() - N.ilog2();
        (u64::from(octave) * N + (value >> octave)) as u16
    }

    /// The least value of a bucket, and the number of values in it.
    fn span_of(bucket: u16) -> (u64, u64) {
        let bucket = u64::from(bucket);
        let octave = (bucket / N).saturating_sub(1);
        ((bucket - octave * N) << octave, 1 << octave)
    }

    /// Adds a value with a weight.
    pub fn add(&mut self, value: u64, weight: u64) {
        self.add_to(Self::bucket(value), weight);
    }

    fn add_to(&mut self, bucket: u16, weight: u64) {
        if let Some(last) = self.buckets.get_mut(self.last).filter(|b| b.0 == bucket) {
            last.1 += weight;
            return;
        }
        self.last = self.buckets.partition_point(|b| b.0 < bucket);
        match self.buckets.get_mut(self.last).filter(|b| b.0 == bucket) {
            Some(known) => known.1 += weight,
            None => {
                // Samples have few buckets, and an idle connection keeps them: the memory grows as needed.
                if self.buckets.len() == self.buckets.capacity() {
                    self.buckets.reserve_exact(4);
                }
                self.buckets.insert(self.last, (bucket, weight));
            }
        }
    }

    /// The sum of the weights.
    pub fn weight(&self) -> u64 {
        self.buckets.iter().map(|b| b.1).sum()
    }

    /// The value that so much of the weight does not exceed, interpolated within its bucket; 0 if that is less than
    /// `below`, the weight of zeros that were not added.
    pub fn quantile(&self, share: f64, below: u64) -> f64 {
        let total = self.weight() + below;
        let mut left = (share * total as f64 - below as f64).max(0.0);
        if left == 0.0 {
            return 0.0;
        }
        let mut last = 0.0;
        for &(bucket, weight) in &self.buckets {
            let (start, width) = Self::span_of(bucket);
            last = start as f64 + (width - 1) as f64;
            if left <= weight as f64 {
                return start as f64 + (width - 1) as f64 * (left / weight as f64);
            }
            left -= weight as f64;
        }
        last
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Histogram<N>) {
        for &(bucket, weight) in &other.buckets {
            self.add_to(bucket, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sixteenths = Histogram<16>;

    #[test]
    fn every_value_lies_in_its_bucket() {
        let powers = (11..64).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]);
        let values = (0..2000).chain(powers).chain([u64::MAX]);
        let mut last = 0;
        for value in values {
            let (start, width) = Sixteenths::span_of(Sixteenths::bucket(value));
            assert!(start <= value && value - start < width, "{value}: {start} + {width}");
            assert!(value < 32 || width <= value / 16, "{value}: {width}");
            assert!(Sixteenths::bucket(value) >= last, "{value}");
            last = Sixteenths::bucket(value);
        }
        assert!(last < 1000);
    }

    #[test]
    fn quantiles_count_zeros_that_were_not_added() {
        let mut h = Sixteenths::default();
        for value in 1..=20 {
            h.add(value, 1);
        }
        assert_eq!((h.quantile(0.95, 0), h.quantile(0.5, 0), h.quantile(1.0, 0)), (19.0, 10.0, 20.0));
        // 80 zeros before them: the 95th of 100 values is the 15th of these.
        assert_eq!((h.quantile(0.95, 80), h.quantile(0.8, 80), h.quantile(0.5, 80)), (15.0, 0.0, 0.0));
        assert_eq!(Sixteenths::default().quantile(0.95, 7), 0.0);
    }

    #[test]
    fn large_values_are_known_within_a_sixteenth() {
        let (mut h, mut other) = (Sixteenths::default(), Sixteenths::default());
        let mut finer = Histogram::<128>::default();
        (1..=500_000u64).for_each(|v| h.add(v * 1000, 2));
        (1..=1_000_000u64).for_each(|v| finer.add(v * 1000, 1));
        (500_001..=1_000_000u64).for_each(|v| other.add(v * 1000, 2));
        h.merge(&other);
        assert_eq!(h.weight(), 2_000_000);
        for share in [0.05, 0.5, 0.95] {
            let found = h.quantile(share, 0);
            assert!((found / (share * 1e9) - 1.0).abs() < 1.0 / 16.0, "{share}: {found}");
            let found = finer.quantile(share, 0);
            assert!((found / (share * 1e9) - 1.0).abs() < 1.0 / 128.0, "{share}: {found}");
        }
    }
}
