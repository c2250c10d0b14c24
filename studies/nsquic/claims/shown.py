"""The answer, and the numbers and tables that the pages show beside the claims."""

from __future__ import annotations

import itertools

import polars as pl

from haltere.claims import answer, reading, reading_of, value
from haltere.claims.comparison import compare
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval

from .contenders import (
    CENTRE,
    CUBIC,
    GOOGLE,
    OLD_CUBIC,
    PAIRS,
    QUICS,
    SIZES,
    UNSET_CUBIC,
    by_queue,
    lines,
    lossless,
)
from .dumbbell import jain, jain_of_two
from .sharing import advantage, of_100_kb


@answer
def in_short(tables: Tables) -> list[str]:
    """Where QUIC stands in the family, and what a production stack adds to the model."""
    clean = [lossless(tables, quic, CUBIC).pooled().value for quic in QUICS]
    worse = [lines(tables, "point-to-point", "loss", ["1%"], quic, CUBIC).pooled().value for quic in QUICS]
    sentences = [
        f"Point to point and without loss the three QUICs take {min(clean):.2f} to {max(clean):.2f} times as long as "
        f"TCP CUBIC, at 1 % loss {min(worse):.2f} to {max(worse):.2f} times."
    ]
    for quic in QUICS:
        alone = lossless(tables, quic, CUBIC)
        lossy = lines(tables, "point-to-point", "loss", ["1%"], quic, CUBIC)
        sentences.append(
            f"Point to point and without loss {quic} takes {reading(alone.pooled(), alone.metric)} times as long as "
            f"TCP CUBIC, at 1 % loss {reading(lossy.pooled(), lossy.metric)} times."
        )
    pairs = [(of, to, lossless(tables, of, to).pooled().value) for of, to in itertools.combinations(QUICS, 2)]
    told = "; ".join(f"{of} ÷ {to}: {value:.3f}" for of, to, value in pairs)
    sentences.append(f"The three QUICs among themselves, completion times without loss: {told}.")
    return sentences


LABELS = {"model": QUICS[0], "quinn": QUICS[1], "noq": QUICS[2]}


def at_loss(tables: Tables, tcp: str, quic: str) -> Interval:
    """TCP's completion time over QUIC's at the centre with 1 % loss."""
    over = {name: CENTRE[name] for name in ("rate", "delay", "size")}
    return compare(tables, "lossy", "completion_time", "protocol", tcp, quic, over=over).pooled()


def each(found: dict[str, Interval]) -> str:
    """The numbers of all QUICs, in one cell."""
    return "; ".join(f"{reading_of(one)} ({name})" for name, one in found.items())


@value
def beside_the_paper(tables: Tables) -> pl.DataFrame:
    """The numbers that the summary states, and ours: today, with the stacks of 2017, and with ns-3's defaults."""
    hosts = {**CENTRE, "pairs": PAIRS}
    names = {**LABELS, "TCP CUBIC": CUBIC}
    rows = [
        (
            "TCP CUBIC's transfer time ÷ QUIC's, 1 % loss", "10, paragraph 2", "10",
            each({name: at_loss(tables, CUBIC, quic) for name, quic in LABELS.items()}),
            reading_of(at_loss(tables, OLD_CUBIC, GOOGLE)), reading_of(at_loss(tables, UNSET_CUBIC, GOOGLE)),
        ),
        (
            "QUIC's receive rate ÷ TCP CUBIC's beside it, 100 kB", "10, paragraph 5", "3.6",
            each({name: of_100_kb(tables, f"{quic} beside {CUBIC}") for name, quic in LABELS.items()}),
            reading_of(of_100_kb(tables, f"{GOOGLE} beside {OLD_CUBIC}")),
            reading_of(of_100_kb(tables, f"{GOOGLE} beside {UNSET_CUBIC}")),
        ),
        (
            "Jain's index, flows of one protocol, 4 to 100 hosts", "10, paragraph 5", "near 1",
            each({name: jain(tables, "dumbbell", {"protocol": [one], **hosts}) for name, one in names.items()}),
            "–", "–",
        ),
        (
            "Jain's index of two endless flows of QUIC", "10, paragraph 6", "fair",
            each({name: jain_of_two(tables, one) for name, one in LABELS.items()}),
            "–", "–",
        ),
        (
            "QUIC's goodput ÷ TCP CUBIC's beside it, endless flows", "10, paragraph 6", "more than 2",
            each({
                name: advantage(tables, "long", {"mix": f"{one} beside {CUBIC}"}, one, CUBIC)
                for name, one in LABELS.items()
            }),
            "–", "–",
        ),
    ]  # fmt: skip
    columns = ["quantity", "section", "the paper", "here, today", "stacks of 2017", "and ns-3's defaults"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def spread(found: list[Interval]) -> str:
    """The least and the largest of some ratios: `0.72 to 0.77`."""
    values = [one.value for one in found]
    return f"{min(values):.2f} to {max(values):.2f}"


@value
def where_it_holds(tables: Tables) -> dict[str, Interval | str]:
    """The numbers of the stacks of 2017, and of queues: QUIC's completion time over TCP CUBIC's for 10 000 kB."""

    def of_all(queue: str) -> str:
        return spread([by_queue(tables, quic, CUBIC, queue).pooled() for quic in QUICS])

    return {
        "loss_2017": at_loss(tables, OLD_CUBIC, GOOGLE),
        "loss_defaults": at_loss(tables, UNSET_CUBIC, GOOGLE),
        "share_2017": of_100_kb(tables, f"{GOOGLE} beside {OLD_CUBIC}"),
        "share_defaults": of_100_kb(tables, f"{GOOGLE} beside {UNSET_CUBIC}"),
        "short_queue": of_all("100p"),
        "long_queue": of_all("4bdp"),
    }


@value
def early_data(tables: Tables) -> pl.DataFrame:
    """Completion times with 0-RTT over those without, and of TCP CUBIC with Fast Open over those without, by size."""
    pairs = {**{name: (f"{quic}+0rtt", quic) for name, quic in LABELS.items()}, "Fast Open": (f"{CUBIC}+tfo", CUBIC)}
    rows = []
    for size in SIZES[:-1]:
        over = {"size": [size]}
        found = [compare(tables, "resumed", "completion_time", "protocol", *pair, over=over) for pair in pairs.values()]
        rows.append((quantities.text(size), *(reading(one.pooled(), one.metric) for one in found)))
    return pl.DataFrame(rows, schema=["object", *pairs], orient="row")


@value
def model_to_stack(tables: Tables) -> dict[str, Interval]:
    """The model's completion times over those of each stack: without loss, at 10 % loss, and of noq's with 10 kB to the
    model's."""
    model, quinn, noq = QUICS
    lossy = {
        f"{name}_lossy": lines(tables, "point-to-point", "loss", ["10%"], model, stack).pooled()
        for name, stack in (("quinn", quinn), ("noq", noq))
    }
    return {
        "quinn": lossless(tables, model, quinn).pooled(),
        "noq": lossless(tables, model, noq).without({"size": ["10kB"]}).pooled(),
        "noq_small": lines(tables, "point-to-point", "size", ["10kB"], noq, model).pooled(),
        **lossy,
    }


@value
def beside_cubic_with_a_long_queue(tables: Tables) -> dict[str, Interval]:
    """The goodput of an endless flow of each QUIC over that of TCP CUBIC beside it, with four BDPs of queue."""
    return {
        name: advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}", "queue": "4bdp"}, quic, CUBIC)
        for name, quic in zip(("model", "quinn", "noq"), QUICS, strict=True)
    }
