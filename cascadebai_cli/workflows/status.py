"""How far a sweep is: each cell with its trials, how sure its mean is, and the time that it will take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.store.intervals import relative_half_width
from cascadebai_cli.store.journal import Stored, seconds_of
from cascadebai_cli.store.schema import PLACE, STATUSES
from cascadebai_cli.text.numbers import NO_NUMBER, count, duration, is_missing, percent
from cascadebai_cli.text.table import Table
from cascadebai_cli.workflows.open_sweep import Sweep
from cascadebai_cli.workflows.sweep import Request

CAPPED = STATUSES.index("capped")
HEADER = ("done", "of", "capped", "wrong", "half width", "time left")


@dataclass(frozen=True)
class SweepStatus:
    """The cells as a table, how many there are, and how many of them have all their trials as far as these tell."""

    table: Table
    cells: int
    done: int
    seconds: float | None


def status(request: Request) -> SweepStatus:
    """How far the sweep of a request is; nothing is written.

    Raises:
        ConfigError: if the config is not usable, or the directory holds trials of another one.
    """
    task = request.sweep()
    stored = task.stored()
    cells = pd.DataFrame([{**_place(cell), **numbers} for cell, numbers in _numbers(task, stored)])
    names = names_of(cells, PLACE)
    rows = [[*names.texts(row), *_texts(row)] for row in cells.to_dict("records")]
    left = cells["of"] - cells["done"]
    seconds = seconds_of(int(left.sum()), stored.rows)
    return SweepStatus(names.table(HEADER, rows), len(cells), int((left == 0).sum()), seconds)


def _place(cell: object) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in PLACE}


def _numbers(task: Sweep, stored: Stored) -> Iterator[tuple[object, dict[str, Any]]]:
    limits = task.limits(stored)
    for position, (cell, missing) in enumerate(zip(task.cells, task.missing(stored), strict=True)):
        of = task.shard.share(position, limits[cell.cell_id])
        rows = stored.of(cell.cell_id)
        here = rows[rows["trial"] < limits[cell.cell_id]]
        yield (
            cell,
            {
                "done": of - len(missing),
                "of": of,
                "capped": int((here["status"] == CAPPED).sum()),
                "wrong": int((here["correct"] == 0).sum()),
                "half_width": relative_half_width(here["steps"]),
                "seconds": seconds_of(len(missing), here),
            },
        )


def _texts(row: Mapping[Any, Any]) -> list[str]:
    numbers = [count(row[name]) for name in ("done", "of", "capped", "wrong")]
    half = NO_NUMBER if is_missing(row["half_width"]) else percent(row["half_width"], 1)
    left = "" if row["done"] == row["of"] else NO_NUMBER if is_missing(row["seconds"]) else duration(row["seconds"])
    return [*numbers, half, left]
