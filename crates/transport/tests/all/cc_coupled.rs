//! Coupled congestion controls over a small model of links: a flow's window is one round trip's data, a link that is filled
//! beyond its queue loses packets at random, and what does not fit in its capacity lengthens the RTT.

use crate::common;

use common::rounds::{Grain, Rounds};
use haltere_net::rng::{Stream, Streams};
use haltere_net::{PathId, Span, Time};
use haltere_transport::Role;
use haltere_transport::cc::{
    Ack, Algorithm, Arithmetic, Config, Congestion, CongestionController, Established, Phase, RenoFriendly, Trigger,
};
use haltere_transport::path::{PathState, PathView};
use haltere_transport::recovery::RateSample;
use proptest::collection;
use proptest::prelude::*;

const MSS: u64 = 1000;
/// LIA, OLIA and BALIA.
const COUPLED: [&str; 3] = ["lia", "olia", "balia"];

/// A link: packets a second, RTT without a queue in ms, and packets that its queue holds.
#[derive(Clone, Copy)]
struct Link {
    rate: f64,
    rtt_ms: f64,
    queue: f64,
}

/// A subflow: the link that it takes and its connection.
struct Subflow {
    link: usize,
    connection: usize,
    cc: Box<dyn CongestionController>,
    /// When its round ends, ms.
    until: f64,
    rtt_ms: f64,
    delivered: u64,
    counted: u64,
    losses: (u64, u64),
}

struct Net {
    links: Vec<Link>,
    flows: Vec<Subflow>,
    dice: Stream,
}

impl Net {
    /// Subflows given as algorithm, link and connection.
    fn new(links: &[Link], flows: &[(&str, usize, usize)], seed: u64) -> Net {
        let subflow = |(n, (name, link, connection)): (usize, &(&str, usize, usize))| {
            let mut cc = Algorithm::named(name).unwrap().build(Config {
                role: Role::Server,
                mss: MSS,
                wire: MSS + 52,
                grain: MSS,
                connections: 1,
                initial_window: 10 * MSS,
                slow_start: None,
                reno_friendly: RenoFriendly::default(),
                arithmetic: Arithmetic::default(),
                paced: false,
                tick: Span::ZERO,
                phase: Span::ZERO,
                stream: Streams::new(seed, 0).named("cc"),
                values: &[],
                faults: None,
            });
            let rtt_ms = links[*link].rtt_ms;
            cc.on_established(&Established { now: Time::ZERO, rtt: Some(span(rtt_ms)) });
            // Rounds of equal lengths begin at different times.
            let until = rtt_ms * (1.0 + n as f64 / flows.len() as f64);
            let (link, connection) = (*link, *connection);
            Subflow { link, connection, cc, until, rtt_ms, delivered: 0, counted: 0, losses: (0, 0) }
        };
        let dice = Streams::new(seed, 0).named("losses");
        Net { links: links.to_vec(), flows: flows.iter().enumerate().map(subflow).collect(), dice }
    }

    /// The sum of all windows on a link, packets.
    fn load(&self, link: usize) -> f64 {
        let on = self.flows.iter().filter(|flow| flow.link == link);
        on.map(|flow| flow.cc.window() as f64 / MSS as f64).sum()
    }

    fn views(&self, own: usize) -> Vec<PathView> {
        let connection = self.flows[own].connection;
        let view = |(n, flow): (usize, &Subflow)| PathView {
            id: PathId(n as u8),
            state: PathState::Active,
            own: n == own,
            window: flow.cc.window(),
            ssthresh: flow.cc.ssthresh(),
            in_flight: flow.cc.window(),
            queued: 0,
            capacity: u64::MAX,
            overhead: 0,
            mss: MSS,
            srtt: Some(span(flow.rtt_ms)),
            min_rtt: Some(span(self.links[flow.link].rtt_ms)),
            rtt_variation: Span::ZERO,
            delivery_rate: None,
            pacing_rate: None,
            paced_until: Time::ZERO,
            in_slow_start: flow.cc.in_slow_start(),
            since_loss: flow.delivered - flow.losses.1,
            between_losses: flow.losses.1 - flow.losses.0,
        };
        let siblings = self.flows.iter().enumerate().filter(|(_, flow)| flow.connection == connection);
        let views: Vec<_> = siblings.map(view).collect();
        if views.len() > 1 { views } else { Vec::new() }
    }

    /// The round of the flow that ends first: its window is acknowledged, and it loses if the link is too full.
    fn step(&mut self) -> f64 {
        let n = (0..self.flows.len()).min_by(|&a, &b| self.flows[a].until.total_cmp(&self.flows[b].until)).unwrap();
        let (link, load) = (self.links[self.flows[n].link], self.load(self.flows[n].link));
        let fits = link.rate * link.rtt_ms / 1000.0;
        let now = Time::ZERO + span(self.flows[n].until);
        let packets = self.flows[n].cc.window() / MSS;
        for _ in 0..packets {
            let views = self.views(n);
            let flow = &mut self.flows[n];
            flow.delivered += MSS;
            let rtt = Some(span(flow.rtt_ms));
            flow.cc.on_ack(&ack(now, rtt, span(link.rtt_ms), flow.delivered, packets), &views);
        }
        let excess = (load - fits - link.queue).max(0.0) / load;
        let lost = (0..packets).filter(|_| self.dice.chance(excess)).count() as u64;
        let flow = &mut self.flows[n];
        if lost > 0 {
            flow.losses = (flow.losses.1, flow.delivered);
            let event = Congestion {
                now,
                trigger: Trigger::Loss,
                new_episode: true,
                in_flight: packets * MSS,
                lost: lost * MSS,
            };
            flow.cc.on_congestion(&event);
        }
        flow.rtt_ms = link.rtt_ms * (load / fits).max(1.0);
        flow.until += flow.rtt_ms;
        flow.until
    }

    /// Packets a second of each connection, over `seconds` after a tenth as many to settle.
    fn rates(&mut self, seconds: f64) -> Vec<f64> {
        while self.step() < seconds * 100.0 {}
        self.flows.iter_mut().for_each(|flow| flow.counted = flow.delivered);
        while self.step() < seconds * 1100.0 {}
        let connections = self.flows.iter().map(|flow| flow.connection).max().map_or(0, |last| last + 1);
        let mut rates = vec![0.0; connections];
        for flow in &self.flows {
            rates[flow.connection] += (flow.delivered - flow.counted) as f64 / MSS as f64 / seconds;
        }
        rates
    }
}

fn span(ms: f64) -> Span {
    Span::from_secs_f64(ms / 1000.0)
}

fn ack(now: Time, rtt: Option<Span>, min_rtt: Span, delivered: u64, packets: u64) -> Ack {
    let prior_delivered = delivered.saturating_sub(packets * MSS);
    let rate = RateSample {
        delivered: delivered - prior_delivered,
        interval: rtt.unwrap_or(min_rtt),
        prior_delivered,
        in_flight: packets * MSS,
        lost: 0,
        app_limited: false,
    };
    Ack {
        now,
        delivered: MSS,
        lost: 0,
        rtt,
        srtt: rtt,
        min_rtt: Some(min_rtt),
        in_flight: (packets - 1) * MSS,
        prior_in_flight: packets * MSS,
        window_limited: true,
        may_grow: true,
        phase: Phase::Open,
        acked_to: delivered,
        sent_to: delivered + packets * MSS,
        rate,
        total_delivered: delivered,
        total_lost: 0,
        next_departure: now,
        delayed: false,
        stamps: None,
    }
}

const fn link(rate: f64, rtt_ms: f64, queue: f64) -> Link {
    Link { rate, rtt_ms, queue }
}

#[test]
fn on_one_bottleneck_two_subflows_take_no_more_than_a_single_flow() {
    for name in COUPLED {
        for (seed, shared) in
            [link(1000.0, 50.0, 50.0), link(4000.0, 20.0, 40.0), link(500.0, 200.0, 100.0)].into_iter().enumerate()
        {
            let flows = [(name, 0, 0), (name, 0, 0), ("reno", 0, 1)];
            let rates = Net::new(&[shared], &flows, seed as u64).rates(600.0);
            assert!(rates[0] <= 1.2 * rates[1], "{name} {seed}: {rates:?}");
            assert!(rates[0] >= 0.5 * rates[1], "{name} {seed} starves: {rates:?}");
        }
    }
    // Uncoupled subflows take nearly twice as much: the model shows the difference.
    let uncoupled =
        Net::new(&[link(1000.0, 50.0, 50.0)], &[("reno", 0, 0), ("reno", 0, 0), ("reno", 0, 1)], 1).rates(600.0);
    assert!(uncoupled[0] > 1.6 * uncoupled[1], "{uncoupled:?}");
}

#[test]
fn on_disjoint_paths_a_connection_gets_at_least_nine_tenths_of_the_better_path() {
    let pairs = [
        (link(1000.0, 50.0, 50.0), link(1000.0, 50.0, 50.0)),
        (link(2000.0, 20.0, 40.0), link(500.0, 100.0, 50.0)),
        (link(2000.0, 100.0, 200.0), link(200.0, 10.0, 10.0)),
    ];
    for name in COUPLED {
        for (seed, (a, b)) in pairs.into_iter().enumerate() {
            let rates = Net::new(&[a, b], &[(name, 0, 0), (name, 1, 0)], seed as u64).rates(600.0);
            assert!(rates[0] >= 0.9 * a.rate.max(b.rate), "{name} {seed}: {rates:?}");
        }
    }
}

#[test]
fn a_connection_leaves_the_link_that_others_crowd() {
    // One link has four other flows, the other one: equal windows would have the same share of each.
    let crowd = [link(1000.0, 50.0, 50.0), link(1000.0, 50.0, 50.0)];
    for name in COUPLED {
        let mut flows = vec![(name, 0, 0), (name, 1, 0)];
        flows.extend((1..5).map(|n| ("reno", 0, n)));
        flows.push(("reno", 1, 5));
        let mut net = Net::new(&crowd, &flows, 3);
        let rates = net.rates(600.0);
        let of = |n: usize| net.flows[n].delivered - net.flows[n].counted;
        assert!(of(1) as f64 > 2.0 * of(0) as f64, "{name}: {} and {}", of(0), of(1));
        assert!(rates[0] <= 1.2 * rates[5].max(rates[1]), "{name}: {rates:?}");
    }
}

#[test]
fn wvegas_shares_with_itself_by_connections_and_uses_disjoint_paths() {
    let shared = link(1000.0, 50.0, 100.0);
    let rates = Net::new(&[shared], &[("wvegas", 0, 0), ("wvegas", 0, 0), ("wvegas", 0, 1)], 1).rates(600.0);
    assert!(rates[0] <= 1.2 * rates[1], "{rates:?}");
    for (a, b) in
        [(link(1000.0, 50.0, 50.0), link(1000.0, 50.0, 50.0)), (link(2000.0, 20.0, 40.0), link(500.0, 100.0, 50.0))]
    {
        let rates = Net::new(&[a, b], &[("wvegas", 0, 0), ("wvegas", 1, 0)], 2).rates(600.0);
        assert!(rates[0] >= 0.9 * a.rate, "{rates:?}");
    }
}

/// Numbers of all sizes, the extreme ones included.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..2_000_000_000, 1 => Just(0), 1 => Just(1), 1 => Just(u64::MAX), 1 => any::<u64>()]
}

prop_compose! {
    fn sibling()(
        (window, in_flight, since_loss, between_losses) in (number(), number(), number(), number()),
        srtt in proptest::option::of(number()),
        state in prop_oneof![3 => Just(PathState::Active), 1 => Just(PathState::Standby), 1 => Just(PathState::Suspect)],
    ) -> PathView {
        PathView {
            id: PathId(0),
            state,
            own: false,
            window,
            ssthresh: window,
            in_flight,
            queued: 0,
            capacity: u64::MAX,
            overhead: 0,
            mss: MSS,
            srtt: srtt.map(Span::from_nanos),
            min_rtt: srtt.map(Span::from_nanos),
            rtt_variation: Span::ZERO,
            delivery_rate: None,
            pacing_rate: None,
            paced_until: Time::ZERO,
            in_slow_start: false,
            since_loss,
            between_losses,
        }
    }
}

proptest! {
    /// Whatever the other paths are like, a window grows by no more than a Reno's, and stays at two segments at least.
    #[test]
    fn no_sibling_makes_a_window_grow_faster_than_renos_or_vanish(
        others in collection::vec(sibling(), 0..4),
        own in sibling(),
        segments in 4u64..500,
        rtt_us in 1u64..10_000_000,
        grain in prop_oneof![Just(1), Just(MSS)],
    ) {
        for name in ["lia", "olia", "balia", "wvegas"] {
            let mut cc = Algorithm::named(name).unwrap().build(Config {
                role: Role::Server,
                mss: MSS,
                wire: MSS + 52,
                grain,
                connections: 1,
                initial_window: 2 * segments * MSS,
                slow_start: None,
                reno_friendly: RenoFriendly::default(),
                arithmetic: Arithmetic::default(),
                paced: false,
                tick: Span::ZERO,
                phase: Span::ZERO,
                stream: Streams::new(1, 0).named("cc"),
                values: &[],
                faults: None,
            });
            let lost = |now, in_flight| Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight, lost: MSS };
            cc.on_congestion(&lost(Time::ZERO, segments * MSS));
            let rtt = Span::from_micros(rtt_us);
            for n in 1..=2 * segments {
                let before = cc.window();
                let mut views = others.clone();
                // Its own round trips are as they are, or what the view of it says.
                let srtt = if n % 2 == 0 { own.srtt } else { Some(rtt) };
                views.push(PathView { own: true, window: before, state: PathState::Active, srtt, ..own });
                let now = Time::ZERO + rtt * n;
                cc.on_ack(&ack(now, Some(rtt), rtt, n * MSS, segments), &views);
                prop_assert!(cc.window() <= before + MSS && cc.window() >= 2 * MSS, "{name}: {before} to {}", cc.window());
            }
            // Twice a window was delivered: a Reno has gained two segments.
            let gained = cc.window().saturating_sub(segments * MSS) / MSS;
            prop_assert!(gained <= 3, "{name}: {gained} segments");
            cc.on_congestion(&lost(Time::ZERO + rtt * 1000, 0));
            prop_assert!(cc.window() >= 2 * MSS, "{name}");
        }
    }
}

/// With a single path each is Reno, in every unit of windows and through losses, timeouts, delayed ACKs and limited phases.
#[test]
fn with_one_path_they_are_reno_to_the_byte() {
    for name in COUPLED {
        for grain in [Grain::Linux, Grain::Exact] {
            let [mut it, mut reno] = [name, "newreno"].map(|name| Rounds::new(name, grain, 10, span(30.0)));
            for step in 0..60u64 {
                for path in [&mut it, &mut reno] {
                    path.per_ack = 1 + step % 3;
                    path.window_limited = step % 7 != 5;
                    path.rtt = span(30.0 + step as f64);
                    match step {
                        13 | 27 | 41 => path.lose(),
                        33 => path.time_out(),
                        50 => {
                            path.congestion(Trigger::Loss);
                            path.cc.on_undo();
                        }
                        _ => drop(path.round()),
                    }
                }
                let state = |path: &Rounds| (path.cc.window(), path.cc.ssthresh());
                assert_eq!(state(&it), state(&reno), "{name} {grain:?} at {step}");
            }
        }
    }
}
