"""Probes as the commands take them: `KIND:SIZE:INTERVAL`, such as `icmp:1450B:1s`. This module loads nothing heavy."""

from __future__ import annotations

from typing import Any

from haltere.errors import ArgumentError, as_written

KINDS = ("icmp", "udp", "tcp")
MODES = ("free-running", "stop-and-wait")
_RIGHT = (
    "KIND:SIZE:INTERVAL, such as icmp:1450B:1s: icmp, udp or tcp; the payload; the time from one request to the next. "
    "With :stop-and-wait added, a request waits for the last one's answer"
)


def parse(text: str) -> dict[str, Any]:
    """Return the probe that a text describes, as a scenario has it. The core checks its quantities.

    Raises:
        InputError: saying which part is wrong.
    """
    parts = [part.strip() for part in text.split(":")]
    problem = None
    if not 3 <= len(parts) <= 4:
        missing = ("a kind", "a size", "an interval")[len(parts) :] if text.strip() else ("anything",)
        problem = f"lacks {' and '.join(missing)}" if missing else "has more than four parts"
    elif parts[0] not in KINDS:
        problem = f"has no kind of probe {as_written(parts[0])}"
    elif not parts[1]:
        problem = "has no size"
    elif not parts[2]:
        problem = "has no interval"
    elif len(parts) == 4 and parts[3] not in MODES:
        problem = f"has no mode {as_written(parts[3])}"
    if problem:
        if parts[0] == "ping":
            problem = f"{problem}; the probe of ping is icmp"
        raise ArgumentError(problem, field="probe", given=as_written(text), right=_RIGHT)
    probe = dict(zip(("kind", "size", "interval", "mode"), parts, strict=False))
    return {key: value for key, value in probe.items() if (key, value) != ("mode", MODES[0])}


def described(text: str) -> str:
    """Return the probe in words for people."""
    probe = parse(text)
    waits = "each after the last one's answer" if probe.get("mode") == MODES[1] else "without waiting for answers"
    return f"{probe['kind']} probes of {probe['size']}, one every {probe['interval']}, {waits}"
