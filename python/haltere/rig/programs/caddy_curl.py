"""Caddy and curl: HTTP/2 and TLS 1.3 over the kernel's TCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from haltere.rig.programs import _caddy, _curl
from haltere.rig.programs.base import OF_THE_KERNEL, Command, Congestion, Measured, Role, Setup


class CaddyCurl:
    """A server in Go, a client in C."""

    name = "caddy+curl"
    summary = "Caddy and curl: HTTP/2, TLS 1.3, the kernel's TCP"
    role: Role = "contender"
    virtual: bool = True
    transport: Literal["tcp"] = "tcp"
    app: Literal["https"] = "https"
    packages: Mapping[str, str] = {**_caddy.PACKAGE, **_curl.PACKAGE}
    congestion: Congestion = OF_THE_KERNEL

    def version(self) -> str:
        return f"{_caddy.version()}; {_curl.version()}"

    def server(self, at: Setup) -> Command:
        return _caddy.server(at, "h1 h2")

    def client(self, at: Setup) -> Command:
        return _curl.client(at)

    def read(self, at: Setup) -> Measured:
        return _curl.read(at)


PROGRAM = CaddyCurl()
