"""The code of a study's claims: where it is, the modules that it has, and where in them something failed."""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from haltere.documents import shown
from haltere.errors import InputError, Place

FILE, PACKAGE = "claims.py", "claims"
FIRST = "__init__.py"
"""The module of a package that is loaded first, and imports the others in the order of their claims."""


@dataclass(frozen=True)
class Code:
    """The code of a study's claims.

    Attributes:
        path: the file `claims.py` or the folder `claims`, a package.
        modules: the file alone, or the modules of the folder by path, `__init__.py` first; none if there are no claims.
    """

    path: Path
    modules: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Code:
        """Find the code of the claims of the study in a folder.

        Raises:
            InputError: if there is both a file and a folder, or the folder has no `__init__.py`.
        """
        file, package = folder / FILE, folder / PACKAGE
        inside = sorted(package.rglob("*.py"), key=lambda module: (module.name != FIRST, module))
        if not inside:
            return cls(file, (file,) if file.exists() else ())
        if file.exists():
            raise InputError(
                "the study has its claims in a file and in a folder",
                place=Place(shown(file)),
                given=f"{shown(file)} and {shown(package)}",
                right="one of the two: the other is to be removed",
            )
        if not (package / FIRST).exists():
            raise InputError(
                f"the folder has no {FIRST}",
                place=Place(shown(package)),
                right=f"a file {FIRST} that imports the modules in the order of their claims",
            )
        return cls(package, (package / FIRST, *(one for one in inside if one != package / FIRST)))

    @property
    def packaged(self) -> bool:
        """Whether it is a package."""
        return self.path.name == PACKAGE

    def named(self) -> Iterator[tuple[str, Path]]:
        """Yield each module with its name in the package: `""` of the file or of `__init__.py`, `shared`, `a.b`."""
        for module in self.modules:
            parts = module.relative_to(self.path).with_suffix("").parts if self.packaged else ()
            yield ".".join(part for part in parts if part != "__init__"), module

    def text(self) -> str:
        """Return the texts of all modules, those of a package with their names."""
        each = [(name, module.read_text(encoding="utf-8")) for name, module in self.named()]
        return "\n".join(f"# {name}\n{text}" if self.packaged else text for name, text in each)

    def meaning(self) -> str:
        """Return a text that changes if any module does, but not with comments and layout."""
        each = [(name, ast.dump(ast.parse(module.read_bytes()))) for name, module in self.named()]
        return "\n".join(f"{name} {tree}" if self.packaged else tree for name, tree in each)

    def place(self, error: Exception, function: Callable[..., object] | None = None) -> Place:
        """Return where an exception left the study's own code.

        If it did not pass through that code, the place is that of `function`, or the path.
        """
        passed = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            passed.append((error.filename, error.lineno))
        for file, line in reversed(passed):
            own = self._own(file)
            if own is not None:
                return Place(shown(own), line)
        return Place(shown(self.path)) if function is None else self.place_of(function)

    def place_of(self, function: Callable[..., object]) -> Place:
        """Return where a function of the study is defined, or the path if it is defined elsewhere."""
        code = inspect.unwrap(function).__code__
        own = self._own(code.co_filename)
        return Place(shown(self.path)) if own is None else Place(shown(own), code.co_firstlineno)

    def _own(self, file: str) -> Path | None:
        """Return the module of the study that is in this file."""
        there = Path(file).resolve()
        return next((module for module in self.modules if module.resolve() == there), None)
