"""MPTCP and MPQUIC from the command line and from Python."""

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import Haltere
from haltere import core
from haltere.adhoc.conditions import Conditions, PathConditions
from haltere.errors import InputError
from haltere.rig.programs import ProgramError, find

PATHS = ("--path", "rate=20Mbit/s,rtt=10ms,queue=50p", "--path", "rate=10Mbit/s,rtt=50ms,queue=50p")
ONCE = ("--size", "2MB", "--replications", "1", "--json")


def _times(haltere: Haltere, *what: str) -> dict[str, float]:
    return {one["contender"]: one["completion_s"] for one in json.loads(haltere("compare", *what, *ONCE).stdout)}


def test_several_paths_are_faster_than_one(haltere: Haltere) -> None:
    times = _times(haltere, "mptcp/cubic", "mpquic/cubic", "tcp/cubic", "quic/cubic", *PATHS)
    assert times["mptcp/cubic"] < times["tcp/cubic"]
    assert times["mpquic/cubic"] < times["quic/cubic"]


def test_swap_connects_on_the_second_path(haltere: Haltere) -> None:
    straight = _times(haltere, "tcp/cubic", "mptcp/cubic", *PATHS)
    swapped = _times(haltere, "tcp/cubic", "mptcp/cubic", *PATHS, "--swap")
    # The second path alone has half the rate.
    assert swapped["tcp/cubic"] > 1.7 * straight["tcp/cubic"]
    assert straight["mptcp/cubic"] < swapped["mptcp/cubic"] < 1.4 * straight["mptcp/cubic"]


def test_swap_needs_a_second_path() -> None:
    with pytest.raises(InputError, match="needs a second path"):
        Conditions(paths=(PathConditions(rate="20Mbit/s"),), swap=True).data(["mptcp/cubic"])


def test_coupled_controls_and_schedulers_are_part_of_a_contender(haltere: Haltere) -> None:
    words = ["mptcp/olia+lowest-rtt", "mpquic/lia+ecf", "mptcp/balia+scheduler=round-robin", "mpquic/wvegas+redundant"]
    assert list(_times(haltere, *words, *PATHS)) == words
    wrong = haltere("compare", "tcp/cubic+ecf", *PATHS)
    assert wrong.returncode == 2
    assert "unknown switch" in wrong.stderr


def test_mpquic_says_where_it_does_not_run() -> None:
    with pytest.raises(ProgramError, match='choose fidelity "model" for mpquic'):
        find("mpquic", "quinn")


def test_a_trace_of_several_paths_writes_its_schedule(haltere: Haltere, tmp_path: Path) -> None:
    reserve = ["--path", "rate=10Mbit/s,rtt=40ms,backup"]
    for paths, used in ((PATHS, [0, 1]), ([*PATHS[:2], *reserve], [0])):
        out = tmp_path / str(len(used))
        done = haltere("trace", "mptcp/cubic", *paths, "--size", "1MB", "--app", "raw", "--out", str(out))
        assert done.returncode == 0, done.stderr
        schedule = pl.read_parquet(out / "schedule.parquet")
        assert schedule["path"].unique().sort().to_list() == used
        assert schedule.filter(~pl.col("again"))["bytes"].sum() == 1_000_000
        assert (out / "schedule.csv").exists()
        assert json.loads((out / "run.json").read_text(encoding="utf-8"))["reordering"][0]["flow"] == 0


def test_a_client_moves_and_is_rebound(haltere: Haltere) -> None:
    times = _times(haltere, "quic/cubic", "mpquic/cubic", *PATHS)
    moved = _times(haltere, "quic/cubic", "mpquic/cubic", *PATHS, "--migrate", "300ms:1")
    assert all(moved[contender] > times[contender] * 1.1 for contender in times)
    rebound = _times(haltere, "quic/cubic", *PATHS, "--rebind", "300ms", "--rebind", "500ms:address")
    assert rebound["quic/cubic"] > times["quic/cubic"]
    ended = haltere("compare", "tcp/cubic", *PATHS, *ONCE, "--migrate", "300ms:1")
    assert "left the address" in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("option", "given", "says"),
    [
        ("--migrate", "300ms", "TIME:PATH"),
        ("--migrate", "300ms:7", "there are the paths 0 to 1"),
        ("--rebind", ":port", "TIME or TIME:address"),
        ("--rebind", "300ms:name", "name"),
    ],
)
def test_a_wrong_move_is_refused_by_its_option(haltere: Haltere, option: str, given: str, says: str) -> None:
    wrong = haltere("compare", "quic/cubic", *PATHS, *ONCE, option, given)
    assert wrong.returncode == 2
    assert option in wrong.stderr and says in " ".join(wrong.stderr.split())


def test_only_the_model_moves_clients(haltere: Haltere) -> None:
    wrong = haltere("compare", "quic@quinn/cubic", *PATHS, *ONCE, "--migrate", "1s:1", "--fidelity", "stack")
    assert wrong.returncode == 2
    assert "--migrate" in wrong.stderr and "run the model" in " ".join(wrong.stderr.split())


# The measured hosts had Linux's initial receive buffers, 128 KiB, a kernel without wireless networks, and packets from
# an emulator behind TUN devices, which added 0.1 ms to a round trip (`how` of kernel.json).
MEASURED = "mptcp/cubic+header-room=256B+receive-window=65536B+network-card=tun"
EMULATOR_MS = 0.1


def test_measured_transfers_over_two_paths_take_as_long_as_in_the_kernel() -> None:
    measured = json.loads((Path(__file__).parents[1] / "data" / "kernel.json").read_text())["mptcp"]
    cases = [case for case in measured if case["mode"] in ("mptcp12", "mptcp21")]
    assert len(cases) == 8
    for case in cases:
        paths = []
        for path in (case["path1"], case["path2"]):
            window = path["bw_mbps"] * 1e6 * path["rtt_ms"] / 1e3 / 8 / 1500
            down = {"delay": f"{path['rtt_ms'] + EMULATOR_MS}ms", "queue": f"{max(50, int(window))}p"}
            paths.append({"rate": f"{path['bw_mbps']}Mbit/s", "down": down, "up": {"delay": "0ms", "queue": "1000p"}})
        first = int(case["mode"] == "mptcp21")
        flow = {"contender": MEASURED, "size": f"{case['size_bytes']}B", "app": "raw", "first_path": first}
        scenario = {"topology": {"kind": "multipath", "paths": paths}, "flows": [flow]}
        took = json.loads(core.run(core.parse(scenario), 1, 0))["flows"][0]["completion_s"]
        assert took == pytest.approx(case["median_s"], rel=0.1), (case["setting"], case["mode"], case["size_bytes"])
