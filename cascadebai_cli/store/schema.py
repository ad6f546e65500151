"""What a result directory holds: names of files, their columns and types. Everything else takes them from here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, get_args

from cascadebai_cli.engines.run import Status

MANIFEST, JOURNAL, LOCK, FAILURES = "manifest.json", "trials.journal", ".lock", "failures.log"
OWNER = ".owner"
"""Stands for the lock on file systems without locks."""
TRIALS_CSV, TIMINGS_CSV, SUMMARY_CSV = "trials.csv", "timings.csv", "summary.csv"
TIMES_CSV = "times.csv"
"""What is kept of `timings.csv` in a reference."""
FITS_CSV, MODELS_CSV, BOUND_FITS_CSV = "fits.csv", "models.csv", "bound_fits.csv"
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
"""What a trial came to; each is a field of `TrialRow`, in the same order."""
BUDGET = _columns(budget=int, right=int)
"""What the rows of a study with a budget have besides: the attribute of the cell, and the field of `TrialRow`."""
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

_FIT = _columns(c1=float, c1_se=float, c2=float, c2_se=float, r2=float, p_value=float, n_points=int)
_SLOPE = _columns(loglog_slope=float, loglog_low=float, loglog_high=float)
_SOURCE = _columns(L=int, delta=float, epsilon=float, rows_sha256=str)
_PUBLISHED = _columns(published_c1=float, published_c2=float, published_r2=float, published_p_value=float)
_POINT = _columns(instance=str, learner=str, L=int, K=int, delta=float, epsilon=float)
_CURVE = _columns(study=str, instance=str, learner=str, model=str)

FIT_COLUMNS = _columns(**_CURVE, **_FIT, **_PUBLISHED, best_model=str, **_SLOPE, **_SOURCE)
MODEL_COLUMNS = _columns(**_CURVE, **_FIT, aic=float, best=int, **_SLOPE, **_SOURCE)
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
