"""Tasks: what an agent sees, decides and is rewarded for, in which scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from haltere import core
from haltere.errors import ArgumentError, HaltereError, as_written
from haltere.scenario import Scenario
from haltere.study import Study

FIELDS: dict[str, str] = core.interval_fields()
"""The numbers of an interval and their meanings. Names end in their units."""

Space = str | Path | Study | Scenario | Mapping[str, Any]
"""The source of the scenarios: a study or its file, of whose treatments each episode draws one; or one scenario."""
Intervals = dict[str, NDArray[np.float64]]
"""The numbers of an interval by their names: arrays with an entry for each environment."""
Own = Callable[[Intervals], NDArray[np.floating[Any]]]
Answer = TypeVar("Answer")

MOST_ENVIRONMENTS = 100_000


class Options(TypedDict, total=False):
    """The options of all environments (`Task`)."""

    agents: Sequence[int]
    observation: str | Sequence[str] | Own
    observation_space: spaces.Box | None
    history: int | None
    reward: str | Own
    action: str
    rates: tuple[str, str]
    start: tuple[float, float] | None
    interval: str
    delay: str
    steps: int | None


def _whole(given: object, least: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and least <= given < 2**31


def _listed(given: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(one, kind) for one in given)


def _two(given: object, kind: type | tuple[type, ...]) -> bool:
    return _listed(given, kind) and len(given) == 2  # type: ignore[arg-type]  # it is a sequence


_TYPES: list[tuple[str, Callable[[Any], bool], str]] = [
    ("agents", lambda given: _listed(given, int) and all(_whole(one, 0) for one in given), "numbers of flows: (0, 1)"),
    ("observation", lambda given: isinstance(given, str) or callable(given) or _listed(given, str), "'aurora'"),
    ("history", lambda given: given is None or _whole(given, 1), "a whole number from 1"),
    ("reward", lambda given: isinstance(given, str) or callable(given), "'aurora'"),
    ("action", lambda given: isinstance(given, str), "'aurora'"),
    ("rates", lambda given: _two(given, str), "('480kbit/s', '12Mbit/s')"),
    ("start", lambda given: given is None or _two(given, (int, float)), "(0.3, 1.5)"),
    ("interval", lambda given: isinstance(given, str), "'1rtt' or '20ms'"),
    ("delay", lambda given: isinstance(given, str), "'5ms'"),
    ("steps", lambda given: given is None or _whole(given, 1), "a whole number from 1, or none"),
]
"""The types of options: a name, whether a value fits, and what would be right."""


@dataclass(frozen=True)
class Task:
    """Observations, decisions and rewards of an agent.

    Args:
        agents: the numbers of the flows for which agents decide, counted from 0.
        observation: `"aurora"`, `"orca"`, a list of names of `FIELDS`, or a function of the numbers of an interval
            (arrays of shape (environments,)) that returns an array of shape (environments, k).
        observation_space: for such a function, the space of its k numbers.
        history: an observation has those of so many last intervals, the oldest first (Aurora's 10, others 1).
        reward: `"aurora"`, `"orca"`, or a function of the numbers of an interval that returns an array of their shape.
        action: `"aurora"` (a factor of the pacing rate), `"orca"` (a factor of the window of the flow's own congestion
            control, which goes on from there), `"rate"` (bit/s) or `"window"` (packets).
        rates: the least and the most pacing rate of the actions `aurora` and `rate`.
        start: for these actions, the rate at which a flow begins: uniformly drawn between so many times the rate of the
            slowest link, as Aurora's simulator does by (0.3, 1.5); by default the initial window per RTT.
        interval: the time from a decision to the next: `"20ms"`, or `"1rtt"` for the mean RTT of the last interval.
        delay: how long it takes until an action has effect.
        steps: after so many an episode is cut off; none for no limit.

    Sources: Aurora is Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control (ICML 2019;
    arXiv:1810.03259); Orca is Abbasloo et al., Classic Meets Modern (SIGCOMM 2020), and its published code.
    """

    agents: Sequence[int] = (0,)
    observation: str | Sequence[str] | Own = "aurora"
    observation_space: spaces.Box | None = None
    history: int | None = None
    reward: str | Own = "aurora"
    action: str = "aurora"
    rates: tuple[str, str] = ("480kbit/s", "12Mbit/s")
    start: tuple[float, float] | None = None
    interval: str = "1rtt"
    delay: str = "0ms"
    steps: int | None = 400

    @classmethod
    def of(cls, options: Options) -> Task:
        """Return the task of these options.

        Raises:
            InputError: if there is no such option.
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise ArgumentError("is no option of an environment", field=name, right=", ".join(known))
        return cls(**options)

    def __post_init__(self) -> None:
        """Refuse what the core cannot see."""
        for name, fits, right in _TYPES:
            given = getattr(self, name)
            if not fits(given):
                raise ArgumentError("is of another type", field=name, given=as_written(given), right=right)
        if callable(self.observation) and not isinstance(self.observation_space, spaces.Box):
            problem = "is a function, and the space of what it returns is not known"
            right = "observation_space=gymnasium.spaces.Box(low, high, (k,))"
            raise ArgumentError(problem, field="observation", right=right)
        if callable(self.observation) and self.history not in (None, 1):
            problem = "belongs to observations that are not functions"
            raise ArgumentError(problem, field="history", given=as_written(self.history), right="leave it out")
        if not callable(self.observation) and self.observation_space is not None:
            raise ArgumentError(
                "belongs to an observation that is a function", field="observation_space", right="leave it out"
            )

    def settings(self) -> dict[str, Any]:
        """Return what the core is told."""
        own = callable(self.observation)
        observation = "aurora" if own else self.observation
        usual = 10 if observation == "aurora" and not own else 1
        return {
            "agents": list(self.agents),
            "observation": observation if isinstance(observation, str) else list(observation),  # type: ignore[arg-type]
            "history": usual if self.history is None else self.history,
            "reward": None if callable(self.reward) else self.reward,
            "action": self.action,
            "rates": list(self.rates),
            "start": self.start,
            "interval": self.interval,
            "delay": self.delay,
            "steps": self.steps,
        }


def treatments(space: Space) -> tuple[list[core.Scenario], list[dict[str, str]]]:
    """Return the scenarios of a space, and the levels of each; a single scenario has none.

    Raises:
        InputError: if it cannot be read, or its scenarios are drawn from measured paths.
    """
    if isinstance(space, str | Path):
        space = Study.load(space)
    if isinstance(space, Mapping):
        space = Scenario(space)
    if isinstance(space, Scenario):
        scenarios, measured = [space.concrete()], space.measured is not None
        levels: list[dict[str, str]] = [{}]
    else:
        found = space.treatments
        scenarios = [treatment.parsed for treatment in found if treatment.parsed is not None]
        levels, measured = [treatment.levels for treatment in found], len(scenarios) < len(found)
    if measured:
        problem = "draws its topology from measured paths, which an environment does not"
        raise ArgumentError(problem, field="scenario", right="a topology that the scenario describes itself")
    return scenarios, levels


class Returned:
    """The answers of all environments to a step or a reset. Arrays have an entry for each environment."""

    def __init__(self, core_returned: tuple[Any, ...], shape: tuple[int, int]) -> None:
        observations, rewards, terminated, truncated, intervals, scenarios, last = core_returned
        self.shape = shape
        self.observations = np.frombuffer(observations, np.float32).reshape(*shape, -1)
        self.rewards = np.frombuffer(rewards, np.float64).reshape(shape)
        self.terminated = np.frombuffer(terminated, np.bool_)
        self.truncated = np.frombuffer(truncated, np.bool_)
        self.numbers = np.frombuffer(intervals, np.float64).reshape(*shape, -1)
        self.scenarios: list[int] = scenarios
        self.last = {at: np.frombuffer(numbers, np.float32).reshape(shape[1], -1) for at, numbers in last}

    def intervals(self, agent: int = 0) -> Intervals:
        """Return the numbers of the last interval of an agent in all environments."""
        return dict(zip(FIELDS, self.numbers[:, agent].T, strict=True))


class Runs:
    """Environments of the core, with the errors of this package."""

    def __init__(self, space: Space, task: Task, **of_batch: Any) -> None:
        self.task = task
        scenarios, self.levels = treatments(space)
        self.shape = (int(of_batch["count"]), len(task.agents))
        settings = {**task.settings(), **of_batch}
        try:
            self._core = core.environments(scenarios, settings)
        except core.ScenarioProblem as problem:
            path = problem.path or "scenario"
            given = as_written(settings[path]) if path in settings else None
            notes: tuple[str, ...] = ()
            if path.startswith("scenarios["):
                number, _, path = path.removeprefix("scenarios[").partition("].")
                levels = self.levels[int(number)]
                notes = (f"in the treatment {as_written(levels)}",) if levels else ()
            raise ArgumentError(problem.message, field=path or "scenario", given=given, notes=notes) from None

    @property
    def controls(self) -> list[str]:
        """The congestion controls in whose place agents decide, by their names in contenders."""
        return self._core.controls

    def observation_space(self) -> spaces.Box:
        """Return the space of an agent's observation."""
        if self.task.observation_space is not None:
            return self.task.observation_space
        bounds = np.array(self._core.observation_bounds, np.float32)
        low, high = (np.tile(bounds[:, side], self._core.history) for side in (0, 1))
        return spaces.Box(low, high, dtype=np.float32)

    def action_space(self) -> spaces.Box:
        """Return the space of an agent's action: one number."""
        low, high = self._core.action_bounds
        return spaces.Box(np.float32(low), np.float32(high), (1,), np.float32)

    def reset(self, seeds: Sequence[Any], which: list[bool]) -> Returned:
        """Begin episodes: the first one of a seed that is given, or the next one."""
        for seed in seeds:
            if seed is not None and not (isinstance(seed, int | np.integer) and 0 <= seed < 2**64):
                right = "a whole number from 0 to 2**64 - 1"
                raise ArgumentError("is no seed", field="seed", given=as_written(seed), right=right)
        return self._told(lambda: self._core.reset(list(seeds), which))

    def step(self, actions: Any) -> Returned:
        """Go on for an interval. There is an action for each agent of each environment."""
        try:
            numbers = np.asarray(actions, np.float64)
        except (TypeError, ValueError):
            raise ArgumentError("is no array of numbers", field="action", given=as_written(actions)) from None
        return self._told(lambda: self._core.step(numbers.tobytes()))

    def _told(self, call: Callable[[], tuple[Any, ...]]) -> Returned:
        try:
            return self._finished(Returned(call(), self.shape))
        except RuntimeError as error:
            raise HaltereError(str(error)) from None

    def _finished(self, returned: Returned) -> Returned:
        """Put in what functions of the user make."""
        own, reward = self.task.observation, self.task.reward
        count, agents = self.shape
        if callable(reward):
            for agent in range(agents):
                made = np.asarray(reward(returned.intervals(agent)), np.float64)
                returned.rewards[:, agent] = _shaped(made, (count,), "reward")
        if callable(own) and self.task.observation_space is not None:
            (width,) = self.task.observation_space.shape
            dtype = self.task.observation_space.dtype
            each = (np.asarray(own(returned.intervals(agent)), dtype) for agent in range(agents))
            returned.observations = np.stack([_shaped(one, (count, width), "observation") for one in each], axis=1)
        return returned


def _shaped(made: NDArray[Any], shape: tuple[int, ...], field: str) -> NDArray[Any]:
    if made.shape != shape:
        problem = f"returned an array of the shape {made.shape} for {shape[0]} environments"
        raise ArgumentError(problem, field=field, right=f"one of the shape {shape}")
    return made
