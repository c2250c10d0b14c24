"""Pages from HAR files (HTTP Archive 1.2), as browsers export them: requests, their sizes and what they waited for.

A page in the simulator is a list of objects from one server. An object waits for the one that a browser names as its
initiator (Chromium's `_initiator`); where none is named, for the one that had ended last before it was asked for. The
time between the two is its delay. An object that the browser asked for while its initiator was still arriving waits for
the whole of it here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

EXPORT = "a HAR file, as a browser's network tools export it"


@dataclass(frozen=True)
class _Entry:
    """One request of a HAR file. Times in us since the first; sizes in bytes."""

    url: str
    initiator: str | None
    start_us: int
    end_us: int
    size: int
    request: int | None


def objects(path: Path) -> list[dict[str, Any]]:
    """Return a HAR file's objects as a scenario has them.

    Raises:
        ValueError: if it cannot be read, or is no HAR; the message says what would be right.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror}): give {EXPORT}, relative to the study") from None
    except (ValueError, RecursionError):
        raise ValueError(f"is not JSON: give {EXPORT}") from None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"has no log.entries: give {EXPORT}")
    read = [_entry(entry, f"log.entries[{number}]") for number, entry in enumerate(entries)]
    loaded = sorted((entry for entry in read if entry is not None), key=lambda entry: entry.start_us)
    if not loaded:
        raise ValueError(f"has no request that went over the network: give {EXPORT}, recorded with an empty cache")
    return [_object(index, loaded) for index in range(len(loaded))]


def _object(index: int, entries: list[_Entry]) -> dict[str, Any]:
    entry = entries[index]
    made: dict[str, Any] = {"size": f"{entry.size}B"}
    if entry.request:
        made["request"] = f"{entry.request}B"
    awaited = _awaited(index, entries)
    since = entries[0].start_us if awaited is None else entries[awaited].end_us
    if awaited is not None:
        made["after"] = [awaited]
    if entry.start_us > since:
        made["delay"] = f"{entry.start_us - since}us"
    return made


def _awaited(index: int, entries: list[_Entry]) -> int | None:
    """The number of the object that this one waited for."""
    entry = entries[index]
    for number in range(index - 1, -1, -1):
        if entry.initiator is not None and entries[number].url == entry.initiator:
            return number
    ended = [number for number in range(index) if entries[number].end_us <= entry.start_us]
    return max(ended, key=lambda number: entries[number].end_us, default=None)


def _entry(entry: Any, place: str) -> _Entry | None:
    """Read one entry; None if it did not go over the network."""
    request, response = _table(entry, "request", place), _table(entry, "response", place)
    url = request.get("url")
    if not isinstance(url, str):
        raise ValueError(f"has no {place}.request.url: give {EXPORT}")
    if not url.startswith(("http:", "https:")) or response.get("status") == 0 or entry.get("_fromCache"):
        return None
    start = _instant(entry.get("startedDateTime"), f"{place}.startedDateTime")
    took = _number(entry.get("time"))
    size = _size(response)
    if size is None:
        raise ValueError(f"has no {place}.response.bodySize: give {EXPORT}")
    headers, body = _number(request.get("headersSize")), _number(request.get("bodySize"))
    # With HTTP/2 and HTTP/3, browsers do not know the size and write -1.
    asked = int(headers + max(body or 0, 0)) if headers is not None and headers > 0 else None
    return _Entry(url, _initiator(entry.get("_initiator")), start, start + round(max(took or 0, 0) * 1000), size, asked)


def _table(value: Any, key: str, place: str) -> dict[str, Any]:
    table = value.get(key) if isinstance(value, dict) else None
    if not isinstance(table, dict):
        raise ValueError(f"has no {place}.{key}: give {EXPORT}")
    return table


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _instant(value: Any, place: str) -> int:
    try:
        return round(datetime.fromisoformat(value).timestamp() * 1e6)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"has no time at {place}: give {EXPORT}") from None


def _size(response: dict[str, Any]) -> int | None:
    """Return the bytes of the body as transferred (compressed if it was); -1 in the file means unknown."""
    content = response.get("content")
    inner = content if isinstance(content, dict) else {}
    whole, saved = _number(inner.get("size")), _number(inner.get("compression"))
    candidates = [_number(response.get("bodySize")), None if whole is None else whole - max(saved or 0, 0)]
    known = [value for value in candidates if value is not None and value >= 0]
    return int(known[0]) if known else None


def _initiator(value: Any) -> str | None:
    """The address of what caused the request: a document, or the script at the top of the stack."""
    if not isinstance(value, dict):
        return None
    stack = value.get("stack")
    while isinstance(stack, dict):
        frames = stack.get("callFrames")
        if isinstance(frames, list) and frames and isinstance(frames[0], dict) and frames[0].get("url"):
            return str(frames[0]["url"])
        stack = stack.get("parent")
    url = value.get("url")
    return url if isinstance(url, str) and url else None
