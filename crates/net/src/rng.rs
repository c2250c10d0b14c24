//! Named random streams.
//!
//! Every component that draws random numbers owns a [`Stream`], derived from (seed, replication, name). A stream
//! depends on nothing else. Adding a flow or a link does not change any other stream, and two variants of one scenario
//! see the same draws (common random numbers).
//!
//! Streams are what all parts of a run are given at birth, so they also know where loaded code says that it failed ([`Faults`]).

use crate::fault::Faults;

/// The source from which all streams are derived.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: u64,
    replication: u64,
    faults: Faults,
}

impl Streams {
    /// Streams of one replication of a study with this seed.
    pub fn new(seed: u64, replication: u64) -> Streams {
        Streams { seed, replication, faults: Faults::default() }
    }

    /// Where loaded code of this run says that it failed.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The stream of the component called `name`. The same name gives the same stream.
    pub fn named(&self, name: &str) -> Stream {
        from_name(mix(self.seed ^ mix(self.replication.wrapping_add(0x9e37_79b9_7f4a_7c15))), name)
    }
}

/// The stream of a name, derived from `state`.
fn from_name(mut state: u64, name: &str) -> Stream {
    for chunk in name.as_bytes().chunks(8) {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64);
    }
    Stream::from_state([mix(state ^ 1), mix(state ^ 2), mix(state ^ 3), mix(state ^ 4) | 1])
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers: xoshiro256++ (Blackman, Vigna: Scrambled linear pseudorandom number generators, 2021).
///
/// It is written out here, rather than taken from a crate, because its output is part of the results: a study repeated
/// with a later version of the project must draw the same numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    s: [u64; 4],
}

impl Stream {
    fn from_state(s: [u64; 4]) -> Stream {
        Stream { s }
    }

    /// The stream of a part of the component that owns this one, such as a path of a connection. It depends on this
    /// stream's name and on `name`. Derive it before anything is drawn here; deriving draws nothing.
    pub fn part(&self, name: &str) -> Stream {
        from_name(self.s.iter().fold(0, |state, word| mix(state ^ word)), name)
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform in 0..n (0 when n is 0); the bias is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.bits() as u128 * n as u128) >> 64) as u64
    }

    /// An exponential deviate with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// A standard normal deviate (Box and Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_its_published_sequence() {
        // First outputs of the authors' xoshiro256plusplus.c from the state 1, 2, 3, 4.
        let mut stream = Stream::from_state([1, 2, 3, 4]);
        assert_eq!([stream.bits(), stream.bits(), stream.bits()], [41943041, 58720359, 3588806011781223]);
    }

    #[test]
    fn a_stream_depends_on_seed_replication_and_name_alone() {
        let first = |seed, rep, name| Streams::new(seed, rep).named(name).bits();
        assert_eq!(first(1, 0, "link/loss"), first(1, 0, "link/loss"));
        let all = [
            first(1, 0, "a"),
            first(2, 0, "a"),
            first(1, 1, "a"),
            first(1, 0, "b"),
            first(1, 0, "a\0"),
            first(1, 0, "aaaaaaaab"),
        ];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x), "streams {i} collides");
        }
    }

    #[test]
    fn the_stream_of_a_part_is_apart_from_the_whole_and_from_other_parts() {
        let whole = Streams::new(1, 0).named("flow 0/server");
        let first = |stream: &Stream| stream.clone().bits();
        let part = first(&whole.part("path 1"));
        assert_eq!(part, first(&Streams::new(1, 0).named("flow 0/server").part("path 1")));
        let others = [
            first(&whole),
            first(&whole.part("path 2")),
            first(&Streams::new(1, 0).named("flow 1/server").part("path 1")),
            first(&Streams::new(1, 0).named("path 1")),
        ];
        assert!(!others.contains(&part));
    }

    #[test]
    fn draws_have_the_moments_they_should() {
        let mut stream = Streams::new(7, 3).named("moments");
        let n = 200_000;
        let mean = (0..n).map(|_| stream.unit()).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        let hits = (0..n).filter(|_| stream.chance(0.01)).count() as f64 / n as f64;
        assert!((hits - 0.01).abs() < 0.001, "{hits}");
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = stream.normal();
            sum += x;
            squares += x * x;
        }
        assert!((sum / n as f64).abs() < 0.01 && (squares / n as f64 - 1.0).abs() < 0.02);
        assert!((0..1000).all(|_| stream.below(7) < 7));
    }
}
