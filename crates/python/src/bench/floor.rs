//! The floor: what links and event queue cost when the endpoints do next to nothing.

use haltere_net::element::Element;
use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::topology::Topology;
use haltere_net::{Cx, Packet, PathId, Rate, Span, Time};
use haltere_sim::application::{Application, Report};
use haltere_sim::world::{Elements, Port, Remote, SocketId, Sockets, Spawn, Transports, World};
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::Kind;
use haltere_transport::{Body, Endpoint, Event, Role, Stats};

const ACK: u32 = 52;
const DATA: u32 = 1500;
/// Packets a client acknowledges at once, as with delayed ACKs.
const TOGETHER: u64 = 2;

/// One case of the floor.
pub struct Floor {
    flows: u32,
    gbps: u64,
    seconds: u64,
    /// Packets in flight of each flow: somewhat more than its share of the BDP.
    window: u64,
}

/// The dumbbells that the transports' cases have too.
pub static CASES: [Floor; 2] =
    [Floor { flows: 10, gbps: 1, seconds: 10, window: 250 }, Floor { flows: 1000, gbps: 10, seconds: 1, window: 26 }];

/// The floor for a case with so many flows.
pub fn like(flows: usize) -> &'static Floor {
    if flows > 100 { &CASES[1] } else { &CASES[0] }
}

impl Floor {
    pub fn name(&self) -> String {
        format!("floor: {} fixed windows, {} Gbit/s, {} s, no transport", self.flows, self.gbps, self.seconds)
    }

    /// Runs it and returns the packets delivered across the bottleneck.
    pub fn run(&self) -> u64 {
        let mut world = self.world();
        let stalled = world.run(Time::ZERO + Span::from_secs(self.seconds), |_, _| false).is_err();
        if stalled || !world.conserves() { 0 } else { world.elements()[0].counters().delivered }
    }

    fn world(&self) -> World {
        let streams = Streams::new(1, 0);
        let config = |gbps: u64, delay_ms| {
            let rate = Some(Rate::from_bps(gbps * 1_000_000_000));
            let queue = Limit::Packets(self.window * u64::from(self.flows)).into();
            LinkConfig { rate, delay: Span::from_millis(delay_ms), queue, ..LinkConfig::default() }
        };
        let mut net = Topology::new();
        let (near, far) = (net.node("near"), net.node("far"));
        net.join("bottleneck", near, far, config(self.gbps, 10), config(self.gbps, 10));
        let mut spawns = Vec::new();
        for flow in 0..self.flows {
            let (server, client) = (net.node(&format!("server {flow}")), net.node(&format!("client {flow}")));
            net.join(&format!("server access {flow}"), server, near, config(10, 0), config(10, 0));
            net.join(&format!("client access {flow}"), far, client, config(10, 0), config(10, 0));
            let (port, address) = (Port(0), net.addresses(server)[0]);
            let start = Time::ZERO + Span::from_micros(u64::from(flow) * 100);
            let asks = Box::new(Connects(Remote { address, port }));
            spawns.push(Spawn::client(client, asks, Box::new(Windows(0)), start));
            spawns.push(Spawn::server(server, Box::new(Nobody), Box::new(Windows(self.window)), vec![port]));
        }
        let links = net.edges().iter().map(|edge| Link::new(&edge.config, "floor", &streams)).collect();
        World::new(net, Elements::links(links), spawns, None)
    }
}

/// Makes endpoints with a window of so many packets.
struct Windows(u64);

impl Transports for Windows {
    fn endpoint(&mut self, role: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        Ok(Box::new(FixedWindow { role, window: self.0, may_send: 0, unacknowledged: 0, sent: 0 }))
    }
}

/// Sends whenever a packet is allowed. The client's first packet opens the server's window.
struct FixedWindow {
    role: Role,
    window: u64,
    may_send: u64,
    unacknowledged: u64,
    sent: u64,
}

impl Endpoint for FixedWindow {
    fn connect(&mut self, _: &mut Cx<'_>) {
        self.may_send = 1;
    }

    fn on_packet(&mut self, _: Packet<Body>, _: &mut Cx<'_>) {
        match self.role {
            Role::Server if self.sent == 0 => self.may_send = self.window,
            Role::Server => self.may_send += TOGETHER,
            Role::Client => {
                self.unacknowledged += 1;
                if self.unacknowledged == TOGETHER {
                    self.unacknowledged = 0;
                    self.may_send += 1;
                }
            }
        }
    }

    fn on_wake(&mut self, _: &mut Cx<'_>) {}

    fn next_wake(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.may_send = self.may_send.checked_sub(1)?;
        self.sent += 1;
        let (len, payload) = if self.role == Role::Server { (DATA, DATA - ACK) } else { (ACK, 0) };
        let segment = Segment { len: payload, ..Segment::bare(Kind::Data, self.sent) };
        let body = Body::Tcp(segment);
        Some(Packet::new(len, body))
    }

    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn stats(&self) -> Stats {
        Stats::default()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        0
    }
}

/// An application that only opens a connection.
struct Connects(Remote);

impl Application for Connects {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        // That it went through shows in the packets that are counted.
        let _ = sockets.connect(self.0, cx);
    }
    fn on_event(&mut self, _: SocketId, _: Event, _: &mut Sockets<'_>, _: &mut Cx<'_>) {}
    fn report(&self) -> Report {
        Report::Values(Vec::new())
    }
}

/// An application that only accepts one.
struct Nobody;

impl Application for Nobody {
    fn on_event(&mut self, _: SocketId, _: Event, _: &mut Sockets<'_>, _: &mut Cx<'_>) {}
    fn report(&self) -> Report {
        Report::Values(Vec::new())
    }
}
