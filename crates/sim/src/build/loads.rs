//! Loads: a process that sends, and one that receives.

use super::Site;
use super::roster::{Owner, Part, Roster, Slot};
use super::transports::Datagrams;
use crate::load::{Load, Sink, Source};
use crate::network::Between;
use crate::world::Spawn;
use haltere_net::rng::Stream;
use haltere_net::{Span, Time};

/// The lengths of the periods of a load in turn, with packets and without, until they fill `total` or there are `most`.
pub(crate) fn periods(load: &Load, stream: &Stream, total: Span, most: usize) -> Vec<Span> {
    let (mut lengths, mut filled) = (Vec::new(), Span::ZERO);
    for length in load.shape.periods(stream).take(most) {
        if filled >= total {
            break;
        }
        lengths.push(length);
        filled += length;
    }
    lengths
}

/// Spawns the processes of load `number`.
pub(super) fn spawn(site: &Site<'_>, number: usize, between: &Between, slot: Slot, roster: &mut Roster) -> Part<Load> {
    let load = &site.scenario.loads[number];
    let pattern = load.shape.pattern(&site.streams.named(&format!("load {number}/periods")));
    let (beside, payload, to) = (&load.beside, load.shape.payload(), slot.at(between.address));
    let until = beside.duration.map_or(Time::NEVER, |duration| between.start + duration);
    let source = Box::new(Source::new(pattern, payload, to, beside.count, until));
    let client = Spawn::client(between.from, source, Box::new(Datagrams), between.start);
    let sink = Box::new(Sink::new(load.shape.answer()));
    let server = Spawn::server(between.to, sink, Box::new(Datagrams), vec![slot.port()]);
    let spawns = [Spawn { connection: Some(slot.connection()), ..client }, server];
    Part { number, spec: load.clone(), ends: roster.pair(Owner::Load, number, spawns) }
}
