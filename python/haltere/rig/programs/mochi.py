"""mochi, a broker of MQTT in Go, over TCP, TLS by Go, and QUIC by quic-go; the program is `peers/mochi`."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs.base import BrokerProgram, Command, ProgramError, Setup

_PROGRAM = "haltere-mochi"


class Mochi(BrokerProgram):
    """A broker that passes messages of QoS 2 on when they come."""

    name = "mochi"
    forwards_at_once = True
    packages = base.built("mochi")

    def __init__(self, transport: base.Transport, summary: str, congestion: base.Congestion) -> None:
        self.transport, self.summary, self.congestion = transport, f"mochi: a broker of MQTT over {summary}", congestion

    def version(self) -> str:
        return base.first_line(_PROGRAM, "version")

    def broker(self, at: Setup, how: base.Broker) -> Command:
        if how.limits["queue_qos0"]:
            raise ProgramError("mochi keeps no messages of QoS 0: leave queue_qos0 out, or choose tcp@mosquitto")
        if how.nagle:
            raise ProgramError("Go's sockets have TCP_NODELAY: leave +nagle out, or choose tcp@mosquitto")
        numbers = (str(how.limits[name]) for name in ("window", "queue", "topic_alias_maximum"))
        places = (f"{one.carrier}://{one.address}:{one.port}" for one in how.listeners)
        last = how.listeners[-1]
        return Command(
            (base.path(_PROGRAM), "broker", str(at.cert), str(at.key), *numbers, *places),
            environment=base.ALONE,
            ready=base.Listening("udp" if last.carrier == "quic" else "tcp", last.port),
        )


PROGRAMS = (
    Mochi(
        "quic",
        "QUIC (quic-go, NewReno); its clients have the congestion control",
        base.Congestion("program", {name: name for name in ("cubic", "newreno", "bbr")}),
    ),
    Mochi("tcp", "TCP or TLS", base.OF_THE_KERNEL),
)
