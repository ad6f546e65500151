"""What a result directory holds: names of files, their columns and types. Everything else takes them from here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

MANIFEST, JOURNAL, LOCK, FAILURES = "manifest.json", "trials.journal", ".lock", "failures.log"
TRIALS, TIMINGS, SUMMARY = "trials.csv", "timings.csv", "summary.csv"
TIMES = "times.csv"
"""What is kept of `timings.csv` in a reference."""
FITS, MODELS, BOUND_FITS = "fits.csv", "models.csv", "bound_fits.csv"
RATIOS, ORDERS, BOUNDS = "ratios.csv", "orders.csv", "bounds.csv"

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
"""What a trial came to; each is a field of `Row`."""
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

TRIAL_COLUMNS: Columns = MappingProxyType({**CELL, **OUTCOME})
TIMING_COLUMNS = _columns(cell_id=str, trial=int, seconds=float)
SUMMARY_COLUMNS: Columns = MappingProxyType({**CELL, **STATISTICS})
TIMES_COLUMNS = _columns(instance=str, learner=str, trials=int, seconds=float, mean_seconds=float)

BOUNDED = ("cell_id", "study", "instance", "learner", "L", "K", "delta", "epsilon", "w_star", "w_prime")
"""The columns `CELL` in the order of `bounds.csv`."""

POINT = ("instance", "learner", "L", "K", "delta", "epsilon")
"""What tells the cells of one study apart."""
SERIES = ("instance", "learner", "L", "delta", "epsilon")
"""Cells that agree in these columns make one curve over `K`."""
SETTING = ("instance", "L", "K", "delta", "epsilon")
"""Cells that agree in these columns differ in the learner only."""


class Row(NamedTuple):
    """One finished trial, from the worker to the tables.

    Attributes:
        status: `stopped` or `capped`.
        correct: whether the items found are all epsilon-optimal; `None` for a capped trial.
        seconds: wall time; nan in rows of `trials.csv`, which does not hold it.
        items: the items found, as indices into the weights of the cell; empty if not asked for, and never stored.
    """

    cell_id: str
    trial: int
    status: str
    steps: int
    observations: int
    correct: bool | None
    seconds: float = float("nan")
    items: tuple[int, ...] = ()

    @property
    def outcome(self) -> tuple[str, int, int, bool | None]:
        """What must be the same whenever and wherever the trial is run."""
        return self.status, self.steps, self.observations, self.correct
