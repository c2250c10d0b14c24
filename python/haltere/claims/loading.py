"""Loads the claims of a study: from the module `claims.py`, or from the package `claims/`.

The claims of a module count in the order in which they are defined. Those of a package count module by module, in the
order in which its `__init__.py` imports the modules; those of `__init__.py` itself are the last.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from haltere.claims import Answer, Claim, Contents, Value
from haltere.claims.code import FIRST, Code
from haltere.documents import shown
from haltere.errors import InputError, Place

Item = Claim[object] | Answer | Value[object]


def load(folder: Path) -> Contents:
    """Read the claims of the study in a folder; a study without such code has none.

    Raises:
        InputError: if there is both a file and a folder, if a module cannot be imported or `__init__.py` leaves it out,
            or if two functions of a module, or two claims or two values, have the same name.
    """
    code = Code.of(folder)
    if not code.modules:
        return Contents()
    modules = _imported(code)
    found = list(_found(code, modules))
    for path in code.modules:
        _refuse_namesakes(path)
    claims = [one for one in found if isinstance(one, Claim)]
    values = [one for one in found if isinstance(one, Value)]
    _refuse_namesakes_of_modules(code, {"claims": [(one.name, one.judge) for one in claims],
                                        "values": [(one.name, one.of) for one in values]})  # fmt: skip
    return Contents(claims, next((one for one in found if isinstance(one, Answer)), None), values)


def _imported(code: Code) -> Mapping[str, ModuleType]:
    """Import the study's modules anew, and return those that are loaded by their names in the package."""
    path, folder = code.modules[0].resolve(), code.path.resolve()
    # Two studies may have one name, and a study that changed is loaded again: their modules must not be mixed.
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    name = f"haltere_claims_{folder.parent.name.replace('-', '_')}_{mark}"
    for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[loaded]
    importlib.invalidate_caches()
    inside = [str(folder)] if code.packaged else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file", place=Place(shown(code.modules[0])))
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        with _without_bytecode():
            spec.loader.exec_module(module)
    except InputError as wrong:
        place = code.place(wrong)
        raise InputError(wrong.problem, place=place, field=wrong.field, given=wrong.given, right=wrong.right) from None
    except Exception as error:
        said = str(error).replace(f"{name}.", "")
        raise InputError(f"{type(error).__name__}: {said}", place=code.place(error)) from error
    every = {one: sys.modules.get(f"{name}.{one}" if one else name) for one, _ in code.named()}
    return {one: loaded for one, loaded in every.items() if loaded is not None}


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Import modules without a folder `__pycache__` beside them: a study and an unpacked archive stay as they are."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _found(code: Code, modules: Mapping[str, ModuleType]) -> Iterator[Item]:
    """Yield what the study defines, module by module."""
    order = [*_order(code.modules[0], modules), ""] if code.packaged else [""]
    own = {module.__name__: name for name, module in modules.items()}
    seen: set[int] = set()
    for name, path in code.named():
        if name not in order and (name not in modules or any(_items(modules[name], name, own))):
            right = f"an import in {shown(code.modules[0])}, at the place that its claims have among the others"
            raise InputError(f"{FIRST} does not import the module", place=Place(shown(path)), right=right)
    for name in order:
        for one in _items(modules[name], name, own):
            if id(one) not in seen:
                seen.add(id(one))
                yield one


def _order(first: Path, modules: Mapping[str, ModuleType]) -> list[str]:
    """Return the modules that `__init__.py` imports, in the order of its statements."""
    found: dict[str, None] = {}
    for statement in ast.parse(first.read_bytes()).body:
        if not isinstance(statement, ast.ImportFrom) or statement.level != 1:
            continue
        names = [alias.name for alias in statement.names] if statement.module is None else [statement.module]
        found.update(dict.fromkeys(name for name in names if name in modules))
    return list(found)


def _items(module: ModuleType, name: str, own: Mapping[str, str]) -> Iterator[Item]:
    """Yield what a module defines, and the claims of its lists; not what it imports from another one of the study."""
    for given in vars(module).values():
        if isinstance(given, list | tuple) and given and all(isinstance(one, Claim) for one in given):
            yield from given
        elif isinstance(given, Claim | Answer | Value) and own.get(_function(given).__module__, name) == name:
            yield given


def _function(one: Item) -> Callable[..., object]:
    match one:
        case Claim():
            return one.judge
        case Answer():
            return one.sentences
        case _:
            return one.of


def _refuse_namesakes(path: Path) -> None:
    """Refuse two functions of one name: the second would silently take the place of the first claim."""
    seen: dict[str, int] = {}
    for one in ast.parse(path.read_bytes()).body:
        if not isinstance(one, ast.FunctionDef):
            continue
        if one.name in seen:
            raise InputError(
                "two functions have this name",
                place=Place(shown(path), one.lineno),
                field=one.name,
                right=f"a name of its own: line {seen[one.name]} has the other",
            )
        seen[one.name] = one.lineno


def _refuse_namesakes_of_modules(code: Code, items: Mapping[str, list[tuple[str, Callable[..., object]]]]) -> None:
    """Refuse two claims, or two values, of one name: pages and `study.toml` call them by it."""
    for what, named in items.items():
        seen: dict[str, Callable[..., object]] = {}
        for name, function in named:
            if name in seen:
                other = code.place_of(seen[name])
                right = f"a name of its own: {other} has the other"
                raise InputError(f"two {what} have this name", place=code.place_of(function), field=name, right=right)
            seen[name] = function
