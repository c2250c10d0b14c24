"""Claims: sentences of a paper that the results of a study confirm, contradict, or leave undecided.

A study's `claims.py`, or its package `claims/`, holds one function a claim::

    @claim("QUIC finishes sooner under loss.", source="section 5")
    def sooner_under_loss(tables: Tables) -> Verdict:
        '''How it is judged, in words: shown in the report beside the verdict.'''
        return all_of(...)

Rules of decision are part of the claim and are written before the results are seen. The building blocks here share one
scale: an interval that lies wholly within the metric's margin of practical equivalence says *alike*; one that lies
wholly on one side of equality says who is ahead; any other is unclear.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from haltere.claims.code import Code
from haltere.claims.comparison import SHARE, Comparison, MissingDataError, few
from haltere.errors import InputError, as_written
from haltere.metrics import Metric
from haltere.metrics.tables import Standing, Tables, UnknownNameError, margins, standing
from haltere.metrics.text import decimals, fixed
from haltere.notebook import notebook
from haltere.stats import Interval

__all__ = [
    "OURS",
    "Claim",
    "Contents",
    "Evidence",
    "MissingDataError",
    "Outcome",
    "Value",
    "Verdict",
    "ahead",
    "alike",
    "all_of",
    "answer",
    "below",
    "between",
    "cells",
    "claim",
    "exceeds",
    "few",
    "near",
    "not_ahead",
    "remark",
    "value",
]


OURS = "ours"
"""The owner of a claim that no paper makes."""

_FALSE_ALARMS = 0.05
"""How often a claim that holds may be contradicted by chance, at most."""


class Outcome(StrEnum):
    """Whether the results confirm a claim, or a part of it."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    BROKEN = "broken"
    """The claim's own code failed, so that nothing is known."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that bears on a claim: what it is, how it reads, and what it decides (None: nothing, a remark).

    Attributes:
        what: what it is.
        numbers: how it reads, with its interval.
        outcome: what it decides.
        interval: the number itself.
        rule: what `interval` was judged by, if it alone decided; `all_of` judges a wider one by it.
        bound: what it was held against, such as `within 269 to 365 ms`.
        sides: how many ends of the interval can contradict, for the correction of `all_of`.
        size: how large the effect is: 1 for a ratio of 2, or for what the metric calls full; 0 if it is no effect.
    """

    what: str
    numbers: str
    outcome: Outcome | None
    interval: Interval | None = None
    rule: Callable[[Interval], Outcome] | None = field(default=None, compare=False, repr=False)
    bound: str = ""
    sides: int = 1
    size: float = field(default=0.0, compare=False, repr=False)

    @property
    def said(self) -> str:
        """The bound, if there is one, and the numbers: `within 269 to 365 ms: 307 [307, 308]`."""
        return f"{self.bound}: {self.numbers}" if self.bound else self.numbers


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, the evidence for it, and a reason where there is no evidence."""

    outcome: Outcome
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""

    @property
    def table(self) -> pl.DataFrame:
        """A row a number that bears on the claim: what it is, how it reads, and what it decides."""
        rows = [(one.what, one.said, one.outcome and one.outcome.value) for one in self.evidence]
        return pl.DataFrame(rows, schema=dict.fromkeys(("what", "numbers", "outcome"), pl.String()), orient="row")

    def _repr_html_(self) -> str:
        return notebook(f"{self.outcome.value}: {self.reason}" if self.reason else self.outcome.value, self.table)


Found = TypeVar("Found")
"""The evidence that claims are judged by: a study's result tables, or two periods of measured paths."""


@dataclass(frozen=True)
class Claim(Generic[Found]):
    """One sentence of a paper, its place there, the rule by which it is judged, and the function that judges it.

    `whose` names the paper's authors and year, or is `ours`; `paper` is the value that the paper states, in its unit.
    """

    name: str
    sentence: str
    source: str
    rule: str
    judge: Callable[[Found], Verdict]
    whose: str = ""
    paper: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is the study's own claim, not one of a paper."""
        return self.whose == OURS

    def verdict(self, found: Found) -> Verdict:
        """Judge the claim; undecided, with the reason, if what was found lacks what it needs."""
        try:
            return self.judge(found)
        except MissingDataError as missing:
            return Verdict(Outcome.UNDECIDED, reason=f"{missing}.")


@dataclass(frozen=True)
class Answer:
    """The function that answers the study's question in a few sentences, from its results."""

    sentences: Callable[[Tables], list[str]]


@dataclass(frozen=True)
class Value(Generic[Found]):
    """A function of a study whose numbers or table its pages show beside its claims."""

    name: str
    of: Callable[[Found], object]


@dataclass(frozen=True)
class Contents:
    """The claims and values of a study's code in the order in which they are defined there, and its answer."""

    claims: Sequence[Claim[Any]] = ()
    answer: Answer | None = None
    values: Sequence[Value[Any]] = ()


def judge(one: Claim[Found], found: Found, code: Code) -> Verdict:
    """Judge a claim of a user's code: what goes wrong in it is told with file and line, and stops nothing else.

    So is an experiment, a factor or a level that the study does not have, or has no more.
    """
    verdict: object
    try:
        verdict = one.verdict(found)
    except UnknownNameError as unknown:
        return Verdict(Outcome.BROKEN, reason=f"{_unknown(code, one.name, unknown)}.")
    except Exception as error:
        return Verdict(Outcome.BROKEN, reason=f"{broken(code, error, one.judge)}.")
    if not isinstance(verdict, Verdict):
        return Verdict(Outcome.BROKEN, reason=f"{_wrong(code, one.judge, verdict, 'a Verdict')}.")
    return verdict


def answered(one: Answer, found: Tables, code: Code) -> list[str]:
    """Return the sentences of a user's answer, or one that says what went wrong in its code.

    Raises:
        BrokenCodeError: if the code failed, gave something else than a list of texts, or names what the study lacks.
    """
    try:
        sentences = one.sentences(found)
    except MissingDataError as missing:
        return [f"These results do not suffice for an answer: {missing}."]
    except UnknownNameError as unknown:
        raise BrokenCodeError(_unknown(code, "answer", unknown)) from None
    except Exception as error:
        raise BrokenCodeError(broken(code, error, one.sentences)) from None
    texts = _texts(sentences)
    if texts is None:
        raise BrokenCodeError(_wrong(code, one.sentences, sentences, "a list of sentences"))
    return texts


def _texts(given: object) -> list[str] | None:
    texts = [one for one in given if isinstance(one, str)] if isinstance(given, list) else None
    return texts if texts == given else None


class BrokenCodeError(Exception):
    """The code of a user's file failed; the message says where and how."""


def broken(code: Code, error: Exception, function: Callable[..., object]) -> str:
    """Return where in the user's code an exception came from, and what it says."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{code.place(error, function)}: {said}"


def _unknown(code: Code, name: str, error: UnknownNameError) -> str:
    """Return where a user's code names what the study lacks."""
    return f"{code.place(error)}: {name}: {error}"


def _wrong(code: Code, function: Callable[..., object], given: object, right: str) -> str:
    what = "returns nothing: is a `return` missing?" if given is None else f"returns {type(given).__name__}."
    return f"{code.place_of(function)}: {function.__name__} {what} It must return {right}"


def claim(
    sentence: str, *, source: str = "", whose: str = "", paper: str = ""
) -> Callable[[Callable[[Found], Verdict]], Claim[Found]]:
    """Make a claim of a function that judges it; the function's docstring is the rule shown in the report.

    Args:
        sentence: what is claimed.
        source: where it is claimed: a section of a paper, or "our expectation".
        whose: the paper's authors and year, such as "Cardozo 2013", or "ours" (the default if `source` begins with
            "our").
        paper: the value that the paper states, with its unit, such as "316 ms"; nothing if it states none.

    Raises:
        InputError: if one of them is missing or no text. `loading.load` adds file and line.
    """
    for name, given in (("sentence", sentence), ("source", source)):
        if not _is_text(given):
            raise InputError(
                f"a claim needs its {name}",
                field="@claim",
                given=None if given == "" or callable(given) else as_written(given),
                right='@claim("QUIC is faster under loss.", source="section 5"), or source="our expectation"',
            )

    owner = whose or (OURS if source.lower().startswith("our") else "")

    def decorate(judge: Callable[[Found], Verdict]) -> Claim[Found]:
        rule = " ".join((inspect.getdoc(judge) or "").split())
        return Claim(judge.__name__, sentence, source, rule, judge, owner, paper)

    return decorate


def _is_text(given: object) -> bool:
    return isinstance(given, str) and given.strip() != ""


def answer(sentences: Callable[[Tables], list[str]]) -> Answer:
    """Mark the function of a study that answers its question in a few sentences, from its results."""
    return Answer(sentences)


def value(given: Callable[[Found], object]) -> Value[Found]:
    """Mark a function that returns what the study's pages show beside its claims.

    It returns a text, an `Interval`, an `Evidence`, a data frame (a table), or several of them by name, in a dict.
    """
    return Value(given.__name__, given)


def all_of(*evidence: Evidence) -> Verdict:
    """A claim with several parts: contradicted if any part is, confirmed if all are, undecided otherwise.

    One of many parts may look contradicted by chance. A part contradicts on one side of its interval. Alone it does so
    by chance in 2.5 % of cases, and two parts do in 5 %; a part of `between` counts as two. Of more parts, each
    contradicts only if its interval still does when it is widened to leave out 5 % divided by their number on each
    side (Bonferroni); if not, it is undecided.
    Confirmation needs no correction: all parts must hold, each with 95 % confidence (R. L. Berger, "Multiparameter
    Hypothesis Testing and Acceptance Sampling", Technometrics 24(4), 1982). Parts without an interval, as those of
    `cells`, stay as they are.
    """
    count = sum(one.sides for one in evidence if one.outcome is not None)
    parts = tuple(_among(one, count) for one in evidence)
    outcomes = {one.outcome for one in parts} - {None}
    if Outcome.CONTRADICTED in outcomes:
        outcome = Outcome.CONTRADICTED
    elif outcomes == {Outcome.CONFIRMED}:
        outcome = Outcome.CONFIRMED
    else:
        outcome = Outcome.UNDECIDED
    return Verdict(outcome, parts)


def _among(one: Evidence, count: int) -> Evidence:
    """The part as one of `count` that decide."""
    if one.outcome is not Outcome.CONTRADICTED or one.interval is None or one.rule is None:
        return one
    if one.rule(one.interval.at(max(one.interval.confidence, 1 - 2 * _FALSE_ALARMS / count))) is Outcome.CONTRADICTED:
        return one
    return replace(one, numbers=f"{one.numbers}, may be chance among {count} parts", outcome=Outcome.UNDECIDED)


def _decided(what: str, found: Interval, metric: Metric, rule: Callable[[Interval], Outcome]) -> Evidence:
    size = _doublings(found.value) / _doublings(metric.full) if metric.ratio else abs(found.value) / metric.full
    alike = ", alike" if standing(found, metric) == "alike" else ""
    return Evidence(what, f"{reading(found, metric)}{alike}", rule(found), found, rule, size=size)


def _doublings(ratio: float) -> float:
    """How far a ratio is from 1: 1 for 2 and for 0.5; 0 for what is no ratio."""
    return abs(math.log2(ratio)) if 0 < ratio < math.inf else 0.0


def ahead(what: str, found: Interval, metric: Metric, side: Literal["of", "to"] = "of") -> Evidence:
    """The part "this side is ahead": contradicted if the two are alike or the other is ahead.

    A side is ahead if the whole interval is on its side of equality and not wholly inside the margin.
    """

    def rule(found: Interval) -> Outcome:
        stands = standing(found, metric)
        if stands == "unclear":
            return Outcome.UNDECIDED
        return Outcome.CONFIRMED if stands == side else Outcome.CONTRADICTED

    return _decided(what, found, metric, rule)


def not_ahead(what: str, found: Interval, metric: Metric, side: Literal["of", "to"] = "of") -> Evidence:
    """The part "this side is not ahead": confirmed if the two are alike or the other is ahead."""

    def rule(found: Interval) -> Outcome:
        stands = standing(found, metric)
        if stands == "unclear":
            return Outcome.UNDECIDED
        return Outcome.CONTRADICTED if stands == side else Outcome.CONFIRMED

    return _decided(what, found, metric, rule)


def alike(what: str, found: Interval, metric: Metric) -> Evidence:
    """The part "the two are alike": confirmed inside the margin, contradicted wholly outside, undecided across it."""

    def rule(found: Interval) -> Outcome:
        if standing(found, metric) == "alike":
            return Outcome.CONFIRMED
        return Outcome.CONTRADICTED if beyond(found, metric) else Outcome.UNDECIDED

    least, most = margins(metric)
    unit = "" if metric.ratio else "±"
    return replace(_decided(what, found, metric, rule), bound=_bound((least, most), unit))


def exceeds(what: str, found: Interval, threshold: float, unit: str = "") -> Evidence:
    """The part "this number is larger than the threshold", by the interval's ends.

    Of the units, `%` shows a share in percent and `±` a difference with its sign; any other is written as it is.
    """
    return _bounded(what, found, (threshold, math.inf), unit)


def below(what: str, found: Interval, threshold: float, unit: str = "") -> Evidence:
    """The part "this number is smaller than the threshold", by the interval's ends; units as in `exceeds`."""
    return _bounded(what, found, (-math.inf, threshold), unit)


def between(what: str, found: Interval, low: float, high: float, unit: str = "") -> Evidence:
    """The part "this number lies within a range", by the interval's ends; units as in `exceeds`."""
    return _bounded(what, found, (low, high), unit)


def near(what: str, found: Interval, stated: float, unit: str = "", *, by: float = 0.15) -> Evidence:
    """The part "this number is as stated", to the share `by` of it: 15 % unless told; units as in `exceeds`."""
    return between(what, found, stated * (1 - by), stated * (1 + by), unit)


def _bounded(what: str, found: Interval, ends: tuple[float, float], unit: str) -> Evidence:
    """The part "this number lies between the ends": confirmed wholly inside, contradicted wholly outside."""
    least, most = ends

    def rule(found: Interval) -> Outcome:
        if found.low is None or found.high is None:
            return Outcome.UNDECIDED
        if least < found.low and found.high < most:
            return Outcome.CONFIRMED
        outside = found.high < least or found.low > most
        return Outcome.CONTRADICTED if outside or (found.exact and found.value in ends) else Outcome.UNDECIDED

    finite = [end for end in ends if math.isfinite(end)]
    # A share of treatments is no effect, and a difference from 0 has no scale of its own.
    effects = [] if unit in ("%", "±") else [_doublings(found.value / end) for end in finite if end > 0]
    inside = len(finite) == 2 and rule(found) is Outcome.CONFIRMED
    size = 0.0 if inside else min(effects, default=0.0)
    return Evidence(what, reading_of(found, unit), rule(found), found, rule, _bound(ends, unit), len(finite), size)


def _bound(ends: tuple[float, float], unit: str) -> str:
    """The range in words: `within 269 to 365 ms`, `above 0.97`."""
    largest = max(abs(end) for end in ends if math.isfinite(end))
    places = 0 if unit == "%" else max(0, decimals(largest))

    def one(end: float) -> str:
        number = 100 * end if unit == "%" else end
        rounded = round(number, places)
        return f"{rounded if rounded or not number else float(f'{number:.2g}'):.12g}".replace("-", "−")

    least, most = ends
    shown = "" if unit in ("", "±") else f" {unit}"
    if math.isinf(most):
        return f"above {one(least)}{shown}"
    return f"below {one(most)}{shown}" if math.isinf(least) else f"within {one(least)} to {one(most)}{shown}"


def cells(what: str, yes: int, no: int, total: int, at_least: float) -> Evidence:
    """The part "so in at least this share of the cells", of which some may be unclear (neither yes nor no)."""
    if yes >= at_least * total:
        outcome = Outcome.CONFIRMED
    elif total - no < at_least * total:
        outcome = Outcome.CONTRADICTED
    else:
        outcome = Outcome.UNDECIDED
    parts = [f"{yes} of {total}"]
    parts += [f"{count} {word}" for count, word in ((no, "clearly not"), (total - yes - no, "unclear")) if count]
    return Evidence(what, ", ".join(parts), outcome)


def remark(what: str, numbers: str) -> Evidence:
    """A number that is reported but decides nothing."""
    return Evidence(what, numbers, None)


def beyond(found: Interval, metric: Metric) -> bool:
    """Whether the whole interval lies beyond the margin of practical equivalence, on one side of it."""
    least, most = margins(metric)
    return (found.high is not None and found.high < least) or (found.low is not None and found.low > most)


def standings(comparison: Comparison) -> list[Standing]:
    """Who is ahead in each cell, all cells together with 95 % confidence."""
    return [standing(found, comparison.metric) for found in comparison.each()]


def reading(found: Interval, metric: Metric) -> str:
    """The interval as evidence reads: `0.81 [0.78, 0.84]`, a difference with its sign."""
    return reading_of(found, "" if metric.comparison == "ratio" else "±")


def reading_of(found: Interval, unit: str = "") -> str:
    """An interval as evidence reads: `0.81 [0.78, 0.84]`; `±` gives a difference its sign, `%` shows a share."""
    if unit == "±":
        places = min(5, max(3, decimals(found.value, 2)))
    else:
        places = 3 if found.value < 2 else min(3, decimals(found.value))

    def one(value: float) -> str:
        if unit == "%":
            return fixed(100 * value, 0 if found.value >= 0.0995 else 1)
        return ("+" if unit == "±" and value > 0 else "") + fixed(value, places)

    bare = found.value == 0 and (found.exact or found.low is None)  # nothing was counted: no digits behind a point
    value = ("0" if bare else one(found.value)) + (" %" if unit == "%" else "")
    if found.low is None or found.high is None:
        return f"{value} (an interval {few(found.n)})"
    if found.exact:
        return f"{value} (exact)"
    each = f" in each of {found.n} replications" if found.method == SHARE else ""
    return f"{value}{each} [{one(found.low)}, {one(found.high)}]"
