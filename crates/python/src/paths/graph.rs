//! The graph of measured paths: links from traces, and the K shortest paths of many pairs. Arrays of numbers are taken
//! as buffers and returned as bytes, in the machine's byte order.

use haltere_net::rng::Streams;
use haltere_paths::graph::valley_free::Relation;
use haltere_paths::graph::{Cost, Finder, Gaps, Link, Network, Observed, Pairs, Places, Progress, Row, Target, routes};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often progress is reported.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// The number for a delay that is not known.
const UNKNOWN: u32 = u32::MAX;

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn numbers<T: Element>(py: Python<'_>, buffer: &PyBuffer<T>) -> PyResult<Vec<T>> {
    buffer.to_vec(py)
}

/// The bytes of a column.
fn column<'py, const N: usize>(
    py: Python<'py>,
    len: usize,
    values: impl Iterator<Item = [u8; N]>,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, len * N, |bytes| {
        bytes.chunks_exact_mut(N).zip(values).for_each(|(place, value)| place.copy_from_slice(&value));
        Ok(())
    })
}

/// The links that traces show: columns of bytes, and how many delays were raised to 1 µs.
#[pyfunction]
#[pyo3(signature = (sources, offsets, ttls, nodes, rtts_us, *, span))]
#[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python's keywords")]
fn path_links<'py>(
    py: Python<'py>,
    sources: PyBuffer<u32>,
    offsets: PyBuffer<u64>,
    ttls: PyBuffer<u8>,
    nodes: PyBuffer<u32>,
    rtts_us: PyBuffer<u32>,
    span: bool,
) -> PyResult<(Bound<'py, PyDict>, usize)> {
    let (sources, offsets) = (numbers(py, &sources)?, numbers(py, &offsets)?);
    let (ttls, nodes, rtts_us) = (numbers(py, &ttls)?, numbers(py, &nodes)?, numbers(py, &rtts_us)?);
    let found = py.detach(|| {
        let observed = Observed { sources: &sources, offsets: &offsets, ttls: &ttls, nodes: &nodes, rtts_us: &rtts_us };
        observed.links(if span { Gaps::Span } else { Gaps::Cut })
    });
    let found = found.map_err(refuse)?;
    let (columns, links, len) = (PyDict::new(py), &found.links, found.links.len());
    columns.set_item("a", column(py, len, links.iter().map(|l| l.a.to_ne_bytes()))?)?;
    columns.set_item("b", column(py, len, links.iter().map(|l| l.b.to_ne_bytes()))?)?;
    columns.set_item("hops", column(py, len, links.iter().map(|l| l.hops.to_ne_bytes()))?)?;
    let delays = links.iter().map(|l| l.delay_us.unwrap_or(UNKNOWN).to_ne_bytes());
    columns.set_item("delay_us", column(py, len, delays)?)?;
    columns.set_item("traces", column(py, len, found.traces.iter().map(|n| n.to_ne_bytes()))?)?;
    Ok((columns, found.raised))
}

/// Draws `n` different candidates from the random stream of this name.
#[pyfunction]
fn draw_nodes<'py>(
    py: Python<'py>,
    candidates: PyBuffer<u32>,
    n: usize,
    seed: u64,
    replication: u64,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut stream = Streams::new(seed, replication).named(name);
    let drawn = routes::draw(&numbers(py, &candidates)?, n, &mut stream);
    column(py, drawn.len(), drawn.iter().map(|node| node.to_ne_bytes()))
}

/// A graph whose links have hops and delays, and perhaps relations: its paths are valley-free then.
#[pyclass(frozen)]
struct PathNetwork(Network);

#[pymethods]
impl PathNetwork {
    #[new]
    #[pyo3(signature = (nodes, a, b, hops, delay_us, *, by_delay, relations = None))]
    #[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python's keywords")]
    fn new(
        py: Python<'_>,
        nodes: u32,
        a: PyBuffer<u32>,
        b: PyBuffer<u32>,
        hops: PyBuffer<u8>,
        delay_us: PyBuffer<u32>,
        by_delay: bool,
        relations: Option<PyBuffer<u8>>,
    ) -> PyResult<PathNetwork> {
        let (a, b, hops, delays) = (numbers(py, &a)?, numbers(py, &b)?, numbers(py, &hops)?, numbers(py, &delay_us)?);
        if [b.len(), hops.len(), delays.len()] != [a.len(); 3] {
            return Err(refuse("a, b, hops and delay_us must be as many"));
        }
        let relations = relations.map(|buffer| relations_of(&numbers(py, &buffer)?, a.len())).transpose()?;
        let cost = if by_delay { Cost::Delay } else { Cost::Hops };
        let network = py.detach(|| {
            let like = |i: usize| Link {
                a: a[i],
                b: b[i],
                hops: hops[i],
                delay_us: (delays[i] != UNKNOWN).then_some(delays[i]),
            };
            let network = Network::new(nodes, &(0..a.len()).map(like).collect::<Vec<_>>(), cost)?;
            let Some(relations) = relations else { return Ok(network) };
            network.under(&(0..a.len()).map(|i| (a[i], b[i], relations[i])).collect::<Vec<_>>())
        });
        Ok(PathNetwork(network.map_err(refuse)?))
    }

    /// The component of each node, by size: 0 is the largest.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let components = py.detach(|| self.0.graph().components());
        column(py, components.len(), components.iter().map(|c| c.to_ne_bytes()))
    }

    /// The K shortest paths from each source to each destination: columns of bytes.
    #[pyo3(signature = (sources, destinations, k, coordinates = None, threads = 1, on_progress = None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn routes<'py>(
        &self,
        py: Python<'py>,
        sources: PyBuffer<u32>,
        destinations: PyBuffer<u32>,
        k: usize,
        coordinates: Option<(PyBuffer<f64>, PyBuffer<f64>)>,
        threads: usize,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (sources, destinations) = (numbers(py, &sources)?, numbers(py, &destinations)?);
        let places = match &coordinates {
            Some((latitudes, longitudes)) => {
                Some(Places::new(&numbers(py, latitudes)?, &numbers(py, longitudes)?).map_err(refuse)?)
            }
            None => None,
        };
        let progress = Progress::default();
        let find = || {
            let pairs = Pairs { sources: &sources, destinations: &destinations, k };
            routes::routes(&self.0, places.as_ref(), &pairs, threads, &progress)
        };
        let rows = py.detach(|| wait(&progress, on_progress.as_ref(), find))?;
        columns(py, &rows)
    }

    /// The nodes of the paths that `routes` measures from one source, in its order: where each path ends, and all nodes
    /// one path after the other.
    #[pyo3(signature = (source, destinations, k, threads = 1))]
    fn nodes<'py>(
        &self,
        py: Python<'py>,
        source: u32,
        destinations: PyBuffer<u32>,
        k: usize,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let destinations = numbers(py, &destinations)?;
        let found = py.detach(|| nodes_of(&self.0, source, &destinations, k, threads.max(1)));
        let (lengths, nodes) = found.ok_or_else(|| refuse("a thread that looked for paths has failed"))?;
        let mut end = 0_u64;
        let ends = lengths.iter().map(|&length| {
            end += u64::from(length);
            end.to_ne_bytes()
        });
        Ok((column(py, lengths.len(), ends)?, column(py, nodes.len(), nodes.iter().map(|node| node.to_ne_bytes()))?))
    }
}

/// The relation of each link to a path from `a` to `b`.
fn relations_of(numbers: &[u8], links: usize) -> PyResult<Vec<Relation>> {
    if numbers.len() != links {
        return Err(refuse(format!("relations are {}, not one for each of {links} links", numbers.len())));
    }
    let known = [Relation::Free, Relation::Up, Relation::Down, Relation::Peer, Relation::Refused];
    let of = |&number: &u8| {
        let right = "0 (free), 1 (a is a customer of b), 2 (b of a), 3 (peers) or 4 (refused)";
        known.get(usize::from(number)).copied().ok_or_else(|| refuse(format!("no relation is {number}: give {right}")))
    };
    numbers.iter().map(of).collect()
}

/// How many nodes each path has, and the nodes from the source on; nothing if a thread failed.
fn nodes_of(
    network: &Network,
    source: u32,
    destinations: &[u32],
    k: usize,
    threads: usize,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let target = Target::new(network, source);
    let find = |part: &[u32]| {
        let (mut lengths, mut nodes, mut finder) = (Vec::new(), Vec::<u32>::new(), Finder::new());
        for &destination in part.iter().filter(|&&destination| destination != source) {
            finder.each(&target, destination, k, |path, _| {
                lengths.push(path.len() as u32);
                nodes.extend(path.iter().rev());
            });
        }
        (lengths, nodes)
    };
    let chunk = destinations.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = destinations.chunks(chunk).map(|part| scope.spawn(|| find(part))).collect();
        let (mut lengths, mut nodes) = (Vec::new(), Vec::new());
        for worker in workers {
            let (some_lengths, some_nodes) = worker.join().ok()?;
            lengths.extend(some_lengths);
            nodes.extend(some_nodes);
        }
        Some((lengths, nodes))
    })
}

/// Does the work in a thread of its own; meanwhile reports progress, and ends the work early at an exception.
fn wait(
    progress: &Progress,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Vec<Row> + Send,
) -> PyResult<Vec<Row>> {
    let tell = || {
        Python::attach(|py| {
            py.check_signals()?;
            let pairs = progress.pairs.load(Ordering::Relaxed);
            on_progress.map_or(Ok(()), |f| f.call1(py, (pairs,)).map(drop))
        })
    };
    std::thread::scope(|scope| {
        let (done, wait) = channel();
        let worker = scope.spawn(move || {
            let rows = work();
            // Nobody waits for it any more only if this thread's caller is gone too.
            let _ = done.send(());
            rows
        });
        // At once, so that nobody waits in vain to end a search that takes no time.
        let mut told = tell();
        progress.cancelled.store(told.is_err(), Ordering::Relaxed);
        while wait.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
            if told.is_ok() {
                told = tell();
                progress.cancelled.store(told.is_err(), Ordering::Relaxed);
            }
        }
        let rows = worker.join().map_err(|_| refuse("a thread that looked for paths has failed"))?;
        told.map(|()| rows)
    })
}

/// Rows as columns; `delay_us` is the greatest number where it is not known.
fn columns<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let (columns, n) = (PyDict::new(py), rows.len());
    columns.set_item("source", column(py, n, rows.iter().map(|r| r.source.to_ne_bytes()))?)?;
    columns.set_item("destination", column(py, n, rows.iter().map(|r| r.destination.to_ne_bytes()))?)?;
    columns.set_item("k", column(py, n, rows.iter().map(|r| r.k.to_ne_bytes()))?)?;
    columns.set_item("hops", column(py, n, rows.iter().map(|r| r.hops.to_ne_bytes()))?)?;
    let delays = rows.iter().map(|r| r.delay_us.unwrap_or(u64::MAX).to_ne_bytes());
    columns.set_item("delay_us", column(py, n, delays)?)?;
    let share = |name: &str, of: fn(&Row) -> f64| -> PyResult<()> {
        columns.set_item(name, column(py, n, rows.iter().map(|r| of(r).to_ne_bytes()))?)
    };
    share("difference", |r| r.difference)?;
    share("diversity", |r| r.diversity)?;
    share("path_km", |r| r.geography.path_km)?;
    share("direct_km", |r| r.geography.direct_km)?;
    share("dispersion", |r| r.geography.dispersion())?;
    share("least_delay_us", |r| r.geography.least_us())?;
    share("delay_dispersion", |r| r.delay_us.map_or(f64::NAN, |delay| r.geography.delay_dispersion(delay as f64)))?;
    share("located", |r| r.geography.located)?;
    Ok(columns)
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PathNetwork>()?;
    module.add_function(wrap_pyfunction!(path_links, module)?)?;
    module.add_function(wrap_pyfunction!(draw_nodes, module)?)
}
