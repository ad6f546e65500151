"""How long trials took: `timings.csv`, trial by trial, and `times.csv`, which is kept of it in a reference."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pandas as pd

from cascadebai_cli.store.files import write_atomically
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.store.schema import TIMES_COLUMNS, TIMES_CSV, TIMING_COLUMNS, TIMINGS_CSV, Columns
from cascadebai_cli.store.tables import read_table
from cascadebai_cli.store.trials import InGrid, rows_below
from cascadebai_cli.store.wanted import Limits


def write_timings(directory: Path, cells: Sequence[InGrid], stored: Stored, limits: Limits | None = None) -> str:
    """Write `timings.csv`, the wall time of each trial; arguments and result as for `write_trials`."""
    header = ",".join(TIMING_COLUMNS) + "\n"
    rows = (
        f"{cell.cell_id},{row['trial']},{row['seconds']:.6f}\n"
        for cell in cells
        for row in rows_below(stored, cell, limits)
    )
    return write_atomically(directory / TIMINGS_CSV, chain([header], rows))


def write_times(directory: Path, times: pd.DataFrame) -> None:
    """Write `times.csv`, as from `times_of`."""
    text = times.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    write_atomically(directory / TIMES_CSV, [text])


def times_of(directory: Path, summary: pd.DataFrame) -> pd.DataFrame:
    """Time on one core of each instance and learner: from `timings.csv`, or `times.csv` where only that was kept.

    Args:
        directory: the result directory.
        summary: its cells.

    Returns:
        columns `TIMES_COLUMNS`; empty if neither file is there.

    Raises:
        ConfigError: if the file is damaged.
    """
    timings, times = directory / TIMINGS_CSV, directory / TIMES_CSV
    if timings.exists():
        return _times(summary, _read(timings, TIMING_COLUMNS))
    return _read(times, TIMES_COLUMNS) if times.exists() else pd.DataFrame(columns=list(TIMES_COLUMNS))


def _read(path: Path, columns: Columns) -> pd.DataFrame:
    remedy = f"it needs the columns {', '.join(columns)}; sweep with --collect to write it again"
    return read_table(path, columns, remedy)[list(columns)]


def _times(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    trials = timings.merge(summary[["cell_id", "instance", "learner"]], on="cell_id")
    grouped = trials.groupby(["instance", "learner"], sort=False)["seconds"]
    times = grouped.agg(trials="count", total="sum", mean_seconds="mean").reset_index()
    return times.set_axis(list(TIMES_COLUMNS), axis=1)
