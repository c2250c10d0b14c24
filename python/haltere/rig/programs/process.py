"""Starts the processes of programs, waits for them and ends them. Whatever is started here is ended by its own id."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from haltere import _core
from haltere.rig.programs.base import Command, Listening, Program, ProgramError, Setup

_LISTEN = {"tcp": "0A", "udp": "07"}
"""The states of `/proc/net/tcp` and `/proc/net/udp` in which clients may come."""
_LOOK_S = 0.002
_LONGEST_MS = 2**31 - 1
"""The longest timeout that poll(2) takes."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Process:
    """A process that was started from a `Command`, in the network namespace of the calling thread."""

    def __init__(self, command: Command, folder: Path, name: str) -> None:
        """Write the command's files and start it; `name` names its log in `folder`.

        Raises:
            ProgramError: if it cannot be started.
        """
        self.name, self.command = name, command
        self.log = folder / f"{name}.log"
        for path, text in command.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with self.log.open("wb") as log:
            self._child = _fork(command.peer, log) if command.peer else _spawn(command, folder, log)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._child.pid

    @classmethod
    def ready(cls, command: Command, folder: Path, name: str) -> Process:
        """Start a server and wait until its port is open; it is ended if that fails.

        Raises:
            ProgramError: if it cannot be started, or does not open its port.
        """
        process = cls(command, folder, name)
        try:
            process.wait_ready()
        except BaseException:
            process.end()
            raise
        return process

    def wait_ready(self, timeout_s: float = 30) -> None:
        """Wait until the server's port is open, in the calling thread's namespace.

        Raises:
            ProgramError: if it ends before, or takes too long.
        """
        ready = self.command.ready
        deadline = time.monotonic() + timeout_s
        while ready and not listens(ready):
            if self._child.poll() is not None:
                raise ProgramError(f"{self.name} ended at once with status {self._child.returncode}: {self.said()}")
            if time.monotonic() > deadline:
                raise ProgramError(f"{self.name} did not open its port within {timeout_s:g} s: {self.said()}")
            time.sleep(_LOOK_S)

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until it has ended; raise `ProgramError` if it fails, or takes too long."""
        if not self._ended(timeout_s):
            raise ProgramError(f"{self.name} did not end within {timeout_s:g} s: {self.said()}")
        self._signal(signal.SIGKILL)
        status = self._child.wait()
        if status != 0:
            raise ProgramError(f"{self.name} ended with status {status}: {self.said()}")

    def end(self, patience_s: float = 5) -> None:
        """End it and all that it started, kindly at first."""
        self._signal(signal.SIGTERM)
        self._ended(patience_s)
        self._signal(signal.SIGKILL)
        self._child.wait()

    def _ended(self, timeout_s: float | None) -> bool:
        """Sleep until it has ended, without looking again and again: in virtual time every look costs real time."""
        if self._child.returncode is not None:
            return True
        with os.fdopen(os.pidfd_open(self.pid), "rb", buffering=0) as alive:
            waiting = select.poll()
            waiting.register(alive, select.POLLIN)
            return bool(waiting.poll(None if timeout_s is None else min(timeout_s * 1000, _LONGEST_MS)))

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to it and all that it started: until it is waited for, its group's number is nobody else's."""
        if self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def said(self) -> str:
        """Return the last of what it printed."""
        return last_lines(self.log)


def last_lines(log: Path) -> str:
    """Return the last of what a program printed, in one line."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    return " | ".join(lines[-3:]) or "it said nothing"


class _Forked:
    """As much of `subprocess.Popen` as is needed, for a child that was forked."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, None if pid else 0

    def poll(self) -> int | None:
        if self.returncode is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if found else None
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _fork(peer: tuple[str, ...], log: IO[bytes]) -> _Forked:
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        return _Forked(pid)
    status = 1
    try:
        os.setpgid(0, 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        status = _core.peer(list(peer))
    finally:
        os._exit(status)


def _spawn(command: Command, folder: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {"PATH": _PATH, "HOME": str(folder), "TMPDIR": str(folder), **command.environment}
    try:
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            process_group=0,
        )
    except OSError as error:
        raise ProgramError(f"{command.argv[0]} cannot be started: {error}") from None


def listens(what: Listening) -> bool:
    """Return whether the port is open in the calling thread's network namespace."""
    for version in ("", "6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(f"/proc/thread-self/net/{what.protocol}{version}").read_text().splitlines()[1:]:
                local, _, state = line.split()[1:4]
                if state == _LISTEN[what.protocol] and int(local.rpartition(":")[2], 16) == what.port:
                    return True
    return False


@contextlib.contextmanager
def serving(program: Program, at: Setup) -> Iterator[Process | None]:
    """Run a program's server as long as the block lasts, in the calling thread's namespace."""
    command = program.server(at)
    if command is None:
        yield None
        return
    process = Process.ready(command, at.folder, "server")
    try:
        yield process
    finally:
        process.end()
