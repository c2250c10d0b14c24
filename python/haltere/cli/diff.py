"""`haltere diff`: what changed between two results folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from haltere.claims.difference import Difference, compare, place
from haltere.cli import exits, show
from haltere.documents import shown
from haltere.results import Results, load

SHOWN = 40
"""Real changes that the table shows at most."""


def command(a: Path, b: Path, metrics: Sequence[str] | None, *, as_json: bool) -> int:
    """Print what changed and return the exit code: 0 if nothing is real, else that of a difference."""
    first, second = load(a), load(b)
    found = compare(first, second, metrics=metrics)
    if as_json:
        print(json.dumps(found.data(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _print(found, first, second)
    return exits.DIFFERENT if found.real or any(after > before for _, before, after in found.failures) else 0


def _print(found: Difference, a: Results, b: Results) -> None:
    console = show.out()
    for letter, results in (("A", a), ("B", b)):
        manifest = results.manifest
        console.print(
            f"{letter}: {shown(results.path)}, haltere {manifest['haltere']}, seed {manifest['seed']}, "
            f"{manifest['replications']} replications, {manifest['counts']['failed']} failed",
            markup=False,
            style="dim",
            soft_wrap=True,
        )
    for letter, alone in (("A", found.only_a), ("B", found.only_b)):
        if alone:
            console.print(f"only in {letter}: {len(alone)} treatments, such as {place(alone[0])}", markup=False)
    for levels, before, after in found.failures[:SHOWN]:
        console.print(f"failed runs: {before} in A, {after} in B: {place(levels)}", markup=False)
    real = found.real
    if real:
        table = show.table()
        for title in ("treatment", "metric", "A", "B", "B against A", "p"):
            table.add_column(title, justify="left" if title in ("treatment", "metric") else "right", overflow="fold")
        for change in real[:SHOWN]:
            p = "exact" if change.p is None else show.number(change.p, 2)
            where = escape(place({"experiment": change.experiment, **change.levels}))
            numbers = (show.number(change.a), show.number(change.b), change.said, p)
            table.add_row(where, escape(change.metric.axis), *numbers)
        console.print(table)
        if len(real) > SHOWN:
            console.print(f"and {len(real) - SHOWN} more real changes: --json has all", markup=False)
    how = "in pairs" if found.paired else "as independent sets, as the seeds differ"
    console.print(found.answer, markup=False)
    console.print(f"compared {how}; p is corrected for {found.tests} tests (Holm)", markup=False, style="dim")
