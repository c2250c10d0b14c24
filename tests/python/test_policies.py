"""Trained policies as contenders: they do what they do in their environment, and fail with a reason."""

from __future__ import annotations

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from gymnasium import spaces
from onnx import TensorProto, helper

import haltere
from conftest import Haltere
from haltere import core, gym
from haltere.errors import ArgumentError, InputError
from haltere.plugins import policies, store
from networks import model


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(store.ALLOW, raising=False)
    monkeypatch.setattr(store, "_asked", set())
    monkeypatch.chdir(tmp_path)


def said(run: CompletedProcess[str], code: int = 0) -> str:
    """The output of a command, which must have ended with this code."""
    assert run.returncode == code, run.stderr
    return " ".join((run.stdout + run.stderr).split())


def scenario(contender: str, size: str = "1MB") -> haltere.Scenario:
    delays = {"down_delay": "20ms", "up_delay": "20ms"}
    return haltere.Scenario.point_to_point(
        [contender], rate="6Mbit/s", **delays, queue="40p", loss="0.5%", app="raw", size=size
    )


def stamped(environment: Any, **network: Any) -> Path:
    """The file of a policy for an environment."""
    file = Path("policy.onnx")
    onnx.save(model(environment.observation_space.shape[0], **network), file)
    gym.stamp(file, environment)
    return file


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "aurora": ("tcp/cubic", {}, {}),
    "aurora over quic": ("quic/cubic", {"delay": "12ms"}, {"shape": ["batch", 10, 3]}),
    "orca": (
        "tcp/reno",
        {"observation": "orca", "action": "orca", "interval": "20ms"},
        {"scale": 0.3, "shape": [7]},
    ),
    "window": (
        "tcp/cubic",
        {"observation": list(gym.FIELDS), "history": 2, "action": "window", "interval": "0.5rtt"},
        {"scale": 15.0, "shift": 20.0, "float_type": TensorProto.DOUBLE},
    ),
    "rate": (
        "quic/bbr",
        {"observation": ["rtt_slope", "acks"], "action": "rate", "rates": ("1Mbit/s", "9Mbit/s"), "interval": "30ms"},
        {"scale": 3e6, "shift": 4e6, "shape": [1, 2]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_policy_does_as_a_contender_what_it_does_in_its_environment(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The observations, to the bit, and the time at which the transfer is done are those of the environment."""
    contender, options, network = CASES[case]
    environment = gym.Environment(scenario(contender), steps=None, **options)
    file = stamped(environment, **network)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    shape = [1 if dim == "batch" else dim for dim in given.shape]
    dtype = np.float64 if given.type == "tensor(double)" else np.float32
    observation, _ = environment.reset(seed=3)
    there, terminated = [], False
    while not terminated:
        action = session.run(["action"], {given.name: observation.astype(dtype).reshape(shape)})[0].reshape(1)
        there.append((observation.tobytes(), float(action[0])))
        observation, _, terminated, _, info = environment.step(action)

    here: list[tuple[bytes, float]] = []
    made = policies._function

    def watched(*arguments: Any) -> Any:
        inputs, decide = made(*arguments)

        def noting(numbers: bytearray) -> float:
            here.append((bytes(numbers), decide(numbers)))
            return here[-1][1]

        return inputs, noting

    monkeypatch.setattr(policies, "_function", watched)
    # A loaded file stays loaded under its name, which another test may have used.
    shutil.copy(file, f"watched-{case}.onnx")
    run = haltere.run(scenario(f"{contender.split('/')[0]}/./watched-{case}.onnx"), seed=3)
    assert run.status == "ok"
    assert len(there) > 15 and len({action for _, action in there}) > 4
    assert here == there
    assert run.flows["completion_s"][0] == pytest.approx(info["interval"]["time_s"], abs=1e-9)


def test_a_policy_runs_wherever_code_of_users_runs(haltere: Haltere) -> None:
    file = stamped(gym.Environment(scenario("tcp/cubic")))
    once = ["--size", "300kB", "--rate", "6Mbit/s", "--rtt", "40ms"]
    shown = said(haltere("compare", "tcp/cubic", "tcp/bbr", f"tcp/./{file}", *once, "--replications", "3"))
    assert "tcp/./policy.onnx" in shown and "#" not in shown
    for contender in (f"quic/./{file}", f"mptcp/./{file}", f"mpquic/./{file}"):
        said(haltere("compare", "tcp/cubic", contender, *once, "--replications", "2"))
    said(haltere("compare", "tcp/cubic", f"tcp/./{file}", "--share", "--rate", "6Mbit/s", "--replications", "2"))
    said(haltere("trace", f"tcp/./{file}+initial-window=4", *once, "--out", "trace"))
    assert "./policy.onnx" in said(haltere("shadow", "tcp/cubic", "--control", f"./{file}", *once))
    stack = ["--fidelity", "stack", "--size", "300kB", "--replications", "2"]
    said(haltere("compare", "quic@quinn/cubic", f"quic@quinn/./{file}+haltere", *stack))
    refused = said(haltere("compare", "tcp/cubic", f"tcp/./{file}+gain=2", *once), 2)
    assert 'has the unknown switch "gain"' in refused
    refused = said(haltere("compare", "tcp/cubic", f"tcp/./{file}-pacing", *once), 2)
    assert "but ./policy.onnx works by a pacing rate" in refused


def test_equal_seeds_give_equal_bytes_by_several_threads_too() -> None:
    stamped(gym.Environment(scenario("tcp/cubic")))
    concrete = scenario("tcp/./policy.onnx").concrete()

    def results(threads: int) -> list[str]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda replication: core.run(concrete, 1, replication), range(6)))

    assert results(1) == results(3) and len(set(results(1))) == 6


def test_a_study_runs_a_policy_only_where_that_is_allowed(haltere: Haltere, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    stamped(gym.Environment(scenario("tcp/cubic"))).rename(folder / "policy.onnx")
    (folder / "study.toml").write_text("""
[study]
name = "own"
title = "A policy beside CUBIC"
question = "Is it quicker?"
seed = 1
replications = 2
[experiments.base]
factors.kind = ["tcp/cubic", "tcp/./policy.onnx"]
scenario.topology = { kind = "point-to-point", link = { rate = "9Mbit/s", delay = "5ms" } }
[[experiments.base.scenario.flows]]
contender = "{kind}"
size = "100kB"
""")
    refused = said(haltere("run", str(folder), "--out", "out"), 2)
    assert "names the trained policy policy.onnx" in refused and "--allow-code" in refused
    said(haltere("--allow-code", "run", str(folder), "--out", "out"))


def test_the_metadata_say_how_a_policy_is_used_and_others_stay() -> None:
    file = Path("policy.onnx")
    plain = model(6)
    helper.set_model_props(plain, {"author": "somebody", "haltere.interval": "never", "haltere.colour": "red"})
    onnx.save(plain, file)
    options: dict[str, Any] = {"observation": ["acks", "mean_rtt_s"], "history": 3, "interval": "25ms", "delay": "1ms"}
    gym.stamp(file, gym.VectorEnvironment(scenario("tcp/cubic"), num_envs=2, **options))
    assert {one.key: one.value for one in onnx.load(file).metadata_props} == {
        "author": "somebody",
        "haltere.observation": "acks, mean_rtt_s",
        "haltere.history": "3",
        "haltere.action": "aurora",
        "haltere.rates": "480kbit/s, 12Mbit/s",
        "haltere.interval": "25ms",
        "haltere.delay": "1ms",
        "haltere.control": "cubic",
    }


def test_weights_in_a_file_of_their_own_are_put_into_the_model() -> None:
    environment = gym.Environment(scenario("tcp/cubic"))
    onnx.save(model(30), "policy.onnx", save_as_external_data=True, location="weights.data", size_threshold=0)
    with pytest.raises(InputError, match=r"must go through haltere\.gym\.stamp"):
        haltere.run(scenario("tcp/./policy.onnx"))
    gym.stamp("policy.onnx", environment)
    Path("weights.data").unlink()
    assert haltere.run(scenario("tcp/./policy.onnx")).status == "ok"


def _without(key: str) -> onnx.ModelProto:
    environment = gym.Environment(scenario("tcp/cubic"))
    made = onnx.load(stamped(environment))
    kept = {one.key: one.value for one in made.metadata_props if one.key != f"haltere.{key}"}
    del made.metadata_props[:]
    helper.set_model_props(made, kept)
    return made


def _with(**metadata: str) -> onnx.ModelProto:
    (first,) = list(metadata)[:1]
    made = _without(first)
    others = {one.key: one.value for one in made.metadata_props}
    helper.set_model_props(made, {**others, **{f"haltere.{key}": value for key, value in metadata.items()}})
    return made


REFUSED: dict[str, Any] = {
    'does not say how it is used: its metadata have no haltere.observation; haltere.gym.stamp("policy.onnx"': (
        lambda: model(30)
    ),
    "has no metadata haltere.interval (the time between two decisions": lambda: _without("interval"),
    "unknown metadata haltere.intervall: did you mean haltere.interval?": lambda: _with(intervall="1rtt"),
    "haltere.history = ten: give a whole number": lambda: _with(history="ten"),
    "haltere.rates = 1Mbit/s: give two": lambda: _with(rates="1Mbit/s"),
    'its metadata haltere.action: "jump" is not known: there are aurora, orca': lambda: _with(action="jump"),
    "its metadata haltere.observation: ": lambda: _with(observation="acks, speed"),
    "its metadata haltere.interval: ": lambda: _with(interval="0rtt"),
    'haltere.control names the congestion control "cubicc"': lambda: _with(control="cubicc"),
    "haltere.control: bbr has no window that could be adjusted": lambda: _with(control="bbr", action="orca"),
    "takes 30 numbers, and its observation has 27, those of 9 intervals": lambda: _with(history="9"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_model_that_is_no_policy_is_refused_with_what_is_wrong(wrong: str) -> None:
    made = REFUSED[wrong]()
    onnx.save(made, "policy.onnx")
    with pytest.raises(InputError) as error:
        haltere.run(scenario("tcp/./policy.onnx"))
    assert wrong in str(error.value) and "#" not in str(error.value), error.value


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "two inputs": ({"beside": ["state"]}, "has the inputs (observation: tensor(float), state: tensor(float))"),
    "two numbers": ({"actions": 2}, "it must be the action, one number"),
    "open shapes": ({"shape": ["batch", "a", "b"]}, "only the first and one more may be open"),
    "another width": ({"shape": [1, 28]}, "takes 28 numbers, and an observation of this environment has 30"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_model_of_other_shapes_is_not_stamped(case: str) -> None:
    network, wrong = SHAPES[case]
    onnx.save(model(28 if "another" in case else 30, **network), "policy.onnx")
    before = Path("policy.onnx").read_bytes()
    with pytest.raises(ArgumentError) as error:
        gym.stamp("policy.onnx", gym.Environment(scenario("tcp/cubic")))
    assert wrong in str(error.value), error.value
    assert Path("policy.onnx").read_bytes() == before


def test_what_cannot_be_stamped_is_refused() -> None:
    environment = gym.Environment(scenario("tcp/cubic"))
    with pytest.raises(ArgumentError, match="cannot be read"):
        gym.stamp("none.onnx", environment)
    Path("bad.onnx").write_bytes(b"no model")
    with pytest.raises(ArgumentError, match="is no ONNX model"):
        gym.stamp("bad.onnx", environment)
    with pytest.raises(InputError, match="cannot be loaded"):
        haltere.run(scenario("tcp/./bad.onnx"))
    onnx.save(model(30), "policy.onnx")
    with pytest.raises(ArgumentError, match=r"is no environment of haltere\.gym"):
        gym.stamp("policy.onnx", "tcp/cubic")  # type: ignore[arg-type]
    own = gym.Environment(
        scenario("tcp/cubic"),
        observation=lambda interval: interval["acks"][:, None],
        observation_space=spaces.Box(0, np.inf, (1,), np.float32),
    )
    with pytest.raises(ArgumentError, match="an observation that is a function"):
        gym.stamp("policy.onnx", own)
    both = haltere.Scenario.point_to_point(
        ["tcp/cubic", "tcp/reno"], rate="6Mbit/s", down_delay="9ms", up_delay="9ms", app="raw", duration="60s"
    )
    several = gym.parallel(both, agents=[0, 1], action="orca")
    with pytest.raises(ArgumentError, match="change the windows of cubic, reno"):
        gym.stamp("policy.onnx", several)
    gym.stamp("policy.onnx", gym.parallel(both, agents=[0, 1]))


def test_an_action_that_is_no_number_ends_its_run_and_not_the_campaign(haltere: Haltere) -> None:
    environment = gym.Environment(scenario("tcp/cubic"))
    # Sin of an infinity is NaN: the model divides by what it finds.
    stamped(environment, last="Div", scale=0.0)
    shown = said(haltere("compare", "tcp/cubic", "tcp/./policy.onnx", "--size", "1MB", "--replications", "2"), 3)
    assert "2 of 2 failed: ./policy.onnx: at 0." in shown and "is no number (NaN)" in shown
    assert "only tcp/cubic completed" in shown


def test_an_action_of_many_numbers_ends_its_run() -> None:
    """Its shape is known only when it is computed."""
    onnx.save(model(30, actions=2, answer=["batch", "actions"], open=True), "policy.onnx")
    gym.stamp("policy.onnx", gym.Environment(scenario("tcp/cubic")))
    parsed = scenario("tcp/./policy.onnx")
    found = json.loads(core.run(parsed.concrete(), 1, 0))
    assert found["status"] == "failed" and "its first output has the shape (1, 2)" in found["error"]


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stamped(gym.Environment(scenario("tcp/cubic")), seed=7)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"onnxruntime is not installed: pip install 'haltere\[onnx\]'"):
        haltere.run(scenario("tcp/./policy.onnx"))
