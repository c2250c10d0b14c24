"""Claims on what queues and congestion controls do for calls beside downloads.

The rules were fixed before there were results.

A call is *alive* if at least 95 % of its frames are shown, 95 % of these within 400 ms (ITU-T G.114's limit for
conversations), if it freezes at most once a minute, and if it has at least 500 kbit/s. Latencies are the 95th
percentile from glass to glass of a call; differences are within each replication, and intervals are at 95 % over
replications.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import Evidence, MissingDataError, Verdict, all_of, answer, below, claim, exceeds, few, value
from haltere.claims.comparison import geometric
from haltere.metrics.tables import Tables
from haltere.stats import mean

Numbers = NDArray[np.float64]

CONTROLS = {
    "GCC": "rtp/gcc",
    "NADA": "rtp/nada",
    "SCReAM": "rtp/scream",
    "SCReAM, L4S": "rtp/scream_l4s",
    "str0m's GCC": "rtp@str0m/gcc",
    "GCC over QUIC": "roq/gcc",
    "GCC over QUIC without its own": "roq/gcc+quic=none",
}
QUEUES = ("drop-tail", "FQ-CoDel", "CAKE", "DualPI2")
DOWNLOADS = {"CUBIC": "tcp/cubic", "BBR": "tcp/bbr"}
NETWORKS = ("DSL", "LTE", "LEO")
WIFI = "Wi-Fi"

LATE_S = 0.4
SHOWN = 0.95
FREEZES = 1.0
LEAST_BPS = 500e3
NO_PICTURE_S = 10.0
"""The latency that a call without a picture counts as."""


def column(tables: Tables, name: str, control: str, network: str, **at: str) -> Numbers:
    """Return a column of the call, a value a replication; without a download it is alone."""
    levels = {"control": CONTROLS[control], **at}
    experiment = "beside" if at else "alone"
    if network == WIFI:
        experiment = "wifi"
    else:
        levels["network"] = network
    runs = tables.experiment_runs(experiment).filter(
        pl.col("status") == "ok", *(pl.col(factor) == level for factor, level in levels.items())
    )
    if runs.height < 2:
        raise MissingDataError(f"{few(runs.height)} of {control} on {network}")
    flows = tables.flows.filter(pl.col("label") == "call").select("run_id", pl.col(name).cast(pl.Float64))
    return runs.join(flows, on="run_id").sort("replication")[name].to_numpy().astype(np.float64)


def late(tables: Tables, control: str, network: str, **at: str) -> Numbers:
    """Return the latency of 95 % of the frames, s."""
    return np.nan_to_num(column(tables, "glass_to_glass_p95_s", control, network, **at), nan=NO_PICTURE_S)


def places(queue: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the networks and downloads beside which a call is at a queue."""
    for network in (*NETWORKS, WIFI):
        for download in DOWNLOADS.values():
            yield network, {"download": download, "queue": queue}


def alive(tables: Tables, control: str, network: str, at: dict[str, str]) -> Numbers:
    """Return in which replications a call is alive."""

    def of(name: str) -> Numbers:
        return column(tables, name, control, network, **at)

    shown = of("frames_shown") / np.maximum(of("frames_sent"), 1)
    fine = (late(tables, control, network, **at) <= LATE_S) & (shown >= SHOWN) & (of("freezes") <= FREEZES)
    return (fine & (of("goodput_bps") >= LEAST_BPS)).astype(np.float64)


def later(tables: Tables, control: str, queue: str, download: str) -> Numbers:
    """Return how much later pictures are beside a download than alone, ms: the mean over the wired networks."""
    at = {"queue": queue, "download": DOWNLOADS[download]}
    return 1e3 * np.mean([late(tables, control, one, **at) - late(tables, control, one) for one in NETWORKS], axis=0)


@claim(
    "Where each flow has a queue of its own, a download does not delay a call.",
    source="RFC 8290 sections 1 and 4; Piece of CAKE, section 2",
    whose="Høiland-Jørgensen et al. 2018",
)
def own_queues(tables: Tables) -> Verdict:
    """Under FQ-CoDel and CAKE, for each control and download, the latency of a call is at most 50 ms longer than
    alone."""
    return all_of(
        *(
            below(
                f"Later than alone, {queue}, {control}, {download}",
                mean(later(tables, control, queue, download)),
                50,
                "ms",
            )
            for queue in ("FQ-CoDel", "CAKE")
            for control in CONTROLS
            for download in DOWNLOADS
        )
    )


@claim("In a long queue without management, a download that fills it delays every call.", source="our expectation")
def long_queue(tables: Tables) -> Verdict:
    """With drop-tail of 1000 packets, for each control beside CUBIC, the latency is at least 50 ms longer than
    alone."""
    return all_of(
        *(
            exceeds(
                f"Later than alone, drop-tail, {control}", mean(later(tables, control, "drop-tail", "CUBIC")), 50, "ms"
            )
            for control in CONTROLS
        )
    )


@claim(
    "Google Congestion Control is fair beside TCP: a call keeps its rate where its share is larger.",
    source="abstract and section 4",
    whose="Carlucci et al. 2016",
)
def fair_beside_tcp(tables: Tables) -> Verdict:
    """With drop-tail beside CUBIC, on each wired network, a call of GCC has at least half of the goodput that it
    has alone, in the model and with str0m."""
    parts = []
    for control in ("GCC", "str0m's GCC"):
        for network in NETWORKS:
            at = {"queue": "drop-tail", "download": "tcp/cubic"}
            beside, alone = (column(tables, "goodput_bps", control, network, **levels) for levels in (at, {}))
            found = geometric(np.log(beside / alone))
            parts.append(exceeds(f"Goodput beside CUBIC ÷ alone, {control}, {network}", found, 0.5))
    return all_of(*parts)


@claim(
    "With L4S and DualPI2 a call has short queues beside classic traffic too.",
    source="draft-johansson-ccwg-scream-bis; RFC 9332 section 1",
    whose="Johansson et al. 2025",
)
def short_queues(tables: Tables) -> Verdict:
    """Under DualPI2, for each download, the latency of SCReAM with L4S is at most 50 ms longer than alone, and
    shorter than that of SCReAM without L4S."""
    parts: list[Evidence] = []
    for download, contender in DOWNLOADS.items():
        own = mean(later(tables, "SCReAM, L4S", "DualPI2", download))
        parts.append(below(f"Later than alone, SCReAM with L4S, {download}", own, 50, "ms"))
        at = {"queue": "DualPI2", "download": contender}
        shorter = np.mean(
            [late(tables, "SCReAM", one, **at) - late(tables, "SCReAM, L4S", one, **at) for one in NETWORKS], axis=0
        )
        parts.append(exceeds(f"Latency without L4S − with L4S, {download}", mean(1e3 * shorter), 0, "±"))
    return all_of(*parts)


@claim(
    "In the worst case a call beside TCP falls to its least rate.",
    source="section 5.6",
    whose="RFC 8867",
    paper="150 kbit/s",
)
def least_rate(tables: Tables) -> Verdict:
    """For each control, the least goodput over all queues, networks and downloads is at least nine tenths of 150
    kbit/s."""
    parts = []
    for control in CONTROLS:
        every = [
            column(tables, "goodput_bps", control, network, **at) for queue in QUEUES for network, at in places(queue)
        ]
        parts.append(exceeds(f"Least goodput, {control}", mean(1e-3 * np.min(every, axis=0)), 135, "kbit/s"))
    return all_of(*parts)


@value
def alive_by_queue(tables: Tables) -> pl.DataFrame:
    """In how many percent of its calls beside downloads each control is alive, by queue: four networks, two
    downloads."""
    rows = []
    for queue in QUEUES:
        row: dict[str, object] = {"queue": queue}
        for control in CONTROLS:
            row[control] = f"{100 * share(tables, control, queue):.0f} %"
        rows.append(row)
    return pl.DataFrame(rows)


MEDIA = ("gcc", "nada", "scream")
WAYS = ("NewReno", "CUBIC", "BBR", "none", "none, a stream a frame", "none, a stream a group")
OURS = ("NewReno of ours", "CUBIC of ours")
STACKS = ("model", "quinn", "noq")
LOSSY, LOSSLESS = "1 % lost", "nothing lost by chance"


def of_nested(tables: Tables, media: str, way: str, path: str) -> list[float] | None:
    """Return the rate, Mbit/s, the latency of 95 % of the frames, ms, and the freezes of a call: means over
    replications; `None` if there is no such call."""
    runs = tables.experiment_runs("nested").filter(
        pl.col("status") == "ok", pl.col("media") == media, pl.col("way") == way, pl.col("path") == path
    )
    if runs.is_empty():
        return None
    calls = runs.join(tables.flows, on="run_id").sort("replication")
    names = {"goodput_bps": 1e-6, "glass_to_glass_p95_s": 1e3, "freezes": 1.0}
    return [scale * float(np.mean(calls[name].cast(pl.Float64).to_numpy())) for name, scale in names.items()]


def in_words(found: list[float] | None) -> str:
    """Return a rate, a latency and freezes as a cell of a table."""
    return "" if found is None else f"{found[0]:.2f}, {found[1]:.0f}, {found[2]:.1f}"


@value
def nested(tables: Tables) -> pl.DataFrame:
    """Calls over QUIC in the model, by what decides below, with 1 % of the packets lost: rate in Mbit/s, latency of
    95 % of the frames in ms, freezes."""
    rows = [
        {"below RTP": label} | {f"`{media}`": in_words(of_nested(tables, media, way, LOSSY)) for media in MEDIA}
        for label, way in (("UDP", "UDP"), *((f"QUIC with {way}", f"model: {way}") for way in WAYS))
    ]
    return pl.DataFrame(rows)


@value
def nested_stacks(tables: Tables) -> pl.DataFrame:
    """Calls over production QUIC beside those over the model's, as in `nested`."""
    rows = []
    for media in MEDIA:
        for way in (*WAYS, *OURS):
            cells = {stack: in_words(of_nested(tables, media, f"{stack}: {way}", LOSSY)) for stack in STACKS}
            rows.append({"control of media": f"`{media}`", "below": way} | cells)
    return pl.DataFrame(rows)


@value
def nested_lossless(tables: Tables) -> pl.DataFrame:
    """Calls over QUIC in the model and in quinn without losses by chance, a queue of one bandwidth-delay product."""
    ways = {"UDP": "UDP"} | {f"{stack}, {way}": f"{stack}: {way}" for stack in ("model", "quinn") for way in WAYS}
    rows = [
        {"below RTP": label} | {f"`{media}`": in_words(of_nested(tables, media, way, LOSSLESS)) for media in MEDIA}
        for label, way in ways.items()
    ]
    return pl.DataFrame(rows)


def share(tables: Tables, control: str, queue: str) -> float:
    """Return the share of a control's calls at a queue that are alive."""
    return float(np.mean([alive(tables, control, network, at) for network, at in places(queue)]))


@answer
def in_short(tables: Tables) -> list[str]:
    """Which queue keeps most calls alive, and which control, by shares of calls."""
    found = {queue: {control: share(tables, control, queue) for control in CONTROLS} for queue in QUEUES}
    queues = {queue: float(np.mean(list(row.values()))) for queue, row in found.items()}
    controls = {control: float(np.mean([row[control] for row in found.values()])) for control in CONTROLS}
    shares = [
        ", ".join(f"{name} {100 * of[name]:.0f} %" for name in sorted(of, key=of.__getitem__, reverse=True))
        for of in (queues, controls)
    ]
    return [
        f"Of the calls beside downloads these shares are alive, by queue: {shares[0]}.",
        f"By congestion control of the call: {shares[1]}.",
    ]
