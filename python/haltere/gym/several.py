"""An environment of PettingZoo: several agents at one bottleneck, who decide at the same time."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from haltere.errors import ArgumentError, as_written
from haltere.gym.task import Options, Returned, Runs, Space, Task

Array = NDArray[np.floating[Any]]


class ParallelEnvironment(ParallelEnv[str, Array, Array]):  # type: ignore[misc]  # PettingZoo has no types
    """Several agents, each for one flow; `flow_N` decides for flow N. All episodes end for all at once."""

    metadata: dict[str, Any] = {"render_modes": [], "name": "haltere"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, scenario: Space, **options: Unpack[Options]) -> None:
        task = Task.of({"agents": (0, 1), **options})
        seed = int(np.random.default_rng().integers(2**62))
        self._runs = Runs(scenario, task, count=1, threads=1, autoreset="disabled", seed=seed)
        self.render_mode = None
        self.possible_agents = [f"flow_{flow}" for flow in task.agents]
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._runs.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: self._runs.action_space() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - as PettingZoo has it
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin the first episode of a seed, or the next one."""
        returned = self._runs.reset([seed], [True])
        self.agents = list(self.possible_agents)
        return self._observed(returned), self._infos(returned)

    def step(
        self, actions: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Go on for an interval with an action of each agent, an array of shape (1,)."""
        missing = [agent for agent in self.possible_agents if agent not in actions]
        if missing:
            raise ArgumentError("lacks agents", field="actions", right=f"an action of {as_written(missing)} too")
        numbers = [float(np.asarray(actions[agent]).reshape(())) for agent in self.possible_agents]
        returned = self._runs.step(numbers)
        rewards = dict(zip(self.possible_agents, returned.rewards[0].tolist(), strict=True))
        terminated = dict.fromkeys(self.possible_agents, bool(returned.terminated[0]))
        truncated = dict.fromkeys(self.possible_agents, bool(returned.truncated[0]))
        if returned.terminated[0] or returned.truncated[0]:
            self.agents = []
        return self._observed(returned), rewards, terminated, truncated, self._infos(returned)

    def _observed(self, returned: Returned) -> dict[str, Array]:
        return dict(zip(self.possible_agents, returned.observations[0], strict=True))

    def _infos(self, returned: Returned) -> dict[str, dict[str, Any]]:
        (number,) = returned.scenarios
        levels = self._runs.levels[number]
        return {
            agent: {
                "interval": {name: float(x[0]) for name, x in returned.intervals(at).items()},
                "scenario": number,
                "levels": dict(levels),
            }
            for at, agent in enumerate(self.possible_agents)
        }
