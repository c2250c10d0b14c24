"""Counts what scamper's own tool says of its files, by code that shares nothing with haltere's.

The rules are those of docs/reference/traces.md, written down a second time.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
MAX_HOPS = 30


def objects(warts: bytes) -> Iterator[Json]:
    """Yield what `sc_warts2json` says of each record, but for comments that its own format has none for."""
    done = subprocess.run(["sc_warts2json"], input=warts, capture_output=True, check=True)
    for line in done.stdout.decode().splitlines():
        yield json.loads(line)


def marks(trace: Mapping[str, Any]) -> dict[str, bool]:
    """Return what a trace counts as."""
    at: dict[int, set[str]] = {}
    where: dict[str, set[int]] = {}
    # hop_count is the TTL of the last hop that belongs to the path; probes may have run ahead of it.
    for hop in trace.get("hops", []):
        if not trace["hop_count"] or hop["probe_ttl"] <= trace["hop_count"]:
            at.setdefault(hop["probe_ttl"], set()).add(hop["addr"])
            where.setdefault(hop["addr"], set()).add(hop["probe_ttl"])
    last = max(at, default=0)
    complete = trace["stop_reason"] == "COMPLETED"
    loop = trace["stop_reason"] == "LOOP" or any(max(ttls) - min(ttls) > 1 for ttls in where.values())
    toolong = last > MAX_HOPS
    gap = complete and any(ttl not in at for ttl in range(max(trace["firsthop"], 1), last))
    adjacent = any(ttl + 1 in ttls for ttls in where.values() for ttl in ttls)
    clean = complete and not loop and not toolong
    multi = any(len(addresses) > 1 for addresses in at.values())
    return {
        "complete": complete,
        "incomplete": not complete,
        "toolong": toolong,
        "loop": loop,
        "gap": gap,
        "adjdup": adjacent,
        "multi": multi,
        "clean": clean,
        "clean_nogap": clean and not gap,
        "clean_strict": clean and not gap and not adjacent and not multi,
        "repeat": loop and trace["stop_reason"] != "LOOP" and repeats_alone(at, where),
    }


def repeats_alone(at: Mapping[int, set[str]], where: Mapping[str, set[int]]) -> bool:
    """Return whether addresses come again only in a row (A A A, silent hops not counted) or around one hop (A x A)."""
    again = [ttls for ttls in where.values() if len(ttls) > 1]
    for ttls in again:
        others = [ttl for ttl in range(min(ttls), max(ttls)) if ttl in at and ttl not in ttls]
        if others and not (len(ttls) == 2 and max(ttls) == min(ttls) + 2):
            return False
    # Of two addresses that come again, one must end before the other begins.
    covered = Counter(ttl for ttls in again for ttl in range(min(ttls), max(ttls) + 1))
    return all(times == 1 for times in covered.values())


def klass(found: Mapping[str, bool]) -> str:
    """Return the one class of a trace."""
    if found["repeat"] and found["complete"] and not found["toolong"]:
        return "repeat"
    return next((name for name in ("loop", "toolong", "incomplete") if found[name]), "clean")


def counts(warts: bytes) -> Json:
    """Return what a reader and a cleaner must find in a file of warts."""
    records: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    classes: Counter[str] = Counter(dict.fromkeys(("clean", "incomplete", "toolong", "loop", "repeat"), 0))
    replies = 0
    for one in objects(warts):
        records[one["type"]] += 1
        if one["type"] != "trace":
            continue
        found = marks(one)
        stops[one["stop_reason"]] += 1
        classes[klass(found)] += 1
        flags.update({name: int(value) for name, value in found.items()})
        replies += len(one.get("hops", []))
    return {
        "traces": records["trace"],
        "hop_replies": replies,
        "records": dict(sorted(records.items())),
        "stop_reason": dict(sorted(stops.items())),
        "flags": dict(sorted(flags.items())),
        "classes": dict(sorted(classes.items())),
    }
