"""Summaries of measured paths: some paths with their round-trip times and hops, few enough to go with a study.

A summary is a JSON file that says where its paths are from. `haltere paths summary` draws one from a lake; two that are
reconstructed from published numbers are shipped (`tools/internet/published.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator

from haltere.documents import join, shown
from haltere.errors import InputError, Place, as_written
from haltere.files import write_whole
from haltere.paths import lake

T = TypeVar("T")

FORMAT = 1
MAX_PATHS = 100_000
MAX_HOPS = 30
"""Longest path that the study's cleaning keeps."""
DEFAULT_PATHS = 1000
DEFAULT_SEED = 1
QUANTILES = {
    "min": 0.0, "p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0,
}  # fmt: skip
FIELDS = {
    "paths": "in the order of their round-trip times",
    "rtt_us": "round-trip time from the source to the destination, microseconds",
    "hops": "path length: the TTL at which the destination answered",
    "hop_rtt_us": "round-trip time to each hop, from the first, microseconds; null where it was silent; left out if "
    "nothing is known of the hops",
}


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MeasuredPath(_Record):
    """One path: its round-trip time in us, its hops, and the round-trip times to them as far as they are known."""

    rtt_us: Annotated[StrictInt, Field(ge=0, lt=2**32)]
    hops: Annotated[StrictInt, Field(ge=1, le=MAX_HOPS)]
    hop_rtt_us: tuple[Annotated[StrictInt, Field(ge=0, lt=2**32)] | None, ...] | None = None

    @model_validator(mode="after")
    def _one_time_a_hop(self) -> MeasuredPath:
        if self.hop_rtt_us is not None and len(self.hop_rtt_us) != self.hops:
            raise ValueError(f"hop_rtt_us has {len(self.hop_rtt_us)} times: give one for each of the {self.hops} hops")
        return self

    def hop_delays_ns(self) -> list[int]:
        """Return how long each hop takes one way, ns: none below 0, and twice their sum is the round-trip time.

        A router may answer late, as answering is not its work, but never sooner than it can: no hop is farther than any
        after it, so a hop's time is the least of its own and all later ones. Over hops that were silent the time
        between the neighbours that answered is spread evenly. Half of each difference goes each way.
        """
        reached: list[int | None] = [None, *(self.hop_rtt_us or [None] * self.hops)]
        reached[0], reached[-1] = 0, self.rtt_us
        least = self.rtt_us
        for hop in range(self.hops, -1, -1):
            time = reached[hop]
            if time is not None:
                least = min(least, time)
                reached[hop] = least
        known = [(hop, 500 * time) for hop, time in enumerate(reached) if time is not None]
        delays = []
        for (hop, time), (next_hop, next_time) in pairwise(known):
            gap = next_hop - hop
            steps = [(next_time - time) * step // gap for step in range(gap + 1)]
            delays += [b - a for a, b in pairwise(steps)]
        return delays


class _File(BaseModel):
    """A summary's file."""

    model_config = ConfigDict(frozen=True)

    name: StrictStr
    title: StrictStr
    origin: Literal["measured", "reconstructed"]
    about: StrictStr
    sources: tuple[StrictStr, ...] = ()
    first_day: StrictStr | None = None
    last_day: StrictStr | None = None
    traces: Annotated[StrictInt, Field(ge=0)] | None = None
    seed: StrictInt | None = None
    paths: Annotated[tuple[MeasuredPath, ...], Field(min_length=1, max_length=MAX_PATHS)]


@dataclass(frozen=True)
class Summary:
    """Paths of a period in the order of their round-trip times, and where they are from.

    Attributes:
        name: what figures and errors call it.
        title: one line.
        origin: `measured`, or `reconstructed` from published numbers.
        about: where it is from and what it leaves out, in full sentences.
        paths: the paths.
        sources: the measuring platforms.
        first_day: of the traces, if known.
        last_day: of the traces, if known.
        traces: how many clean traces the paths stand for, if known.
        seed: of the draw.
    """

    name: str
    title: str
    origin: Literal["measured", "reconstructed"]
    about: str
    paths: tuple[MeasuredPath, ...] = field(repr=False)
    sources: tuple[str, ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    traces: int | None = None
    seed: int | None = None

    def at(self, share: float) -> MeasuredPath:
        """Return the path at or below which a share (0 to 1) of them lies, by round-trip time: a path of the summary.

        The inverse of the empirical distribution function (R. J. Hyndman, Y. Fan, "Sample quantiles in statistical
        packages", The American Statistician 50(4), 1996, definition 1).
        """
        return _at(self.paths, share)

    @cached_property
    def quantiles(self) -> dict[str, dict[str, int]]:
        """The named quantiles of round-trip times (us) and hops, each by itself."""
        times, hops = [path.rtt_us for path in self.paths], sorted(path.hops for path in self.paths)
        return {
            "rtt_us": {name: _at(times, share) for name, share in QUANTILES.items()},
            "hops": {name: _at(hops, share) for name, share in QUANTILES.items()},
        }

    def described(self) -> dict[str, str]:
        """Return what a reader of results must know about it."""
        return {"title": self.title, "origin": self.origin, "about": self.about}

    def text(self) -> str:
        """Return the file's text: a line a path, and what the fields mean."""
        head = {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "origin": self.origin,
            "about": self.about,
            "sources": list(self.sources),
            "first_day": self.first_day,
            "last_day": self.last_day,
            "traces": self.traces,
            "seed": self.seed,
            "quantiles": self.quantiles,
            "fields": FIELDS,
        }
        lines = [f' "{key}": {json.dumps(value, ensure_ascii=False)},' for key, value in head.items()]
        rows = ",\n".join(f"  {path.model_dump_json(exclude_none=path.hop_rtt_us is None)}" for path in self.paths)
        return "\n".join(["{", *lines, ' "paths": [', rows, " ]", "}", ""])

    def write(self, path: Path) -> None:
        """Write the summary's file, whole or not at all."""
        write_whole(path, self.text().encode())


def _at(values: Sequence[T], share: float) -> T:
    return values[min(max(math.ceil(share * len(values)) - 1, 0), len(values) - 1)]


def ordered(paths: Sequence[MeasuredPath]) -> tuple[MeasuredPath, ...]:
    """Return paths in a summary's order, which depends on nothing but them."""
    return tuple(sorted(paths, key=lambda path: (path.rtt_us, path.hops, path.model_dump_json())))


def read(path: Path) -> Summary:
    """Read a summary's file; raise `InputError` if it cannot be read, or is not a summary."""
    place, right = Place(shown(path)), "a file that `haltere paths summary` wrote"
    try:
        data: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=place, right=right) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", place=place, right=right) from None
    if not isinstance(data, dict) or "format" not in data:
        raise InputError("is no summary of paths", place=place, right=right)
    if data["format"] != FORMAT:
        given = f"format {as_written(data['format'])}"
        raise InputError(
            "is a summary of another haltere", place=place, given=given, right=f"format {FORMAT}, or a newer haltere"
        )
    return _checked(data, place)


def _checked(data: Mapping[str, Any], place: Place) -> Summary:
    try:
        file = _File.model_validate(data)
    except ValidationError as errors:
        first = errors.errors()[0]
        given = None if isinstance(first["input"], dict | list) else as_written(first["input"])
        said = str(first["msg"]).removeprefix("Value error, ")
        raise InputError(
            said[0].lower() + said[1:],
            place=place,
            field=join(list(first["loc"])),
            given=given,
            right="what `haltere paths summary` writes there",
        ) from None
    for number, (path, after) in enumerate(pairwise(file.paths)):
        if after.rtt_us < path.rtt_us:
            raise InputError(
                "is out of order",
                place=place,
                field=f"paths[{number + 1}].rtt_us",
                given=str(after.rtt_us),
                right=f"paths in the order of their round-trip times, so at least {path.rtt_us}",
            )
    return Summary(
        file.name, file.title, file.origin, file.about, file.paths, file.sources, file.first_day, file.last_day,
        file.traces, file.seed,
    )  # fmt: skip


def from_lake(
    path: str | Path,
    *,
    paths: int = DEFAULT_PATHS,
    seed: int = DEFAULT_SEED,
    sources: Sequence[str] | None = None,
    first_day: date | None = None,
    last_day: date | None = None,
) -> Summary:
    """Draw a summary's paths from a lake's clean traces, without replacement.

    The draw depends on the traces and the seed alone (`haltere.paths.lake.Lake.sample`).

    Raises:
        InputError: if it is no lake, or holds no clean trace with a time of what is asked for.
    """
    selection = lake.Selection(None if sources is None else tuple(sources), first_day, last_day)
    opened = lake.Lake(path, selection)
    try:
        drawn = opened.sample(paths, seed, columns=["hops", "rtt_us", "hop_ttl", "hop_rtt_us"])
        traces = int(opened.clean().select(pl.len()).collect(engine="streaming").item())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"cannot be read: {error}", field=str(path), right="a lake as `haltere paths ingest` left it"
        ) from None
    found = [_measured(row) for row in drawn.iter_rows(named=True) if row["rtt_us"] is not None and row["hops"]]
    if not found:
        raise InputError(
            "holds no clean trace with a round-trip time",
            field=str(path),
            right="traces whose destinations answered; `haltere paths count` counts them",
        )
    platforms = tuple(sorted({part.source for part in opened.parts}))
    days = [day for day in opened.days() if day != lake.UNKNOWN_DAY]
    first, last = (days[0], days[-1]) if days else (None, None)
    about = (
        f"{len(found)} of {traces} clean traces (complete, at most {MAX_HOPS} hops, no loop), drawn without "
        f"replacement with seed {seed}. Round-trip times are those of the probes: they hold the queueing of their "
        "moment and the delay of the answering hosts. Unanswered probes are no measure of loss and are left out."
    )
    title = f"{opened.name}: {', '.join(platforms)}" + (f", {first} to {last}" if first else "")
    return Summary(
        opened.name, title, "measured", about, ordered(found), platforms, first, last, traces, seed
    )  # fmt: skip


def _measured(row: Mapping[str, Any]) -> MeasuredPath:
    """Return a lake's row as a path; of several answers at a TTL the soonest counts."""
    times: list[int | None] = [None] * row["hops"]
    for ttl, time in zip(row["hop_ttl"] or (), row["hop_rtt_us"] or (), strict=False):
        if time is not None and 1 <= ttl <= len(times):
            known = times[ttl - 1]
            times[ttl - 1] = time if known is None else min(known, time)
    times[-1] = row["rtt_us"]
    return MeasuredPath(rtt_us=row["rtt_us"], hops=row["hops"], hop_rtt_us=tuple(times))


def _folder() -> Path:
    return Path(str(resources.files("haltere.paths"))) / "summaries"


def shipped() -> dict[str, Path]:
    """Return the files of the summaries that are shipped, by name."""
    return {file.stem: file for file in sorted(_folder().glob("*.json"))}


def find(name: str, folder: Path) -> Summary:
    """Return the summary that a name stands for: a shipped one, a summary's file, or a lake's folder.

    Args:
        name: as a scenario gives it; what is shipped comes first.
        folder: where names of files begin.

    Raises:
        InputError: if there is none of the name, or it cannot be read.
    """
    known = shipped()
    path = known.get(name, folder / name)
    try:
        about = path / "lake.json" if path.is_dir() else path
        there = bool(name) and about.is_file()
    except OSError:  # not a valid file name
        there = False
    if not there:
        raise InputError(
            f"{as_written(name)} is neither a shipped summary nor a summary's file nor a lake",
            right=f"{', '.join(known)}; or a file or folder, relative to {shown(folder)}",
        )
    stat = about.stat()
    return _load(path.resolve(), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _load(path: Path, _modified_ns: int, _size: int) -> Summary:
    """Read or draw it once, however many treatments use it."""
    return from_lake(path) if path.is_dir() else read(path)
