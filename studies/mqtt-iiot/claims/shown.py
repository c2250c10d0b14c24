"""The answer, and the numbers and tables that the pages show beside the claims."""

from __future__ import annotations

import itertools

import polars as pl

from haltere.claims import answer, reading, value
from haltere.metrics import quantities
from haltere.metrics.tables import Tables

from .latency import xi
from .shared import LOSSES, NETWORKS, each
from .sharing import BDP, LARGE, QUEUES, REPORTED, TOTALS, jain, rates, shared
from .window import goodputs


@answer
def conclusion(tables: Tables) -> list[str]:
    """ξ with each network: with losses and without, then loss by loss."""
    lossy = {network: xi(tables, [network], LOSSES[1:]).pooled().value for network in NETWORKS}
    clean = xi(tables, NETWORKS, LOSSES[:1]).pooled().value
    told = ", ".join(f"{value:.2f} ({network})" for network, value in lossy.items())
    sentences = [
        f"With 1 to 5 % of loss, messages over QUIC take these shares of their delivery time over TCP: {told}; without "
        f"loss {clean:.3f}."
    ]
    for network in NETWORKS:
        found = xi(tables, [network], LOSSES)
        shown = [
            f"{reading(found.within({'loss': [loss]}).pooled(), found.metric)} at {quantities.text(loss)}"
            for loss in LOSSES
        ]
        sentences.append(
            f"{network}: the delivery time over QUIC as a share of that over TCP (ξ) is {', '.join(shown)}."
        )
    return sentences


@value
def cost_of_a_loss(tables: Tables) -> dict[str, str]:
    """The cost of a lost message on Wi-Fi at 5 %, ms: the delivery time beyond that without loss, over the loss."""
    found = {}
    for transport in ("tcp", "quic"):
        where = {"network": "Wi-Fi", "transport": transport}
        clean, lossy = (each(tables, "latency", "delivery_time", loss=loss, **where).mean() for loss in ("0%", "5%"))
        found[transport] = f"{(lossy - clean) / 0.05:.0f}"
    return found


@value
def controls_apart(tables: Tables) -> str:
    """How far the mean delivery times of the congestion controls are apart, at most, on Wi-Fi and 4G."""
    apart = []
    for network, loss, transport in itertools.product(NETWORKS[:2], LOSSES, ("tcp", "quic")):
        where = {"network": network, "loss": loss, "transport": transport}
        means = [
            each(tables, "latency", "delivery_time", congestion=name, **where).mean()
            for name in tables.levels("latency", "congestion")
        ]
        apart.append(max(means) / min(means) - 1)
    return f"{100 * max(apart):.1g} %"


@value
def bbr2(tables: Tables) -> dict[str, str]:
    """The shares of the rate that BBRv2 and BBR keep beside CUBIC with a large queue, and deliver at 5 % by satellite.

    All are over QUIC.
    """
    first = {name: rates(tables, "two", kinds=f"{name} and CUBIC", transport="quic")[:, 0] for name in ("BBR", "BBRv2")}
    far = {name: goodputs(tables, name, "satellite", "5%") / 0.4 for name in ("bbr", "bbr2")}
    return {
        "beside_cubic": f"{100 * (first['BBRv2'] / 500e3).mean():.0f} %",
        "bbr_beside_cubic": f"{100 * (first['BBR'] / 500e3).mean():.0f} %",
        "satellite": f"{100 * far['bbr2'].mean():.0f} %",
        "bbr_satellite": f"{100 * far['bbr'].mean():.0f} %",
    }


@value
def tables_4_1_and_4_2(tables: Tables) -> pl.DataFrame:
    """The thesis' tables 4.1 and 4.2 beside ours; it does not say whether table 4.2 is of TCP or QUIC."""
    rows = []
    for (pair, stated), reported in TOTALS.items():
        for transport in (stated,) if stated else ("tcp", "quic"):
            found = rates(tables, "two", kinds=pair, transport=transport)
            ours = (100 * found[:, 0].mean() / 500e3, 100 * found.sum(axis=1).mean() / 500e3, jain(found).mean())
            cells = [
                f"{said} / {here:.{places}f}" for said, here, places in zip(reported, ours, (1, 1, 2), strict=True)
            ]
            rows.append((pair, transport.upper(), *cells))
    heads = ("first and second", "over", "the first's share, %", "both, %", "Jain's index")
    return pl.DataFrame(rows, schema=heads, orient="row")


@value
def table_4_3(tables: Tables) -> pl.DataFrame:
    """The thesis' table 4.3 beside ours, over the rate for each publisher."""
    rows, heads = [], list[str]()
    for mix, (experiment, large, small) in REPORTED.items():
        levels = tables.levels(experiment, "rate")
        flows = {"pair": 2, "four": 4, "five": 5}[experiment]
        heads = [f"{(quantities.value(rate) or 0.0) / flows / 1e3:.0f} kbit/s" for rate in levels]
        for queue, said in ((LARGE, large), (BDP, small)):
            found = [f"{jain(shared(tables, mix, rate, queue)).mean():.2f}" for rate in levels]
            rows.append((mix, QUEUES[queue], said, *found))
    return pl.DataFrame(rows, schema=["publishers", "queue", "the thesis", *heads], orient="row")


@value
def cell_ends(tables: Tables) -> pl.DataFrame:
    """Delivery times in the cell by where frames are lost, ms."""
    rows = []
    for errors in tables.levels("cell-ends", "errors"):
        tcp, quic = (
            each(tables, "cell-ends", "delivery_time", errors=errors, transport=transport).mean()
            for transport in ("tcp", "quic")
        )
        rows.append((errors, f"{tcp:.1f}", f"{quic:.1f}", f"{quic / tcp:.3f}"))
    return pl.DataFrame(rows, schema=("frames lost", "TCP, ms", "QUIC, ms", "ξ"), orient="row")
