"""The round trips before a client is connected: table 2.1 and figure 4.4."""

from __future__ import annotations

import polars as pl

from haltere.claims import MissingDataError, Verdict, all_of, between, claim, exceeds, few, remark
from haltere.metrics.tables import Tables
from haltere.stats import mean

from .shared import THESIS, Numbers, each


@claim("A repeated connection with 0-RTT saves the round trip of the first one.", whose=THESIS, source="figure 4.4")
def zero_rtt(tables: Tables) -> Verdict:
    """Without loss, the time to CONNACK over QUIC must be shorter by at least 0.9 round trips (540 ms) with 0-RTT than
    without."""
    over = {"eager": ["after CONNACK"], "loss": ["0%"]}
    values = tables.values("setup", "setup_time", over)
    if values.is_empty():
        raise MissingDataError("experiment setup is not in these results")
    first, repeated = (
        values.filter(pl.col("connection") == name)["value"].to_numpy() for name in ("QUIC, 1-RTT", "QUIC, 0-RTT")
    )
    if len(first) < 2 or len(first) != len(repeated):
        raise MissingDataError(f"{few(min(len(first), len(repeated)))} of both connections in setup")
    others = ["TCP, TLS 1.2, first", "TCP, TLS 1.3, first", "TCP, TLS 1.3, early data, Fast Open"]
    shown = ", ".join(f"{values.filter(pl.col('connection') == name)['value'].mean():.0f}" for name in others)
    return all_of(
        exceeds("Saved", mean(first - repeated), 540.0, "ms"),
        remark("QUIC first and repeated, ms", f"{first.mean():.0f} and {repeated.mean():.0f}"),
        remark("TCP with TLS 1.2, with TLS 1.3, with early data and Fast Open, ms", shown),
    )


HANDSHAKES = {
    "TCP, TLS 1.2, first": 3,
    "TCP, TLS 1.2, resumed": 2,
    "TCP, TLS 1.3, first": 2,
    "TCP, TLS 1.3, early data": 1,
    "QUIC, 1-RTT": 1,
    "QUIC, 0-RTT": 0,
}
"""Round trips of a handshake by the thesis' table 2.1, without and with an earlier connection."""


def handshake(tables: Tables, connection: str) -> Numbers:
    """Round trips of 600 ms before CONNECT can go, without loss: those to CONNACK, less that of CONNECT itself."""
    times = each(tables, "setup", "setup_time", connection=connection, eager="after CONNACK", loss="0%")
    return times / 600 - 1


@claim("A handshake takes 3, 2 and 1 round trips with TLS 1.2, TLS 1.3 and QUIC, and one fewer with an earlier one.",
       whose=THESIS, source="table 2.1", paper="3, 2; 2, 1; 1, 0")  # fmt: skip
def handshakes(tables: Tables) -> Verdict:
    """On the satellite link without loss, the time to CONNACK in round trips of 600 ms, less that of CONNECT itself,
    must be the table's to 0.15 round trips. TLS 1.3 with an earlier connection has early data."""
    return all_of(
        *(between(name, mean(handshake(tables, name)), trips - 0.15, trips + 0.15)
          for name, trips in HANDSHAKES.items())
    )  # fmt: skip
