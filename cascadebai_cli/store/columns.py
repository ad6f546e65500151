"""What a result directory holds: names of files, their columns, types and meanings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Status

# --- What a result directory holds: names of files, their columns and types. Everything else takes them from here ---


MANIFEST, JOURNAL, LOCK, FAILURES = "manifest.json", "trials.journal", ".lock", "failures.log"
OWNER = ".owner"
"""Stands for the lock on file systems without locks."""
TRIALS_CSV, TIMINGS_CSV, SUMMARY_CSV = "trials.csv", "timings.csv", "summary.csv"
TIMES_CSV = "times.csv"
"""What is kept of `timings.csv` in a reference."""
FITS_CSV, MODELS_CSV, BOUND_FITS_CSV = "fits.csv", "models.csv", "bound_fits.csv"
WEIGHTED_FITS_CSV = "weighted_fits.csv"
BUDGETS_CSV = "budgets.csv"
RATIOS_CSV, ORDERS_CSV, BOUNDS_CSV = "ratios.csv", "orders.csv", "bounds.csv"

Columns = Mapping[str, type]
"""Name of a column -> type of its values; `bool` stands as 1 or 0, and as nothing where it does not apply."""


def _columns(**types: type) -> Columns:
    return MappingProxyType(types)


CELL = _columns(
    cell_id=str,
    study=str,
    instance=str,
    learner=str,
    L=int,
    K=int,
    w_star=float,
    w_prime=float,
    delta=float,
    epsilon=float,
)
"""A cell; each is an attribute of `study.cells.Cell`."""
OUTCOME = _columns(trial=int, status=str, steps=int, observations=int, correct=bool)
"""What a trial came to; each is a field of `TrialRow`."""
BUDGET = _columns(budget=int, right=int)
"""What the rows of a study with a budget have besides: the attribute of the cell, and the field of `TrialRow`."""
IN_PLACE = ("trial", "status", "steps", "observations", "correct", "seconds", "right")
"""What each line of a journal holds behind its cell, in these places: no version may ever change them."""
LATER = tuple(name for name in OUTCOME if name not in IN_PLACE)
"""Columns that came later: a line holds them by name, and lines and tables that were written before have no value.

In `TrialRow` their fields stand behind `right`, in this order, and are `None` by default.
"""
SAME = (*(name for name in OUTCOME if name != "trial"), "right")
"""What must be the same whenever and wherever a trial is run."""
STATISTICS = _columns(
    n=int,
    mean_steps=float,
    sd_steps=float,
    se_steps=float,
    ci_low=float,
    ci_high=float,
    mean_observations=float,
    n_capped=int,
    error_rate=float,
    error_low=float,
    error_high=float,
)
"""What the trials of a cell came to together."""
BUDGET_STATISTICS = _columns(budget=int, mean_right=float, right_low=float, right_high=float)
"""And those of a cell with a budget."""

TRIAL_COLUMNS: Columns = MappingProxyType({**CELL, **OUTCOME})
TIMING_COLUMNS = _columns(cell_id=str, trial=int, seconds=float)
SUMMARY_COLUMNS: Columns = MappingProxyType({**CELL, **STATISTICS})
TIMES_COLUMNS = _columns(instance=str, learner=str, trials=int, seconds=float, mean_seconds=float)

_COEFFICIENTS = _columns(c1=float, c1_se=float, c2=float, c2_se=float)
_FIT = _columns(**_COEFFICIENTS, r2=float, p_value=float, n_points=int)
_SLOPE = _columns(loglog_slope=float, loglog_low=float, loglog_high=float)
_SOURCE = _columns(L=int, delta=float, epsilon=float, rows_sha256=str)
_PUBLISHED = _columns(published_c1=float, published_c2=float, published_r2=float, published_p_value=float)
_POINT = _columns(instance=str, learner=str, L=int, K=int, delta=float, epsilon=float)
_CURVE = _columns(study=str, instance=str, learner=str, model=str)

FIT_COLUMNS = _columns(**_CURVE, **_FIT, **_PUBLISHED, best_model=str, **_SLOPE, **_SOURCE)
MODEL_COLUMNS = _columns(**_CURVE, **_FIT, aic=float, best=int, **_SLOPE, **_SOURCE)
WEIGHTED_FIT_COLUMNS = _columns(
    **_CURVE,
    **_COEFFICIENTS,
    lack_of_fit=float,
    lack_of_fit_p=float,
    rival=str,
    rival_lack_of_fit=float,
    rival_lack_of_fit_p=float,
    exponent=float,
    exponent_low=float,
    exponent_high=float,
    n_points=int,
    **_SOURCE,
)
BOUND_FIT_COLUMNS = _columns(
    **_CURVE,
    c1=float,
    r2=float,
    bound_c1=float,
    bound_c2=float,
    bound_r2=float,
    bound_over_measured=float,
    **_SOURCE,
)
RATIO_COLUMNS = _columns(
    study=str,
    instance=str,
    L=int,
    K=int,
    delta=float,
    epsilon=float,
    learner=str,
    other=str,
    ratio=float,
    ratio_low=float,
    ratio_high=float,
    n_capped=int,
    error_rate=float,
    other_error_rate=float,
    rows_sha256=str,
)
ORDER_COLUMNS = _columns(
    study=str,
    learner=str,
    compared_with=str,
    settings=int,
    better=int,
    within=int,
    worse=int,
    much_worse=int,
    capped=int,
    rows_sha256=str,
)
BOUND_COLUMNS = _columns(
    cell_id=str,
    study=str,
    **_POINT,
    w_star=float,
    w_prime=float,
    lower=float,
    upper=float,
    source=str,
    dominating=str,
    upper_general=float,
    dominating_general=str,
    upper_two_level=float,
    n=int,
    mean_steps=float,
    n_capped=int,
    measured_over_lower=float,
    upper_over_measured=float,
)
BUDGET_COLUMNS = _columns(
    study=str,
    **_POINT,
    n=int,
    smallest=int,
    largest=int,
    **{f"{end}_{level}": float for level in (10, 5, 1) for end in ("budget", "low", "high")},
    rows_sha256=str,
)
"""Budgets at which the error rate falls below 10, 5 and 1 %, with the ends of their intervals."""
BUDGET_BOUND_COLUMNS = _columns(
    cell_id=str,
    study=str,
    **_POINT,
    w_star=float,
    w_prime=float,
    budget=int,
    H=float,
    H2=float,
    bound=float,
    enough=float,
    n=int,
    error_rate=float,
    error_low=float,
    error_high=float,
    bound_over_measured=float,
)
"""The same of a study with a budget: bounds on the chance of an error."""
SHARP_COLUMNS = _columns(T_star=float, gap=float, sharp=float, measured_over_sharp=float)
"""What `bounds --sharp` adds to them."""

POINT = tuple(_POINT)
"""What tells the cells of one study apart."""
PLACE = (*POINT, "budget")
"""The same where there may be a budget."""
SETTING = ("instance", "L", "K", "delta", "epsilon")
"""Cells that agree in these columns differ in the learner only."""


STATUSES: tuple[str, ...] = (*get_args(Status), "answered")
MOST_COUNT = 2**63 - 1
"""Largest number of a trial, of steps or of observations."""


class TrialRow(NamedTuple):
    """One finished trial, from the worker to the tables.

    Attributes:
        status: one of `STATUSES`.
        correct: whether the items found are all epsilon-optimal; `None` for a capped trial.
        right: how many of them are, of a trial with a budget.
        seconds: wall time; nan in rows of `trials.csv`, which does not hold it.
        items: the items found, as indices into the weights of the cell; empty if not asked for, and never stored.
        clicks: clicks on survivors expected from the observations of the run; nan if not asked for, and never stored.
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

    @property
    def outcome(self) -> tuple[str | int | bool | None, ...]:
        """What must be the same whenever and wherever the trial is run."""
        return tuple(getattr(self, name) for name in SAME)

    def contradicts(self, other: "TrialRow") -> bool:
        """Whether the same trial ended differently; a column of `LATER` that one of them lacks tells nothing."""
        pairs = zip(SAME, self.outcome, other.outcome, strict=True)
        return any(one != two and not (name in LATER and None in (one, two)) for name, one, two in pairs)


# --- How a value of a trial is kept: in a line of text, and in an array ---------------------------------------------


@dataclass(frozen=True)
class Code:
    """The two forms of a value.

    Attributes:
        dtype: type of the array.
        read: text -> value; raises `ValueError` or `KeyError` where no sweep writes such a text.
        text: value -> text.
        pack, unpack: value -> number in the array, and back; the same where none is named.
    """

    dtype: type
    read: Callable[[str], Any]
    text: Callable[[Any], str] = str
    pack: Callable[[Any], Any] | None = None
    unpack: Callable[[Any], Any] | None = None

    def texts(self, packed: NDArray[Any]) -> Iterator[str]:
        """The texts of an array of packed values."""
        values = packed.tolist()
        return map(self.text, map(self.unpack, values) if self.unpack else values)


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MOST_COUNT:
        raise ValueError(f"{number} is no count")
    return number


_FLAGS: tuple[bool | None, ...] = (False, True, None)
"""Place in it: 0, 1, and -1 where it does not apply."""
_BY_TEXT = {"0": False, "1": True, "": None}

_COUNT = Code(np.int64, _count)
_STATUS = Code(
    np.int8, dict(zip(STATUSES, STATUSES, strict=True)).__getitem__, str, STATUSES.index, STATUSES.__getitem__
)
_FLAG = Code(
    np.int8,
    _BY_TEXT.__getitem__,
    lambda flag: "" if flag is None else str(int(flag)),
    lambda flag: -1 if flag is None else int(flag),
    _FLAGS.__getitem__,
)
_OPTIONAL = Code(
    np.int64,
    lambda text: _count(text) if text else None,
    lambda number: "" if number is None else str(number),
    lambda number: -1 if number is None else number,
    lambda packed: None if packed < 0 else packed,
)
_SECONDS = Code(np.float64, float, "{:.6f}".format)

CODES: Mapping[str, Code] = MappingProxyType(
    {name: {int: _COUNT, str: _STATUS, bool: _FLAG}[kind] for name, kind in OUTCOME.items() if name not in LATER}
    | {"seconds": _SECONDS, "right": _OPTIONAL}
    | {name: {int: _OPTIONAL, bool: _FLAG}[OUTCOME[name]] for name in LATER}
)
"""What the journal keeps of a trial: `IN_PLACE`, then `LATER`, of which -1 in the array is one that is lacking."""


# --- What the columns and files of a result directory mean; docs/results.md is made from it -------------------------


MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "cell_id": "hash of the content of the cell: weights, numbers, options, code of your own",
        "study": "name of the study",
        "instance": "name of the instance",
        "learner": "name of the learner",
        "L": "number of items",
        "K": "number of items to find",
        "w_star": "the largest weight",
        "w_prime": "the smallest weight",
        "delta": "largest probability of a wrong answer that is asked for",
        "epsilon": "tolerance",
        "trial": "number of the trial, from 0",
        "status": "`stopped`, `capped` (it reached `max_steps`) or `answered` (it was asked after a budget)",
        "steps": "lists shown",
        "observations": "items looked at in all steps",
        "correct": "1 if all items found are good enough, else 0; empty if capped",
        "budget": "steps after which the learner was asked",
        "right": "how many of the items named are good enough",
        "seconds": "time",
        "n": "number of trials",
        "mean_steps": "mean of the steps, capped trials with the steps at which they were cut",
        "sd_steps": "standard deviation of the steps",
        "se_steps": "standard error of the mean",
        "ci_low": "lower end of the 95 % interval of the mean (Student's t)",
        "ci_high": "upper end of it",
        "mean_observations": "mean of the observations",
        "n_capped": "number of capped trials; if there are any, the mean is a lower limit",
        "error_rate": "share of wrong answers among the trials that stopped",
        "error_low": "lower end of its 95 % interval (exact binomial)",
        "error_high": "upper end of it",
        "mean_right": "mean of `right`",
        "right_low": "lower end of its 95 % interval",
        "right_high": "upper end of it",
        "trials": "number of trials",
        "mean_seconds": "mean time of a trial",
        "model": "regressor f of the fit c1 f + c2",
        "c1": "slope",
        "c1_se": "standard error of it",
        "c2": "intercept",
        "c2_se": "standard error of it",
        "r2": "share of the variance of the means that is explained",
        "p_value": "of the slope",
        "n_points": "number of means in the fit",
        "published_c1": "slope in the paper",
        "published_c2": "intercept in the paper",
        "published_r2": "R² in the paper",
        "published_p_value": "p-value in the paper",
        "best_model": "the model with the smallest AIC",
        "loglog_slope": "slope of log steps against the log of the axis",
        "loglog_low": "lower end of its 95 % interval",
        "loglog_high": "upper end of it",
        "lack_of_fit": "squares of the residuals over what the errors of the trials make of them",
        "lack_of_fit_p": "chance of so large a value if the model is right",
        "rival": "the other usual model with the smallest lack of fit",
        "rival_lack_of_fit": "that",
        "rival_lack_of_fit_p": "chance of so large a value if the rival is right",
        "exponent": "the b of c1 x^b + c2, 0 for a logarithm",
        "exponent_low": "lower end of its 95 % interval",
        "exponent_high": "upper end of it",
        "rows_sha256": "hash of the `trials.csv` that this was made from",
        "aic": "Akaike's criterion",
        "best": "1 for the model with the smallest AIC",
        "bound_c1": "slope of the upper bound on the same model",
        "bound_c2": "intercept of it",
        "bound_r2": "R² of it",
        "bound_over_measured": "the bound over what was measured",
        "other": "the learner in the denominator",
        "ratio": "mean steps of `learner` over those of `other`",
        "ratio_low": "lower end of its 95 % interval",
        "ratio_high": "upper end of it",
        "other_error_rate": "error rate of `other`",
        "compared_with": "the learner that it is compared with",
        "settings": "number of instances and points of the grid",
        "better": "how many of them with at least 5 % fewer steps",
        "within": "within 5 %",
        "worse": "with at least 5 % more",
        "much_worse": "with at least twice as many",
        "capped": "how many with trials that reached the cap",
        "lower": "lower bound on the mean steps of any learner",
        "upper": "smallest upper bound on the steps of Algorithm 1, with probability 1 - delta",
        "source": "theorem that it comes from",
        "dominating": "its largest term",
        "upper_general": "the upper bound for any weights",
        "dominating_general": "its largest term",
        "upper_two_level": "the upper bound for two levels of weights",
        "measured_over_lower": "mean steps over the lower bound",
        "upper_over_measured": "upper bound over the mean steps",
        "smallest": "smallest budget of the study",
        "largest": "largest budget of the study",
        **{f"budget_{level}": f"budget from which on the error rate is below {level} %" for level in (10, 5, 1)},
        **{f"low_{level}": f"lower end of the 95 % interval of `budget_{level}`" for level in (10, 5, 1)},
        **{f"high_{level}": f"upper end of the 95 % interval of `budget_{level}`" for level in (10, 5, 1)},
        "H": "hardness, the sum of 1 / gap² over all items",
        "H2": "hardness, the largest i / gap² with gaps in ascending order",
        "bound": "bound on the chance of an error",
        "enough": "budget from which on that bound is below delta",
        "T_star": "steps that are needed for each unit of kl(delta, 1 - delta), at least",
        "gap": "how far its solution may be from the best one, relatively",
        "sharp": "the sharp lower bound on the mean steps",
        "measured_over_sharp": "mean steps over it",
    }
)
"""Column -> what it holds, in any table."""

FILES: Mapping[str, tuple[str, Columns]] = MappingProxyType(
    {
        TRIALS_CSV: ("a trial", TRIAL_COLUMNS),
        SUMMARY_CSV: ("a cell", SUMMARY_COLUMNS),
        TIMINGS_CSV: ("a trial; on this machine, and so apart from the other tables", TIMING_COLUMNS),
        FITS_CSV: ("an instance and learner with a model, by `cascadebai fit`", FIT_COLUMNS),
        WEIGHTED_FITS_CSV: (
            "a row of fits.csv by the errors of the trials, by `cascadebai fit`",
            WEIGHTED_FIT_COLUMNS,
        ),
        MODELS_CSV: ("an instance, learner and model, by `cascadebai fit`", MODEL_COLUMNS),
        BOUND_FITS_CSV: (
            "an instance, fit and bound side by side, by `cascadebai fit`",
            BOUND_FIT_COLUMNS,
        ),
        RATIOS_CSV: ("two learners at a point of the grid, by `cascadebai fit`", RATIO_COLUMNS),
        ORDERS_CSV: ("two learners over all settings, by `cascadebai fit`, for bars", ORDER_COLUMNS),
        BUDGETS_CSV: (
            "an instance and learner of a study with budgets, by `cascadebai fit`",
            BUDGET_COLUMNS,
        ),
        BOUNDS_CSV: ("a cell, by `cascadebai bounds --csv`", BOUND_COLUMNS),
    }
)
"""Table -> what one row of it is, and its columns."""

WITH_BUDGET: Mapping[str, Columns] = MappingProxyType(
    {
        TRIALS_CSV: BUDGET,
        SUMMARY_CSV: BUDGET_STATISTICS,
        BOUNDS_CSV: BUDGET_BOUND_COLUMNS,
    }
)
"""Table -> the columns that a study with budgets has besides, or in their place."""
