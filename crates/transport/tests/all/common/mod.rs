//! Two endpoints, one link in each direction and an application at each end: the smallest network in which a transport
//! can be tested.
//!
//! It works for any pair of [`Endpoint`]s. Each test binary uses the part of it that it needs. [`rounds`] drives a
//! congestion control alone.
#![allow(dead_code)]

pub mod misfortunes;
pub mod rounds;

use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Metric, Packet, PathId, Probe, Rate, Span, Time};
use haltere_transport::path::AddressChange;
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role, StreamId};

/// A link of 1 Gbit/s with a one-way delay and room for all that a test sends.
pub fn gigabit(ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(1_000_000_000)),
        delay: Span::from_millis(ms),
        queue: Limit::Packets(20_000).into(),
        ..LinkConfig::default()
    }
}

/// The acts of an application, and what it received.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub connected: u32,
    pub connected_at: Option<Time>,
    pub closed: u32,
    pub failed: Option<CloseReason>,
    /// (stream, bytes read, times finished, when finished)
    pub streams: Vec<(StreamId, u64, u32, Option<Time>)>,
}

impl Log {
    fn stream(&mut self, id: StreamId) -> &mut (StreamId, u64, u32, Option<Time>) {
        let at = self.streams.iter().position(|s| s.0 == id).unwrap_or_else(|| {
            self.streams.push((id, 0, 0, None));
            self.streams.len() - 1
        });
        &mut self.streams[at]
    }
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|s| s.1).sum()
    }
    pub fn finished(&self) -> usize {
        self.streams.iter().filter(|s| s.2 > 0).count()
    }
    pub fn over(&self) -> bool {
        self.closed > 0 || self.failed.is_some()
    }
}

/// Requests of the client and the server's answers.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Bytes of each stream's request and answer.
    pub streams: Vec<(u64, u64)>,
}

/// One packet as a driver saw it enter a link.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Time,
    pub from: Role,
    pub packet: Packet<Body>,
}

impl Seen {
    pub fn by_client(&self) -> bool {
        self.from == Role::Client
    }
}

/// Keeps the last value of each metric and how often it was reported, and which metrics of which path there were.
#[derive(Default)]
pub struct Last(pub [(u64, u64); Metric::ALL.len()], pub Vec<(PathId, Metric)>);

impl Probe for Last {
    fn record(&mut self, _: Time, _: ComponentId, path: PathId, metric: Metric, value: u64) {
        if !self.1.contains(&(path, metric)) {
            self.1.push((path, metric));
        }
        let i = Metric::ALL.iter().position(|m| *m == metric).unwrap();
        self.0[i] = (value, self.0[i].1 + 1);
    }
}

/// Decides which packets a test drops: true drops.
pub type Censor = Box<dyn FnMut(&Seen) -> bool>;

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Passes,
    Lost,
    /// It arrives a second time, right after.
    Twice,
    /// It arrives this much later, and others overtake it.
    Late(Span),
}

impl Fate {
    /// How many copies arrive, and when, of a packet that would arrive at `due`.
    pub fn arrivals(self, due: Time) -> (usize, Time) {
        match self {
            Fate::Passes => (1, due),
            Fate::Twice => (2, due),
            Fate::Lost => (0, due),
            Fate::Late(by) => (1, due + by),
        }
    }
}

/// Decides the fate of each packet that is sent.
pub type Fortune = Box<dyn FnMut(&Seen) -> Fate>;

/// A network address translator in front of the client's first address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nat {
    /// The number that the server has for the present address; 0 before a rebinding.
    now: u8,
    /// The last one that the server knows.
    told: u8,
    /// Whether the IP address is new, and not the port alone.
    address: bool,
}

/// The first number that a rebound address has at the server.
const FIRST_REBOUND: u8 = 128;

/// Sees packets that are delivered, and whether they come from the client.
pub type Watcher = Box<dyn FnMut(Role, &Packet<Body>)>;

/// The world of two endpoints.
pub struct Pair<C, S> {
    pub now: Time,
    pub client: C,
    pub server: S,
    pub up: Link<Body>,
    pub down: Link<Body>,
    /// Links up and down of the paths after the first.
    pub more: Vec<[Link<Body>; 2]>,
    /// Whether further paths take the links of the first, as those of a client behind a NAT that rebinds it.
    pub one_link: bool,
    pub client_log: Log,
    pub server_log: Log,
    /// Packets in the order in which they were sent, if `keep` is set.
    pub seen: Vec<Seen>,
    pub keep: bool,
    pub censor: Option<Censor>,
    pub fortune: Option<Fortune>,
    pub watcher: Option<Watcher>,
    nat: Nat,
    /// Late packets: when they are sent on, and their sender.
    late: Vec<(Time, Role, Packet<Body>)>,
    /// Calls of `on_wake`.
    pub wakes: u64,
    /// Whether the client closes once every answer has arrived.
    pub close: bool,
    /// Whether the client adds the second path as soon as it may.
    pub add_path: bool,
    pub probe: Option<Last>,
    exchange: Exchange,
    opened: usize,
    answered: Vec<StreamId>,
}

const CLIENT: ComponentId = ComponentId(0);
const SERVER: ComponentId = ComponentId(1);

impl<C: Endpoint, S: Endpoint> Pair<C, S> {
    /// A world whose links draw from `seed`.
    pub fn new(client: C, server: S, up: &LinkConfig, down: &LinkConfig, seed: u64, exchange: Exchange) -> Pair<C, S> {
        let streams = Streams::new(seed, 0);
        Pair {
            now: Time::ZERO,
            client,
            server,
            up: Link::new(up, "up", &streams),
            down: Link::new(down, "down", &streams),
            more: Vec::new(),
            one_link: false,
            client_log: Log::default(),
            server_log: Log::default(),
            seen: Vec::new(),
            keep: false,
            censor: None,
            fortune: None,
            watcher: None,
            nat: Nat::default(),
            late: Vec::new(),
            wakes: 0,
            close: true,
            add_path: false,
            probe: None,
            exchange,
            opened: 0,
            answered: Vec::new(),
        }
    }

    /// The pair with a further path.
    pub fn and_path(mut self, up: &LinkConfig, down: &LinkConfig, seed: u64) -> Pair<C, S> {
        let (streams, k) = (Streams::new(seed, 0), self.more.len() + 1);
        self.more.push([Link::new(up, &format!("up {k}"), &streams), Link::new(down, &format!("down {k}"), &streams)]);
        self
    }

    /// The client's application does something.
    pub fn client_does<T>(&mut self, f: impl FnOnce(&mut C, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx::new(self.now, CLIENT);
        let done = f(&mut self.client, &mut cx);
        self.settle_client();
        done
    }

    /// Runs from the start until nothing is left to do or `limit` is reached; true if nothing is left.
    pub fn run(&mut self, limit: Span) -> bool {
        let mut cx = Cx::new(self.now, CLIENT);
        self.client.connect(&mut cx);
        self.settle_client();
        self.go_on(limit)
    }

    /// The NAT gives the client's first address another port, or another address.
    pub fn rebind(&mut self, change: AddressChange) {
        self.nat.now = if self.nat.now == 0 { FIRST_REBOUND } else { self.nat.now + 1 };
        self.nat.address = change == AddressChange::Address;
    }

    /// A packet arrives at the client, if the NAT still knows where it belongs.
    fn reach_client(&mut self, mut packet: Packet<Body>) {
        let rebound = packet.path.0 == 0 || packet.path.0 >= FIRST_REBOUND;
        if rebound && packet.path.0 != self.nat.now {
            return;
        }
        if let Some(watcher) = &mut self.watcher {
            watcher(Role::Server, &packet);
        }
        if rebound {
            packet.path = PathId(0);
        }
        self.with_client(|client, cx| client.on_packet(packet, cx));
        self.settle_client();
    }

    fn reach_server(&mut self, packet: Packet<Body>) {
        let change = if self.nat.address { AddressChange::Address } else { AddressChange::Port };
        let news = packet.path.0 >= FIRST_REBOUND && packet.path.0 > self.nat.told;
        if news {
            self.nat.told = packet.path.0;
        }
        if let Some(watcher) = &mut self.watcher {
            watcher(Role::Client, &packet);
        }
        self.with_server(|server, cx| {
            if news {
                assert!(server.on_new_address(PathId(0), packet.path, change, cx));
            }
            server.on_packet(packet, cx);
        });
        self.settle_server();
    }

    /// Continues until nothing is left to do or `limit` (since the start) is reached.
    pub fn go_on(&mut self, limit: Span) -> bool {
        let end = Time::ZERO + limit;
        let mut same = 0;
        loop {
            let next = self
                .client
                .next_wake()
                .min(self.server.next_wake())
                .min(self.up.next_wake())
                .min(self.down.next_wake())
                .min(self.more.iter().flatten().map(Link::next_wake).min().unwrap_or(Time::NEVER))
                .min(self.late.iter().map(|l| l.0).min().unwrap_or(Time::NEVER));
            if next == Time::NEVER {
                return true;
            }
            if next > end {
                self.now = end;
                return false;
            }
            same = if next > self.now { 0 } else { same + 1 };
            assert!(same < 10_000, "time stands still at {}", self.now);
            self.now = self.now.max(next);
            self.step();
        }
    }

    /// The client closes, whether or not everything has arrived.
    pub fn close_client(&mut self) {
        self.client.close();
        self.settle_client();
    }

    /// The server writes on a stream, without ending it.
    pub fn server_writes(&mut self, stream: StreamId, bytes: u64) {
        self.server.write(stream, bytes);
        self.settle_server();
    }

    /// Gives the client a packet out of nowhere.
    pub fn give_client(&mut self, packet: Packet<Body>) {
        self.with_client(|client, cx| client.on_packet(packet, cx));
        self.settle_client();
    }

    /// Gives the server a packet out of nowhere.
    pub fn give_server(&mut self, packet: Packet<Body>) {
        self.with_server(|server, cx| server.on_packet(packet, cx));
        self.settle_server();
    }

    fn step(&mut self) {
        let now = self.now;
        let mut cx = Cx::new(now, CLIENT);
        while let Some(at) = self.late.iter().position(|l| l.0 <= now) {
            let (_, from, packet) = self.late.remove(at);
            self.offer(from, packet);
        }
        while let Some((_, packet)) = self.down.poll(now, &mut cx) {
            self.reach_client(packet);
        }
        while let Some((_, packet)) = self.up.poll(now, &mut cx) {
            self.reach_server(packet);
        }
        for k in 0..self.more.len() {
            while let Some((_, packet)) = self.more[k][1].poll(now, &mut cx) {
                self.reach_client(packet);
            }
            while let Some((_, packet)) = self.more[k][0].poll(now, &mut cx) {
                self.reach_server(packet);
            }
        }
        if self.client.next_wake() <= now {
            self.wakes += 1;
            self.with_client(|client, cx| client.on_wake(cx));
            self.settle_client();
            assert!(self.client.next_wake() > now, "the client wants to be woken again at once at {now}");
        }
        if self.server.next_wake() <= now {
            self.wakes += 1;
            self.with_server(|server, cx| server.on_wake(cx));
            self.settle_server();
            assert!(self.server.next_wake() > now, "the server wants to be woken again at once at {now}");
        }
    }

    fn with_client(&mut self, f: impl FnOnce(&mut C, &mut Cx<'_>)) {
        let mut cx = Cx::with_probe(self.now, CLIENT, None);
        f(&mut self.client, &mut cx);
    }

    fn with_server(&mut self, f: impl FnOnce(&mut S, &mut Cx<'_>)) {
        let mut cx = Cx::with_probe(self.now, SERVER, self.probe.as_mut().map(|p| p as &mut dyn Probe));
        f(&mut self.server, &mut cx);
    }

    fn settle_client(&mut self) {
        while let Some(event) = self.client.poll_event() {
            self.on_client_event(event);
        }
        // The peer may have allowed more streams, of which there is no event.
        if (self.client_log.connected > 0 || self.client.can_send_early_data()) && !self.client_log.over() {
            self.open_more();
        }
        let mut sent = 0;
        loop {
            let mut cx = Cx::new(self.now, CLIENT);
            let Some(packet) = self.client.poll_transmit(&mut cx) else { break };
            sent += 1;
            assert!(sent < 100_000, "the client sends without end");
            self.send(Role::Client, packet);
        }
    }

    fn settle_server(&mut self) {
        while let Some(event) = self.server.poll_event() {
            self.on_server_event(event);
        }
        let mut sent = 0;
        loop {
            let mut packet = None;
            self.with_server(|server, cx| packet = server.poll_transmit(cx));
            let Some(packet) = packet else { break };
            sent += 1;
            assert!(sent < 100_000, "the server sends without end");
            self.send(Role::Server, packet);
        }
    }

    fn send(&mut self, from: Role, packet: Packet<Body>) {
        if self.keep || self.censor.is_some() || self.fortune.is_some() {
            let seen = Seen { at: self.now, from, packet: packet.clone() };
            let dropped = self.censor.as_mut().is_some_and(|censor| censor(&seen));
            let fate = self.fortune.as_mut().map_or(Fate::Passes, |fortune| fortune(&seen));
            if self.keep {
                self.seen.push(seen);
            }
            match fate {
                _ if dropped => return,
                Fate::Passes => {}
                Fate::Lost => return,
                Fate::Twice => self.offer(from, packet.clone()),
                Fate::Late(by) => return self.late.push((self.now + by, from, packet)),
            }
        }
        self.offer(from, packet);
    }

    fn offer(&mut self, from: Role, mut packet: Packet<Body>) {
        if from == Role::Client && packet.path.0 == 0 {
            packet.path = PathId(self.nat.now);
        }
        let mut cx = Cx::new(self.now, ComponentId(2));
        let links = match usize::from(packet.path.0).checked_sub(1) {
            None => [&mut self.up, &mut self.down],
            Some(_) if self.one_link || packet.path.0 >= FIRST_REBOUND => [&mut self.up, &mut self.down],
            Some(k) => self.more[k].each_mut(),
        };
        let [up, down] = links;
        match from {
            Role::Client => up.offer(packet, &mut cx),
            Role::Server => down.offer(packet, &mut cx),
        }
    }

    fn open_more(&mut self) {
        while self.opened < self.exchange.streams.len() {
            let Some(id) = self.client.open() else { return };
            self.client.write(id, self.exchange.streams[self.opened].0);
            self.client.finish(id);
            self.opened += 1;
        }
    }

    fn on_client_event(&mut self, event: Event) {
        match event {
            Event::Connected => {
                self.client_log.connected += 1;
                self.client_log.connected_at = Some(self.now);
            }
            Event::Readable(id) => self.client_log.stream(id).1 += self.client.read(id, self.now),
            Event::Finished(id) => {
                let now = self.now;
                let stream = self.client_log.stream(id);
                stream.2 += 1;
                stream.3 = Some(now);
                if self.close && self.client_log.finished() == self.exchange.streams.len() {
                    self.client.close();
                }
            }
            Event::Multipath if self.add_path => {
                let mut cx = Cx::new(self.now, CLIENT);
                self.client.add_path(PathId(1), &mut cx).unwrap();
            }
            Event::Writable(_) | Event::Openable | Event::Datagram(_) | Event::Media(_) | Event::Multipath => {}
            Event::Closed => self.client_log.closed += 1,
            Event::Failed(why) => self.client_log.failed = Some(why),
        }
    }

    fn on_server_event(&mut self, event: Event) {
        match event {
            Event::Connected => {
                self.server_log.connected += 1;
                self.server_log.connected_at = Some(self.now);
            }
            Event::Readable(id) => self.server_log.stream(id).1 += self.server.read(id, self.now),
            Event::Finished(id) => {
                let now = self.now;
                let stream = self.server_log.stream(id);
                stream.2 += 1;
                stream.3 = Some(now);
                assert!(!self.answered.contains(&id), "stream {id:?} finished twice");
                self.answered.push(id);
                // Streams are opened in order, so that their ids' order is that of the requests.
                let rank = self.stream_rank(id);
                self.server.write(id, self.exchange.streams[rank].1);
                self.server.finish(id);
            }
            Event::Writable(_) | Event::Openable | Event::Datagram(_) | Event::Media(_) | Event::Multipath => {}
            Event::Closed => {
                self.server_log.closed += 1;
                // A transport that closes each direction by itself (TCP) needs its own end closed too.
                self.server.close();
            }
            Event::Failed(why) => self.server_log.failed = Some(why),
        }
    }

    /// Which of the client's streams this is: QUIC numbers them 0, 4, 8 (RFC 9000 section 2.1), TCP has stream 0.
    fn stream_rank(&self, id: StreamId) -> usize {
        (id.0 / 4) as usize
    }

    /// Asserts that every byte arrived once in order, everything finished once and both ends closed in good order.
    pub fn assert_complete(&self) {
        let (client, server) = (&self.client_log, &self.server_log);
        assert_eq!((client.failed, server.failed), (None, None), "failed at {}", self.now);
        self.assert_exchanged();
        assert_eq!((client.closed, server.closed), (1, 1), "closed");
    }

    /// Asserts that every byte arrived once in order and everything finished once.
    pub fn assert_exchanged(&self) {
        let (client, server) = (&self.client_log, &self.server_log);
        assert_eq!((client.connected, server.connected), (1, 1), "connected");
        for (rank, (request, answer)) in self.exchange.streams.iter().enumerate() {
            let of = |log: &Log| log.streams.iter().find(|s| self.stream_rank(s.0) == rank).map(|s| (s.1, s.2));
            assert_eq!(of(server), Some((*request, 1)), "request {rank}");
            assert_eq!(of(client), Some((*answer, 1)), "answer {rank}");
        }
        assert!(self.up.conserves() && self.down.conserves());
    }
}
