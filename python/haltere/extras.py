"""Packages that not every installation has: which extra of haltere brings each, and what is said where one is missing.

`pip install haltere` brings what `haltere compare` needs. Modules that a comparison loads take the large packages by
`module`, which imports them when they are first used; all others import them at their top. Whichever way a missing one
is met, the command line and `haltere.lazy` say which extra brings it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from haltere.errors import InputError

EXTRAS = {
    "numpy": "study",
    "polars": "study",
    "scipy": "study",
    "matplotlib": "figures",
    "rocrate": "archive",
}
"""The extra that brings each package; `pyproject.toml` has the versions."""


class MissingExtraError(InputError, ImportError):
    """A package is needed that is not installed; `right` is the command that installs it."""


def remedy(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'haltere[{extra}]'"


def missing(package: str) -> MissingExtraError:
    """Return the error for a package of `EXTRAS` that is not installed."""
    right = f"{remedy(EXTRAS[package])}, or {remedy('all')} for tables, figures, reports and archives"
    return MissingExtraError(f"this needs {package}, which is not installed", right=right)


def explained(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return the error that names the extra, if a package of one is missing."""
    package = (error.name or "").partition(".")[0]
    return missing(package) if package in EXTRAS else None


class _Module(ModuleType):
    """A module that is imported when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module
            raise AttributeError(name)
        try:
            found = getattr(import_module(self.__name__), name)
        except ModuleNotFoundError as error:
            raise explained(error) or error from None
        setattr(self, name, found)
        return found


def module(name: str) -> Any:
    """Return a module that is imported when something of it is first used.

    Raises:
        MissingExtraError: then, if its package is not installed.
    """
    return _Module(name)
