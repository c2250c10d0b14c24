"""Code that users bring, as files: congestion controls, path schedulers and queue disciplines.

Contenders name files, `tcp/./mine.py` and `mptcp/cubic+scheduler=./mine.py`, and queues do, `./mine.py:limit=100p`.
`store` keeps files by the digest of what they hold, and knows which of them their user asked for; `classes` loads
classes of Python; `by_numba` compiles these; `building` builds sources in C and Rust; `policies` loads trained policies
(`tcp/./policy.onnx`); `picks` is what schedulers answer with. The extension module calls `loaded`, `named`, `reason`
and `takes_paths`.

Code runs with all rights of its user. A file that the user names on the command line, or in a call, is asked for; one
that a study or scenario file names runs only where that is allowed (`haltere --allow-code`, `allow()`).
"""

from __future__ import annotations

import inspect
import os
import traceback
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from haltere.plugins import policies, store, watch
from haltere.plugins.classes import COMPILED, KINDS, Described, describe, parameter
from haltere.plugins.picks import NEVER, Ahead, WaitUntil, candidates, is_ready, wait
from haltere.plugins.policies import Trained

__all__ = [
    "ASK_APP_LIMITED",
    "ASK_REDUCE",
    "CE",
    "DROP",
    "ECT_0",
    "ECT_1",
    "FULL",
    "MARK",
    "NEVER",
    "NOT_ECT",
    "SEND",
    "UNKNOWN",
    "Ahead",
    "Phase",
    "Trigger",
    "WaitUntil",
    "allow",
    "candidates",
    "compiled",
    "is_ready",
    "loaded",
    "named",
    "parameter",
    "reason",
    "takes_paths",
    "wait",
]

_LIBRARY, _PACKAGE = Path(os.__file__).parent.resolve(), str(Path(__file__).parent.parent)

UNKNOWN = -1
"""In the place of a time or size of an event: it is not known."""
ASK_APP_LIMITED = 1
"""As `ask` of a controller: mark delivery-rate samples as application-limited."""
ASK_REDUCE = 2
"""As `ask` of a controller: reduce the window as for a mark; TCP alone does it."""
SEND = 0
"""As answer of `dequeue` of a queue discipline: the packet leaves."""
DROP = -1
"""As answer of `enqueue` and `dequeue`: the packet is dropped to signal congestion."""
FULL = -2
"""As answer of `enqueue`: the packet is dropped because there is no room for it."""
MARK = 65536
"""As answer of `dequeue`, and added to the band by `enqueue`: the packet is marked, or dropped if it cannot be."""
NOT_ECT, ECT_1, ECT_0, CE = range(4)
"""The ECN field of a packet: not capable, capable (ECT(1), which asks for L4S, and ECT(0)), and marked."""


class Trigger(IntEnum):
    """The causes of congestion, `event.trigger`."""

    LOSS, TIMEOUT, PERSISTENT, ECN, LOCAL, DELAY = range(6)


class Phase(IntEnum):
    """The phases of loss recovery, `ack.phase`."""

    OPEN, DISORDER, REDUCING, RECOVERY, LOSS = range(5)


def named(file: str) -> str:
    """Return the name of a file with the digest of what it holds; raise `ValueError` unless its user asked for it."""
    return f"{file}{store.DIGEST}{store.keep(Path(file))}"


def allow() -> None:
    """Allow, from now on, all code that study and scenario files name. It runs with all rights of its user."""
    os.environ[store.ALLOW] = "1"


def allowed() -> bool:
    """Whether all code that files name may run."""
    return os.environ.get(store.ALLOW, "0") not in {"", "0"}


def compiled(cls: type) -> type:
    """Have numba compile the methods of a class: a decorator. What `__init__` sets must be numbers (`by_numba`)."""
    setattr(cls, COMPILED, True)
    return cls


def loaded(name: str, kind: str) -> Described | Trained | Path:
    """Return the code for which a name with a digest stands. `kind` is what it is to be: a key of `classes.KINDS`.

    Returns:
        The description of a class of Python, a trained policy, or the path of a shared library.

    Raises:
        ValueError: why there is none; the message names the file and the remedy.
    """
    file, _, digest = name.partition(store.DIGEST)
    kept = store.find(file, digest)
    if kept.suffix == store.POLICY:
        return policies.describe(kept, file)
    if kept.suffix != ".py":
        return kept
    described = describe(kept, file, KINDS[kind])
    watch.begin(_calls)
    if not described.wants_compiled:
        return described
    from haltere.plugins.by_numba import functions  # noqa: PLC0415 numpy and numba take a second to load

    try:
        return replace(described, compiled=functions(described))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _calls() -> list[tuple[int, int]]:
    from haltere import _core  # noqa: PLC0415 the extension module, which calls this package, is there by now

    return _core.plugin_calls()


def takes_paths(controller: Any) -> bool:
    """Return whether `on_ack` of a controller takes the paths of its connection beside the ACK."""
    try:
        return len(inspect.signature(controller.on_ack).parameters) > 1
    except (AttributeError, TypeError, ValueError):
        return False


def reason(error: BaseException) -> str:
    """Return an exception in one line, with the line of the user's file: `line 12, in on_ack: KeyError: 'x'`."""
    if isinstance(error, watch.TooLongError):
        error = watch.TooLongError(
            f"it has not returned for {watch.LONGEST_S:g} s: does it loop for ever?"
        ).with_traceback(error.__traceback__)
    said = traceback.format_exception_only(error)[-1].strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(".py")]
    if not frames:
        return str(error)
    # A function of Python's own library, or of ours, that the file calls may have raised it.
    own = [frame for frame in frames if not Path(frame.filename).resolve().is_relative_to(_LIBRARY)]
    where = [frame for frame in own if not frame.filename.startswith(_PACKAGE)] or frames
    return f"line {where[-1].lineno}, in {where[-1].name}: {said}"
