"""The dumbbell study's claims, on worlds whose truth is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import report_tables as synthetic
from haltere import claims
from haltere.claims import Evidence, Outcome, all_of
from haltere.claims.comparison import MissingDataError, compare
from haltere.claims.loading import load
from haltere.errors import InputError
from haltere.figures import kinds
from haltere.figures.bars import Bars
from haltere.figures.overviews import Overview
from haltere.figures.spec import Data
from haltere.metrics import METRICS
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean
from report_tables import Levels, Truth

STUDY = Path(__file__).parents[2] / "studies" / "quic-dumbbell"
LOADED = load(STUDY)
CLAIMS, ANSWER = LOADED.claims, LOADED.answer
NAMES = [claim.name for claim in CLAIMS]

CONFIRMED, CONTRADICTED, UNDECIDED = Outcome.CONFIRMED, Outcome.CONTRADICTED, Outcome.UNDECIDED


def is_quic(levels: Levels) -> bool:
    return levels["transport"] == "quic"


def impaired(levels: Levels) -> bool:
    return levels["delay"] != "10ms" and levels["loss"] != "0%"


def quic_time(factor: Callable[[Levels], float]) -> Callable[[Levels], float]:
    """QUIC's completion times by this factor, TCP's as they are, with the extra bytes of QUIC made up for."""
    return lambda levels: factor(levels) * 1.05 / 1.07 if is_quic(levels) else 1.0


def bbr_times(factor: float) -> Callable[[Levels], float]:
    return lambda levels: factor if levels["congestion"] == "bbr" else 1.0


def fairer(levels: Levels) -> float:
    if not is_quic(levels):
        return 0.2 if impaired(levels) else 0.1
    return 0.03


def steadier(levels: Levels) -> float:
    return 0.005 if is_quic(levels) else 0.03


def heavy(levels: Levels) -> float:
    """An overhead that is more than a longer time makes up for, in throughput."""
    return 0.3 if is_quic(levels) else 0.05


NOISY = 3.0
LITTLE = {"replications": 3, "noise": NOISY}

WORLDS: list[tuple[str, Outcome, Truth]] = [
    ("long_transfers", CONFIRMED, Truth(time=quic_time(lambda levels: 0.8 if impaired(levels) else 1.0))),
    ("long_transfers", CONTRADICTED, Truth(time=quic_time(lambda levels: 1.0))),
    ("long_transfers", CONTRADICTED, Truth(time=quic_time(lambda levels: 1.3))),
    ("long_transfers", UNDECIDED, Truth(**LITTLE)),
    ("small_objects", CONFIRMED, Truth(time=quic_time(lambda levels: 1.0), noise=0.01)),
    ("small_objects", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.8))),
    ("small_objects", UNDECIDED, Truth(**LITTLE)),
    ("fast_clean_path", CONFIRMED, Truth(time=quic_time(lambda levels: 1.2))),
    ("fast_clean_path", CONTRADICTED, Truth(time=quic_time(lambda levels: 1.0))),
    ("fast_clean_path", UNDECIDED, Truth(replications=1)),
    ("loss_grows", CONFIRMED, Truth(time=quic_time(lambda levels: 0.7 if levels["loss"] == "5%" else 1.0))),
    ("loss_grows", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.7))),
    ("loss_grows", UNDECIDED, Truth(**LITTLE)),
    ("overhead", CONFIRMED, Truth()),
    ("overhead", CONTRADICTED, Truth(overhead=lambda levels: 0.05)),
    (
        "overhead",
        CONTRADICTED,
        Truth(overhead=lambda levels: (0.07 if is_quic(levels) else 0.05) * (2 if levels["loss"] == "5%" else 1)),
    ),
    ("overhead", UNDECIDED, Truth(replications=1)),
    ("total_time", CONFIRMED, Truth(time=quic_time(lambda levels: 0.8 if impaired(levels) else 1.0))),
    ("total_time", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.8))),
    ("total_time", CONTRADICTED, Truth(time=quic_time(lambda levels: 1.0))),
    ("total_time", UNDECIDED, Truth(**LITTLE)),
    ("fairness", CONFIRMED, Truth(unfair=fairer, spread=steadier)),
    ("fairness", CONTRADICTED, Truth(unfair=lambda levels: 0.1)),
    ("fairness", UNDECIDED, Truth(unfair=lambda levels: 0.1, spread=lambda levels: 0.2, replications=2)),
    ("bbr_in_quic", CONFIRMED, Truth(time=bbr_times(1.03))),
    ("bbr_in_quic", CONTRADICTED, Truth(time=bbr_times(0.7))),
    ("bbr_in_quic", UNDECIDED, Truth(**LITTLE)),
    ("overhead_eats_the_gain", CONFIRMED, Truth(time=quic_time(lambda levels: 0.9), overhead=heavy)),
    ("overhead_eats_the_gain", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.8))),
    ("overhead_eats_the_gain", UNDECIDED, Truth(replications=1)),
    ("overhead_eats_the_gain", UNDECIDED, Truth(time=quic_time(lambda levels: 1.5))),
    ("mostly_alike", CONFIRMED, Truth(time=quic_time(lambda levels: 0.8 if impaired(levels) else 1.0), noise=0.01)),
    ("mostly_alike", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.8))),
    ("mostly_alike", UNDECIDED, Truth(**LITTLE)),
    ("alike_once_lost", CONFIRMED, Truth(time=quic_time(lambda levels: 1.0), noise=0.01)),
    ("alike_once_lost", CONTRADICTED, Truth(time=quic_time(lambda levels: 0.8))),
    ("alike_once_lost", UNDECIDED, Truth(**LITTLE)),
    ("bbr_differs", CONFIRMED, Truth(time=bbr_times(0.8))),
    ("bbr_differs", CONTRADICTED, Truth(noise=0.01)),
    ("bbr_differs", UNDECIDED, Truth(**LITTLE)),
]


def named(name: str) -> claims.Claim:
    return CLAIMS[NAMES.index(name)]


@pytest.mark.parametrize(("name", "expected", "truth"), WORLDS, ids=[f"{name}-{out}" for name, out, _ in WORLDS])
def test_claims_find_the_truth_of_a_known_world(name: str, expected: Outcome, truth: Truth) -> None:
    verdict = named(name).verdict(synthetic.make(truth))
    assert verdict.outcome == expected, "\n".join(f"{e.outcome}: {e.what}: {e.numbers}" for e in verdict.evidence)
    assert verdict.evidence or verdict.reason


def test_the_study_judges_its_twelve_claims_each_with_source_value_and_rule() -> None:
    assert len(CLAIMS) == 12
    assert all(one.sentence.endswith(".") and one.source and one.paper and one.rule for one in CLAIMS)
    assert {name for name, _, _ in WORLDS} == set(NAMES)


def test_a_study_without_the_experiment_leaves_its_claims_undecided() -> None:
    tables = synthetic.make(Truth(experiments={"base": synthetic.BASE}, replications=2))
    verdict = named("fairness").verdict(tables)
    assert verdict.outcome == UNDECIDED
    assert "experiment pairs is not in these results" in verdict.reason


def test_a_study_without_a_level_leaves_claims_undecided_and_names_it() -> None:
    fewer = {**synthetic.BASE, "loss": ["0%", "1%"]}
    verdict = named("long_transfers").verdict(synthetic.make(Truth(experiments={"base": fewer}, replications=2)))
    assert verdict.outcome == UNDECIDED
    assert "loss 5%" in verdict.reason


def test_failed_runs_leave_their_replication_out_of_a_claim() -> None:
    def fails(levels: Mapping[str, str], replication: int) -> bool:
        return replication == 3 and levels["loss"] == "5%" and is_quic(levels)

    tables = synthetic.make(Truth(fails=fails))
    verdict = named("overhead").verdict(tables)
    assert verdict.outcome == CONFIRMED
    assert {e.interval.n for e in verdict.evidence if e.interval} == {9, 10}


def test_a_treatment_that_always_fails_leaves_claims_undecided() -> None:
    def fails(levels: Mapping[str, str], replication: int) -> bool:
        return levels["loss"] == "5%" and levels["rate"] == "5Mbit/s" and is_quic(levels)

    verdict = named("total_time").verdict(synthetic.make(Truth(fails=fails, replications=2)))
    assert verdict.outcome == UNDECIDED
    assert "no completed pair of runs" in verdict.reason


def test_verdicts_are_the_same_every_time() -> None:
    tables = synthetic.make(synthetic.plausible())
    assert [one.verdict(tables) for one in CLAIMS] == [one.verdict(tables) for one in CLAIMS]


def test_levels_may_be_written_in_other_ways() -> None:
    spelled = {**synthetic.BASE, "loss": ["0 %", "1.0%", "5.0 %"], "size": ["2000kB", "32000kB"]}
    verdict = named("overhead").verdict(synthetic.make(Truth(experiments={"base": spelled}, replications=2)))
    assert verdict.evidence, verdict.reason


def test_the_answer_speaks_of_the_results() -> None:
    assert ANSWER is not None
    sentences = ANSWER.sentences(synthetic.make(synthetic.plausible()))
    assert "108 treatments" in sentences[0]
    assert all("nan" not in one and "None" not in one for one in sentences)


def of(outcome: Outcome | None) -> Evidence:
    return Evidence("", "", outcome)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([CONFIRMED, CONFIRMED], CONFIRMED),
        ([CONFIRMED, None], CONFIRMED),
        ([CONFIRMED, UNDECIDED], UNDECIDED),
        ([CONFIRMED, UNDECIDED, CONTRADICTED], CONTRADICTED),
        ([None], UNDECIDED),
    ],
)
def test_parts_join_to_a_verdict(parts: list[Outcome | None], expected: Outcome) -> None:
    verdict = all_of(*(of(part) for part in parts))
    assert verdict.outcome == expected
    assert verdict.table.height == len(parts) and f"<strong>{expected.value}</strong>" in verdict._repr_html_()


@pytest.mark.parametrize(
    ("yes", "no", "expected"), [(8, 2, CONFIRMED), (5, 3, CONTRADICTED), (6, 1, UNDECIDED), (10, 0, CONFIRMED)]
)
def test_counts_of_cells_allow_for_the_unclear(yes: int, no: int, expected: Outcome) -> None:
    assert claims.cells("", yes, no, 10, 0.75).outcome == expected


def test_alike_is_decided_by_the_margin() -> None:
    metric = METRICS["throughput"]

    def verdict(low: float, high: float) -> Outcome | None:
        return claims.alike("", Interval((low + high) / 2, low, high, 10, 0.95, ""), metric).outcome

    assert verdict(0.98, 1.02) == CONFIRMED
    assert verdict(1.06, 1.1) == CONTRADICTED
    assert verdict(1.03, 1.1) == UNDECIDED


def test_pooled_ratios_are_geometric_and_paired() -> None:
    tables = synthetic.make(Truth(time=quic_time(lambda levels: 0.5)))
    over = {factor: levels for factor, levels in synthetic.BASE.items() if factor != "transport"}
    found = compare(tables, "base", "completion_time", "transport", "quic", "tcp", over=over)
    assert found.matrix.shape == (108, 10)
    assert found.pooled().value == pytest.approx(0.5, rel=0.02)
    assert found.share_above().value == 0.0
    assert found.within({"loss": ["0%"]}).matrix.shape == (36, 10)
    assert found.without({"loss": ["0%"], "rate": ["5Mbit/s"]}).matrix.shape == (96, 10)


def test_simultaneous_intervals_are_wider_than_single_ones() -> None:
    tables = synthetic.make(Truth())
    over = {**{factor: levels for factor, levels in synthetic.BASE.items() if factor != "transport"}, "loss": ["5%"]}
    found = compare(tables, "base", "completion_time", "transport", "quic", "tcp", over=over)
    each, single = found.each()[0], mean(found.matrix[0])
    assert each.high is not None and each.low is not None and single.high is not None and single.low is not None
    assert math.log(each.high / each.low) > 1.3 * (single.high - single.low)


def test_a_comparison_of_one_replication_says_how_many_it_needs() -> None:
    over = {factor: levels for factor, levels in synthetic.BASE.items() if factor != "transport"}
    with pytest.raises(MissingDataError, match="needs 3 replications or more, has 1"):
        compare(synthetic.make(Truth(replications=1)), "base", "overhead", "transport", "quic", "tcp", over=over)


def test_faulty_claims_are_refused_at_their_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.py"
    path.write_text("import math\n\nmath.nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"claims\.py:3"):
        load(tmp_path)
    path.write_text("def (:\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"claims\.py:1"):
        load(tmp_path)
    assert load(tmp_path / "absent") == claims.Contents()


def test_the_examples_of_the_documentation_work(tmp_path: Path) -> None:
    page = (STUDY.parents[1] / "docs" / "reference" / "figures-and-claims.md").read_text(encoding="utf-8")
    listing, of_flows = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "flows.toml").write_text(of_flows, encoding="utf-8")
    (one,) = kinds.read(tmp_path / "flows.toml").of(Bars)
    assert one.flow == "tcp/prague"
    (tmp_path / "figures.toml").write_text(listing, encoding="utf-8")
    figures = kinds.read(tmp_path / "figures.toml")
    tables = synthetic.make(Truth(replications=2))
    assert len(figures.of(Overview)[0].figure(Data(tables, figures)).panels) == 4
    assert len(figures.of(Bars)[0].figure(Data(tables, figures)).legend) == 2
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "@claim" in block]
    (tmp_path / "claims.py").write_text(code, encoding="utf-8")
    (only,) = load(tmp_path).claims
    assert only.verdict(tables).evidence


def test_tables_without_a_column_give_no_rows() -> None:
    tables = synthetic.make(Truth(replications=2))
    bare = Tables(tables.runs.drop("jain"), tables.flows, tables.factors)
    assert bare.values("pairs", "fairness").is_empty()
