"""Small lakes for tests, written with polars alone: what `haltere paths ingest` writes, with any rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SCHEMA: dict[str, Any] = {
    "key": pl.UInt64,
    "monitor": pl.String,
    "src": pl.Binary,
    "dst": pl.Binary,
    "start": pl.Datetime("us", "UTC"),
    "method": pl.String,
    "stop": pl.String,
    "class": pl.String,
    **dict.fromkeys(("complete", "toolong", "loop", "gap", "adjdup", "multi"), pl.Boolean),
    "hops": pl.UInt8,
    "rtt_us": pl.UInt32,
    "list_id": pl.UInt32,
    "cycle_id": pl.UInt32,
    "hop_ttl": pl.List(pl.UInt8),
    "hop_addr": pl.List(pl.Binary),
    "hop_rtt_us": pl.List(pl.UInt32),
}
"""The columns of a lake."""


def write(lake: Path, parts: Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]]) -> Path:
    """Write a lake whose parts are named by (source, day, file)."""
    lake.mkdir(parents=True, exist_ok=True)
    (lake / "lake.json").write_text(json.dumps({"format": 1}))
    for (source, day, name), rows in parts.items():
        folder = lake / "traces" / f"source={source}" / f"day={day}"
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(list(rows), schema=SCHEMA).write_parquet(folder / f"{name}.parquet")
    return lake


def address(number: int) -> bytes:
    """An IPv4 address of 10.0.0.0/8."""
    return bytes([10, number >> 16 & 255, number >> 8 & 255, number & 255])


def traces(
    n: int, seed: int, *, monitors: Sequence[str] = ("a", "b"), rtt_scale: float = 1.0, routers: int = 60
) -> list[dict[str, Any]]:
    """Traces through a small random network: monitors at its edge, some answers missing, some traces inconsistent."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        monitor = int(rng.integers(len(monitors)))
        length = int(np.clip(rng.normal(9, 2), 3, 20))
        routes = np.random.default_rng(monitor * 1000 + int(rng.integers(40))).integers(0, routers, length - 1)
        near = 7000 + monitor % 500 * 100
        hops = [address(int(r) + (near if t < 2 else 0)) for t, r in enumerate(routes)]
        destination = address(100_000 + int(rng.integers(5000)))
        delay = np.cumsum(rng.exponential(4000 * rtt_scale, length)).astype(int) + 200
        kept = [t for t in range(length - 1) if rng.random() > 0.08]
        seen = [hops[t] for t in kept]
        loop = any(seen.count(a) > 1 for a in seen)
        complete = bool(rng.random() > 0.1)
        ttl = [t + 1 for t in kept] + ([length] if complete else [])
        answers = [*seen, destination] if complete else seen
        rows.append(
            {
                "key": int(rng.integers(0, 2**64, dtype=np.uint64)),
                "monitor": monitors[monitor],
                "src": bytes([192, 0, 2 + monitor // 250, monitor % 250 + 1]),
                "dst": destination,
                "start": datetime(2011, 3, 1, tzinfo=UTC) + timedelta(seconds=i),
                "method": "icmp-echo-paris",
                "stop": "LOOP" if loop else "COMPLETED" if complete else "GAPLIMIT",
                "class": "loop" if loop else "clean" if complete else "incomplete",
                "complete": complete,
                "toolong": False,
                "loop": loop,
                "gap": len(kept) < length - 1,
                "adjdup": False,
                "multi": False,
                "hops": max(ttl, default=0),
                "rtt_us": int(delay[-1]) if complete else None,
                "list_id": 1,
                "cycle_id": 1,
                "hop_ttl": ttl,
                "hop_addr": answers,
                "hop_rtt_us": [int(delay[t - 1]) for t in ttl],
            }
        )
    return rows
