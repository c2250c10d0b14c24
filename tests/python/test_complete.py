"""Completion by the shell, asked as bash asks it."""

from __future__ import annotations

import os
import subprocess

import pytest

from conftest import COMMAND


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("haltere compare tcp/cu", {"tcp/cubic"}),
        ("haltere compare tcp/cubic mp", {"mptcp/", "mpquic/"}),
        (
            "haltere compare quic@noq/bbr3 quic/bbr+pac",
            {"quic/bbr+pacer", "quic/bbr+pacing", "quic/bbr+packet-threshold"},
        ),
        ("haltere explain tcp/westw", {"tcp/westwood"}),
        ("haltere compare tcp/cubic --preset ge", {"geo"}),
        ("haltere compare tcp/cubic --queue fq_", {"fq_codel", "fq_pie"}),
        ("haltere compare tcp/cubic --fidelity li", {"linux"}),
        ("haltere run quic-d", {"quic-dumbbell"}),
        ("haltere when buffer", {"bufferbloat"}),
    ],
)
def test_a_word_that_was_begun_is_completed(line: str, found: set[str]) -> None:
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_HALTERE_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [*COMMAND[:-1], "import sys; sys.argv[0] = 'haltere'; " + COMMAND[-1]],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == found, done.stderr
