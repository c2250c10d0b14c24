"""Results on disk as data frames."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere import core, extras
from haltere.errors import InputError, Place, as_written, counted
from haltere.files import write_whole
from haltere.notebook import notebook
from haltere.results import numbers, tables

if TYPE_CHECKING:
    import polars as pl
else:
    pl = extras.module("polars")  # a comparison needs none of it

TABLES = ("runs", "flows", "links")
FORMAT = 1
"""The format of results folders that this version writes, and the newest that it reads."""


@dataclass(frozen=True)
class Results:
    """The results of a study.

    >>> results = load("results/quic-dumbbell")
    >>> results.flows.group_by("transport", "loss").agg(pl.col("completion_s").median())

    Beside the words of a factor such as `rate` stands a column of numbers, `rate_bps` (`haltere.results.numbers`).
    `manifest` says which study, version, seed and machine they came from.
    """

    path: Path
    manifest: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Results {self._said()}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, about.get("treatments"), ", ".join(about.get("factors", {})))
            for name, about in self.manifest.get("experiments", {}).items()
        ]
        table = pl.DataFrame(rows, schema=["experiment", "treatments", "factors"], orient="row")
        return notebook(f"Results {self._said()}", table)

    def _said(self) -> str:
        counts = self.manifest.get("counts", {})
        failed = f", {counts['failed']} FAILED" if counts.get("failed") else ""
        name = self.manifest.get("study", {}).get("name", "?")
        return f"of {name} in {self.path}: {counted(counts.get('runs', 0), 'run')}{failed}"

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row a run: every factor as a column, status and error, metrics of the whole run, Jain's index."""
        return self._table("runs")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row a flow: the run's factors and the flow's metrics (seconds, bytes, bit/s)."""
        return self._table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row a link and direction: packets offered, delivered and dropped by cause; the queue."""
        return self._table("links")

    @cached_property
    def latency(self) -> pl.DataFrame:
        """A row a probe: the run's factors, requests sent, answered and lost, the RTT's mean, quantiles, and RPM."""
        return self._extra("latency")

    @cached_property
    def probes(self) -> pl.DataFrame:
        """A row a request of a probe: `run_id`, `probe`, `probe_kind`, `sent_s`, and `rtt_s`, null if it was lost."""
        return self._extra("probes")

    @cached_property
    def loads(self) -> pl.DataFrame:
        """A row a load: the run's factors, packets and bytes sent and received."""
        return self._extra("loads")

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row a cell of 802.11: the run's factors, transmissions, collisions, retries and how long it was busy."""
        return self._extra("cells")

    def _extra(self, name: str) -> pl.DataFrame:
        """Return a table that is there only if it has rows."""
        if (self.path / f"{name}.parquet").exists():
            return self._table(name)
        return tables.build([], {}, {})[name]

    def _table(self, name: str) -> pl.DataFrame:
        file = self.path / f"{name}.parquet"
        try:
            return numbers.beside(pl.read_parquet(file), self.manifest)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"cannot be read: {error}", place=Place(str(file)), right="a table written by `haltere run`"
            ) from None


def load(path: str | Path) -> Results:
    """Open a results folder.

    Raises:
        InputError: if it holds no results, or those of a newer format.
    """
    path = Path(path)
    manifest = read_manifest(path)
    if manifest is None:
        unfinished = (path / "parts").is_dir()
        raise InputError(
            "the campaign has not finished" if unfinished else "no results here",
            place=Place(str(path)),
            right="the folder of a finished campaign: give `haltere run` the study again and it goes on"
            if unfinished
            else "a folder written by `haltere run`, such as results/quic-dumbbell",
        )
    written_in = manifest.get("format", FORMAT)
    if written_in not in range(1, FORMAT + 1):
        by = f"haltere {manifest.get('haltere', 'of another version')}"
        raise InputError(
            f"is of {by}, whose format this version does not know",
            place=Place(str(path / "manifest.json")),
            field="format",
            given=as_written(written_in),
            right=f"at most {FORMAT}: read it with {by}, or run the study again with this version",
        )
    return Results(path, manifest)


def made_elsewhere(manifest: dict[str, Any]) -> str | None:
    """Say that another version, or another build of this one, made some results; None if this one did."""
    by = str(manifest.get("haltere", ""))
    if by != core.VERSION:
        return f"the runs are of haltere {by or 'of an unknown version'}, this is haltere {core.VERSION}"
    if manifest.get("core") not in (None, core.fingerprint()):
        return f"the runs are of another build of haltere {by}, whose models may differ"
    return None


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest of a results folder, or None if there is none.

    Raises:
        InputError: if it is damaged.
    """
    file = path / "manifest.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", place=Place(str(file)), right="a manifest written by `haltere run`"
        ) from None
    if not isinstance(manifest, dict):
        raise InputError("is not a manifest", place=Place(str(file)), right="a manifest written by `haltere run`")
    return manifest


def write(path: Path, frames: dict[str, pl.DataFrame], manifest: dict[str, Any]) -> None:
    """Write tables and manifest, the manifest last: where it stands, the tables are whole."""
    path.mkdir(parents=True, exist_ok=True)
    for name in (*TABLES, *tables.EXTRA):
        if name in tables.EXTRA and frames[name].is_empty():
            # An earlier campaign may have left one.
            (path / f"{name}.parquet").unlink(missing_ok=True)
            continue
        buffer = io.BytesIO()
        frames[name].write_parquet(buffer, compression="zstd", statistics=True)
        write_whole(path / f"{name}.parquet", buffer.getvalue())
    write_manifest(path, manifest)


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a results folder."""
    write_whole(path / "manifest.json", (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())
