"""Skip-ahead between stretches: how many rounds are drawn next, and the drawing."""

import numpy as np

from cascadebai_cli.engines.counting import count_steps
from cascadebai_cli.engines.keys import MOST_KEYS, group_sums, positions
from cascadebai_cli.engines.rows import Block, Mode
from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import FloatArray, IntArray

AHEAD = 4
"""Groups that are looked at first."""


def next_stretch(block: Block, at: IntArray, quiet_until: int) -> None:
    """Count the steps that are left of the stretch, and draw the next; no rule fires up to the count `quiet_until`."""
    rows = block.rows
    count_steps(block, at, rows.rounds[at])
    at = at[rows.mode[at] != Mode.OVER]
    for row in at.tolist():
        rows.S[row] = rows.sums[row][-1]
    rows.T[at] += rows.rounds[at]
    rows.round[at] = rows.column[at] = rows.met[at] = rows.look[at] = 0
    for row, rounds in zip(at.tolist(), _horizon(block, at, quiet_until).tolist(), strict=True):
        _draw(block, row, rounds)
    rows.ahead[at] = AHEAD
    rows.mode[at] = np.where(rows.T[at] + rows.rounds[at] > quiet_until, Mode.GROUPS, Mode.STRETCH)


def _horizon(block: Block, at: IntArray, quiet_until: int) -> FloatArray:
    """Rounds worth drawing: half way to where a rule would fire if the means stayed as they are."""
    rows, rule, n = block.rows, block.rule, np.arange(len(at))
    T, k = rows.T[at], rows.k[at]
    mean = np.where(rows.alive[at], rows.S[at] / np.maximum(T, 1)[:, None], -1.0)
    mean = -np.sort(-mean, axis=1)
    best, last_good, next_best, worst = mean[n, 0], mean[n, k - 1], mean[n, k], mean[n, rows.d[at] - 1]
    to_accept = _width(rule, best, next_best, T) / np.maximum(best - next_best + rule.epsilon, 1e-9)
    to_reject = _width(rule, last_good, worst, T) / np.maximum(last_good - worst - rule.epsilon, 1e-9)
    ahead = np.minimum(to_accept, to_reject) ** 2 - 1
    far = T * np.clip(ahead / 2, 1 / 16, 8)
    return np.where(quiet_until > T, quiet_until - T, np.where(T > 0, far, 1.0))


def _width(rule: RacingRule, high: FloatArray, low: FloatArray, T: IntArray) -> FloatArray:
    """How far apart two means must be so that their bounds part."""
    return np.where(T > 0, high - rule.lower(high, T) + rule.upper(low, T) - low, 0.0)


def _draw(block: Block, row: int, rounds: float) -> None:
    """Draw about `rounds` rounds for a row, in groups of a power of four."""
    rows, sizes = block.rows, block.sizes
    survivors = np.flatnonzero(rows.alive[row])
    outcomes = block.outcomes[rows.id[row]]
    keys = len(survivors) * max(outcomes.rarity(survivors), 1e-9)
    whole = int(max(1, min(max(rounds, sizes.few / keys), sizes.stored / keys, (MOST_KEYS >> block.shift) - 1)))
    size = 1
    while 4 * size * sizes.groups <= whole:
        size *= 4
    groups = whole // size
    rows.rounds[row], rows.size[row], rows.drawn[row] = groups * size, size, len(survivors)
    stretch = outcomes.stretch(survivors, int(rows.T[row]), groups * size, block.shift)
    rows.keys[row], rows.clicks[row] = stretch
    rows.sums[row] = group_sums(stretch.keys, block.shift, size, groups, stretch.clicks, rows.S[row])
    starts = positions(stretch.keys, np.arange(groups) * (size << block.shift))
    rows.starts[row] = [*starts, len(stretch.keys)]
