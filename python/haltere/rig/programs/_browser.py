"""Chromium as a client of our own servers."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from haltere.rig.programs import _chromium
from haltere.rig.programs._own import Own
from haltere.rig.programs.base import NAME, Command, Congestion, Measured, ProgramError, Role, Setup, first_line, path

_SPKI_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""How a P-256 key begins in a certificate (SubjectPublicKeyInfo, RFC 5480); its point of 65 bytes follows."""

_LONGEST = 60
"""A socket's path has at most 107 characters (unix(7)), of which Chromium adds 47."""


@dataclass(frozen=True)
class Browser:
    """A server of ours, and headless Chromium on an empty profile that fetches from an empty page."""

    name: str
    summary: str
    own: Own
    protocol: Literal["h2", "h3"]
    role: Role = "contender"
    virtual: bool = False
    app: Literal["https", "raw"] = "https"
    packages: Mapping[str, str] = field(default_factory=lambda: {"chromium": "apt-get install chromium"})

    @property
    def transport(self) -> Literal["tcp", "quic", "mptcp"]:
        return self.own.transport

    @property
    def congestion(self) -> Congestion:
        return self.own.congestion

    def version(self) -> str:
        return first_line("chromium", "--version")

    def server(self, at: Setup) -> Command:
        return self.own.server(at)

    def client(self, at: Setup) -> Command:
        if len(str(at.folder)) > _LONGEST:
            raise ProgramError(f"{at.folder} is too long a path for Chromium's sockets: at most {_LONGEST} characters")
        url = f"https://{NAME}:{at.port}/{at.bytes_to_fetch()}"
        words = (str(at.folder / "client.json"), str(at.folder / "profile"), url, f"{NAME}:{at.port}", at.server)
        argv = (sys.executable, _chromium.__file__, *words, key_hash(at.cert), path("chromium"), self.protocol)
        return Command(argv, environment={"XDG_CONFIG_HOME": str(at.folder), "XDG_CACHE_HOME": str(at.folder)})

    def read(self, at: Setup) -> Measured:
        try:
            report = json.loads((at.folder / "client.json").read_text())
        except (OSError, ValueError) as error:
            raise ProgramError(f"Chromium left no report: {error}") from None
        if report["protocol"] != self.protocol:
            raise ProgramError(f"Chromium fetched by {report['protocol']} instead of {self.protocol}")
        times = {name: report.pop(name) for name in ("handshake_s", "first_byte_s", "completion_s")}
        return Measured(**times, details=report)


def key_hash(certificate: Path) -> str:
    """Return the base64 SHA-256 of a certificate's P-256 key, by which Chromium knows a certificate to let pass.

    Raises:
        ProgramError: if the certificate has another kind of key.
    """
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
    place = der.find(_SPKI_P256)
    if place < 0:
        raise ProgramError(f"{certificate} has no P-256 key, which Chromium needs: make it with kind p256")
    return base64.b64encode(hashlib.sha256(der[place : place + len(_SPKI_P256) + 65]).digest()).decode()
