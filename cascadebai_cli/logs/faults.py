"""All rows of a file that are not usable, in one answer."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.sheet import Sheet

MOST_SHOWN = 10


class Faults:
    """Collects what is wrong with the rows of a sheet; of each row, what is said first.

    Args:
        sheet: the rows.
    """

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._lines = sheet.rows.index.to_numpy()
        self._found: dict[int, str] = {}
        self._rows = sheet.rows.reset_index(drop=True)
        lengths, width = sheet.too_long.to_numpy(), self._rows.shape[1]
        self.add(lengths > 0, lambda row: f"{lengths[row]} values for {width} columns; give one value a column")

    def texts(self, column: str) -> "pd.Series[str]":
        """The texts of a column, numbered from 0."""
        return self._rows[column].str.strip()

    def add(self, wrong: ArrayLike, sentence: Callable[[int], str]) -> None:
        """Rows that are wrong, and what to say of one of them, by its number from 0."""
        places = np.flatnonzero(wrong)
        for row in map(int, places):
            if row not in self._found:
                self._found[row] = sentence(row)

    def answer(self, remedy: str) -> None:
        """Refuse the file if a row is wrong.

        Args:
            remedy: what would be right, where the sentences do not say it.

        Raises:
            ConfigError: naming the first ten.
        """
        if not self._found:
            return
        name, end = self._sheet.name, f"; {remedy}" if remedy else ""
        told = [(int(self._lines[row]), self._found[row]) for row in sorted(self._found)[:MOST_SHOWN]]
        if len(self._found) == 1:
            raise ConfigError(f"{name}:{told[0][0]}: {told[0][1]}{end}")
        listed = ". ".join(f"Line {line}: {sentence}" for line, sentence in told)
        more = f" (the first {MOST_SHOWN})" if len(self._found) > MOST_SHOWN else ""
        raise ConfigError(f"{name}: {len(self._found):,} rows are not usable{more}. {listed}{end}")
