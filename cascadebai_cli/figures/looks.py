"""How lines and bars are told apart: colour, marker and dash; colour and hatch."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Dash = str | tuple[float, tuple[float, ...]]


class Look(NamedTuple):
    """How a line or a set of bars is drawn, so that two on top of each other are both seen."""

    color: str
    marker: str = "o"
    size: float = 3
    filled: bool = True
    dash: Dash = "-"
    hatch: str = ""


LOOKS = (
    Look("#0072B2", "o", 2.4, hatch="\\\\\\"),
    Look("#D55E00", "s", 2.6, hatch="..."),
    Look("#009E73", "^", 4.4, filled=False, hatch="xxx"),
    Look("#CC79A7", "D", 4.0, filled=False, dash="--", hatch="---"),
    Look("#000000", "v", 2.6),
    Look("#E69F00", "P", 4.4, dash="-.", hatch="|||"),
    Look("#56B4E9", "X", 4.4, dash=":", hatch="+++"),
    Look("#882255", ">", 4.4, filled=False, dash="--", hatch="ooo"),
    Look("#332288", "<", 3.4, dash=(0, (5, 1, 1, 1, 1, 1)), hatch="***"),
    Look("#999933", "p", 4.8, filled=False, dash=":", hatch="OO"),
    Look("#B0B0B0", "*", 5.0, dash=(0, (3, 1, 1, 1)), hatch="\\\\|||"),
    Look("#6B4C2A", "h", 4.8, filled=False, hatch="xx--"),
)
"""One for each line of a panel. No two share a marker or a hatch; colours that are hard to tell apart in grey or with
colour-blind eyes differ in the dash or in whether the marker is filled as well (a test computes it). The first ones are
those of Okabe and Ito."""

POINTS = Look("blue", dash="none")
"""Of means that stand beside a fit."""
MEASURED = Look("blue", size=2.5, dash="none")
"""Of means that stand between bounds."""

ORDER_LOOKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "T": (r"ascending $T_t(i)$ (Algorithm 1)", "#0072B2"),
        "mean": (r"ascending $\hat{\mu}_t(i)$", "#E69F00"),
        "-mean": (r"descending $\hat{\mu}_t(i)$", "#F6DA9C"),
        "U": (r"ascending $U_t(i)$", "#C44E00"),
        "-U": (r"descending $U_t(i)$", "#F0B48C"),
        "L": (r"ascending $L_t(i)$", "#007E5C"),
        "-L": (r"descending $L_t(i)$", "#8CD0BB"),
    }
)
"""Display order -> label and colour: a hue for what is sorted by, the lighter shade for descending."""
