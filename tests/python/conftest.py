"""Fixtures of several tests: a small study, and the command line as a user calls it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from haltere import cli
from skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401 (hooks)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from haltere.cli import main; main()"]

SMALL_STUDY = """
[study]
name = "small"
title = "A small study"
question = "Is it quick?"
seed = 7
replications = 3

[experiments.base]
[experiments.base.factors]
transport = ["tcp", "quic"]
rate = ["5Mbit/s", "20Mbit/s"]
loss = ["0%", "2%"]

[experiments.base.scenario.topology]
kind = "dumbbell"

[experiments.base.scenario.topology.bottleneck]
rate = "{rate}"
queue = "100p"
mtu = "1500B"
down = { delay = "20ms", loss = "{loss}" }

[[experiments.base.scenario.flows]]
contender = "{transport}/cubic"
app = "https"
size = "300kB"

[experiments.pairs]
[experiments.pairs.factors]
congestion = [
  { label = "bbr/cubic", first = "bbr", second = "cubic" },
  { label = "both cubic", first = "cubic", second = "cubic" },
]

[experiments.pairs.scenario.topology]
kind = "dumbbell"
pairs = 2

[experiments.pairs.scenario.topology.bottleneck]
rate = "10Mbit/s"
queue = "100p"
mtu = "1500B"
down = { delay = "20ms" }

[[experiments.pairs.scenario.flows]]
contender = "tcp/{congestion.first}"
pair = 0
app = "https"
size = "300kB"

[[experiments.pairs.scenario.flows]]
contender = "tcp/{congestion.second}"
pair = 1
app = "https"
size = "300kB"

[variants.wider.experiments.base.factors]
transport = ["quic"]
"""

Haltere = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def haltere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Haltere:
    """Call the command line in a temporary folder, with its output in pipes as far as it can tell.

    It runs in this process, as most of a short command's time is what Python takes to load; `link` runs in a process
    of its own, as it needs one without threads.
    """

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = (_apart if arguments[0] == "link" else _here)(arguments)
        assert "…" not in done.stdout + done.stderr, "what goes into a pipe must not be cut"
        return done

    def _here(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        output, errors = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ),  # options such as --allow-code set variables
            monkeypatch.context() as patched,
            redirect_stdout(output),
            redirect_stderr(errors),
        ):
            patched.chdir(tmp_path)
            patched.setenv("NO_COLOR", "1")
            patched.delenv("COLUMNS", raising=False)
            patched.setattr(sys, "argv", ["haltere", *arguments])
            try:
                cli.main()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
        return subprocess.CompletedProcess(["haltere", *arguments], code, output.getvalue(), errors.getvalue())

    def _apart(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NO_COLOR": "1"}
        environment.pop("COLUMNS", None)
        command = [*COMMAND, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return call


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    """A folder with a study of 10 treatments in 2 experiments."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL_STUDY)
    return folder
