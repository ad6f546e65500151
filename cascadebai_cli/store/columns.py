"""What a result directory holds: names of files, a record of every column, and how rows are printed by these."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nextafter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from cascadebai_cli.engines.jobs import Ending
from cascadebai_cli.study.kinds import AXES, GRID
from cascadebai_cli.text import (
    NO_NUMBER,
    Head,
    Table,
    coefficient,
    count,
    digits,
    exponent,
    is_missing,
    number,
    p_value,
    parameter,
    percent,
    share,
    value_text,
)

if TYPE_CHECKING:
    import pandas as pd

MANIFEST, JOURNAL, FAILURES = "manifest.json", "trials.journal", "failures.log"
TRIALS_CSV, TIMINGS_CSV, SUMMARY_CSV = "trials.csv", "timings.csv", "summary.csv"
TIMES_CSV = "times.csv"
"""What is kept of `timings.csv` in a reference."""
FITS_CSV, WEIGHTED_FITS_CSV, MODELS_CSV = "fits.csv", "weighted_fits.csv", "models.csv"
BOUND_FITS_CSV, BUDGETS_CSV = "bound_fits.csv", "budgets.csv"
ANSWERS_CSV, DECISIONS_CSV, TRACES_CSV = "answers.csv", "decisions.csv", "traces.csv"
RATIOS_CSV, ORDERS_CSV, BOUNDS_CSV = "ratios.csv", "orders.csv", "bounds.csv"

STATUSES: tuple[str, ...] = (*get_args(Ending), "answered")
MOST_COUNT = 2**63 - 1
"""Largest number of a trial, of steps or of observations."""
_MOST_EXACT = 2**53
"""Beyond this, whole numbers with a decimal point are not exact any more."""


# --- Columns: one record says everything about a column --------------------------------------------------------------

_Check = tuple[str, Callable[["pd.Series[Any]", "pd.DataFrame"], "pd.Series[bool]"]]


@dataclass(frozen=True)
class Column:
    """A column of one or more tables.

    Attributes:
        name: as in the header of a file.
        type: type of its values; a `bool` is written as 1 or 0, and left empty where it does not apply.
        meaning: what it holds; `docs/results.md` is made from it.
        heading: heading in a printed table; if empty, its name.
        format: value -> text in a printed table.
        check: what a file may hold, in words; and a function of the values and the whole table: where that holds.
        when: a word for the studies or options with which a table has the column; empty if every table has it.
        ends: columns with the ends of its interval.
        best: whether the `least` or the `most` is best, if one is.
    """

    name: str
    type: type
    meaning: str
    heading: str = ""
    format: Callable[[Any], str] = number
    check: _Check = ("anything", lambda values, _: values.isna() | True)
    when: str = ""
    ends: tuple[str, str] | None = None
    best: Literal["", "least", "most"] = ""

    def right(self, table: "pd.DataFrame") -> "pd.Series[bool]":
        """Return which rows of a table hold a value that is allowed."""
        values = table[self.name]
        found = self.check[1](values, table)
        if self.type is int and values.dtype != "int64":
            found &= (values <= _MOST_EXACT) & (values % 1 == 0)
        return found


def _between(
    least: float, most: float | str = nextafter(inf, 0), *, empty: bool = False
) -> "Callable[[pd.Series[Any], pd.DataFrame], pd.Series[bool]]":
    """Return a check that values lie between two numbers; `most` may also be the name of a column."""

    def holds(values: "pd.Series[Any]", table: "pd.DataFrame") -> "pd.Series[bool]":
        return values.between(least, table[most] if isinstance(most, str) else most) | (values.isna() & empty)

    return holds


_percent, _two_decimals, _missed = partial(percent, decimals=1), "{:.2f}".format, ("reached", "missed").__getitem__

_NAME: _Check = ("a name", lambda values, _: values.notna())
_OF_FLAG: _Check = ("1, 0 or empty", lambda values, _: values.isna() | values.isin([0, 1]))
_OF_STATUS: _Check = (" or ".join(STATUSES), lambda values, _: values.isin(STATUSES))
_SHARE, _RATE = (("a number from 0 to 1", holds) for holds in (_between(0, 1), _between(0, 1, empty=True)))
_FROM_0, _TO_W_STAR = ("a number from 0 on", _between(0)), ("a number from 0 to w_star", _between(0, "w_star"))
_TO_K, _TO_N = ("a number from 0 to K", _between(0, "K")), ("a whole number from 0 to n", _between(0, "n"))
_FROM_1 = ("a whole number from 1 on", _between(1))
_BELOW_MEAN: _Check = ("at most mean_steps", lambda values, table: ~(values > table["mean_steps"]))
_ABOVE_MEAN: _Check = ("at least mean_steps", lambda values, table: ~(values < table["mean_steps"]))
_L, _K, *_FURTHER_AXES = (
    Column(name, axis.type, axis.meaning, "", parameter if axis.type is float else number, (axis.values, axis.right))
    for name, axis in AXES.items()
)
_CELL = (
    Column("cell_id", str, "hash of the content of the cell: weights, numbers, options, code of your own", check=_NAME),
    Column("study", str, "name of the study", check=_NAME),
    Column("instance", str, "name of the instance", check=_NAME),
    Column("learner", str, "name of the learner", check=_NAME),
    _L,
    _K,
    Column("w_star", float, "the largest weight", check=_SHARE),
    Column("w_prime", float, "the smallest weight", check=_TO_W_STAR),
    *_FURTHER_AXES,
)
"""What `trials.csv` and `summary.csv` say of a cell: its id, its names, and some keys of its content."""
_STATUS = "`stopped`, `capped` (it reached `max_steps`) or `answered` (its budget was spent)"
_BUDGET = Column("budget", int, "steps after which the learner had to answer", check=_FROM_1, when="budget")
_OUTCOME = (
    Column("trial", int, "number of the trial, from 0", check=_FROM_0),
    Column("status", str, _STATUS, check=_OF_STATUS),
    Column("steps", int, "number of lists shown", check=_FROM_0),
    Column("observations", int, "number of items observed in all steps", check=_FROM_0),
    Column("correct", bool, "1 if all items found are good enough, else 0; empty if capped", check=_OF_FLAG),
    _BUDGET,
    Column("right", int, "how many items of the answer are good enough", check=_FROM_0, when="budget"),
)
"""The outcome of a trial: each column is a field of `TrialRow`, except the budget, which belongs to the cell.

A column that a later version adds gets `when="later"`: tables and journals that were written before do not have it.
"""
_CUT = "mean of the steps; a capped trial counts with the steps at which it was cut off"
_WRONG = "share of wrong answers among the trials that stopped"
_RIGHT = Column("mean_right", float, "mean of `right`", "right", _two_decimals, _TO_K, "budget")
_STATISTICS = (
    Column("n", int, "number of trials", "trials", check=_FROM_1),
    Column("mean_steps", float, _CUT, "mean steps", check=_FROM_0, ends=("ci_low", "ci_high"), best="least"),
    Column("sd_steps", float, "standard deviation of the steps", "sd"),
    Column("se_steps", float, "standard error of the mean"),
    Column("ci_low", float, "lower end of the 95 % interval of the mean (Student's t)", "95 % from", check=_BELOW_MEAN),
    Column("ci_high", float, "upper end of that interval", "95 % to", check=_ABOVE_MEAN),
    Column("mean_observations", float, "mean of the observations", "observations", check=_FROM_0),
    Column(
        "n_capped", int, "number of capped trials; if there are any, the mean is a lower limit", "capped", check=_TO_N
    ),
    Column("error_rate", float, _WRONG, "wrong", _percent, _RATE, ends=("error_low", "error_high"), best="least"),
    Column("error_low", float, "lower end of its 95 % interval (exact binomial)", "wrong, 95 % from", _percent),
    Column("error_high", float, "upper end of that interval", "wrong, 95 % to", _percent),
    Column("aim_missed", bool, "1 if the trials do not reach the aim of `trials`, else 0", "aim", _missed, when="aim"),
    _BUDGET,
    replace(_RIGHT, ends=("right_low", "right_high"), best="most"),
    Column("right_low", float, "lower end of its 95 % interval", "", _two_decimals, when="budget"),
    Column("right_high", float, "upper end of that interval", "", _two_decimals, when="budget"),
)
"""Statistics over the trials of a cell."""
_RECORDED = (
    Column("place", int, "place of the item in the answer, from 1", check=_FROM_1),
    Column("item", int, "number of the item in the order of the config, from 1", check=_FROM_1),
    Column("decision", str, "`accepted` or `rejected`", check=_NAME),
    Column("step", int, "number of the step, from 1, at whose end this was so", check=_FROM_1),
    Column("survivors", int, "number of items neither accepted nor rejected; empty for learners that do not race"),
)
"""What is recorded inside a trial."""
_QUANTILES = (
    Column("q10_steps", float, "10 % quantile of the steps", "10 % of steps"),
    *(
        column
        for name, heading in (("median", "median of steps"), ("q90", "90 % of steps"))
        for column in (
            Column(f"{name}_steps", float, heading, heading, ends=(f"{name}_low", f"{name}_high"), best="least"),
            Column(f"{name}_low", float, "lower end of its 95 % interval"),
            Column(f"{name}_high", float, "upper end of that interval"),
        )
    ),
)
"""Quantiles over the trials of a cell, which are in no file; `summary --columns` prints them."""
_LACK = "squared residuals, relative to what the noise of the trials alone would give"
_SAVED = "how many times more trials would be needed with independent rewards for as narrow an interval"
_OTHERS = (
    Column("seconds", float, "time in seconds", format=digits),
    Column("trials", int, "number of trials"),
    Column("mean_seconds", float, "mean time of a trial", "seconds a trial", digits),
    Column("model", str, "regressor f of the fit c1 f + c2"),
    Column("x", str, "axis of the curve, if that is not `K`"),
    Column("c1", float, "slope", format=coefficient),
    Column("c1_se", float, "standard error of the slope", "se of c1", coefficient),
    Column("c2", float, "intercept", format=coefficient),
    Column("c2_se", float, "standard error of the intercept", "se of c2", coefficient),
    Column("r2", float, "share of the variance of the means that the fit explains", "R²", share),
    Column("p_value", float, "p-value of the slope", "p-value", p_value),
    Column("n_points", int, "number of means in the fit", "points"),
    Column("published_c1", float, "slope in the paper", "c1 published", coefficient),
    Column("published_c2", float, "intercept in the paper", "c2 published", coefficient),
    Column("published_r2", float, "R² in the paper", "R² published", share),
    Column("published_p_value", float, "p-value in the paper", "p-value published", p_value),
    Column("best_model", str, "the model with the smallest AIC", "smallest AIC"),
    Column("loglog_slope", float, "slope of log steps against the log of the axis", "log-log slope", exponent),
    Column("loglog_low", float, "lower end of its 95 % interval", "slope 95 % from", exponent),
    Column("loglog_high", float, "upper end of that interval", "slope 95 % to", exponent),
    Column("lack_of_fit", float, _LACK, "lack of fit", digits),
    Column("lack_of_fit_p", float, "chance of at least that value if the model is right", "its p-value", p_value),
    Column("rival", str, "the other usual model with the smallest lack of fit"),
    Column("rival_lack_of_fit", float, "lack of fit of the rival", "its lack of fit", digits),
    Column(
        "rival_lack_of_fit_p", float, "chance of at least that value if the rival is right", "p-value of that", p_value
    ),
    Column("exponent", float, "the b for which c1 x^b + c2 fits best; 0 stands for log x", format=exponent),
    Column("exponent_low", float, "lower end of its 95 % interval", "exponent 95 % from", exponent),
    Column("exponent_high", float, "upper end of that interval", "exponent 95 % to", exponent),
    Column("rows_sha256", str, "hash of the `trials.csv` that this was made from"),
    Column("aic", float, "Akaike's criterion"),
    Column("best", int, "1 for the model with the smallest AIC"),
    Column("bound_c1", float, "slope of the upper bound on the same model", "c1 of the upper bound", coefficient),
    Column("bound_c2", float, "intercept of the upper bound", "c2 of the upper bound", coefficient),
    Column("bound_r2", float, "R² of the fit to the upper bound", "R² of the upper bound", share),
    Column("bound_over_measured", float, "the bound divided by what was measured", "c1 of the bound / c1", coefficient),
    Column("other", str, "the learner in the denominator", "compared with"),
    Column("ratio", float, "mean steps of `learner` divided by those of `other`", format=digits),
    Column("ratio_low", float, "lower end of its 95 % interval", "ratio 95 % from", digits),
    Column("ratio_high", float, "upper end of that interval", "ratio 95 % to", digits),
    Column(
        "pairs", int, "number of pairs of trials with the same rewards, of which `ratio` and `difference` are", "pairs"
    ),
    Column("difference", float, "mean steps of `learner` less those of `other`, with the same rewards", "less"),
    Column("difference_low", float, "lower end of its 95 % interval, from pairs of trials"),
    Column("difference_high", float, "upper end of that interval"),
    Column("pairing", float, _SAVED, "trials saved", "{:.2g}x".format),
    Column("other_error_rate", float, "error rate of `other`", format=_percent),
    Column("compared_with", str, "the learner that `learner` is compared with", "compared with"),
    Column("settings", int, "number of settings: each instance at each point of the grid"),
    Column("better", int, "settings in which `learner` takes over 5 % fewer steps than `compared_with`"),
    Column("within", int, "settings in which the two differ by 5 % at most"),
    Column("worse", int, "settings in which `learner` takes over 5 % more steps, but at most twice as many"),
    Column("much_worse", int, "settings in which it takes more than twice as many", "much worse"),
    Column("capped", int, "settings in which trials of `learner` reached the cap"),
    Column("lower", float, "lower bound on the mean steps of any learner", "lower bound"),
    Column(
        "upper", float, "smallest upper bound on the steps of Algorithm 1, with probability 1 - delta", "upper bound"
    ),
    Column("source", str, "theorem that `upper` comes from"),
    Column("dominating", str, "largest term of `upper`"),
    Column("upper_general", float, "the upper bound for any weights"),
    Column("dominating_general", str, "largest term of `upper_general`"),
    Column("upper_two_level", float, "the upper bound for two levels of weights"),
    Column("measured_over_lower", float, "mean steps divided by the lower bound", "mean / lower"),
    Column("upper_over_measured", float, "upper bound divided by the mean steps", "upper / mean"),
    Column("smallest", int, "smallest budget of the study"),
    Column("largest", int, "largest budget of the study"),
    *(
        Column(f"{end}_{level}", float, meaning.format(level))
        for level in (10, 5, 1)
        for end, meaning in (
            ("budget", "budget from which on the error rate is below {} %"),
            ("low", "lower end of the 95 % interval of `budget_{}`"),
            ("high", "upper end of the 95 % interval of `budget_{}`"),
        )
    ),
    Column("H", float, "hardness, the sum of 1 / gap² over all items"),
    Column("H2", float, "hardness, the largest i / gap_i² with the gaps in ascending order"),
    Column("bound", float, "bound on the chance of an error", format=_percent),
    Column("enough", float, "budget from which on that bound is below delta", format=count),
    Column("T_star", float, "lower bound on the mean steps for each unit of kl(delta, 1 - delta)"),
    Column("gap", float, "how much too small `T_star` may be at most, relatively"),
    Column("sharp", float, "the sharp lower bound on the mean steps"),
    Column("measured_over_sharp", float, "mean steps divided by `sharp`", "mean / sharp"),
    Column(
        "factor", float, "what the mean steps over `sharp` come to as delta becomes small", "mean / sharp, delta to 0"
    ),
)
COLUMNS: Mapping[str, Column] = MappingProxyType(
    {column.name: column for column in (*_CELL, *_OUTCOME, *_STATISTICS, *_RECORDED, *_QUANTILES, *_OTHERS)}
)
"""Every column of every table by its name."""

STATISTICS, OF_QUANTILES = (tuple(column.name for column in group) for group in (_STATISTICS, _QUANTILES))
CELL, OUTCOME = (tuple(column.name for column in group if not column.when) for group in (_CELL, _OUTCOME))
LATER = tuple(column.name for column in _OUTCOME if column.when == "later")
"""Columns of later versions: a line holds them by name, and lines and tables that were written before have no value.

In `TrialRow` their fields stand behind `right`, in this order, and are `None` by default.
"""
SAME = (*(name for name in OUTCOME if name != "trial"), *LATER, "right")
"""What must be the same whenever and wherever a trial is run."""
POINT = ("instance", "learner", *AXES)
"""What tells the cells of one study apart."""
PLACE = GRID
"""The same for studies that may have budgets."""
SETTING = tuple(name for name in POINT if name != "learner")
"""Cells that agree in these columns differ in the learner only."""


# --- Tables: of which columns each consists --------------------------------------------------------------------------


@dataclass(frozen=True)
class TableFile:
    """A table of a result directory.

    Attributes:
        row: what one row is.
        columns: its columns in their order, with those that only some tables of this name have.
    """

    row: str
    columns: tuple[Column, ...]

    def names(self, there: Iterable[object] = ()) -> list[str]:
        """Return the names of the columns that every such table has, and of the others that are in `there`."""
        known = set(there)
        return [column.name for column in self.columns if not column.when or column.name in known]

    def frame(self, rows: "Iterable[Mapping[Any, Any]]") -> "pd.DataFrame":
        """Return rows as such a table; it has a column that is not in all tables only if a row has it."""
        import pandas as pd

        found = list(rows)
        return pd.DataFrame(found, columns=self.names({name for row in found for name in row}))


def _named(names: str, when: str = "") -> tuple[Column, ...]:
    """Return the columns whose names a text lists; every table has them unless `when` says otherwise."""
    return tuple(replace(COLUMNS[name], when=when) for name in names.split())


def _table(row: str, *parts: str | tuple[Column, ...]) -> TableFile:
    groups = (_named(part) if isinstance(part, str) else part for part in parts)
    return TableFile(row, tuple(column for group in groups for column in group))


_POINT = " ".join(POINT)
_CURVE, _COEFFICIENTS, _SLOPE = (
    "study instance learner model",
    "c1 c1_se c2 c2_se",
    "loglog_slope loglog_low loglog_high",
)
_BESIDE_K = " ".join(name for name in AXES if name != "K")
_OF_TRIAL = (*_CELL, *_named("trial"))
_SOURCE = (*_named(f"{_BESIDE_K} rows_sha256"), *_named("x K", when="axis"), *_named("n_capped", when="capped"))
_BY_FIT = "by `cascadebai fit`"

TABLES: Mapping[str, TableFile] = MappingProxyType(
    {
        TRIALS_CSV: _table("a trial", _CELL, _OUTCOME),
        SUMMARY_CSV: _table("a cell", _CELL, _STATISTICS),
        TIMINGS_CSV: _table(
            "a trial; times depend on the machine, and so have a table of their own", "cell_id trial seconds"
        ),
        TIMES_CSV: _table(
            "an instance and learner; what a reference keeps of `timings.csv`",
            "instance learner trials seconds mean_seconds",
        ),
        ANSWERS_CSV: _table("an item of the answer of a trial, with `record: answer`", _OF_TRIAL, "place item"),
        DECISIONS_CSV: _table(
            "an item that a trial accepted or rejected, with `record: decisions`", _OF_TRIAL, "item decision step"
        ),
        TRACES_CSV: _table(
            "a step at which a trial was looked at, with `record: trace`; the last one is its end",
            _OF_TRIAL,
            "step survivors observations",
            _named("right correct"),
        ),
        FITS_CSV: _table(
            f"an instance and learner with a model, {_BY_FIT}",
            f"{_CURVE} {_COEFFICIENTS} r2 p_value n_points",
            _named("published_c1 published_c2 published_r2 published_p_value", when="published"),
            f"best_model {_SLOPE}",
            _SOURCE,
        ),
        WEIGHTED_FITS_CSV: _table(
            f"a fit of fits.csv, repeated with weights from the errors of the trials, {_BY_FIT}",
            f"{_CURVE} {_COEFFICIENTS} lack_of_fit lack_of_fit_p rival rival_lack_of_fit rival_lack_of_fit_p",
            "exponent exponent_low exponent_high n_points",
            _SOURCE,
        ),
        MODELS_CSV: _table(
            f"an instance, learner and model, {_BY_FIT}",
            f"{_CURVE} {_COEFFICIENTS} r2 p_value n_points aic best {_SLOPE}",
            _SOURCE,
        ),
        BOUND_FITS_CSV: _table(
            f"an instance, fit and bound side by side, {_BY_FIT}",
            f"{_CURVE} c1 r2 bound_c1 bound_c2 bound_r2 bound_over_measured",
            _SOURCE,
        ),
        RATIOS_CSV: _table(
            f"two learners at a point of the grid, {_BY_FIT}",
            f"study {' '.join(SETTING)} learner other ratio ratio_low ratio_high",
            _named("pairs difference difference_low difference_high pairing", when="paired"),
            "n_capped error_rate other_error_rate rows_sha256",
        ),
        ORDERS_CSV: _table(
            f"two learners over all settings, {_BY_FIT}, for bars",
            "study learner compared_with settings better within worse much_worse capped rows_sha256",
        ),
        BUDGETS_CSV: _table(
            f"an instance and learner of a study with budgets, {_BY_FIT}",
            f"study {_POINT} n smallest largest budget_10 low_10 high_10 budget_5 low_5 high_5 budget_1 low_1 high_1",
            "rows_sha256",
        ),
        BOUNDS_CSV: _table(
            "a cell, by `cascadebai bounds --csv`",
            f"cell_id study {_POINT} w_star w_prime",
            _named("budget H H2 bound enough", when="budget"),
            _named("lower upper source dominating upper_general dominating_general upper_two_level", when="steps"),
            "n",
            _named("mean_steps n_capped measured_over_lower upper_over_measured", when="steps"),
            _named("error_rate error_low error_high bound_over_measured", when="budget"),
            _named("T_star gap sharp measured_over_sharp", when="sharp"),
            _named("factor", when="factor"),
        ),
    }
)
"""Name of a file -> the table that it holds."""


# --- Printing rows with the headings and formats of their columns ----------------------------------------------------


class Shown(NamedTuple):
    """A printed column: its heading, the function that makes its text from a row, and whether it is flush left."""

    heading: str
    text: Callable[[Mapping[Any, Any]], str]
    words: bool = False


def heading_of(name: str) -> str:
    """Return the heading of a column; a column that is in no file is called by its name."""
    return (name in COLUMNS and COLUMNS[name].heading) or name


def cell_text(name: str, row: Mapping[Any, Any]) -> str:
    """Return a value as text, a dash if there is none; a mean with capped trials is a limit without an interval."""
    value, limit = row[name], (row.get("n_capped") or 0) > 0
    if isinstance(value, str):
        return value
    if is_missing(value) or (limit and name in ("sd_steps", "ci_low", "ci_high")):
        return NO_NUMBER
    text = (COLUMNS[name].format if name in COLUMNS else number)(value)
    return f">= {text}" if limit and name == "mean_steps" else text


def interval(low: str, high: str) -> Shown:
    """Return the 95 % interval from one column to another."""

    def text(row: Mapping[Any, Any]) -> str:
        ends = [cell_text(name, row) for name in (low, high)]
        return NO_NUMBER if NO_NUMBER in ends else " to ".join(ends)

    return Shown("95 % interval", text)


def names_of(rows: "pd.DataFrame", names: Sequence[str], always: Collection[str] = ()) -> tuple[list[str], str]:
    """Return which of some columns tell the rows of a table apart, and the values of the others, in words.

    Args:
        rows: the table.
        names: columns, of which those without any value are left out.
        always: those that count as varying whatever they hold.
    """
    known = [name for name in names if name in rows and rows[name].notna().any()]
    varying = [name for name in known if name in always or rows[name].nunique(dropna=False) > 1]
    same = {heading_of(name): rows[name].iloc[0] for name in known if name not in varying}
    return varying, ", ".join(f"{heading} = {value_text(value)}" for heading, value in same.items())


def printed(
    rows: "pd.DataFrame",
    names: Sequence[str],
    columns: Sequence[str | Shown],
    *,
    always: Collection[str] = (),
    note: str = "",
    lines: Sequence[Mapping[Any, Any]] | None = None,
) -> Table:
    """Return rows as texts: columns that tell them apart, then those asked for; what all share stands above.

    Args:
        rows: the table.
        names, always: as for `names_of`.
        note: text behind what stands above.
        lines: printed in place of the rows; they must have the columns in `names` too.
    """
    varying, above = names_of(rows, names, always)
    shown = [*(_shown(name, _name_text) for name in varying), *map(_shown, columns)]
    texts = [[column.text(row) for column in shown] for row in (rows.to_dict("records") if lines is None else lines)]
    heads = [Head(column.heading, column.words) for column in shown]
    return Table(heads, texts, above="; ".join(filter(None, [above, note])))


def _name_text(name: str, row: Mapping[Any, Any]) -> str:
    return value_text(row[name])


def _shown(column: str | Shown, text: Callable[[str, Mapping[Any, Any]], str] = cell_text) -> Shown:
    if not isinstance(column, str):
        return column
    return Shown(heading_of(column), partial(text, column), column in COLUMNS and COLUMNS[column].type is str)


# --- A trial ---------------------------------------------------------------------------------------------------------


class TrialRow(NamedTuple):
    """One finished trial, from the worker to the tables.

    Attributes:
        status: one of `STATUSES`.
        correct: whether the items found are all epsilon-optimal; `None` for a capped trial.
        right: how many of them are epsilon-optimal; only for a trial with a budget.
        seconds: wall time; nan in rows of `trials.csv`, which does not hold it.
        items: the items found, as indices into the weights of the cell; empty if not asked for, and never stored.
        clicks: clicks on survivors expected from the observations of the run; nan if not asked for, and never stored.
        record: what was recorded inside the trial, by name, as a line of the journal holds it (`store.journal`).
    """

    cell_id: str
    trial: int
    status: str
    steps: int
    observations: int
    correct: bool | None
    seconds: float = float("nan")
    right: int | None = None
    items: tuple[int, ...] = ()
    clicks: float = float("nan")
    record: tuple[tuple[str, str], ...] = ()

    @property
    def outcome(self) -> tuple[str | int | bool | None, ...]:
        """What must be the same whenever and wherever the trial is run."""
        return tuple(getattr(self, name) for name in SAME)

    def contradicts(self, other: "TrialRow") -> bool:
        """Return whether the same trial ended differently; a column of `LATER` that one row lacks is not compared."""
        pairs = zip(SAME, self.outcome, other.outcome, strict=True)
        return any(one != two and not (name in LATER and None in (one, two)) for name, one, two in pairs)
