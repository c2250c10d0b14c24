"""Caddy and curl: HTTP/2 and TLS 1.3 over the kernel's TCP."""

from __future__ import annotations

from haltere.rig.programs._curl import Curl
from haltere.rig.programs.base import NAME, Command, Listening, Setup, apt, first_line, path

_CONFIG = """\
{{
  admin off
  auto_https off
  persist_config off
  servers {{
    protocols h1 h2
  }}
}}
https://{name}:{port} {{
  bind {server}
  tls {cert} {key}
  root * {root}
  file_server
}}
"""


class CaddyCurl(Curl):
    """A server in Go, a client in C."""

    name = "caddy+curl"
    summary = "Caddy and curl: HTTP/2, TLS 1.3, the kernel's TCP"
    packages = apt(curl="curl") | {
        "caddy": "go install github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9, then copy it to /usr/local/bin"
    }

    def server_version(self) -> str:
        return f"caddy {first_line('caddy', 'version').split()[0]}"

    def server(self, at: Setup) -> Command:
        file = at.folder / "Caddyfile"
        config = _CONFIG.format(
            name=NAME, port=at.port, server=at.server, cert=at.cert, key=at.key, root=at.object.parent
        )
        return Command(
            (path("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"),
            files={file: config},
            environment={"XDG_DATA_HOME": str(at.folder), "XDG_CONFIG_HOME": str(at.folder)},
            ready=Listening("tcp", at.port),
        )


PROGRAMS = (CaddyCurl(),)
