"""Run all cells of a study in memory."""

from collections.abc import Sequence
from contextlib import closing

import numpy as np
import pandas as pd

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.work import BlockResult, Settings
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.store.trials import trials_table
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study
from cascadebai_cli.workflows.studies import check_rows
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Backend", "simulate"]


def simulate(study: Study, *, backend: Backend | None = None, watch: Watch = SILENT) -> pd.DataFrame:
    """Run all trials; nothing is written.

    Args:
        study: with a number of trials.
        backend: where trials run; all cores by default.
        watch: follows the trials.

    Returns:
        the rows that `trials.csv` of a sweep of the study would hold, in the same order.

    Raises:
        ConfigError: if there are too many trials, or their number depends on what comes out.
        CascadeError: if a trial raises, or the backend breaks.
    """
    check_rows(study)
    if not isinstance(study.trials, int):
        raise ConfigError("trials: how many are enough is for a sweep to find out; give a number")
    numbers = [np.arange(study.trials)] * len(study.cells)
    rows: list[list[TrialRow]] = [[] for _ in study.cells]
    with (
        one_interrupt(),
        watch.trials(list(map(len, numbers))) as progress,
        closing(
            run_missing(study.cells, numbers, Settings(study.seed, fail_fast=True), backend or Backend(), watch)
        ) as results,
    ):
        for result in results:
            _refuse_failed(study.cells, result)
            progress.update(result)
            rows[result.position] += result.finished
    return trials_table(study.cells, (row for done in rows for row in sorted(done)))


def _refuse_failed(cells: Sequence[Cell], result: BlockResult) -> None:
    for failed in result.failed:
        error = CascadeError(f"trial {failed.trial} of {cells[result.position].label} failed: {failed.error}")
        error.add_note(failed.trace)
        raise error
