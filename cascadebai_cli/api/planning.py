"""`plan`: how many page views a test takes."""

import html
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.api.arguments import Onlooker, backend_of, path_of, real, whole
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.planning import files as work
from cascadebai_cli.study.document import show
from cascadebai_cli.text.numbers import count


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
        """One row an item, the likeliest to be among the best first: its counts, its rate, and how likely it is."""
        return pd.DataFrame(list(map(asdict, self._done.items)))

    @property
    def learners(self) -> pd.DataFrame:
        """One row a learner, the fastest first: page views, and how often it ended and was right.

        With a budget, how likely it is right then.
        """
        found = self.summary
        rows = found["learners"] if "learners" in found else found["at_budget"]
        return pd.json_normalize([{key: row[key] for key in row if key != "curve"} for row in rows], sep="_")

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


def plan(
    log: pd.DataFrame | str | os.PathLike[str],
    *,
    items: str | int | None = None,
    clicks: str | int | None = None,
    views: str | int | None = None,
    position: str | int | None = None,
    event: bool = False,
    wide: bool = False,
    K: int = 5,
    page_size: int | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    budget: int | None = None,
    sure: float | None = None,
    truth: str = "posterior",
    learner: str | Sequence[str] | None = None,
    trials: int | None = None,
    per_day: float | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: bool | None = None,
) -> Plan:
    """Tell from measured clicks how many page views it takes to find the best `K` items, and what that costs.

    Args:
        log: a table, or the path of a CSV file.
        items, clicks, views: columns of the names, and of how often each was clicked and looked at; rows of one item
            are summed.
        position: column of where an item was shown, to correct the rates for.
        event: whether each row is one view of one item, with 0 or 1 in `clicks`.
        wide: whether each column is an item and each row a page view: 1, 0, or missing if it was not seen.
        K: number of items to find.
        page_size: number of items on a page, `K` if `None`.
        delta: largest probability of a wrong answer; 0.05, or 0.001 with a budget, if `None`.
        epsilon: items so much below `w(K)` are good enough; chosen if `None`.
        budget: say how likely all `K` are right after so many page views, in place of a guarantee.
        sure: say after how many page views all `K` are right with so large a chance.
        truth: `posterior` draws the rates of each run from what the log leaves open, `mean` takes the expected ones.
        learner: `kl-lucb++`, `cascadebai-kl`, `cascadebai`, with a budget `sar` or `uniform`, or several of them; the
            best ones if `None`.
        trials: simulated runs of each learner; as many as half a minute allows if `None`.
        per_day: page views a day, to know the days.
        seed: root seed.
        n_jobs: processes; -1 is one a core, 1 stays in this process.
        progress: whether to show a line on stderr; on a terminal and in a notebook, if `None`.

    Raises:
        ValueError: if the log or a value is not usable.
        CascadeError: if a run raises, or the backend breaks.
    """
    file = log if isinstance(log, pd.DataFrame) else path_of("log", log, "a table, or the path of a CSV file")
    if truth not in ("posterior", "mean"):
        raise ConfigError(f"truth: {show(truth)} is not known; use one of posterior, mean")
    done = work.plan(
        file,
        work.Layout(_column(items), _column(clicks), _column(views), _column(position), event=event, wide=wide),
        work.Wanted(
            whole("K", K, 1),
            None if delta is None else real("delta", delta),
            None if epsilon is None else real("epsilon", epsilon),
            "mean" if truth == "mean" else "posterior",
            whole("seed", seed, 0),
            None if page_size is None else whole("page_size", page_size, 1),
            None if budget is None else whole("budget", budget),
            None if sure is None else real("sure", sure),
        ),
        work.Effort(
            [learner] if isinstance(learner, str) else list(learner or ()),
            None if trials is None else whole("trials", trials, 2),
            None if per_day is None else real("per_day", per_day),
        ),
        backend=backend_of(n_jobs),
        watch=Onlooker(progress),
    )
    if done.failed:
        raise CascadeError("a run failed, so that nothing is known")
    return Plan(done)


def _column(name: str | int | None) -> str | None:
    """The name of a column; one without a name has a number."""
    return None if name is None else str(name)
