"""`haltere evaluate`: the campaign with its progress, the sheet as a table, the report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from haltere import shipped
from haltere.cli import exits, show
from haltere.cli.run import tell_failed
from haltere.documents import shown
from haltere.errors import Interrupted
from haltere.evaluation.evaluating import AGAINST, STUDY, judged, plan
from haltere.evaluation.harm import Harm
from haltere.evaluation.judging import Effect, Judged, Judgement
from haltere.evaluation.words import effect, leading, margin, summary
from haltere.executor import ThreadExecutor
from haltere.report import build


def command(
    contender: str,
    *,
    against: Sequence[str] | None,
    sections: Collection[str],
    quick: bool,
    replications: int | None,
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run, print the sheet, and write the report."""
    ThreadExecutor(workers)  # refuses a wrong number of workers before anything is read
    campaign = plan(
        contender,
        against=against or AGAINST,
        sections=sections,
        quick=quick,
        replications=replications,
        out=out,
    )
    try:
        with show.progress(escape(f"evaluating {contender}")) as advance:
            results = campaign.run(workers=workers, on_progress=advance)
    except Interrupted as stopped:
        raise Interrupted(f"{stopped}; the same command goes on") from None
    folder = shipped.locate(STUDY)
    found = judged(results, folder)
    if found is None:
        return
    page = build(campaign.out, folder)
    if as_json:
        show.data(_data(found))
    else:
        _print(found)
        tell_failed(results)
        show.say(f"report: {shown(page)}")
    counts = results.manifest["counts"]
    exits.end(counts["failed"], counts["runs"])


def _print(found: Judgement) -> None:
    rows = [
        (one.row.section, one.row.title, one.row.strength, one.standing, _numbers(one, found.against[0]))
        for one in found.rows
    ]
    titles = ("section", "of RFC 9743", "strength", f"beside {found.against[0]}", "the numbers that say most")
    show.out().print(show.table(*titles, rows=rows, left=5, title=escape(f"{found.newcomer}, by RFC 9743")))
    for sentence in summary(found):
        show.sentence(f"- {sentence}", indent=2)


def _numbers(one: Judged, against: str) -> str:
    return "; ".join(f"{effect(each)} ({margin(each)})" for each in leading(one, against)) or one.reason


def _data(found: Judgement) -> dict[str, Any]:
    return {
        "newcomer": found.newcomer,
        "against": list(found.against),
        "rows": [
            {
                **one.row.model_dump(include={"section", "title", "strength", "demand", "note"}),
                "standing": one.standing,
                "beside": dict(one.words),
                "reason": one.reason,
                "effects": [_effect(each) for each in one.effects],
            }
            for one in found.rows
        ],
    }


def _effect(one: Effect) -> dict[str, Any]:
    return {
        "against": one.against,
        "place": dict(one.place),
        "metric": one.metric.name,
        "of": one.metric.flow,
        "unit": one.metric.unit,
        "comparison": one.metric.comparison,
        "margin": one.margin,
        "newcomer": one.newcomer,
        "other": one.other,
        "effect": one.found.value,
        "low": one.found.low,
        "high": one.found.high,
        "harm": None if one.harm is None else _harm(one.harm),
    }


def _harm(one: Harm) -> dict[str, Any]:
    harm = {"newcomer": one.newcomer, "other": one.other}
    return {
        "alone": one.alone,
        "instead": dict(one.instead),
        **{whose: {"value": of.value, "low": of.low, "high": of.high} for whose, of in harm.items()},
    }
