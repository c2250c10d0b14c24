"""The command line as a page: each command with its usage, its help, its arguments and its options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from haltere.cli.app import app

KINDS = {"int": "N", "float": "X", "Path": "PATH"}


def markdown() -> str:
    """Return the sections of all commands, without the page's heading."""
    return "\n".join(_sections(typer.main.get_command(app), ["haltere"], None))


def _sections(command: Any, words: list[str], parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=words[-1], parent=parent)
    name = " ".join(words)
    yield f"## `{name}`\n"
    yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```\n"
    yield _help(command.help or "") + "\n"
    for parameter in command.get_params(context):
        if not parameter.hidden:
            yield _parameter(parameter)
    for each, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _sections(inner, [*words, each], context)


def _help(text: str) -> str:
    """Return a command's help: an example that stands alone in a paragraph becomes a block of code."""
    blocks = []
    for block in inspect.cleandoc(text).split("\n\n"):
        if re.fullmatch(r"`haltere [^`]*`", block.strip()):
            blocks.append(f"```console\n$ {' '.join(block.strip()[1:-1].split())}\n```")
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


def _parameter(parameter: Any) -> str:
    argument = parameter.param_type_name == "argument"
    name = parameter.name.upper() if argument else ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if argument or parameter.is_flag else f" {parameter.metavar or _kind(parameter)}"
    said = " ".join((parameter.help or "").split())
    if parameter.show_default and parameter.default not in (None, False, (), [], ""):
        said += f" Default: `{parameter.default}`."
    if parameter.envvar:
        said += f" From the environment: `{parameter.envvar}`."
    return f"`{name}{value}`\n: {said or 'See above.'}\n".replace("<", "&lt;")


def _kind(parameter: Any) -> str:
    annotation = getattr(parameter.type_descriptor, "annotation", str)
    return KINDS.get(getattr(annotation, "__name__", ""), "TEXT")
