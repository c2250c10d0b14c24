//! Multipath measurements, which find the links between a source and a destination: scamper's `tracelb`, after B.
//! Augustin, T. Friedman, R. Teixeira, "Measuring load-balanced paths in the Internet", IMC 2007.
//!
//! A record of it says for sets of probes which flows each answer is of. Probes of one flow take one path, so that two
//! addresses that answered to one flow at neighbouring TTLs are linked.

use crate::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Multipath {
    /// The source, which probed; [`Address::NONE`] if not said.
    pub source: Address,
    /// The destination.
    pub destination: Address,
    /// When it began, microseconds since the Unix epoch; 0 if not said.
    pub start_us: u64,
    /// The list of destinations, as a person numbered it.
    pub list_id: u32,
    /// The pass over that list.
    pub cycle_id: u32,
    /// The monitor's name, if the file has it.
    pub monitor: Option<Arc<str>>,
    /// How was probed and what told flows apart, in scamper's words; `unknown` if not said.
    pub method: &'static str,
    /// Source port, or the ICMP identifier; 0 if not said.
    pub source_port: u16,
    /// Destination port; 0 if not said.
    pub destination_port: u16,
    /// Probability that all next hops of a node were to be found with, per cent; 0 if not said.
    pub confidence: u8,
    /// How many probes were sent.
    pub probes: u32,
    /// The links, in the order of TTL, nearer and farther end.
    pub links: Vec<FlowLink>,
}

/// A link between two addresses that answered to the same flows at neighbouring TTLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLink {
    /// TTL of the probes that the farther end answered.
    pub ttl: u8,
    /// The nearer end.
    pub near: Address,
    /// The farther end.
    pub far: Address,
    /// How many flows took it.
    pub flows: u32,
    /// The least round-trip time of the farther end for these flows, microseconds; none if no time was taken.
    pub rtt_us: Option<u32>,
}

impl Multipath {
    const METHODS: [&'static str; 6] = ["unknown", "udp-dport", "icmp-echo", "udp-sport", "tcp-sport", "tcp-ack-sport"];

    /// The method with this number in warts.
    pub(crate) fn method_of_number(number: u8) -> &'static str {
        Multipath::METHODS.get(usize::from(number)).unwrap_or(&"other")
    }

    /// The method with this name in scamper's JSON.
    pub(crate) fn method_named(name: &str) -> &'static str {
        Multipath::METHODS.iter().find(|&&known| known == name).unwrap_or(&"other")
    }
}

/// The flows that took a link, and the least delay of its farther end.
type Seen = (BTreeSet<u16>, Option<u32>);

/// Gathers the links from the answers of a record: link after link of scamper's, which may be several hops long, and of each
/// set after set of probes, one a TTL.
#[derive(Default)]
pub(crate) struct Gathered {
    seen: BTreeMap<(u8, Address, Address), Seen>,
    /// Who answered to a flow in the set before; if none, all flows came through the node where the link begins.
    before: Option<BTreeMap<u16, BTreeSet<Address>>>,
    now: BTreeMap<u16, BTreeSet<Address>>,
    node: Address,
}

impl Gathered {
    /// A link of scamper's begins at a node.
    pub fn begin(&mut self, node: Address) {
        (self.node, self.before) = (node, None);
        self.now.clear();
    }

    /// An answer of the current set.
    pub fn answer(&mut self, flow: u16, ttl: u8, from: Address, rtt_us: Option<u32>) {
        if from.is_none() {
            return;
        }
        self.now.entry(flow).or_default().insert(from);
        let node = BTreeSet::from([self.node]);
        let nearer = match &self.before {
            None => Some(&node),
            Some(before) => before.get(&flow),
        };
        // An address that answers twice on the way is no link to itself.
        for &near in nearer.into_iter().flatten().filter(|near| **near != from && !near.is_none()) {
            let (flows, least) = self.seen.entry((ttl, near, from)).or_default();
            flows.insert(flow);
            *least = least.iter().copied().chain(rtt_us).min();
        }
    }

    /// The probes of the next TTL follow.
    pub fn next_set(&mut self) {
        self.before = Some(std::mem::take(&mut self.now));
    }

    /// All links.
    pub fn links(self) -> Vec<FlowLink> {
        let link = |((ttl, near, far), (flows, rtt_us)): (_, Seen)| FlowLink {
            ttl,
            near,
            far,
            flows: flows.len() as u32,
            rtt_us,
        };
        self.seen.into_iter().map(link).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(last: u8) -> Address {
        Address::v4([10, 0, 0, last])
    }

    #[test]
    fn flows_tell_which_addresses_are_linked() {
        let mut gathered = Gathered::default();
        gathered.begin(node(1));
        for (flow, last, rtt_us) in [(1, 2, Some(90)), (2, 3, Some(80)), (3, 2, Some(70)), (4, 4, None)] {
            gathered.answer(flow, 2, node(last), rtt_us);
        }
        gathered.next_set();
        // Flow 9 did not answer before, and flow 4 has the address that it had.
        for (flow, last) in [(1, 5), (2, 5), (9, 5), (4, 4)] {
            gathered.answer(flow, 3, node(last), Some(200));
        }
        let found: Vec<_> = gathered.links().iter().map(|l| (l.ttl, l.near, l.far, l.flows, l.rtt_us)).collect();
        let link = |ttl, near, far, flows, rtt_us| (ttl, node(near), node(far), flows, rtt_us);
        assert_eq!(
            found,
            [
                link(2, 1, 2, 2, Some(70)),
                link(2, 1, 3, 1, Some(80)),
                link(2, 1, 4, 1, None),
                link(3, 2, 5, 1, Some(200)),
                link(3, 3, 5, 1, Some(200))
            ]
        );
    }
}
