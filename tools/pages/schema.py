"""A JSON Schema as a page: a section for each table and each choice, with every field, its type and its default."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


class Page:
    """The sections of one schema. `prefix` begins the targets of its sections, so that two schemas can share a site."""

    def __init__(self, schema: Schema, prefix: str) -> None:
        self.schema, self.prefix = schema, prefix
        self.definitions: dict[str, Schema] = dict(schema.get("$defs", {}))

    def markdown(self) -> str:
        """Return the page's text without its heading: the top level, the tables and choices, and the plain values."""
        plain = [name for name in self._reachable() if not self._has_section(name)]
        parts = ["## The top level\n", *self._fields(self.schema)]
        for name in self._reachable():
            if self._has_section(name):
                parts += self._section(name)
        if plain:
            parts.append("## Values\n")
            for name in plain:
                parts += [f"({self._target(name)})=\n### {name}\n", self._values(self.definitions[name]) + "\n"]
        return "\n".join(parts)

    def _reachable(self) -> list[str]:
        """Return the definitions in the order in which a reader meets them."""
        found: list[str] = []
        waiting = list(_references(self.schema))
        while waiting:
            name = waiting.pop(0)
            if name not in found:
                found.append(name)
                waiting = [*_references(self.definitions[name]), *waiting]
        return found

    def _has_section(self, name: str) -> bool:
        definition = self.definitions[name]
        return "properties" in definition or bool(_choices(definition)) or bool(_tables(definition))

    def _section(self, name: str) -> Iterator[str]:
        definition = self.definitions[name]
        yield f"({self._target(name)})=\n## {name}\n"
        if "description" in definition:
            yield _prose(definition["description"]) + "\n"
        if used := self._used_by(name):
            yield f"In: {', '.join(used)}.\n"
        if "properties" in definition:
            yield from self._fields(definition)
        for choice in _choices(definition):
            yield f"`{json.dumps(choice['const'])}`\n: {_prose(choice.get('description', ''))}\n"
        if tables := _tables(definition):
            yield f"Either {self._values({'anyOf': _scalars(definition)})}, or a table:\n"
            for table in tables:
                named = table["properties"].get("discipline", {}).get("const")
                if named:
                    yield f"### `{named}`\n\n{_prose(table.get('description', ''))}\n"
                yield from self._fields(table)

    def _fields(self, table: Schema) -> Iterator[str]:
        required = table.get("required", [])
        for name, field in table.get("properties", {}).items():
            kind = self._values(field)
            default = field.get("default")
            notes = [kind, "required" if name in required else ""]
            if default is not None and default not in ("", [], {}) and "default" not in field.get("description", ""):
                notes.append(f"default `{json.dumps(default)}`")
            said = _prose(field.get("description") or self._described(field))
            yield f"`{name}` — {', '.join(note for note in notes if note)}\n: {said or 'See there.'}\n"

    def _described(self, field: Schema) -> str:
        (name, *more) = _references(field) or [""]
        return "" if more or not name else str(self.definitions[name].get("description", ""))

    def _values(self, field: Schema) -> str:
        """Return what a field takes, in words."""
        if "$ref" in field:
            name = field["$ref"].removeprefix("#/$defs/")
            return f"[{name}](#{self._target(name)})"
        if "const" in field:
            return f"`{json.dumps(field['const'])}`"
        if "enum" in field:
            return _either([f"`{json.dumps(value)}`" for value in field["enum"]])
        if options := [one for one in field.get("anyOf", field.get("oneOf", [])) if one.get("type") != "null"]:
            return _either(list(dict.fromkeys(self._values(one) for one in options)))
        kinds = field.get("type", [])
        kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        words = [self._kind(kind, field) for kind in kinds] or ["any value"]
        return _either(words) + _examples(field) + _bounds(field)

    def _kind(self, kind: str, field: Schema) -> str:
        if kind == "array":
            least = ", not empty" if field.get("minItems") else ""
            return f"a list of {self._values(field.get('items', {}))}{least}"
        if kind == "object" and isinstance(field.get("additionalProperties"), Mapping):
            return f"a table whose values are {self._values(field['additionalProperties'])}"
        words = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "`true` or `false`"}
        return words.get(kind, "a table")

    def _used_by(self, name: str) -> list[str]:
        places = [*self.definitions.items(), ("", self.schema)]
        return [
            f"`{field}` of [{place}](#{self._target(place)})" if place else f"`{field}`"
            for place, table in places
            for field, value in table.get("properties", {}).items()
            if name in _references(value)
        ]

    def _target(self, name: str) -> str:
        return f"{self.prefix}-{name.lower()}"


def _references(part: Any) -> list[str]:
    if isinstance(part, Mapping):
        own = [part["$ref"].removeprefix("#/$defs/")] if isinstance(part.get("$ref"), str) else []
        nested = (value for key, value in part.items() if key != "$defs")
        return list(dict.fromkeys([*own, *(name for value in nested for name in _references(value))]))
    return [name for one in part for name in _references(one)] if isinstance(part, list) else []


def _choices(definition: Schema) -> list[Schema]:
    return [one for one in definition.get("oneOf", []) if "const" in one]


def _tables(definition: Schema) -> list[Schema]:
    return [one for one in definition.get("anyOf", []) if "properties" in one]


def _scalars(definition: Schema) -> list[Schema]:
    return [one for one in definition.get("anyOf", []) if "properties" not in one]


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _examples(field: Schema) -> str:
    shown = ", ".join(f"`{json.dumps(one)}`" for one in field.get("examples", []))
    return f", such as {shown}" if shown else ""


def _bounds(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if high is not None:
        return f" from {low or 0} to {high}"
    return f" from {low}" if low else ""


def _prose(text: str) -> str:
    """Return a description as Markdown in one paragraph: links to Rust's items become their names."""
    text = re.sub(r"\[`?(?:\w+::)*(\w+)`?\](?!\()", r"\1", " ".join(text.split()))
    text = text.replace("<", "&lt;").replace("*", r"\*")
    return (
        text[:1].upper() + text[1:] + ("" if text.endswith((".", ":", "")) and text[-1:] in ".:" else ".")
        if text
        else ""
    )
