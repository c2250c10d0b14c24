//! Nodes: applications with many connections, and routes by source and destination.

use haltere_net::element::Element;
use haltere_net::fault::{Faults, Timer};
use haltere_net::link::{Link, LinkConfig};
use haltere_net::rng::Streams;
use haltere_net::topology::{NodeId, Topology};
use haltere_net::{Address, Cx, PathId, Rate, Span, Time};
use haltere_sim::Scenario;
use haltere_sim::application::{Application, Report};
use haltere_sim::network::network;
use haltere_sim::world::{Elements, Port, ProcessId, Remote, SocketId, Sockets, Spawn, Stall, Transports, World};
use haltere_transport::cc;
use haltere_transport::path::PathError;
use haltere_transport::{CloseReason, Endpoint, Event, Role, quic, tcp};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const MESSAGE: u64 = 1000;
const PORT: Port = Port(1883);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Protocol {
    Tcp,
    Quic,
}

/// Makes TCP or QUIC connections.
struct Maker {
    name: String,
    protocol: Protocol,
}

impl Transports for Maker {
    fn endpoint(&mut self, role: Role, number: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        let stream = Streams::new(1, 0).named(&format!("{}/{number}", self.name));
        Ok(match self.protocol {
            Protocol::Tcp => Box::new(tcp::Connection::new(tcp::Config::new(role, cc::CUBIC, stream))),
            Protocol::Quic => Box::new(quic::Connection::new(quic::Config::new(role, cc::CUBIC, stream))),
        })
    }
}

/// Receives the messages of many devices, and answers each with one of the same length.
#[derive(Default)]
struct Broker {
    accepted: u32,
    lost: u32,
    messages: u64,
    waiting: BTreeMap<SocketId, u64>,
}

impl Application for Broker {
    fn on_accept(&mut self, socket: SocketId, _: &mut Sockets<'_>, _: &mut Cx<'_>) {
        self.accepted += 1;
        self.waiting.insert(socket, 0);
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Readable(stream) => {
                let connection = sockets.get(socket).unwrap();
                let waiting = self.waiting.get_mut(&socket).unwrap();
                *waiting += connection.read(stream, cx.now);
                while *waiting >= MESSAGE {
                    *waiting -= MESSAGE;
                    self.messages += 1;
                    connection.write(stream, MESSAGE);
                }
            }
            Event::Failed(_) => {
                self.lost += 1;
                self.waiting.remove(&socket);
                sockets.release(socket);
            }
            _ => {}
        }
    }

    fn report(&self) -> Report {
        let (accepted, lost) = (f64::from(self.accepted), f64::from(self.lost));
        Report::Values(vec![("accepted", accepted), ("lost", lost), ("messages", self.messages as f64)])
    }
}

/// Wakes up, connects, sends a message, receives the answer, and sleeps again without notice to the broker.
struct Device {
    broker: Remote,
    sleep: Span,
    alarm: Time,
    rounds: u32,
    heard: u64,
    failed: Option<CloseReason>,
}

impl Device {
    fn new(broker: Remote, sleep: Span, rounds: u32) -> Device {
        Device { broker, sleep, alarm: Time::NEVER, rounds, heard: 0, failed: None }
    }
}

impl Application for Device {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.alarm = Time::NEVER;
        self.failed = sockets.connect(self.broker, cx).err();
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                let connection = sockets.get(socket).unwrap();
                let stream = connection.open().unwrap();
                connection.write(stream, MESSAGE);
            }
            Event::Readable(stream) => {
                self.heard += sockets.get(socket).unwrap().read(stream, cx.now);
                if self.heard.is_multiple_of(MESSAGE) {
                    sockets.release(socket);
                    self.rounds -= 1;
                    self.alarm = if self.rounds > 0 { cx.now + self.sleep } else { Time::NEVER };
                }
            }
            Event::Failed(reason) => self.failed = Some(reason),
            _ => {}
        }
    }

    fn alarm(&self) -> Time {
        self.alarm
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.on_start(sockets, cx);
    }

    fn is_over(&self) -> bool {
        self.rounds == 0 || self.failed.is_some()
    }

    fn report(&self) -> Report {
        Report::Values(vec![("heard", self.heard as f64), ("rounds left", f64::from(self.rounds))])
    }
}

fn value(report: &Report, name: &str) -> f64 {
    let Report::Values(values) = report else { panic!("{report:?}") };
    values.iter().find(|(n, _)| *n == name).unwrap().1
}

fn spawn(node: NodeId, application: Box<dyn Application>, maker: Maker) -> Spawn {
    Spawn::server(node, application, Box::new(maker), Vec::new())
}

fn links(net: &Topology) -> Vec<Link<haltere_transport::Body>> {
    let streams = Streams::new(1, 0);
    let named = |(n, edge): (usize, &haltere_net::topology::Edge)| Link::new(&edge.config, &n.to_string(), &streams);
    net.edges().iter().enumerate().map(named).collect()
}

fn config(ms: u64) -> LinkConfig {
    LinkConfig { rate: Some(Rate::from_bps(10_000_000)), delay: Span::from_millis(ms), ..LinkConfig::default() }
}

/// A broker behind a router, and devices that come and go.
fn fleet(protocol: Protocol, devices: u32, rounds: u32) -> World {
    let mut net = Topology::new();
    let (hall, broker) = (net.node("hall"), net.node("broker"));
    net.join("uplink", hall, broker, config(5), config(5));
    let remote = Remote { address: net.addresses(broker)[0], port: PORT };
    let maker = |name: String| Maker { name, protocol };
    let mut spawns = vec![spawn(broker, Box::new(Broker::default()), maker("broker".into()))];
    spawns[0].ports = vec![PORT];
    for d in 0..devices {
        let node = net.node(&format!("device {d}"));
        net.join(&format!("access {d}"), hall, node, config(1), config(1));
        let device = Device::new(remote, Span::from_secs(u64::from(d % 3) + 1), rounds);
        let start = Time::ZERO + Span::from_millis(u64::from(d));
        spawns.push(Spawn { start: Some(start), ..spawn(node, Box::new(device), maker(format!("device {d}"))) });
    }
    World::new(net.clone(), Elements::links(links(&net)), spawns, None)
}

#[test]
fn an_application_accepts_and_loses_many_connections_and_others_open_them_again() {
    for protocol in [Protocol::Tcp, Protocol::Quic] {
        let (devices, rounds) = (40, 5);
        let mut world = fleet(protocol, devices, rounds);
        world.run(Time::ZERO + Span::from_secs(100), |_, _| false).unwrap();
        assert!(world.conserves());
        let report = world.processes()[0].report();
        assert_eq!(value(&report, "accepted"), f64::from(devices * rounds));
        assert_eq!(value(&report, "messages"), f64::from(devices * rounds));
        for device in &world.processes()[1..] {
            assert!(device.is_over());
            assert_eq!(value(&device.report(), "heard"), f64::from(rounds) * MESSAGE as f64);
            // The counters of released sockets are not lost.
            assert!(device.stats().sent_packets >= u64::from(rounds));
            assert_eq!(device.sockets(), 0);
        }
        // The devices left without notice: what the broker still sends to them reaches nobody.
        assert!(world.stray_packets() > 0);
        // QUIC's broker notices by its idle timeout and closes. TCP's broker has nothing more to send.
        let left = if protocol == Protocol::Tcp { devices * rounds } else { 0 };
        assert_eq!(world.processes()[0].sockets(), left as usize, "{protocol:?}");
    }
}

#[test]
fn what_many_connections_do_repeats_to_the_packet() {
    let run = || {
        let mut world = fleet(Protocol::Tcp, 20, 3);
        world.run(Time::ZERO + Span::from_secs(100), |_, _| false).unwrap();
        (world.events(), world.elements().iter().map(Element::counters).collect::<Vec<_>>())
    };
    assert_eq!(run(), run());
}

/// A timer of loaded code that is called every so often, so many times, and notes when; then it fails if it is to.
struct Ticks {
    every: Span,
    left: u32,
    next: Time,
    called: Arc<Mutex<Vec<Time>>>,
    failing: Option<Faults>,
}

impl Timer for Ticks {
    fn due(&self) -> Option<Time> {
        (self.left > 0).then_some(self.next)
    }

    fn fire(&mut self, now: Time) {
        self.called.lock().unwrap().push(now);
        (self.next, self.left) = (now + self.every, self.left - 1);
        if let Some(faults) = self.failing.as_ref().filter(|_| self.left == 0) {
            faults.raise("it is over".into());
        }
    }
}

#[test]
fn timers_of_loaded_code_are_called_in_time_change_nothing_and_may_end_the_run() {
    let until = Time::ZERO + Span::from_secs(100);
    let run = |timer: Option<(bool, u32)>| {
        let (faults, called) = (Faults::default(), Arc::new(Mutex::new(Vec::new())));
        let mut world = fleet(Protocol::Tcp, 5, 3).listening(faults.clone());
        if let Some((fails, left)) = timer {
            let failing = fails.then(|| faults.clone());
            let next = Time::ZERO;
            faults.start(Box::new(Ticks {
                every: Span::from_millis(700),
                left,
                next,
                called: called.clone(),
                failing,
            }));
        }
        let done = world.run(until, |_, _| false).unwrap();
        let called = called.lock().unwrap().clone();
        (done, world.now(), called, world.events(), world.elements().iter().map(Element::counters).collect::<Vec<_>>())
    };
    let (plain, ticking, failing) = (run(None), run(Some((false, 5))), run(Some((true, 3))));
    let at = |n: u64| Time::ZERO + Span::from_millis(700 * n);
    assert_eq!((ticking.0, ticking.1, &ticking.2), (false, until, &(0..5).map(at).collect::<Vec<_>>()));
    assert_eq!((&plain.3, &plain.4), (&ticking.3, &ticking.4));
    assert_eq!((failing.0, failing.1, failing.2.len()), (true, at(2), 3));
}

#[test]
fn a_connect_without_listener_fails_and_one_without_route_fails_at_once() {
    let mut net = Topology::new();
    let (a, b, apart) = (net.node("a"), net.node("b"), net.node("apart"));
    net.join("ab", a, b, config(1), config(1));
    let caller = |to: NodeId, name: &str| {
        let remote = Remote { address: net.addresses(to)[0], port: PORT };
        let device = Device::new(remote, Span::ZERO, 1);
        let maker = Maker { name: name.into(), protocol: Protocol::Tcp };
        Spawn { start: Some(Time::ZERO), ..spawn(a, Box::new(device), maker) }
    };
    let spawns = vec![caller(b, "nobody"), caller(apart, "nowhere")];
    let mut world = World::new(net.clone(), Elements::links(links(&net)), spawns, None);
    world.run(Time::ZERO, |_, _| false).unwrap();
    assert_eq!([0, 1].map(|p| world.processes()[p].is_over()), [false, true]);
    world.run(Time::ZERO + Span::from_secs(1000), |_, _| false).unwrap();
    assert!(world.processes()[0].is_over() && world.conserves());
    assert!(world.stray_packets() >= 6, "SYNs that nobody took: {}", world.stray_packets());
}

/// Sends a packet on a path that its connection does not have.
struct Astray(Option<u64>);

impl Endpoint for Astray {
    fn connect(&mut self, _: &mut Cx<'_>) {
        self.0 = Some(100);
    }
    fn on_packet(&mut self, _: haltere_net::Packet<haltere_transport::Body>, _: &mut Cx<'_>) {}
    fn on_wake(&mut self, _: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn poll_transmit(&mut self, _: &mut Cx<'_>) -> Option<haltere_net::Packet<haltere_transport::Body>> {
        let body = haltere_transport::Body::Udp(Vec::new());
        self.0.take().map(|len| haltere_net::Packet::new(len as u32, body).with(|p| p.path = PathId(3)))
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn stats(&self) -> haltere_transport::Stats {
        haltere_transport::Stats::default()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        0
    }
}

impl Transports for Astray {
    fn endpoint(&mut self, _: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        Ok(Box::new(Astray(None)))
    }
}

#[test]
fn a_path_that_does_not_exist_is_an_error() {
    let mut net = Topology::new();
    let (a, b) = (net.node("a"), net.node("b"));
    net.join("ab", a, b, config(1), config(1));
    let remote = Remote { address: net.addresses(b)[0], port: PORT };
    let device = Box::new(Device::new(remote, Span::ZERO, 1));
    let caller = Spawn::client(a, device, Box::new(Astray(None)), Time::ZERO);
    let mut world = World::new(net.clone(), Elements::links(links(&net)), vec![caller], None);
    let stalled = world.run(Time::ZERO + Span::from_secs(1), |_, _| false);
    assert_eq!(stalled, Err(Stall::NoSuchPath(ProcessId(0), PathId(3))));
}

#[test]
fn several_links_between_two_hosts_have_addresses_of_their_own() {
    let paths = json!([{ "rate": "20Mbit/s", "delay": "5ms" }, { "rate": "5Mbit/s", "delay": "25ms", "mtu": "1400B" }]);
    let flow = json!({ "contender": "tcp/cubic", "size": "200kB", "app": "raw" });
    let text = json!({ "topology": { "kind": "multipath", "paths": paths }, "flows": [flow] }).to_string();
    let scenario = Scenario::from_json(&text).unwrap();
    let net = network(&scenario, &Streams::new(1, 0)).unwrap();
    let found: Vec<_> = net.flows[0].ways.iter().map(|w| (w.up.clone(), w.down.clone(), w.mtu)).collect();
    assert_eq!(found, [(vec![1], vec![0], 1500), (vec![3], vec![2], 1400)]);
    // A transport with a single path uses the first.
    let result = haltere_sim::run(&scenario, 1, 0).unwrap();
    let links: Vec<_> = result.links.iter().map(|l| (l.link.as_str(), l.delivered_packets > 0)).collect();
    assert_eq!(links, [("path 0", true), ("path 0", true), ("path 1", false), ("path 1", false)]);
    assert_eq!(result.status, "ok");

    let wrong = |topology: serde_json::Value| {
        let flow = json!({ "contender": "tcp/cubic", "size": "1kB" });
        Scenario::from_json(&json!({ "topology": topology, "flows": [flow] }).to_string()).unwrap_err().to_string()
    };
    assert!(wrong(json!({ "kind": "multipath" })).contains("needs the list topology.paths"));
    assert!(wrong(json!({ "kind": "multipath", "paths": [] })).starts_with("topology.paths: 0 paths"));
    let bad = json!({ "kind": "multipath", "paths": [{}, { "mtu": "9B" }] });
    assert!(wrong(bad).starts_with("topology.paths[1].mtu"));
    assert!(wrong(json!({ "kind": "dumbbell", "bottleneck": {}, "paths": [] })).starts_with("topology.paths"));
}

/// Asks for an object, over a further path as soon as the first bytes have come.
struct Fetcher {
    server: Remote,
    further: (Address, Address),
    added: Option<Result<PathId, PathError>>,
    abandon: Option<u64>,
    heard: u64,
}

const OBJECT: u64 = 3_000_000;

impl Application for Fetcher {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        sockets.connect(self.server, cx).unwrap();
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                let connection = sockets.get(socket).unwrap();
                let stream = connection.open().unwrap();
                connection.write(stream, MESSAGE);
            }
            Event::Readable(stream) => {
                // By then the handshake is confirmed, which a path needs (RFC 9000 section 9).
                if self.added.is_none() {
                    self.added = Some(sockets.add_path(socket, self.further.0, self.further.1, cx));
                }
                self.heard += sockets.get(socket).unwrap().read(stream, cx.now);
                if self.abandon.is_some_and(|after| self.heard > after) {
                    self.abandon = None;
                    sockets.abandon_path(socket, PathId(0), cx).unwrap();
                }
            }
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.heard >= OBJECT
    }

    fn report(&self) -> Report {
        let added = matches!(self.added, Some(Ok(PathId(1))));
        Report::Values(vec![("heard", self.heard as f64), ("added", f64::from(u8::from(added)))])
    }
}

/// Answers each message with an object.
struct Shop(u64);

impl Application for Shop {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        if let Event::Readable(stream) = event {
            let connection = sockets.get(socket).unwrap();
            self.0 += connection.read(stream, cx.now);
            if self.0 == MESSAGE {
                connection.write(stream, OBJECT);
            }
        }
    }

    fn report(&self) -> Report {
        Report::Values(vec![])
    }
}

/// Makes QUIC connections that may have two paths.
struct TwoPaths(&'static str);

impl Transports for TwoPaths {
    fn endpoint(&mut self, role: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        let mut config = quic::Config::new(role, cc::CUBIC, Streams::new(1, 0).named(self.0));
        config.max_paths = 2;
        Ok(Box::new(quic::Connection::new(config)))
    }
}

/// Two hosts with two links between them; the client's second address asks for a path to the server's address of this
/// number. Its link leads to the second one, number 1.
fn two_links(asked: usize, abandon: Option<u64>) -> World {
    let mut net = Topology::new();
    let (server, client) = (net.node("server"), net.node("client"));
    for name in ["near", "far"] {
        let link = net.join(name, server, client, config(5), config(5));
        net.interface(server, link);
        net.interface(client, link);
    }
    let (own, other) = (net.addresses(client).to_vec(), net.addresses(server).to_vec());
    let further = (own[1], other[asked]);
    let fetcher = Fetcher { server: Remote { address: other[0], port: PORT }, further, added: None, abandon, heard: 0 };
    let spawns = vec![
        Spawn::client(client, Box::new(fetcher), Box::new(TwoPaths("client")), Time::ZERO),
        Spawn::server(server, Box::new(Shop(0)), Box::new(TwoPaths("server")), vec![PORT]),
    ];
    World::new(net.clone(), Elements::links(links(&net)), spawns, None)
}

#[test]
fn a_connection_takes_a_second_path_between_other_addresses() {
    let mut world = two_links(1, None);
    assert!(world.run(Time::ZERO + Span::from_secs(20), |p, _| p[0].is_over()).unwrap() && world.conserves());
    assert_eq!(value(&world.processes()[0].report(), "added"), 1.0);
    // 3 MB over 10 Mbit/s take 2.4 s; over two such links little more than half.
    assert!(world.now() < Time::ZERO + Span::from_millis(1700), "{}", world.now());
    let carried = [0, 2].map(|edge: usize| world.elements()[edge].counters().delivered_bytes);
    assert!(carried.iter().all(|&bytes| bytes > OBJECT / 3), "{carried:?}");
}

#[test]
fn a_path_that_was_given_up_carries_nothing_more() {
    let mut world = two_links(1, Some(1_000_000));
    assert!(world.run(Time::ZERO + Span::from_secs(20), |p, _| p[0].is_over()).unwrap() && world.conserves());
    let carried = [0, 2].map(|edge: usize| world.elements()[edge].counters().delivered_bytes);
    assert!(carried[0] < OBJECT / 3 && carried[1] > OBJECT / 2, "{carried:?}");
}

#[test]
fn a_path_that_no_links_make_is_refused() {
    let mut world = two_links(0, None);
    assert!(world.run(Time::ZERO + Span::from_secs(20), |p, _| p[0].is_over()).unwrap());
    assert_eq!(value(&world.processes()[0].report(), "added"), 0.0);
    assert_eq!(world.elements()[2].counters().offered, 0);
}
