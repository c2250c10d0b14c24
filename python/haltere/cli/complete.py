"""The words that a shell completes, after `haltere --install-completion`.

Each function is given the word that was begun, and returns the words that it may become.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def _begun(word: str, words: Iterable[str]) -> list[str]:
    return [one for one in words if one.startswith(word)]


def contenders(incomplete: str) -> list[str]:
    """Complete `tcp/cu` to `tcp/cubic`, and the switches of a contender behind `+` or `-`."""
    from haltere import core

    known = core.algorithms()
    transport, slash, rest = incomplete.partition("/")
    if not slash:
        return _begun(incomplete, (f"{one['name']}/" for one in known["transports"]))
    kind = "media" if transport.partition("@")[0] in core.OF_CALLS else "congestion"
    begun = max(rest.rfind("+"), rest.rfind("-"))
    if begun < 0:
        return _begun(incomplete, (f"{transport}/{one['name']}" for one in known[kind]))
    head = incomplete[: len(transport) + begun + 2]
    switches = (one["name"] for one in known["switches"] if one["transport"] == transport.partition("@")[0])
    return _begun(incomplete, (f"{head}{name}" for name in switches))


def presets(incomplete: str) -> list[str]:
    """Complete the name of a preset."""
    from haltere import core

    return _begun(incomplete, (name for one in core.presets() for name in (one["name"], *one["also"])))


def queues(incomplete: str) -> list[str]:
    """Complete the name of a queue discipline."""
    from haltere import core

    return _begun(incomplete, (one["name"] for one in core.queues()))


def fidelities(incomplete: str) -> list[str]:
    """Complete the name of a fidelity."""
    from haltere import fidelity

    return _begun(incomplete, fidelity.NAMES)


def studies(incomplete: str) -> list[str]:
    """Complete the name of a shipped study, or a path."""
    from haltere import shipped

    found = Path().glob(f"{incomplete}*") if not incomplete.startswith("/") else []
    paths = [f"{one}/" if one.is_dir() else str(one) for one in found if one.is_dir() or one.suffix == ".toml"]
    return [*_begun(incomplete, (one.name for one in shipped.studies())), *sorted(paths)]


OF_FIELDS = {"preset": presets, "queue": queues, "fidelity": fidelities}
"""Conditions whose options are completed."""
