"""The command line: help, reference, traces; and every error one readable block."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from conftest import Haltere
from haltere import Study, cli, core
from haltere.cli import app as app_module
from haltere.cli import moved, show

COMMANDS = (
    "compare",
    "link",
    "run",
    "report",
    "trace",
    "shadow",
    "first-difference",
    "explain",
    "map",
    "why",
    "when",
    "bench",
    "algorithms",
    "queues",
    "schema",
)


def test_help_teaches_the_words_and_lists_every_command(haltere: Haltere) -> None:
    done = haltere("--help")
    assert done.returncode == 0
    for word in (*COMMANDS, "contender", "40Mbit/s", "1bdp"):
        assert word in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = CliRunner().invoke(app_module.app, [command, "--help"])
    assert done.exit_code == 0
    assert "Usage" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from haltere.cli.app import app; app(['--help'], standalone_mode=False); "
        "known = {'polars', 'numpy', 'scipy', 'pydantic', 'matplotlib', 'altair', 'haltere._core'}; "
        "heavy = known & sys.modules.keys(); "
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", moved.MOVED)
def test_former_spellings_are_refused_with_the_new_one(words: tuple[str, str], haltere: Haltere) -> None:
    done = haltere(words[0], "x", f"{words[1]}=y") if words[1].startswith("--") else haltere(*words, "x")
    assert (done.returncode, done.stdout) == (2, "")
    now = moved.MOVED[words]
    assert f"right: {now}" in done.stderr
    known = typer.main.get_command(app_module.app)
    for word in now.split()[1:]:
        if not hasattr(known, "commands"):
            break
        known = known.commands[word]


def test_version(haltere: Haltere) -> None:
    assert haltere("--version").stdout == f"haltere {core.VERSION}\n"


@pytest.mark.parametrize(
    "arguments",
    [["compare"], ["compare", "tcp/cubic", "--replications", "many"], ["frobnicate"], ["compare", "--nope"]],
)
def test_a_wrong_line_ends_with_2(arguments: list[str], haltere: Haltere) -> None:
    done = haltere(*arguments)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_our_own_is_one_block(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(**_options: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(app_module, "app", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("error: haltere itself went wrong: ZeroDivisionError: oh\n")


def test_algorithms_lists_what_a_contender_is_made_of(haltere: Haltere) -> None:
    known = json.loads(haltere("algorithms", "--json").stdout)
    assert {"tcp", "quic"} <= {item["name"] for item in known["transports"]}
    assert {"newreno", "cubic", "bbr"} <= {item["name"] for item in known["congestion"]}
    assert {"lowest-rtt", "linux", "ecf", "blest"} <= {item["name"] for item in known["schedulers"]}
    assert {"tcp@hyper", "quic@quinn"} <= {item["name"] for item in known["programs"]}
    stacks = {item["name"]: item for item in known["stacks"]}
    assert stacks["quic@noq"]["congestion"] == ["cubic", "newreno"]
    assert [item["name"] for item in stacks["quic@quinn"]["refused"]] == ["bbr"]
    assert (stacks["quic@noq"]["schedulers"], stacks["quic@quinn"]["schedulers"]) == (["priority"], [])
    table = haltere("algorithms").stdout
    for kind in ("transports", "congestion", "schedulers", "stacks", "switches", "programs"):
        for item in known[kind]:
            assert item["name"] in table


def test_queues_lists_disciplines_and_shows_one_in_full(haltere: Haltere) -> None:
    known = json.loads(haltere("queues", "--json").stdout)
    names = [one["name"] for one in known]
    assert {"drop-tail", "head-drop", "pfifo_fast", "prio", "tbf", "drr", "sfq", "red", "fq"} <= set(names)
    table = haltere("queues").stdout
    for one in known:
        for word in (one["name"], one["summary"], one["reference"], ", ".join(p["name"] for p in one["parameters"])):
            assert word in table
        alone = haltere("queues", one["name"]).stdout
        assert json.loads(haltere("queues", one["name"], "--json").stdout) == one
        for parameter in one["parameters"]:
            for word in (parameter["name"], parameter["summary"], parameter["default"] or ""):
                assert word in alone, (one["name"], word)
    refused = haltere("queues", "fq_coddle")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'given: "fq_coddle"' in refused.stderr
    assert f"right: {', '.join(names)}" in refused.stderr


def test_schemas_are_json_schemas(haltere: Haltere) -> None:
    scenario = json.loads(haltere("schema").stdout)
    assert {"topology", "flows"} <= set(scenario["properties"])
    study = json.loads(haltere("schema", "study").stdout)
    assert {"study", "parameters", "experiments", "variants", "when", "why"} == set(study["properties"])
    assert set(study["$defs"]["Header"]["required"]) == {"name", "seed", "replications"}
    figures = json.loads(haltere("schema", "figures").stdout)
    assert {"style", "factors", "columns", "lines", "overviews", "timelines"} <= set(figures["properties"])
    assert set(figures["$defs"]["Lines"]["required"]) == {"name", "experiment", "metric", "x"}
    refused = haltere("schema", "poem")
    assert (refused.returncode, "right: scenario, study, figures" in refused.stderr) == (2, True)


SCENARIO = """
[topology]
kind = "point-to-point"
[topology.link]
rate = "10Mbit/s"
delay = "10ms"
queue = "50p"
mtu = "1500B"
[[flows]]
contender = "tcp/cubic"
size = "500kB"
"""


def test_a_trace_of_a_file_holds_series_result_and_figure(tmp_path: Path, haltere: Haltere) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    done = haltere("trace", "one.toml")
    assert done.returncode == 0, done.stderr
    assert "flow 0 tcp/cubic: " in done.stdout
    folder = tmp_path / "traces" / "one"
    series = pl.read_parquet(folder / "series.parquet")
    assert {"cwnd", "bytes_in_flight", "rtt", "queue"} <= set(series["name"].unique())
    assert series.group_by("who", "name").agg(pl.col("t_s").is_sorted()).select(pl.col("t_s").all()).item()
    assert pl.read_csv(folder / "series.csv").height == series.height
    run = json.loads((folder / "run.json").read_text())
    assert run["scenario"]["topology"]["link"]["rate"] == "10Mbit/s"
    assert run["result"]["flows"][0]["bytes"] == 500_000
    assert "<svg" in (folder / "trace.svg").read_text()
    assert (folder / "trace.pdf").read_bytes().startswith(b"%PDF")


def test_a_trace_of_contenders_needs_no_file(tmp_path: Path, haltere: Haltere) -> None:
    done = haltere("trace", "tcp/cubic", "quic/bbr", "--rate", "10Mbit/s", "--size", "300kB", "--out", "t")
    assert done.returncode == 0, done.stderr
    series = pl.read_parquet(tmp_path / "t" / "series.parquet")
    assert {"flow 0", "flow 1"} <= set(series["who"].unique())


def test_a_trace_can_look_inside(tmp_path: Path, haltere: Haltere) -> None:
    done = haltere("trace", "quic/cubic", "--rate", "10Mbit/s", "--size", "300kB", "--out", "t", "--qlog", "--pcap")
    assert done.returncode == 0, done.stderr
    assert "2 qlog files in t/qlog" in done.stdout
    assert "1 pcap file in t/pcap" in done.stdout
    records = (tmp_path / "t" / "qlog" / "flow-0-server.sqlog").read_text().split("\x1e")
    events = [json.loads(record) for record in records[1:]]
    assert events[0]["qlog_format"] == "JSON-SEQ"
    assert {"transport:packet_sent", "recovery:metrics_updated"} <= {event["name"] for event in events[1:]}
    assert (tmp_path / "t" / "pcap" / "link.pcapng").read_bytes().startswith(b"\x0a\x0d\x0d\x0a")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tcp/cubic", "--pcap-link", "bottelneck"], 'there is no link "bottelneck": there are "link"'),
        (["tcp/cubic", "--qlog", "--fidelity", "testbed"], "is written by the simulator"),
        (["none.toml"], "none.toml: cannot be read"),
        (["tcp/cubic", "--replication", "-1"], "--replication"),
        (["x/y"], "contender"),
    ],
)
def test_traces_that_cannot_be_made(arguments: list[str], words: str, haltere: Haltere) -> None:
    done = haltere("trace", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_study_s_report(small_study: Path, tmp_path: Path, haltere: Haltere) -> None:
    Study.load(small_study).run(out=tmp_path / "r", replications=2)
    done = haltere("report", "r", "--study", "small")
    assert done.returncode == 0, done.stderr
    assert "report: r/report.html" in done.stdout
    assert "A small study" in (tmp_path / "r" / "report.html").read_text()
    assert (tmp_path / "r" / "verdicts.md").exists()
    refused = haltere("report", "r", "--study", "gone")
    assert (refused.returncode, "gone: --study: the study's folder is not here" in refused.stderr) == (2, True)


def test_the_benchmark_s_table_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"case": "10 CUBIC flows", "data_packets": 838_860, "cpu_s": 0.25, "packets_per_cpu_s": 3.36e6}
    cases = [case | {"bytes_per_packet_in_flight": 312.0}, case | {"bytes_per_packet_in_flight": None}]
    monkeypatch.setattr(core, "bench", lambda: cases)
    table = CliRunner().invoke(app_module.app, ["bench"])
    assert table.exit_code == 0
    speed, memory = table.stdout.split("memory on this machine")
    for figure in ("10 CUBIC flows", "838\u202f860", "0.250", "3\u202f360\u202f000"):
        assert figure in speed
    assert "312" in memory
    assert json.loads(CliRunner().invoke(app_module.app, ["bench", "--json"]).stdout) == cases


@pytest.mark.parametrize("width", [30, 45, 60, 80, 200])
def test_no_number_of_a_table_is_cut_on_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    numbers = [f"{100 * row + column}.4567 [0.{column}123, 1234.{row}]" for row in range(3) for column in range(5)]
    rows = [[f"contender/{row}", *numbers[5 * row : 5 * row + 5]] for row in range(3)]
    made = show.table("contender", *(f"metric {column}\nMbit/s" for column in range(5)), rows=rows, caption="a caption")
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=True, color_system=None).print(made)
    text = stream.getvalue()
    assert "a caption" in text
    # A block may fold between numbers at the narrowest widths, never within one.
    said = " ".join(text.split())
    for number in " ".join(numbers).split():
        assert number in said
    assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("width", [60, 40, 12])
def test_lines_of_a_narrow_terminal_end_between_words_and_cut_no_number(width: int) -> None:
    text = "88 real changes of 10\u202f800 runs; 1\u202f000\u202f000 packets were lost, and 0.000000019 is a p value"
    lines = show.lines_of(text, width)
    assert " ".join(lines) == text and all(len(line) <= width for line in lines)


@pytest.mark.parametrize("width", [60, 40])
def test_a_row_that_does_not_fit_is_a_block_whose_numbers_are_whole(width: int) -> None:
    place = "experiment base, queue 100\u202f000\u202f000 packets, rate 10\u202f000 kbit/s, object 10\u202f000 kB"
    rows = [
        (
            place,
            "Completion time (s)",
            "12\u202f345.6 [12\u202f300.1, 12\u202f400.2]",
            "9.5",
            "−66.8 %, better",
            "0.000000019",
        )
    ]
    console = Console(width=width, file=io.StringIO())
    console.print(show.table("treatment", "metric", "A", "B", "B against A", "p", rows=rows, left=2))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for whole in ("100\u202f000\u202f000", "10\u202f000", "12\u202f345.6", "0.000000019", "−66.8 %"):
        assert whole in shown
    assert max(map(len, shown.splitlines())) <= width
