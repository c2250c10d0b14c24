"""The findings of a search, as data, and the file `when.json` beside the results in which they are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from haltere.claims import Outcome
from haltere.files import reading, write_whole
from haltere.notebook import notebook

FILE = "when.json"
FORMAT = 2
SHOWN = 8
"""So many sets are named in a sentence at most."""


@dataclass
class Tried:
    """A set of changes that was tried on a claim.

    Attributes:
        changes: their names.
        target: the outcome that it came nearest to.
        closeness: how much of the way to that outcome it went in the search; 1 has it by its estimates.
        refused: why it was not tried, or None.
        outcome: the outcome on fresh seeds with the study's replications; None if it was not judged there.
        turned: whether the outcome is the target, with intervals that allow for all sets judged; None if not judged.
        evidence: the numbers on fresh seeds.
    """

    changes: list[str]
    target: str
    closeness: float = 0.0
    refused: str | None = None
    outcome: str | None = None
    turned: bool | None = None
    evidence: list[str] = field(default_factory=list)


@dataclass
class Found:
    """The changes that were tried for one claim, and those that turn its verdict.

    Attributes:
        today: its outcome in the results.
        fresh: its outcome without changes on the fresh seeds; None if nothing was judged there.
        singles, pairs: how many single changes, and pairs, there are to try.
        screened, treatments: by how many treatments the search looked at the claim, and by how many it is judged.
        tried: what was tried, in this order.
    """

    number: int
    name: str
    sentence: str
    today: str
    singles: int = 0
    pairs: int = 0
    screened: int = 0
    treatments: int = 0
    fresh: str | None = None
    tried: list[Tried] = field(default_factory=list)

    @property
    def turned(self) -> list[Tried]:
        """The smallest sets that turn the verdict on fresh seeds."""
        found = [one for one in self.tried if one.turned]
        least = min((len(one.changes) for one in found), default=0)
        return [one for one in found if len(one.changes) == least]

    @property
    def unconfirmed(self) -> list[Tried]:
        """Sets that turned it in the search, or nearly, and not on fresh seeds."""
        return [one for one in self.tried if one.turned is False]

    @property
    def waiting(self) -> list[Tried]:
        """Sets that turned it in the search and were not judged on fresh seeds."""
        return [one for one in self.tried if one.turned is None and one.refused is None and one.closeness >= 1]

    @property
    def nearest(self) -> list[Tried]:
        """The three sets that came nearest without turning it."""
        rest = [one for one in self.tried if one.turned is None and one.refused is None and 0 < one.closeness < 1]
        return sorted(rest, key=lambda one: -one.closeness)[:3]

    def lines(self) -> list[str]:
        """Return what stands below the answer, a sentence a line."""
        lines = []
        for one in self.unconfirmed:
            names = " and ".join(one.changes)
            why = f"{one.outcome} there" if one.outcome != one.target else "not shown to differ from the study there"
            word = "Turned" if one.closeness >= 1 else "Nearly turned"
            lines.append(f"{word} in the search, not on fresh seeds: {names} ({why}).")
        if self.turned and self.waiting:
            names = ", ".join(" and ".join(one.changes) for one in self.waiting[:SHOWN])
            if len(self.waiting) > SHOWN:
                names += f" and {len(self.waiting) - SHOWN} more"
            lines.append(f"Turned in the search, not judged on fresh seeds: {names}.")
        if not self.turned and self.nearest:
            nearest = (f"{' and '.join(one.changes)} ({int(100 * one.closeness)} %)" for one in self.nearest)
            lines.append(f"Nearest: {', '.join(nearest)} of the way.")
        if self.tried:
            lines.append(f"Searched: {self.searched()}.")
        return lines

    def count(self, size: int) -> int:
        """Return how many sets of this size were tried."""
        return sum(len(one.changes) == size and one.refused is None for one in self.tried)

    def searched(self) -> str:
        """Return what was searched, as a phrase: `74 of 120 single changes and 6 of 15 pairs`."""
        refused = sum(one.refused is not None for one in self.tried if len(one.changes) == 1)
        parts = [f"{self.count(1)} of {self.singles - refused} single changes"]
        if self.pairs:
            parts.append(f"{self.count(2)} of {self.pairs} pairs")
        where = f", on {self.screened} of {self.treatments} treatments" if self.screened < self.treatments else ""
        return " and ".join(parts) + where

    def answer(self) -> str:
        """Return the answer in short sentences, the last without its full stop."""
        said = f"{self.today} today"
        if self.fresh is not None and self.fresh != self.today:
            said += f". {self.fresh.capitalize()} on fresh seeds without changes"
        if all(one.refused is not None for one in self.tried):
            done = self.singles and len(self.tried) == self.singles
            return f"{said}. " + ("No change applies to it" if done else "Not searched in the time given")
        if self.turned:
            by: dict[str, list[str]] = {}
            for one in self.turned:
                by.setdefault(one.target, []).append(" and ".join(one.changes))
            return f"{said}. " + ". ".join(f"{target.capitalize()} with {_or(sets)}" for target, sets in by.items())
        if self.waiting:
            names = _or([" and ".join(one.changes) for one in self.waiting[:SHOWN]])
            return f"{said}. Turned in the search with {names}. Not judged on fresh seeds"
        return f"{said}. Nothing that was searched turns it"


def _or(sets: list[str]) -> str:
    """The first of some sets of changes, and in brackets those that do the same."""
    first, *others = sets
    return f"{first} (or {', or '.join(others)})" if others else first


@dataclass(repr=False)
class Search:
    """The search for a study's claims.

    Attributes:
        key: the text on which findings depend; findings with another key are not taken up again.
        about: seeds, replications and how many candidates are judged, for the reader.
    """

    study: str
    key: str
    about: dict[str, Any]
    claims: list[Found]

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it, with the answers."""
        claims = [
            {
                **asdict(one),
                "answer": one.answer(),
                "searched": one.searched(),
                "turned": [t.changes for t in one.turned],
            }
            for one in self.claims
        ]
        return {"format": FORMAT, "study": self.study, "key": self.key, "about": self.about, "claims": claims}

    @property
    def table(self) -> pl.DataFrame:
        """A row a claim: its number, its sentence, and the answer."""
        rows = [(one.number, one.sentence, one.answer()) for one in self.claims]
        return pl.DataFrame(rows, schema={"claim": pl.Int64, "sentence": pl.String, "answer": pl.String}, orient="row")

    def __repr__(self) -> str:
        return f"<Search of {self.study}: {len(self.claims)} claims>"

    def _repr_html_(self) -> str:
        return notebook(f"{self.study}: under what its claims would be judged otherwise", self.table)

    def write(self, folder: Path) -> None:
        """Write `when.json` into a results folder."""
        write_whole(folder / FILE, (json.dumps(self.data(), indent=1, ensure_ascii=False) + "\n").encode())


def read(folder: Path) -> Search | None:
    """Return what was searched for the study of a results folder, None if nothing was.

    Raises:
        InputError: if the file is damaged.
    """
    file = folder / FILE
    if not file.exists():
        return None
    with reading(file, "haltere when"):
        data = json.loads(file.read_text(encoding="utf-8"))
        return Search(data["study"], data["key"], data["about"], [_found(one) for one in data["claims"]])


def _found(given: Mapping[str, Any]) -> Found:
    names = ("number", "name", "sentence", "today", "singles", "pairs", "screened", "treatments", "fresh")
    tried = [Tried(**{name: one[name] for name in Tried.__dataclass_fields__}) for one in given["tried"]]
    Outcome(given["today"])
    return Found(**{name: given[name] for name in names}, tried=tried)
