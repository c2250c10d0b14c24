"""How numbers, intervals and progress look on a terminal."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from haltere.metrics.plain import interval, number

__all__ = [
    "data",
    "duration",
    "err",
    "interval",
    "note",
    "number",
    "out",
    "progress",
    "say",
    "searching",
    "sentence",
    "stages",
    "table",
]

WIDTH_OF_FILES = 1_000_000
"""Columns of a console that is a file or a pipe: so many that no line is wrapped and no cell is cut."""


LINE_EVERY_S = 10.0
"""How often progress is written to a file or a pipe."""


def out() -> Console:
    """Return the console on standard output."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console on standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    # Not `is_terminal`, which variables such as FORCE_COLOR set, and not COLUMNS, which is the width of a terminal.
    if not console.file.isatty():
        console.width = WIDTH_OF_FILES
    return console


def say(text: str, *, style: str = "") -> None:
    """Print a text as it is on standard output: without markup, and in one line."""
    out().print(text, markup=False, soft_wrap=True, style=style)


def sentence(text: str, *, indent: int = 0, style: str = "") -> None:
    """Print a sentence: on a terminal in lines that end between words and cut no number, else in one line."""
    console = out()
    lines = lines_of(text, console.width - indent) if sys.stdout.isatty() else [text]
    for line in lines:
        say(" " * indent + line, style=style)


def lines_of(text: str, width: int) -> list[str]:
    """A text in lines of at most this width, split at plain spaces alone: not at the thin ones within a number."""
    return textwrap.wrap(text, max(1, width), break_on_hyphens=False) or [""]


def note(text: str) -> None:
    """Print a text as it is on standard error."""
    err().print(text, markup=False, soft_wrap=True)


def data(what: object) -> None:
    """Print JSON for programs."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(what, indent=1, ensure_ascii=not unicode, allow_nan=False) + "\n")


def table(
    *titles: str,
    rows: Iterable[Sequence[str | Text]] = (),
    left: int = 1,
    title: str = "",
    caption: str = "",
    **look: Any,
) -> Table:
    """Return a table for standard output; title and caption, with markup, stand to the left.

    The first `left` columns hold words, the others numbers. Texts in `rows` have no markup. On a terminal that is too
    narrow for the numbers each row becomes a block of lines.
    """
    made = _Fitting(title=title or None, caption=caption or None, title_justify="left", caption_justify="left", **look)
    if not sys.stdout.isatty():
        # Rich wraps these two at the width of the table, however wide the console is.
        made.title, made.caption = _one_line(title, "table.title"), _one_line(caption, "table.caption")
    for place, name in enumerate(titles):
        made.add_column(name, justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in row))
    return made


class _Fitting(Table):
    """A table that never cuts a number: where columns of numbers do not fit, each row is a block with a line a cell."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = self._least()
        if sum(least) + 3 * len(least) + 1 <= options.max_width:
            for column in self.columns:  # Rich takes room from all columns alike, also within words
                column.no_wrap = column.no_wrap or not any(" " in _marked(cell).plain for cell in column.cells)
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield _marked(self.title, "table.title")
        titles = [", ".join(_marked(column.header).plain.splitlines()) for column in self.columns]
        width = max(map(cell_len, titles[1:]), default=0)
        columns = [list(column.cells) for column in self.columns]
        for at in range(self.row_count):
            style = self.rows[at].style
            for place, (title, cells) in enumerate(zip(titles, columns, strict=True)):
                cell = _marked(cells[at])
                text = " ".join(re.split(r"[ \t\n]+", cell.plain.strip()))
                if place == 0:
                    yield from (
                        Text(line, style=style or "bold") for line in lines_of(text or title, options.max_width)
                    )
                elif text and width + 4 + cell_len(text) <= options.max_width:
                    yield Text(f"  {set_cell_size(title, width)}  {text}")
                elif text:
                    yield Text(f"  {title}")
                    yield from (Text(f"    {line}") for line in lines_of(text, options.max_width - 4))
        if self.caption:
            yield _marked(self.caption, "table.caption")

    def _least(self) -> list[int]:
        """Return the width that the numbers of each column, or its longest word, need."""
        widths = []
        for column in self.columns:
            texts = [_marked(cell).plain for cell in (column.header, *column.cells)]
            parts = [
                part for text in texts for part in (text.splitlines() if column.justify == "right" else text.split())
            ]
            widths.append(max([column.min_width or 0, *map(cell_len, parts)]))
        return widths


def _marked(cell: object, style: str = "") -> Text:
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell), style=style)


def _one_line(markup: str, style: str) -> Text | None:
    if not markup:
        return None
    text = Text.from_markup(markup, style=style, overflow="ignore")
    text.no_wrap = True
    return text


@contextmanager
def progress(what: str, unit: str = "runs") -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left; yield what to call with (finished, all).

    Where standard error is no terminal there is a line every 10 s instead, which counts in a unit.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    console = err()
    if not console.is_terminal:
        yield _lines(what, unit)
        return
    with Progress(*columns, console=console, transient=True, speed_estimate_period=60) as bar:
        task = bar.add_task(what if unit == "runs" else f"{what}, {unit}", total=None)

        def on_progress(finished: int, everything: int) -> None:
            if bar.tasks[0].total is None:  # what was finished before must not count as speed
                bar.update(task, total=everything, completed=finished)
                bar.reset(task, total=everything, completed=finished)
            bar.update(task, completed=finished)

        yield on_progress


def _lines(what: str, unit: str) -> Callable[[int, int], None]:
    """Return what writes a line of progress to standard error, no more than one in `LINE_EVERY_S`."""
    started = last = time.monotonic()
    before: int | None = None

    def on_progress(finished: int, everything: int) -> None:
        nonlocal last, before
        before = finished if before is None else before  # what was finished earlier must not count as speed
        now = time.monotonic()
        if now - last < LINE_EVERY_S or finished >= everything:
            return
        last = now
        done = finished - before
        left = f", about {duration((everything - finished) * (now - started) / done)} left" if done else ""
        note(f"{what}: {finished} of {everything} {unit}{left}")

    return on_progress


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Show what is being done and a bar of it; yield what to call with (what, finished, all), all 0 if not known."""
    console = err()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        doing = ""

        def on_progress(what: str, finished: int, everything: int) -> None:
            nonlocal doing
            if what != doing:
                doing = what
                bar.reset(task, total=everything or None, description=escape(what))
            bar.update(task, completed=finished, total=everything or None)

        yield on_progress


@contextmanager
def searching() -> Iterator[Callable[[str, float], None]]:
    """Show what is being tried and the time left; yield what to call with (what, seconds left).

    Where standard error is no terminal there is a line every 10 s instead.
    """
    console = err()
    last = time.monotonic()

    def line(what: str, left: float) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            console.print(f"{what}; {duration(left)} left", markup=False)

    if not console.is_terminal:
        yield line
        return
    with console.status("") as status:
        yield lambda what, left: status.update(f"{escape(what)}; {duration(left)} left")


def duration(seconds: float) -> str:
    """Return a time for people: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
