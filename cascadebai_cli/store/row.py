"""What is kept of a trial: the value of each column of `trials.csv`, from its run."""

from collections.abc import Sequence

from cascadebai_cli.engines.run import Run
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.study.cells import Cell


def row_of(cell: Cell, problem: Instance, trial: int, run: Run, items: Sequence[int], seconds: float) -> TrialRow:
    """The row of a trial.

    Args:
        cell, trial: which trial.
        problem: the instance of the cell.
        run: what the engine returned.
        items: those found, as indices into the weights of the cell.
        seconds: wall time.

    Raises:
        CascadeError: if the run did not end after as many steps as can be counted.
    """
    if run.status == "capped" and run.steps not in (cell.max_steps, cell.budget):
        raise CascadeError(
            f"no end after {run.steps:,} steps, and more cannot be counted; choose a larger gap or epsilon, or a "
            "max_steps"
        )
    status = "answered" if cell.answers else run.status
    return TrialRow(
        cell_id=cell.cell_id,
        trial=trial,
        status=status,
        steps=run.steps,
        observations=run.observations,
        correct=None if status == "capped" else problem.is_correct(items),
        seconds=seconds,
        right=problem.right(items) if cell.answers else None,
    )
