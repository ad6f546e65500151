"""Tasks hold every missing trial once, and about a second of work."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sweeps import ROOT

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.running.runner import _TASK_SECONDS, _BlockQueue
from cascadebai_cli.running.worker import BlockResult
from cascadebai_cli.study.config import load_study

CONFIG = """\
seed: 1
engine: reference
L: 5
K: [1, 2, 3]
instances:
  - {name: a, family: two_level, w_star: 0.9, w_prime: 0.1}
  - {name: b, family: two_level, w_star: 0.8, w_prime: 0.2}
"""


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(CONFIG)
    return load_study(path).cells


def drain(queue, seconds):
    """All tasks, if each trial of cell `i` takes `seconds[i]` and is done before the next task is asked for."""
    tasks = []
    for blocks in queue:
        tasks.append(blocks)
        for block in blocks:
            rows = [SimpleNamespace(seconds=seconds[block.position]) for _ in block.trials]
            queue.learn(BlockResult(block.position, rows, []))
    return tasks


def trials_of(tasks):
    return [(block.position, trial) for task in tasks for block in task for trial in block.trials]


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("pace", [1e-5, 0.01, 0.3, 5.0])
def test_every_missing_trial_is_given_out_once_the_hardest_cells_first(cells, workers, pace):
    missing = [np.arange(40), np.array([], int), np.array([3, 7, 8]), np.arange(5), np.arange(100), np.array([0])]
    tasks = drain(_BlockQueue(cells, missing, workers), [pace] * 6)
    order = sorted(range(6), key=lambda position: -cells[position].guessed_steps)
    assert order != sorted(order)
    assert trials_of(tasks) == [(position, trial) for position in order for trial in missing[position].tolist()]


def test_nothing_missing_is_no_task(cells):
    assert list(_BlockQueue(cells, [np.arange(0)] * 6, 2)) == []


def test_the_first_task_of_an_instance_is_one_trial(cells):
    tasks = drain(_BlockQueue(cells, [np.arange(1000)] * 6, 2), [0.001] * 6)
    first = {}
    for task in tasks:
        for block in task:
            first.setdefault(cells[block.position].instance, (len(task), len(block.trials)))
    assert first == {"a": (1, 1), "b": (1, 1)}


@pytest.mark.parametrize("pace", [0.0001, 0.001, 0.01, 0.1])
def test_a_task_keeps_a_worker_busy_for_about_a_second(cells, pace):
    count = int(40 / pace / 6)
    tasks = drain(_BlockQueue(cells, [np.arange(count)] * 6, 2), [pace] * 6)
    seconds = [sum(len(block.trials) for block in task) * pace for task in tasks]
    full = [second for second in seconds if second > 0.5 * _TASK_SECONDS]
    assert sum(full) > 0.9 * sum(seconds)
    assert max(seconds) <= _TASK_SECONDS * 1.0001


def test_trials_of_small_cells_share_a_task(cells):
    tasks = drain(_BlockQueue(cells, [np.arange(50)] * 6, 1), [0.001] * 6)
    assert max(map(len, tasks)) >= 3


def test_a_slow_trial_is_a_task_of_its_own(cells):
    tasks = drain(_BlockQueue(cells, [np.arange(10)] * 6, 2), [30.0] * 6)
    assert [len(block.trials) for task in tasks for block in task] == [1] * 60
    assert all(len(task) == 1 for task in tasks)


def test_the_end_is_shared_among_the_workers(cells):
    tasks = drain(_BlockQueue(cells, [np.arange(400), *[np.arange(0)] * 5], 4), [0.001] * 6)
    assert all(sum(len(block.trials) for block in task) <= 50 for task in tasks)
    assert sum(len(block.trials) for block in tasks[-1]) == 1


SIDE_BY_SIDE = """\
seed: 1
L: [5, 6]
K: [1, 2]
instances:
  - {name: a, family: two_level, w_star: 0.9, w_prime: 0.1}
learners:
  - {name: T, algorithm: cascadebai}
  - {name: U, algorithm: cascadebai, order: U}
  - {name: P, algorithm: track-and-stop}
"""


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("rows", [4, 7, 1000])
def test_trials_side_by_side_are_dealt_out_evenly(tmp_path, monkeypatch, workers, rows):
    engines = {name: replace(each, rows=rows) if each.rows > 1 else each for name, each in ENGINES.items()}
    monkeypatch.setattr("cascadebai_cli.study.cells.ENGINES", engines)
    path = tmp_path / "study.yaml"
    path.write_text(SIDE_BY_SIDE)
    cells = load_study(path).cells
    missing = [np.arange(0, 2 * n, 2) for n in (3, 0, 1, 2, 10, 5, 20, 0, 4, 0, 1, 9)]
    tasks = drain(_BlockQueue(cells, missing, workers), [0.1] * len(cells))
    assert sorted(trials_of(tasks)) == [(i, t) for i, trials in enumerate(missing) for t in trials.tolist()]
    dealt = [task for task in tasks if cells[task[0].position].learner != "P"]
    assert tasks[-len(dealt) :] == dealt
    sizes = {}
    for task in dealt:
        assert len({block.position for block in task}) == len(task)
        (kind,) = {kind_of(cells[block.position]) for block in task}
        sizes.setdefault(kind, []).append(sum(len(block.trials) for block in task))
    assert max(map(max, sizes.values())) <= rows
    for kind, counts in sizes.items():
        assert max(counts) - min(counts) <= 1 + workers, kind
        assert len(counts) <= workers * -(-sum(counts) // (rows * workers)), kind


def test_a_thousand_workers_get_no_single_rows(tmp_path):
    """Rows side by side share the work of a block, so that small shares cost a multiple of the processor time."""
    path = tmp_path / "study.yaml"
    path.write_text(SIDE_BY_SIDE)
    cells = load_study(path).cells
    side_by_side = [i for i, cell in enumerate(cells) if cell.learner == "T"]
    missing = [np.arange(400 if i in side_by_side else 0) for i in range(len(cells))]
    tasks = drain(_BlockQueue(cells, missing, 1000), [0.1] * len(cells))
    sizes = [sum(len(block.trials) for block in task) for task in tasks]
    assert sum(sizes) == 400 * len(side_by_side)
    assert min(sizes) > 32


def kind_of(cell):
    """What the cells of a task have in common: skip-ahead takes several `K` together."""
    return (cell.learner, cell.L, cell.K if cell.learner == "U" else None)


@pytest.mark.parametrize("name", ["table1", "figure2", "beyond"])
def test_the_guess_of_the_steps_puts_the_cells_of_a_learner_in_about_the_right_order(name):
    steps = pd.read_csv(ROOT / f"results/reference/{name}/summary.csv").set_index("cell_id")["mean_steps"]
    cells = load_study(ROOT / f"configs/{name}.yaml").cells
    found = pd.DataFrame([(cell.learner, cell.guessed_steps, steps[cell.cell_id]) for cell in cells])
    for learner, rows in found.groupby(0):
        assert rows[1].corr(rows[2], method="spearman") > 0.9, learner
    if name == "figure2":
        assert found[1].corr(found[2], method="spearman") > 0.95


def test_blocks_of_long_lists_have_fewer_trials():
    engine = ENGINES["skip-ahead"]
    assert engine.block(128) == engine.rows
    assert 1 < engine.block(8192) < engine.rows / 20
    assert engine.block(10**6) == 1
