"""How long a race takes for each unit of `ln(1 / delta)` as `delta` becomes small: its fluid limit, with known means.

A racing learner observes its survivors in a cyclic sweep, so that all have the same count `n`, and drops item `i` once
`n = c_i ln(1 / delta)`: of an item of the best `K`, `c_i` is what its interval and that of the best of the others need
to part, of another item what its interval and that of the weakest of the best need. The last two to part are just
these two, so neither changes before the end, and the steps are `ln(1 / delta)` times the sum over stages of the change
of `c` times the *steps of a round*, in which the sweep passes each of the `d` survivors once.

*Steps of a round.* Let `b` be the largest number of observations of a step, `q_i = 1 - w_i`, and `x_p` the chance, in
the long run, that a step ends just before place `p` of the sweep. It does if there is a click at place `p - 1`, or if
a step began at place `p - b` and none of the `b` items since was clicked:

    `x_p = w_(p-1) + x_(p-b) q_(p-b) ... q_(p-1)`.

Going back by `b` places again and again comes to the same place after `d / g` times, `g = gcd(b, d)`, and then each
item was passed `b / g` times, whatever their order: with `P = q_1 ... q_d`,

    `x_p = (sum over m < d / g of w_(p-1-mb) q_(p-mb) ... q_(p-1)) / (1 - P^(b/g))`.

For `mb = u d + v`, `v < d`, these factors `q` are `P^u` times those of the `v` items behind the clicked one. If all
orders of the items are equally likely, the mean of `w` of an item times the `q` of the next `v` is a mean over choices
of `v + 1` different items. `_Choices` takes in one item after the other: a new one is the first of those chosen with
probability `1 / d`, one of the `v` behind it with probability `v / d`, and else not chosen. All terms are positive, so
no digits are lost.
"""

from collections.abc import Callable
from math import gcd

import numpy as np

from cascadebai_cli.model.problem import FloatArray, Instance

_Parting = Callable[[FloatArray, FloatArray], FloatArray]
"""Observations of each of two items, for each unit of `ln(1 / delta)`, until intervals around two means part."""


class _Choices:
    """Means over all choices of different items, which are added one by one.

    Attributes:
        d: number of items so far.
        log_skip: `ln P`, the logarithm of the chance that none of them is clicked.
    """

    def __init__(self, most: int) -> None:
        self.d, self.log_skip = 0, 0.0
        self._skips, self._first = np.eye(1, most + 1)[0], np.zeros(most + 1)

    def add(self, w: float) -> None:
        """Take in an item of weight `w`."""
        self.d += 1
        v, q = np.arange(len(self._first)), 1 - w
        before = w * self._skips
        self._first = (before + v * q * _moved(self._first) + np.maximum(self.d - 1 - v, 0) * self._first) / self.d
        self._skips = (v * q * _moved(self._skips) + np.maximum(self.d - v, 0) * self._skips) / self.d
        with np.errstate(divide="ignore"):
            self.log_skip += np.log1p(-w)

    def steps(self, b: int) -> float:
        """Return the expected steps of a round, at most `b` observations a step."""
        turns = gcd(b, self.d)
        u, v = np.divmod(b * np.arange(self.d // turns), self.d)
        ends = (np.exp(self.log_skip) ** u * self._first[v]).sum()
        return float(self.d * ends / -np.expm1(b // turns * self.log_skip))


def _moved(values: FloatArray) -> FloatArray:
    """Return `values[v - 1]` for each `v`, 0 for the first."""
    return np.concatenate([[0.0], values[:-1]])


def race(instance: Instance, parting: _Parting, batch: Callable[[int], int], *, observes_all: bool = False) -> float:
    """Return the limit of steps over `ln(1 / delta)` of a race, a mean over all orders of the items.

    It is `nan` where `parting` is.

    Args:
        instance: the instance, with `epsilon = 0`.
        parting: of the means of a best item and another one; it falls as they move apart.
        batch: of the number of survivors, the largest number of observations of a step.
        observes_all: all items of a step are observed, instead of those up to the first click.
    """
    w, K = instance.sorted_weights, instance.K
    lasts = np.concatenate([parting(w[:K], w[K]), parting(w[K - 1], w[K:])])
    if np.isnan(lasts).any():
        return float("nan")
    order, choices, steps = np.argsort(-lasts, kind="stable"), _Choices(instance.L), 0.0
    ends = lasts[order]
    for item, stage in zip(order, ends - np.append(ends[1:], 0), strict=True):
        choices.add(w[item])
        if stage > 0:
            b = batch(choices.d)
            steps += stage * (choices.d / b if observes_all else choices.steps(b))
    return float(steps)
