"""Five claims on RRUL, ours, each judged from the results by a rule; what is expected has its source.

The load is four downloads and four uploads by CUBIC. A queue adds to a ping its mean RTT less the smallest RTT that any
probe had on this line. Rates are sums over the four flows of one direction, after the first five seconds. Values are
compared within each replication; intervals are at 95 % over replications.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import Evidence, MissingDataError, Verdict, all_of, answer, claim, exceeds, remark, value
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean

Numbers = NDArray[np.float64]

SPEC = "ours; expected by the RRUL specification (bufferbloat.net, 2012)"
FQ = "ours; expected by RFC 8290, abstract"
LINE = "DSL"
FAIR = ("FQ-CoDel", "CAKE")
DELAY_OF_CALLS_MS = 150.0
"""The one-way delay up to which most applications, calls among them, are hardly disturbed (ITU-T G.114)."""


def runs(tables: Tables, queue: str, line: str = LINE) -> pl.DataFrame:
    """The runs that ended well under one queue on one line, in the order of replications."""
    found = tables.experiment_runs("rrul").filter(
        pl.col("status") == "ok", pl.col("queue") == queue, pl.col("line") == line
    )
    if found.height < 2:
        raise MissingDataError(f"rrul holds {found.height} replications of {queue} on {line}")
    return found.sort("replication")


def added(tables: Tables, queue: str, line: str = LINE, kind: str = "icmp") -> Numbers:
    """The RTT that the queues add for a probe, ms, replication by replication."""
    on_line = tables.experiment_runs("rrul").filter(pl.col("line") == line).select("run_id")
    least = tables.latency.join(on_line, on="run_id")["rtt_min_s"].min()
    probes = tables.latency.filter(pl.col("probe_kind") == kind).select("run_id", "rtt_mean_s")
    found = runs(tables, queue, line).join(probes, on="run_id").sort("replication")["rtt_mean_s"].to_numpy()
    return (found - float(least)) * 1e3


def rate(tables: Tables, queue: str, direction: str, line: str = LINE) -> Numbers:
    """The sum of the four flows of one direction, Mbit/s, replication by replication."""
    flows = tables.flows.filter(pl.col("direction") == direction).select("run_id", "goodput_bps")
    sums = runs(tables, queue, line).join(flows, on="run_id").group_by("replication").agg(pl.col("goodput_bps").sum())
    return sums.sort("replication")["goodput_bps"].to_numpy() / 1e6


@claim("On a DSL line with a queue of 1000 packets, RRUL makes a ping too long for calls.", source=SPEC)
def bloated(tables: Tables) -> Verdict:
    """Under drop-tail the queues must add more than 300 ms to the mean RTT: 150 ms a way."""
    return all_of(exceeds("Added to the ping, ms", mean(added(tables, "drop-tail")), 2 * DELAY_OF_CALLS_MS, "±"))


@claim("A queue for each flow keeps the ping within 20 ms of the idle line's.", source=FQ)
def fair_queues_answer(tables: Tables) -> Verdict:
    """Under FQ-CoDel and under CAKE, whose target is 5 ms, the queues of both directions must add less than 20 ms."""
    parts: list[Evidence] = []
    for queue in FAIR:
        found = added(tables, queue)
        parts.append(exceeds(f"20 ms less what {queue} adds, ms", mean(20.0 - found), 0.0, "±"))
    return all_of(*parts)


@claim("One queue with CoDel or PIE delays a ping less than drop-tail, but more than a queue for each flow.", source=FQ)
def single_queues_are_between(tables: Tables) -> Verdict:
    """Under each of the two the queues must add less than drop-tail's, and more than FQ-CoDel's."""
    parts: list[Evidence] = []
    for queue in ("CoDel", "PIE"):
        found = added(tables, queue)
        parts += [
            exceeds(f"Drop-tail adds more than {queue}, ms", mean(added(tables, "drop-tail") - found), 0.0, "±"),
            exceeds(f"{queue} adds more than FQ-CoDel, ms", mean(found - added(tables, "FQ-CoDel")), 0.0, "±"),
        ]
    return all_of(*parts)


@claim("With traffic in both directions, FQ-CoDel carries more down than drop-tail.", source=FQ)
def more_is_carried(tables: Tables) -> Verdict:
    """The four downloads together must be faster under FQ-CoDel on the DSL line."""
    down = rate(tables, "FQ-CoDel", "down") - rate(tables, "drop-tail", "down")
    up = rate(tables, "FQ-CoDel", "up") - rate(tables, "drop-tail", "up")
    return all_of(
        exceeds("Gain of the downloads, Mbit/s", mean(down), 0.0, "±"),
        remark("Gain of the uploads, Mbit/s", f"{up.mean():+.2f}"),
    )


@claim("ICMP and UDP probes of the same interval see the same delay under a queue for each flow.", source=SPEC)
def probes_agree(tables: Tables) -> Verdict:
    """Under FQ-CoDel the means of the two must differ by less than 2 ms."""
    apart = np.abs(added(tables, "FQ-CoDel", kind="icmp") - added(tables, "FQ-CoDel", kind="udp"))
    return all_of(exceeds("2 ms less the difference, ms", mean(2.0 - apart), 0.0, "±"))


@answer
def in_short(tables: Tables) -> list[str]:
    """How much longer a ping takes under three queues."""
    lasts = {queue: f"{added(tables, queue).mean():.0f} ms" for queue in ("drop-tail", "PIE", "FQ-CoDel")}
    return [
        f"On a DSL line under load in both directions, a ping takes {lasts['drop-tail']} longer than on the idle line "
        f"if the queue is one of 1000 packets, {lasts['PIE']} under PIE, and {lasts['FQ-CoDel']} under FQ-CoDel, which "
        f"gives each flow a queue."
    ]


@value
def added_to_a_ping(tables: Tables) -> pl.DataFrame:
    """The RTT that each queue adds to a ping on each line, ms."""
    lines = tables.levels("rrul", "line")
    rows = [
        {"queue": queue, **{line: f"{added(tables, queue, line).mean():.1f}" for line in lines}}
        for queue in tables.levels("rrul", "queue")
    ]
    return pl.DataFrame(rows)


@value
def carried(tables: Tables) -> pl.DataFrame:
    """The sums of the downloads and of the uploads under each queue on the DSL line, Mbit/s."""
    rows = [
        {
            "queue": queue,
            "down": f"{rate(tables, queue, 'down').mean():.1f}",
            "up": f"{rate(tables, queue, 'up').mean():.1f}",
        }
        for queue in tables.levels("rrul", "queue")
    ]
    return pl.DataFrame(rows)


@value
def drop_tail_adds(tables: Tables) -> Interval:
    """The RTT that a queue of 1000 packets adds to a ping on the DSL line, ms."""
    return mean(added(tables, "drop-tail"))
