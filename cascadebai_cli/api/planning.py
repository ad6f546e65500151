"""`plan`: how many page views a test takes."""

import html
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.api.arguments import Onlooker, backend_of, in_words_of_python, path_of, with_keywords
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.planning import files as work
from cascadebai_cli.planning.options import OPTIONS, read_options
from cascadebai_cli.text import count


class Plan:
    """How many page views it takes to find the best items of a log; made by `plan`."""

    def __init__(self, done: work.Plan) -> None:
        self._done = done

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers, as in `plan.json`."""
        return work.as_json(self._done)

    @property
    def items(self) -> pd.DataFrame:
        """One row for each item, sorted by its probability to be among the best: counts, rate and this probability."""
        return pd.DataFrame(list(map(asdict, self._done.items)))

    @property
    def learners(self) -> pd.DataFrame:
        """One row for each learner, the fastest first: page views, and how often it ended and was right.

        With a budget, it tells how likely the answer is right when the budget is spent.
        """
        found = self.summary
        rows = found["learners"] if "learners" in found else found["at_budget"]
        return pd.json_normalize([{key: row[key] for key in row if key != "curve"} for row in rows], sep="_")

    @in_words_of_python()
    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write `plan.json`, the tables and the picture into a directory, as `cascadebai plan` does.

        Raises:
            ValueError: if it holds another plan.
        """
        return work.write_plan(self._done, path_of("directory", directory, "one for the plan"), Onlooker())

    def __repr__(self) -> str:
        return f"<Plan: {self._in_words}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._in_words)}</p>{self.learners.to_html(index=False)}"

    @property
    def _in_words(self) -> str:
        question = self._done.question
        return f"the best {question.K} of {count(question.L)} items of {question.log.name}"


@in_words_of_python()
@with_keywords(*OPTIONS)
def plan(
    log: pd.DataFrame | str | os.PathLike[str], *, n_jobs: int = -1, progress: bool | None = None, **options: Any
) -> Plan:
    """Tell from measured clicks how many page views it takes to find the best `K` items, and what that costs.

    Args:
        log: a table, or the path of a CSV file.
        n_jobs: number of processes; -1 is one per core, -2 one less, and so on; 1 stays in this process.
        progress: whether to show a line on stderr; if `None`, on a terminal and in a notebook.

    Raises:
        ValueError: if the log or a value is not usable.
        CascadeError: if a run raises, or the backend breaks.
    """
    file = log if isinstance(log, pd.DataFrame) else path_of("log", log, "a table, or the path of a CSV file")
    layout, wanted = read_options(options)
    done = work.plan(file, layout, wanted, backend=backend_of(n_jobs), watch=Onlooker(progress))
    if done.failed:
        raise CascadeError("a run failed, so that nothing is known")
    return Plan(done)
