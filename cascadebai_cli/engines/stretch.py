"""A stretch of the sweep: what `d` items answer in `n` rounds, and where steps cut it.

In one round every survivor is observed once, in the order of `D`. Only the positions of the rarer outcome are kept.
"""

from functools import cached_property

import numpy as np

from cascadebai_cli.model.instance import BoolArray, IntArray


class Stretch:
    """Outcomes of `items` columns over `rounds` rounds.

    Args:
        rounds, items: size of the stretch.
        keys: sorted `round * items + column` of every rare outcome.
        clicks: whether the rare outcome is a click (else a skip).
    """

    def __init__(self, rounds: int, items: int, keys: IntArray, clicks: bool) -> None:
        self.rounds, self.items, self.keys, self.clicks = rounds, items, keys, clicks

    @cached_property
    def _round(self) -> IntArray:
        return self.keys // self.items

    @cached_property
    def _column(self) -> IntArray:
        return self.keys - self._round * self.items

    def _between(self, start: int, stop: int) -> slice:
        low, high = np.searchsorted(self.keys, [start * self.items, stop * self.items])
        return slice(int(low), int(high))

    def sums(self, start: int, rows: int, size: int) -> IntArray:
        """Clicks of each column in `rows` consecutive groups of `size` rounds from `start` on, cumulated.

        Returns:
            shape `(rows + 1, items)`, first row 0.
        """
        part = self._between(start, start + rows * size)
        cell = (self._round[part] - start) // size * self.items + self._column[part]
        rare = np.bincount(cell, minlength=rows * self.items).reshape(rows, self.items)
        sums = np.zeros((rows + 1, self.items), np.int64)
        np.cumsum(rare if self.clicks else size - rare, axis=0, out=sums[1:])
        return sums

    def outcomes(self, round_: int) -> BoolArray:
        """Clicks of one round, shape `(items,)`."""
        bits = np.full(self.items, not self.clicks)
        bits[self._column[self._between(round_, round_ + 1)]] = self.clicks
        return bits

    def positions(self, start: int, stop: int, columns: IntArray) -> IntArray:
        """Rare outcomes of `columns` (ascending) as positions in the sweep over these columns alone."""
        part = self._between(start, stop)
        if len(columns) == self.items:
            return self.keys[part] - start * self.items
        rank = np.full(self.items, -1)
        rank[columns] = np.arange(len(columns))
        place = rank[self._column[part]]
        kept = place >= 0
        at: IntArray = (self._round[part][kept] - start) * len(columns) + place[kept]
        return at

    def cuts(self, start: int, stop: int, columns: IntArray, offset: int, batch: int) -> tuple[int, int]:
        """How many steps end in the rounds `start` to `stop` of a sweep over `columns`.

        A step ends at a click or at its `batch`-th observation; `offset < batch` observations of the step in
        progress lie before `start`.

        Returns:
            number of steps that end, and observations of the step then in progress.
        """
        at = self.positions(start, stop, columns)
        count = cuts_at_clicks if self.clicks else cuts_at_skips
        return count(at, (stop - start) * len(columns), offset, batch)


def cuts_at_clicks(clicks: IntArray, length: int, offset: int, batch: int) -> tuple[int, int]:
    """Steps that end in `length` observations with clicks at the sorted positions `clicks`."""
    if len(clicks) == 0:
        return divmod(offset + length, batch)
    first = int(clicks[0]) + 1 + offset
    gaps = clicks[1:] - clicks[:-1]
    full, rest = divmod(length - 1 - int(clicks[-1]), batch)
    return -(-first // batch) + int(((gaps + (batch - 1)) // batch).sum()) + full, rest


def cuts_at_skips(skips: IntArray, length: int, offset: int, batch: int) -> tuple[int, int]:
    """Steps that end in `length` observations with skips at the sorted positions `skips`.

    Every click ends a step, and so does every `batch`-th skip of an unbroken run of skips.
    """
    run = np.concatenate([np.arange(-offset, 0), skips])
    clicks = length - len(skips)
    trailing = _trailing_run(run, length)
    if len(run) < batch or not (run[batch - 1 :] - run[: len(run) - batch + 1] == batch - 1).any():
        return clicks, trailing
    ends = np.flatnonzero(np.append(run[1:] - run[:-1] != 1, True))
    lengths = np.diff(ends, prepend=-1)
    return clicks + int((lengths // batch).sum()), trailing % batch


def _trailing_run(run: IntArray, length: int) -> int:
    """Length of the run of skips that reaches the end of the stretch."""
    if len(run) == 0 or run[-1] != length - 1:
        return 0
    return int((run == np.arange(length - len(run), length)).sum())


def step_ends(clicks: BoolArray, offset: int, batch: int) -> IntArray:
    """Positions at which steps end in a short run of observations, all of them known."""
    at = clicks.nonzero()[0]
    if len(at) and at[0] + offset < batch > len(clicks) - 1 - at[-1] and (at[1:] - at[:-1] <= batch).all():
        return at
    ends: list[int] = []
    last = -1 - offset
    for click in at.tolist():
        ends += range(last + batch, click, batch)
        ends.append(click)
        last = click
    ends += range(last + batch, len(clicks), batch)
    return np.array(ends, dtype=np.int64)
