"""Environments for agents that learn congestion control: their interfaces, what they promise, and what they refuse."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import haltere
from haltere import gym
from haltere.errors import HaltereError, InputError

SPACE = """
[study]
name = "space"
seed = 3
replications = 1

[experiments.links]
design = "space-filling"
sampling = "sobol"
points = 8

[experiments.links.factors]
rate = { from = "1.2Mbit/s", to = "6Mbit/s", scale = "linear" }
delay = { from = "25ms", to = "100ms", scale = "linear" }
loss = { from = "0%", to = "5%", scale = "linear" }

[experiments.links.scenario]
duration = "3600s"

[experiments.links.scenario.topology]
kind = "point-to-point"

[experiments.links.scenario.topology.link]
rate = "{rate}"
queue = "100p"
down = { delay = "{delay}", loss = "{loss}" }
up = { delay = "{delay}" }

[[experiments.links.scenario.flows]]
contender = "tcp/cubic"
app = "raw"
"""


def scenario(*contenders: str, size: str | None = None) -> haltere.Scenario:
    return haltere.Scenario.point_to_point(
        contenders or ("tcp/cubic",),
        rate="4Mbit/s",
        down_delay="20ms",
        up_delay="20ms",
        queue="50p",
        app="raw",
        size=size,
        duration="600s",
    )


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gym")
    file = folder / "space.toml"
    file.write_text(SPACE)
    return file


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation": "orca", "reward": "orca", "action": "orca", "interval": "20ms"},
        {"observation": ["delivery_rate_bps", "mean_rtt_s"], "history": 3, "action": "window"},
        {"observation": ["rtt_slope"], "action": "rate", "delay": "15ms", "interval": "50ms"},
    ],
    ids=["aurora", "orca", "window", "rate"],
)
def test_environments_keep_the_interface_of_gymnasium(space: Path, options: dict[str, Any]) -> None:
    environment = gym.Environment(space, **options)
    with warnings.catch_warnings():
        # The checker warns of bounds that are infinite, of actions that are not between -1 and 1, and of no spec.
        warnings.simplefilter("ignore")
        check_env(environment, skip_render_check=True)
    observation, info = environment.reset(seed=1)
    assert environment.observation_space.contains(observation)
    assert list(info["interval"]) == list(gym.FIELDS)
    assert set(info["levels"]) == {"rate", "delay", "loss"}


def course(environment: gym.Environment, seed: int, steps: int) -> list[tuple[Any, ...]]:
    told: list[tuple[Any, ...]] = [tuple(environment.reset(seed=seed)[0])]
    dice = np.random.default_rng(seed)
    over = False
    for _ in range(steps):
        action = dice.normal(size=1) * 4
        if over:
            told.append((tuple(environment.reset()[0]), 0.0, False, False))
            over = False
            continue
        observation, reward, terminated, truncated, _ = environment.step(action)
        told.append((tuple(observation), reward, terminated, truncated))
        over = terminated or truncated
    return told


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (5, 1), (5, 3)])
def test_a_vector_environment_returns_what_single_ones_with_its_seeds_return(
    space: Path, count: int, threads: int
) -> None:
    environments = gym.VectorEnvironment(space, num_envs=count, threads=threads, steps=10)
    single = gym.Environment(space, steps=10)
    observations, _ = environments.reset(seed=11)
    dice = [np.random.default_rng(11 + i) for i in range(count)]
    told = [[tuple(observation)] for observation in observations]
    for _ in range(25):
        actions = np.array([own.normal(size=1) * 4 for own in dice])
        observations, rewards, terminated, truncated, _ = environments.step(actions)
        for i in range(count):
            told[i].append((tuple(observations[i]), rewards[i], terminated[i], truncated[i]))
    for i in range(count):
        assert told[i] == course(single, 11 + i, 25)


def test_the_modes_of_autoreset_are_those_of_gymnasium(space: Path) -> None:
    def ends(mode: AutoresetMode) -> tuple[gym.VectorEnvironment, list[Any]]:
        environments = gym.VectorEnvironment(space, num_envs=2, steps=3, autoreset=mode)
        assert environments.metadata["autoreset_mode"] is mode
        environments.reset(seed=5)
        return environments, [environments.step(np.zeros((2, 1))) for _ in range(3)]

    environments, told = ends(AutoresetMode.NEXT_STEP)
    assert [step[3].tolist() for step in told] == [[False, False], [False, False], [True, True]]
    first, rewards, _, truncated, _ = environments.step(np.zeros((2, 1)))
    neutral = np.tile(np.array([0, 1, 1], np.float32), 10)
    assert (first == neutral).all() and not rewards.any() and not truncated.any()
    _, same = ends(AutoresetMode.SAME_STEP)
    observations, rewards, _, truncated, info = same[2]
    assert truncated.all() and (observations == neutral).all() and info["_final_obs"].all()
    assert (np.stack(info["final_obs"]) == told[2][0]).all() and (rewards == told[2][1]).all()
    environments, _ = ends(AutoresetMode.DISABLED)
    with pytest.raises(HaltereError, match="call reset before step"):
        environments.step(np.zeros((2, 1)))
    mask = np.array([False, True])
    before = environments.reset(options={"reset_mask": mask})[0]
    assert (before[1] == neutral).all() and (before[0] == told[2][0][0]).all()


def test_resets_draw_treatments_of_the_study_by_their_seed(space: Path) -> None:
    environment = gym.Environment(haltere.Study.load(space))

    def drawn(seed: int) -> list[int]:
        first = environment.reset(seed=seed)[1]["scenario"]
        return [first, *(environment.reset()[1]["scenario"] for _ in range(9))]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 3


def test_own_observations_and_rewards_are_functions_of_the_interval() -> None:
    own = spaces.Box(0, np.inf, (2,), np.float32)
    options: Any = {
        "observation": lambda interval: np.stack([interval["acks"], interval["mean_rtt_s"]], axis=-1),
        "observation_space": own,
        "reward": lambda interval: interval["delivery_rate_bps"] / 1e6 - interval["loss_ratio"],
    }
    environment = gym.Environment(scenario(), **options)
    environment.reset(seed=1)
    for _ in range(3):
        observation, reward, *_, info = environment.step(np.zeros(1))
    interval = info["interval"]
    assert environment.observation_space is own
    assert observation == pytest.approx([interval["acks"], interval["mean_rtt_s"]])
    assert reward == pytest.approx(interval["delivery_rate_bps"] / 1e6 - interval["loss_ratio"]) and reward > 0
    environments = gym.VectorEnvironment(scenario(), num_envs=3, **options)
    environments.reset(seed=1)
    for _ in range(3):
        observations, rewards, *_ = environments.step(np.zeros((3, 1)))
    assert observations[0] == pytest.approx(observation) and rewards[0] == pytest.approx(reward)


def test_auroras_reward_is_that_of_the_paper() -> None:
    environment = gym.Environment(scenario())
    environment.reset(seed=1)
    for _ in range(20):
        _, reward, *_, info = environment.step(np.array([4.0]))
    interval = info["interval"]
    packets = interval["delivery_rate_bps"] / (8 * interval["packet_bytes"])
    wanted = 10 * packets - 1000 * interval["mean_rtt_s"] - 2000 * interval["loss_ratio"]
    assert reward == pytest.approx(wanted) and packets > 100


def test_an_agent_that_does_nothing_to_cubic_leaves_the_run_as_it_is_without_one() -> None:
    environment = gym.Environment(scenario(size="1MB"), action="orca", interval="20ms", steps=None)
    environment.reset(seed=1)
    terminated = False
    while not terminated:
        *_, terminated, _, info = environment.step(np.zeros(1))
    alone = haltere.run(scenario(size="1MB"), seed=1)
    assert info["interval"]["time_s"] == pytest.approx(alone.flows["completion_s"][0], abs=1e-9)


def test_several_agents_keep_the_interface_of_pettingzoo() -> None:
    from pettingzoo.test import parallel_api_test

    environment = gym.parallel(scenario("tcp/cubic", "tcp/cubic"), steps=50, interval="50ms")
    parallel_api_test(environment, num_cycles=120)
    environment.reset(seed=4)
    assert environment.agents == ["flow_0", "flow_1"]
    for _ in range(40):
        actions = {"flow_0": np.array([2.0]), "flow_1": np.array([-2.0])}
        observations, rewards, *_ = environment.step(actions)
    assert rewards["flow_0"] > rewards["flow_1"]
    assert environment.observation_space("flow_0").contains(observations["flow_0"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"observation": "pixels"}, ["observation", "aurora, orca"]),
        ({"observation": ["speed"]}, ["observation", "delivery_rate_bps"]),
        ({"observation": lambda interval: interval["acks"]}, ["observation", "observation_space"]),
        ({"reward": "money"}, ["reward", "aurora and orca"]),
        ({"action": "jump"}, ["action", "aurora, orca, rate, window"]),
        ({"interval": "often"}, ["interval", "50ms"]),
        ({"interval": "0rtt"}, ["interval", "positive"]),
        ({"delay": "later"}, ["delay", "50ms"]),
        ({"rates": ("2Mbit/s", "1Mbit/s")}, ["rates", "the smaller one first"]),
        ({"rates": ("1Mbit/s", "2Mbit/s")}, ["topology", "give other rates"]),
        ({"agents": [3]}, ["agents", "there is no flow 3"]),
        ({"steps": 0}, ["steps", "from 1"]),
        ({"steps": "many"}, ["steps", "from 1"]),
        ({"agents": 0}, ["agents", "(0, 1)"]),
        ({"rates": "1Mbit/s"}, ["rates", "12Mbit/s"]),
        ({"start": (1.5, 0.3)}, ["start", "the smaller one first"]),
        ({"interval": 20}, ["interval", "20ms"]),
        ({"history": 0}, ["history", "from 1"]),
        ({"histroy": 3}, ["histroy", "history"]),
    ],
)
def test_what_cannot_be_is_refused_and_named(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        gym.Environment(scenario(), **options)
    assert all(word in str(refused.value) for word in words), str(refused.value)


@pytest.mark.parametrize(("seed", "action"), [(-1, [0.0]), (2**64, [0.0]), (1, "fast"), (1, [np.nan]), (1, [1.0, 2.0])])
def test_seeds_and_actions_that_are_none_are_refused(seed: int, action: Any) -> None:
    environments = gym.VectorEnvironment(scenario(), num_envs=1)
    with pytest.raises(HaltereError, match=r"seed|action"):
        environments.reset(seed=[seed])
        environments.step(action)


def test_a_treatment_that_has_no_agent_is_named(space: Path) -> None:
    study = space.read_text().replace("tcp/cubic", "tcp/bbr")
    with pytest.raises(InputError, match=r"no window that an agent can adjust(.|\n)*in the treatment .*rate"):
        gym.Environment(haltere.Study.parse(study), action="orca")
