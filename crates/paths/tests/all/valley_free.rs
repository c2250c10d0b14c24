//! The K shortest valley-free paths against all of them, found one by one.

use haltere_paths::graph::valley_free::Relation;
use haltere_paths::graph::{Cost, Finder, GraphError, Link, Network, Target};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Links = Vec<(u32, u32, u32, Relation)>;
/// Cost and relation of the link from one node to another, in both directions.
type Known = BTreeMap<(u32, u32), (u64, Relation)>;

fn relations() -> impl Strategy<Value = Relation> {
    use Relation::{Down, Free, Peer, Refused, Up};
    // Few are free and refused: most paths of small graphs would be allowed, or none.
    prop_oneof![3 => Just(Up), 3 => Just(Down), 2 => Just(Peer), 2 => Just(Free), 1 => Just(Refused)]
}

fn graphs() -> impl Strategy<Value = (u32, Links)> {
    (2u32..9).prop_flat_map(|nodes| {
        let costs = prop_oneof![Just(1u32..2), Just(1u32..4), Just(1u32..1000)];
        let links =
            costs.prop_flat_map(move |costs| prop::collection::vec((0..nodes, 0..nodes, costs, relations()), 0..26));
        (Just(nodes), links)
    })
}

/// One link between each two nodes, the first of those that were drawn.
fn known(links: &Links) -> Known {
    let mut known = Known::new();
    for &(a, b, cost, relation) in links.iter().filter(|(a, b, ..)| a != b) {
        if !known.contains_key(&(a, b)) {
            known.insert((a, b), (u64::from(cost), relation));
            known.insert((b, a), (u64::from(cost), relation.reversed()));
        }
    }
    known
}

/// The network by delay, which may be of any size where hops end at 255.
fn network(nodes: u32, known: &Known) -> Network {
    let each = || known.iter().filter(|((a, b), _)| a < b);
    let links: Vec<Link> =
        each().map(|(&(a, b), &(cost, _))| Link { a, b, hops: 1, delay_us: Some(cost as u32) }).collect();
    let relations: Vec<(u32, u32, Relation)> = each().map(|(&(a, b), &(_, relation))| (a, b, relation)).collect();
    Network::new(nodes, &links, Cost::Delay).unwrap().under(&relations).unwrap()
}

/// Gao's rule as she states it: uphill links, then at most one between peers, then downhill links.
fn valley_free(known: &Known, path: &[u32]) -> bool {
    let relations = path.windows(2).map(|ends| known[&(ends[0], ends[1])].1);
    let relations: Vec<Relation> = relations.filter(|&one| one != Relation::Free).collect();
    let up = relations.iter().take_while(|&&one| one == Relation::Up).count();
    let peers = relations[up..].iter().take_while(|&&one| one == Relation::Peer).count();
    peers <= 1 && relations[up + peers..].iter().all(|&one| one == Relation::Down)
}

/// All loopless paths that begin with `path` and end at `target`, each with its cost.
fn all(known: &Known, path: &mut Vec<u32>, cost: u64, target: u32, found: &mut Vec<(u64, Vec<u32>)>) {
    let last = path[path.len() - 1];
    if last == target {
        return found.push((cost, path.clone()));
    }
    for (&(_, next), (link, _)) in known.range((last, 0)..=(last, u32::MAX)) {
        if !path.contains(&next) {
            path.push(next);
            all(known, path, cost + link, target, found);
            path.pop();
        }
    }
}

fn paths(finder: &mut Finder, network: &Network, ends: (u32, u32), k: usize) -> Vec<(u64, Vec<u32>)> {
    let mut found = Vec::new();
    finder.each(&Target::new(network, ends.1), ends.0, k, |nodes, cost| found.push((cost, nodes.to_vec())));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn they_are_the_cheapest_of_all_that_are_valley_free((nodes, links) in graphs(), k in 1usize..40) {
        let known = known(&links);
        let network = network(nodes, &known);
        let mut finder = Finder::new();
        for start in 0..nodes {
            let found = paths(&mut finder, &network, (start, 0), k);
            let mut every = Vec::new();
            all(&known, &mut vec![start], 0, 0, &mut every);
            every.retain(|(_, path)| valley_free(&known, path));
            every.sort_unstable();
            let costs: Vec<u64> = every.iter().map(|(cost, _)| *cost).take(k).collect();
            prop_assert_eq!(found.iter().map(|(cost, _)| *cost).collect::<Vec<_>>(), costs);
            // Each is one of them, with its own cost, and none comes twice.
            let mut sorted = found.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), found.len());
            prop_assert!(found.iter().all(|one| every.binary_search(one).is_ok()));
        }
    }

    #[test]
    fn within_one_as_they_are_the_unconstrained_ones((nodes, links) in graphs()) {
        let free: Links = links.into_iter().map(|(a, b, cost, _)| (a, b, cost, Relation::Free)).collect();
        let known = known(&free);
        let under = network(nodes, &known);
        let links: Vec<Link> = known
            .iter()
            .filter(|((a, b), _)| a < b)
            .map(|(&(a, b), &(cost, _))| Link { a, b, hops: 1, delay_us: Some(cost as u32) })
            .collect();
        let plain = Network::new(nodes, &links, Cost::Delay).unwrap();
        let mut finder = Finder::new();
        for start in 0..nodes {
            // All of them, as the order of equal ones is each search's own.
            let mut each = [&under, &plain].map(|network| paths(&mut finder, network, (start, 0), usize::MAX));
            each.iter_mut().for_each(|found| found.sort_unstable());
            prop_assert_eq!(&each[0], &each[1]);
        }
    }
}

/// Two customers of two providers that are peers: the way through a customer is shorter, and closed.
#[test]
fn a_customer_is_no_transit() {
    let links = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 2), (1, 5), (5, 6), (6, 2)];
    let known: Known = links
        .iter()
        .flat_map(|&(a, b)| {
            let relation = match (a, b) {
                (0, 1) | (4, 2) => Relation::Up,
                (2, 3) | (1, 4) => Relation::Down,
                (5, 6) => Relation::Peer,
                (1, 2) => Relation::Refused,
                _ => Relation::Free,
            };
            [((a, b), (1, relation)), ((b, a), (1, relation.reversed()))]
        })
        .collect();
    let found = paths(&mut Finder::new(), &network(7, &known), (0, 3), 10);
    assert_eq!(found, [(5, vec![0, 1, 5, 6, 2, 3])]);
}

/// Large graphs, on which the search pauses, and runs from both ends: with free links alone the costs are those of the
/// unconstrained search, and under a policy no worse than a blind walk over the answer shows.
#[test]
fn large_graphs_keep_costs_and_policy() {
    let mut stream = haltere_net::rng::Streams::new(5, 0).named("links");
    let mut known = Known::new();
    for b in 1..600u32 {
        for _ in 0..2 {
            // A lower number is nearer to the top.
            let a = stream.below(u64::from(b)) as u32;
            let relation = if stream.below(8) == 0 { Relation::Peer } else { Relation::Down };
            let cost = 1 + stream.below(3);
            known.entry((a, b)).or_insert((cost, relation));
            let of_pair = known[&(a, b)];
            known.insert((b, a), (of_pair.0, of_pair.1.reversed()));
        }
    }
    let under = network(600, &known);
    let free: Known = known.iter().map(|(&ends, &(cost, _))| (ends, (cost, Relation::Free))).collect();
    let all_free = network(600, &free);
    let links: Vec<Link> = known
        .iter()
        .filter(|((a, b), _)| a < b)
        .map(|(&(a, b), &(cost, _))| Link { a, b, hops: 1, delay_us: Some(cost as u32) })
        .collect();
    let plain = Network::new(600, &links, Cost::Delay).unwrap();
    let (mut finder, mut longer) = (Finder::new(), 0);
    for start in (1..600).step_by(7) {
        let costs = |network: &Network, finder: &mut Finder| -> Vec<u64> {
            paths(finder, network, (start, 599), 12).into_iter().map(|(cost, _)| cost).collect()
        };
        let unconstrained = costs(&plain, &mut finder);
        assert_eq!(costs(&all_free, &mut finder), unconstrained);
        let found = paths(&mut finder, &under, (start, 599), 12);
        assert!(found.iter().all(|(_, path)| valley_free(&known, path)));
        assert!(found.iter().zip(&unconstrained).all(|((cost, _), least)| cost >= least));
        longer += usize::from(found.iter().zip(&unconstrained).any(|((cost, _), least)| cost > least));
        // The other way round it costs as much.
        let back = paths(&mut finder, &under, (599, start), 12);
        assert_eq!(back.iter().map(|one| one.0).collect::<Vec<_>>(), found.iter().map(|one| one.0).collect::<Vec<_>>());
    }
    assert!(longer > 20, "the policy closes no path: {longer}");
}

#[test]
fn nowhere_and_no_distance_are_no_special_cases() {
    let known = known(&vec![(0, 1, 1, Relation::Up)]);
    let network = network(3, &known);
    let mut finder = Finder::new();
    assert_eq!(paths(&mut finder, &network, (2, 0), 5), []);
    assert_eq!(paths(&mut finder, &network, (9, 0), 5), [], "no such node");
    assert_eq!(paths(&mut finder, &network, (0, 9), 5), [], "no such root");
    assert_eq!(paths(&mut finder, &network, (0, 0), 5), [(0, vec![0])]);
    assert_eq!(paths(&mut finder, &network, (1, 0), 0), []);
}

#[test]
fn relations_of_nodes_that_do_not_exist_are_refused() {
    let link = Link { a: 0, b: 1, hops: 1, delay_us: None };
    let network = Network::new(2, &[link], Cost::Hops).unwrap();
    let refused = network.under(&[(0, 1, Relation::Up), (1, 2, Relation::Up)]).unwrap_err();
    assert_eq!(refused, GraphError::NoSuchNode(1));
}
