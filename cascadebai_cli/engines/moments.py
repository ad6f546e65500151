"""Skip-ahead at single steps: a round in which somebody may be identified.

The rules look at the state at the end of a step. In a round this state changes, as far as it matters, only when an
item of the focus is observed: after each of these *moments* it stays the same until the next. So the rules are
evaluated once a moment, and an item is identified at the first end of a step at or after it, if that comes before the
next moment.
"""

from dataclasses import dataclass

import numpy as np

from cascadebai_cli.engines.counting import count_steps, ends_of_round, outcomes_of_round
from cascadebai_cli.engines.groups import clicks_before, go_on
from cascadebai_cli.engines.keys import positions
from cascadebai_cli.engines.rows import Block, Focus, Mode
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rest:
    """What is left of a round.

    Attributes:
        at: the rows.
        clicks: clicks of all items in the round, shape `(rows, width)`.
        observed: who is still to be observed, same shape.
        ends: whether a step ends after an item, same shape.
        ended: steps that end before an item, shape `(rows, width + 1)`.
    """

    at: IntArray
    clicks: BoolArray
    observed: BoolArray
    ends: BoolArray
    ended: IntArray


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


def step_through(block: Block, at: IntArray) -> None:
    """Go on in round `look`: to the next step at which somebody is identified, or past some moments, or to its end."""
    rows = block.rows
    count_steps(block, at, rows.look[at])
    at = at[rows.mode[at] != Mode.OVER]
    if len(at) == 0:
        return
    rest = _rest(block, at)
    moments = _moments(block, rest)
    n = np.arange(len(at))
    begin, end = rest.ended[n[:, None], moments.begin], rest.ended[n[:, None], moments.end]
    fires = (moments.accept | moments.reject).any(axis=2) & (end > begin)
    fired, which = fires.any(axis=1), fires.argmax(axis=1)
    made = np.where(fired, begin[n, which] + 1, rest.ended[n, moments.end[:, -1]])
    left = rows.cap[at] - rows.steps[at]
    capped = (made > left) | (~fired & (made == left))
    made = np.minimum(made, left)
    stop = np.where(fired | capped, (rest.ended[:, 1:] >= made[:, None]).argmax(axis=1) + 1, moments.end[:, -1])
    _move(block, rest, made, stop)
    fired &= ~capped
    rows.mode[at[capped]] = Mode.OVER
    if fired.any():
        _identify(block, at[fired], moments, np.flatnonzero(fired), which[fired])
    _leave_round(block, rest)


def _rest(block: Block, at: IntArray) -> Rest:
    clicks, observed = outcomes_of_round(block, at)
    ends = ends_of_round(block, at, clicks, observed)
    ended: np.ndarray = np.zeros((len(at), block.width + 1), np.int32)
    np.cumsum(ends, axis=1, out=ended[:, 1:])
    return Rest(at, clicks, observed, ends, ended)


def _moments(block: Block, rest: Rest) -> Moments:
    """The next moments, and who would be identified in the states that begin with them."""
    rows, focus, at = block.rows, block.rows.focus, rest.at
    m, n = int(focus.matter[at].max()), np.arange(len(at))[:, None]
    items, valid = focus.items[at, :m], np.arange(m) < focus.matter[at][:, None]
    alive = rows.alive[at[:, None], items] & valid
    first = (valid & (items < rows.column[at][:, None])).sum(axis=1)[:, None]
    seen = first + np.arange(min(block.sizes.moments, m + 1))
    border = np.concatenate([np.zeros_like(first), np.where(valid, items, block.width)], axis=1)
    border = np.concatenate([border, np.full((len(at), seen.shape[1]), block.width)], axis=1)
    begin = np.maximum(border[n, seen], rows.column[at][:, None])
    before = clicks_before(block, at, focus, rows.round[at][:, None])[:, 0]
    new, T = rest.clicks[n, items], (rows.T[at] + rows.round[at])[:, None]
    k = rows.k[at] - focus.above[at]
    observed = np.arange(m) < seen[:, :, None]
    count = T[:, None] + observed
    mean = (before[:, None] + (new[:, None] & observed)) / np.maximum(count, 1).astype(float)
    accept, reject = _judge(block, mean, count, k, alive)
    return Moments(items, begin, border[n, seen + 1], mean, accept, reject)


def _judge(
    block: Block, mean: FloatArray, count: IntArray, k: IntArray, alive: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Who is accepted and rejected in states of the items that matter."""
    alive, bounds = alive[:, None], (mean, block.rule.lower(mean, count), block.rule.upper(mean, count))
    mean, lower, upper = (np.where(alive, part, -np.inf) for part in bounds)
    accept, reject = np.zeros(mean.shape, bool), np.zeros(mean.shape, bool)
    for each in np.unique(k).tolist():
        some = np.flatnonzero(k == each)
        accept[some], reject[some] = block.rule.identify(mean[some], lower[some], upper[some], each)
    return accept & alive, reject & alive


def _move(block: Block, rest: Rest, made: IntArray, stop: IntArray) -> None:
    """Let rows stand before item `stop` of their round, once `made` more steps have ended."""
    rows, at = block.rows, rest.at
    passed = np.arange(block.width) < stop[:, None]
    observed = np.cumsum(rest.observed & passed, axis=1, dtype=np.int32)
    in_last_steps = observed[:, -1] - np.where(rest.ends & passed, observed, 0).max(axis=1)
    rows.offset[at] = np.where(made > 0, 0, rows.offset[at]) + in_last_steps
    rows.steps[at] += made
    rows.column[at] = stop


def _identify(block: Block, at: IntArray, moments: Moments, row: IntArray, which: IntArray) -> None:
    """Remove who is identified in rows `at` in the states `which` of `moments`, in which these are the rows `row`."""
    rows = block.rows
    accept, reject = moments.accept[row, which], moments.reject[row, which]
    mean, items = moments.mean[row, which], moments.items[row]
    safe = _stays(rows.focus, at, items, accept, reject) & _stays(rows.group, at, items, accept, reject)
    of, place = np.nonzero(accept)
    ranked = np.lexsort((place, -mean[of, place], of))
    _enter_lists(rows.accepted, at[of][ranked], items[of, place][ranked])
    of, place = np.nonzero(reject)
    _enter_lists(rows.rejected, at[of], items[of, place])
    _remove(block, at, accept, reject, items)
    for closing in at[(rows.d[at] == rows.k[at]) & (rows.k[at] > 0) & block.rule.closes].tolist():
        _accept_all(block, closing)
    rows.mode[at] = np.where(safe, Mode.STEPS, Mode.GROUPS)
    rows.ahead[at] = 1
    over = (rows.k[at] <= 0) | (rows.d[at] <= rows.k[at]) | (rows.steps[at] >= rows.cap[at])
    rows.mode[at[over]] = Mode.OVER


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
    of, place = np.nonzero(accept | reject)
    row, item = at[of], items[of, place]
    rows.counts[row, item] = rows.T[row] + rows.round[row] + (item < rows.column[row])
    rows.alive[row, item] = False
    rows.k[at] -= accept.sum(axis=1)
    rows.d[at] -= (accept | reject).sum(axis=1)
    rows.batch[at] = [rule.batch(max(d, 1)) for rule, d in zip(rows.rule[at], rows.d[at].tolist(), strict=True)]


def _accept_all(block: Block, row: int) -> None:
    """Accept all survivors, in descending order of their means."""
    rows, survivors = block.rows, np.flatnonzero(block.rows.alive[row])
    here = (int(rows.round[row]) << block.shift) | int(rows.column[row])
    keys = rows.keys[row]
    rare = np.bincount(keys[: positions(keys, (here,))[0]] & (block.width - 1), minlength=block.width)[survivors]
    observed = rows.round[row] + (survivors < rows.column[row])
    clicks = rows.S[row, survivors] + (rare if rows.clicks[row] else observed - rare)
    rows.counts[row, survivors] = rows.T[row] + observed
    order = np.argsort(-clicks / rows.counts[row, survivors], kind="stable")
    rows.accepted[row].extend(survivors[order].tolist())
    rows.alive[row], rows.k[row], rows.d[row] = False, 0, 0


def _leave_round(block: Block, rest: Rest) -> None:
    """Let rows that have passed a whole round stand at the begin of the next."""
    rows = block.rows
    gone = (rows.column[rest.at] == block.width) & (rows.mode[rest.at] != Mode.OVER)
    at = rest.at[gone]
    rows.met[at] += (rest.clicks[gone] == rows.clicks[at][:, None]).sum(axis=1)
    rows.round[at] += 1
    rows.column[at] = 0
    rows.look[at], rows.level[at] = rows.round[at], 0
    unsafe = rows.mode[at] == Mode.GROUPS
    back = at[unsafe]
    rows.mode[back] = np.where(rows.look[back] < rows.rounds[back], Mode.GROUPS, Mode.STRETCH)
    go_on(block, at[~unsafe])
