"""curl as a client: HTTP/2 over TLS 1.3, with its own times."""

from __future__ import annotations

from haltere.rig.programs.base import NAME, Command, Measured, Program, ProgramError, Setup, first_line, last_json, path


class Curl(Program):
    """A pair whose client is curl."""

    def version(self) -> str:
        return f"{self.server_version()}; {' '.join(first_line('curl', '--version').split()[:2])}"

    def server_version(self) -> str:
        raise NotImplementedError

    def client(self, at: Setup) -> Command:
        """Fetch the object over HTTP/2; curl prints its report."""
        options = (
            "--disable", "--silent", "--show-error", "--fail", "--noproxy", "*", "--http2", "--tlsv1.3",
            "--cacert", str(at.ca), "--resolve", f"{NAME}:{at.port}:{at.server}", "--interface", at.client,
            "--output", "/dev/null", "--write-out", "%{json}\\n",
        )  # fmt: skip
        return Command((path("curl"), *options, at.named_url))

    def read(self, at: Setup) -> Measured:
        report = last_json(at.client_log, "curl")
        if report["http_version"] != "2":
            raise ProgramError(f"curl fetched over HTTP/{report['http_version']} instead of HTTP/2")
        return Measured(
            handshake_s=report["time_appconnect"],
            first_byte_s=report["time_starttransfer"],
            completion_s=report["time_total"],
            bytes=report["size_download"],
            details={"connect_s": report["time_connect"]},
        )
