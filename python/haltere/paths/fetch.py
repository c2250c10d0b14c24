"""Results of RIPE Atlas measurements, fetched by RIPE's own client into files that `haltere paths ingest` reads."""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from haltere.errors import ArgumentError, InputError
from haltere.extras import remedy
from haltere.files import write_whole

SERVER = "https://atlas.ripe.net"
_TIMEOUT_S = 120
"""Of a connection, and between two packets of an answer."""


@dataclass(frozen=True)
class Fetched:
    """A file of results.

    Attributes:
        path: the file; none was written if there are no results.
        results: how many results it has.
        known: whether it was there already, and nothing was fetched.
    """

    path: Path
    results: int
    known: bool


def fetch_atlas(
    measurements: Sequence[int],
    out: Path,
    *,
    first_day: date | None = None,
    last_day: date | None = None,
    probes: Sequence[int] = (),
    key: str | None = None,
    server: str = SERVER,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Fetched]:
    """Fetch the results of measurements into a folder: a gzip'd file of lines for each measurement and day (UTC).

    Without days all results of a measurement come in one answer, which must fit into memory. Files that are there are
    not fetched again, so that the same command goes on where it was stopped; each is written whole or not at all.

    Args:
        measurements: their numbers.
        out: the folder, made if there is none.
        first_day: the first day; needs `last_day`.
        last_day: the last day.
        probes: only results of these probes.
        key: an API key, for measurements that are not public.
        server: where the interface is (RIPE Atlas REST API, version 2).
        on_progress: called with the files that are done and their number.

    Raises:
        InputError: if the client is not installed, the days are none, or the server refuses.
    """
    client = _client()
    wanted = [(number, day) for number in measurements for day in _days(first_day, last_day)]
    out.mkdir(parents=True, exist_ok=True)
    fetched = []
    for done, (number, day) in enumerate(wanted):
        if on_progress is not None:
            on_progress(done, len(wanted))
        path = out / f"atlas-{number}{'' if day is None else f'-{day}'}{_of(probes)}.json.gz"
        if path.exists():
            fetched.append(Fetched(path, 0, known=True))
            continue
        results = _results(_request(client, number, day, probes, key, server), number)
        if results:
            lines = "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in results)
            write_whole(path, gzip.compress(lines.encode(), mtime=0))
        fetched.append(Fetched(path, len(results), known=False))
    if on_progress is not None:
        on_progress(len(wanted), len(wanted))
    return fetched


def _of(probes: Sequence[int]) -> str:
    return "" if not probes else "-probes-" + "-".join(str(probe) for probe in sorted(set(probes)))


def _days(first: date | None, last: date | None) -> Iterator[date | None]:
    if first is None and last is None:
        yield None
        return
    if first is None or last is None:
        lacking = "first_day" if first is None else "last_day"
        raise ArgumentError("is needed with the other", field=lacking, right="both, or neither for all results at once")
    if last < first:
        raise ArgumentError("is before `first_day`", field="last_day", given=str(last), right=f"{first} or later")
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def _client() -> Any:
    try:
        return importlib.import_module("ripe.atlas.cousteau")
    except ImportError:
        problem = "RIPE's client is not installed"
        raise InputError(problem, field="fetch atlas", right=remedy("atlas")) from None


def _request(client: Any, number: int, day: date | None, probes: Sequence[int], key: str | None, server: str) -> Any:
    window = {}
    if day is not None:
        window = {
            "start": datetime.combine(day, time.min, UTC),
            "stop": datetime.combine(day, time.max, UTC).replace(microsecond=0),
        }

    class Request(client.AtlasResultsRequest):  # type: ignore[misc]
        """The client's request, to any server."""

        def build_url(self) -> None:
            self.url = f"{server}{self.url_path}"

    request = Request(msm_id=number, probe_ids=list(probes) or None, key=key, user_agent="haltere", **window)
    request.http_method_args["timeout"] = _TIMEOUT_S
    return request


def _results(request: Any, number: int) -> list[dict[str, Any]]:
    field = f"measurement {number}"
    success, answer = request.create()
    if not success:
        right = "the number of a measurement that is public, or `key`; and a connection to the server"
        raise ArgumentError(f"was not given: {_reason(answer)}", field=field, right=right)
    if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
        raise InputError("has an answer that is no list of results", field=field, right="a server of RIPE Atlas")
    kinds = {str(one.get("type")) for one in answer} - {"traceroute"}
    if kinds:
        raise InputError(
            f"holds results of {', '.join(sorted(kinds))}", field=field, right="a measurement of the type traceroute"
        )
    return answer


def _reason(answer: Any) -> str:
    """The words of the server, or of the connection."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        return " ".join(str(error[name]) for name in ("status", "title", "detail") if error.get(name))
    return " ".join(str(answer).split())[:200]
