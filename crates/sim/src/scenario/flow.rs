//! Flows in scenarios.

use super::mqtt::Mqtt;
use super::place::{Pairs, Place};
use super::quantity::Quantity;
use super::{Scenario, ScenarioError, error};
use crate::ack::AckSpec;
use crate::contender::{Contender, Switch};
use crate::page::Page;
use crate::radio::RadioModel;
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transfer from a server to a client.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// `transport[@implementation]/congestion[+switch|-switch|+switch=value…]`.
    #[schemars(with = "String")]
    pub contender: Contender,
    /// Dumbbell: the number of its pair of hosts (default 0).
    #[serde(default)]
    pub pair: Option<u32>,
    /// Dumbbell: instead of `pair`, one such flow for each of these pairs.
    #[serde(default)]
    pub pairs: Option<Pairs>,
    /// Graph: the server's node.
    #[serde(default)]
    pub server: Option<String>,
    /// Graph: the client's node.
    #[serde(default)]
    pub client: Option<String>,
    /// Multipath: the number of the path on which it connects (default 0). A transport with a single path uses this one
    /// alone.
    #[serde(default)]
    pub first_path: Option<u32>,
    /// Which way the object travels (default down). `up` exchanges the two hosts: the object is on the client's host, and
    /// the process that asks for it on the server's.
    #[serde(default)]
    pub direction: Way,
    /// So many such flows at once (default 1).
    #[serde(default)]
    pub copies: Option<u32>,
    /// The protocol on the connection (default https).
    #[serde(default)]
    pub app: App,
    /// Size of the object. Without it the flow is unlimited.
    #[serde(default)]
    pub size: Option<Quantity<Bytes>>,
    /// A page instead of one object. A study may also give the name of a HAR file, which browsers export.
    #[serde(default)]
    pub page: Option<Page>,
    /// Messages of publishers to a subscriber, through a broker, instead of an object. The topology is a graph; `client` is
    /// the publishers' node and `server` the broker's.
    #[serde(default)]
    pub mqtt: Option<Mqtt>,
    /// When the client connects (default 0s; publishers 5s, so that the subscriber is there before them).
    #[serde(default)]
    pub start: Option<Quantity<Span>>,
    /// When its ends acknowledge.
    #[serde(default)]
    pub ack: Option<AckSpec>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    #[serde(default)]
    pub start_spread: Option<Quantity<Span>>,
    /// The client leaves its address for that of another path, at these times: from one network to another.
    #[serde(default)]
    pub migrate: Option<Vec<Migrate>>,
    /// A network address translator (NAT) in front of the client gives its packets another port or address, at these times.
    #[serde(default)]
    pub rebind: Option<Vec<Rebind>>,
    /// The radio of the client's host, with MQTT that of each publisher: the results say how long it was on, and roughly what
    /// energy it took. The run does not depend on it.
    #[serde(default)]
    pub radio: Option<RadioKind>,
    /// The type-of-service byte of its packets, both ways, without the two ECN bits (default 0). Queues with bands, such
    /// as `pfifo_fast`, choose the band by it: 16 is "minimise delay", 8 "maximise throughput" (RFC 1349).
    #[serde(default)]
    pub tos: Option<u8>,
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
    #[serde(default)]
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
    /// The number of bytes it transfers, if it is not unlimited.
    pub fn total(&self) -> Option<u64> {
        if let Some(mqtt) = &self.mqtt {
            return mqtt.total();
        }
        self.page.as_ref().map(Page::total).or(self.size.map(|s| s.0.0))
    }

    fn check_page(&self, page: &Page, path: &str) -> Result<(), ScenarioError> {
        if self.size.is_some() {
            return Err(error(format!("{path}.size"), "a page has the sizes of its objects: leave size or page out"));
        }
        if matches!(self.app, App::Raw | App::Ssh) {
            let message = "a page is loaded over HTTP: give app = \"https\" or \"http1\", or leave page out";
            return Err(error(format!("{path}.app"), message));
        }
        page.check(&format!("{path}.page"))
    }

    pub(super) fn check(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let contender = &self.contender;
        let of_tls = [Switch::Tls12, Switch::Resumed, Switch::EarlyData];
        let bare = [(App::Raw, "raw"), (App::Ssh, "ssh")].into_iter().find(|(app, _)| *app == self.app);
        if let Some((_, app)) = bare
            && !contender.transport.is_quic()
            && let Some(switch) = contender.switches.iter().find(|s| of_tls.contains(s))
        {
            let name = switch.describe().name;
            let message = format!("{name} is a switch of TLS, which app = \"{app}\" has not: leave one of them out");
            return Err(error(format!("{path}.contender"), message));
        }
        let of_tcp = [(App::Http1, "HTTP/1.1 goes"), (App::Ssh, "SSH goes")];
        if let Some((_, what)) = of_tcp.into_iter().find(|(app, _)| *app == self.app)
            && contender.transport.is_quic()
        {
            let message = format!("{what} over TCP: give a tcp contender, or app = \"https\"");
            return Err(error(format!("{path}.app"), message));
        }
        if let Some(page) = &self.page {
            self.check_page(page, path)?;
        }
        if let Some(mqtt) = &self.mqtt {
            mqtt.check(&format!("{path}.mqtt"), path, self, scenario)?;
        }
        if let Some(ack) = &self.ack {
            ack.check(&format!("{path}.ack"), contender)?;
        }
        let Flow { pair, pairs, server, client, .. } = self;
        let place = Place { pair: *pair, pairs: *pairs, server: server.as_deref(), client: client.as_deref() };
        place.check(path, "flow", &scenario.topology)?;
        if let Some(tos) = self.tos.filter(|tos| tos & 3 != 0) {
            let message = format!("{tos}: the two lowest bits are ECN's: give a multiple of 4, from 0 to 252");
            return Err(error(format!("{path}.tos"), message));
        }
        let moves = [("migrate", self.migrate.as_ref().map(Vec::len)), ("rebind", self.rebind.as_ref().map(Vec::len))];
        for (field, count) in moves {
            if let Some(count) = count.filter(|count| *count > MAX_MOVES) {
                let message = format!("{count} entries: give at most {MAX_MOVES}");
                return Err(error(format!("{path}.{field}"), message));
            }
        }
        if self.copies == Some(0) {
            return Err(error(format!("{path}.copies"), "0: give at least 1, or leave the flow out"));
        }
        match self.size {
            None if self.page.is_some() || self.mqtt.is_some() => Ok(()),
            None if scenario.duration.is_none() => {
                Err(error(path, "an unlimited flow needs an end: give it a size, or the scenario a duration"))
            }
            Some(Quantity(Bytes(0))) => Err(error(format!("{path}.size"), "0B: give at least 1B")),
            _ => Ok(()),
        }
    }
}
