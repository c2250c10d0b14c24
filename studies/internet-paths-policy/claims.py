"""The effect of the routing policy of ASes on the K shortest paths of two periods.

The rules were written before any two periods were measured under a policy.
"""

from __future__ import annotations

import polars as pl

from haltere.claims import OURS, Evidence, Verdict, all_of, answer, claim, value
from haltere.paths.judging import text, within
from haltere.paths.periods import Evolution
from haltere.paths.policy_effect import MEASURES, effect, longer_share
from haltere.paths.routes import estimate

_INFINITE = float("inf")
_OWN = "this study"


def _changes(found: Evolution, name: str, low: float, high: float) -> list[Evidence]:
    """The parts "the policy changes this measure by so much", one a period."""
    parts = []
    for period in found.periods:
        one = effect(period, name)
        what = f"{one.measure.label}, {period.name}, change"
        parts.append(within(what, one.change, low, high, one.texts()["change"]))
    return parts


@claim(
    "Policy makes some 20 % of the paths longer by more than five hops.",
    source="H. Tangmunarunkit et al., “The impact of routing policy on Internet paths”, INFOCOM 2001",
    whose="Tangmunarunkit 2001",
    paper="some 20 %",
)
def inflated(found: Evolution) -> Verdict:
    """The share of pairs whose shortest path is longer by more than five hops must be 15 to 25 %, in both periods."""
    parts = []
    for period in found.periods:
        share = estimate(longer_share(period, 5))
        parts.append(within(f"Pairs longer by over 5 hops, {period.name}", share, 0.15, 0.25, text(share, 1, "%", 100)))
    return all_of(*parts)


@claim("Policy leaves at least 90 % of the pairs a path.", source=_OWN, whose=OURS)
def connected(found: Evolution) -> Verdict:
    """Of the pairs with a path of any links, 90 % or more must have a valley-free one, in both periods."""
    parts = []
    for period in found.periods:
        share = effect(period, "paths").under
        parts.append(within(f"Pairs with a valley-free path, {period.name}", share, 0.9, 1, text(share, 1, "%", 100)))
    return all_of(*parts)


@claim("Policy lengthens the K shortest paths by less than one hop on average.", source=_OWN, whose=OURS)
def longer(found: Evolution) -> Verdict:
    """The mean length, of the k-th paths of the same pairs, must rise by less than one hop, in both periods; it
    cannot fall.
    """
    return all_of(*_changes(found, "hops", 0, 1))


@claim("Policy makes delay longer.", source=_OWN, whose=OURS)
def slower(found: Evolution) -> Verdict:
    """The median delay, of the k-th paths of the same pairs, must rise, in both periods."""
    return all_of(*_changes(found, "delay", 0, _INFINITE))


@claim("Policy lowers diversity: the K shortest paths differ less from each other.", source=_OWN, whose=OURS)
def less_diverse(found: Evolution) -> Verdict:
    """The mean difference to the pair's shortest path must fall, in both periods."""
    return all_of(*_changes(found, "difference", -1, 0))


@claim("Policy makes paths go further out of their way.", source=_OWN, whose=OURS)
def dispersed(found: Evolution) -> Verdict:
    """The median geographic dispersion must rise, in both periods."""
    return all_of(*_changes(found, "dispersion", 0, _INFINITE))


@answer
def policy_changes(found: Evolution) -> list[str]:
    """The changes of the K shortest paths under the policy, in each period."""
    sentences = []
    for period in found.periods:
        texts = {name: effect(period, name).texts() for name in ("paths", "hops", "delay", "dispersion")}
        sentences.append(
            f"In {period.name} {texts['paths']['under']} of the pairs keep a path under the policy. "
            f"The mean length of their K shortest paths changes by {texts['hops']['change']}, the median delay by "
            f"{texts['delay']['change']}, and the median geographic dispersion by {texts['dispersion']['change']}."
        )
    return sentences


@value
def effects(found: Evolution) -> pl.DataFrame:
    """Each measure over paths of any links and over valley-free ones, and the change within draws."""
    rows = []
    for measure in MEASURES:
        for period in found.periods:
            shown = effect(period, measure.name).texts()
            names = {"any links": shown["without"], "valley-free": shown["under"], "change": shown["change"]}
            rows.append({"measure": measure.label, "period": period.name, **names})
    return pl.DataFrame(rows)


@value
def links(found: Evolution) -> pl.DataFrame:
    """Mean numbers of links over the graphs of a period: within an AS, of customer and provider, of peers, unknown."""
    names = {
        "inside": "within an AS",
        "transit": "of customer and provider",
        "peering": "of peers",
        "unknown": "unknown",
    }
    rows = []
    for period in found.periods:
        if period.views is not None:
            means = {shown: f"{period.views[name].mean():.1f}" for name, shown in names.items()}
            rows.append({"period": period.name, **means})
    return pl.DataFrame(rows)
