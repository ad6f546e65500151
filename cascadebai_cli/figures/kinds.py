"""Kinds of figures: what each does where the plot says nothing, and what it needs. A new kind begins here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from cascadebai_cli.study.plot import Kind

AGAINST = "{what}{of} against {x}"


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure that shows cells.

    Attributes:
        title: what it shows: `{what}` is measured, `{of}` stands for `of each learner` where there are several lines.
        x: column on the horizontal axis; none if it is what varies.
        lines: columns that make a line of their own.
        grouped: whether the horizontal axis has a place for each value, as bars need, and no scale.
        log_from: the vertical axis is logarithmic where the largest value exceeds so many times the smallest.
        beside: what is shown beside the measured values.
    """

    title: str
    x: str | None = None
    lines: tuple[str, ...] = ()
    grouped: bool = False
    log_from: float = math.inf
    beside: Literal["fit", "bounds"] | None = None


KINDS: Mapping[Kind, FigureKind] = MappingProxyType(
    {
        "scaling": FigureKind(AGAINST, beside="fit"),
        "curves": FigureKind(AGAINST, lines=("learner",), log_from=10.0),
        "error": FigureKind(AGAINST, x="budget", lines=("learner",), log_from=0.0),
        "bars": FigureKind(
            "{what} of each learner, a group of bars for each {x}",
            x="instance",
            lines=("learner",),
            grouped=True,
            log_from=0.0,
        ),
        "bounds": FigureKind(
            "Measured mean steps between the lower and the upper bound, against {x}", log_from=0.0, beside="bounds"
        ),
    }
)
"""All but `schematic`, which shows no cells."""
