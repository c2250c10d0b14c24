//! ECN (RFC 9000 section 13.4): what was received with which codepoint, and whether what the peer reports can be true.
//!
//! A path sends ECT(0), or ECT(1) for L4S (RFC 9331 section 4.1), from its first packet on, and for ever unless validation fails; the testing period of appendix A.4,
//! which guards against paths that drop ECN-capable packets, is left out, as no link here does.

use super::packet::SpaceId;
use haltere_net::Ecn;

/// Packets by codepoint, as ACK frames report them (section 19.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u64,
    /// Packets with ECT(1).
    pub ect1: u64,
    /// Packets with CE.
    pub ce: u64,
}

impl EcnCounts {
    /// Counts a packet; nothing is counted of those that are not ECN-capable.
    pub fn count(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }
}

/// A path's use of ECN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking {
    /// The codepoint of packets; not ECN-capable if ECN is off.
    codepoint: Ecn,
    /// ECN-capable packets sent in each packet number space.
    sent: [u64; 3],
    /// The counts that the peer has reported of each.
    reported: [EcnCounts; 3],
    /// Bytes delivered that were marked, as far as packets can be told apart.
    pub bytes: u64,
}

impl Marking {
    /// A path whose packets are sent with this codepoint; `None` if they are not ECN-capable.
    pub fn new(codepoint: Option<Ecn>) -> Marking {
        let codepoint = codepoint.unwrap_or(Ecn::NotEct);
        Marking { codepoint, sent: [0; 3], reported: [EcnCounts::default(); 3], bytes: 0 }
    }

    /// Whether packets are ECN-capable.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.codepoint != Ecn::NotEct
    }

    /// The codepoint of packets sent now.
    #[inline]
    pub fn codepoint(&self) -> Ecn {
        self.codepoint
    }

    #[inline]
    pub fn on_sent(&mut self, id: SpaceId) {
        self.sent[id as usize] += u64::from(self.is_on());
    }

    /// An ACK with a new largest number acknowledged `newly` packets: how many more are marked. If its counts cannot be
    /// true (section 13.4.2.1), the path uses ECN no more.
    pub fn on_ack(&mut self, id: SpaceId, counts: Option<EcnCounts>, newly: u64) -> u64 {
        if !self.is_on() {
            return 0;
        }
        let (before, sent) = (self.reported[id as usize], self.sent[id as usize]);
        let more = counts.and_then(|now| {
            // What was sent with one codepoint does not arrive with the other.
            let capable = |counts: EcnCounts| match self.codepoint {
                Ecn::Ect1 => (counts.ect1, counts.ect0),
                _ => (counts.ect0, counts.ect1),
            };
            let ((own, other), (own_before, _)) = (capable(now), capable(before));
            let (more, ce) = (own.checked_sub(own_before)?, now.ce.checked_sub(before.ce)?);
            let seen = own.checked_add(now.ce)?;
            (other == 0 && more + ce >= newly && seen <= sent).then_some((now, ce))
        });
        let Some((now, ce)) = more else {
            self.codepoint = Ecn::NotEct;
            return 0;
        };
        self.reported[id as usize] = now;
        ce
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
        Some(EcnCounts { ect0, ect1, ce })
    }

    fn ten_sent() -> Marking {
        let mut marking = Marking::new(Some(Ecn::Ect0));
        (0..10).for_each(|_| marking.on_sent(SpaceId::Data));
        marking
    }

    #[test]
    fn marks_are_those_since_the_last_ack() {
        let mut marking = ten_sent();
        assert_eq!(marking.on_ack(SpaceId::Data, counts(3, 0, 1), 4), 1);
        assert_eq!(marking.on_ack(SpaceId::Data, counts(3, 0, 3), 2), 2);
        // An ACK of what an ACK that got lost had acknowledged reports more than is new.
        assert_eq!(marking.on_ack(SpaceId::Data, counts(6, 0, 4), 2), 1);
        assert!(marking.is_on());
    }

    /// Section 13.4.2.1, sentence by sentence.
    #[test]
    fn counts_that_cannot_be_true_end_the_use_of_ecn() {
        let wrong = [None, counts(3, 0, 0), counts(2, 1, 1), counts(10, 0, 1), counts(u64::MAX, 0, 1)];
        for given in wrong {
            let mut marking = ten_sent();
            assert_eq!(marking.on_ack(SpaceId::Data, given, 4), 0);
            assert_eq!((marking.is_on(), marking.codepoint()), (false, Ecn::NotEct), "{given:?}");
        }
        let mut marking = ten_sent();
        marking.on_ack(SpaceId::Data, counts(5, 0, 1), 6);
        marking.on_ack(SpaceId::Data, counts(9, 0, 0), 1);
        assert!(!marking.is_on(), "a count that falls");
    }
}
