"""Skip-ahead at single steps: a round in which somebody may be identified.

The rules look at the state at the end of a step. In a round this state changes, as far as it matters, only when an
item of the focus is observed: after each of these *moments* it stays the same until the next. So the rules are
evaluated once a moment, and an item is identified at the first end of a step at or after it, if that comes before the
next moment.
"""

from dataclasses import dataclass, fields

import numpy as np

from cascadebai_cli.engines.counting import count_steps, steps_of_round
from cascadebai_cli.engines.groups import clicks_before, go_on
from cascadebai_cli.engines.keys import positions, true_places
from cascadebai_cli.engines.rows import Block, Focus, Mode
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Moments:
    """States of the items that matter from some moments on.

    Attributes:
        items: the items, shape `(rows, m)`.
        begin, end: items before whose observation the state begins and ends, shape `(rows, moments)`.
        mean: their means, shape `(rows, moments, m)`.
        accept, reject: who would be identified, same shape.
    """

    items: IntArray
    begin: IntArray
    end: IntArray
    mean: FloatArray
    accept: BoolArray
    reject: BoolArray

    @property
    def fire(self) -> BoolArray:
        """Whether somebody would be identified, shape `(rows, moments)`."""
        return np.asarray((self.accept | self.reject).any(axis=2))

    def of(self, rows: IntArray) -> "Moments":
        """Those of some rows."""
        return Moments(*(getattr(self, part.name)[rows] for part in fields(self)))


def step_through(block: Block, at: IntArray) -> None:
    """Go on in round `look`: to the next step at which somebody is identified, or past some moments, or to its end."""
    rows, moments = block.rows, _moments(block, at)
    rows.since[at] = moments.end[:, -1]
    hot = np.flatnonzero(moments.fire.any(axis=1))
    if len(hot):
        _find_step(block, at[hot], moments.of(hot))
    _leave_round(block, at[(rows.since[at] == block.width) & (rows.mode[at] != Mode.OVER)])


def _moments(block: Block, at: IntArray) -> Moments:
    """The next moments, and who would be identified in the states that begin with them."""
    rows, focus, since = block.rows, block.rows.focus, block.rows.since[at][:, None]
    m, n = int(focus.matter[at].max()), np.arange(len(at))[:, None]
    items, valid = focus.items[at, :m], np.arange(m) < focus.matter[at][:, None]
    alive = rows.alive[at[:, None], items] & valid
    first = (valid & (items < since)).sum(axis=1)[:, None]
    seen = first + np.arange(min(block.sizes.moments, m + 1))
    border = np.full((len(at), 1 + m + seen.shape[1]), block.width)
    border[:, 0], border[:, 1 : m + 1] = 0, np.where(valid, items, block.width)
    clicks = clicks_before(block, at, focus, rows.look[at][:, None] + np.arange(2))
    before, new = clicks[:, :1], (clicks[:, 1] - clicks[:, 0])[:, None]
    observed = np.arange(m) < seen[:, :, None]
    count = (rows.T[at] + rows.look[at])[:, None, None] + observed
    mean = (before + new * observed) / np.maximum(count, 1)
    accept, reject = _judge(block, mean, count, rows.k[at] - focus.above[at], alive)
    return Moments(items, np.maximum(border[n, seen], since), border[n, seen + 1], mean, accept, reject)


def _judge(
    block: Block, mean: FloatArray, count: IntArray, k: IntArray, alive: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Who is accepted and rejected in states of the items that matter."""
    alive, bounds = alive[:, None], (mean, block.rule.lower(mean, count), block.rule.upper(mean, count))
    mean, lower, upper = (np.where(alive, part, -np.inf) for part in bounds)
    accept, reject = block.rule.identify(mean, lower, upper, np.repeat(k, mean.shape[1]).reshape(mean.shape[:2]))
    return accept & alive, reject & alive


def _find_step(block: Block, at: IntArray, moments: Moments) -> None:
    """Go to the first step at whose end somebody is identified, if there is one before the last of the moments ends."""
    rows = block.rows
    count_steps(block, at, rows.look[at])
    going = np.flatnonzero(rows.mode[at] != Mode.OVER)
    ended = steps_of_round(block, at[going])
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


def _identify(block: Block, at: IntArray, moments: Moments, which: IntArray) -> None:
    """Remove who is identified in the states `which` of `moments`."""
    rows, items, n = block.rows, moments.items, np.arange(len(at))
    accept, reject, mean = moments.accept[n, which], moments.reject[n, which], moments.mean[n, which]
    rows.since[at] = np.where(_ends(block, at, moments, which), moments.end[:, -1], rows.column[at])
    safe = _stays(rows.focus, at, items, accept, reject) & _stays(rows.group, at, items, accept, reject)
    of, place = true_places(accept)
    ranked = np.lexsort((place, -mean[of, place], of))
    _enter_lists(rows.accepted, at[of][ranked], items[of, place][ranked])
    of, place = true_places(reject)
    _enter_lists(rows.rejected, at[of], items[of, place])
    _remove(block, at, accept, reject, items)
    for closing in at[(rows.d[at] == rows.k[at]) & (rows.k[at] > 0) & block.rule.closes].tolist():
        _accept_all(block, closing)
    rows.mode[at] = np.where(safe, Mode.STEPS, Mode.GROUPS)
    rows.ahead[at] = 1
    over = (rows.k[at] <= 0) | (rows.d[at] <= rows.k[at]) | (rows.steps[at] >= rows.cap[at])
    rows.mode[at[over]] = Mode.OVER


def _ends(block: Block, at: IntArray, moments: Moments, which: IntArray) -> BoolArray:
    """Whether after the states `which` nobody else is identified at any of the moments.

    So it is if those who are identified rank above or below the boundary all the time (`proofs`, ranks): without them
    the rule finds the same `j*` and `j'`, and the others stay as they were judged.
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
    """Whether what is known of a focus holds for the others too (`proofs`, removals)."""
    high, low = focus.high[at[:, None], items], focus.low[at[:, None], items]
    unsafe = (accept & (high <= focus.last_good[at][:, None])) | (reject & (low >= focus.next_best[at][:, None]))
    return np.logical_not(unsafe.any(axis=1))


def _enter_lists(lists: np.ndarray, row: IntArray, item: IntArray) -> None:
    for i, entry in zip(row.tolist(), item.tolist(), strict=True):
        lists[i].append(entry)


def _remove(block: Block, at: IntArray, accept: BoolArray, reject: BoolArray, items: IntArray) -> None:
    rows = block.rows
    of, place = true_places(accept | reject)
    row, item = at[of], items[of, place]
    rows.counts[row, item] = rows.T[row] + rows.round[row] + (item < rows.column[row])
    rows.alive[row, item] = False
    rows.k[at] -= accept.sum(axis=1)
    rows.d[at] -= (accept | reject).sum(axis=1)
    rows.batch[at] = [rule.batch(max(d, 1)) for rule, d in zip(rows.rule[at], rows.d[at].tolist(), strict=True)]


def _accept_all(block: Block, row: int) -> None:
    """Accept all survivors, in descending order of their means."""
    rows, survivors = block.rows, np.flatnonzero(block.rows.alive[row])
    here = (int(rows.round[row]) << block.shift) + int(rows.column[row])
    keys = rows.keys[row]
    rare = np.bincount(keys[: positions(keys, np.array([here]))[0]] & (block.width - 1), minlength=block.width)[
        survivors
    ]
    observed = rows.round[row] + (survivors < rows.column[row])
    clicks = rows.S[row, survivors] + (rare if rows.clicks[row] else observed - rare)
    rows.counts[row, survivors] = rows.T[row] + observed
    order = np.argsort(-clicks / rows.counts[row, survivors], kind="stable")
    rows.accepted[row].extend(survivors[order].tolist())
    rows.alive[row], rows.k[row], rows.d[row] = False, 0, 0


def _leave_round(block: Block, at: IntArray) -> None:
    """Let rows look at what follows a round that they have passed."""
    rows = block.rows
    rows.look[at] += 1
    rows.since[at] = rows.level[at] = 0
    unsafe = rows.mode[at] == Mode.GROUPS
    back = at[unsafe]
    rows.mode[back] = np.where(rows.look[back] < rows.rounds[back], Mode.GROUPS, Mode.STRETCH)
    go_on(block, at[~unsafe])
