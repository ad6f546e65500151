"""Kinds of figures: what each shows, where its axes and lines come from if a plot does not say, what goes with it.

A new kind is an entry of `KINDS`, and one of `DRAWERS` in `figures/draw.py`, which cannot be imported without it.
Nothing heavy is imported here, since the help of `plot` names the kinds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar

_AGAINST = "{what}{of} against {x}"
_MEASURED = ("n", "mean_steps", "sd_steps", "ci_low", "ci_high", "n_capped")
_T = TypeVar("_T")


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes:
        title: what it shows: `{what}` is measured, `{of}` stands for `of each learner` where there are several lines.
        meaning: what the documents say behind its name; empty where the name says it.
        data: columns of the table beside the figure, behind those that tell its points apart; empty for a kind that
            shows no cells.
        x: column on the horizontal axis; none if it is what varies.
        y: what is measured.
        lines: columns that make a line of their own.
        grouped: whether the horizontal axis has a place for each value, as bars need, and no scale.
        log_from: the vertical axis is logarithmic where the largest value exceeds the smallest that many times.
        beside: what is shown beside the measured values.
        about: what a study with this figure is about: how steps grow along an axis, how learners compare, or how
            display orders do. It is held to the claims on that, and `fit` writes the comparison.
        words: what a kind without cells shows, for readers who do not see it.
    """

    title: str
    meaning: str = ""
    data: tuple[str, ...] = _MEASURED
    x: str | None = None
    y: Literal["steps", "error_rate"] = "steps"
    lines: tuple[str, ...] = ()
    grouped: bool = False
    log_from: float = math.inf
    beside: Literal["fit", "bounds"] | None = None
    about: Literal["growth", "learners", "orders"] | None = None
    words: str = ""


KINDS: Mapping[str, FigureKind] = MappingProxyType(
    {
        "scaling": FigureKind(_AGAINST, "means and the fit", data=(*_MEASURED, "fitted"), beside="fit", about="growth"),
        "curves": FigureKind(_AGAINST, "a line a learner", lines=("learner",), log_from=10.0, about="learners"),
        "bars": FigureKind(
            "{what} of each learner, a group of bars for each {x}",
            x="instance",
            lines=("learner",),
            grouped=True,
            log_from=0.0,
            about="orders",
        ),
        "bounds": FigureKind(
            "Measured mean steps between the lower and the upper bound, against {x}",
            data=("lower", "mean_steps", "upper", "upper_over_measured"),
            log_from=0.0,
            beside="bounds",
        ),
        "error": FigureKind(
            _AGAINST,
            "chance of an error against the budget",
            data=("budget", "n", "error_rate", "error_low", "error_high", "mean_right"),
            x="budget",
            y="error_rate",
            lines=("learner",),
            log_from=0.0,
        ),
        "schematic": FigureKind(
            "The optimal items of each instance behind the lower bound",
            data=(),
            words="A grid with a row for each instance from 0 to L and a column for each item from 1 to L. Optimal "
            "items are green: items 1 to K in instance 0; in instance l up to K item l is white and item K + 1 green "
            "instead; in instance l above K item l is green and item K white instead.",
        ),
    }
)


def of_each_kind(what: str, found: Mapping[str, _T]) -> Mapping[str, _T]:
    """The same mapping, which has a value for each kind of figure.

    Args:
        what: the values are, for the message.
        found: kind -> value.

    Raises:
        LookupError: if a kind has none, or there is a value for something else.
    """
    for name in KINDS.keys() ^ found.keys():
        raise LookupError(f"{name}: {f'this kind of figure has no {what}' if name in KINDS else 'no kind of figure'}")
    return MappingProxyType(dict(found))
