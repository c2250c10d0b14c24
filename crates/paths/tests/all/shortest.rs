//! The K shortest loopless paths against all of them, found one by one.

use haltere_paths::graph::{Graph, Guide, Route, Search, Tree};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Links = Vec<(u32, u32, u32)>;

fn graphs() -> impl Strategy<Value = (u32, Links)> {
    (2u32..9).prop_flat_map(|nodes| {
        let costs = prop_oneof![Just(1u32..2), Just(1u32..4), Just(1u32..1000)];
        let links = costs.prop_flat_map(move |costs| prop::collection::vec((0..nodes, 0..nodes, costs), 0..22));
        (Just(nodes), links)
    })
}

/// The cheapest link between each two nodes, in both directions.
fn costs(links: &Links) -> BTreeMap<(u32, u32), u64> {
    let mut costs = BTreeMap::new();
    for &(a, b, cost) in links.iter().filter(|(a, b, _)| a != b) {
        for ends in [(a, b), (b, a)] {
            let least = costs.entry(ends).or_insert(u64::MAX);
            *least = u64::from(cost).min(*least);
        }
    }
    costs
}

/// The costs of all loopless paths that begin with `path` and end at `target`.
fn all(costs: &BTreeMap<(u32, u32), u64>, path: &mut Vec<u32>, cost: u64, target: u32, found: &mut Vec<u64>) {
    let last = path[path.len() - 1];
    if last == target {
        return found.push(cost);
    }
    for (&(_, next), link) in costs.range((last, 0)..=(last, u32::MAX)) {
        if !path.contains(&next) {
            path.push(next);
            all(costs, path, cost + link, target, found);
            path.pop();
        }
    }
}

fn check(costs: &BTreeMap<(u32, u32), u64>, routes: &[Route], start: u32, target: u32) {
    for (i, route) in routes.iter().enumerate() {
        assert_eq!((route.nodes[0], route.nodes[route.nodes.len() - 1]), (start, target));
        assert_eq!(route.nodes.windows(2).map(|w| costs[&(w[0], w[1])]).sum::<u64>(), route.cost, "{route:?}");
        let mut nodes = route.nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), route.nodes.len(), "a loop: {route:?}");
        assert!(!routes[..i].iter().any(|r| r.nodes == route.nodes), "twice: {route:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn they_are_the_cheapest_of_all((nodes, links) in graphs(), k in 1usize..40) {
        let graph = Graph::new(nodes, &links).unwrap();
        let costs = costs(&links);
        let mut search = Search::new();
        let tree = Tree::new(&graph, 0);
        for start in 0..nodes {
            let routes = search.shortest(&tree, start, k);
            check(&costs, &routes, start, 0);
            let mut found = Vec::new();
            all(&costs, &mut vec![start], 0, 0, &mut found);
            found.sort_unstable();
            found.truncate(k);
            prop_assert_eq!(routes.iter().map(|r| r.cost).collect::<Vec<_>>(), found);
        }
    }
}

/// The usual example of Yen's algorithm, with its links open both ways: the second costs 7, and so does D-E-F now.
#[test]
fn the_literatures_example() {
    // c d e f g h
    let links = [(0, 1, 3), (0, 2, 2), (1, 3, 4), (2, 1, 1), (2, 3, 2), (2, 4, 3), (3, 4, 2), (3, 5, 1), (4, 5, 2)];
    let graph = Graph::new(6, &links).unwrap();
    let tree = Tree::new(&graph, 5);
    let routes = Search::new().shortest(&tree, 0, 3);
    let cheapest: Vec<u64> = routes.iter().map(|r| r.cost).collect();
    assert_eq!(
        (cheapest.as_slice(), routes[0].nodes.as_slice()),
        ([5u64, 7, 7].as_slice(), [0u32, 2, 3, 5].as_slice())
    );
    assert_eq!(tree.distance(0), Some(5));
}

#[test]
fn nowhere_and_no_distance_are_no_special_cases() {
    let graph = Graph::new(3, &[(0, 1, 1)]).unwrap();
    let tree = Tree::new(&graph, 0);
    let mut search = Search::new();
    assert_eq!(search.shortest(&tree, 2, 5), []);
    assert_eq!(search.shortest(&tree, 9, 5), [], "no such node");
    assert_eq!(search.shortest(&tree, 0, 5), [Route { nodes: vec![0], cost: 0 }]);
    assert_eq!(search.shortest(&tree, 1, 0), []);
}

/// Yen's algorithm as it was published, with a search of its own for every deviation: slow, and nothing to go wrong.
fn plain(costs: &BTreeMap<(u32, u32), u64>, start: u32, target: u32, k: usize) -> Vec<u64> {
    let shortest = |beginning: &[u32], taken: &BTreeSet<u32>| -> Option<(u64, Vec<u32>)> {
        let from = beginning[beginning.len() - 1];
        let mut queue = BTreeSet::from([(0u64, vec![from])]);
        let mut done: BTreeSet<u32> = beginning.iter().copied().filter(|&n| n != from).collect();
        while let Some((cost, path)) = queue.pop_first() {
            let last = path[path.len() - 1];
            if last == target {
                return Some((cost, path));
            }
            if done.insert(last) {
                for (&(_, next), link) in costs.range((last, 0)..=(last, u32::MAX)) {
                    let refused = path.len() == 1 && taken.contains(&next);
                    if !refused && !done.contains(&next) {
                        queue.insert((cost + link, [path.as_slice(), &[next]].concat()));
                    }
                }
            }
        }
        None
    };
    let length = |path: &[u32]| path.windows(2).map(|w| costs[&(w[0], w[1])]).sum::<u64>();
    let mut given: Vec<Vec<u32>> = Vec::new();
    let mut waiting: BTreeSet<(u64, Vec<u32>)> = shortest(&[start], &BTreeSet::new()).into_iter().collect();
    while given.len() < k
        && let Some((_, path)) = waiting.pop_first()
    {
        for i in 0..path.len() - 1 {
            let taken = given.iter().chain([&path]).filter(|p| p.starts_with(&path[..=i])).map(|p| p[i + 1]).collect();
            if let Some((_, rest)) = shortest(&path[..=i], &taken) {
                let whole = [&path[..i], &rest].concat();
                waiting.insert((length(&whole), whole));
            }
        }
        given.push(path);
    }
    given.iter().map(|path| length(path)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Large enough for searches to be put off and begun anew, with hubs, and with stubs that hang by a link or two.
    #[test]
    fn in_larger_graphs_they_cost_what_the_plain_algorithm_finds(
        joins in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 30..120),
        greatest in prop_oneof![Just(1u32), Just(5), Just(10_000)],
        k in 1usize..25,
    ) {
        let mut links: Links = vec![(0, 1, 1)];
        for (i, (a, b, twice)) in joins.iter().enumerate() {
            let node = i as u32 + 2;
            // Ends of links, so that a node with many gets more.
            let other = |at: &prop::sample::Index| { let l = links[at.index(links.len())]; if i % 2 == 0 { l.0 } else { l.1 } };
            let (first, second) = (other(a), other(b));
            let cost = |x: usize| (x as u32).wrapping_mul(2_654_435_761) % greatest + 1;
            links.push((node, first, cost(i + 1)));
            if *twice {
                links.push((node, second, cost(i + 1000)));
            }
        }
        let nodes = joins.len() as u32 + 2;
        let graph = Graph::new(nodes, &links).unwrap();
        let costs = costs(&links);
        let mut search = Search::new();
        for target in [0, nodes / 2, nodes - 1] {
            let tree = Tree::new(&graph, target);
            for start in [1, nodes / 3, nodes - 2] {
                let routes = search.shortest(&tree, start, k);
                check(&costs, &routes, start, target);
                prop_assert_eq!(routes.iter().map(|r| r.cost).collect::<Vec<_>>(), plain(&costs, start, target, k));
            }
        }
    }
}
