"""Evaluates a newcomer: the shipped study with the newcomer in its parameter, its campaign, and the judged sheet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w

from haltere import core, shipped
from haltere.claims.findings import tables_of
from haltere.documents import Document
from haltere.errors import ArgumentError, InputError, as_written
from haltere.evaluation import sheet as sheets
from haltere.evaluation.judging import Judgement, judge, senders
from haltere.fidelity import Fidelity
from haltere.figures import kinds
from haltere.plugins import store
from haltere.results import Results
from haltere.runner.campaign import Campaign
from haltere.study import Study

STUDY = "evaluate"
AGAINST = ("tcp/cubic", "tcp/newreno", "quic/newreno")
"""The standard congestion controls: RFC 9438, RFC 5681 and RFC 9002."""
QUICK = "quick"
"""The variant of the study for a first version."""
PARAMETER, LEFT_OUT = "senders", "left_out"
_SEVERAL = {"tcp": "mptcp", "quic": "mpquic"}
_MISLED = {"splits": "+splits-acks", "optimistic": "+optimistic-acks=0"}
"""The fields of a sender with receivers that misbehave, and their switches, which only TCP has."""


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation, and the judged sheet."""

    results: Results
    judgement: Judgement


def evaluate(
    contender: str,
    *,
    against: Sequence[str] = AGAINST,
    sections: Collection[str] = (),
    quick: bool = False,
    replications: int | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Run the evaluation of RFC 9743 for a contender, and judge it.

    Args:
        contender: the newcomer, such as `tcp/bbr`, `quic@quinn/cubic` or `tcp/./mine.py`.
        against: what it is held against; a row's standing is the one beside the first.
        sections: only the rows of these sections, such as `5.2`, which stands for 5.2.1 as well (default: all).
        quick: a first version: fewer places and replications.
        replications: instead of the study's own number.
        workers: how many runs at once (default: one a CPU).
        out: the folder of the results (default `results/evaluate-CONTENDER`).
        on_progress: called with (finished, all) as runs finish.

    Raises:
        InputError: if a contender cannot be run.
    """
    campaign = plan(contender, against=against, sections=sections, quick=quick, replications=replications, out=out)
    results, folder = campaign.run(workers=workers, on_progress=on_progress), shipped.locate(STUDY)
    return Evaluation(results, _judged(results, folder, sheets.required(folder)))


def plan(
    contender: str,
    *,
    against: Sequence[str] = AGAINST,
    sections: Collection[str] = (),
    quick: bool = False,
    replications: int | None = None,
    out: str | Path | None = None,
) -> Campaign:
    """Return the campaign that evaluates a contender, without the experiments that it cannot take part in.

    Raises:
        InputError: if a contender cannot be run, or no experiment can.
    """
    if not against:
        raise ArgumentError("is needed", field="against", right=" ".join(AGAINST))
    store.ask(contender, *against)
    senders = [_newcomer(contender), *(_sender(one, "against") for one in against)]
    taken = {one["label"] for one in senders[1:]}
    if len(taken) < len(against):
        raise ArgumentError("is named twice", field="against", given=as_written(list(against)), right="each once")
    if senders[0]["label"] in taken:
        senders[0]["label"] += " as newcomer"
    folder = shipped.locate(STUDY)
    sheet = sheets.required(folder)
    chosen = sheet.of_sections(sections) if sections else sheet
    file = folder / "study.toml"
    data = Document.read(file).data
    data["study"]["title"] = f"{contender} by the sections of RFC 9743"
    data["parameters"] = {PARAMETER: senders}
    stacks = any(core.contender(one)["implementation"] for one in (contender, *against))
    at: list[Fidelity] | None = ["stack"] if stacks else None
    left = _left_out(Document(str(file), "", data), chosen.compared, at)
    for name in left:
        del data["experiments"][name]
        data["variants"][QUICK]["experiments"].pop(name, None)
    missing = {name: reason for name, reason in left.items() if name in chosen.compared}
    if missing:
        data["parameters"][LEFT_OUT] = missing
    document = Document(str(file), tomli_w.dumps(data), data)
    study = _study(document, variant=QUICK if quick else None, fidelity=at)
    return Campaign(
        study,
        out=out or Path("results") / f"{STUDY}-{_slug(contender)}",
        replications=replications,
        experiments=chosen.without(left),
    )


def _left_out(whole: Document, wanted: Collection[str], fidelity: list[Fidelity] | None) -> dict[str, str]:
    """Return the experiments that cannot be run for this newcomer, each with the reason.

    Raises:
        InputError: if none of those that are wanted can.
    """
    first, left = None, dict[str, str]()
    for name, experiment in whole.data["experiments"].items():
        alone = replace(whole, data={**whole.data, "experiments": {name: experiment}, "variants": {QUICK: {}}})
        try:
            _study(alone, variant=None, fidelity=fidelity)
        except InputError as error:
            first = first or error
            left[name] = error.problem
    if first is not None and left.keys() >= set(wanted):
        raise first
    return left


def judged(results: Results, folder: Path) -> Judgement | None:
    """Return the judged sheet of some results; None if their study has none.

    Raises:
        InputError: if the sheet cannot be read.
    """
    sheet = sheets.read(folder)
    return None if sheet is None else _judged(results, folder, sheet)


def _judged(results: Results, folder: Path, sheet: sheets.Sheet) -> Judgement:
    tables = tables_of(results, folder)
    parameters = Document.parse("study.toml", str(results.manifest["study_text"])).data.get("parameters", {})
    left = parameters.get(LEFT_OUT, {})
    there = {*tables.factors, *left}
    if not there.issuperset(sheet.compared):  # sections were chosen
        rows = tuple(row for row in sheet.rows if row.parts and all(part.experiment in there for part in row.parts))
        sheet = sheet.model_copy(update={"rows": rows})
    newcomer, *against = senders(sheet, tables) or [""]
    if not against:
        right = "the newcomer first, then what it is held against"
        raise InputError("needs two levels for a sheet", field=sheet.factor, given=as_written(newcomer), right=right)
    words = kinds.read(folder / "figures.toml")
    return judge(sheet, words, tables, newcomer=newcomer, against=against, left_out=left)


def _study(document: Document, *, variant: str | None, fidelity: list[Fidelity] | None) -> Study:
    return Study.of_document(document, Path(), variant=variant, fidelity=fidelity)


def _newcomer(contender: str) -> dict[str, str]:
    """Return the newcomer as a sender. What cannot have receivers that misbehave is left out of their experiments."""
    return {**_sender(contender, "contender"), **{name: contender + switch for name, switch in _MISLED.items()}}


def _sender(contender: str, field: str) -> dict[str, str]:
    try:
        parts = core.contender(contender)
    except core.ScenarioProblem as problem:
        raise ArgumentError(problem.message, field=field, given=as_written(contender)) from None
    transport, _, rest = contender.partition("/")
    kind, _, implementation = transport.partition("@")
    several = _SEVERAL.get(kind, kind) + (f"@{implementation}" if implementation else "")
    ecn = contender if "+ecn" in contender or parts["congestion"] in ("dctcp", "prague") else f"{contender}+ecn"
    misled = {name: contender + switch if kind == "tcp" else contender for name, switch in _MISLED.items()}
    return {"label": contender, "contender": contender, "multipath": f"{several}/{rest}", "ecn": ecn, **misled}


def _slug(contender: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in contender)
