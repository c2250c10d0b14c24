"""Designs that fill a space: where their points lie, how far apart, and that a seed tells them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL_STUDY
from haltere import Study
from haltere.cli.studies import design
from haltere.errors import InputError
from haltere.study.model import Range
from haltere.study.sampling import Points, Sampling, nearest, points

ALL: tuple[Sampling, ...] = ("lhs", "lhs-maximin", "wsp", "sobol")

FILLING = SMALL_STUDY.replace(
    "[experiments.base]", '[experiments.base]\ndesign = "space-filling"\npoints = 8\ncrossed = ["transport"]'
).replace('rate = ["5Mbit/s", "20Mbit/s"]', 'rate = { from = "1Mbit/s", to = "100Mbit/s" }')


def random_points(count: int, dimensions: int, seed: int) -> Points:
    return np.random.default_rng(seed).random((count, dimensions))


@pytest.mark.parametrize("sampling", ALL)
@pytest.mark.parametrize(("count", "dimensions"), [(1, 1), (2, 3), (7, 2), (30, 5)])
def test_there_are_as_many_points_as_wanted_and_all_lie_in_the_cube(
    sampling: Sampling, count: int, dimensions: int
) -> None:
    for seed in range(3):
        found = points(sampling, count, dimensions, seed)
        assert found.shape == (count, dimensions)
        assert ((found >= 0) & (found <= 1)).all()
        assert len(np.unique(found, axis=0)) == count


@pytest.mark.parametrize("sampling", ALL)
def test_a_seed_gives_the_same_points_and_another_seed_others(sampling: Sampling) -> None:
    assert (points(sampling, 12, 3, 5) == points(sampling, 12, 3, 5)).all()
    assert (points(sampling, 12, 3, 5) != points(sampling, 12, 3, 6)).any()


@pytest.mark.parametrize("sampling", ["lhs", "lhs-maximin"])
def test_a_latin_hypercube_has_one_point_in_each_interval_of_each_dimension(sampling: Sampling) -> None:
    found = points(sampling, 20, 4, 3)
    for column in found.T:
        assert sorted(np.floor(column * 20).astype(int)) == list(range(20))


@pytest.mark.parametrize(("sampling", "better"), [("wsp", 1.5), ("lhs-maximin", 1.0)])
def test_the_nearest_points_are_farther_apart_than_those_of_any_random_draw(sampling: Sampling, better: float) -> None:
    for seed in range(2):
        chosen = nearest(points(sampling, 40, 6, seed))
        assert chosen > better * max(nearest(random_points(40, 6, other)) for other in range(50))


def test_maximin_is_never_nearer_than_the_hypercube_it_began_with() -> None:
    for seed in range(3):
        assert nearest(points("lhs-maximin", 15, 3, seed)) >= nearest(points("lhs", 15, 3, seed))


def test_wsp_reaches_into_the_corners() -> None:
    found = points("wsp", 16, 2, 1)
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert np.abs(found - corner).max(axis=1).min() < 0.25


def test_a_sobol_sequence_has_a_point_in_each_half_quarter_and_eighth() -> None:
    found = points("sobol", 8, 3, 2)
    for column in found.T:
        assert sorted(np.floor(column * 8).astype(int)) == list(range(8))


def test_a_study_says_how_its_points_are_chosen() -> None:
    designs = {
        sampling: [
            tuple(t.levels.values())
            for t in Study.parse(FILLING.replace("points = 8", f'points = 8\nsampling = "{sampling}"')).select(["base"])
        ]
        for sampling in ALL
    }
    unsaid = [tuple(t.levels.values()) for t in Study.parse(FILLING).select(["base"])]
    assert designs["lhs"] == unsaid
    assert len({tuple(levels) for levels in designs.values()}) == len(ALL)
    for levels in designs.values():
        assert levels[:8] == [("tcp", *row[1:]) for row in levels[8:]]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("points = 8", 'points = 8\nsampling = "grid"', "is not one of the possible values"),
        ("points = 8", 'points = 1001\nsampling = "wsp"', "a wsp sampling has at most 1000 points"),
        (
            'design = "space-filling"\npoints = 8\ncrossed = ["transport"]',
            'sampling = "wsp"',
            "only a space-filling design has a sampling",
        ),
    ],
)
def test_a_sampling_that_cannot_be_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Study.parse(FILLING.replace(old, new))


QUEUES = """
[study]
name = "queues"
seed = 1
replications = 1

[experiments.base.factors]
rate = ["0.1Mbit/s", "12Mbit/s"]
delay = ["0ms", "25ms"]
queuing = ["100ms"]

[experiments.base.queues]
queue = { rate = "rate", times = ["delay", "delay", "queuing"], least = 10 }

[experiments.base.scenario.topology]
kind = "point-to-point"
[experiments.base.scenario.topology.link]
rate = "{rate}"
delay = "{delay}"
queue = "{queue}"

[[experiments.base.scenario.flows]]
contender = "tcp/cubic"
size = "10kB"
"""


def test_a_queue_holds_what_the_rate_sends_in_the_times() -> None:
    queues = [t.scenario["topology"]["link"]["queue"] for t in Study.parse(QUEUES).treatments]
    # 12 Mbit/s sends 1000 packets of 1500 B a second: 100 in 100 ms, 150 in 150 ms; 0.1 Mbit/s sends 8 a second.
    assert queues == ["10p", "10p", "100p", "150p"]
    assert set(Study.parse(QUEUES).treatments[0].levels) == {"rate", "delay", "queuing"}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('rate = "rate"', 'rate = "speed"', "experiments.base.queues.queue.rate"),
        ('rate = "rate"', 'rate = "delay"', "experiments.base.queues.queue.rate"),
        ('"queuing"]', '"queuing", "rate"]', "experiments.base.queues.queue.times[3]"),
        ("least = 10", "least = 0", "experiments.base.queues.queue.least"),
        ('queue = "{queue}"', 'queue = "10p"', "experiments.base.queues.queue"),
        ('queue = { rate = "rate"', 'delay = { rate = "rate"', "experiments.base.queues.delay"),
    ],
)
def test_a_queue_that_cannot_be_computed_is_refused(old: str, new: str, field: str) -> None:
    with pytest.raises(InputError) as refusal:
        Study.parse(QUEUES.replace(old, new, 1))
    assert refusal.value.field == field


def test_a_design_is_drawn_before_anything_runs(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(FILLING, encoding="utf-8")
    design(study, variant=None, experiments=["base"], out=tmp_path / "one")
    design(study, variant=None, experiments=None, out=tmp_path / "two")
    names = ["base.pdf", "base.png", "base.svg"]
    assert sorted(file.name for file in (tmp_path / "one").iterdir()) == names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with pytest.raises(InputError, match="no design to draw"):
        design(study, variant=None, experiments=["pairs"], out=tmp_path)


def test_levels_from_a_range_are_read_back_as_numbers() -> None:
    study = Study.parse(FILLING)
    ranged = study.file.experiments["base"].factors["rate"]
    assert isinstance(ranged, Range)
    drawn = [ranged.number(t.levels["rate"]) for t in study.select(["base"])[:8]]
    assert len(set(drawn)) == 8
    assert all(1 <= value <= 100 for value in drawn)
