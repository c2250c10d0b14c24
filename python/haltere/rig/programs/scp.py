"""scp: a load as people make it, a file over SSH."""

from __future__ import annotations

import contextlib
import getpass
from pathlib import Path

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Measured, Program, Setup

_KEY = "id"
_SEPARATION = Path("/run/sshd")
_CONFIG = """\
Port {port}
ListenAddress {server}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/{key}.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""


class Scp(Program):
    """Server and client with keys made for the transfer. sshd needs the real root: it changes users."""

    name = "scp"
    summary = "scp: a file over SSH beside contenders"
    role = "load"
    prepares = True
    app = "raw"
    packages = base.apt(sshd="openssh-server", scp="openssh-client") | base.apt(**{"ssh-keygen": "openssh-client"})

    def version(self) -> str:
        return base.first_line("ssh", "-V")

    def server(self, at: Setup) -> Command:
        # The only path outside the folder: sshd requires this empty folder, which its service would make.
        with contextlib.suppress(OSError):
            _SEPARATION.mkdir(mode=0o755)
        # Keys are made before the transfer by OpenSSH's own program, as they have its own format.
        for key in (at.folder / "host", at.folder / _KEY):
            if not key.exists():
                key.parent.mkdir(parents=True, exist_ok=True)
                _make_key(str(key))
        file = at.folder / "sshd.conf"
        config = _CONFIG.format(port=at.port, server=at.server, folder=at.folder, key=_KEY)
        return Command(
            (base.path("sshd"), "-D", "-e", "-f", str(file)), files={file: config}, ready=base.Listening("tcp", at.port)
        )

    def client(self, at: Setup) -> Command:
        options = (
            "StrictHostKeyChecking=no", f"UserKnownHostsFile={at.folder / 'known'}", "BatchMode=yes",
            f"HostKeyAlias={base.NAME}", f"BindAddress={at.client}", "IdentitiesOnly=yes",
        )  # fmt: skip
        words = tuple(word for option in options for word in ("-o", option))
        source = f"{getpass.getuser()}@{at.server}:{at.object}"
        key = str(at.folder / _KEY)
        argv = (base.path("scp"), "-F", "none", "-q", "-P", str(at.port), "-i", key, *words, source, "/dev/null")
        return Command(argv)

    def read(self, at: Setup) -> Measured:
        return Measured(bytes=at.size)


def _make_key(file: str) -> None:
    base.first_line("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", base.NAME, "-f", file)


PROGRAMS = (Scp(),)
