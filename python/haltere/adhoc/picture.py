"""The figure of a comparison: a point with its interval for each that was compared."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from haltere.adhoc.verdict import Verdict
from haltere.errors import ArgumentError, as_written
from haltere.figures import on_paper
from haltere.figures.parts import Axis, Dot, Figure, Panel, Series
from haltere.figures.samples import ends, number_axis, value_text
from haltere.metrics.contenders import keys

_TITLE = 56
"""Characters of a line of a title above a figure one column wide."""


def refuse_format(out: Path) -> None:
    """Raise `InputError` if a figure cannot be written into a file of this name."""
    if out.suffix not in on_paper.FORMATS:
        right = f"a name that ends in {', '.join(on_paper.FORMATS)}"
        raise ArgumentError("is no file of a figure", field="out", given=as_written(str(out)), right=right)


def draw(found: Sequence[Verdict], out: Path, title: str) -> Path:
    """Draw the trimmed means by which contenders or flows are judged, with 95 % intervals, by the ending of the name.

    Raises:
        InputError: if nothing was completed, or the name ends in no format of figures.
    """
    refuse_format(out)
    judged = [one for one in found if one.metric == found[0].metric]
    means = [
        (name, mean) for one in judged for name, mean in zip(one.names, one.typical, strict=True) if mean is not None
    ]
    if not means:
        raise ArgumentError("there is nothing to draw, as no run was completed", field="out")
    looks, metric = keys([name for name, _ in means]), judged[0].metric
    x = Axis("", -0.5, len(means) - 0.5, names=[(at, name) for at, (name, _) in enumerate(means)], listed=True)
    y = number_axis(
        metric.axis, [end for _, one in means for end in (one.value, *(ends(one) or ()))], log=False, zero=True
    )
    series = [
        Series(looks[name], "", [Dot(at, one.value, y_ends=ends(one), place=name, value=value_text(one, metric))])
        for at, (name, one) in enumerate(means)
    ]
    on_paper.write(Figure("compare", textwrap.fill(title, _TITLE), [Panel("", x, y, series)]), out)
    return out
