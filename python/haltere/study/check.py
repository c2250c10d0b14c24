"""Checks of a study file whose errors point at the line, also where a value came from a factor or a variant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from haltere import core
from haltere.documents import Document, follow, join, steps
from haltere.errors import ArgumentError, InputError, among, as_written, grouped, hint, in_words, nearest
from haltere.fidelity import Fidelity
from haltere.fidelity import check as check_at
from haltere.plugins import store
from haltere.scenario import files, measured
from haltere.study import design
from haltere.study.model import (
    EXTENDS,
    Experiment,
    Header,
    Level,
    QueueLength,
    Range,
    StudyFile,
    When,
    Why,
    name_problem,
)

Path = list[str | int]


class Origin:
    """The origin of a study's values: its file, and the variant that was laid over it."""

    def __init__(self, document: Document, variant: str | None, data: dict[str, Any]) -> None:
        self.document, self.variant, self.data = document, variant, data

    def written(self, path: Path) -> Path:
        """Return the path at which the value stands in the file: below `variants.NAME` if a variant gave it."""
        variant = self.variant
        while variant is not None:
            own: Any = self.document.data["variants"][variant]
            if _gives(own, path):
                return ["variants", variant, *path]
            variant = own.get(EXTENDS)
        return path

    def error(
        self, problem: str, path: Path, *, right: str | None = None, notes: tuple[str, ...] = (), given: Any = None
    ) -> InputError:
        """Return the error for the value at a path of the study."""
        field = join(self.written(path))
        value = follow(self.data, path) if given is None else given
        return InputError(
            problem,
            place=self.document.place(field),
            field=field,
            given=None if value is None or isinstance(value, dict) else as_written(value),
            right=right,
            notes=notes,
        )


def _gives(own: Any, path: Path) -> bool:
    """Whether a variant brings the value at a path, itself or as part of a list or value that replaces the study's."""
    for part in path:
        if not isinstance(own, dict):
            return True
        if part not in own:
            return False
        own = own[part]
    return not isinstance(own, dict)


def check_extended(document: Document, variants: Mapping[str, Any], variant: str) -> None:
    """Check the variants that a variant extends, one after the other.

    Raises:
        InputError: if one of them is not there, or they extend each other.
    """
    seen = [variant]
    while (given := variants[seen[-1]].get(EXTENDS)) is not None:
        problem = "extends itself" if given in seen else ""
        if not isinstance(given, str) or not isinstance(variants.get(given), dict):
            problem = "the study has no such variant"
        if problem:
            field = join(["variants", seen[-1], EXTENDS])
            others = [name for name in variants if name not in seen]
            right = among(str(given), others) if others else f"no {EXTENDS}"
            raise InputError(problem, place=document.place(field), field=field, given=as_written(given), right=right)
        seen.append(given)


def parse(origin: Origin) -> StudyFile:
    """Turn the tables of a study file into types.

    Raises:
        InputError: at the first field, in the file's order, that is wrong.
    """
    try:
        return StudyFile.model_validate(origin.data)
    except ValidationError as errors:
        problems = [_problem(origin, dict(error)) for error in errors.errors()]
    # A field that is missing may be there under a wrong name, which says more.
    problems.sort(
        key=lambda problem: (
            problem.problem.endswith("is missing"),
            (problem.place.line or 0, problem.place.column or 0) if problem.place else (0, 0),
        )
    )
    first, rest = problems[0], len(problems) - 1
    more = (f"{rest} more field{'s are' if rest > 1 else ' is'} wrong after this one",) if rest else ()
    raise InputError(
        first.problem, place=first.place, field=first.field, given=first.given, right=first.right, notes=more
    )


def _problem(origin: Origin, error: dict[str, Any]) -> InputError:
    path: Path = [part for part in error["loc"] if part != "[key]"]
    if path[0] == "experiments" and path[2:3] == ["factors"] and path[4:5] in (["levels"], ["range"]):
        del path[4]  # pydantic's name for the form of factor that it tried
    if path[0] == "when" and len(path) > 2:
        path = path[:3]  # what follows are pydantic's names for the forms of entry that it tried
        return origin.error("cannot be varied so", path, right=_help(path[:2]))
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing" and _is_unknown_experiment(origin, path):
        field = join(["variants", str(origin.variant), *path[:2]])
        known = list(origin.document.data.get("experiments", {}))
        right = nearest(str(path[1]), known) or ", ".join(known)
        return InputError(
            "the study has no such experiment", place=origin.document.place(field), field=field, right=right
        )
    if kind == "missing":
        return origin.error(f"{path[-1]} is missing", path, right=_help(path))
    if kind == "extra_forbidden":
        known = _fields(path[:-1])
        near = nearest(str(path[-1]), known)
        return origin.error("there is no such field", path, right=near or ", ".join(known))
    if kind == "literal_error":
        return origin.error("is not one of the possible values", path, right=context["expected"])
    if kind == "value_error":
        problem, _, right = str(context["error"]).partition("|")
        return origin.error(problem, path, right=right or None)
    return origin.error(in_words(error), path, right=_help(path))


def _is_unknown_experiment(origin: Origin, path: Path) -> bool:
    """Whether a variant speaks of an experiment that the study does not have, and that it does not describe either."""
    known = follow(origin.document.data, ["experiments"])
    return (
        origin.variant is not None and path[:1] == ["experiments"] and isinstance(known, dict) and path[1] not in known
    )


def _fields(path: Path) -> list[str]:
    if not path:
        return list(StudyFile.model_fields)
    models: dict[str | int, type[BaseModel]] = {"study": Header, "when": When, "why": Why}
    inside: dict[str | int, type[BaseModel]] = {"factors": Range, "queues": QueueLength}
    model = inside.get(path[2], Experiment) if len(path) > 3 else models.get(path[0], Experiment)
    return [field.alias or name for name, field in model.model_fields.items()]


def _help(path: Path) -> str | None:
    if path[2:3] == ["factors"] and path[4:]:
        return "{ from = '1ms', to = '600ms' }, each a text with its unit"
    helps = {
        "study": "a table [study] with name, seed and replications",
        "experiments": "at least one table [experiments.NAME] with factors and a scenario",
        "name": 'a name of at most 100 letters, digits, - and _, such as "quic-dumbbell"',
        "seed": "a whole number from 0, such as 2020",
        "replications": "a whole number from 1, such as 10",
        "points": "a whole number from 1 to 100000, such as 300",
        "times": 'a list of factors, such as ["rtt"]',
        "least": "a whole number from 1, such as 10",
        "scenario": "a table [experiments.NAME.scenario] with topology and flows (see `haltere schema`)",
        "factors": 'a table of lists, such as congestion = ["cubic", "bbr"]',
        "variants": "tables [variants.NAME...] to be laid over the study",
        "switches": 'a list of switches, such as ["tcp+initial-window=40", "quic-pacing"]',
        "queues": 'a list of factors above 0 and queues, such as [0.25, 4, "fq_codel"]',
        "losses": 'a list of mean burst lengths, "none" and "uniform", such as [4, 16, "none"]',
        "sizes": "a list of factors above 0, such as [0.25, 4]",
        "interfaces": 'a list of factors above 0, "bql" and "no-bql", such as ["no-bql", 4]',
        "marks": "a list of whole numbers from 0 to 255, such as [0, 8]",
        "when": "a table [when] with switches, queues, losses, sizes, interfaces or marks",
        "why": "a list of tables [[why]] with claims, experiment, and from and to or switches",
        "claims": 'the names of the study\'s claims, such as ["long_transfers"]',
        "experiment": 'the name of an experiment, such as "base"',
        "from": 'levels by their factors, such as { transport = "tcp" }',
        "to": 'levels by their factors, such as { transport = "quic" }',
        "at": 'levels by their factors, such as { loss = ["1%", "5%"] }',
    }
    return helps.get(
        str(path[-1]), "a text in quotes" if path[-1] in ("title", "question", "source", "rules") else None
    )


def check_parameters(origin: Origin, file: StudyFile) -> None:
    """Check that the names of parameters can stand in braces, and that no factor has one of them.

    Raises:
        InputError: at the first that is wrong.
    """
    for name in file.parameters:
        problem = name_problem("parameter", name)
        if problem:
            raise origin.error(problem[0], ["parameters", name], right=problem[1])
        for experiment, described in file.experiments.items():
            if name in described.factors:
                path: Path = ["experiments", experiment, "factors", name]
                raise origin.error("a parameter of the study has this name", path, right="another name for one of them")


def check_experiment(origin: Origin, name: str, experiment: Experiment) -> set[str]:
    """Check names, levels, the centre, and that every placeholder has its factor; return the factors that have one."""
    base: Path = ["experiments", name]
    problem = name_problem("experiment", name)
    if problem:
        raise origin.error(problem[0], base, right=problem[1])
    for factor in experiment.factors:
        labels = [level.label for level in design.levels_of(experiment, factor)]
        _check_factor(origin, [*base, "factors", factor], factor, labels)
    _check_crossed(origin, base, experiment)
    _check_queues(origin, base, experiment)
    if experiment.centre is not None:
        _check_centre(origin, base, experiment)
    used = _check_placeholders(origin, name, experiment)
    if design.size(experiment) > design.MAX_TREATMENTS:
        raise origin.error(
            f"the design has {grouped(design.size(experiment))} treatments",
            [*base, "factors"],
            right=f"at most {grouped(design.MAX_TREATMENTS)}",
        )
    return used


def _check_placeholders(origin: Origin, name: str, experiment: Experiment) -> set[str]:
    base: Path = ["experiments", name]
    used: set[str] = set()
    for place, factor, key in design.placeholders(experiment.scenario):
        path = [*base, "scenario", *place]
        if factor in experiment.queues and key is None:
            used.update((factor, experiment.queues[factor].rate, *experiment.queues[factor].times))
            continue
        if factor not in experiment.factors:
            raise origin.error(
                f"{{{factor}}} is not a factor of this experiment",
                path,
                right=", ".join(f"{{{f}}}" for f in experiment.factors) or "no placeholder",
                notes=tuple(_unused(origin, name, experiment, factor)),
            )
        levels = design.levels_of(experiment, factor)
        missing = next((i for i, level in enumerate(levels) if key and key not in level.keys), None)
        if missing is not None:
            raise origin.error(
                f"this level has no key {key!r}, which experiments.{name}.scenario.{join(list(place))} asks for",
                [*base, "factors", factor, missing],
                right=f"a table with label and {key}",
            )
        used.add(factor)
    return used


def _unused(origin: Origin, name: str, experiment: Experiment, wanted: str) -> Iterator[str]:
    """Yield a line for each factor that nothing uses: one of them may be the misspelt name of the wanted one."""
    used = {factor for _, factor, _ in design.placeholders(experiment.scenario)}
    used.update(factor for queue in experiment.queues.values() for factor in (queue.rate, *queue.times))
    for factor in (one for one in experiment.factors if one not in used):
        where = origin.document.place(join(origin.written(["experiments", name, "factors", factor])))
        meant = f"; did you mean {wanted}?" if nearest(factor, [wanted]) else ""
        yield f"factor {factor} at {where} is not used{meant}"


def check_used(origin: Origin, name: str, experiment: Experiment, used: set[str]) -> None:
    """Check that the scenario uses every factor and every queue; a scenario that cannot be run says more than that."""
    base: Path = ["experiments", name]
    for queue in experiment.queues:
        if queue not in used:
            raise origin.error(
                "the scenario does not use this queue",
                [*base, "queues", queue],
                right=f'"{{{queue}}}" somewhere in experiments.{name}.scenario',
            )
    for factor in experiment.factors:
        if factor not in used:
            raise origin.error(
                "this factor changes nothing: the scenario does not use it",
                [*base, "factors", factor],
                right=f'"{{{factor}}}" somewhere in experiments.{name}.scenario',
            )


def _check_factor(origin: Origin, path: Path, factor: str, labels: list[str]) -> None:
    problem = name_problem("factor", factor)
    if problem:
        raise origin.error(problem[0], path, right=problem[1])
    for index, label in enumerate(labels):
        if label in labels[:index]:
            raise origin.error(f"two levels are called {label!r}", [*path, index], right="levels that differ")


def _check_crossed(origin: Origin, base: Path, experiment: Experiment) -> None:
    for index, factor in enumerate(experiment.crossed):
        path = [*base, "crossed", index]
        if factor not in experiment.factors:
            raise origin.error("this is not a factor of the experiment", path, right=", ".join(experiment.factors))
        if factor in (experiment.centre or {}):
            raise origin.error("the centre has a level of this factor: it cannot be crossed as well", path)
        if isinstance(experiment.factors[factor], Range):
            raise origin.error("a range cannot be crossed: it has no levels", path, right="a factor with levels")


def _check_queues(origin: Origin, base: Path, experiment: Experiment) -> None:
    for name, queue in experiment.queues.items():
        path: Path = [*base, "queues", name]
        if name in experiment.factors:
            raise origin.error("a factor has this name already", path, right="a name of its own")
        named: dict[tuple[str | int, ...], str] = {("rate",): queue.rate}
        named.update({("times", index): factor for index, factor in enumerate(queue.times)})
        for inside, factor in named.items():
            if factor not in experiment.factors:
                raise origin.error(
                    "this is not a factor of the experiment",
                    [*path, *inside],
                    right=", ".join(experiment.factors) or "a factor: the experiment has none",
                )


def queue_lengths(origin: Origin, name: str, experiment: Experiment, levels: dict[str, Level]) -> dict[str, Level]:
    """Return the lengths of an experiment's queues for these levels of its factors.

    Raises:
        InputError: if a level that a queue's length comes from is not a rate, or not a time.
    """
    try:
        return design.queues(experiment, levels)
    except core.ScenarioProblem as problem:
        raise origin.error(problem.message, ["experiments", name, "queues", *steps(problem.path)]) from None


def _check_centre(origin: Origin, base: Path, experiment: Experiment) -> None:
    centre = experiment.centre or {}
    for factor, level in centre.items():
        path = [*base, "centre", factor]
        if factor not in experiment.factors:
            raise origin.error("this is not a factor of the experiment", path, right=", ".join(experiment.factors))
        labels = [known.label for known in design.levels_of(experiment, factor)]
        if level.label not in labels:
            raise origin.error("this is not a level of the factor", path, right=", ".join(labels))
    for factor in experiment.factors:
        if factor not in centre and factor not in experiment.crossed:
            raise origin.error(
                f"the centre gives no level for {factor}", [*base, "centre"], right=f"{factor} = one of its levels"
            )


def check_treatment(
    origin: Origin,
    name: str,
    experiment: Experiment,
    choices: tuple[design.Choice, ...],
    template: Mapping[str, Any],
    *,
    fidelities: tuple[Fidelity, ...],
    folder: FilePath,
) -> tuple[dict[str, Any], str, measured.Measured | None, core.Scenario | None]:
    """Return a treatment's scenario with the files it names read, its canonical JSON, its measured paths, or it parsed.

    Raises:
        InputError: if it cannot be run; it points at the scenario's line, or at the level that gave the value.
    """
    base: Path = ["experiments", name, "scenario"]
    scenario = template
    try:
        scenario = files.inline(template, folder)
        drawn = measured.find(scenario, folder)
        text = core.canonical(scenario)
        parsed = measured.parsed(drawn) if drawn else [core.parse(text)]
    except core.ScenarioProblem as problem:
        raise _map_back(origin, base, experiment, choices, scenario, problem) from None
    except (TypeError, ValueError) as error:
        odd = _not_finite(scenario, ())
        if odd is not None:
            given = follow(scenario, list(odd))
            raise origin.error("is not a finite number", [*base, *odd], given=given, right="a finite number") from None
        raise origin.error(
            f"a value cannot stand in a scenario: {error}",
            base,
            right="texts, finite numbers, booleans, tables and lists",
        ) from None
    try:
        for fidelity in fidelities:
            for concrete in parsed:
                check_at(fidelity, concrete)
    except core.ScenarioProblem as problem:
        raise _map_back(origin, base, experiment, choices, scenario, problem) from None
    return dict(scenario), text, drawn, None if drawn else parsed[0]


def _not_finite(value: Any, path: tuple[str | int, ...]) -> tuple[str | int, ...] | None:
    """Return the place of the first number that is infinite or none at all, which JSON cannot hold."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path
    inside: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return next((found for key, part in inside if (found := _not_finite(part, (*path, key))) is not None), None)


def _map_back(
    origin: Origin,
    base: Path,
    experiment: Experiment,
    choices: tuple[design.Choice, ...],
    scenario: Mapping[str, Any],
    problem: core.ScenarioProblem,
) -> InputError:
    inside = steps(problem.path)
    right = hint(problem.message)
    if problem.message.startswith("unknown field"):  # the name is wrong, whatever gave the value
        return origin.error(problem.message, [*base, *inside], right=right)
    template = follow(experiment.scenario, inside)
    while template is None and inside:  # a field inside of a value that a factor gave, or one that is missing
        parent = follow(experiment.scenario, inside[:-1])
        if not isinstance(parent, str):
            break
        inside, template = inside[:-1], parent
    treatment = ", ".join(f"{choice.factor} = {choice.level.label}" for choice in choices)
    notes = (f"in the treatment {treatment}",) if treatment else ()
    given = follow(scenario, steps(problem.path))
    given = store.shown(given) if isinstance(given, str) else given
    found = design.placeholders(template) if isinstance(template, str) else []
    sources = [factor for _, factor, _ in found if factor in experiment.factors]
    if len(sources) == 1:
        choice = next(choice for choice in choices if choice.factor == sources[0])
        drawn = isinstance(experiment.factors[choice.factor], Range)
        path: Path = [*base[:-1], "factors", choice.factor, *([] if drawn else [choice.index])]
        notes = (f"used at {join([*base, *inside])}", *notes)
        keys = " or ".join(f'"{{{choice.factor}.{key}}}"' for key in choice.level.keys)
        if keys and f"{{{choice.factor}}}" in template:
            right = f"{keys} there: the level is a table, and {{{choice.factor}}} alone is its label"
        return origin.error(problem.message, path, given=given, right=right, notes=notes)
    return origin.error(
        problem.message,
        [*base, *inside] if template is not None else [*base, *steps(problem.path)],
        given=given,
        right=right,
        notes=notes,
    )


def check_why(origin: Origin, file: StudyFile, levels: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
    """Check that each `[[why]]` names experiments, factors and levels that there are, and has two ends.

    Args:
        origin: where the study's values came from.
        file: the study.
        levels: the labels of each factor's levels, by experiment.
    """
    for index, why in enumerate(file.why):
        base: Path = ["why", index]
        if why.experiment not in levels:
            near = nearest(why.experiment, list(levels)) or ", ".join(levels)
            raise origin.error("the study has no such experiment", [*base, "experiment"], right=near)
        _check_levels(origin, base, why, {name: list(labels) for name, labels in levels[why.experiment].items()})
        if why.to and why.to.keys() != why.start.keys():
            raise origin.error("from and to name other factors", [*base, "to"], right="the same factors in both")
        if not why.switches and (not why.to or why.to == why.start):
            right = "levels in from and others in to, or switches"
            raise origin.error("there is nothing to explain: both ends are the same", base, right=right)
        both = next((name for name in why.at if name in why.start), None)
        if both is not None:
            raise origin.error(f"{both} stands in from as well", [*base, "at", both], right="a level in one of them")


def _check_levels(origin: Origin, base: Path, why: Why, known: Mapping[str, list[str]]) -> None:
    tables: dict[str, Mapping[str, tuple[str, ...]]] = {
        "from": {name: (label,) for name, label in why.start.items()},
        "to": {name: (label,) for name, label in why.to.items()},
        "at": why.at,
    }
    for table, name, label in ((t, name, one) for t in tables for name, some in tables[t].items() for one in some):
        path = [*base, table, name]
        if name not in known:
            right = nearest(name, list(known)) or ", ".join(known) or "no level: it has no factors"
            raise origin.error(f"{name} is not a factor of {why.experiment}", path, right=right)
        if label not in known[name]:
            right = nearest(label, known[name]) or ", ".join(known[name])
            raise origin.error(f"{name} has no level {label!r}", path, right=right)


def unknown_variant(document: Document, variant: str) -> InputError:
    """Return the error for a variant that the study does not have."""
    known = document.data.get("variants")
    names = among(variant, list(known)) if isinstance(known, dict) and known else ""
    return ArgumentError(
        "the study has no such variant",
        place=document.place("variants"),
        field="variant",
        given=variant,
        right=names or "no variant: it has none",
    )
