"""Names, colours, hatches and line styles of contenders: the one table that every figure, legend and report reads.

A contender is written `transport[@implementation]/congestion[-variant][+switch...]` and keeps its colour everywhere.
The hue says the transport (oranges for TCP, blues for QUIC), the shade says the congestion control, and the hatch says
the transport again, so that a figure survives both colour-blind eyes and a grey print.

Colours in the light set are those of Okabe and Ito, "Color Universal Design", 2008
(https://jfly.uni-koeln.de/color/), and darker or lighter steps of the same hues; the dark set is the same hues,
lightened for a dark page.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from haltere import core
from haltere.results.numbers import parse


@dataclass(frozen=True, slots=True)
class Look:
    """How one contender is drawn: display name, colours on light and dark ground, hatch, marker, line style."""

    name: str
    light: str
    dark: str
    hatch: str
    marker: str
    line: str


@dataclass(frozen=True, slots=True)
class _Family:
    """A transport's part of the look: what its contenders share."""

    name: str
    hatch: str
    marker: str
    shades: tuple[tuple[str, str], ...]


_FAMILIES = {
    "tcp": _Family("TCP", "", "o", (("#D55E00", "#F0803C"), ("#E69F00", "#F5BE4A"), ("#8C3B00", "#C96A33"))),
    "quic": _Family("QUIC", "////", "s", (("#0072B2", "#3D9BDB"), ("#56B4E9", "#8FD0F5"), ("#00456E", "#2F7BB0"))),
    "mptcp": _Family("MPTCP", "....", "^", (("#B8860B", "#E0B040"), ("#F0E442", "#F3EB7A"), ("#6E5000", "#A98528"))),
    "mpquic": _Family("MPQUIC", "xxxx", "D", (("#009E73", "#35C79C"), ("#66C8A8", "#96E0C8"), ("#005E45", "#1E9673"))),
    "roq": _Family("RoQ", "++++", "X", (("#3F3A9E", "#8580DB"), ("#9A96D8", "#C6C3EE"), ("#1F1B5C", "#5D58A8"))),
    "rtp": _Family("RTP", "||||", "P", (("#8A1C5A", "#D46FA8"), ("#C77CB0", "#E6A9D2"), ("#4E0F52", "#A45FA9"))),
}
_OTHERS = _Family("", "\\\\\\\\", "v", (("#CC79A7", "#E29CC3"), ("#7B4B94", "#B98AD0"), ("#666666", "#A0A0A0")))

# A congestion control by itself, by its shade, for comparisons of two of them regardless of the transport.
_ALONE = (
    ("#882255", "#DB85B4", "", "o", "-"),
    ("#117A65", "#4FC3A8", "....", "s", "--"),
    ("#666633", "#B5B573", "xxxx", "^", ":"),
)

# The levels of any other factor, by their order: apart to the colour-blind, and each with a hatch, a mark and a line of
# its own. Beyond them colours come again with another hatch.
_COLOURS = (
    ("#0072B2", "#2F7FE0"),
    ("#E69F00", "#F5B030"),
    ("#1E1E1E", "#F4F4F4"),
    ("#7CCBFA", "#70CDEB"),
    ("#8A3A00", "#A8481A"),
    ("#0B8F6A", "#3A9A84"),
)
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "||||", "----")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STROKES = ("-", "--", ":", "-.")


def _level(number: int) -> Look:
    light, dark = _COLOURS[number % len(_COLOURS)]
    hatch, marker = _HATCHES[number % len(_HATCHES)], _MARKERS[number % len(_MARKERS)]
    return Look(f"level {number}", light, dark, hatch, marker, _STROKES[number % len(_STROKES)])


_LINES = ("-", "--", ":")


def _parts(contender: str) -> tuple[str, str, list[str]]:
    """Transport with implementation (`tcp@apache+wget2`), congestion control with variant, switches."""
    transport, slash, rest = contender.partition("/")
    if not slash:
        transport, *switches = contender.split("+")
        return transport, "", switches
    congestion, *switches = rest.split("+")
    return transport, congestion, switches


def display_name(contender: str) -> str:
    """The contender as a legend writes it: `quic@quinn/bbr+pacing` becomes `QUIC (quinn)/BBR +pacing`."""
    transport, congestion, switches = _parts(contender)
    base, _, implementation = transport.partition("@")
    family = _FAMILIES.get(base)
    name = family.name if family else base
    if implementation:
        name += f" ({implementation})"
    if congestion:
        name += "/" + congestion_name(congestion)
    return " +".join([name, *switches])


def congestion_name(congestion: str) -> str:
    """A congestion control, or a pair such as `bbr/cubic`, as its authors write it; the unknown is left as it is."""
    return "/".join(_one_congestion_name(part) for part in congestion.split("/"))


def _one_congestion_name(congestion: str) -> str:
    algorithm, _, variant = congestion.partition("-")
    name = core.congestion(algorithm).get("label", algorithm)
    return f"{name}-{variant}" if variant else name


def look(contender: str) -> Look:
    """The look of a contender, a bare transport or a bare congestion control.

    Unknown ones get a colour that depends on their name alone.
    """
    if (alone := core.congestion(contender).get("shade")) is not None:
        return Look(congestion_name(contender), *_ALONE[alone])
    if contender.startswith("level "):
        return _level(int(contender.removeprefix("level ")))
    transport, congestion, switches = _parts(contender)
    base, _, implementation = transport.partition("@")
    algorithm, _, variant = congestion.partition("-")
    family = _FAMILIES.get(base, _OTHERS)
    plain = base in _FAMILIES and not (implementation or variant or switches)
    own = core.congestion(algorithm).get("shade") if algorithm else 0
    shade = zlib.crc32(contender.encode()) % len(family.shades) if not plain or own is None else own
    light, dark = family.shades[shade]
    return Look(display_name(contender), light, dark, family.hatch, family.marker, _LINES[shade])


def keys(names: Sequence[str]) -> dict[str, str]:
    """Return by which key of `look` each of the names that are shown together is drawn.

    Contenders keep their own looks if these can be told apart. Three of one transport, or two that look alike also to
    the colour-blind, are drawn as the levels of any other factor: by their order.
    """
    families = [_parts(name)[0].partition("@")[0] for name in names]
    own = all(is_contender(name) for name in names) and all(families.count(one) <= 2 for one in families)
    if own and all(_apart(look(one), look(other)) for one, other in itertools.combinations(names, 2)):
        return {name: name for name in names}
    return {name: f"level {number}" for number, name in enumerate(names)}


_NEAREST = 0.1
"""Colours nearer than this in OKLab are hard to match with a legend."""


def _apart(one: Look, other: Look) -> bool:
    kinds = ("normal", "protanopia", "deuteranopia")
    pairs = ((one.light, other.light), (one.dark, other.dark))
    least = min(distance(a, b, kind) for a, b in pairs for kind in kinds)
    return least >= (_NEAREST if one.hatch == other.hatch else 0.6 * _NEAREST)


def is_contender(name: str) -> bool:
    """Whether a level names a contender, a transport or a congestion control, which have a look of their own."""
    base = _parts(name)[0].partition("@")[0]
    if " " in name:  # `tcp/cubic beside itself` is a level of a study, not a contender
        return False
    if "/" in name:
        return parse(name) is None
    return base in _FAMILIES or bool(core.congestion(name.partition("-")[0]))


# Linear RGB as seen without one kind of cones (G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-
# based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1).
_KINDS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Linear RGB to OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@cache
def distance(one: str, other: str, kind: str | None = None) -> float:
    """Return the distance of two colours in OKLab; without a kind of vision, the least over all of them.

    Black and white are 1 apart; below about 0.1 two areas are hard to match with a legend.
    """
    kinds = [kind] if kind else list(_KINDS)
    return min(float(np.linalg.norm(_lab(one, name) - _lab(other, name))) for name in kinds)


def _lab(colour: str, kind: str) -> np.ndarray:
    encoded = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(_KINDS[kind] @ linear, 0.0, 1.0)
    found: np.ndarray = _LAB @ np.cbrt(_LMS @ seen)
    return found
