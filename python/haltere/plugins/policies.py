"""Trained policies: ONNX models whose metadata say how they are used, computed by onnxruntime.

The metadata (`metadata_props`) are those that `haltere.gym.stamp` writes, `KEYS` with `haltere.` in front. The core
makes the observations by them, as it does for environments, and asks for an action at the end of each interval.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere.errors import nearest
from haltere.extras import remedy

PREFIX = "haltere."
"""How the keys of our metadata begin."""
KEYS = {
    "observation": "`aurora`, `orca`, or names of the numbers of an interval, with commas between them",
    "history": "how many intervals an observation has",
    "action": "`aurora`, `orca`, `rate` or `window`",
    "rates": "the least and the most pacing rate, with a comma between them",
    "interval": "the time between two decisions: `20ms`, or `1rtt` for the mean RTT of the last interval",
    "delay": "how long it takes until an action has effect",
    "control": "the congestion control in whose place it decides",
}
"""The metadata that a policy must have, and their meanings."""
PRESETS = ("aurora", "orca")
"""The observations that have a name; others are lists of numbers."""
_TYPES = {"tensor(float)": "float32", "tensor(double)": "float64"}


@dataclass(frozen=True)
class Trained:
    """A policy, as the core registers it."""

    label: str
    summary: str
    terms_json: str
    """When it decides, on what grounds, and about what: the settings of environments by their names."""
    control: str
    inputs: int | None
    """How many numbers the model takes; None if it does not say so."""
    decide: Callable[[bytearray], float]
    """Returns the action that answers an observation, which is the bytes of an array of float32."""


def describe(source: Path, name: str) -> Trained:
    """Return what a model says of how it is used. `name` stands for the file in messages.

    Raises:
        ValueError: if it cannot be loaded, or is no policy; the message says why, and what to do.
    """
    session = _session(source, name)
    metadata = session.get_modelmeta().custom_metadata_map
    own = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    terms = _terms(own, name)
    inputs, decide = _function(session, name)
    return Trained(
        Path(name).stem, f"a trained policy, {Path(name).name}", json.dumps(terms), own["control"], inputs, decide
    )


def _session(source: Path, name: str) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415 it takes half a second to load, and may not be there
    except ImportError:
        problem = f"{name} is a trained policy, and onnxruntime is not installed"
        raise ValueError(f"{problem}: {remedy('onnx')}") from None
    options = onnxruntime.SessionOptions()
    # One thread, so that sums have one order, and campaigns have a processor for each run.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # what is wrong is raised
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0].replace(str(source), name)
        hint = "give an ONNX model; one with weights in a file of their own must go through haltere.gym.stamp"
        raise ValueError(f"{name} cannot be loaded: {said}: {hint}") from None


def _terms(own: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the settings that the metadata of a model stand for."""
    stamp = f'haltere.gym.stamp("{Path(name).name}", environment) writes it'
    if not own:
        raise ValueError(f"{name} does not say how it is used: its metadata have no {PREFIX}observation; {stamp}")
    for key in own:
        if key not in KEYS:
            near = nearest(key, list(KEYS))
            meant = f"did you mean {PREFIX}{near}? " if near else ""
            known = ", ".join(PREFIX + one for one in KEYS)
            raise ValueError(f"{name} has the unknown metadata {PREFIX}{key}: {meant}there are {known}")
    for key, meaning in KEYS.items():
        if key not in own:
            raise ValueError(f"{name} has no metadata {PREFIX}{key} ({meaning}): {stamp}")
    rates = [rate.strip() for rate in own["rates"].split(",")]
    if len(rates) != 2:
        raise ValueError(f"{name} has the metadata {PREFIX}rates = {own['rates']}: give two, as 480kbit/s, 12Mbit/s")
    if not own["history"].isdecimal():
        raise ValueError(f"{name} has the metadata {PREFIX}history = {own['history']}: give a whole number from 1")
    observation = own["observation"]
    return {
        "observation": observation if observation in PRESETS else [one.strip() for one in observation.split(",")],
        "history": int(own["history"]),
        "action": own["action"],
        "rates": rates,
        "interval": own["interval"],
        "delay": own["delay"],
    }


def _function(session: Any, name: str) -> tuple[int | None, Callable[[bytearray], float]]:
    """Return how many numbers a model takes, if it says so, and the function of them that it is."""
    import numpy as np  # noqa: PLC0415 plugins in C need no numpy

    given = session.get_inputs()
    if len(given) != 1 or given[0].type not in _TYPES:
        has = ", ".join(f"{one.name}: {one.type}" for one in given) or "none"
        raise ValueError(f"{name} has the inputs ({has}): a policy takes one, its observation, of float32 or float64")
    shape = [dim if isinstance(dim, int) and dim > 0 else -1 for dim in given[0].shape]
    if len(shape) > 1 and shape[0] == -1:
        shape[0] = 1  # of a batch
    if shape.count(-1) > 1:
        raise ValueError(f"{name} has an input of the shape {given[0].shape}: only the first and one more may be open")
    answer = session.get_outputs()[0]
    size = int(np.prod([dim for dim in answer.shape if isinstance(dim, int)]))
    if answer.type not in _TYPES or size != 1:
        problem = f"{name} has the first output {answer.name}: {answer.type} of the shape {answer.shape}"
        raise ValueError(f"{problem}: it must be the action, one number of float32 or float64")
    dtype, asked, answers = np.dtype(_TYPES[given[0].type]), given[0].name, [answer.name]

    def decide(observation: bytearray) -> float:
        numbers = np.frombuffer(observation, np.float32).astype(dtype, copy=False)
        (action,) = session.run(answers, {asked: numbers.reshape(shape)})
        if np.size(action) != 1:
            raise ValueError(f"its first output has the shape {np.shape(action)}: an action is one number")
        return float(np.reshape(action, ()))

    return None if -1 in shape else int(np.prod(shape)), decide
