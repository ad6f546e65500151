"""What stands behind a bar: the time left always, the rest as far as there is room."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cascadebai_cli.running.watch import SILENT, Follower
from cascadebai_cli.running.worker import Begun, BlockResult


def follower(counts: list[int], so_far: Callable[[Any], str] | None = None) -> Follower:
    cells = [SimpleNamespace(label=f"cell {position}", max_steps=5) for position in range(len(counts))]
    return Follower(SILENT, cells, counts, so_far=so_far)  # type: ignore[arg-type]


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
    progress = follower([4000, 100])
    progress.update(done(0, 1234))
    line = progress.line(width)
    assert len(line) <= width
    assert [part for part in ("trials", "cells", "steps/s", "left") if part in line] == parts


def test_trials_that_turn_out_to_be_needed_count_from_then_on() -> None:
    progress = follower([2, 3, 0])
    progress.update(done(0, 2))
    progress.update(done(1, 3))
    assert progress.line().startswith("5 of 5 trials, 2 of 2 cells")
    progress.expect([4, 0, 1])
    assert progress.line().startswith("5 of 10 trials, 1 of 3 cells")
    progress.update(done(0, 4))
    progress.update(done(2, 1))
    assert progress.line().startswith("10 of 10 trials, 3 of 3 cells")


def test_what_trials_say_stands_before_what_matters_less() -> None:
    progress = follower([40], lambda rows: "some 300 page views")
    assert "so far" not in progress.line()
    progress.update(done(0, 10))
    assert "10 of 40 trials" in progress.line()
    assert progress.line().endswith("so far: some 300 page views")
    assert "so far" not in progress.line(30)


def test_what_all_trials_take_is_said_while_the_time_left_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("cascadebai_cli.running.watch.time.monotonic", lambda: now)
    progress = Follower(SILENT, [None], [4], seconds=20.0)  # type: ignore[list-item]
    takes = "all of them take some 20 s of processor time"
    assert progress.line().endswith(f"time left unknown ({takes})")
    now = 10.0
    progress.update(done(0, 1))
    assert progress.line().endswith("time left 30 s")
    now = 50.0
    assert progress.line().endswith(f"time left unknown (no trial ended for 40 s; {takes})")


def test_nothing_is_said_of_the_time_left_while_trials_only_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("cascadebai_cli.running.watch.time.monotonic", lambda: now)
    progress = follower([4])
    now = 10.0
    progress.update(done(0, 1))
    now = 100.0
    progress.update(BlockResult(0, [], [], (Begun(1, None, 5, 0.1),)))  # type: ignore[arg-type]
    now = 140.0
    assert progress.line().endswith("time left unknown (no trial ended for 2 min 10 s)")
