//! Builds the network of a scenario: nodes, links with all defaults filled in, and the route of each flow. The
//! simulator builds its world from it, and a rig its namespaces.

mod describe;
mod mqtt;

pub use describe::{Description, describe, describe_all};
pub use mqtt::{MqttClients, mqtt_clients};

use crate::contender::Contender;
use crate::scenario::{self, Beside, Cell, Link, Place, ProbeKind, Renewed, Scenario, ScenarioError, Side, Station};
use crate::world::{Change, Move};
use haltere_net::link::LinkConfig;
use haltere_net::loss::Loss;
use haltere_net::medium::Medium;
use haltere_net::rng::{Stream, Streams};
use haltere_net::topology::{Edge, NodeId, Router, Shared, Topology};
use haltere_net::{Address, PathId, Span, Time};
use haltere_transport::Body;
use haltere_transport::datagram::HEADERS;
use haltere_transport::path::AddressChange;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest route, in links: the largest number that IP's TTL allows (RFC 791 section 3.1), and that packets can
/// count.
const MAX_HOPS: usize = 255;

/// Media, each with the path of its fields in the scenario.
pub type Media = Vec<(String, Box<dyn Medium<Body>>)>;

/// A scenario's network.
pub struct Network {
    /// Nodes and links.
    pub topology: Topology,
    /// The media that links share, in the topology's order.
    pub media: Media,
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
    pub contender: Arc<Contender>,
    /// The server's node.
    pub server: NodeId,
    /// The client's node.
    pub client: NodeId,
    /// The paths between them: one for each pair of addresses that the two have for the flow, at least one. A transport
    /// with a single path uses the first.
    pub ways: Vec<HostPath>,
    /// The changes of the client's addresses, in the order of time.
    pub moves: Vec<Move>,
    /// When the client connects.
    pub start: Time,
    /// When both ends fall silent, if they do before they are done.
    pub end: Option<Time>,
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
    pub ways: Vec<HostPath>,
}

/// A path between two addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPath {
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
    pub fn first(&self) -> &HostPath {
        &self.ways[0]
    }
}

/// The network of a scenario in the run with these random streams.
pub fn network(scenario: &Scenario, streams: &Streams) -> Result<Network, ScenarioError> {
    let (topology, media) = topology(scenario);
    let mut router = Router::new();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (i, flow) in scenario.flows.iter().enumerate() {
        let path = format!("flows[{i}]");
        let Place { server, client, .. } = &flow.place;
        // The client of messages publishes them, and asks its broker for nothing.
        let reversed = flow.mqtt().is_none() && flow.way() == scenario::Way::Up;
        let ends: (&str, &str) = if reversed { (client, server) } else { (server, client) };
        let (server, client, mut ways) = ways(&topology, &mut router, &path, ends)?;
        // The paths of a multipath topology are those of its hosts, in this order.
        if let scenario::Topology::Multipath { paths } = &scenario.topology {
            for (way, path) in ways.iter_mut().zip(paths) {
                way.backup = path.backup;
            }
        }
        let moves = moves(flow, ways.len(), &path)?;
        put_first(flow.first_path, &mut ways, &path)?;
        let delivery = match flow.mqtt() {
            None => None,
            Some(mqtt) => {
                let path = format!("{path}.mqtt.subscriber");
                let ends = (mqtt.subscriber_broker.as_str(), mqtt.subscriber.as_str());
                let (broker, subscriber, ways) = self::ways(&topology, &mut router, &path, ends)?;
                Some(DeliveryPath { broker, subscriber, ways })
            }
        };
        let start = start(flow.start, flow.spread, || streams.named(&format!("flow {i}/start")));
        let end = flow.duration.map(|lasts| start + lasts);
        let contender = flow.contender.clone();
        flows.push(FlowPath { contender, server, client, ways, moves, start, end, delivery });
    }
    let mut beside = |what: &str, i: usize, beside: &Beside| {
        let Place { server, client, .. } = &beside.place;
        let found = ways(&topology, &mut router, &format!("{what}s[{i}]"), (server, client))?;
        let start = start(beside.start, beside.spread, || streams.named(&format!("{what} {i}/start")));
        Ok(Between { start, ..between(&found, beside.from) })
    };
    let mut probes = Vec::with_capacity(scenario.probes.len());
    for (i, probe) in scenario.probes.iter().enumerate() {
        let between = beside("probe", i, &probe.beside)?;
        if probe.kind != ProbeKind::Tcp {
            fits(probe.payload, between.mtu, &format!("probes[{i}].size"))?;
        }
        probes.push(between);
    }
    let mut loads = Vec::with_capacity(scenario.loads.len());
    for (i, load) in scenario.loads.iter().enumerate() {
        let between = beside("load", i, &load.beside)?;
        load.shape.fits(between.mtu, &format!("loads[{i}]"))?;
        loads.push(between);
    }
    let mut bridges = Vec::new();
    for (i, broker) in scenario.brokers.iter().enumerate() {
        for (k, bridge) in broker.bridges.iter().enumerate() {
            let ends = (bridge.to.as_str(), broker.node.as_str());
            let found = ways(&topology, &mut router, &format!("brokers[{i}].bridges[{k}].to"), ends)?;
            bridges.push(between(&found, Side::Client));
        }
    }
    Ok(Network { topology, media, flows, probes, loads, bridges })
}

/// The nodes of two hosts, server and client, and the paths between them.
fn ways(
    topology: &Topology,
    router: &mut Router,
    path: &str,
    (server, client): (&str, &str),
) -> Result<(NodeId, NodeId, Vec<HostPath>), ScenarioError> {
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
        debug_assert!(!up.is_empty() && !down.is_empty(), "a route has links");
        let mtu = up.iter().chain(&down).map(|&l| topology.edges()[l as usize].config.host_mtu()).min().unwrap_or(1500);
        ways.push(HostPath { client, server, up, down, mtu, backup: false });
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
    let first = flow.first_path;
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
        let place = u8::try_from(place).map_err(|_| ScenarioError {
            path: format!("{path}.{field}[{k}].path"),
            message: format!("{number}: paths are numbered up to {}: give a smaller number", u8::MAX),
        });
        place.map(PathId)
    };
    let mut moves = Vec::new();
    for (k, migrate) in flow.migrate.iter().enumerate() {
        moves.push(Move {
            at: Time::ZERO + migrate.at.0,
            change: Change::Migration(place(migrate.path, "migrate", k)?),
        });
    }
    for (k, rebind) in flow.rebind.iter().enumerate() {
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
fn put_first(first: u32, ways: &mut [HostPath], path: &str) -> Result<(), ScenarioError> {
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
fn between((server, client, ways): &(NodeId, NodeId, Vec<HostPath>), side: Side) -> Between {
    let way = &ways[0];
    let (from, to, address) = match side {
        Side::Client => (*client, *server, way.server),
        Side::Server => (*server, *client, way.client),
    };
    Between { from, to, address, mtu: way.mtu, start: Time::ZERO }
}

/// Whether a datagram with this payload fits into the MTU.
pub(crate) fn fits(payload: u32, mtu: u32, path: &str) -> Result<(), ScenarioError> {
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

fn start(start: Span, spread: Span, stream: impl FnOnce() -> Stream) -> Time {
    // Without a spread start no random number is drawn.
    let late = if spread.is_zero() { 0 } else { stream().below(spread.as_nanos()) };
    Time::ZERO + start + Span::from_nanos(late)
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
    let (topology, _) = topology(scenario);
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

/// The configurations of a link's two directions, down and up.
type Configs = (Arc<LinkConfig>, Arc<LinkConfig>);

fn configs(link: &Link) -> Configs {
    (Arc::new(link.down.clone()), Arc::new(link.up.clone()))
}

fn topology(scenario: &Scenario) -> (Topology, Media) {
    use scenario::Topology::{Cell, Dumbbell, Graph, Multipath, PointToPoint};
    let mut net = Topology::new();
    let join_by = |net: &mut Topology, name: &str, ends: (&str, &str), (down, up): &Configs| {
        let (from, to) = (net.node(ends.0), net.node(ends.1));
        (net.join(name, from, to, down.clone(), up.clone()), [from, to])
    };
    let join =
        |net: &mut Topology, name: &str, ends: (&str, &str), link: &Link| join_by(net, name, ends, &configs(link));
    match &scenario.topology {
        PointToPoint { link } => {
            join(&mut net, "link", ("server", "client"), link);
        }
        Dumbbell { pairs, bottleneck, access } => {
            join(&mut net, "bottleneck", ("router 1", "router 2"), bottleneck);
            // Thousands of pairs have links of one kind.
            let access = configs(access);
            for pair in 0..*pairs {
                let (server, client) = (format!("server {pair}"), format!("client {pair}"));
                // The nodes of a pair are numbered before its links.
                for node in [&server, &client] {
                    net.node(node);
                }
                join_by(&mut net, &format!("server access {pair}"), (&server, "router 1"), &access);
                join_by(&mut net, &format!("client access {pair}"), ("router 2", &client), &access);
            }
        }
        Cell { link, cell } => {
            join(&mut net, "link", ("server", &cell.access_point), link);
        }
        Multipath { paths } => {
            for (k, path) in paths.iter().enumerate() {
                let (link, ends) = join(&mut net, &format!("path {k}"), ("server", "client"), &path.link);
                for node in ends {
                    net.interface(node, link);
                }
            }
        }
        Graph { links, .. } => {
            for one in links {
                join(&mut net, &one.name, (&one.from, &one.to), &one.link);
            }
        }
    }
    let mut media = Media::new();
    for (path, cell) in scenario.topology.all_cells() {
        add_cell(&mut net, &scenario.topology, cell);
        media.push((path, cell.element()));
    }
    if let Graph { .. } = scenario.topology {
        give_addresses(&mut net, scenario);
    }
    (net, media)
}

/// Adds a cell: a link from its access point to each station, which share a medium.
fn add_cell(net: &mut Topology, spec: &scenario::Topology, cell: &Cell) {
    let access_point = net.node(&cell.access_point);
    let links = cell.stations.iter().map(|Station { node, down, up }| {
        let station = net.node(node);
        net.join(&spec.station_link(cell, node), access_point, station, down.clone(), up.clone())
    });
    let links = links.collect();
    net.share(Shared { name: cell.name.clone(), links });
}

/// Gives the hosts of flows that use several paths an address on each of their links, and clients that move from one path to
/// another. Other nodes have one address.
fn give_addresses(net: &mut Topology, scenario: &Scenario) {
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    for flow in &scenario.flows {
        if flow.contender.transport.is_multipath() {
            hosts.extend([&*flow.place.server, &*flow.place.client]);
            hosts.extend(flow.mqtt().into_iter().flat_map(|m| [m.subscriber.as_str(), &m.subscriber_broker]));
        }
        if !flow.migrate.is_empty() {
            hosts.insert(&flow.place.client);
        }
    }
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
