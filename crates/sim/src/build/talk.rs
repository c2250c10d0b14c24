//! The messages of the applications at the two ends of a flow.

use super::transports::Kit;
use crate::application::{Application, Channel, CopyClient, CopyServer, Dialogue};
use crate::call::{Call, Encoder, Viewer};
use crate::contender::{Contender, Switch};
use crate::http::{self, Framing, Script};
use crate::page::{Browser, Origin, Visit};
use crate::scenario::{App, Flow, Supplied, Task};
use crate::tls::{Flights, Version};
use crate::video::{Film, Player, RateAdaptation};
use crate::world::Remote;
use haltere_net::rng::Stream;
use std::sync::Arc;

/// The size of an unlimited flow, bytes: more than any run transfers.
const UNLIMITED: u64 = 1 << 50;

/// The messages on a flow's connections.
pub(super) enum Talk {
    One(Script, Option<Box<Supplied>>),
    Copy(Channel),
    Page(Box<Visit>),
    /// A film, with its page and the player's rate adaptation.
    Video(Arc<Film>, RateAdaptation, Box<Visit>),
    /// A call, with the dice of its encoder.
    Call(Call, Stream),
}

impl Talk {
    pub fn of(flow: &Flow, kit: &Kit) -> Talk {
        let contender = &*kit.contender;
        if let Task::Call { call, .. } = &flow.task {
            return Talk::Call(call.clone(), kit.streams.named(&format!("{}/encoder", kit.name)));
        }
        let framing = match (flow.app(), contender.transport.is_quic()) {
            (App::Http1, _) => Framing::Http1,
            (_, false) => Framing::Http2,
            (_, true) => Framing::Http3,
        };
        let flights = if contender.transport.is_quic() { Flights::none() } else { flights(contender) };
        if let Task::Page { page, .. } = &flow.task {
            return Talk::Page(Box::new(Visit::new(page, framing, flights)));
        }
        if let Task::Video { video, .. } = &flow.task {
            let film = Film::new(video, &mut kit.streams.named(&format!("{}/film", kit.name)));
            let visit = Visit::new(&film.page(), framing, flights);
            return Talk::Video(Arc::new(film), video.adaptation, Box::new(visit));
        }
        let size = flow.total().unwrap_or(UNLIMITED);
        if flow.app() == App::Ssh {
            return Talk::Copy(Channel::new(size));
        }
        let script = match (flow.app(), framing) {
            (App::Raw, _) => http::raw(size),
            (_, Framing::Http1) => http::http1(&flights, size),
            (_, Framing::Http2) => http::https2(&flights, size),
            (_, Framing::Http3) => http::https3(size),
        };
        let supply = if let Task::Object { supply, .. } = &flow.task { supply.clone() } else { None };
        Talk::One(script, supply)
    }

    /// The application that opens connections to `server`.
    pub fn client(&self, server: Remote) -> Box<dyn Application> {
        match self {
            Talk::One(script, _) => Box::new(Dialogue::client(script, server)),
            Talk::Copy(channel) => Box::new(CopyClient::new(channel, server)),
            Talk::Page(visit) => Box::new(Browser::new(visit.as_ref().clone(), server)),
            Talk::Video(film, adaptation, visit) => {
                Box::new(Player::new(film.clone(), *adaptation, visit.as_ref().clone(), server))
            }
            Talk::Call(call, _) => Box::new(Viewer::new(call, server)),
        }
    }

    /// The application that accepts them.
    pub fn server(&self) -> Box<dyn Application> {
        match self {
            Talk::One(script, None) => Box::new(Dialogue::server(script)),
            Talk::One(script, Some(supply)) => Box::new(Dialogue::supplied(script, supply)),
            Talk::Copy(channel) => Box::new(CopyServer::new(channel)),
            Talk::Page(visit) | Talk::Video(.., visit) => Box::new(Origin::new(visit.as_ref().clone())),
            Talk::Call(call, stream) => Box::new(Encoder::new(call.clone(), stream.clone())),
        }
    }
}

/// The flights of TLS over TCP.
pub(super) fn flights(contender: &Contender) -> Flights {
    let version = match () {
        () if contender.has(Switch::FalseStart) => Version::FalseStart,
        () if contender.has(Switch::Tls12) => Version::V12,
        () => Version::V13,
    };
    Flights::tls(version, contender.session())
}
