//! Packet numbers that a sender leaves out, so that it finds a peer that acknowledges what it never got (RFC 9000 section 21.4), as
//! quinn does (quinn-proto 0.11.19, `connection/spaces.rs`, `PacketNumberFilter`).
//!
//! The first is one of the numbers below 64; each next one is drawn from an interval that is twice as long and begins where the one
//! before ended. A number that is missing looks like a loss to the receiver, which acknowledges at once.

use haltere_net::rng::Stream;

/// The exponent of the first interval's end.
const FIRST: u32 = 6;

/// The numbers that one end leaves out.
#[derive(Clone, Debug)]
pub(super) struct Skips {
    next: u64,
    exponent: u32,
    stream: Stream,
}

impl Skips {
    /// The first packet of all is never left out, which quinn does once in 64 times.
    pub fn new(mut stream: Stream) -> Skips {
        Skips { next: stream.below(1 << FIRST).max(1), exponent: FIRST, stream }
    }

    /// Whether this number is left out; the next one is drawn then.
    pub fn takes(&mut self, number: u64) -> bool {
        if number != self.next {
            return false;
        }
        let start = 1u64 << self.exponent.min(61);
        self.next = start + self.stream.below(start);
        self.exponent += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::rng::Streams;

    #[test]
    fn one_number_is_left_out_of_each_interval() {
        let mut skips = Skips::new(Streams::new(1, 0).named("numbers"));
        let taken: Vec<u64> = (1..1 << 12).filter(|&number| skips.takes(number)).collect();
        let places: Vec<u32> = taken.iter().map(|number| number.ilog2()).collect();
        assert_eq!(places[1..], [6, 7, 8, 9, 10, 11], "{taken:?}");
        assert!(taken[0] < 64);
    }
}
