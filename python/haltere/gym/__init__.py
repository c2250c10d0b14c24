"""Environments in which agents learn congestion control: Gymnasium's for one agent, PettingZoo's for several.

>>> from haltere import gym
>>> environment = gym.Environment("train.toml")
>>> observation, info = environment.reset(seed=1)
>>> observation, reward, terminated, truncated, info = environment.step(environment.action_space.sample())
>>> gym.stamp("policy.onnx", environment)  # a trained model becomes a contender: tcp/./policy.onnx

An agent takes the place of the congestion control of a flow. What an environment returns depends on its arguments, its
seed and the actions alone. This needs `pip install 'haltere[gym]'`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from haltere.errors import InputError
from haltere.extras import remedy

if find_spec("gymnasium") is None:
    raise InputError("needs gymnasium, which is not installed", field="haltere.gym", right=remedy("gym"))

from haltere.gym.policy import stamp
from haltere.gym.single import Environment
from haltere.gym.task import FIELDS, Task
from haltere.gym.vector import VectorEnvironment

if TYPE_CHECKING:
    from typing import Unpack

    from haltere.gym.several import ParallelEnvironment
    from haltere.gym.task import Options, Space

__all__ = ["FIELDS", "Environment", "Task", "VectorEnvironment", "parallel", "stamp"]


def parallel(scenario: Space, **options: Unpack[Options]) -> ParallelEnvironment:
    """Return a `ParallelEnv` of PettingZoo: an agent for each flow of `agents`.

    Args:
        scenario: as for `Environment`; all its scenarios have these flows.
        options: as for `Environment`; `agents` are the first two flows by default.

    Raises:
        InputError: if something cannot be used, or PettingZoo is not installed.
    """
    if find_spec("pettingzoo") is None:
        raise InputError("needs pettingzoo, which is not installed", field="parallel", right=remedy("gym"))
    from haltere.gym.several import ParallelEnvironment  # noqa: PLC0415 - it needs PettingZoo

    return ParallelEnvironment(scenario, **options)
