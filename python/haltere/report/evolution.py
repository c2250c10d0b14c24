"""The report of two periods of measured paths: one self-contained HTML file, and every figure as SVG and PDF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from haltere.claims.comparison import MissingDataError
from haltere.claims.findings import Findings, judged, markdown
from haltere.evolution.figures import STATED, figures
from haltere.evolution.measuring import Measured
from haltere.evolution.results import read
from haltere.evolution.study import figures_of
from haltere.figures import on_paper, on_screen
from haltere.figures.pages import page
from haltere.figures.parts import Figure
from haltere.figures.world import world_map
from haltere.metrics.text import decimals, fixed
from haltere.paths import periods, policy_effect
from haltere.paths.judging import delay_unit, duration, text
from haltere.paths.periods import Effect, Evolution, Period
from haltere.paths.turnover import KINDS
from haltere.report.page import Shown, alone_of, download
from haltere.results import read_manifest
from haltere.stats import Interval


def findings(found: Evolution, study: Path | None) -> Findings:
    """Judge the claims of a study's folder, if there is one, and say in a few sentences what changed.

    Raises:
        InputError: if the claims cannot be read.
    """
    if study is None:
        return Findings(_answer(found), [])
    said = judged(study, found)
    return said if said.answer or said.broken_answer else replace(said, answer=_answer(found))


def build(
    folder: Path, study: Path | None, out: Path | None = None, *, alone: bool = False
) -> tuple[Path, Findings, Evolution]:
    """Write the report of two periods into their results folder; return its path, the findings, and the periods.

    The folder then holds `report.html`, `verdicts.md`, `comparison.json` and `figures/`.

    Args:
        folder: what `haltere run` or `haltere paths compare` wrote.
        study: the folder of a study, whose claims and `figures.toml` are taken; without one there are no claims
            and all figures.
        out: another folder for the report.
        alone: whether the page links to no file beside it.

    Raises:
        InputError: if the study's files cannot be read.
    """
    measured = read(folder)
    manifest = read_manifest(folder) or {}
    found = measured.evolution
    said = findings(found, study)
    wanted = figures_of(study)
    made, missing = figures(found, wanted)
    out = out or folder
    drawings = out / "figures"
    drawings.mkdir(exist_ok=True)
    for old in drawings.glob("*.*"):
        old.unlink()
    shown = [_shown(figure, drawings) for figure in made]
    world = [_shown(figure, drawings) for figure in _maps(measured)]
    if alone:
        shown, world = ([alone_of(one) for one in some] for some in (shown, world))
    main = next((one for one in shown if one.figure.name == wanted.main), next(iter(shown), None))
    first, second = found.periods
    html = page(
        "evolution.html.j2",
        script=True,
        study=manifest["study"],
        first=first,
        second=second,
        answer=said.answer,
        judged=said.judged,
        tally=said.tally(),
        broken_answer=said.broken_answer,
        cautions=cautions(found),
        effects=effect_rows(found),
        longer=text(found.changes.longer, 2),
        slower=text(found.changes.slower, 2),
        views=_views(found),
        policy=policy_rows(found),
        turnover=_turnover(found),
        main=main,
        plots=[one for one in shown if one is not main],
        stated=any(series.label == STATED for one in made for series in one.panels[0].series),
        missing=missing,
        world=world,
        world_text=_world_text(measured),
        data=data_rows(found),
        mix=_mix(found),
        shared=_names(found.changes.monitors.both),
        regions=bool(first.regions or second.regions),
        resamples=periods.RESAMPLES,
        command=manifest["command"],
        version=manifest["haltere"],
        seed=manifest["seed"],
    )
    (out / "verdicts.md").write_text(markdown(said), encoding="utf-8")
    (out / "comparison.json").write_text(json.dumps(as_data(found, said), indent=1) + "\n", encoding="utf-8")
    report = out / "report.html"
    report.write_text(html, encoding="utf-8")
    return report, said, found


_FEW = "{} has no more clean traces than a partial view takes: "
_DRAWINGS = {
    "all": _FEW
    + "all its draws are of the same traces and differ in the pairs alone, so that there are no intervals over "
    "draws. Fewer traces a view give some, and so does resampling by half or bootstrap.",
    "half": _FEW + "each draw is a half of them, and its graph smaller than that of all.",
    "bootstrap": _FEW + "each draw is as many of them with replacement, and its graph smaller than that of all.",
}


def cautions(found: Evolution) -> list[str]:
    """Say what a reader of the comparison must know."""
    warnings = []
    mix = found.changes.mix
    what = "regions" if found.first.regions or found.second.regions else "monitors"
    if mix.changed:
        warnings.append(
            f"The mix of monitors changed: {fixed(100 * mix.distance, 0)} % of the traces would have to come from "
            f"other {what} for the two to be alike. Read the comparison with an equal mix beside the one as measured."
            + ("" if mix.common else f" The two have no {what} in common, so that there is none here.")
        )
    warnings += [
        f"{period.name} has {_monitors(len(period.tallies.groups))}: too few for intervals over monitors."
        for period in found.periods
        if len(period.tallies.groups) < 3
    ]
    warnings += [
        _DRAWINGS[period.drawing].format(period.name) for period in found.periods if period.drawing != "sample"
    ]
    if found.first.level != "address":
        warnings.append(
            f"Nodes of the graphs are of the level “{found.first.level}”, not addresses: what is said of "
            "graphs is said of other graphs than those of addresses."
        )
    warnings += _routed(found)
    one, other = (_clean_share(period) for period in found.periods)
    if abs(one - other) > 0.1:
        warnings.append(
            f"Of all traces {fixed(100 * one, 0)} % were clean in {found.first.name} and {fixed(100 * other, 0)} % in "
            f"{found.second.name}: what was left out may differ as well."
        )
    return warnings


_CLOSED = {
    "refuse": "no path follows them",
    "peer": "they are taken for peering",
    "free": "any path may follow them",
}


def _routed(found: Evolution) -> list[str]:
    """Say which policy the paths of the graphs obey, and how many links have no known relationship."""
    routing = found.first.routing
    if routing is None:
        return []
    shares = []
    for period in found.periods:
        if period.views is not None:
            unknown, links = (float(period.views[name].to_numpy().sum()) for name in ("unknown", "links"))
            shares.append(f"{fixed(100 * unknown / links, 1)} % of {period.name}")
    of = f" ({' and '.join(shares)})" if shares else ""
    return [
        f"Paths of the graphs are valley-free, by the AS relationships of {routing['as_relationships']}. Links of no "
        f"known relationship{of}: {_CLOSED[routing['unknown']]}."
    ]


def _monitors(number: int) -> str:
    return "1 monitor" if number == 1 else f"{number} monitors"


def _clean_share(period: Period) -> float:
    return period.tallies.classes()["clean"] / period.tallies.traces()


def _answer(found: Evolution) -> list[str]:
    delay, tail = found.changes.effect("delay_median"), found.changes.effect("delay_p95")
    length = found.changes.effect("hops_mean")
    first, second = found.periods
    sentences = []
    if delay.first.value > 0:
        sentences.append(
            f"From {first.name} to {second.name} the median delay went from {duration(delay.first)} to "
            f"{duration(delay.second)}, a factor of {text(delay.change, 2)}, and its 95th percentile "
            f"changed by a factor of {text(tail.change, 2)}."
        )
    sentences.append(
        f"The mean length went from {text(length.first, 1)} to {text(length.second, 1)} hops "
        f"({text(length.change, 2, signed=True)})."
    )
    shared = found.changes.monitors
    if delay.paired is not None and delay.first.value > 0 and (shared.first or shared.second):
        sentences.append(
            f"Over the {_monitors(len(shared.both))} of both periods alone the factor of the median delay is "
            f"{text(delay.paired, 2)}, and the mean length changed by "
            f"{text(length.paired or length.change, 2, signed=True)} hops."
        )
    if delay.reweighted is not None and found.changes.mix.changed:
        sentences.append(
            f"With the monitors' mix made equal the factor of the median delay is {text(delay.reweighted, 2)}."
        )
    return sentences


_AT_LEVEL = ("hops_mean", "hops_median", "hops_p80")


def effect_rows(found: Evolution) -> list[dict[str, str]]:
    """All measures as a table shows them; at a level other than addresses the lengths of paths there, too."""
    effects = list(found.changes.effects)
    if found.at_level is not None:
        for effect in map(found.at_level.effect, _AT_LEVEL):
            label = f"{effect.measure.label} at the level “{found.first.level}”"
            effects.append(replace(effect, measure=replace(effect.measure, label=label)))
    return [effect_row(effect) for effect in effects]


def effect_row(effect: Effect) -> dict[str, str]:
    """A measure in both periods and its change, as a table shows it."""
    measure, ratio = effect.measure, effect.measure.compared == "ratio"
    unit, scale, places = _shown_in(effect)

    def changed(interval: Interval | None) -> str:
        if interval is None:
            return "–"
        return f"× {text(interval, 2)}" if ratio else text(interval, places, scale=scale, signed=True)

    return {
        "label": f"{measure.label}, {unit}",
        "first": text(effect.first, places, scale=scale),
        "second": text(effect.second, places, scale=scale),
        "change": changed(effect.change),
        "paired": changed(effect.paired),
        "reweighted": changed(effect.reweighted),
    }


def _shown_in(effect: Effect) -> tuple[str, float, int]:
    """The unit in which a measure is shown, how much of it one of the measure's is, and with how many decimals."""
    if effect.measure.of == "hops":
        return (effect.measure.unit, 100.0, 1) if effect.measure.unit == "%" else (effect.measure.unit, 1.0, 2)
    values = [effect.first.value, effect.second.value]
    unit, scale = delay_unit(*values)
    least = min((scale * abs(value) for value in values if value), default=1.0)
    return unit, scale, max(1, min(decimals(least), 3))


_LOOPS = (("repeat", "an address repeated, but no loop of routing"), ("loop", "loops"))


def data_rows(found: Evolution) -> list[dict[str, str]]:
    """The contents of each period: traces, classes, monitors, days."""

    def row(label: str, value: Callable[[Period], str]) -> dict[str, str]:
        return {"label": label, "first": value(found.first), "second": value(found.second)}

    rows = [row("traces", lambda period: fixed(period.tallies.traces(), 0))]
    for name, word in (("clean", "clean"), ("incomplete", "incomplete"), ("toolong", "too long"), *_LOOPS):
        rows.append(row(word, partial(_class_share, name)))
    if any(period.tallies.copies for period in found.periods):
        rows.append(row("copies of traces, not counted", lambda period: fixed(period.tallies.copies, 0)))
    rows.append(row("monitors with clean traces", lambda p: fixed(len(p.tallies.groups), 0)))
    shared = found.changes.monitors
    rows.append(row("of them in both periods", lambda _: fixed(len(shared.both), 0)))
    rows.append(row("in this period alone", lambda p: _names(shared.first if p is found.first else shared.second)))
    rows.append(row("days", lambda p: _days(p.days)))
    return rows


def _names(monitors: Sequence[str], most: int = 12) -> str:
    """How many monitors there are, and the names of the first of them."""
    if not monitors:
        return "0"
    more = f" and {len(monitors) - most} more" if len(monitors) > most else ""
    return f"{len(monitors)}: {', '.join(monitors[:most])}{more}"


def _class_share(name: str, period: Period) -> str:
    count = period.tallies.classes()[name]
    return f"{fixed(count, 0)} ({fixed(100 * count / period.tallies.traces(), 1)} %)"


def _days(days: Sequence[str]) -> str:
    if len(days) < 3:
        return ", ".join(days)
    return f"{len(days)}, {days[0]} to {days[-1]}"


_VIEW = {
    "traces": "traces drawn",
    "nodes": "nodes",
    "links": "links",
    "components": "components",
    "largest": "nodes of the largest component",
    "raised": "links whose delay came out below 1 µs and was raised to it",
    "inside": "links within an AS",
    "transit": "links of customer and provider",
    "peering": "links of peers",
    "unknown": "links of no known relationship",
}


def _views(found: Evolution) -> list[dict[str, str]]:
    """Return measures of the partial views; nothing if one of the periods has none."""
    first, second = found.first.views, found.second.views
    if first is None or second is None:
        return []
    return [
        {"label": label, "first": _spread(first[name]), "second": _spread(second[name])}
        for name, label in _VIEW.items()
        if name in first.columns and name in second.columns
    ]


def policy_rows(found: Evolution) -> list[dict[str, str]]:
    """Say what the policy changes of the paths of each period; nothing if they obey none."""
    rows = []
    for measure in policy_effect.MEASURES:
        for period in found.periods:
            try:
                one = policy_effect.effect(period, measure.name)
            except MissingDataError:
                continue
            rows.append({"label": f"{measure.label}, {period.name}", **one.texts()})
    return rows


def _turnover(found: Evolution) -> list[dict[str, str]]:
    """Nodes and links of both periods, and what became of them; nothing if that is not known."""
    known = found.turnover
    if known is None:
        return []
    rows = [{"label": "traces read", "first": fixed(known.traces[0], 0), "second": fixed(known.traces[1], 0)}]
    for what in KINDS:
        first, second = (fixed(number, 0) for number in known.seen[what])
        rows.append({"label": f"{what} seen", "first": first, "second": second})
        first, second = (fixed(number, 0) for number in known.there[what])
        rows.append({"label": f"{what} at least, those unseen included", "first": first, "second": second})
        counts = known.counts(what)
        first, second = (fixed(counts[how], 0) for how in ("went", "came"))
        rows.append({"label": f"{what} in this period alone", "first": first, "second": second})
    return rows


def _spread(column: pl.Series) -> str:
    """A mean over draws, and from the least to the greatest where they differ."""
    values = [float(value) for value in column]
    mean = fixed(sum(values) / len(values), 0)
    return mean if min(values) == max(values) else f"{mean} ({fixed(min(values), 0)} to {fixed(max(values), 0)})"


def _mix(found: Evolution) -> list[dict[str, str]]:
    mix = found.changes.mix

    def share(of: Mapping[str, float], name: str) -> str:
        return f"{fixed(100 * of[name], 1)} %" if name in of else "–"

    names = sorted({*mix.first, *mix.second})
    return [{"label": name, "first": share(mix.first, name), "second": share(mix.second, name)} for name in names]


def _maps(measured: Measured) -> list[Figure]:
    if measured.maps is None:
        return []
    maps = []
    for period, drawn in zip(measured.evolution.periods, measured.maps, strict=True):
        if drawn.tracks or drawn.dots:
            name = "map-first" if period is measured.evolution.first else "map-second"
            maps.append(world_map(name, f"Paths of {period.name}", drawn.tracks, drawn.dots))
    return maps


def _world_text(measured: Measured) -> str:
    counts = " and ".join(str(len(drawn.tracks)) for drawn in measured.maps or ())
    return (
        f"{counts} traces drawn at random, from one located router to the next along great circles, and the monitors "
        "as dots. Databases locate routers worse than users: a line that turns back may be an error of the database."
    )


def _shown(figure: Figure, folder: Path) -> Shown:
    paths = on_paper.draw(figure, folder / figure.name)
    return Shown(figure, on_screen.svgs(figure), [download(path, embed=False) for path in paths])


def as_data(found: Evolution, said: Findings) -> dict[str, Any]:
    """Return all numbers of the comparison for programs; delays in µs, shares from 0 to 1."""
    return {
        "level": found.first.level,
        "periods": [_period_data(period) for period in found.periods],
        "mix": {"distance": found.changes.mix.distance, **asdict(found.changes.mix)},
        "effects": {effect.measure.name: _effect_data(effect) for effect in found.changes.effects},
        "monitors": {name: list(some) for name, some in asdict(found.changes.monitors).items()},
        "at_level": None
        if found.at_level is None
        else {name: _interval(found.at_level.effect(name).change) for name in _AT_LEVEL},
        "turnover": None
        if found.turnover is None
        else {
            what: {
                "seen": list(found.turnover.seen[what]),
                "at_least": list(found.turnover.there[what]),
                **found.turnover.counts(what),
            }
            for what in KINDS
        },
        "routing": found.first.routing,
        "policy": policy_rows(found),
        "superiority": {"hops": _interval(found.changes.longer), "delay": _interval(found.changes.slower)},
        "claims": [
            {
                "claim": one.claim.sentence,
                "rule": one.claim.rule,
                "verdict": one.verdict.outcome.value,
                "reason": one.verdict.reason,
                "evidence": [{"what": part.what, "numbers": part.said} for part in one.verdict.evidence],
            }
            for one in said.judged
        ],
        "cautions": cautions(found),
    }


def _effect_data(effect: Effect) -> dict[str, Any]:
    numbers = {name: getattr(effect, name) for name in ("first", "second", "change", "paired", "reweighted")}
    return {"compared": effect.measure.compared} | {n: one and _interval(one) for n, one in numbers.items()}


def _period_data(period: Period) -> dict[str, Any]:
    hops, delays = period.tallies.hops(), period.tallies.delays()
    shares = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99)
    known = delays.total > 0
    return {
        "name": period.name,
        "traces": period.tallies.traces(),
        "classes": period.tallies.classes(),
        "copies": period.tallies.copies,
        "monitors": period.tallies.monitors(),
        "days": list(period.days),
        "hops": {f"{share:g}": hops.quantile(share) for share in shares},
        "delay_us": {f"{share:g}": delays.quantile(share) for share in shares} if known else None,
        "drawing": period.drawing,
        "views": None if period.views is None else period.views.to_dicts(),
        "routes": None if period.routes is None else _routes_data(period.routes),
    }


def _routes_data(routes: pl.DataFrame) -> list[dict[str, Any]]:
    """Medians and counts of the routes by draw and K."""
    columns = [c for c in ("hops", "delay_us", "difference", "dispersion", "delay_dispersion") if c in routes.columns]
    medians = [pl.col(name).fill_nan(None).median().alias(name) for name in columns]
    return routes.group_by("draw", "k").agg(pl.len().alias("paths"), *medians).sort("draw", "k").to_dicts()


def _interval(found: Interval) -> dict[str, Any]:
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n, "method": found.method}
