"""`haltere.compare`: a comparison by keywords, as a data frame that knows what its rows say."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import polars as pl

from haltere.adhoc.comparison import FIELDS, measure
from haltere.adhoc.conditions import Comparison, is_call, stated
from haltere.errors import InputError, as_written
from haltere.results import columns

if TYPE_CHECKING:
    from haltere.adhoc.verdict import Verdict

P = ParamSpec("P")
R = TypeVar("R")
_TYPES = columns.schema("run") | columns.schema("flow") | {"replication": pl.Int64(), "seed": pl.Int64()}
ENTRY: dict[str, pl.DataType] = {name: _TYPES.get(name, pl.String()) for name in FIELDS}
"""The columns of `Compared`: the fields of entries with their types."""
LEAD: dict[str, pl.DataType] = {
    "metric": pl.String(),
    "of": pl.String(),
    "to": pl.String(),
    **dict.fromkeys(("ratio", "low", "high", "p"), pl.Float64()),
    "pairs": pl.Int64(),
    "replications": pl.Int64(),
    "alike": pl.Float64(),
    "real": pl.Boolean(),
    "stands": pl.String(),
}
"""The columns of `Compared.leads`. `of` is the better one; `ratio` is of its values to those of `to`. `low` and `high`
are the ends of the ratio's interval, which has the confidence to which `p` is corrected. `alike` is the margin of
practical equivalence, `real` whether `of` is ahead by more than chance and more than the margin."""
PROBED: dict[str, pl.DataType] = {"probe_rtt_ms": pl.List(pl.Float64())}
"""The further column if there is a probe."""


class Compared(pl.DataFrame):
    """The entries of a comparison, with what they say. In a notebook it shows its verdict above its rows."""

    _what: Comparison | None = None
    """The comparison, if it is known: frames that are made of this one do not know it."""

    @property
    def verdict(self) -> str:
        """Who is first, against whom, and whether the difference is real, in sentences."""
        from haltere.adhoc.verdict import sentences  # noqa: PLC0415 (statistics load numpy and scipy)

        groups, share, metric = self._judged()
        return "\n".join(sentences(groups, share=share, metric=metric))

    @property
    def leads(self) -> pl.DataFrame:
        """A row for each two that were compared: ratio, ends of its interval, corrected p-value, and what they say."""
        rows = [row for one in self._verdicts() for row in one.rows()]
        return pl.DataFrame(rows, schema=LEAD)

    def _verdicts(self) -> list[Verdict]:
        from haltere.adhoc.verdict import verdicts  # noqa: PLC0415 (statistics load numpy and scipy)

        groups, share, metric = self._judged()
        return verdicts(groups, share=share, metric=metric)

    def _judged(self) -> tuple[list[list[dict[str, Any]]], bool, str | None]:
        """Return the entries of each contender, whether they shared a link, and the metric that decides."""
        entries = self.to_dicts()
        count = sum(entry["replication"] == entries[0]["replication"] for entry in entries)
        share = all(entry["completion_s"] is None for entry in entries) and any(e["goodput_bps"] for e in entries)
        if self._what is not None:
            share = self._what.share
        elif all(is_call(entry["contender"]) for entry in entries):
            share = False
        metric = None if self._what is None else self._what.metric
        return [entries[at::count] for at in range(count)], share, metric

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        said = "".join(f"<p>{escape(line)}</p>" for line in self.verdict.splitlines())
        return said + super()._repr_html_(_from_series=_from_series)


def _by_keywords(
    make: Callable[P, Comparison],
) -> Callable[[Callable[[Sequence[str], Comparison], R]], Callable[Concatenate[Sequence[str], P], R]]:
    """Let a function of contenders and a comparison take the comparison's fields as keywords, and document them."""

    def decorate(function: Callable[[Sequence[str], Comparison], R]) -> Callable[Concatenate[Sequence[str], P], R]:
        def called(contenders: Sequence[str], *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                inspect.signature(called).bind(contenders, *args, **kwargs)
            except TypeError as error:
                hint = ": contenders are one list, and all else has a name" if args else ""
                raise TypeError(f"{function.__name__}: {error}{hint}") from None
            try:
                return function(contenders, make(*args, **kwargs))
            except InputError as error:
                # Where in this package a wrong argument was noticed says nothing to who gave it.
                raise error.with_traceback(None) from None

        functools.update_wrapper(called, function)
        own, kinds = inspect.signature(function), get_type_hints(Comparison)
        keywords = inspect.signature(make).parameters.values()
        parameters = [keyword.replace(annotation=kinds[keyword.name]) for keyword in keywords]
        called.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[own.parameters["contenders"], *parameters]
        )
        lines = "".join(_documented(field.name, about.help) for field, about in stated(Comparison))
        head, raises, tail = (function.__doc__ or "").partition("    Raises:\n")
        called.__doc__ = f"{head}    Args:\n        contenders: What competes.\n{lines}\n{raises}{tail}"
        # Python takes `contenders` by its name as well, which the type cannot say.
        return called  # type: ignore[return-value]

    return decorate


def _documented(name: str, help_text: str) -> str:
    words = re.sub(r"--([a-z-]+)", lambda option: f"`{option[1].replace('-', '_')}`", help_text)
    return textwrap.fill(f"{name}: {words}", 118, initial_indent=" " * 8, subsequent_indent=" " * 12) + "\n"


@_by_keywords(Comparison)
def compare(contenders: Sequence[str], what: Comparison) -> Compared:
    """Compare contenders on one link, or over several paths, and return a row for each contender and replication.

    Contenders are words such as `["tcp/cubic", "quic/bbr"]` (see `haltere algorithms`). Several paths are given as
    `paths=[PathConditions(rate="20Mbit/s", rtt="10ms"), PathConditions(rate="5Mbit/s", loss="1%")]`. With a probe there
    is a column `probe_rtt_ms`: the RTT of each request, null for a lost one. `verdict` says who is first and whether
    the difference is real; `leads` has ratio, interval and p-value of each comparison.

    Raises:
        InputError: if something given cannot be run.
    """
    if isinstance(contenders, str) or not all(isinstance(one, str) for one in contenders):
        raise InputError(
            "is not a list of contenders",
            field="contenders",
            given=as_written(contenders),
            right='a list of words, such as ["tcp/cubic", "quic/bbr"]',
        )
    if what.metric is not None:
        from haltere.adhoc.verdict import decides  # noqa: PLC0415 (statistics load numpy and scipy)

        decides(what.metric)
    what = what.suited(contenders)
    entries = measure(contenders, what, replications=what.replications, seed=what.seed, workers=what.workers)
    found = Compared(entries, schema=ENTRY | (PROBED if what.probe is not None else {}))
    found._what = what
    return found
