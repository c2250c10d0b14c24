"""`haltere diff`: what changed between two results folders."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from haltere.claims.difference import Change, Difference, compare
from haltere.cli import exits, show
from haltere.documents import shown
from haltere.metrics import quantities
from haltere.results import Results, load

SHOWN = 40
"""Real changes that the table shows at most."""


def command(a: Path, b: Path, metrics: Sequence[str] | None, *, as_json: bool) -> int:
    """Print what changed and return the exit code: 0 if nothing is real, else that of a difference."""
    first, second = load(a), load(b)
    found = compare(first, second, metrics=metrics)
    if as_json:
        print(json.dumps(_data(found), indent=1, ensure_ascii=False, allow_nan=False))
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
            console.print(f"only in {letter}: {len(alone)} treatments, such as {_place(alone[0])}", markup=False)
    for levels, before, after in found.failures[:SHOWN]:
        console.print(f"failed runs: {before} in A, {after} in B: {_place(levels)}", markup=False)
    real = found.real
    if real:
        table = show.table()
        for title in ("treatment", "metric", "A", "B", "B against A", "p"):
            table.add_column(title, justify="left" if title in ("treatment", "metric") else "right", overflow="fold")
        for change in real[:SHOWN]:
            p = "exact" if change.p is None else show.number(change.p, 2)
            place = escape(_place({"experiment": change.experiment, **change.levels}))
            numbers = (show.number(change.a), show.number(change.b), said(change), p)
            table.add_row(place, escape(change.metric.axis), *numbers)
        console.print(table)
        if len(real) > SHOWN:
            console.print(f"and {len(real) - SHOWN} more real changes: --json has all", markup=False)
    counts = found.counts()
    how = "in pairs" if found.paired else "as independent sets, as the seeds differ"
    console.print(
        f"{counts['real']} real changes; {counts['same']} the same, {counts['not shown']} not shown to be real, "
        f"{counts['undecided']} undecided (fewer than 3 replications)",
        markup=False,
    )
    console.print(f"compared {how}; p is corrected for {found.tests} tests (Holm)", markup=False, style="dim")


def said(change: Change) -> str:
    """Return a change as a word: `+12 %`, `−3 packets`, with what is small in practice marked."""
    metric = change.metric
    if metric.comparison == "difference":
        words = f"{change.change:+.3g} {metric.unit}".strip()
    elif math.isinf(change.change):
        words = "from 0"
    else:
        words = f"{100 * (change.change - 1):+.3g} %"
    side = {True: ", better", False: ", worse", None: ""}[change.better]
    return words.replace("-", "−") + (", small" if change.small else side)


def _place(levels: Mapping[str, str]) -> str:
    return ", ".join(quantities.text(level, factor) for factor, level in levels.items())


def _data(found: Difference) -> dict[str, Any]:
    return {
        "paired": found.paired,
        "tests": found.tests,
        "counts": found.counts(),
        "only_a": list(found.only_a),
        "only_b": list(found.only_b),
        "failures": [{"treatment": levels, "a": a, "b": b} for levels, a, b in found.failures],
        "changes": [
            {
                "experiment": one.experiment,
                "levels": one.levels,
                "metric": one.metric.name,
                "flow": one.metric.flow,
                "direction": one.metric.direction,
                "unit": one.metric.unit,
                "comparison": one.metric.comparison,
                "n": one.n,
                "a": one.a,
                "b": one.b,
                "change": one.change if math.isfinite(one.change) else None,
                "p": one.p,
                "standing": one.standing,
                "small": one.small,
            }
            for one in found.changes
        ],
    }
