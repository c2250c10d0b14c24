"""The extension module: the simulator (written in Rust).

Every function is pure (same arguments and same version, same answer) but `bench` and those at the end, which make and
measure real transfers on Linux. Texts are JSON unless said otherwise.
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
    [address] or null, "rate_bps", "delay_ns"}], "epoch_ns", "packets": bool, "pcap": file prefix, "ring_bytes"}` with
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
        """Close the taps and return `{"flows", "links", "records", "lost_records", "error", "packets"}`.

        Packets offered to a link later than `until_ns` from time zero (`epoch_ns`, or the start) are not counted but
        still tell what became of earlier ones: without later ones, what has not come out counts as inside.
        """
