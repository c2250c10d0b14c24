//! Loads: a process that sends, and one that receives.

use super::Site;
use super::roster::{Owner, Part, Roster, Slot};
use super::transports::Datagrams;
use crate::application::{OnOff, Pattern, Sink, Source, Trains};
use crate::network::Between;
use crate::scenario::{Load, LoadKind, Periods, Quantity};
use crate::world::Spawn;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};

/// The periods of an on-off load, whose lengths are drawn from `stream`.
fn on_off(load: &Load, stream: &Stream) -> OnOff {
    // A scenario in which one of the fields that a kind needs is missing was refused.
    let mean = |given: Option<Quantity<Span>>| given.map_or(Span::from_secs(1), |q| q.0);
    OnOff {
        rate: load.rate.map_or(Rate::from_bps(1), |q| q.0),
        on: mean(load.on),
        off: mean(load.off),
        drawn: (load.periods != Some(Periods::Constant)).then(|| stream.clone()),
    }
}

/// The lengths of the periods of an on-off load in turn, with packets and without, until they fill `total` or there are
/// `most`. Other loads have none.
pub(crate) fn periods(load: &Load, stream: &Stream, total: Span, most: usize) -> Vec<Span> {
    if load.kind != LoadKind::OnOff {
        return Vec::new();
    }
    let (mut lengths, mut filled) = (Vec::new(), Span::ZERO);
    for length in on_off(load, stream).lengths().take(most) {
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
    let stream = &site.streams.named(&format!("load {number}/periods"));
    let rate = load.rate.map(|q| q.0);
    let pattern = match load.kind {
        LoadKind::Trains => Pattern::Trains(Trains {
            packets: load.packets.unwrap_or(1),
            rate,
            gap: load.gap(),
            timeout: load.timeout(),
        }),
        LoadKind::Constant => Pattern::Constant(rate.unwrap_or(Rate::from_bps(1))),
        LoadKind::OnOff => Pattern::OnOff(on_off(load, stream)),
        LoadKind::Replay => Pattern::Replay { capture: load.capture.clone().unwrap_or_default(), gap: load.gap() },
    };
    let until = load.duration.map_or(Time::NEVER, |duration| between.start + duration.0);
    let source = Box::new(Source::new(pattern, load.payload(), slot.at(between.address), load.count, until));
    let client = Spawn::client(between.from, source, Box::new(Datagrams), between.start);
    let sink = Box::new(Sink::new(load.answer()));
    let server = Spawn::server(between.to, sink, Box::new(Datagrams), vec![slot.port()]);
    let spawns = [Spawn { connection: Some(slot.connection()), ..client }, server];
    Part { number, spec: load.clone(), ends: roster.pair(Owner::Load, number, spawns) }
}
