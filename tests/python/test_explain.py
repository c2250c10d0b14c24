"""`haltere explain`: planted differences are found, and every mixture is a contender that runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import haltere
from conftest import SMALL_STUDY, Haltere
from haltere import core
from haltere.adhoc.conditions import Comparison
from haltere.errors import HaltereError, InputError
from haltere.executor import Outcome, ThreadExecutor
from haltere.explanation import Effect, Explanation, Space, explained
from haltere.explanation.game import coalitions
from haltere.explanation.maps import Map, explain_study
from haltere.explanation.page import html, waterfall
from haltere.stats import Interval


@pytest.fixture(scope="module")
def planted() -> Explanation:
    """Two TCPs that differ in four switches, of which two matter and two cannot: nothing is lost or idle."""
    return haltere.explain(
        "tcp/cubic",
        "tcp/cubic+initial-window=40-timestamps+syn-retries=3+nagle",
        rate="20Mbit/s",
        rtt="60ms",
        queue="2000p",
        size="300kB",
        replications=3,
    )


def effect(found: Explanation, name: str) -> float:
    return {part.name: one for part, one in found.ranked}[name].interval.value


def test_a_planted_difference_is_explained_by_just_that(planted: Explanation):
    by_name = {part.name: one for part, one in planted.ranked}
    assert {name for name, one in by_name.items() if not one.nothing} == {"initial-window", "timestamps"}
    assert by_name["initial-window"].interval.value < -0.1
    assert by_name["syn-retries"].nothing and by_name["nagle"].nothing
    assert planted.ranked[0][0].name == "initial-window"


def test_values_sum_to_the_whole_in_every_replication(planted: Explanation):
    total = np.sum([one.values for one in planted.effects], axis=0)
    assert total == pytest.approx(planted.whole.values, abs=1e-12)
    times = haltere.compare([planted.a, planted.b], **_of(planted), replications=3)["completion_s"].log().to_list()
    assert np.array(times[1::2]) - np.array(times[::2]) == pytest.approx(planted.whole.values)


def _of(found: Explanation) -> dict[str, str]:
    assert found.conditions.startswith("20Mbit/s, RTT 60ms")
    return {"rate": "20Mbit/s", "rtt": "60ms", "queue": "2000p", "size": "300kB"}


def test_a_planted_interaction_is_named():
    """A burst of the whole window costs nothing in a long queue, and neither does a small window in a short one."""
    found = haltere.explain(
        "tcp/newreno+initial-window=4",
        "tcp/newreno+initial-window=60+pacing",
        rate="10Mbit/s",
        rtt="40ms",
        queue="20p",
        size="150kB",
        replications=3,
    )
    (pair,) = found.interactions
    assert set(pair.parts) == {"initial-window", "pacing"}
    assert pair.effect.real
    alone = found.whole.interval.value - pair.effect.interval.value
    assert effect(found, "pacing") + effect(found, "initial-window") == pytest.approx(
        alone + pair.effect.interval.value
    )


def test_the_same_mechanisms_leave_nothing_to_explain():
    with pytest.raises(InputError, match="nothing to explain"):
        haltere.explain("tcp/cubic", "tcp/cubic+initial-window=10")
    with pytest.raises(InputError, match="quic@model"):
        haltere.explain("quic@quinn/cubic", "quic/cubic", fidelity="stack")


@pytest.mark.parametrize(
    ("a", "b", "fidelity"),
    [
        ("tcp/cubic", "quic/cubic", "model"),
        ("quic/bbr+0rtt", "tcp/bbr+earlydata+tfo", "model"),
        ("tcp/dctcp", "quic/dctcp", "model"),
        ("tcp/newreno-hystart+stockbuffers", "quic/cubic+resumed", "model"),
        ("tcp/cubic", "mptcp/cubic+round-robin", "model"),
        ("tcp/cubic+tls12", "mpquic/olia", "model"),
        ("quic@quinn/cubic", "quic@model/cubic", "stack"),
        ("quic@model/newreno", "quic@noq/cubic", "stack"),
        ("quic@quinn/cubic", "quic@noq/newreno", "stack"),
        ("quic@quinn/cubic+haltere", "quic@quinn/bbr+haltere+nullcipher", "stack"),
        ("quic@quinn/cubic", "quic@quinn/cubic+haltere+reno-friendly=rfc9438-hystart+nullcipher", "stack"),
        ("quic@quinn/cubic+haltere+reno-friendly=rfc9438", "quic@quinn/cubic+haltere-hystart", "stack"),
        ("quic@model/newreno", "quic@quinn/cubic", "stack"),
    ],
)
def test_every_mixture_can_be_run(a: str, b: str, fidelity: str):
    space = Space.between(a, b, fidelity)  # type: ignore[arg-type]
    masks = coalitions(len(space.parts), space.after)
    texts = [space.text(mask) for mask in masks]
    assert (texts[0], texts[-1]) == (a, b)
    for text in texts if len(texts) < 300 else texts[:: len(texts) // 300]:
        core.effective(text, fidelity)
    assert len(set(texts)) == len(texts), "two mixtures that are the same run would be counted twice"


def test_the_ends_are_what_their_parts_say():
    """Switching all parts by hand leads to the second contender: no setting is forgotten."""
    a, b = "tcp/cubic", "tcp/newreno+initial-window=20+pacing-sack"
    space = Space.between(a, b)
    everything = (1 << len(space.parts)) - 1
    one_less = [space.text(everything & ~(1 << number)) for number in range(len(space.parts))]
    target = {one["name"]: one["value"] for one in core.effective(b)["settings"]}
    for text, part in zip(one_less, space.parts, strict=True):
        found = {one["name"]: one["value"] for one in core.effective(text)["settings"]}
        differs = {name for name in target if found[name] != target[name]}
        assert differs == ({part.name} if part.name in target else set()), text


def test_a_control_moves_what_only_it_decides():
    space = Space.between("tcp/cubic-hystart", "tcp/bbr")
    assert space.names == ("congestion control", "pacing")
    assert space.text(0b10) == "tcp/cubic-hystart+pacing"
    assert [part.name for part in Space.between("tcp/cubic", "tcp/newreno").parts] == ["congestion control", "hystart"]


def test_mixtures_that_cannot_be_are_avoided_and_said():
    found = haltere.explain("tcp/cubic", "tcp/bbr", size="100kB", replications=3)
    assert found.mixtures == 3
    assert "tcp/bbr-pacing" in found.notes[0]
    assert sum(one.interval.value for one in found.effects) == pytest.approx(found.whole.interval.value)


class Failing(ThreadExecutor):
    """An executor whose runs of some contenders fail."""

    def __init__(self, *words: str) -> None:
        super().__init__(2)
        self.words = words

    def execute(self, tasks, stop=None):
        for outcome in super().execute(task := list(tasks), stop):
            text = next(one.text for one in task if one.key == outcome.key)
            if any(f'"contender":"{word}"' in text for word in self.words):
                failed = {"status": "failed", "error": "it broke", "flows": [], "links": []}
                yield Outcome(outcome.key, json.dumps(failed))
            else:
                yield outcome


CONTENDERS = ("tcp/cubic", "tcp/cubic+initial-window=20+pacing")
SHORT = Comparison(size="100kB", replications=3)


def test_a_mixture_that_fails_is_avoided_and_said():
    found = explained(*CONTENDERS, SHORT, executor=Failing("tcp/cubic+pacing"))
    assert found.mixtures == 3
    assert "tcp/cubic+pacing (it broke)" in found.notes[0]
    assert sum(one.interval.value for one in found.effects) == pytest.approx(found.whole.interval.value)


def test_no_way_through_is_an_error():
    with pytest.raises(HaltereError, match="no order of switching"):
        explained(*CONTENDERS, SHORT, executor=Failing("tcp/cubic+pacing", "tcp/cubic+initial-window=20"))
    with pytest.raises(HaltereError, match="in no replication"):
        explained(*CONTENDERS, SHORT, executor=Failing("tcp/cubic"))


def test_from_ten_parts_on_orders_are_sampled():
    switches = (
        "+initial-window=20+pacing-tso-prr-rack-tlp-frto-undo-dsack-timestamps-idle-restart-hurried-acks"
        "-sack-compression-hystart"
    )
    found = haltere.explain("tcp/cubic", f"tcp/cubic{switches}", size="100kB", loss="1%", replications=4, orders=3)
    assert (len(found.parts), found.sampled) == (14, 3)
    assert np.sum([one.values for one in found.effects], axis=0) == pytest.approx(found.whole.values, abs=1e-9)


def test_fast_open_takes_the_round_trip_that_quic_does_not_have():
    """The premise of the part `handshake`: with it both transports need as many round trips."""
    times = haltere.compare(
        ["tcp/cubic", "tcp/cubic+tfo", "quic/cubic"], rate="1Gbit/s", rtt="200ms", size="1kB", replications=1
    )["completion_s"].to_list()
    rounds = [round(time / 0.2) for time in times]
    assert rounds == [3, 2, 2]


@pytest.fixture(scope="module")
def other_way() -> tuple[Explanation, Explanation]:
    conditions = {"size": "50kB", "loss": "2%", "replications": 3}
    return haltere.explain("tcp/bbr", "quic/bbr", **conditions), haltere.explain("quic/bbr", "tcp/bbr", **conditions)


def test_the_other_way_round_all_effects_change_their_sign(other_way: tuple[Explanation, Explanation]):
    there, back = ({part.name: one.interval.value for part, one in found.ranked} for found in other_way)
    assert there.keys() == back.keys()
    assert [there[name] for name in there] == pytest.approx([-back[name] for name in there])


def test_what_no_switch_explains_is_said(other_way: tuple[Explanation, Explanation]):
    assert other_way[0].rest is not None
    assert other_way[0].rest.startswith("what no switch explains: transport tcp → quic")


def test_the_command(haltere: Haltere, tmp_path: Path):
    done = haltere("explain", *CONTENDERS, "--size", "100kB", "--replications", "3", "--out", "why")
    assert done.returncode == 0, done.stderr
    assert "initial-window" in done.stdout and "pacing" in done.stdout and "×" in done.stdout
    names = {path.name for path in (tmp_path / "why").iterdir()}
    assert names == {f"explanation.{form}" for form in ("svg", "pdf", "html", "json")}
    page = (tmp_path / "why" / "explanation.html").read_text()
    assert "<svg" in page and "What the numbers mean" in page
    assert "Window-based algorithms are paced" in page
    again = haltere("explain", *CONTENDERS, "--size", "100kB", "--replications", "3", "--json")
    assert json.loads(again.stdout) == json.loads((tmp_path / "why" / "explanation.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metric", "speed"], "completion_time, setup_time, goodput"),
        (["--orders", "0"], "--orders"),
        (["--replications", "0"], "--replications"),
        (["--fidelity", "linux"], "model or stack"),
    ],
)
def test_wrong_options_are_refused(haltere: Haltere, arguments: list[str], says: str):
    done = haltere("explain", *CONTENDERS, *arguments)
    assert done.returncode != 0
    assert says in done.stderr


def test_a_metric_that_may_be_zero_is_explained_by_differences():
    found = haltere.explain(*CONTENDERS, metric="retransmissions", size="100kB", queue="5p", replications=3)
    assert not found.measure.ratio
    counts = haltere.compare(CONTENDERS, size="100kB", queue="5p", replications=3)["retransmitted_packets"].to_list()
    assert found.whole.interval.value == pytest.approx(np.mean(counts[1::2]) - np.mean(counts[::2]))


def test_from_python(planted: Explanation):
    assert "initial-window" in repr(planted) and "<table>" in planted._repr_html_()
    assert planted.table.columns == ["part", "from", "to", "effect", "low", "high", "share", "p", "real"]
    with pytest.raises(InputError, match="is no condition"):
        haltere.explain("tcp/cubic", "tcp/bbr", share=True)


@pytest.fixture(scope="module")
def small_map(tmp_path_factory: pytest.TempPathFactory) -> Map:
    folder = tmp_path_factory.mktemp("small")
    (folder / "study.toml").write_text(SMALL_STUDY)
    return explain_study("tcp/cubic+initial-window=20", "tcp/cubic+nagle", folder, replications=3)


def test_a_map_has_the_studys_conditions_without_the_contenders(small_map: Map):
    assert small_map.experiment == "base"
    assert dict(small_map.factors) == {"rate": ("5Mbit/s", "20Mbit/s"), "loss": ("0%", "2%")}
    assert len(small_map.cells) == 4
    assert small_map.lost == 0


def test_a_map_finds_what_was_planted_at_each_combination(small_map: Map):
    window, nagle = (small_map.parts.index(part) for part in sorted(small_map.parts, key=lambda p: p.name))
    assert not small_map.values[nagle].any()
    sums = small_map.values.sum(axis=0)
    for place, cell in enumerate(small_map.cells):
        link = {"rate": cell["rate"], "down_delay": "20ms", "up_delay": "0ms", "loss": cell["loss"], "queue": "100p"}
        times = haltere.compare([small_map.a, small_map.b], **link, size="300kB", seed=7, replications=3)
        logs = np.log(times["completion_s"].to_numpy())
        assert np.sign(sums[place].mean()) == np.sign((logs[1::2] - logs[::2]).mean()), cell
    fast = small_map.cells.index({"rate": "20Mbit/s", "loss": "0%"})
    assert small_map.mean(window, fast) > 0.01
    assert small_map.ranked[0] == window


def test_a_map_pools_within_replications(small_map: Map):
    found = small_map.pooled({"loss": "0%"})
    kept = [place for place, cell in enumerate(small_map.cells) if cell["loss"] == "0%"]
    assert found[0].values == pytest.approx(small_map.values[0][kept].mean(axis=0))


def test_the_command_over_a_study(haltere: Haltere, small_study: Path, tmp_path: Path):
    arguments = ["map", str(small_study), *CONTENDERS, "--replications", "2"]
    done = haltere(*arguments, "--out", "map")
    assert done.returncode == 0, done.stderr
    assert "20Mbit/s" in done.stdout and "what makes the difference" in done.stdout
    assert {path.name for path in (tmp_path / "map").iterdir()} == {"map.svg", "map.pdf", "map.html", "map.json"}
    said = haltere(*arguments, "--json").stdout
    assert json.loads(said) == json.loads((tmp_path / "map" / "map.json").read_text())
    beside = haltere(*arguments, "--rate", "5Mbit/s")
    assert beside.returncode == 2 and "--rate" in beside.stderr
    mixed = haltere(*arguments, "--experiment", "pairs")
    assert mixed.returncode != 0 and "flows of several contenders" in mixed.stderr


def test_quinns_cubic_is_ours_with_its_rule_where_reno_would_have_the_larger_window():
    """The answer of docs/how-to/explain.md: under loss the two part in that rule, and in hardly anything else."""
    conditions = {"fidelity": "stack", "loss": "5%", "size": "1MB", "replications": 8}
    same = haltere.explain("quic@quinn/cubic", "quic@quinn/cubic+haltere-hystart+reno-friendly=quinn", **conditions)
    assert abs(same.whole.interval.value) < 0.05
    other = haltere.explain("quic@quinn/cubic", "quic@model/cubic", **conditions)
    assert other.ranked[0][0].name == "reno-friendly"
    assert effect(other, "reno-friendly") > 0.2
    assert other.ranked[0][1].real


def test_a_difference_that_is_not_shown_is_not_called_one(planted: Explanation) -> None:
    unclear = Effect((-0.2, 0.0, 0.23), Interval(0.01, -0.2, 0.22, 3, 0.95, "t"), 0.9)
    found = replace(planted, whole=unclear)
    assert "are not shown to differ in completion time (×1.010 [" in found.answer and " has " not in found.answer
    shown = html(found, waterfall(found))
    assert "<h1>" in shown and "differs from" not in shown
    # A column of dashes would stand for the shares of a difference that is not there.
    assert ">share<" not in shown and ">–<" not in shown
    assert ">share<" in html(planted, waterfall(planted))
    assert 'data-label="factor"' in shown
