//! Search for the path's largest datagram by probe packets (RFC 9000 section 14.3; DPLPMTUD, RFC 8899).

use super::sizes::MIN_DATAGRAM;

/// Lost probes of one size after which it is taken for too large (RFC 8899 section 5.1.2, `MAX_PROBES`).
const MAX_PROBES: u32 = 3;
/// The search ends when what is left to gain is less than this, bytes.
const GRAIN: u32 = 16;
/// The change for which quinn sends no further probe (quinn-proto 0.11.19, `MtuDiscoveryConfig`, `minimum_change`).
const LEAST_CHANGE: u32 = 20;

/// How the search goes, and when its probes go out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum MtuProbes {
    /// The largest size first, as soon as more data waits than the window takes.
    #[default]
    Largest,
    /// The largest size first, before other packets as soon as the window has room for it and no acknowledgement is to go (quiche
    /// 0.30.0, `path.rs`, `should_send_pmtu_probe`).
    First,
    /// As quinn: the middle between the present size and the largest, and so on (quinn-proto 0.11.19, `connection/mtud.rs`,
    /// `SearchState::next_mtu_to_probe`); a probe goes where nothing else may go, also while the window is full or pacing
    /// waits (`connection/mod.rs`, `poll_transmit`).
    Halving,
}

/// The search of one path. It tries the largest size first, as most paths have it, and halves the interval when that
/// fails; quinn's halves the interval from the beginning. The links here do not shrink, so that the detection of black holes
/// (RFC 8899 section 4.3) is left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuSearch {
    current: u32,
    /// No larger size is tried.
    upper: u32,
    halving: bool,
    in_flight: Option<u32>,
    tries: u32,
    probes: MtuProbes,
}

impl MtuSearch {
    /// A search up to `upper`, bytes of UDP payload.
    pub fn new(upper: u32, probes: MtuProbes) -> MtuSearch {
        let upper = upper.max(MIN_DATAGRAM);
        MtuSearch { current: MIN_DATAGRAM, upper, halving: false, in_flight: None, tries: 0, probes }
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

    /// The size to probe now, if any, by a search whose probes go before other packets.
    #[inline(always)]
    pub fn wants(&self) -> Option<u32> {
        if self.in_flight.is_some() || self.upper < self.current + if self.halving { GRAIN } else { 1 } {
            return None;
        }
        match self.probes {
            MtuProbes::Largest | MtuProbes::First if self.halving => Some((self.current + self.upper).div_ceil(2)),
            MtuProbes::Largest | MtuProbes::First => Some(self.upper),
            MtuProbes::Halving => None,
        }
    }

    /// Whether probes go as soon as there is room for them.
    pub fn goes_first(&self) -> bool {
        self.probes == MtuProbes::First
    }

    /// Whether probes go where nothing else may.
    #[inline]
    pub fn goes_last(&self) -> bool {
        self.probes == MtuProbes::Halving
    }

    /// The size to probe now, if any, by a search whose probes go last.
    pub fn wants_last(&self) -> Option<u32> {
        if !self.goes_last() || self.in_flight.is_some() {
            return None;
        }
        let middle = self.current.midpoint(self.upper);
        // Of a size that failed, `upper` is one less; the change is counted from that size.
        let from = if self.halving { self.upper + 1 } else { self.current };
        match (from.abs_diff(middle) >= LEAST_CHANGE, self.upper.saturating_sub(from) >= LEAST_CHANGE) {
            (true, _) => Some(middle),
            (false, true) => Some(self.upper),
            (false, false) => None,
        }
    }

    pub fn on_sent(&mut self, size: u32) {
        self.in_flight = Some(size);
    }

    /// A probe arrived; returns the new size of datagrams.
    pub fn on_acked(&mut self, size: u32) -> u32 {
        self.current = self.current.max(size);
        self.tries = 0;
        self.in_flight = None;
        self.halving &= self.probes != MtuProbes::Halving;
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
        let (mut search, mut sent) = (MtuSearch::new(upper, MtuProbes::Largest), 0);
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

    /// The sizes that quinn's search probes on a path that takes datagrams of `path` bytes.
    fn halving(upper: u32, path: u32) -> Vec<u32> {
        let (mut search, mut sent) = (MtuSearch::new(upper, MtuProbes::Halving), Vec::new());
        assert_eq!(search.wants(), None);
        while let Some(size) = search.wants_last() {
            search.on_sent(size);
            sent.push(size);
            if size <= path {
                search.on_acked(size);
            } else {
                search.on_lost(size);
            }
        }
        sent
    }

    #[test]
    fn quinns_search_halves_from_the_beginning_and_tries_the_largest_at_last() {
        assert_eq!(halving(1472, 1472), [1336, 1404, 1438, 1472]);
        assert_eq!(halving(1452, 1452), [1326, 1389, 1420, 1452]);
        assert_eq!(halving(1200, 1200), []);
        // Three probes a size; then the middle below it.
        assert_eq!(halving(1472, 1400), [1336, 1404, 1404, 1404, 1369, 1403, 1403, 1403]);
    }
}
