"""Track-and-stop for cascading feedback: show lists in the proportions that are optimal for the present means.

After Garivier and Kaufmann (2016). The run is divided into *stretches*, each planned ahead (`list_plans`) from the
counts at its beginning:

1. *Forced exploration.* While an item was observed less often than the root of the average count (or never), the least
   observed items are shown once, the least observed one first, so that it is observed for certain.
2. *Tracking.* Otherwise a stretch has one step, or one part in `STRETCH` of the steps made so far: blocks of one list
   each, none longer than one part in `BLOCKS` of it, in the proportions of the mixture, which is made anew whenever the
   steps have grown by the factor `RENEWAL`.
3. *Stopping.* At the end of each stretch, by `glr.told_apart`, which errs with probability at most `delta` whatever is
   shown and whenever it is asked.

So a run depends on outcomes through the counts at the ends of stretches only, and an engine may draw a whole block of
equal lists at once.
"""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.learners.glr import refuse_tolerance, told_apart
from cascadebai_cli.learners.list_length import check_list_length
from cascadebai_cli.learners.list_plans import Plan, RepeatedList, blocks, plan, read
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.instance import IntArray

STRETCH = 32
"""A stretch is one part in so many of the steps made before it."""
BLOCKS = 32
"""A block is one part in so many of a stretch at most."""
RENEWAL = 1.25
"""Growth of the number of steps after which the mixture is made anew."""


class TrackAndStop:
    """Track-and-stop step by step.

    Args:
        L: number of items.
        K: number of items to find.
        delta: risk, in `(0, 1)`.
        epsilon: must be 0.
        list_length: `M`, the number of items shown at once; `K` if `None`.

    Attributes:
        engines: the fast engine that is exact for it.
        T, S: observations and clicks of each item.
        blocks: lists planned up to the end of the stretch.
        steps: lists shown before this stretch.
        finished: whether the learner has stopped.

    Raises:
        ConfigError: for `epsilon > 0`.
    """

    engines = ("planned",)

    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0, list_length: int | None = None) -> None:
        refuse_tolerance("track-and-stop", epsilon)
        check_list_length(list_length)
        self.L, self.K, self.M, self.delta = L, K, min(list_length or K, L), delta
        self.T: IntArray = np.zeros(L, np.int64)
        self.S: IntArray = np.zeros(L, np.int64)
        self.steps, self.finished = 0, False
        self._plan: Plan | None = None
        self._listed: IntArray = np.zeros(0, np.int64)
        self._renewal, self._block, self._shown = 0.0, 0, 0
        self.blocks = self._next_blocks()

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` largest means, in descending order."""
        return tuple(by_mean(self.S / np.maximum(self.T, 1))[: self.K].tolist())

    @property
    def answer(self) -> tuple[int, ...]:
        """The items to name now."""
        return self.recommendation

    def select(self) -> list[int]:
        """The list of the present block."""
        return list(self.blocks[self._block].items)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Count, and go on to the next block or stretch when it is time."""
        for item, outcome in zip(shown, outcomes, strict=False):
            self.T[item] += 1
            self.S[item] += outcome
        self._shown += 1
        if self._shown == self.blocks[self._block].repeats:
            self._block, self._shown = self._block + 1, 0
        if self._block == len(self.blocks):
            self.end_stretch()

    def end_stretch(self) -> None:
        """Stop, or plan the next stretch, from the counts after all of `blocks`."""
        self.steps += sum(block.repeats for block in self.blocks)
        self.finished = told_apart(self.T, self.S, self.K, self.delta)
        self._block = 0
        self.blocks = [] if self.finished else self._next_blocks()

    def _next_blocks(self) -> list[RepeatedList]:
        if self.T.min() < max(1, np.sqrt(self.T.mean())):
            least = np.argsort(self.T, kind="stable")[: self.M]
            return [RepeatedList(tuple(least.tolist()), 1)]
        reading = read(self.T, self.S, self.K, self._plan.theta if self._plan else np.nan)
        if self._plan is None or self.steps >= self._renewal:
            self._plan, self._renewal = plan(self.T, reading, self.steps, self.M), RENEWAL * self.steps
            self._listed = np.zeros(len(self._plan.lists), np.int64)
        steps = max(1, self.steps // STRETCH)
        return blocks(self._plan, self._listed, self.T, reading, steps, -(-steps // BLOCKS))
