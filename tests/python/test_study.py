"""Designs, templates, variants: which treatments and runs a study file stands for."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from conftest import ROOT, SMALL_STUDY
from haltere import Study
from haltere.errors import InputError

ONE_AT_A_TIME = SMALL_STUDY.replace(
    "[experiments.base]",
    """[experiments.base]
design = "one-factor-at-a-time"
[experiments.base.centre]
transport = "quic"
rate = "5Mbit/s"
loss = "2%"
""",
)


def test_full_factorial_varies_the_first_factor_slowest(small_study: Path) -> None:
    study = Study.load(small_study)
    levels = [tuple(t.levels.values()) for t in study.select(["base"])]
    assert levels == list(itertools.product(["tcp", "quic"], ["5Mbit/s", "20Mbit/s"], ["0%", "2%"]))
    assert [t.index for t in study.select(["base"])] == list(range(8))


def test_one_factor_at_a_time_is_the_centre_and_each_other_level() -> None:
    study = Study.parse(ONE_AT_A_TIME)
    assert [tuple(t.levels.values()) for t in study.select(["base"])] == [
        ("quic", "5Mbit/s", "2%"),
        ("tcp", "5Mbit/s", "2%"),
        ("quic", "20Mbit/s", "2%"),
        ("quic", "5Mbit/s", "0%"),
    ]


def test_one_factor_at_a_time_is_run_for_each_level_of_what_is_crossed() -> None:
    text = ONE_AT_A_TIME.replace('transport = "quic"\n', "", 1)
    study = Study.parse(text.replace('design = "one', 'crossed = ["transport"]\ndesign = "one'))
    assert [tuple(t.levels.values()) for t in study.select(["base"])] == [
        (transport, rate, loss)
        for transport in ("tcp", "quic")
        for rate, loss in (("5Mbit/s", "2%"), ("20Mbit/s", "2%"), ("5Mbit/s", "0%"))
    ]


def test_the_points_that_fill_a_space_are_the_same_for_each_level_of_what_is_crossed() -> None:
    text = SMALL_STUDY.replace(
        "[experiments.base]", '[experiments.base]\ndesign = "space-filling"\npoints = 5\ncrossed = ["transport"]'
    ).replace('rate = ["5Mbit/s", "20Mbit/s"]', 'rate = { from = "1Mbit/s", to = "100Mbit/s" }')
    levels = [tuple(t.levels.values()) for t in Study.parse(text).select(["base"])]
    tcp, quic = levels[:5], levels[5:]
    assert [row[0] for row in levels] == ["tcp"] * 5 + ["quic"] * 5
    assert [row[1:] for row in tcp] == [row[1:] for row in quic]
    assert len({row[1] for row in tcp}) == 5


def test_levels_are_put_into_the_scenario() -> None:
    study = Study.parse(SMALL_STUDY)
    last = study.select(["base"])[-1].scenario
    assert last["topology"]["bottleneck"]["rate"] == "20Mbit/s"
    assert last["topology"]["bottleneck"]["down"] == {"delay": "20ms", "loss": "2%"}
    assert last["flows"][0]["contender"] == "quic/cubic"
    pairs = study.select(["pairs"])
    assert [f["contender"] for f in pairs[0].scenario["flows"]] == ["tcp/bbr", "tcp/cubic"]
    assert pairs[1].levels == {"congestion": "both cubic"}


def test_a_level_can_be_a_number_or_a_table() -> None:
    text = SMALL_STUDY.replace(
        'loss = ["0%", "2%"]',
        'loss = [{ label = "every 50th", model = { model = "periodic", every = 50 } }]\nmany = [1, 2]',
    )
    text = text.replace('loss = "{loss}"', 'loss = "{loss.model}"').replace(
        "[[experiments.base.scenario.flows]]", "[[experiments.base.scenario.flows]]\npair = 0", 1
    )
    text = text.replace('kind = "dumbbell"\n', 'kind = "dumbbell"\npairs = "{many}"\n', 1)
    treatment = Study.parse(text).treatments[1]
    assert treatment.scenario["topology"]["bottleneck"]["down"]["loss"] == {"model": "periodic", "every": 50}
    assert treatment.scenario["topology"]["pairs"] == 2
    assert treatment.levels["many"] == "2"
    assert treatment.levels["loss"] == "every 50th"


def test_a_variant_is_laid_over_the_study(small_study: Path) -> None:
    plain, wider = Study.load(small_study), Study.load(small_study, variant="wider")
    assert wider.factors("base") == {"transport": ("quic",), "rate": ("5Mbit/s", "20Mbit/s"), "loss": ("0%", "2%")}
    assert wider.name == "small-wider"
    same = {t.scenario_json for t in wider.treatments} & {t.scenario_json for t in plain.treatments}
    assert len(same) == len(wider.treatments)


def test_a_variant_extends_another() -> None:
    text = SMALL_STUDY + '\n[variants.longer]\nextends = "wider"\nstudy.replications = 9\n'
    study = Study.parse(text, variant="longer")
    assert study.header.replications == 9
    assert study.factors("base")["transport"] == ("quic",)
    wrong = text.replace('["quic"]', '["quick"]')
    with pytest.raises(InputError, match=r"variants\.wider\.experiments\.base\.factors\.transport\[0\]"):
        Study.parse(wrong, variant="longer")


@pytest.mark.parametrize(("extended", "said"), [("longest", "no such variant"), ("longer", "extends itself")])
def test_a_variant_cannot_extend_itself_or_nothing(extended: str, said: str) -> None:
    text = SMALL_STUDY + f'\n[variants.longer]\nextends = "{extended}"\n'
    with pytest.raises(InputError, match=said) as caught:
        Study.parse(text, variant="longer")
    assert caught.value.field == "variants.longer.extends"


PARAMETERS = """
[parameters]
senders = [{ label = "new", contender = "tcp/bbr" }, { label = "old", contender = "tcp/cubic" }]
rates = { slow = "1Mbit/s" }
"""


def with_parameters(*changes: tuple[str, str]) -> str:
    text = SMALL_STUDY.replace('transport = ["tcp", "quic"]', 'transport = "{senders}"')
    text = text.replace('contender = "{transport}/cubic"', 'contender = "{transport.contender}"') + PARAMETERS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_parameters_stand_in_all_experiments() -> None:
    study = Study.parse(with_parameters(('["5Mbit/s", "20Mbit/s"]', '["{rates.slow}"]')))
    assert study.factors("base")["transport"] == ("new", "old")
    scenario = study.treatments[0].scenario
    assert scenario["flows"][0]["contender"] == "tcp/bbr"
    assert scenario["topology"]["bottleneck"]["rate"] == "1Mbit/s"


def test_a_variant_brings_parameters_of_its_own() -> None:
    text = with_parameters() + '\n[variants.other.parameters]\nsenders = [{ label = "x", contender = "tcp/vegas" }]\n'
    text = text.replace("[variants.wider.experiments.base.factors]\ntransport", "[variants.wider.experiments.base]\nt")
    assert Study.parse(text, variant="other").factors("base")["transport"] == ("x",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rates = {", "Rates = {"), "a parameter cannot be called 'Rates'"),
        (("rates = {", "rate = {"), "a parameter of the study has this name"),
        (('"{senders}"', '"{sendrs}"'), "a factor is a list of levels"),
        (('contender = "tcp/bbr"', 'contender = "tcp/bbbr"'), "used at"),
    ],
)
def test_errors_of_parameters_name_the_place(change: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Study.parse(with_parameters(change))
    assert caught.value.place is not None and caught.value.place.line


def test_a_table_of_another_kind_takes_the_place_of_the_study_s() -> None:
    text = SMALL_STUDY + (
        '[variants.cell.experiments.base.scenario.topology]\nkind = "cell"\n'
        'link = { rate = "{rate}", delay = "20ms", loss = "{loss}" }\ncell = { preset = "wifi" }\n'
        "[variants.deep.experiments.base.scenario.topology]\npairs = 2\n"
    )
    cell = Study.parse(text, variant="cell").treatments[0].scenario["topology"]
    assert cell["kind"] == "cell" and not {"bottleneck", "pairs"} & set(cell)
    deep = Study.parse(text, variant="deep").treatments[0].scenario["topology"]
    assert (deep["kind"], deep["pairs"], deep["bottleneck"]["queue"]) == ("dumbbell", 2, "100p")


def test_run_identity_depends_on_scenario_seed_and_replication(small_study: Path) -> None:
    study = Study.load(small_study)
    runs = list(study.runs())
    assert len(runs) == 30
    assert len({run.id for run in runs}) == 30
    assert [run.id for run in study.runs(replications=2)] == [run.id for run in runs[:20]]
    other = Study.parse(SMALL_STUDY.replace("seed = 7", "seed = 8"))
    assert not {run.id for run in other.runs()} & {run.id for run in runs}


def test_a_scenario_file_is_a_study_of_one_treatment(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'flows = [{ contender = "tcp/cubic", size = "100kB" }]\n'
        '[topology]\nkind = "point-to-point"\n'
        '[topology.link]\nrate = "10Mbit/s"\ndelay = "5ms"\nqueue = "50p"\nmtu = "1500B"\n'
    )
    study = Study.load(file)
    assert (study.name, len(study.treatments), study.factors("scenario")) == ("one", 1, {})


def test_an_unknown_experiment_is_refused(small_study: Path) -> None:
    wrong = 'experiments: the study has no such experiment\n  given: "bose"\n  right: base, pairs; did you mean base?'
    with pytest.raises(InputError, match=re.escape(wrong)):
        Study.load(small_study).select(["bose"])


def test_the_bundled_study_has_the_sheet_s_configurations() -> None:
    study = Study.load(ROOT / "studies" / "quic-dumbbell")
    assert len(study.select(["base"])) == 2 * 2 * 3 * 3 * 3 * 2
    assert len(study.select(["pairs"])) == 2 * 4 * 3 * 3 * 3
    assert study.header.replications == 10
    for treatment in study.treatments:
        bottleneck = treatment.scenario["topology"]["bottleneck"]
        assert bottleneck["down"] == {"delay": treatment.levels["delay"], "loss": treatment.levels["loss"]}
        assert bottleneck["up"] == {"delay": "0ms"}
    wider = Study.load(ROOT / "studies" / "quic-dumbbell", variant="wider")
    assert (len(wider.select(["base"])), len(wider.select(["pairs"]))) == (432, 486)
