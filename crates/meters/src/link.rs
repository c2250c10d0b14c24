//! Measures one direction of a link from the packets at the taps around it.

use haltere_net::{Rate, Span, Time};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::Ipv4Addr;

/// A packet whose service starts this short a time after it was offered did not wait: the clocks and the rounded
/// serialisation times do not agree to the nanosecond.
const ROUNDING: Span = Span::from_micros(1);

/// A packet passed a tap: what matching needs of it, 24 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The time.
    pub at: Time,
    /// The packet's fingerprint.
    pub identity: u64,
    /// Its length with IP header, bytes.
    pub length: u32,
    /// Its destination.
    pub destination: Ipv4Addr,
}

/// Counts of a link, by the definitions of `haltere_sim::LinkResult`. Quantities that taps cannot tell have no field:
/// marks have none; drops by a discipline and by outages count as drops of the queue or as losses.
#[derive(Clone, Default, PartialEq, Debug, Serialize)]
pub struct LinkCounts {
    /// Packets offered to it.
    pub offered_packets: u64,
    /// Packets that arrived at its end.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Offered, but never sent.
    pub dropped_queue: u64,
    /// Sent, but never arrived.
    pub dropped_loss: u64,
    /// Dropped for their size; always none, as a tap cannot see that.
    pub dropped_mtu: u64,
    /// Arrived once more than they were sent.
    pub duplicated_packets: u64,
    /// The longest queue, packets, without the one being sent.
    pub max_queue_packets: u64,
    /// The longest queue, bytes, without the packet being sent.
    pub max_queue_bytes: u64,
    /// Mean time in the queue of the packets that were sent, s.
    pub mean_queueing_delay_s: f64,
    /// The longest time that one of them was in the queue, s.
    pub max_queueing_delay_s: f64,
    /// Still on their way when the taps were closed.
    pub inside_packets: u64,
    /// Came out, but were never seen to go in.
    pub unmatched_packets: u64,
}

/// The matching of earlier events with later ones.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Matched {
    /// For each earlier event the index of the later one.
    pub became: Vec<Option<usize>>,
    /// Later events that were one earlier event's second copy.
    pub copies: u64,
    /// Later events without an earlier one.
    pub strangers: u64,
}

impl Matched {
    /// Matches events by identity, those of the same identity in their order.
    pub fn new(earlier: &[Event], later: &[Event]) -> Matched {
        // The first free event of each identity, and for each event the next of the same identity.
        let mut next: Vec<Option<usize>> = vec![None; earlier.len()];
        let mut first: HashMap<u64, Option<usize>> = HashMap::with_capacity(earlier.len());
        for (i, event) in earlier.iter().enumerate().rev() {
            next[i] = first.insert(event.identity, Some(i)).flatten();
        }
        let mut matched = Matched { became: vec![None; earlier.len()], copies: 0, strangers: 0 };
        for (j, event) in later.iter().enumerate() {
            match first.get_mut(&event.identity) {
                Some(free) => match *free {
                    Some(i) => {
                        matched.became[i] = Some(j);
                        *free = next[i];
                    }
                    None => matched.copies += 1,
                },
                None => matched.strangers += 1,
            }
        }
        matched
    }

    /// Earlier events before `count` that never came out, and those that still may: no packet that went in after them
    /// has come out.
    fn missing(&self, count: usize) -> (u64, u64) {
        let last = self.became.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let gone = |range: &[Option<usize>]| range.iter().filter(|b| b.is_none()).count() as u64;
        let (before, after) = self.became[..count].split_at(last.min(count));
        (gone(before), gone(after))
    }
}

/// The properties of a link that are known before the measurement.
#[derive(Clone, Copy, Default, Debug)]
pub struct Known {
    /// Its rate; without it nothing can be said about its queue.
    pub rate: Option<Rate>,
    /// How long after the end of serialisation a packet is seen to depart: the propagation delay if it is seen at the
    /// far end or behind a queueing discipline that also delays.
    pub delay: Span,
}

/// Compares the packets offered to a link with those that departed from its queue (`None` if departures were not seen
/// separately) and those that arrived at its end. Each list must be in the order of time. Packets offered after `until`
/// are not counted.
pub fn measure(
    known: Known,
    offered: &[Event],
    departed: Option<&[Event]>,
    arrived: &[Event],
    until: Time,
) -> LinkCounts {
    let count = offered.partition_point(|e| e.at <= until);
    let departures = departed.unwrap_or(arrived);
    let out = Matched::new(offered, departures);
    let (dropped_queue, mut inside) = out.missing(count);
    let mut dropped_loss = 0;
    let (mut copies, mut strangers) = (out.copies, out.strangers);
    if let Some(departed) = departed {
        let travelled = Matched::new(departed, arrived);
        let (lost, flying) = travelled.missing(departed.partition_point(|e| e.at <= until));
        (dropped_loss, inside) = (lost, inside + flying);
        (copies, strangers) = (travelled.copies, strangers + travelled.strangers);
    }
    let got = arrived.get(..arrived.partition_point(|e| e.at <= until)).unwrap_or_default();
    let mut counts = LinkCounts {
        offered_packets: count as u64,
        delivered_packets: got.len() as u64,
        delivered_bytes: got.iter().map(|e| u64::from(e.length)).sum(),
        dropped_queue,
        dropped_loss,
        duplicated_packets: copies,
        inside_packets: inside,
        unmatched_packets: strangers,
        ..LinkCounts::default()
    };
    if let Some(rate) = known.rate {
        let served = offered[..count].iter().zip(&out.became);
        let served = served.filter_map(|(offer, became)| Some((offer, departures.get((*became)?)?)));
        queue(rate, known.delay, served, &mut counts);
    }
    counts
}

/// The queue's length and the time spent in it, of packets with their departures in the order of offer. A discipline may
/// serve them in another order.
fn queue<'a>(rate: Rate, delay: Span, served: impl Iterator<Item = (&'a Event, &'a Event)>, counts: &mut LinkCounts) {
    let mut waiting: BinaryHeap<Reverse<(Time, u32)>> = BinaryHeap::new();
    let (mut bytes, mut number, mut waited, mut longest) = (0u64, 0u64, 0u128, Span::ZERO);
    for (offer, departure) in served {
        number += 1;
        while let Some(&Reverse((start, length))) = waiting.peek()
            && start <= offer.at
        {
            waiting.pop();
            bytes -= u64::from(length);
        }
        let start = departure.at.saturating_sub(delay).saturating_sub(rate.time_for(u64::from(offer.length)));
        let wait = start.since(offer.at);
        if wait <= ROUNDING {
            continue;
        }
        waited += u128::from(wait.as_nanos());
        longest = longest.max(wait);
        waiting.push(Reverse((start, offer.length)));
        bytes += u64::from(offer.length);
        counts.max_queue_packets = counts.max_queue_packets.max(waiting.len() as u64);
        counts.max_queue_bytes = counts.max_queue_bytes.max(bytes);
    }
    counts.mean_queueing_delay_s = waited as f64 * 1e-9 / number.max(1) as f64;
    counts.max_queueing_delay_s = longest.as_secs_f64();
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
