"""Skip-ahead where only numbers of clicks are looked at: groups of rounds, and windows in one of them."""

import numpy as np

from cascadebai_cli.engines.keys import joined, positions
from cascadebai_cli.engines.proofs import Means, mean_bounds, suspects
from cascadebai_cli.engines.rows import Block, Focus, Mode
from cascadebai_cli.model.instance import BoolArray, IntArray


def look_at_groups(block: Block, at: IntArray) -> None:
    """Pass the next groups of the rows `at`, up to the first in which somebody may be identified; enter that."""
    rows, size = block.rows, block.rows.size[at]
    first, groups = rows.look[at] // size, rows.rounds[at] // size
    count = np.minimum(rows.ahead[at], groups - first)
    of = np.repeat(np.arange(len(at)), count)
    row, group = at[of], (first - np.cumsum(count) + count)[of] + np.arange(len(of))
    sums = np.concatenate([rows.sums[i][a : a + n + 1] for i, a, n in zip(at, first, count, strict=True)])
    begin = np.arange(len(of)) + of  # a row has one border more than groups
    before = rows.S[row] + sums[begin]
    start = group * rows.size[row]
    T = (rows.T[row] + start)[:, None]
    T_end, alive = T + rows.size[row][:, None], rows.alive[row]
    means = mean_bounds(T, before, T_end, rows.S[row] + sums[begin + 1], rows.k[row], alive)
    suspected = suspects(block.rule, means, T_end) & alive
    rows.look[at] = (first + count) * size
    rows.ahead[at] = np.minimum(2 * rows.ahead[at], block.sizes.ahead)
    rows.mode[at] = np.where(first + count < groups, Mode.GROUPS, Mode.STRETCH)
    hot = np.flatnonzero(suspected.any(axis=1))
    hot = hot[np.diff(of[hot], prepend=-1) != 0]
    if len(hot):
        everybody = np.broadcast_to(np.arange(block.width), (len(hot), block.width))
        stop = start[hot] + rows.size[row[hot]]
        found = Means(*(part[hot] for part in means))
        rows.group.above[row[hot]] = 0
        _attend(block, row[hot], rows.group, everybody, found, suspected[hot], T[hot], stop)
        rows.base[row[hot]] = before[hot]
        _enter(block, row[hot], start[hot])


def _attend(
    block: Block,
    at: IntArray,
    focus: Focus,
    items: IntArray,
    means: Means,
    suspected: BoolArray,
    T: IntArray,
    stop: IntArray,
) -> None:
    """Restrict the focus to the survivors that matter among `items`, in windows that begin at the counts `T`."""
    blur = block.rule.blur(T)
    alive = (means.high >= 0) & block.rows.alive[at[:, None], items]
    boundary = (means.high + blur >= means.next_best) & (means.low - blur <= means.last_good)
    matter = (boundary | suspected) & alive
    focus.stop[at] = stop
    focus.above[at] += (alive & ~matter & (means.low - blur > means.last_good)).sum(axis=1)
    focus.matter[at] = count = matter.sum(axis=1)
    of, column = np.nonzero(matter)
    row, item = at[of], items[of, column]
    place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    focus.place[at] = -1
    focus.items[row, place], focus.place[row, item] = item, place
    focus.low[row, item], focus.high[row, item] = means.low[of, column], means.high[of, column]
    focus.next_best[at], focus.last_good[at] = means.next_best[:, 0], means.last_good[:, 0]


def _enter(block: Block, at: IntArray, start: IntArray) -> None:
    """Begin to look into groups that begin at the rounds `start`, where rows may stand in the midst of it."""
    rows = block.rows
    inside = rows.round[at] >= start
    rows.look[at] = np.where(inside, rows.round[at], start)
    rows.ahead[at] = 1
    _widen(block, at)
    now = (inside & (rows.column[at] > 0)) | (rows.size[at] == 1)
    rows.mode[at] = np.where(now, Mode.STEPS, Mode.GROUP)
    for row, begin in zip(at.tolist(), start.tolist(), strict=True):
        keys = rows.keys[row]
        a, b = positions(keys, (begin << block.shift, (begin + int(rows.size[row])) << block.shift))
        rows.own[row] = keys[a:b][rows.group.place[row, keys[a:b] & (block.width - 1)] >= 0]


def _widen(block: Block, at: IntArray) -> None:
    """Look at all items that matter in the group."""
    rows = block.rows
    rows.focus.copy(at, rows.group)
    rows.level[at] = np.maximum(np.log2(rows.size[at]).astype(np.int64) - block.sizes.divide, 0)


def look_at_rounds(block: Block, at: IntArray) -> None:
    """Pass the next windows in the group that is looked into, up to the first in which somebody may be identified."""
    rows, focus, n = block.rows, block.rows.focus, block.sizes.windows
    m, level, stop = int(focus.matter[at].max()), rows.level[at], focus.stop[at]
    items = focus.items[at, :m]
    alive = rows.alive[at[:, None], items] & (np.arange(m) < focus.matter[at][:, None])
    border = np.minimum(rows.look[at][:, None] + (np.arange(n + 1) << level[:, None]), stop[:, None])
    S, T = clicks_before(block, at, border, m), (rows.T[at][:, None] + border)[:, :, None]
    k, every = rows.k[at] - focus.above[at], np.repeat(np.arange(len(at)), n)
    T_end = T[:, 1:].reshape(-1, 1)
    means = mean_bounds(
        T[:, :-1].reshape(-1, 1), S[:, :-1].reshape(-1, m), T_end, S[:, 1:].reshape(-1, m), k[every], alive[every]
    )
    suspected = suspects(block.rule, means, T_end) & alive[every]
    hot = suspected.any(axis=1).reshape(-1, n) & (border[:, :-1] < stop[:, None])
    found, window = hot.any(axis=1), hot.argmax(axis=1)
    rows.look[at] = border[np.arange(len(at)), np.where(found, window, n)]
    rows.level[at] = np.where(found, np.maximum(level - block.sizes.divide, 0), level + block.sizes.grow)
    rows.mode[at[found]] = np.where(level[found] == 0, Mode.STEPS, Mode.WINDOW)
    go_on(block, at[~found])
    wide = np.flatnonzero(found & (stop == rows.group.stop[at]))
    if len(wide):
        of = wide * n + window[wide]
        part = Means(*(array[of] for array in means))
        until = border[wide, window[wide] + 1]
        _attend(block, at[wide], focus, items[wide], part, suspected[of], T[wide, window[wide]], until)


def clicks_before(block: Block, at: IntArray, border: IntArray, m: int) -> IntArray:
    """Clicks of the items that matter before the rounds `border` of their group, shape `(rows, borders, m)`.

    All borders but the first of a row lie `2 ** level` rounds apart, or at the end of what is looked at.
    """
    rows, focus, n = block.rows, block.rows.focus, border.shape[1]
    keys, count = joined(rows.own[at].tolist())
    row = np.repeat(np.arange(len(at)), count)
    place = focus.place[at[row], keys & (block.width - 1)]
    ahead = (keys >> block.shift) - np.repeat(border[:, 0], count)
    window = np.clip((ahead >> np.repeat(rows.level[at], count)) + 1, 0, n)
    cell = (row * (n + 1) + window) * m + place
    rare = np.bincount(cell[place >= 0], minlength=len(at) * (n + 1) * m).reshape(len(at), n + 1, m)
    rare = rare[:, :n].cumsum(axis=1)
    rounds = border - (rows.group.stop[at] - rows.size[at])[:, None]
    base = rows.base[at[:, None], focus.items[at, :m]]
    clicks: IntArray = base[:, None] + np.where(rows.clicks[at][:, None, None], rare, rounds[:, :, None] - rare)
    return clicks


def go_on(block: Block, at: IntArray) -> None:
    """What comes next for rows in which nobody else can be identified before round `look`."""
    rows = block.rows
    within = rows.look[at] < rows.group.stop[at]
    passed = within & (rows.look[at] >= rows.focus.stop[at])
    _widen(block, at[passed])
    inside = np.where(rows.focus.stop[at] == rows.group.stop[at], Mode.GROUP, Mode.WINDOW)
    rows.mode[at] = np.where(within, inside, np.where(rows.look[at] < rows.rounds[at], Mode.GROUPS, Mode.STRETCH))
