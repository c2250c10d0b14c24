"""An environment of Gymnasium: one agent, one run at a time."""

from __future__ import annotations

from typing import Any, Unpack, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from haltere.gym.task import Options, Returned, Runs, Space, Task

Array = NDArray[np.floating[Any]]


class Environment(gymnasium.Env[Array, Array]):
    """A flow for whose congestion control an agent decides.

    An episode is a run. Episode e after `reset(seed=s)` is replication e of the run with seed s, in a scenario that is
    drawn by both; `reset()` goes on to the next one. `info` has the numbers of the interval (`interval`), the number of
    the scenario (`scenario`) and its levels (`levels`).

    Args:
        scenario: a study or its file, of whose treatments each episode draws one; a scenario, its file or its tables.
        options: what the agent sees, decides and is rewarded for (`haltere.gym.Task`).

    Raises:
        InputError: if something cannot be used; the error names it.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, scenario: Space, **options: Unpack[Options]) -> None:
        task = Task.of(options)
        # Gymnasium draws a seed from the system where none is given; a reset with a seed sets another one.
        batch = {"count": 1, "threads": 1, "autoreset": "disabled", "seed": int(self.np_random.integers(2**62))}
        self._runs = Runs(scenario, task, **batch)
        self.observation_space: spaces.Space[Array] = cast("spaces.Space[Array]", self._runs.observation_space())
        self.action_space: spaces.Space[Array] = cast("spaces.Space[Array]", self._runs.action_space())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:  # noqa: ARG002
        """Begin the first episode of a seed, or the next one."""
        super().reset(seed=seed)
        returned = self._runs.reset([seed], [True])
        return returned.observations[0, 0], self._info(returned)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Go on for an interval with an action, an array of shape (1,)."""
        returned = self._runs.step(action)
        terminated, truncated = bool(returned.terminated[0]), bool(returned.truncated[0])
        return returned.observations[0, 0], float(returned.rewards[0, 0]), terminated, truncated, self._info(returned)

    def _info(self, returned: Returned) -> dict[str, Any]:
        (number,) = returned.scenarios
        interval = {name: float(values[0]) for name, values in returned.intervals().items()}
        return {"interval": interval, "scenario": number, "levels": dict(self._runs.levels[number])}
