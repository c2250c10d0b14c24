//! The receiver's side of ECN: when an acknowledgement reports that marks were seen.

use super::accurate::Counted;
use super::segment::Segment;
use haltere_net::Ecn;

/// How marks are echoed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoRule {
    /// From a mark until the sender reports that it has reduced its window (RFC 3168 section 6.1.3).
    Rfc3168,
    /// Each acknowledgement reports whether the data it acknowledges was marked (RFC 8257 section 3.2).
    Dctcp,
    /// Each segment carries the count of marked packets (RFC 9768).
    Accurate,
}

/// How a mark, or its absence, changes when acknowledgements are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    Nothing,
    /// The next few are sent at once.
    Quick,
    /// One is sent at once. If an acknowledgement is being delayed, it is sent first, with its position and with the
    /// marks that were seen before.
    Now {
        before: u64,
        echo: bool,
    },
}

/// The state of the echo.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Echo {
    rule: Option<EchoRule>,
    /// Whether acknowledgements echo marks now (Linux: `TCP_ECN_DEMAND_CWR`).
    pub on: bool,
    /// Whether an ECN-capable packet has arrived.
    seen: bool,
    /// The next expected position after the previous packet was processed (Linux: `prior_rcv_nxt`).
    next: u64,
    /// The count of marked packets, with accurate ECN.
    counted: Counted,
}

impl Echo {
    /// The connection uses ECN.
    pub(super) fn negotiated(&mut self, rule: EchoRule) {
        self.rule = Some(rule);
    }

    /// Counts a packet of any kind, for accurate ECN.
    pub(super) fn count(&mut self, ecn: Ecn) {
        self.counted.count(ecn);
    }

    /// Fills in what a segment reports of marks.
    pub(super) fn report(&mut self, s: &mut Segment) {
        match self.rule {
            Some(EchoRule::Accurate) => s.set_ace(self.counted.report()),
            _ => s.ece = self.on,
        }
    }

    /// A segment reports a reduced window (CWR).
    pub(super) fn take_reduced(&mut self) -> Asks {
        if matches!(self.rule, None | Some(EchoRule::Accurate)) {
            return Asks::Nothing;
        }
        // The echo of DCTCP depends on the marks alone, which are processed with the segment itself.
        self.on &= self.rule == Some(EchoRule::Dctcp);
        // The window may be as small as one packet, which must not wait for another (Linux: `tcp_ecn_accept_cwr`).
        Asks::Now { before: 0, echo: false }
    }

    /// Processes a data packet, after which `next` is the next expected position (Linux: `__tcp_ecn_check_ce`).
    pub(super) fn take_mark(&mut self, ecn: Ecn, next: u64) -> Asks {
        let Some(rule) = self.rule else { return Asks::Nothing };
        if ecn == Ecn::NotEct && rule != EchoRule::Accurate {
            // This packet is not ECN-capable, but others are: it is most likely a retransmission.
            return if self.seen { Asks::Quick } else { Asks::Nothing };
        }
        self.seen = true;
        let marked = ecn == Ecn::Ce;
        match rule {
            EchoRule::Rfc3168 => {
                let news = marked && !self.on;
                self.on |= marked;
                if news { Asks::Quick } else { Asks::Nothing }
            }
            EchoRule::Dctcp => {
                let before = std::mem::replace(&mut self.next, next);
                let echo = std::mem::replace(&mut self.on, marked);
                if echo == marked { Asks::Nothing } else { Asks::Now { before, echo } }
            }
            EchoRule::Accurate if self.counted.presses() => Asks::Now { before: 0, echo: false },
            EchoRule::Accurate => Asks::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_echoes_last_until_the_sender_has_reduced() {
        let mut echo = Echo::default();
        assert_eq!(echo.take_mark(Ecn::Ce, 1), Asks::Nothing, "nothing was agreed on");
        echo.negotiated(EchoRule::Rfc3168);
        assert_eq!((echo.take_mark(Ecn::Ce, 1), echo.on), (Asks::Quick, true));
        assert_eq!((echo.take_mark(Ecn::Ect0, 2), echo.on), (Asks::Nothing, true));
        assert_eq!(echo.take_mark(Ecn::Ce, 3), Asks::Nothing);
        assert_eq!(echo.take_mark(Ecn::NotEct, 3), Asks::Quick);
    }

    /// Figure 1 of RFC 8257: a change of state sends an ACK at once. It acknowledges the earlier data with the earlier
    /// state.
    #[test]
    fn dctcps_echoes_follow_the_marks() {
        let mut echo = Echo::default();
        echo.negotiated(EchoRule::Dctcp);
        assert_eq!(echo.take_mark(Ecn::Ect0, 1000), Asks::Nothing);
        assert_eq!(echo.take_mark(Ecn::Ce, 2000), Asks::Now { before: 1000, echo: false });
        assert_eq!((echo.take_mark(Ecn::Ce, 3000), echo.on), (Asks::Nothing, true));
        assert_eq!(echo.take_mark(Ecn::Ect0, 4000), Asks::Now { before: 3000, echo: true });
        assert!(!echo.on);
    }

    #[test]
    fn a_cwr_segment_is_acknowledged_at_once_under_both_rules() {
        for (rule, on) in [(EchoRule::Rfc3168, false), (EchoRule::Dctcp, true)] {
            let mut echo = Echo::default();
            echo.negotiated(rule);
            echo.take_mark(Ecn::Ce, 1000);
            assert_eq!((echo.take_reduced(), echo.on), (Asks::Now { before: 0, echo: false }, on));
        }
    }
}
