"""The extension module: the simulator (written in Rust).

Every function but `bench`, `peer` and `certificate` is pure: same arguments and same version, same answer. Texts are
JSON unless said otherwise.
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

def scenario_schema() -> str:
    """Return the JSON Schema of a scenario."""

def locate(toml_text: str, path: str) -> tuple[int, int]:
    """Return line and column (both from 1) of the value at `path` in a TOML text, or of its nearest parent."""

def algorithms() -> str:
    """Return the known transports, congestion controls and switches."""

def bench() -> str:
    """Return `[{case, data_packets, cpu_s, packets_per_cpu_s, bytes_per_packet_in_flight}]` of the benchmark cases."""

def peer(arguments: list[str]) -> int:
    """Run one of our own servers or clients (`crates/peers`) in this thread; return its exit status.

    The interpreter's lock is released. A server takes over SIGTERM and SIGINT and runs until it gets one: call this in
    a process of its own.
    """

def certificate(folder: str, kind: str) -> None:
    """Write `ca.pem`, `cert.pem` and `key.pem` into `folder`; `kind` is `p256` or `ed25519`. Raise `OSError`."""
