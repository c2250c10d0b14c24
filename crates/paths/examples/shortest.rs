//! CPU time of the ten shortest loopless paths of a pair, in graphs as large as the ones of 2006: `shortest [PAIRS]`.
//!
//! Two kinds: Barabási-Albert's, where a new node joins by attachment to others in proportion to their links, and an
//! AS-like one, where the number of links a node brings is heavy-tailed too and most bring one or two. After that, as many
//! pairs with all that is measured of paths, on two threads.

use cpu_time::ProcessTime;
use haltere_net::rng::{Stream, Streams};
use haltere_paths::graph::routes::{draw, routes};
use haltere_paths::graph::{Cost, Graph, Link, Network, Pairs, Places, Progress, Search, Tree, difference};
use std::collections::BTreeSet;

const NODES: u32 = 178_000;
const LINKS: usize = 475_000;

/// Grows a graph by preferential attachment; `brings` says how many links a new node has.
fn grow(stream: &mut Stream, mut brings: impl FnMut(&mut Stream) -> usize) -> Vec<(u32, u32)> {
    let mut links = vec![(0, 1), (1, 2), (2, 0)];
    let mut ends: Vec<u32> = links.iter().flat_map(|&(a, b)| [a, b]).collect();
    for node in 3..NODES {
        for _ in 0..brings(stream) {
            let other = ends[stream.below(ends.len() as u64) as usize];
            if other != node {
                links.push((node, other));
                ends.extend([node, other]);
            }
        }
        if ends[ends.len() - 2] != node {
            links.push((node, 0));
            ends.extend([node, 0]);
        }
    }
    while links.len() < LINKS {
        let [a, b] = [(); 2].map(|()| ends[stream.below(ends.len() as u64) as usize]);
        links.push((a, b));
    }
    links
}

fn measure(name: &str, graph: &Graph, pairs: usize, stream: &mut Stream) {
    let roots = 10;
    let (mut cost, mut paths, mut differ, mut trees, mut searches) = (0, 0usize, 0.0, 0.0, 0.0);
    let mut search = Search::new();
    for _ in 0..roots {
        #[allow(clippy::disallowed_methods)] // A bench measures this machine.
        let start = ProcessTime::now();
        let tree = Tree::new(graph, stream.below(u64::from(NODES)) as u32);
        trees += start.elapsed().as_secs_f64();
        #[allow(clippy::disallowed_methods)] // A bench measures this machine.
        let start = ProcessTime::now();
        for _ in 0..pairs / roots {
            let mut first: Vec<u32> = Vec::new();
            search.each(&tree, stream.below(u64::from(NODES)) as u32, 10, |nodes, c| {
                (cost, paths) = (cost + c, paths + 1);
                if first.is_empty() {
                    first.extend(nodes);
                } else {
                    differ += difference::relative(&first, nodes);
                }
            });
        }
        searches += start.elapsed().as_secs_f64();
    }
    println!(
        "{name}: {:.4} ms a pair and {:.0} ms a root ({} nodes, {} links, {paths} paths, mean cost {:.2}, difference {:.2})",
        1e3 * searches / pairs as f64,
        1e3 * trees / roots as f64,
        graph.nodes(),
        graph.links(),
        cost as f64 / paths as f64,
        differ / paths as f64,
    );
}

/// All measures of as many pairs from ten sources.
fn measure_routes(
    name: &str,
    links: &[Link],
    pairs: usize,
    stream: &mut Stream,
) -> Result<(), Box<dyn std::error::Error>> {
    let [latitudes, longitudes] = [90.0, 180.0].map(|most| {
        let some = |stream: &mut Stream| if stream.chance(0.9) { most * (2.0 * stream.unit() - 1.0) } else { f64::NAN };
        (0..NODES).map(|_| some(stream)).collect::<Vec<f64>>()
    });
    let places = Places::new(&latitudes, &longitudes)?;
    let nodes: Vec<u32> = (0..NODES).collect();
    let drawn = draw(&nodes, 10 + pairs / 10, stream);
    #[allow(clippy::disallowed_methods)] // A bench measures this machine.
    let (start, clock) = (ProcessTime::now(), std::time::Instant::now());
    let network = Network::new(NODES, links, Cost::Hops)?;
    let ask = Pairs { sources: &drawn[..10], destinations: &drawn[10..], k: 10 };
    let rows = routes(&network, Some(&places), &ask, 2, &Progress::default());
    println!(
        "{name}, {pairs} pairs with all measures, 2 threads: {:.2} s of CPU, {:.2} s in all ({} links, {} paths, mean hops {:.2})",
        start.elapsed().as_secs_f64(),
        clock.elapsed().as_secs_f64(),
        network.graph().links(),
        rows.len(),
        rows.iter().map(|row| f64::from(row.hops)).sum::<f64>() / rows.len() as f64,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pairs = std::env::args().nth(1).map_or(Ok(10_000), |n| n.parse())?;
    let mut stream = Streams::new(1, 0).named("graph");
    let heavy = |stream: &mut Stream| (libm::pow(1.0 - stream.unit(), -0.8) as usize).min(200);
    let kinds = [("AS-like", grow(&mut stream, heavy)), ("Barabási-Albert", grow(&mut stream, |_| 2))];
    for (name, links) in kinds {
        let mut costed = |cost: fn(&mut Stream) -> u32| -> Vec<(u32, u32, u32)> {
            links.iter().map(|&(a, b)| (a, b, cost(&mut stream))).collect()
        };
        let (unit, delay) = (costed(|_| 1), costed(|s| 1 + (-libm::log(1.0 - s.unit()) * 10_000.0) as u32));
        measure(&format!("{name}, unit cost"), &Graph::new(NODES, &unit)?, pairs, &mut stream);
        measure(&format!("{name}, delay cost"), &Graph::new(NODES, &delay)?, pairs, &mut stream);
        let ends: BTreeSet<_> = links.iter().filter(|(a, b)| a != b).map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let link = |(a, b)| Link { a, b, hops: 1, delay_us: Some(1 + (a ^ b) % 20_000) };
        measure_routes(name, &ends.into_iter().map(link).collect::<Vec<_>>(), pairs, &mut stream)?;
    }
    Ok(())
}
