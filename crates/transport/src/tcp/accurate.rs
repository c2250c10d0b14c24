//! Accurate ECN feedback (RFC 9768): the peer counts the marked packets and sends the count's low three bits, the ACE
//! field, in each segment.
//!
//! The ACE field takes the place of the flags AE, CWR and ECE. The AccECN option, which counts bytes, is not sent: it is
//! optional (section 3.2.3), and packets have one size here.

use super::segment::Segment;
use crate::endpoint::Role;
use haltere_net::Ecn;

/// The counters begin here, so that a field that somebody cleared is not taken for a count (section 3.2.1).
const INITIAL: u64 = 5;
/// The largest value of the field.
const MOST: u64 = 7;
/// Unreported marks after which an acknowledgement is sent at once (section 3.2.2.5.1: n = 2).
const PENDING: u64 = 2;
/// Packets that an acknowledgement covers in the mean if a machine on the path thins acknowledgements out (Linux:
/// `ACK_COMP_THRESH`).
const THINNED: u64 = 4;
/// The weight of older acknowledgements in that mean is 1 - 1/64, and it is kept in 1/64 (Linux: `PKTS_ACKED_WEIGHT`).
const MEAN_SHIFT: u32 = 6;

/// The ACE field of a segment that answers a packet of the handshake (a SYN: section 3.1.1, table 2; a SYN-ACK: section
/// 3.2.2.1, table 3).
pub(super) fn reflected(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// Whether a SYN-ACK with this field grants accurate ECN. The other values are those of an end without ECN, with
/// RFC 3168's or with the former nonce (table 2).
pub(super) fn grants(ace: u8) -> bool {
    matches!(ace, 0b010 | 0b011 | 0b100 | 0b110)
}

impl Segment {
    /// The ACE field.
    pub fn ace(&self) -> u8 {
        u8::from(self.ae) << 2 | u8::from(self.cwr) << 1 | u8::from(self.ece)
    }

    /// Sets the ACE field.
    pub fn set_ace(&mut self, ace: u8) {
        (self.ae, self.cwr, self.ece) = (ace & 4 != 0, ace & 2 != 0, ace & 1 != 0);
    }
}

/// The receiver's count of marked packets (section 3.2.1, r.cep).
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    marked: u64,
    /// The count that the last acknowledgement reported.
    reported: u64,
}

impl Default for Counted {
    fn default() -> Counted {
        Counted { marked: INITIAL, reported: INITIAL }
    }
}

impl Counted {
    /// A packet has arrived.
    pub(super) fn count(&mut self, ecn: Ecn) {
        self.marked += u64::from(ecn == Ecn::Ce);
    }

    /// Whether marks must be reported at once.
    pub(super) fn presses(&self) -> bool {
        self.marked - self.reported >= PENDING
    }

    /// The field of a segment that is about to be sent.
    pub(super) fn report(&mut self) -> u8 {
        self.reported = self.marked;
        (self.marked & MOST) as u8
    }
}

/// The sender's estimate of the receiver's count (section 3.2.1, s.cep).
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimated {
    marked: u64,
    /// The mean number of packets that an acknowledgement covers, in 1/64.
    mean: u64,
    /// The newest timestamp of an acknowledgement.
    newest: u32,
    /// The next segment reflects the handshake and does not count.
    reflects: bool,
}

impl Default for Estimated {
    fn default() -> Estimated {
        Estimated { marked: INITIAL, mean: 0, newest: 0, reflects: false }
    }
}

impl Estimated {
    /// The handshake is under way. The server's first acknowledgement reflects the codepoint of its SYN-ACK.
    pub(super) fn begin(&mut self, role: Role) {
        self.reflects = role == Role::Server;
    }

    /// How many more packets are marked by an acknowledgement with this field and timestamp that delivers `packets`. One
    /// that delivers nothing and is not newer than the others may have been overtaken by them: it says nothing.
    ///
    /// If it delivers more than the field can count, acknowledgements with other counts may be lost, and as many marks
    /// are assumed as fit (section 3.2.2.5.2, appendix A.2.1). Where acknowledgements cover many packets anyway, the
    /// field is taken as it is (Linux: `__tcp_accecn_process`).
    pub(super) fn take(&mut self, (ace, timestamp): (u8, u32), packets: u64) -> u64 {
        let newer = timestamp > self.newest;
        self.newest = self.newest.max(timestamp);
        if std::mem::take(&mut self.reflects) || (packets == 0 && !newer) {
            return 0;
        }
        let more = u64::from(ace).wrapping_sub(self.marked) & MOST;
        if packets > 0 {
            let scaled = packets << MEAN_SHIFT;
            self.mean = if self.mean == 0 { scaled } else { self.mean - (self.mean >> MEAN_SHIFT) + packets };
        }
        let sure = packets <= MOST || self.mean > THINNED << MEAN_SHIFT;
        let more = if sure { more } else { packets - (packets.wrapping_sub(more) & MOST) };
        self.marked += more;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_wraps_after_seven() {
        let (mut counted, mut estimated) = (Counted::default(), Estimated::default());
        assert_eq!(estimated.take((counted.report(), 0), 1), 0);
        for marks in [1, 0, 2, 5, 7, 0, 3] {
            (0..marks).for_each(|_| counted.count(Ecn::Ce));
            counted.count(Ecn::Ect1);
            assert_eq!(estimated.take((counted.report(), 0), 7), marks);
        }
    }

    #[test]
    fn two_marks_are_reported_at_once() {
        let mut counted = Counted::default();
        counted.count(Ecn::Ce);
        assert!(!counted.presses());
        counted.count(Ecn::Ce);
        assert!(counted.presses());
        counted.report();
        assert!(!counted.presses());
    }

    /// Appendix A.2.1: ACKs of two packets each, then one of ten with a field 2 ahead: 2 or 10 marks.
    #[test]
    fn the_most_marks_are_assumed_that_fit_if_acknowledgements_may_be_lost() {
        let mut estimated = Estimated::default();
        assert_eq!(estimated.take((5, 0), 2), 0);
        assert_eq!(estimated.take((7, 0), 10), 10);
        // The estimate stays in step with the field.
        assert_eq!(estimated.take((7, 0), 2), 0);
    }

    #[test]
    fn thinned_acknowledgements_are_taken_as_they_are() {
        let mut estimated = Estimated::default();
        for _ in 0..50 {
            assert_eq!(estimated.take((5, 0), 7), 0);
        }
        assert_eq!(estimated.take((7, 0), 20), 2);
    }

    #[test]
    fn an_overtaken_acknowledgement_says_nothing() {
        let mut estimated = Estimated::default();
        assert_eq!(estimated.take((7, 12), 2), 2);
        assert_eq!(estimated.take((6, 11), 0), 0);
        assert_eq!(estimated.take((0, 13), 0), 1, "a pure acknowledgement that is newer counts");
    }

    #[test]
    fn the_servers_first_acknowledgement_does_not_count() {
        let mut estimated = Estimated::default();
        estimated.begin(Role::Server);
        assert_eq!(estimated.take((0b010, 1), 1), 0);
        assert_eq!(estimated.take((6, 2), 1), 1);
    }

    #[test]
    fn a_syn_ack_tells_accurate_from_classic() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert!(grants(reflected(ecn)));
        }
        assert!([0b000, 0b001, 0b101, 0b111].iter().all(|&ace| !grants(ace)));
    }
}
