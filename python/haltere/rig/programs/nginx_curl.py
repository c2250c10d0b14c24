"""nginx and curl: HTTP/2 and TLS 1.3 over the kernel's TCP."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs._curl import Curl
from haltere.rig.programs.base import Command, Setup

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


class NginxCurl(Curl):
    """One process each; what matters on the wire is left as nginx and curl have it."""

    name = "nginx+curl"
    summary = "nginx and curl: HTTP/2, TLS 1.3, the kernel's TCP"
    packages = base.apt(nginx="nginx-light", curl="curl")

    def server_version(self) -> str:
        return base.first_line("nginx", "-v")

    def server(self, at: Setup) -> Command:
        # As root, nginx gives its folders to a user of its own, which need not exist where the rig is.
        user = "user root root;" if at.as_root else ""
        config = _CONFIG.format(
            user=user, folder=at.folder, server=at.server, port=at.port, name=base.NAME, cert=at.cert, key=at.key,
            root=at.object.parent,
        )  # fmt: skip
        file = at.folder / "nginx.conf"
        argv = (base.path("nginx"), "-p", str(at.folder), "-e", str(at.folder / "nginx.log"), "-c", str(file))
        return Command(argv, files={file: config}, ready=base.Listening("tcp", at.port))


PROGRAMS = (NginxCurl(),)
