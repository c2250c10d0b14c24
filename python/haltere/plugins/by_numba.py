"""Classes of Python compiled by numba: `@haltere.compiled` above a class makes its methods machine code.

The attributes that `__init__` sets are the fields of the state: numbers and booleans alone. A field that is a whole
number in `__init__` stays one: Python would let it become a float, a field would lose its fraction, and so that is
refused. The methods are compiled as functions of this state and of the event; a method may call others of its class.
`__init__` itself runs as plain Python, once for each controller.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from haltere.plugins.classes import METHODS, Described

HEADER = Path(__file__).parent / "include" / "haltere.h"
_C_TYPES = {"int64_t": np.int64, "uint32_t": np.uint32, "bool": np.bool_}
_EVENTS = {
    "on_established": "haltere_established",
    "on_sent": "haltere_sent",
    "on_ack": "haltere_ack",
    "on_echo": "haltere_echo",
    "on_arrival": "haltere_arrival",
    "on_lost": "haltere_lost",
    "on_congestion": "haltere_congestion",
}
_DECISIONS = ("window", "ssthresh", "pacing_rate", "send_quantum", "ask", "owns_recovery", "startup")
"""The attributes that are decisions, by the names of `haltere_control`."""
_WHOLE = "is a whole number"


@dataclass(frozen=True)
class Functions:
    """The machine code of a class, by the names of the interface, and what gives the bytes of a new state."""

    addresses: dict[str, int]
    state: Callable[[Any, Sequence[tuple[str, float]]], bytes]
    kept: tuple[Any, ...]
    """The code that the addresses point into, so that it stays."""


@cache
def layout(name: str) -> np.dtype[Any]:
    """Return the fields of a structure of `haltere.h`, as C lays them out."""
    found = re.search(rf"typedef struct \{{(?P<fields>[^}}]*)\}} {name};", HEADER.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"haltere.h has no structure {name}")
    plain = re.sub(r"/\*.*?\*/", "", found["fields"], flags=re.DOTALL)
    fields: list[tuple[str, Any]] = []
    for line in filter(None, (line.strip() for line in plain.split(";"))):
        kind, _, field = line.rpartition(" ")
        if field.startswith("*"):
            fields.append((field.lstrip("*"), np.int64))  # a pointer, which compiled code does not use
        else:
            fields.append((field, _C_TYPES.get(kind) or layout(kind)))
    return np.dtype(fields, align=True)


def functions(described: Described) -> Functions:
    """Return a class compiled.

    Raises:
        ValueError: if numba is not installed, or cannot compile it; the message names the method and the line.
    """
    try:
        import numba  # noqa: PLC0415 it takes a second to load, and may not be there
    except ImportError:
        raise ValueError(
            f"{described.label} is to be compiled, and numba is not installed: pip install numba"
        ) from None
    return _Compiler(described, numba).functions()


class _Compiler:
    def __init__(self, described: Described, numba: Any) -> None:
        self.described, self.cls, self.numba = described, described.cls, numba
        self.fields: np.dtype[Any] = self._fields()
        self.scope = self._methods()

    def functions(self) -> Functions:
        control = layout("haltere_control")
        decided = [name for name in _DECISIONS if name in (self.fields.names or ())]
        source = ["def sync(state_at, control_at):", "    state = carray(state_at, 1, dtype=STATE)[0]"]
        source += ["    control = carray(control_at, 1, dtype=CONTROL)[0]"]
        real = {name for name in decided if self.fields[name] == np.float64}
        source += [
            f"    control.{name} = {f'whole(state.{name})' if name in real else f'state.{name}'}" for name in decided
        ]
        # A request is heeded once.
        source += ["    state.ask = 0"] if "ask" in decided else []
        njit = self.numba.njit(error_model="numpy", cache=False)
        scope = {"carray": self.numba.carray, "STATE": self.fields, "CONTROL": control, "whole": njit(_whole)}
        exec("\n".join(source), scope)  # noqa: S102 made of names that are checked above
        sync = njit(scope["sync"])
        kept, addresses = [], {}
        for name in ("sync", *METHODS):
            if name != "sync" and name not in self.scope:
                continue
            entry, types = self._entry(name, sync)
            try:
                made = self.numba.cfunc(types, error_model="numpy")(entry)
            except self.numba.core.errors.NumbaError as error:
                raise ValueError(self._said(name, error)) from None
            addresses[name] = int(made.address)
            kept.append(made)
        return Functions(addresses, self._state, tuple(kept))

    def _entry(self, name: str, sync: Any) -> tuple[FunctionType, str]:
        """Return the function that the core calls for a method, and its type."""
        pointer = "voidptr"
        method = self.scope.get(name)
        scope: dict[str, Any] = {"carray": self.numba.carray, "STATE": self.fields, "METHOD": method, "sync": sync}
        if name == "sync":
            arguments, call, types = "state, control", "", f"void({pointer}, {pointer})"
        elif name == "on_undo":
            arguments, call, types = "state, control", "METHOD(own)", f"void({pointer}, {pointer})"
        elif name == "on_recovered":
            arguments, call, types = "state, now, control", "METHOD(own, now)", f"void({pointer}, int64, {pointer})"
        elif name == "set_mss":
            arguments, call = "state, mss, wire, control", "METHOD(own, mss, wire)"
            types = f"void({pointer}, int64, int64, {pointer})"
        else:
            scope["EVENT"] = layout(_EVENTS[name])
            paths, kinds = ("paths, count, ", f"{pointer}, uint64, ") if name == "on_ack" else ("", "")
            arguments, types = f"state, event, {paths}control", f"void({pointer}, {pointer}, {kinds}{pointer})"
            given = "carray(event, 1, dtype=EVENT)[0]"
            call = f"METHOD(own, {given})"
            if name == "on_ack" and len(inspect.signature(vars(self.cls)["on_ack"]).parameters) > 2:
                scope["PATH"] = layout("haltere_path")
                call = f"METHOD(own, {given}, carray(paths, count, dtype=PATH))"
        lines = [f"def entry({arguments}):", "    own = carray(state, 1, dtype=STATE)[0]", f"    {call or 'pass'}"]
        exec("\n".join([*lines, "    sync(state, control)"]), scope)  # noqa: S102 as above
        return scope["entry"], types

    def _fields(self) -> np.dtype[Any]:
        """Return the fields of a state: what `__init__` sets, on a path that is made up."""
        example = self.described.make(_Example(), [(one.name, one.default) for one in self.described.parameters])
        fields: list[tuple[str, Any]] = []
        for name, value in vars(example).items():
            if isinstance(value, bool | np.bool_):
                fields.append((name, np.bool_))
            elif isinstance(value, int | np.integer):
                fields.append((name, np.int64))
            elif isinstance(value, float):
                fields.append((name, np.float64))
            else:
                kind = type(value).__name__
                raise ValueError(
                    f"{self.cls.__name__} is to be compiled, and self.{name} is a {kind}: set it to a number "
                    "in __init__"
                )
        # Whatever a class decides for all its controllers is a field as well.
        own = {name for name, _ in fields}
        kinds = {"owns_recovery": np.bool_, "startup": np.bool_}
        fields += [(n, kinds.get(n, np.int64)) for n in _DECISIONS if n not in own and hasattr(self.cls, n)]
        if "window" not in {name for name, _ in fields}:
            raise ValueError(f"{self.cls.__name__} sets no window: set self.window in __init__")
        return np.dtype(fields, align=True)

    def _state(self, config: Any, values: Sequence[tuple[str, float]]) -> bytes:
        made = self.described.make(config, values)
        state = np.zeros(1, self.fields)
        for name in self.fields.names or ():
            state[name] = getattr(made, name)
        return state.tobytes()

    def _methods(self) -> dict[str, Any]:
        """Return the methods as functions of the state, compiled when they are first called."""
        first = next(method for name, method in vars(self.cls).items() if name == "on_ack")
        file, scope = first.__code__.co_filename, dict(first.__globals__)
        tree = ast.parse(scope["__haltere_source__"])
        own = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == self.cls.__name__)
        methods = [node for node in own.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
        names = {method.name for method in methods}
        fields = {name for name in self.fields.names or () if self.fields[name] == np.int64}
        scope |= {f"_keep_{name}": _keeps_whole(self.numba, self.cls.__name__, name) for name in fields}
        for method in methods:
            _Fields(method.args.args[0].arg, fields).visit(method)
            _Calls(method.args.args[0].arg, names).visit(method)
            method.decorator_list, method.name = [], f"_method_{method.name}"
        code = ast.fix_missing_locations(ast.Module([*methods], []))
        exec(compile(code, file, "exec"), scope)  # noqa: S102 its user asked for it
        njit = self.numba.njit(error_model="numpy", cache=False)
        for name in names:
            scope[f"_method_{name}"] = njit(scope[f"_method_{name}"])
        return {name: scope[f"_method_{name}"] for name in names}

    def _said(self, name: str, error: Exception) -> str:
        """Return what numba says, with the line of the user's file."""
        lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
        where = next((found[1] for line in lines if (found := re.search(r'\.py", line (\d+)', line))), None)
        what = next(
            (line for line in lines if not line.startswith(("Failed in", "During:", "File", ">>>", "-"))), lines[0]
        )
        what = next((line[line.index("self.") :] for line in lines if _WHOLE in line), what)
        at = f", line {where}" if where else ""
        return (
            f"{self.cls.__name__}.{name}{at}: numba cannot compile it: {what} (without @haltere.compiled it runs as "
            "plain Python)"
        )


def _whole(number: float) -> int:
    """Return a float as a decision; one that is as large as `NEVER` is `NEVER`."""
    return 9223372036854775807 if number >= 9.2e18 else int(number)


def _keeps_whole(numba: Any, cls: str, name: str) -> Callable[[Any], Any]:
    """Return a function that gives back a number; numba refuses to compile it for one that is not whole."""

    def keep(number: Any) -> Any:
        return number

    def compiled(number: Any) -> Callable[[Any], Any]:
        if isinstance(number, numba.types.Float):
            raise numba.errors.TypingError(
                f"self.{name} {_WHOLE} in {cls}.__init__ and would get a fraction here: write float(...) there, or "
                "int(...) here"
            )

        def same(number: Any) -> Any:
            return number

        return same

    numba.extending.overload(keep)(compiled)
    return keep


class _Fields(ast.NodeTransformer):
    """Turns assignments to fields that are whole numbers, `self.x = y`, into `self.x = _keep_x(y)`."""

    def __init__(self, own: str, fields: set[str]) -> None:
        self.own, self.fields = own, fields

    def _kept(self, target: ast.expr, value: ast.expr) -> ast.expr:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return ast.copy_location(ast.Tuple([self._kept(*pair) for pair in pairs], ast.Load()), value)
        if not self._is_field(target):
            return value
        keep = ast.copy_location(ast.Name(f"_keep_{target.attr}", ast.Load()), value)  # type: ignore[attr-defined]
        return ast.copy_location(ast.Call(keep, [value], []), value)

    def _is_field(self, target: ast.expr) -> bool:
        own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == self.own
        return own and target.attr in self.fields  # type: ignore[attr-defined]

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Return the assignment with its value looked at."""
        for target in node.targets:
            node.value = self._kept(target, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Return an assignment with a type, too, with its value looked at."""
        if node.value is not None:
            node.value = self._kept(node.target, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Return `self.x += y` as `self.x = _keep_x(self.x + y)`."""
        if not self._is_field(node.target):
            return node
        target = node.target
        before = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)  # type: ignore[union-attr]
        value = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        return ast.copy_location(ast.Assign([target], self._kept(target, value)), node)


class _Calls(ast.NodeTransformer):
    """Turns calls of other methods, `self.grow(x)`, into those of functions: `_method_grow(self, x)`."""

    def __init__(self, own: str, names: set[str]) -> None:
        self.own, self.names = own, names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the call as one of a function."""
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr not in self.names:
            return node
        if isinstance(called.value, ast.Name) and called.value.id == self.own:
            name = ast.copy_location(ast.Name(f"_method_{called.attr}", ast.Load()), called)
            return ast.copy_location(ast.Call(name, [called.value, *node.args], node.keywords), node)
        return node


class _Example:
    """Facts about a path that is made up, from which the kinds of a state's fields are seen."""

    mss, wire, grain, initial_window, connections = 1448, 1500, 1448, 14480, 1
    tick, phase, slow_start, paced = 4_000_000, 0, 0, False

    def random(self) -> float:
        """Return a number from [0, 1)."""
        return 0.5
