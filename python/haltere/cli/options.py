"""Makes the options of a command of the fields of dataclasses, so that what several commands take is stated once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

from haltere.adhoc import moves
from haltere.adhoc.conditions import About, Conditions, PathConditions, option_name, refuse_beside_paths, stated
from haltere.cli import complete

Command = Callable[..., None]


def fills(command: Command) -> Command:
    """Replace each parameter whose type is a dataclass of options by an option for each of its fields.

    Each field is annotated as typer wants it, or is itself such a dataclass. The command is called with an object of
    the class. The default of the parameter, if it has one, has the defaults of the options.
    """
    groups: dict[str, type[Any]] = {}
    parameters = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if _holds_options(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            default = None if parameter.default is parameter.empty else parameter.default
            parameters += _fields(parameter.annotation, default)
        else:
            parameters.append(_by_name(parameter))

    def called(**values: Any) -> None:
        made = {name: _made(kind, values) for name, kind in groups.items()}
        command(**values, **made)

    return _signed(called, command, parameters)


def _holds_options(kind: object) -> bool:
    if not isinstance(kind, type) or not is_dataclass(kind):
        return False
    hints = get_type_hints(kind, include_extras=True)
    return all(_is_option(hint) or _holds_options(hint) for hint in hints.values())


def _is_option(hint: object) -> bool:
    return get_origin(hint) is Annotated and any(isinstance(one, ParameterInfo) for one in get_args(hint)[1:])


def _fields(kind: type[Any], given: object) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        if _holds_options(hints[field.name]):
            found += _fields(hints[field.name], None if given is None else getattr(given, field.name))
            continue
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        default = default if given is None else getattr(given, field.name)
        named = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(field.name, named, default=default, annotation=hints[field.name]))
    return found


def _made(kind: type[Any], values: dict[str, Any]) -> Any:
    """Take the values of a dataclass's fields out of those that were given, and return its object."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{
            field.name: _made(hints[field.name], values)
            if _holds_options(hints[field.name])
            else values.pop(field.name)
            for field in fields(kind)
        }
    )


def _signed(called: Command, command: Command, parameters: list[inspect.Parameter]) -> Command:
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


def takes(defaults: Conditions, *, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Replace a command's parameter `conditions` by an option for each field of the class of `defaults`.

    Other parameters are replaced as `fills` does.

    The command is called with `conditions`: `defaults` with what was given in their place. Fields in `without` are no
    options of this command.
    """
    known = [field.name for field, about in stated(type(defaults)) if field.name not in without and not about.key]

    def decorate(plain: Command) -> Command:
        command = fills(plain)

        def called(context: typer.Context, **values: Any) -> None:
            given = {name: values.pop(name) for name in known if name != "queues"}
            given = {name: value for name, value in given.items() if _was_given(context, name)}
            given.update({name: given[name] or () for name in moves.WORDS if name in given})
            if "queues" in known and len(given.get("queue") or ()) > 1:
                given["queues"] = given.pop("queue")
            elif "queues" in known and "queue" in given:
                (given["queue"],) = given["queue"]
            if "paths" in given:
                refuse_beside_paths(given)
                given["paths"] = [PathConditions.parse(text) for text in given["paths"]]
            command(conditions=replace(defaults, **given), **values)

        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        parameters = [context]
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            parameters += _options(defaults, known) if parameter.name == "conditions" else [_by_name(parameter)]
        return _signed(called, command, parameters)

    return decorate


_OPTIONS = {"exchanges": "ixp", "module": "ask", "names": "table"}
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
    options: dict[str, str] = {}
    for word in ("", *words):
        command = getattr(command, "commands", {}).get(word, command)
        options |= {one.name: max(one.opts, key=len) for one in command.params if one.param_type_name == "option"}

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
    hints, several = get_type_hints(type(defaults)), "queues" in known
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.name in ("paths", *moves.WORDS) else getattr(defaults, field.name),
            annotation=_option(
                option_name(field, about),
                _with_queues(about) if several and field.name == "queue" else about,
                list[str] | None if several and field.name == "queue" else hints[field.name],
                getattr(defaults, field.name),
            ),
        )
        for field, about in stated(type(defaults))
        if field.name in known and field.name != "queues"
    ]


def _with_queues(about: About) -> About:
    return replace(about, help=f"{about.help} If it is given again, each contender runs over each queue.")


def _option(name: str, about: About, kind: Any, default: object) -> Any:
    several = name == "--path" or name.removeprefix("--") in moves.WORDS
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
            autocompletion=complete.OF_FIELDS.get(name.removeprefix("--")),
        ),
    ]
