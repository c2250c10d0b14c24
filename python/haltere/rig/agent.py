"""The first process of a rig's machine: takes jobs from a folder, one after the other, and writes their results.

It is the init of a user-mode Linux, or the first process of a process namespace on this machine; when it ends, so does
everything that was started. Several agents may share one folder:

    queue/KEY.json          a job that nobody has taken
    taken/KEY.json.WORKER   a job that WORKER is running
    done/KEY.json           its result
    closed                  no more jobs will come

A job is taken by renaming it, and a result appears by renaming it: both are there whole or not at all.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from haltere import core

HOME = Path("/run/haltere")
RUNS = "haltere.rig.run:run_job"
"""The function that makes the runs of a campaign, from a job as `executor` writes it."""
_REBOOT_POWER_OFF = 0x4321FEDC
_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Run as `python -m haltere.rig.agent virtual|local FOLDER WORKER MODULE:FUNCTION`; the function makes the runs."""
    where, folder, worker, work = arguments
    try:
        jobs = _move_in(where, Path(folder))
        serve(jobs, worker, work, wall_clock=where == "local")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if where == "virtual":
            os.sync()
            _libc.reboot(_REBOOT_POWER_OFF)


def _mount(source: str, target: str, kind: str, options: str = "", flags: int = 0) -> None:
    with contextlib.suppress(FileExistsError, OSError):
        Path(target).mkdir(parents=True)
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {kind} on {target}: {os.strerror(number)}")


def _covers(folder: str, *paths: str) -> bool:
    return any(Path(path).resolve().is_relative_to(folder) for path in paths if path)


def _move_in(where: str, folder: Path) -> Path:
    """Make the machine's own folders, in memory; return the folder of jobs as it is seen from here."""
    if where == "virtual":
        _mount("proc", "/proc", "proc")
        _mount("sysfs", "/sys", "sysfs")
        with contextlib.suppress(OSError):
            _mount("devtmpfs", "/dev", "devtmpfs")
    else:
        private, recursive = 1 << 18, 1 << 14
        if _libc.mount(b"none", b"/", b"", private | recursive, b"") != 0:
            raise OSError(ctypes.get_errno(), "making mounts private")
        jobs = folder.resolve()
        descriptor = os.open(jobs, os.O_PATH)
    # The program itself may be below /tmp; then /tmp is not mounted over.
    needed = (sys.prefix, sys.base_prefix, __file__)
    for target in ("/run", "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        if not _covers(target, *needed):
            with contextlib.suppress(OSError):
                _mount("tmpfs", target, "tmpfs", "mode=1777")
    HOME.mkdir(parents=True, exist_ok=True)
    if where == "virtual":
        _mount("none", str(HOME), "hostfs", str(folder))
    else:
        bind = 1 << 12
        _mount(f"/proc/self/fd/{descriptor}", str(HOME), "none", flags=bind)
    _limits()
    return HOME


def _limits() -> None:
    """Raise the limits of socket buffers for long fast paths, as on a tuned host."""
    for name, value in (
        ("net.core.rmem_max", "134217728"),
        ("net.core.wmem_max", "134217728"),
        ("net.ipv4.tcp_mem", "4000000 6000000 8000000"),
        ("net.ipv4.udp_mem", "4000000 6000000 8000000"),
        ("net.ipv4.tcp_allowed_congestion_control", _available()),
    ):
        with contextlib.suppress(OSError):
            Path("/proc/sys", *name.split(".")).write_text(value)


def _available() -> str:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().strip()


def serve(jobs: Path, worker: str, work: str, *, wall_clock: bool) -> None:
    """Work until the folder is closed and empty."""
    module, name = work.split(":")
    run_job = getattr(importlib.import_module(module), name)
    while True:
        taken = take(jobs, worker)
        if taken is None:
            if (jobs / "closed").exists():
                return
            time.sleep(0.05)
            continue
        key, job = taken
        try:
            result: dict[str, Any] = run_job(job, wall_clock=wall_clock)
        except Exception as error:  # it must become a row, not end the campaign
            traceback.print_exc()
            result = core.failed(f"{type(error).__name__}: {error}".strip())
        file(jobs, key, worker, json.dumps(result))


def take(jobs: Path, worker: str) -> tuple[str, dict[str, Any]] | None:
    """Take the first job that no one else has taken."""
    for name in sorted(path.name for path in (jobs / "queue").iterdir()):
        if name.startswith("."):
            continue
        mine = jobs / "taken" / f"{name}.{worker}"
        try:
            (jobs / "queue" / name).rename(mine)
        except FileNotFoundError:
            continue
        return name.removesuffix(".json"), json.loads(mine.read_text())
    return None


def file(jobs: Path, key: str, worker: str, result: str) -> None:
    """Write a job's result into the folder `done`."""
    temporary = jobs / "done" / f".{key}.{worker}"
    temporary.write_text(result)
    temporary.rename(jobs / "done" / f"{key}.json")
    (jobs / "taken" / f"{key}.json.{worker}").unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
