//! Loads: a process that sends, and one that receives.

use super::Site;
use super::roster::{Owner, Part, Roster, Slot};
use super::transports::Datagrams;
use crate::application::{Constant, OnOff, Pattern, Replay, Sink, Source, Trains};
use crate::network::Between;
use crate::scenario::{self, Load, Periods};
use crate::world::Spawn;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};

/// When the packets of a load leave. The lengths of periods are drawn from `stream`.
fn pattern(load: &Load, stream: &Stream) -> Box<dyn Pattern> {
    match &load.pattern {
        scenario::Pattern::Trains { packets, rate, gap, timeout, .. } => {
            Box::new(Trains { packets: *packets, rate: *rate, gap: *gap, timeout: *timeout })
        }
        scenario::Pattern::Constant { rate, .. } => Box::new(Constant(*rate)),
        scenario::Pattern::OnOff { rate, on, off, periods, .. } => {
            Box::new(on_off(*rate, [*on, *off], *periods, stream))
        }
        scenario::Pattern::Replay { capture, gap } => Box::new(Replay { capture: capture.clone(), gap: *gap }),
    }
}

fn on_off(rate: Rate, means: [Span; 2], periods: Periods, stream: &Stream) -> OnOff {
    OnOff::new(rate, means, (periods == Periods::Exponential).then(|| stream.clone()))
}

/// The lengths of the periods of an on-off load in turn, with packets and without, until they fill `total` or there are
/// `most`. Other loads have none.
pub(crate) fn periods(load: &Load, stream: &Stream, total: Span, most: usize) -> Vec<Span> {
    let scenario::Pattern::OnOff { rate, on, off, periods, .. } = load.pattern else { return Vec::new() };
    let (mut lengths, mut filled) = (Vec::new(), Span::ZERO);
    for length in on_off(rate, [on, off], periods, stream).lengths().take(most) {
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
    let pattern = pattern(load, &site.streams.named(&format!("load {number}/periods")));
    let (beside, payload, to) = (&load.beside, load.pattern.payload(), slot.at(between.address));
    let until = beside.duration.map_or(Time::NEVER, |duration| between.start + duration);
    let source = Box::new(Source::new(pattern, payload, to, beside.count, until));
    let client = Spawn::client(between.from, source, Box::new(Datagrams), between.start);
    let sink = Box::new(Sink::new(load.pattern.answer()));
    let server = Spawn::server(between.to, sink, Box::new(Datagrams), vec![slot.port()]);
    let spawns = [Spawn { connection: Some(slot.connection()), ..client }, server];
    Part { number, spec: load.clone(), ends: roster.pair(Owner::Load, number, spawns) }
}
