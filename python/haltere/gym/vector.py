"""A vector environment of Gymnasium: one agent in many runs, which the core steps at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from haltere.errors import ArgumentError, as_written, refuse_below
from haltere.gym.task import Options, Returned, Runs, Space, Task

Array = NDArray[Any]
_MODES = {
    AutoresetMode.NEXT_STEP: "next-step",
    AutoresetMode.SAME_STEP: "same-step",
    AutoresetMode.DISABLED: "disabled",
}


class VectorEnvironment(VectorEnv[Array, Array, Array]):
    """Many runs of one task, stepped by threads of the core without the interpreter's lock.

    With `reset(seed=s)` environment i has the seed s + i, and its episodes are those of an `Environment` with it,
    whatever the number of environments and threads. `info` has the numbers of the interval (`interval`, arrays) and the
    numbers of the scenarios (`scenario`); with `SAME_STEP` also `final_obs` and `final_info`.

    Args:
        scenario: as for `Environment`.
        num_envs: how many.
        autoreset: when an environment is reset whose episode is over; one of the modes of Gymnasium, or its value.
        threads: how many step them (default: as many as there are processors).
        options: as for `Environment`.

    Raises:
        InputError: if something cannot be used; the error names it.
    """

    def __init__(
        self,
        scenario: Space,
        *,
        num_envs: int,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        refuse_below(1, num_envs=num_envs, threads=threads)
        task = Task.of(options)
        try:
            mode = AutoresetMode(autoreset)
        except ValueError:
            known = ", ".join(as_written(mode.value) for mode in AutoresetMode)
            raise ArgumentError("is no mode", field="autoreset", given=as_written(autoreset), right=known) from None
        if callable(task.observation) and mode is AutoresetMode.SAME_STEP:
            problem = "cannot be made of the last interval of one episode and be the first of the next"
            raise ArgumentError(problem, field="observation", right="autoreset=AutoresetMode.NEXT_STEP")
        workers = len(os.sched_getaffinity(0)) if threads is None else threads
        batch = {"count": num_envs, "threads": workers, "autoreset": _MODES[mode]}
        self._runs = Runs(scenario, task, **batch, seed=int(self.np_random.integers(2**62)))
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.single_observation_space = self._runs.observation_space()
        self.single_action_space = self._runs.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property
    def levels(self) -> list[dict[str, str]]:
        """The levels of each scenario, by its number."""
        return self._runs.levels

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin episodes; with `options={"reset_mask": mask}` those of some environments, an array of booleans."""
        seeds: list[int | None]
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or len(seeds) != self.num_envs:
            right = f"arrays or lists with an entry for each of {self.num_envs} environments; booleans in the mask"
            raise ArgumentError("have another length or type", field="seed, reset_mask", right=right)
        returned = self._runs.reset(seeds, mask.tolist())
        return returned.observations[:, 0], self._info(returned)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Go on for an interval with an action for each environment: an array of shape (environments, 1)."""
        returned = self._runs.step(actions)
        info = self._info(returned)
        if returned.last:
            final, which = np.full(self.num_envs, None, object), np.zeros(self.num_envs, np.bool_)
            for at, observation in returned.last.items():
                final[at], which[at] = observation[0], True
            info.update(final_obs=final, _final_obs=which, final_info={"interval": info["interval"]}, _final_info=which)
        return returned.observations[:, 0], returned.rewards[:, 0], returned.terminated, returned.truncated, info

    def _info(self, returned: Returned) -> dict[str, Any]:
        return {"interval": returned.intervals(), "scenario": np.array(returned.scenarios)}
