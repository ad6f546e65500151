"""How many trials a cell is to have, given those that it has.

The answer rests on the first trials by number alone, looked at in stages that follow from them, so that it is the
same whatever was run when and where. A mean that stops being measured once its interval is narrow has an interval
that is a little too narrow; the stages are few, so that this is little.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf
from typing import Any

from numpy.typing import NDArray

from cascadebai_cli.store.intervals import relative_half_width
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.study.enough import Enough

SMALLEST_STAGE, LARGEST_STAGE = 1.25, 4
"""How many times as many trials the next stage has."""

Limits = Mapping[str, int]
"""Cell -> number of its trials."""


def limits_of(trials: int | Enough, stored: Stored, cell_ids: Iterable[str]) -> Limits:
    """The number of trials of each cell."""
    return {cell_id: wanted(trials, stored.of(cell_id)) for cell_id in cell_ids}


def trials_of(config: Mapping[str, Any]) -> int | Enough:
    """What a resolved config says of trials."""
    trials = config["trials"]
    return Enough.model_validate(trials) if isinstance(trials, Mapping) else trials


def wanted(trials: int | Enough, rows: NDArray[Any]) -> int:
    """The number of trials of one cell.

    Args:
        trials: what the config says.
        rows: those that are there, sorted by trial.
    """
    if isinstance(trials, int):
        return trials
    stage = trials.at_least
    while stage < trials.at_most:
        there = rows[rows["trial"] < stage]
        if len(there) < stage:
            break
        more = max(_needed(trials, there), default=0.0)
        if more <= stage:
            break
        stage = ceil(min(max(more, SMALLEST_STAGE * stage), LARGEST_STAGE * stage))
    return min(stage, trials.at_most)


def _needed(aims: Enough, rows: NDArray[Any]) -> Iterator[float]:
    """For each aim the number of trials that is likely to reach it; that of `rows` if they do."""
    n = len(rows)
    if aims.relative_error is not None:
        yield n * max(1.0, relative_half_width(rows["steps"]) / aims.relative_error) ** 2
    if aims.max_errors is not None:
        errors = int((rows["correct"] == 0).sum())
        yield n * max(1.0, aims.max_errors / errors if errors else inf)
