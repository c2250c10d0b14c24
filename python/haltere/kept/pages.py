"""Pages whose numbers are written from what studies keep.

A mark is a pair of comments of Markdown, between which the number stands::

    QUIC takes <!-- kept: value ratio -->1.010 [0.997, 1.023]<!-- end --> times TCP's time.

The first comment says what stands there: a word, its arguments, and whose it is (`of STUDY`, `of STUDY/CAMPAIGN`, or
`of /CAMPAIGN` in the study's own page; without it, the main campaign of the study in whose folder the page lies).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from haltere import shipped
from haltere.claims import OURS
from haltere.claims.findings import leading
from haltere.documents import shown
from haltere.errors import InputError, Place, as_written, grouped, nearest
from haltere.kept import campaign
from haltere.kept.campaign import Kept, Number, Table

_MARK = re.compile(r"<!-- kept:(?P<words>[^>]*?)-->(?P<text>.*?)<!-- end -->", re.S)
_OPEN = re.compile(r"<!-- kept:")
_FENCE = re.compile(r"^[ ]*(?P<fence>```|~~~).*?^[ ]*(?P=fence)", re.S | re.M)
_EXAMPLE = "<!-- kept\0"
"""The beginning of a mark in a block of code, which is no mark, while a page is worked on."""
_NOT_YET = "*not kept yet*"


@dataclass(frozen=True)
class Page:
    """A Markdown page with marks."""

    file: Path
    text: str

    @classmethod
    def read(cls, file: Path) -> Page:
        """Read a page."""
        text = file.read_text(encoding="utf-8")
        return cls(file, _FENCE.sub(lambda block: _OPEN.sub(_EXAMPLE, block[0]), text))

    @property
    def source(self) -> str:
        """The page as its file has it."""
        return self.text.replace(_EXAMPLE, "<!-- kept:")

    def rendered(self, studies: Path) -> str:
        """Return the page with every mark filled anew.

        Args:
            studies: the folder in which the studies lie that marks name, if they are not shipped ones.

        Raises:
            InputError: if a mark is not closed, says nothing that is known, or nothing is kept of what it names.
        """
        return Page(self.file, self._fill(studies)).source

    def _fill(self, studies: Path) -> str:
        marks = list(_MARK.finditer(self.text))
        if len(marks) != len(_OPEN.findall(self.text)):
            starts = {mark.start() for mark in marks}
            lost = next(one.start() for one in _OPEN.finditer(self.text) if one.start() not in starts)
            raise InputError("has no end", place=self._place(lost), field="kept", right="<!-- end --> after the text")
        return _MARK.sub(lambda mark: self._filled(mark, studies), self.text)

    def _filled(self, mark: re.Match[str], studies: Path) -> str:
        if _OPEN.search(mark["text"]):
            raise InputError("has no end", place=self._place(mark.start()), right="<!-- end --> after the text")
        try:
            words, kept = self._asked(mark["words"], studies)
            text = _checked(words)(kept) if kept is not None else _nothing(words)
        except _MarkError as wrong:
            raise InputError(
                str(wrong),
                place=self._place(mark.start()),
                field="kept",
                given=mark["words"].strip(),
                right=wrong.right,
            ) from None
        block = "\n" in text or text.startswith(("|", "- "))
        filling = f"\n\n{text}\n\n" if block else text
        return f"<!-- kept:{mark['words']}-->{filling}<!-- end -->"

    def _asked(self, given: str, studies: Path) -> tuple[list[str], Kept | None]:
        """Return the words of a mark, and what is kept; None if the page's own study does not keep it yet."""
        try:
            words = shlex.split(given)
        except ValueError:
            raise _MarkError("has a quote that is not closed") from None
        whose = words.pop() if len(words) > 1 and words[-2] == "of" else ""
        if whose:
            words.pop()
        if not words:
            raise _MarkError("says nothing", ", ".join(_WORDS))
        name, _, part = whose.partition("/")
        folder = next((one / name for one in (studies, shipped.FOLDER) if (one / name).is_dir()), studies / name)
        if not name:
            folder = self.file.parent
        part = part or campaign.MAIN
        kept = campaign.read(folder, part)
        if kept is None and not name and part in campaign.possible(folder):
            return words, None
        if kept is None:
            there = ", ".join(campaign.names(folder)) or "nothing yet: `haltere keep` of its results first"
            raise _MarkError(f"{folder.name} keeps no campaign {part}", there)
        return words, kept

    def _place(self, at: int) -> Place:
        return Place(shown(self.file), self.text.count("\n", 0, at) + 1)

    def changed(self, studies: Path) -> list[int]:
        """Return the lines of the marks whose text is not what is kept."""
        new = self._fill(studies)
        pairs = zip(_MARK.finditer(self.text), _MARK.finditer(new), strict=True)
        return [self.text.count("\n", 0, one.start()) + 1 for one, other in pairs if one["text"] != other["text"]]


class _MarkError(Exception):
    def __init__(self, problem: str, right: str | None = None) -> None:
        super().__init__(problem)
        self.right = right


def _nothing(words: Sequence[str]) -> str:
    """The text of a mark before the first campaign of its study is kept."""
    _checked(words)
    return "No campaign is kept yet." if words[0] == "campaign" else _NOT_YET


def _checked(words: Sequence[str]) -> Callable[[Kept], str]:
    """Return the function that fills a mark of these words, whose number of arguments is right."""
    word, *arguments = words
    if word not in _WORDS:
        raise _MarkError(f"{word} is no word of marks", nearest(word, _WORDS) or ", ".join(_WORDS))
    count, function = _WORDS[word]
    if len(arguments) != count:
        plural = "" if count == 1 else "s"
        raise _MarkError(f"{word} takes {count} argument{plural}", "a text of several words stands in double quotes")
    return lambda kept: function(kept, *arguments)


def _campaign(kept: Kept) -> str:
    """The sentence that says what the numbers are of, and whether they are stale."""
    fidelities = " and ".join(f"`{name}`" for name in kept.fidelities)
    kernels = f" (Linux {', '.join(kept.kernels)})" if kept.kernels else ""
    failed = "none failed" if not kept.failed else f"{kept.failed} failed"
    plural = "s" if kept.replications != 1 else ""
    ran = f"{'Fidelities' if len(kept.fidelities) > 1 else 'Fidelity'} {fidelities}{kernels}"
    parts = (
        ran if fidelities else "Measured paths",
        f"version {kept.haltere}",
        f"seed {kept.seed}",
        f"{kept.replications} replication{plural}",
        f"{grouped(kept.runs)} runs",
        failed,
    )
    stale = f" As of {kept.date}; {kept.stale} since." if kept.stale else ""
    return f"{', '.join(parts)}.{stale}"


def _answer(kept: Kept) -> str:
    return "\n".join(f"- {sentence}" for sentence in kept.answer)


def claims_table(claims: Sequence[campaign.Claim], *, own: bool | None = None) -> str:
    """Return the table of claims as reports have it, in Markdown: at most three numbers a row.

    It has all claims, or the study's `own` ones, or the others. A claim keeps its number among all.
    """
    shown = [(number, one) for number, one in enumerate(claims, 1) if own in (None, one.whose == OURS)]
    stated = any(one.paper for _, one in shown)
    head = ["claim", *(["the paper"] if stated else []), "here", "verdict"]
    rows = [
        (
            f"{number}. {one.sentence}{_whose(one)}",
            *([one.paper or "–"] if stated else []),
            _here(one),
            f"*{one.outcome}*",
        )
        for number, one in shown
    ]
    if not rows:
        return "*none*"
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(_in_cell(cell) for cell in row) + " |" for row in rows)])


def _whose(one: campaign.Claim) -> str:
    return f" ({one.whose})" if one.whose else ""


def _here(one: campaign.Claim) -> str:
    shown = leading(one.numbers, one.outcome)
    more = len(one.numbers) + one.left_out - len(shown)
    rest = [f"{more} more in the report"] if more and shown else []
    return "; ".join([*(each.said for each in shown), *rest]) or one.reason


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _claim(kept: Kept, name: str) -> campaign.Claim:
    found = next((one for one in kept.claims if one.name == name), None)
    if found is None:
        names = [one.name for one in kept.claims]
        raise _MarkError(f"there is no claim {name}", nearest(name, names) or ", ".join(names))
    return found


def _verdict(kept: Kept, name: str) -> str:
    return f"*{_claim(kept, name).outcome}*"


def _number(kept: Kept, name: str, part: str) -> str:
    numbers = _claim(kept, name).numbers
    exact = [one for one in numbers if one.what == part]
    found = exact or [one for one in numbers if part in one.what]
    if len(found) != 1:
        several = f"{len(found)} numbers of {name} have {as_written(part)}"
        raise _MarkError(several, "; ".join(one.what for one in found or numbers))
    return found[0].text


def _value(kept: Kept, name: str) -> str:
    found = kept.values.get(name)
    if found is None and name in campaign.ASKED:
        return _NOT_YET
    if found is None:
        right = nearest(name, kept.values) or ", ".join(kept.values) or "a function marked @value in the study's claims"
        raise _MarkError(f"there is no value {name}", right)
    return found.text if isinstance(found, Number) else _table(found)


def _table(table: Table) -> str:
    rule = "|" + "|".join("--:" if numeric else "---" for numeric in table.numeric) + "|"
    rows = ["| " + " | ".join(_in_cell(cell) for cell in row) + " |" for row in (table.columns, *table.rows)]
    return "\n".join([rows[0], rule, *rows[1:]])


_WORDS: dict[str, tuple[int, Callable[..., str]]] = {
    "campaign": (0, _campaign),
    "answer": (0, _answer),
    "claims": (0, lambda kept: claims_table(kept.claims)),
    "paper-claims": (0, lambda kept: claims_table(kept.claims, own=False)),
    "own-claims": (0, lambda kept: claims_table(kept.claims, own=True)),
    "verdict": (1, _verdict),
    "number": (2, _number),
    "value": (1, _value),
    "runs": (0, lambda kept: grouped(kept.runs)),
    "failed": (0, lambda kept: str(kept.failed)),
    "replications": (0, lambda kept: str(kept.replications)),
}
"""Each word of a mark: how many arguments it takes, and what stands there."""


def pages_of(place: Path) -> list[Path]:
    """Return a page, or the pages of a folder and of those below it, by name.

    Pages without marks and folders that begin with a dot are left out.
    """
    files = [place] if place.is_file() else place.rglob("*.md")
    found = (file for file in files if not any(part.startswith(".") for part in file.parts[1:]))
    return sorted(file for file in found if _OPEN.search(Page.read(file).text))
