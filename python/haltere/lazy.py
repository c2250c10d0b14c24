"""Names of a package that are loaded when first used, so that importing the package costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from haltere import extras


def names_of(
    package: str, homes: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Args:
        package: its name.
        homes: the names that each of its modules has.
        modules: modules of its own that are names, too.
    """
    home = {name: module for module, names in homes.items() for name in names}
    known = sorted({*home, *modules})

    def get(name: str) -> Any:
        try:
            if name in home:
                return getattr(import_module(f"{package}.{home[name]}"), name)
            if name in modules:
                return import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            raise extras.explained(error) or error from None
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: known
