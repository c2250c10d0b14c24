"""A study of measured paths: two periods, what is measured of them, and its run.

Its `study.toml` has `[study]` as every study, `[periods]` in the place of experiments, and `[measure]`. Its
replications are partial views. Its claims judge `haltere.paths.periods.Evolution`, its `figures.toml` is that of
`haltere.evolution.figures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from haltere import core, shipped
from haltere.documents import Document
from haltere.errors import InputError
from haltere.evolution.figures import FigureList, every
from haltere.evolution.measuring import Options, Progress, Resample, measure
from haltere.evolution.results import write
from haltere.figures.kinds import refusal
from haltere.paths.engine import Dask
from haltere.paths.ingest import ingest
from haltere.paths.lake import Lake, Selection
from haltere.paths.levels import Level, LevelName
from haltere.paths.policy import Policy, Unknown
from haltere.study.model import Header

Model = TypeVar("Model", bound=BaseModel)
Period = tuple[str, Path | Sequence[Path]]
_Path = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measure(_Table):
    """`[measure]`: what is measured of each period, as the options of `haltere paths compare` of the same names."""

    traces: Annotated[int, Field(ge=0)] = 100_000
    sources: Annotated[int, Field(ge=1)] = 10
    destinations: Annotated[int, Field(ge=1)] = 10_000
    k: Annotated[int, Field(ge=1, le=1000)] = 10
    resample: Resample = "none"
    level: LevelName = "address"
    pfx2as: _Path | None = None
    annotations: _Path | None = None
    aliases: _Path | None = None
    ixp: _Path | None = None
    as_relationships: _Path | None = None
    unknown_relationships: Unknown = "refuse"
    mmdb: _Path | None = None
    regions: _Path | None = None
    keep: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    first_day: date | None = None
    last_day: date | None = None
    family: Literal[4, 6] | None = None
    repeats: bool = False


def _two(periods: dict[str, str]) -> dict[str, str]:
    if len(periods) != 2:
        raise ValueError('are not two|the earlier first, such as 2006 = "lake/2006" and 2011 = "lake/2011"')
    return periods


class _File(_Table):
    study: Header
    periods: Annotated[dict[str, _Path], AfterValidator(_two)]
    measure: Measure = Measure()


@dataclass(frozen=True)
class PathsStudy:
    """Two periods and what is measured of them.

    Attributes:
        periods: the name of each, and its lake or its files of traceroutes; the earlier first.
        options: what is measured.
        selection: the part of the lakes that is taken.
        header: the study's name, title, question and source; None for a comparison without a study.
        folder: where the study lies, with its claims and figures.
    """

    periods: tuple[Period, Period]
    options: Options = field(default_factory=Options)
    selection: Selection = field(default_factory=Selection)
    header: Header | None = None
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The study's name."""
        return str(self._said()["name"])

    @classmethod
    def load(cls, path: str | Path) -> PathsStudy:
        """Read a study: its folder, its `study.toml`, or the name of a shipped study.

        Raises:
            InputError: if anything in it is wrong, or a period has no lake and no files.
        """
        path = shipped.locate(path)
        file = path / "study.toml" if path.is_dir() else path
        document = Document.read(file)
        read = _validated(document, _File)
        folder, wanted = file.parent, read.measure
        files = (_in(folder, given) for given in (wanted.pfx2as, wanted.annotations, wanted.aliases, wanted.ixp))
        if wanted.as_relationships is None and wanted.unknown_relationships != "refuse":
            place = "measure.unknown_relationships"
            right = "as_relationships, a file of AS relationships, too"
            raise InputError(
                "is for valley-free paths",
                place=document.place(place),
                field=place,
                given=wanted.unknown_relationships,
                right=right,
            )
        relationships = _in(folder, wanted.as_relationships)
        options = Options(
            traces=wanted.traces,
            sources=wanted.sources,
            destinations=wanted.destinations,
            k=wanted.k,
            draws=read.study.replications,
            resample=wanted.resample,
            level=Level(wanted.level, *files),
            policy=None if relationships is None else Policy(relationships, wanted.unknown_relationships),
            seed=read.study.seed,
            mmdb=_in(folder, wanted.mmdb),
            regions=_in(folder, wanted.regions),
            keep=wanted.keep,
        )
        selection = Selection(
            sources=wanted.source or None,
            first_day=wanted.first_day,
            last_day=wanted.last_day,
            family=wanted.family,
            repeats=wanted.repeats,
        )
        first, second = ((name, _period(document, folder, name, given)) for name, given in read.periods.items())
        return cls((first, second), options, selection, read.study, folder)

    def run(
        self, out: Path, *, command: str, draws: int | None = None, dask: str | None = None, on_progress: Progress
    ) -> None:
        """Measure both periods and write the results; files of traceroutes are read into lakes in the same folder.

        Args:
            out: the results' folder.
            command: the line that repeats it.
            draws: partial views, if not as many as the study says.
            dask: the address of a Dask scheduler that counts.
            on_progress: called with what is being done, how much of it is done, and how much there is.

        Raises:
            InputError: as `haltere.evolution.measuring.measure` does, or if a file holds no traceroutes.
        """
        options = self.options if draws is None else replace(self.options, draws=draws)
        started = _now()
        lakes = [self._lake(name, given, out, on_progress) for name, given in self.periods]
        with nullcontext() if dask is None else closing(Dask(dask)) as engine:
            measured = measure(lakes[0], lakes[1], options, engine=engine, on_progress=on_progress)
        about = {
            "haltere": core.VERSION,
            "core": core.fingerprint(),
            "study": self._said(),
            "study_file": None if self.folder is None else str(self.folder / "study.toml"),
            "replications": options.draws,
            "seed": options.seed,
            "command": command,
            "started": started,
            "finished": _now(),
        }
        write(out, measured, about)

    def _lake(self, name: str, given: Path | Sequence[Path], out: Path, on_progress: Progress) -> Lake:
        if isinstance(given, Path):
            return Lake(given, self.selection)
        lake = out / "lakes" / name
        ingest([str(file) for file in given], lake, on_progress=partial(on_progress, f"{name}: reading"))
        return Lake(lake, self.selection)

    def _said(self) -> dict[str, Any]:
        if self.header is not None:
            return self.header.model_dump(mode="json")
        first, second = (name for name, _ in self.periods)
        question = f"Did end-to-end paths get shorter, faster and more diverse from {first} to {second}?"
        return {"name": "paths", "title": f"Internet paths, {first} and {second}", "question": question, "source": ""}


def figures_of(folder: Path | None) -> FigureList:
    """Return the figures of a study's folder; those that say most of any two periods if it lists none.

    Raises:
        InputError: if its `figures.toml` is wrong.
    """
    if folder is None or not (folder / "figures.toml").exists():
        return every()
    return _validated(Document.read(folder / "figures.toml"), FigureList)


def _validated(document: Document, model: type[Model]) -> Model:
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise refusal(document, error.errors(), model) from None


def _in(folder: Path, given: str | None) -> Path | None:
    return None if given is None else folder / given


def _period(document: Document, folder: Path, name: str, given: str) -> Path | list[Path]:
    """The lake of a period, or its files."""
    if (folder / given / "lake.json").exists():
        return folder / given
    files = sorted(folder.glob(given)) if not Path(given).is_absolute() else [Path(given)]
    if not files or not all(file.exists() for file in files):
        place = f"periods.{name}"
        right = "a lake that `haltere paths ingest` wrote, or files of traceroutes, such as 2006/*.warts.gz"
        raise InputError("there are none", place=document.place(place), field=place, given=given, right=right)
    return files


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
