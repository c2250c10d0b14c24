"""Changes of what a scenario says beside its contenders: queues, losses, interfaces, sizes and marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Table = dict[str, Any]
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_LIMIT = re.compile(r"(?<=[:,;]limit=)[^,;]+")
DROP_TAIL = re.compile(r"\d+(?:\.\d+)?\s*(?:p|bdp|[kKMG]?i?B)")


def scaled(quantity: str, factor: float) -> str | None:
    """Return a quantity such as `1000p` or `0.5bdp` times a factor, None if it is none; what is counted stays whole."""
    found = _QUANTITY.fullmatch(quantity.strip())
    if found is None:
        return None
    value = float(found[1]) * factor
    whole = found[2] in ("p", "B")
    return f"{max(1, round(value))}{found[2]}" if whole else f"{value:.6g}{found[2]}"


def queue_scaled(queue: Any, factor: float) -> Any:
    """Return a queue whose limit is multiplied; None if it states no limit."""
    if isinstance(queue, dict):
        limit = queue.get("limit")
        new = scaled(limit, factor) if isinstance(limit, str) else None
        return None if new is None else {**queue, "limit": new}
    if not isinstance(queue, str):
        return None
    if DROP_TAIL.fullmatch(queue):
        return scaled(queue, factor)
    limit = _LIMIT.search(queue)
    new = scaled(limit[0], factor) if limit else None
    return None if new is None else _LIMIT.sub(new, queue, count=1)


def probability(loss: Any) -> float | None:
    """Return the mean loss of a text (`1%`, `0.01`) or of a table of a uniform or Gilbert-Elliott model; else None."""
    if isinstance(loss, str):
        text = loss.strip()
        try:
            return float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            return None
    if not isinstance(loss, dict):
        return None
    if loss.get("model") == "uniform":
        return probability(loss.get("rate"))
    if loss.get("model") == "gilbert-elliott":
        there, back = probability(loss.get("good_to_bad")), probability(loss.get("bad_to_good"))
        bad, good = probability(loss.get("loss_in_bad", "100%")), probability(loss.get("loss_in_good", "0%"))
        if there is None or back is None or bad is None or good is None or there + back == 0:
            return None
        share = there / (there + back)
        return share * bad + (1 - share) * good
    return None


def bursts(loss: Any, length: float) -> Any:
    """Return Gilbert's model with the same mean loss and bursts of this mean length (packets); None if not possible.

    All packets of the bad state are lost. It is left with probability 1/length, and entered so often that the share of
    time in it is the mean loss (E. N. Gilbert, Bell System Technical Journal 39, 1960).
    """
    mean = probability(loss)
    if mean is None or not 0 < mean < 1:
        return None
    back = 1 / length
    there = mean * back / (1 - mean)
    if there > 1:
        return None
    return {"model": "gilbert-elliott", "good_to_bad": f"{100 * there:.8g}%", "bad_to_good": f"{100 * back:.8g}%"}


def uniform(loss: Any) -> Any:
    """Return independent losses with the same mean; None if they are independent already, or have no mean."""
    mean = probability(loss)
    if mean is None or isinstance(loss, str) or loss.get("model") == "uniform":
        return None
    return f"{100 * mean:.8g}%"


def without(loss: Any) -> Any:
    """Return no loss; None if there is none already."""
    return None if probability(loss) == 0 else "0%"


def links_of(scenario: Table) -> Iterator[Table]:
    """Yield the tables of a topology in which the links stand whose queue and losses are varied.

    These are the bottleneck and the only link, the links of all paths, and of a graph those with losses, outages, or
    the name `bottleneck`; of a graph without such all links.
    """
    topology = scenario.get("topology")
    if not isinstance(topology, dict):
        return
    for name in ("bottleneck", "link"):
        if isinstance(topology.get(name), dict):
            yield topology[name]
    for path in _tables(topology.get("paths")):
        yield path["link"] if isinstance(path.get("link"), dict) else path
    graph = [one for one in _tables(topology.get("links")) if isinstance(one.get("link"), dict)]
    chosen = [one for one in graph if one.get("name") == "bottleneck" or "loss" in one["link"]]
    for one in chosen or graph:
        yield one["link"]
    yield from _tables(topology.get("cells"))


def _tables(given: Any) -> list[Table]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def replaced(tables: Iterator[Table], name: str, new: Callable[[Any], Any]) -> bool:
    """Replace a field of links, and of their two directions, in place; return whether any changed."""
    changed = False
    for table in tables:
        for one in (table, table.get("down"), table.get("up")):
            if isinstance(one, dict) and name in one:
                value = new(one[name])
                if value is not None and value != one[name]:
                    one[name], changed = value, True
    return changed


def every_link(scenario: Table) -> Iterator[Table]:
    """Yield the tables of all links of a topology: interfaces are those of all hosts and routers."""
    topology = scenario.get("topology")
    if not isinstance(topology, dict):
        return
    for name in ("bottleneck", "link", "access"):
        if isinstance(topology.get(name), dict):
            yield topology[name]
    for one in (*_tables(topology.get("paths")), *_tables(topology.get("links"))):
        yield one["link"] if isinstance(one.get("link"), dict) else one


def limited(tables: Iterator[Table], *, on: bool) -> bool:
    """Switch byte queue limits, which links with a ring have if they state nothing; return whether any changed."""
    changed = False
    for table in tables:
        for one in (table, table.get("down"), table.get("up")):
            if isinstance(one, dict) and ("ring" in one or "bql" in one) and one.get("bql", True) is not on:
                one["bql"], changed = on, True
    return changed


def marked(scenario: Table, tos: int) -> bool:
    """Give each flow this ToS octet where it states another one, in place; return whether any changed."""
    changed = False
    for flow in _tables(scenario.get("flows")):
        if "tos" in flow and flow["tos"] != tos:
            flow["tos"], changed = tos, True
    return changed


def sizes_scaled(scenario: Table, factor: float) -> bool:
    """Multiply the size of each flow's object, or of its messages' payload, in place; return whether any changed."""
    changed = False
    for flow in _tables(scenario.get("flows")):
        messages = flow.get("mqtt")
        for table, name in ((flow, "size"), (messages, "payload")):
            value = table.get(name) if isinstance(table, dict) else None
            new = scaled(value, factor) if isinstance(value, str) else None
            if new is not None and isinstance(table, dict) and new != value:
                table[name], changed = new, True
    return changed
