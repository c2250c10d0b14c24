"""A study: a question, experiments over factors, and every concrete run that answers it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from haltere import core, shipped
from haltere.documents import Document
from haltere.errors import ArgumentError, InputError, among, as_written
from haltere.fidelity import Fidelity, identity, named
from haltere.notebook import notebook
from haltere.scenario import Scenario, merge
from haltere.study import check, design, parameters
from haltere.study.model import EXTENDS, Experiment, Header, StudyFile, name_problem

if TYPE_CHECKING:
    from haltere.paths.summary import MeasuredPath
    from haltere.scenario.measured import Measured

__all__ = ["Experiment", "Header", "Run", "Study", "Treatment", "with_variant"]


@dataclass(frozen=True)
class Treatment:
    """One combination of levels and the concrete scenario it gives. `index` counts within the experiment from 0.

    A scenario that is `measured` is not concrete yet, and not `parsed`: each replication puts a path into it.
    """

    experiment: str
    index: int
    levels: dict[str, str]
    scenario: dict[str, Any] = field(repr=False)
    scenario_json: str = field(repr=False)
    measured: Measured | None = field(repr=False, default=None)
    parsed: core.Scenario | None = field(repr=False, default=None)


@dataclass(frozen=True)
class Run:
    """One replication of a treatment: a pure function of its scenario, the seed and the replication."""

    treatment: Treatment
    seed: int
    replication: int
    fidelity: Fidelity = "model"

    @cached_property
    def path(self) -> MeasuredPath | None:
        """The measured path it runs over, if its topology is drawn from such."""
        measured = self.treatment.measured
        return None if measured is None else measured.path(self.seed, self.replication)

    @property
    def scenario_json(self) -> str:
        """The concrete scenario as canonical JSON."""
        measured = self.treatment.measured
        if measured is None or self.path is None:
            return self.treatment.scenario_json
        return core.canonical(measured.over(self.path))

    @property
    def scenario(self) -> core.Scenario:
        """The concrete scenario, parsed."""
        return self.treatment.parsed or core.parse(self.scenario_json)

    @cached_property
    def id(self) -> str:
        """The run's identity: a hash of scenario, seed, replication, version, and the kernel of a real run."""
        parts = [core.VERSION, str(self.seed), str(self.replication), self.scenario_json]
        text = "\n".join([*parts, *filter(None, [identity(self.fidelity, self.scenario)])])
        return hashlib.sha256(text.encode()).hexdigest()[:20]


class Study:
    """A study file, checked whole: if this object exists, every one of its runs can be run.

    `haltere.Study` is the same with `run` and `estimate` (`haltere.runner.study`).

    >>> study = Study.load("studies/quic-dumbbell")
    >>> len(study.treatments), study.factors("base")
    """

    def __init__(
        self,
        document: Document,
        *,
        variant: str | None = None,
        directory: Path | None = None,
        fidelity: Sequence[Fidelity] | None = None,
    ) -> None:
        self.document, self.variant, self.directory = document, variant, directory
        data = document.data
        if variant is not None:
            variants = data.get("variants")
            if not isinstance(variants, dict) or not isinstance(variants.get(variant), dict):
                raise check.unknown_variant(document, variant)
            check.check_extended(document, variants, variant)
            data = with_variant(data, variant)
        data = parameters.filled(data)
        origin = check.Origin(document, variant, data)
        self.file: StudyFile = check.parse(origin)
        check.check_parameters(origin, self.file)
        own = self.file.study.fidelity
        self.fidelities: tuple[Fidelity, ...] = _fidelities(fidelity) if fidelity else own
        self._elsewhere = self.fidelities != own
        self.treatments: tuple[Treatment, ...] = tuple(_expand(origin, self.file, self.fidelities, directory or Path()))
        check.check_why(origin, self.file, {name: self.factors(name) for name in self.file.experiments})

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self._said()}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, one.design, factor, ", ".join(levels))
            for name, one in self.file.experiments.items()
            for factor, levels in (self.factors(name) or {"": ()}).items()
        ]
        table = pl.DataFrame(rows, schema=["experiment", "design", "factor", "levels"], orient="row")
        return notebook(f"Study {self.name}: {self.header.title or self._said()}", table)

    def _said(self) -> str:
        return (
            f"{len(self.file.experiments)} experiments, {len(self.treatments)} treatments × "
            f"{self.header.replications} replications"
        )

    @classmethod
    def load(cls, path: str | Path, *, variant: str | None = None, fidelity: Sequence[Fidelity] | None = None) -> Self:
        """Read a study: its folder, its `study.toml`, or a plain scenario file (then a study of one treatment).

        Args:
            path: the folder or file, or the name of a shipped study.
            variant: a variant of the study, laid over it.
            fidelity: where it runs, instead of where the study says.

        Raises:
            InputError: if anything in it is wrong; nothing has been run by then.
        """
        path = shipped.locate(path)
        file = path / "study.toml" if path.is_dir() else path
        return cls.of_document(Document.read(file), file.parent, variant=variant, fidelity=fidelity)

    @classmethod
    def of_document(
        cls,
        document: Document,
        directory: Path,
        *,
        variant: str | None = None,
        fidelity: Sequence[Fidelity] | None = None,
    ) -> Self:
        """Return the study of a parsed file, or of a plain scenario; the files that it names lie in `directory`."""
        if "periods" in document.data:
            right = "haltere run and haltere report, or haltere.evolution.PathsStudy"
            raise InputError("is of measured paths, so that it has no scenario", place=document.place(""), right=right)
        if (
            "study" not in document.data
            and "experiments" not in document.data
            and {"topology", "flows"} & document.data.keys()
        ):
            return cls._of_scenario(document, directory / Path(document.name).name, fidelity)
        return cls(document, variant=variant, directory=directory, fidelity=fidelity)

    @classmethod
    def parse(cls, text: str, *, name: str = "study.toml", variant: str | None = None) -> Self:
        """Read a study from TOML text; `name` stands for the file in errors."""
        return cls(Document.parse(name, text), variant=variant)

    @classmethod
    def _of_scenario(cls, document: Document, file: Path, fidelity: Sequence[Fidelity] | None) -> Self:
        wanted = _fidelities(fidelity or ("model",))
        scenario = Scenario(document.data, source=document, folder=file.parent, fidelity=wanted[0])
        name = (
            "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in file.stem).strip("-_")
            or "scenario"
        )
        study = {"name": name, "title": file.name, "seed": 1, "replications": 1}
        data = {"study": study, "experiments": {"scenario": {"scenario": scenario.data}}}
        return cls(Document(document.name, document.text, data), directory=file.parent, fidelity=fidelity)

    @property
    def header(self) -> Header:
        """Name, title, question, source, seed, replications and fidelity."""
        return self.file.study

    @property
    def name(self) -> str:
        """The study's name; with a variant, `NAME-VARIANT`; at other fidelities than its own, `NAME-FIDELITY`."""
        name = self.header.name if self.variant is None else f"{self.header.name}-{self.variant}"
        return "-".join([name, *self.fidelities]) if self._elsewhere else name

    def factors(self, experiment: str) -> dict[str, tuple[str, ...]]:
        """Return an experiment's factors and the labels of their levels, in order; of a range those that were drawn."""
        chosen = self.file.experiments[experiment]
        labels: dict[str, tuple[str, ...]] = {}
        for name in chosen.factors:
            listed = design.levels_of(chosen, name)
            drawn = (t.levels[name] for t in self.treatments if t.experiment == experiment)
            labels[name] = tuple(level.label for level in listed) or tuple(dict.fromkeys(drawn))
        return labels

    def select(self, experiments: Sequence[str] | None = None) -> tuple[Treatment, ...]:
        """Return the treatments of some experiments (default: of all).

        Raises:
            InputError: if the study has no such experiment.
        """
        for name in experiments or ():
            if name not in self.file.experiments:
                raise ArgumentError(
                    "the study has no such experiment",
                    field="experiments",
                    given=as_written(name),
                    right=among(name, list(self.file.experiments)),
                )
        return tuple(t for t in self.treatments if not experiments or t.experiment in experiments)

    def runs(self, *, replications: int | None = None, experiments: Sequence[str] | None = None) -> Iterator[Run]:
        """Yield every run, replication by replication: a campaign that was stopped has some runs of every treatment."""
        treatments = self.select(experiments)
        for replication in range(self.header.replications if replications is None else replications):
            for treatment in treatments:
                for fidelity in self.fidelities:
                    yield Run(treatment, self.header.seed, replication, fidelity)


def is_of_paths(path: Path) -> bool:
    """Whether a study file is of measured paths (`haltere.evolution`); a file that cannot be read is not."""
    try:
        file = shipped.locate(path)
        return "periods" in Document.read(file / "study.toml" if file.is_dir() else file).data
    except InputError:
        return False


def with_variant(data: dict[str, Any], variant: str | None) -> dict[str, Any]:
    """Return the tables of a study with one of its variants laid over them, after the variant that it extends.

    Tables `[[why]]` name levels of the study, which a variant need not have: a variant has those that it brings.
    """
    if variant is None:
        return data
    own = dict(data["variants"][variant])
    data = with_variant(data, own.pop(EXTENDS, None))
    return merge({name: part for name, part in data.items() if name != "why"}, own)


def _fidelities(given: Sequence[Fidelity]) -> tuple[Fidelity, ...]:
    return tuple(dict.fromkeys(named(name).description.name for name in given))


def _expand(
    origin: check.Origin, file: StudyFile, fidelities: tuple[Fidelity, ...], folder: Path
) -> Iterator[Treatment]:
    for variant in file.variants:
        problem = name_problem("variant", variant)
        if problem:
            raise origin.error(problem[0], ["variants", variant], right=problem[1])
    for name, experiment in file.experiments.items():
        used = check.check_experiment(origin, name, experiment)
        for index, choices in enumerate(design.combinations(experiment, file.study.seed)):
            values = {choice.factor: choice.level for choice in choices}
            values.update(check.queue_lengths(origin, name, experiment, values))
            template = design.fill(experiment.scenario, values)
            levels = {choice.factor: choice.level.label for choice in choices}
            given = (origin, name, experiment, choices, template)
            checked = check.check_treatment(*given, fidelities=fidelities, folder=folder)
            if index == 0:
                check.check_used(origin, name, experiment, used)
            yield Treatment(name, index, levels, *checked)
