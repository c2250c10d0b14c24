"""The two periods of the fixture: the same cities, with a sparse mesh and short queues in 2006, and in 2011 with more
cables and longer queues. The monitors are not the same either; one of 2011 is on another continent.

Every backbone city has two routers, one of each of two carriers, and every cable between cities is laid twice, once for
each: what leaves a city may take either (ECMP). Customers hang on an access router, directly or behind their providers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from internet.cities import CITIES, propagation_us
from internet.plan import Answers, Internet, Prefix

SPARSE = """san-sjc san-dfw sea-sjc sjc-ord sjc-dfw dfw-iad ord-yyz ord-jfk yyz-jfk jfk-iad jfk-lhr lhr-ams ams-fra
lhr-mad fra-mxp ams-arn sjc-nrt nrt-sin sjc-syd iad-gru"""
DENSER = """sea-ord sjc-iad dfw-ord iad-lhr jfk-ams lhr-fra fra-arn mad-mxp sin-syd sea-nrt mad-gru"""
TWO_CARRIERS = ("sjc", "ord", "jfk", "iad", "lhr", "ams", "fra")
FAR = 26
"""Routers in a row before the farthest network: over 30 hops from anywhere."""


@dataclass(frozen=True)
class Period:
    """When, between which cities, and what waits at access routers."""

    name: str
    days: tuple[datetime, ...]
    cables: str
    monitors: tuple[tuple[str, str], ...]
    """(name, city)."""
    queue_us: int
    """Mean wait behind an access router, one way."""
    providers: tuple[int, ...]
    """Routers between an access router and its customers, in turn."""
    traces: int
    """A monitor and day."""


def _days(*days: str) -> tuple[datetime, ...]:
    return tuple(datetime.fromisoformat(day).replace(hour=3, tzinfo=UTC) for day in days)


PERIODS = {
    period.name: period
    for period in (
        Period(
            "2006",
            _days("2006-05-02", "2006-05-03", "2006-05-04"),
            SPARSE,
            (("san-us", "san"), ("jfk-us", "jfk"), ("ams-nl", "ams")),
            5_000,
            (1, 2, 0, 1),
            175,
        ),
        Period(
            "2011",
            _days("2011-05-03", "2011-05-04"),
            f"{SPARSE} {DENSER}",
            (("san-us", "san"), ("lhr-uk", "lhr"), ("mad-es", "mad"), ("syd-au", "syd")),
            11_000,
            (1, 0, 1, 2),
            200,
        ),
    )
}


def plans() -> dict[str, Internet]:
    """Return the Internet of each period; what is in both has the same addresses in both."""
    numbers: dict[str, int] = {}
    return {name: _Planner(period, numbers).net for name, period in PERIODS.items()}


class _Planner:
    def __init__(self, period: Period, numbers: dict[str, int]) -> None:
        self.net = Internet(numbers=numbers)
        self.period = period
        for code in CITIES:
            self._city(code)
        for pair in period.cables.split():
            self._between(*pair.split("-"))
        for name, city in period.monitors:
            self._monitor(name, city)
        for turn, code in enumerate(CITIES):
            for customer in range(2):
                depth = period.providers[(2 * turn + customer) % len(period.providers)]
                self._customer(f"{code}-{customer + 1}", code, depth)
        self._oddities()

    def _carriers(self, code: str) -> list[str]:
        return [f"{code}-a", f"{code}-b"] if code in TWO_CARRIERS else [f"{code}-a"]

    def _city(self, code: str) -> None:
        access = self.net.node(f"{code}-access", code)
        for name in self._carriers(code):
            # Some large routers tell only seldom.
            self.net.node(name, code, "seldom" if name in ("iad-b", "sin-a") else "always")
            self.net.cable(access, name, delay_us=150, queue_us=80)

    def _between(self, one: str, other: str) -> None:
        us = propagation_us(CITIES[one], CITIES[other])
        ends = self._carriers(one), self._carriers(other)
        for number in range(max(map(len, ends))):
            a, b = (names[number % len(names)] for names in ends)
            # Carriers count distance, so that a detour by two cities never beats one cable; both count it alike.
            self.net.cable(a, b, 1 + us // 500, delay_us=us, queue_us=250)

    def _behind(self, code: str, name: str, depth: int, answers: Answers = "always") -> str:
        """Put providers behind an access router; return the last router."""
        last = f"{code}-access"
        for number in range(depth):
            this = self.net.node(f"{name}-p{number + 1}", code, answers)
            self.net.cable(last, this, delay_us=300, queue_us=self.period.queue_us // 4)
            last = this
        return last

    def _leaf(self, at: str, code: str, name: str) -> str:
        self.net.node(name, code, leaf=True)
        self.net.cable(at, name, delay_us=200, queue_us=self.period.queue_us // 2)
        return name

    def _monitor(self, name: str, code: str) -> None:
        self.net.prefix("monitor", self._leaf(self._behind(code, name, 2), code, name))

    def _customer(self, name: str, code: str, depth: int, answers: Answers = "always") -> Prefix:
        return self.net.prefix("hosts", self._leaf(self._behind(code, name, depth, answers), code, name))

    def _oddities(self) -> None:
        net = self.net
        self._customer("dfw-quiet", "dfw", 1, "never")
        self._customer("mxp-quiet", "mxp", 2, "never")
        self._customer("sea-hidden", "sea", 6, "never")  # more than scamper's gap limit
        for code in ("sea", "arn", "sin"):
            net.prefix("silent", self._leaf(f"{code}-access", code, f"{code}-silent"))
        net.prefix("blackhole", "gru-access")
        net.prefix("unreachable", "yyz-access")
        net.prefix("unreachable", "fra-access")
        net.prefix("prohibited", "mad-access")
        circle = [net.node(f"ord-circle{n}", "ord") for n in (1, 2, 3)]
        net.cable("ord-access", circle[0], delay_us=300, queue_us=200)
        for a, b in (*pairwise(circle), (circle[2], circle[0])):
            net.cable(a, b, delay_us=100)
        net.prefix("loop", *circle)
        self._aliases()
        self._far()

    def _aliases(self) -> None:
        """Routers that answer with another's address: the one before (A A), and the one before that (A x A)."""
        net = self.net
        for name, code, back in (("lhr-twice", "lhr", 1), ("jfk-again", "jfk", 2)):
            row = [net.node(f"{name}{n}", code) for n in range(3)]
            net.cable(f"{code}-access", row[0], alias=(row[0], row[0]))
            for n, (a, b) in enumerate(pairwise(row), 1):
                net.cable(a, b, delay_us=200, alias=(b, row[n - back]) if n == back else (b, b))
            net.prefix("hosts", self._leaf(row[2], code, name))

    def _far(self) -> None:
        last = "syd-access"
        for number in range(FAR):
            this = self.net.node(f"syd-far{number + 1}", "syd")
            self.net.cable(last, this, delay_us=400)
            last = this
        self.net.prefix("hosts", self._leaf(last, "syd", "syd-far"))
