"""The study file as types: what may stand in it, and in which words it is refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StrictInt, StrictStr, model_validator

from haltere.fidelity import NAMES, Fidelity

Scalar = str | int | float | bool

# Columns of the result tables: a factor of one of these names would hide it.
RESERVED = frozenset(
    [
        "run_id",
        "experiment",
        "treatment",
        "fidelity",
        "replication",
        "seed",
        "status",
        "error",
        "virtual_s",
        "events",
        "data_packets",
        "jain",
        "flow",
        "link",
        "direction",
        "contender",
        "pair",
    ]
)
_FACTOR = re.compile(r"[a-z][a-z0-9_]*")
_EXPERIMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Level(_Table):
    """One value of a factor: what it is called in tables, and what `{factor}` or `{factor.key}` stands for."""

    label: str
    value: Scalar
    keys: dict[str, JsonValue] = Field(default_factory=dict)


def _level(given: object) -> object:
    if isinstance(given, str | bool | int | float):
        return Level(label=str(given).lower() if isinstance(given, bool) else str(given), value=given)
    if isinstance(given, dict):
        label = given.get("label")
        if not isinstance(label, str) or not label:
            raise ValueError(
                "a level that is a table needs a label|{ label = 'bbr/cubic', first = 'bbr', second = 'cubic' }"
            )
        return Level(label=label, value=label, keys={key: value for key, value in given.items() if key != "label"})
    raise ValueError("a level is a text, a number, a boolean or a table with a label|'40Mbit/s'")


def _levels(given: object) -> object:
    if not isinstance(given, list) or not given:
        raise ValueError("a factor is a list of levels|['cubic', 'bbr']")
    return given


def _scenario(given: object) -> object:
    if not isinstance(given, dict) or not given:
        raise ValueError("a scenario is a table with topology and flows|see `haltere schema`")
    return given


def _fidelities(given: object) -> object:
    many = given if isinstance(given, list | tuple) else [given]
    known = ", ".join(f"'{name}'" for name in NAMES)
    if not many or any(name not in NAMES for name in many) or len(set(many)) < len(many):
        raise ValueError(f"is not a fidelity, nor a list of them|{known}")
    return tuple(many)


Fidelities = Annotated[tuple[Fidelity, ...], BeforeValidator(_fidelities)]
Levels = Annotated[tuple[Annotated[Level, BeforeValidator(_level)], ...], BeforeValidator(_levels)]


class Header(_Table):
    """`[study]`: what is asked, by whom, and how often every treatment is run."""

    name: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    title: StrictStr = ""
    question: StrictStr = ""
    source: StrictStr = ""
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)]
    replications: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    fidelity: Fidelities = ("model",)


class Experiment(_Table):
    """`[experiments.NAME]`: a design over factors, and the scenario that their levels are put into."""

    title: StrictStr = ""
    design: Literal["full-factorial", "one-factor-at-a-time"] = "full-factorial"
    factors: dict[str, Levels] = Field(default_factory=dict)
    centre: dict[str, Annotated[Level, BeforeValidator(_level)]] | None = None
    scenario: Annotated[dict[str, Any], BeforeValidator(_scenario)]

    @model_validator(mode="after")
    def _centre_and_design_agree(self) -> Experiment:
        if self.design == "full-factorial" and self.centre is not None:
            raise ValueError(
                "only a one-factor-at-a-time design has a centre|design = 'one-factor-at-a-time', or no centre"
            )
        if self.design == "one-factor-at-a-time" and self.centre is None:
            raise ValueError(
                "a one-factor-at-a-time design needs a centre: a level of each factor, around which the others vary"
                "|centre = { rate = '40Mbit/s' }"
            )
        return self


class StudyFile(_Table):
    """A whole study file. `variants` holds tables that are laid over the rest on request."""

    study: Header
    experiments: Annotated[dict[str, Experiment], Field(min_length=1)]
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)


def name_problem(kind: str, name: str) -> tuple[str, str] | None:
    """Return (problem, what would be right) if a factor or experiment cannot have this name."""
    if kind == "factor" and not _FACTOR.fullmatch(name):
        return f"a factor cannot be called {name!r}", "small letters, digits and _, a letter first"
    if kind == "factor" and name in RESERVED:
        return (
            f"a factor cannot be called {name!r}: the result tables have a column of that name",
            "another name, such as " + f"{name}_factor",
        )
    if kind != "factor" and not _EXPERIMENT.fullmatch(name):
        return (
            f"an {kind} cannot be called {name!r}" if kind == "experiment" else f"a {kind} cannot be called {name!r}",
            "letters, digits, - and _",
        )
    return None
