"""Kinds of figures: one that is registered from outside, what Python's functions tell, and where drawings go."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas

import report_tables as synthetic
from haltere import Results, Study, figures, load
from haltere.errors import InputError
from haltere.figures import kinds
from haltere.figures.bars import Bars
from haltere.figures.on_paper import draw, fill
from haltere.figures.on_screen import svgs
from haltere.figures.parts import Axis, Dot, Figure, Line, Mark, Panel, Rect, Series, apart, without_overlaps
from haltere.figures.points import Points
from haltere.figures.ratios import Ratios
from haltere.figures.samples import Part, factor_axis, listed_axis, number_axis, sample
from haltere.figures.spec import Chart, Data, Description
from haltere.figures.style import paper
from haltere.figures.timeline import Timeline
from haltere.metrics import quantities
from haltere.metrics.contenders import is_contender
from haltere.metrics.tables import Tables
from haltere.report import build


class Ranges(Chart):
    """The least and the largest value along the factor `x`."""

    description = Description("ranges", "range_of", "The range over runs.", section="Ranges")

    x: str

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        x, places = listed_axis(data.words.factor(self.x), self.x, whole.levels(self.x))
        y = number_axis(whole.metric.axis, whole.frame["value"].to_list(), log=self.log)

        def marks(part: Part) -> list[Mark]:
            found: list[Mark] = []
            for level, values in part.split(self.x, places):
                low, high, at = min(values), max(values), part.beside(places[level])
                found.append(Dot(at, high, y_ends=(low, high), place=part.at(level), value=f"{low:g} to {high:g}"))
            return found

        return whole.draw(x, y, marks)


@pytest.fixture
def registered() -> Iterator[None]:
    figures.register(Ranges)
    yield
    kinds.KINDS.remove(Ranges)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("kinds")
    synthetic.write(synthetic.make(synthetic.plausible()), folder)
    return load(folder)


FILE = """
[[ranges]]
name = "spread"
experiment = "base"
metric = "completion_time"
x = "loss"
series = "transport"
"""


def test_a_kind_from_outside_stands_in_files_reports_and_python(
    results: Results, registered: None, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").write_text(synthetic.STUDY)
    (study / "figures.toml").write_text(FILE)
    page = build(results.path, study).read_text()
    assert 'id="figure-spread" class=" main"' in page  # the only figure stands beside the answer
    assert (results.path / "figures" / "spread.pdf").exists()
    (study / "figures.toml").write_text(FILE.replace('"loss"', '"los"'))
    with pytest.raises(InputError, match=r"figures\.toml:6(.|\n)*has no factor 'los'"):
        build(results.path, study)
    drawn = figures.range_of(results, experiment="base", metric="completion_time", x="loss", series="transport")
    assert len(drawn.rows()) == 6 and "range_of" in dir(figures)
    with pytest.raises(ValueError, match="Ranges has this name already"):
        figures.register(Ranges)


def test_a_kind_that_is_not_registered_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "figures.toml").write_text(FILE)
    with pytest.raises(InputError, match="ranges"):
        kinds.read(tmp_path / "figures.toml")
    with pytest.raises(AttributeError, match="range_of"):
        _ = figures.range_of


def test_functions_tell_their_fields() -> None:
    for kind in kinds.KINDS:
        function = getattr(figures, kind.description.function)
        known = inspect.signature(function).parameters
        fields = {name: field for name, field in kind.model_fields.items() if name not in ("name", "experiment")}
        assert set(fields) <= set(known) and {"ax", "fig", "style", "experiment"} <= set(known)
        for name, field in fields.items():
            assert (known[name].default is inspect.Parameter.empty) == field.is_required()
        assert kind.description.summary in (function.__doc__ or "")
        assert kind.description.function in dir(figures)


def test_every_kind_has_its_section_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "figures-and-claims.md").read_text(encoding="utf-8")
    for kind in (one for one in kinds.KINDS if one.__module__.startswith("haltere.")):
        assert f"[[{kind.description.list}]]" in page
        assert f"`{kind.description.function}`" in page


LINE = {"experiment": "base", "metric": "completion_time", "x": "loss", "series": "transport"}


def test_figures_are_drawn_into_axes_and_figures_of_ones_own(results: Results) -> None:
    with mpl.rc_context({"font.size": 21}):
        axes = Canvas().subplots()
        figures.line(results, ax=axes, **LINE)
    assert axes.get_ylabel() == "Completion time (s)" and len(axes.lines) >= 2
    assert axes.yaxis.label.get_fontsize() == 21, "the settings of Matplotlib are the user's"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["TCP", "QUIC"]
    half, other = Canvas().subfigures(1, 2)
    drawn = figures.line(results, panels="congestion", fig=half, **LINE)
    assert len(half.axes) == len(drawn.figure.panels) == 2 and not other.axes
    with pytest.raises(InputError, match="2 panels"):
        figures.line(results, panels="congestion", ax=axes, **LINE)


def test_the_ending_of_a_file_is_its_format(results: Results, tmp_path: Path) -> None:
    drawn = figures.line(results, **LINE)
    starts = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for ending, start in starts.items():
        (written,) = drawn.save(tmp_path / f"one{ending}")
        assert written == tmp_path / f"one{ending}" and written.read_bytes().startswith(start)
    assert [path.name for path in drawn.save(tmp_path / "run.v1")] == ["run.v1.svg", "run.v1.pdf"]
    with pytest.raises(InputError, match=r"no such format(.|\n)*\.svg, \.pdf, \.png"):
        drawn.save(tmp_path / "one.jpg")


def test_names_on_an_axis_to_scale_do_not_overlap_and_lists_are_whole() -> None:
    axis, _ = factor_axis("rate", "rate", ["1Mbit/s", "2Mbit/s", "19Mbit/s"])
    assert [text for _, text in without_overlaps(axis)] == ["1 Mbit/s", "", "19 Mbit/s"]
    listed, _ = listed_axis("rate", "rate", [f"{n}Mbit/s" for n in range(1, 9)])
    assert listed.label == "rate (Mbit/s)" and [text for _, text in listed.names] == [str(n) for n in range(1, 9)]
    assert listed_axis("rate", "rate", ["1Mbit/s", "2Mbit/s"])[0].label == "rate"


def test_an_axis_may_run_backwards() -> None:
    axis = Axis("", 2.5, -0.5)
    assert [axis.place(value) for value in (2.5, 1.0, -0.5, 9.0, -9.0)] == [0.0, 0.5, 1.0, 0.0, 1.0]
    assert apart([], 0.1) == [] and apart([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])


def test_a_legend_has_each_label_once_and_a_table_each_answer_once() -> None:
    series = Series("first", "one", [Line([(0, 0), (1, 1)]), Dot(0, 0, place="here", value="0")])
    panel = Panel(
        "", Axis("x", 0, 1), Axis("y", 0, 1), [series, Series("ink", "", [Dot(0, 0, place="here", value="0")])]
    )
    figure = Figure("f", "", [panel, panel])
    assert [one.label for one in figure.legend] == ["one"]
    assert figure.rows() == [("here", "0")] and not figure.stacked


def test_a_side_without_a_cell_has_its_colour_in_the_legend(results: Results) -> None:
    sides = {"factor": "transport", "of": "quic", "to": "tcp", "rows": ["delay"], "columns": ["rate"]}
    where = {"loss": "5%", "delay": "100ms", "size": "32MB", "congestion": "cubic"}
    drawn = figures.overview(results, experiment="base", metric="completion_time", where=where, **sides)
    (panel,) = drawn.figure.panels
    assert [len(series.marks) for series in panel.series] == [3, 0, 0]
    assert [one.label for one in drawn.figure.legend] == ["QUIC sooner", "TCP sooner"]
    keys = re.findall(r'<svg viewBox="0 0 14 14" class="swatch.*?</svg>', drawn._repr_html_())
    assert len(keys) == 2 and all('fill-opacity="0.6"' in one for one in keys)


def test_a_study_is_loaded_only_for_what_is_made_of_it(results: Results) -> None:
    def study() -> Study:
        raise AssertionError("no figure of these is made of a study")

    chart = kinds.model().model_validate({"lines": [{"name": "a", **LINE}]}).of(Chart)[0]
    assert chart.figure(Data(synthetic.make(synthetic.plausible()), study=study)).panels


TIME = {"experiment": "base", "metric": "completion_time"}
CONTROL = {**TIME, "x": "congestion"}


@pytest.mark.parametrize("kind", ["bar", "box", "line", "violin"])
def test_a_factor_may_be_on_x_and_in_colour_or_alone(results: Results, kind: str) -> None:
    both = getattr(figures, kind)(results, **CONTROL, series="congestion").figure
    alone = getattr(figures, kind)(results, **CONTROL).figure
    assert both.legend == [] and alone.legend == []
    places = [[mark.place for _, mark in figure.panels[0].each() if mark.value] for figure in (both, alone)]
    assert len(places[0]) == len(places[1]) > 1
    assert [row[-1] for row in both.table.rows] == [row[-1] for row in alone.table.rows]


def test_colours_of_the_factor_on_x_stand_at_its_levels(results: Results) -> None:
    (panel,) = figures.bar(results, **CONTROL, series="congestion").figure.panels
    middles = sorted(sum(mark.x) / 2 for _, mark in panel.each(Rect))
    assert middles == pytest.approx([at for at, _ in panel.x.names])


@pytest.mark.parametrize(
    ("kind", "fields", "right"),
    [
        ("heatmap", {"x": "loss", "y": "loss"}, "different factors for x, y and panels"),
        ("overview", {"factor": "transport", "of": "quic", "to": "tcp", "rows": ["loss"], "columns": ["loss"]}, "once"),
        ("bar", {"x": "loss", "only": ["tcp"]}, "series, or levels of x in where"),
        ("line", {"x": "loss", "series": "replication"}, "no factor replication"),
    ],
)
def test_a_factor_in_two_places_of_a_map_is_refused(
    results: Results, kind: str, fields: dict[str, object], right: str
) -> None:
    with pytest.raises(InputError, match=right):
        getattr(figures, kind)(results, **TIME, **fields)


@pytest.mark.parametrize("kind", ["line", "ratio"])
def test_names_are_points_beside_each_other_and_no_line_joins_them(results: Results, kind: str) -> None:
    sides = {"factor": "transport", "of": "quic", "to": "tcp"} if kind == "ratio" else {}
    named = getattr(figures, kind)(results, **CONTROL, series="size", **sides).figure
    scaled = getattr(figures, kind)(results, **TIME, x="loss", series="size", **sides).figure
    lines = [[mark for one, mark in figure.panels[0].each(Line) if one.label] for figure in (named, scaled)]
    assert [len(found) for found in lines] == [0, 2]
    dots = [mark for _, mark in named.panels[0].each(Dot)]
    assert len(dots) == len({dot.x for dot in dots}) == 4


@pytest.mark.parametrize("names", [["1000p", "fq_codel", "cake", "pie", "red"], [f"queue-{n}" for n in range(6)]])
def test_a_list_of_names_is_whole_on_screen(names: list[str]) -> None:
    axis, places = listed_axis("queue", "queue", names)
    for panes in range(1, 3):
        dots = [Dot(at, 1.0) for at in places.values()]
        figure = Figure(
            "f", "", [Panel("", axis, Axis("y", 0, 2), [Series("first", "", dots)])] * panes, wide=panes > 1
        )
        drawn = svgs(figure)[0]
        assert [text for _, text in axis.names if f">{text}<" not in drawn] == []


def test_small_values_beside_large_ones_are_points_on_a_logarithmic_axis() -> None:
    each = [(queue, value, r) for queue, value in (("a", 2000.0), ("b", 6.0)) for r in range(3)]
    runs = [
        {"run_id": f"{q}{r}", "experiment": "e", "queue": q, "replication": r, "status": "ok", "seen": value + r}
        for q, value, r in each
    ]
    tables = Tables(pl.DataFrame(runs), pl.DataFrame(), {"e": {"queue": ["a", "b"]}})
    words = kinds.model()(columns={"own": {"expression": "seen"}})

    def drawn(**fields: object) -> Panel:
        (panel,) = Bars(name="n", experiment="e", metric="own", x="queue", **fields).figure(Data(tables, words)).panels
        return panel

    assert drawn().y.log and len(list(drawn().each(Dot))) == 2 and not list(drawn().each(Rect))
    assert drawn().y.place(6) < 0.3 < drawn().y.place(2000)
    assert not drawn(log=False).y.log and len(list(drawn(log=False).each(Rect))) == 2


def test_panels_name_their_factor_unless_a_contender_does(results: Results) -> None:
    titles = [
        [panel.title for panel in figures.line(results, **TIME, x="rate", series="size", panels=one).figure.panels]
        for one in ("loss", "congestion")
    ]
    assert titles == [["loss 0 %", "loss 1 %", "loss 5 %"], ["CUBIC", "BBR"]]


def test_titles_from_where_name_their_factors_on_screen_and_on_paper(results: Results, tmp_path: Path) -> None:
    where = {"loss": "1%", "congestion": "cubic", "rate": "5Mbit/s", "delay": "10ms"}
    for of in (
        figures.line(results, **TIME, x="size", where=where),
        figures.bar(results, **TIME, x="size", where=where),
    ):
        assert of.figure.title == "loss 1 %, CUBIC, rate 5 Mbit/s, delay 10 ms"
    heat = figures.heatmap(results, **TIME, x="size", y="transport", where=where)
    assert heat.figure.title == "loss 1 %, CUBIC, rate 5 Mbit/s, delay 10 ms"
    for file in heat.save(tmp_path / "heat.svg"):
        assert "<!-- loss 1 %, CUBIC, rate 5 Mbit/s" in file.read_text()


def test_a_legend_says_whose_levels_it_has(results: Results) -> None:
    by = {
        name: figures.bar(results, **TIME, x="size", series=name, where={"delay": "10ms"})
        for name in ("loss", "congestion")
    }
    assert by["loss"].figure.colours == "loss" and by["congestion"].figure.colours == ""
    assert "<span>loss:</span>" in by["loss"]._repr_html_()
    assert by["loss"].figure.table.heads[1:] == ["loss 0 %", "loss 1 %", "loss 5 %"]
    places = {mark.place for panel in by["loss"].figure.panels for _, mark in panel.each()}
    assert "loss 1 %, size 32 MB" in places


def test_a_ratio_below_one_lies_inside_its_interval() -> None:
    runs = [
        {"run_id": f"{q}{r}", "experiment": "e", "queue": q, "replication": r, "status": "ok", "value_s": value}
        for q, values in (("a", (0.70, 0.80, 0.85)), ("b", (1.0, 1.0, 1.0)))
        for r, value in enumerate(values)
    ]
    levels = {"queue": ["a", "b"], "all": ["x"]}
    flows = pl.DataFrame([{"run_id": one["run_id"], "completion_s": one["value_s"]} for one in runs])
    tables = Tables(
        pl.DataFrame([{**one, "all": "x", "completion_s": one["value_s"]} for one in runs]), flows, {"e": levels}
    )
    fields = {"metric": "completion_time", "factor": "queue", "of": "a", "to": "b", "x": "all"}
    (panel,) = Ratios(name="n", experiment="e", **fields).figure(Data(tables)).panels
    (dot,) = [mark for _, mark in panel.each(Dot)]
    assert dot.y_ends is not None and dot.y_ends[0] < dot.y < dot.y_ends[1] < 1.2


def test_a_map_says_what_its_cells_are(results: Results) -> None:
    sides = {"factor": "transport", "of": "quic", "to": "tcp", "rows": ["delay"], "columns": ["rate"]}
    where = {"loss": "5%", "size": "32MB", "congestion": "cubic"}
    shown = figures.overview(results, **TIME, where=where, **sides).figure
    assert shown.caption.startswith("a cell is the ratio QUIC ÷ TCP of a treatment: delay down")


def test_rate_and_rtt_of_flows_stand_over_time_each_with_its_contender() -> None:
    study = Study.load(Path(__file__).parents[2] / "studies" / "l4s")
    where = {"flows": "Prague beside CUBIC", "queue": "DualPI2", "rate": "40Mbit/s", "rtt": "10ms"}
    kind = Timeline(name="n", experiment="side-by-side", where=where, show=("goodput", "rtt"), until="6s")
    rate, rtt = kind.figure(Data(synthetic.make(synthetic.plausible()), study=lambda: study)).panels
    assert [one.label for one in rate.legend] == ["TCP/Prague", "TCP/CUBIC"] == [one.label for one in rtt.legend]
    assert (rate.y.label, rtt.y.label) == ("goodput (Mbit/s)", "RTT (ms)")
    # The two share 40 Mbit/s, and no RTT is below that of the path.
    both = [[y for x, y in mark.points if x > 3] for _, mark in rate.each(Line)]
    assert 30 < sum(sum(one) / len(one) for one in both) < 40
    assert min(y for _, mark in rtt.each(Line) for _, y in mark.points) >= 10
    (_, above), (_, below) = rtt.each(Line)
    assert sum(y for _, y in above.points) / len(above.points) < sum(y for _, y in below.points) / len(below.points)


def test_a_rate_is_no_contender_in_legends_and_panels(results: Results) -> None:
    drawn = figures.bar(results, **TIME, x="loss", series="rate", panels="rate").figure
    assert [one.label for one in drawn.legend] == ["5 Mbit/s", "40 Mbit/s", "100 Mbit/s"]
    assert [panel.title for panel in drawn.panels] == ["rate 5 Mbit/s", "rate 40 Mbit/s", "rate 100 Mbit/s"]


def test_points_that_look_like_one_have_one_label() -> None:
    seen = {"near": 50.0, "nearer": 50.1, "far": 900.0}
    runs = [
        {"run_id": f"{q}{r}", "experiment": "e", "queue": q, "replication": r, "status": "ok", "goodput_bps": 1e6}
        for q in seen
        for r in range(3)
    ]
    flows = pl.DataFrame(
        [{"run_id": one["run_id"], "goodput_bps": 1e6, "mean_rtt_s": seen[str(one["queue"])] / 1e3} for one in runs]
    )
    tables = Tables(pl.DataFrame(runs), flows, {"e": {"queue": list(seen)}})
    fields = {"metric": "rtt", "lost": "goodput", "against": {"queue": "far"}, "label": "queue"}
    (panel,) = Points(name="n", experiment="e", **fields).figure(Data(tables)).panels
    dots = [mark for _, mark in panel.each(Dot)]
    assert len(dots) == 3 and sorted(filter(None, (dot.label for dot in dots))) == ["far", "near, nearer"]


def test_a_long_title_takes_several_lines_on_paper(tmp_path: Path) -> None:
    panel = Panel("", Axis("x", 0, 1), Axis("y", 0, 1), [Series("first", "", [Line([(0, 0), (1, 1)])])])
    words = "bottleneck rate 40 Mbit/s, delay 100 ms, CUBIC, object 32 MB"
    heights = []
    for title in ("short", words):
        (file,) = draw(Figure("f", title, [panel]), tmp_path / title[:5], formats=("svg",))
        heights.append(float(re.findall(r'height="([0-9.]+)pt"', file.read_text())[0]))
        assert title not in file.read_text() or title == "short"
    assert heights[1] > heights[0]


def test_a_level_of_several_words_is_no_contender() -> None:
    assert is_contender("tcp/cubic") and not is_contender("tcp/cubic beside itself")
    assert quantities.named("tcp/cubic beside itself", "mix", "flows") == "flows tcp/cubic beside itself"


def test_a_legend_that_has_no_room_beside_the_title_stands_below() -> None:
    def at(labels: list[str]) -> float:
        series = [Series(f"level {n}", label, [Line([(0, 0), (1, 1)])]) for n, label in enumerate(labels)]
        panel = Panel("one", Axis("x", 0, 1), Axis("y", 0, 1), series)
        with paper():
            canvas = Canvas(figsize=(7.1, 2.5))
            fill(Figure("f", "Endless flows: the delay of the queue", [panel, panel], colours="flows"), canvas)
            canvas.canvas.draw()
        (legend,) = canvas.legends
        return float(legend.get_window_extent().y0) / float(canvas.bbox.height)

    assert at(["one", "two"]) > 0.5 > at([f"{n} flows of a kind beside another" for n in range(4)])


def test_pairs_of_congestion_controls_are_both_named() -> None:
    assert quantities.named("cubic/bbr", "congestion") == "CUBIC/BBR"
    assert quantities.named("tcp/bbr", "protocol") == "TCP/BBR" and quantities.named("1%", "loss") == "loss 1 %"


def test_slanted_names_are_whole_on_screen() -> None:
    names = [(0.0, "TCP, TLS 1.2, first of them"), (1.0, "QUIC"), (2.0, "TCP, early data, Fast Open")]
    panel = Panel("", Axis("x", -0.5, 2.5, names=names, listed=True), Axis("y", 0, 1), [])
    (drawn,) = svgs(Figure("f", "t", [panel]))
    for x, text in re.findall(
        r'<text class="tick" x="([0-9.]+)" y="[0-9.]+" text-anchor="end" transform[^>]*>([^<]*)<', drawn
    ):
        assert float(x) > 0.82 * 6.2 * len(text)
    assert "first of them" in drawn


def test_figures_of_one_metric_share_a_section_whatever_their_flows() -> None:
    runs = pl.DataFrame([{"run_id": "r", "experiment": "e", "queue": "a", "replication": 0, "status": "ok"}])
    flows = pl.DataFrame([{"run_id": "r", "flow": 0, "label": "tcp/cubic", "goodput_bps": 1e6}])
    tables = Tables(runs, flows, {"e": {"queue": ["a"]}})
    drawn = Bars(name="n", experiment="e", metric="goodput", x="queue", flow="tcp/cubic").figure(Data(tables))
    assert drawn.section == "Goodput" and drawn.panels[0].y.label == "Goodput (TCP/CUBIC) (Mbit/s)"
