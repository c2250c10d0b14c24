//! How many bytes are sent again on another path than the one that lost them.

use crate::ranges::RangeSet;
use haltere_net::PathId;

/// Stream data that paths lost and no path has sent again yet.
#[derive(Default, Debug)]
pub(super) struct Reinjection {
    lost: Vec<(PathId, u64, RangeSet)>,
    bytes: u64,
}

impl Reinjection {
    /// Bytes that were sent on a second path.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A path lost these bytes of a stream.
    pub fn on_lost(&mut self, path: PathId, stream: u64, start: u64, len: u64) {
        let at = self.lost.iter().position(|(by, of, _)| (*by, *of) == (path, stream)).unwrap_or_else(|| {
            self.lost.push((path, stream, RangeSet::default()));
            self.lost.len() - 1
        });
        self.lost[at].2.insert_all(start, start + len);
    }

    /// These bytes of a stream are sent again on a path.
    pub fn on_sent_again(&mut self, path: PathId, stream: u64, start: u64, len: u64) {
        let end = start + len;
        for (by, _, ranges) in self.lost.iter_mut().filter(|(_, of, _)| *of == stream) {
            if *by != path {
                let mut kept = 0;
                ranges.missing(start, end, |from, to| kept += to - from);
                self.bytes += len - kept;
            }
            ranges.remove(start, end);
        }
        self.lost.retain(|(.., ranges)| !ranges.is_empty());
    }

    /// Data was sent on a second path without having been lost.
    pub fn on_copied(&mut self, len: u64) {
        self.bytes += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_another_path_lost_counts() {
        let mut reinjection = Reinjection::default();
        reinjection.on_lost(PathId(0), 4, 1000, 500);
        reinjection.on_lost(PathId(1), 4, 2000, 500);
        reinjection.on_lost(PathId(0), 8, 1000, 500);
        reinjection.on_sent_again(PathId(1), 4, 1200, 1000);
        assert_eq!(reinjection.bytes(), 300, "200 more are the path's own");
        reinjection.on_sent_again(PathId(1), 4, 1000, 500);
        assert_eq!(reinjection.bytes(), 500);
        reinjection.on_sent_again(PathId(0), 8, 1000, 500);
        reinjection.on_sent_again(PathId(0), 4, 2200, 300);
        assert_eq!(reinjection.bytes(), 800);
        assert!(reinjection.lost.is_empty());
    }
}
