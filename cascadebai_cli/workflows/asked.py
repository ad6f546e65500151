"""The options of `summary`; this module imports nothing heavy."""

import re
from dataclasses import dataclass

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.options import option


@dataclass(frozen=True)
class Selection:
    """Which cells `summary` prints, in which order, and as which table.

    Raises:
        ConfigError: if the label is none.
    """

    where: tuple[str, ...] | None = option(
        None, "Only cells with one of these values; repeatable.", metavar="COLUMN=VALUE,...", completed="condition"
    )
    sort: tuple[str, ...] | None = option(
        None,
        "Sort by this column or measure, such as steps; -COLUMN for the largest first; repeatable.",
        metavar="COLUMN",
        completed="column",
    )
    average: str | None = option(
        None, "Take means over instances that differ only in this option, such as replicate.", metavar="OPTION"
    )
    columns: list[str] | None = option(
        None,
        "Print only these columns or measures, such as steps,median,q90,error_rate: a number with its interval in one "
        "place, and the best learner marked where its interval lies apart.",
        metavar="COLUMNS",
        completed="column",
    )
    pivot: str | None = option(
        None,
        "Print the values of this column side by side, such as learner; mean steps without --columns.",
        metavar="COLUMN",
        completed="column",
    )
    caption: str | None = option(
        None, "Text above the table, or its caption in LaTeX, which reads it as it is.", metavar="TEXT"
    )
    label: str | None = option(None, "Name by which LaTeX refers to the table.", metavar="NAME")

    def __post_init__(self) -> None:
        if self.label is not None and not re.fullmatch(r"[\w:.+-]+", self.label):
            raise ConfigError(
                f"--label {self.label} is no name for LaTeX; use letters, digits and : . _ -, as in tab:steps"
            )
