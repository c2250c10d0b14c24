"""The answer, and the numbers and tables that the pages show beside the claims."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl

from haltere.claims import MissingDataError, answer, reading, value
from haltere.claims.comparison import geometric
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant

from .benefit import benefits
from .ground import (
    CLASSES,
    LOST,
    MPQUIC,
    MPTCP,
    QUIC,
    READINGS,
    SECONDS,
    SIZES,
    TCP,
    TIME,
    TO,
    Side,
    Statistic,
    average,
    label,
    longest,
    median,
    stacks,
    values,
)
from .numbers import PUBLISHED


@answer
def conclusion(tables: Tables) -> list[str]:
    """Completion times of MPQUIC against MPTCP, scenario by scenario."""
    sentences = []
    for stack in stacks(tables):
        whose = "With the stacks of 2017" if stack == "2017" else "With today's stacks"
        for experiment, name in CLASSES.items():
            ratios = []
            for size in (size for size in SIZES if size in tables.levels(experiment, "size")):
                quic, tcp = (values(tables, [experiment], label(who, stack), size, SECONDS) for who in (MPQUIC, MPTCP))
                ratio = geometric(np.log(quic / tcp).mean(axis=0))
                ratios.append(f"{reading(ratio, TIME)} with {quantities.text(size)}")
            sentences.append(
                f"{whose}, in the {name} class, MPQUIC takes in the geometric mean over scenarios these shares of "
                f"MPTCP's time: {', '.join(ratios)}."
            )
    return sentences


Given = TypeVar("Given")


def where_it_was_run(given: Callable[[Tables], Given]) -> Callable[[Tables], Given | str]:
    """Let a value say what is missing where a variant lacks the runs that it is of."""

    @functools.wraps(given)
    def found(tables: Tables) -> Given | str:
        try:
            return given(tables)
        except MissingDataError as missing:
            return f"{missing}."

    return found


@value
@where_it_was_run
def published(tables: Tables) -> pl.DataFrame:
    """The numbers of the paper's section 3 beside those of the stacks of 2017: means over replications."""
    rows = []
    for one in PUBLISHED:
        found = {name: float(one.taken(Side(tables, name, "2017")).mean()) for name in READINGS}
        near = [name for name, number in found.items() if abs(number / one.said - 1) <= TO]
        rows.append(
            {
                "figure": one.figure,
                "number": one.what,
                "the paper": f"{one.said:g} {one.unit}",
                **{name: f"{significant(number)} {one.unit}" for name, number in found.items()},
                "to 15 %": ", ".join(near) or "–",
            }
        )
    return pl.DataFrame(rows)


@value
@where_it_was_run
def spreads(tables: Tables) -> dict[str, str]:
    """Mean, median and longest time of 20 MB, s, by reading and protocol; mean and median of 1 MB over MPQUIC, and the
    longest of MPTCP with 300 kB and 1 MB."""
    found = {}
    for name in READINGS:
        side = Side(tables, name, "2017")

        def shown(who: str, size: str, *statistics: Statistic, side: Side = side) -> str:
            return " / ".join(significant(float(side.each(who, size, SECONDS, one).mean())) for one in statistics)

        found[f"{name}_mpquic"] = shown(MPQUIC, "20MB", average, median, longest)
        found[f"{name}_mptcp"] = shown(MPTCP, "20MB", average, median, longest)
        found[f"{name}_1mb"] = shown(MPQUIC, "1MB", average, median)
        found[f"{name}_longest"] = f"{shown(MPTCP, '300kB', longest)} / {shown(MPTCP, '1MB', longest)}"
    return found


@value
@where_it_was_run
def losses_by_definition(tables: Tables) -> dict[str, str]:
    """The share of packets lost with 300 kB, both classes: its median without those under way at the end, and with
    them; the share of runs that lost none."""
    found = {}
    experiments = READINGS["both"]
    for who in (MPQUIC, MPTCP):
        lost, missing = (
            100 * values(tables, experiments, label(who, "2017"), "300kB", what)
            for what in (LOST, pl.col("missing") / pl.col("offered"))
        )
        found[f"{who}_lost"] = f"{np.median(lost):.2f} %"
        found[f"{who}_missing"] = f"{np.median(missing):.2f} %"
        found[f"{who}_none"] = f"{100 * (lost == 0).mean():.0f} %"
    return found


@value
@where_it_was_run
def by_class(tables: Tables) -> pl.DataFrame:
    """MPQUIC's completion time over MPTCP's by size, the geometric mean over scenarios, and the share of runs with
    20 MB and an aggregation benefit: a row a class and stack."""
    rows = []
    for stack in stacks(tables):
        for experiment, name in CLASSES.items():
            row = {"stacks": stack, "class": name}
            for size in (size for size in SIZES if size in tables.levels(experiment, "size")):
                quic, tcp = (values(tables, [experiment], label(who, stack), size, SECONDS) for who in (MPQUIC, MPTCP))
                row[quantities.text(size)] = f"{np.exp(np.log(quic / tcp).mean()):.3f}"
            for multipath, single in ((MPQUIC, QUIC), (MPTCP, TCP)):
                share = (benefits(tables, experiment, multipath, single, stack) > 0).mean()
                row[f"with a benefit, {multipath}"] = f"{100 * share:.0f} %"
            rows.append(row)
    return pl.DataFrame(rows)


@value
@where_it_was_run
def first_three(tables: Tables) -> dict[str, str]:
    """How far the ratio of the protocols' median times from three replications is from that of all: the median, the
    95th percentile and the largest over all treatments."""
    off = []
    for experiment in CLASSES:
        for size in tables.levels(experiment, "size"):
            quic, tcp = (values(tables, [experiment], label(who, "2017"), size, SECONDS) for who in (MPQUIC, MPTCP))
            three, whole = (np.median(quic[:, :n], 1) / np.median(tcp[:, :n], 1) for n in (3, quic.shape[1]))
            off.append(np.exp(np.abs(np.log(three / whole))))
    ratio = np.concatenate(off)
    middle, twentieth = (f"{100 * (np.quantile(ratio, share) - 1):.0f} %" for share in (0.5, 0.95))
    return {"median": middle, "twentieth": twentieth, "worst": f"{ratio.max():.1f}"}
