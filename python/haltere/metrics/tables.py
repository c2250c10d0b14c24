"""Work of figures, claims and the report on result tables: select, summarise, and compare in pairs.

Every interval here is of Student's t over replications, at 95 %. Two treatments of one replication meet the same
losses (common random numbers), so contenders are compared within each replication first and the differences, or the
logarithms of the ratios, are summarised afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from haltere.errors import nearest
from haltere.metrics import EVERY, METRICS, Metric, quantities
from haltere.metrics.levels import Known
from haltere.stats import Interval, mean
from haltere.stats.intervals import from_logarithms, mean_of_amounts, together
from haltere.stats.ranking import ratio_margins, side

if TYPE_CHECKING:
    from haltere.results import Results

Where = Mapping[str, str | Sequence[str]]
"""A selection: for each factor the level, or the levels, to keep."""

Standing = Literal["of", "to", "alike", "unclear"]
"""Who is ahead in a comparison: level `of`, level `to`, neither in practice, or not decided by these runs."""

Key = tuple[str, ...]
_OTHER = "Other"
"""The column of the level that is compared with: no factor can have this name."""


class UnknownNameError(LookupError):
    """An experiment, a factor, a level or a flow that the study does not have."""


class DifferentFlowsError(UnknownNameError):
    """A metric of flows that differ within a run, where nothing says which of them count."""


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
    asked: dict[str, None] = dataclasses.field(default_factory=dict, compare=False, repr=False)
    """The experiments whose runs were asked for, in this order."""

    @classmethod
    def of(cls, results: Results) -> Tables:
        """The tables of some results."""
        experiments = results.manifest.get("experiments", {})
        factors = {name: one.get("factors", {}) for name, one in experiments.items()}
        return cls(results.runs, results.flows, factors, results.latency, results.links)

    def experiment_runs(self, experiment: str) -> pl.DataFrame:
        """The runs of one experiment; no rows if it was not run."""
        self.asked[experiment] = None
        return self.runs.filter(pl.col("experiment") == experiment)

    def levels(self, experiment: str, factor: str) -> list[str]:
        """The levels of a factor of an experiment: smallest quantity first, or as the study file has them."""
        return quantities.ordered(self.factors.get(experiment, {}).get(factor, ()))

    def values(self, experiment: str, metric: str | Metric, where: Where | None = None) -> pl.DataFrame:
        """The metric of every run that ended well: the experiment's factors, `replication`, `value` in its unit.

        A metric of flows or probes is averaged over those of its run; flows of different labels or directions only if
        the metric says so (`Metric.of`). A column that the results lack gives no rows.

        Raises:
            UnknownNameError: if the study has no such experiment, factor or level.
            DifferentFlowsError: if flows of a run differ, and the metric does not say which of them count.
        """
        named = {factor: [given] if isinstance(given, str) else list(given) for factor, given in (where or {}).items()}
        check_names(self.known, experiment, named)
        factors = list(self.factors.get(experiment, ()))
        runs = _select(self.experiment_runs(experiment), where or {})
        of_runs = dataclasses.replace(self, runs=runs).by_run(metric)
        values = runs.join(of_runs, on="run_id", how="inner", maintain_order="left")
        return values.select(*factors, "replication", "value")

    def by_run(self, metric: str | Metric) -> pl.DataFrame:
        """The metric of every run that ended well: `run_id` and `value`, in the metric's unit; without nulls."""
        measure = METRICS[metric] if isinstance(metric, str) else metric
        runs = self.runs.filter(pl.col("status") == "ok")
        if measure.table == "expression":
            return self._expression(measure, runs)
        others = {"runs": runs, "latency": self.latency}
        source = self._flows(runs, measure) if measure.table == "flows" else others[measure.table]
        if any(column not in source.columns for column in (measure.column, measure.share_of or measure.column)):
            return runs.select("run_id", value=pl.lit(None, pl.Float64)).clear()
        number = pl.col(measure.column).cast(pl.Float64) / measure.divisor
        if measure.share_of is not None:
            number = pl.when(pl.col(measure.share_of) > 0).then(number / pl.col(measure.share_of))
        values = source.group_by("run_id", maintain_order=True).agg(value=number.mean())
        return values.join(runs.select("run_id"), on="run_id", how="semi").drop_nulls("value")

    def by_likeness(self) -> tuple[Tables, Tables]:
        """The tables of the runs whose flows have one label and direction, and those of the others."""
        differ = self.runs["run_id"].is_in(_differing(_labelled(self.flows)).to_list())
        alike, others = (dataclasses.replace(self, runs=self.runs.filter(which)) for which in (~differ, differ))
        return alike, others

    def kinds(self, experiment: str | None = None) -> list[tuple[str, str]]:
        """Labels and directions of the flows of an experiment, or of all, if flows of a run differ in them."""
        runs = self.runs if experiment is None else self.experiment_runs(experiment)
        flows = _labelled(self.flows.join(runs.select("run_id"), on="run_id", how="semi"))
        return [] if _differing(flows).is_empty() else _kinds(flows)

    def parted(self, metric: Metric, experiment: str | None = None) -> list[Metric]:
        """The metric; or, if it is of flows that differ within a run, the metric of each kind of them."""
        kinds = self.kinds(experiment) if metric.table == "flows" else []
        labels = [label for label, _ in kinds]
        return [metric.of(label, way if labels.count(label) > 1 else None) for label, way in kinds] or [metric]

    def _flows(self, runs: pl.DataFrame, metric: Metric) -> pl.DataFrame:
        """The flows of runs that a metric is of."""
        flows = _labelled(self.flows.join(runs.select("run_id"), on="run_id", how="semi"))
        if metric.flow not in (None, EVERY):
            flows = flows.filter(pl.col("label") == metric.flow)
        if metric.direction is not None:
            flows = flows.filter(pl.col("direction") == metric.direction)
        if metric.flow is None and not _differing(flows).is_empty():
            labels = ", ".join(dict.fromkeys(label for label, _ in _kinds(flows)))
            message = f"{metric.label} is of flows that differ ({labels}): say which, or {EVERY!r} for their mean"
            raise DifferentFlowsError(message)
        return flows

    def _expression(self, measure: Metric, runs: pl.DataFrame) -> pl.DataFrame:
        """An expression over metrics, and over columns of runs and flows (those averaged over a run's flows)."""
        expression = pl.sql_expr(measure.column)
        frame = runs.select("run_id")
        for name in expression.meta.root_names():
            column = self._named(name, runs, measure)
            if column is None:
                return runs.select("run_id", value=pl.lit(None, pl.Float64)).clear()
            frame = frame.join(column, on="run_id", how="left", maintain_order="left")
        values = frame.select("run_id", value=expression.cast(pl.Float64, strict=False))
        return values.filter(pl.col("value").is_finite())

    def _named(self, name: str, runs: pl.DataFrame, whose: Metric) -> pl.DataFrame | None:
        """A metric, or a column of runs or flows, by run, of the same flows; None if there is none of this name."""
        if name in METRICS:
            return self.by_run(METRICS[name].of(whose.flow, whose.direction)).rename({"value": name})
        if name in runs.columns and name != "run_id":
            return runs.select("run_id", name)
        if name in self.flows.columns and name != "run_id":
            flows = self._flows(runs, dataclasses.replace(whose, label=name))
            return flows.group_by("run_id", maintain_order=True).agg(pl.col(name).mean())
        return None


def _labelled(flows: pl.DataFrame) -> pl.DataFrame:
    """Flows with label and direction, also those of results that have neither."""
    named = next((name for name in ("label", "contender") if name in flows.columns), None)
    label = pl.lit("") if named is None else pl.col(named)
    way = pl.col("direction") if "direction" in flows.columns else pl.lit("down")
    return flows.with_columns(label=label, direction=way.fill_null("down"))


def _differing(flows: pl.DataFrame) -> pl.Series:
    """The runs whose flows have several labels or directions."""
    counts = flows.group_by("run_id").agg(n=pl.struct("label", "direction").n_unique())
    return counts.filter(pl.col("n") > 1)["run_id"]


def _kinds(flows: pl.DataFrame) -> list[tuple[str, str]]:
    return sorted(flows.select("label", "direction").unique().iter_rows())


def _select(frame: pl.DataFrame, where: Where) -> pl.DataFrame:
    for factor, wanted in where.items():
        if factor not in frame.columns:
            return frame.clear()
        levels = [wanted] if isinstance(wanted, str) else wanted
        present = frame[factor].drop_nulls().unique().to_list()
        kept = [level for level in present if any(quantities.same(level, other) for other in levels)]
        frame = frame.filter(pl.col(factor).is_in(kept))
    return frame


def summarise(values: pl.DataFrame, by: Sequence[str], metric: Metric | None = None) -> dict[Key, Interval]:
    """The mean and its interval for each combination of the levels of `by`, in order of appearance.

    The interval of a metric's own values holds no value that the metric cannot have. Without a metric, as for
    differences, any value is possible.
    """
    groups: dict[Key, list[float]] = {(): values["value"].to_list()} if not by and not values.is_empty() else {}
    if by:
        grouped = values.group_by(list(by), maintain_order=True).agg(pl.col("value"))
        groups = {tuple(str(row[name]) for name in by): row["value"] for row in grouped.to_dicts()}
    # An expression of a study may be negative.
    if metric is None or metric.table == "expression":
        return {key: mean(each) for key, each in groups.items()}
    return {key: mean_of_amounts(each, metric.ceiling) for key, each in groups.items()}


def judged_together(pairs: pl.DataFrame, by: Sequence[str], metric: Metric) -> dict[Key, Interval]:
    """The interval of each cell of a map from what `paired` returns, on the metric's scale; all of them hold together.

    So a map shows a cell as decided exactly where `haltere.claims.standings` counts it.
    """
    grouped = pairs.group_by(list(by), maintain_order=True).agg(pl.col("value")).to_dicts()
    confidence = together(len(grouped))
    return {tuple(str(row[name]) for name in by): from_scale(mean(row["value"], confidence), metric) for row in grouped}


def paired(values: pl.DataFrame, factor: str, of: str, to: str, metric: Metric) -> pl.DataFrame:
    """Each replication's value at level `of` of the factor against that at level `to`, all other factors equal.

    The column `value` holds the difference, or, for a metric that is compared by ratio, the natural logarithm of the
    ratio. Only replications in which both ended well have a row.
    """
    keys = [column for column in values.columns if column not in (factor, "value")]
    first = _select(values, {factor: of}).drop(factor)
    second = _select(values, {factor: to}).drop(factor).rename({"value": _OTHER})
    joined = first.join(second, on=keys, how="inner", nulls_equal=True, maintain_order="left")
    if metric.comparison == "ratio":
        joined = joined.filter((pl.col("value") > 0) & (pl.col(_OTHER) > 0))
        number = (pl.col("value") / pl.col(_OTHER)).log()
    else:
        number = pl.col("value") - pl.col(_OTHER)
    return joined.with_columns(value=number).drop(_OTHER)


def from_scale(found: Interval, metric: Metric) -> Interval:
    """An interval of what `paired` returns, on the metric's own scale: converted back from logarithms if needed."""
    if metric.comparison == "difference":
        return found
    return from_logarithms(found)


def margins(metric: Metric) -> tuple[float, float]:
    """The ends of the range in which a comparison makes no practical difference."""
    return ratio_margins(metric.alike) if metric.comparison == "ratio" else (-metric.alike, metric.alike)


def standing(found: Interval | None, metric: Metric) -> Standing:
    """Who is ahead, by the interval of a comparison and the rule of `haltere.stats.ranking`."""
    stands = side(found, *margins(metric), 1.0 if metric.comparison == "ratio" else 0.0)
    if stands in ("alike", "unclear"):
        return "alike" if stands == "alike" else "unclear"
    return "of" if (stands == "above") == (metric.better == "higher") else "to"
