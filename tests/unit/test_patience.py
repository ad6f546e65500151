"""What is said when no trial ends for long."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sweeps import write_config

from cascadebai_cli.running import runner, watch
from cascadebai_cli.running.watch import Follower, Watch
from cascadebai_cli.running.worker import Begun, Block, BlockResult, Failed, Settings
from cascadebai_cli.study.config import load_study


class Notes(Watch):
    """Writes remarks down."""

    def __init__(self):
        self.remarks, self.spoken = [], threading.Event()

    def remark(self, text):
        self.remarks.append(text)
        self.spoken.set()


@pytest.fixture
def cells(tmp_path):
    return load_study(write_config(tmp_path)).cells


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.setattr(watch, "_SILENT_SECONDS", 0.0)
    return Notes()


def failed(position):
    return BlockResult(position, [], [Failed(0, "", "")])


def test_cells_in_work_and_the_remedy(cells, notes):
    follower = Follower(notes, cells, [6] * len(cells))
    follower.hand_out([Block(cells[0], 0, (0, 1)), Block(cells[2], 2, (0,))])
    follower.update(failed(2))
    follower.listen()
    assert notes.remarks == [
        f"no trial ended for 0 s; in work: {cells[0].label}; max_steps, or --max-steps N, caps the steps of a trial"
    ]


@pytest.mark.parametrize("end", [{"max_steps": 5}, {"budget": 5}])
def test_many_cells_that_have_an_end(cells, notes, end):
    ending = [replace(cell, **end) for cell in cells]
    follower = Follower(notes, ending, [6] * len(cells))
    follower.hand_out([Block(cell, i, (0,)) for i, cell in enumerate(ending)])
    follower.listen()
    assert notes.remarks[0].endswith(f"{ending[2].label}; 1 more")


def test_one_sentence_for_a_silence_and_pauses_do_not_end_it(cells, notes):
    follower = Follower(notes, cells, [6] * len(cells), fail=lambda *_: None)
    for told in (1, 1):
        follower.listen()
        assert len(notes.remarks) == told
    follower.update(BlockResult(0, [], [], (Begun(0, None, 5, 0.1),)))
    follower.listen()
    assert len(notes.remarks) == 1
    follower.update(failed(0))
    follower.listen()
    assert len(notes.remarks) == 2


def test_a_plan_names_no_cells(cells, notes):
    Follower(notes, cells, [6] * len(cells), so_far=lambda rows: "").listen()
    assert notes.remarks == []


def test_a_silence_is_noticed_while_trials_run(cells, notes, monkeypatch):
    monkeypatch.setattr(runner, "_LISTEN_SECONDS", 0.01)
    follower = Follower(notes, cells[:1], [1])
    backend, heard = runner.Backend("sequential"), []
    runner.collect(
        cells[:1], [np.arange(1)], Settings(1), backend, follower, lambda result: heard.append(notes.spoken.wait(30))
    )
    assert heard == [True]
    assert f"in work: {cells[0].label}" in notes.remarks[0]
