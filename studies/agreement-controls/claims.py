"""How near the congestion controls come to the kernel's: ours, and the kernel's own files in the model.

The bounds of the first three claims are those of `agreement-linux`. The fourth one compares two codes in the model
alone, where nothing but the code differs. What a log ratio is, and how its intervals are made,
`haltere.claims.agreement` says.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import polars as pl

from haltere.claims import OURS, MissingDataError, Verdict, all_of, answer, claim, remark, value
from haltere.claims.agreement import Sides, completion, log_ratio, side_by_side, within, worst
from haltere.metrics.tables import Tables

EXPERIMENTS = ("lossless", "lossy", "marked")
FIDELITIES = Sides("fidelity", "model", "linux")
CODE, OURS_LABEL, FILE = "code", "ours", "the kernel's file"
CODES = Sides(CODE, OURS_LABEL, FILE)


def only(tables: Tables, column: str, level: str) -> Tables:
    """The runs of one level of a factor, or of one fidelity."""
    return replace(tables, runs=tables.runs.filter(pl.col(column) == level))


def in_the_model(tables: Tables, experiment: str) -> pl.DataFrame:
    """A row a treatment: the completion time in the model by our code as `first`, by the kernel's file as `second`."""
    return side_by_side(only(tables, "fidelity", "model"), experiment, "completion_s", CODES, flows=True)


@claim(
    "Without random loss the completion times are the kernel's, to 1 % in the median case.",
    source="the bounds of agreement-linux",
    whose=OURS,
)
def lossless_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossless` with our code, the median of |log ratio| must lie within 0.01 and its 90th
    percentile within 0.05."""
    return completion(only(tables, CODE, OURS_LABEL), "lossless", FIDELITIES, 0.01, 0.05, by="congestion")


@claim(
    "With random loss they are the kernel's to 5 % in the median case.",
    source="the bounds of agreement-linux",
    whose=OURS,
)
def lossy_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossy` with our code, the median of |log ratio| must lie within 0.05 and its 90th
    percentile within 0.20."""
    return completion(only(tables, CODE, OURS_LABEL), "lossy", FIDELITIES, 0.05, 0.20, by="congestion")


@claim(
    "With ECN through CoDel they are the kernel's to 1 % in the median case.",
    source="the bounds of agreement-linux without random loss",
    whose=OURS,
)
def marked_completion(tables: Tables) -> Verdict:
    """Over the treatments of `marked` with our code, the median of |log ratio| must lie within 0.01 and its 90th
    percentile within 0.05."""
    return completion(only(tables, CODE, OURS_LABEL), "marked", FIDELITIES, 0.01, 0.05, by="congestion")


@claim(
    "In the model, our code completes a transfer when the kernel's own file does, to 1 %.",
    source="a bound that was set before the runs",
    whose=OURS,
)
def same_code(tables: Tables) -> Verdict:
    """Over the treatments of each experiment at fidelity `model`, the 90th percentile of |log ratio| must lie within
    0.01. The largest one and its treatment are told."""
    parts = []
    for experiment in EXPERIMENTS:
        frame = in_the_model(tables, experiment)
        values = log_ratio(frame)
        parts.append(within(f"{experiment}, 90th percentile", values, 0.9, 0.01))
        equal = int((values == 0).sum())
        parts.append(remark(f"{experiment}, equal to the nanosecond", f"{equal} of {values.size}"))
        farthest = worst(only(tables, "fidelity", "model"), experiment, CODES)
        parts.append(remark(f"{experiment}, farthest apart", farthest))
    return all_of(*parts)


def quantiles(frame: pl.DataFrame, control: str | None) -> str:
    """Median and 90th percentile of the sizes of a control's log ratios, or of all."""
    sizes = np.abs(log_ratio(frame if control is None else frame.filter(pl.col("congestion") == control)))
    return f"{np.median(sizes):.4f}, {np.quantile(sizes, 0.9):.4f}"


def ours_and_kernel(tables: Tables) -> pl.DataFrame:
    """Each control by our code, model against kernel: median and 90th percentile of |log ratio| of completion times."""
    ours = only(tables, CODE, OURS_LABEL)
    frames = {e: side_by_side(ours, e, "completion_s", FIDELITIES, flows=True) for e in EXPERIMENTS}
    names = frames[EXPERIMENTS[0]]["congestion"].unique(maintain_order=True)
    cells = {e: [quantiles(frame, name) for name in names] for e, frame in frames.items()}
    return pl.DataFrame({"median, 90th percentile": names, **cells})


def sides(tables: Tables, of: tuple[str, str], to: tuple[str, str]) -> pl.DataFrame:
    """A row a treatment of all experiments: the completion times of two pairs of fidelity and code."""
    frames = []
    for experiment in EXPERIMENTS:
        runs = tables.runs.with_columns(side=pl.concat_str("fidelity", CODE, separator=", "))
        both = runs.filter(pl.col("side").is_in([", ".join(of), ", ".join(to)])).drop("fidelity", CODE)
        factors = {n: levels for n, levels in tables.factors[experiment].items() if n not in (CODE, "fidelity")}
        chosen = replace(tables, runs=both, factors={experiment: {**factors, "side": []}})
        pair = Sides("side", ", ".join(of), ", ".join(to))
        frame = side_by_side(chosen, experiment, "completion_s", pair, flows=True)
        frames.append(frame.select("congestion", "first", "second"))
    return pl.concat(frames)


def four_ways(tables: Tables) -> pl.DataFrame:
    """Each control over all experiments: model against kernel by both codes, and the kernel by both codes; median and
    90th percentile of |log ratio| of completion times. Last, in how many transfers of the model both codes complete at
    the same nanosecond."""
    ours, file, kernel = ("model", OURS_LABEL), ("model", FILE), ("linux", OURS_LABEL)
    pairs = {
        "ours, kernel": sides(tables, ours, kernel),
        "file, kernel": sides(tables, file, kernel),
        "kernel with the file, kernel": sides(tables, ("linux", FILE), kernel),
    }
    same = sides(tables, ours, file)
    rows = []
    for control in same["congestion"].unique(maintain_order=True):
        row = {"median, 90th percentile": control} | {name: quantiles(pair, control) for name, pair in pairs.items()}
        values = log_ratio(same.filter(pl.col("congestion") == control))
        rows.append(row | {"ours = file": f"{int((values == 0).sum())} of {values.size}"})
    everything = {name: quantiles(pair, None) for name, pair in pairs.items()}
    values = log_ratio(same)
    total = {"median, 90th percentile": "all"} | everything
    return pl.DataFrame([*rows, total | {"ours = file": f"{int((values == 0).sum())} of {values.size}"}])


@value
def each_control(tables: Tables) -> dict[str, pl.DataFrame]:
    """The tables of each control for which there are runs: `kernel` and `four_ways`."""
    found = {}
    for name, of in (("kernel", ours_and_kernel), ("four_ways", four_ways)):
        with contextlib.suppress(MissingDataError):
            found[name] = of(tables)
    return found


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    words = {"lossless": "Without random loss", "lossy": "With random loss", "marked": "With ECN through CoDel"}
    ours = only(tables, CODE, OURS_LABEL)
    for experiment, begin in words.items():
        try:
            sizes = np.abs(log_ratio(side_by_side(ours, experiment, "completion_s", FIDELITIES, flows=True)))
        except MissingDataError:
            continue
        sentences.append(
            f"{begin}, completion times of model and kernel differ by {100 * np.median(sizes):.2f} % in the median "
            f"case and by {100 * np.quantile(sizes, 0.9):.1f} % at the 90th percentile of {sizes.size} treatments. "
            f"Worst: {worst(ours, experiment, FIDELITIES)}."
        )
    try:
        values = np.concatenate([log_ratio(in_the_model(tables, e)) for e in EXPERIMENTS])
    except MissingDataError:
        return sentences
    return [
        *sentences,
        f"In the model our code and the kernel's own files complete {int((values == 0).sum())} of {values.size} "
        f"transfers at the same nanosecond; the largest difference is {100 * np.abs(values).max():.1f} %.",
    ]
