"""The file in which a study keeps what its last campaign found: `kept/NAME.json` in the study's folder.

NAME is `main`, or the variant and the fidelities where they are not the study's own. The file has the verdicts and the
numbers that decide them, the values and tables that the study's pages show, where and when the campaign ran, and the
canary. It holds no result tables: some tens of kilobytes stay in the repository, the results themselves do not. So the
file has no more of a claim than pages can show and `changes` compares (`slim`).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator

from haltere import claims
from haltere.claims import findings
from haltere.claims.code import Code
from haltere.claims.loading import load
from haltere.errors import InputError, Place, as_written
from haltere.evolution.results import KIND
from haltere.evolution.results import read as read_periods
from haltere.explanation import asked
from haltere.explanation.answer import Explanation
from haltere.files import reading, write_whole
from haltere.metrics.text import significant
from haltere.results import Results
from haltere.stats import Interval
from haltere.when import results as when

FOLDER = "kept"
MAIN = "main"
FORMAT: Final = 3
"""In format 1 a number and its interval were objects; up to 2 each metric of each flow had a name. All are read."""
_WIDTH = 160
"""Characters of JSON that one line of the file may hold."""
ASKED: Final = ("why", "when")
"""The values that `haltere why` and `haltere when` give, which are asked for after a campaign, if at all."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Number(_Part):
    """A number as it reads, its interval, if any, what it decides of its claim (None: nothing), and its bound.

    In the file it is a list of these, without what is left to its default at the end: `[what, text, interval, outcome,
    bound]`. So is its interval: `[value, low, high, n, method, confidence]`.
    """

    what: str
    text: str
    interval: Interval | None = None
    outcome: str | None = None
    bound: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_list(cls, given: Any) -> Any:
        if not isinstance(given, list):
            return given
        if len(given) > len(cls.model_fields):
            raise ValueError(f"a number has at most {len(cls.model_fields)} parts: {', '.join(cls.model_fields)}")
        parts = dict(zip(cls.model_fields, given, strict=False))
        if isinstance(parts.get("interval"), list):
            parts["interval"] = {**_USUAL, **dict(zip(_PARTS, parts["interval"], strict=False))}
        return parts

    @model_serializer
    def _as_list(self) -> list[Any]:
        interval = None
        if self.interval is not None:
            interval = _without_end([getattr(self.interval, name) for name in _PARTS], list(_USUAL.values()))
        return _without_end([self.what, self.text, interval, self.outcome, self.bound], [None, None, ""])

    @property
    def said(self) -> str:
        """Its name, its bound and its reading, in one text."""
        return ": ".join(filter(None, (self.what, self.bound, self.text)))


_PARTS = ("value", "low", "high", "n", "method", "confidence")
_USUAL = {"method": "Student's t", "confidence": 0.95}


def _without_end(parts: list[Any], defaults: list[Any]) -> list[Any]:
    """Return a list without those of its last parts that have their defaults."""
    while defaults and parts[-1] == defaults[-1]:
        parts, defaults = parts[:-1], defaults[:-1]
    return parts


class Table(_Part):
    """A table as its cells read; `numeric` says which columns hold numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]


Value = Number | Table


class Claim(_Part):
    """A claim as it was judged: whose it is, and the value that the paper states.

    Attributes:
        sentence: the claim in words. The file of a variant has its words only if they are not those of the main one.
        left_out: how many further numbers the report has of it.
    """

    name: str
    sentence: str = ""
    source: str = ""
    outcome: str
    reason: str = ""
    whose: str = ""
    paper: str = ""
    numbers: tuple[Number, ...]
    left_out: int = 0

    def slim(self) -> Claim:
        """Return the claim without what no page can show and `changes` does not compare.

        A remark without an interval is left out if others of the claim have its name, as no mark can name it. Of the
        numbers that tables do not show, the outcome and the bound are left out.
        """
        told = Counter(one.what for one in self.numbers)
        kept = [one for one in self.numbers if one.outcome or one.interval or told[one.what] == 1]
        shown = findings.leading(kept, self.outcome)
        numbers = (
            one if any(one is other for other in shown) else one.model_copy(update={"outcome": None, "bound": ""})
            for one in kept
        )
        left_out = self.left_out + len(self.numbers) - len(kept)
        return self.model_copy(update={"numbers": tuple(numbers), "left_out": left_out})

    def words(self) -> dict[str, str]:
        """Return all that is said of it whatever the campaign."""
        return {"sentence": self.sentence, "source": self.source, "whose": self.whose, "paper": self.paper}


class Canary(_Part):
    """One run, and every metric that it had, by the metric's name with the flows' label and direction: `goodput@first`.

    In the file the metrics of flows are lists, in the order of a list `flows`; `null` stands for what a flow has not.
    """

    experiment: str
    treatment: int
    levels: dict[str, str]
    fidelity: str
    replication: int
    metrics: dict[str, float]

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "flows" not in given:
            return given
        flows, written, metrics = given["flows"], given.get("metrics"), {}
        if not isinstance(flows, list) or not isinstance(written, dict):
            raise ValueError("flows is a list of names, and metrics an object")
        for name, value in written.items():
            if not isinstance(value, list):
                metrics[name] = value
            elif len(value) != len(flows):
                raise ValueError(f"{name} has {len(value)} values for {len(flows)} flows")
            else:
                parted = zip(flows, value, strict=True)
                metrics |= {f"{name}@{flow}": one for flow, one in parted if one is not None}
        return {name: part for name, part in given.items() if name != "flows"} | {"metrics": metrics}

    @model_serializer(mode="wrap")
    def _by_flow(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = serialize(self)
        parted = [name.partition("@") for name in self.metrics]
        flows = list(dict.fromkeys(flow for _, at, flow in parted if at))
        metrics: dict[str, Any] = {}
        for name, at, flow in parted:
            if at:
                metrics.setdefault(name, [None] * len(flows))[flows.index(flow)] = self.metrics[f"{name}@{flow}"]
            else:
                metrics[name] = self.metrics[name]
        return {**written, **({"flows": flows} if flows else {}), "metrics": metrics}


class Kept(_Part):
    """The file of a campaign: all that pages show of it.

    Attributes:
        fidelities: none for a study of measured paths, which runs nothing.
        definition: a hash of the study's factors, scenarios and claims, without comments and words.
        stale: why these numbers are no longer what the study gives, or an empty text.
    """

    format: Literal[1, 2, 3] = FORMAT
    study: str
    variant: str | None
    fidelities: tuple[str, ...]
    haltere: str
    seed: int
    replications: int
    runs: int
    failed: int
    finished: str
    wall_s: float
    machine: str
    kernels: tuple[str, ...]
    definition: str
    stale: str = ""
    answer: tuple[str, ...]
    claims: tuple[Claim, ...]
    values: dict[str, Value]
    canary: tuple[Canary, ...]

    @property
    def date(self) -> str:
        """The day on which the campaign ended, as `2026-11-24`."""
        return self.finished[:10]


def keep(results: Results, folder: Path) -> Kept:
    """Judge some results, and return what is kept of them, without a canary.

    Raises:
        InputError: if the code of the study's claims or values fails.
    """
    manifest = results.manifest
    of_paths = KIND in manifest
    what = read_periods(results.path).evolution if of_paths else findings.tables_of(results, folder)
    found = findings.judged(folder, what)
    broken = found.broken()
    if broken:
        raise InputError(broken[0], right="claims that can be judged: see the report")
    names = [one.claim.name for one in found.judged]
    text = manifest.get("study_text") or (folder / "study.toml").read_text(encoding="utf-8")
    asked_of = {} if of_paths else dict(_asked(results, names))
    return Kept(
        study=manifest["study"]["name"],
        variant=manifest.get("variant"),
        fidelities=manifest.get("fidelities", ()),
        haltere=manifest["haltere"],
        seed=manifest["seed"],
        replications=manifest["replications"],
        runs=manifest["counts"]["runs"],
        failed=manifest["counts"]["failed"],
        finished=manifest["finished"],
        wall_s=round(sum(session["wall_s"] for session in manifest.get("sessions", ())), 1),
        machine=_machine(manifest["machine"]) if "machine" in manifest else "",
        kernels=tuple(dict.fromkeys(str(about["version"]) for about in manifest.get("kernels", {}).values())),
        definition=definition(str(text), folder),
        answer=tuple(found.answer),
        claims=tuple(_claim(one).slim() for one in found.judged),
        values=_values(what, folder) | asked_of,
        canary=(),
    )


def _machine(about: Mapping[str, Any]) -> str:
    return f"{about['cpus']} CPUs ({about['cpu'] or about['architecture']}), {about['system']}"


def _claim(one: findings.Judged) -> Claim:
    said, verdict = one.claim, one.verdict
    numbers = tuple(_number(each) for each in verdict.evidence)
    return Claim(
        name=said.name,
        sentence=said.sentence,
        source=said.source,
        outcome=verdict.outcome.value,
        reason=verdict.reason,
        numbers=numbers,
        whose=said.whose,
        paper=said.paper,
    )


def _number(one: claims.Evidence) -> Number:
    outcome = None if one.outcome is None else one.outcome.value
    interval = one.interval and _short(one.interval)
    return Number(what=one.what, text=one.numbers, outcome=outcome, interval=interval, bound=one.bound)


def _short(given: Interval) -> Interval:
    """The interval with the digits that are worth keeping."""
    value, low, high = (end if end is None else float(f"{end:.7g}") for end in (given.value, given.low, given.high))
    return replace(given, value=value or 0.0, low=low, high=high)


def _asked(results: Results, names: Sequence[str]) -> Iterator[tuple[str, Table]]:
    """Yield the tables `why` and `when`: what was explained, and what was searched, of the claims of these names."""
    number = {name: str(at) for at, name in enumerate(names, 1)}
    why = [
        (", ".join(number[name] for name in one.claims if name in number), *_explained(one.explanation))
        for one in asked.read(results.path, results.manifest)
    ]
    if why:
        yield "why", _words(("claim", "difference and its parts", "conditions", "replications, mixtures"), why)
    found = when.read(results.path)
    if found is not None:
        rows = [(f"{one.number}. {one.sentence}", one.answer(), one.searched()) for one in found.claims]
        yield "when", _words(("claim", "answer", "searched"), rows)


def _explained(one: Explanation) -> tuple[str, str, str]:
    rest = f" {one.rest[:1].upper()}{one.rest[1:]}." if one.rest else ""
    return f"{one.answer}{rest}", one.conditions, f"{one.replications}, {one.mixtures}"


def _words(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(columns=columns, rows=tuple(rows), numeric=(False,) * len(columns))


def _values(found: Any, folder: Path) -> dict[str, Value]:
    """Return what the study's values are, without those whose data the results lack: some experiment was not run."""
    code = Code.of(folder)
    values: dict[str, Value] = {}
    for one in load(folder).values:
        try:
            given = one.of(found)
        except claims.MissingDataError:
            continue
        except Exception as error:
            raise InputError(claims.broken(code, error, one.of), field=one.name) from None
        several = given if isinstance(given, Mapping) else {"": given}
        for key, each in several.items():
            name = ".".join(filter(None, (one.name, str(key))))
            values[name] = _value(each, code.place_of(one.of), name)
    return values


def _value(given: object, place: Place, name: str) -> Value:
    if isinstance(given, claims.Evidence):
        return _number(given)
    if isinstance(given, Interval):
        return Number(what=name, text=claims.reading_of(given), interval=_short(given))
    if isinstance(given, pl.DataFrame):
        numeric = tuple(dtype.is_numeric() for dtype in given.dtypes)
        rows = tuple(tuple(_cell(cell) for cell in row) for row in given.iter_rows())
        return Table(columns=tuple(given.columns), rows=rows, numeric=numeric)
    if isinstance(given, str | int | float):
        return Number(what=name, text=_cell(given))
    raise InputError(
        f"returns {type(given).__name__}",
        place=place,
        field=name,
        given=as_written(given),
        right="a text, a number, an Interval, an Evidence, a data frame, or a dict of them",
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return significant(value, 3) if isinstance(value, float) else str(value)


def definition(study_text: str, folder: Path) -> str:
    """Return a hash of what a study runs and how it is judged: comments and layout are no part of it."""
    data = tomllib.loads(study_text)
    data["study"] = {name: given for name, given in data.get("study", {}).items() if name in ("seed", "fidelity")}
    data.pop("why", None)
    parts = [json.dumps(data, sort_keys=True)]
    code = Code.of(folder)
    if code.modules:
        parts.append(code.meaning())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def name_of(manifest: Mapping[str, Any]) -> str:
    """Return the name of the file that keeps a campaign: `main`, `VARIANT`, `linux`, `VARIANT-model-linux`."""
    own, ran = list(manifest["study"]["fidelity"]), list(manifest.get("fidelities", ()))
    elsewhere = [] if ran == own else ran
    return "-".join([*filter(None, [manifest.get("variant")]), *elsewhere]) or MAIN


def file_of(folder: Path, name: str = MAIN) -> Path:
    """Return where a study keeps a campaign."""
    return folder / FOLDER / f"{name}.json"


def read(folder: Path, name: str = MAIN) -> Kept | None:
    """Return what a study keeps of a campaign, or None if it keeps nothing.

    Raises:
        InputError: if the file is damaged.
    """
    file = file_of(folder, name)
    if not file.exists():
        return None
    with reading(file, "haltere keep"):
        kept = Kept.model_validate_json(file.read_bytes())
    said = {} if all(one.sentence for one in kept.claims) else _words_of_main(folder, name)
    claims = (
        one if one.sentence else one.model_copy(update=said.get(one.name, {"sentence": one.name}))
        for one in kept.claims
    )
    return kept.model_copy(update={"claims": tuple(claims)})


def _words_of_main(folder: Path, name: str) -> dict[str, dict[str, str]]:
    """Return the words of the claims of a study's main campaign, for another campaign."""
    main = None if name == MAIN else read(folder)
    return {} if main is None else {one.name: one.words() for one in main.claims}


def possible(folder: Path) -> list[str]:
    """Return the names of the campaigns that a study may come to keep: its main one, and those of its variants."""
    return [MAIN, *tomllib.loads((folder / "study.toml").read_text(encoding="utf-8")).get("variants", ())]


def names(folder: Path) -> Sequence[str]:
    """Return the names of all campaigns that a study keeps, the main one first."""
    found = sorted(file.stem for file in (folder / FOLDER).glob("*.json"))
    return sorted(found, key=lambda name: name != MAIN)


def write(folder: Path, name: str, kept: Kept) -> None:
    """Write the file of a campaign."""
    file = file_of(folder, name)
    file.parent.mkdir(exist_ok=True)
    said, nothing = _words_of_main(folder, name), dict.fromkeys(("sentence", "source", "whose", "paper"), "")
    each = (one.slim() for one in kept.claims)
    spared = (one.model_copy(update=nothing) if one.words() == said.get(one.name) else one for one in each)
    slim = kept.model_copy(update={"format": FORMAT, "claims": tuple(spared)})
    data = {"format": FORMAT, **slim.model_dump(mode="json", exclude_defaults=True)}
    write_whole(file, (_lines(data) + "\n").encode())


def _lines(value: Any, indent: str = "") -> str:
    """Return a value as JSON with a line for each part that is short, so that a change is one of few lines."""
    plain = json.dumps(value, ensure_ascii=False)
    if len(plain) <= _WIDTH or not isinstance(value, dict | list):
        return plain
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_lines(each, inner)}" for key, each in value.items()]
        first, last = "{}"
    else:
        parts = [_lines(each, inner) for each in value]
        first, last = "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{last}"
