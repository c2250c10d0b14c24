"""`haltere status`: how far a campaign is, read from its folder while it runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.markup import escape

from haltere.cli import show
from haltere.documents import shown
from haltere.errors import InputError, Place
from haltere.runner.parts import Parts


def command(results: Path, *, as_json: bool) -> None:
    """Print what is finished, what is left, and whether a campaign is at work."""
    found = status(results)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    console = show.out()
    console.print(
        escape(f"{found['study']}: {found['finished']} of {found['runs']} runs are finished, {_state(found)}")
    )
    if found["left_s"] is not None:
        console.print(f"about {show.duration(found['left_s'])} left, at the pace so far")
    if found["state"] == "stopped":
        console.print(escape(f"go on with:\n  {found['command']}"), soft_wrap=True)


def status(results: Path) -> dict[str, Any]:
    """Return how far a campaign is.

    `state` is `running`, `stopped` or `finished`; `left_s` the seconds that are left at the pace since the campaign was
    started last, if it runs and has finished something; `last_s` the seconds since runs were written last.

    Raises:
        InputError: if no campaign has written into the folder.
    """
    parts = Parts(results)
    noted = parts.status()
    if noted is None:
        raise InputError(
            "no campaign has been run into this folder",
            place=Place(shown(results)),
            right="a folder that `haltere run` writes into, such as results/NAME",
        )
    finished = noted["runs"] - noted["todo"] + noted["written"]
    left = noted["runs"] - finished
    elapsed = (datetime.now(UTC) - datetime.fromisoformat(noted["at"])).total_seconds()
    state = "running" if parts.busy() else "finished" if not left else "stopped"
    pace = noted["written"] / elapsed if elapsed > 0 else 0.0
    return {
        "study": noted["study"],
        "state": state,
        "runs": noted["runs"],
        "finished": finished,
        "started": noted["at"],
        "left_s": round(left / pace, 1) if pace and state == "running" else None,
        "last_s": None if noted["last_s"] is None else round(noted["last_s"], 1),
        "command": noted["command"],
    }


def _state(found: dict[str, Any]) -> str:
    if found["state"] != "running" or found["last_s"] is None:
        return str(found["state"])
    return f"running, the last were written {show.duration(found['last_s'])} ago"
