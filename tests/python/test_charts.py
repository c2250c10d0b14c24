"""Charts: their numbers, own columns, and that both ways of drawing show them."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import haltere as package
from conftest import Haltere
from haltere import Results, Study, figures, load
from haltere.errors import InputError
from haltere.figures import kinds, samples, style
from haltere.figures.parts import Axis, Dot, Line, NotInResultsError, Outline, Rect
from haltere.figures.parts import Figure as Drawn
from haltere.figures.rankings import Rankings, ranked
from haltere.figures.spec import Data
from haltere.figures.violins import outline
from haltere.metrics import METRICS
from haltere.metrics.contenders import look
from haltere.metrics.tables import Tables
from haltere.stats import mean
from haltere.stats.intervals import mean_of_amounts

STUDY = """
[study]
name = "charts"
seed = 3
replications = 4

[experiments.base.factors]
transport = ["tcp", "quic"]
rate = ["1Mbit/s", "5Mbit/s", "50Mbit/s"]
loss = ["0%", "2%"]

[experiments.base.scenario]
topology = { kind = "point-to-point", link = { rate = "{rate}", delay = "10ms", down = { loss = "{loss}" } } }
flows = [{ contender = "{transport}/cubic", size = "60kB" }]
"""
FIGURES = """
[columns.efficiency]
expression = "100 * goodput / throughput"
unit = "%"

[[lines]]
name = "l"
experiment = "base"
metric = "efficiency"
x = "rate"
series = "transport"
panels = "loss"

[[cdfs]]
name = "c"
experiment = "base"
metric = "completion_time"

[[violins]]
name = "v"
experiment = "base"
metric = "completion_time"
x = "loss"
series = "transport"
log = true

[[scatters]]
name = "s"
experiment = "base"
metric = "completion_time"
against = "retransmissions"
each = "run"

[[heatmaps]]
name = "h"
experiment = "base"
metric = "goodput"
x = "rate"
y = "loss"

[[timelines]]
name = "t"
experiment = "base"
show = ["cwnd", "rtt"]
until = "1s"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("charts")
    (folder / "study.toml").write_text(STUDY)
    return Study.load(folder).run(out=folder / "results")


def of(figure: Drawn, kind: type[Any]) -> list[Any]:
    """All marks of this kind."""
    return [mark for panel in figure.panels for _, mark in panel.each(kind)]


def seconds(results: Results, **levels: str) -> list[float]:
    rows = results.flows.filter(*(pl.col(name) == level for name, level in levels.items()))
    return [float(value) for value in rows["completion_s"]]


def test_lines_have_the_means_and_intervals_of_the_tables_to_scale(results: Results) -> None:
    figure = figures.line(results, metric="completion_time", x="rate", series="transport", panels="loss").figure
    assert [panel.title for panel in figure.panels] == ["loss 0 %", "loss 2 %"]
    assert all(panel.x.log and [at for at, _ in panel.x.names] == [1e6, 5e6, 50e6] for panel in figure.panels)
    for panel, loss in zip(figure.panels, ("0%", "2%"), strict=True):
        for series, transport in zip(panel.series, ("tcp", "quic"), strict=True):
            assert series.look == transport
            line, *dots = series.marks
            assert isinstance(line, Line) and len(line.points) == 3
            for dot, rate in zip(dots, ("1Mbit/s", "5Mbit/s", "50Mbit/s"), strict=True):
                found = mean_of_amounts(seconds(results, loss=loss, transport=transport, rate=rate))
                assert isinstance(dot, Dot) and dot.y == pytest.approx(found.value)
                assert dot.y_ends == (None if found.exact else pytest.approx((found.low, found.high)))


def test_ratios_compare_within_replications(results: Results) -> None:
    sides = {"factor": "transport", "of": "quic", "to": "tcp"}
    figure = figures.ratio(results, metric="completion_time", x="rate", where={"loss": "2%"}, **sides).figure
    level, *dots = of(figure, Line)[:1] + of(figure, Dot)
    assert [y for _, y in level.points] == [1.0, 1.0] and figure.panels[0].y.log
    for dot, rate in zip(dots, ("1Mbit/s", "5Mbit/s", "50Mbit/s"), strict=True):
        quic, tcp = (seconds(results, loss="2%", rate=rate, transport=one) for one in ("quic", "tcp"))
        expected = mean([math.log(one / other) for one, other in zip(quic, tcp, strict=True)])
        assert math.log(dot.y) == pytest.approx(expected.value)
        assert [math.log(end) for end in dot.y_ends] == pytest.approx([expected.low, expected.high])
    with pytest.raises(InputError, match=r"no completed pair of runs(.|\n)*quic and tcp"):
        figures.ratio(results, metric="completion_time", x="rate", where={"transport": "quic"}, **sides)


def test_a_ranking_is_corrected_for_having_picked_the_first(results: Results) -> None:
    figure = figures.ranking(results, metric="completion_time", factor="rate", where={"loss": "0%"}).figure
    assert figure.own_table is not None
    head, rows = figure.own_table.heads, figure.own_table.rows
    assert head[1:3] == ("rate", "Completion time (s)")
    assert [row[1] for row in rows] == ["50 Mbit/s", "5 Mbit/s", "1 Mbit/s"]
    assert [row[-1] for row in rows] == ["first", "behind", "behind"]
    both = [
        np.exp(np.mean([np.log(seconds(results, loss="0%", rate=rate, transport=one)) for one in ("tcp", "quic")], 0))
        for rate in ("50Mbit/s", "5Mbit/s")
    ]
    assert of(figure, Dot)[1].y == pytest.approx(np.exp(np.mean(np.log(both[1] / both[0]))))
    words = kinds.model().model_validate(tomllib.loads(FIGURES))
    ranking = Rankings(name="r", experiment="base", metric="efficiency", factor="rate")
    with pytest.raises(NotInResultsError, match="no better and no worse"):
        ranking.figure(Data(Tables.of(results), words))


def values(levels: dict[str, list[float]]) -> pl.DataFrame:
    """Values of a metric of levels of `queue`, one a replication."""
    rows = [(level, at, value) for level, own in levels.items() for at, value in enumerate(own)]
    return pl.DataFrame(rows, schema=["queue", "replication", "value"], orient="row")


def test_a_ranking_leaves_out_replications_that_lack_a_run_and_refuses_zeros() -> None:
    metric = METRICS["completion_time"]
    frame = values({"a": [1.0, 1.1, 1.2, 1.0, 1.1, 1.3, 1.2], "b": [2.0, 2.1, 2.5, 2.2, 2.1, 2.6, 2.3]})
    both = pl.concat([frame.with_columns(other=pl.lit(one)) for one in ("x", "y")])
    lacking = both.filter(~((pl.col("queue") == "b") & (pl.col("replication") == 6) & (pl.col("other") == "y")))
    first, second = ranked(lacking, "queue", ["b", "a"], metric)
    assert (first.name, first.value.n, second.value.n) == ("a", 7, 6)
    assert second.lead is not None and second.lead.ahead
    with pytest.raises(NotInResultsError, match="not above 0"):
        ranked(values({"a": [0.0, 1.0], "b": [1.0, 1.0]}), "queue", ["a", "b"], metric)
    with pytest.raises(NotInResultsError, match="no two levels"):
        ranked(values({"a": [2.0, 1.0]}), "queue", ["a", "b"], metric)


def test_of_equal_levels_a_ranking_rarely_calls_one_behind() -> None:
    dice, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        frame = values({f"q{k}": list(np.exp(0.2 * dice.standard_normal(8))) for k in range(4)})
        found = ranked(frame, "queue", [f"q{k}" for k in range(4)], METRICS["completion_time"])
        wrong += any(one.lead is not None and one.lead.ahead for one in found)
    # At most 5 % of 200, and three standard deviations of that.
    assert wrong <= 10 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_an_interval_over_unnamed_factors_is_taken_over_replications(results: Results) -> None:
    dots = of(figures.line(results, metric="completion_time", x="loss").figure, Dot)
    by_replication = [
        np.mean(results.flows.filter(pl.col("loss") == "2%", pl.col("replication") == r)["completion_s"].to_numpy())
        for r in range(4)
    ]
    expected = mean_of_amounts(by_replication)
    assert (dots[1].y, *dots[1].y_ends) == pytest.approx((expected.value, expected.low, expected.high))


def test_a_distribution_rises_from_0_to_1_at_its_values(results: Results) -> None:
    (line,) = of(figures.cdf(results, metric="completion_time").figure, Line)
    values = sorted(seconds(results))
    assert line.steps and [x for x, _ in line.points[1:]] == pytest.approx(values)
    assert [y for _, y in line.points] == pytest.approx([0, *((i + 1) / len(values) for i in range(len(values)))])


def test_own_columns_take_metrics_and_columns_of_runs_and_flows(results: Results) -> None:
    own = {"mine": "goodput * 1e6 * completion_s / 8 + 0 * events"}
    dots = of(figures.scatter(results, metric="mine", against="completion_time", columns=own).figure, Dot)
    assert len(dots) == 12, "a point a treatment"
    assert all(dot.y == pytest.approx(60e3, rel=1e-6) for dot in dots)
    alone = figures.scatter(results, metric="mine", against="completion_time", columns=own, each="run").figure
    assert len(of(alone, Dot)) == 48


def test_a_heat_map_is_strongest_where_the_mean_is_largest(results: Results) -> None:
    cells = of(figures.heatmap(results, metric="goodput", x="rate", y="loss", where={"transport": "tcp"}).figure, Rect)
    assert len({cell.place for cell in cells}) == len(cells) == 6
    strongest = max(cells, key=lambda cell: cell.strength)
    assert strongest.place == "loss 0 %, rate 50 Mbit/s"


def test_a_violin_ends_at_its_values_and_is_widest_where_they_are() -> None:
    values = np.array([1.0, 2.0, 2.0, 2.1, 2.0, 9.0])
    shape = outline(values, 5.0, 0.4, log=False)
    assert (min(y for _, y in shape), max(y for _, y in shape)) == (1.0, 9.0)
    widest = max(shape, key=lambda point: point[0])
    assert widest[0] == pytest.approx(5.4) and 1.5 < widest[1] < 2.6
    assert outline(np.array([3.0, 3.0, 3.0]), 0.0, 0.4, log=True) == [(-0.4, 3.0), (0.4, 3.0)]


def test_violins_and_boxes_of_python_are_those_of_the_file(results: Results) -> None:
    figure = figures.violin(results, metric="completion_time", x="loss", series="transport", log=True).figure
    (_, dot) = [mark for mark in figure.panels[0].series[1].marks if isinstance(mark, Dot)]
    assert len(of(figure, Outline)) == 4
    assert dot.y == pytest.approx(np.median(seconds(results, transport="quic", loss="2%")))
    drawn = figures.box(results, metric="completion_time", x="loss", series="transport")
    assert "3 treatments" in drawn.rows()[0][1]
    bars = figures.bar(results, metric="goodput", x="rate", series="transport", where={"loss": "0%"})
    page = bars._repr_html_()
    assert "<svg" in page and f"--l:{look('tcp').light}" in page and 'id="hatch-slash"' in page


def test_one_run_over_time_shows_any_series(results: Results, tmp_path: Path) -> None:
    where = {"transport": "tcp", "rate": "5Mbit/s", "loss": "2%"}
    drawn = figures.over_time(results, where=where, show=["cwnd", "rtt"], until="1s")
    assert [panel.y.label for panel in drawn.figure.panels] == ["congestion window (kB)", "RTT (ms)"]
    assert max(y for _, y in of(drawn.figure, Line)[0].points) >= 14.48
    assert all(file.exists() for file in drawn.save(tmp_path / "t"))
    with pytest.raises(InputError, match="records no series speed"):
        figures.over_time(results, where=where, show=["speed"], until="1s")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"metric": "speed", "x": "rate"}, "there is no such metric"),
        ({"metric": "goodput"}, "x: is missing"),
        ({"metric": "goodput", "x": "speed"}, "no factor speed"),
        ({"metric": "mine", "x": "rate", "columns": {"mine": "goodput +"}}, "is no expression"),
        (
            {"metric": "mine", "x": "rate", "columns": {"mine": "goodputs"}},
            "no completed run in experiment base with mine",
        ),
        ({"metric": "goodput", "x": "rate", "experiment": "other"}, "no completed run"),
        ({"metric": "goodput", "x": "rate", "colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_field(results: Results, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        package.figures.line(results, **fields)


def test_every_kind_stands_in_the_report_and_in_files_alike_twice(
    results: Results, haltere: Haltere, tmp_path: Path
) -> None:
    study = tmp_path / "charts"
    study.mkdir()
    (study / "study.toml").write_text(STUDY)
    (study / "figures.toml").write_text(FIGURES)
    texts = []
    for _ in range(2):
        done = haltere("report", str(results.path), "--study", str(study))
        assert done.returncode == 0, done.stderr
        page = (results.path / "report.html").read_text()
        texts.append([page, *((results.path / "figures" / f"{name}.svg").read_text() for name in "lcvsht")])
        assert all((results.path / "figures" / f"{name}.pdf").exists() for name in "lcvsht")
    assert texts[0] == texts[1]
    page = texts[0][0]
    for name in "lcvsht":
        assert f'id="figure-{name}"' in page
    lines = page[page.index('id="figure-l"') : page.index('id="figure-c"')]
    plots = re.findall(r'<svg class="plot".*?</svg>', lines, re.DOTALL)
    assert len(plots) == 2 and "".join(plots).count("<circle") == 12
    assert "Efficiency (%)" in lines


def test_an_unknown_metric_of_a_chart_is_refused_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "figures.toml").write_text(FIGURES.replace('metric = "efficiency"', 'metric = "efficency"'))
    with pytest.raises(InputError) as refused:
        kinds.read(tmp_path / "figures.toml")
    assert "figures.toml:9" in str(refused.value) and "efficiency" in str(refused.value)


def test_axes_have_ticks_however_narrow() -> None:
    for low, high in ((0.18, 0.3), (0.9, 1.1), (1.0, 1000.0), (3.0, 4.0)):
        for log in (False, True):
            ticks = Axis("", low, high, log=log).ticks()
            assert len(ticks) >= 3 and all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)
    assert samples.thinned(3) == [0, 1, 2]
    assert len(samples.thinned(10_000)) == 400 and samples.thinned(10_000)[-1] == 9_999
    assert math.isclose(samples.number_axis("", [5.0, 5.0], log=False).low, 4.5)


def test_results_are_read_again(results: Results) -> None:
    assert figures.line(load(results.path), metric="goodput", x="rate").rows()


def _drawn(monkeypatch: pytest.MonkeyPatch, drawing: Any, folder: Path) -> tuple[set[str], set[str]]:
    """The texts of a figure's file, and the families of their fonts."""
    canvases: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda canvas, _stem, _formats: canvases.append(canvas) or [])
    drawing.save(folder / "figure")
    (canvas,) = canvases
    texts = [one for one in canvas.findobj(Text) if one.get_text()]
    return {one.get_text() for one in texts}, {family for one in texts for family in one.get_fontfamily()}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("line", {"x": "rate"}),
        ("bar", {"x": "rate", "series": "transport", "where": {"loss": "0%"}}),
        ("box", {"x": "rate", "series": "transport"}),
        ("overview", {"factor": "transport", "of": "quic", "to": "tcp", "rows": ["rate"], "columns": ["loss"]}),
    ],
)
def test_titles_are_left_out_and_fonts_chosen(
    kind: str, fields: dict[str, Any], results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = getattr(figures, kind)
    fields = {"metric": "goodput", "title": "A title of its own", **fields}
    texts, families = _drawn(monkeypatch, draw(results, **fields), tmp_path)
    assert ("A title of its own" in texts, families) == (True, {"DejaVu Sans"})
    plain = draw(results, **fields, style={"titles": False, "font": "DejaVu Serif"})
    texts, families = _drawn(monkeypatch, plain, tmp_path)
    assert ("A title of its own" in texts, families) == (False, {"DejaVu Serif"})
    assert "font-family:&quot;DejaVu Serif&quot;" in plain._repr_html_()


def test_a_font_that_the_machine_lacks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "figures.toml").write_text('[style]\nfont = "Nonesuch Sans"\n')
    with pytest.raises(InputError, match=r"figures\.toml:2:8: style\.font: this machine has no font of this family"):
        kinds.read(tmp_path / "figures.toml")
    (tmp_path / "figures.toml").write_text('[style]\nfont = "a}; b"\n')
    with pytest.raises(InputError, match="has characters that it cannot have"):
        kinds.read(tmp_path / "figures.toml")
