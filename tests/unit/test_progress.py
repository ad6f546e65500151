"""What stands behind a bar: the time left always, the rest as far as there is room."""

from types import SimpleNamespace

import pytest

from cascadebai_cli.cli.console import Progress
from cascadebai_cli.running.worker import BlockResult


def done(position: int, trials: int) -> BlockResult:
    return BlockResult(position, [SimpleNamespace(steps=1000)] * trials, [])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        (200, ["trials", "cells", "steps/s", "left"]),
        (60, ["trials", "cells", "left"]),
        (45, ["trials", "left"]),
        (25, ["left"]),
    ],
)
def test_the_time_left_is_never_cut(width: int, parts: list[str]) -> None:
    progress = Progress([4000, 100], print, quiet=True)
    progress.update(done(0, 1234))
    line = progress.line(width)
    assert len(line) <= width
    assert [part for part in ("trials", "cells", "steps/s", "left") if part in line] == parts


def test_trials_that_turn_out_to_be_needed_count_from_then_on() -> None:
    progress = Progress([2, 3, 0], print, quiet=True)
    progress.update(done(0, 2))
    progress.update(done(1, 3))
    assert progress.line().startswith("5 of 5 trials, 2 of 2 cells")
    progress.expect([4, 0, 1])
    assert progress.line().startswith("5 of 10 trials, 1 of 3 cells")
    progress.update(done(0, 4))
    progress.update(done(2, 1))
    assert progress.line().startswith("10 of 10 trials, 3 of 3 cells")


def test_what_trials_say_stands_before_what_matters_less() -> None:
    progress = Progress([40], print, quiet=True, so_far=lambda: "some 300 page views")
    assert "so far" not in progress.line()
    progress.update(done(0, 10))
    assert "10 of 40 trials" in progress.line()
    assert progress.line().endswith("so far: some 300 page views")
    assert "so far" not in progress.line(30)
