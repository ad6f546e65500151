"""Variants of Algorithm 1 over a table of rewards that is used again, step by step in plain Python.

For the search on the published numbers only: other readings of the text, or other ways of writing the program. The
rule is looked at when the counts have grown by one in a thousand (at least by one), so a stopping time may be wrong by
about as much; `look=1` is Algorithm 1 itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.learners.cascadebai import CascadeRule
from cascadebai_cli.learners.protocol import Race

SPARSE = 1000
"""The rule is looked at when the largest count has grown by this part of itself."""


@dataclass(frozen=True)
class Variant:
    """What is done differently.

    Args:
        equals: order of survivors with equal counts: `D` (theirs in `D`, as in the product), `kept` (`D` itself is
            sorted anew by count at each step, stably), `random`, or `mean` (the largest first).
        fill: identified items that fill a short list: `behind` the survivors, or the `accepted` or `rejected` ones,
            as far as there are, before them.
        look: steps between two looks at the rule; if not given, as often as the counts grow.
        one: whether at most one item is accepted and one rejected at a look.
    """

    equals: str = "D"
    fill: str = "behind"
    look: int | None = None
    one: bool = False


class Stop(NamedTuple):
    """A stopping time, the cap if it was reached, and whether the items found are the best ones."""

    steps: int
    correct: bool


class _Trial:
    def __init__(self, rule: CascadeRule, w: NDArray[np.float64], rng: np.random.Generator) -> None:
        self.rule, self.w, self.rng = rule, w, rng
        self.race = Race(rule.L, rule.K)
        self.T, self.S = [0] * rule.L, [0] * rule.L
        self.D: list[int] = list(range(rule.L))
        self.looked = 0

    def look(self, one: bool) -> None:
        """Lines 12 to 17 of Algorithm 1."""
        D = self.race.survivors
        T, S = (np.array(values)[D] for values in (self.T, self.S))
        mean = S / np.maximum(T, 1)
        accept, reject = self.rule.identify(mean, self.rule.lower(mean, T), self.rule.upper(mean, T), self.race.k)
        if one:
            accept, reject = _first(accept), _first(reject)
        if accept.any() or reject.any():
            self.race.settle(accept, reject, mean)
            alive = set(self.race.survivors.tolist())
            self.D = [item for item in self.D if item in alive]
        self.looked = int(T.max())

    def correct(self) -> bool:
        best = np.sort(self.w)[::-1][: self.rule.K]
        return bool(np.allclose(np.sort(self.w[list(self.race.recommendation)])[::-1], best))


def _first(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    only = np.zeros_like(mask)
    only[mask.argmax()] = mask.any()
    return only


def _order(trial: _Trial, equals: str) -> Callable[[], list[int]]:
    """The survivors, least observed first."""
    T, S, rng = trial.T, trial.S, trial.rng

    def kept() -> list[int]:
        trial.D.sort(key=T.__getitem__)
        return trial.D

    def random() -> list[int]:
        luck = rng.random(len(T)).tolist()
        return sorted(trial.D, key=lambda item: T[item] + luck[item])

    def by_mean() -> list[int]:
        return sorted(trial.D, key=lambda item: (T[item], -S[item]))

    def of_D() -> list[int]:
        return sorted(trial.D, key=T.__getitem__)

    return {"D": of_D, "kept": kept, "random": random, "mean": by_mean}[equals]


def _fill(trial: _Trial, fill: str, room: int) -> list[int]:
    if fill == "behind" or room <= 0:
        return []
    first, second = trial.race.accepted, trial.race.rejected
    return (first + second if fill == "accepted" else second + first)[:room]


def run(
    variant: Variant, rule: CascadeRule, w: NDArray[np.float64], rng: np.random.Generator, rows: int, cap: float
) -> Stop:
    """One trial.

    Args:
        variant: what is done differently.
        rule: Algorithm 1's.
        w: click probabilities, shape `(L,)`.
        rng: the trial's generator.
        rows: rows of the table that is used again and again.
        cap: most steps.
    """
    trial, K = _Trial(rule, w, rng), rule.K
    table = [row.tobytes() for row in rng.random((rows, rule.L)) < w]
    order, T, S, race, t = _order(trial, variant.equals), trial.T, trial.S, trial.race, 0
    while not race.finished and t < cap:
        row = table[t % rows]
        t += 1
        shown = order()[:K]
        if any(row[item] for item in _fill(trial, variant.fill, K - len(shown))):
            continue
        for item in shown:
            T[item] += 1
            if row[item]:
                S[item] += 1
                break
        due = t % variant.look == 0 if variant.look else T[shown[0]] >= trial.looked + max(1, trial.looked // SPARSE)
        if due:
            trial.look(variant.one)
    return Stop(t if race.finished else math.ceil(cap), trial.correct())
