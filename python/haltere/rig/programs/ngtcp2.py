"""ngtcp2's example server and client: HTTP/3 over QUIC, TLS by GnuTLS."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Measured, Program, ProgramError, Setup

_SERVER, _CLIENT = "gtlsserver", "gtlsclient"


class Ngtcp2(Program):
    """Datagrams are sent one by one, so that a queue sees packets and not trains of them; the rest is ngtcp2's own."""

    name = "ngtcp2"
    summary = "ngtcp2's examples: HTTP/3, QUIC with its own congestion control, TLS by GnuTLS"
    transport = "quic"
    packages = base.apt(gtlsserver="ngtcp2-server", gtlsclient="ngtcp2-client")
    congestion = base.Congestion("program", {"newreno": "reno", "cubic": "cubic", "bbr": "bbr", "bbr2": "bbr2"})

    def version(self) -> str:
        return f"ngtcp2 {base.debian_version('ngtcp2-server')}"

    def server(self, at: Setup) -> Command:
        # The list of media types must be there, or the server ends; an empty one will do.
        types = at.folder / "mime.types"
        options = (
            "--quiet", "--max-gso-dgrams=1", f"--cc={self.congestion.word(at.congestion)}",
            f"--htdocs={at.object.parent}", f"--mime-types-file={types}",
        )  # fmt: skip
        argv = (base.path(_SERVER), *options, at.server, str(at.port), str(at.key), str(at.cert))
        return Command(argv, files={types: ""}, ready=base.Listening("udp", at.port))

    def client(self, at: Setup) -> Command:
        # The object is kept, to be counted: the client ends with status 0 even if it got none.
        download = at.folder / "download"
        options = (
            "--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close", f"--download={download}",
            f"--sni={base.NAME}",
        )  # fmt: skip
        argv = (base.path(_CLIENT), *options, at.server, str(at.port), at.named_url)
        return Command(argv, files={download / ".here": ""})

    def read(self, at: Setup) -> Measured:
        got = at.folder / "download" / at.object.name
        if not got.is_file():
            raise ProgramError("ngtcp2's client ended without the object")
        return Measured(bytes=got.stat().st_size)


PROGRAMS = (Ngtcp2(),)
