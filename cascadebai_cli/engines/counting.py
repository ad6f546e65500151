"""Skip-ahead where nobody is identified: steps are only counted."""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.keys import cuts_at_clicks, cuts_at_skips, joined, positions, step_ends
from cascadebai_cli.engines.rows import Block, Mode
from cascadebai_cli.model.instance import BoolArray, IntArray


def count_steps(block: Block, at: IntArray, to: IntArray) -> None:
    """Go to the begin of the rounds `to` in rows in which nobody is identified before; at the cap a row is over."""
    rows = block.rows
    ahead = to > rows.round[at]
    at, to = at[ahead], to[ahead]
    if len(at) == 0:
        return
    steps, offset, met = _cuts(block, at, to)
    capped = rows.steps[at] + steps >= rows.cap[at]
    for row, end in zip(at[capped].tolist(), to[capped].tolist(), strict=True):
        _stop_at_cap(block, row, end)
    free = at[~capped]
    rows.steps[free] += steps[~capped]
    rows.offset[free], rows.met[free] = offset[~capped], met[~capped]
    rows.round[free], rows.column[free] = to[~capped], 0


def _cuts(block: Block, at: IntArray, to: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Steps that end from where rows stand to the begin of the rounds `to`, offsets there, and keys before."""
    rows = block.rows
    d, batch, offset = rows.d[at], rows.batch[at], rows.offset[at]
    passed = (rows.alive[at] & (np.arange(block.width) < rows.column[at][:, None])).sum(axis=1)
    length = (to - rows.round[at]) * d - passed
    steps, rest = np.divmod(offset + length, batch)
    parts, met = _next_keys(block, at, to)
    counted = np.array([0 if rows.clicks[row] else _shorten(block, row, parts, i) for i, row in enumerate(at.tolist())])
    chunk = np.cumsum([len(part) for part in parts]) // block.sizes.chunk
    chunk = np.where(rows.cascading[at] & (batch > 1), 2 * chunk + rows.clicks[at], -1)
    for number in np.unique(chunk[chunk >= 0]):
        some = np.flatnonzero(chunk == number)
        count = cuts_at_clicks if number % 2 else cuts_at_skips
        places = _places(block, at[some], [parts[i] for i in some], passed[some])
        steps[some], rest[some] = count(*places, length[some], offset[some], batch[some])
        steps[some] -= counted[some]
    return steps, rest, met


def _shorten(block: Block, row: int, parts: list[IntArray], place: int) -> int:
    """Leave only the end of a row's keys, of skips, if no step ends without a click.

    Such a step observes `batch` different items, one after the other and all of them skipped, so that as many keys
    lie no further apart than these items; those of the step in progress lie before.

    Returns:
        how many skips of survivors were left out: at each of the other observations there a step ends.
    """
    keys, rows = parts[place], block.rows
    batch, rest = int(rows.batch[row]), int(rows.batch[row] - rows.offset[row])
    if not 1 < batch <= rows.d[row] or len(keys) < block.sizes.shorten * batch:
        return 0
    begin = (int(rows.round[row]) << block.shift) + int(rows.column[row])
    nearest = min(keys[rest - 1] - begin, (keys[batch - 1 :] - keys[: 1 - batch]).min())
    if nearest < block.width and nearest < _reach(rows.alive[row], batch):
        return 0
    parts[place], left = keys[-batch:], keys[:-batch]
    everybody = rows.d[row] == rows.drawn[row]
    return len(left) if everybody else int(np.count_nonzero(rows.alive[row].take(left & (block.width - 1))))


def _reach(alive: BoolArray, batch: int) -> int:
    """Between a survivor and the one `batch` observations later lie fewer keys; there are as many survivors or more."""
    survivors = np.flatnonzero(alive)
    later = np.concatenate([survivors[batch:], survivors[:batch] + len(alive)])
    return int((later - survivors).max())


def _next_keys(block: Block, at: IntArray, to: IntArray) -> tuple[list[IntArray], IntArray]:
    """Keys from where rows stand to the begin of the rounds `to`, and how many keys lie before there."""
    rows, begin = block.rows, (block.rows.round[at] << block.shift) + block.rows.column[at]
    borders, keys = np.stack([begin, to << block.shift], axis=1), rows.keys[at].tolist()
    found = [positions(*each) for each in zip(keys, borders, strict=True)]
    return [each[first:last] for each, (first, last) in zip(keys, found, strict=True)], np.array(found)[:, 1]


def _places(block: Block, at: IntArray, parts: Sequence[IntArray], passed: IntArray) -> tuple[IntArray, IntArray]:
    """Keys as places among the observations of the survivors from where their rows stand on, and how many a row."""
    keys, count = joined(parts)
    dead = np.iinfo(keys.dtype).min
    alive, d = block.rows.alive[at], block.rows.d[at].astype(keys.dtype)
    place: IntArray = np.cumsum(alive, axis=1) - (1 + passed + block.rows.round[at] * d)[:, None]
    place[~alive] = dead
    row = np.repeat(np.arange(len(at), dtype=np.int32) << block.shift, count)
    found = place.astype(keys.dtype).ravel().take(row | (keys & (block.width - 1)))
    kept = found > dead
    found += (keys >> block.shift) * np.repeat(d, count)
    if kept.all():
        return found, count
    return found[kept], np.diff(np.append(0, np.cumsum(kept))[np.cumsum(count)], prepend=0)


def outcomes_of_round(block: Block, at: IntArray) -> tuple[BoolArray, BoolArray]:
    """Clicks of the round in which rows stand, and who is still to be observed in it, both of shape `(rows, width)`."""
    rows, width = block.rows, block.width
    keys, count = joined(
        [rows.keys[row][a : a + width] for row, a in zip(at.tolist(), rows.met[at].tolist(), strict=True)]
    )
    cell = np.repeat(np.arange(len(at)) << block.shift, count) | (keys & (width - 1))
    clicks = np.repeat(~rows.clicks[at], width)
    clicks[cell[(keys >> block.shift) == np.repeat(rows.round[at], count)]] ^= True
    return clicks.reshape(-1, width), rows.alive[at] & (np.arange(width) >= rows.column[at][:, None])


def steps_of_round(block: Block, at: IntArray) -> IntArray:
    """Steps that end before each item in the rest of the round in which rows stand, shape `(rows, width + 1)`."""
    rows = block.rows
    ended: IntArray = np.zeros((len(at), block.width + 1), np.int32)
    if len(at):
        clicks, observed = outcomes_of_round(block, at)
        ends = step_ends(clicks & rows.cascading[at][:, None], observed, rows.offset[at], rows.batch[at])
        np.cumsum(ends, axis=1, out=ended[:, 1:])
    return ended


def _stop_at_cap(block: Block, row: int, end: int) -> None:
    """Find the round before `end` in which the cap is reached, and end there."""
    rows, at = block.rows, np.array([row])
    low, high = int(rows.round[row]), end
    while high - low > 1:
        middle = (low + high) // 2
        steps, _, _ = _cuts(block, at, np.array([middle]))
        low, high = (low, middle) if rows.steps[row] + steps[0] >= rows.cap[row] else (middle, high)
    count_steps(block, at, np.array([low]))
    rows.column[row] = np.searchsorted(steps_of_round(block, at)[0], rows.cap[row] - rows.steps[row])
    rows.steps[row], rows.mode[row] = rows.cap[row], Mode.OVER
