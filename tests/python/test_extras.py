"""An installation without the extras: what works, and how each command ends that needs more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT
from haltere import extras

REFUSE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
"""
RUN = "from haltere.cli import main; main()"
Call = Callable[..., subprocess.CompletedProcess[str]]


def _without(folder: Path, packages: tuple[str, ...]) -> Call:
    """Call the command line, or other code, where these packages cannot be imported."""

    def call(*arguments: str, code: str = RUN) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NO_COLOR": "1"}
        command = [sys.executable, "-c", REFUSE.format(packages=packages) + code, *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return call


@pytest.fixture
def bare(tmp_path: Path) -> Call:
    """`pip install haltere` and nothing else."""
    return _without(tmp_path, tuple(extras.EXTRAS))


@pytest.fixture
def no_figures(tmp_path: Path) -> Call:
    """`pip install 'haltere[study]'`."""
    return _without(tmp_path, tuple(name for name, extra in extras.EXTRAS.items() if extra != "study"))


def _refused(done: subprocess.CompletedProcess[str], extra: str) -> None:
    assert done.returncode == 2, done.stderr
    head, right = done.stderr.splitlines()[-2:]
    assert re.fullmatch(r"error: this needs \w+, which is not installed", head), done.stderr
    assert f"pip install 'haltere[{extra}]'" in right and "Traceback" not in done.stderr


COMPARE = ("compare", "tcp/cubic", "quic/cubic", "--loss", "1%", "--size", "200kB", "--replications", "6")


def test_a_comparison_needs_no_extra_and_says_the_same(bare: Call, tmp_path: Path) -> None:
    everything = _without(tmp_path, ())
    for options in ([], ["--json"], ["--share", "--duration", "12s"], ["--probe", "icmp:100B:20ms"]):
        done = bare(*COMPARE, *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout == everything(*COMPARE, *options).stdout


def test_what_lists_and_describes_needs_no_extra(bare: Call) -> None:
    for arguments in (
        ["--version"],
        ["algorithms"],
        ["queues"],
        ["presets"],
        ["schema", "scenario"],
        ["run", "--help"],
    ):
        done = bare(*arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "quic-dumbbell", "--out", "r"], ["report", "r"], ["explore", "r"], ["diff", "r", "r"], ["export", "r"],
        ["pack", "r"], ["unpack", "a.tar.gz"], ["trace", "tcp/cubic"], ["explain", "tcp/cubic", "quic/cubic"],
        ["validate", "tcp/cubic"], ["attack", "tcp/bbr"], ["evaluate", "tcp/cubic"], ["design", "quic-dumbbell"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_a_command_that_needs_an_extra_says_so_before_it_does_anything(
    arguments: list[str], bare: Call, tmp_path: Path
) -> None:
    _refused(bare(*arguments), "study")
    assert not list(tmp_path.iterdir())


def test_a_figure_is_refused_before_anything_runs(bare: Call) -> None:
    done = bare(*COMPARE, "--out", "figure.svg")
    _refused(done, "figures")
    assert "trimmed mean" not in done.stdout


def test_a_campaign_needs_no_figures_and_a_report_does(no_figures: Call, tmp_path: Path) -> None:
    for arguments in (["new", "own"], ["run", "own", "--replications", "2", "--out", "r"], ["explore", "r"]):
        done = no_figures(*arguments)
        assert done.returncode == 0, done.stderr
    for arguments in (["report", "r"], ["design", "own"], ["trace", "tcp/cubic", "--size", "50kB"]):
        _refused(no_figures(*arguments), "figures")
    (tmp_path / "own" / "artifact.toml").write_text('license = "MIT"\nauthors = [{ name = "A" }]\n')
    _refused(no_figures("pack", "r", "--study", "own"), "archive")
    assert not list(tmp_path.glob("*.tar.gz"))


def test_in_python_an_error_names_the_extra(bare: Call) -> None:
    ask = """
import haltere
from haltere.errors import InputError
for wanted in (lambda: haltere.compare(["tcp/cubic"]), lambda: haltere.Study, lambda: haltere.stats.spearman([1], [1]),
               lambda: haltere.stats.median([1.0, 2.0, 3.0])):
    try:
        wanted()
    except InputError as error:
        assert isinstance(error, ImportError) and "pip install 'haltere[" in str(error), error
    else:
        raise AssertionError("nothing was missing")
print(haltere.stats.typical([1.0, 2.0, 3.0]).value)
"""
    done = bare(code=ask)
    assert done.returncode == 0, done.stderr


def test_each_package_is_in_the_extra_that_is_named_and_in_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    of = project["optional-dependencies"]
    for package, extra in extras.EXTRAS.items():
        assert any(re.match(rf"{package}\b", one) for one in of[extra]), package
        assert not any(re.match(rf"{package}\b", one) for one in project["dependencies"]), package
        assert re.fullmatch(r"haltere\[.*\]", of["all"][0]) and extra in re.findall(r"\w+", of["all"][0])


def test_an_error_of_another_module_is_not_taken_for_an_extra() -> None:
    assert extras.explained(ModuleNotFoundError("x", name="nothing.of.ours")) is None
    found = extras.explained(ModuleNotFoundError("x", name="matplotlib.figure"))
    assert found is not None and "haltere[figures]" in str(found)
