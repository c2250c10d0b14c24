"""`haltere explain`: run the mixtures, then a sentence, a table, and figures; or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from haltere.cli import show
from haltere.conditions import Comparison
from haltere.explanation import Effect, Explanation, explained
from haltere.runner.interrupt import stop_on_interrupt
from haltere.stats import Interval

PAIRS = 5
"""So many interacting pairs are named at most."""


def command(a: str, b: str, what: Comparison, *, metric: str, orders: int, out: Path | None, as_json: bool) -> None:
    """Explain, and print the answer."""
    with show.progress("explaining") as advance, stop_on_interrupt() as stop:
        found = explained(a, b, what, metric=metric, orders=orders, stop=stop, on_progress=advance)
    if as_json:
        print(json.dumps(found.data(), indent=1, allow_nan=False))
    else:
        _print(found)
    if out is not None:
        from haltere.explanation.page import write

        for path in write(found, out):
            show.err().print(f"wrote {path}", markup=False)


def _print(found: Explanation) -> None:
    console = show.out()
    times = f"{found.replications} replication{'s' if found.replications > 1 else ''}"
    orders = f"{found.sampled} orders a replication" if found.sampled else "all orders"
    console.print(escape(f"{found.conditions}; {times}, {found.mixtures} mixtures, {orders}"), style="dim")
    console.print(_table(found))
    console.print(escape(found.answer), style="bold")
    if found.rest:
        console.print(escape(found.rest[:1].upper() + found.rest[1:] + "."))
    for line in _pairs(found):
        console.print(escape(line))
    for note in found.notes:
        console.print(escape(f"note: {note}"))


def _table(found: Explanation) -> Table:
    ratio = found.measure.ratio
    title = f"effect on {found.measure.label}"
    unit = "factor" if ratio else found.measure.unit
    table = show.table(caption=f"{found.a} → {found.b}; mean [95 % interval]", box=box.SIMPLE_HEAD, show_lines=False)
    for name in ("part", "from", "to", f"{title}\n{unit}", "share\n%", "p\ncorrected", ""):
        table.add_column(name, justify="left" if name in ("part", "from", "to", "") else "right", overflow="fold")
    for part, effect in found.ranked:
        share = found.share(effect)
        table.add_row(
            escape(part.name),
            escape(part.before),
            escape(part.after),
            _cell(found.shown(effect), sign=not ratio),
            "–" if share is None else f"{100 * share:.0f}",
            _p(effect),
            _verdict(effect),
        )
    table.add_section()
    whole = "100" if found.whole.real else "–"
    cell = _cell(found.shown(found.whole), sign=not ratio)
    table.add_row("together", "", "", cell, whole, _p(found.whole), _verdict(found.whole))
    return table


def _cell(shown: Interval, *, sign: bool) -> str:
    plus = "+" if sign and shown.value > 0 else ""
    return plus + show.interval(shown, digits=3)


def _p(effect: Effect) -> str:
    if effect.p is None:
        return "exact"
    return "< 0.0001" if effect.p < 1e-4 else show.number(effect.p, 2)


def _verdict(effect: Effect) -> str:
    if effect.nothing:
        return "changes nothing"
    if effect.real is None:
        return "one replication cannot tell"
    return "real" if effect.real else "not shown"


def _pairs(found: Explanation) -> list[str]:
    real = found.interacting
    if not real:
        return []
    factor = "the effect of one is multiplied by" if found.measure.ratio else "the effect of one grows by"
    lines = [f"Parts that interact ({factor} so much if the other is switched, too):"]
    lines += [
        f"  {one.parts[0]} and {one.parts[1]}: {_cell(found.shown(one.effect), sign=not found.measure.ratio)}"
        for one in real[:PAIRS]
    ]
    more = len(real) - PAIRS
    return [*lines, f"  and {more} weaker pair{'s' if more > 1 else ''}"] if more > 0 else lines
