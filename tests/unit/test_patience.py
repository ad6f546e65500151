"""What is said when no trial ends for long."""

import threading
from dataclasses import replace

import pytest
from sweeps import write_config

from cascadebai_cli.running.blocks import Patience
from cascadebai_cli.running.worker import Block, BlockResult, Failed
from cascadebai_cli.study.config import load_study


@pytest.fixture
def cells(tmp_path):
    return load_study(write_config(tmp_path)).cells


def test_cells_in_work_and_the_remedy(cells):
    patience = Patience(cells, print)
    list(patience.hand_out([[Block(cells[0], 0, (0, 1)), Block(cells[2], 2, (0,))]]))
    patience.take_back(BlockResult(2, [], [Failed(0, "", "")]))
    assert patience.sentence(61) == (
        f"no trial ended for 61 s; in work: {cells[0].label}; max_steps, or --max-steps N, caps the steps of a trial"
    )


def test_many_cells_that_have_a_cap(cells):
    capped = [replace(cell, max_steps=5) for cell in cells]
    patience = Patience(capped, print)
    list(patience.hand_out([[Block(cell, i, (0,)) for i, cell in enumerate(capped)]]))
    assert patience.sentence(60).endswith(f"{cells[2].label}; 1 more")


def test_one_sentence_for_a_silence(cells):
    said, spoken = [], threading.Event()

    def tell(text):
        said.append(text)
        spoken.set()

    with Patience(cells, tell, after=0.01) as patience:
        assert spoken.wait(30)
        spoken.clear()
        assert not spoken.wait(0.1)
        patience.take_back(BlockResult(0, [], []))
        assert spoken.wait(30)
    assert len(said) >= 2
