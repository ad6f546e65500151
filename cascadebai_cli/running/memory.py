"""Refusing, before anything runs, trials for which this machine has not enough memory."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.study.cells import Cell

LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container says how much of the machine it may have."""
GB = 10**9


def refuse_too_large(cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
    """Refuse trials that take more memory than there is.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        workers: how many trials may run at once.

    Raises:
        ConfigError: if the largest trials, one a worker, take more than there is.
    """
    trials = [min(len(some), workers) for some in missing]
    each = [trial_memory(cell) if number else 0 for cell, number in zip(cells, trials, strict=True)]
    at_once = -np.sort(-np.repeat(np.array(each, np.int64), trials))[:workers]
    there = machine_memory()
    if there is None or int(at_once.sum()) <= there:
        return
    together = f", {len(at_once)} at once {_gb(int(at_once.sum()))}" if len(at_once) > 1 else ""
    fewer = ", or a smaller --n-jobs" if len(at_once) > 1 else ""
    raise ConfigError(
        f"{cells[int(np.argmax(each))].label}: a trial takes about {_gb(max(each))} of memory{together}, but this "
        f"machine has {_gb(there)}; choose fewer items{fewer}"
    )


def trial_memory(cell: Cell) -> int:
    """Bytes that a trial takes, about."""
    return ENGINES[cell.runs_with].memory(cell.L, cell.rewards, cell.most_steps)


def machine_memory() -> int | None:
    """Bytes that this machine, or the container, has; `None` if it does not say."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    return min([there, *(int(text) for text in map(_read, LIMITS) if text.isdigit())])


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _gb(value: int) -> str:
    return f"{value / GB:.1f} GB"
