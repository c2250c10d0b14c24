"""Caddy as a server: HTTP/2 over Go's TLS, or HTTP/3 over quic-go."""

from __future__ import annotations

from typing import Literal

from haltere.rig.programs.base import NAME, Command, Listening, Setup, first_line, path

PACKAGE = {"caddy": "go install github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9, then copy it to /usr/local/bin"}

_CONFIG = """\
{{
  admin off
  auto_https off
  persist_config off
  servers {{
    protocols {protocols}
  }}
}}
https://{name}:{port} {{
  bind {server}
  tls {cert} {key}
  root * {root}
  file_server
}}
"""


def version() -> str:
    """Return Caddy's version."""
    return f"caddy {first_line('caddy', 'version').split()[0]}"


def server(at: Setup, protocols: Literal["h1 h2", "h1 h2 h3"]) -> Command:
    """Show the object; HTTP/3 only beside the others, as Caddy has it."""
    file = at.folder / "Caddyfile"
    config = _CONFIG.format(
        name=NAME, port=at.port, server=at.server, cert=at.cert, key=at.key, root=at.object.parent, protocols=protocols
    )
    return Command(
        (path("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"),
        files={file: config},
        environment={"XDG_DATA_HOME": str(at.folder), "XDG_CONFIG_HOME": str(at.folder)},
        ready=Listening("udp" if "h3" in protocols else "tcp", at.port),
    )
