//! CPU time of the ten shortest loopless paths of a pair, in graphs as large as the ones of 2006: `shortest [PAIRS]`.
//!
//! Two kinds: Barabási-Albert's, where a new node joins by attachment to others in proportion to their links, and an
//! AS-like one, where the number of links a node brings is heavy-tailed too and most bring one or two.

use cpu_time::ProcessTime;
use haltere_net::rng::{Stream, Streams};
use haltere_paths::graph::{Graph, Search, Tree, difference};

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
    }
    Ok(())
}
