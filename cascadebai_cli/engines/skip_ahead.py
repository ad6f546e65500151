"""The skip-ahead engine: runs with the law of the step-by-step loop, without its steps, many trials side by side.

A racing learner that shows the least observed survivors goes round them: a *round* observes every survivor once, in
the order of the items, wherever steps begin and end. Steps only cut this sweep, and the number of steps is the number
of cuts. The rows of the arrays are trials. Each row draws a *stretch* of rounds and is always in one *mode*; a pass of
the loop serves the mode in which most rows wait, so that one call works for many of them:

- `STRETCH`: count the steps to the end of the stretch, draw the next one.
- `GROUPS`: bound the means in the next groups of rounds, and pass those in which no item can be identified.
- `GROUP`: the same in windows of the first group that is left, for the items that matter in it.
- `WINDOW`: the same in the first window that is left, with fewer items and ever shorter windows, down to one round.
- `STEPS`: look at the ends of the steps of this round.

*Why it is exact.* (1) The n-th outcome of an item does not depend on what the learner does, so it may be drawn before
it is known whether it will be met; outcomes that were drawn for items identified in the meantime are never read, and
every later stretch is drawn afresh. (2) A group or window is passed only if by the lemma of `proofs` no item can be
identified at any moment in it, whatever the order of its outcomes and wherever its steps end. (3) The items that matter
in a window are the suspects of the lemma and the boundary. The others cannot be identified in it, and they rank above
or below both `j*` and `j'` all the time: with `k` less the number of those above, the rule finds the same `j*` and
`j'`, and so the same items, among those that matter. For a rule that ranks bounds and not means, whose counts differ by
one, the boundary is wider by `blur`: then the others rank above or below the bounds that it compares with. (4) After a
removal the focus stays what it is if the lemma says so; otherwise the group is looked at again, for the items and the
`k` that are left. (5) In a round the state of the items that matter changes only when one of them is observed
(`_Moments`), so no end of a step is missed; its later states stay as they were judged if the removed items rank
above or below the boundary all the time. (6) Between two removals steps are cut as in the loop: at every click and
every full batch (`skip_rows`), from the offset that the last cut left. Nothing depends on the other rows: each has its
own generator, and every number of a row is computed from that row alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.jobs import Job, Run, Runs, run_in_blocks
from cascadebai_cli.engines.outcomes import true_places
from cascadebai_cli.engines.proofs import WindowBounds, first_suspect_round, mean_bounds, suspects
from cascadebai_cli.engines.skip_rows import (
    Focus,
    Mode,
    RowBlock,
    Sizes,
    cumulated,
    joined,
    positions,
)
from cascadebai_cli.learners.protocol import RacingLearner
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Groups of rounds, and windows in one of them, of which only the numbers of clicks are looked at ----------------


def _look_at_groups(block: RowBlock, at: IntArray) -> None:
    """Pass the next groups of the rows `at`, up to the first in which an item may be identified, and enter it."""
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
        found = _Found(everybody, means.of(hot), suspected[hot], T[hot], before[hot], begin, begin + rows.size[row])
        _attend(block, row, rows.group, found)
        inside = look[of] >= begin
        rows.look[row], rows.since[row] = np.where(inside, look[of], begin), np.where(inside, since[of], 0)
        _enter(block, row)


class _Found(NamedTuple):
    """Windows in which an item may be identified.

    Attributes:
        items: items that are looked at, shape `(rows, m)`.
        means: bounds of their means.
        suspected: mask of those that may be identified.
        T, clicks: counts, and clicks of each item, when the windows begin.
        begin, stop: first round of each window, and the round after its last.
    """

    items: IntArray
    means: WindowBounds
    suspected: BoolArray
    T: IntArray
    clicks: FloatArray
    begin: IntArray
    stop: IntArray


def _attend(block: RowBlock, at: IntArray, focus: Focus, found: _Found) -> None:
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


def _enter(block: RowBlock, at: IntArray) -> None:
    """Begin to look into groups; rows may stand in the middle of one."""
    rows = block.rows
    _take_keys(block, at)
    rows.ahead[at] = 1
    rows.focus.stop[at] = 0
    _widen(block, at)
    now = at[(rows.since[at] > 0) | (rows.size[at] == 1)]
    rows.focus.copy(now, rows.group)
    rows.focus.stop[now], rows.level[now] = rows.look[now] + 1, 0
    rows.mode[now] = Mode.STEPS


def _take_keys(block: RowBlock, at: IntArray) -> None:
    """Pick the keys of the items that matter in their group."""
    rows, place = block.rows, block.rows.group.place
    group = rows.group.begin[at] // rows.size[at]
    borders = [rows.starts[row][i : i + 2] for row, i in zip(at.tolist(), group.tolist(), strict=True)]
    keys, count = joined([rows.keys[row][slice(*each)] for row, each in zip(at.tolist(), borders, strict=True)])
    own = place.ravel().take(np.repeat(at << block.shift, count) | (keys & (block.width - 1))) >= 0
    keys, stops = keys[own], np.append(0, np.cumsum(own))[np.cumsum(count)].tolist()
    for row, (begin, end) in zip(at.tolist(), pairwise([0, *stops]), strict=True):
        rows.group.keys[row] = keys[begin:end]


def _widen(block: RowBlock, at: IntArray) -> None:
    """Look at all items that matter in the group, from round `look` on."""
    rows = block.rows
    rows.mode[at] = Mode.GROUP
    left = rows.group.stop[at] - rows.look[at]
    rows.level[at] = np.maximum(np.ceil(np.log2(left)).astype(np.int64) - block.sizes.divide, 0)


def _look_at_group(block: RowBlock, at: IntArray) -> None:
    """Pass the next windows of the group; restrict the focus to the first in which an item may be identified."""
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


def _look_at_window(block: RowBlock, at: IntArray) -> None:
    """Pass the next windows of the focus, up to the first in which an item may be identified."""
    _look(block, at, block.rows.focus)


def _look(block: RowBlock, at: IntArray, focus: Focus) -> tuple[BoolArray, _Found]:
    """Pass the next windows; return which rows have found one with a suspect, and these windows."""
    rows, row = block.rows, np.arange(len(at))
    m, level, stop = int(focus.matter[at].max()), rows.level[at], focus.stop[at]
    n = min(block.sizes.windows, 1 + int(((stop - rows.look[at] - 1) >> level).max()))
    items = focus.items[at, :m]
    alive = (rows.alive[at[:, None], items] & (np.arange(m) < focus.matter[at][:, None]))[:, None]
    border = np.minimum(rows.look[at][:, None] + (np.arange(n + 1) << level[:, None]), stop[:, None])
    S, T = _clicks_before(block, at, focus, border), (rows.T[at][:, None] + border)[:, :, None]
    k = (rows.k[at] - focus.above[at])[:, None]
    means = mean_bounds(T[:, :-1], S[:, :-1], T[:, 1:], S[:, 1:], k, alive)
    suspected = suspects(block.rule, means, T[:, 1:]) & alive
    hot = suspected.any(axis=2) & (border[:, :-1] < stop[:, None])
    found, window = np.any(hot, axis=1), hot.argmax(axis=1)
    rows.look[at] = border[row, np.where(found, window, n)]
    rows.level[at] = np.where(found, np.maximum(level - block.sizes.divide, 0), level + block.sizes.grow)
    _go_on(block, at[~found])
    rows.mode[at[found]] = np.where(level[found] == 0, Mode.STEPS, Mode.WINDOW)
    row, window = row[found], window[found]
    first = row, window
    begin, stop = border[row, window], border[row, window + 1]
    return found, _Found(items[row], means.of(first), suspected[first], T[first], S[first], begin, stop)


def _clicks_before(block: RowBlock, at: IntArray, focus: Focus, border: IntArray) -> FloatArray:
    """Return the clicks of the items of a focus before the rounds `border` in it, shape `(rows, borders, m)`.

    The borders of a row lie `2 ** level` rounds apart, or at the end of what is looked at. So the last window may be
    cut short, and keys of the focus may lie behind it.
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


def _go_on(block: RowBlock, at: IntArray) -> None:
    """Set what comes next for rows in which no other item can be identified before round `look`."""
    rows = block.rows
    inside, within = rows.look[at] < rows.focus.stop[at], rows.look[at] < rows.group.stop[at]
    _widen(block, at[within & ~inside & (rows.mode[at] != Mode.GROUP)])
    rows.mode[at[inside]] = Mode.WINDOW
    beyond = at[~within]
    rows.mode[beyond] = np.where(rows.look[beyond] < rows.rounds[beyond], Mode.GROUPS, Mode.STRETCH)


# --- Single steps of a round in which an item may be identified ----------------------------------------------------
#
# The rules look at the state at the end of a step. In a round this state changes, as far as it matters, only when an
# item of the focus is observed: after each of these *moments* it stays the same until the next one. So the rules are
# evaluated once per moment, and an item is identified at the first end of a step at or after the moment, if that comes
# before the next moment.


@dataclass(frozen=True)
class _Moments:
    """States of the items that matter from some moments on.

    Attributes:
        items: the items, shape `(rows, m)`.
        begin, end: items before whose observation the state begins and ends, shape `(rows, moments)`.
        mean: means of the items, shape `(rows, moments, m)`.
        accept, reject: masks of the items that would be identified, same shape.
    """

    items: IntArray
    begin: IntArray
    end: IntArray
    mean: FloatArray
    accept: BoolArray
    reject: BoolArray

    @property
    def fire(self) -> BoolArray:
        """Whether an item would be identified, shape `(rows, moments)`."""
        return np.asarray((self.accept | self.reject).any(axis=2))

    def of(self, rows: IntArray) -> "_Moments":
        """Return the moments of some rows."""
        return _Moments(*(getattr(self, part.name)[rows] for part in fields(self)))


def _step_through(block: RowBlock, at: IntArray) -> None:
    """Go on in round `look` to the next step at which an item is identified, past some moments, or to its end."""
    rows, moments = block.rows, _moments(block, at)
    rows.since[at] = moments.end[:, -1]
    hot = np.flatnonzero(moments.fire.any(axis=1))
    if len(hot):
        _find_step(block, at[hot], moments.of(hot))
    _leave_round(block, at[(rows.since[at] == block.width) & (rows.mode[at] != Mode.OVER)])


def _moments(block: RowBlock, at: IntArray) -> _Moments:
    """Return the next moments, and which items would be identified in the states that begin with them."""
    rows, focus, since = block.rows, block.rows.focus, block.rows.since[at][:, None]
    m, n = int(focus.matter[at].max()), np.arange(len(at))[:, None]
    items, valid = focus.items[at, :m], np.arange(m) < focus.matter[at][:, None]
    alive = rows.alive[at[:, None], items] & valid
    first = (valid & (items < since)).sum(axis=1)[:, None]
    seen = first + np.arange(min(block.sizes.moments, m + 1))
    border = np.full((len(at), 1 + m + seen.shape[1]), block.width)
    border[:, 0], border[:, 1 : m + 1] = 0, np.where(valid, items, block.width)
    clicks = _clicks_before(block, at, focus, rows.look[at][:, None] + np.arange(2))
    count = (rows.T[at] + rows.look[at])[:, None, None] + np.arange(2)[:, None]
    mean = clicks / np.maximum(count, 1)
    observed = np.arange(m) < seen[:, :, None]
    bounds = (mean, block.rule.lower(mean, count), block.rule.upper(mean, count))
    mean, lower, upper = (np.where(observed, part[:, 1:], part[:, :1]) for part in bounds)
    accept, reject = _judge(block, mean, lower, upper, rows.k[at] - focus.above[at], alive[:, None])
    return _Moments(items, np.maximum(border[n, seen], since), border[n, seen + 1], mean, accept, reject)


def _judge(
    block: RowBlock, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray, alive: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Return which items are accepted and rejected in states of the items that matter."""
    mean, lower, upper = (np.where(alive, part, -np.inf) for part in (mean, lower, upper))
    accept, reject = block.rule.identify(mean, lower, upper, np.repeat(k, mean.shape[1]).reshape(mean.shape[:2]))
    return accept & alive, reject & alive


def _find_step(block: RowBlock, at: IntArray, moments: _Moments) -> None:
    """Go to the first step at whose end an item is identified, if there is one before the last of the moments ends."""
    rows = block.rows
    block.count_steps(at, rows.look[at])
    going = np.flatnonzero(rows.mode[at] != Mode.OVER)
    ended = block.steps_of_round(at[going])
    n, moments = np.arange(len(going))[:, None], moments.of(going)
    begin, end = ended[n, moments.begin], ended[n, moments.end]
    fires = moments.fire & (end > begin)
    fired = np.flatnonzero(fires.any(axis=1))
    at, ended, which = at[going][fired], ended[fired], fires[fired].argmax(axis=1)
    made, left = begin[fired, which] + 1, rows.cap[at] - rows.steps[at]
    rows.column[at] = (ended >= np.minimum(made, left)[:, None]).argmax(axis=1)
    rows.steps[at] += np.minimum(made, left)
    rows.offset[at] = 0
    rows.mode[at[made > left]] = Mode.OVER
    some = np.flatnonzero(made <= left)
    if len(some):
        _identify(block, at[some], moments.of(fired[some]), which[some])


def _identify(block: RowBlock, at: IntArray, moments: _Moments, which: IntArray) -> None:
    """Remove the items that are identified in the states `which` of `moments`."""
    rows, items, n = block.rows, moments.items, np.arange(len(at))
    accept, reject, mean = moments.accept[n, which], moments.reject[n, which], moments.mean[n, which]
    rows.since[at] = np.where(_ends(block, at, moments, which), moments.end[:, -1], rows.column[at])
    safe = _stays(rows.focus, at, items, accept, reject) & _stays(rows.group, at, items, accept, reject)
    of, place = true_places(accept)
    ranked = np.lexsort((place, -mean[of, place], of))
    _enter_lists(rows.accepted, at[of][ranked], items[of, place][ranked], rows.steps)
    of, place = true_places(reject)
    _enter_lists(rows.rejected, at[of], items[of, place], rows.steps)
    _remove(block, at, accept, reject, items)
    rows.mode[at] = np.where(safe, Mode.STEPS, Mode.GROUPS)
    rows.ahead[at] = 1
    over = (rows.k[at] <= 0) | (rows.d[at] <= rows.k[at]) | (rows.steps[at] >= rows.cap[at])
    rows.mode[at[over]] = Mode.OVER


def _ends(block: RowBlock, at: IntArray, moments: _Moments, which: IntArray) -> BoolArray:
    """Return whether after the states `which` no other item is identified at any of the moments.

    That is so if the items that are identified rank above or below the boundary all the time (`proofs`, ranks): without
    them the rule finds the same `j*` and `j'`, and judges the others as before.
    """
    rows, focus, items, n = block.rows, block.rows.focus, moments.items, np.arange(len(at))
    accept, reject = moments.accept[n, which], moments.reject[n, which]
    blur = block.rule.blur(rows.T[at] + rows.look[at])[:, None]
    high, low = focus.high[at[:, None], items] + blur, focus.low[at[:, None], items] - blur
    inside = (accept & (low <= focus.last_good[at][:, None])) | (reject & (high >= focus.next_best[at][:, None]))
    later = np.arange(moments.begin.shape[1]) > which[:, None]
    others = (moments.accept | moments.reject) & later[:, :, None] & ~(accept | reject)[:, None]
    return np.logical_not(inside.any(axis=1) | others.any(axis=(1, 2)))


def _stays(focus: Focus, at: IntArray, items: IntArray, accept: BoolArray, reject: BoolArray) -> BoolArray:
    """Return whether what is known of a focus still holds for the items that remain (`proofs`, removals)."""
    high, low = focus.high[at[:, None], items], focus.low[at[:, None], items]
    unsafe = (accept & (high <= focus.last_good[at][:, None])) | (reject & (low >= focus.next_best[at][:, None]))
    return np.logical_not(unsafe.any(axis=1))


def _enter_lists(lists: np.ndarray, row: IntArray, item: IntArray, steps: IntArray) -> None:
    for i, entry in zip(row.tolist(), item.tolist(), strict=True):
        lists[i].append((entry, int(steps[i])))


def _remove(block: RowBlock, at: IntArray, accept: BoolArray, reject: BoolArray, items: IntArray) -> None:
    rows = block.rows
    of, place = true_places(accept | reject)
    row, item = at[of], items[of, place]
    rows.counts[row, item] = rows.T[row] + rows.round[row] + (item < rows.column[row])
    rows.alive[row, item] = False
    rows.k[at] -= accept.sum(axis=1)
    rows.d[at] -= (accept | reject).sum(axis=1)
    rows.batch[at] = [rule.batch(max(d, 1)) for rule, d in zip(rows.rule[at], rows.d[at].tolist(), strict=True)]


def _leave_round(block: RowBlock, at: IntArray) -> None:
    """Let rows go on after a round that they have passed."""
    rows = block.rows
    rows.look[at] += 1
    rows.since[at] = rows.level[at] = 0
    unsafe = rows.mode[at] == Mode.GROUPS
    back = at[unsafe]
    rows.mode[back] = np.where(rows.look[back] < rows.rounds[back], Mode.GROUPS, Mode.STRETCH)
    _go_on(block, at[~unsafe])


# --- The loop: a pass serves the mode in which most rows wait ---------------------------------------------------------

ROWS = 400
"""Largest number of trials of a block."""
ENTRIES = 400 * 128
"""Largest number of items of all its trials together, which bounds its memory."""
_PADDING = 600
"""Number of padded entries, of items that matter in other rows only, that cost as much time as another call."""


def run_skip_ahead(jobs: Sequence[Job[RacingLearner]], sizes: Sizes | None = None, rows: int = ROWS) -> Runs:
    """Run trials of any cells, those with rules of one kind side by side; no run depends on the others."""
    sizes = sizes or Sizes()
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, *job.learner.rule.kind),
        rows,
        ENTRIES,
        lambda part: _run(RowBlock.of(part, sizes)),
    )


def _run(block: RowBlock) -> Runs:
    """Serve the mode in which most rows wait, until all rows are over."""
    rows = block.rows
    serve: dict[int, Callable[[RowBlock, IntArray], None]] = {
        Mode.STRETCH: partial(RowBlock.next_stretch, quiet_until=first_suspect_round(block.rule) - 1),
        Mode.GROUPS: _look_at_groups,
        Mode.GROUP: partial(_in_parts, _look_at_group, rows.group),
        Mode.WINDOW: partial(_in_parts, _look_at_window, rows.focus),
        Mode.STEPS: partial(_in_parts, _step_through, rows.focus),
    }
    capped = bool((rows.cap < Job.NO_CAP).any())
    while len(rows):
        mode = int(np.bincount(rows.mode).argmax())
        serve[mode](block, np.flatnonzero(rows.mode == mode))
        if capped:
            rows.mode[rows.behind_cap()] = Mode.STRETCH
        over = rows.mode == Mode.OVER
        if over.any():
            for row in np.flatnonzero(over).tolist():
                yield int(rows.id[row]), _result(block, row)
            rows.keep(np.flatnonzero(~over))


def _in_parts(serve: Callable[[RowBlock, IntArray], None], focus: Focus, block: RowBlock, at: IntArray) -> None:
    """Serve rows in parts with about equal numbers of items that matter, where this saves more than a call costs."""
    matter = focus.matter[at]
    order = np.argsort(matter, kind="stable")
    at, matter = at[order], matter[order]
    saved = np.arange(1, len(at) + 1) * (matter[-1] - matter)
    cut = int(saved.argmax()) + 1
    if saved[cut - 1] > _PADDING:
        _in_parts(serve, focus, block, at[:cut])
        _in_parts(serve, focus, block, at[cut:])
    else:
        serve(block, at)


def _result(block: RowBlock, row: int) -> Run:
    """Return the run of a row that is over."""
    rows, rule = block.rows, block.rows.rule[row]
    survivors = np.flatnonzero(rows.alive[row])
    counts = rows.counts[row, : rule.L].copy()
    counts[survivors] = rows.T[row] + rows.round[row] + (survivors < rows.column[row])
    accepted, accepted_at = _columns(rows.accepted[row])
    rejected, rejected_at = _columns(rows.rejected[row])
    finished = rows.k[row] <= 0 or rows.d[row] <= rows.k[row]
    return Run(
        steps=int(rows.steps[row]),
        status="stopped" if finished else "capped",
        observations=int(counts.sum()),
        recommendation=tuple([*accepted, *survivors.tolist()][: rule.K]),
        accepted=accepted,
        rejected=rejected,
        accepted_at=accepted_at,
        rejected_at=rejected_at,
        counts=tuple(counts.tolist()),
    )


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the items of a list, and the steps at which they entered it."""
    return tuple(item for item, _ in pairs), tuple(step for _, step in pairs)
