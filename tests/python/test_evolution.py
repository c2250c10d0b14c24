"""Two periods beside each other: the paper's claims, its figures, the report; and how figures on two axes are drawn."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mmdb_writer
import netaddr
import numpy as np
import polars as pl
import pytest
from scipy import stats as reference

import lakes
from conftest import ROOT, Haltere
from haltere.claims import Outcome
from haltere.claims.comparison import MissingDataError
from haltere.claims.loading import load
from haltere.errors import InputError
from haltere.evolution import Options, PathsStudy, measure
from haltere.evolution.figures import every, figures
from haltere.evolution.study import figures_of
from haltere.figures.on_screen import svgs
from haltere.figures.parts import Axis, Dot, Figure, Line, Panel, Series
from haltere.figures.world import Track, great_circle, land, window, world_map
from haltere.paths.lake import Lake
from haltere.paths.periods import Evolution, Period, compare
from haltere.paths.routes import (
    ANY,
    COEFFICIENT,
    CORRELATIONS,
    SHARE,
    OverDraws,
    by_draw,
    change,
    estimate,
    share_over,
    share_under,
    spearman_of,
)
from haltere.paths.tallies import Tallies
from haltere.report.evolution import as_data, cautions, findings
from haltere.results import load as load_results
from haltere.stats import difference

STUDY = ROOT / "studies" / "internet-paths"
claims = SimpleNamespace(**{one.name: one for one in load(STUDY).claims})


def routes(
    *, differences: float = 0.3, dispersion: float = 1.0, slope: float = 1.0, seed: int = 0, pairs: int = 60
) -> pl.DataFrame:
    """Routes of 4 draws and K = 3, with what claims look at drawn about the given means."""
    rng = np.random.default_rng(seed)
    rows = []
    for draw in range(4):
        for _ in range(pairs):
            hops = int(rng.integers(8, 18))
            for k in (1, 2, 3):
                least = 1000.0 * hops * rng.uniform(0.5, 1)
                spread = abs(rng.normal(dispersion, 0.4))
                rows.append(
                    {
                        "draw": draw,
                        "k": k,
                        "hops": hops + k - 1,
                        "delay_us": int(slope * 3000 * hops + rng.exponential(8000)),
                        "difference": None if k == 1 else float(np.clip(rng.normal(differences + 0.05 * k, 0.1), 0, 1)),
                        "dispersion": spread,
                        "delay_dispersion": 2 * spread + rng.normal(0, 0.2),
                        "least_delay_us": least,
                    }
                )
    return pl.DataFrame(rows)


def period(name: str, *, hops: int = 14, delay: int = 400, table: pl.DataFrame | None = None) -> Period:
    """A period of four monitors whose traces have about this length and delay (in bins of `delay_bin`)."""
    rows = [
        {"group": m, "class": "clean", "hops": hops + d, "bin": delay + 3 * i + d, "traces": 100}
        for i, m in enumerate("abcd")
        for d in (-2, -1, 0, 1, 2)
    ]
    schema = {"group": pl.String, "class": pl.String, "hops": pl.UInt8, "bin": pl.UInt32, "traces": pl.UInt64}
    return Period(name, Tallies(pl.DataFrame(rows, schema=schema)), ["2006-01-01"], {}, table, None)


def evolution(first: Period, second: Period) -> Evolution:
    return Evolution(first, second, compare(first, second, resamples=200))


def test_claims_follow_what_happened() -> None:
    worse = evolution(
        period("2006", hops=15, table=routes(differences=0.6)),
        period("2011", hops=14, delay=500, table=routes(differences=0.3, seed=1)),
    )
    assert claims.hops.verdict(worse).outcome is Outcome.CONFIRMED
    assert claims.delay.verdict(worse).outcome is Outcome.CONFIRMED
    assert claims.diversity.verdict(worse).outcome is Outcome.CONFIRMED
    assert claims.dispersion.verdict(worse).outcome is Outcome.CONFIRMED
    better = evolution(
        period("2006", hops=14, delay=500, table=routes(differences=0.3, dispersion=6)),
        period("2011", hops=19, delay=400, table=routes(differences=0.6, dispersion=6, seed=1)),
    )
    for claim in (claims.hops, claims.delay, claims.diversity, claims.dispersion):
        assert claim.verdict(better).outcome is Outcome.CONTRADICTED, claim.name


def test_claims_on_graphs_are_undecided_without_graphs() -> None:
    found = evolution(period("2006"), period("2011"))
    for claim in (claims.diversity, claims.dispersion, claims.correlation):
        verdict = claim.verdict(found)
        assert verdict.outcome is Outcome.UNDECIDED
        assert "no partial view" in verdict.reason
    assert claims.hops.verdict(found).evidence


def test_unlocated_paths_name_the_remedy() -> None:
    bare = routes().with_columns(pl.lit(None, pl.Float64).alias("dispersion"))
    with pytest.raises(MissingDataError, match="database of places, mmdb"):
        by_draw(period("x", table=bare), pl.col("dispersion").mean(), "dispersion")


def test_rank_correlation_of_each_draw_is_scipys() -> None:
    table = routes()
    for correlation in CORRELATIONS:
        expected = [
            reference.spearmanr(one[correlation.x], one[correlation.y]).statistic
            for _, one in sorted(table.group_by("draw"))
        ]
        assert spearman_of(period("x", table=table), correlation).values == pytest.approx(expected)


@pytest.mark.parametrize("drawing", ["sample", "half", "bootstrap"])
def test_intervals_hold_no_impossible_value(drawing: Any) -> None:
    shares = OverDraws((1.0, 0.98, 0.7), drawing, SHARE)
    none = OverDraws((0.0, 0.02, 0.3), drawing, SHARE)
    assert (estimate(shares).high, estimate(none).low) == (1.0, 0.0)
    assert estimate(shares).low == estimate(replace(shares, bounds=ANY)).low
    assert (estimate(replace(shares, bounds=ANY)).high or 0) > 1
    assert estimate(OverDraws((0.99, 0.7, 0.4), drawing, COEFFICIENT)).high == 1.0
    far = [OverDraws(values, drawing, COEFFICIENT) for values in ((-1.0, -0.99, -0.2), (1.0, 0.99, 0.2))]
    assert (change(*far).high, change(*reversed(far)).low) == (2.0, -2.0)
    assert (change(none, shares).high, change(shares, none).low) == (1.0, -1.0)


def test_aggregates_of_shares_and_coefficients_know_their_bounds() -> None:
    found = period("2006", table=routes())
    assert by_draw(found, share_over("difference", 0.5), "difference").bounds == SHARE
    assert by_draw(found, share_under("dispersion", 3), "dispersion").bounds == SHARE
    assert spearman_of(found, CORRELATIONS[0]).bounds == COEFFICIENT
    assert by_draw(found, pl.col("hops").mean()).bounds == ANY


def test_welchs_interval_is_scipys() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(1, 1, 7), rng.normal(2, 3, 11)
    found, expected = difference(x, y), reference.ttest_ind(y, x, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert difference([1.0], [2.0, 3.0]).low is None
    assert difference([1.0, 1.0], [2.0, 2.0]).exact
    with pytest.raises(ValueError, match="finite"):
        difference([], [1.0])


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Axis("", 0, 17), [0, 5, 10, 15]),
        (Axis("", 5, 130, log=True), [5, 10, 20, 50, 100]),
        (Axis("", 0.2, 3000, log=True), [1, 10, 100, 1000]),
        (Axis("", 1.3, 540, log=True), [2, 5, 10, 20, 50, 100, 200, 500]),
    ],
)
def test_ticks_are_round(axis: Axis, ticks: list[float]) -> None:
    assert axis.ticks() == pytest.approx(ticks)


def test_a_great_circle_is_cut_at_the_edge_of_the_map() -> None:
    tokyo, chicago = (139.7, 35.7), (-87.6, 41.9)
    lines = great_circle(tokyo, chicago)
    assert len(lines) == 2
    assert lines[0][0] == tokyo and lines[-1][-1] == chicago
    assert max(p[1] for line in lines for p in line) > 55  # over the north Pacific, not along the parallels
    assert all(abs(a[0] - b[0]) < 180 for line in lines for a, b in itertools.pairwise(line))
    assert great_circle(tokyo, tokyo) == [[tokyo, tokyo]]


def test_the_land_is_where_it_is() -> None:
    def inside(longitude: float, latitude: float) -> bool:
        crossings = 0
        for ring in land():
            for (x0, y0), (x1, y1) in zip(ring, [*ring[1:], ring[0]], strict=True):
                if (y0 > latitude) != (y1 > latitude):
                    crossings += longitude < x0 + (latitude - y0) / (y1 - y0) * (x1 - x0)
        return crossings % 2 == 1

    assert inside(2.3, 48.9) and inside(-47.9, -15.8) and inside(133, -25)
    assert not inside(-30, 30) and not inside(-150, 0) and not inside(75, -20)
    assert window((), ()) == (-180, -60, 180, 85)


def test_a_plot_answers_and_escapes() -> None:
    line, answer = Line([(1, 0.1), (2, 0.9)], steps=True), Dot(1, 0.1, form="answer", value="10 % <b>")
    panel = Panel("", Axis("hops", 0, 3), Axis("share", 0, 1), [Series("first", "<2006>", [line, answer])])
    (drawn,) = svgs(Figure("p", "a < b", [panel]))
    assert "10 % &lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert re.search(r'd="M[\d.]+ [\d.]+H[\d.]+V[\d.]+"', drawn)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lakes, the later slower and with one more monitor, and a database of where their addresses are."""
    folder = tmp_path_factory.mktemp("two")
    for name, scale, monitors in (("2006", 1.0, "abc"), ("2011", 1.5, "abcd")):
        parts = {("ark", f"{name}-03-01", "x"): lakes.traces(600, 1, monitors=monitors, rtt_scale=scale)}
        lakes.write(folder / name, parts)
    writer = mmdb_writer.MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="City")
    places = [("NA", 40.7, -74.0), ("EU", 48.9, 2.3), ("AS", 35.7, 139.7), ("OC", -33.9, 151.2)]
    networks = [(f"10.0.0.{i}/32", places[i % 4]) for i in range(60)]
    networks += [(f"10.1.{i * 8}.0/21", places[i % 4]) for i in range(32)]
    networks += [(f"192.0.2.{i + 1}/32", places[i]) for i in range(4)]
    for network, (continent, latitude, longitude) in networks:
        record = {"continent": {"code": continent}, "location": {"latitude": latitude, "longitude": longitude}}
        writer.insert_network(netaddr.IPSet([network]), record)
    writer.to_db_file(str(folder / "places.mmdb"))
    return folder


def command(two: Path, *options: str) -> tuple[str, ...]:
    """The command that compares them, small."""
    sizes = ("--traces", "300", "--sources", "3", "--destinations", "40", "--k", "4", "--draws", "3")
    return ("paths", "compare", str(two / "2006"), str(two / "2011"), "--study", "internet-paths", *sizes, *options)


def test_compare_writes_a_report_that_stands_alone(two: Path, haltere: Haltere) -> None:
    done = haltere(*command(two, "--mmdb", str(two / "places.mmdb"), "--out", str(two / "out")))
    assert done.returncode == 0, done.stderr
    assert "mix of monitors changed" in done.stdout
    page = (two / "out" / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!#|figures/)', page)
    for name in ("hops", "delay", "difference-each-second", "dispersion", "delay-length-first", "map-second"):
        assert f'id="figure-{name}"' in page
        assert (two / "out" / "figures" / f"{name}.pdf").stat().st_size > 1000
    found = json.loads((two / "out" / "comparison.json").read_text())
    median = found["effects"]["delay_median"]
    assert median["change"]["value"] == pytest.approx(1.5, rel=0.15)
    assert median["reweighted"]["value"] == pytest.approx(1.5, rel=0.15)
    assert {one["verdict"] for one in found["claims"]} <= {"confirmed", "contradicted", "undecided"}
    assert math.isclose(sum(found["mix"]["second"].values()), 1)
    for what in ("nodes", "links"):
        table = pl.read_csv(two / "out" / f"{what}.csv")
        counts = dict(table.group_by("became").len().iter_rows())
        assert {how: found["turnover"][what][how] for how in counts} == counts
        assert f"{what}: {counts['stayed']:,} stayed" in done.stdout
    assert "Nodes and links that came and went" in page
    written = {name: (two / "out" / name).read_bytes() for name in ("report.html", "comparison.json", "verdicts.md")}
    assert haltere("report", str(two / "out")).returncode == 0
    assert written == {name: (two / "out" / name).read_bytes() for name in written}
    options = Options(300, sources=3, destinations=40, k=4, draws=3, mmdb=two / "places.mmdb", threads=1)
    again = measure(Lake(two / "2006"), Lake(two / "2011"), options, on_progress=lambda *_: None).evolution
    assert json.loads(json.dumps(as_data(again, findings(again, STUDY)))) == found


def test_compare_keeps_regions_and_says_which_there_are(two: Path, tmp_path: Path, haltere: Haltere) -> None:
    (two / "regions.csv").write_text("monitor,region\na,north\nb,north\nc,south\nd,south\n")
    done = haltere(*command(two, "--traces", "0", "--regions", str(two / "regions.csv"), "--keep", "north"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "comparison" / "comparison.json").read_text())
    assert list(found["periods"][1]["monitors"]) == ["a", "b"]
    assert found["periods"][0]["routes"] is None
    wrong = haltere(*command(two, "--regions", str(two / "regions.csv"), "--keep", "east"))
    assert wrong.returncode != 0
    assert "north, south" in wrong.stderr
    (two / "bad.csv").write_text("monitor,region\na,\n")
    wrong = haltere(*command(two, "--regions", str(two / "bad.csv")))
    assert "bad.csv:2" in wrong.stderr
    wrong = haltere(*command(two, "--from", "yesterday"))
    assert "2011-01-31" in wrong.stderr


def test_a_period_of_one_monitor_is_told_in_the_singular(tmp_path: Path) -> None:
    lakes.write(tmp_path / "a", {("ark", "2006-03-01", "x"): lakes.traces(60, 1, monitors="x")})
    lakes.write(tmp_path / "b", {("ark", "2011-03-01", "x"): lakes.traces(60, 2)})
    options = Options(0, threads=1)
    found = measure(Lake(tmp_path / "a"), Lake(tmp_path / "b"), options, on_progress=lambda *_: None).evolution
    said = " ".join(cautions(found))
    assert "a has 1 monitor: too few" in said and "b has 2 monitors: too few" in said


@pytest.mark.parametrize(
    ("drawing", "caution"), [("none", "same traces"), ("half", "half"), ("bootstrap", "replacement")]
)
def test_draws_of_a_small_lake_say_what_they_are(two: Path, tmp_path: Path, drawing: Any, caution: str) -> None:
    options = Options(100_000, sources=3, destinations=40, k=4, draws=3, resample=drawing, threads=1)
    found = measure(Lake(two / "2006"), Lake(two / "2011"), options, on_progress=lambda *_: None).evolution
    views = found.first.views
    assert views is not None
    clean = found.first.tallies.classes()["clean"]
    assert views["traces"].to_list() == [clean // 2 if drawing == "half" else clean] * 3
    assert views["nodes"].n_unique() == (1 if drawing == "none" else 3)
    assert any(caution in one for one in cautions(found))
    means = by_draw(found.first, pl.col("difference").mean(), "difference")
    interval = estimate(means)
    changed = change(means, by_draw(found.second, pl.col("difference").mean(), "difference"))
    assert not interval.exact
    if drawing == "none":
        assert (interval.low, interval.high, changed.low) == (None, None, None)
        assert "same traces" in interval.method
        assert claims.diversity.verdict(found).outcome is Outcome.UNDECIDED
    else:
        # More draws do not make a lake larger: the interval is that of one draw.
        half = reference.t.ppf(0.975, 2) * np.std(means.values, ddof=1)
        assert (interval.low, interval.high) == pytest.approx((interval.value - half, interval.value + half))
        assert changed.low is not None


def test_draws_of_a_large_lake_are_not_resampled(two: Path) -> None:
    shared: dict[str, Any] = {"sources": 3, "destinations": 40, "k": 2, "draws": 3, "threads": 1}
    found = [
        measure(
            Lake(two / "2006"), Lake(two / "2011"), Options(200, resample=how, **shared), on_progress=lambda *_: None
        )
        for how in ("none", "half", "bootstrap")
    ]
    routes = [one.evolution.first.routes for one in found]
    assert all(one is not None and one.equals(routes[0]) for one in routes)
    assert {one.evolution.first.drawing for one in found} == {"sample"}


@pytest.mark.parametrize(
    ("option", "value", "right"),
    [
        ("--seed", "18446744073709551616", "9223372036854775807"),
        ("--family", "5", "4"),
        ("--k", "100000", "1000"),
        ("--keep", "EU", "--mmdb"),
        ("--resample", "twice", "bootstrap"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be_right(
    two: Path, haltere: Haltere, option: str, value: str, right: str
) -> None:
    done = haltere(*command(two, option, value))
    assert done.returncode != 0
    assert option in done.stderr
    assert right in done.stderr
    assert "went wrong" not in done.stderr


def test_graphs_of_ases_have_all_measures_but_places(two: Path, tmp_path: Path, haltere: Haltere) -> None:
    rows = [f"10.0.0.{i}\t32\t{64500 + i % 7}" for i in range(60)] + [
        f"10.{i}.0.0\t16\t{64510 + i}" for i in range(1, 4)
    ]
    (tmp_path / "as").write_text("\n".join([*rows, "192.0.2.0\t24\t64599"]))
    level = ("--level", "as", "--pfx2as", str(tmp_path / "as"), "--mmdb", str(two / "places.mmdb"))
    done = haltere(*command(two, "--resample", "half", *level, "--destinations", "4"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "comparison" / "comparison.json").read_text())
    assert found["level"] == "as"
    assert found["at_level"]["hops_mean"]["value"] is not None
    assert "Mean length at the level “as”" in (tmp_path / "comparison" / "report.html").read_text()
    for period in found["periods"]:
        assert all(view["nodes"] <= 12 for view in period["views"])
        assert all(row["difference"] is not None or row["k"] == 1 for row in period["routes"])
        assert all(row["dispersion"] is None for row in period["routes"])
    refused = haltere(*command(two, "--level", "as"))
    assert "--pfx2as" in refused.stderr


def test_maps_show_whole_great_circles_and_dots() -> None:
    """A line from Seattle to Moscow passes north of both, and a dot on Fiji stands at the map's edge."""
    seattle, moscow, fiji = (-122.3, 47.6), (37.6, 55.8), (178.4, -18.1)
    tracks, dots = [Track((seattle, moscow), "first", "far")], [(fiji, "first", "here")]
    west, south, east, north = window(tracks, dots)
    highest = max(latitude for track in tracks for line in track.lines() for _, latitude in line)
    (drawn,) = svgs(world_map("x", "", tracks, dots))
    assert "<title>far</title>" in drawn and "<title>here</title>" in drawn and "nan" not in drawn
    assert highest > 80 and north > highest + 3
    assert east > fiji[0] + 5 and west < seattle[0] and south < fiji[1]
    over = great_circle((170.0, 0.0), (-170.0, 10.0))
    assert [line[-1][0] for line in over[:1]] == [180.0] and over[1][0][0] == -180.0
    assert over[0][-1][1] == over[1][0][1] == pytest.approx(5, abs=0.2)
    assert great_circle((180.0, 10.0), (-180.0, 20.0))


def rings(figure: Figure) -> list[tuple[tuple[float, float], str]]:
    """The places of what others published, each with its look."""
    dots = [(series, mark) for series, mark in figure.panels[0].each(Dot) if isinstance(mark, Dot)]
    return [((mark.x, mark.y), series.look) for series, mark in dots if mark.form == "diamond"]


def test_what_the_paper_states_stands_beside_the_users_curves() -> None:
    both = evolution(period("2006", table=routes()), period("2011", table=routes(seed=1)))
    made = {plot.name: plot for plot in figures(both, figures_of(STUDY))[0]}
    delays = rings(made["delay"])
    stated = [(122, 0.5, "first"), (352, 0.95, "first"), (168, 0.5, "second"), (512, 0.95, "second")]
    assert delays == [((1000.0 * ms, share), colour) for ms, share, colour in stated]  # these delays are shown in µs
    assert made["delay"].panels[0].x.high >= 512_000
    assert rings(made["k-hops-each-first"]) == [((14, 0.5), "first")]
    assert svgs(made["delay"])[0].count('class="ring"') == 4
    assert "stated: 0.88" in made["delay-length-second"].title


def test_two_lakes_are_compared_without_a_study(two: Path, tmp_path: Path, haltere: Haltere) -> None:
    line = [word for word in command(two, "--level", "prefix") if word not in ("--study", "internet-paths")]
    done = haltere(*line)
    assert done.returncode == 0, done.stderr
    assert "Claims" not in done.stdout
    page = (tmp_path / "comparison" / "report.html").read_text()
    assert "Cardozo" not in page and "Did end-to-end paths get" in page and 'id="claims"' not in page
    assert {plot for plot in ("hops", "k-delay", "k-hops-each-second") if f'id="figure-{plot}"' not in page} == set()
    before = (tmp_path / "comparison" / "comparison.json").read_bytes()
    assert haltere("report", "comparison").returncode == 0
    assert (tmp_path / "comparison" / "comparison.json").read_bytes() == before
    assert json.loads(before)["at_level"] is not None


def test_every_figure_is_drawn_of_any_two_periods() -> None:
    both = evolution(period("a", table=routes()), period("b", table=routes(seed=1)))
    made, missing = figures(both, every())
    assert missing == []
    assert not any(rings(plot) or "stated" in plot.title for plot in made)


def test_the_share_of_paths_that_are_more_dispersed_is_found() -> None:
    def shifted(share: float, seed: int) -> Period:
        table = routes(seed=seed, pairs=400)
        moved = np.random.default_rng(seed).random(table.height) < share
        spread = pl.when(pl.Series(moved)).then(pl.col("dispersion") + 3).otherwise(pl.col("dispersion"))
        return period("x", table=table.with_columns(dispersion=spread))

    def outcome(share: float) -> Outcome:
        return claims.more_dispersed.verdict(evolution(shifted(0, 1), shifted(share, 2))).outcome

    assert [outcome(share) for share in (0.1, 0, 0.4)] == [
        Outcome.CONFIRMED,
        Outcome.CONTRADICTED,
        Outcome.CONTRADICTED,
    ]


def test_the_delay_of_long_paths_is_flat_or_not() -> None:
    def long(slope: float) -> Period:
        hops = pl.col("hops") + 7
        delay = 3000 * hops.clip(upper_bound=20) + slope * 3000 * (hops - 20).clip(lower_bound=0)
        noise = pl.Series(np.random.default_rng(3).normal(0, 500, 4 * 60 * 3))
        return period("x", table=routes().with_columns(hops=hops, delay_us=(delay + noise).cast(pl.Int64)))

    def outcome(first: float, second: float) -> Outcome:
        return claims.flat_beyond_20_hops.verdict(evolution(long(first), long(second))).outcome

    assert outcome(0, 0.05) is Outcome.CONFIRMED
    assert outcome(0, 1) is Outcome.CONTRADICTED
    short = evolution(period("a", table=routes().filter(pl.col("hops") < 20)), period("b", table=routes()))
    assert "more than 20 hops" in claims.flat_beyond_20_hops.verdict(short).reason


def test_the_shipped_study_runs_on_its_fixture(tmp_path: Path, haltere: Haltere) -> None:
    done = haltere("run", "internet-paths", "--replications", "2")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "internet-paths"
    assert "4 partial views of internet-paths" in done.stdout
    assert "Evolution of end-to-end paths" in haltere("list").stdout
    said = haltere("report", str(folder))
    assert said.returncode == 0, said.stderr
    verdicts = (folder / "verdicts.md").read_text()
    assert all(f"\n| {number}. " in verdicts for number in range(1, 8)) and "*broken*" not in verdicts
    page = (folder / "report.html").read_text()
    assert "Cardozo" in page and 'id="figure-map-second"' in page and "stated of the second period" in page
    assert load_results(folder).runs["period"].to_list() == [0, 0, 1, 1]
    assert pl.read_parquet(folder / "paths.parquet")["k"].max() == 10


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        ('2011 = "2011*.warts.gz"', '2011 = "2012*.warts.gz"', "or files of traceroutes"),
        ("destinations = 100", "destinatons = 100", "right: destinations"),
        ('2011 = "2011*.warts.gz"\n', "", "are not two"),
        ("destinations = 100", "destinations = 0", "greater than or equal to 1"),
    ],
)
def test_a_wrong_study_of_paths_is_refused_with_its_line(tmp_path: Path, wrong: str, right: str, says: str) -> None:
    for file in STUDY.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    text = (STUDY / "study.toml").read_text()
    assert wrong in text
    (tmp_path / "study.toml").write_text(text.replace(wrong, right))
    with pytest.raises(InputError, match=r"study\.toml:[0-9]+") as raised:
        PathsStudy.load(tmp_path)
    assert says in str(raised.value)


def test_what_is_of_scenarios_alone_is_refused_for_a_study_of_paths(haltere: Haltere) -> None:
    done = haltere("run", "internet-paths", "--fidelity", "linux")
    assert done.returncode == 2 and "--fidelity" in done.stderr
    for command_line in (("when", "internet-paths"), ("design", "internet-paths"), ("why", "internet-paths")):
        done = haltere(*command_line)
        assert done.returncode == 2 and "is of measured paths" in done.stderr, command_line
