//! The promises of every path scheduler, whatever paths and demands it sees.

use haltere_net::rng::Streams;
use haltere_net::{PathId, Rate, Span, Time};
use haltere_transport::path::{PathState, PathView};
use haltere_transport::scheduler::{self, Demand, PathScheduler, Pick, Scheduler};
use proptest::prelude::*;
use proptest::{collection, option};
use std::collections::VecDeque;

/// A scheduler as a connection makes it.
fn made(scheduler: Scheduler) -> Box<dyn PathScheduler> {
    scheduler.build(Streams::new(1, 0).named("scheduler"), None)
}

const NOW: Time = Time::from_nanos(5_000_000_000);

/// Numbers of all sizes, the extreme ones included.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..200_000, 1 => Just(0), 1 => Just(1), 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![4 => 0u64..500_000_000, 1 => number()].prop_map(Span::from_nanos)
}

fn state() -> impl Strategy<Value = PathState> {
    use PathState::*;
    prop_oneof![4 => Just(Active), 2 => Just(Standby), 1 => Just(Validating), 1 => Just(Suspect), 1 => Just(Abandoned)]
}

prop_compose! {
    fn view(id: u8)(
        state in state(),
        (window, ssthresh, in_flight, queued) in (number(), number(), number(), number()),
        (idle, unqueued) in (any::<bool>(), any::<bool>()),
        (capacity, mss) in (number(), prop_oneof![3 => Just(1200), 1 => number()]),
        (srtt, min_rtt, rtt_variation) in (option::of(span()), option::of(span()), span()),
        (delivery_rate, pacing_rate) in (option::of(number()), option::of(number())),
        paced_until in prop_oneof![4 => Just(0), 2 => 5_000_000_000u64..6_000_000_000, 1 => Just(u64::MAX)],
        in_slow_start in any::<bool>(),
    ) -> PathView {
        PathView {
            id: PathId(id),
            state,
            window,
            ssthresh,
            in_flight: if idle { 0 } else { in_flight },
            queued: if unqueued || idle { 0 } else { queued },
            capacity,
            mss,
            srtt,
            min_rtt,
            rtt_variation,
            delivery_rate: delivery_rate.map(Rate::from_bps),
            pacing_rate: pacing_rate.map(Rate::from_bps),
            paced_until: Time::from_nanos(paced_until),
            in_slow_start,
            ..PathView::default()
        }
    }
}

/// Up to four paths with ascending numbers.
fn views() -> impl Strategy<Value = Vec<PathView>> {
    (view(0), view(1), view(3), view(200), collection::vec(any::<bool>(), 4)).prop_map(|(a, b, c, d, keep)| {
        let kept = [a, b, c, d].into_iter().zip(keep);
        kept.filter_map(|(view, keep)| keep.then_some(view)).collect()
    })
}

prop_compose! {
    fn demand()(waiting in number(), outstanding in number(), window in number(), beyond in number()) -> Demand {
        Demand { waiting, outstanding, window, beyond }
    }
}

/// One call of a scheduler: what it sees, how much later that is, what the path takes, and whether it is blocked before.
type Call = (Vec<PathView>, Demand, Span, u64, Option<u8>);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let later = (0u64..1_000_000_000).prop_map(Span::from_nanos);
    collection::vec((views(), demand(), later, number(), option::of(0u8..4)), 1..12)
}

fn picks(scheduler: &mut dyn PathScheduler, calls: &[Call]) -> Vec<(Pick, Time, u64)> {
    let mut now = NOW;
    let mut one = |(paths, demand, later, given, blocked): &Call| {
        now += *later;
        if let Some(head) = blocked {
            scheduler.on_blocked(PathId(*head), now);
        }
        let pick = scheduler.pick(paths, demand, now);
        if let Some(id) = pick.path() {
            scheduler.on_given(id, *given, now);
        }
        (pick, now, scheduler.burst())
    };
    calls.iter().map(&mut one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// A pick is for usable paths that take data, or it is a wait, and never a wait for nothing; and it is the same each time.
    #[test]
    fn a_pick_is_for_paths_that_take_data(calls in calls()) {
        for scheduler in Scheduler::ALL {
            let name = scheduler.describe().name;
            let results = picks(&mut *made(*scheduler), &calls);
            prop_assert_eq!(&results, &picks(&mut *made(*scheduler), &calls), "{} is not deterministic", name);
            if made(*scheduler).ignores_demand() {
                let mut blind = calls.clone();
                blind.iter_mut().for_each(|call| call.1 = Demand::default());
                prop_assert_eq!(&results, &picks(&mut *made(*scheduler), &blind), "{} looks at the demand", name);
            }
            for ((paths, demand, ..), (pick, now, _)) in calls.iter().zip(&results) {
                let takes = |path: &&PathView| path.takes(*now);
                match pick {
                    Pick::On(id) | Pick::Ahead(id, _) => {
                        let picked = paths.iter().find(|path| path.id == *id);
                        prop_assert!(picked.is_some_and(|path| takes(&path)), "{name}: {picked:?}");
                    }
                    Pick::Copies(set) => {
                        let copies: Vec<_> = paths.iter().filter(|path| set.contains(path.id)).collect();
                        prop_assert!(!copies.is_empty() && copies.iter().all(takes), "{name}: {copies:?}");
                        prop_assert_eq!((0..=255).filter(|id| set.contains(PathId(*id))).count(), copies.len());
                    }
                    Pick::WaitUntil(at) => {
                        let idle = paths.iter().all(|path| !path.state.usable() || path.held() == 0);
                        let stuck = idle && demand.waiting > 0 && paths.iter().any(|path| takes(&path));
                        prop_assert!(!stuck || (*at > *now && *at != Time::NEVER), "{name} waits for ever: {paths:?}");
                    }
                }
            }
        }
    }
}

/// A path of fixed RTT and window, packets.
#[derive(Clone, Copy)]
struct Pipe {
    rtt_ms: u64,
    window: u64,
}

const MSS: u64 = 1000;

impl Pipe {
    /// A view of it with so many packets in flight.
    fn view(&self, id: PathId, packets: u64) -> PathView {
        PathView {
            id,
            window: self.window * MSS,
            ssthresh: self.window * MSS,
            in_flight: packets * MSS,
            capacity: self.window * MSS,
            mss: MSS,
            srtt: Some(Span::from_millis(self.rtt_ms)),
            min_rtt: Some(Span::from_millis(self.rtt_ms)),
            rtt_variation: Span::from_millis(1),
            ..PathView::default()
        }
    }
}

/// The outcome of a transfer over pipes.
struct Outcome {
    /// How long it took.
    ms: u64,
    /// The packets of each pipe.
    shares: Vec<u64>,
    /// For how long packets waited at the receiver for those before them, in all, if they arrive half an RTT after they were sent.
    waited_ms: u64,
}

/// A transfer of `packets` packets over pipes of fixed windows. The peer's window is `limit` packets beyond the first that is not
/// acknowledged. Packets are acknowledged an RTT after they were sent.
fn transfer(scheduler: Scheduler, pipes: &[Pipe], packets: u64, limit: u64) -> Outcome {
    let mut scheduler = made(scheduler);
    let mut flying: Vec<(u64, usize, u64)> = Vec::new();
    let mut arrived = vec![false; packets as usize];
    let mut unsent: VecDeque<u64> = (0..packets).collect();
    let (mut shares, mut told, mut next) = (vec![0; pipes.len()], None, 0);
    let mut arrivals = vec![u64::MAX; packets as usize];
    for ms in 0..1_000_000u64 {
        let now = Time::from_nanos(ms * 1_000_000);
        for (_, _, number) in flying.extract_if(.., |(at, ..)| *at <= ms) {
            arrived[number as usize] = true;
        }
        let edge = arrived.iter().position(|arrived| !arrived).map_or(packets, |first| first as u64);
        if edge == packets {
            let mut in_order = 0;
            let mut wait = |arrival: &u64| {
                in_order = in_order.max(*arrival);
                in_order - arrival
            };
            return Outcome { ms, shares, waited_ms: arrivals.iter().map(&mut wait).sum() };
        }
        while !unsent.is_empty() {
            let room = unsent.iter().take_while(|number| **number < edge + limit).count() as u64;
            if room == 0 {
                if told != Some(edge) {
                    told = Some(edge);
                    let head = flying.iter().find(|(.., number)| *number == edge).map(|(_, path, _)| *path);
                    scheduler.on_blocked(PathId(head.unwrap_or(0) as u8), now);
                }
                break;
            }
            let view = |(id, pipe): (usize, &Pipe)| {
                pipe.view(PathId(id as u8), flying.iter().filter(|(_, path, _)| *path == id).count() as u64)
            };
            let views: Vec<_> = pipes.iter().enumerate().map(view).collect();
            let outstanding = (packets - unsent.len() as u64).saturating_sub(edge) * MSS;
            let window = (edge + limit).saturating_sub(next) * MSS;
            let demand = Demand { waiting: room * MSS, outstanding, window, beyond: 0 };
            let mut send = |id: usize, number: u64| {
                next = next.max(number + 1);
                arrivals[number as usize] = arrivals[number as usize].min(ms + pipes[id].rtt_ms / 2);
                flying.push((ms + pipes[id].rtt_ms, id, number));
                shares[id] += 1;
            };
            let pick = scheduler.pick(&views, &demand, now);
            let at = match pick {
                Pick::Ahead(_, skip) => (skip / MSS).min(room - 1) as usize,
                _ => 0,
            };
            let number = unsent[at];
            match pick {
                Pick::On(id) | Pick::Ahead(id, _) => {
                    send(usize::from(id.0), number);
                    scheduler.on_given(id, MSS, now);
                }
                Pick::Copies(set) => {
                    (0..pipes.len()).filter(|id| set.contains(PathId(*id as u8))).for_each(|id| send(id, number));
                }
                Pick::WaitUntil(_) => break,
            }
            unsent.remove(at);
        }
    }
    panic!("{} of {packets} packets not sent", unsent.len());
}

/// Paths of 10, 100 and 40 ms; the first delivers a packet a millisecond, the others 0.2 and 0.1.
const UNLIKE: [Pipe; 3] =
    [Pipe { rtt_ms: 10, window: 10 }, Pipe { rtt_ms: 100, window: 20 }, Pipe { rtt_ms: 40, window: 4 }];

#[test]
fn every_scheduler_finishes_over_unlike_paths() {
    for scheduler in Scheduler::ALL {
        for limit in [5, 40, 10_000] {
            let shares = transfer(*scheduler, &UNLIKE, 2000, limit).shares;
            let sent: u64 = shares.iter().sum();
            let once = *scheduler != scheduler::REDUNDANT;
            assert!(if once { sent == 2000 } else { sent > 2000 }, "{scheduler:?}: {shares:?}");
        }
    }
}

/// The papers' claim: where a slow path blocks the connection's window, lowest RTT first loses much of the fast path.
#[test]
fn with_a_small_window_those_that_wait_are_faster_than_lowest_rtt() {
    let time = |scheduler, limit| transfer(scheduler, &UNLIKE, 2000, limit).ms;
    for scheduler in [scheduler::ECF, scheduler::BLEST, scheduler::DAPS, scheduler::OTIAS, scheduler::FDPS] {
        let (it, lowest) = (time(scheduler, 40), time(scheduler::LOWEST_RTT, 40));
        assert!(it * 10 < lowest * 8, "{scheduler:?}: {it} ms, lowest RTT first: {lowest} ms");
    }
    // Where it does not, ECF gains at the end, and BLEST does as lowest RTT first.
    let lowest = time(scheduler::LOWEST_RTT, 10_000);
    assert!(time(scheduler::ECF, 10_000) < lowest);
    assert_eq!(time(scheduler::BLEST, 10_000), lowest);
}

/// The claim of FDPS: packets arrive in order where each path carries what is in order when it arrives.
#[test]
fn with_data_from_further_back_packets_wait_less_at_the_receiver() {
    let at = |scheduler| transfer(scheduler, &UNLIKE, 2000, 10_000);
    let (it, lowest) = (at(scheduler::FDPS), at(scheduler::LOWEST_RTT));
    assert!(it.waited_ms * 5 < lowest.waited_ms, "{} ms, lowest RTT first: {} ms", it.waited_ms, lowest.waited_ms);
    assert!(it.ms <= lowest.ms, "{} ms, lowest RTT first: {} ms", it.ms, lowest.ms);
}
