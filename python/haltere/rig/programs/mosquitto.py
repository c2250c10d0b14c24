"""mosquitto, a broker of MQTT over TCP and TLS; its clients are our own."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs.base import BrokerProgram, Command, ProgramError, Setup


class Mosquitto(BrokerProgram):
    """It is as its defaults make it, but for TCP_NODELAY, which it sets unless the contender has `+nagle`.

    It keeps nothing on disk, and publishes no statistics: both would wake it up.
    """

    name = "mosquitto"
    summary = "mosquitto: a broker of MQTT over TCP or TLS"
    packages = base.apt(mosquitto="mosquitto")
    forwards_at_once = False

    def version(self) -> str:
        return base.first_line("mosquitto", "-h")

    def broker(self, at: Setup, how: base.Broker) -> Command:
        file = at.folder / "mosquitto.conf"
        lines = [
            "per_listener_settings false",
            *(line for one in how.listeners for line in self._listener(at, one, how)),
            "allow_anonymous true",
            # It would become another user, who could not read its certificates.
            "user root",
            "persistence false",
            "sys_interval 0",
            f"set_tcp_nodelay {'false' if how.nagle else 'true'}",
            f"max_inflight_messages {how.limits['window']}",
            f"max_queued_messages {how.limits['queue']}",
            f"queue_qos0_messages {'true' if how.limits['queue_qos0'] else 'false'}",
            "log_dest stdout",
            "log_type error",
            "log_type warning",
        ]
        return Command(
            (base.path("mosquitto"), "-c", str(file)),
            files={file: "\n".join(lines) + "\n"},
            ready=base.Listening("tcp", how.listeners[-1].port),
        )

    def _listener(self, at: Setup, one: base.Listener, how: base.Broker) -> list[str]:
        if one.carrier == "quic":
            raise ProgramError("mosquitto has no QUIC: choose quic@mochi, or tcp for this connection")
        lines = [f"listener {one.port} {one.address}", f"max_topic_alias {how.limits['topic_alias_maximum']}"]
        if one.carrier == "tls":
            lines += [f"certfile {at.cert}", f"keyfile {at.key}", "tls_version tlsv1.3"]
        return lines


PROGRAMS = (Mosquitto(),)
