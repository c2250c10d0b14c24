"""The answer of `haltere explain`: what each part contributes, in words, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from haltere.explanation.attribution import Effect
from haltere.explanation.mixtures import REST, Part
from haltere.metrics import Metric
from haltere.notebook import notebook
from haltere.stats import Interval, mean

SHOWN = 5
"""So many parts the answer names at most."""
NAMED = 0.01
"""Interactions below a hundredth of a factor are not named, however sure they are."""


@dataclass(frozen=True)
class Interaction:
    """Two parts whose effects depend on each other.

    Attributes:
        parts: their names.
        effect: by how much the effect of one grows if the other is switched, too.
    """

    parts: tuple[str, str]
    effect: Effect


@dataclass(frozen=True)
class Explanation:
    """Which parts make the difference between two contenders, and how much each.

    Effects are on the natural logarithm of the metric where `measure.ratio`, so that `factor` of an effect is what the
    part multiplies the metric with; else they are differences in the metric's unit.

    Attributes:
        a, b: the contenders.
        conditions: the conditions in words.
        measure: the metric.
        parts: the differences between the contenders.
        effects: of each part.
        whole: of all together.
        levels: the mean of the metric of `a` and of `b`: the geometric mean of a ratio.
        interactions: the pairs that can be seen apart, the strongest first; none if orders were sampled.
        replications: those in which both contenders ran.
        mixtures: how many mixtures were run.
        sampled: orders for each replication, or None if all were taken.
        notes: what did not run, and what that means for the values.
    """

    a: str
    b: str
    conditions: str
    measure: Metric
    parts: tuple[Part, ...]
    effects: tuple[Effect, ...]
    whole: Effect
    levels: tuple[float, float]
    interactions: tuple[Interaction, ...]
    replications: int
    mixtures: int
    sampled: int | None
    notes: tuple[str, ...]

    def shown(self, effect: Effect) -> Interval:
        """Return an effect as a factor of the metric, or as a difference."""
        found = effect.interval
        if not self.measure.ratio:
            return found
        ends = (None if end is None else math.exp(end) for end in (found.low, found.high))
        low, high = ends
        return replace(found, value=math.exp(found.value), low=low, high=high)

    def said(self, value: float) -> str:
        """Return a number of an effect as text, as `shown` returns it."""
        return factor_text(value) if self.measure.ratio else f"{value:.3g}"

    def share(self, effect: Effect) -> float | None:
        """Return an effect as a share of the whole difference; None if the whole is not shown to be other than 0."""
        if not self.whole.real:
            return None
        return effect.interval.value / self.whole.interval.value

    @property
    def ranked(self) -> list[tuple[Part, Effect]]:
        """The parts with their effects, the largest first."""
        pairs = zip(self.parts, self.effects, strict=True)
        return sorted(pairs, key=lambda pair: -abs(pair[1].interval.value))

    @property
    def answer(self) -> str:
        """The answer in one sentence, or two."""
        whole = self.shown(self.whole)
        of = self.measure.spoken
        if self.whole.real is False:
            by = f"×{_number(whole)}" if self.measure.ratio else f"{_signed(whole)} {self.measure.unit}".rstrip()
            head = f"{self.b} and {self.a} are not shown to differ in {of} ({by})"
        elif self.measure.ratio:
            head = f"{self.b} has {_number(whole)} times the {of} of {self.a}"
        else:
            head = f"from {self.a} to {self.b} the {of} changes by {_signed(whole)} {self.measure.unit}".rstrip()
        named = [(part, effect) for part, effect in self.ranked if effect.real]
        listed = [f"{part.name} ({self._by(effect)})" for part, effect in named[:SHOWN]]
        if not listed:
            return f"{head}. No part is shown to matter."
        more = len(named) - len(listed)
        listed += [f"{more} smaller"] if more else []
        idle = sum(effect.nothing for effect in self.effects)
        unclear = len(self.parts) - len(named) - idle
        rest = f"; {unclear} other part{'s are' if unclear > 1 else ' is'} not shown to matter" if unclear else ""
        rest += f"; {idle} part{'s change' if idle > 1 else ' changes'} nothing" if idle else ""
        joint = ". These parts matter: " if self.whole.real is False else ": "
        return f"{head}{joint}{_joined(listed)}{rest}."

    def _by(self, effect: Effect) -> str:
        found = self.shown(effect)
        return f"×{factor_text(found.value)}" if self.measure.ratio else f"{found.value:+.3g}"

    @property
    def interacting(self) -> list[Interaction]:
        """The interactions that are real and, of ratios, larger than `NAMED`; the strongest first."""
        least = NAMED if self.measure.ratio else 0.0
        return [one for one in self.interactions if one.effect.real and abs(one.effect.interval.value) >= least]

    @property
    def rest(self) -> str | None:
        """The part of the difference that no switch explains, in a sentence; None if switches explain all."""
        found = [(part, effect) for part, effect in self.ranked if part.name in REST]
        if not found:
            return None
        return "what no switch explains: " + ", ".join(
            f"{part.name} {part.before} → {part.after}, {_number(self.shown(effect))}"
            f"{'' if effect.real else ', not shown to matter'}"
            for part, effect in found
        )

    @property
    def table(self) -> pl.DataFrame:
        """A row a part: its values, effect, interval, share of the whole, corrected p-value, and whether it is real."""
        rows = [
            {
                "part": part.name,
                "from": part.before,
                "to": part.after,
                "effect": self.shown(effect).value,
                "low": self.shown(effect).low,
                "high": self.shown(effect).high,
                "share": self.share(effect),
                "p": effect.p,
                "real": effect.real,
            }
            for part, effect in self.ranked
        ]
        kinds = {name: pl.Float64() for name in ("effect", "low", "high", "share", "p")}
        words = {name: pl.String() for name in ("part", "from", "to")}
        return pl.DataFrame(rows, schema=words | kinds | {"real": pl.Boolean()})

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "a": self.a,
            "b": self.b,
            "conditions": self.conditions,
            "metric": self.measure.name,
            "label": self.measure.spoken,
            "unit": self.measure.unit,
            "scale": "log ratio" if self.measure.ratio else "difference",
            "answer": self.answer,
            "levels": list(self.levels),
            "whole": self._entry(self.whole),
            "parts": [
                {"name": part.name, "from": part.before, "to": part.after, "needs": sorted(part.needs)}
                | self._entry(effect)
                | {"share": self.share(effect)}
                for part, effect in self.ranked
            ],
            "interactions": [{"parts": list(one.parts)} | self._entry(one.effect) for one in self.interactions],
            "replications": self.replications,
            "mixtures": self.mixtures,
            "sampled_orders": self.sampled,
            "notes": list(self.notes),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `data` returned.

        Raises:
            KeyError, TypeError, ValueError: if that is not what is given.
        """
        comparison: Literal["ratio", "difference"] = "ratio" if data["scale"] == "log ratio" else "difference"
        return cls(
            data["a"],
            data["b"],
            data["conditions"],
            Metric(data["metric"], data["label"], data["unit"], comparison=comparison),
            tuple(Part(one["name"], one["from"], one["to"], needs=frozenset(one["needs"])) for one in data["parts"]),
            tuple(_effect(one) for one in data["parts"]),
            _effect(data["whole"]),
            (data["levels"][0], data["levels"][1]),
            tuple(Interaction((one["parts"][0], one["parts"][1]), _effect(one)) for one in data["interactions"]),
            data["replications"],
            data["mixtures"],
            data["sampled_orders"],
            tuple(data["notes"]),
        )

    def _entry(self, effect: Effect) -> dict[str, Any]:
        found = self.shown(effect)
        return {
            "value": effect.interval.value,
            "low": effect.interval.low,
            "high": effect.interval.high,
            "shown": {"value": found.value, "low": found.low, "high": found.high},
            "p": effect.p,
            "real": effect.real,
            "replications": list(effect.values),
        }

    def figure(self, out: str | Path) -> None:
        """Draw the waterfall into a file (SVG, PDF or PNG by its ending)."""
        from haltere.explanation.page import waterfall  # noqa: PLC0415 (drawing is slow to load)
        from haltere.figures import on_paper  # noqa: PLC0415 (drawing is slow to load)

        path = Path(out)
        on_paper.draw(waterfall(self), path.with_suffix(""), formats=(path.suffix.removeprefix("."),))

    def save(self, folder: str | Path) -> list[Path]:
        """Write the waterfall, a page and the numbers into a folder; the paths written."""
        from haltere.explanation.page import write  # noqa: PLC0415 (drawing is slow to load)

        return write(self, Path(folder))

    def __repr__(self) -> str:
        return f"<Explanation: {self.answer}>"

    def _repr_html_(self) -> str:
        return notebook(self.answer, self.table)


def _effect(entry: Mapping[str, Any]) -> Effect:
    values = np.array(entry["replications"], dtype=np.float64)
    return Effect(tuple(values.tolist()), mean(values), entry["p"])


def factor_of(effect: float) -> float:
    """Return an effect on the logarithm of a metric as a factor."""
    return math.exp(effect)


def factor_text(value: float) -> str:
    """Return a factor with three digits; near 1, where these would hide the difference, with three decimals."""
    return f"{value:.3f}" if 0.9 < value < 1.1 else f"{value:.3g}"


def _number(found: Interval) -> str:
    value = factor_text(found.value)
    if found.low is None or found.high is None or found.exact:
        return value
    return f"{value} [{factor_text(found.low)}, {factor_text(found.high)}]"


def _signed(found: Interval) -> str:
    value = f"{found.value:+.3g}"
    if found.low is None or found.high is None or found.exact:
        return value
    return f"{value} [{found.low:+.3g}, {found.high:+.3g}]"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def strongest(pairs: Mapping[tuple[int, int], Effect], names: Sequence[str]) -> tuple[Interaction, ...]:
    """Return the interactions, the strongest first."""
    found = (Interaction((names[one], names[other]), effect) for (one, other), effect in pairs.items())
    return tuple(sorted(found, key=lambda one: -abs(one.effect.interval.value)))
