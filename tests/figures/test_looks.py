"""Twelve lines are told apart by colour, marker and dash, in grey and with colour-blind eyes; bars by hatch as well."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.figures.panels import MOST_LINES
from cascadebai_cli.figures.style import LOOKS

Array = NDArray[np.float64]

XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])
WHITE = np.array([0.95047, 1.0, 1.08883])
# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency (2009)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
SEEN = 10.0
"""Distance in CIELAB from which on two colours are told apart at a glance; 2.3 is just noticeable."""
GREYS = 8.0
"""The same for the lightness of two greys."""


def linear(color: str) -> Array:
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    x, y, z = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = [np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distances(eyes: Array) -> dict[tuple[int, int], float]:
    seen = [lab(eyes @ linear(look.color)) for look in LOOKS]
    return {(i, j): float(np.linalg.norm(seen[i] - seen[j])) for i, j in combinations(range(len(LOOKS)), 2)}


def test_lab_is_that_of_the_literature() -> None:
    np.testing.assert_allclose(lab(linear("#FF0000")), [53.24, 80.09, 67.20], atol=0.02)


def test_all_eyes_tell_the_colours_apart() -> None:
    assert len(LOOKS) == MOST_LINES == 12
    for eyes in (np.eye(3), DEUTERANOPIA, PROTANOPIA):
        assert min(distances(eyes).values()) > SEEN


def test_in_grey_the_dash_tells_what_the_lightness_does_not() -> None:
    lightness = [lab(linear(look.color))[0] for look in LOOKS]
    near = [(a, b) for a, b in combinations(range(12), 2) if abs(lightness[a] - lightness[b]) < GREYS]
    assert near
    for a, b in near:
        assert LOOKS[a].dash != LOOKS[b].dash, (a, b)


def test_no_two_share_a_marker_or_a_hatch() -> None:
    assert len({look.marker for look in LOOKS}) == len({look.hatch for look in LOOKS}) == 12


def test_every_line_is_seen_on_white() -> None:
    assert max(lab(linear(look.color))[0] for look in LOOKS) < 75
