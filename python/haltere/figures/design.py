"""The design of an experiment as a picture: each pair of its ranges against each other, a dot a treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from haltere.figures import style

_CELL_IN = 0.95


@dataclass(frozen=True)
class Drawn:
    """A factor whose levels are drawn from a range: its name, unit, values by treatment, and the range's ends."""

    name: str
    unit: str
    values: Sequence[float]
    low: float
    high: float
    log: bool

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def draw_design(title: str, factors: Sequence[Drawn], stem: Path, formats: tuple[str, ...]) -> list[Path]:
    """Draw a scatter matrix, a histogram of each factor on its diagonal, in these formats; the paths written."""
    count = len(factors)
    with style.paper():
        canvas = Figure(figsize=(max(style.COLUMN_IN, _CELL_IN * count + 0.6),) * 2)
        grid = canvas.subplots(count, count, squeeze=False)
        for row, down in enumerate(factors):
            for column, across in enumerate(factors):
                axes = grid[row, column]
                _scale(axes, across, "x")
                if row == column:
                    _histogram(axes, across)
                else:
                    _scale(axes, down, "y")
                    axes.scatter(across.values, down.values, s=3, color=style.INK, linewidths=0)
                axes.tick_params(labelsize=5, labelbottom=row == count - 1, labelleft=column == 0 and row != column)
                if row == count - 1:
                    axes.set_xlabel(across.label, fontsize=6)
                if column == 0:
                    axes.set_ylabel(down.label, fontsize=6)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=8)
        return style.save(canvas, stem, formats)


def _scale(axes: Axes, factor: Drawn, side: str) -> None:
    (axes.set_xlim if side == "x" else axes.set_ylim)(factor.low, factor.high)
    if factor.log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    else:
        (axes.xaxis if side == "x" else axes.yaxis).set_major_locator(MaxNLocator(3))


def _histogram(axes: Axes, factor: Drawn) -> None:
    """Ten bars of equal width on the factor's scale."""
    if factor.log:
        bounds = [factor.low * (factor.high / factor.low) ** (i / 10) for i in range(11)]
    else:
        bounds = [factor.low + (factor.high - factor.low) * i / 10 for i in range(11)]
    axes.hist(factor.values, bins=bounds, color=style.QUIET)
    axes.set_yticks([])
