"""The programs of a rig, each between two network namespaces that are made for it."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from haltere import _core
from haltere.rig import programs
from haltere.rig.programs import base
from haltere.rig.programs.base import Program, ProgramError, Setup
from haltere.rig.programs.chromium import key_hash
from haltere.rig.programs.process import Process, serving

SIZE = 300_000
SERVER, CLIENT = "10.9.0.1", "10.9.0.2"


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as home, Path("/run/netns", namespace).open() as there:
        assert libc.setns(there.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), 0x40000000) == 0


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and the program ip, to make network namespaces")
    names = (f"ht{os.getpid()}s", f"ht{os.getpid()}c")
    try:
        for name in names:
            ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr.strip()}")
    try:
        ip("link", "add", "veth", "netns", names[0], "type", "veth", "peer", "name", "veth", "netns", names[1])
        for name, address in zip(names, (SERVER, CLIENT), strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "veth")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "veth", "up")
        yield names
    finally:
        for name in names:
            ip("netns", "del", name)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    base.certificates(folder)
    return folder


@pytest.fixture
def setup(certificates: Path) -> Iterator[Setup]:
    # A short path, as browsers have sockets there; servers that give up root must be able to read it.
    with tempfile.TemporaryDirectory(prefix="ht", dir="/tmp") as top:
        Path(top).chmod(0o755)
        for folder in (Path(top, "work"), Path(top, "www")):
            folder.mkdir()
        thing = Path(top, "www", "index.html")
        thing.write_bytes(bytes(SIZE))
        yield Setup(
            server=SERVER, client=CLIENT, port=5001, congestion="cubic", folder=Path(top, "work"),
            certificates=certificates, object=thing, size=SIZE, duration_s=1,
        )  # fmt: skip


PROGRAMS = [
    pytest.param(program, id=f"{way}@{name}")
    for (way, name), program in programs.every().items()
    if program.app != "mqtt"  # brokers: tests/python/test_brokers.py
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_transfers(program: Program, namespaces: tuple[str, str], setup: Setup) -> None:
    lacking = base.missing(program)
    if lacking:
        pytest.skip(f"{program.name} is not there: {lacking}")
    assert program.version()
    if program.congestion.own:
        setup = dataclasses.replace(setup, congestion=next(iter(program.congestion.own)))
    with inside(namespaces[0]), contextlib.ExitStack() as stack:
        stack.enter_context(serving(program, setup))
        with inside(namespaces[1]):
            client = Process(program.client(setup), setup.folder, "client")
        try:
            client.wait(60)
        finally:
            client.end()
    told = program.read(setup)
    assert told.error is None
    if program.app == "call":
        assert told.call is not None
        assert 0 < len(told.call["shown"]) <= len(told.call["arrived"]) <= len(told.call["sent"])
    if program.role == "contender":
        assert told.bytes in (None, SIZE)
        times = [told.handshake_s, told.first_byte_s, told.completion_s]
        known = [time for time in times if time is not None]
        assert known == sorted(known)


def test_unknown_and_missing_programs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProgramError, match=r"there is no tcp@nothing: programs for tcp are .*hyper"):
        programs.find("tcp", "nothing")
    with pytest.raises(ProgramError, match="does not run in virtual time"):
        programs.find("tcp", "hyper+chromium", virtual=True)
    wanted = next(program for program in programs.every().values() if program.packages)
    monkeypatch.setattr(base.shutil, "which", lambda *_, **__: None)
    with pytest.raises(ProgramError, match="which this machine lacks"):
        programs.find(wanted.transport, wanted.name)


def test_congestion_control_is_named_in_the_programs_words() -> None:
    quinn, hyper = programs.every()["quic", "quinn"], programs.every()["tcp", "hyper"]
    assert hyper.congestion.word("newreno") == "reno"
    with pytest.raises(ProgramError, match="no congestion control 'vegas': it has newreno, cubic, bbr"):
        quinn.congestion.word("vegas")


def test_a_server_that_cannot_start_is_told(setup: Setup) -> None:
    command = base.Command(("false",), ready=base.Listening("tcp", 1))
    process = Process(command, setup.folder, "server")
    with pytest.raises(ProgramError, match="server ended at once with status 1: it said nothing"):
        process.wait_ready()


def test_our_client_tells_what_went_wrong(namespaces: tuple[str, str], setup: Setup) -> None:
    program = programs.find("tcp", "hyper")
    with inside(namespaces[1]):
        client = Process(program.client(setup), setup.folder, "client")
    with pytest.raises(ProgramError, match=r"10\.9\.0\.1:5001: cannot be connected to: Connection refused"):
        client.wait(30)
    assert "cannot be connected to" in (program.read(setup).error or "")


def test_an_unknown_congestion_control_is_refused_before_the_port_opens(setup: Setup) -> None:
    program = programs.find("tcp", "hyper")
    command = program.server(dataclasses.replace(setup, congestion="nosuch", server="127.0.0.1"))
    assert command is not None
    with pytest.raises(ProgramError, match="this kernel does not take nosuch"):
        Process(command, setup.folder, "server").wait_ready()


def test_a_certificate_of_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="right: p256 or ed25519"):
        _core.certificate(str(tmp_path), "rsa")
    _core.certificate(str(tmp_path), "ed25519")
    with pytest.raises(ProgramError, match="has no P-256 key"):
        key_hash(tmp_path / "cert.pem")


def test_every_program_is_listed() -> None:
    rows = {row["name"]: row for row in programs.rows()}
    assert {"tcp@hyper", "quic@quinn"} <= rows.keys()
    assert rows["quic@quinn"]["congestion"] == "newreno, cubic, bbr"


def test_a_process_that_takes_too_long_is_told_and_ended(setup: Setup) -> None:
    process = Process(base.Command(("sleep", "60")), setup.folder, "client")
    with pytest.raises(ProgramError, match=r"client did not end within 0\.01 s: it said nothing"):
        process.wait(0.01)
    process.end()
    with pytest.raises(ProgramError, match="client ended with status -15"):
        process.wait()
