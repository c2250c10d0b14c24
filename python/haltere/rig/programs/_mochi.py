"""mochi, a broker of MQTT in Go; the program is `peers/mochi`, its clients are our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from haltere.rig.programs.base import (
    Broker,
    Command,
    Congestion,
    Listening,
    Measured,
    ProgramError,
    Role,
    Setup,
    first_line,
    path,
)

_PROGRAM = "haltere-mochi"
_ALONE = {"QUIC_GO_DISABLE_GSO": "true"}
"""Datagrams are sent one by one, so that a queue sees packets and not trains of them."""
_NO_FLOW = "mochi is a broker: give the flow a table mqtt"


@dataclass(frozen=True)
class Mochi:
    """A broker that passes messages of QoS 2 on when they come."""

    transport: Literal["tcp", "quic"]
    summary: str
    congestion: Congestion
    name: str = "mochi"
    role: Role = "contender"
    virtual: bool = True
    app: Literal["mqtt"] = "mqtt"
    forwards_at_once: bool = True
    packages: Mapping[str, str] = field(
        default_factory=lambda: {_PROGRAM: f"cd peers/mochi && go build -o /usr/local/bin/{_PROGRAM} ."}
    )

    def version(self) -> str:
        return first_line(_PROGRAM, "version")

    def broker(self, at: Setup, how: Broker) -> Command:
        if how.limits["queue_qos0"]:
            raise ProgramError("mochi keeps no messages of QoS 0: leave queue_qos0 out, or choose tcp@mosquitto")
        if how.nagle:
            raise ProgramError("Go's sockets have TCP_NODELAY: leave +nagle out, or choose tcp@mosquitto")
        numbers = (str(how.limits[name]) for name in ("window", "queue", "topic_alias_maximum"))
        places = (f"{one.carrier}://{one.address}:{one.port}" for one in how.listeners)
        last = how.listeners[-1]
        return Command(
            (path(_PROGRAM), "broker", str(at.cert), str(at.key), *numbers, *places),
            environment=_ALONE,
            ready=Listening("udp" if last.carrier == "quic" else "tcp", last.port),
        )

    def server(self, _: Setup) -> Command:
        raise ProgramError(_NO_FLOW)

    def client(self, _: Setup) -> Command:
        raise ProgramError(_NO_FLOW)

    def read(self, _: Setup) -> Measured:
        return Measured()
