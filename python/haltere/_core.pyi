"""The extension module: the simulator and what real hosts need of Rust.

Every function is pure (same arguments and same version, same answer) but `bench`, which measures this machine, and
those that make and measure real transfers: `transfers`, `Capture`, `Emulator`, `LinkShell`, `peer`, `certificate`.
Texts are JSON unless said otherwise.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import IO, Literal

from typing_extensions import Buffer

__version__: str

class ScenarioError(ValueError):
    """A scenario that cannot be run. `args` is (message, path), path like `flows[0].contender`."""

class Scenario:
    """A concrete scenario, parsed once. It never changes, equals another if their texts do, and is pickled as its text.

    Raise `ScenarioError` if it is wrong; its methods raise one where the run shows what is wrong.
    """

    json: str
    """The text that it was parsed from."""
    unlimited: list[str]
    """The paths of its links without a rate; a dumbbell's access links may well have none."""

    def __init__(self, json: str) -> None: ...
    def check_at(self, fidelity: str) -> None:
        """Raise `ScenarioError` if it cannot run at a fidelity; what rigs lack is checked in Python."""

    def network(self, seed: int = 0, replication: int = 0) -> str:
        """Return `{nodes, links, routes, flows, made_by, ...}`: the network of a run with all defaults filled in."""

    def network_of_nodes(self, seed: int = 0, replication: int = 0) -> str:
        """Return the same for nodes of the simulator, with what exists in virtual time only."""

    def links_in_words(self) -> str:
        """Return its links and cells with the values of presets and defaults: `[{name, path, down, up}]`, as texts."""

    def losses(self, seed: int, replication: int, direction: int, packets: int) -> list[int]:
        """Return which packets of link direction `direction` (2 x link, + 1 for up) are lost, as bits in bytes."""

    def mqtt_clients(self, seed: int, replication: int) -> str:
        """Return the work of the MQTT clients of each flow in a run: a list, without flows that have no MQTT."""

    def programs(self, seed: int, replication: int, fidelity: str) -> str:
        """Return the flows of a run that programs carry, and where these are to run.

        `[{flow, transport, implementation, congestion, app, node, server, client, port, size, lacking, home,
        epochs_ns}]`, where `lacking` says why there is no kernel for it here, and `home` is where programs see the
        folder that they can write. With MQTT `epochs_ns` has what the clocks of the publishers' node and of the
        subscriber's show when the run begins.
        """

    def has_kernels(self, fidelity: str) -> bool:
        """Return whether a run at a fidelity has Linux kernels, on whose version its result depends."""

    def run(self, seed: int, replication: int, fidelity: str = "model", programs: str = "{}") -> str:
        """Run it and return its RunResult. Releases the interpreter's lock while it runs.

        `programs` has those of each flow that programs carry, by its number: `{folder, server: {launch, ready: [tcp or
        udp, port]}, client: launch, subscriber: launch, congestion}`. A launch is `{argv, environment: [[name, value]],
        folder, log}`. `subscriber` is that of a flow with MQTT.
        """

    def trace(
        self,
        seed: int,
        replication: int,
        fidelity: str = "model",
        *,
        qlog: PathLike[str] | None = None,
        pcap: PathLike[str] | None = None,
        links: list[str] = ...,
        shadows: list[str] = ...,
        metrics: bool = True,
        programs: str = "{}",
    ) -> str:
        """Run it and return `{"result": RunResult, "series": [{who, name, unit, t_s, v}], "reordering": [...]}`.

        `schedule` has which path carried which data, as columns, for flows with several paths: `[{flow, t_s, path,
        stream, start, bytes, again}]`. `reordering` has the reorder density of each flow: `{flow, threshold, packets,
        beyond, density: [[displacement, share]]}`. `shadows` has each congestion control of `shadows` and where it
        parted from the flow's own: `{flow, path, shadow, contender, parted: {t_s, event, bytes_in_flight, before,
        after} | null}`.

        With the folder `qlog`, write `flow-N-client.sqlog` and `flow-N-server.sqlog` for each flow; with the folder
        `pcap`, `LINK.pcapng` for each of `links`, or for all links if it is empty. A `ScenarioError`'s path is `qlog`
        or `pcap` where these cannot be had. Without `metrics` there are packets alone: a kernel that is asked for its
        state moves them by some hundred nanoseconds.
        """

class Environments:
    """Runs in steps, in which agents decide for the congestion controls of flows (`crates/gym`).

    `settings_json` has `agents`, `observation`, `history`, `reward`, `action`, `rates`, `interval`, `delay` and `steps`
    (`haltere.gym.Task`), and `count`, `seed`, `autoreset` (`next-step`, `same-step`, `disabled`) and `threads`.

    Raise `ScenarioError`, whose path is one of these or begins with `scenarios[i].`; the methods raise RuntimeError.
    """

    observation_bounds: list[tuple[float, float]]
    """The least and the most of each number of an observation of one interval."""
    history: int
    """How many intervals an observation has."""
    action_bounds: tuple[float, float]
    controls: list[str]
    """The congestion controls in whose place agents decide."""

    def __init__(self, scenarios: list[Scenario], settings_json: str) -> None: ...
    def reset(self, seeds: list[int | None], which: list[bool]) -> _Returned:
        """Begin an episode in the environments that `which` names. Releases the interpreter's lock."""

    def step(self, actions: bytes) -> _Returned:
        """Go on for an interval; `actions` is an array of float64, (environments, agents). Releases the lock."""

_Returned = tuple[bytearray, bytearray, bytearray, bytearray, bytearray, list[int], list[tuple[int, bytearray]]]
"""Observations (float32), rewards (float64), terminated and truncated (bool), the numbers of the intervals (float64),
the numbers of the scenarios, and the observations at the end of episodes that were followed by others in the step."""

def interval_fields() -> list[tuple[str, str]]:
    """Return the names and meanings of the numbers of an interval, in their order."""

Estimate = tuple[float, float | None, float | None, str]
"""An estimate, the ends of its interval, and how that was made."""
_Side = Literal["above", "below", "alike", "unclear"]
Standing = tuple[int, list[float], bool, float, float | None, int, _Side, int | None]
"""How the first stands against another: the other's place, logarithms of the ratios, whether these are exact, the
interval's confidence, the corrected p-value, the number of pairs, the side, and the replications needed."""

def mean(values: list[float], confidence: float) -> Estimate:
    """Return the mean with Student's interval; raise `ValueError`, as all statistics here, if values cannot be used."""

def trimmed_mean(values: list[float], confidence: float) -> Estimate:
    """Return the trimmed mean with its interval."""

def typical(values: list[float], confidence: float) -> Estimate:
    """Return the trimmed mean with its interval, geometric where all values are positive."""

def p_of_shift(values: list[float], shift: float) -> float:
    """Return the p-value of the test that values lie symmetrically around a shift."""

class Pairs:
    """A comparison in pairs (`haltere.stats.Paired`)."""

    def __init__(self, logarithms: list[float], exact: bool, confidence: float) -> None: ...
    @staticmethod
    def logarithms(a: list[float], b: list[float]) -> tuple[list[float], bool]:
        """Return the logarithms of the ratios a/b, and whether every pair is the same."""

    def p(self) -> float | None: ...
    def ratio(self) -> Estimate: ...
    def within(self, least: float, most: float) -> bool: ...
    def real(self) -> bool | None: ...

def holm(p_values: list[float]) -> list[float]:
    """Return p-values adjusted by Holm's method."""

def replications_needed(pairs: int, confidence: float) -> int:
    """Return the replications from which the smallest corrected p-value of a pair can be significant."""

def side(ends: tuple[float, float] | None, margin: tuple[float, float], equal: float) -> _Side:
    """Return where an interval stands."""

def leads(values: list[list[float | None]], first: int, alike: float, confidence: float) -> list[Standing]:
    """Return how one contender stands against each of the others."""

def verdict(
    names: list[str],
    values: list[list[float | None]],
    *,
    better: str,
    alike: float,
    has: str,
    of: str,
    every: bool,
) -> tuple[list[int], list[tuple[int, Standing]], list[str]]:
    """Return the places in order, who was compared with whom, and the sentences of a verdict."""

def noticed(kind: str, looked: list[tuple[str, list[list[float] | None], bool]]) -> str:
    """Return what a person would notice of calls, or of films (`call`, `film`).

    Each is its name, its aspects a replication, and whether something was seen of it.
    """

def plain_number(value: float, digits: int) -> str:
    """Return a number as tables have it."""

def plain_interval(value: float, ends: tuple[float, float] | None, scale: float, digits: int, between: str) -> str:
    """Return an estimate with its interval as tables have it."""

def student_below(freedom: float, t: float) -> float:
    """Return the probability of a value below `t` in Student's distribution."""

def student_quantile(freedom: float, probability: float) -> float:
    """Return the quantile of Student's distribution."""

def changed(scenario_json: str, change_json: str, fidelity: str) -> str | None:
    """Return a scenario's document with one thing done differently, `{"kind", "given"}`; None if it is the same."""

def contender(text: str) -> str:
    """Return `transport`, `implementation`, `congestion` and `switches` of a contender."""

def quantity(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of a quantity; None of other texts."""

def nanoseconds(text: str) -> int:
    """Return a time such as `50ms` in ns; raise `ValueError`."""

def clock_phase(seed: int, replication: int) -> int:
    """Return how long after a multiple of 2.048 s of its hosts' count of ticks (HZ = 250) a run begins, ns."""

def probe_result(seen_json: str) -> str:
    """Return the result of a probe, as results hold it, from what was seen of it.

    `seen_json` has `probe`, `kind`, `size_bytes`, `pair`, `sent`, `sent_s`, `rtt_s` and `error`.
    """

def columns() -> str:
    """Return the columns of all result tables with their metrics: a list (`haltere.results.columns.Column`)."""

def with_reports(result_json: str, reports_json: str) -> str:
    """Return a RunResult with what the clients of programs report.

    `[{flow, encrypted, completion_s, handshake_s, first_byte_s, bytes, error}]`: all but the first two may be missing.
    """

def run_result(seen_json: str) -> str:
    """Return the result of a run on real hosts, with every column, from what was seen of it.

    `seen_json` has `measured_s`, `lost_records`, `flows`, `links` and `run`, the run's own columns.
    """

def messages_result(seen_json: str) -> str:
    """Return what results hold of a flow's messages.

    `seen_json` has `published`, `delivered`, `duplicated`, `deliveries` (pairs of when, and how long after the
    publication), `since` (ns from the run's beginning).
    """

def measured_topology(topology_json: str) -> str:
    """Return `{"paths", "quantile", "kind"}` of a `topology` with `from = "paths"`; a null quantile is random."""

def uniform(seed: int, replication: int, name: str) -> float:
    """Return the first number, uniform in [0, 1), of the random stream called `name`."""

def link_config(link_json: str) -> str:
    """Return `{"down": LinkConfig, "up": LinkConfig}` of a link given as a scenario's `topology.link`."""

def rate_trace(text: str) -> str:
    """Return the milliseconds of a mahimahi trace file; a `ScenarioError`'s path is the number of the line."""

def capture(file: bytes) -> str:
    """Return `{"at_ns", "len", "flow", "back", "span_ns"}` of the bytes of a pcap or pcapng file.

    Raises `ScenarioError`, with an empty path, if it is neither.
    """

def scenario_schema() -> str:
    """Return the JSON Schema of a scenario."""

def locate(toml_text: str, path: str) -> tuple[int, int]:
    """Return line and column (both from 1) of the value at `path` in a TOML text, or of its nearest parent."""

def algorithms() -> str:
    """Return the known transports, congestion controls, stacks, switches, and names for settings of these."""

def effective(contender: str, fidelity: str) -> str:
    """Return `{transport, implementation, model, congestion, settings: [{name, value, fixed}]}` of a contender.

    `settings` has the value of every mechanism, defaults too; in a production stack what is set. `fixed` says why the
    contender cannot write the value, or is null. Raises `ScenarioError` if the contender cannot run at the fidelity.
    """

def queues() -> str:
    """Return `[{name, summary, reference, parameters: [{name, default, example, summary}]}]` of queue disciplines."""

def presets() -> str:
    """Return `[{name, also, of, summary, settings: [{field, value, source}]}]` of presets; `of` is `link` or `cell`."""

def bench() -> str:
    """Return `[{case, data_packets, cpu_s, packets_per_cpu_s, bytes_per_packet_in_flight}]` of the benchmark cases."""

class RigError(RuntimeError):
    """What real hosts refuse. `args` is (message, path), path like `flows[0].congestion` or empty."""

def transfers(spec_json: str) -> str:
    """Make TCP transfers over this kernel's stack, all of them in one thread of their own.

    Spec: `{"flows": [{"flow", "server": {"netns", "address", "port"}, "client": {"netns", "address", "port" (or null)},
    "congestion", "size" (bytes or null), "start_ns", "request" (bytes), "options": {"paced", "quickack", "buffer"}}],
    "time_limit_ns", "duration_ns", "measure_from_ns", "sample_ns", "epoch_ns"}`.

    Answer: `{"flows": [{"flow", "status", "error", "start_s", "handshake_s", "first_byte_s", "completion_s", "bytes",
    "server_port", "client_port", "tcp_info": {"server", "client"}}], "series": [{who, name, unit, t_s, v}],
    "virtual_s"}`. Raises `RigError` if the sockets cannot be made. Linux only.
    """

def congestion_controls() -> list[str]:
    """Return the congestion controls that this kernel offers, by its own names. Linux only."""

class Capture:
    """Packet taps at interfaces: what passes from `start` to `stop`, by the simulator's definitions. Linux only.

    Spec: `{"taps": [{"netns", "interface"}], "flows": [{"flow", "protocol": "tcp" | "udp", "server": END, "client":
    END}], "links": [{"link", "direction", "offered": POINT, "departed": POINT or null, "arrived": POINT, "to":
    [address] or null, "rate_bps", "delay_ns"}], "epoch_ns", "pcap": file prefix, "ring_bytes"}` with
    END `{"tap": number, "address", "port": number or null, "facing": bool}` (`facing`: the tap is at the neighbour's
    interface that faces the end) and POINT `{"tap": number, "way": "incoming" | "outgoing"}` or a list of them. `to`
    keeps packets to these addresses only. `delay_ns` is how long after the end of serialisation a packet is seen to
    depart: a link's delay where departures are taken from arrivals.

    Raises `RigError` if the spec is wrong or an interface cannot be listened at.
    """

    def __init__(self, spec_json: str) -> None: ...
    def start(self) -> None:
        """Open the taps; returns once they listen."""

    def stop(self, until_ns: int | None = None) -> str:
        """Close the taps and return `{"flows", "links", "records", "lost_records", "error"}`.

        Packets offered to a link later than `until_ns` from time zero (`epoch_ns`, or the start) are not counted but
        still tell what became of earlier ones: without later ones, what has not come out counts as inside.
        """

def count_paths(
    files: Sequence[str | PathLike[str]], threads: int = 1, on_progress: Callable[[int], None] | None = None
) -> str:
    """Count what files of traceroutes hold and return `{"files": [...], "total": {...}}`; `-` is standard input.

    A file that cannot be read has `error`; damaged records are counted, the first ones with their place. The
    interpreter's lock is released; `on_progress` is called with the bytes read, as they are stored.
    """

def ingest_paths(
    paths: Sequence[str | PathLike[str]],
    lake: str | PathLike[str],
    source: str | None = None,
    threads: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> str:
    """Read files and folders into a lake and return `{"files": [...]}`, or `{"refused": ...}` if it cannot be begun.

    The interpreter's lock is released; `on_progress` is called with the bytes read and those there are, as stored.
    """

def generate_paths(
    folder: str | PathLike[str],
    kind: str,
    traces: int,
    seed: int,
    monitors: int,
    start: str,
    days: int,
    *,
    ipv6: bool,
    threads: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> str:
    """Write files of generated traces and return as `ingest_paths` does; `start` is a day, as 2011-01-01."""

class PathTexts:
    """The traces of a file as text: an iterator of texts of many traces each. Raise `OSError` if it is no such file."""

    def __init__(self, file: str | PathLike[str], limit: int | None = None) -> None: ...
    def __iter__(self) -> PathTexts: ...
    def __next__(self) -> str: ...

def path_links(
    sources: Buffer, offsets: Buffer, ttls: Buffer, nodes: Buffer, rtts_us: Buffer, *, span: bool
) -> tuple[dict[str, bytes], int]:
    """Return the links that traces show and how many of their delays were raised to 1 µs. Raise `ValueError`.

    Arrays of uint32, but `offsets` (uint64, one more than traces) and `ttls` (uint8); 2^32 - 1 is a source or a time
    that is not known. Columns: `a`, `b`, `delay_us` (2^32 - 1: not known) and `traces` (uint32), `hops` (uint8).
    """

def draw_nodes(candidates: Buffer, n: int, seed: int, replication: int, name: str) -> bytes:
    """Return `n` different ones of the candidates (uint32), all if they are fewer, drawn from the stream `name`."""

def prefix_origins(file: IO[bytes]) -> list[tuple[str, str]]:
    """Return prefixes and the ASes that originate them, of a routing table's dump (MRT); raise `ValueError` if damaged.

    Several origins are joined by `_`, that which most peers tell first; sets of ASes by commas.
    """

class PathNetwork:
    """A graph with hops (uint8) and delays (uint32, microseconds; 2^32 - 1: not known) of its links.

    Raise `ValueError` that names the first link, counted from 0, that there cannot be.
    """

    def __init__(self, nodes: int, a: Buffer, b: Buffer, hops: Buffer, delay_us: Buffer, *, by_delay: bool) -> None: ...
    def components(self) -> bytes:
        """Return the component of each node (uint32), numbered by size from 0, the largest."""

    def routes(
        self,
        sources: Buffer,
        destinations: Buffer,
        k: int,
        coordinates: tuple[Buffer, Buffer] | None = None,
        threads: int = 1,
        on_progress: Callable[[int], None] | None = None,
    ) -> dict[str, bytes]:
        """Return the `k` shortest paths from each source to each destination (uint32), measured.

        `coordinates` are latitudes and longitudes of all nodes in degrees (float64, NaN: not known). Columns:
        `source`, `destination`, `k`, `hops` (uint32), `delay_us` (uint64, 2^64 - 1: not known), `difference`,
        `diversity`, `path_km`, `direct_km`, `dispersion`, `least_delay_us`, `delay_dispersion`, `located` (float64,
        NaN: cannot be said). The interpreter's lock is released; `on_progress` is called with the pairs that are done.
        """

    def nodes(self, source: int, destinations: Buffer, k: int, threads: int = 1) -> tuple[bytes, bytes]:
        """Return the nodes of the paths that `routes` measures from one source, in its order.

        Where each path ends (uint64), and the nodes of all paths, each from source to destination (uint32).
        """

class LinkError(ValueError):
    """A link that cannot be emulated. `args` is (message, path), path like `links[0].ends[1].interface`."""

class Emulator:
    """Emulated links between TUN devices (Linux only).

    The specification is `{"seed": 1, "replication": 0, "coalesce": false, "spin_ns": 0, "realtime": false, "links":
    [{"name": ..., "ends": [{"netns": "/run/netns/a", "interface": "t0"}, {"netns": null, "interface": "t1"}],
    "down": LinkConfig, "up": LinkConfig}]}`; `down` goes
    from the first end to the second, and a LinkConfig is what `link_config` returns.
    The devices are made and brought up here, without addresses, and live until `stop` or the object's end.
    """

    def __init__(self, spec_json: str) -> None: ...
    def start(self, at_ns: int | None = None) -> None:
        """Start the links in a thread of their own: their time begins. What was sent before is not carried.

        With `at_ns` their time begins at that instant of the monotonic clock, in ns: traces, outages, and rates and
        delays that change count from it. A packet that is sent before enters its link then.
        """

    def stop(self) -> str:
        """Stop the links, take the devices away and return what was counted.

        `{"elapsed_s", "cpu_s", "realtime", "packets", "lateness_s": {"mean", "p50", "p90", "p99", "p999", "max"},
        "calls": {...}, "links": [LinkResult and "lateness_s"]}`.
        """

class LinkShell:
    """A link of which one end lies in a new namespace, for a command (Linux only).

    The specification is `{"seed", "replication", "coalesce", "spin_ns", "realtime", "down": LinkConfig, "up":
    LinkConfig}`; `down` goes towards the command. Without root the process, which must have a single thread, moves into
    a user namespace.
    """

    base: str
    """Address of the caller's end."""
    address: str
    """Address of the command's end."""
    apart: bool
    """Whether the caller's end lies in a user namespace, apart from the machine's network."""

    def __init__(self, spec_json: str) -> None: ...
    def run(self, command: list[str]) -> tuple[int, str]:
        """Run a command behind the link to its end; return its exit code and what was counted, as `Emulator.stop`."""

def peer(arguments: list[str]) -> int:
    """Run one of our own servers or clients (`crates/peers`) in this thread; return its exit status.

    The interpreter's lock is released. A server takes over SIGTERM and SIGINT and runs until it gets one: call this in
    a process of its own.
    """

def messages_seen(files: list[str], since: int) -> str:
    """Return what the clients of a flow with MQTT saw; raise `OSError`.

    `files` are those that its publishers and then its subscriber have written, or the one of both.
    `since` is when the measured time begins, ns. The answer has `published`, `delivered`, `duplicated`, `deliveries`
    (pairs of when, and how long after the publication), `handshakes`, `bytes`, `measured_bytes`, `completed`,
    `lost_connections`, `last_loss`, `error`; times in ns from the run's beginning.
    """

def certificate(folder: str, kind: str) -> None:
    """Write `ca.pem`, `cert.pem` and `key.pem` into `folder`; `kind` is `p256` or `ed25519`. Raise `OSError`."""

def plugin_calls() -> list[tuple[int, int]]:
    """Return the threads inside of a call of a user's class, each with a count that changes when the call ends."""

# What congestion controls and path schedulers of Python are told; haltere.h says what each field means.

class Established:
    """The handshake is complete (`haltere_established`)."""

    @property
    def now(self) -> int: ...
    @property
    def rtt(self) -> int: ...

class Sent:
    """A packet is about to be sent (`haltere_sent`)."""

    @property
    def now(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def total_delivered(self) -> int: ...
    @property
    def after_idle(self) -> int: ...
    @property
    def timeout(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...

class RateSample:
    """A sample of the delivery rate (`haltere_rate_sample`)."""

    @property
    def delivered(self) -> int: ...
    @property
    def interval(self) -> int: ...
    @property
    def prior_delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...

class Ack:
    """An ACK that delivered data (`haltere_ack`)."""

    @property
    def now(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def rtt(self) -> int: ...
    @property
    def srtt(self) -> int: ...
    @property
    def min_rtt(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def prior_in_flight(self) -> int: ...
    @property
    def acked_to(self) -> int: ...
    @property
    def sent_to(self) -> int: ...
    @property
    def total_delivered(self) -> int: ...
    @property
    def total_lost(self) -> int: ...
    @property
    def next_departure(self) -> int: ...
    @property
    def stamp_now(self) -> int: ...
    @property
    def stamp_value(self) -> int: ...
    @property
    def stamp_echo(self) -> int: ...
    @property
    def rate(self) -> RateSample: ...
    @property
    def phase(self) -> int: ...
    @property
    def window_limited(self) -> bool: ...
    @property
    def may_grow(self) -> bool: ...
    @property
    def delayed(self) -> bool: ...

class Echo:
    """An ACK of a connection that uses ECN (`haltere_echo`)."""

    @property
    def now(self) -> int: ...
    @property
    def acked_to(self) -> int: ...
    @property
    def sent_to(self) -> int: ...
    @property
    def total_delivered(self) -> int: ...
    @property
    def total_marked(self) -> int: ...

class Arrival:
    """An ACK arrived, and its losses have not been looked for yet (`haltere_arrival`)."""

    @property
    def now(self) -> int: ...
    @property
    def rtt(self) -> int: ...
    @property
    def srtt(self) -> int: ...
    @property
    def min_rtt(self) -> int: ...
    @property
    def acked_to(self) -> int: ...
    @property
    def sent_to(self) -> int: ...
    @property
    def total_delivered(self) -> int: ...
    @property
    def prior_delivered(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def stamp_now(self) -> int: ...
    @property
    def stamp_value(self) -> int: ...
    @property
    def stamp_echo(self) -> int: ...

class Lost:
    """A packet was found lost (`haltere_lost`)."""

    @property
    def now(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def total_delivered(self) -> int: ...
    @property
    def total_lost(self) -> int: ...
    @property
    def sent_delivered(self) -> int: ...
    @property
    def sent_lost(self) -> int: ...
    @property
    def sent_in_flight(self) -> int: ...
    @property
    def sent_app_limited(self) -> bool: ...

class Congestion:
    """Congestion was detected (`haltere_congestion`)."""

    @property
    def now(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def trigger(self) -> int: ...
    @property
    def new_episode(self) -> bool: ...

class Path:
    """A path of a connection (`haltere_path`)."""

    @property
    def id(self) -> int: ...
    @property
    def own(self) -> bool: ...
    @property
    def usable(self) -> bool: ...
    @property
    def standby(self) -> bool: ...
    @property
    def in_slow_start(self) -> bool: ...
    @property
    def window(self) -> int: ...
    @property
    def ssthresh(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def queued(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def overhead(self) -> int: ...
    @property
    def mss(self) -> int: ...
    @property
    def srtt(self) -> int: ...
    @property
    def min_rtt(self) -> int: ...
    @property
    def rtt_variation(self) -> int: ...
    @property
    def delivery_rate(self) -> int: ...
    @property
    def pacing_rate(self) -> int: ...
    @property
    def paced_until(self) -> int: ...
    @property
    def since_loss(self) -> int: ...
    @property
    def between_losses(self) -> int: ...

class Demand:
    """The data that a connection has to send (`haltere_demand`)."""

    @property
    def waiting(self) -> int: ...
    @property
    def outstanding(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def beyond(self) -> int: ...

class Dice:
    """What a path scheduler is made with: the run's own dice."""

    def random(self) -> float:
        """Return a random number from [0, 1)."""

class Packet:
    """A packet in front of a link (`haltere_packet`)."""

    @property
    def size(self) -> int: ...
    @property
    def arrived(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def ecn(self) -> int: ...
    @property
    def dscp(self) -> int: ...
    @property
    def fits(self) -> bool: ...

class Band:
    """A band of a queue (`haltere_band`)."""

    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def head_size(self) -> int: ...
    @property
    def head_arrived(self) -> int: ...

class Queue:
    """The state of a queue when its discipline is asked (`haltere_queue`)."""

    @property
    def now(self) -> int: ...
    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def limit_packets(self) -> int: ...
    @property
    def limit_bytes(self) -> int: ...
    @property
    def band_count(self) -> int: ...
    def band(self, number: int) -> Band:
        """Return the band of a number. Bands that have not been used are empty."""

class QueueConfig:
    """The facts about a link with which the discipline of its queue is made (`haltere_queue_config`)."""

    @property
    def rate(self) -> int: ...
    @property
    def rtt(self) -> int: ...
    @property
    def mtu(self) -> int: ...
    def random(self) -> float:
        """Return a random number from [0, 1)."""

class Config:
    """The facts about a path with which a controller is made (`haltere_config`)."""

    @property
    def mss(self) -> int: ...
    @property
    def wire(self) -> int: ...
    @property
    def grain(self) -> int: ...
    @property
    def initial_window(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def tick(self) -> int: ...
    @property
    def phase(self) -> int: ...
    @property
    def slow_start(self) -> int: ...
    @property
    def paced(self) -> bool: ...
    def random(self) -> float:
        """Return a number from [0, 1), from the run's own dice."""
