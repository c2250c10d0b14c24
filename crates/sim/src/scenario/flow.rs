//! Flows in scenarios.

use super::mqtt::{Mqtt, MqttSpec, PUBLISHERS_START};
use super::place::{Pairs, Place, PlaceSpec};
use super::quantity::Quantity;
use super::supply::{Supplied, SupplySpec};
use super::topology::{Kind, Topology};
use super::{Frame, ScenarioError, error};
use crate::ack::AckSpec;
use crate::call::{Call, CallSpec};
use crate::contender::{Contender, Switch};
use crate::page::Page;
use crate::radio::RadioModel;
use crate::video::{Video, VideoSpec};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A flow with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The contender that carries it.
    pub contender: Arc<Contender>,
    /// Its own label in results, if it has one.
    pub label: Option<String>,
    /// Its hosts.
    pub place: Place,
    /// Its objects or messages.
    pub task: Task,
    /// The number of the path on which it connects.
    pub first_path: u32,
    /// When the client connects.
    pub start: Span,
    /// The largest random delay of the start.
    pub spread: Span,
    /// How long it lasts from its start; without it, until it or the run ends.
    pub duration: Option<Span>,
    /// When its ends acknowledge.
    pub ack: Option<AckSpec>,
    /// Moves of the client to another of its addresses.
    pub migrate: Vec<Migrate>,
    /// Rebindings of the client's packets by network address translators.
    pub rebind: Vec<Rebind>,
    /// The radio of the client's host, with MQTT that of each publisher.
    pub radio: Option<RadioKind>,
    /// The type-of-service byte of its packets, without the two ECN bits.
    pub tos: Option<u8>,
}

/// The objects or messages of a flow.
#[derive(Clone, Debug)]
pub enum Task {
    /// An object.
    Object {
        /// The protocol.
        app: App,
        /// Which way it travels.
        way: Way,
        /// Its size, bytes; without it the flow is unlimited.
        size: Option<u64>,
        /// How fast its application has it; without it, at once.
        supply: Option<Box<Supplied>>,
    },
    /// A page.
    Page {
        /// The protocol.
        app: App,
        /// Which way it travels.
        way: Way,
        /// The page.
        page: Page,
    },
    /// Messages of publishers to a subscriber.
    Messages(Box<Mqtt>),
    /// A film, fetched chunk by chunk.
    Video {
        /// The protocol.
        app: App,
        /// Which way it travels.
        way: Way,
        /// The film and its player.
        video: Box<Video>,
    },
    /// The video of a call.
    Call {
        /// Which way it travels.
        way: Way,
        /// The call.
        call: Call,
    },
}

/// A transfer from a server to a client.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Flow")]
pub(super) struct FlowSpec {
    /// `transport[@implementation]/congestion[+switch|-switch|+switch=value…]`.
    #[schemars(with = "String")]
    contender: Contender,
    /// Its label in results, by which metrics and figures ask for it (default the contender, with the direction where
    /// flows of the run go both ways).
    label: Option<String>,
    /// Dumbbell: the number of its pair of hosts (default 0).
    pair: Option<u32>,
    /// Dumbbell: instead of `pair`, one such flow for each of these pairs.
    pairs: Option<Pairs>,
    /// Graph: the server's node.
    server: Option<String>,
    /// Graph: the client's node.
    client: Option<String>,
    /// Multipath: the number of the path on which it connects (default 0). A transport with a single path uses this one
    /// alone.
    first_path: Option<u32>,
    /// Which way the object travels (default down). `up` exchanges the two hosts: the object is on the client's host, and
    /// the process that asks for it on the server's.
    #[serde(default)]
    direction: Way,
    /// So many such flows at once (default 1).
    copies: Option<u32>,
    /// The protocol on the connection (default https).
    #[serde(default)]
    app: App,
    /// Size of the object. Without it the flow is unlimited.
    size: Option<Quantity<Bytes>>,
    /// How fast the sending application has the object's bytes, such as "2Mbit/s" (default: it has all of them at once). A flow
    /// whose supply is slower than its network is application-limited.
    supply: Option<SupplySpec>,
    /// A page instead of one object. A study may also give the name of a HAR file, which browsers export.
    page: Option<Page>,
    /// Messages of publishers to a subscriber, through a broker, instead of an object. The topology is a graph; `client` is
    /// the publishers' node and `server` the broker's.
    mqtt: Option<MqttSpec>,
    /// The video of a call, instead of an object, with an `rtp` contender (default: a call with all defaults). It lasts until the run
    /// ends.
    call: Option<CallSpec>,
    /// A film on demand instead of an object: a player fetches it chunk by chunk and chooses the bit rate of each.
    video: Option<VideoSpec>,
    /// When the client connects (default 0s; publishers 5s, so that the subscriber is there before them).
    start: Option<Quantity<Span>>,
    /// When its ends acknowledge.
    ack: Option<AckSpec>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    start_spread: Option<Quantity<Span>>,
    /// How long an unlimited flow or a call lasts from its start (default until the run ends): then both ends fall silent.
    /// Packets underway to them are lost.
    duration: Option<Quantity<Span>>,
    /// The client leaves its address for that of another path, at these times: from one network to another.
    migrate: Option<Vec<Migrate>>,
    /// A network address translator (NAT) in front of the client gives its packets another port or address, at these times.
    rebind: Option<Vec<Rebind>>,
    /// The radio of the client's host, with MQTT that of each publisher: the results say how long it was on, and roughly what
    /// energy it took. The run does not depend on it.
    radio: Option<RadioKind>,
    /// The type-of-service byte of its packets, both ways, without the two ECN bits (default 0). Queues with bands, such
    /// as `pfifo_fast`, choose the band by it: 16 is "minimise delay", 8 "maximise throughput" (RFC 1349).
    tos: Option<u8>,
}

/// The kinds of radios.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RadioKind {
    /// LTE, with discontinuous reception.
    Lte,
    /// Wi-Fi in power save mode.
    Wifi,
}

impl RadioKind {
    /// Its states and what they draw.
    pub const fn model(self) -> RadioModel {
        match self {
            RadioKind::Lte => RadioModel::LTE,
            RadioKind::Wifi => RadioModel::WIFI,
        }
    }
}

/// The client of a flow moves to another of its addresses.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// When, from the start of the run.
    pub at: Quantity<Span>,
    /// The path from there, by its number in a multipath topology.
    pub path: u32,
}

/// A NAT rebinds the packets of a flow's client.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebind {
    /// When, from the start of the run.
    pub at: Quantity<Span>,
    /// The part of the address that is new (default port).
    #[serde(default)]
    pub new: Renewed,
    /// The path whose packets are rebound, by its number in a multipath topology (default: the one that the client opened on, or
    /// moved to).
    pub path: Option<u32>,
}

/// The part of an address that a rebinding changes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Renewed {
    /// The port.
    #[default]
    Port,
    /// The IP address and the port.
    Address,
}

/// The most changes of the addresses of a flow, so that the paths of its connections can be numbered.
const MAX_MOVES: usize = 100;

/// Which way an object travels.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the server's host to the client's.
    #[default]
    Down,
    /// From the client's host to the server's.
    Up,
}

impl Way {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Way::Down => "down",
            Way::Up => "up",
        }
    }
}

/// The protocol on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// TLS 1.3 and HTTP/2 over TCP, HTTP/3 over QUIC; all objects on one connection.
    #[default]
    Https,
    /// TLS 1.3 and HTTP/1.1 over TCP. A page uses up to six connections.
    Http1,
    /// A one-byte request and the object as plain bytes, with neither TLS nor HTTP.
    Raw,
    /// A copy by scp over TCP: the handshake of SSH, then the object in a channel with OpenSSH's window of 2 MiB.
    Ssh,
}

impl Flow {
    /// Its messages, if it has some.
    pub fn mqtt(&self) -> Option<&Mqtt> {
        if let Task::Messages(mqtt) = &self.task { Some(mqtt) } else { None }
    }

    /// Its call, if it is one.
    pub fn call(&self) -> Option<&Call> {
        if let Task::Call { call, .. } = &self.task { Some(call) } else { None }
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.total().is_some() || matches!(self.task, Task::Video { .. })
    }

    /// Which way its data travels. Messages travel up, to their broker.
    pub fn way(&self) -> Way {
        match self.task {
            Task::Object { way, .. } | Task::Page { way, .. } | Task::Video { way, .. } | Task::Call { way, .. } => way,
            Task::Messages(_) => Way::Up,
        }
    }

    /// The protocol on its connection; with messages it is MQTT, and this the default.
    pub fn app(&self) -> App {
        match self.task {
            Task::Object { app, .. } | Task::Page { app, .. } | Task::Video { app, .. } => app,
            Task::Messages(_) | Task::Call { .. } => App::Https,
        }
    }

    /// The number of bytes it transfers, if that is known before. That of a film depends on the bit rates of its chunks.
    pub fn total(&self) -> Option<u64> {
        match &self.task {
            Task::Object { size, .. } => *size,
            Task::Page { page, .. } => Some(page.total()),
            Task::Messages(mqtt) => mqtt.total(),
            Task::Call { .. } | Task::Video { .. } => None,
        }
    }
}

/// The switches of TLS.
pub(super) const OF_TLS: [Switch; 4] = [Switch::Tls12, Switch::FalseStart, Switch::Resumed, Switch::EarlyData];

impl FlowSpec {
    /// The flow that is meant, and how many such flows: one on each of these pairs, so many times.
    pub fn flow(mut self, path: &str, frame: &Frame<'_>) -> Result<Repeated, ScenarioError> {
        let at = |field: &str| format!("{path}.{field}");
        self.check_app(path)?;
        let paired = self.pairs.as_ref().map(|pairs| pairs.numbers(&at("pairs"), frame.topology)).transpose()?;
        if self.pair.is_some() && paired.is_some() {
            return Err(error(at("pairs"), "the flow has a pair already: leave one of pair and pairs out"));
        }
        if self.mqtt.is_some() && frame.topology.kind() != Kind::Graph {
            let message = "MQTT needs the nodes of a graph: give topology.kind = \"graph\" and links between publisher, \
                           broker and subscriber";
            return Err(error(at("mqtt"), message));
        }
        let place = PlaceSpec { pair: self.pair, server: self.server.take(), client: self.client.take() };
        let place = place.place(path, "flow", frame.topology)?;
        let mut task = self.task(path, &place.server, frame)?;
        if let Some(ack) = &self.ack {
            ack.check(&at("ack"), &self.contender)?;
        }
        if let Some(tos) = self.tos.filter(|tos| tos & 3 != 0) {
            let message = format!("{tos}: the two lowest bits are ECN's: give a multiple of 4, from 0 to 252");
            return Err(error(at("tos"), message));
        }
        let (migrate, rebind) = (self.migrate.unwrap_or_default(), self.rebind.unwrap_or_default());
        for (field, count) in [("migrate", migrate.len()), ("rebind", rebind.len())] {
            if count > MAX_MOVES {
                return Err(error(at(field), format!("{count} entries: give at most {MAX_MOVES}")));
            }
        }
        let copies = self.copies.unwrap_or(1);
        if copies == 0 {
            return Err(error(at("copies"), "0: give at least 1, or leave the flow out"));
        }
        let usual = if let Task::Messages(_) = task { PUBLISHERS_START } else { Span::ZERO };
        let flow = Flow {
            contender: self.contender.into(),
            label: self.label,
            place,
            first_path: self.first_path.unwrap_or(0),
            start: self.start.map_or(usual, |q| q.0),
            spread: self.start_spread.map_or(Span::ZERO, |q| q.0),
            duration: self.duration.map(|q| lasting(q.0, &mut task, &at("duration"))).transpose()?,
            task,
            ack: self.ack,
            migrate,
            rebind,
            radio: self.radio,
            tos: self.tos,
        };
        Ok(Repeated { flow, pairs: paired, copies })
    }

    /// Checks whether the contender can carry the application.
    fn check_app(&self, path: &str) -> Result<(), ScenarioError> {
        let (quic, at) = (self.contender.transport.is_quic(), |field: &str| format!("{path}.{field}"));
        let of_tls = self.contender.switches.iter().find(|switch| OF_TLS.contains(switch));
        match (self.app, of_tls) {
            (App::Raw | App::Ssh, Some(switch)) if !quic => {
                let (name, app) = (switch.describe().name, if self.app == App::Raw { "raw" } else { "ssh" });
                let message =
                    format!("{name} is a switch of TLS, which app = \"{app}\" has not: leave one of them out");
                Err(error(at("contender"), message))
            }
            (App::Http1 | App::Ssh, _) if quic => {
                let what = if self.app == App::Ssh { "SSH goes" } else { "HTTP/1.1 goes" };
                Err(error(at("app"), format!("{what} over TCP: give a tcp contender, or app = \"https\"")))
            }
            _ => Ok(()),
        }
    }

    /// The call of the flow.
    fn call(&mut self, path: &str, frame: &Frame<'_>) -> Result<Task, ScenarioError> {
        let at = |field: &str| format!("{path}.{field}");
        let other = [
            ("mqtt", self.mqtt.is_some()),
            ("page", self.page.is_some()),
            ("video", self.video.is_some()),
            ("size", self.size.is_some()),
            ("supply", self.supply.is_some()),
            ("app", self.app != App::Https),
        ];
        if let Some((field, _)) = other.into_iter().find(|(_, given)| *given) {
            let message = format!(
                "{} carries calls alone, which have no {field}: leave {field} out, or give a tcp or quic contender",
                self.contender.transport.describe().0
            );
            return Err(error(at(field), message));
        }
        if frame.duration.is_none() {
            return Err(error(path, "a call needs an end: give the scenario a duration"));
        }
        let call = self.call.take().unwrap_or_default().call(&at("call"))?;
        Ok(Task::Call { way: self.direction, call })
    }

    /// The film of the flow.
    fn film(&self, video: VideoSpec, path: &str) -> Result<Task, ScenarioError> {
        let at = |field: &str| format!("{path}.{field}");
        let other = [
            ("mqtt", self.mqtt.is_some()),
            ("page", self.page.is_some()),
            ("size", self.size.is_some()),
            ("supply", self.supply.is_some()),
        ];
        if let Some((field, _)) = other.into_iter().find(|(_, given)| *given) {
            return Err(error(at(field), format!("a film has no {field}: leave {field} or video out")));
        }
        if matches!(self.app, App::Raw | App::Ssh) {
            let message = "a film is fetched over HTTP: give app = \"https\" or \"http1\", or leave video out";
            return Err(error(at("app"), message));
        }
        let video = Box::new(video.video(&at("video"))?);
        Ok(Task::Video { app: self.app, way: self.direction, video })
    }

    /// The objects or messages of the flow.
    fn task(&mut self, path: &str, server: &str, frame: &Frame<'_>) -> Result<Task, ScenarioError> {
        let (app, way, size) = (self.app, self.direction, self.size.map(|q| q.0.0));
        let at = |field: &str| format!("{path}.{field}");
        if self.contender.transport.is_media() {
            return self.call(path, frame);
        }
        if self.call.is_some() {
            return Err(error(at("call"), "a call goes over RTP: give a contender such as rtp/gcc, or leave call out"));
        }
        if let Some(video) = self.video.take() {
            return self.film(video, path);
        }
        if let Some(mqtt) = self.mqtt.take() {
            let other = [
                ("page", self.page.is_some()),
                ("size", size.is_some()),
                ("supply", self.supply.is_some()),
                ("app", app != App::Https),
                ("direction", way == Way::Up),
            ];
            if let Some((field, _)) = other.into_iter().find(|(_, given)| *given) {
                return Err(error(at(field), format!("messages have no {field}: leave {field} or mqtt out")));
            }
            return Ok(Task::Messages(Box::new(mqtt.mqtt(path, &self.contender, server, frame)?)));
        }
        if let Some(page) = self.page.take() {
            if size.is_some() {
                let message = "a page has the sizes of its objects: leave size or page out";
                return Err(error(at("size"), message));
            }
            if matches!(app, App::Raw | App::Ssh) {
                let message = "a page is loaded over HTTP: give app = \"https\" or \"http1\", or leave page out";
                return Err(error(at("app"), message));
            }
            if self.supply.is_some() {
                let message = "a page's objects are there at once: leave supply or page out";
                return Err(error(at("supply"), message));
            }
            page.check(&at("page"))?;
            return Ok(Task::Page { app, way, page });
        }
        let supply = self.supply.as_ref().map(|supply| supply.supplied(&at("supply")).map(Box::new)).transpose()?;
        if supply.is_some() && app == App::Ssh {
            return Err(error(at("supply"), "scp reads files: give another app, or leave supply out"));
        }
        match size {
            Some(0) => Err(error(at("size"), "0B: give at least 1B")),
            None if frame.duration.is_none() => {
                Err(error(path, "an unlimited flow needs an end: give it a size, or the scenario a duration"))
            }
            _ => Ok(Task::Object { app, way, size, supply }),
        }
    }
}

/// How long a flow lasts that does not end by itself. A call is told.
fn lasting(duration: Span, task: &mut Task, path: &str) -> Result<Span, ScenarioError> {
    match task {
        _ if duration.is_zero() => return Err(error(path, "0s: give a positive time, or leave the flow out")),
        Task::Object { size: None, .. } => {}
        Task::Call { call, .. } => call.length = Some(duration),
        _ => {
            return Err(error(
                path,
                "only an unlimited flow or a call is ended by a time: leave duration out, or the size",
            ));
        }
    }
    Ok(duration)
}

/// A flow of a file, which may stand for several.
pub(super) struct Repeated {
    pub flow: Flow,
    /// One flow on each of these pairs; without them on the hosts of the flow.
    pub pairs: Option<Vec<u32>>,
    /// So many times.
    pub copies: u32,
}

impl Repeated {
    /// How many flows it stands for.
    pub fn count(&self) -> usize {
        self.pairs.as_ref().map_or(1, Vec::len).saturating_mul(self.copies as usize)
    }

    /// These flows.
    pub fn flows(&self, topology: &Topology) -> Vec<Flow> {
        let places = match &self.pairs {
            None => vec![self.flow.place.clone()],
            Some(pairs) => pairs.iter().filter_map(|pair| topology.pair(*pair)).collect(),
        };
        let each = places.into_iter().map(|place| Flow { place, ..self.flow.clone() });
        each.flat_map(|flow| std::iter::repeat_n(flow, self.copies as usize)).collect()
    }
}
