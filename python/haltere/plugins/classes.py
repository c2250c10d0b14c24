"""Classes of Python as code of users: how they are found in a file, and what they say of themselves."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from haltere.errors import nearest

METHODS = {
    "on_established": 1,
    "on_sent": 1,
    "on_ack": 1,
    "on_echo": 1,
    "on_arrival": 1,
    "on_lost": 1,
    "on_congestion": 1,
    "on_undo": 0,
    "on_recovered": 1,
    "set_mss": 2,
}
"""The methods that a congestion control may have, and how many values each is given (`on_ack` or one more)."""


@dataclass(frozen=True)
class Kind:
    """A kind of code, and the methods of its classes. `word` is the core's word for the kind.

    Attributes:
        signs: the methods by any of which a class of the kind is known, with their arguments.
        methods: the methods that it may have, and how many values each is given.
        needed: the methods that it must have.
        flags: the attributes that say what it needs of its surroundings.
        compiles: whether `haltere.compiled` compiles it.
    """

    word: str
    signs: Mapping[str, str]
    methods: Mapping[str, int]
    needed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    compiles: bool = False

    @property
    def right(self) -> str:
        """The needs of a class, in words."""
        return f"a {self.word} needs {' and '.join(self.needed)}"


CONTROL = Kind(
    "congestion control",
    {"on_ack": "self, ack", "on_congestion": "self, event"},
    METHODS,
    ("on_ack", "on_congestion"),
    ("needs_ecn", "l4s", "coupled", "heeds_slow_start", "prompt_rtts"),
    compiles=True,
)
SCHEDULER = Kind(
    "path scheduler",
    {"pick": "self, paths, demand, now"},
    {"pick": 3, "on_given": 3, "on_blocked": 2},
    ("pick",),
    ("ignores_demand",),
)
QUEUE = Kind(
    "queue discipline",
    {"enqueue": "self, packet, queue", "next_band": "self, queue", "dequeue": "self, packet, queue"},
    {"enqueue": 2, "next_band": 1, "dequeue": 2, "ready_at": 1},
)
KINDS = {kind.word: kind for kind in (CONTROL, SCHEDULER, QUEUE)}
COMPILED = "__haltere_compiled__"
"""The attribute that `haltere.compiled` gives a class."""


class parameter:  # noqa: N801 it is written like a function, as `dataclasses.field` is
    """A number by which code can be tuned: `+gain=1.5` behind its file's name in a contender.

    An attribute of a class; what `self.gain` is in its methods is the number.

    >>> gain = parameter(1.0, "segments that a round trip adds", least=0.1, most=100)
    """

    def __init__(self, default: float, meaning: str, *, least: float = -1e12, most: float = 1e12) -> None:
        self.default, self.meaning, self.least, self.most = float(default), meaning, float(least), float(most)


@dataclass(frozen=True)
class Declared:
    """A parameter of a class, as the core registers it."""

    name: str
    default: float
    least: float
    most: float
    summary: str


@dataclass(frozen=True)
class Described:
    """The description of a class by itself. `make` takes what its kind is made with and the values of the parameters.

    Attributes:
        flags: those of its kind's `flags` that are true.
        burst: for a path scheduler, the bytes that a path gets for a pick; 0 means one packet.
    """

    cls: type
    make: Callable[[Any, Sequence[tuple[str, float]]], Any]
    label: str
    summary: str
    reference: str = ""
    flags: frozenset[str] = frozenset()
    burst: int = 0
    parameters: list[Declared] = field(default_factory=list)
    wants_compiled: bool = False
    compiled: Any = None
    """Its functions, once it is compiled."""


def describe(source: Path, name: str, kind: Kind) -> Described:
    """Return what the class of a kind in a file says of itself. `name` stands for the file in messages.

    Raises:
        ValueError: if the file is wrong, or holds none or several; the message names the line and the remedy.
    """
    return of_class(_class(_module(source, name), name, kind), name, kind)


def _module(source: Path, name: str) -> ModuleType:
    module = ModuleType(f"haltere_code_{source.stem}")
    module.__file__ = name
    try:
        text = source.read_text(encoding="utf-8")
        module.__dict__["__haltere_source__"] = text
        exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102 its user asked for it
    except SyntaxError as error:
        raise ValueError(f"{name}: line {error.lineno}: {error.msg}: mend it") from None
    except Exception as error:
        from haltere.plugins import reason  # noqa: PLC0415 the package imports this file

        raise ValueError(f"{name} cannot be loaded: {reason(error)}") from None
    return module


def _class(module: ModuleType, name: str, kind: Kind) -> type:
    own = [
        thing
        for thing in vars(module).values()
        if inspect.isclass(thing)
        and thing.__module__ == module.__name__
        and any(hasattr(thing, sign) for sign in kind.signs)
    ]
    if len(own) == 1:
        return own[0]
    if not own:
        joiner = " and " if len(kind.needed) > 1 else " or "
        methods = joiner.join(f"{method}({arguments})" for method, arguments in kind.signs.items())
        raise ValueError(f"{name} holds no {kind.word}: write a class with {methods}")
    names = ", ".join(thing.__name__ for thing in own)
    raise ValueError(
        f"{name} holds several {kind.word}s ({names}): leave one in this file, which is what a contender names"
    )


def of_class(cls: type, name: str, kind: Kind) -> Described:
    """Return what a class says of itself; raise `ValueError` if it is none of this kind."""
    _check_methods(cls, name, kind)
    wants_compiled = bool(getattr(cls, COMPILED, False))
    if wants_compiled and not kind.compiles:
        raise ValueError(f"{name}: a {kind.word} is not compiled: leave @haltere.compiled out, or write it in C")
    burst = getattr(cls, "burst", 0)
    if not isinstance(burst, int):
        raise ValueError(f"{name}: {cls.__name__}.burst is {burst!r}: give a whole number of bytes")
    own = {key: value for key in dir(cls) if isinstance(value := getattr(cls, key), parameter)}
    parameters = [_declared(key.replace("_", "-"), value, name) for key, value in own.items()]
    attributes = dict(zip((declared.name for declared in parameters), own, strict=True))

    def make(config: Any, values: Sequence[tuple[str, float]]) -> Any:
        made: Any = object.__new__(cls)
        for key, value in values:
            setattr(made, attributes[key], value)
        if inspect.isfunction(getattr(cls, "__init__", None)):
            made.__init__(config)
        return made

    doc = inspect.getdoc(cls)
    return Described(
        cls,
        make,
        label=str(getattr(cls, "label", cls.__name__)),
        summary=doc.splitlines()[0] if doc else cls.__name__,
        reference=str(getattr(cls, "reference", "")),
        flags=frozenset(flag for flag in kind.flags if getattr(cls, flag, False)),
        burst=burst,
        parameters=parameters,
        wants_compiled=wants_compiled,
    )


def _declared(key: str, given: parameter, name: str) -> Declared:
    finite = all(math.isfinite(number) for number in (given.least, given.most, given.default))
    if not finite or not given.least <= given.default <= given.most:
        raise ValueError(
            f"{name}: the parameter {key} has the default {given.default:g}, outside {given.least:g} to {given.most:g}"
        )
    return Declared(key, given.default, given.least, given.most, given.meaning)


def _check_methods(cls: type, name: str, kind: Kind) -> None:
    for missing in kind.needed:
        if not callable(getattr(cls, missing, None)):
            alike = nearest(missing, [key for key in vars(cls) if not key.startswith("__")])
            written = f" ({alike} is written)" if alike and alike not in kind.methods else ""
            raise ValueError(f"{name}: the class {cls.__name__} has no {missing}{written}: {kind.right}")
    for key, method in inspect.getmembers(cls, callable):
        near = None if key.startswith("_") or key in kind.methods else _meant(key, cls, kind)
        if near or (key.startswith("on_") and key not in kind.methods):
            meant = f"did you mean {near}? " if near else ""
            raise ValueError(f"{name}: nothing calls {cls.__name__}.{key}: {meant}there are {', '.join(kind.methods)}")
        if key in kind.methods:
            _check_arguments(f"{cls.__name__}.{key}", method, kind.methods[key], name, more=key == "on_ack")


def _meant(key: str, cls: type, kind: Kind) -> str | None:
    """Return the method that a name stands for by mistake: a near one that the class lacks."""
    near = nearest(key, list(kind.methods))
    alike = near is not None and difflib.SequenceMatcher(None, key, near).ratio() > 0.8
    return near if key.startswith("on_") or (alike and not hasattr(cls, str(near))) else None


def _check_arguments(which: str, method: Any, count: int, name: str, *, more: bool) -> None:
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return
    fits = [count + 1, count + 2] if more else [count + 1]
    for arguments in fits:
        try:
            signature.bind(*range(arguments))
        except TypeError:
            continue
        return
    raise ValueError(
        f"{name}: {which}{signature} does not take self and {count} value{'s' * (count != 1)}, with which it is called"
    )
