"""The study file as types: the fields that it may have, and the errors for those that it may not."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StrictInt,
    StrictStr,
    Tag,
    WithJsonSchema,
    model_validator,
)

from haltere import core
from haltere.fidelity import NAMES
from haltere.results import tables
from haltere.study.sampling import MAX_BY_DISTANCE, Sampling

Scalar = str | int | float | bool

EXTENDS = "extends"
"""The field of a variant that names another one, which is laid over the study first."""
RESERVED = tables.COLUMNS
"""The columns of the result tables: a factor of one of these names would hide it."""
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
    if isinstance(given, float) and not math.isfinite(given):
        raise ValueError("is not a finite number|a number, or a text such as '40Mbit/s'")
    if isinstance(given, str | bool | int | float):
        return Level(label=str(given).lower() if isinstance(given, bool) else str(given), value=given)
    if isinstance(given, dict):
        label = given.get("label")
        if not isinstance(label, str) or not label or not label.isprintable():
            raise ValueError(
                "a level that is a table needs a label, which is a text of one line"
                "|{ label = 'bbr/cubic', first = 'bbr', second = 'cubic' }"
            )
        return Level(label=label, value=label, keys={key: value for key, value in given.items() if key != "label"})
    raise ValueError("a level is a text, a number, a boolean or a table with a label|'40Mbit/s'")


class Range(_Table):
    """A factor that a space-filling design draws from: from one quantity to another, in the unit both have."""

    start: StrictStr = Field(alias="from", description="The lower end, with its unit.")
    end: StrictStr = Field(alias="to", description="The upper end, in the same unit.")
    scale: Annotated[Literal["linear", "log"], Field(description="Where points are equally dense.")] = "log"

    @model_validator(mode="after")
    def _both_are_quantities_of_one_unit(self) -> Range:
        low, high = core.quantity(self.start), core.quantity(self.end)
        if not low or not high or low[1] != high[1]:
            raise ValueError(
                "a range goes from one quantity to another in the same unit|{ from = '1ms', to = '600ms' }"
            )
        if low[0] >= high[0] or (self.scale == "log" and low[0] <= 0):
            raise ValueError("a range goes upwards, on a log scale from above 0|{ from = '1ms', to = '600ms' }")
        return self

    def at(self, share: float) -> Level:
        """Return the level at a share (0 to 1) of the way, with three significant digits."""
        low, high = self.number(self.start), self.number(self.end)
        value = low * (high / low) ** share if self.scale == "log" else low + (high - low) * share
        text = f"{float(f'{value:.3g}'):.12g}{self.unit}"
        return Level(label=text, value=text)

    @staticmethod
    def number(text: str) -> float:
        """Return the number of an end, or of a level that `at` returned, without its unit."""
        found = core.quantity(text)
        return found[0] if found else math.nan

    @property
    def unit(self) -> str:
        """The unit of both ends."""
        found = core.quantity(self.start)
        return found[1] if found else ""


def _factor(given: object) -> object:
    if isinstance(given, dict):
        return Range.model_validate(given)
    if not isinstance(given, list) or not given:
        raise ValueError("a factor is a list of levels, or a range|['cubic', 'bbr'], or { from = '1ms', to = '600ms' }")
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


Fidelities = Annotated[
    tuple[Annotated[StrictStr, WithJsonSchema({"enum": [*NAMES], "type": "string"})], ...], BeforeValidator(_fidelities)
]
Factor = Annotated[
    Annotated[tuple[Annotated[Level, BeforeValidator(_level)], ...], Tag("levels")] | Annotated[Range, Tag("range")],
    Discriminator(lambda given: "range" if isinstance(given, Range) else "levels"),
    BeforeValidator(_factor),
]


class QueueLength(_Table):
    """`[experiments.NAME.queues]`: a queue's length from factors, all named.

    It is the packets of 1500 B that the `rate` sends in the sum of the `times`, rounded down, and at least `least`.
    """

    rate: Annotated[StrictStr, Field(description="The factor with the rate.")]
    times: Annotated[tuple[StrictStr, ...], Field(min_length=1, description="The factors with the times.")]
    least: Annotated[StrictInt, Field(ge=1, description="The shortest queue (packets).")] = 1


class Header(_Table):
    """`[study]`: name, question and source of the study, its seed, and how often every treatment is run.

    `rules` says when the rules of its claims were written, by a date or a commit: only then the report speaks of it.
    """

    name: Annotated[
        str,
        Field(
            strict=True,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
            max_length=100,
            description="Names the folder of the results.",
        ),
    ]
    title: Annotated[StrictStr, Field(description="The heading of the report.")] = ""
    question: Annotated[StrictStr, Field(description="What the study asks; the report answers it.")] = ""
    source: Annotated[StrictStr, Field(description="What it repeats, if anything.")] = ""
    rules: Annotated[StrictStr, Field(description="When the rules of its claims were written: a date or a commit.")] = (
        ""
    )
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63, description="Names all randomness, with the replication.")]
    replications: Annotated[StrictInt, Field(ge=1, le=1_000_000, description="How often every treatment is run.")]
    fidelity: Annotated[Fidelities, Field(description="Where it runs: one fidelity, or a list of them.")] = ("model",)


class Experiment(_Table):
    """`[experiments.NAME]`: a design over factors, and the scenario that their levels are put into."""

    title: Annotated[StrictStr, Field(description="Its heading in the report.")] = ""
    design: Annotated[
        Literal["full-factorial", "one-factor-at-a-time", "space-filling"],
        Field(description="Which combinations of levels are treatments."),
    ] = "full-factorial"
    points: Annotated[
        Annotated[StrictInt, Field(ge=1, le=100_000)] | None,
        Field(description="The number of treatments of a space-filling design."),
    ] = None
    sampling: Annotated[
        Sampling | None, Field(description="How a space-filling design chooses its points (default lhs).")
    ] = None
    factors: Annotated[
        dict[str, Factor],
        Field(description="What varies, and its levels; the first factor varies slowest."),
    ] = Field(default_factory=dict)
    centre: Annotated[
        dict[str, Annotated[Level, BeforeValidator(_level)]] | None,
        Field(description="A level of each factor, around which a one-factor-at-a-time design varies the others."),
    ] = None
    crossed: Annotated[
        tuple[StrictStr, ...],
        Field(description="Factors that take no part in the design: all of it is run for each of their levels."),
    ] = ()
    queues: Annotated[
        dict[str, QueueLength],
        Field(description="Queue lengths that follow from factors, by the name that stands for them in braces."),
    ] = Field(default_factory=dict)
    scenario: Annotated[
        dict[str, Any],
        BeforeValidator(_scenario),
        Field(description="The scenario; `{factor}` in any text stands for the factor's level."),
    ]

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
        if self.crossed and self.design == "full-factorial":
            raise ValueError(
                "a full-factorial design crosses all its factors anyway"
                "|no crossed, or design = 'one-factor-at-a-time' or 'space-filling'"
            )
        filling = self.design == "space-filling"
        if filling != (self.points is not None):
            raise ValueError("a space-filling design, and no other, has a number of points|points = 300, or neither")
        if self.sampling is not None and not filling:
            raise ValueError("only a space-filling design has a sampling|design = 'space-filling', or no sampling")
        if self.sampling in ("wsp", "lhs-maximin") and (self.points or 0) > MAX_BY_DISTANCE:
            raise ValueError(
                f"a {self.sampling} sampling has at most {MAX_BY_DISTANCE} points"
                f"|points = {MAX_BY_DISTANCE}, or sampling = 'lhs' or 'sobol'"
            )
        if not filling and any(isinstance(factor, Range) for factor in self.factors.values()):
            raise ValueError(
                "only a space-filling design draws from ranges|design = 'space-filling', or lists of levels"
            )
        return self


Times = Annotated[float, Field(gt=0, le=1000, strict=False, allow_inf_nan=False)]


class When(_Table):
    """`[when]`: what `haltere when` may vary; what is left out is varied by default."""

    switches: Annotated[
        tuple[StrictStr, ...] | None,
        Field(
            description="Switches of contenders, such as `tcp+initial-window=40`, `quic-pacing`, `tcp+as=linux-2010`."
        ),
    ] = None
    queues: Annotated[
        tuple[Times | StrictStr, ...] | None,
        Field(description="Factors on the limit of queues, and queues that take their place, such as `fq_codel`."),
    ] = None
    losses: Annotated[
        tuple[Times | Literal["none", "uniform"], ...] | None,
        Field(description="Mean lengths of bursts (packets) with the same mean loss, or `none`, or `uniform`."),
    ] = None
    sizes: Annotated[tuple[Times, ...] | None, Field(description="Factors on the size of objects and of messages.")] = (
        None
    )
    interfaces: Annotated[
        tuple[Times | Literal["bql", "no-bql"], ...] | None,
        Field(description="Factors on the ring of interfaces, and `bql` or `no-bql`: byte queue limits on or off."),
    ] = None
    marks: Annotated[
        tuple[Annotated[StrictInt, Field(ge=0, le=255)], ...] | None,
        Field(description="ToS octets that take the place of the flows', such as 8: bulk for `pfifo_fast`."),
    ] = None


def _label(given: object) -> object:
    """Return how a level is called in tables: its text, as in a list of levels."""
    if isinstance(given, bool):
        return str(given).lower()
    return str(given) if isinstance(given, int | float) else given


Label = Annotated[StrictStr, BeforeValidator(_label)]


class Why(_Table):
    """`[[why]]`: a difference that `haltere why` explains beside the claims that it bears on.

    The difference lies between two levels of some factors, or between treatments without and with `switches`.
    """

    claims: Annotated[
        tuple[StrictStr, ...], Field(min_length=1, description="The functions of the claims, by their names.")
    ]
    experiment: Annotated[StrictStr, Field(description="The experiment whose treatments are compared.")]
    start: Annotated[dict[str, Label], Field(alias="from", description="Levels to start from, by their factors.")] = (
        Field(default_factory=dict)
    )
    to: Annotated[dict[str, Label], Field(description="Levels of the same factors to arrive at.")] = Field(
        default_factory=dict
    )
    switches: Annotated[
        tuple[StrictStr, ...],
        Field(description="Switches of contenders to arrive at, such as `tcp-hystart` or `tcp+as=linux-2010`."),
    ] = ()
    at: Annotated[
        dict[str, tuple[Label, ...]],
        BeforeValidator(
            lambda given: (
                {name: one if isinstance(one, list | tuple) else [one] for name, one in given.items()}
                if isinstance(given, dict)
                else given
            )
        ),
        Field(description="Levels of other factors; those of factors that are not named are all taken."),
    ] = Field(default_factory=dict)
    metric: Annotated[StrictStr, Field(description="What is explained: a metric of figures.")] = "completion_time"
    flow: Annotated[
        Annotated[StrictInt, Field(ge=0)] | None,
        Field(description="Only this flow, counted from 0; otherwise the mean of all."),
    ] = None
    replications: Annotated[
        Annotated[StrictInt, Field(ge=1)] | None, Field(description="Fewer replications than the results have.")
    ] = None
    orders: Annotated[
        Annotated[StrictInt, Field(ge=1)] | None,
        Field(description="Orders of switching for each replication and treatment, instead of all."),
    ] = None


class StudyFile(_Table):
    """A whole study file. `variants` holds tables that are laid over the rest on request."""

    study: Header
    parameters: Annotated[
        dict[str, JsonValue],
        Field(description="Values by the names that stand for them in braces, in all experiments and variants."),
    ] = Field(default_factory=dict)
    experiments: Annotated[
        dict[str, Experiment], Field(min_length=1, description="The experiments by their names, each with its design.")
    ]
    when: Annotated[When, Field(description="What `haltere when` may vary to turn a claim's verdict.")] = Field(
        default_factory=When
    )
    why: Annotated[tuple[Why, ...], Field(description="Differences that `haltere why` explains beside claims.")] = ()
    variants: Annotated[
        dict[str, dict[str, Any]],
        Field(
            description="Tables that `--variant NAME` lays over the study; lists and values are replaced. `extends` "
            "names a variant that is laid over it before."
        ),
    ] = Field(default_factory=dict)


def name_problem(kind: str, name: str) -> tuple[str, str] | None:
    """Return (problem, what would be right) if a factor, parameter, experiment or variant cannot have this name."""
    if kind in ("factor", "parameter") and not _FACTOR.fullmatch(name):
        return f"a {kind} cannot be called {name!r}", "small letters, digits and _, a letter first"
    if kind == "factor" and name in RESERVED:
        return (
            f"a factor cannot be called {name!r}: the result tables have a column of that name",
            "another name, such as " + f"{name}_factor",
        )
    if kind not in ("factor", "parameter") and not _EXPERIMENT.fullmatch(name):
        return (
            f"an {kind} cannot be called {name!r}" if kind == "experiment" else f"a {kind} cannot be called {name!r}",
            "letters, digits, - and _",
        )
    return None


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file."""
    schema = StudyFile.model_json_schema(mode="validation")
    text = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
    named = {"type": "object", "properties": {"label": {"type": "string", "minLength": 1}}, "required": ["label"]}
    schema["$defs"]["Level"] = {
        "title": "Level",
        "description": "A value of a factor, or a table with a label.",
        "anyOf": [*text["anyOf"], named],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A haltere study file"}
