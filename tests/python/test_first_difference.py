"""The first packet at which two runs differ: found where a difference was planted, and where there is none, said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Haltere
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import (
    NEAR,
    Difference,
    Packet,
    Side,
    Way,
    between,
    compare,
    first_difference,
    like_a_node,
    simulated,
)
from haltere.errors import InputError
from haltere.rig.kernel import Kernel, find
from rigs import needs_node

CONDITIONS = Conditions(rate="20Mbit/s", rtt="40ms", size="1MB", app="raw")


def _packet(t_ms: float, way: Way = "sent", **fields: int) -> Packet:
    known = {"seq": 0, "len": 1448, "length": 1500, "ack": 0} | fields
    return Packet(t_s=t_ms / 1e3, way=way, flags="A", **known)


def _side(name: str, *, late: int | None = None, by_ms: float = 0.0) -> Side:
    """Forty data packets, 10 ms apart, each answered; that of number `late` leaves later, but nothing behind it."""
    packets = [_packet(10 * i + (by_ms if i == late else 0.0), seq=1448 * i) for i in range(40)]
    packets += [_packet(10 * i + 205, "received", len=0, length=52, ack=1448 * (i + 1)) for i in range(40)]
    return Side(name, tuple(sorted(packets, key=lambda packet: packet.t_s)), 0.605)


def test_a_late_packet_is_found_and_named() -> None:
    found = compare(0, _side("ours", late=30, by_ms=4.1), _side("theirs"), 0.001)
    assert found.pair is not None
    assert found.pair.known.seq == 30 * 1448
    assert (found.number, found.of_kind, found.compared) == (31, 31, 40)
    assert found.near[found.place] == found.pair
    assert len(found.near) == 2 * NEAR + 1
    assert found.sentence == (
        "ours's 31st data packet (43440:44888 A ack 0) leaves the sender 4.100 ms later than theirs's, at 304.100 ms"
    )


def test_a_packet_within_the_tolerance_does_not_differ() -> None:
    ours, theirs = _side("ours", late=30, by_ms=0.9), _side("theirs")
    assert compare(0, ours, theirs, 0.001).agrees
    assert not compare(0, ours, theirs, 0.0005).agrees
    assert "no packet differs: 80 packets" in compare(0, ours, theirs, 0.001).sentence


def test_the_earliest_of_two_directions_counts() -> None:
    ours, theirs = _side("ours", late=30, by_ms=4.0), _side("theirs")
    # The answer that arrives at 255 ms acknowledges less.
    changed = tuple(replace(p, ack=1448) if p.t_s == 0.255 else p for p in ours.packets)
    found = compare(0, replace(ours, packets=changed), theirs, 0.001)
    assert found.pair is not None
    assert (found.pair.known.way, found.number) == ("received", 6)
    assert "differs in its acknowledgement number: ours has 0 A ack 1448, theirs has 0 A ack 8688" in found.sentence


def test_a_missing_packet_is_found_unless_the_transfer_was_complete() -> None:
    ours, theirs = _side("ours"), _side("theirs")
    lacking = replace(theirs, packets=theirs.packets[:-1])  # what comes at 595 ms
    complete = replace(ours, end_s=0.5955)
    assert compare(0, complete, replace(lacking, end_s=0.5955), 0.001).agrees
    assert not compare(0, complete, replace(lacking, end_s=0.605), 0.001).agrees
    assert not compare(0, ours, replace(lacking, end_s=0.5955), 0.001).agrees
    gone = replace(theirs, packets=theirs.packets[:-5])
    found = compare(0, ours, gone, 0.001)
    assert found.pair is not None
    assert found.pair.second is None
    assert found.sentence.endswith("; theirs has no such packet")


def _planted(other: str) -> Difference:
    (found,) = between(CONDITIONS.scenario(["tcp/cubic"]), CONDITIONS.scenario([other]))
    return found


def test_a_planted_difference_between_two_contenders_is_found_at_its_packet() -> None:
    assert _planted("tcp/cubic").agrees
    # Twelve segments instead of ten: the eleventh data packet is the first that the other does not send at once.
    wider = _planted("tcp/cubic+initial-window=12")
    assert wider.pair is not None
    assert wider.pair.known.way == "sent"
    assert wider.of_kind == 11
    assert "11th data packet" in wider.sentence
    # HyStart ends slow start before anything is lost.
    hystart = _planted("tcp/cubic-hystart")
    assert hystart.pair is not None
    assert hystart.pair.known.len > 0
    state = hystart.near[hystart.place].first
    assert state is not None
    assert state.state.state == "congestion_avoidance"


def test_quic_is_compared_by_packet_numbers() -> None:
    (same,) = between(CONDITIONS.scenario(["quic/cubic"]), CONDITIONS.scenario(["quic/cubic"]))
    assert same.agrees
    assert same.compared > 1000
    (other,) = between(CONDITIONS.scenario(["quic/cubic"]), CONDITIONS.scenario(["quic/cubic-pacing"]))
    assert other.pair is not None


def test_what_has_no_packets_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="packets of QUIC are encrypted"):
        first_difference(["quic/cubic"], CONDITIONS)
    with pytest.raises(InputError, match="cannot be read"):
        between(replace(CONDITIONS, fidelity="linux").scenario(["tcp/cubic"]), CONDITIONS.scenario(["tcp/cubic"]))


def test_the_command_compares_two_contenders(haltere: Haltere) -> None:
    line = ("first-difference", "tcp/cubic", "--size", "200kB", "--against", "tcp/cubic+initial-window=12")
    done = haltere(*line)
    assert done.returncode == 0, done.stderr
    assert "11th data packet" in done.stdout
    (found,) = json.loads(haltere(*line, "--json").stdout)
    assert (found["number"], found["agrees"]) == (13, False)  # behind the SYN-ACK and the ACK of the request
    for wrong in (("--tolerance", "1p"), ("tcp/bbr",), ("--replication", "-1")):
        assert haltere(*line, *wrong).returncode == 2


def _at_the_kernel(contender: str, conditions: Conditions = CONDITIONS) -> Difference:
    kernel = replace(conditions, fidelity="stack").scenario(["tcp@linux/cubic"])
    (found,) = between(conditions.scenario([contender]), kernel)
    return found


@pytest.mark.parametrize(
    ("version", "bundle"),
    [("6.1.4", "6.12"), ("6.12.117", "6.12"), ("7.2", "6.12"), ("7.3.4", "7.3"), ("8.0.1", "7.3")],
)
def test_the_model_takes_the_mechanisms_of_the_kernels_version(version: str, bundle: str) -> None:
    kernel = Kernel("one", Path("linux"), version, 250, "0")
    assert like_a_node("tcp/cubic", kernel).startswith(f"tcp/cubic+as=linux-{bundle}+")
    assert "linux-" not in like_a_node("tcp/cubic+as=freebsd-14", kernel)


@needs_node
def test_model_and_kernel_agree_and_a_planted_difference_is_found() -> None:
    same = _at_the_kernel(like_a_node("tcp/cubic", find()))
    assert same.agrees, same.sentence
    assert same.compared > 1000
    # Without HyStart the model's window goes on growing: a data packet leaves that the kernel's window holds back.
    found = _at_the_kernel("tcp/cubic-hystart")
    assert found.pair is not None
    assert (found.pair.known.way, found.pair.known.len) == ("sent", 1448)
    assert found.sentence.startswith("tcp/cubic-hystart's ")
    assert "earlier than tcp@linux/cubic" in found.sentence
    # What is known of both: the kernel's threshold is set there, the model's is not.
    first, second = found.pair.first, found.pair.second
    assert first is not None
    assert second is not None
    assert (first.state.ssthresh, second.state.state) == (None, "congestion_avoidance")
    assert second.state.ssthresh is not None
    # The kernel's SYN-ACK gives another initial window: planted at the first flight.
    assert _at_the_kernel("tcp/cubic+initial-window=12").of_kind == 11


@needs_node
def test_the_command_lays_model_and_kernel_side_by_side(haltere: Haltere) -> None:
    line = ("first-difference", "tcp/cubic", "--rate", "20Mbit/s", "--rtt", "40ms", "--size", "300kB")
    done = haltere(*line)
    assert done.returncode == 0, done.stderr
    assert f"packets of {like_a_node('tcp/cubic', find())} and tcp@linux/cubic " in done.stdout
    (found,) = json.loads(haltere(*line, "--loss", "1%", "--json").stdout)
    assert found["compared"] > 100


@needs_node
def test_sack_blocks_are_compared_too() -> None:
    conditions = replace(CONDITIONS, loss="1%")
    (model,) = simulated(conditions.scenario(["tcp/cubic"]).concrete(), 1, 0)
    kernels = replace(conditions, fidelity="stack").scenario(["tcp@linux/cubic"])
    (kernel,) = simulated(kernels.concrete(), 1, 0, fidelity="stack")
    blocks = [[packet.sack for packet in side.of("received") if packet.sack][:5] for side in (model, kernel)]
    assert blocks[0] == blocks[1]
    assert blocks[0]


@needs_node
def test_the_models_bbr_begins_its_cycles_where_the_kernels_did() -> None:
    bbr = replace(CONDITIONS, rate="20Mbit/s", rtt="10ms", loss="0%", queue="0.5bdp", size="2MB")
    (found,) = first_difference(["tcp/bbr"], bbr)
    assert found.agrees, found.sentence
    assert found.compared > 2000
    # Of the seven phases in which its first cycle may begin, one agrees by far more than the others.
    ours, _, drawn = found.names[0].partition("+cycle-starts=")
    kernel = replace(bbr, fidelity="stack").scenario(["tcp@linux/bbr"])
    agreed = {}
    for phase in "1345678":
        (elsewhere,) = between(bbr.scenario([f"{ours}+cycle-starts={phase}"]), kernel)
        agreed[phase] = elsewhere.compared
    second, first = sorted(agreed.values())[-2:]
    assert first > 1.1 * second, agreed
    assert not drawn or agreed[drawn[0]] == first
