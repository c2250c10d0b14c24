"""All that may be varied in a study, as data: switches and bundles of its contenders, and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Literal

from haltere import core
from haltere.errors import InputError, nearest
from haltere.study import Study
from haltere.study.model import When

FACTORS = (0.25, 4.0)
"""A number that is a default is multiplied by each of these."""


@dataclass(frozen=True)
class Switching:
    """A switch of one transport's contenders at another value, as it is written: `+initial-window=40`."""

    transport: str
    name: str
    text: str

    @property
    def shown(self) -> str:
        """The change as it is shown and as `[when]` has it: `tcp+initial-window=40`."""
        return f"{self.transport}{self.text}"


def transport_of(contender: str) -> str:
    """Return the transport of a contender's text: `quic` of `quic@model/cubic`."""
    return str(core.contender(contender)["transport"])


@cache
def bundles(transport: str) -> tuple[Switching, ...]:
    """Return the bundles of a transport, each as a switch."""
    return tuple(
        Switching(transport, "as", f"+as={one['name']}")
        for one in core.algorithms().get("bundles", [])
        if transport in one["applies_to"]
    )


@cache
def switches(transport: str) -> tuple[Switching, ...]:
    """Return all switches of a transport at values other than the default, those that are on or off first.

    A number is taken at `FACTORS` times its default. Values that a contender refuses are no harm: `switched` says so.
    """
    family = transport.removeprefix("mp")
    rows = [one for one in core.algorithms()["switches"] if one["transport"] in (transport, family)]
    made = [Switching(transport, str(one["name"]), text) for one in rows for text in _texts(one)]
    return tuple(sorted(dict.fromkeys(made), key=lambda one: "=" in one.text))


def _texts(row: dict[str, Any]) -> list[str]:
    name, default = str(row["name"]), str(row["default"])
    if row["type"] == "on/off":
        return [f"-{name}" if default == "on" else f"+{name}"]
    texts = [] if default == "off" else [f"-{name}"]
    if row["type"] == "one of":
        values = str(row["values"]).removeprefix("one of ").split(", ")
        return [*texts, *(f"+{name}={value}" for value in values if value != default)]
    found = core.quantity(default)
    return [*texts, *(f"+{name}={value}" for value in _scaled(*found))] if found else texts


def _scaled(number: float, unit: str) -> list[str]:
    values = [max(1, round(number * factor)) for factor in FACTORS]
    return [f"{value}{unit}" for value in dict.fromkeys(values) if value != number]


@cache
def switched(contender: str, switching: Switching, fidelity: str) -> str | None:
    """Return a contender with a switch in the place of its own of that name.

    None if it is of another transport, if it cannot have the switch, or if the switch changes nothing in it.
    """
    found = core.changed({"contender": contender}, "switch", asdict(switching), fidelity)
    return None if found is None else str(found["contender"])


Kind = Literal["bundle", "queue", "loss", "interface", "mark", "size", "switch"]
DISCIPLINES = ("fq_codel", "codel", "pie", "1000p")
QUEUES: tuple[float | str, ...] = (0.25, 0.5, 2.0, 4.0, *DISCIPLINES)
LOSSES: tuple[float | str, ...] = (4.0, 16.0, "none", "uniform")
SIZES = (0.25, 4.0)
INTERFACES: tuple[float | str, ...] = ("bql", "no-bql", 0.25, 4.0)
MARKS = (0, 8)
"""Best effort, and what RFC 1349 calls for maximum throughput, which `pfifo_fast` sends last."""


@dataclass(frozen=True)
class Change:
    """One thing done differently in every treatment of a study.

    Attributes:
        name: as it is shown, such as `tcp+initial-window=40` or `queue × 4`.
        varies: what it is a value of; two changes of the same are never combined.
        given: what is put in the place, or the factor by which it is multiplied.
    """

    name: str
    kind: Kind
    varies: str
    given: Switching | float | str = field(repr=False)

    def applied(self, scenario: dict[str, Any], fidelity: str) -> dict[str, Any] | None:
        """Return the scenario with this change; None if it changes nothing there."""
        if isinstance(self.given, Switching):
            return core.changed(scenario, "switch", asdict(self.given), fidelity)
        return core.changed(scenario, self.kind, int(self.given) if self.kind == "mark" else self.given, fidelity)


def with_switches(scenario: dict[str, Any], texts: Sequence[str], fidelity: str) -> dict[str, Any] | str:
    """Return a scenario with switches, written as `tcp+initial-window=40`, in all contenders that can have them.

    A switch that no contender of the scenario can have is returned instead.
    """
    for text in texts:
        found = next((one for name in _transports(scenario) if (one := _parsed(text, name, _names(name)))), None)
        made = None if found is None else _of_switch(found).applied(scenario, fidelity)
        if made is None:
            return text
        scenario = made
    return scenario


def _transports(scenario: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(transport_of(name) for name in sorted(_contenders(scenario))))


def _names(transport: str) -> set[str]:
    """Return the names of a transport's switches, and that of bundles."""
    return {str(one.name) for one in switches(transport)} | {"as"}


def changes(study: Study) -> tuple[Change, ...]:
    """Return what may be varied in a study: what its table `[when]` says, or else everything that applies.

    Bundles come first, then conditions, then switches that are on or off, then values of switches.

    Raises:
        InputError: if `[when]` names a switch that no contender of the study can have, or a queue that is none.
    """
    when = study.file.when
    transports = list(dict.fromkeys(transport_of(name) for name in sorted(contenders(study))))
    return tuple(
        dict.fromkeys(
            [
                *(_of_switch(one) for name in transports for one in bundles(name) if when.switches is None),
                *map(_of_queue, QUEUES if when.queues is None else _queues(study, when.queues)),
                *map(_of_loss, LOSSES if when.losses is None else when.losses),
                *map(_of_size, SIZES if when.sizes is None else when.sizes),
                *_applying(study, map(_of_interface, INTERFACES if when.interfaces is None else when.interfaces)),
                *_applying(study, map(_of_mark, MARKS if when.marks is None else when.marks)),
                *map(_of_switch, _switches(study, when, transports)),
            ]
        )
    )


def _applying(study: Study, some: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes that change any of a study's scenarios."""
    for one in some:
        if any(one.applied(treatment.scenario, study.fidelities[0]) is not None for treatment in study.treatments):
            yield one


def _switches(study: Study, when: When, transports: Sequence[str]) -> Iterator[Switching]:
    if when.switches is None:
        every = [one for name in transports for one in switches(name)]
        yield from sorted(every, key=lambda one: "=" in one.text)
        return
    names = {name: _names(name) for name in transports}
    for index, text in enumerate(when.switches):
        found = next(
            (_parsed(text, name, names[name]) for name in transports if _parsed(text, name, names[name])), None
        )
        fits = found is not None and any(
            switched(one, found, study.fidelities[0]) is not None for one in contenders(study)
        )
        if found is None or not fits:
            path = f"when.switches[{index}]"
            known = [f"{name}{one.text}" for name in transports for one in switches(name)]
            raise InputError(
                "is no switch that changes a contender of this study",
                place=study.document.place(path),
                field=path,
                given=text,
                right=nearest(text, known)
                or f"a transport of the study ({', '.join(transports)}) and a switch of it, "
                "such as tcp+pacing (see haltere algorithms)",
            )
        yield found


def _queues(study: Study, given: Sequence[float | str]) -> Iterator[float | str]:
    for index, one in enumerate(given):
        if isinstance(one, str):
            try:
                core.link_config({"rate": "1Mbit/s", "delay": "1ms", "queue": one})
            except core.ScenarioProblem as problem:
                path = f"when.queues[{index}]"
                raise InputError(
                    problem.message,
                    place=study.document.place(path),
                    field=path,
                    given=one,
                    right="a factor such as 0.25, or a queue such as 1000p or fq_codel (see haltere queues)",
                ) from None
        yield one


def _parsed(text: str, transport: str, names: set[str]) -> Switching | None:
    rest = text.removeprefix(transport)
    if rest == text or rest[:1] not in ("+", "-"):
        return None
    name = rest[1:].partition("=")[0]
    return Switching(transport, name, rest) if name in names else None


def contenders(study: Study) -> set[str]:
    """Return all contenders of a study's scenarios."""
    return set[str]().union(*(_contenders(treatment.scenario) for treatment in study.treatments))


def _contenders(part: Any) -> set[str]:
    own = {part["contender"]} if isinstance(part, dict) and isinstance(part.get("contender"), str) else set[str]()
    inside: Iterable[Any] = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return own.union(*(_contenders(one) for one in inside))


def _of_switch(one: Switching) -> Change:
    kind: Kind = "bundle" if one.name == "as" else "switch"
    return Change(one.shown, kind, f"{one.transport} {one.name}", one)


def _of_queue(given: float | str) -> Change:
    name = f"queue {_times(given)}" if isinstance(given, float) else f"queue {given}"
    return Change(name, "queue", "queue", given)


def _of_loss(given: float | str) -> Change:
    name = f"losses in bursts of {given:g}" if isinstance(given, float) else f"losses {given}"
    return Change(
        {"losses none": "no losses", "losses uniform": "independent losses"}.get(name, name), "loss", "loss", given
    )


def _of_size(given: float) -> Change:
    return Change(f"size {_times(given)}", "size", "size", given)


def _of_interface(given: float | str) -> Change:
    if isinstance(given, float):
        return Change(f"ring {_times(given)}", "interface", "ring", given)
    name = "byte queue limits" if given == "bql" else "no byte queue limits"
    return Change(name, "interface", "byte queue limits", given)


def _of_mark(given: int) -> Change:
    return Change(f"ToS {given}", "mark", "ToS", float(given))


def _times(factor: float) -> str:
    return f"× {factor:g}" if factor >= 1 or round(1 / factor) * factor != 1 else f"× 1/{round(1 / factor)}"
