"""The skip-ahead engine."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cascadebai_cli.engines.groups import look_at_groups, look_at_rounds
from cascadebai_cli.engines.jobs import Job, Runs, run_in_blocks
from cascadebai_cli.engines.moments import step_through
from cascadebai_cli.engines.proofs import first_suspect_round
from cascadebai_cli.engines.rows import Block, Mode, Sizes, new_block
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.stretches import next_stretch
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.instance import IntArray

ROWS = 200


def run_skip_ahead(jobs: Sequence[Job[RacingLearner]], sizes: Sizes | None = None, rows: int = ROWS) -> Runs:
    """Run trials of any cells, those with rules of one kind side by side; no run depends on the others."""
    sizes = sizes or Sizes()
    return run_in_blocks(jobs, lambda job: job.learner.rule.kind, rows, lambda part: _run(new_block(part, sizes)))


def _run(block: Block) -> Runs:
    """Serve the mode in which most rows wait, until all rows are over."""
    rows = block.rows
    serve: dict[Mode, Callable[[Block, IntArray], None]] = {
        Mode.STRETCH: partial(next_stretch, quiet_until=first_suspect_round(block.rule) - 1),
        Mode.GROUPS: look_at_groups,
        Mode.GROUP: look_at_rounds,
        Mode.WINDOW: look_at_rounds,
        Mode.STEPS: step_through,
    }
    while len(rows):
        mode = Mode(int(np.bincount(rows.mode).argmax()))
        serve[mode](block, np.flatnonzero(rows.mode == mode))
        over = rows.mode == Mode.OVER
        if over.any():
            for row in np.flatnonzero(over).tolist():
                yield int(rows.id[row]), _result(block, row)
            rows.keep(~over)


def _result(block: Block, row: int) -> Run:
    """The run of a row that is over."""
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
