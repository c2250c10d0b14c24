"""The wheel alone: built, installed outside the repository without it, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]
HEAVY = ("numpy", "polars", "scipy", "matplotlib", "pydantic", "rich", "typer", "jinja2", "pyroute2")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that HALTERE_WHEEL names, or one of what is here; after `make build` only packing is left to do."""
    if "HALTERE_WHEEL" in os.environ:
        return Path(os.environ["HALTERE_WHEEL"]).resolve()
    maturin = Path(sys.executable).with_name("maturin")
    if shutil.which("cargo") is None or not maturin.exists():
        pytest.skip("cargo or maturin is not there")
    worker = any((ROOT / "python" / "haltere").glob("haltere-worker*"))
    features = ["--features", "worker"] if worker else []
    out = tmp_path_factory.mktemp("wheel")
    command = [str(maturin), "build", "--release", "--locked", "--quiet", "--out", str(out), *features]
    environment = {**os.environ, "VIRTUAL_ENV": str(Path(sys.executable).parents[1])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Call `haltere` of an environment that has the wheel, and its dependencies from this one."""
    folder = tmp_path_factory.mktemp("lab")
    venv.create(folder / "venv", with_pip=False)
    purelib = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")}))
    install = [sys.executable, "-m", "pip", "--python", str(folder / "venv"), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", str(wheel)], check=True)
    # A plain line adds this environment's packages, but not what its own .pth files add: the clone.
    (purelib / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "venv" / "bin" / arguments[0]), *arguments[1:]]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are nodes on Linux alone")
def test_the_program_inside_kernels_can_be_run_from_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        assert packed.getinfo("haltere/haltere-node").external_attr >> 16 & 0o111 == 0o111


def test_the_wheel_holds_the_studies_and_nothing_of_the_build(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for file in [*ROOT.glob("studies/*/*.*"), *ROOT.glob("studies/*/claims/*.py")]:
        assert f"haltere/{file.relative_to(ROOT)}" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("studies/")]
    assert "haltere/_core.abi3.so" in names


def test_the_wheel_holds_the_charting_library_and_not_what_bundles_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert b"vegaEmbed" in archive.read("haltere/explorer/charts.js")
        assert b"BSD" in archive.read("haltere/explorer/charts.LICENSE.txt")
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert b"vl-convert" not in archive.read(metadata)


def test_the_wheel_holds_the_lock_file_and_needs_no_large_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("haltere/export/lock.txt") == (ROOT / "requirements" / "all.txt").read_bytes()
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    always = [need for need in needs if "extra ==" not in need]
    assert always and not [need for need in always if need.startswith(("numpy", "polars", "scipy", "matplotlib"))]
    assert "Provides-Extra: all" in lines


def test_the_wheel_says_which_linux_it_needs(wheel: Path) -> None:
    """`linux_x86_64`, which maturin gives to what is tied to this machine, cannot be uploaded."""
    assert sys.platform != "linux" or "manylinux" in wheel.name


def test_the_package_comes_from_the_wheel(installed: Run) -> None:
    done = installed("python", "-c", "import haltere; print(haltere.__file__)")
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).is_relative_to(ROOT)


def test_an_installation_gives_its_wheel_back(wheel: Path, installed: Run, tmp_path: Path) -> None:
    """Archives of results hold it (`haltere pack`)."""
    code = (
        f"from haltere.export import wheel; open({str(tmp_path / 'back.whl')!r}, 'wb').write(wheel.installed().content)"
    )
    done = installed("python", "-c", code)
    assert done.returncode == 0, done.stderr

    def held(file: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(file) as opened:
            return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/RECORD")}

    assert held(tmp_path / "back.whl") == held(wheel)


def test_a_comparison_runs(installed: Run) -> None:
    done = installed("haltere", "compare", "tcp/cubic", "quic/cubic", "--size", "50kB", "--replications", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 4


def test_a_shipped_study_is_run_and_reported_by_name(installed: Run) -> None:
    done = installed("haltere", "run", "internet-paths-quic", "--replications", "1", "--out", "r")
    assert done.returncode == 0, done.stderr
    done = installed("haltere", "report", "r")
    assert done.returncode == 0, done.stderr
    assert "report: r/report.html" in done.stdout


def test_a_worker_of_a_cluster_loads_none_of_the_large_packages(installed: Run) -> None:
    """It needs the wheel and distributed alone (docs/how-to/cluster.md)."""
    code = f"""
import sys
from haltere.runner import dask
from haltere.executor import Task
dask.work((Task("key", "{{}}", 1, 0),), "model", dask.identity_of("model"))
print(sorted(set({HEAVY}) & set(sys.modules)))
"""
    done = installed("python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
