"""Skip-ahead where only numbers of clicks are looked at: groups of rounds, and windows in one of them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.keys import cumulated, joined, positions, true_places
from cascadebai_cli.engines.proofs import Means, mean_bounds, suspects
from cascadebai_cli.engines.rows import Block, Focus, Mode
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


def look_at_groups(block: Block, at: IntArray) -> None:
    """Pass the next groups of the rows `at`, up to the first in which somebody may be identified; enter that."""
    rows, size, look, since = block.rows, block.rows.size[at], block.rows.look[at], block.rows.since[at]
    first, groups = look // size, rows.rounds[at] // size
    count = np.minimum(rows.ahead[at], groups - first)
    of = np.repeat(np.arange(len(at)), count)
    row, group = at[of], (first - np.cumsum(count) + count)[of] + np.arange(len(of))
    parts = zip(rows.sums[at].tolist(), first.tolist(), (first + count + 1).tolist(), strict=True)
    sums = np.concatenate([each[begin:end] for each, begin, end in parts])
    begin = np.arange(len(of)) + of  # a row has one border more than groups
    before, alive, start = sums[begin], rows.alive[row], group * rows.size[row]
    T = (rows.T[row] + start)[:, None]
    T_end = T + rows.size[row][:, None]
    means = mean_bounds(T, before, T_end, sums[begin + 1], rows.k[row], alive)
    suspected = suspects(block.rule, means, T_end) & alive
    rows.look[at], rows.since[at] = (first + count) * size, 0
    rows.ahead[at] = np.minimum(2 * rows.ahead[at], block.sizes.ahead)
    rows.mode[at] = np.where(first + count < groups, Mode.GROUPS, Mode.STRETCH)
    hot = np.flatnonzero(suspected.any(axis=1))
    hot = hot[np.diff(of[hot], prepend=-1) != 0]
    if len(hot):
        begin, of, row = start[hot], of[hot], row[hot]
        everybody = np.broadcast_to(np.arange(block.width), (len(hot), block.width))
        rows.group.above[row] = 0
        found = Found(everybody, means.of(hot), suspected[hot], T[hot], before[hot], begin, begin + rows.size[row])
        _attend(block, row, rows.group, found)
        inside = look[of] >= begin
        rows.look[row], rows.since[row] = np.where(inside, look[of], begin), np.where(inside, since[of], 0)
        _enter(block, row)


class Found(NamedTuple):
    """Windows in which somebody may be identified.

    Attributes:
        items: items that are looked at, shape `(rows, m)`.
        means: their bounds.
        suspected: who may be identified.
        T, clicks: counts, and clicks of each item, when the windows begin.
        begin, stop: rounds of a window.
    """

    items: IntArray
    means: Means
    suspected: BoolArray
    T: IntArray
    clicks: FloatArray
    begin: IntArray
    stop: IntArray


def _attend(block: Block, at: IntArray, focus: Focus, found: Found) -> None:
    """Restrict the focus to the survivors that matter in the windows."""
    items, means, blur = found.items, found.means, block.rule.blur(found.T)
    alive = (means.high >= 0) & block.rows.alive[at[:, None], items]
    boundary = (means.high + blur >= means.next_best) & (means.low - blur <= means.last_good)
    matter = (boundary | found.suspected) & alive
    focus.begin[at], focus.stop[at] = found.begin, found.stop
    focus.above[at] += (alive & ~matter & (means.low - blur > means.last_good)).sum(axis=1)
    focus.matter[at] = count = matter.sum(axis=1)
    of, column = true_places(matter)
    row, item = at[of], items[of, column]
    place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    focus.place[at] = -1
    focus.items[row, place], focus.place[row, item] = item, place
    focus.low[row, item], focus.high[row, item] = means.low[of, column], means.high[of, column]
    focus.next_best[at], focus.last_good[at] = means.next_best[:, 0], means.last_good[:, 0]
    focus.base[row, item] = found.clicks[of, column]


def _enter(block: Block, at: IntArray) -> None:
    """Begin to look into groups, where rows may stand in the midst of one."""
    rows = block.rows
    _take_keys(block, at)
    rows.ahead[at] = 1
    rows.focus.stop[at] = 0
    _widen(block, at)
    now = at[(rows.since[at] > 0) | (rows.size[at] == 1)]
    rows.focus.copy(now, rows.group)
    rows.focus.stop[now], rows.level[now] = rows.look[now] + 1, 0
    rows.mode[now] = Mode.STEPS


def _take_keys(block: Block, at: IntArray) -> None:
    """Pick the keys of the items that matter in their group."""
    rows, place = block.rows, block.rows.group.place
    group = rows.group.begin[at] // rows.size[at]
    borders = [rows.starts[row][i : i + 2] for row, i in zip(at.tolist(), group.tolist(), strict=True)]
    keys, count = joined([rows.keys[row][slice(*each)] for row, each in zip(at.tolist(), borders, strict=True)])
    own = place.ravel().take(np.repeat(at << block.shift, count) | (keys & (block.width - 1))) >= 0
    keys, stops = keys[own], np.append(0, np.cumsum(own))[np.cumsum(count)].tolist()
    for row, (begin, end) in zip(at.tolist(), pairwise([0, *stops]), strict=True):
        rows.group.keys[row] = keys[begin:end]


def _widen(block: Block, at: IntArray) -> None:
    """Look at all items that matter in the group, from round `look` on."""
    rows = block.rows
    rows.mode[at] = Mode.GROUP
    left = rows.group.stop[at] - rows.look[at]
    rows.level[at] = np.maximum(np.ceil(np.log2(left)).astype(np.int64) - block.sizes.divide, 0)


def look_at_group(block: Block, at: IntArray) -> None:
    """Pass the next windows of the group; restrict the focus to the first in which somebody may be identified."""
    rows, group = block.rows, block.rows.group
    hot, windows = _look(block, at, group)
    if hot.any():
        at = at[hot]
        rows.focus.above[at] = group.above[at]
        _attend(block, at, rows.focus, windows)
        borders = np.stack([windows.begin, windows.stop], axis=1) << block.shift
        for row, keys, each in zip(at.tolist(), group.keys[at].tolist(), borders, strict=True):
            first, last = positions(keys, each)
            rows.focus.keys[row] = keys[first:last]


def look_at_window(block: Block, at: IntArray) -> None:
    """Pass the next windows of the focus, up to the first in which somebody may be identified."""
    _look(block, at, block.rows.focus)


def _look(block: Block, at: IntArray, focus: Focus) -> tuple[BoolArray, Found]:
    """Pass the next windows; which rows have found one, and what."""
    rows, row = block.rows, np.arange(len(at))
    m, level, stop = int(focus.matter[at].max()), rows.level[at], focus.stop[at]
    n = min(block.sizes.windows, 1 + int(((stop - rows.look[at] - 1) >> level).max()))
    items = focus.items[at, :m]
    alive = (rows.alive[at[:, None], items] & (np.arange(m) < focus.matter[at][:, None]))[:, None]
    border = np.minimum(rows.look[at][:, None] + (np.arange(n + 1) << level[:, None]), stop[:, None])
    S, T = clicks_before(block, at, focus, border), (rows.T[at][:, None] + border)[:, :, None]
    k = (rows.k[at] - focus.above[at])[:, None]
    means = mean_bounds(T[:, :-1], S[:, :-1], T[:, 1:], S[:, 1:], k, alive)
    suspected = suspects(block.rule, means, T[:, 1:]) & alive
    hot = suspected.any(axis=2) & (border[:, :-1] < stop[:, None])
    found, window = np.any(hot, axis=1), hot.argmax(axis=1)
    rows.look[at] = border[row, np.where(found, window, n)]
    rows.level[at] = np.where(found, np.maximum(level - block.sizes.divide, 0), level + block.sizes.grow)
    go_on(block, at[~found])
    rows.mode[at[found]] = np.where(level[found] == 0, Mode.STEPS, Mode.WINDOW)
    row, window = row[found], window[found]
    first = row, window
    begin, stop = border[row, window], border[row, window + 1]
    return found, Found(items[row], means.of(first), suspected[first], T[first], S[first], begin, stop)


def clicks_before(block: Block, at: IntArray, focus: Focus, border: IntArray) -> FloatArray:
    """Clicks of the items of a focus before the rounds `border` in it, shape `(rows, borders, m)`.

    All borders but the first of a row lie `2 ** level` rounds apart, or at the end of what is looked at: so the last
    window may be cut short, and keys of the focus lie behind it.
    """
    rows, n, m = block.rows, border.shape[1], int(focus.matter[at].max())
    keys, count = joined(focus.keys[at].tolist())
    place = focus.place.ravel().take(np.repeat(at << block.shift, count) | (keys & (block.width - 1)))
    ahead = (keys >> block.shift) - np.repeat(border[:, 0], count)
    window = np.minimum(np.maximum((ahead >> np.repeat(rows.level[at], count)) + 1, 0), n)
    window[ahead >= np.repeat(border[:, -1] - border[:, 0], count)] = n
    cell = (np.repeat(np.arange(len(at)) * (n + 1), count) + window) * m + place
    met = np.bincount(cell[place >= 0], minlength=len(at) * (n + 1) * m)
    sums = met.reshape(len(at), n + 1, m)[:, :n].astype(float)
    clicks = rows.clicks[at]
    sums *= np.where(clicks, 1.0, -1.0)[:, None, None]
    sums[:, 0] += focus.base[at[:, None], focus.items[at, :m]]
    cumulated(sums.swapaxes(0, 1))
    rounds = border - focus.begin[at][:, None]
    sums += np.where(clicks[:, None], 0, rounds)[:, :, None]
    return sums


def go_on(block: Block, at: IntArray) -> None:
    """What comes next for rows in which nobody else can be identified before round `look`."""
    rows = block.rows
    inside, within = rows.look[at] < rows.focus.stop[at], rows.look[at] < rows.group.stop[at]
    _widen(block, at[within & ~inside & (rows.mode[at] != Mode.GROUP)])
    rows.mode[at[inside]] = Mode.WINDOW
    beyond = at[~within]
    rows.mode[beyond] = np.where(rows.look[beyond] < rows.rounds[beyond], Mode.GROUPS, Mode.STRETCH)
