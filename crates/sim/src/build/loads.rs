//! The two processes of a load: one sends, the other receives.

use super::probes::Datagrams;
use crate::application::{OnOff, Pattern, Sink, Source, Trains};
use crate::network::Between;
use crate::scenario::{self, Load, Periods};
use crate::world::{Port, Remote, Spawn};
use haltere_net::rng::Stream;
use haltere_net::{ConnectionId, Span, Time};

/// When the packets of a load leave. The lengths of periods are drawn from `stream`.
fn pattern(load: &Load, stream: &Stream) -> Pattern {
    match &load.pattern {
        scenario::Pattern::Trains { packets, rate, gap, timeout, .. } => {
            Pattern::Trains(Trains { packets: *packets, rate: *rate, gap: *gap, timeout: *timeout })
        }
        scenario::Pattern::Constant { rate, .. } => Pattern::Constant(*rate),
        scenario::Pattern::OnOff { rate, on, off, periods, .. } => Pattern::OnOff(OnOff {
            rate: *rate,
            on: *on,
            off: *off,
            drawn: (*periods == Periods::Exponential).then(|| stream.clone()),
        }),
        scenario::Pattern::Replay { capture, gap } => Pattern::Replay { capture: capture.clone(), gap: *gap },
    }
}

/// The lengths of the periods of an on-off load in turn, with packets and without, until they fill `total` or there are
/// `most`. Other loads have none.
pub(crate) fn periods(load: &Load, stream: &Stream, total: Span, most: usize) -> Vec<Span> {
    let Pattern::OnOff(on_off) = pattern(load, stream) else { return Vec::new() };
    let (mut lengths, mut filled) = (Vec::new(), Span::ZERO);
    for length in on_off.lengths().take(most) {
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
    let (beside, payload) = (&load.beside, load.pattern.payload());
    let until = beside.duration.map_or(Time::NEVER, |duration| between.start + duration);
    let port = Port(connection);
    let to = Remote { address: between.address, port };
    [
        Spawn {
            node: between.from,
            application: Box::new(Source::new(pattern(load, stream), payload, to, beside.count, until)),
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
            application: Box::new(Sink::new(load.pattern.answer())),
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
