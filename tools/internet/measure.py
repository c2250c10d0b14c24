"""Runs programs inside a small Internet: what an agent does with a job."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from haltere.rig.namespaces import inside
from internet.build import Built, build
from internet.plan import Internet

Json = dict[str, Any]
WORK = "internet.measure:run"
"""The function that an agent calls for each job."""


def run(job: Json, *, wall_clock: bool = False) -> Json:
    """Build the Internet of a job and run its programs one after the other.

    `scenario` is the text of an object: `net`, a plan as data; `runs`, each with `at`, the monitor; `words`, the
    command (`{input}` and `{output}` are files); `input`, a text; and `since`, seconds since 1970: the time to
    set the clock to, in virtual time only. Links have delays in virtual time only. Answers with a list of `code`,
    `stdout`, `stderr` and `output` (base64) of each.
    """
    wanted = json.loads(job["scenario"])
    built = build(Internet.of(wanted["net"]), seed=job["seed"], delays=not wall_clock)
    try:
        return {"runs": [_run(built, one, wall_clock=wall_clock) for one in wanted["runs"]]}
    finally:
        built.close()


def _run(built: Built, one: Json, *, wall_clock: bool) -> Json:
    # A machine's /tmp may be read-only; /run is memory of its own, and goes with it.
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        files = {name: str(Path(folder, name)) for name in ("input", "output")}
        Path(files["input"]).write_text(one.get("input") or "")
        if one.get("since") and not wall_clock:
            time.clock_settime(time.CLOCK_REALTIME, one["since"])
        with inside(built.homes[one["at"]].fd):
            done = subprocess.run(
                [word.format(**files) for word in one["words"]],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                stdin=subprocess.DEVNULL,
            )
        output = Path(files["output"])
        return {
            "code": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "output": base64.b64encode(output.read_bytes()).decode() if output.exists() else "",
        }
