"""The commands around studies: `haltere design`, `when`, `report`, `new` and `list`."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere import core, shipped
from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import HaltereError, InputError, Interrupted, Place, as_written
from haltere.executor import ThreadExecutor
from haltere.files import write_whole
from haltere.plugins.store import SOURCES
from haltere.results import Results, made_elsewhere, read_manifest
from haltere.runner.interrupt import stop_on_interrupt
from haltere.study import Study
from haltere.study.model import Range, name_problem
from haltere.when import Found, Plan, search

if TYPE_CHECKING:
    from haltere.figures.design import Drawn

FORMATS = ("svg", "pdf", "png")


def design(path: Path, *, variant: str | None, experiments: Sequence[str] | None, out: Path | None) -> None:
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
        show.say(f"{title}: {', '.join(shown(file) for file in files)}")


def _ranges(study: Study, experiment: str) -> dict[str, Range]:
    factors = study.file.experiments[experiment].factors
    return {name: factor for name, factor in factors.items() if isinstance(factor, Range)}


def _drawn(name: str, drawn: Range, labels: Sequence[str]) -> Drawn:
    from haltere.figures.design import Drawn

    values = [drawn.number(label) for label in labels]
    return Drawn(name, drawn.unit, values, drawn.number(drawn.start), drawn.number(drawn.end), drawn.scale == "log")


def when(
    path: Path,
    *,
    results: Path | None,
    variant: str | None,
    claims: Sequence[int] | None,
    minutes: float,
    workers: int | None,
    as_json: bool,
) -> None:
    """Search, and print the answers."""
    ThreadExecutor(workers)  # refuses a wrong number of workers before anything is read
    if not 0 < minutes < float("inf"):
        raise InputError("is not a time", field="--minutes", given=str(minutes), right="a number of minutes above 0")
    study = Study.load(path, variant=variant)
    folder = results or Path("results") / study.name
    with show.searching() as advance, stop_on_interrupt() as stop:
        found = search(study, folder, Plan(minutes, tuple(claims or ()), workers, stop, advance))
    if as_json:
        show.data(found.data())
        return
    for one in found.claims:
        if not claims or one.number in claims:
            _print_found(one)
    if stop.is_set():
        raise Interrupted(f"stopped: what was found is written in {shown(folder)}; the same command goes on")
    show.say(f"next: haltere report {shown(folder)}")


def _print_found(one: Found) -> None:
    show.sentence(f"{one.number}. {one.sentence}", style="bold")
    show.sentence(f"{one.answer()}.", indent=3)
    for line in one.lines():
        show.sentence(line, indent=3, style="dim")


def report(results: Path, study: Path | None, out: Path | None, *, ask: bool = False, page: Path | None = None) -> None:
    """Write the report and say where it is; one that can `ask` takes the simulator from the playground's page."""
    from haltere.playground import module_of
    from haltere.report import results_of, written

    module = module_of(page) if ask or page is not None else None
    console = show.out()
    found = results_of(results)
    folder = study_folder(found, study)
    with console.status("writing the report"):
        written_to, findings = written(found.path, folder, out, module=module)
    for sentence in findings.answer:
        show.say(f"- {sentence}")
    partial = found.manifest.get("partial")
    if partial:
        show.note(f"the campaign has not finished: {partial['runs']} of {partial['of']} runs are in this report")
    elsewhere = made_elsewhere(found.manifest)
    if elsewhere:
        show.note(f"{elsewhere}; claims are judged, and figures drawn, by this one")
    show.say(f"report: {shown(written_to)}")
    broken = findings.broken()
    for reason in broken:
        show.note(f"claims: {reason}")
    exits.end(bool(broken), 2)


def study_folder(results: Results, study: Path | None) -> Path | None:
    """Return the folder of the study that some results came from; None for a comparison of two lakes without a study.

    Raises:
        InputError: if the study is no longer there.
    """
    file = results.manifest["study_file"]
    folder = study or (None if file is None else Path(str(file)).parent)
    if folder is not None and not folder.is_dir():
        raise InputError(
            "the study's folder is not here",
            place=Place(shown(folder)),
            field="--study",
            right="the folder of the study that these results came from",
        )
    return folder


STARTER = ("study.toml", "figures.toml", "claims.py")
"""The files of a new study."""


@dataclass(frozen=True)
class _Starter:
    """A start of code: its files, its word, the suffixes that there are, and a command that uses a file."""

    name: str
    word: str
    command: str
    suffixes: tuple[str, ...] = (".py", *SOURCES)


STARTERS = {
    "congestion-control": _Starter(
        "control", "congestion control", "haltere compare tcp/cubic tcp/{file} --rate 40Mbit/s --rtt 50ms --loss 0.1%"
    ),
    "scheduler": _Starter(
        "scheduler",
        "path scheduler",
        "haltere compare mptcp/cubic mptcp/cubic+scheduler={file} --path rate=20Mbit/s,rtt=20ms "
        "--path rate=10Mbit/s,rtt=60ms",
        (".py", ".c"),
    ),
    "queue": _Starter(
        "queue",
        "queue discipline",
        "haltere compare tcp/cubic tcp/bbr --rate 20Mbit/s --rtt 40ms --queue 1000p --queue {file}",
        (".py", ".c"),
    ),
}
"""The kinds of code that a new file may hold, by the option of `haltere new`."""


def new(folder: Path | None, code: Mapping[str, Path | None]) -> None:
    """Write a commented start of a study, or of code.

    Args:
        folder: the study's folder.
        code: files by the kinds of code, which are those of `STARTERS`.

    Raises:
        InputError: if not one of all is given, or it cannot be written.
    """
    given = {kind: file for kind, file in code.items() if file is not None}
    if (folder is not None) + len(given) != 1:
        right = "haltere new my-study, or " + " or ".join(f"haltere new --{kind} mine.py" for kind in STARTERS)
        raise InputError("give a study's name or a file of code, and one of them", right=right)
    if folder is not None:
        _new_study(folder)
    for kind, file in given.items():
        _new_code(kind, file)


def _new_code(kind: str, file: Path) -> None:
    """Write code that runs as it is, and the interface beside it where its language needs that."""
    starter = STARTERS[kind]
    name = file.stem
    if file.suffix not in starter.suffixes or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        right = " or ".join(f"mine{suffix}" for suffix in starter.suffixes)
        raise InputError(f"is no name for a {starter.word}", field=kind, given=shown(file), right=right)
    beside = {".c": "haltere.h", ".rs": "haltere.rs"}.get(file.suffix)
    text = files("haltere").joinpath("starter", f"{starter.name}{file.suffix}").read_text(encoding="utf-8")
    text = text.replace("NAME", name).replace("TITLE", name.replace("_", " ").title().replace(" ", ""))
    if file.exists():
        raise InputError("is there already", field=kind, given=shown(file), right="another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)
    if beside:
        write_whole(file.parent / beside, files("haltere").joinpath("plugins", "include", beside).read_bytes())
    with_beside = f", with {beside} beside it" if beside else ""
    named = shown(file) if shown(file).startswith(("/", "./", "../")) else f"./{shown(file)}"
    show.say(f"{shown(file)} is a {starter.word} that runs as it is{with_beside}")
    show.say(f"next: {starter.command.format(file=named)}")


def _new_study(folder: Path) -> None:
    """Write a small commented study that runs as it is.

    Raises:
        InputError: if the folder's name cannot name a study, or the folder is there already.
    """
    problem = name_problem("study", folder.name)
    if problem:
        raise InputError(problem[0], field="name", given=as_written(folder.name), right=problem[1])
    if folder.exists():
        raise InputError("is there already", field="name", given=shown(folder), right="a folder that is not there yet")
    folder.mkdir(parents=True)
    try:
        for name in STARTER:
            text = files("haltere").joinpath("starter", name).read_text(encoding="utf-8")
            write_whole(folder / name, text.replace("NAME", folder.name))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    show.say(f"{shown(folder)} has {', '.join(STARTER)}")
    show.say(f"next: haltere run {shown(folder)}")


def studies_here(folder: Path) -> list[dict[str, Any]]:
    """Return the studies in a folder, and in `studies` below it: name, title, and the path that `haltere run` takes."""
    found = sorted([*folder.glob("*/study.toml"), *folder.glob("studies/*/study.toml")])
    return [{"study": shown(file.parent), **described(file)} for file in found]


def described(file: Path) -> dict[str, Any]:
    """Return the title of a study file, or what is wrong with it."""
    try:
        header = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("study", {})
    except (OSError, ValueError) as error:
        return {"title": f"cannot be read: {error}"}
    return {"title": str(header.get("title") or header.get("name", "")) if isinstance(header, dict) else ""}


def results_here(folder: Path) -> list[dict[str, Any]]:
    """Return the results folders below a folder: its path, the study's title, counts of runs, and when it finished."""
    rows = []
    for place in sorted([folder, *(one for one in folder.glob("*") if one.is_dir()), *folder.glob("results/*")]):
        try:
            manifest = read_manifest(place)
        except HaltereError:
            continue
        if manifest and "study" in manifest:
            rows.append(
                {
                    "results": shown(place),
                    "title": manifest["study"].get("title") or manifest["study"].get("name", ""),
                    "runs": manifest["counts"]["runs"],
                    "failed": manifest["counts"]["failed"],
                    "finished": manifest["finished"],
                    "report": (place / "report.html").exists(),
                }
            )
    return rows


def everything(*, as_json: bool) -> None:
    """Print the shipped studies, those here, the presets, and the results here."""
    presets = [{"preset": one["name"], "also": one["also"], "summary": one["summary"]} for one in core.presets()]
    listed: dict[str, list[dict[str, Any]]] = {
        "shipped studies": [{"study": one.name, "title": one.title} for one in shipped.studies()],
        "studies here": studies_here(Path()),
        "presets": presets,
        "results here": results_here(Path()),
    }
    if as_json:
        show.data({name.replace(" ", "_"): rows for name, rows in listed.items()})
        return
    show.out()
    for name, rows in listed.items():
        if not rows:
            show.say(f"{name}: none")
            continue
        cells = [[_words(value) for value in row.values()] for row in rows]
        show.out().print(show.table(*rows[0], rows=cells, left=len(rows[0]), title=name))
    show.say("next: haltere run STUDY; haltere new NAME writes one to begin with; haltere compare ... --path PRESET")


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
