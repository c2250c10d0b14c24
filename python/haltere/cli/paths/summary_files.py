"""`haltere paths summary` and `haltere paths summaries`: small files of measured paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from haltere.cli import show
from haltere.cli.paths.options import day
from haltere.documents import shown
from haltere.errors import InputError
from haltere.paths.summary import MAX_PATHS, QUANTILES, Summary, find, from_lake, shipped


def write(
    lake: Path,
    out: Path,
    *,
    sources: Sequence[str] | None,
    first_day: str | None,
    last_day: str | None,
    paths: int,
    seed: int,
) -> None:
    """Draw a summary from a lake, write it, and show its quantiles."""
    if not 1 <= paths <= MAX_PATHS:
        raise InputError(
            "is not a number of paths", field="--paths", given=str(paths), right=f"a whole number from 1 to {MAX_PATHS}"
        )
    if not 0 <= seed < 2**63:
        raise InputError("is not a seed", field="--seed", given=str(seed), right="a whole number from 0")
    if out.is_dir():
        raise InputError("is a folder", field="--out", given=str(out), right=f"a file, such as {out / 'paths.json'}")
    first, last = day("--from", first_day), day("--to", last_day)
    if first and last and last < first:
        raise InputError("is before --from", field="--to", given=str(last_day), right=f"{first} or later")
    with show.err().status("drawing paths"):
        drawn = from_lake(lake, paths=paths, seed=seed, sources=sources, first_day=first, last_day=last)
    out.parent.mkdir(parents=True, exist_ok=True)
    drawn.write(out)
    console = show.out()
    console.print(_table([drawn]))
    show.say(f"{len(drawn.paths)} paths of {drawn.traces} clean traces in {shown(out)}")


def table(names: Sequence[str], *, as_json: bool) -> None:
    """Show summaries with their quantiles and where they are from; those that are shipped if none is named."""
    found = [find(name, Path()) for name in names or shipped()]
    if as_json:
        data = [{"name": one.name, **one.described(), "quantiles": one.quantiles} for one in found]
        show.data(data)
        return
    console = show.out()
    console.print(_table(found))
    for one in found:
        show.say(f"{one.name}: {one.about}")


def _table(summaries: Sequence[Summary]) -> Table:
    rows = []
    for one in summaries:
        times, hops = one.quantiles["rtt_us"], one.quantiles["hops"]
        rows.append((one.name, one.origin, "RTT, ms", *(show.number(times[q] / 1e3) for q in QUANTILES)))
        rows.append(("", "", "hops", *(str(hops[q]) for q in QUANTILES)))
    return show.table("summary", "origin", "", *QUANTILES, rows=rows, left=3, caption="each quantile by itself")
