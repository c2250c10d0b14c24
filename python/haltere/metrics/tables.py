"""Work of figures, claims and the report on result tables: select, summarise, and compare in pairs.

Every interval here is a 95 % Student t interval over replications. Two treatments of one replication meet the same
losses (common random numbers), so contenders are compared within each replication first and the differences, or the
logarithms of the ratios, are summarised afterwards.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from haltere.errors import nearest
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.levels import Known
from haltere.stats import Interval, mean
from haltere.stats.intervals import OF_LOGARITHMS
from haltere.stats.ranking import ratio_margins, side

if TYPE_CHECKING:
    from haltere.results import Results

Where = Mapping[str, str | Sequence[str]]
"""A selection: for each factor the level, or the levels, to keep."""

Standing = Literal["of", "to", "alike", "unclear"]
"""Who is ahead in a comparison: level `of`, level `to`, neither in practice, or not decided by these runs."""

Key = tuple[str, ...]


class UnknownNameError(LookupError):
    """An experiment, a factor or a level that the study does not have."""


def check_names(known: Known, experiment: str, levels: Mapping[str, Sequence[str]]) -> None:
    """Raise `UnknownNameError` if the study has no such experiment, factor or level. Nothing known: nothing refused."""
    if not known:
        return
    if experiment not in known:
        raise UnknownNameError(_unknown("the study has no experiment", experiment, known))
    for factor, wanted in levels.items():
        factors = known[experiment]
        if factor not in factors:
            raise UnknownNameError(_unknown(f"experiment {experiment} has no factor", factor, factors))
        there = factors[factor]
        for level in wanted if there is not None else ():
            if not any(quantities.same(level, one) for one in there or ()):
                raise UnknownNameError(_unknown(f"factor {factor} of {experiment} has no level", level, there or ()))


def _unknown(what: str, name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    return f"{what} {name!r}: " + (f"is it {near!r}?" if near else f"it has {', '.join(known)}")


@dataclass(frozen=True)
class Tables:
    """The result tables of one study: a row a run, a row a flow; per experiment, each factor with its levels.

    `latency` has a row a probe, `links` a row a link and direction; either is empty if there were none. `known` has
    what the study file knows, also where these results lack it; without it no name is refused. `share` says that only
    some of the treatments are there, on purpose: comparisons are then over those.
    """

    runs: pl.DataFrame
    flows: pl.DataFrame
    factors: Mapping[str, Mapping[str, Sequence[str]]]
    latency: pl.DataFrame = dataclasses.field(default_factory=pl.DataFrame)
    links: pl.DataFrame = dataclasses.field(default_factory=pl.DataFrame)
    known: Known = dataclasses.field(default_factory=dict)
    share: bool = False

    @classmethod
    def of(cls, results: Results) -> Tables:
        """The tables of some results."""
        experiments = results.manifest.get("experiments", {})
        factors = {name: one.get("factors", {}) for name, one in experiments.items()}
        return cls(results.runs, results.flows, factors, results.latency, results.links)

    def experiment_runs(self, experiment: str) -> pl.DataFrame:
        """The runs of one experiment; no rows if it was not run."""
        return self.runs.filter(pl.col("experiment") == experiment)

    def levels(self, experiment: str, factor: str) -> list[str]:
        """The levels of a factor of an experiment: smallest quantity first, or as the study file has them."""
        return quantities.ordered(self.factors.get(experiment, {}).get(factor, ()))

    def values(self, experiment: str, metric: str | Metric, where: Where | None = None) -> pl.DataFrame:
        """The metric of every run that ended well: the experiment's factors, `replication`, `value` in its unit.

        A metric of flows or probes is averaged over those of its run. A column that the results lack gives no rows.

        Raises:
            UnknownNameError: if the study has no such experiment, factor or level.
        """
        named = {factor: [given] if isinstance(given, str) else list(given) for factor, given in (where or {}).items()}
        check_names(self.known, experiment, named)
        factors = list(self.factors.get(experiment, ()))
        runs = _select(self.experiment_runs(experiment), where or {})
        values = runs.join(self.by_run(metric), on="run_id", how="inner", maintain_order="left")
        return values.select(*factors, "replication", "value")

    def by_run(self, metric: str | Metric) -> pl.DataFrame:
        """The metric of every run that ended well: `run_id` and `value`, in the metric's unit; without nulls."""
        measure = METRICS[metric] if isinstance(metric, str) else metric
        runs = self.runs.filter(pl.col("status") == "ok")
        if measure.table == "expression":
            return self._expression(measure, runs)
        source = {"runs": runs, "flows": self.flows, "latency": self.latency}[measure.table]
        if any(column not in source.columns for column in (measure.column, measure.share_of or measure.column)):
            return runs.select("run_id", value=pl.lit(None, pl.Float64)).clear()
        number = pl.col(measure.column).cast(pl.Float64) / measure.divisor
        if measure.share_of is not None:
            number = pl.when(pl.col(measure.share_of) > 0).then(number / pl.col(measure.share_of))
        values = source.group_by("run_id", maintain_order=True).agg(value=number.mean())
        return values.join(runs.select("run_id"), on="run_id", how="semi").drop_nulls("value")

    def _expression(self, measure: Metric, runs: pl.DataFrame) -> pl.DataFrame:
        """An expression over metrics, and over columns of runs and flows (those averaged over a run's flows)."""
        expression = pl.sql_expr(measure.column)
        frame = runs.select("run_id")
        for name in expression.meta.root_names():
            column = self._named(name, runs)
            if column is None:
                return runs.select("run_id", value=pl.lit(None, pl.Float64)).clear()
            frame = frame.join(column, on="run_id", how="left", maintain_order="left")
        values = frame.select("run_id", value=expression.cast(pl.Float64, strict=False))
        return values.filter(pl.col("value").is_finite())

    def _named(self, name: str, runs: pl.DataFrame) -> pl.DataFrame | None:
        """A metric, or a column of runs or flows, by run; None if there is none of this name."""
        if name in METRICS:
            return self.by_run(name).rename({"value": name})
        if name in runs.columns and name != "run_id":
            return runs.select("run_id", name)
        if name in self.flows.columns and name != "run_id":
            return self.flows.group_by("run_id", maintain_order=True).agg(pl.col(name).mean())
        return None


def _select(frame: pl.DataFrame, where: Where) -> pl.DataFrame:
    for factor, wanted in where.items():
        if factor not in frame.columns:
            return frame.clear()
        levels = [wanted] if isinstance(wanted, str) else wanted
        present = frame[factor].drop_nulls().unique().to_list()
        kept = [level for level in present if any(quantities.same(level, other) for other in levels)]
        frame = frame.filter(pl.col(factor).is_in(kept))
    return frame


def summarise(values: pl.DataFrame, by: Sequence[str]) -> dict[Key, Interval]:
    """The mean and its interval for each combination of the levels of `by`, in order of appearance."""
    if not by:
        return {} if values.is_empty() else {(): mean(values["value"].to_list())}
    grouped = values.group_by(list(by), maintain_order=True).agg(pl.col("value"))
    return {tuple(str(row[name]) for name in by): mean(row["value"]) for row in grouped.to_dicts()}


def paired(values: pl.DataFrame, factor: str, of: str, to: str, metric: Metric) -> pl.DataFrame:
    """Each replication's value at level `of` of the factor against that at level `to`, all other factors equal.

    The column `value` holds the difference, or, for a metric that is compared by ratio, the natural logarithm of the
    ratio. Only replications in which both ended well have a row.
    """
    keys = [column for column in values.columns if column not in (factor, "value")]
    first = _select(values, {factor: of}).drop(factor)
    second = _select(values, {factor: to}).drop(factor).rename({"value": "other"})
    joined = first.join(second, on=keys, how="inner", nulls_equal=True, maintain_order="left")
    if metric.comparison == "ratio":
        joined = joined.filter((pl.col("value") > 0) & (pl.col("other") > 0))
        number = (pl.col("value") / pl.col("other")).log()
    else:
        number = pl.col("value") - pl.col("other")
    return joined.with_columns(value=number).drop("other")


def from_scale(found: Interval, metric: Metric) -> Interval:
    """An interval of what `paired` returns, on the metric's own scale: converted back from logarithms if needed."""
    if metric.comparison == "difference":
        return found
    low = None if found.low is None else math.exp(found.low)
    high = None if found.high is None else math.exp(found.high)
    method = found.method if found.exact else found.method + OF_LOGARITHMS
    return dataclasses.replace(found, value=math.exp(found.value), low=low, high=high, method=method)


def margins(metric: Metric) -> tuple[float, float]:
    """The ends of the range in which a comparison makes no practical difference."""
    return ratio_margins(metric.alike) if metric.comparison == "ratio" else (-metric.alike, metric.alike)


def standing(found: Interval | None, metric: Metric) -> Standing:
    """Who is ahead, by the interval of a comparison and the rule of `haltere.stats.ranking`."""
    stands = side(found, *margins(metric), 1.0 if metric.comparison == "ratio" else 0.0)
    if stands in ("alike", "unclear"):
        return "alike" if stands == "alike" else "unclear"
    return "of" if (stands == "above") == (metric.better == "higher") else "to"
