"""Apache and wget2 without HTTP/2."""

from __future__ import annotations

from haltere.rig.programs.apache_wget2 import ApacheWget2


class ApacheWget2Http11(ApacheWget2):
    """HTTP/1.1 has no windows of its own: the kernel's TCP alone limits the transfer."""

    name = "apache+wget2_http11"
    summary = "Apache and wget2: HTTP/1.1, TLS 1.3, the kernel's TCP"
    protocol = "http/1.1"
    option = "--no-http2"


PROGRAM = ApacheWget2Http11()
