"""`haltere explain`, `map` and `why`: run the mixtures, then a sentence, a table, and figures; or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from haltere.adhoc.conditions import Comparison
from haltere.cli import show
from haltere.cli.commands.explain import Cells, Wanted
from haltere.documents import shown
from haltere.errors import counted
from haltere.explanation import Effect, Explanation, asked, explained, maps
from haltere.explanation.answer import factor_of
from haltere.explanation.maps import explain_study
from haltere.explanation.runs import How
from haltere.runner.interrupt import stop_on_interrupt
from haltere.stats import Interval
from haltere.study import Study

PAIRS = 5
"""So many interacting pairs are named at most."""


def command(a: str, b: str, what: Comparison, wanted: Wanted) -> None:
    """Explain, and print the answer."""
    with show.progress("explaining") as advance, stop_on_interrupt() as stop:
        found = explained(a, b, what, metric=wanted.metric, orders=wanted.orders, stop=stop, on_progress=advance)
    if wanted.as_json:
        show.data(found.data())
    else:
        _print(found)
    if wanted.out is not None:
        from haltere.explanation.page import write

        _tell(write(found, wanted.out))


def _tell(written: Iterable[Path]) -> None:
    for path in written:
        show.note(f"wrote {path}")


def asked_by(study: str, results: Path | None, workers: int | None, *, as_json: bool) -> None:
    """Explain the differences that a study's tables `[[why]]` name, print the answers, and keep them for the report."""
    loaded = Study.load(study)
    folder = results or Path("results") / loaded.name
    with show.progress("explaining") as advance, stop_on_interrupt() as stop:
        found = asked.explain_all(loaded, folder, How(workers, None, stop, advance))
    if as_json:
        each = [{"claims": one.claims, "explanation": one.explanation.data()} for one in found]
        show.data(each)
        return
    for one in found:
        show.say(f"{', '.join(one.claims)}: {one.explanation.measure.spoken}", style="bold")
        _print(one.explanation)
    show.say(f"next: haltere report {shown(folder)}")


def over_study(study: Path, a: str, b: str, cells: Cells, wanted: Wanted) -> None:
    """Explain at every combination of a study's levels, and print where which part matters."""
    with show.progress("explaining") as advance, stop_on_interrupt() as stop:
        found = explain_study(
            a,
            b,
            study,
            experiment=cells.experiment,
            metric=wanted.metric,
            replications=cells.replications,
            orders=wanted.orders,
            fidelity=cells.fidelity,
            how=How(cells.workers, None, stop, advance),
        )
    if wanted.as_json:
        show.data(found.data())
    else:
        _print_map(found)
    _tell(found.save(wanted.out) if wanted.out is not None else ())


def _print_map(found: maps.Map) -> None:
    ratio = found.measure.ratio
    counts = {"combination": len(found.cells), "replication": found.values.shape[2], "run": found.runs}
    times = ", ".join(counted(number, thing) for thing, number in counts.items())
    show.say(f"{found.study}, experiment {found.experiment}: {times}", style="dim")
    unit = "factor on" if ratio else f"{found.measure.unit} more of"
    caption = f"{found.a} → {found.b}; {unit} {found.measure.spoken}; * real, corrected for all parts of a column"
    columns = [{}, *({name: level} for name, levels in found.factors.items() for level in levels)]
    heads = (f"{name}\n{level}" for one in columns for name, level in one.items())
    pooled = [found.pooled(one) for one in columns]
    rows = [(found.parts[part].name, *(_short(one[part], ratio=ratio) for one in pooled)) for part in found.ranked]
    table = show.table("part", "over all", *heads, rows=rows, caption=escape(caption), box=box.SIMPLE_HEAD)
    show.out().print(table)
    show.say(found.answer, style="bold")
    if found.lost:
        show.say(f"note: {found.lost} combinations and replications have no value, as runs failed")


def _short(effect: Effect, *, ratio: bool) -> str:
    value = effect.interval.value
    return (f"{factor_of(value):.3f}" if ratio else f"{value:+.3g}") + ("*" if effect.real else " ")


def _print(found: Explanation) -> None:
    times = counted(found.replications, "replication")
    orders = f"{found.sampled} orders a replication" if found.sampled else "all orders"
    show.say(f"{found.conditions}; {times}, {found.mixtures} mixtures, {orders}", style="dim")
    show.out().print(_table(found))
    show.say(found.answer, style="bold")
    if found.rest:
        show.say(found.rest[:1].upper() + found.rest[1:] + ".")
    for line in _pairs(found):
        show.say(line)
    for note in found.notes:
        show.say(f"note: {note}")


def _table(found: Explanation) -> Table:
    ratio = found.measure.ratio
    title = f"effect on {found.measure.spoken}"
    unit = "factor" if ratio else found.measure.unit
    rows: list[tuple[str, ...]] = []
    # Without a difference that is shown nothing is a share of it.
    shares = bool(found.whole.real)
    for part, effect in found.ranked:
        share = found.share(effect)
        cell = _cell(found.shown(effect), sign=not ratio)
        said = () if share is None else (f"{round(100 * share)}",)
        rows.append((part.name, part.before, part.after, cell, *said, _p(effect), _verdict(effect)))
    heads = ("share\n%",) if shares else ()
    titles = ("part", "from", "to", f"{title}\n{unit}", *heads, "p\ncorrected", "")
    caption = f"{found.a} → {found.b}; mean [95 % interval]"
    table = show.table(*titles, rows=rows, left=3, caption=caption, box=box.SIMPLE_HEAD)
    table.columns[-1].justify = "left"
    table.add_section()
    cell = _cell(found.shown(found.whole), sign=not ratio)
    table.add_row("together", "", "", cell, *(("100",) if shares else ()), _p(found.whole), _verdict(found.whole))
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
