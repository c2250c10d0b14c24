"""From results back to where they came from: the study as it was run, and each of its runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from haltere.documents import Document, shown
from haltere.errors import ArgumentError, Place, as_written
from haltere.results import Results
from haltere.study import Run, Study


def study_of(results: Results, folder: Path | None = None) -> Study:
    """Return the study of some results, from the text in their manifest.

    Args:
        results: the results.
        folder: where the files lie that the study names; default where the study was.

    Raises:
        InputError: if the text is no study for this version of haltere, or a file that it names is missing.
    """
    manifest = results.manifest
    file = Path(str(manifest["study_file"]))
    document = Document.parse(str(file), str(manifest["study_text"]))
    return Study.of_document(
        document, folder or file.parent, variant=manifest.get("variant"), fidelity=manifest.get("fidelities") or None
    )


def run_of(results: Results, run_id: str) -> Run:
    """Return a run by its id or by the first characters of it.

    Raises:
        InputError: if the results hold no such run or several, or this version of haltere would run another one.
    """
    found = results.runs.filter(pl.col("run_id").str.starts_with(run_id))
    if found.height != 1:
        raise ArgumentError(
            "there is no such run" if found.is_empty() else f"{found.height} runs begin so",
            field="run_id",
            given=as_written(run_id),
            right=f"an id from the column run_id, such as {results.runs['run_id'][0]}",
        )
    (row,) = found.to_dicts()
    study = study_of(results)
    treatments = [
        one for one in study.treatments if (one.experiment, one.index) == (row["experiment"], row["treatment"])
    ]
    run = Run(treatments[0], row["seed"], row["replication"], row["fidelity"]) if treatments else None
    if run is None or run.id != row["run_id"]:
        raise ArgumentError(
            f"cannot be repeated: it was made by haltere {results.manifest['haltere']}, or files of its study changed",
            place=Place(shown(results.path)),
            field="run_id",
            given=as_written(row["run_id"]),
            right="the version of the manifest, or results that `haltere run` writes anew",
        )
    return run
