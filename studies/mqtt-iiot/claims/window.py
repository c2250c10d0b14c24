"""Goodputs and congestion windows with many messages: section 4.2.1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from haltere.claims import Evidence, MissingDataError, Verdict, all_of, between, claim, exceeds, few, remark
from haltere.claims.comparison import geometric, runs_of
from haltere.figures.timeline import record
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import mean
from haltere.study import Study

from .shared import CONGESTION, NETWORKS, THESIS, Numbers

LOSS_BASED = ["newreno", "cubic"]


def goodputs(tables: Tables, congestion: str, network: str, loss: str, interval: str = "10ms") -> Numbers:
    """Goodput over QUIC, Mbit/s, replication by replication."""
    where = {
        "network": network, "loss": loss, "interval": interval, "congestion": congestion, "transport": "quic",
    }  # fmt: skip
    found = tables.values("loaded", "goodput", where).sort("replication")["value"].to_numpy()
    if len(found) < 2:
        raise MissingDataError(f"{few(len(found))} of {congestion}, {network}, {loss} in loaded")
    return found


@claim(
    "A message every 10 ms: the goodput of loss-based control falls as the RTT grows, by up to 75 % (satellite, 5 %).",
    whose=THESIS,
    source="section 4.2.1, figure 4.7",
    paper="up to 75 %",
)
def falls_with_rtt(tables: Tables) -> Verdict:
    """At 5 % of loss, the goodput of NewReno and of CUBIC must be less on the satellite link than on 4G, and there fall
    by 60 to 90 % below the 0.4 Mbit/s that are offered."""
    parts: list[Evidence] = []
    for congestion in LOSS_BASED:
        near, far = (goodputs(tables, congestion, network, "5%") for network in ("4G", "satellite"))
        fall = mean(1 - far / 0.4)
        parts += [
            exceeds(f"4G − satellite, Mbit/s, {congestion}", mean(near - far), 0.0, "±"),
            between(f"Fall on the satellite link, {congestion}", fall, 0.6, 0.9, "%"),
        ]
    return all_of(*parts)


@claim("BBR keeps its goodput high everywhere.", whose=THESIS, source="section 4.2.1, figure 4.7")
def bbr_keeps(tables: Tables) -> Verdict:
    """A message every 10 ms, 5 % of loss: BBR's goodput must be above 90 % of the 0.4 Mbit/s that are offered."""
    parts = []
    for network in NETWORKS:
        worst = mean(goodputs(tables, "bbr", network, "5%") / 0.4)
        parts.append(exceeds(f"Share of the offered load at 5 %, {network}", worst, 0.9, "%"))
    return all_of(*parts)


UNTIL = 60.0
"""How long a run is recorded, s."""
OPENED = (5.0, 15.0)
"""The publisher connects at 5 s: the first ten seconds of its connection."""


def windows(tables: Tables, interval: str) -> dict[str, Numbers]:
    """The congestion window by congestion control, under the caption of figure 4.5 or 4.6: QUIC, satellite, 2 % lost.

    A row a replication, of the first ten; the runs are made once more to be recorded. The columns are the largest in
    the first ten seconds of the connection, then the mean and the largest after them.
    """
    runs = runs_of(tables, "loaded")
    study = Study.load(Path(__file__).parents[1])
    replications = sorted(runs["replication"].unique().to_list())[:10]
    where = {"network": "satellite", "loss": "2%", "transport": "quic", "interval": interval}
    return {
        congestion: np.array([
            window(record(study, "loaded", {**where, "congestion": congestion}, replication, f"{UNTIL:.0f}s"))
            for replication in replications
        ])
        for congestion in CONGESTION
    }  # fmt: skip


def window(series: Mapping[tuple[str, str], Mapping[str, Any]]) -> tuple[float, float, float]:
    """The largest window in the first ten seconds of the connection, and the mean and the largest after them, bytes."""
    cwnd = series["flow 0", "cwnd"]
    times, values = np.array(cwnd["t_s"]), np.array(cwnd["v"])
    first, then = OPENED
    # A value holds until the next one.
    held = np.clip(np.append(times[1:], UNTIL), then, UNTIL) - np.clip(times, then, UNTIL)
    opening = values[(times >= first) & (times < then)]
    return float(opening.max()), float(np.average(values, weights=held)), float(values[held > 0].max())


def overshooting(tables: Tables, interval: str) -> Verdict:
    """The verdict on BBR's window over the larger one of NewReno's and CUBIC's."""
    found = windows(tables, interval)
    peak, later = (found["bbr"][:, k] / np.maximum(found["newreno"], found["cubic"])[:, k] for k in (0, 1))
    return all_of(
        between("Largest window at the start, BBR ÷ others", geometric(np.log(peak)), 3.0, 4.0),
        exceeds("Mean window later, BBR ÷ others", geometric(np.log(later)), 1.0),
        exceeds("Ratio at the start ÷ ratio later", geometric(np.log(peak / later)), 1.0),
        *(
            remark(f"Largest at the start, mean later, {name}", f"{one.mean(axis=0)[0] / 1e3:.0f} and "
                   f"{one.mean(axis=0)[1] / 1e3:.0f} kB")
            for name, one in found.items()
        ),
    )  # fmt: skip


@claim(
    "A message every 10 ms: BBR's window overshoots to almost four times the others', then settles, and stays above.",
    whose=THESIS,
    source="section 4.2.1, figure 4.6",
    paper="a larger growth; no number",
)
def overshoot(tables: Tables) -> Verdict:
    """Under the figure's caption (QUIC, satellite, 2 % lost). In the first ten seconds of the connection BBR's largest
    window must be more than three and less than four times the larger one of NewReno's and CUBIC's; after that its mean
    window must be above theirs, and the ratio of the means below that of the largest windows."""
    return overshooting(tables, "10ms")


@claim(
    "A message every 100 ms: BBR's window overshoots to almost four times the others', then settles, and stays above.",
    whose=THESIS,
    source="section 4.2.1, figure 4.5",
    paper="almost 4 times",
)
def overshoot_when_idle(tables: Tables) -> Verdict:
    """Under the figure's caption (QUIC, satellite, 2 % lost), which the thesis' text names for the number. In the first
    ten seconds of the connection BBR's largest window must be more than three and less than four times the larger one
    of NewReno's and CUBIC's; after that its mean window must be above theirs, and the ratio of the means below that of
    the largest windows."""
    return overshooting(tables, "100ms")


@claim("CUBIC's window has higher peaks than NewReno's.", whose=THESIS, source="section 4.2.1, figures 4.5 and 4.6")
def cubic_peaks(tables: Tables) -> Verdict:
    """Under the captions of both figures, after the first ten seconds of the connection, CUBIC's largest window must be
    larger than NewReno's."""
    parts = []
    for interval in ("100ms", "10ms"):
        found = windows(tables, interval)
        largest = geometric(np.log(found["cubic"][:, 2] / found["newreno"][:, 2]))
        parts.append(exceeds(f"Largest window later, CUBIC ÷ NewReno, {quantities.text(interval)}", largest, 1.0))
    return all_of(*parts)
