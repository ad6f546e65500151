"""Consecutive steps with known ends: the first of them at which a rule fires."""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.places import Path
from cascadebai_cli.engines.proofs import levels, mean_bounds
from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

DIVIDE = 16
"""Steps that are not proven quiet are divided into this many groups."""
FEW = 64
"""Steps of a group that is not divided further."""
TOGETHER = 16
"""Step ends at which the rule is evaluated by one call."""


class Firing(NamedTuple):
    """A step at whose end items are identified: its index, and masks of the survivors."""

    step: int
    accept: BoolArray
    reject: BoolArray


def counts_of(seen: IntArray | int, d: int) -> IntArray:
    """How often each of `d` survivors was observed among the first `seen` observations of the rounds.

    Returns:
        shape `(d,)`, or `(m, d)` for `seen` of shape `(m,)`.
    """
    counts: IntArray = (np.asarray(seen)[..., None] - np.arange(d) + (d - 1)) // d
    return counts


class Suspects(NamedTuple):
    """Who could be identified in which group of steps (`proofs`).

    Attributes:
        mask: whether a survivor could be, shape `(groups, d)`.
        accept_level, reject_level: what a lower bound must exceed, and an upper bound stay below, shape `(groups, 1)`.
    """

    mask: BoolArray
    accept_level: FloatArray
    reject_level: FloatArray

    def of(self, group: int) -> "Suspects":
        """Those of one group."""
        return Suspects(*(part[group] for part in self))


class Steps:
    """Steps in which nobody has been identified yet.

    Args:
        rule: the racing rule.
        k: number of items still to be accepted.
        seen: observations before the first step.
        S: clicks of the survivors before it, shape `(d,)`.
        path: the steps.

    Attributes:
        all: number of the steps.
    """

    def __init__(self, rule: RacingRule, k: int, seen: int, S: IntArray, path: Path) -> None:
        self.rule, self.k, self.S, self.d = rule, k, S, len(S)
        self.path, self.all = path, len(path.seen)
        self._seen: IntArray = np.append(seen, seen // self.d * self.d + path.seen)

    def seen(self, made: IntArray | int) -> IntArray:
        """Observations after the first `made` steps."""
        return np.asarray(self._seen[made])

    def clicks(self, made: int) -> IntArray:
        """Clicks of the survivors after the first `made` steps."""
        if made == self.all:
            return self.S + self.path.clicks
        clicks: IntArray = self._sums(np.array([0, made]), self.S)[1]
        return clicks

    def first_firing(self) -> Firing | None:
        """The first step at which somebody is identified, if any."""
        whole = self._suspects(np.array([0, self.all]), np.stack([self.S, self.S + self.path.clicks]))
        return self._search(0, self.all, self.S) if whole.mask.any() else None

    def _search(self, start: int, stop: int, S: IntArray) -> Firing | None:
        """The same from step `start` to `stop`; `S` are the clicks before `start`."""
        size = max(FEW, -(-(stop - start) // DIVIDE))
        borders = np.append(np.arange(start, stop, size), stop)
        sums = self._sums(borders, S)
        suspects = self._suspects(borders, sums)
        for group in np.flatnonzero(suspects.mask.any(axis=1)).tolist():
            part = int(borders[group]), int(borders[group + 1]), sums[group]
            found = self._search(*part) if size > FEW else self._look(*part, suspects.of(group))
            if found is not None:
                return found
        return None

    def _suspects(self, borders: IntArray, sums: IntArray) -> Suspects:
        """Suspects of the groups of steps between the borders; `sums` are the clicks there."""
        T = counts_of(self.seen(borders), self.d)
        means = mean_bounds(T[:-1], sums[:-1], T[1:], sums[1:], self.k)
        most = T[1:, :1]  # no count is larger
        accept, reject = levels(self.rule, means, most)
        mask = self.rule.above(means.high, most, accept) | self.rule.below(means.low, most, reject)
        return Suspects(mask, accept, reject)

    def _look(self, start: int, stop: int, S: IntArray, suspects: Suspects) -> Firing | None:
        """The same in a few steps, one by one where a suspect passes a level."""
        sums = self._sums(np.arange(start, stop + 1), S)[1:]
        T = counts_of(self.seen(np.arange(start, stop) + 1), self.d)
        mean, watched = sums / np.maximum(T, 1), np.flatnonzero(suspects.mask)
        hot = self.rule.above(mean[:, watched], T[:, watched], suspects.accept_level)
        hot |= self.rule.below(mean[:, watched], T[:, watched], suspects.reject_level)
        steps = np.flatnonzero(hot.any(axis=1))
        for tried in np.split(steps, range(TOGETHER, len(steps), TOGETHER)):
            accept, reject = self._identify(mean[tried], T[tried])
            firing = np.flatnonzero((accept | reject).any(axis=1))
            if len(firing):
                return Firing(start + int(tried[firing[0]]), accept[firing[0]], reject[firing[0]])
        return None

    def _identify(self, mean: FloatArray, T: IntArray) -> tuple[BoolArray, BoolArray]:
        return self.rule.identify(mean, self.rule.lower(mean, T), self.rule.upper(mean, T), self.k)

    def _sums(self, borders: IntArray, S: IntArray) -> IntArray:
        """Clicks at the borders, cumulated from `S` at the first; shape `(borders, d)`."""
        part = slice(*np.searchsorted(self.path.at, borders[[0, -1]]))
        group = np.searchsorted(borders, self.path.at[part], side="right") - 1
        new = np.bincount(group * self.d + self.path.place[part], minlength=(len(borders) - 1) * self.d)
        return np.cumsum(np.vstack([S, new.reshape(-1, self.d)]), axis=0)
