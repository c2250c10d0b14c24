"""One transfer, point to point: all treatments without random loss, long objects and short ones."""

from __future__ import annotations

from haltere.claims import Evidence, Verdict, ahead, all_of, claim, exceeds, reading, remark
from haltere.claims.comparison import complete
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import mean

from .contenders import (
    CENTRE,
    CUBIC,
    GOOGLE,
    OF_2017,
    OLD_CUBIC,
    PAPER,
    QUEUES,
    QUICS,
    SHORT,
    SUMMARY,
    TCPS,
    TODAY,
    UNSET_CUBIC,
    UNSET_NEWRENO,
    Family,
    by_queue,
    lines,
    lossless,
)


def leads(tables: Tables, family: Family) -> list[Evidence]:
    """QUIC against the fastest TCP without loss, and whether its lead over TCP CUBIC grows with the size."""
    parts = []
    for quic in family.quics:
        found = {tcp: lossless(tables, quic, tcp, family).pooled() for tcp in family.tcps}
        fastest = max(found, key=lambda tcp: found[tcp].value)
        metric = lossless(tables, quic, fastest, family).metric
        parts.append(ahead(f"{quic} ÷ {fastest}, the fastest of {len(family.tcps)} TCPs", found[fastest], metric))
        sizes = lines(tables, family.experiment, "size", family.sizes, quic, family.cubic)
        small = sizes.within({"size": ["10kB"]})
        for size in family.long:
            change = small.minus(sizes.within({"size": [size]}))
            name = f"{quic} ÷ {family.cubic}: the ratio at 10 kB ÷ that at {quantities.text(size)}"
            parts.append(exceeds(name, change, 1.0))
    return parts


def other_queues(tables: Tables, quic: str, tcp: str) -> list[Evidence]:
    """QUIC's completion times over TCP's with other queues than that of the centre."""
    parts = []
    for queue in QUEUES:
        found = by_queue(tables, quic, tcp, queue)
        told = reading(found.pooled(), found.metric)
        parts.append(remark(f"{quic} ÷ {tcp}, 10 000 kB, a queue of {queue}", told))
    return parts


@claim(
    "Point to point and without loss QUIC finishes before every TCP variant, and its lead grows with the bytes moved.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def before_every_tcp(tables: Tables) -> Verdict:
    """For each QUIC and every TCP variant, QUIC's completion time must be ahead in the geometric mean over all
    treatments without random loss. The lead grows if, against TCP CUBIC, the ratio QUIC ÷ TCP at 10 000 and at
    210 000 kB is smaller than at 10 kB. Other queues than the one of the centre are remarks."""
    return all_of(*leads(tables, TODAY), *(part for quic in QUICS for part in other_queues(tables, quic, CUBIC)))


@claim(
    "With the stacks of 2017: without loss QUIC finishes before every TCP variant, and its lead grows.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def before_every_tcp_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCPs of ns-3 of 2017, up to 10 000 kB. Other
    queues, and TCP with the segments and buffers that ns-3 has unless a script sets them, are remarks."""
    parts = [*leads(tables, OF_2017), *other_queues(tables, GOOGLE, OLD_CUBIC)]
    for tcp in (UNSET_NEWRENO, UNSET_CUBIC):
        sizes = lines(tables, "era", "size", OF_2017.sizes, GOOGLE, tcp)
        for size in ("10kB", "1000kB", "10000kB"):
            told = reading(sizes.within({"size": [size]}).pooled(), sizes.metric)
            parts.append(remark(f"{GOOGLE} ÷ {tcp}, {quantities.text(size)}", told))
    return all_of(*parts)


@claim(
    "QUIC's curve has the shape of TCP CUBIC's, the algorithm being the same.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def shape_of_cubic(tables: Tables) -> Verdict:
    """How unlike the shapes of two curves are, the standard deviation of the log ratio over the treatments without
    random loss tells, whatever their distance. It must be smaller against TCP CUBIC than against each other variant,
    or alike to the smallest: no variant's may be smaller by more than 0.02."""
    parts = []
    for quic in QUICS:
        spread = {tcp: lossless(tables, quic, tcp).matrix.std(axis=0) for tcp in TCPS}
        others = {tcp: mean(values - spread[CUBIC] + 0.02) for tcp, values in spread.items() if tcp != CUBIC}
        nearest = min(others, key=lambda tcp: others[tcp].value)
        what = f"{quic}: how much farther the shape of {nearest} is than CUBIC's, 0.02 added"
        parts.append(exceeds(what, others[nearest], 0.0, "±"))
        parts.append(remark(f"{quic}: standard deviation against {CUBIC}", f"{spread[CUBIC].mean():.3f}"))
    return all_of(*parts)


def nearer_the_limit(tables: Tables, family: Family) -> list[Evidence]:
    """Long objects: TCP CUBIC's completion time over QUIC's, and what share of the link's rate QUIC's goodput is."""
    parts = []
    for quic in family.quics:
        found = lines(tables, family.experiment, "size", family.long, quic, family.cubic)
        sizes = " and ".join(quantities.text(size) for size in family.long)
        parts.append(ahead(f"Completion time, {quic} ÷ {family.cubic}, {sizes}", found.pooled(), found.metric))
        over = {**CENTRE, "size": family.long}
        for name in (quic, family.cubic):
            values = tables.values(family.experiment, "goodput", {**over, "protocol": [name]})
            _, matrix = complete(tables, family.experiment, values, over)
            parts.append(remark(f"Goodput of {name}, {sizes}", f"{matrix.mean():.1f} of 100 Mbit/s"))
    return parts


@claim(
    "QUIC opens its window more aggressively than TCP CUBIC and runs closer to the link's limit.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def closer_to_the_limit(tables: Tables) -> Verdict:
    """Objects of 10 000 and 210 000 kB at the centre, which are long enough to meet the limit: the completion time of
    each QUIC must be ahead of TCP CUBIC's."""
    return all_of(*nearer_the_limit(tables, TODAY))


@claim(
    "With the stacks of 2017: QUIC runs closer to the link's limit than TCP CUBIC.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def closer_to_the_limit_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCP CUBIC of ns-3 of 2017, at 10 000 kB."""
    return all_of(*nearer_the_limit(tables, OF_2017))


def sooner_when_short(tables: Tables, family: Family) -> list[Evidence]:
    """Objects of 10 to 500 kB at the centre: QUIC's completion time over those of NewReno and CUBIC."""
    parts = []
    for quic in family.quics:
        for tcp in (family.newreno, family.cubic):
            found = lines(tables, family.experiment, "size", SHORT, quic, tcp)
            parts.append(ahead(f"Completion time, {quic} ÷ {tcp}, 10 to 500 kB", found.pooled(), found.metric))
    return parts


@claim(
    "In shorter transfers QUIC uses the link better than traditional TCP, as it gets to higher rates sooner.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
)
def short_transfers(tables: Tables) -> Verdict:
    """Shorter transfers have 10 to 500 kB, traditional TCP is NewReno and CUBIC: at the centre the completion time of
    each QUIC must be ahead of each of both in the geometric mean over these sizes."""
    return all_of(*sooner_when_short(tables, TODAY))


@claim(
    "With the stacks of 2017: in shorter transfers QUIC uses the link better than traditional TCP.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
)
def short_transfers_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCPs of ns-3 of 2017."""
    return all_of(*sooner_when_short(tables, OF_2017))
