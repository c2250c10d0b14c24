"""The extension module: the simulator (written in Rust).

Every function but `bench` is pure: same arguments and same version, same answer. Texts are JSON unless said otherwise.
"""

__version__: str

class ScenarioError(ValueError):
    """A scenario that cannot be run. `args` is (message, path), path like `flows[0].contender`."""

def validate(scenario_json: str) -> None:
    """Raise `ScenarioError` if the scenario cannot be run."""

def run(scenario_json: str, seed: int, replication: int) -> str:
    """Run one scenario and return its RunResult. Releases the interpreter's lock while it runs."""

def trace(scenario_json: str, seed: int, replication: int) -> str:
    """Run one scenario and return `{"result": RunResult, "series": [{who, name, unit, t_s, v}]}`."""

def link_config(link_json: str) -> str:
    """Return `{"down": LinkConfig, "up": LinkConfig}` of a link given as a scenario's `topology.link`."""

def rate_trace(text: str) -> str:
    """Return the milliseconds of a mahimahi trace file; a `ScenarioError`'s path is the number of the line."""

def scenario_schema() -> str:
    """Return the JSON Schema of a scenario."""

def locate(toml_text: str, path: str) -> tuple[int, int]:
    """Return line and column (both from 1) of the value at `path` in a TOML text, or of its nearest parent."""

def algorithms() -> str:
    """Return the known transports, congestion controls and switches."""

def bench() -> str:
    """Return `[{case, data_packets, cpu_s, packets_per_cpu_s, bytes_per_packet_in_flight}]` of the benchmark cases."""

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
    def start(self) -> None:
        """Start the links in a thread of their own: their time begins. What was sent before is not carried."""

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
