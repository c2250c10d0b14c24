"""`haltere attack`: traces keep to their bounds and run, what is planted is found and named, and chance is not."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Haltere
from haltere import Scenario, core, fidelity, run
from haltere.attack import Answer, Attack, Base, Plan, Rivals, attack, files
from haltere.attack.arena import Arena
from haltere.attack.drawing import Draw, stream
from haltere.attack.events import (
    IN_A_ROW,
    KINDS,
    Delay,
    Event,
    Jitter,
    Limits,
    Load,
    Loss,
    Outage,
    Rate,
    Reordering,
    read,
    within,
    written,
)
from haltere.attack.harms import BESIDE, HARMS
from haltere.attack.judging import FALSE_ALARMS, beyond, judge
from haltere.attack.replay import replay
from haltere.attack.scenario import document, on_hosts
from haltere.attack.search import Scored, smaller
from haltere.errors import InputError
from rigs import needs_kernel

CUBIC = "tcp/cubic"
BASE = Base(seconds=6)
SLOW_TIMER = "tcp/cubic+rto-min=2s"
"""A contender with a known fault: its retransmission timeout is at least ten times that of CUBIC."""
EACH: Sequence[Event] = (
    Rate(1000, 500, 30),
    Delay(1000, 2000, 80, "up"),
    Jitter(0, 3000, 30, 60),
    Reordering(2000, 1000, 20, 50),
    Outage(3000, 300, "down"),
    Loss(500, 5, 7),
    Load(1000, 3000, 200, 50, 150),
)


def arena(harm: str, contender: str, *, against: str = CUBIC, seed: int = 7, apart: int = 0) -> Arena:
    """Return an arena on the short path."""
    rivals = replace(Rivals.of(contender, against, BASE), apart=apart)
    return Arena(rivals, HARMS[harm], seed, fidelity.executor("model", 2))


def result_of(*events: Event, contender: str = CUBIC) -> dict[str, Any]:
    """Return the result of a run under a trace."""
    found: dict[str, Any] = json.loads(core.run(core.parse(document(BASE, events, contender)), 1, 0))
    assert found["status"] == "ok"
    return found


def test_every_trace_that_is_drawn_keeps_to_the_bounds() -> None:
    limits = Limits(events=5, cross=0.2)
    draw = Draw(BASE, tuple(KINDS), limits)
    dice = stream(1, "bounds")
    traces = [draw.anew(dice) for _ in range(60)]
    for _ in range(600):
        mother, father = (traces[int(dice.integers(len(traces)))] for _ in range(2))
        traces.append(draw.child(mother, father, dice))
    assert {event.kind for trace in traces for event in trace} == set(KINDS)
    for trace in traces:
        assert 1 <= len(trace) <= limits.events
        for event in trace:
            for name, bound in event.bounds.items():
                assert bound.least <= getattr(event, name) <= bound.most, event
            if not isinstance(event, Loss):
                assert event.at_ms + event.lasts_ms <= BASE.ends_ms
        numbers = sorted(number for event in trace if isinstance(event, Loss) for number in event.numbers)
        assert len(numbers) <= limits.loss * BASE.packets
        runs = [len(list(group)) for _, group in itertools.groupby(enumerate(sorted(set(numbers))), _position)]
        assert max(runs, default=0) <= IN_A_ROW
        assert sum(event.lasts_ms for event in trace if isinstance(event, Outage)) <= limits.outage * BASE.ends_ms
        sent = sum(event.share * event.lasts_ms for event in trace if isinstance(event, Load))
        assert sent <= limits.cross * BASE.ends_ms + 1e-6


def _position(numbered: tuple[int, int]) -> int:
    """Return one number for all that follow each other."""
    return numbered[1] - numbered[0]


def test_a_trace_is_plain_data_and_back() -> None:
    trace = within(EACH, BASE, Limits(events=10))
    assert len(trace) == len(EACH)
    assert read(json.loads(json.dumps(written(trace)))) == trace
    for wrong, said in (({"kind": "flood"}, "is no kind of event"), ({"kind": "loss", "first": 1}, "is no such event")):
        with pytest.raises(InputError, match=said):
            read([wrong])


@pytest.mark.parametrize("event", EACH, ids=lambda event: str(event.kind))
def test_each_kind_of_event_does_what_it_says(event: Event) -> None:
    calm, found = result_of(), result_of(event)
    assert found["flows"] != calm["flows"]
    assert event.words
    (down,) = (link for link in found["links"] if link["direction"] == "down")
    flow, quiet = found["flows"][0], calm["flows"][0]
    shown = {
        "rate": flow["goodput_bps"] < 0.97 * quiet["goodput_bps"],
        "delay": flow["mean_rtt_s"] > quiet["mean_rtt_s"] + 0.01,
        "jitter": flow["rtt_p99_s"] > quiet["rtt_p99_s"] + 0.015,
        "reordering": flow["reordered_ratio"] > quiet["reordered_ratio"],
        "outage": down["dropped_outage"] > 0,
        "loss": down["dropped_loss"] == 5,
        "load": found.get("loads") and found["loads"][0]["sent_packets"] > 100,
    }
    assert shown[event.kind]


def test_overlapping_events_add_up_within_the_bounds_of_one() -> None:
    link = document(BASE, (Delay(0, 2000, 250), Delay(1000, 2000, 250), Rate(0, 2000, 20), Rate(500, 500, 20)), CUBIC)
    down = link["topology"]["link"]["down"]
    assert down["delay"]["at"] == ["0ms", "1000ms", "2000ms", "3000ms"]
    assert down["delay"]["value"] == ["270000000ns", "320000000ns", "270000000ns", "20000000ns"]
    assert down["rate"]["value"] == ["2000000bit/s", "1000000bit/s", "2000000bit/s", "10000000bit/s"]


def test_of_two_flows_one_alone_has_the_events() -> None:
    made = document(BASE, (Delay(0, 6000, 100),), CUBIC, BESIDE)
    result = run(Scenario(made)).raise_if_failed()
    rtts = result.flows["min_rtt_s"].to_list()
    assert rtts[0] < 0.05 and rtts[1] > 0.14


def test_a_flow_that_stands_still_to_the_end_is_a_stall() -> None:
    """No read follows the last one, so that the longest time between two reads does not tell."""
    stall = HARMS["stall"]
    result = {"status": "ok", "flows": [{"longest_gap_s": 0.08, "bytes": 0}]}
    assert stall.of(result, BASE) == pytest.approx(2.0)
    assert stall.of({**result, "flows": [{"longest_gap_s": 0.08, "bytes": 9}]}, BASE) == 0.08


def test_against_itself_with_the_same_dice_nothing_is_hurt() -> None:
    found = attack(CUBIC, base=BASE, plan=Plan(hurt=["stall", "goodput"], evaluations=60, workers=2))
    assert [one.judged for one in found.answers] == [None, None]
    assert found.findings == []


def test_who_is_worse_without_events_too_is_not_hurt_by_them() -> None:
    """A window that is half of what the path takes costs half of the goodput, whatever the trace."""
    small = arena("goodput", "tcp/cubic+receive-window=16KiB+max-receive-window=16KiB")
    calm, hurt = small.evaluate([((), 0), ((Loss(9000, 1, 1),), 0)])
    assert calm is not None and hurt is not None
    assert calm.mine < 0.6 * calm.other and calm.harm == 0
    assert abs(hurt.harm) < 0.02


PLANTED = Plan(hurt=["stall"], only=["outage"], evaluations=120, workers=2)


@pytest.fixture(scope="module")
def attacked() -> Attack:
    """The attack on the contender with the known fault."""
    return attack(SLOW_TIMER, base=BASE, plan=PLANTED)


@pytest.fixture(scope="module")
def planted(attacked: Attack) -> Answer:
    """Its only answer."""
    (answer,) = attacked.answers
    return answer


def test_a_planted_fault_is_found_made_small_and_named(planted: Answer) -> None:
    assert planted.holds
    assert len(planted.events) == 1 and isinstance(planted.events[0], Outage)
    assert planted.judged is not None and planted.judged.interval.value > 1
    assert planted.mechanism is not None
    assert {one.text for one in planted.mechanism.switches} >= {"+rto-min=50ms"}
    explanation = planted.mechanism.explanation
    assert explanation is not None and [part.name for part in explanation.parts] == ["rto-min"]
    said = ". ".join(planted.sentences(Rivals.of(SLOW_TIMER, CUBIC, BASE)))
    assert "rto-min" in said and "longest time without data" in said


def test_the_same_command_gives_the_same_answer_whatever_the_workers(planted: Answer) -> None:
    (again,) = attack(SLOW_TIMER, base=BASE, plan=replace(PLANTED, workers=1)).answers
    assert json.dumps(again.data()) == json.dumps(planted.data())


def test_another_seed_draws_other_traces() -> None:
    draw = Draw(BASE, tuple(KINDS), Limits())
    one, same, other = (draw.anew(stream(seed, "attack stall 0")) for seed in (1, 1, 2))
    assert one == same != other


def test_events_that_do_nothing_are_taken_away() -> None:
    needed, idle = Outage(2000, 300, "down"), Load(5500, 100, 1, 10, 100)
    where = arena("stall", SLOW_TIMER)
    found = Scored((needed, idle), (1.5,))
    made = smaller(where, found, Draw(BASE, tuple(KINDS), Limits()))
    assert len(made.events) == 1 and isinstance(made.events[0], Outage)
    assert made.events[0].lasts_ms <= needed.lasts_ms
    assert made.harm >= 0.8 * found.harm


def test_the_fresh_dice_are_not_those_of_the_search(attacked: Attack) -> None:
    assert len(set(attacked.seeds.values())) == len(attacked.seeds) == 4


@pytest.mark.parametrize("together", [1, 5])
def test_chance_is_seldom_taken_for_harm(together: int) -> None:
    """The harm is exactly the margin, where a false alarm is likeliest."""
    dice = np.random.default_rng(2022)
    margin = HARMS["goodput"].margin
    cases = 1500
    alarms = 0
    for _ in range(cases):
        alarms += beyond((margin + dice.normal(0, 0.2, 12)).tolist(), margin, 1 - FALSE_ALARMS / together)
    assert alarms / cases <= 0.06


def test_what_was_selected_among_chances_is_no_finding() -> None:
    """CUBIC beside CUBIC with dice of its own: the worst of many traces, judged on fresh dice."""
    trace = (Outage(2000, 400, "down"), Loss(900, 10, 3))
    for seed in range(6):
        judged = judge(arena("goodput", CUBIC, seed=seed, apart=1000), trace, together=5)
        assert judged is not None and not judged.interval.exact and not judged.holds


def test_a_mechanism_is_named_only_if_it_takes_half_of_the_harm_away(planted: Answer) -> None:
    found = planted.mechanism
    assert found is not None and found.tried > 40
    assert all(one.share >= 0.5 for one in found.switches)
    assert not {one.text for one in found.switches} & {"+nagle", "+pacing", "-sack-blocks"}
    none = replace(found, switches=(), explanation=None)
    assert "takes half of the harm away" in none.sentences(SLOW_TIMER)[-1]


def test_when_it_is_stopped_what_was_found_is_kept() -> None:
    stop = threading.Event()
    calls = itertools.count()

    def stop_later(what: str, _left: float) -> None:
        if "evaluation" in what and next(calls) == 2:
            stop.set()

    plan = replace(PLANTED, hurt=["stall", "goodput"], evaluations=100_000, stop=stop, on_progress=stop_later)
    found = attack(SLOW_TIMER, base=BASE, plan=plan)
    (answer,) = found.answers
    assert answer.ended == "stopped" and answer.judged is not None and answer.mechanism is None
    assert "It was stopped" in answer.sentences(found.rivals)[-1]


def test_time_ends_a_search_and_the_answer_says_so() -> None:
    plan = replace(PLANTED, evaluations=100_000, minutes=0.02)
    (answer,) = attack(SLOW_TIMER, base=BASE, plan=plan).answers
    assert answer.ended == "time"
    assert any("ended by its time" in sentence for sentence in answer.sentences(Rivals.of(SLOW_TIMER, CUBIC, BASE)))


ARGUMENTS = ("--hurt", "stall", "--only", "outage", "--evaluations", "120", "--seconds", "6", "--workers", "2")


def test_files_hold_the_runs_that_were_judged(haltere: Haltere, tmp_path: Path, planted: Answer) -> None:
    folder = tmp_path / "found"
    folder.mkdir()
    for name in ("attack-2.toml", "attack-plan.txt"):  # of an earlier attack, and of somebody else
        (folder / name).write_text("")
    done = haltere("attack", SLOW_TIMER, *ARGUMENTS, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "1 finding of 1 harm" in done.stdout and "rto-min" in done.stdout
    names = {"attack-plan.txt", "attack-1.toml", "attack-1-against.toml", "attack-1.svg", "attack-1.pdf", "attack.json"}
    assert {path.name for path in folder.iterdir()} == names
    data = json.loads((folder / "attack.json").read_text())
    assert data["answers"] == [planted.data()]
    for name, side in (("attack-1", "contender"), ("attack-1-against", "against")):
        result = run(Scenario.load(folder / f"{name}.toml"), seed=data["seeds"]["fresh"], replication=3)
        assert HARMS["stall"].of(result.data, BASE) == data["answers"][0]["judged"][side][3]
    text = (folder / "attack-1.toml").read_text()
    assert planted.events[0].words in text and "haltere attack" in text


def test_a_file_of_ones_own_is_named_as_seen_from_the_folder(haltere: Haltere, tmp_path: Path) -> None:
    assert haltere("new", "--congestion-control", "mine.py").returncode == 0
    small = ("--hurt", "stall", "--only", "outage", "--evaluations", "24", "--seconds", "3")
    done = haltere("attack", "tcp/./mine.py", "--against", "tcp/cubic+rto-min=2s", *small, "--out", "found")
    assert done.returncode == 0, done.stderr
    rivals = Rivals("tcp/./mine.py#0123456789abcdef", CUBIC, BASE)
    answer = Answer(HARMS["stall"], (Outage(1000, 300),), None, 0, "budget")
    text = files.scenario(Attack(rivals, 1, {"fresh": 1}), answer, rivals.contender, Path("found/attack-1.toml"), "")
    assert 'contender = "tcp/../mine.py"' in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tcp/cubik",), "did you mean"),
        (("tcp/bbr", "--against", "tcp/cubik"), "--against"),
        (("tcp/bbr", "--hurt", "pain"), "--hurt: is no harm"),
        (("tcp/bbr", "--only", "flood"), "--only: is no kind of event"),
        (("tcp/bbr", "--only", "loss", "--hurt", "starvation"), "--only: no such event"),
        (("tcp/bbr", "--rate", "10ms"), "--rate: is not a rate"),
        (("tcp/bbr", "--rtt", "soon"), "--rtt: is not a time"),
        (("tcp/bbr", "--queue", "1bpd"), "--queue"),
        (("tcp/bbr", "--queue", "./mine.py"), "--queue: is code of yours"),
        (("tcp/bbr", "--seconds", "600"), "--seconds: is no length"),
        (("tcp/bbr", "--cross", "0.9"), "--cross: is no such share"),
        (("tcp/bbr", "--events", "0"), "--events"),
        (("tcp/bbr", "--minutes", "0"), "--minutes: is not a time"),
        (("tcp/bbr", "--fidelity", "linux"), "--fidelity: is no simulator"),
        (("tcp/bbr", "--fidelity", "moon"), "--fidelity"),
    ],
)
def test_errors_say_what_would_be_right(haltere: Haltere, arguments: Sequence[str], said: str) -> None:
    done = haltere("attack", *arguments)
    assert done.returncode != 0 and said in done.stderr and "itself went wrong" not in done.stderr


def test_a_trace_for_real_hosts_asks_for_links_that_change() -> None:
    made = on_hosts(document(BASE, EACH[:4], CUBIC))
    assert made["links"] == "haltere" and made["ticks"] == "shared"
    assert Scenario(made).data["topology"]["kind"] == "point-to-point"


@needs_kernel
def test_a_finding_is_replayed_on_a_kernel() -> None:
    """A kernel does not show a stall, so that the goodput is looked at; two runs of each show nothing by themselves."""
    rivals = Rivals.of(SLOW_TIMER, CUBIC, BASE)
    found = replay(rivals, HARMS["stall"], (Outage(2000, 300, "down"),), 1, replications=2, workers=2)
    assert found.harm is HARMS["goodput"] and found.kernel.startswith("Linux ")
    assert len(found.mine) == 2 and max(found.mine) < min(found.other)
    assert not found.holds and "is not shown" in found.sentence()


def test_what_no_kernel_has_is_said() -> None:
    found = replay(Rivals.of("tcp/copa", CUBIC, BASE), HARMS["queue"], (Outage(2000, 300, "down"),), 1)
    assert found.refused is not None and "cannot be replayed" in found.sentence()
    assert found.data()["holds"] is False
