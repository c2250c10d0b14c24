"""Boots a user-mode Linux in virtual time, with an agent as its first process."""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from haltere.rig.agent import RUNS
from haltere.rig.kernel import Kernel

MEMORY = "2G"
_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that ends."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def python_path() -> str:
    """Return the module search path for a child: this package and the PYTHONPATH of this process."""
    own = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])


def boot(kernel: Kernel, folder: Path, worker: str, work: str = RUNS) -> subprocess.Popen[bytes]:
    """Start a kernel whose agent works off the jobs in a folder. Its console goes to `folder/WORKER.log`.

    It needs no privilege and has no network; the host's file system is its root, read-only. Only `folder` can be
    written.
    """
    folder = folder.resolve()
    script = folder / f"{worker}.init"
    agent = [sys.executable, "-m", "haltere.rig.agent", "virtual", str(folder), worker, work]
    script.write_text(
        "#!/bin/sh\n"
        "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 "
        f"PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={shlex.quote(python_path())}\n"
        f"exec {shlex.join(agent)}\n"
    )
    script.chmod(0o755)
    command = [
        str(kernel.path),
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={script}",
        f"mem={MEMORY}",
        "time-travel=inf-cpu",
        f"umid=haltere-{os.getpid()}-{worker}",
        "con=null",
        "con0=null,fd:1",
        "console=tty0",
        "quiet",
        "panic=-1",
    ]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": _memory(folder)}
    with (folder / f"{worker}.log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def _memory(folder: Path) -> str:
    """Where the kernel keeps its memory, as a file that has no name any more: in memory, if there is room for that."""
    shm = Path("/dev/shm")  # noqa: S108
    if not os.access(shm, os.W_OK):
        return str(folder)
    room = os.statvfs(shm)
    return str(shm) if room.f_bavail * room.f_frsize > 4 << 30 else str(folder)
