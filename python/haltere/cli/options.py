"""Makes the options of a command of the fields of `haltere.adhoc.conditions`, so that each condition is stated once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from haltere.adhoc.conditions import (
    MOVES,
    About,
    Conditions,
    PathConditions,
    option_name,
    refuse_beside_paths,
    refuse_beside_preset,
    stated,
)

Command = Callable[..., None]


def takes(defaults: Conditions, *, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Replace a command's parameter `conditions` by an option for each field of the class of `defaults`.

    The command is called with `conditions`: `defaults` with what was given in their place. Fields in `without` are no
    options of this command.
    """
    known = [field.name for field, about in stated(type(defaults)) if field.name not in without and not about.key]

    def decorate(command: Command) -> Command:
        def called(context: typer.Context, **values: Any) -> None:
            given = {name: values.pop(name) for name in known}
            given = {name: value for name, value in given.items() if _was_given(context, name)}
            given.update({name: given[name] or () for name in MOVES if name in given})
            if "paths" in given:
                refuse_beside_paths(given)
                given["paths"] = [PathConditions.parse(text) for text in given["paths"]]
            refuse_beside_preset(given)
            command(conditions=replace(defaults, **given), **values)

        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        parameters = [context]
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            parameters += _options(defaults, known) if parameter.name == "conditions" else [_by_name(parameter)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        return called

    return decorate


_OPTIONS = {"exchanges": "ixp", "names": "table"}
"""Arguments whose options have another name."""
_ENDS = ("", "s", "_s", "_id")
"""Ends of arguments that options lack: `experiments` is given by `--experiment`, several times."""


def option_of(words: Sequence[str]) -> Callable[[str], str | None]:
    """Return the function that says which option of a command gives an argument.

    Args:
        words: the command line, whose first words name the command.
    """
    from haltere.cli.app import app

    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    options = {one.name: max(one.opts, key=len) for one in command.params if one.param_type_name == "option"}

    def option(name: str) -> str | None:
        own = (_OPTIONS.get(name, name).removesuffix(end) for end in _ENDS)
        return next((options[one] for one in own if one in options), None)

    return option


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _by_name(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _options(defaults: Conditions, known: Collection[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(type(defaults))
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.name in ("paths", *MOVES) else getattr(defaults, field.name),
            annotation=_option(option_name(field, about), about, hints[field.name], getattr(defaults, field.name)),
        )
        for field, about in stated(type(defaults))
        if field.name in known
    ]


def _option(name: str, about: About, kind: Any, default: object) -> Any:
    several = name == "--path" or name.removeprefix("--") in MOVES
    if several:
        kind = list[str] | None
    elif get_origin(kind) is Literal:
        kind = type(get_args(kind)[0])  # a wrong word is refused later, with an error of this package
    return Annotated[
        kind,
        typer.Option(
            f"{name}/--no-{name[2:]}" if kind == bool | None else name,
            help=about.help,
            metavar="KEY=VALUE,..." if name == "--path" else "TIME[:WORD]" if several else None,
            show_default=not (default is None or isinstance(default, bool) or several),
            rich_help_panel=about.panel,
        ),
    ]
