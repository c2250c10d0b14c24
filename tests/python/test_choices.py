"""Maps of choices: what they name, and how often they name what is no better."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from haltere.figures import choices, on_paper, on_screen
from haltere.figures.choices import Choices
from haltere.figures.parts import Figure, NotInResultsError, Rect
from haltere.figures.spec import Data
from haltere.metrics import METRICS
from haltere.metrics.tables import Tables

TIME = METRICS["completion_time"]
LEVELS = ["reference", "slow", "fast", "faster"]
RATES = ["1Mbit/s", "2Mbit/s"]
DELAYS = ["10ms", "20ms"]
PANELS = ["a", "b"]


def tables(seconds: dict[str, float], *, noise: float, replications: int = 20) -> Tables:
    """Results in which each level takes these times, but twice as long at 2 Mbit/s and 20 ms, where all are alike."""
    rng = np.random.default_rng(7)
    rows = []
    for panel in PANELS:
        for rate in RATES:
            for delay in DELAYS:
                for replication in range(replications):
                    luck = rng.normal(0, 0.3)
                    for level, time in seconds.items():
                        alike = (rate, delay) == (RATES[1], DELAYS[1])
                        base = 2.0 if alike else time
                        value = base * float(np.exp(luck + rng.normal(0, noise)))
                        rows.append((panel, rate, delay, level, replication, value))
    frame = pl.DataFrame(rows, ["panel", "rate", "delay", "kind", "replication", "completion_s"], orient="row")
    frame = frame.with_row_index("run_id").with_columns(experiment=pl.lit("map"), status=pl.lit("ok"))
    factors = {"panel": PANELS, "rate": RATES, "delay": DELAYS, "kind": LEVELS}
    return Tables(frame.drop("completion_s"), frame.select("run_id", "completion_s"), {"map": factors})


CHOICES = Choices(
    name="kinds",
    experiment="map",
    metric="completion_time",
    factor="kind",
    against="reference",
    panels=("panel",),
    rows=("delay",),
    columns=("rate",),
)
SECONDS = {"reference": 1.0, "slow": 1.5, "fast": 0.8, "faster": 0.6}


def cells(figure: Figure, panel: int = 0) -> list[Rect]:
    """The cells of a panel, row by row."""
    found = [mark for _, mark in figure.panels[panel].each(Rect) if isinstance(mark, Rect)]
    return sorted(found, key=lambda cell: (cell.y, cell.x))


def test_a_cell_names_the_best_of_the_levels_that_are_surely_better(tmp_path: Path) -> None:
    figure = CHOICES.figure(Data(tables(SECONDS, noise=0.02)))
    assert [panel.title for panel in figure.panels] == [f"panel {name}" for name in PANELS]
    for number, svg in enumerate(on_screen.svgs(figure)):
        found = cells(figure, number)
        assert [cell.text[0] for cell in found] == ["faster", "faster", "faster", "reference"]
        best = re.search(r"completion time, faster ÷ reference: ([\d.]+),", found[0].value, re.IGNORECASE)
        assert best and float(best[1]) == pytest.approx(0.6, rel=0.03)
        assert "1 more are surely better than reference" in found[0].value
        assert found[0].text[1].startswith(("−4", "−3"))
        assert svg.count('class="mark two bold"') == 3 and svg.count('class="mark two faint"') == 1
        assert "no other kind is surely better than reference" in svg
        # A small map is not stretched to the width of the page, nor made so small that it cannot be read.
        [(limit, least, wide)] = re.findall(r'max-width:([\d.]+)px;min-width:(\d+)px" viewBox="0 0 (\S+) ', svg)
        assert float(limit) == pytest.approx(1.5 * float(wide))
        assert int(least) == round(0.83 * float(wide))
    assert len(figure.table.rows) == 8
    for path in on_paper.draw(figure, tmp_path / "kinds"):
        assert path.stat().st_size > 1000


def test_factors_that_are_named_nowhere_are_averaged() -> None:
    figure = CHOICES.model_copy(update={"panels": ()}).figure(Data(tables(SECONDS, noise=0.02)))
    assert len(figure.panels) == 1
    assert "n = 20" in cells(figure)[0].value


def test_a_map_may_be_limited_to_some_levels() -> None:
    figure = CHOICES.model_copy(update={"only": ("slow", "fast")}).figure(Data(tables(SECONDS, noise=0.02)))
    best = cells(figure)[0]
    assert best.text[0] == "fast" and "more are" not in best.value


def test_what_is_within_the_margin_or_rests_on_too_few_runs_is_not_named() -> None:
    close = tables({**SECONDS, "fast": 0.97, "faster": 0.96}, noise=0.001)
    for results in (close, tables(SECONDS, noise=0.02, replications=2)):
        figure = CHOICES.figure(Data(results))
        assert {cell.text[0] for panel in range(2) for cell in cells(figure, panel)} == {"reference"}


def test_long_levels_are_cut_to_the_width_of_a_cell() -> None:
    assert choices._short("lowest-rtt") == "lowest-rtt"
    assert choices._short("weighted-round-robin") == "wei-rou-rob"


def test_a_map_without_its_reference_is_missing() -> None:
    with pytest.raises(NotInResultsError, match="kind other"):
        CHOICES.model_copy(update={"against": "other"}).figure(Data(tables(SECONDS, noise=0.02)))


@pytest.mark.parametrize("skewed", [False, True])
def test_maps_without_a_difference_name_another_level_in_at_most_one_of_twenty(*, skewed: bool) -> None:
    rng = np.random.default_rng(11)
    figures, places, levels, replications = 600, 12, 5, 20

    def draw() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return rng.gamma(0.7, 0.3, replications) if skewed else rng.normal(0, 0.3, replications)

    false = 0
    for _ in range(figures):
        found: dict[str, dict[tuple[str, ...], list[float]]] = {str(level): {} for level in range(levels)}
        for cell in range(places):
            reference = draw()
            for level in range(levels):
                found[str(level)][(str(cell),)] = list(draw() - reference)
        false += bool(choices.name_better(found, TIME))
    # 5 % of 600 are 30; the binomial distribution has more than 44 once in a hundred.
    assert false <= 44, f"{false} of {figures}"
