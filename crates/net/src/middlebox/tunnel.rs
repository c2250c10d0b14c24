//! A tunnel through a link: packets have an outer header on the link, whose ECN field its queue marks.

use crate::counters::{LinkCounters, Stages};
use crate::cx::Cx;
use crate::element::{Admission, AnyElement, Element, Port};
use crate::occupancy::Held;
use crate::packet::{Ecn, Packet};
use crate::time::Time;
use crate::varying::VaryingError;
use serde::{Deserialize, Serialize};

/// A tunnel. In JSON: `{"header": 20, "ecn": "normal"}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Bytes of the outer header: at least an IPv4 header.
    pub header: u32,
    /// How the ECN field goes into the outer header and back.
    pub ecn: Propagation,
}

/// How a tunnel propagates the ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Propagation {
    /// RFC 6040 in normal mode: the outer header has a copy (section 4.1), and both are combined at the end (section 4.2).
    #[default]
    Normal,
    /// RFC 6040 in compatibility mode (section 4.1), which is RFC 3168's limited functionality: the outer header is not
    /// ECN-capable, so that queues drop where they would mark.
    Compatibility,
    /// RFC 3168's full functionality (section 9.1.1): the outer header of a marked packet is ECT(0), and at the end nothing but
    /// a mark counts.
    Rfc3168,
    /// No propagation: the outer header has a copy, as of all of the traffic class (RFC 2003 section 3.1), and is thrown away at
    /// the end, with all marks.
    None,
}

/// The smallest and the largest outer header, bytes: an IPv4 header; an IPv6 header, UDP, and a shim with options.
const HEADERS: std::ops::RangeInclusive<u32> = 20..=200;

impl Tunnel {
    /// Checks the length of the header.
    ///
    /// # Errors
    /// With the field, and what would be right.
    pub fn check(&self) -> Result<(), VaryingError> {
        if HEADERS.contains(&self.header) {
            return Ok(());
        }
        let (least, most) = (HEADERS.start(), HEADERS.end());
        Err(VaryingError::new("tunnel.header", format!("{}B: give from {least}B to {most}B", self.header)))
    }
}

impl Propagation {
    /// The field of the outer header of a packet whose own is `inner`.
    pub fn outer(self, inner: Ecn) -> Ecn {
        match self {
            Propagation::Normal | Propagation::None => inner,
            Propagation::Compatibility => Ecn::NotEct,
            Propagation::Rfc3168 if inner == Ecn::Ce => Ecn::Ect0,
            Propagation::Rfc3168 => inner,
        }
    }

    /// The field of a packet at the end of the tunnel; `None` if it is dropped there (RFC 6040 figure 4; RFC 3168 section 9.1.1).
    pub fn inner(self, inner: Ecn, outer: Ecn) -> Option<Ecn> {
        if self == Propagation::None {
            return Some(inner);
        }
        match (inner, outer) {
            (Ecn::NotEct, Ecn::Ce) => None,
            (Ecn::NotEct | Ecn::Ce, _) | (_, Ecn::NotEct) => Some(inner),
            (_, Ecn::Ce) => Some(Ecn::Ce),
            (_, Ecn::Ect1) if self != Propagation::Rfc3168 => Some(Ecn::Ect1),
            (_, Ecn::Ect0 | Ecn::Ect1) => Some(inner),
        }
    }
}

/// A link between the two ends of a tunnel.
pub struct Tunnelled<B> {
    tunnel: Tunnel,
    link: AnyElement<B>,
    /// Packets dropped at the end, and their bytes on the link.
    dropped: (u64, u64),
}

impl<B> Tunnelled<B> {
    /// The link in a tunnel.
    pub fn new(tunnel: Tunnel, link: AnyElement<B>) -> Tunnelled<B> {
        Tunnelled { tunnel, link, dropped: (0, 0) }
    }
}

impl<B: Clone + Send + 'static> Element<B> for Tunnelled<B> {
    fn offer(&mut self, port: Port, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        packet.len = packet.len.saturating_add(self.tunnel.header);
        packet.inner = packet.ecn;
        packet.ecn = self.tunnel.ecn.outer(packet.inner);
        self.link.offer(port, packet, cx);
    }

    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        loop {
            let (at, mut packet) = self.link.poll(until, cx)?;
            let Some(ecn) = self.tunnel.ecn.inner(packet.inner, packet.ecn) else {
                self.dropped = (self.dropped.0 + 1, self.dropped.1 + u64::from(packet.len));
                continue;
            };
            (packet.ecn, packet.inner) = (ecn, Ecn::NotEct);
            packet.len = packet.len.saturating_sub(self.tunnel.header);
            return Some((at, packet));
        }
    }

    fn next_wake(&self) -> Time {
        self.link.next_wake()
    }
    fn room(&self, port: Port) -> u64 {
        self.link.room(port)
    }
    fn admission(&self) -> Admission {
        self.link.admission()
    }
    fn counters(&self) -> LinkCounters {
        let mut counters = self.link.counters();
        counters.delivered -= self.dropped.0;
        counters.delivered_bytes -= self.dropped.1;
        counters.dropped_tunnel = Some(self.dropped.0);
        counters
    }
    fn stages(&self) -> Option<Stages> {
        self.link.stages()
    }
    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.link.held(until, cx)
    }
    fn inside(&self) -> u64 {
        self.link.inside()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ecn::{Ce, Ect0, Ect1, NotEct};

    const ALL: [Ecn; 4] = [NotEct, Ect0, Ect1, Ce];

    /// RFC 6040 figure 4: rows are inner fields, columns outer ones, both in the order of `ALL`.
    #[test]
    fn the_end_combines_all_sixteen_pairs_as_figure_4_says() {
        let figure = [
            [Some(NotEct), Some(NotEct), Some(NotEct), None],
            [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)],
            [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)],
            [Some(Ce), Some(Ce), Some(Ce), Some(Ce)],
        ];
        for (inner, row) in ALL.into_iter().zip(figure) {
            for mode in [Propagation::Normal, Propagation::Compatibility] {
                assert_eq!(ALL.map(|outer| mode.inner(inner, outer)), row, "{inner:?}, {mode:?}");
            }
        }
    }

    /// RFC 3168 section 9.1.1: of the outer field only a mark counts.
    #[test]
    fn the_end_of_an_older_tunnel_takes_over_marks_alone() {
        for (inner, marked) in [(NotEct, None), (Ect0, Some(Ce)), (Ect1, Some(Ce)), (Ce, Some(Ce))] {
            let found = ALL.map(|outer| Propagation::Rfc3168.inner(inner, outer));
            assert_eq!(found, [Some(inner), Some(inner), Some(inner), marked], "{inner:?}");
        }
    }

    #[test]
    fn without_propagation_marks_are_lost() {
        for inner in ALL {
            assert!(ALL.iter().all(|&outer| Propagation::None.inner(inner, outer) == Some(inner)));
        }
    }

    /// RFC 6040 figure 3, and RFC 3168 section 9.1.1.
    #[test]
    fn the_beginning_copies_or_does_not() {
        assert_eq!(ALL.map(|inner| Propagation::Normal.outer(inner)), ALL);
        assert_eq!(ALL.map(|inner| Propagation::Compatibility.outer(inner)), [NotEct; 4]);
        assert_eq!(ALL.map(|inner| Propagation::Rfc3168.outer(inner)), [NotEct, Ect0, Ect1, Ect0]);
        assert_eq!(ALL.map(|inner| Propagation::None.outer(inner)), ALL);
    }
}
