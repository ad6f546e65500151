"""Which cells are likely to take long, so that they are dealt out first and the time left becomes known early."""

import numpy as np

from cascadebai_cli.study.cells import Cell


def hardness(cell: Cell) -> float:
    """A guess of the steps of a trial, up to a factor: the sum of `log(1/delta) / gap^2` over observations a step.

    The sum is the order of the paper's bounds (Section 4.1); of the best list, or of as many items of it as a step
    shows, `mu` are observed. Nothing but the order of work hangs on it.
    """
    problem = cell.problem
    gaps = np.maximum(problem.gaps, max(problem.epsilon, np.finfo(float).tiny ** 0.25))
    batch = cell.spec.options.get("b")
    further = (batch if isinstance(batch, int) else cell.K) - 1
    unseen = 0.0 if cell.feedback.observes_all else problem.sorted_weights[:further]
    mu = 1 + np.cumprod(np.ones(further) - unseen).sum()
    return float(np.log(1 / cell.delta) * (gaps**-2.0).sum() / mu)
