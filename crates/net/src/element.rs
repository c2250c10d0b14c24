//! Network elements: packets are offered to them and leave them later.
//!
//! A [`Link`] is one direction of a point-to-point link. A host's network interface and a shared medium are other
//! examples. All of them implement [`Element`], and the driver of a network (a simulator's world, an emulator's loop)
//! treats them alike. An element is a state machine: it receives the time, and says when it must be called next.
//!
//! # The law
//!
//! Between two offers, calling `poll` and `poll_credit` at more instants than needed, or late, changes neither which
//! packets and credits come out nor their times. This is what lets an element run on a clock whose wake-ups are late.
//! An element obeys the law if each of its decisions depends on the state at the decision's own time, and if `offer`
//! first takes every decision that was due by then.
//!
//! # Credit
//!
//! A link takes every packet and drops those that do not fit. A host's transmit path does not work like that: a socket
//! stops when it has enough below it, and goes on when a packet has left. So an element may *credit*: each packet that
//! was offered comes back once as a [`Credit`], when it has left what its sender waits for, or was dropped there. How a
//! transmit path of two stages is written as one element (queue discipline → driver ring → wire) shows
//! [`Interface`](crate::interface::Interface):
//!
//! - `offer` enqueues into a [`QueueDiscipline`](crate::queue::QueueDiscipline) with a listener
//!   ([`Fates::with_listener`](crate::queue::Fates::with_listener)), which credits at once what the discipline drops. Then packets move to
//!   the ring while it has room: its limit in bytes is what byte queue limits (BQL) adapt.
//! - When a packet is serialised its bytes leave the ring, the next ones move down, and its credit falls due at that
//!   time. `next_wake` covers it even if the packet itself arrives much later.
//! - `admission` tells the sender at once what became of the packet that it offered last.
//! - TCP small queues: the host adds up what each flow has offered and takes off what is credited to it
//!   ([`Credit::flow`]). A flow whose sum is above its limit is not asked for packets until a credit brings it below.
//! - A driver that must not offer more than fits, such as a discipline above a ring, asks `room` before it offers.
//!
//! Credits that are due are taken before the next packet is offered: what is credited and not taken is still held.

use crate::counters::{LinkCounters, Stages};
use crate::cx::Cx;
use crate::link::Link;
use crate::medium::MediumCounters;
use crate::occupancy::Held;
use crate::packet::{FlowKey, Packet};
use crate::time::Time;

/// Where a packet enters an element: the number of a station of a shared medium; 0 if there is only one entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Port(pub u32);

/// A packet has left, or was dropped: its sender may offer more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// Where it was offered.
    pub port: Port,
    /// The flow of the packet.
    pub flow: FlowKey,
    /// Its length, bytes.
    pub bytes: u32,
}

/// The fate of a packet that was just offered, as far as its sender is told: the return codes of Linux's
/// `dev_queue_xmit`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Admission {
    /// It was taken (`NET_XMIT_SUCCESS`).
    #[default]
    Taken,
    /// It was taken, and another packet of its flow was dropped for it (`NET_XMIT_CN`).
    Congested,
    /// It was dropped (`NET_XMIT_DROP`).
    Refused,
}

/// A network element. See the [module](self) for the law that joins its methods, and for credit.
pub trait Element<B>: Send {
    /// Puts a packet onto the element at `cx.now`.
    fn offer(&mut self, port: Port, packet: Packet<B>, cx: &mut Cx<'_>);

    /// The next packet that has arrived by `until`, with its time of arrival; in the order of time.
    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)>;

    /// When the element next has a packet or a credit to give or a decision to take, or [`Time::NEVER`].
    fn next_wake(&self) -> Time;

    /// Whether each packet that is offered comes back as a credit.
    fn credits(&self) -> bool {
        false
    }

    /// The next credit that was due by `until`, with its time; in the order of time.
    fn poll_credit(&mut self, _until: Time) -> Option<(Time, Credit)> {
        None
    }

    /// How many bytes may be offered at a port now without being dropped for lack of room; `u64::MAX` for an element
    /// that leaves this to its queue discipline. It grows only by credits.
    fn room(&self, _port: Port) -> u64 {
        u64::MAX
    }

    /// The fate of the packet that was offered last.
    fn admission(&self) -> Admission {
        Admission::Taken
    }

    /// The counters so far.
    fn counters(&self) -> LinkCounters;

    /// The counters of what was offered at a port. An element with one entry has one set.
    fn counters_at(&self, _port: Port) -> LinkCounters {
        self.counters()
    }

    /// The counters of a shared medium, if the element is one.
    fn medium(&self) -> Option<MediumCounters> {
        None
    }

    /// The peak contents of each stage, if the element has a queue discipline and a ring.
    fn stages(&self) -> Option<Stages> {
        None
    }

    /// The contents over time from the beginning until `until`, which is not before the last call; `None` if the
    /// element does not count them.
    fn held(&mut self, _until: Time, _cx: &mut Cx<'_>) -> Option<Held> {
        None
    }

    /// The contents over time of the packets that were offered at a port.
    fn held_at(&mut self, _port: Port, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.held(until, cx)
    }

    /// Packets inside: waiting, being sent, propagating.
    fn inside(&self) -> u64;

    /// Whether every packet that was made or lost was counted with a cause.
    fn conserves(&self) -> bool {
        let c = self.counters();
        c.offered + c.duplicated == c.delivered + c.dropped() + self.inside()
    }
}

impl<B: Clone + Send + 'static> Element<B> for Link<B> {
    #[inline]
    fn offer(&mut self, _: Port, packet: Packet<B>, cx: &mut Cx<'_>) {
        Link::offer(self, packet, cx);
    }
    #[inline]
    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        Link::poll(self, until, cx)
    }
    #[inline]
    fn next_wake(&self) -> Time {
        Link::next_wake(self)
    }
    fn counters(&self) -> LinkCounters {
        Link::counters(self)
    }
    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        Some(Link::held(self, until, cx))
    }
    fn inside(&self) -> u64 {
        Link::inside(self)
    }
}

/// Any element. Links are called directly, so that the commonest element costs no call through a table of methods.
#[expect(clippy::large_enum_variant, reason = "nearly all are links, and a box would be one more step to each")]
pub enum AnyElement<B> {
    /// A link.
    Link(Link<B>),
    /// Any other element.
    Other(Box<dyn Element<B>>),
}

impl<B> From<Link<B>> for AnyElement<B> {
    fn from(link: Link<B>) -> AnyElement<B> {
        AnyElement::Link(link)
    }
}

impl<B: Clone + Send + 'static> AnyElement<B> {
    fn any(&self) -> &dyn Element<B> {
        match self {
            AnyElement::Link(link) => link,
            AnyElement::Other(element) => element.as_ref(),
        }
    }

    fn any_mut(&mut self) -> &mut dyn Element<B> {
        match self {
            AnyElement::Link(link) => link,
            AnyElement::Other(element) => element.as_mut(),
        }
    }
}

impl<B: Clone + Send + 'static> Element<B> for AnyElement<B> {
    #[inline(always)]
    fn offer(&mut self, port: Port, packet: Packet<B>, cx: &mut Cx<'_>) {
        match self {
            AnyElement::Link(link) => link.offer(packet, cx),
            AnyElement::Other(element) => element.offer(port, packet, cx),
        }
    }
    #[inline(always)]
    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        match self {
            AnyElement::Link(link) => link.poll(until, cx),
            AnyElement::Other(element) => element.poll(until, cx),
        }
    }
    #[inline]
    fn next_wake(&self) -> Time {
        match self {
            AnyElement::Link(link) => link.next_wake(),
            AnyElement::Other(element) => element.next_wake(),
        }
    }
    #[inline]
    fn credits(&self) -> bool {
        match self {
            AnyElement::Link(_) => false,
            AnyElement::Other(element) => element.credits(),
        }
    }
    #[inline]
    fn poll_credit(&mut self, until: Time) -> Option<(Time, Credit)> {
        match self {
            AnyElement::Link(_) => None,
            AnyElement::Other(element) => element.poll_credit(until),
        }
    }
    #[inline]
    fn room(&self, port: Port) -> u64 {
        match self {
            AnyElement::Link(_) => u64::MAX,
            AnyElement::Other(element) => element.room(port),
        }
    }
    fn admission(&self) -> Admission {
        self.any().admission()
    }
    fn counters(&self) -> LinkCounters {
        self.any().counters()
    }
    fn counters_at(&self, port: Port) -> LinkCounters {
        self.any().counters_at(port)
    }
    fn medium(&self) -> Option<MediumCounters> {
        self.any().medium()
    }
    fn stages(&self) -> Option<Stages> {
        self.any().stages()
    }
    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.any_mut().held(until, cx)
    }
    fn held_at(&mut self, port: Port, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.any_mut().held_at(port, until, cx)
    }
    fn inside(&self) -> u64 {
        self.any().inside()
    }
    fn conserves(&self) -> bool {
        self.any().conserves()
    }
}
