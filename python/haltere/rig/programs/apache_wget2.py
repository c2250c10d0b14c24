"""Apache and wget2: HTTP/2 and TLS 1.3 over the kernel's TCP.

wget2 1.99.1 leaves HTTP/2's window of a connection at its first 65 535 bytes (RFC 9113 section 6.9.2) and renews it
when half of it is used up: three frames, some 40 kB, come in a round trip, whatever the path carries. That is how the
pair is; `apache+wget2_http11` is the same without HTTP/2 and without that limit.
"""

from __future__ import annotations

import os
from pathlib import Path

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Program, Setup

_MODULES = Path("/usr/lib/apache2/modules")
_USER, _UID = "www-data", 33
"""Debian's user for web servers."""

_CONFIG = """\
ServerRoot {folder}
ServerName {name}
DefaultRuntimeDir {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
{modules}
User {user}
Group {user}
ServerLimit 4
StartServers 1
MaxRequestWorkers 100
Listen {server}:{port}
Protocols {protocol}
SSLEngine on
SSLProtocol -all +TLSv1.3
SSLCertificateFile {cert}
SSLCertificateKeyFile {key}
SSLSessionCache none
TypesConfig /dev/null
DocumentRoot {root}
<Directory {root}>
  Require all granted
</Directory>
"""


class ApacheWget2(Program):
    """Everything that matters on the wire is left as Apache and wget2 have it."""

    name = "apache+wget2"
    summary = "Apache and wget2: HTTP/2 (some 40 kB a round trip, wget2's limit), TLS 1.3, the kernel's TCP"
    protocol = "h2"
    """The protocol's name for ALPN."""
    option = "--http2"
    """wget2's option for it."""
    packages = base.apt(apache2="apache2", wget2="wget2")

    def version(self) -> str:
        return f"{base.first_line('apache2', '-v')}; {base.first_line('wget2', '--version')}"

    def server(self, at: Setup) -> Command:
        modules = ("mpm_event", "authz_core", "mime", "socache_shmcb", "ssl", "http2")
        config = _CONFIG.format(
            folder=at.folder, name=base.NAME, user=_USER, server=at.server, port=at.port, protocol=self.protocol,
            cert=at.cert, key=at.key, root=at.object.parent,
            modules="\n".join(f"LoadModule {name}_module {_MODULES}/mod_{name}.so" for name in modules),
        )  # fmt: skip
        file = at.folder / "apache.conf"
        argv = (base.path("apache2"), "-D", "FOREGROUND", "-f", str(file))
        return Command((*_as_web_server(), *argv), files={file: config}, ready=base.Listening("tcp", at.port))

    def client(self, at: Setup) -> Command:
        # The certificate has no address, there is no name server, and wget2 takes no name besides an address.
        options = (
            "--no-config", "--no-verbose", "--tries=1", "--max-threads=1", "--no-robots", "--no-hsts", "--no-hpkp",
            "--no-ocsp", "--no-tls-resume", "--no-check-certificate", f"--bind-address={at.client}",
            "--no-proxy", "--output-document=/dev/null", self.option,
        )  # fmt: skip
        return Command((base.path("wget2"), *options, at.url))


def _as_web_server() -> tuple[str, ...]:
    """Apache refuses to serve as root. Where root is all there is (in a user namespace), it becomes another."""
    ranges = [[int(word) for word in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if os.geteuid() != 0 or any(first <= _UID < first + count for first, _, count in ranges):
        return ()
    return (base.path("unshare"), "--user", f"--map-user={_UID}", f"--map-group={_UID}")


class ApacheWget2Http11(ApacheWget2):
    """HTTP/1.1 has no windows of its own: the kernel's TCP alone limits the transfer."""

    name = "apache+wget2_http11"
    summary = "Apache and wget2: HTTP/1.1, TLS 1.3, the kernel's TCP"
    protocol = "http/1.1"
    option = "--no-http2"


PROGRAMS = (ApacheWget2(), ApacheWget2Http11())
