"""`haltere compare`: the contract of its JSON, and what the table says about who wins."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import haltere as package
from conftest import Haltere
from haltere import core, stats
from haltere.adhoc.compared import ENTRY
from haltere.adhoc.comparison import measure
from haltere.adhoc.conditions import About, Comparison, Conditions, PathConditions, option_name, stated
from haltere.adhoc.verdict import Verdict
from haltere.cli import app as commands
from haltere.cli import compare as shown
from haltere.cli.options import takes
from haltere.errors import InputError, Interrupted
from haltere.metrics import METRICS
from haltere.stats import Interval

KEYS = ["contender", "seed", "completion_s", "bytes", "goodput_bps", "wire_bytes", "retransmitted_packets"]
KEYS += ["lost_packets", "mean_rtt_s", "rtt_p95_s", "min_rtt_s", "error"]
MEAN_WAIT, LONGEST_WAIT = "bottleneck_mean_queueing_delay_s", "bottleneck_max_queueing_delay_s"
QUICK = ["--rate", "10Mbit/s", "--down-delay", "10ms", "--up-delay", "0ms", "--size", "200kB"]


def test_the_json_has_an_entry_for_each_contender_and_replication(haltere: Haltere) -> None:
    done = haltere(
        "compare", "tcp/cubic", "quic/bbr", *QUICK, "--loss", "2%", "--replications", "3", "--json", "--seed", "5"
    )
    assert (done.returncode, done.stderr) == (0, "")
    entries = json.loads(done.stdout)
    assert [(e["contender"], e["seed"]) for e in entries] == [
        (c, s) for s in (5, 6, 7) for c in ("tcp/cubic", "quic/bbr")
    ]
    for entry in entries:
        assert {*KEYS, MEAN_WAIT, LONGEST_WAIT} <= set(entry)
        assert entry["error"] is None
        assert entry["bytes"] == 200_000
        assert entry["wire_bytes"] > entry["bytes"]
        assert entry["goodput_bps"] == pytest.approx(8 * entry["bytes"] / entry["completion_s"])
        assert entry["goodput_bps"] < 10e6
    assert len({e["completion_s"] for e in entries if e["contender"] == "tcp/cubic"}) > 1


def test_a_raw_transfer_is_shorter_than_one_over_tls(haltere: Haltere) -> None:
    times = {}
    for app in ("raw", "https"):
        done = haltere("compare", "tcp/cubic", *QUICK, "--app", app, "--replications", "1", "--json", "--queue", "1bdp")
        times[app] = json.loads(done.stdout)[0]["completion_s"]
    assert 0.16 < times["raw"] < times["https"]


def test_sharing_gives_an_entry_a_flow_in_the_order_given() -> None:
    conditions = Conditions(rate="10Mbit/s", rtt="20ms", queue="1bdp", app="raw", share=True, duration="20s")
    entries = measure(["tcp/cubic", "tcp/newreno", "tcp/cubic"], conditions, replications=2, seed=3)
    assert [e["contender"] for e in entries] == ["tcp/cubic", "tcp/newreno", "tcp/cubic"] * 2
    assert [e["seed"] for e in entries] == [3, 3, 3, 4, 4, 4]
    for together in (entries[:3], entries[3:]):
        assert 8e6 < sum(e["goodput_bps"] for e in together) < 10e6
        assert all(e["error"] is None for e in together)


def test_flows_start_one_after_the_other_and_in_reverse_on_odd_replications() -> None:
    conditions = Conditions(share=True)
    starts = [
        [flow["start"] for flow in conditions.scenario(["tcp/cubic"] * 3, reverse_starts=odd).data["flows"]]
        for odd in (False, True)
    ]
    assert starts == [["0ms", "100ms", "200ms"], ["200ms", "100ms", "0ms"]]


def test_the_rtt_is_split_evenly_to_the_nanosecond() -> None:
    assert Conditions(rtt="50ms").delays() == ("25000000ns", "25000000ns")
    assert Conditions(rtt="0.000003ms").delays() == ("2ns", "1ns")
    assert Conditions().delays() == ("25000000ns", "25000000ns")
    assert Conditions(down_delay="7ms").delays() == ("7ms", "0ms")


TWO_PATHS = (
    PathConditions(rate="20Mbit/s", rtt="10ms", queue="50p"),
    PathConditions(rate="5Mbit/s", down_delay="40ms", loss="1%", mtu="1280B"),
)


def test_paths_become_links_of_one_topology() -> None:
    data = Conditions(paths=TWO_PATHS, size="1MB").data(["tcp/cubic", "quic/bbr"])
    assert data["topology"] == {
        "kind": "multipath",
        "paths": [
            {
                "rate": "20Mbit/s",
                "queue": "50p",
                "mtu": "1500B",
                "down": {"delay": "5000000ns", "loss": "0%"},
                "up": {"delay": "5000000ns"},
            },
            {
                "rate": "5Mbit/s",
                "queue": "1000p",
                "mtu": "1280B",
                "down": {"delay": "40ms", "loss": "1%"},
                "up": {"delay": "0ms"},
            },
        ],
    }
    assert [flow["contender"] for flow in data["flows"]] == ["tcp/cubic", "quic/bbr"]
    assert {flow["size"] for flow in data["flows"]} == {"1MB"}


def test_a_path_is_written_as_keys_and_values() -> None:
    assert PathConditions.parse("rate=20Mbit/s,rtt=10ms,queue=50p") == TWO_PATHS[0]
    assert PathConditions.parse(" rate = 5Mbit/s , down-delay=40ms,loss=1%,mtu=1280B") == TWO_PATHS[1]


def test_a_ring_is_a_condition_of_a_path(haltere: Haltere) -> None:
    reserve = PathConditions.parse("rate=5Mbit/s,backup")
    assert reserve == PathConditions(rate="5Mbit/s", backup=True) == PathConditions.parse("rate=5Mbit/s,backup=true")
    assert reserve.link()["backup"] is True
    assert "in reserve" in reserve.described()
    assert "backup" not in PathConditions().link()
    path = PathConditions.parse("ring=64p,bql=false")
    assert path == PathConditions(ring="64p", bql=False)
    assert {key: path.link()[key] for key in ("ring", "bql")} == {"ring": "64p", "bql": False}
    assert not {"ring", "bql"} & PathConditions().link().keys()
    with pytest.raises(InputError, match="bql is neither true nor false"):
        PathConditions.parse("ring=64p,bql=no")
    wrong = haltere("compare", "tcp/cubic", *QUICK, "--no-bql", "--replications", "1")
    assert (wrong.returncode, "--bql: byte queue limits are of a ring" in wrong.stderr) == (2, True)


def test_a_queue_with_parameters_stands_in_options_in_a_path_and_in_a_scenario(haltere: Haltere) -> None:
    def goodput(*options: str) -> list[float]:
        what = ("compare", "tcp/cubic", "--size", "2MB", "--replications", "2", "--json", *options)
        return [one["completion_s"] for one in json.loads(haltere(*what).stdout)]

    shaped = goodput("--rate", "20Mbit/s", "--queue", "tbf:rate=2Mbit/s,burst=9kB,limit=30p")
    assert shaped == goodput("--path", "queue=tbf:rate=2Mbit/s;burst=9kB;limit=30p,rate=20Mbit/s")
    assert min(shaped) > 2e6 * 8 / 2e6
    table = {"discipline": "tbf", "rate": "2Mbit/s", "burst": "9kB", "limit": "30p"}
    links = [
        core.link_config({"queue": queue})["down"]["queue"] for queue in (table, "tbf:rate=2Mbit/s,burst=9kB,limit=30p")
    ]
    assert links[0] == links[1]


def test_paths_stand_alone() -> None:
    with pytest.raises(InputError, match=r"rate, loss: is given besides `paths`"):
        Conditions(rate="5Mbit/s", loss="1%", paths=TWO_PATHS)
    with pytest.raises(InputError, match=r"mtu: is given besides `paths`"):
        package.compare(["tcp/cubic"], mtu="1280B", paths=TWO_PATHS)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("topology.paths[1].rate", r"^paths: path 1: rate: is wrong$"),
        ("topology.paths[1].down.loss", r"^paths: path 1: loss: is wrong$"),
        ("topology.paths[0].down.delay", r"^paths: path 0: rtt: is wrong\n  given: \"10ms\"$"),
        ("topology.paths[1].down.delay", r"^paths: path 1: down_delay: is wrong$"),
        ("flows[1].contender", r"^contender: is wrong$"),
        ("topology.kind", r"^scenario: topology.kind: is wrong$"),
    ],
)
def test_errors_of_paths_name_the_path_and_its_key(field: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise InputError("is wrong", field=field)

    monkeypatch.setattr("haltere.scenario.Scenario", refuse)
    with pytest.raises(InputError, match=words):
        Conditions(paths=TWO_PATHS).scenario(["tcp/cubic", "tcp/bbr"])


def test_a_contender_of_one_path_takes_the_first(haltere: Haltere) -> None:
    first = ("--rate", "20Mbit/s", "--rtt", "10ms", "--queue", "50p")
    what = ("compare", "tcp/cubic", "quic/bbr", "--size", "1MB", "--replications", "2", "--json")
    alone = haltere(*what, *first)
    several = haltere(*what, "--path", "rate=20Mbit/s,rtt=10ms,queue=50p", "--path", "rate=5Mbit/s,loss=1%")
    assert (alone.returncode, several.returncode, several.stderr) == (0, 0, "")
    assert [entry | {"queue": "50p"} for entry in json.loads(several.stdout)] == json.loads(alone.stdout)


@dataclass(frozen=True, kw_only=True)
class More(Conditions):
    """Conditions with one more."""

    time_limit: Annotated[str, About("How long a run may take.", "How", at="time_limit")] = "9s"


NOT_THEIRS = {
    "compare": (),
    "trace": ("share", "duration", "replications", "workers", "metric"),
    "validate": ("share", "duration", "fidelity", "flows", "probe", "direction", "metric"),
}


def test_a_condition_is_stated_once() -> None:
    """A field is an option of every command, a keyword in Python and a value of the scenario."""

    application, seen = typer.Typer(), []

    @application.command()
    @takes(More(size="1MB"), without=("share",))
    def command(conditions: Conditions) -> None:
        seen.append(conditions)

    assert CliRunner().invoke(application, ["--time-limit", "7s"]).exit_code == 0
    assert seen == [More(size="1MB", time_limit="7s")]
    assert seen[0].data(["tcp/cubic"])["time_limit"] == "7s"
    text = CliRunner().invoke(application, ["--help"]).stdout
    assert "How long a run may take." in text
    assert "--share" not in text
    for name, without in NOT_THEIRS.items():
        text = CliRunner().invoke(commands.app, [name, "--help"]).stdout
        for field, about in stated(Comparison):
            offered = field.name not in without and not about.key
            assert (f" {option_name(field, about)} " in text) == offered, field.name
    assert list(inspect.signature(package.compare).parameters) == [
        "contenders",
        *(field.name for field, _ in stated(Comparison)),
    ]


def test_workers_change_nothing() -> None:
    conditions = Conditions(rate="10Mbit/s", size="100kB", loss="3%")
    one, two = (measure(["tcp/cubic", "quic/cubic"], conditions, replications=4, workers=w) for w in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tcp/cubic", "--rate", "fast"], ["--rate: ", 'given: "fast"']),
        (["tcp/cubic", "--loss", "200%"], ["--loss: ", 'given: "200%"']),
        (["tcp/cubic", "--loss", "1"], ["--loss: ", 'as in "1%", or a fraction below 1, such as 0.01']),
        (["tcp/cubic", "--rate", "50"], ["--rate: ", 'as in "50Mbit/s"']),
        (["tcp/cubic", "--size", "32"], ["--size: ", 'as in "32MiB"']),
        (["tcp/cubik"], ['"cubik": did you mean "cubic"? there are newreno']),
        (["tpc/cubic"], ['"tpc": did you mean "tcp"? there are']),
        (["tcp/cubic-hystrat"], ['"hystrat": did you mean "hystart"? tcp knows']),
        (["tcp/cubic", "--queue", "some"], ["--queue: ", 'given: "some"']),
        (
            ["tcp/cubic", "--queue", "fq_coddle"],
            ['unknown queue discipline "fq_coddle": did you mean "fq_codel"? there are'],
        ),
        (["tcp/cubic", "--queue", "red:min=9kB,max=8kB"], ["--queue: min: 9000B is not below max, 8000B"]),
        (["tcp/cubic", "--queue", "tbf:speed=1Mbit/s"], ['has no parameter "speed": it has rate, burst']),
        (
            ["tcp/cubic", "--path", "queue=tbf:rate=1Mbit/s,burst=9kB"],
            ['--path: there is no key "burst"', "a queue's parameters are separated by semicolons"],
        ),
        (["tcp/cubic", "--size", "big"], ["--size: ", 'given: "big"']),
        (["tcp/cubic", "--app", "gopher"], ["--app: ", 'given: "gopher"']),
        (["tcp/cubic", "--mtu", "9"], ["--mtu: "]),
        (["tcp/cubic", "--rtt", "5"], ["--rtt: is not a time", 'given: "5"', "right: a number and a unit"]),
        (["tcp/cubic", "--rtt", "5ms", "--up-delay", "1ms"], ["--rtt: stands beside a delay for one direction"]),
        (["tcp/cubic", "--down-delay", "late"], ["--down-delay: ", 'given: "late"']),
        (["tcp/cubic", "--path", "speed=5"], ['--path: there is no key "speed"', "the keys are rate, rtt, down-delay"]),
        (["tcp/cubic", "--path", "rate"], ["--path: is neither a preset nor KEY=VALUE", '"rate"', "starlink"]),
        (["tcp/cubic", "--path", "rate=5Mbit/s,"], ['--path: "" is not KEY=VALUE']),
        (["tcp/cubic", "--path", "rate="], ["--path: rate has no value"]),
        (["tcp/cubic", "--path", "rate=1Mbit/s,rate=2Mbit/s"], ["--path: rate is given twice"]),
        (
            ["tcp/cubic", "--path", "rtt=5ms,up-delay=1ms"],
            ["--path: path 0: rtt: stands beside a delay", "right: rtt, "],
        ),
        (["tcp/cubic", "--path", "loss=1%", "--rate", "40Mbit/s"], ["--rate: is given besides --path"]),
        (["pigeon/cubic"], ["contender: ", 'given: "pigeon/cubic"']),
        (["tcp/cubic", "tcp/vegas-9000"], ["contender: ", 'given: "tcp/vegas-9000"']),
        (["tcp/cubic", "--replications", "0"], ["--replications: "]),
        (["tcp/cubic", "--seed", "-1"], ["--seed: "]),
        (["tcp/cubic", "--share", "--duration", "5s"], ["--duration: "]),
    ],
)
def test_wrong_options_are_named(arguments: list[str], words: list[str], haltere: Haltere) -> None:
    done = haltere("compare", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    for word in words:
        assert word in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_from_python_the_answer_is_a_data_frame() -> None:
    table = package.compare(["tcp/cubic", "quic/cubic"], rate="10Mbit/s", rtt="20ms", size="100kB", replications=2)
    assert table.height == 4
    assert table.columns == list(ENTRY)
    assert set(KEYS) < set(ENTRY)
    assert table["completion_s"].dtype == pl.Float64
    with pytest.raises(InputError, match="no contender"):
        package.compare([])


def entry(contender: str, replication: int, completion_s: float | None, error: str | None = None) -> dict[str, Any]:
    goodput = None if completion_s is None else 8e6 / completion_s
    values = [contender, replication, completion_s, 1_000_000, goodput, 1_050_000, 3, 2, *[None] * 3, error]
    return dict.fromkeys(ENTRY) | dict(zip(KEYS, values, strict=True))


def said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    entries: list[dict[str, Any]],
    **conditions: Any,
) -> str:
    monkeypatch.setattr(shown, "measure", lambda *_arguments, **_options: entries)
    monkeypatch.setattr(shown.show, "out", lambda: Console(width=160))
    contenders = [e["contender"] for e in entries if e["seed"] == 0]
    what = Comparison(replications=len(entries) // len(contenders), seed=0, workers=1, **conditions)
    with contextlib.suppress(typer.Exit):
        shown.command(contenders, what, as_json=False)
    return capsys.readouterr().out


def test_a_clear_winner_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        entry(c, r, (1.0 if c == "quic/bbr" else 1.5) + 0.01 * r) for r in range(10) for c in ("tcp/cubic", "quic/bbr")
    ]
    text = said(monkeypatch, capsys, entries)
    assert "quic/bbr wins:" in text
    assert (
        "0.676 [0.671, 0.681] of tcp/cubic's time: a real difference (paired over 10 replications, p = 0.0020)" in text
    )
    assert "1.045" in text
    assert "overhead" in text


def test_a_winner_by_chance_is_not_called_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry(c, r, 1.0 + 0.1 * ((r * 7 + 3 * (c == "a/b")) % 10)) for r in range(10) for c in ("a/b", "c/d")]
    text = said(monkeypatch, capsys, entries)
    assert "wins" not in text
    assert "no winner is shown; a/b has the lowest mean time:" in text
    assert "not shown to be a real difference" in text


def test_a_lead_within_the_margin_is_no_win(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry(c, r, (1.0 if c == "a/b" else 1.02) + 0.1 * r) for r in range(10) for c in ("a/b", "c/d")]
    text = said(monkeypatch, capsys, entries)
    assert "no winner: all are within 5 % of a/b, which has the lowest mean time:" in text
    assert (
        "of c/d's time: alike: more than chance, but within the margin of 5 % (paired over 10 replications, p = 0.0020)"
        in text
    )


def test_the_correction_and_what_would_be_needed_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"a/b": 1.0, "c/d": 2.0, "e/f": 3.0}
    few = [entry(c, r, places[c] + 0.01 * r) for r in range(6) for c in places]
    assert "p = 0.094 corrected for all 3 pairs" in said(monkeypatch, capsys, few)
    assert "undecided: 6 replications cannot tell, 7 could" in said(monkeypatch, capsys, few)
    enough = [entry(c, r, places[c] + 0.01 * r) for r in range(7) for c in places]
    assert "a/b wins: it has the lowest mean time, and is ahead of every other:" in said(monkeypatch, capsys, enough)


def test_identical_replications_are_said_to_be_exact(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry(c, r, 1.0 if c == "a/b" else 2.0) for r in range(3) for c in ("a/b", "c/d")]
    text = said(monkeypatch, capsys, entries)
    assert "0.500 of c/d's time: exact, as nothing random happened" in text


def test_few_replications_cannot_tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [entry(c, r, (1.0 if c == "a/b" else 2.0) + r) for r in range(3) for c in ("a/b", "c/d")]
    assert "3 replications cannot tell, 6 could" in said(monkeypatch, capsys, entries)
    entries = [entry(c, 0, 1.0 if c == "a/b" else 2.0) for c in ("a/b", "c/d")]
    assert "one replication cannot tell; 6 could" in said(monkeypatch, capsys, entries)


def test_failures_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        entry(c, r, None, "no handshake [x]") if c == "c/d" else entry(c, r, 1.0)
        for r in range(3)
        for c in ("a/b", "c/d")
    ]
    text = said(monkeypatch, capsys, entries)
    assert "c/d: 3 of 3 failed: no handshake [x]" in text
    assert "only a/b completed" in text


def test_shares_and_jain_s_index(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [entry(c, r, (1.0 if c == "a/b" else 3.0) + 0.01 * r) for r in range(6) for c in ("a/b", "c/d")]
    text = said(monkeypatch, capsys, entries, share=True)
    assert "Jain's index (1 = equal shares): 0.80" in text
    assert "flow 0 (a/b) gets 2.9" in text
    assert "times the goodput of flow 1 (c/d): a real difference" in text


def test_delay_is_in_the_table_in_json_and_in_the_sentence_of_a_shared_link(haltere: Haltere) -> None:
    link = ("--rate", "10Mbit/s", "--rtt", "20ms", "--replications", "2")
    alone = json.loads(haltere("compare", "tcp/cubic", *link, "--queue", "100p", "--size", "2MB", "--json").stdout)
    for entry in alone:
        assert 0.02 <= entry["min_rtt_s"] <= entry["mean_rtt_s"]
        assert entry["min_rtt_s"] <= entry["rtt_p95_s"] < 2.5 * entry["mean_rtt_s"]
        # A packet waits at most for the 99 before it and the one being sent: 100 x 1500 B at 10 Mbit/s.
        assert 0 < entry[MEAN_WAIT] < entry[LONGEST_WAIT] <= 0.12
        assert entry["mean_rtt_s"] - 0.02 == pytest.approx(entry[MEAN_WAIT], abs=0.03)
    idle = json.loads(haltere("compare", "tcp/cubic", *link, "--size", "1kB", "--json").stdout)
    assert idle[0]["mean_rtt_s"] < alone[0]["mean_rtt_s"]
    table = haltere("compare", "tcp/cubic", *link, "--size", "100kB").stdout
    assert "RTT" in table and "queueing delay" in table
    shared = haltere("compare", "tcp/cubic", "tcp/cubic", *link, "--share", "--duration", "11s").stdout
    assert "queueing delay: mean" in shared
    several = haltere(
        "compare", "mptcp/lia", "--path", "lte", "--path", "dsl", "--size", "50kB", "--replications", "1", "--json"
    )
    assert json.loads(several.stdout)[0][MEAN_WAIT] is None


def test_the_exit_code_says_whether_some_or_all_failed(haltere: Haltere) -> None:
    one = ("--replications", "1", *QUICK)
    assert haltere("compare", "tcp/cubic", *one).returncode == 0
    lost = haltere("compare", "tcp/cubic", "quic/cubic", *one, "--loss", "100%")
    assert (lost.returncode, "1 of 1 failed" in lost.stdout) == (4, True)
    entries = haltere("compare", "tcp/cubic", *one, "--loss", "100%", "--json")
    assert (entries.returncode, len(json.loads(entries.stdout))) == (4, 1)


def test_some_failures_end_with_3() -> None:
    entries = [entry(c, r, None, "oh") if c == "c/d" else entry(c, r, 1.0) for r in range(3) for c in ("a/b", "c/d")]
    with pytest.MonkeyPatch.context() as patched, pytest.raises(typer.Exit) as ended:
        patched.setattr(shown, "measure", lambda *_arguments, **_options: entries)
        shown.command(["a/b", "c/d"], Comparison(replications=3, seed=0), as_json=True)
    assert ended.value.exit_code == 3


def test_ctrl_c_keeps_the_replications_that_are_complete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(finished: int, _everything: int) -> None:
        if finished == 5:
            os.kill(os.getpid(), signal.SIGINT)

    @contextlib.contextmanager
    def progress(_what: str) -> Iterator[Callable[[int, int], None]]:
        yield interrupt

    monkeypatch.setattr(shown.show, "progress", progress)
    what = Comparison(rate="10Mbit/s", size="100kB", loss="1%", replications=200, workers=1)
    with pytest.raises(Interrupted, match=r"^stopped: (\d+) of 200 replications are complete$") as stopped:
        shown.command(["tcp/cubic", "quic/cubic"], what, as_json=True)
    entries = json.loads(capsys.readouterr().out)
    assert 4 <= len(entries) < 20
    assert f"stopped: {len(entries) // 2} of" in str(stopped.value)


def test_progress_is_written_to_a_pipe_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr(shown.show.time, "monotonic", lambda: float(next(clock)))
    with shown.show.progress("comparing") as advance:
        for finished in range(10):
            advance(finished, 9)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "comparing: 1 of 9 runs, about 1 min 52 s left"
    assert len(lines) == 4


def test_a_name_stands_whole_where_the_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "tcp/westwood+prr-hystart"
    entries = [entry(c, r, 1000.0 + r) for r in range(3) for c in (name, "tcp/cubic")]
    monkeypatch.setattr(shown, "measure", lambda *_arguments, **_options: entries)
    monkeypatch.setattr(shown.show, "out", lambda: Console(width=60))
    shown.command([name, "tcp/cubic"], Comparison(replications=3, seed=0), as_json=False)
    table = capsys.readouterr().out.partition("trimmed mean [")[0]
    assert "…" not in table
    assert name in table.splitlines()


def test_an_interval_reads_as_three_numbers() -> None:
    text = shown.show.interval(Interval(12345.6, 12000.4, 13000.2, 10, 0.95, "Student's t"))
    assert text == "12\u202f346 [12\u202f000, 13\u202f000]"


def test_a_duration_too_short_to_share_is_explained(haltere: Haltere) -> None:
    done = haltere("compare", "tcp/cubic", "tcp/bbr", "--share", "--duration", "5s")
    assert done.stderr == (
        "error: --duration: is too short: flows that share a link are measured from 10s on\n"
        '  given: "5s"\n  right: more than 10s, such as 30s\n'
    )


def test_a_queue_replaces_that_of_a_preset(haltere: Haltere) -> None:
    def waits(*options: str) -> list[float]:
        what = ("compare", "tcp/cubic", "--size", "2MB", "--replications", "2", "--json", *options)
        return [one[MEAN_WAIT] for one in json.loads(haltere(*what).stdout)]

    assert Conditions(preset="dsl", queue="1000p").link() == {"preset": "dsl", "queue": "1000p"}
    short = waits("--preset", "dsl", "--queue", "fq_codel")
    assert short == waits("--path", "preset=dsl,queue=fq_codel")
    assert max(short) < min(waits("--preset", "dsl"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tcp/cubik"], 'did you mean "cubic"?'),
        (["tpc/cubic"], 'did you mean "tcp"?'),
        (["tcp/cubic", "--queue", "fq_codell"], 'did you mean "fq_codel"?'),
        (["tcp/cubic", "--queue", "red:mix=9kB"], 'did you mean "min"?'),
        (["tcp/cubic", "--preset", "starlik"], "did you mean starlink?"),
        (["tcp/cubic", "--fidelity", "linx"], "did you mean linux?"),
        (["tcp/cubic", "--probe", "ping"], "lacks a size and an interval; the probe of ping is icmp"),
    ],
)
def test_a_word_that_is_nearly_right_is_named(arguments: list[str], words: str, haltere: Haltere) -> None:
    done = haltere("compare", *arguments)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("odd", [0.02, 0.3, 3.0])
def test_table_and_verdict_are_of_one_statistic(
    odd: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One odd replication among ten moved the ratio of the verdict away from that of the table's values."""
    times = {"a/b": [1.0 + 0.001 * r + odd * (r == 9) for r in range(10)], "c/d": [1.01 + 0.001 * r for r in range(10)]}
    entries = [entry(c, r, times[c][r]) for r in range(10) for c in times]
    text = said(monkeypatch, capsys, entries)
    assert "trimmed mean [95 % interval]" in text
    assert "no winner: all are within 5 % of a/b, which has the lowest mean time:" in text
    first, second = (stats.typical(times[c]).value for c in ("a/b", "c/d"))
    (lead,) = stats.leads(list(times.values()), 0)
    assert lead.ratio.value == pytest.approx(first / second, rel=0.002)
    assert shown.show.interval(lead.ratio, digits=3) in text


def test_an_end_of_an_interval_is_shown_on_its_side_of_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = [1.0002 + 0.02 * r for r in range(10)]
    entries = [entry(c, r, ratios[r] if c == "c/d" else 1.0) for r in range(10) for c in ("a/b", "c/d")]
    assert "[0.8" in (text := said(monkeypatch, capsys, entries))
    assert "1.00]" not in text


def test_json_and_python_have_ratio_interval_and_p_of_the_verdict(haltere: Haltere) -> None:
    what = {"rate": "10Mbit/s", "rtt": "20ms", "size": "200kB", "loss": "1%", "replications": 8}
    table = package.compare(["tcp/cubic", "quic/cubic"], **what)
    (row,) = table.leads.to_dicts()
    times = [table.filter(contender=c)["completion_s"].to_list() for c in ("tcp/cubic", "quic/cubic")]
    first = min((0, 1), key=lambda at: stats.typical(times[at]).value)
    (lead,) = stats.leads(times, first)
    assert (row["ratio"], row["low"], row["high"], row["p"]) == (
        lead.ratio.value, lead.ratio.low, lead.ratio.high, lead.p,
    )  # fmt: skip
    assert row["of"] in table.verdict.splitlines()[0]
    assert table.verdict.splitlines()[0] in table._repr_html_()
    options = [word for name, value in what.items() for word in (f"--{name}", str(value))]
    entries = json.loads(haltere("compare", "tcp/cubic", "quic/cubic", *options, "--json").stdout)
    assert [one["against"] for one in entries if one["contender"] == row["of"]] == [[row]] * 8
    assert [one["against"] for one in entries if one["contender"] != row["of"]] == [[]] * 8


def test_each_of_three_flows_that_share_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"a/b": 1.0, "c/d": 2.0, "e/f": 3.0}
    entries = [entry(c, r, places[c] + 0.01 * r) for r in range(8) for c in places]
    text = said(monkeypatch, capsys, entries, share=True)
    for better, other in (("0 (a/b)", "1 (c/d)"), ("0 (a/b)", "2 (e/f)"), ("1 (c/d)", "2 (e/f)")):
        (line,) = [line for line in text.splitlines() if f"flow {better} gets" in line and f"flow {other}:" in line]
        assert "a real difference" in line and "corrected for all 3 pairs" in line


def test_a_narrow_terminal_cuts_neither_words_nor_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 40 columns names of studies were cut in two, and values below a long title were wrapped within words."""
    monkeypatch.setattr(shown.show.sys.stdout, "isatty", lambda: True, raising=False)
    names = shown.show.table("study", "title", rows=[("internet-paths-quic", "QUIC against TCP over delays")], left=2)
    values = shown.show.table("study", "effect on completion time, factor", rows=[("a", "1.0\n[0.9, 1.1]")])
    Console(width=40, color_system=None).print(names, values)
    text = capsys.readouterr().out
    for whole in ("internet-paths-quic ", "delays", "effect on completion time, factor\n", "1.0 [0.9, 1.1]"):
        assert whole in text
    assert max(map(len, text.splitlines())) <= 40


def test_one_that_failed_in_some_replications_is_not_called_the_quickest() -> None:
    """The mean of the two runs that did not fail stood above means over ten."""
    times: tuple[float | None, ...] = (*[None] * 8, 1.1, 1.2)
    whole = tuple(2.0 + 0.01 * n for n in range(10))
    slower = tuple(3.0 + 0.01 * n for n in range(10))
    names, has = ("half", "whole", "slower"), "the lowest mean time"
    found = Verdict(
        METRICS["completion_time"], names, (times, whole, slower), "the lowest mean time", "time", (0, 1, 2)
    )
    assert found.order == [1, 2, 0]
    assert "whole" in found.lines()[0] and "the lowest mean time of those that never failed" in found.lines()[0]
    alone = Verdict(METRICS["completion_time"], names[1:], (whole, slower), has, "time", (0, 1))
    assert "never failed" not in alone.lines()[0]
