"""What several tests share: a small study, and the command line as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
def haltere(tmp_path: Path) -> Haltere:
    """Call the command line in a temporary folder."""

    def call(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **(env or {})}
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def small_study(tmp_path: Path) -> Path:
    """A folder with a study of 10 treatments in 2 experiments."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL_STUDY)
    return folder
