"""Telling about trials that raised, so that each can be repeated."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cascadebai_cli.cli.console import tell

if TYPE_CHECKING:
    from cascadebai_cli.running.worker import BlockResult
    from cascadebai_cli.study.cells import Cell

MOST_SHOWN = 10


class Failures:
    """Counts failed trials; tells about the first ones and keeps where all came from.

    Args:
        config: file of the study, for the command that repeats a trial; none if there is no such command.
        seed: root seed.
        cells: cells of the grid.
        log: file for the tracebacks, none by default.
        plugins: learners that were added on the command line.
    """

    def __init__(
        self,
        config: Path | None,
        seed: int,
        cells: Sequence["Cell"],
        log: Path | None = None,
        plugins: Sequence[str] = (),
    ) -> None:
        self.config, self.seed, self.cells, self.log, self.plugins = config, seed, cells, log, plugins
        self.count = 0

    def clear(self) -> None:
        """Forget the failures of an earlier sweep: their trials run again."""
        if self.log is not None:
            self.log.unlink(missing_ok=True)

    def update(self, result: "BlockResult") -> None:
        """Take in the failures of a block."""
        cell = self.cells[result.position]
        for failed in result.failed:
            self.count += 1
            text = f"trial {failed.trial} of {cell.label} (cell {cell.cell_id}) failed: {failed.error}"
            text += f"; repeat it with: {self.command(cell, failed.trial)}" if self.config else ""
            if self.count <= MOST_SHOWN:
                tell(text)
            self._keep(f"{text}\n{failed.trace}\n")

    def command(self, cell: "Cell", trial: int) -> str:
        """The command that runs exactly this trial."""
        words = ["cascadebai", "run", str(self.config), "--cell", cell.cell_id]
        words += [word for name in self.plugins for word in ("--plugin", name)]
        return shlex.join([*words, "--trial", str(trial), "--seed", str(self.seed)])

    def _keep(self, text: str) -> None:
        if self.log is not None:
            from cascadebai_cli.store.files import writing_to

            with writing_to(self.log), self.log.open("a", encoding="utf-8") as file:
                file.write(text)

    def conclude(self) -> None:
        """Say how many there were, if any."""
        if self.count:
            where = f"; all of them with their tracebacks: {self.log}" if self.log else ""
            tell(f"{self.count} trial{'s' * (self.count > 1)} failed{where}")
