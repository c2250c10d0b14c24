//! The two processes of a load: one sends, the other receives.

use super::probes::Datagrams;
use crate::application::{OnOff, Pattern, Sink, Source, Trains};
use crate::network::Between;
use crate::scenario::{Load, LoadKind, Periods, Quantity};
use crate::world::{Port, Remote, Spawn};
use haltere_net::rng::Stream;
use haltere_net::{ConnectionId, Rate, Span, Time};

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

/// The processes of a load. The lengths of periods are drawn from `stream`.
pub(super) fn spawns(load: &Load, between: &Between, connection: u32, stream: &Stream) -> [Spawn; 2] {
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
    let port = Port(connection);
    let to = Remote { address: between.address, port };
    [
        Spawn {
            node: between.from,
            application: Box::new(Source::new(pattern, load.payload(), to, load.count, until)),
            transports: Box::new(Datagrams),
            start: Some(between.start),
            ports: Vec::new(),
            connection: Some(ConnectionId(connection)),
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: None,
            moves: Vec::new(),
        },
        Spawn {
            node: between.to,
            application: Box::new(Sink::new(load.answer())),
            transports: Box::new(Datagrams),
            start: None,
            ports: vec![port],
            connection: None,
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: None,
            moves: Vec::new(),
        },
    ]
}
