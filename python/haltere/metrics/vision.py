"""How far apart two colours look, to most people and to those who see two primary colours alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.colors import to_rgb

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
    encoded = np.array(to_rgb(colour))
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(_KINDS[kind] @ linear, 0.0, 1.0)
    found: np.ndarray = _LAB @ np.cbrt(_LMS @ seen)
    return found
