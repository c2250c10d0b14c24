"""Chromium as a client of our own servers, over QUIC with Google's implementation of it."""

from __future__ import annotations

import base64
import hashlib
import ssl
import sys
from pathlib import Path
from typing import Literal

from haltere.rig.programs import _chromium, base
from haltere.rig.programs.base import Command, Measured, Program, ProgramError, Setup
from haltere.rig.programs.own import HYPER, QUINN, Own

_SPKI_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""How a P-256 key begins in a certificate (SubjectPublicKeyInfo, RFC 5480); its point of 65 bytes follows."""

_LONGEST = 60
"""A socket's path has at most 107 characters (unix(7)), of which Chromium adds 47."""


class Browser(Program):
    """A server of ours, and headless Chromium on an empty profile that fetches from an empty page."""

    virtual = False
    packages = base.apt(chromium="chromium")

    def __init__(self, own: Own, summary: str, protocol: Literal["h2", "h3"]) -> None:
        self.name, self.summary = f"{own.name}+chromium", f"our {summary}"
        self.own, self.protocol, self.transport, self.congestion = own, protocol, own.transport, own.congestion

    def version(self) -> str:
        return base.first_line("chromium", "--version")

    def server(self, at: Setup) -> Command:
        return self.own.server(at)

    def client(self, at: Setup) -> Command:
        if len(str(at.folder)) > _LONGEST:
            raise ProgramError(f"{at.folder} is too long a path for Chromium's sockets: at most {_LONGEST} characters")
        url = f"https://{base.NAME}:{at.port}/{at.bytes_to_fetch()}"
        words = (str(at.folder / "client.json"), str(at.folder / "profile"), url, f"{base.NAME}:{at.port}", at.server)
        argv = (sys.executable, _chromium.__file__, *words, key_hash(at.cert), base.path("chromium"), self.protocol)
        return Command(argv, environment={"XDG_CONFIG_HOME": str(at.folder), "XDG_CACHE_HOME": str(at.folder)})

    def read(self, at: Setup) -> Measured:
        report = base.json_file(at.folder / "client.json", "Chromium")
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


PROGRAMS = (
    Browser(HYPER, "HTTP/2 server and headless Chromium, the kernel's TCP", "h2"),
    Browser(QUINN, "HTTP/3 server (quinn) and headless Chromium", "h3"),
)
