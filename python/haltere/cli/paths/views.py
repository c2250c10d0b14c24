"""The graphs that commands share: of a lake's traces at a level, or of somebody else's file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from haltere.cli import show
from haltere.cli.paths.options import Graphs
from haltere.errors import InputError
from haltere.paths.geography import Locator
from haltere.paths.graph import COLUMNS, PartialView
from haltere.paths.graph_files import read_graph
from haltere.paths.lake import Lake
from haltere.paths.levels import Labels, Level


@dataclass(frozen=True)
class Given:
    """A lake or a file, and what is needed to make its graphs."""

    name: str
    lake: Lake | None
    file: PartialView | None
    labels: Labels
    locator: Locator | None

    def views(self, wanted: Graphs) -> Iterator[PartialView]:
        """Yield the graph of each draw; of a file it is the same each time."""
        for draw in range(wanted.draws):
            if self.file is not None:
                yield self.file
            elif self.lake is not None:
                # The draws of `haltere paths compare`, so that both make the same graphs.
                sample = self.lake.sample(wanted.traces, wanted.seed + draw, columns=list(COLUMNS))
                yield self.labels.view(sample, gaps=wanted.gaps)

    def locate(self, view: PartialView) -> Locator | None:
        """Return what locates the nodes of a graph: nothing where they are networks, or names of a file."""
        return self.locator if view.has_places else None


def opened(path: Path, wanted: Graphs) -> Given:
    """Open a lake, or read the file of a graph.

    Raises:
        InputError: if it is neither, or an option is not for its kind.
    """
    at = wanted.nodes.at()
    locator = None if wanted.mmdb is None else Locator(wanted.mmdb)
    if path.is_dir():
        if wanted.weights is not None:
            raise InputError("is for files of graphs", field="--weights", right="a file in place of a lake")
        return Given(path.resolve().name, Lake(path), None, at.labels(), locator)
    if at != Level():
        right = "a lake: the nodes of a file stay what they are"
        raise InputError("is for lakes", field="--level", given=at.name, right=right)
    if wanted.among == "monitors":
        raise InputError("is for lakes", field="--among", given="monitors", right="nodes: a file names no monitors")
    if not path.is_file():
        raise InputError("there is no such lake or file", field=str(path), right="a lake's folder, or a graph's file")
    view = read_graph(path, wanted.weights)
    if locator is not None and view.labelled:
        show.note("The nodes are no addresses: they have no places.")
    return Given(path.name, None, view, Labels(), locator)


def with_names(view: PartialView, found: pl.DataFrame) -> pl.DataFrame:
    """Return paths with what their nodes are called in place of node numbers, which mean something in one graph."""
    names = view.names()
    named = found.with_columns(
        names.gather(found["source"]).alias("source"), names.gather(found["destination"]).alias("destination")
    )
    if "path" not in found.columns:
        return named
    each = found.select("path").with_row_index("of").explode("path")
    lists = each.with_columns(names.gather(each["path"]).alias("path")).group_by("of", maintain_order=True).agg("path")
    return named.with_columns(lists["path"])
