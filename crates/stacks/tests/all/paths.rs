//! Several addresses a connection: a client whose address changes, and datagrams of paths that do not exist.

use crate::ends;

use ends::common::{Exchange, Pair};
use ends::{Both, Dyn, STACKS, link};
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet, PathId, Span, Time};
use haltere_stacks::{AddressPair, Cipher, Config, Congestion, Handles, QUINN, Stack};
use haltere_transport::{Body, Endpoint, Event, Role, Stats, StreamId};

const DELAY: Span = Span::from_millis(10);
/// When the client's address changes.
const CHANGE: Time = Time::from_nanos(200_000_000);

/// An end with two paths: the client has two addresses, the server one.
fn end(role: Role, stack: Stack, cipher: Cipher) -> Box<dyn Endpoint> {
    let [first, mut second] = [0, 1].map(|k| AddressPair::of_path(role, PathId(k)));
    match role {
        Role::Client => second.remote = first.remote,
        Role::Server => second.local = first.local,
    }
    let addresses = vec![first, second];
    let config = Config { cipher, addresses, ..Config::new(role, stack, Congestion::Own("cubic")) };
    let name = if role == Role::Client { "client" } else { "server" };
    haltere_stacks::endpoint(config, Handles::new(Streams::new(1, 0).named(name))).unwrap()
}

/// A client behind a host that takes its second address at [`CHANGE`].
struct Moving(Box<dyn Endpoint>);

impl Endpoint for Moving {
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let mut packet = self.0.poll_transmit(cx)?;
        packet.path = PathId(u8::from(cx.now >= CHANGE));
        Some(packet)
    }
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.0.connect(cx);
    }
    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.0.on_packet(packet, cx);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.0.on_wake(cx);
    }
    fn next_wake(&self) -> Time {
        self.0.next_wake()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }
    fn open(&mut self) -> Option<StreamId> {
        self.0.open()
    }
    fn write(&mut self, stream: StreamId, bytes: u64) {
        self.0.write(stream, bytes);
    }
    fn finish(&mut self, stream: StreamId) {
        self.0.finish(stream);
    }
    fn read(&mut self, stream: StreamId, now: Time) -> u64 {
        self.0.read(stream, now)
    }
    fn close(&mut self) {
        self.0.close();
    }
    fn stats(&self) -> Stats {
        self.0.stats()
    }
    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.0.bytes_in_flight(path)
    }
}

fn pair(client: Box<dyn Endpoint>, stack: Stack, cipher: Cipher) -> Both {
    let wire = link(20, DELAY, 100_000);
    let server = end(Role::Server, stack, cipher);
    let exchange = Exchange { streams: vec![(500, 2_000_000)] };
    let mut pair = Pair::new(Dyn(client), Dyn(server), &wire, &wire, 1, exchange);
    (pair.keep, pair.one_link) = (true, true);
    pair
}

#[test]
fn a_connection_follows_its_client_to_a_new_address() {
    for stack in STACKS {
        for cipher in [Cipher::Tls, Cipher::Null] {
            let client = Moving(end(Role::Client, stack, cipher));
            let mut pair = pair(Box::new(client), stack, cipher);
            assert!(pair.run(Span::from_secs(60)), "{stack:?}");
            pair.assert_exchanged();
            assert_eq!(pair.server.0.paths(), 2);
            // The first packet from the new address is at the server one delay after it was sent; a little later comes one.
            let known = CHANGE + DELAY * 4;
            let of = |late: bool, path| {
                let sent = pair.seen.iter().filter(|s| !s.by_client() && (s.at > known) == late);
                sent.filter(|s| s.packet.path == PathId(path)).count()
            };
            assert!(of(false, 0) > 100 && of(true, 1) > 500, "{stack:?}: {} {}", of(false, 0), of(true, 1));
            // What still goes to the old address asks whether it is alive (RFC 9000 section 9.3.3).
            assert!(of(true, 0) <= 5, "{stack:?}: {} to the old address", of(true, 0));
            let invalid = [&pair.client, &pair.server].map(|end| end.0.stats().invalid_packets);
            assert_eq!(invalid, [0, 0], "{stack:?}");
        }
    }
}

#[test]
fn a_datagram_of_no_path_is_invalid() {
    for stack in STACKS {
        let mut client = end(Role::Client, stack, Cipher::Null);
        let mut cx = Cx::new(Time::ZERO, ComponentId(0));
        client.connect(&mut cx);
        let hello = client.poll_transmit(&mut cx).unwrap();
        assert_eq!(hello.path, PathId(0));
        for (path, answered) in [(2, false), (255, false), (0, true), (1, true)] {
            let mut server = end(Role::Server, stack, Cipher::Null);
            server.on_packet(hello.clone().with(|p| p.path = PathId(path)), &mut cx);
            let stats = server.stats();
            assert_eq!((stats.invalid_packets, stats.received_packets), (u64::from(!answered), u64::from(answered)));
            let answer = server.poll_transmit(&mut cx);
            assert_eq!(answer.map(|a| a.path), answered.then_some(PathId(path)), "{stack:?}: path {path}");
        }
    }
}

#[test]
fn addresses_that_make_no_path_are_refused() {
    let config = Config { addresses: Vec::new(), ..Config::new(Role::Client, QUINN, Congestion::Own("cubic")) };
    let refused = haltere_stacks::endpoint(config, Handles::new(Streams::new(1, 0).named("client"))).err();
    assert!(refused.is_some_and(|why| why.to_string().contains("at least one path")));
}
