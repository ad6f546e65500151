"""The sharp lower bound beside what was measured."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from cascadebai_cli.learners.own_code import is_own
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.store.schema import SHARP_COLUMNS
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.theory.sharp import SharpBound, sharp_bound

KEPT = 512
"""Instances whose bound is kept: it does not depend on `delta`."""


def with_sharp(table: pd.DataFrame, cells: Sequence[Cell]) -> pd.DataFrame:
    """Add `T_star`, its certified relative `gap`, the bound `sharp` and the measured mean over it.

    Args:
        table: one row a cell, in the order of `cells`, with `mean_steps`.
        cells: the cells; `nan` where `epsilon > 0`, a step may observe an item twice, or nothing is
            proved for the feedback.
    """
    known = [_bound(cell) for cell in cells]
    values = [
        (bound.characteristic_steps, bound.gap, bound.steps(cell.delta)) if bound else (np.nan,) * 3
        for bound, cell in zip(known, cells, strict=True)
    ]
    *of_bound, over = SHARP_COLUMNS
    added = pd.DataFrame(values, columns=of_bound, index=table.index, dtype=float)
    added[over] = table["mean_steps"].astype(float) / added["sharp"].where(added["sharp"] != 0)
    return pd.concat([table, added], axis=1)


def _bound(cell: Cell) -> SharpBound | None:
    """The bound for lists as long as those of the cell's learner."""
    M = _shown(cell)
    if cell.epsilon > 0 or M is None or not cell.feedback.has_theory:
        return None
    return _found(tuple(cell.problem.weights.tolist()), cell.K, cell.feedback.observes_all, M)


def _shown(cell: Cell) -> int | None:
    """Items of a step: of code of one's own as many as it may show, `None` where one of them may be observed twice."""
    if is_own(cell.spec.algorithm):
        return cell.spec.most_shown(cell.K)
    learner = cell.build()
    return None if getattr(learner, "repeats", False) else len(learner.select())


@lru_cache(KEPT)
def _found(weights: tuple[float, ...], K: int, semi_bandit: bool, M: int) -> SharpBound:
    return sharp_bound(Instance(np.array(weights), K), semi_bandit=semi_bandit, M=M)
