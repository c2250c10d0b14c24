"""Trained policies as files: what a model is told of the environment in which it was trained."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from haltere import core
from haltere.errors import ArgumentError, InputError, as_written
from haltere.extras import remedy
from haltere.files import write_whole
from haltere.gym.single import Environment
from haltere.gym.vector import VectorEnvironment
from haltere.plugins import policies

if TYPE_CHECKING:
    from haltere.gym.several import ParallelEnvironment
    from haltere.gym.task import Runs

_PLAIN = "cubic"
"""The congestion control in whose place a policy decides if it was trained in that of several."""


def stamp(file: str | Path, environment: Environment | VectorEnvironment | ParallelEnvironment) -> None:
    """Write into an ONNX model how it is used, so that contenders can name it: `tcp/./policy.onnx`.

    The model takes an observation of the environment, an array of float32 of the shape (1, k), (batch, k) or (k,), and
    its first output is the action, one number, which is brought into the bounds of the action space. Its metadata get
    the environment's observation, history, action, rates, interval and delay, and the congestion control in whose place
    the agent decided. Weights in a file of their own, as PyTorch may write them, are put into the model.

    Args:
        file: the model, which is written anew.
        environment: the environment in which it was trained.

    Raises:
        InputError: if the file is no such model, or the environment's observation is a function of Python.
    """
    runs: Runs | None = getattr(environment, "_runs", None)
    if runs is None:
        problem = "is no environment of haltere.gym"
        right = "environment.unwrapped, if the model itself does what wrappers do to observations and actions"
        raise ArgumentError(problem, field="environment", given=as_written(str(environment)), right=right)
    if missing := [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]:
        problem = f"needs {' and '.join(missing)}, not installed"
        raise InputError(problem, field="haltere.gym.stamp", right=remedy("onnx"))
    import onnx  # noqa: PLC0415 it may not be there

    path = Path(file)
    metadata = {policies.PREFIX + key: value for key, value in _metadata(runs).items()}
    try:
        model = onnx.load(path)
    except OSError as error:
        raise ArgumentError("cannot be read", field="file", given=str(path), right=f"a file ({error})") from None
    except Exception as error:
        raise ArgumentError(f"is no ONNX model ({error})", field="file", given=str(path)) from None
    others = {one.key: one.value for one in model.metadata_props if not one.key.startswith(policies.PREFIX)}
    onnx.helper.set_model_props(model, {**others, **metadata})
    held = model.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        (tried := Path(folder) / "policy.onnx").write_bytes(held)
        try:
            inputs = policies.describe(tried, str(path)).inputs
        except ValueError as error:
            raise ArgumentError(str(error), field="file") from None
    (width,) = runs.observation_space().shape
    if inputs not in (None, width):
        problem = f"is a model that takes {inputs} numbers, and an observation of this environment has {width}"
        raise ArgumentError(problem, field="file", right="the environment in which it was trained")
    write_whole(path, held)


def _metadata(runs: Runs) -> dict[str, str]:
    """Return what a model is told, by the keys of `policies.KEYS`."""
    if callable(runs.task.observation):
        problem = "has an observation that is a function, which a model cannot name"
        right = "an observation by names of haltere.gym.FIELDS, and what the function computes as a part of the model"
        raise ArgumentError(problem, field="environment", right=right)
    terms = runs.task.settings()
    (control, *others) = runs.controls
    if others or not core.congestion(control):
        if terms["action"] == "orca":
            problem = f"has agents that change the windows of {', '.join(runs.controls)}"
            right = "flows with one congestion control that is built in: a policy changes the window of that one"
            raise ArgumentError(problem, field="environment", right=right)
        control = _PLAIN
    observation = terms["observation"]
    return {
        "observation": observation if isinstance(observation, str) else ", ".join(observation),
        "history": str(terms["history"]),
        "action": terms["action"],
        "rates": ", ".join(terms["rates"]),
        "interval": terms["interval"],
        "delay": terms["delay"],
        "control": control,
    }
