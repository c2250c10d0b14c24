"""Presets of links and cells by name, or in a file that `haltere presets NAME --toml` wrote."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from haltere.errors import ArgumentError, InputError, Place, among, as_written

FILE = ".toml"
"""How the name of a preset's file ends."""


def known_preset(name: str, field: str = "preset") -> str:
    """Return the name of a preset, or the file of one, as it was given; raise `InputError` if there is neither."""
    from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

    names = [one for preset in core.presets() for one in (preset["name"], *preset["also"])]
    if name in names or name.endswith(FILE):
        return name
    raise ArgumentError(
        "is neither a preset nor KEY=VALUE" if field == "paths" else "there is no such preset",
        field=field,
        given=as_written(name),
        right=f"a file that `haltere presets NAME --toml` wrote, or one of {among(name, names)}",
    )


def preset_table(name: str) -> tuple[str, dict[str, Any]]:
    """Return whether a preset is a `link` or a `cell`, and its table in a scenario.

    Raises:
        InputError: if there is no such preset, or its file cannot be read.
    """
    from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

    if not name.endswith(FILE):
        known_preset(name)
        of = next(one["of"] for one in core.presets() if name in (one["name"], *one["also"]))
        return of, {"preset": name}
    from haltere.documents import Document  # noqa: PLC0415 (help loads nothing heavy)

    document = Document.read(Path(name))
    tables = [of for of in ("link", "cell") if isinstance(document.data.get(of), dict)]
    if len(tables) != 1 or len(document.data) != 1:
        raise InputError(
            "holds not one table",
            place=Place(document.name),
            right="[link] or [cell], as `haltere presets NAME --toml`",
        )
    return tables[0], document.data[tables[0]]


def refuse_beside_preset(preset: str, names: Collection[str]) -> None:
    """Raise `InputError` if a field is given besides a preset whose values it cannot replace: a cell, or a file."""
    beside = [name for name in names if name not in ("preset", "backup")]
    if not beside:
        return
    if preset.endswith(FILE):
        what, right = "a file with all values", "the file alone, with this value in it"
    elif preset_table(preset)[0] == "cell":
        what, right = "a cell, which has no such link", "the preset alone, or the cell's own fields in a scenario file"
    else:
        return
    raise ArgumentError(
        f"is given besides the preset {preset}, {what}",
        field=", ".join(beside),
        right=right,
    )
