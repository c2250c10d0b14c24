//! A medium and a load that the simulator does not know: they need no change of it.

use haltere_net::counters::LinkCounters;
use haltere_net::element::{Element, Port as Entrance};
use haltere_net::link::LinkConfig;
use haltere_net::medium::{Entry, Medium, MediumCounters};
use haltere_net::rng::Streams;
use haltere_net::topology::{Shared, Topology};
use haltere_net::{Cx, Packet, Rate, Span, Time};
use haltere_sim::application::Report;
use haltere_sim::build::elements;
use haltere_sim::load::{Pattern, Round, Sink, Source};
use haltere_sim::network::Media;
use haltere_sim::world::{Port, Remote, Spawn, Transports, World};
use haltere_transport::datagram::Socket;
use haltere_transport::{Endpoint, Role};
use std::collections::VecDeque;

/// A wire that everyone shares: one packet at a time, in the order in which they were offered.
struct Bus {
    rate: Rate,
}

struct OnBus<B> {
    rate: Rate,
    free: Time,
    out: VecDeque<(Time, Packet<B>)>,
    counters: LinkCounters,
    medium: MediumCounters,
}

impl<B: Send + 'static> Medium<B> for Bus {
    fn element(
        &self,
        name: &str,
        entries: &[Entry<'_>],
        _: &Streams,
    ) -> Result<Box<dyn Element<B>>, (&'static str, String)> {
        assert_eq!((name, entries.len()), ("bus", 4));
        assert_eq!(entries[2].name, "right/down");
        if self.rate.as_bps() == 0 {
            return Err(("rate", "0: give a rate".into()));
        }
        let (counters, medium) = (LinkCounters::default(), MediumCounters::default());
        Ok(Box::new(OnBus { rate: self.rate, free: Time::ZERO, out: VecDeque::new(), counters, medium }))
    }
}

impl<B: Send> Element<B> for OnBus<B> {
    fn offer(&mut self, _: Entrance, packet: Packet<B>, cx: &mut Cx<'_>) {
        let sent = self.rate.time_for(u64::from(packet.len));
        self.free = self.free.max(cx.now) + sent;
        self.counters.offered += 1;
        self.medium.frames += 1;
        self.medium.busy += sent;
        self.out.push_back((self.free, packet));
    }

    fn poll(&mut self, until: Time, _: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        self.out.front().filter(|(at, _)| *at <= until)?;
        self.counters.delivered += 1;
        self.out.pop_front()
    }

    fn next_wake(&self) -> Time {
        self.out.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }

    fn medium(&self) -> Option<MediumCounters> {
        Some(self.medium)
    }

    fn inside(&self) -> u64 {
        self.out.len() as u64
    }
}

/// Rounds of one, two, three packets and so on, back to back, one round each millisecond.
struct Stairs(u64);

impl Pattern for Stairs {
    fn begin(&mut self, at: Time) -> Time {
        self.0 += 1;
        at
    }

    fn is_over(&self, round: &Round) -> bool {
        round.sent == self.0
    }

    fn next(&mut self, round: &Round, now: Time, _: u32) -> Time {
        if round.sent == self.0 { round.since + Span::from_millis(1) } else { now }
    }
}

struct Datagrams;

impl Transports for Datagrams {
    fn endpoint(&mut self, _: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        Ok(Box::new(Socket::default()))
    }
}

/// Two stations on a bus, and a load from one over the middle to the other.
fn world(rate: Rate) -> Result<World, haltere_sim::ScenarioError> {
    let mut net = Topology::new();
    let (middle, left, right) = (net.node("middle"), net.node("left"), net.node("right"));
    let links = [("left", left), ("right", right)]
        .map(|(name, station)| net.join(name, middle, station, LinkConfig::default(), LinkConfig::default()));
    net.share(Shared { name: "bus".into(), links: links.to_vec() });
    let to = Remote { address: net.addresses(right)[0], port: Port(7) };
    let source = Source::new(Box::new(Stairs(0)), 972, to, Some(5), Time::NEVER);
    let spawns = vec![
        Spawn::client(left, Box::new(source), Box::new(Datagrams), Time::ZERO),
        Spawn::server(right, Box::new(Sink::new(None)), Box::new(Datagrams), vec![Port(7)]),
    ];
    let media: Media = vec![("topology.bus".into(), Box::new(Bus { rate }))];
    let elements = elements((&net, &media), &[left, right].into(), |_| false, &Streams::new(1, 0))?;
    Ok(World::new(net, elements, spawns, None))
}

#[test]
fn a_load_from_outside_crosses_a_medium_from_outside() {
    let mut world = world(Rate::from_bps(100_000_000)).unwrap();
    world.run(Time::ZERO + Span::from_secs(1), |_, _| false).unwrap();
    assert!(world.conserves());
    let [source, sink] = world.processes() else { panic!("there are two processes") };
    let Report::Sourced(sourced) = source.report() else { panic!("{:?}", source.report()) };
    assert_eq!((sourced.packets, sourced.rounds), (1 + 2 + 3 + 4 + 5, 5));
    assert_eq!(sink.stats().received_packets, 15);
    // Each packet of 1000 bytes is on the bus twice, for 80 us.
    let [bus] = world.elements() else { panic!("the links share one element") };
    let seen = bus.medium().unwrap();
    assert_eq!((seen.frames, seen.busy), (30, Span::from_micros(30 * 80)));
}

#[test]
fn a_wrong_medium_from_outside_is_named_by_its_field() {
    let said = world(Rate::from_bps(0)).err().map(|error| error.path);
    assert_eq!(said.as_deref(), Some("topology.bus.rate"));
}
