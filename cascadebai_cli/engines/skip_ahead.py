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
(`skip_search`), so no end of a step is missed; its later states stay as they were judged if the removed items rank
above or below the boundary all the time. (6) Between two removals steps are cut as in the loop: at every click and
every full batch (`keys`), from the offset that the last cut left. Nothing depends on the other rows: each has its own
generator, and every number of a row is computed from that row alone.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cascadebai_cli.engines.jobs import Job, Run, Runs, largest_block, run_in_blocks
from cascadebai_cli.engines.proofs import first_suspect_round
from cascadebai_cli.engines.skip_count import next_stretch
from cascadebai_cli.engines.skip_rows import Focus, Mode, RowBlock, Rows, Sizes, new_block
from cascadebai_cli.engines.skip_search import look_at_group, look_at_groups, look_at_window, step_through
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.problem import BoolArray, IntArray

ROWS = 400
"""Largest number of trials of a block."""
ENTRIES = 400 * 128
"""Largest number of items of all its trials together, which bounds its memory."""
_PADDING = 600
"""Number of padded entries, of items that matter in other rows only, that cost as much time as another call."""


def run_skip_ahead(jobs: Sequence[Job[RacingLearner]], sizes: Sizes | None = None, rows: int = ROWS) -> Runs:
    """Run trials of any cells, those with rules of one kind side by side; no run depends on the others."""
    sizes = sizes or Sizes()
    most = largest_block(jobs, rows, ENTRIES)
    return run_in_blocks(jobs, lambda job: job.learner.rule.kind, most, lambda part: _run(new_block(part, sizes)))


def _run(block: RowBlock) -> Runs:
    """Serve the mode in which most rows wait, until all rows are over."""
    rows = block.rows
    serve: dict[Mode, Callable[[RowBlock, IntArray], None]] = {
        Mode.STRETCH: partial(next_stretch, quiet_until=first_suspect_round(block.rule) - 1),
        Mode.GROUPS: look_at_groups,
        Mode.GROUP: partial(_in_parts, look_at_group, rows.group),
        Mode.WINDOW: partial(_in_parts, look_at_window, rows.focus),
        Mode.STEPS: partial(_in_parts, step_through, rows.focus),
    }
    while len(rows):
        mode = Mode(int(np.bincount(rows.mode).argmax()))
        serve[mode](block, np.flatnonzero(rows.mode == mode))
        rows.mode[_behind_cap(rows)] = Mode.STRETCH
        over = rows.mode == Mode.OVER
        if over.any():
            for row in np.flatnonzero(over).tolist():
                yield int(rows.id[row]), _result(block, row)
            rows.keep(np.flatnonzero(~over))


def _behind_cap(rows: Rows) -> BoolArray:
    """Return which rows look where their cap is behind them: then the stretch need only be counted."""
    most = (rows.cap - rows.steps) * (rows.batch / np.maximum(rows.d, 1)) + 2
    return np.asarray((rows.mode != Mode.OVER) & (rows.look > rows.round + most))


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
    accepted, rejected = rows.accepted[row], rows.rejected[row]
    finished = rows.k[row] <= 0 or rows.d[row] <= rows.k[row]
    return Run(
        steps=int(rows.steps[row]),
        status="stopped" if finished else "capped",
        observations=int(counts.sum()),
        recommendation=tuple([*accepted, *survivors.tolist()][: rule.K]),
        accepted=tuple(accepted),
        rejected=tuple(rejected),
        counts=tuple(counts.tolist()),
    )
