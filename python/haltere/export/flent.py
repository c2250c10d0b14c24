"""Traces as data files of flent (https://flent.org), so that flent's plots open them.

The file is JSON, compressed by gzip, of version 4 of flent's format (`flent/resultset.py`, flent 2.3): `metadata`,
`x_values` in seconds, `results` with a value or null for each of these, and `raw_values` with times of their own. Which
test a file is of decides which plots flent offers: `rrul_be_nflows` if flows go both ways, `tcp_ndown` or `tcp_nup` if
one way, `ping` if there are only probes.
"""

from __future__ import annotations

import gzip
import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from haltere.files import write_whole

STEP_S = 0.2
"""The step of `x_values`, flent's own default."""
SUFFIX = ".flent.gz"
_FORMAT = 4
_EPOCH = "1970-01-01T00:00:00.000000Z"
"""Virtual time has no date. It begins here."""
_PINGS = {"icmp": "Ping (ms) ICMP", "udp": "Ping (ms) UDP BE", "tcp": "Ping (ms) TCP"}

Values = list[float | None]


def document(traced: Mapping[str, Any], title: str) -> dict[str, Any]:
    """The contents of a flent file of a trace, which is as `haltere.Trace.data` has it."""
    result = traced["result"]
    end = float(result["virtual_s"])
    # The last step may reach beyond the end, so that what arrived last counts.
    xs = [round(i * STEP_S, 6) for i in range(math.ceil(end / STEP_S - 1e-9) + 1)]
    received = {one["who"]: one for one in traced["series"] if one["name"] == "received"}
    ways: dict[str, list[str]] = {"down": [], "up": []}
    for flow in result["flows"]:
        ways[flow.get("direction", "down")].append(f"flow {flow['flow']}")
    test, stems = _test(len(ways["down"]), len(ways["up"]))
    results: dict[str, Values] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    for way, word in (("down", "download"), ("up", "upload")):
        streams = []
        for number, who in enumerate(ways[way], 1):
            name = f"{stems[way]}::{number}"
            streams.append(_rates(received.get(who), xs))
            results[name] = streams[-1]
            raw[name] = [{"t": x, "val": rate} for x, rate in zip(xs, streams[-1], strict=True) if rate is not None]
        if streams:
            results[f"TCP {word} sum"] = _joined(streams, sum)
            results[f"TCP {word} avg"] = _joined(streams, _mean)
    if ways["down"] and ways["up"]:
        results["TCP totals"] = _joined([results["TCP download sum"], results["TCP upload sum"]], sum)
    pings = []
    for probe in result.get("probes", []):
        name = _PINGS[probe["probe_kind"]]
        name = name if name not in results else f"{name}::{probe['probe']}"
        answers = sorted(
            (sent + rtt, 1e3 * rtt)
            for sent, rtt in zip(probe["sent_s"], probe["rtt_s"], strict=True)
            if rtt is not None
        )
        pings.append(_between(answers, xs))
        results[name] = pings[-1]
        raw[name] = [{"t": at, "val": rtt} for at, rtt in answers]
    if pings and test != "ping":
        results["Ping (ms) avg"] = _joined(pings, _mean)
    return {
        "version": _FORMAT,
        "metadata": _metadata(test, title, end, (len(ways["down"]), len(ways["up"])), results),
        "x_values": xs,
        "results": results,
        "raw_values": raw,
    }


def write(traced: Mapping[str, Any], title: str, path: Path) -> Path:
    """Write the flent file of a trace. The same trace gives the same bytes.

    `path` gets the ending `.flent.gz`, by which flent knows its files, if it has not.
    """
    path = path if path.name.endswith(SUFFIX) else path.with_name(path.name + SUFFIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    told = document(traced, title)
    told["metadata"]["DATA_FILENAME"] = path.name
    text = json.dumps(told, indent=2, sort_keys=True) + "\n"
    write_whole(path, gzip.compress(text.encode(), mtime=0))
    return path


def _test(down: int, up: int) -> tuple[str, dict[str, str]]:
    """The name of flent's test, and what its series of each direction are called."""
    if down and up:
        return "rrul_be_nflows", {"down": "TCP download BE", "up": "TCP upload BE"}
    stems = {"down": "TCP download", "up": "TCP upload"}
    return ("tcp_ndown" if down else "tcp_nup" if up else "ping"), stems


def _metadata(
    test: str, title: str, end: float, streams: tuple[int, int], results: Mapping[str, Values]
) -> dict[str, Any]:
    down, up = streams
    units = {name: "ms" if name.startswith("Ping") else "Mbits/s" for name in results}
    means = {name: _mean([one for one in values if one is not None] or [0.0]) for name, values in results.items()}
    return {
        "NAME": test,
        "TITLE": title,
        "NOTE": f"simulated by haltere {version('haltere')}; virtual time begins in 1970",
        "TIME": _EPOCH,
        "T0": _EPOCH,
        "HOST": "server",
        "HOSTS": ["server"],
        "LOCAL_HOST": "client",
        "LENGTH": end,
        "TOTAL_LENGTH": end,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": 4,
        "FLENT_VERSION": "2.3.0",
        "TEST_PARAMETERS": {"download_streams": str(down), "upload_streams": str(up)},
        "SERIES_META": {name: {"UNITS": units[name], "MEAN_VALUE": means[name]} for name in results},
    }


def _rates(series: Mapping[str, Any] | None, xs: Sequence[float]) -> Values:
    """Mbit/s in the step before each of `xs`; null at the beginning, and after the flow's end."""
    if series is None or not series["t_s"]:
        return [None] * len(xs)
    times, got = series["t_s"], series["v"]

    def at(x: float) -> float:
        return float(got[max(0, bisect_right(times, x + 1e-9) - 1)])

    done = next(t for t, v in zip(times, got, strict=True) if v == got[-1]) if got[-1] else times[-1]
    return [None if x == 0 or x - STEP_S >= done else round(8e-6 * (at(x) - at(x - STEP_S)) / STEP_S, 6) for x in xs]


def _between(points: Sequence[tuple[float, float]], xs: Sequence[float]) -> Values:
    """The line through the points at each of `xs`; null outside of them, as flent has it."""
    values: Values = []
    for x in xs:
        i = bisect_right(points, (x, math.inf))
        if 0 < i < len(points):
            (t0, v0), (t1, v1) = points[i - 1 : i + 1]
            values.append(round(v0 + (v1 - v0) * (x - t0) / (t1 - t0), 6) if t1 > t0 else v1)
        else:
            values.append(points[-1][1] if points and x == points[-1][0] else None)
    return values


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _joined(series: Sequence[Values], join: Any) -> Values:
    """The joined values of each step; null where there is none."""
    rows = zip(*series, strict=True)
    found = ([value for value in row if value is not None] for row in rows)
    return [round(join(values), 6) if values else None for values in found]
