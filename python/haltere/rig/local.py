"""Starts an agent on this machine's own kernel, in namespaces that die with it.

The agent is the first process of a process namespace: when it ends, the kernel ends everything in it, and with the
last process and the last open descriptor the network namespaces go too. Nothing of a rig has a name outside, so nothing
can be left behind, however a run ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from haltere.errors import InputError
from haltere.rig.agent import RUNS
from haltere.rig.virtual import die_with_parent, python_path


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


def start(folder: Path, worker: str, work: str = RUNS) -> subprocess.Popen[bytes]:
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
