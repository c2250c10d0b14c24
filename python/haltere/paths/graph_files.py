"""Other people's graphs: edge lists, CAIDA's ITDK, GraphML, GML and Pajek.

An edge list has a link a line: two names of nodes, and perhaps a weight, apart by commas, semicolons, tabs or spaces.
If its first line holds names of columns and no number, those are `a` and `b` (or `source` and `target`, `from` and
`to`), and `hops`, `delay_us` or `weight`. Lines that begin with `#` or `%` are remarks. Edge lists of networkx, whose
lines end with attributes such as `{'weight': 3}`, are read too.
"""

from __future__ import annotations

import ast
import csv
import importlib
import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from haltere.errors import ArgumentError, InputError, Place, as_written
from haltere.extras import remedy
from haltere.paths.graph import PartialView, graph_of
from haltere.paths.label_files import text_in

Weights = Literal["hops", "ms", "us", "none"]
"""The meaning of a file's weights: hops, delays there and back in milliseconds or microseconds, or nothing of use."""

_ENDS = (("a", "b"), ("source", "target"), ("from", "to"), ("node1", "node2"), ("u", "v"))
_WEIGHTS = ("hops", "delay_us", "weight")
_EDGE = "a link a line: two nodes and perhaps a weight, such as `192.0.2.1 198.51.100.1 3`"
_LINK = "the .links file of CAIDA's ITDK, such as `link L1:  N1:192.0.2.1 N2:192.0.2.2 N3`"
_MOST_OF_A_LINK = 1000
_BY_NETWORKX = {".graphml": "read_graphml", ".gml": "read_gml", ".net": "read_pajek", ".pajek": "read_pajek"}
"""By the endings of files that networkx reads; other files are known by their content."""


@dataclass
class _Links:
    """Links as columns, filled one after the other; nodes that have none."""

    a: list[str] = field(default_factory=list)
    b: list[str] = field(default_factory=list)
    hops: list[int] = field(default_factory=list)
    delay_us: list[int | None] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)

    def add(self, a: str, b: str, hops: int = 1, delay_us: int | None = None) -> None:
        self.a.append(a)
        self.b.append(b)
        self.hops.append(hops)
        self.delay_us.append(delay_us)

    def graph(self) -> PartialView:
        schema = {"a": pl.String, "b": pl.String, "hops": pl.Int64, "delay_us": pl.Int64}
        columns = {"a": self.a, "b": self.b, "hops": self.hops, "delay_us": self.delay_us}
        return graph_of(pl.DataFrame(columns, schema=schema), self.nodes)


def read_graph(path: Path, weights: Weights | None = None) -> PartialView:
    """Read the graph of a file; links are taken as undirected.

    The form is known by the ending (`.graphml`, `.gml`, `.net`, which networkx reads) or the content (ITDK's `.links`,
    edge lists), packed by gzip or bzip2 or not. Of a link of ITDK that joins more than two nodes every two are linked;
    one that joins more than 1000 is refused.

    Args:
        path: the file.
        weights: what the file's weights are; must be said if it has a column or an attribute `weight`.

    Raises:
        InputError: with file and line, if the file cannot be read, or its weights are not said or not of their kind.
    """
    if weights is not None and weights not in get_args(Weights):
        right = ", ".join(get_args(Weights))
        raise InputError("is no kind of weights", field="weights", given=as_written(weights), right=right)
    if path.suffix.lower() in _BY_NETWORKX:
        return _by_networkx(path, weights)
    text = text_in(path, _EDGE)
    first = next((line for line in text.splitlines() if line.strip() and line[0] not in "#%"), "")
    found = _itdk(path, text) if first.startswith("link ") else _edges(path, text, weights)
    if not found.a:
        raise InputError("holds no link", field=str(path), right=_EDGE)
    return found.graph()


def _itdk(path: Path, text: str) -> _Links:
    found = _Links()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        if len(words) < 4 or words[0] != "link" or not words[1].endswith(":"):
            raise _wrong(path, number, line, _LINK)
        nodes = list(dict.fromkeys(word.partition(":")[0] for word in words[2:]))
        if not all(node[:1] == "N" and node[1:].isdigit() for node in nodes):
            raise _wrong(path, number, line, _LINK)
        if len(nodes) > _MOST_OF_A_LINK:
            right = f"links of at most {_MOST_OF_A_LINK} nodes; of this one every two would be linked"
            raise InputError(f"joins {len(nodes)} nodes", place=Place(str(path), number), right=right)
        for a, b in combinations(nodes, 2):
            found.add(a, b)
    return found


def _edges(path: Path, text: str, weights: Weights | None) -> _Links:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] not in "#%"]
    if not lines:
        return _Links()
    split = _splitter(lines[0][1])
    head = [word.strip().strip('"').lower() for word in split(lines[0][1])]
    names = "{" not in lines[0][1] and not any(_is_number(word) for word in head)
    ends = next((pair for pair in _ENDS if names and set(pair) <= set(head)), None)
    columns = {name: at for at, name in enumerate(head)} if ends else {"a": 0, "b": 1, "weight": 2}
    if ends is None:
        ends = ("a", "b")
    else:
        lines = lines[1:]
    most = max(columns.values()) + 1
    reading = _Weighing(path, weights)
    found = _Links()
    for number, line in lines:
        text, attributes = _attributes(line)
        words = [word.strip() for word in split(text)]
        if attributes is None or not max(columns[end] for end in ends) < len(words) <= most:
            raise _wrong(path, number, line, _EDGE)
        a, b = (words[columns[end]] for end in ends)
        if not a or not b:
            raise _wrong(path, number, line, _EDGE)
        given = {name: words[at] for name, at in columns.items() if name in _WEIGHTS and at < len(words)}
        found.add(a, b, *reading.of(given | attributes, number))
    return found


def _attributes(line: str) -> tuple[str, dict[str, str] | None]:
    """The text before the attributes of networkx, and those that are weights; None if they cannot be read."""
    text, brace, rest = line.rstrip().partition("{")
    if not brace or not rest.endswith("}"):
        return line, {}
    try:
        found = ast.literal_eval(brace + rest)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text, None
    return text, {name: str(found[name]) for name in _WEIGHTS if name in found} if isinstance(found, dict) else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _splitter(line: str) -> Callable[[str], list[str]]:
    """How a line is split, by the first one."""
    for mark in (",", ";", "\t"):
        if mark in line:
            return lambda one: next(csv.reader(io.StringIO(one), delimiter=mark), [])
    return str.split


@dataclass(frozen=True)
class _Weighing:
    """Reads weights of a file as hops and delays."""

    path: Path
    weights: Weights | None

    def of(self, given: dict[str, str], line: int | None) -> tuple[int, int | None]:
        """Hops and delay (µs) of a link, from the columns that it has."""
        hops = self._hops(given["hops"], line) if given.get("hops") else 1
        delay = self._delay(given["delay_us"], 1.0, line) if given.get("delay_us") else None
        weight = given.get("weight")
        if not weight or self.weights == "none":
            return hops, delay
        if self.weights is None:
            right = "`weights`: hops, ms, us (delays there and back), or none to leave them out"
            raise ArgumentError("has weights, and it is not said what they are", field=str(self.path), right=right)
        if self.weights == "hops":
            return self._hops(weight, line), delay
        return hops, self._delay(weight, 1000.0 if self.weights == "ms" else 1.0, line)

    def _hops(self, text: str, line: int | None) -> int:
        value = self._number(text, line)
        if value != int(value) or not 1 <= value <= 255:
            raise self._refused(text, line, "a whole number of hops from 1 to 255")
        return int(value)

    def _delay(self, text: str, scale: float, line: int | None) -> int:
        value = scale * self._number(text, line)
        if not 0 <= value < 2**32 - 1:
            raise self._refused(text, line, "a delay from 0 to 71 minutes")
        return round(value)

    def _number(self, text: str, line: int | None) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._refused(text, line, "a number")
        return value

    def _refused(self, text: str, line: int | None, right: str) -> InputError:
        place = None if line is None else Place(str(self.path), line)
        return InputError(
            "is no weight of a link", place=place, field=None if place else str(self.path), given=text[:80], right=right
        )


def _by_networkx(path: Path, weights: Weights | None) -> PartialView:
    form = _BY_NETWORKX[path.suffix.lower()]
    try:
        networkx: Any = importlib.import_module("networkx")
    except ImportError:
        right = f"{remedy('paths')}, or an edge list"
        raise InputError("needs networkx to be read", field=str(path), right=right) from None
    try:
        graph = getattr(networkx, form)(path)
    except Exception as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        place = getattr(error, "position", None)  # of XML: line and column
        where = Place(str(path), place[0]) if place else None
        raise InputError(
            f"cannot be read: {said}", place=where, field=None if where else str(path), right="a whole file of its form"
        ) from None
    reading, found = _Weighing(path, weights), _Links()
    found.nodes = [str(node) for node in graph.nodes]
    for a, b, data in _data(graph):
        given = {name: str(data[name]) for name in _WEIGHTS if data.get(name) is not None}
        if form == "read_pajek" and given.get("weight") == "1.0":
            given.pop("weight")  # what networkx gives an edge of Pajek that has none
        found.add(str(a), str(b), *reading.of(given, None))
    if not found.a:
        raise InputError("holds no link", field=str(path), right=_EDGE)
    return found.graph()


def _data(graph: Any) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    edges: Iterable[tuple[Any, Any, dict[str, Any]]] = graph.edges(data=True)
    yield from edges


def _wrong(path: Path, line: int, text: str, right: str) -> InputError:
    return InputError("is no link", place=Place(str(path), line), given=text.strip()[:80], right=right)
