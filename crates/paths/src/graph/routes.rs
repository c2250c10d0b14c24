//! The K shortest paths of many pairs, and the measures of each path.

use super::difference::relative;
use super::geography::{Geography, Places};
use super::{Finder, Network, Target};
use haltere_net::rng::Stream;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// How many destinations a thread takes at a time.
const CHUNK: usize = 32;

/// Which paths are asked for: from each source to each destination but itself.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// Nodes where paths begin; each costs a tree of all shortest paths.
    pub sources: &'a [u32],
    /// Nodes where they end.
    pub destinations: &'a [u32],
    /// How many paths of each pair.
    pub k: usize,
}

/// The measures of one path; a value that is not known is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Where it begins.
    pub source: u32,
    /// Where it ends.
    pub destination: u32,
    /// Which of the pair's paths it is, the shortest is 1.
    pub k: u32,
    /// Its hops.
    pub hops: u32,
    /// The sum of its links' delays, there and back, microseconds; `None` if one is not known.
    pub delay_us: Option<u64>,
    /// Its difference to the pair's first path ([`relative`]); NaN for the first path itself.
    pub difference: f64,
    /// Diversity μ of the pair: the mean difference over all pairs of its paths; NaN if there is only one.
    pub diversity: f64,
    /// Its geography.
    pub geography: Geography,
}

/// Progress of a search; other threads may read it, and may cancel the search.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of pairs that are done.
    pub pairs: AtomicU64,
    /// Set it to end the search early; the result is then incomplete.
    pub cancelled: AtomicBool,
}

/// Finds and measures the paths of all pairs, in the order of sources, destinations and k, whatever the number of
/// threads. Paths obey the network's policy, if it has one. A pair without a path, or of a node with itself, has no rows. One tree a thread is in memory at a time.
pub fn routes(
    network: &Network,
    places: Option<&Places>,
    pairs: &Pairs<'_>,
    threads: usize,
    progress: &Progress,
) -> Vec<Row> {
    let mut finders: Vec<Finder> = (0..threads.max(1)).map(|_| Finder::new()).collect();
    let mut rows = Vec::new();
    for sources in pairs.sources.chunks(finders.len()) {
        if progress.cancelled.load(Ordering::Relaxed) {
            break;
        }
        let targets = targets(network, sources);
        let work = Work { network, places, pairs, targets: &targets, next: AtomicUsize::new(0), progress };
        let mut done: Vec<(usize, Vec<Row>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = finders.iter_mut().map(|finder| scope.spawn(|| work.share(finder))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|e| resume_unwind(e))).collect()
        });
        done.sort_unstable_by_key(|(chunk, _)| *chunk);
        rows.extend(done.into_iter().flat_map(|(_, rows)| rows));
    }
    rows
}

/// Draws `n` different candidates at random, in the order in which they are drawn; all of them if there are fewer.
pub fn draw(candidates: &[u32], n: usize, stream: &mut Stream) -> Vec<u32> {
    let mut left = candidates.to_vec();
    let n = n.min(left.len());
    for i in 0..n {
        let other = i + stream.below((left.len() - i) as u64) as usize;
        left.swap(i, other);
    }
    left.truncate(n);
    left
}

/// The trees to some nodes, at once.
fn targets<'n>(network: &'n Network, roots: &[u32]) -> Vec<Target<'n>> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = roots.iter().map(|&root| scope.spawn(move || Target::new(network, root))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|e| resume_unwind(e))).collect()
    })
}

/// The state that threads share while they find the paths of some sources.
struct Work<'a> {
    network: &'a Network,
    places: Option<&'a Places>,
    pairs: &'a Pairs<'a>,
    targets: &'a [Target<'a>],
    /// The next chunk that nobody has taken.
    next: AtomicUsize,
    progress: &'a Progress,
}

impl Work<'_> {
    /// Takes chunk after chunk until there are no more.
    fn share(&self, finder: &mut Finder) -> Vec<(usize, Vec<Row>)> {
        let chunks: Vec<&[u32]> = self.pairs.destinations.chunks(CHUNK).collect();
        let (mut done, mut pair) = (Vec::new(), Pair::default());
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            let at = chunk.checked_div(chunks.len());
            let Some(target) = at.and_then(|at| self.targets.get(at)) else { return done };
            let mut rows = Vec::new();
            for &destination in chunks[chunk % chunks.len()] {
                if self.progress.cancelled.load(Ordering::Relaxed) {
                    return done;
                }
                if destination != target.root() {
                    pair.find(finder, target, destination, self.pairs.k);
                    pair.measure(self.network, self.places, &mut rows);
                }
                self.progress.pairs.fetch_add(1, Ordering::Relaxed);
            }
            done.push((chunk, rows));
        }
    }
}

/// The paths of one pair.
#[derive(Debug, Default)]
struct Pair {
    source: u32,
    destination: u32,
    /// The nodes of all paths, from destination to source.
    nodes: Vec<u32>,
    /// Where each path ends.
    ends: Vec<usize>,
}

impl Pair {
    fn find(&mut self, finder: &mut Finder, target: &Target<'_>, destination: u32, k: usize) {
        (self.source, self.destination) = (target.root(), destination);
        self.nodes.clear();
        self.ends.clear();
        finder.each(target, destination, k, |path, _| {
            self.nodes.extend_from_slice(path);
            self.ends.push(self.nodes.len());
        });
    }

    fn path(&self, i: usize) -> &[u32] {
        let begin = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.nodes[begin..self.ends[i]]
    }

    fn measure(&self, network: &Network, places: Option<&Places>, rows: &mut Vec<Row>) {
        let paths = self.ends.len();
        let begin = rows.len();
        let mut sum = 0.0;
        for i in 0..paths {
            let path = self.path(i);
            let mut difference = f64::NAN;
            // The first last, so that it is what remains.
            for j in (0..i).rev() {
                difference = relative(self.path(j), path);
                sum += difference;
            }
            let (hops, delay_us) = network.along(path);
            let unknown = Geography { path_km: f64::NAN, direct_km: f64::NAN, located: f64::NAN };
            rows.push(Row {
                source: self.source,
                destination: self.destination,
                k: i as u32 + 1,
                hops,
                delay_us,
                difference,
                diversity: f64::NAN,
                geography: places.map_or(unknown, |places| places.geography(path)),
            });
        }
        let twos = paths * paths.saturating_sub(1) / 2;
        let diversity = if twos == 0 { f64::NAN } else { sum / twos as f64 };
        rows[begin..].iter_mut().for_each(|row| row.diversity = diversity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Cost, Link};
    use haltere_net::rng::Streams;

    /// A ring of six with a chord, each link of its own delay.
    fn ring() -> Network {
        let ends = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)];
        let links: Vec<Link> =
            ends.iter().zip(1..).map(|(&(a, b), i)| Link { a, b, hops: 1, delay_us: Some(10 * i) }).collect();
        Network::new(7, &links, Cost::Hops).unwrap()
    }

    fn of(network: &Network, sources: &[u32], destinations: &[u32], k: usize, threads: usize) -> Vec<Row> {
        routes(network, None, &Pairs { sources, destinations, k }, threads, &Progress::default())
    }

    #[test]
    fn rows_tell_what_paths_are_like() {
        let rows = of(&ring(), &[0], &[0, 2, 6], 10, 2);
        // 2 1 0, then 2 3 0, then 2 3 4 5 0; to itself and to who is alone there is none.
        let told: Vec<_> = rows.iter().map(|r| (r.destination, r.k, r.hops, r.delay_us)).collect();
        assert_eq!(told, [(2, 1, 2, Some(30)), (2, 2, 2, Some(100)), (2, 3, 4, Some(180))]);
        assert!(rows[0].difference.is_nan() && rows[0].geography.located.is_nan());
        assert_eq!((rows[1].difference, rows[2].difference), (1.0 / 3.0, 3.0 / 5.0));
        let mean = (1.0 / 3.0 + 3.0 / 5.0 + 2.0 / 5.0) / 3.0;
        assert!(rows.iter().all(|r| (r.diversity - mean).abs() < 1e-15));
        assert!(of(&ring(), &[0], &[2], 1, 1)[0].diversity.is_nan());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let mut stream = Streams::new(3, 0).named("links");
        let mut links = Vec::new();
        for b in 1..300 {
            let a = stream.below(u64::from(b)) as u32;
            links.push(Link { a, b, hops: 1 + stream.below(2) as u8, delay_us: Some(1 + stream.below(90) as u32) });
        }
        for b in 2..300 {
            if links[b as usize - 1].a != b - 2 {
                links.push(Link { a: b - 2, b, hops: 1, delay_us: None });
            }
        }
        let network = Network::new(300, &links, Cost::Hops).unwrap();
        let latitudes: Vec<f64> = (0..300).map(|_| stream.unit() * 180.0 - 90.0).collect();
        let places = Places::new(&latitudes, &latitudes).unwrap();
        let destinations: Vec<u32> = (0..300).collect();
        let ask = Pairs { sources: &[5, 17, 203], destinations: &destinations, k: 10 };
        let text = |threads| format!("{:?}", routes(&network, Some(&places), &ask, threads, &Progress::default()));
        let one = text(1);
        assert!(one == text(2) && one == text(7));
        assert!(one.len() > 100_000);
    }

    #[test]
    fn whoever_waits_hears_of_progress_and_can_end_it() {
        let (network, progress) = (ring(), Progress::default());
        let ask = Pairs { sources: &[0, 1], destinations: &[0, 1, 2, 3], k: 2 };
        routes(&network, None, &ask, 2, &progress);
        assert_eq!(progress.pairs.load(Ordering::Relaxed), 8);
        progress.cancelled.store(true, Ordering::Relaxed);
        assert_eq!(routes(&network, None, &ask, 2, &progress), []);
    }

    #[test]
    fn questions_without_an_answer_are_no_special_cases() {
        assert_eq!(of(&ring(), &[], &[1], 3, 2), []);
        assert_eq!(of(&ring(), &[1], &[], 3, 2), []);
        assert_eq!(of(&ring(), &[99], &[1], 3, 0), []);
        assert_eq!(of(&ring(), &[0], &[99], 3, 1), []);
        assert_eq!(of(&ring(), &[0], &[1], 0, 1), []);
    }

    #[test]
    fn a_draw_is_without_replacement_and_repeats() {
        let candidates: Vec<u32> = (100..200).collect();
        let of = |seed, n| draw(&candidates, n, &mut Streams::new(seed, 0).named("nodes"));
        let mut all = of(1, 1000);
        all.sort_unstable();
        assert_eq!(all, candidates);
        assert_eq!(of(1, 10), of(1, 100)[..10]);
        assert_ne!(of(1, 10), of(2, 10));
        assert!(draw(&[], 3, &mut Streams::new(1, 0).named("nodes")).is_empty());
    }
}
