"""`haltere design`: a picture of a study's space-filling designs, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from haltere.cli import show
from haltere.documents import shown
from haltere.errors import InputError
from haltere.study import Study
from haltere.study.model import Range

if TYPE_CHECKING:
    from haltere.figures.design import Drawn

FORMATS = ("svg", "pdf", "png")


def command(path: Path, *, variant: str | None, experiments: Sequence[str] | None, out: Path | None) -> None:
    """Draw the design of each experiment that has ranges, and say where the picture is."""
    from haltere.figures.design import draw_design

    study = Study.load(path, variant=variant)
    chosen = list(dict.fromkeys(t.experiment for t in study.select(experiments)))
    drawable = [name for name in chosen if _ranges(study, name)]
    if not drawable:
        raise InputError(
            "no design to draw: none of these experiments draws a factor from a range",
            field="--experiment" if experiments else "STUDY",
            given=", ".join(chosen),
            right="an experiment with design = 'space-filling' and a factor such as { from = '1ms', to = '600ms' }",
        )
    folder = out or Path("designs") / study.name
    for name in drawable:
        experiment = study.file.experiments[name]
        points = experiment.points or 0
        treatments = [t for t in study.treatments if t.experiment == name][:points]
        factors = [
            _drawn(factor, drawn, [t.levels[factor] for t in treatments])
            for factor, drawn in _ranges(study, name).items()
        ]
        title = f"{study.name}, {experiment.title or name}: {points} points, {experiment.sampling or 'lhs'}"
        files = draw_design(title, factors, folder / name, FORMATS)
        show.out().print(escape(f"{title}: {', '.join(shown(file) for file in files)}"), soft_wrap=True)


def _ranges(study: Study, experiment: str) -> dict[str, Range]:
    factors = study.file.experiments[experiment].factors
    return {name: factor for name, factor in factors.items() if isinstance(factor, Range)}


def _drawn(name: str, drawn: Range, labels: Sequence[str]) -> Drawn:
    from haltere.figures.design import Drawn

    values = [drawn.number(label) for label in labels]
    return Drawn(name, drawn.unit, values, drawn.number(drawn.start), drawn.number(drawn.end), drawn.scale == "log")
