"""A report that can be asked: the simulator as a module of WebAssembly in it, and the campaign's treatments and rows.

Each treatment stands in the page as its scenario, and each of its runs as the values of its flows, so that what is run
there can be laid beside them to the last digit.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from haltere import core, playground
from haltere.documents import Document
from haltere.errors import ArgumentError, HaltereError, InputError, Place
from haltere.figures.spec import FigureList
from haltere.metrics import METRICS, quantities
from haltere.results import Results, columns
from haltere.study import Run, Study, Treatment

MOST = 1_500_000
"""Values of the campaign that a page holds: some 10 MB packed. A larger campaign has fewer metrics there."""
_HERE = "model"
_MEASURED = "This treatment draws measured paths from files, so that it runs at home only: haltere run."
_OTHER = "A file that the study names has changed since this treatment was run. It runs at home only: haltere run."


@dataclass(frozen=True)
class Asking:
    """The texts that stand in a report which can be asked."""

    data: str
    module: str
    worker: str
    script: str
    style: str
    experiments: Mapping[str, str]
    """The experiments that can be asked, and their titles."""


def asking(results: Results, study_dir: Path, words: FigureList, module: bytes) -> Asking:
    """Return what the page of these results needs to be asked.

    Raises:
        haltere.errors.InputError: if none of these runs was made in the model, or their study is not readable any more.
    """
    manifest = results.manifest
    study = _study(results, study_dir)
    rows = results.runs.filter(pl.col("fidelity") == _HERE) if "fidelity" in results.runs.columns else results.runs
    if rows.is_empty():
        made = ", ".join(manifest.get("fidelities", []))
        raise ArgumentError(
            "these results cannot be asked: none of their runs was made in the model",
            field="module",
            given=f"fidelity {made}" if made else None,
            right="results of fidelity model, as nothing else runs in a page",
        )
    names = [name for name in manifest["experiments"] if not rows.filter(pl.col("experiment") == name).is_empty()]
    found = [_experiment(results, rows, study, name, words) for name in names]
    told = {"version": manifest["haltere"], "seed": manifest["seed"], "experiments": found}
    parts = playground.parts(module)
    return Asking(
        _packed(json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)),
        parts.module,
        parts.worker,
        parts.script,
        parts.style,
        {one["name"]: one["title"] for one in found},
    )


def _study(results: Results, study_dir: Path) -> Study:
    """Return the study as it was run: the text that the results keep, with the files beside it."""
    manifest = results.manifest
    name = Path(str(manifest.get("study_file", "study.toml"))).name
    document = Document.parse(str(study_dir / name), str(manifest["study_text"]))
    try:
        return Study.of_document(
            document, study_dir, variant=manifest.get("variant"), fidelity=manifest.get("fidelities")
        )
    except HaltereError as error:
        raise InputError(
            f"the study as it was run cannot be read any more, so that its report cannot be asked: {error}",
            place=Place(str(results.path)),
            right="the study's folder with all files that it names, or a report without --ask",
        ) from None


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _experiment(results: Results, rows: pl.DataFrame, study: Study, name: str, words: FigureList) -> dict[str, Any]:
    about = results.manifest["experiments"][name]
    runs = rows.filter(pl.col("experiment") == name).sort("treatment", "replication")
    flows = results.flows.filter(pl.col("run_id").is_in(runs["run_id"].to_list())).sort("run_id", "flow")
    shown = _columns(flows)
    by_run = {
        run: [list(one) for one in own.select([column["name"] for column in shown]).iter_rows()]
        for (run,), own in flows.group_by("run_id", maintain_order=True)
    }
    treatments = {one.index: one for one in study.treatments if one.experiment == name}
    factors = list(study.factors(name))
    there = [treatments[index] for index in runs["treatment"].unique(maintain_order=True) if index in treatments]
    groups = choices([tuple(one.levels[factor] for factor in factors) for one in there])
    base = next((one.scenario for one in there if one.measured is None), {})
    made = []
    for one, options in zip(there, groups.places, strict=True):
        own = runs.filter(pl.col("treatment") == one.index)
        home = _at_home(one, own, results.manifest)
        made.append(
            {
                "options": options,
                "home": home,
                "changes": [] if home else list(differences(base, one.scenario)),
                "runs": [
                    {
                        "replication": run["replication"],
                        "error": None if run["status"] == "ok" else (run["error"] or "failed"),
                        "flows": by_run.get(run["run_id"], []),
                    }
                    for run in own.to_dicts()
                ],
            }
        )
    return {
        "name": name,
        "title": about.get("title") or name,
        "base": base,
        "columns": shown,
        "choices": [_choice(group, levels, factors, words) for group, levels in groups.choices],
        "treatments": made,
    }


def _columns(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the columns of flows that have a metric and a value, the first ones if they would be too many."""
    declared = columns.of("flow")
    found: list[dict[str, Any]] = []
    for metric in METRICS.values():
        name = metric.column
        if metric.table != "flows" or metric.share_of or name not in declared or name not in flows.columns:
            continue
        if flows[name].null_count() == flows.height or any(one["name"] == name for one in found):
            continue
        about = {"better": metric.better, "alike": metric.alike, "divisor": metric.divisor, "unit": metric.unit}
        found.append({"name": name, "label": metric.label, "spoken": metric.spoken, "raw": _raw(name), **about})
    return found[: max(1, MOST // max(1, flows.height))]


def _raw(column: str) -> str:
    """Return the unit in which a column stands, by the end of its name."""
    ends = {"_s": "s", "_bps": "bit/s", "bytes": "bytes", "_packets": "packets", "_j": "J"}
    return next((unit for end, unit in ends.items() if column.endswith(end)), "")


def _at_home(one: Treatment, runs: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """Return why a treatment does not run in a page, as far as that is known before it is asked."""
    if one.measured is not None:
        return _MEASURED
    if manifest["haltere"] != core.VERSION or runs.is_empty():
        return ""
    first = runs.row(0, named=True)
    same = Run(one, manifest["seed"], first["replication"], _HERE).id == first["run_id"]
    return "" if same else _OTHER


@dataclass(frozen=True)
class Choices:
    """The menus by which a treatment is chosen, each with its factors and levels; each treatment's places there."""

    choices: Sequence[tuple[tuple[int, ...], Sequence[tuple[str, ...]]]]
    places: Sequence[Sequence[int]]


def choices(levels: Sequence[tuple[str, ...]]) -> Choices:
    """Return the menus for treatments that have these levels.

    A factor whose levels are all crossed with all others has a menu of its own; the others share one, so that what can
    be chosen has been run.
    """
    count = len(levels[0]) if levels else 0
    crossed = [at for at in range(count) if _is_crossed(levels, at)]
    rest = tuple(at for at in range(count) if at not in crossed)
    groups = [*((at,) for at in crossed), *([rest] if rest else [])]
    groups.sort(key=lambda group: group[0])
    found, places = [], []
    for group in groups:
        own = [tuple(row[at] for at in group) for row in levels]
        options = list(dict.fromkeys(own))
        found.append((group, options))
        order = {option: place for place, option in enumerate(options)}
        places.append([order[option] for option in own])
    return Choices(found, [list(row) for row in zip(*places, strict=True)] if places else [[] for _ in levels])


def _is_crossed(levels: Sequence[tuple[str, ...]], at: int) -> bool:
    own = {row[at] for row in levels}
    others = {row[:at] + row[at + 1 :] for row in levels}
    return len(own) * len(others) == len(set(levels))


def _choice(
    group: tuple[int, ...], options: Sequence[tuple[str, ...]], factors: Sequence[str], words: FigureList
) -> dict[str, Any]:
    names = [factors[at] for at in group]
    texts = [
        ", ".join(
            quantities.text(level, name) if len(group) == 1 else f"{words.factor(name)} {quantities.text(level, name)}"
            for name, level in zip(names, option, strict=True)
        )
        for option in options
    ]
    return {"label": words.factor(names[0]) if len(names) == 1 else "levels", "options": texts}


def differences(one: Any, other: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Sequence[str | int], Any]]:
    """Yield the places at which another value makes a scenario of the first, with that value."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key, value in other.items():
            yield from differences(one[key], value, (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, value in enumerate(other):
            yield from differences(one[at], value, (*path, at))
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield path, other
