"""Explanations that a study asks for: planted differences of treatments are found, kept, and shown beside claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Haltere
from haltere import Study
from haltere.errors import InputError
from haltere.explanation import Explanation
from haltere.explanation.asked import read
from haltere.explanation.treatments import explain_why
from haltere.metrics.tables import Tables
from haltere.results import load

STUDY = """
[study]
name = "planted"
seed = 3
replications = 3

[experiments.base.factors]
era = [
    { label = "then", contender = "tcp/cubic-timestamps", queue = "20p", mark = 0 },
    { label = "now", contender = "tcp/cubic+initial-window=40", queue = "400p", mark = 8 },
]
rate = ["10Mbit/s", "20Mbit/s"]

[experiments.base.scenario.topology]
kind = "point-to-point"
link = { rate = "{rate}", delay = "30ms", queue = "{era.queue}", loss = "0.5%" }

[[experiments.base.scenario.flows]]
contender = "{era.contender}"
app = "https"
size = "300kB"
tos = "{era.mark}"

[[why]]
claims = ["sooner"]
experiment = "base"
from = { era = "then" }
to = { era = "now" }

[[why]]
claims = ["sooner"]
experiment = "base"
at = { era = "then", rate = "10Mbit/s" }
switches = ["tcp+initial-window=40"]
metric = "goodput"
orders = 2
"""
CLAIMS = '''
from haltere.claims import all_of, claim, exceeds
from haltere.stats import mean


@claim("It is sooner now.", source="planted")
def sooner(tables):
    """The mean must be below a second."""
    return all_of(exceeds("1 s", mean(tables.values("base", "completion_time")["value"].to_numpy()), 1.0))
'''


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study with two differences to explain, and its results."""
    folder = tmp_path_factory.mktemp("why") / "planted"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "claims.py").write_text(CLAIMS, encoding="utf-8")
    found = Study.load(folder)
    found.run(out=folder / "results")
    return found


def results_of(study: Study) -> Path:
    assert study.directory is not None
    return study.directory / "results"


@pytest.fixture(scope="module")
def whole(study: Study) -> Explanation:
    """The difference between the eras, over both rates."""
    return explain_why(study, 0, 3)


def test_fields_and_mechanisms_are_parts_of_one_game(whole: Explanation):
    parts = {part.name: (part.before, part.after) for part in whole.parts}
    assert parts == {
        "queue": ("20p", "400p"),
        "tos": ("0", "8"),
        "initial-window": ("10", "40"),
        "timestamps": ("off", "on"),
    }
    effects = {part.name: one for part, one in whole.ranked}
    assert effects["tos"].nothing
    assert not effects["initial-window"].nothing


def test_its_ends_are_the_runs_of_the_results(study: Study, whole: Explanation):
    values = Tables.of(load(results_of(study))).values("base", "completion_time")
    for era, level in zip(("then", "now"), whole.levels, strict=True):
        mean = values.filter(era=era)["value"].log().mean()
        assert isinstance(mean, float)
        assert pytest.approx(level) == 2.718281828459045**mean


def test_values_sum_to_the_whole_whether_all_orders_are_taken_or_some(study: Study, whole: Explanation):
    for found in (whole, explain_why(study, 1, 3)):
        sums = [sum(one.values[r] for one in found.effects) for r in range(3)]
        assert sums == pytest.approx(found.whole.values, abs=1e-9)
    assert whole.sampled is None


def test_switches_are_the_other_end(study: Study):
    found = explain_why(study, 1, 2)
    assert [part.name for part in found.parts] == ["initial-window"]
    assert (found.replications, found.sampled, found.measure.name) == (2, 2, "goodput")
    assert found.b == "the study with tcp+initial-window=40"


def test_an_explanation_is_the_same_after_it_was_kept(whole: Explanation):
    data = json.loads(json.dumps(whole.data()))
    assert Explanation.of(data).data() == data


def test_the_report_shows_it_beside_its_claim_until_the_study_changes(study: Study, haltere: Haltere):
    folder = results_of(study)
    said = haltere("why", str(study.directory), "--results", str(folder))
    assert said.returncode == 0 and "then → now" in said.stdout
    kept = read(folder, load(folder).manifest)
    assert [one.claims for one in kept] == [("sooner",), ("sooner",)]
    haltere("report", str(folder), "--study", str(study.directory))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('<details class="why">') == 2
    assert kept[0].explanation.answer in page
    manifest = load(folder).manifest
    assert read(folder, {**manifest, "core": "another"}) == []
    assert read(folder, {**manifest, "replications": 4}) == []
    other = manifest | {"study_text": STUDY.replace("orders = 2", "orders = 3")}
    assert [one.explanation for one in read(folder, other)] == [kept[0].explanation]


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        ('experiment = "base"\nfrom', 'experiment = "bas"\nfrom', "no such experiment"),
        ('from = { era = "then" }', 'from = { age = "then" }', "age is not a factor of base"),
        ('to = { era = "now" }', 'to = { era = "new" }', "era has no level 'new'"),
        ('to = { era = "now" }', 'to = { rate = "20Mbit/s" }', "from and to name other factors"),
        ('to = { era = "now" }', 'to = { era = "then" }', "both ends are the same"),
        ('to = { era = "now" }', 'to = { era = "now" }\nat = { era = "now" }', "era stands in from as well"),
        ("orders = 2", "orders = 0", "greater than or equal to 1"),
        ("orders = 2", "order = 2", "there is no such field"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(wrong: str, right: str, problem: str):
    assert wrong in STUDY
    with pytest.raises(InputError, match=r"study\.toml:[0-9]+") as raised:
        Study.parse(STUDY.replace(wrong, right))
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        ('metric = "goodput"', 'metric = "goodputs"', "is not a metric"),
        ('metric = "goodput"', 'metric = "latency"\nflow = 0', "is no metric of a flow"),
        ("tcp+initial-window=40", "tcp+nothing", "is no switch"),
        ("tcp+initial-window=40", "tcp+initial-window=10", "is no switch"),
    ],
)
def test_what_cannot_be_explained_is_refused(wrong: str, right: str, problem: str):
    text = STUDY.replace(
        f"[{wrong!r}]".replace("'", '"') if "tcp" in wrong else wrong, right if "tcp" not in right else f'["{right}"]'
    )
    assert text != STUDY
    with pytest.raises(InputError, match=problem):
        explain_why(Study.parse(text), 1, 2)


def test_what_is_given_besides_is_refused(study: Study, haltere: Haltere, tmp_path: Path):
    one = haltere("map", str(study.directory), "tcp/cubic")
    assert one.returncode == 2 and "missing" in one.stderr.lower()
    metric = haltere("why", str(study.directory), "--metric", "goodput")
    assert metric.returncode == 2 and "--metric" in metric.stderr
    none = haltere("why", str(study.directory), "--results", str(tmp_path))
    assert none.returncode == 2
