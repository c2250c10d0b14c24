"""The answer and the claims of a report: what a reader sees first, and that it says what the runs say."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import report_tables as synthetic
from haltere.claims import Outcome, all_of, below, between, claim, exceeds, remark, standings
from haltere.claims.answering import from_verdicts
from haltere.claims.comparison import compare
from haltere.claims.findings import Judged
from haltere.errors import InputError, counted
from haltere.figures import kinds
from haltere.figures.overviews import Overview
from haltere.figures.pages import coded
from haltere.figures.parts import Rect
from haltere.figures.samples import listed_axis
from haltere.figures.spec import Data
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import summarise
from haltere.report import build
from haltere.report.design import links_said, said
from haltere.stats import Interval, mean
from haltere.stats.intervals import mean_of_amounts
from report_tables import Truth
from test_report import STUDY, Page, report

CONFIRMED, CONTRADICTED, UNDECIDED = Outcome.CONFIRMED, Outcome.CONTRADICTED, Outcome.UNDECIDED


def interval(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high, 10, 0.95, "Student's t")


def test_a_bound_reads_as_a_range() -> None:
    assert between("RTT", interval(307, 307, 308), 269.45, 364.55, "ms").said == "within 269 to 365 ms: 307 [307, 308]"
    assert exceeds("ratio", interval(0.99, 0.98, 1.0), 0.97).said == "above 0.97: 0.990 [0.980, 1.000]"
    assert exceeds("share", interval(0.9, 0.8, 0.95), 0.5, "%").said == "above 50 %: 90 % [80, 95]"
    assert below("wait", interval(4.2, 4.1, 4.3), 10, "ms").said == "below 10 ms: 4.20 [4.10, 4.30]"
    assert exceeds("gain", interval(0.1, 0.05, 0.2), 0.0, "±").said == "above 0: +0.100 [+0.050, +0.200]"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (interval(2, 1.5, 2.5), CONFIRMED),
        (interval(2, 0.9, 2.5), UNDECIDED),
        (interval(2, 1.5, 3.1), UNDECIDED),
        (interval(0.5, 0.4, 0.9), CONTRADICTED),
        (interval(4, 3.5, 4.5), CONTRADICTED),
        (Interval(2, None, None, 2, 0.95, "too few values"), UNDECIDED),
    ],
)
def test_a_range_is_decided_by_both_ends_of_the_interval(found: Interval, expected: Outcome) -> None:
    assert between("", found, 1, 3).outcome == expected


def test_a_part_with_a_range_counts_for_both_its_ends() -> None:
    """So a claim of ranges is contradicted by chance no more often than one of as many single bounds."""
    values = np.random.default_rng(3).normal(1.0, 1.0, 10)
    found = mean(values)
    assert found.high is not None
    just_outside = between("", found, found.high + 1e-6, found.high + 9)
    assert just_outside.outcome is CONTRADICTED
    assert all_of(just_outside).outcome is CONTRADICTED
    assert all_of(just_outside, between("", interval(2, 1.5, 2.5), 1, 3)).outcome is UNDECIDED


def test_a_share_that_is_the_same_in_every_replication_says_so() -> None:
    whole = Interval(1.0, 0.54, 1.0, 6, 0.95, "Clopper and Pearson")
    assert exceeds("Share of 108 treatments", whole, 0.5, "%").numbers == "100 % in each of 6 replications [54, 100]"


def test_without_an_answer_of_its_own_a_study_answers_with_its_largest_effect() -> None:
    def judged(sentence: str, **parts: Interval) -> tuple[object, object]:
        made = claim(sentence, source="section 1")(
            lambda _: all_of(*(exceeds(what, found, 1.0) for what, found in parts.items()))
        )
        return made, made.verdict(None)

    small = judged("A is faster.", ratio=interval(1.2, 1.1, 1.3))
    large = judged("B is faster.", rate=interval(5.0, 4.0, 6.0))
    wrong = judged("C is faster.", time=interval(0.4, 0.3, 0.5))
    first, second = from_verdicts([small, large, wrong])  # type: ignore[list-item]
    assert first == "B is faster: rate is 5.00 [4.00, 6.00], held against: above 1."
    assert second.startswith("It is not so that “C is faster”: time is 0.400")
    (only,) = from_verdicts([judged("D.", x=interval(1.0, 0.5, 1.5))])  # type: ignore[list-item]
    assert "decide none of the 1 claims" in only
    assert from_verdicts([]) == []


def test_a_row_shows_three_numbers_at_most_and_first_those_that_decide() -> None:
    parts = [exceeds(f"part {n}", interval(2.0, 1.5, 2.5), 1.0) for n in range(4)]
    against = exceeds("against", interval(0.5, 0.4, 0.6), 1.0)
    one = Judged(claim("S.", source="our")(lambda _: all_of()), all_of(*parts, against, remark("beside", "7")))
    assert [part.what for part in one.leading] == ["against", "part 0", "part 1"]
    assert [part.what for part in one.others] == ["part 2", "part 3", "beside"]


def test_a_claim_says_whose_it_is_and_what_the_paper_has(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "claims.py").write_text(
        "from haltere.claims import Verdict, all_of, claim, remark\n"
        "@claim('First.', source='section 2', whose='Cardozo 2013', paper='316 ms')\n"
        "def first(tables): return all_of(remark('x', '1'))\n"
        "@claim('Second.', source='our expectation')\n"
        "def second(tables): return all_of(remark('y', '2'))\n"
    )
    _, text = report(tmp_path, Truth(experiments={"base": synthetic.BASE}, replications=2), study)
    first, second = re.findall(r'<tr id="claim-\d">.*?</tr>', text, re.S)
    assert '<span class="whose">Cardozo 2013</span> section 2' in first and ">316 ms</td>" in first
    assert '<span class="whose">ours</span></span>' in second and 'class="paper"' not in second
    # Each of the two has a table of its own.
    assert text.index("Claims of the paper") < text.index(first) < text.index("Claims of our own") < text.index(second)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The study with its first two figures alone: quick to draw."""
    folder = tmp_path / "study"
    folder.mkdir()
    shutil.copy(STUDY / "claims.py", folder)
    factors, *figures = (STUDY / "figures.toml").read_text(encoding="utf-8").split("[[overviews]]")
    (folder / "figures.toml").write_text("[[overviews]]".join([factors, *figures[:2]]), encoding="utf-8")
    return folder


def test_the_answer_stands_before_its_figure_and_that_before_the_claims(tmp_path: Path, study: Path) -> None:
    _, text = report(tmp_path, Truth(replications=3), study)
    order = [text.index(part) for part in ('id="answer"', "<figure", 'id="claims"', 'id="figures"', 'id="design"')]
    assert order == sorted(order)
    assert text[: text.index('id="claims"')].count("<figure") == 1


def test_figures_toml_may_name_the_main_figure(tmp_path: Path, study: Path) -> None:
    own = (study / "figures.toml").read_text(encoding="utf-8")
    name = kinds.read(study / "figures.toml").of(Overview)[1].name
    (study / "figures.toml").write_text(f'main = "{name}"\n{own}', encoding="utf-8")
    _, text = report(tmp_path, Truth(replications=2), study)
    assert text.index(f'id="figure-{name}"') < text.index('id="figures"')
    (study / "figures.toml").write_text(f'main = "nothing"\n{own}', encoding="utf-8")
    with pytest.raises(InputError, match=r"figures\.toml:1:8: main: there is no such figure"):
        build(tmp_path / "results", study)


def test_the_map_marks_as_many_cells_as_the_headline_counts() -> None:
    """A cell had an interval of its own, the sentence intervals that hold together."""
    tables = synthetic.make(Truth(noise=0.2))
    words = kinds.read(STUDY / "figures.toml")
    figure = words.of(Overview)[0].figure(Data(tables, words))
    weights = [mark.weight for panel in figure.panels for _, mark in panel.each(Rect)]
    over = {factor: levels for factor, levels in synthetic.BASE.items() if factor != "transport"}
    sides = standings(compare(tables, "base", "completion_time", "transport", "quic", "tcp", over=over))
    assert len(sides) == len(weights) == 108
    assert weights.count("bold") == sides.count("of") + sides.count("to")
    assert weights.count("plain") == sides.count("alike")
    assert 0 < weights.count("faint") == sides.count("unclear")


def test_intervals_hold_no_impossible_value() -> None:
    """A set-up time was given as 95.9 ±220.2 ms."""
    times = [50.0, 45.0, 192.7]
    symmetric, found = mean(times), mean_of_amounts(times)
    assert symmetric.low is not None and symmetric.low < 0
    assert found.low is not None and found.high is not None
    assert found.value == pytest.approx(symmetric.value)
    assert 0 < found.low < found.value < found.high
    assert found.at(0.99).low == pytest.approx(found.value * (found.low / found.value) ** (9.925 / 4.303), rel=1e-3)
    jain = mean_of_amounts([0.99, 1.0, 0.96], ceiling=1.0)
    assert jain.high == 1.0
    drops = mean_of_amounts([0.0, 0.0, 3.0])
    assert drops.low == 0.0
    values = synthetic.make(Truth(noise=2.0, replications=3)).values("base", "completion_time")
    lows = [one.low for one in summarise(values, ["loss", "rate", "size"], METRICS["completion_time"]).values()]
    assert all(low is not None and low > 0 for low in lows)


def test_intervals_of_skewed_amounts_cover_their_mean_more_often_than_symmetric_ones() -> None:
    generator = np.random.default_rng(1)
    truth, trials = math.exp(0.5), 1000
    hits = [0, 0]
    for _ in range(trials):
        values = generator.lognormal(0.0, 1.0, 5)
        for at, found in enumerate((mean(values), mean_of_amounts(values))):
            assert found.low is not None and found.high is not None
            hits[at] += found.low <= truth <= found.high
    assert hits[1] > hits[0] + 0.03 * trials


def test_many_levels_are_said_as_a_range_and_in_their_order() -> None:
    losses = [f"{n / 10:g}%" for n in range(50, -1, -1)]
    words, everything = said(losses, "loss")
    assert words == "0 to 5 %, 51 levels"
    assert everything[0] == "0 %" and everything[-1] == "5 %"
    assert said(["5%", "0%", "1%"], "loss") == ("0 · 1 · 5 %", ())
    assert said(["900us", "1ms", "2ms", "3ms", "4ms", "5ms"], "delay")[0] == "900 us to 5 ms, 6 levels"
    many, all_of_them = said([f"kind-{n}" for n in range(20)], "kind")
    assert many.startswith("20 levels, such as kind-0") and len(all_of_them) == 20


def test_long_numbers_have_spaces_wherever_a_level_or_a_count_is_shown() -> None:
    assert (
        quantities.text("100000000p") == "100\u202f000\u202f000 packets"
        and quantities.text("10000kB") == "10\u202f000 kB"
    )
    assert (quantities.text("2010"), quantities.text("1000p"), quantities.text("0.12345%")) == (
        "2010",
        "1000 packets",
        "0.12345 %",
    )
    axis, _ = listed_axis("queue", "queue", ["1000p", "100000000p"])
    assert [name for _, name in axis.names] == ["1000 packets", "100\u202f000\u202f000 packets"]
    assert said(["1000p", "100000000p"], "queue")[0] == "1000 · 100\u202f000\u202f000 packets"
    link = {"name": "link", "down": ["0.1234567Mbit/s, queue drop-tail (limit 1000000p)"]}
    assert links_said([{**link, "up": link["down"]}])[0][1].endswith(
        "0.1234567Mbit/s, queue drop-tail (limit 1\u202f000\u202f000p)"
    )
    assert (counted(1, "run"), counted(9999, "run"), counted(10800, "run")) == (
        "1 run",
        "9999 runs",
        "10\u202f800 runs",
    )


def test_the_papers_values_have_a_column_only_if_a_claim_has_one(tmp_path: Path, study: Path) -> None:
    stated = (study / "claims.py").read_text()
    (study / "claims.py").write_text(re.sub(r" *paper=[^\n]*,\n", "", stated))
    (tmp_path / "one").mkdir()
    _, text = report(tmp_path / "one", Truth(replications=1), study)
    assert "The paper's value" not in text and '<table class="claims">' in text
    (study / "claims.py").write_text(stated)
    (tmp_path / "other").mkdir()
    _, text = report(tmp_path / "other", Truth(replications=1), study)
    assert '<th scope="col">The paper\'s value</th>' in text
    assert '<td class="paper" data-label="The paper\'s value">“much alike”' in text


def test_with_one_replication_a_claim_says_how_many_it_needs(tmp_path: Path, study: Path) -> None:
    _, text = report(tmp_path, Truth(replications=1), study)
    page = Page(text)
    assert "needs 3 replications or more, has 1" in page.text
    assert "{'" not in page.text


def test_what_a_rule_has_in_backquotes_is_set_as_code() -> None:
    assert coded("As for `lossless` <1 %, over `lossy`.") == (
        "As for <code>lossless</code> &lt;1 %, over <code>lossy</code>."
    )
    assert coded("a lone ` stays") == "a lone ` stays"
