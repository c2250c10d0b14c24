"""The machines of a rig: a user-mode Linux in virtual time, and this machine's own kernel, each with an agent."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from haltere.errors import InputError
from haltere.rig.agent import HOME, RUNS
from haltere.rig.kernel import Kernel, preloaded

MEMORY = "2G"
SECCOMP = (6, 16)
"""The first series of kernels that can run their processes with seccomp(2) instead of ptrace(2)."""
_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that ends."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def python_path() -> str:
    """Return the module search path for a child: this package and the PYTHONPATH of this process."""
    own = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])


def boot(
    kernel: Kernel, folder: Path, worker: str, work: str = RUNS, *, pinned: bool = True, seccomp: bool = True
) -> subprocess.Popen[bytes]:
    """Start a kernel whose agent works off the jobs in a folder. Its console goes to `folder/WORKER.log`.

    It needs no privilege and has no network; the host's file system is its root, read-only. Only `folder` can be
    written.

    Args:
        kernel: which one.
        folder: the jobs.
        worker: the agent's name.
        work: `MODULE:FUNCTION` that makes the runs.
        pinned: whether it gets a processor of its own, if one is free (`_own_processor`).
        seccomp: whether a kernel that can (`SECCOMP`) runs its processes with seccomp(2), where the host allows it.
    """
    folder = folder.resolve()
    script = folder / f"{worker}.init"
    agent = [sys.executable, "-m", "haltere.rig.agent", "virtual", str(folder), worker, work]
    script.write_text(
        "#!/bin/sh\n"
        "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 "
        f"XDG_CACHE_HOME={HOME} PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={shlex.quote(python_path())}\n"
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
        *(["seccomp=auto"] if seccomp and kernel.series >= SECCOMP else []),
    ]
    cpu, lock = _own_processor() if pinned else (None, None)

    def prepare() -> None:
        die_with_parent()
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": _memory(folder)}
    library = preloaded(kernel)
    if library is not None:
        environment["LD_PRELOAD"] = str(library)
    try:
        with (folder / f"{worker}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=prepare,
                pass_fds=() if lock is None else (lock,),
            )
    finally:
        if lock is not None:
            os.close(lock)


def _own_processor() -> tuple[int | None, int | None]:
    """Choose a processor that no other kernel of this user has, of those that this process may use.

    A kernel and its processes take turns at every system call, and wake each other fastest on one processor.

    Returns:
        Its number, and a descriptor with the lock on it (flock(2)), which lasts as long as a process has the
        descriptor. None and None if all are taken; then the scheduler decides.
    """
    folder = Path(tempfile.gettempdir()) / f"haltere-processors-{os.geteuid()}"
    for cpu in sorted(os.sched_getaffinity(0)):
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(folder / str(cpu), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            return cpu, lock
    return None, None


def _memory(folder: Path) -> str:
    """Where the kernel keeps its memory, as a file that has no name any more: in memory, if there is room for that."""
    shm = Path("/dev/shm")  # noqa: S108
    if not os.access(shm, os.W_OK):
        return str(folder)
    room = os.statvfs(shm)
    return str(shm) if room.f_bavail * room.f_frsize > 4 << 30 else str(folder)


def unshare_command() -> list[str]:
    """Return the command that opens the namespaces, as root or within a user namespace.

    Raises:
        InputError: if this machine does not allow it.
    """
    tool = shutil.which("unshare")
    if tool is None:
        raise InputError("a rig on this machine needs the program unshare", right="apt-get install util-linux")
    command = [tool, "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc"]
    return command if os.geteuid() == 0 else [*command[:1], "--user", "--map-root-user", *command[1:]]


def problem() -> str | None:
    """Return why no rig can stand on this machine, if that is so."""
    try:
        command = unshare_command()
    except InputError as error:
        return str(error)
    answer = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return answer.stderr.strip() or "namespaces are not allowed here"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun cannot be opened: load the module tun, or ask for access to it"
    return None


def start_here(folder: Path, worker: str, work: str = RUNS) -> subprocess.Popen[bytes]:
    """Start an agent that works off the jobs in a folder. What it prints goes to `folder/WORKER.log`."""
    agent = [sys.executable, "-m", "haltere.rig.agent", "local", str(folder.resolve()), worker, work]
    environment = {**os.environ, "PYTHONPATH": python_path(), "PYTHONDONTWRITEBYTECODE": "1"}
    with (folder / f"{worker}.log").open("wb") as log:
        return subprocess.Popen(
            [*unshare_command(), *agent],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
