//! The floor: what links and event queue cost when the endpoints do next to nothing.

use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Cx, FlowKey, Packet, PathId, Rate, Span, Time};
use haltere_sim::application::{Application, Progress};
use haltere_sim::world::{Host, Route, World};
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::Kind;
use haltere_transport::{Body, Endpoint, Event, Role, Stats, StreamId};

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
pub const CASES: [Floor; 2] =
    [Floor { flows: 10, gbps: 1, seconds: 10, window: 250 }, Floor { flows: 1000, gbps: 10, seconds: 1, window: 26 }];

impl Floor {
    pub fn name(&self) -> String {
        format!("floor: {} fixed windows, {} Gbit/s, {} s, no transport", self.flows, self.gbps, self.seconds)
    }

    /// Runs it and returns the packets delivered across the bottleneck.
    pub fn run(&self) -> u64 {
        let mut world = self.world();
        let stalled = world.run(Time::ZERO + Span::from_secs(self.seconds), |_, _| false).is_err();
        if stalled || !world.conserves() { 0 } else { world.links()[0].counters().delivered }
    }

    fn world(&self) -> World {
        let streams = Streams::new(1, 0);
        let link = |gbps: u64, delay_ms| {
            let rate = Some(Rate::from_bps(gbps * 1_000_000_000));
            let queue = Limit::Packets(self.window * u64::from(self.flows)).into();
            let config = LinkConfig { rate, delay: Span::from_millis(delay_ms), queue, ..LinkConfig::default() };
            Link::new(&config, "floor", &streams)
        };
        // The bottleneck's two directions, then the four access links of each pair.
        let mut links = vec![link(self.gbps, 10), link(self.gbps, 10)];
        let (mut hosts, mut routes) = (Vec::new(), Vec::new());
        for flow in 0..self.flows {
            let access = links.len() as u32;
            links.extend((0..4).map(|_| link(10, 0)));
            routes.push(Route { links: vec![access, 1, access + 1], to: 2 * flow + 1 });
            routes.push(Route { links: vec![access + 2, 0, access + 3], to: 2 * flow });
            let start = Time::ZERO + Span::from_micros(u64::from(flow) * 100);
            hosts.push(host(FixedWindow::client(), 2 * flow, Some(start)));
            hosts.push(host(FixedWindow::server(self.window), 2 * flow + 1, None));
        }
        World::new(links, hosts, routes, None)
    }
}

fn host(endpoint: FixedWindow, route: u32, start: Option<Time>) -> Host {
    Host {
        endpoint: Box::new(endpoint),
        application: Box::new(Nobody),
        flow: FlowKey::default(),
        routes: vec![route],
        start,
        alarm: Time::NEVER,
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

impl FixedWindow {
    fn client() -> FixedWindow {
        FixedWindow { role: Role::Client, window: 0, may_send: 0, unacknowledged: 0, sent: 0 }
    }
    fn server(window: u64) -> FixedWindow {
        FixedWindow { role: Role::Server, window, ..FixedWindow::client() }
    }
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
        let segment = Segment {
            kind: Kind::Data,
            fin: false,
            seq: self.sent,
            len: payload,
            ack: 0,
            window: 0,
            timestamp: 0,
            echo: 0,
            sacks: 0,
            ece: false,
            cwr: false,
            push: false,
            sack: Default::default(),
            damaged: false,
        };
        let body = Body::Tcp(segment);
        Some(Packet::new(len, body))
    }

    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn open(&mut self) -> Option<StreamId> {
        None
    }
    fn write(&mut self, _: StreamId, _: u64) {}
    fn finish(&mut self, _: StreamId) {}
    fn read(&mut self, _: StreamId, _: Time) -> u64 {
        0
    }
    fn close(&mut self) {}
    fn stats(&self) -> Stats {
        Stats::default()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        0
    }
}

/// An application that only starts its connection.
struct Nobody;

impl Application for Nobody {
    fn on_start(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        connection.connect(cx);
    }
    fn on_event(&mut self, _: Event, _: &mut dyn Endpoint, _: &mut Cx<'_>) {}
    fn progress(&self) -> Progress {
        Progress::default()
    }
}
