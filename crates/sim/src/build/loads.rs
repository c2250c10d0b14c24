//! The two processes of a load: one sends, the other receives.

use super::probes::Datagrams;
use crate::application::{OnOff, Pattern, Sink, Source, Trains};
use crate::network::Between;
use crate::scenario::{Load, LoadKind, Periods};
use crate::world::{Port, Remote, Spawn};
use haltere_net::rng::Stream;
use haltere_net::{ConnectionId, Rate, Span, Time};

/// Payload of the answer to a packet of a train, bytes.
const ANSWER: u32 = 64;

/// The processes of a load. The lengths of periods are drawn from `stream`.
pub(super) fn spawns(load: &Load, between: &Between, connection: u32, stream: &Stream) -> [Spawn; 2] {
    let span = |given: Option<crate::scenario::Quantity<Span>>, default| given.map_or(default, |q| q.0);
    let rate = load.rate.map(|q| q.0);
    // A scenario in which one of the fields that a kind needs is missing was refused.
    let certain = rate.unwrap_or(Rate::from_bps(1));
    let pattern = match load.kind {
        LoadKind::Trains => Pattern::Trains(Trains {
            packets: load.packets.unwrap_or(1),
            rate,
            gap: span(load.gap, Span::from_secs(1)),
            timeout: span(load.timeout, Span::from_secs(5)),
        }),
        LoadKind::Constant => Pattern::Constant(certain),
        LoadKind::OnOff => Pattern::OnOff(OnOff {
            rate: certain,
            on: span(load.on, Span::from_secs(1)),
            off: span(load.off, Span::from_secs(1)),
            drawn: (load.periods != Some(Periods::Constant)).then(|| stream.clone()),
        }),
        LoadKind::Replay => {
            Pattern::Replay { capture: load.capture.clone().unwrap_or_default(), gap: span(load.gap, Span::ZERO) }
        }
    };
    let answer = (load.kind == LoadKind::Trains).then(|| load.answer.map_or(ANSWER, |q| q.0.0 as u32));
    let until = load.duration.map_or(Time::NEVER, |duration| between.start + duration.0);
    let port = Port(connection);
    let to = Remote { address: between.address, port };
    [
        Spawn {
            node: between.from,
            application: Box::new(Source::new(pattern, load.payload(), to, load.count, until)),
            transports: Box::new(Datagrams),
            start: Some(between.start),
            port: None,
            connection: Some(ConnectionId(connection)),
            class: 0,
            paths: Vec::new(),
        },
        Spawn {
            node: between.to,
            application: Box::new(Sink::new(answer)),
            transports: Box::new(Datagrams),
            start: None,
            port: Some(port),
            connection: None,
            class: 0,
            paths: Vec::new(),
        },
    ]
}
