//! The law of two clocks for media: a cell that is called when it asks for it, and at no other time, does the same as one that is called at
//! any other instants too.

use haltere_net::counters::LinkCounters;
use haltere_net::element::{Element, Port};
use haltere_net::medium::MediumCounters;
use haltere_net::{ComponentId, Cx, Packet, Time};

/// A packet that is offered: when (ns), and at which port.
pub type Offered = (u64, Port, Packet<u32>);

/// The packets that came out of a cell and all of its counts.
#[derive(PartialEq, Debug)]
pub struct Seen {
    pub packets: Vec<(Time, u32)>,
    pub counters: LinkCounters,
    pub medium: MediumCounters,
    pub waited: (u128, u128),
}

/// Offers in the order of time; polls when the cell asks for it, and at no other time. Says also how often either was.
pub fn drive<E: Element<u32>>(mut cell: E, offers: &[Offered]) -> (Seen, usize) {
    let mut packets = Vec::new();
    let mut offers = offers.iter().peekable();
    for calls in 0..1_000_000 {
        let offer = offers.peek().map_or(Time::NEVER, |(at, ..)| Time::from_nanos(*at));
        let now = offer.min(cell.next_wake());
        assert!(cell.conserves());
        if now == Time::NEVER {
            return (seen(cell, packets), calls);
        }
        if let Some((_, port, packet)) = offers.next_if(|_| offer == now) {
            cell.offer(*port, packet.clone(), &mut Cx::new(now, ComponentId(0)));
        } else {
            take(&mut cell, now, &mut packets);
        }
    }
    panic!("the cell spins");
}

/// Offers in the order of time; polls at these instants, whatever the cell asks for, and long after the last.
pub fn drive_late<E: Element<u32>>(mut cell: E, offers: &[Offered], polls: &[u64]) -> Seen {
    let mut instants: Vec<(u64, Option<&Offered>)> = polls.iter().map(|&t| (t, None)).collect();
    instants.extend(offers.iter().map(|offer| (offer.0, Some(offer))));
    instants.sort_by_key(|&(t, _)| t);
    let mut packets = Vec::new();
    for (t, offer) in instants {
        let now = Time::from_nanos(t);
        match offer {
            Some((_, port, packet)) => cell.offer(*port, packet.clone(), &mut Cx::new(now, ComponentId(0))),
            None => take(&mut cell, now, &mut packets),
        }
        assert!(cell.conserves());
    }
    take(&mut cell, Time::from_nanos(1 << 49), &mut packets);
    seen(cell, packets)
}

fn take<E: Element<u32>>(cell: &mut E, now: Time, packets: &mut Vec<(Time, u32)>) {
    while let Some((at, packet)) = cell.poll(now, &mut Cx::new(now, ComponentId(0))) {
        assert!(at <= now);
        packets.push((at, packet.body));
    }
}

/// Everything that can be seen of a cell that has nothing left to do.
fn seen<E: Element<u32>>(mut cell: E, packets: Vec<(Time, u32)>) -> Seen {
    assert_eq!((cell.inside(), cell.next_wake()), (0, Time::NEVER));
    let end = Time::from_nanos(1 << 50);
    let held = cell.held(end, &mut Cx::new(end, ComponentId(0))).unwrap().queue;
    let (counters, medium) = (cell.counters(), cell.medium().unwrap());
    Seen { packets, counters, medium, waited: (held.packet_ns, held.byte_ns) }
}
