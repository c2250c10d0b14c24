"""A judged sheet in words: for the terminal and the report."""

from __future__ import annotations

from haltere.errors import counted
from haltere.evaluation.judging import Effect, Judged, Judgement, Standing
from haltere.metrics import plain, quantities


def leading(one: Judged, against: str) -> list[Effect]:
    """Return the effects of a row that say most: the one that is worst in margins, and the best if it surely is good.

    Of a row that is better, the best alone.
    """
    effects = [effect for effect in one.effects if effect.against == against]
    if not effects:
        return []
    worst, best = max(effects, key=lambda effect: effect.excess), min(effects, key=lambda effect: effect.excess)
    if one.words.get(against) == "better":
        return [best]
    return [worst, best] if best.beyond(good=True, effects=len(effects)) else [worst]


def number(value: float) -> str:
    """Return a value with three significant digits."""
    return plain.number(value, 3).replace("-", "−")


def numbers(one: Effect) -> str:
    """Return the effect with its interval: `× 0.46 [0.44, 0.48]`, or `+3.1 % [2.9, 3.4]`."""
    found = plain.interval(one.found, digits=3).replace("-", "−")
    if one.metric.ratio:
        return f"× {found}"
    return f"{'+' if one.found.value > 0 else ''}{found} {one.metric.unit}".strip()


def effect(one: Effect) -> str:
    """Return `goodput of other × 0.46 [0.44, 0.48] at queue 0.5bdp` or `+3.1 % [2.9, 3.4]`."""
    what = f"{one.metric.spoken} {numbers(one)}"
    return f"{what} at {place(one)}" if one.place else what


def place(one: Effect) -> str:
    """Return where the effect was found: `other tcp/cubic, queue 1bdp`."""
    return ", ".join(quantities.named(level, name, name) for name, level in one.place.items())


def harm(one: Effect) -> str:
    """Return what is there without the newcomer, and harm; nothing if it is not known.

    Such as `alone 9.5, beside short flows 8.9: harm 0.52 [0.50, 0.54], of tcp/cubic 0.48 [0.41, 0.55]`.
    """
    if one.harm is None:
        return ""
    there = [f"alone {number(one.harm.alone)}"]
    there += [f"beside {words} {number(value)}" for words, value in one.harm.instead.items()]
    newcomer, other = (plain.interval(of, digits=2).replace("-", "−") for of in (one.harm.newcomer, one.harm.other))
    return f"{', '.join(there)}: harm {newcomer}, of {one.against} {other}"


def margin(one: Effect) -> str:
    """Return what still counts as no worse: `margin 10 %`, or `margin 5 ms`."""
    if one.metric.ratio:
        return f"margin {100 * one.margin:g} %"
    return f"margin {one.margin:g} {one.metric.unit}".strip()


def summary(found: Judgement) -> list[str]:
    """Return the sheet in a few sentences."""
    first = found.against[0]
    said: dict[Standing, str] = {
        "worse": f"worse than {first}",
        "better": f"better than {first}",
        "undecided": "undecided",
    }
    sentences = []
    for standing, words in said.items():
        rows = found.of(standing)
        if rows:
            named = ", ".join(f"{one.row.section} ({one.row.title})" for one in rows)
            sentences.append(f"{found.newcomer} is {words} in {counted(len(rows), 'row')}: {named}.")
    if no_worse := len(found.of("no worse")):
        thing = "other row" if sentences else "row"
        sentences.append(f"{found.newcomer} is no worse than {first} in {counted(no_worse, thing)}.")
    if left := len(found.of("not run")):
        sentences.append(f"{counted(left, 'row')} could not be run.")
    return sentences
