//! Links in tandem: a packet is taken across two of them in one step.
//!
//! If every packet of a link (the follower) comes from one other link (the leader), and both are drop-tail with constant
//! rate and delay, then what happens to a packet in the follower is known when it is offered to the leader. If it need
//! not wait in the follower, it is put there at once, and the call in between is saved. Results are the same:
//!
//! - The follower sees the same packets at the same times. Nothing is taken ahead while packets for it are in the leader.
//! - Serialisation in the follower takes time, so what the packet leads to there comes after the call that was saved, and
//!   in the same order with other calls.
//! - When a run ends, and when a new route brings the follower packets from elsewhere, those that have not arrived in the
//!   follower are put back into the leader.
//! - The saved call counts as an event.
//!
//! A recorder is to see everything at its time, so nothing is taken ahead if there is one.

use super::World;
use super::tables::{Hop, Route};
use haltere_net::element::AnyElement;
use haltere_net::link::Link;
use haltere_net::{ComponentId, Cx, Packet, Span, Time};
use haltere_transport::Body;
use std::collections::BTreeMap;

/// Where the packets of an element come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// No route leads through it yet.
    Nowhere,
    /// From this element alone.
    Element(u32),
    /// From a process, or from several elements.
    Others,
}

/// The most followers of a leader. With more, packets in flight are spread over so much memory that the processor's
/// caches miss more often than the saved calls are worth (`benches/README.md`).
const MOST_FOLLOWERS: u32 = 128;

/// No element.
const NONE: u32 = u32::MAX;

/// Which links are in tandem. By element:
pub(super) struct Tandems {
    sources: Vec<Source>,
    /// Its leader, or [`NONE`]. A leader has no leader itself.
    leaders: Vec<u32>,
    /// How many followers it has.
    followers: Vec<u32>,
    /// The packets in its leader that are on their way to it.
    expected: Vec<u32>,
    /// How many routes were looked at.
    routes: usize,
}

impl Tandems {
    pub fn new(elements: usize) -> Tandems {
        Tandems {
            sources: vec![Source::Nowhere; elements],
            leaders: vec![NONE; elements],
            followers: vec![0; elements],
            expected: vec![0; elements],
            routes: 0,
        }
    }

    /// Whether these routes are more than were looked at.
    #[inline]
    pub fn is_news(&self, routes: &[Route]) -> bool {
        routes.len() > self.routes
    }

    /// Whether the element after a step of a route is its follower.
    #[inline]
    pub fn leads(&self, hop: Hop) -> bool {
        self.is_follower(hop.next, hop.element)
    }

    /// Whether an element is the follower of another.
    #[inline]
    pub fn is_follower(&self, element: u32, leader: u32) -> bool {
        self.leaders.get(element as usize) == Some(&leader)
    }

    /// All followers with their leaders.
    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let leaders = self.leaders.clone();
        (0..).zip(leaders).filter(|&(_, leader)| leader != NONE)
    }
}

/// Two elements, which are links.
#[inline]
fn links(elements: &mut [AnyElement<Body>], leader: u32, follower: u32) -> Option<[&mut Link<Body>; 2]> {
    match elements.get_disjoint_mut([leader as usize, follower as usize]) {
        Ok([AnyElement::Link(leader), AnyElement::Link(follower)]) => Some([leader, follower]),
        _ => None,
    }
}

/// Puts a packet that the leader has let through into the follower, if it is known now what happens to it there, and
/// otherwise into the leader. It leaves the leader at `at`. Returns whether it is in the follower.
#[inline(always)]
fn carry(
    leader: &mut Link<Body>,
    follower: &mut Link<Body>,
    expected: &mut u32,
    (now, at): (Time, Time),
    mut packet: Packet<Body>,
) -> bool {
    if *expected == 0
        && at > now
        && let Some(out) = follower.foresee(at, packet.len)
    {
        leader.count_delivery(packet.len);
        packet.hop += 1;
        follower.take_ahead(at, out, packet);
        return true;
    }
    *expected += 1;
    leader.keep(at, packet);
    false
}

impl World {
    /// Offers a packet to an element that has a follower on the packet's route.
    #[inline(never)]
    pub(super) fn offer_leader(&mut self, hop: Hop, mut packet: Packet<Body>) {
        let mut cx = Cx::new(self.now, ComponentId(hop.element));
        let Some([leader, follower]) = links(&mut self.elements, hop.element, hop.next) else { return };
        let Some(at) = leader.pass(&mut packet, &mut cx) else { return };
        let expected = &mut self.tandems.expected[hop.next as usize];
        if carry(leader, follower, expected, (self.now, at), packet) {
            self.events += 1;
            self.schedule.set(hop.next, follower.next_wake());
        } else {
            self.schedule.set(hop.element, leader.next_wake());
        }
    }

    /// A packet has come out of a leader and will be offered to its follower.
    #[inline]
    pub(super) fn came(&mut self, follower: u32) {
        self.tandems.expected[follower as usize] -= 1;
        if let AnyElement::Link(link) = &mut self.elements[follower as usize] {
            link.catch_up();
        }
    }

    /// Finds what new routes make of the elements they lead through. This comes before packets are sent on them.
    #[cold]
    pub(super) fn look_at_routes(&mut self) {
        let news: Vec<Vec<u32>> = self.tables.routes()[self.tandems.routes..]
            .iter()
            .map(|route| route.hops.iter().map(|hop| hop.element).collect())
            .collect();
        self.tandems.routes += news.len();
        for route in news {
            let mut from = Source::Others;
            for element in route {
                self.look_at(element, from);
                from = Source::Element(element);
            }
        }
    }

    fn look_at(&mut self, element: u32, from: Source) {
        let at = element as usize;
        let known = self.tandems.sources[at];
        if known == from || known == Source::Others {
            return;
        }
        if known != Source::Nowhere {
            self.tandems.sources[at] = Source::Others;
            self.take_back(Some(element));
            if let Some(followers) = self.tandems.followers.get_mut(self.tandems.leaders[at] as usize) {
                *followers -= 1;
            }
            self.tandems.leaders[at] = NONE;
            return;
        }
        self.tandems.sources[at] = from;
        if let Source::Element(leader) = from
            && self.recorder.is_none()
            && self.tandems.leaders[leader as usize] == NONE
            && let Some(links) = links(&mut self.elements, leader, element)
            && links.iter().all(|link| link.is_predictable())
            && self.tandems.followers[leader as usize] < MOST_FOLLOWERS
        {
            self.tandems.leaders[at] = leader;
            self.tandems.followers[leader as usize] += 1;
        }
    }

    /// Puts packets that were taken ahead and have not arrived in their follower yet (all followers, or this one) back
    /// into their leaders.
    pub(super) fn take_back(&mut self, only: Option<u32>) {
        let mut taken: BTreeMap<u32, Vec<(Time, Packet<Body>)>> = BTreeMap::new();
        for (follower, leader) in self.tandems.pairs().filter(|(follower, _)| only.is_none_or(|o| o == *follower)) {
            // Machines that are due at the same time are called in the order of their numbers: up to `machine` they were.
            let from = if leader > self.machine { self.now } else { self.now + Span::from_nanos(1) };
            let Some([_, link]) = links(&mut self.elements, leader, follower) else { continue };
            let packets = link.retract(from);
            self.schedule.set(follower, link.next_wake());
            self.tandems.expected[follower as usize] += packets.len() as u32;
            self.events -= packets.len() as u64;
            taken.entry(leader).or_default().extend(packets);
        }
        for (leader, mut packets) in taken {
            let AnyElement::Link(link) = &mut self.elements[leader as usize] else { continue };
            packets.iter_mut().for_each(|(_, packet)| packet.hop -= 1);
            link.put_back(packets);
            self.schedule.set(leader, link.next_wake());
        }
    }

    /// Takes packets ahead that [`World::take_back`] put back.
    pub(super) fn take_ahead_again(&mut self) {
        let pairs: Vec<(u32, u32)> = self.tandems.pairs().collect();
        let mut leaders: Vec<u32> = pairs.iter().map(|&(_, leader)| leader).collect();
        leaders.sort_unstable();
        leaders.dedup();
        for (follower, _) in pairs {
            self.tandems.expected[follower as usize] = 0;
            if let AnyElement::Link(link) = &mut self.elements[follower as usize] {
                link.catch_up();
            }
        }
        for leader in leaders {
            let AnyElement::Link(link) = &mut self.elements[leader as usize] else { continue };
            for (at, packet) in link.take_all() {
                let hop = self.tables.at(packet.route).hops[usize::from(packet.hop)];
                if !self.tandems.leads(hop) {
                    if let AnyElement::Link(link) = &mut self.elements[leader as usize] {
                        link.keep(at, packet);
                    }
                } else if let Some([link, follower]) = links(&mut self.elements, leader, hop.next) {
                    let expected = &mut self.tandems.expected[hop.next as usize];
                    self.events += u64::from(carry(link, follower, expected, (self.now, at), packet));
                    self.schedule.set(hop.next, follower.next_wake());
                }
            }
            if let AnyElement::Link(link) = &self.elements[leader as usize] {
                self.schedule.set(leader, link.next_wake());
            }
        }
    }
}
