"""Figures: what they show, who wears which colour, and that the same numbers give the same bytes."""

from __future__ import annotations

import itertools
import json
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import report_tables as synthetic
from haltere import core
from haltere.errors import InputError
from haltere.figures import kinds, on_paper, on_screen, parts, peaks, style, trace_figure
from haltere.figures.bars import Bars
from haltere.figures.boxes import Boxes, spread
from haltere.figures.overviews import Overview
from haltere.figures.parts import Box, Dot, Line, NotInResultsError, Rect, up_to
from haltere.figures.parts import Figure as Drawn
from haltere.figures.points import OtherPoint, Points
from haltere.figures.spec import Data
from haltere.figures.timeline import Timeline
from haltere.figures.trace import _end_of, _worth_drawing, thin
from haltere.metrics import METRICS, quantities
from haltere.metrics.contenders import display_name, distance, keys, look
from haltere.metrics.tables import Tables, paired, standing
from haltere.metrics.text import OPACITY, fixed, number, significant, strength
from haltere.stats import Interval
from haltere.study import Study

STUDY = Path(__file__).parents[2] / "studies" / "quic-dumbbell"
BAR = Bars(
    name="time",
    experiment="base",
    metric="completion_time",
    x="loss",
    series="transport",
    where={"rate": "40 Mbit/s", "delay": "100ms", "congestion": "cubic", "size": "32MB"},
)
MAP = Overview(
    name="map",
    experiment="base",
    metric="completion_time",
    factor="transport",
    of="quic",
    to="tcp",
    panels=("congestion", "size"),
    rows=("rate",),
    columns=("delay", "loss"),
)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return synthetic.make(synthetic.plausible())


def interval(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 10, 0.95, "Student's t")


def test_contenders_differ_in_colour_and_keep_it_whoever_else_is_drawn() -> None:
    contenders = [f"{t}/{c}" for t in ("tcp", "quic", "mptcp", "mpquic") for c in ("cubic", "bbr", "newreno")]
    contenders += ["cubic", "bbr", "newreno"]
    assert len({look(name).light for name in contenders}) == len(contenders)
    assert len({look(name).dark for name in contenders}) == len(contenders)
    assert look("tcp").light == look("tcp/cubic").light
    assert look("quic@quinn/bbr") == look("quic@quinn/bbr")
    assert {look("tcp/bbr").hatch, look("quic/bbr").hatch, look("mptcp/bbr").hatch, look("mpquic/bbr").hatch} == {
        "",
        "////",
        "....",
        "xxxx",
    }


def test_contenders_are_named_as_their_authors_write_them() -> None:
    assert display_name("tcp/cubic-nohystart+tfo") == "TCP/CUBIC-nohystart +tfo"
    assert display_name("quic@quinn/bbr") == "QUIC (quinn)/BBR"
    assert quantities.text("cubic/newreno", "congestion") == "CUBIC/NewReno"


def test_levels_sort_as_quantities_and_are_the_same_however_written() -> None:
    assert quantities.ordered(["100Mbit/s", "5Mbit/s", "40Mbit/s", "800kbit/s"])[0] == "800kbit/s"
    assert quantities.ordered(["bbr", "cubic"]) == ["bbr", "cubic"]
    assert quantities.same("32MB", "32000 kB")
    assert quantities.same("1%", "1 %")
    assert not quantities.same("1s", "1MB")
    assert not quantities.same("32MB", "32MiB")
    assert quantities.text("40Mbit/s") == "40 Mbit/s"


def test_numbers_read_well() -> None:
    assert significant(0.01234) == "0.0123"
    assert significant(12345.6) == "12\u202f346"
    assert fixed(-0.0001, 2) == "0.00"
    assert number(0.814, "ratio") == "0.81"
    assert number(0.0123, "ratio") == ".012"
    assert number(12.3, "ratio") == "12"
    assert number(-0.08, "difference") == "−.08"
    assert number(0.001, "difference") == "0"


def marks(figure: Drawn, kind: type[Any]) -> list[list[Any]]:
    """The marks of this kind in the first panel, a list a series."""
    return [[mark for mark in series.marks if isinstance(mark, kind)] for series in figure.panels[0].series]


def test_bars_show_mean_interval_and_n(tables: Tables) -> None:
    figure = BAR.figure(Data(tables))
    assert [name for _, name in figure.panels[0].x.names] == ["0 %", "1 %", "5 %"]
    assert [series.label for series in figure.legend] == ["TCP/CUBIC", "QUIC/CUBIC"]
    rows = tables.flows.filter(
        (pl.col("experiment") == "base")
        & (pl.col("transport") == "quic")
        & (pl.col("congestion") == "cubic")
        & (pl.col("rate") == "40Mbit/s")
        & (pl.col("delay") == "100ms")
        & (pl.col("loss") == "5%")
        & (pl.col("size") == "32MB")
    )
    sample = rows["completion_s"].to_numpy()
    (exact, *_), (*_, bar) = marks(figure, Rect)
    assert bar.ends is not None
    assert bar.value.endswith("n = 10")
    assert bar.y == (0.0, pytest.approx(sample.mean()))
    # Student's t with 9 degrees of freedom: 2.262; of the mean's logarithm, as no time is negative.
    half = 2.262 * sample.std(ddof=1) / np.sqrt(10)
    assert np.log(bar.ends[1] / bar.y[1]) == pytest.approx(half / sample.mean(), rel=1e-3)
    assert "the same in all 10" in exact.value
    assert exact.ends is None
    assert figure.table.heads == ["Loss", "TCP/CUBIC", "QUIC/CUBIC"]
    assert [row[0] for row in figure.table.rows] == ["0 %", "1 %", "5 %"] and figure.table.rows[2][2] == bar.value


def test_a_figure_without_runs_says_what_it_looked_for(tables: Tables) -> None:
    absent = BAR.model_copy(update={"where": {**BAR.where, "rate": "1Gbit/s"}})
    with pytest.raises(NotInResultsError, match=r"experiment base.*rate 1Gbit/s"):
        absent.figure(Data(tables))
    with pytest.raises(NotInResultsError, match="other"):
        MAP.model_copy(update={"experiment": "other"}).figure(Data(tables))


def test_overview_holds_every_treatment_once(tables: Tables) -> None:
    figure = MAP.figure(Data(tables))
    cells = [(panel.title, mark) for panel in figure.panels for _, mark in panel.each(Rect)]
    assert len(cells) == 108
    assert all("no completed pair" not in cell.value for _, cell in cells)
    assert len({cell.place for _, cell in cells}) == 108
    assert len({(title, cell.x, cell.y) for title, cell in cells}) == 108
    assert [label for _, label in figure.panels[0].x.groups] == ["10 ms", "50 ms", "100 ms"]
    assert [name for _, name in figure.panels[0].x.names] == 3 * ["0 %", "1 %", "5 %"]


def test_pairs_cancel_what_both_contenders_meet(tables: Tables) -> None:
    values = tables.values("base", "completion_time", {"loss": "1%", "delay": "100ms", "rate": "40Mbit/s"})
    pairs = paired(values, "transport", "quic", "tcp", METRICS["completion_time"])
    own = values.filter(pl.col("transport") == "quic").sort("congestion", "size")["value"].log().to_numpy()
    both = pairs.sort("congestion", "size")["value"].to_numpy()
    assert len(both) == 40
    assert both.reshape(4, 10).std(axis=1).mean() < own.reshape(4, 10).std(axis=1).mean()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.97, 1.03, "alike"),
        (1.001, 1.02, "alike"),
        (0.7, 0.8, "of"),
        (0.9, 0.99, "of"),
        (1.2, 1.3, "to"),
        (0.8, 1.2, "unclear"),
    ],
)
def test_standing_of_a_time_ratio(low: float, high: float, expected: str) -> None:
    assert standing(interval(low, high), METRICS["completion_time"]) == expected


def test_colour_grows_with_the_ratio_and_stays_pale_where_nothing_is_clear() -> None:
    time = METRICS["completion_time"]
    assert strength(0.5, time, clear=True) == ("of", OPACITY)
    assert strength(3.0, time, clear=True) == ("to", OPACITY)
    assert strength(1.2, time, clear=True)[1] < OPACITY / 2
    assert strength(0.5, time, clear=False)[1] < OPACITY / 2
    assert strength(0.5, METRICS["throughput"], clear=True)[0] == "to"


def test_standing_follows_what_is_better() -> None:
    assert standing(interval(1.2, 1.3), METRICS["throughput"]) == "of"
    assert standing(interval(-0.2, -0.1), METRICS["fairness"]) == "to"
    assert standing(Interval(0.5, None, None, 1, 0.95, "too few values"), METRICS["throughput"]) == "unclear"


def test_paper_figures_are_the_same_bytes_and_carry_no_date(tables: Tables, tmp_path: Path) -> None:
    def drawn(folder: str) -> Iterator[list[bytes]]:
        for kind in (BAR, MAP):
            paths = on_paper.draw(kind.figure(Data(tables)), tmp_path / folder / kind.name)
            yield [path.read_bytes() for path in paths]

    for first, second in zip(drawn("one"), drawn("two"), strict=True):
        assert first == second
        assert len(first) == 2
        assert not re.search(rb"CreationDate|dc:date|20[0-9][0-9]-[0-9][0-9]-", b"".join(first))


def test_fonts_are_embedded(tables: Tables, tmp_path: Path) -> None:
    svg, pdf = on_paper.draw(BAR.figure(Data(tables)), tmp_path / "figure")
    assert "<text" not in svg.read_text(encoding="utf-8")
    assert b"/FontFile2" in pdf.read_bytes()


def test_every_bar_on_screen_answers(tables: Tables) -> None:
    (drawing,) = on_screen.svgs(BAR.figure(Data(tables)))
    answers = re.findall(r"<title>(.*?)</title>", drawing, re.S)
    assert len(answers) == 6
    assert all(re.search(r"\d s, (95 % interval [\d.]+ to [\d.]+, n = 10|the same in all 10)", one) for one in answers)
    assert "TCP/CUBIC, loss 5 %" in "".join(answers)


def test_every_cell_on_screen_answers(tables: Tables) -> None:
    drawing = "".join(on_screen.svgs(MAP.figure(Data(tables))))
    assert len(re.findall(r"<title>[^<]*(interval|the same in all)", drawing)) == 108


def test_an_overview_without_a_factor_across_has_one_column(tables: Tables, tmp_path: Path) -> None:
    spec = MAP.model_copy(update={"rows": [*MAP.rows, *MAP.columns], "columns": []})
    figure = spec.figure(Data(tables))
    assert [name for _, name in figure.panels[0].x.names] == [""] and "across" not in figure.caption
    assert sum(len(list(panel.each(Rect))) for panel in figure.panels) == 108
    assert "<title>" in on_screen.svgs(figure)[0]
    assert all(path.stat().st_size > 1000 for path in on_paper.draw(figure, tmp_path / "o"))


@pytest.mark.parametrize("count", [1, 2, 4, 9])
@pytest.mark.parametrize("label", ["TCP/CUBIC", "TCP/Westwood+ +as=linux-2010-nohystart +ecn"])
def test_a_legend_fits_into_its_figure_and_leaves_room_for_the_axes(label: str, count: int) -> None:
    with style.paper():
        canvas = Figure(figsize=(style.COLUMN_IN, 2.1))
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        style.legend(canvas, [Patch(label=label) for _ in range(count)])
        canvas.draw_without_rendering()
        (found,) = canvas.legends
        box, whole = found.get_window_extent(), canvas.bbox
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
        assert axes.get_window_extent().height > 0.4 * 2.1 * canvas.dpi


def test_long_names_under_a_figure_leave_room_for_the_axes() -> None:
    with style.paper(), warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas = Figure(figsize=(style.COLUMN_IN, 2.1))
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        axes.set_xticks([0, 1])
        style.slant(axes, ["an allotment garden behind the railway line", "office"])
        canvas.draw_without_rendering()
        assert axes.get_window_extent().height > 0.3 * 2.1 * canvas.dpi


def test_row_labels_of_an_overview_have_room(tables: Tables) -> None:
    figure = MAP.figure(Data(tables))
    drawing = on_screen.svgs(figure)[0]
    labels = re.findall(r'<text class="tick" x="([\d.]+)"[^>]*text-anchor="end">([^<]*)</text>', drawing)
    assert len(labels) == len(figure.panels[0].y.names) == 3
    assert all(float(x) >= 6.5 * len(label) for x, label in labels)


def test_the_last_name_below_a_number_axis_is_not_cut() -> None:
    x = parts.Axis("object", 9.0, 240_000.0, log=True, names=[(10.0, "10 kB"), (210_000.0, "210000 kB")])
    y = parts.Axis("time", 0.0, 1.0)
    panel = parts.Panel("", x, y, [parts.Series("level 0", "", [parts.Dot(10.0, 0.5)])])
    (drawing,) = on_screen.svgs(parts.Figure("sizes", "Sizes", [panel]))
    (width,) = map(float, re.findall(r'viewBox="0 0 ([\d.]+)', drawing))
    names = re.findall(r'<text class="tick" x="([\d.]+)"[^>]*text-anchor="middle">([^<]*)</text>', drawing)
    assert [name for _, name in names] == ["10 kB", "210000 kB"]
    assert all(float(at) + 6.2 * len(name) / 2 <= width for at, name in names)


@pytest.mark.parametrize(
    ("bottom", "top", "last"), [(0, 37.2, 40), (0, 0.0031, 0.004), (0.5, 1.0, 1.0), (0, 101, 125), (0, 0, 1)]
)
def test_axes_have_round_ticks_that_reach_the_top(bottom: float, top: float, last: float) -> None:
    ticks = up_to(bottom, top)
    assert ticks[0] == bottom
    assert ticks[-1] == pytest.approx(last)
    assert 2 <= len(ticks) <= 6


def test_the_study_lists_every_figure_of_its_source() -> None:
    figures = kinds.read(STUDY / "figures.toml")
    numbers = {int(n) for figure in figures.of(Bars) for n in re.findall(r"\b\d\d\b", figure.source)}
    assert numbers == set(range(25, 43))
    counts = {metric: sum(figure.metric == metric for figure in figures.of(Bars)) for metric in METRICS}
    assert (counts["throughput"], counts["overhead"], counts["completion_time"], counts["fairness"]) == (7, 3, 3, 4)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            '[[bars]]\nname = "a"\nexperiment = "base"\nmetric = "speed"\nx = "loss"\nseries = "transport"\n',
            4,
            "metric",
        ),
        ('[factors]\nrate = "rate"\n[[bars]]\nname = "a"\n', 3, "missing"),
        ("bars = [\n", 2, "TOML"),
        ('[factors]\nrate = "rate"\n\n[wrong]\nx = 1\n', 4, "wrong"),
    ],
)
def test_a_faulty_figures_file_is_refused_at_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = tmp_path / "figures.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        kinds.read(path)
    assert refused.value.place is not None
    assert refused.value.place.line == line
    assert words in str(refused.value)


def test_two_figures_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "figures.toml"
    one = '[[bars]]\nname = "a"\nexperiment = "base"\nmetric = "overhead"\nx = "loss"\nseries = "transport"\n'
    path.write_text(one + one, encoding="utf-8")
    with pytest.raises(InputError, match="two figures have this name"):
        kinds.read(path)


def trace(flows: int = 1) -> dict[str, object]:
    """A trace with every series, sampled at growing steps."""
    times = np.cumsum(np.full(400, 0.01)).tolist()
    series = []
    for flow in range(flows):
        wave = (1e5 * (1.5 + np.sin(np.array(times) * (flow + 1)))).tolist()
        for name, unit, scale in (
            ("cwnd", "B", 1.0),
            ("ssthresh", "B", 0.7),
            ("bytes_in_flight", "B", 0.9),
            ("rtt", "s", 1e-6),
            ("delivery_rate", "bit/s", 100.0),
            ("pacing_rate", "bit/s", 120.0),
        ):
            values = [scale * value for value in wave]
            if name == "ssthresh":
                values[:50] = [1e18] * 50
            series.append({"who": f"flow {flow}", "name": name, "unit": unit, "t_s": times, "v": values})
    series.append({"who": "bottleneck down", "name": "queue", "unit": "B", "t_s": times, "v": [3000.0] * len(times)})
    names = ["tcp/cubic", "quic/bbr", "quic/bbr"]
    return {"result": {"flows": [{"flow": i, "contender": names[i]} for i in range(flows)]}, "series": series}


@pytest.mark.parametrize("flows", [1, 3])
def test_a_trace_is_drawn_alike_twice(tmp_path: Path, flows: int) -> None:
    first = trace_figure(trace(flows), tmp_path / "a")
    second = trace_figure(trace(flows), tmp_path / "b")
    assert [path.suffix for path in first] == [".svg", ".pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_trace_of_several_paths_shows_what_each_carried_and_what_waited(tmp_path: Path) -> None:
    several = trace()
    series: list[Any] = several["series"]  # type: ignore[assignment]
    series.append({"who": "flow 0 path 1", "name": "cwnd", "unit": "B", "t_s": [0.5, 3.0], "v": [1e4, 2e4]})
    series.append({"who": "flow 0", "name": "held", "unit": "B", "t_s": [1.0, 1.5, 2.0], "v": [5e3, 9e3, 0.0]})
    schedule = {"flow": 0, "t_s": [0.1, 0.2, 0.3, 0.4], "path": [0, 1, 0, 1], "stream": [0] * 4}
    schedule |= {"start": [0, 1000, 2000, 1000], "bytes": [1000] * 4, "again": [False, False, False, True]}
    (drawn,) = trace_figure(several | {"schedule": [schedule]}, tmp_path / "several.svg")
    text = drawn.read_text(encoding="utf-8")
    for word in ("Path 0 (MB)", "Path 1 (MB)", "data sent before", "Held (kB)", "head-of-line blocked", "path 1"):
        assert word in text, word
    one_path = schedule | {"path": [0] * 4}
    (plain,) = trace_figure(several | {"schedule": [one_path]}, tmp_path / "plain.svg")
    assert "Path 0 (MB)" not in plain.read_text(encoding="utf-8")


def test_a_trace_goes_into_the_file_it_is_told(tmp_path: Path) -> None:
    (written,) = trace_figure(trace(), tmp_path / "run.v1.pdf")
    assert written == tmp_path / "run.v1.pdf"
    assert written.read_bytes().startswith(b"%PDF")


def test_a_trace_without_series_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no series"):
        trace_figure({"result": {"flows": []}, "series": []}, tmp_path / "a")


def test_flows_end_with_their_last_byte_and_idle_queues_are_left_out() -> None:
    queues = [{"who": who, "name": "queue", "v": [0.0, most]} for who, most in (("a", 5e4), ("b", 1500.0))]
    assert [one["who"] for one in _worth_drawing(queues)] == ["a"]
    assert _end_of({"start_s": 2.0, "completion_s": 1.5}, 9.0) == 3.5
    assert _end_of({"start_s": 2.0, "completion_s": None}, 9.0) == 9.0


def rates(*pairs: tuple[float, float]) -> dict[str, list[float]]:
    return {"t_s": [t for t, _ in pairs], "v": [v for _, v in pairs]}


def test_a_first_pacing_rate_does_not_flatten_a_panel() -> None:
    guessed = rates((0.0, 274e6), (0.1, 5e6), (0.4, 112e6), (0.8, 40e6), (2.0, 40e6))
    assert peaks.end_without_peaks([guessed], 1e6) == pytest.approx(1.1 * 112)
    usual = rates((0.0, 50e6), (0.1, 5e6), (0.4, 112e6), (0.8, 40e6), (2.0, 40e6))
    assert peaks.end_without_peaks([usual], 1e6) is None


def test_a_rate_that_is_kept_is_no_peak() -> None:
    assert peaks.end_without_peaks([rates((0.0, 100.0)), rates((0.0, 10.0), (1.0, 20.0), (2.0, 20.0))], 1.0) is None
    assert peaks.end_without_peaks([rates((0.0, 5.0), (1.0, 90.0), (1.01, 5.0), (2.0, 5.0))], 1.0) == 10.0
    assert peaks.end_without_peaks([{"t_s": [0.0], "v": [None]}], 1.0) is None
    assert peaks.end_without_peaks([], 1.0) is None


def test_thinning_keeps_every_peak() -> None:
    values = np.zeros(200_000)
    values[123_456] = 7.0
    values[77_777] = -3.0
    times, kept = thin({"t_s": np.linspace(0, 10, 200_000).tolist(), "v": values.tolist()}, 10.0)
    assert len(times) < 10_000
    assert kept.max() == 7.0
    assert kept.min() == -3.0
    assert (np.diff(times) >= 0).all()


def test_points_set_a_loss_against_a_gain_and_label_all_apart(tables: Tables, tmp_path: Path) -> None:
    where = {"rate": "40 Mbit/s", "delay": "100ms", "congestion": "cubic", "size": "32MB"}
    of = Points(
        name="cost",
        experiment="base",
        metric="completion_time",
        lost="throughput",
        against={**where, "transport": "tcp", "loss": "0%"},
        label="loss",
        where={**where, "transport": "tcp"},
        also=(OtherPoint(label="other", levels={**where, "transport": "quic", "loss": "0%"}),),
    )
    figure = of.figure(Data(tables))
    levels = tables.levels("base", "loss")
    shown, others = marks(figure, Dot)
    assert [dot.label for dot in shown] == ["0 %", "1 %", "5 %"] and [dot.label for dot in others] == ["other"]
    lossless = next(dot for dot, level in zip(shown, levels, strict=True) if level == "0%")
    assert lossless.x_ends is None and lossless.x == 0
    assert on_screen.svgs(figure)[0].count("<circle") == len(shown) + len(others) == len(figure.table.rows)
    assert "lost against" in figure.panels[0].x.label
    [svg, pdf] = on_paper.draw(figure, tmp_path / "cost")
    assert svg.stat().st_size > 1000 and pdf.stat().st_size > 1000
    heights = [figure.panels[0].y.place(dot.y) for dot in (*shown, *others)]
    for gap in (0.01, 0.1, 1 / (len(heights) - 1)):
        places = sorted(parts.apart(heights, gap))
        assert places[0] >= 0 and places[-1] <= 1 + 1e-9
        assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(places))
    with pytest.raises(NotInResultsError, match="base"):
        of.model_copy(update={"where": {"rate": "1bit/s"}, "also": ()}).figure(Data(tables))


TIMED = """
[study]
name = "timed"
seed = 1
replications = 2
[experiments.base.factors]
ring = ["5p", "20p"]
[experiments.base.scenario]
time_limit = "60s"
topology = { kind = "point-to-point", link = { rate = "5Mbit/s", delay = "5ms", ring = "{ring}", bql = false } }
flows = [{ contender = "tcp/cubic-tsq", app = "raw", size = "100MB" }]
probes = [{ kind = "icmp", interval = "100ms" }]
"""


def test_a_timeline_is_the_run_of_the_results_up_to_a_time(tables: Tables, tmp_path: Path) -> None:
    study = Study.parse(TIMED)
    of = Timeline(name="one", experiment="base", where={"ring": "20p"}, until="4s", link="link down")
    figure = of.figure(Data(tables, study=lambda: study))
    rtt, stages = figure.panels
    assert (rtt.x.high, stages.x.high) == (4.0, 4.0)
    assert [series.label for series in stages.series] == ["queue discipline", "ring"]
    (samples,), (_, ring) = ([line.points for _, line in panel.each(Line)] for panel in figure.panels)
    assert max(value for _, value in ring) == 20
    assert len(samples) > 10 and 10 < samples[0][1] < 20
    assert all(svg.startswith("<svg") for svg in on_screen.svgs(figure))
    assert len(on_paper.draw(figure, tmp_path / "one")) == 2
    for wrong in ({"where": {"ring": "7p"}}, {"experiment": "none"}, {"replication": 2}):
        with pytest.raises(NotInResultsError):
            of.model_copy(update=wrong).figure(Data(tables, study=lambda: study))
    with pytest.raises(NotInResultsError, match="stages of nowhere"):
        of.model_copy(update={"link": "nowhere", "probe": "probe 9"}).figure(Data(tables, study=lambda: study))
    with pytest.raises(NotInResultsError, match="not of tables"):
        of.figure(Data(tables))


def test_a_timeline_has_a_gap_where_a_probe_had_no_answer(tables: Tables) -> None:
    lossy = TIMED.replace("bql = false", 'bql = false, loss = "30%"').replace('"100ms" }', '"500ms", timeout = "1s" }')
    study = Study.parse(lossy)
    of = Timeline(name="one", experiment="base", where={"ring": "20p"}, until="10s", link="link down")
    pieces = [line.points for _, line in of.figure(Data(tables, study=lambda: study)).panels[0].each(Line)]
    run = next(run for run in study.runs() if run.treatment.levels["ring"] == "20p")
    scenario = json.loads(run.scenario_json) | {"duration": "10s"}
    scenario.pop("time_limit")
    [probe] = core.trace(core.parse(scenario), run.seed, run.replication)["result"]["probes"]
    lost = [sent for sent, rtt in zip(probe["sent_s"], probe["rtt_s"], strict=True) if rtt is None]
    assert 1 < len(pieces) <= len(lost) + 1
    assert not any(points[0][0] < sent < points[-1][0] for sent in lost for points in pieces)


def test_a_timeline_of_several_levels_shows_the_window_of_each(tables: Tables, tmp_path: Path) -> None:
    study = Study.parse(TIMED)
    data = Data(tables, study=lambda: study)
    of = Timeline(name="one", experiment="base", series="ring", until="4s")
    figure = of.figure(data)
    window, flight = figure.panels
    assert (
        [series.label for series in window.series]
        == [series.label for series in flight.series]
        == [f"ring {quantities.text(level)}" for level in ("5p", "20p")]
    )
    for (_, above), (_, below) in zip(window.each(Line), flight.each(Line), strict=True):
        assert max(value for _, value in above.points) > 0.5 * max(value for _, value in below.points) > 0
    assert len(on_paper.draw(figure, tmp_path / "one")) == 2
    one = of.model_copy(update={"levels": ("20p",)}).figure(data)
    assert [len(panel.series) for panel in one.panels] == [1, 1]
    for wrong in ({"series": "nothing"}, {"levels": ("7p",)}, {"flow": "flow 9"}):
        with pytest.raises(NotInResultsError):
            of.model_copy(update=wrong).figure(data)


def test_a_timeline_has_its_plots_for_each_level_of_a_factor(tables: Tables, tmp_path: Path) -> None:
    two = """
    flows = [
        { label = "many", contender = "tcp/cubic", app = "raw", size = "100MB", copies = 2 },
        { label = "one", contender = "tcp/bbr", app = "raw", size = "100MB", start = "1s" },
    ]
    """
    study = Study.parse(TIMED[: TIMED.index("flows = [")] + two + TIMED[TIMED.index("probes = [") :])
    data = Data(tables, study=lambda: study)
    of = Timeline(name="one", experiment="base", panels="ring", show=("goodput",), until="80s")
    each = of.figure(data)
    assert [panel.title for panel in each.panels] == ["ring 5 packets", "ring 20 packets"]
    assert [one.label for one in each.panels[0].series] == ["many 1", "many 2", "one"]
    summed = of.model_copy(update={"together": True, "only": ("20p",)}).figure(data)
    (panel,) = summed.panels
    assert [one.label for one in panel.series] == ["many", "one"]
    (_, first), (_, second), _ = each.panels[1].each(Line)
    (_, both), _ = panel.each(Line)
    assert len(both.points) == 81  # a value a second, the last held until the end
    values = zip(first.points, second.points, both.points, strict=True)
    assert all(total == pytest.approx(a + b) for (_, a), (_, b), (_, total) in values)
    assert len(on_paper.draw(each, tmp_path / "one")) == 2
    windows = Timeline(name="w", experiment="base", panels="ring", show=("cwnd", "rtt"), until="4s").figure(data)
    assert [panel.y.label for panel in windows.panels] == ["congestion window (kB)", "RTT (ms)"] * 2
    with pytest.raises(NotInResultsError):
        of.model_copy(update={"panels": "nothing"}).figure(data)


def test_boxes_show_quartiles_whiskers_and_what_lies_beyond(tables: Tables, tmp_path: Path) -> None:
    one = spread([1.0, 2.0, 3.0, 4.0, 100.0])
    assert one.quartiles == (2.0, 3.0, 4.0)
    # The whiskers reach 1.5 times the height of the box: from -1 to 7.
    assert (one.low, one.high, one.beyond) == (1.0, 4.0, (100.0,))
    assert (one.mean, one.count) == (22.0, 5)
    with pytest.raises(ValueError, match="needs a value"):
        spread([])
    of = Boxes(name="spread", experiment="base", metric="completion_time", x="size", series="transport")
    figure = of.figure(Data(tables))
    levels = {factor: len(tables.levels("base", factor)) for factor in ("congestion", "rate", "delay", "loss")}
    treatments = math.prod(levels.values())
    boxes = marks(figure, Box)
    assert len(boxes) == 2
    for box in itertools.chain(*boxes):
        assert f"{treatments} treatments" in box.value
        assert list(box.quartiles) == sorted(box.quartiles)
        assert box.whiskers[0] <= box.quartiles[0] <= box.quartiles[2] <= box.whiskers[1]
    (panel,) = figure.panels
    assert panel.y.log and panel.y.low > 0
    (svg,) = on_screen.svgs(figure)
    assert svg.count('<g class="mark') == len(figure.table.rows) == 2 * len(panel.x.names)
    assert [row[:2] for row in figure.table.rows] == [
        (size, name) for size in ("2 MB", "32 MB") for name in ("TCP", "QUIC")
    ]
    for path in on_paper.draw(figure, tmp_path / "spread"):
        assert path.stat().st_size > 1000
    with pytest.raises(NotInResultsError, match="base"):
        of.model_copy(update={"where": {"rate": "1bit/s"}}).figure(Data(tables))


def test_rates_are_shares_of_the_packets_sent(tables: Tables) -> None:
    rates = tables.values("base", "retransmission_rate")
    counts = tables.values("base", "retransmissions")
    assert rates.height == counts.height > 0
    sent = tables.flows.filter(pl.col("run_id").is_in(tables.experiment_runs("base")["run_id"].to_list()))
    expected = 100 * sent["retransmitted_packets"].sum() / sent["sent_packets"].sum()
    assert rates["value"].min() <= expected <= rates["value"].max()
    assert rates["value"].is_between(0, 100).all()


KINDS = ("normal", "protanopia", "deuteranopia")


def test_the_colours_of_levels_differ_also_to_the_colour_blind_on_paper_and_in_the_dark() -> None:
    looks = [look(f"level {number}") for number in range(6)]
    for one, other in itertools.combinations(looks, 2):
        for kind in KINDS:
            assert distance(one.light, other.light, kind) > 0.13, (one.name, other.name, kind)
            assert distance(one.dark, other.dark, kind) > 0.13, (one.name, other.name, kind)
    for one in looks:
        assert distance(one.light, "#FFFFFF", "normal") > 0.15
        assert distance(one.dark, "#1B1E24", "normal") > 0.15
    many = [look(f"level {number}") for number in range(42)]
    assert len({(one.light, one.hatch) for one in many}) == 42


def test_distances_are_known_ones() -> None:
    assert distance("#000000", "#FFFFFF", "normal") == pytest.approx(1.0, abs=1e-4)
    assert distance("#D02020", "#207020", "normal") > 2 * distance("#D02020", "#207020", "deuteranopia")


def test_contenders_keep_their_colours_unless_these_cannot_be_told_apart() -> None:
    pair = ["tcp/cubic", "quic/cubic"]
    assert keys(pair) == {name: name for name in pair}
    of_one = ["tcp/cubic", "tcp/reno", "tcp/vegas"]
    assert keys(of_one) == {name: f"level {number}" for number, name in enumerate(of_one)}
    unknown = ["cubic", "cubic+paced"]
    assert keys(unknown) == {"cubic": "level 0", "cubic+paced": "level 1"}
    drawn = [look(key) for key in keys(of_one).values()]
    assert min(distance(a.light, b.light) for a, b in itertools.combinations(drawn, 2)) > 0.1


def test_bars_end_at_or_below_the_last_tick() -> None:
    for top in (0.3, 1.0, 7.3, 9.99, 101.0):
        assert up_to(0.0, top)[-1] >= top
