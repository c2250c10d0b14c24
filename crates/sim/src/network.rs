//! Builds the network of a scenario: nodes, links with all defaults filled in, and the route of each flow. The
//! simulator builds its world from it, and a rig its namespaces.

mod describe;
mod mqtt;

pub use describe::{Description, describe};
pub use mqtt::{MqttClients, mqtt_clients};

use crate::capture::Capture;
use crate::contender::Contender;
use crate::scenario::{
    self, CellSpec, Kind, LinkSpec, ProbeKind, Quantity, RateSpec, Renewed, Scenario, ScenarioError, Side,
};
use crate::world::{Change, Move};
use haltere_net::link::LinkConfig;
use haltere_net::loss::Loss;
use haltere_net::rng::{Stream, Streams};
use haltere_net::topology::{Edge, Medium, NodeId, Router, Topology};
use haltere_net::{Address, PathId, Rate, Span, Time};
use haltere_transport::datagram::HEADERS;
use haltere_transport::path::AddressChange;
use std::collections::BTreeSet;

/// The longest route, in links: the largest number that IP's TTL allows (RFC 791 section 3.1), and that packets can
/// count.
const MAX_HOPS: usize = 255;
/// The rate of wired links that a scenario says nothing of.
const WIRED: Rate = Rate::from_bps(1_000_000_000);

/// A scenario's network.
pub struct Network {
    /// Nodes and links.
    pub topology: Topology,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowPath>,
    /// The hosts of each probe, in the scenario's order.
    pub probes: Vec<Between>,
    /// The hosts of each load, in the scenario's order.
    pub loads: Vec<Between>,
    /// The brokers at the ends of each bridge, in the scenario's order: who connects, and the other.
    pub bridges: Vec<Between>,
}

/// Two hosts, of which one sends to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Between {
    /// The sender's node.
    pub from: NodeId,
    /// The receiver's node.
    pub to: NodeId,
    /// The receiver's address.
    pub address: Address,
    /// The smallest MTU on the path, bytes.
    pub mtu: u32,
    /// When the sender starts.
    pub start: Time,
}

/// A flow with its routes.
pub struct FlowPath {
    /// The flow of the scenario.
    pub contender: Contender,
    /// The server's node.
    pub server: NodeId,
    /// The client's node.
    pub client: NodeId,
    /// The paths between them: one for each pair of addresses that the two have for the flow, at least one. A transport
    /// with a single path uses the first.
    pub ways: Vec<Way>,
    /// The changes of the client's addresses, in the order of time.
    pub moves: Vec<Move>,
    /// When the client connects.
    pub start: Time,
    /// With MQTT: where its messages go.
    pub delivery: Option<DeliveryPath>,
}

/// The subscriber of a flow with MQTT, with its broker.
pub struct DeliveryPath {
    /// The broker's node.
    pub broker: NodeId,
    /// The subscriber's node.
    pub subscriber: NodeId,
    /// The paths between them: the subscriber is the client.
    pub ways: Vec<Way>,
}

/// A path between two addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The client's address.
    pub client: Address,
    /// The server's address.
    pub server: Address,
    /// Link directions from client to server, by their position in [`Topology::edges`].
    pub up: Vec<u32>,
    /// Link directions from server to client.
    pub down: Vec<u32>,
    /// The smallest MTU on the path, bytes.
    pub mtu: u32,
    /// Whether it is in reserve.
    pub backup: bool,
}

impl FlowPath {
    /// The first path.
    pub fn first(&self) -> &Way {
        &self.ways[0]
    }
}

/// The network of a scenario in the run with these random streams.
pub fn network(scenario: &Scenario, streams: &Streams) -> Result<Network, ScenarioError> {
    let topology = topology(scenario)?;
    let mut router = Router::new();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (i, flow) in scenario.flows.iter().enumerate() {
        let path = format!("flows[{i}]");
        let contender = flow.contender.clone();
        let mut names = ends(scenario, flow.pair, &flow.server, &flow.client);
        if flow.direction == scenario::Way::Up {
            names = (names.1, names.0);
        }
        let (server, client, mut ways) = ways(&topology, &mut router, &path, &names)?;
        // The paths of a multipath topology are those of its hosts, in this order.
        for (way, spec) in ways.iter_mut().zip(scenario.topology.paths.iter().flatten()) {
            way.backup = spec.backup == Some(true);
        }
        let moves = moves(flow, ways.len(), &path)?;
        if let Some(first) = flow.first_path {
            put_first(first, &mut ways, &path)?;
        }
        let delivery = match &flow.mqtt {
            None => None,
            Some(mqtt) => {
                let names = (mqtt.subscriber_broker(&names.0).to_string(), mqtt.subscriber.clone());
                let (broker, subscriber, ways) =
                    self::ways(&topology, &mut router, &format!("{path}.mqtt.subscriber"), &names)?;
                Some(DeliveryPath { broker, subscriber, ways })
            }
        };
        let begin = flow.start.or(flow.mqtt.as_ref().map(|_| Quantity(scenario::PUBLISHERS_START)));
        let start = start((begin, flow.start_spread), &streams.named(&format!("flow {i}/start")));
        flows.push(FlowPath { contender, server, client, ways, moves, start, delivery });
    }
    let mut probes = Vec::with_capacity(scenario.probes.len());
    for (i, probe) in scenario.probes.iter().enumerate() {
        let path = format!("probes[{i}]");
        let names = ends(scenario, probe.pair, &probe.server, &probe.client);
        let between = between(&ways(&topology, &mut router, &path, &names)?, probe.from());
        let start = start((probe.start, probe.start_spread), &streams.named(&format!("probe {i}/start")));
        if probe.kind != ProbeKind::Tcp {
            fits(probe.payload(), between.mtu, &format!("{path}.size"))?;
        }
        probes.push(Between { start, ..between });
    }
    let mut loads = Vec::with_capacity(scenario.loads.len());
    for (i, load) in scenario.loads.iter().enumerate() {
        let path = format!("loads[{i}]");
        let names = ends(scenario, load.pair, &load.server, &load.client);
        let between = between(&ways(&topology, &mut router, &path, &names)?, load.from());
        let start = start((load.start, load.start_spread), &streams.named(&format!("load {i}/start")));
        match &load.capture {
            Some(capture) => longest(capture, between.mtu, &path)?,
            None => fits(load.payload(), between.mtu, &format!("{path}.size"))?,
        }
        loads.push(Between { start, ..between });
    }
    let mut bridges = Vec::new();
    for (i, broker) in scenario.brokers.iter().enumerate() {
        for (k, bridge) in broker.bridges.iter().enumerate() {
            let names = (bridge.to.clone(), broker.node.clone());
            let found = ways(&topology, &mut router, &format!("brokers[{i}].bridges[{k}].to"), &names)?;
            bridges.push(between(&found, Side::Client));
        }
    }
    Ok(Network { topology, flows, probes, loads, bridges })
}

/// The nodes of two hosts, server and client, and the paths between them.
fn ways(
    topology: &Topology,
    router: &mut Router,
    path: &str,
    (server, client): &(String, String),
) -> Result<(NodeId, NodeId, Vec<Way>), ScenarioError> {
    let unreachable = || ScenarioError {
        path: path.to_string(),
        message: format!("no links lead from {server:?} to {client:?} and back"),
    };
    let find = |name: &str| topology.find(name).ok_or_else(unreachable);
    let (s, c): (NodeId, NodeId) = (find(server)?, find(client)?);
    let mut ways = Vec::new();
    // Each address of the one with an address of the other. The end with fewer has its addresses in several pairs.
    let (clients, servers) = (topology.addresses(c), topology.addresses(s));
    let pairs = clients.iter().cycle().zip(servers.iter().cycle()).take(clients.len().max(servers.len()));
    for (&client, &server) in pairs {
        let mut route = |from, to| router.route(topology, from, to).filter(|r| !r.is_empty());
        let (Some(up), Some(down)) = (route(client, server), route(server, client)) else { continue };
        let mtu = up.iter().chain(&down).map(|&l| topology.edges()[l as usize].config.mtu).min().unwrap_or(1500);
        ways.push(Way { client, server, up, down, mtu, backup: false });
    }
    let links = ways.iter().map(|way| way.up.len().max(way.down.len())).max().ok_or_else(unreachable)?;
    if links > MAX_HOPS {
        let message =
            format!("{links} links lie between {server:?} and {client:?}: give a route of at most {MAX_HOPS}");
        return Err(ScenarioError { path: path.to_string(), message });
    }
    Ok((s, c, ways))
}

/// The changes of the addresses of a flow's client, with paths by their place once the first one is put first.
fn moves(flow: &scenario::Flow, paths: usize, path: &str) -> Result<Vec<Move>, ScenarioError> {
    let first = flow.first_path.unwrap_or(0);
    let place = |number: u32, field: &str, k: usize| {
        if number as usize >= paths {
            let message = match paths {
                1 => format!(
                    "{number}: there is one path between its hosts, number 0: give a multipath topology or the client \
                     another link, or leave {field} out"
                ),
                n => format!("{number}: there are the paths 0 to {} between its hosts", n - 1),
            };
            return Err(ScenarioError { path: format!("{path}.{field}[{k}].path"), message });
        }
        let place = if number == first { 0 } else { number + u32::from(number < first) };
        Ok(PathId(u8::try_from(place).unwrap_or(u8::MAX)))
    };
    let mut moves = Vec::new();
    for (k, migrate) in flow.migrate.iter().flatten().enumerate() {
        moves.push(Move {
            at: Time::ZERO + migrate.at.0,
            change: Change::Migration(place(migrate.path, "migrate", k)?),
        });
    }
    for (k, rebind) in flow.rebind.iter().flatten().enumerate() {
        let of = rebind.path.map(|number| place(number, "rebind", k)).transpose()?;
        let change = match rebind.new {
            Renewed::Port => AddressChange::Port,
            Renewed::Address => AddressChange::Address,
        };
        moves.push(Move { at: Time::ZERO + rebind.at.0, change: Change::Rebinding(of, change) });
    }
    moves.sort_by_key(|next| next.at);
    Ok(moves)
}

/// Puts the path that a flow connects on before the others.
fn put_first(first: u32, ways: &mut [Way], path: &str) -> Result<(), ScenarioError> {
    let Some(others) = ways.get_mut(..=first as usize) else {
        let message = match ways.len() {
            1 => format!("{first}: there is one path between its hosts, number 0: leave first_path out"),
            n => format!("{first}: there are the paths 0 to {} between its hosts", n - 1),
        };
        return Err(ScenarioError { path: format!("{path}.first_path"), message });
    };
    others.rotate_right(1);
    Ok(())
}

/// The two hosts on their first path, of which the one at `side` sends. The start is not known yet.
fn between((server, client, ways): &(NodeId, NodeId, Vec<Way>), side: Side) -> Between {
    let way = &ways[0];
    let (from, to, address) = match side {
        Side::Client => (*client, *server, way.server),
        Side::Server => (*server, *client, way.client),
    };
    Between { from, to, address, mtu: way.mtu, start: Time::ZERO }
}

/// Whether all packets of a capture fit into the MTU.
fn longest(capture: &Capture, mtu: u32, path: &str) -> Result<(), ScenarioError> {
    let longest = capture.longest();
    if longest <= mtu {
        return Ok(());
    }
    let message = format!(
        "its longest packet has {longest} bytes, more than the path's MTU of {mtu}: give a capture that was taken without \
         segmentation offload, or the links a larger mtu"
    );
    Err(ScenarioError { path: format!("{path}.capture"), message })
}

/// Whether a datagram with this payload fits into the MTU.
fn fits(payload: u32, mtu: u32, path: &str) -> Result<(), ScenarioError> {
    let len = payload.saturating_add(HEADERS);
    if len <= mtu {
        return Ok(());
    }
    let message = format!(
        "{payload}B: with {HEADERS} bytes of headers it is longer than the path's MTU of {mtu}: give at most {}B",
        mtu.saturating_sub(HEADERS)
    );
    Err(ScenarioError { path: path.to_string(), message })
}

fn start((start, spread): (Option<Quantity<Span>>, Option<Quantity<Span>>), stream: &Stream) -> Time {
    let spread = spread.map_or(0, |q| q.0.as_nanos());
    // Without a spread start no random number is drawn.
    let late = if spread > 0 { stream.clone().below(spread) } else { 0 };
    Time::ZERO + start.map_or(Span::ZERO, |q| q.0) + Span::from_nanos(late)
}

/// The name of the random streams of a link direction.
pub fn stream_name(edge: &Edge) -> String {
    format!("{}/{}", edge.name, edge.direction.name())
}

/// Which of the first `packets` packets a link direction loses in a run. Bit n mod 8 of byte n / 8 stands for packet n,
/// counted from 0. The loss of a packet depends on its number alone, so a kernel can be told in advance.
pub fn losses(
    scenario: &Scenario,
    seed: u64,
    replication: u64,
    direction: usize,
    packets: usize,
) -> Result<Vec<u8>, ScenarioError> {
    let topology = topology(scenario)?;
    let edge = topology.edges().get(direction).ok_or_else(|| ScenarioError {
        path: "topology".into(),
        message: format!("there are {} link directions, not {}", topology.edges().len(), direction + 1),
    })?;
    let stream = Streams::new(seed, replication).named(&format!("{}/loss", stream_name(edge)));
    let mut loss = Loss::new(edge.config.loss.clone(), stream);
    let mut bits = vec![0; packets.div_ceil(8)];
    for n in 0..packets {
        bits[n / 8] |= u8::from(loss.strikes()) << (n % 8);
    }
    Ok(bits)
}

/// The names of the server and client nodes of a pair, or those named.
fn ends(scenario: &Scenario, pair: Option<u32>, server: &Option<String>, client: &Option<String>) -> (String, String) {
    match scenario.topology.kind {
        Kind::PointToPoint | Kind::Multipath => ("server".into(), "client".into()),
        Kind::Dumbbell => {
            let pair = pair.unwrap_or(0);
            (format!("server {pair}"), format!("client {pair}"))
        }
        Kind::Cell => {
            let station = scenario.topology.cell.as_ref().map(|cell| cell.station(pair.unwrap_or(0) as usize));
            ("server".into(), station.unwrap_or_default())
        }
        Kind::Graph => (server.clone().unwrap_or_default(), client.clone().unwrap_or_default()),
    }
}

fn topology(scenario: &Scenario) -> Result<Topology, ScenarioError> {
    let spec = &scenario.topology;
    let mut net = Topology::new();
    match spec.kind {
        Kind::PointToPoint => {
            let (server, client) = (net.node("server"), net.node("client"));
            let (down, up) = link_configs(&spec.link.clone().unwrap_or_default(), "topology.link", Span::ZERO)?;
            net.join("link", server, client, down, up);
        }
        Kind::Dumbbell => {
            let default = LinkSpec { rate: Some(RateSpec::Constant(WIRED)), ..LinkSpec::default() };
            let access = spec.access.clone().unwrap_or(default);
            let (near, far) = (net.node("router 1"), net.node("router 2"));
            let (access_down, access_up) = link_configs(&access, "topology.access", Span::ZERO)?;
            // Each path crosses two access links.
            let outside = (access_down.delay + access_up.delay) * 2;
            let bottleneck = spec.bottleneck.clone().unwrap_or_default();
            let (down, up) = link_configs(&bottleneck, "topology.bottleneck", outside)?;
            net.join("bottleneck", near, far, down, up);
            for pair in 0..spec.pairs.unwrap_or(1) {
                let (server, client) = (net.node(&format!("server {pair}")), net.node(&format!("client {pair}")));
                net.join(&format!("server access {pair}"), server, near, access_down.clone(), access_up.clone());
                net.join(&format!("client access {pair}"), far, client, access_down.clone(), access_up.clone());
            }
        }
        Kind::Cell => {
            let default = LinkSpec { rate: Some(RateSpec::Constant(WIRED)), ..LinkSpec::default() };
            let cell = spec.cell.clone().unwrap_or_default();
            let (server, access_point) = (net.node("server"), net.node(cell.access_point()));
            let wired = spec.link.as_ref().unwrap_or(&default);
            let (down, up) = link_configs(wired, "topology.link", Span::ZERO)?;
            net.join("link", server, access_point, down, up);
        }
        Kind::Multipath => {
            let (server, client) = (net.node("server"), net.node("client"));
            for (k, path) in spec.paths.iter().flatten().enumerate() {
                let (down, up) = link_configs(path, &format!("topology.paths[{k}]"), Span::ZERO)?;
                let link = net.join(&format!("path {k}"), server, client, down, up);
                net.interface(server, link);
                net.interface(client, link);
            }
        }
        Kind::Graph => {
            for link in spec.links.iter().flatten() {
                let (from, to) = (net.node(&link.from), net.node(&link.to));
                let (down, up) = link_configs(&link.link, "topology.links", Span::ZERO)?;
                net.join(&link.name(), from, to, down, up);
            }
        }
    }
    for (path, cell) in spec.all_cells() {
        add_cell(&mut net, spec, cell, &path)?;
    }
    if spec.kind == Kind::Graph {
        give_addresses(&mut net, scenario);
    }
    Ok(net)
}

/// Adds a cell: a link from its access point to each station, which share a medium.
fn add_cell(net: &mut Topology, spec: &scenario::Topology, cell: &CellSpec, path: &str) -> Result<(), ScenarioError> {
    let config = cell.config(path)?;
    let access_point = net.node(cell.access_point());
    let links = cell.links(&config, path)?.into_iter().enumerate().map(|(k, directions)| {
        let (mut down, mut up) = directions;
        for config in [&mut down, &mut up] {
            let scale = config.scale(config.delay * 2);
            config.queue.resolve(&scale);
        }
        let name = cell.station(k);
        let station = net.node(&name);
        net.join(&spec.station_link(cell, &name), access_point, station, down, up)
    });
    let links = links.collect();
    net.share(Medium { name: cell.name().to_string(), config, links });
    Ok(())
}

/// Gives the hosts of flows that use several paths an address on each of their links, and clients that move from one path to
/// another. Other nodes have one address.
fn give_addresses<'a>(net: &mut Topology, scenario: &'a Scenario) {
    let several = scenario.flows.iter().filter(|flow| flow.contender.transport.is_multipath());
    let ends = |flow: &'a scenario::Flow| {
        let mqtt = flow.mqtt.as_ref();
        let delivery = mqtt.map(|mqtt| [Some(&mqtt.subscriber), mqtt.subscriber_broker.as_ref()]);
        [flow.server.as_ref(), flow.client.as_ref()].into_iter().chain(delivery.into_iter().flatten())
    };
    let movers = scenario.flows.iter().filter(|flow| flow.migrate.is_some()).filter_map(|flow| flow.client.as_ref());
    let hosts: BTreeSet<&String> = several.flat_map(ends).flatten().chain(movers).collect();
    for host in hosts {
        let node = net.node(host);
        let links = (0..).zip(net.edges().chunks(2)).filter(|(_, ends)| ends[0].from == node || ends[0].to == node);
        let links: Vec<u32> = links.map(|(link, _)| link).collect();
        if links.len() > 1 {
            for link in links {
                net.interface(node, link);
            }
        }
    }
}

/// Both directions, `down` and `up`, of a single link with all defaults filled in.
///
/// # Errors
/// If a field is wrong, with its path.
pub fn link(spec: &LinkSpec) -> Result<(LinkConfig, LinkConfig), ScenarioError> {
    if spec.strip_options.is_some() {
        let message = "only the simulator has middleboxes: leave it out".to_string();
        return Err(ScenarioError { path: "strip_options".into(), message });
    }
    link_configs(spec, "", Span::ZERO)
}

/// Both directions of a link. `outside` is the base RTT of a path beyond this link, for queues given in BDPs.
fn link_configs(spec: &LinkSpec, path: &str, outside: Span) -> Result<(LinkConfig, LinkConfig), ScenarioError> {
    let (mut down, mut up) = spec.configs(path)?;
    let furthest = |config: &LinkConfig| config.delay + config.orbit.map_or(Span::ZERO, |orbit| orbit.longest());
    let rtt = furthest(&down) + furthest(&up) + outside;
    for config in [&mut down, &mut up] {
        let scale = config.scale(rtt);
        config.queue.resolve(&scale);
    }
    Ok((down, up))
}
