"""How long the trials of a study took."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.reading import read_table

TIMES, TIMINGS = "times.csv", "timings.csv"
COLUMNS = ["instance", "learner", "trials", "seconds", "mean_seconds"]


def times_of(results: Results) -> pd.DataFrame:
    """Time on one core of each instance and learner: from `timings.csv`, or `times.csv` where only that was kept.

    Returns:
        columns `COLUMNS`; empty if neither file is there.

    Raises:
        ConfigError: if the file is damaged.
    """
    timings, times = results.directory / TIMINGS, results.directory / TIMES
    if timings.exists():
        return _times(results.summary, timings)
    return _read(times, COLUMNS, COLUMNS[2:]) if times.exists() else pd.DataFrame(columns=COLUMNS)


def _read(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    remedy = f"it needs the columns {', '.join(columns)}; sweep with --collect to write it again"
    return read_table(path, columns, numbers, remedy, dtype={"cell_id": str})[list(columns)]


def _times(summary: pd.DataFrame, path: Path) -> pd.DataFrame:
    trials = _read(path, ["cell_id", "seconds"], ["seconds"]).merge(
        summary[["cell_id", "instance", "learner"]], on="cell_id"
    )
    grouped = trials.groupby(["instance", "learner"], sort=False)["seconds"]
    return grouped.agg(trials="count", total="sum", mean_seconds="mean").reset_index().set_axis(COLUMNS, axis=1)
