"""The interface of a program: how a rig starts its server and client, and reads their reports of a transfer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from haltere import _core, core

NAME = "haltere.test"
"""The server's name in the certificates that `certificates` makes."""

Role = Literal["contender", "load"]
Transport = Literal["tcp", "quic", "mptcp", "icmp", "rtp"]


class ProgramError(Exception):
    """A program is missing, does not start, or does not do its part; the message says what would be right."""


@dataclass(frozen=True)
class Call:
    """The encoder of a call."""

    rate_bps: int = 1_500_000
    """Its largest rate, of the payload of RTP packets."""
    frames: int = 30
    """Its frames in a second."""


@dataclass(frozen=True)
class Setup:
    """The setup of one transfer: addresses, folders, the object. All paths are absolute."""

    server: str
    """IPv4 address of the server."""
    client: str
    """IPv4 address of the client."""
    port: int
    """The server's port; loads that use a second one take the next."""
    congestion: str
    """Congestion control by the contender's word, e.g. `newreno`."""
    folder: Path
    """An empty folder in memory; the program writes nowhere else. Users other than root may have to read it."""
    certificates: Path
    """Folder with `ca.pem`, `cert.pem` and `key.pem` (ECDSA P-256, for `haltere.test`)."""
    object: Path
    """A file of `size` bytes; its folder is what a server shows."""
    size: int | None = None
    """Bytes to transfer; `None`: until `duration_s` has passed or the client is ended."""
    duration_s: float | None = None
    """How long a load lasts, seconds."""
    call: Call | None = None
    """The encoder, if it is a call."""
    as_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    """Whether the programs are started by the real root or by one in a user namespace."""

    @property
    def url(self) -> str:
        """The object by the server's address."""
        return f"https://{self.server}:{self.port}/{self.object.name}"

    @property
    def named_url(self) -> str:
        """The object by the server's name."""
        return f"https://{NAME}:{self.port}/{self.object.name}"

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.certificates / "ca.pem"

    @property
    def cert(self) -> Path:
        """The server's certificate."""
        return self.certificates / "cert.pem"

    @property
    def key(self) -> Path:
        """The server's private key."""
        return self.certificates / "key.pem"

    @property
    def client_log(self) -> Path:
        """Where what the client prints goes."""
        return self.folder / "client.log"

    def bytes_to_fetch(self) -> int:
        """Return the size; raise `ProgramError` if the transfer has none."""
        if self.size is None:
            raise ProgramError("this program fetches an object of a given size: give the flow a size")
        return self.size


@dataclass(frozen=True)
class Listener:
    """Where a broker of MQTT waits for clients."""

    address: str
    port: int
    carrier: str
    """`tcp`, `tls` (over TCP) or `quic`."""


@dataclass(frozen=True)
class Broker:
    """How a broker of MQTT is to behave."""

    listeners: tuple[Listener, ...]
    limits: Mapping[str, int]
    """`queue`, `queue_qos0`, `window`, `topic_alias_maximum`, as `[[brokers]]` of a scenario has them."""
    nagle: bool
    """Whether its TCP connections keep Nagle's algorithm."""


@dataclass(frozen=True)
class Listening:
    """A server is ready when this port is open."""

    protocol: Literal["tcp", "udp"]
    port: int


@dataclass(frozen=True)
class Command:
    """A process to start: no shell, `files` written first, the working folder is the place's."""

    argv: tuple[str, ...]
    files: Mapping[Path, str] = field(default_factory=dict)
    """Texts of files by absolute path."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The whole environment but for PATH."""
    ready: Listening | None = None
    """For servers: when clients may come."""
    peer: tuple[str, ...] | None = None
    """For our own pair: arguments of `_core.peer`, which runs in a fork of a process that has it loaded."""


@dataclass(frozen=True)
class Measured:
    """The client's own report of the transfer; seconds from its own start. `None`: it does not say."""

    handshake_s: float | None = None
    first_byte_s: float | None = None
    completion_s: float | None = None
    bytes: int | None = None
    error: str | None = None
    call: Mapping[str, Any] | None = None
    """Of a call: when frames were `sent`, whole (`arrived`, with their bytes) and `shown`, s from the first of each."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else it says, by the program's own words."""


@dataclass(frozen=True)
class Congestion:
    """How a program's congestion control is chosen."""

    by: Literal["socket", "namespace", "program"]
    """`socket`: the program asks the kernel for any it has. `namespace`: it takes the kernel's default, so that the rig
    sets `net.ipv4.tcp_congestion_control` in the server's namespace before the server starts. `program`: its own."""
    own: Mapping[str, str] = field(default_factory=dict)
    """The program's word for each of ours, if it has its own."""

    def word(self, name: str) -> str:
        """Return the kernel's or the program's word; raise `ProgramError` if the program has no such algorithm."""
        if self.by != "program":
            return core.in_kernel(name)
        if name not in self.own:
            raise ProgramError(f"this program has no congestion control {name!r}: it has {', '.join(self.own)}")
        return self.own[name]

    def describe(self) -> str:
        """Return what can be chosen, for a table."""
        return (", ".join(self.own) or "none") if self.by == "program" else "any of the kernel's"


OF_THE_KERNEL = Congestion("namespace")


class Program(ABC):
    """A server and a client that can stand in for a contender's implementation, or make a load."""

    name: str
    """The implementation's name after the @."""
    summary: str
    """A description in a line."""
    role: Role = "contender"
    """Whether it is a contender or a load beside contenders."""
    virtual: bool = True
    """Whether it also runs in a kernel's virtual time; what polls its clock or starts too much does not."""
    prepares: bool = False
    """Whether `server` or `client` write files beside `Command.files`, and so must be called where the programs run."""
    transport: Transport = "tcp"
    app: Literal["https", "raw", "mqtt", "call"] = "https"
    """The kind of traffic on the transport."""
    packages: Mapping[str, str] = MappingProxyType({})
    """The executables that have to be there, each with the way to get it."""
    congestion: Congestion = OF_THE_KERNEL
    """How its congestion control is chosen."""

    @abstractmethod
    def version(self) -> str:
        """Return the version, for the manifest."""

    @abstractmethod
    def server(self, at: Setup) -> Command | None:
        """Return the server, if there is one. Files that it reads may be written by `Command.files`."""

    @abstractmethod
    def client(self, at: Setup) -> Command:
        """Return the client; when it has ended with status 0 the transfer is over."""

    def read(self, at: Setup) -> Measured:  # noqa: ARG002 (most clients leave a report)
        """Return what the client said. Only after it has ended."""
        return Measured()


class BrokerProgram(Program):
    """A broker of MQTT; its clients are our own."""

    app = "mqtt"
    forwards_at_once: bool
    """Whether it passes messages of QoS 2 on when they come, and not once they are released."""

    @abstractmethod
    def broker(self, at: Setup, how: Broker) -> Command:
        """Return the broker. It is ready when its last listener is."""

    def server(self, at: Setup) -> Command:  # noqa: ARG002
        """Refuse a flow without messages."""
        raise ProgramError(f"{self.name} is a broker: give the flow a table mqtt")

    client = server


def apt(**packages: str) -> dict[str, str]:
    """Return the executables of Debian packages, each with the way to get it."""
    return {name: f"apt-get install {package}" for name, package in packages.items()}


def built(program: str) -> dict[str, str]:
    """Return an executable that is built from `peers`, with the way to get it."""
    return {f"haltere-{program}": f"cd peers/{program} && go build -o /usr/local/bin/haltere-{program} ."}


ALONE = {"QUIC_GO_DISABLE_GSO": "true"}
"""The environment in which quic-go sends datagrams one by one, so that a queue sees packets and not trains of them."""


def missing(program: Program) -> dict[str, str]:
    """Return the executables of a program that are not there, each with the way to get it."""
    return {name: how for name, how in program.packages.items() if find(name) is None}


def find(executable: str) -> str | None:
    """Return the path of an executable, which may lie where only root looks."""
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))
    return shutil.which(executable, path=places)


def path(executable: str) -> str:
    """Return the path of an executable, or its name if there is none, which then fails with that name."""
    return find(executable) or executable


def first_line(*argv: str) -> str:
    """Return the first line that a program prints about itself."""
    try:
        output = subprocess.run([path(argv[0]), *argv[1:]], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{argv[0]} does not print its version: {error}") from None
    lines = [line.strip() for line in (output.stdout + output.stderr).splitlines() if line.strip()]
    return lines[0] if lines else "unknown"


def debian_version(package: str) -> str:
    """Return the version of a Debian package, for a program that does not print its own."""
    return first_line("dpkg-query", "--show", "--showformat", "${Version}\n", package)


def last_json(log: Path, who: str) -> dict[str, Any]:
    """Return the JSON object on the last line of a log; raise `ProgramError` if there is none."""
    try:
        output: dict[str, Any] = json.loads(log.read_text(errors="replace").strip().splitlines()[-1])
    except (OSError, ValueError, IndexError) as error:
        raise ProgramError(f"{who} left no report: {error}") from None
    return output


def json_file(report: Path, who: str) -> dict[str, Any]:
    """Return the JSON object in a file that a client wrote; raise `ProgramError` if there is none."""
    try:
        output: dict[str, Any] = json.loads(report.read_text(errors="replace"))
    except (OSError, ValueError) as error:
        raise ProgramError(f"{who} left no report: {error}") from None
    return output


def certificates(folder: Path) -> None:
    """Make the certificates of a rig in `folder`, unless they are there; all transfers share them."""
    if not (folder / "cert.pem").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _core.certificate(str(folder), "p256")
