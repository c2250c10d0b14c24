"""Draws where two ways of running the same treatments differ most, from studies/agreement-linux or -quic.

`agreement.py RESULTS OUT.svg [COLUMN FIRST SECOND]`, by default `fidelity model linux`; for quinn `stack model quinn`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from haltere.claims.agreement import Sides, log_ratio, side_by_side
from haltere.claims.findings import tables_of
from haltere.figures import style
from haltere.results import load

MARKERS = {"cubic": "o", "newreno": "s", "bbr": "^"}
LEAST = 1e-4
"""Differences below this all look alike: a hundredth of a per cent."""


def number(text: str) -> float:
    """Return the number of a quantity, whose unit is the same in a whole column."""
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else float("nan")


def draw(results: Path, out: Path, sides: Sides) -> None:
    """Draw one panel an experiment: rate and RTT on the axes, the difference as colour, the worst on top."""
    tables = tables_of(load(results))
    with style.paper():
        canvas = Figure(figsize=(style.PAGE_IN, 3.2))
        panels = canvas.subplots(1, 2, sharey=True)
        for axes, (experiment, title) in zip(
            panels, (("lossless", "without random loss"), ("lossy", "with random loss")), strict=True
        ):
            frame = side_by_side(tables, experiment, "completion_s", sides, flows=True)
            frame = frame.with_columns(difference=pl.Series(np.abs(log_ratio(frame)))).sort("difference")
            for congestion, marker in MARKERS.items():
                part = frame.filter(pl.col("congestion") == congestion)
                if part.is_empty():
                    continue
                shown = axes.scatter(
                    [number(text) for text in part["rate"]],
                    [number(text) for text in part["rtt"]],
                    c=np.maximum(part["difference"].to_numpy(), LEAST),
                    norm=LogNorm(LEAST, 1.0),
                    cmap="viridis_r",
                    marker=marker,
                    s=18,
                    label=congestion,
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("rate (Mbit/s)")
            axes.set_title(f"{title}: median {np.median(frame['difference'].to_numpy()):.3%}", fontsize=8)
        panels[0].set_ylabel("base RTT (ms)")
        canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=len(MARKERS))
        canvas.colorbar(shown, ax=list(panels), label=f"|ln({sides.first} ÷ {sides.second})| of completion time")
        style.save(canvas, out.with_suffix(""), (out.suffix[1:],))


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]), Sides(*(sys.argv[3:6] or ["fidelity", "model", "linux"])))
