//! A scenario's network as data, for a rig.

use super::mqtt::MqttDescription;
use super::{Between, FlowPath, HostPath, Network, network, ways};
use crate::contender::Contender;
use crate::load::{Load, Told};
use crate::scenario::{self, App, Beside, CellMedium, Links, Place, Probe, ProbeMode, Scenario, ScenarioError, Task};
use haltere_net::link::LinkConfig;
use haltere_net::rng::{Stream, Streams};
use haltere_net::topology::Router;
use haltere_net::{Rate, Span};
use haltere_transport::mechanisms::linux;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A network as data, for a rig. Times in ns, rates in bit/s, sizes in bytes.
#[derive(Serialize)]
pub struct Description {
    nodes: Vec<String>,
    addresses: Vec<AddressDescription>,
    links: Vec<LinkDescription>,
    routes: Vec<RouteDescription>,
    flows: Vec<FlowDescription>,
    probes: Vec<ProbeDescription>,
    loads: Vec<LoadDescription>,
    made_by: &'static str,
    time_limit_ns: Option<u64>,
    duration_ns: Option<u64>,
    measure_from_ns: Option<u64>,
}

#[derive(Serialize)]
struct LinkDescription {
    name: String,
    from: u32,
    to: u32,
    down: LinkConfig,
    up: LinkConfig,
}

/// An address. Its number is its position in the list. With `link`, it belongs to the node's end of this link.
#[derive(Serialize)]
struct AddressDescription {
    node: u32,
    link: Option<u32>,
}

/// A route: `node` sends packets for the address `to` on `link`. With `from`, this applies only to packets from this
/// address of the node. `crossing` routes join addresses that are not a pair: a further subflow of MPTCP goes from a further
/// address of the client to the first of the server.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct RouteDescription {
    node: u32,
    from: Option<u32>,
    to: u32,
    link: u32,
    crossing: bool,
}

/// A path of a flow: the addresses of its ends, and the link that is next to each of them.
#[derive(Serialize)]
pub(super) struct WayDescription {
    client: u32,
    server: u32,
    client_link: u32,
    server_link: u32,
    /// Whether it is in reserve.
    backup: bool,
}

#[derive(Serialize)]
struct FlowDescription {
    flow: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// `up`, if its object travels that way.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    contender: String,
    transport: &'static str,
    implementation: Option<String>,
    congestion: String,
    /// The contender's switches, by name, with values as contenders write them.
    switches: BTreeMap<String, String>,
    /// The parameters of its congestion control that it sets.
    parameters: BTreeMap<String, f64>,
    linux: LinuxDescription,
    app: App,
    pair: u32,
    server: u32,
    client: u32,
    /// Its paths, that on which it connects first.
    ways: Vec<WayDescription>,
    mtu: u32,
    size: Option<u64>,
    tos: Option<u8>,
    start_ns: u64,
    /// With MQTT: its broker, and its subscriber's connection.
    mqtt: Option<MqttDescription>,
    /// Of a call: the largest rate of its encoder, and its frames in a second.
    call: Option<CallDescription>,
    /// Fields of the flow that only the model uses.
    only_modelled: Vec<&'static str>,
}

/// The encoder of a program that carries a call.
#[derive(Serialize)]
struct CallDescription {
    rate_bps: u64,
    frames: u32,
}

/// How a kernel is told what a contender switches ([`linux::Settings`]), or why it cannot be.
#[derive(Serialize, Default)]
struct LinuxDescription {
    refused: Option<String>,
    parameters: BTreeMap<&'static str, Option<String>>,
    metrics: BTreeMap<&'static str, u32>,
    paced: bool,
    acks_at_once: bool,
    without_hystart: bool,
    announces: bool,
}

impl LinuxDescription {
    fn new(contender: &Contender) -> LinuxDescription {
        match contender.in_linux() {
            Err(refused) => LinuxDescription { refused: Some(refused), ..LinuxDescription::default() },
            Ok(linux::Settings { parameters, metrics, paced, acks_at_once, without_hystart, announces }) => {
                let refused = None;
                LinuxDescription { refused, parameters, metrics, paced, acks_at_once, without_hystart, announces }
            }
        }
    }
}

/// A probe. Its fields are those of the scenario's, with all defaults filled in.
#[derive(Serialize)]
struct ProbeDescription {
    kind: &'static str,
    mode: &'static str,
    size_bytes: u32,
    interval_ns: u64,
    timeout_ns: u64,
    pair: u32,
    sender: u32,
    receiver: u32,
    start_ns: u64,
    count: Option<u64>,
    duration_ns: Option<u64>,
}

/// A load. Its fields are those of the scenario's, with all defaults filled in.
#[derive(Serialize)]
struct LoadDescription {
    kind: &'static str,
    size_bytes: u32,
    rate_bps: Option<u64>,
    packets: Option<u64>,
    answer_bytes: Option<u32>,
    gap_ns: u64,
    timeout_ns: u64,
    pair: u32,
    sender: u32,
    receiver: u32,
    start_ns: u64,
    count: Option<u64>,
    duration_ns: Option<u64>,
    /// On-off: the lengths of its periods in turn, with packets and without.
    periods_ns: Vec<u64>,
}

/// The most periods of an on-off load that are told to a rig.
const MAX_PERIODS: usize = 1_000_000;

impl ProbeDescription {
    fn new(probe: &Probe, between: &Between) -> ProbeDescription {
        ProbeDescription {
            kind: probe.kind.name(),
            mode: match probe.mode {
                ProbeMode::StopAndWait => "stop-and-wait",
                ProbeMode::FreeRunning => "free-running",
            },
            size_bytes: probe.payload,
            interval_ns: probe.interval.as_nanos(),
            timeout_ns: probe.timeout.as_nanos(),
            pair: probe.beside.place.pair,
            sender: between.from.0,
            receiver: between.to.0,
            start_ns: between.start.as_nanos(),
            count: probe.beside.count,
            duration_ns: probe.beside.duration.map(Span::as_nanos),
        }
    }
}

impl LoadDescription {
    /// A load whose periods are drawn from `stream`, for so much of a run.
    fn new(load: &Load, between: &Between, stream: &Stream, run: Span) -> LoadDescription {
        let Beside { place, count, duration, .. } = &load.beside;
        let periods = crate::build::loads::periods(load, stream, duration.unwrap_or(run), MAX_PERIODS);
        let Told { rate, packets, gap, timeout } = load.shape.told();
        LoadDescription {
            kind: load.kind,
            size_bytes: load.shape.payload(),
            rate_bps: rate.map(Rate::as_bps),
            packets,
            answer_bytes: load.shape.answer(),
            gap_ns: gap.as_nanos(),
            timeout_ns: timeout.as_nanos(),
            pair: place.pair,
            sender: between.from.0,
            receiver: between.to.0,
            start_ns: between.start.as_nanos(),
            count: *count,
            duration_ns: duration.map(Span::as_nanos),
            periods_ns: periods.into_iter().map(Span::as_nanos).collect(),
        }
    }
}

/// Describes a scenario's network in one run, for a rig.
///
/// # Errors
/// If the network is wrong, or has what exists in virtual time only.
pub fn describe(scenario: &Scenario, seed: u64, replication: u64) -> Result<Description, ScenarioError> {
    refuse(scenario, &network(scenario, &Streams::new(seed, replication))?)?;
    describe_all(scenario, seed, replication)
}

/// As [`describe`], with what exists in virtual time only: for programs on kernels that are nodes of the simulator.
///
/// # Errors
/// If the network is wrong.
pub fn describe_all(scenario: &Scenario, seed: u64, replication: u64) -> Result<Description, ScenarioError> {
    let streams = Streams::new(seed, replication);
    let network = network(scenario, &streams)?;
    // Directions are in pairs, down and up, in the order in which links were added.
    let links = network.topology.edges().chunks_exact(2).map(|pair| LinkDescription {
        name: pair[0].name.to_string(),
        from: pair[0].from.0,
        to: pair[0].to.0,
        down: pair[0].config.as_ref().clone(),
        up: pair[1].config.as_ref().clone(),
    });
    let addresses = network.topology.interfaces().iter().map(|i| AddressDescription { node: i.node.0, link: i.link });
    let flows = network.flows.iter().zip(&scenario.flows).enumerate().map(|(i, (path, flow))| FlowDescription {
        flow: i as u32,
        label: flow.label.clone(),
        direction: (flow.way() == scenario::Way::Up).then(|| flow.way().name()),
        contender: flow.contender.to_string(),
        transport: path.contender.transport.describe().0,
        implementation: path.contender.implementation.clone(),
        congestion: path.contender.congestion.clone(),
        switches: path.contender.switches_alone(),
        parameters: path.contender.parameters.iter().cloned().collect(),
        linux: LinuxDescription::new(&path.contender),
        // A rig has no such transfers, and says so of each that is asked for.
        app: if flow.app() == App::Ssh { App::Raw } else { flow.app() },
        pair: flow.place.pair,
        server: path.server.0,
        client: path.client.0,
        ways: path.ways.iter().map(way).collect(),
        mtu: path.first().mtu,
        size: flow.total(),
        tos: flow.tos,
        start_ns: path.start.as_nanos(),
        mqtt: MqttDescription::new(scenario, i, path),
        call: flow.call().map(|call| CallDescription { rate_bps: call.most.as_bps(), frames: call.frames }),
        only_modelled: [
            ("call.pauses", flow.call().is_some_and(|call| !call.pauses.is_empty())),
            ("ack", flow.ack.is_some()),
            ("page", matches!(flow.task, Task::Page { .. })),
            ("video", matches!(flow.task, Task::Video { .. })),
            ("app", flow.app() == App::Ssh),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect(),
    });
    let probes = scenario.probes.iter().zip(&network.probes);
    let loads = scenario.loads.iter().zip(&network.loads).enumerate();
    let loads = loads.map(|(i, (load, between))| {
        LoadDescription::new(load, between, &streams.named(&format!("load {i}/periods")), scenario.end())
    });
    Ok(Description {
        probes: probes.map(|(probe, between)| ProbeDescription::new(probe, between)).collect(),
        loads: loads.collect(),
        nodes: network.topology.nodes().map(str::to_string).collect(),
        addresses: addresses.collect(),
        links: links.collect(),
        routes: routes(scenario, &network)?.into_iter().collect(),
        flows: flows.collect(),
        made_by: match scenario.links {
            Links::Kernel => "kernel",
            Links::Haltere => "haltere",
        },
        time_limit_ns: scenario.time_limit.map(Span::as_nanos),
        duration_ns: scenario.duration.map(|duration| duration.whole.as_nanos()),
        measure_from_ns: scenario.measure_from().map(Span::as_nanos),
    })
}

/// Refuses what exists in virtual time only.
fn refuse(scenario: &Scenario, network: &Network) -> Result<(), ScenarioError> {
    let wrong = |path: String, message: &str| Err(ScenarioError { path, message: message.into() });
    if let Some(edge) = network.topology.edges().iter().find(|edge| scenario.topology.strips_options(&edge.name)) {
        let message =
            format!("the link {:?} has strip_options: only the simulator has middleboxes, leave it out", edge.name);
        return wrong("topology".into(), &message);
    }
    for edge in network.topology.edges() {
        let boxes = [("tunnel", edge.config.tunnel.is_some()), ("breaker", edge.config.breaker.is_some())];
        if let Some((field, _)) = boxes.into_iter().find(|(_, given)| *given) {
            let message = format!(
                "the link {:?} has a {field}, which exists in virtual time only: choose fidelity \"model\" or \"stack\", or \
                 leave it out",
                edge.name
            );
            return wrong("topology".into(), &message);
        }
    }
    if let Some((path, cell)) = scenario.topology.all_cells().into_iter().next() {
        if let CellMedium::Lte(_) = cell.medium {
            let message = "a cell of LTE exists in virtual time only: choose fidelity \"model\" or \"stack\", or give a link with a \
                           rate that changes in its place";
            return wrong(path, message);
        }
        let message = "a cell of 802.11 exists in virtual time only: choose fidelity \"model\" or \"stack\", or give a link \
                       with a rate and a loss in its place";
        return wrong(path, message);
    }
    if let Some(i) = scenario.brokers.iter().position(|broker| !broker.bridges.is_empty()) {
        let message = "bridges between brokers exist in virtual time only: choose fidelity \"model\" or \"stack\"";
        return wrong(format!("brokers[{i}].bridges"), message);
    }
    for (i, flow) in scenario.flows.iter().enumerate() {
        let moves = [("migrate", flow.migrate.is_empty()), ("rebind", flow.rebind.is_empty())];
        if let Some((field, _)) = moves.into_iter().find(|(_, empty)| !empty) {
            let message = "only the simulator changes the addresses of clients: leave it out";
            return wrong(format!("flows[{i}].{field}"), message);
        }
        if flow.duration.is_some() {
            let message = "programs on real hosts go on until the run ends: leave it out, or choose fidelity \"model\"";
            return wrong(format!("flows[{i}].duration"), message);
        }
        if let Task::Object { supply: Some(_), .. } = flow.task {
            let message = "programs on real hosts have their data at once: leave it out, or choose fidelity \"model\"";
            return wrong(format!("flows[{i}].supply"), message);
        }
    }
    Ok(())
}

/// The routes of all packets of a run.
fn routes(scenario: &Scenario, network: &Network) -> Result<BTreeSet<RouteDescription>, ScenarioError> {
    let edges = network.topology.edges();
    let mut routes = BTreeSet::new();
    let mut lead = |ways: &[HostPath]| {
        for way in ways {
            for (links, from, to) in [(&way.up, way.client, way.server), (&way.down, way.server, way.client)] {
                routes.extend(links.iter().map(|&edge| {
                    let at = edges[edge as usize].from;
                    let own = network.topology.addresses(at);
                    let from = (own.len() > 1 && own.contains(&from)).then_some(from.0);
                    RouteDescription { node: at.0, from, to: to.0, link: edge / 2, crossing: false }
                }));
            }
        }
    };
    for flow in &network.flows {
        lead(&flow.ways);
        if let Some(delivery) = &flow.delivery {
            lead(&delivery.ways);
        }
    }
    let mut router = Router::new();
    let probes = scenario.probes.iter().map(|probe| &probe.beside.place).enumerate();
    let loads = scenario.loads.iter().map(|load| &load.beside.place).enumerate();
    let beside = probes.map(|probe| ("probes", probe)).chain(loads.map(|load| ("loads", load)));
    for (what, (i, Place { server, client, .. })) in beside {
        lead(&ways(&network.topology, &mut router, &format!("{what}[{i}]"), (server, client))?.2);
    }
    for flow in network.flows.iter().filter(|flow| flow.contender.transport.is_multipath()) {
        routes.extend(crossing(flow));
    }
    Ok(routes)
}

/// The first link of a route. A route has at least one.
fn first_link(route: &[u32]) -> u32 {
    route.first().map_or(0, |edge| edge / 2)
}

pub(super) fn way(way: &HostPath) -> WayDescription {
    let (client_link, server_link) = (first_link(&way.up), first_link(&way.down));
    WayDescription { client: way.client.0, server: way.server.0, client_link, server_link, backup: way.backup }
}

/// The routes between addresses that are not a pair. The client's address decides which path they take.
fn crossing(flow: &FlowPath) -> impl Iterator<Item = RouteDescription> {
    let pairs = flow.ways.iter().flat_map(|way| flow.ways.iter().map(move |other| (way, other.server)));
    let crossed = pairs.filter(|(way, server)| way.server != *server);
    crossed.flat_map(|(way, server)| {
        let ends = [(flow.client, way.client, server, &way.up), (flow.server, server, way.client, &way.down)];
        ends.map(|(node, from, to, route)| RouteDescription {
            node: node.0,
            from: Some(from.0),
            to: to.0,
            link: first_link(route),
            crossing: true,
        })
    })
}
