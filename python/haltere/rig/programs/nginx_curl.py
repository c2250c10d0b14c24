"""nginx and curl: HTTP/2 and TLS 1.3 over the kernel's TCP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from haltere.rig.programs import _curl
from haltere.rig.programs.base import (
    NAME,
    OF_THE_KERNEL,
    Command,
    Congestion,
    Listening,
    Measured,
    Role,
    Setup,
    first_line,
    path,
)

_CONFIG = """\
daemon off;
master_process off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off;
  sendfile on;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {server}:{port} ssl http2;
    server_name {name};
    ssl_protocols TLSv1.3;
    ssl_certificate {cert};
    ssl_certificate_key {key};
    root {root};
  }}
}}
"""


class NginxCurl:
    """One process each; what matters on the wire is left as nginx and curl have it."""

    name = "nginx+curl"
    summary = "nginx and curl: HTTP/2, TLS 1.3, the kernel's TCP"
    role: Role = "contender"
    virtual: bool = True
    transport: Literal["tcp"] = "tcp"
    app: Literal["https"] = "https"
    packages: Mapping[str, str] = {"nginx": "apt-get install nginx-light", **_curl.PACKAGE}
    congestion: Congestion = OF_THE_KERNEL

    def version(self) -> str:
        return f"{first_line('nginx', '-v')}; {_curl.version()}"

    def server(self, at: Setup) -> Command:
        # As root, nginx gives its folders to a user of its own, which need not exist where the rig is.
        user = "user root root;" if os.geteuid() == 0 else ""
        config = _CONFIG.format(
            user=user,
            folder=at.folder,
            server=at.server,
            port=at.port,
            name=NAME,
            cert=at.cert,
            key=at.key,
            root=at.object.parent,
        )
        file = at.folder / "nginx.conf"
        argv = (path("nginx"), "-p", str(at.folder), "-e", str(at.folder / "nginx.log"), "-c", str(file))
        return Command(argv, files={file: config}, ready=Listening("tcp", at.port))

    def client(self, at: Setup) -> Command:
        return _curl.client(at)

    def read(self, at: Setup) -> Measured:
        return _curl.read(at)


PROGRAM = NginxCurl()
