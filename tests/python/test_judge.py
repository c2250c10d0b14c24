"""The numbers that a judge sees of flows are those of the controls that sent them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import judge
from haltere.adhoc.packets import Packet, Side, Way, simulated
from judge_features import SEGMENT, Numbers, Wire, factors, rounds


def _packet(t_ms: float, way: Way, place: int, *, sack: tuple[tuple[int, int], ...] = ()) -> Packet:
    length = int(SEGMENT) if way == "sent" else 0
    there = int(SEGMENT) * place
    seq, ack = (there, 0) if length else (0, there)
    return Packet(t_s=t_ms / 1e3, way=way, seq=seq, len=length, length=length + 52, flags="A", ack=ack, sack=sack)


def test_a_reduction_lasts_from_the_retransmission_until_all_of_then_is_acknowledged() -> None:
    sent = [_packet(i, "sent", i) for i in range(8)] + [_packet(101, "sent", 0), _packet(160, "sent", 8)]
    held = ((1448, 8 * 1448),)
    acks = [_packet(100, "received", 0, sack=held), _packet(150, "received", 8), _packet(210, "received", 9)]
    wire = Wire.of(Side("planted", tuple(sorted(sent + acks, key=lambda packet: packet.t_s)), 0.21))
    assert wire.reductions() == [(0.101, 0.15)]
    assert list(np.flatnonzero(wire.again)) == [8]
    assert list(wire.flight) == [1, 2, 3, 4, 5, 6, 7, 8, 8, 1]
    # An acknowledgement of a retransmission, or with SACK blocks, tells no RTT.
    assert list(np.isnan(wire.round_trips())) == [True, True, False]


@pytest.fixture(scope="module")
def wires() -> dict[str, Wire]:
    path = judge.Path(rate_mbps=16, rtt_ms=50, queue_bdp=0.5, loss="0.2%", bytes=6_000_000)
    return {
        control: Wire.of(simulated(path.scenario(f"tcp/{control}"), 1, 0)[0])
        for control in ("newreno", "cubic", "scalable")
    }


def _factors_of(wire: Wire) -> Numbers:
    rtt = wire.round_trips()
    return factors(wire, rtt, 16e6 / 8 / 1500, float(np.nanmin(rtt)))[1:, 0]


@pytest.mark.parametrize(("control", "factor"), [("newreno", 0.5), ("cubic", 0.7), ("scalable", 0.875)])
def test_the_factor_of_a_reduction_is_that_of_the_control(wires: dict[str, Wire], control: str, factor: float) -> None:
    found = _factors_of(wires[control])
    assert len(found) >= 2
    # Windows are whole segments, of which the smallest have 20.
    assert abs(np.median(found) - factor) < 0.07


def test_newreno_grows_by_a_segment_a_round(wires: dict[str, Wire]) -> None:
    found = rounds(wires["newreno"], wires["newreno"].round_trips())
    later = found.growth[found.epoch > 0]
    assert len(later) > 20
    assert abs(later.mean() - 1) < 0.1


def test_a_flow_that_loses_nothing_has_numbers_too() -> None:
    path = judge.Path(rate_mbps=8, rtt_ms=60, queue_bdp=0.5, loss="0%", bytes=20_000)
    (side,) = simulated(path.scenario("tcp/cubic"), 1, 0)
    lossy = judge.Path.drawn(random.Random(1))
    assert len(judge.seen_of(side, path)) == len(judge.seen_of(simulated(lossy.scenario("tcp/bbr"), 1, 0)[0], lossy))
