"""`haltere first-difference`: the first packet at which two runs differ."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.first_difference import between, first_difference
from haltere.adhoc.packets import Difference, Packet
from haltere.cli import show
from haltere.errors import InputError
from haltere.metrics import quantities

_STATE = (
    ("window, B", "cwnd"),
    ("slow-start threshold, B", "ssthresh"),
    ("bytes in flight, B", "bytes_in_flight"),
    ("smoothed RTT, ms", "srtt_s"),
    ("state", "state"),
    ("known at, ms", "as_of_s"),
)


def command(
    contenders: list[str],
    conditions: Conditions,
    against: str | None,
    tolerance: str,
    run: tuple[int, int],
    *,
    as_json: bool,
) -> None:
    """Compare model and kernel, or one contender of the model with another; print the comparison of each flow.

    Args:
        contenders: what shares the link.
        conditions: of the link.
        against: the other contender, if it is not the kernel.
        tolerance: how far apart the times of a packet may be.
        run: seed and replication.
        as_json: whether the answer is for programs.
    """
    seed, replication = run
    refuse_negative(seed, replication)
    near = _tolerance_s(tolerance)
    if against is not None and len(contenders) != 1:
        right = "one contender, such as haltere first-difference tcp/cubic --against tcp/cubic-hystart"
        raise InputError("compares one contender with another", field="--against", given=against, right=right)
    with show.err().status("running"):
        if against is None:
            found = first_difference(contenders, conditions, seed=seed, replication=replication, tolerance_s=near)
        else:
            both = (conditions.scenario(contenders), conditions.scenario([against]))
            found = between(*both, seed=seed, replication=replication, tolerance_s=near)
    if as_json:
        print(json.dumps([one.json() for one in found], indent=1))
    else:
        _tell(found)


def refuse_negative(seed: int, replication: int) -> None:
    """Refuse what names no run."""
    for name, value in (("--seed", seed), ("--replication", replication)):
        if value < 0:
            raise InputError("is negative", field=name, given=str(value), right="a whole number from 0")


def _tolerance_s(text: str) -> float:
    """Read a tolerance such as `1ms`."""
    value = quantities.value(text)
    if value is None or value < 0 or quantities.dimension(text) != "time":
        raise InputError("is not a time", field="--tolerance", given=text, right="such as 1ms or 50us")
    return value


def _tell(found: Sequence[Difference]) -> None:
    console = show.out()
    for one in found:
        if len(found) > 1:
            console.print(f"flow {one.flow}", markup=False)
        if not one.agrees:
            console.print(_packets(one))
            console.print(_states(one))
        console.print(f"{one.sentence}.", markup=False, highlight=False, soft_wrap=True)
        if not one.agrees:
            compared = f"{one.compared} packets before it agree; times may differ by {1e3 * one.tolerance_s:g} ms."
            console.print(compared, markup=False, highlight=False)


def _packets(found: Difference) -> Table:
    first, second = found.names
    table = show.table(caption="at the sender; ms since the SYN arrived; → sent, ← received", box=box.SIMPLE_HEAD)
    table.add_column("")
    for name in (first, second):
        table.add_column(f"{escape(name)}, ms", justify="right")
    table.add_column("")
    table.add_column(escape(first))
    table.add_column(escape(second))
    for place, pair in enumerate(found.near):
        a, b = pair.first, pair.second
        marked = place == found.place
        times = ["–" if packet is None else f"{1e3 * packet.t_s:.3f}" for packet in (a, b)]
        same = a is not None and b is not None and a.fields == b.fields
        texts = ["–" if a is None else str(a), "the same" if same else "–" if b is None else str(b)]
        way = "→" if pair.known.way == "sent" else "←"
        cells = [">" if marked else "", *times, way, *(escape(text) for text in texts)]
        table.add_row(*cells, style="bold" if marked else None)
    return table


def _states(found: Difference) -> Table:
    """What both senders knew at the packet before the one that differs, and at that one."""
    table = show.table(caption="the senders' state", box=box.SIMPLE_HEAD)
    table.add_column("")
    for moment in ("before", "at the packet"):
        for name in found.names:
            table.add_column(f"{escape(name)}, {moment}", justify="right")
    before = found.near[found.place - 1] if found.place else None
    known = [*((None, None) if before is None else (before.first, before.second))]
    known += [found.near[found.place].first, found.near[found.place].second]
    for label, name in _STATE:
        if all(packet is None or getattr(packet.state, name) is None for packet in known):
            continue
        table.add_row(label, *(_value(packet, name) for packet in known))
    return table


def _value(packet: Packet | None, name: str) -> str:
    value = None if packet is None else getattr(packet.state, name)
    if value is None:
        return "–"
    if isinstance(value, str):
        return escape(value.replace("_", " "))
    return f"{1e3 * value:.3f}" if name.endswith("_s") else f"{value:,.0f}".replace(",", " ")
