//! Search for the path's largest datagram by probe packets (RFC 9000 section 14.3; DPLPMTUD, RFC 8899).

use super::sizes::MIN_DATAGRAM;

/// Lost probes of one size after which it is taken for too large (RFC 8899 section 5.1.2, `MAX_PROBES`).
const MAX_PROBES: u32 = 3;
/// The search ends when what is left to gain is less than this, bytes.
const GRAIN: u32 = 16;

/// The search of one path. It tries the largest size first, as most paths have it, and halves the interval when that
/// fails. The links here do not shrink, so that the detection of black holes (RFC 8899 section 4.3) is left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuSearch {
    current: u32,
    /// No larger size is tried.
    upper: u32,
    halving: bool,
    in_flight: Option<u32>,
    tries: u32,
}

impl MtuSearch {
    /// A search up to `upper`, bytes of UDP payload.
    pub fn new(upper: u32) -> MtuSearch {
        MtuSearch { current: MIN_DATAGRAM, upper: upper.max(MIN_DATAGRAM), halving: false, in_flight: None, tries: 0 }
    }

    /// The size of datagrams, bytes of UDP payload.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current
    }

    /// The peer accepts no more than this.
    pub fn limit(&mut self, upper: u32) {
        self.upper = self.upper.min(upper.max(MIN_DATAGRAM));
    }

    /// The size to probe now, if any.
    #[inline(always)]
    pub fn wants(&self) -> Option<u32> {
        if self.in_flight.is_some() || self.upper < self.current + if self.halving { GRAIN } else { 1 } {
            return None;
        }
        Some(if self.halving { (self.current + self.upper).div_ceil(2) } else { self.upper })
    }

    pub fn on_sent(&mut self, size: u32) {
        self.in_flight = Some(size);
    }

    /// A probe arrived; returns the new size of datagrams.
    pub fn on_acked(&mut self, size: u32) -> u32 {
        self.current = self.current.max(size);
        self.tries = 0;
        self.in_flight = None;
        self.current
    }

    pub fn on_lost(&mut self, size: u32) {
        self.in_flight = None;
        self.tries += 1;
        if self.tries >= MAX_PROBES && size > self.current {
            self.tries = 0;
            self.upper = size - 1;
            self.halving = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(upper: u32, path: u32) -> (u32, u32) {
        let (mut search, mut sent) = (MtuSearch::new(upper), 0);
        while let Some(size) = search.wants() {
            search.on_sent(size);
            sent += 1;
            if size <= path {
                search.on_acked(size);
            } else {
                search.on_lost(size);
            }
        }
        (search.current(), sent)
    }

    #[test]
    fn the_commonest_path_takes_one_probe() {
        assert_eq!(probes(1472, 1472), (1472, 1));
        assert_eq!(probes(1200, 1200), (1200, 0));
    }

    #[test]
    fn other_paths_are_found_to_within_the_grain_by_few_probes() {
        for path in 1200..1472 {
            let (found, sent) = probes(1472, path);
            assert!(found <= path && path - found < GRAIN, "{found} of {path}");
            assert!(sent <= 3 + 3 * 5, "{sent}");
        }
    }
}
