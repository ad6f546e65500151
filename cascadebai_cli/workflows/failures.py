"""Telling about trials that raised, so that each can be repeated."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.running.work import BlockResult
from cascadebai_cli.store.files import open_to_write, writing_to
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.workflows.watch import Watch

MOST_SHOWN = 10


@dataclass(frozen=True)
class Repeat:
    """How a trial of a study is run again.

    Args:
        config: file of the study.
        seed: root seed.
        given: on the command line, as far as it changes cells.
    """

    config: Path
    seed: int
    given: Sequence[str] = ()

    def command(self, cell: Cell, trial: int) -> str:
        """The command that runs exactly this trial."""
        words = ["cascadebai", "run", str(self.config), "--cell", cell.cell_id, *self.given]
        return shlex.join([*words, "--trial", str(trial), "--seed", str(self.seed)])


class Failures:
    """Counts failed trials; tells about the first ones and keeps where all came from.

    Args:
        cells: cells of the grid.
        watch: is warned.
        repeat: how a trial is repeated; none if there is no command that does.
        log: file for the tracebacks, none by default.
    """

    def __init__(
        self, cells: Sequence[Cell], watch: Watch, repeat: Repeat | None = None, log: Path | None = None
    ) -> None:
        self.cells, self.watch, self.repeat, self.log = cells, watch, repeat, log
        self.count = 0

    def clear(self) -> None:
        """Forget the failures of an earlier sweep: their trials run again."""
        if self.log is not None:
            self.log.unlink(missing_ok=True)

    def update(self, result: BlockResult) -> None:
        """Take in the failures of a block."""
        cell = self.cells[result.position]
        for failed in result.failed:
            self.count += 1
            text = f"trial {failed.trial} of {cell.label} (cell {cell.cell_id}) failed: {failed.error}"
            text += f"; repeat it with: {self.repeat.command(cell, failed.trial)}" if self.repeat else ""
            if self.count <= MOST_SHOWN:
                self.watch.warn(text)
            self._keep(f"{text}\n{failed.trace}\n")

    def _keep(self, text: str) -> None:
        if self.log is not None:
            with writing_to(self.log), os.fdopen(open_to_write(self.log, os.O_APPEND), "ab") as file:
                file.write(text.encode(errors="backslashreplace"))

    def conclude(self) -> None:
        """Say how many there were, if any."""
        if self.count:
            where = f"; all of them with their tracebacks: {self.log}" if self.log else ""
            self.watch.warn(f"{self.count} trial{'s' * (self.count > 1)} failed{where}")
