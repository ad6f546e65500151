"""The axes of a grid, the kinds of figures and what they measure, and the options of `plot` and of `summary`.

A new axis is an entry of `AXES`, with a key in `Study` and a field in `Cell`. A new measure is an entry of `MEASURES`;
a new kind is one of `KINDS` and one of `DRAWERS` in `figures/draw.py`, which checks on import that each kind has one.
Nothing heavy is imported here, as the help of these verbs needs this module.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.options import option
from cascadebai_cli.text import digits, listed, number, percent

# --- The numbers that span a grid: the one list of them -------------------------------------------------------------


@dataclass(frozen=True)
class GridAxis:
    """A number that spans every grid, and has a column in every table of cells.

    Attributes:
        type: type of its values.
        meaning: what it is.
        values: which values a file may hold, in words.
        right: function of its column and the whole table: where such values stand.
    """

    type: type
    meaning: str
    values: str
    right: Callable[[Any, Any], Any]


AXES: Mapping[str, GridAxis] = MappingProxyType(
    {
        "L": GridAxis(int, "number of items", "a whole number from 2 on", lambda L, _: L.ge(2)),
        "K": GridAxis(
            int,
            "number of items to find",
            "a whole number from 1 on and less than L",
            lambda K, table: K.ge(1) & K.lt(table["L"]),
        ),
        "delta": GridAxis(
            float,
            "largest probability of a wrong answer that is allowed",
            "a number between 0 and 1",
            lambda delta, _: delta.gt(0) & delta.lt(1),
        ),
        "epsilon": GridAxis(
            float,
            "tolerance: how far below the K-th largest weight is good enough",
            "a number from 0 on",
            lambda epsilon, _: epsilon.ge(0) & epsilon.lt(math.inf),
        ),
    }
)
"""Name -> a number that spans every grid, the last one varying fastest; the key of each in `Study` has its default."""
ALL_AXES = (*AXES, "budget")
"""All that may, in the same order."""
GRID = ("instance", "learner", *ALL_AXES)
"""Columns that span the grid of a study."""
K_FIRST = tuple(sorted(AXES, key=lambda name: name != "K"))
"""Those of them that a figure tries for its x, in this order."""


# --- Figures: what they measure, and their kinds --------------------------------------------------------------------

_AGAINST = "{what}{of} against {x}"
_MEASURED = ("n", "mean_steps", "sd_steps", "ci_low", "ci_high", "n_capped")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Measure:
    """What a figure may measure.

    Attributes:
        axis: label of its axis.
        title: the same as the beginning of a title.
        unit: words behind a number.
        columns: columns of its value, and of the ends of its interval if it has one.
        over: column by which these are divided, if any.
        text: value -> text.
        level: level of the quantile of the steps that it is; 0 if it is none.
        least: smallest possible value, at which bars on a logarithmic axis begin; 0 if such an axis has no such place,
            and minus infinity if values can be negative.
    """

    axis: str
    title: str
    unit: str
    columns: tuple[str, str | None, str | None]
    over: str = ""
    text: Callable[[float], str] = digits
    level: float = 0.0
    least: float = 0.0


_STEPS = ("mean_steps", "ci_low", "ci_high")
QUANTILES = {"q10_steps": 0.1, "median_steps": 0.5, "q90_steps": 0.9}
"""Column -> level of the quantile of the steps of a cell that it holds."""
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "steps": Measure("time complexity", "Mean steps", "steps", _STEPS, text=number, least=1.0),
        "median": Measure(
            "median steps",
            "Median steps",
            "steps",
            ("median_steps", "median_low", "median_high"),
            text=number,
            level=0.5,
            least=1.0,
        ),
        "q90": Measure(
            "steps of 90 % of the trials",
            "Steps after which 90 % of the trials have stopped",
            "steps",
            ("q90_steps", "q90_low", "q90_high"),
            text=number,
            level=0.9,
            least=1.0,
        ),
        "spread": Measure(
            "median, 10 to 90 %",
            "Median and 10 to 90 % quantiles of the steps",
            "steps",
            ("median_steps", "q10_steps", "q90_steps"),
            text=number,
            level=0.5,
            least=1.0,
        ),
        "stopped": Measure(
            "share of trials stopped",
            "Share of trials that have stopped",
            "of the trials",
            ("stopped", None, None),
            text=percent,
        ),
        "difference": Measure(
            "steps saved against the first learner",
            "Mean paired difference in steps to the first learner",
            "steps saved",
            ("difference", "difference_low", "difference_high"),
            text=number,
            least=-math.inf,
        ),
        "observations": Measure(
            "observations",
            "Mean observations",
            "observations",
            ("mean_observations", None, None),
            text=number,
            least=1.0,
        ),
        "error_rate": Measure(
            "error rate",
            "Share of wrong recommendations",
            "wrong",
            ("error_rate", "error_low", "error_high"),
            text=percent,
        ),
        "right": Measure(
            "right items", "Mean number of right items", "right items", ("mean_right", "right_low", "right_high")
        ),
        "present": Measure(
            "right answers so far",
            "Chance that the present answer is right",
            "right",
            ("present_rate", "present_low", "present_high"),
            text=percent,
        ),
        "steps_per_lower_bound": Measure(
            "steps / lower bound",
            "Mean steps over the lower bound",
            "times the lower bound",
            _STEPS,
            "lower",
            least=1.0,
        ),
        "steps_per_sharp_bound": Measure(
            "steps / sharp lower bound",
            "Mean steps over the sharp lower bound",
            "times the sharp lower bound",
            _STEPS,
            "sharp",
            least=1.0,
        ),
    }
)


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes:
        title: title with places: `{what}` for the measure, `{of}` for `of each learner` if there are several lines.
        meaning: explanation behind its name in the documents; empty where the name says it.
        data: columns of the table beside the figure, behind those that tell its points apart; empty for a kind that
            shows no cells.
        x: column on the horizontal axis; `None` if it is the one that varies.
        y: what is measured.
        lines: columns whose values make lines.
        grouped: whether the horizontal axis has a place for each value, as bars need, and no scale.
        log_from: the vertical axis is logarithmic if the largest value exceeds the smallest by this factor.
        points: what is drawn: statistics of cells, single trials (then `x` and `y` cannot be chosen), or steps inside
            the trials of a cell.
        beside: what is shown beside the measured values.
        about: what a study with this figure is about: the growth of steps along an axis, a comparison of learners, or
            one of display orders. The report tests the claims on it, and `fit` writes the comparison.
        words: description of a kind without cells, for readers who cannot see it.
    """

    title: str
    meaning: str = ""
    data: tuple[str, ...] = _MEASURED
    x: str | None = None
    y: str = "steps"
    lines: tuple[str, ...] = ()
    grouped: bool = False
    log_from: float = math.inf
    points: Literal["cells", "trials", "steps"] = "cells"
    beside: Literal["fit", "bounds", "mean"] | None = None
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
        "quantiles": FigureKind(
            _AGAINST,
            "median and 10 to 90 % of the steps, beside the mean",
            data=("n", "mean_steps", *QUANTILES, "n_capped"),
            y="spread",
            lines=("learner",),
            log_from=10.0,
            beside="mean",
        ),
        "ecdf": FigureKind(
            "Share of the trials{of} that have stopped, against {x}",
            "share of the trials that have stopped against steps",
            data=("n", "mean_steps", *QUANTILES, "n_capped"),
            x="steps",
            y="stopped",
            lines=("learner",),
            points="trials",
        ),
        "trace": FigureKind(
            _AGAINST,
            "chance that the present answer is right",
            data=("step", "n", "present_rate", "present_low", "present_high"),
            x="step",
            y="present",
            lines=("learner",),
            points="steps",
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
    """Return a mapping after checking that it has a value for each kind of figure, and no other.

    Raises:
        LookupError: if a kind has no value, or there is a value for something else.
    """
    for name in KINDS.keys() ^ found.keys():
        raise LookupError(f"{name}: {f'this kind of figure has no {what}' if name in KINDS else 'no kind of figure'}")
    return MappingProxyType(dict(found))


def _word(meaning: str, metavar: str, *examples: str, **more: Any) -> Any:
    return option(None, meaning, metavar=metavar, examples=examples, **more)


_KINDS = ", ".join(f"`{name}`{kind.meaning and f' ({kind.meaning})'}" for name, kind in KINDS.items())


@dataclass(frozen=True)
class Words:
    """The meanings of the keys of `plot` in a config, which are options of the verb too; `Plot` checks their values.

    A dictionary or a tuple is an option that may be given several times, a list is one option with commas.
    """

    kind: str | None = _word(f"{_KINDS}.", "KIND", "curves", offered=tuple(KINDS))
    x: str | None = _word(
        "Column on the horizontal axis: a number of the grid, gap, hardness (the sum of 1/gap^2 over the items), an "
        "option of a learner, or a name such as learner. "
        f"If left out, it is the first of {listed(K_FIRST)} that varies.",
        "COLUMN",
        "delta",
        completed="column",
    )
    y: str | None = _word(
        "What is measured: steps (their mean), median, q90 (steps after which 90 % of the trials have stopped), spread "
        "(median and 10 to 90 %), difference (steps saved against the main learner, in a study with paired: true), "
        "observations, error_rate, right (in a study with a budget), steps_per_lower_bound, "
        "or steps_per_sharp_bound (after `bounds --sharp`); stopped is that of ecdf, present that of trace.",
        "WHAT",
        "observations",
        offered=tuple(MEASURES),
    )
    panels: list[str] | None = _word("Columns whose values make panels, or none.", "COLUMNS", "instance", "none")
    lines: list[str] | None = _word(
        "Columns whose values make lines, or none. Other columns that vary make panels, or lines if only panels is "
        "given.",
        "COLUMNS",
        "[learner, K]",
    )
    instances: tuple[str, ...] | None = _word(
        "Instances to draw; all if left out.", "NAME", "[setting 1, setting 2]", alias="--instance"
    )
    learners: tuple[str, ...] | None = _word(
        "Learners to draw; all if left out.", "NAME", "CascadeBAI", alias="--learner"
    )
    where: dict[str, list[Any]] | None = _word(
        "Columns, each with the values to draw.", "COLUMN=VALUE,...", "{K: [20, 40], delta: 0.1}", completed="condition"
    )
    average: str | None = _word(
        "Option of instances; instances that differ only in it are drawn as their mean, with its interval.",
        "OPTION",
        "replicate",
    )
    log: list[str] | None = _word(
        "Logarithmic axes: x, y, or none; if left out, the values decide.", "AXES", "[x, y]", "none"
    )
    share: list[str] | None = _word(
        "Axes that have the same ends in all panels: x, y, or none; if left out, those of bars, and no others.",
        "AXES",
        "[x, y]",
        "none",
    )
    width: float | None = _word(
        "Width: `column` (3.25 inches), `text` (6.75), or inches.", "WIDTH", "column", "5", read_as=str | None
    )
    columns: int | None = _word("Number of panels side by side.", "N", "2")
    height: float | None = _word("Height of a full page, in inches.", "INCHES", "2.4")
    per_page: int | None = _word("Number of panels on a page.", "N", "9")
    labels: dict[str, str] | None = _word(
        "Names or columns, each with the text to show for it; `$...$` is set as mathematics.",
        "NAME=TEXT",
        "{setting 1: small weights}",
    )
    order: tuple[str, ...] | None = _word("Learners and instances that come first, in order.", "NAME", "[KL-LUCB++]")
    style: tuple[str, ...] | None = _word(
        "Files of matplotlib settings, or names of styles of matplotlib or SciencePlots, that replace the settings of "
        "the program; the last one counts most.",
        "STYLE",
        "mine.mplstyle",
        "[science, ieee]",
    )
    format: list[str] | None = _word("Formats of the files: pdf, png or svg.", "FORMATS", "[pdf, svg]")


# --- The options of `summary` ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """Which cells `summary` prints, in which order, and as which table.

    Raises:
        ConfigError: if the label is none.
    """

    where: tuple[str, ...] | None = option(
        None, "Only cells with one of these values; repeatable.", metavar="COLUMN=VALUE,...", completed="condition"
    )
    sort: tuple[str, ...] | None = option(
        None,
        "Sort by this column or measure, such as steps; -COLUMN for the largest first; repeatable.",
        metavar="COLUMN",
        completed="column",
    )
    average: str | None = option(
        None, "Take means over instances that differ only in this option, such as replicate.", metavar="OPTION"
    )
    columns: list[str] | None = option(
        None,
        "Print only these columns or measures, such as steps,median,q90,error_rate: a number with its interval in one "
        "place, and the best learner marked where its interval lies apart.",
        metavar="COLUMNS",
        completed="column",
    )
    pivot: str | None = option(
        None,
        "Print the values of this column side by side, such as learner; mean steps without --columns.",
        metavar="COLUMN",
        completed="column",
    )
    caption: str | None = option(
        None, "Text above the table, or its caption in LaTeX, which reads it as it is.", metavar="TEXT"
    )
    label: str | None = option(None, "Name by which LaTeX refers to the table.", metavar="NAME")

    def __post_init__(self) -> None:
        if self.label is not None and not re.fullmatch(r"[\w:.+-]+", self.label):
            raise ConfigError(
                f"--label {self.label} is no name for LaTeX; use letters, digits and : . _ -, as in tab:steps"
            )
