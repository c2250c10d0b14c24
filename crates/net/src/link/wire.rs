//! The stages after the queue: serialisation, impairments, propagation.

use super::impairments::Impairments;
use super::pipe::Pipe;
use super::{LinkConfig, LinkCounters};
use crate::packet::Packet;
use crate::rng::Streams;
use crate::serialiser::Serialiser;
use crate::time::{Span, Time};

/// The path from the queue to the far end.
#[repr(C)]
pub(crate) struct Wire<B> {
    pub(crate) pipe: Pipe<B>,
    pub(crate) serialiser: Serialiser,
    pub(crate) delay: Span,
    impairments: Option<Box<Impairments>>,
    /// Whether a packet may arrive before one that was sent earlier.
    pub(crate) overtaking: bool,
}

impl<B: Clone> Wire<B> {
    pub(crate) fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Wire<B> {
        let impairments = Impairments::new(config, name, streams);
        Wire {
            delay: config.delay,
            serialiser: Serialiser::new(config),
            overtaking: impairments.as_ref().is_some_and(|i| i.overtaking),
            impairments,
            pipe: Pipe::from_iter([]),
        }
    }

    /// Whether the rate is constant and nothing impairs packets.
    pub(crate) fn is_plain(&self) -> bool {
        self.impairments.is_none() && self.serialiser.is_constant()
    }

    /// Serialises a packet from `start` on and puts it into the pipe, unless it is lost.
    #[inline(always)]
    pub(crate) fn serve(&mut self, start: Time, packet: Packet<B>, counters: &mut LinkCounters) {
        counters.served += 1;
        let out = self.serialiser.send(start, packet.len);
        if self.impairments.is_some() {
            return self.impair(start, out, packet, counters);
        }
        self.pipe.push(out + self.delay, packet);
    }

    /// Applies loss, duplication and delay to a packet that is sent from `start` to `out`.
    fn impair(&mut self, start: Time, out: Time, packet: Packet<B>, counters: &mut LinkCounters) {
        let Some(i) = &mut self.impairments else { return };
        if let Some(reason) = i.strike(start, out) {
            return counters.count_drop(reason);
        }
        let arrival = i.arrival(start, out, self.delay);
        let copies = i.copies();
        counters.duplicated += copies - 1;
        let mut packet = Some(packet);
        for more in (0..copies).rev() {
            let arrival = arrival + i.jitter.extra();
            let copy = if more > 0 { packet.clone() } else { packet.take() };
            let Some(packet) = copy else { return };
            if arrival >= i.last_arrival {
                i.last_arrival = arrival;
                self.pipe.push(arrival, packet);
            } else if i.overtaking {
                self.pipe.insert(arrival, packet);
            } else {
                self.pipe.push(i.last_arrival, packet);
            }
        }
    }
}
