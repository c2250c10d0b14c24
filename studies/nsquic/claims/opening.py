"""0-RTT, and the round trips of handshakes."""

from __future__ import annotations

import numpy as np

from haltere.claims import Verdict, ahead, all_of, between, claim, reading, remark
from haltere.claims.comparison import compare, complete
from haltere.metrics.tables import Tables
from haltere.stats import mean

from .contenders import CUBIC, DELAYS, PAPER, QUICS, SIZES, SUMMARY


@claim(
    "Without 0-RTT, which the module lacks, QUIC's lead over TCP may be underestimated.",
    source=f"{SUMMARY}, section 11",
    whose=PAPER,
)
def zero_rtt_would_help(tables: Tables) -> Verdict:
    """At the centre without loss the completion time of each QUIC with 0-RTT must be ahead of that without it, in the
    geometric mean over six sizes from 10 to 10 000 kB."""
    sizes = SIZES[:-1]
    parts = []
    for quic in QUICS:
        early = f"{quic}+0rtt"
        found = compare(tables, "resumed", "completion_time", "protocol", early, quic, over={"size": sizes})
        parts.append(ahead(f"Completion time, {early} ÷ {quic}, 10 to 10 000 kB", found.pooled(), found.metric))
        for rival in (CUBIC, f"{CUBIC}+tfo"):
            found = compare(tables, "resumed", "completion_time", "protocol", early, rival, over={"size": sizes})
            parts.append(remark(f"{early} ÷ {rival}, 10 to 10 000 kB", reading(found.pooled(), found.metric)))
    return all_of(*parts)


STEPS = {
    "TLS 1.2 after TCP's handshake": ("tcp, TLS 1.2", "tcp", 2),
    "A ticket, TLS 1.2": ("tcp, TLS 1.2 with a ticket", "tcp, TLS 1.2", -1),
    "TCP Fast Open": ("tcp, TLS 1.2 with a ticket, Fast Open", "tcp, TLS 1.2 with a ticket", -1),
}
"""Openings against others, and by how many round trips they differ."""


@claim(
    "TLS takes two round trips after TCP's handshake; a ticket saves one, TCP Fast Open another.",
    source=f"{SUMMARY}, section 4.1",
    whose=PAPER,
    paper="2 RTTs, 1 RTT less",
)
def round_trips_of_handshakes(tables: Tables) -> Verdict:
    """Over five delays, the change of the set-up time in round trips must be the stated one to 0.1. TLS is
    that of the summary's time, version 1.2."""
    trips = {delay: 2 * float(delay.removesuffix("ms")) for delay in DELAYS}
    found = {}
    for name in dict.fromkeys(name for of, to, _ in STEPS.values() for name in (of, to)):
        values = tables.values("handshakes", "setup_time", {"opening": [name], "delay": DELAYS})
        _, matrix = complete(tables, "handshakes", values, {"delay": DELAYS})
        found[name] = matrix / np.array(list(trips.values()))[:, None]
    parts = [
        between(f"{what}: round trips", mean((found[of] - found[to]).mean(axis=0)), trip - 0.1, trip + 0.1, "±")
        for what, (of, to, trip) in STEPS.items()
    ]
    return all_of(*parts)
