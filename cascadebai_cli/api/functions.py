"""The Python interface: trials and bounds of single cells, sweeps and their results, plans."""

import html
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.api.arguments import (
    Onlooker,
    checked,
    in_words_of_python,
    named_in_study,
    path_of,
    single_study,
    with_keywords,
)
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.problem import CASCADING, Instance
from cascadebai_cli.planning import files as planned
from cascadebai_cli.store.columns import FAILURES, PLACE
from cascadebai_cli.store.trials import holds_rows
from cascadebai_cli.study.config import Override, Study, load_study, plain_value, study_of
from cascadebai_cli.text import count
from cascadebai_cli.workflows import sweep as work
from cascadebai_cli.workflows.tables import promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# --- `simulate`: trials of one learner on one instance, as a table --------------------------------------------------


@in_words_of_python()
def simulate(
    instance: Instance,
    learner: str | type = "cascadebai",
    trials: int = 20,
    seed: int = 1,
    delta: float = 0.1,
    *,
    budget: int | None = None,
    max_steps: int | None = None,
    feedback: str = CASCADING.name,
    users: str | Mapping[str, Any] | None = None,
    shuffle: bool = False,
    engine: str = "auto",
    rewards: Mapping[str, Any] | None = None,
    paired: bool = False,
    record: str | Sequence[str] = (),
    trace_at: int | Sequence[int] | Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run trials of a learner on an instance.

    Args:
        instance: the problem.
        learner: an `algorithm` of a config, such as `cascadebai` or `kl-lucb++`; a name that `cb.learner` gave, a
            class, or `module:Class`.
        trials: number of trials; a larger number begins with the same trials.
        seed: root seed; the same call gives the same rows, whatever the number of jobs.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        budget: steps after which the learner has to name its items; without it, it runs until it stops.
        max_steps: cap on the steps of a trial.
        feedback: what a step reveals, as for the key `feedback` of a config.
        users: what users do with a page, as for the key `users`, such as `{"kind": "position-based", "looks": 0.8}`.
        shuffle: whether each list is shown in a random order, for learners whose proof allows it.
        engine: engine that runs the trials; `auto` is the fastest one that is exact.
        rewards: `{"rows": 100000, "reuse": True}` for rewards from a table; independent ones by default.
        paired: whether all learners meet the same rewards in trials of the same number.
        record: `answer`, `decisions` or `trace`, or several of them: what to tell of each trial beyond its row.
        trace_at: steps at which a `trace` looks at a run; 1, 2, 5, 10, 20, 50, ... by default.
        n_jobs: number of processes; -1 is one per core, -2 one less, and so on; 1 stays in this process.
        progress: whether longer runs show a line on stderr; if `None`, on a terminal and in a notebook.
        options: options of the learner, such as `sigma`, `order` or `confidence` of `cascadebai`.

    Returns:
        one row for each trial, with the columns of `trials.csv`; a config with the same content gives the same rows,
        bit for bit. What is recorded stands in a further column of its name, with a tuple in each row: of items for
        `answer`, of `(item, decision, step)` for `decisions`, of `(step, survivors, observations, right, correct)` for
        `trace`. Items are numbered from 1, in the order of the weights.

    Raises:
        ValueError: if a value is not usable; nothing has run.
        CascadeError: if a trial raises.

    Example:
        >>> import cascadebai_cli as cb
        >>> cb.simulate(cb.Instance([0.8, 0.7, 0.1, 0.1], K=2), trials=3)["steps"].mean() > 0
        True
    """
    study = single_study(
        "simulate",
        instance,
        learner,
        options,
        seed=seed,
        trials=trials,
        delta=delta,
        budget=budget,
        max_steps=max_steps,
        feedback=feedback,
        users=users,
        shuffle=shuffle,
        engine=engine,
        rewards=rewards,
        paired=paired,
        record=record,
        trace_at=trace_at,
    )
    return work.simulate(study, backend=_backend(n_jobs), watch=Onlooker(progress))


# --- `bounds`: the bounds of an instance ----------------------------------------------------------------------------


@in_words_of_python()
def bounds(
    instance: Instance,
    delta: float = 0.1,
    *,
    learner: str | type = "cascadebai",
    feedback: str = CASCADING.name,
    users: str | Mapping[str, Any] | None = None,
    budget: int | None = None,
    printed: bool = False,
    sharp: bool = False,
    factor: bool = False,
    **options: Any,
) -> "pd.Series[Any]":
    """Return bounds on the number of steps or, with a budget, on the probability of an error.

    Args:
        instance: the problem.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        learner: as for `simulate`; only Algorithm 1 on cascading feedback has an upper bound on the steps.
        feedback: what a step reveals, as for the key `feedback` of a config.
        users: as for `simulate`; the sharp bound is that of what they look at.
        budget: steps after which the learner has to name its items; `uniform` and `sar` have a bound then.
        printed: use the constant 216 of `T-bar` as printed in the paper, instead of `256 sigma^2`.
        sharp: add the sharp lower bound, which takes seconds for hundreds of different weights.
        factor: add what mean steps over it come to as `delta` becomes small; takes seconds for track-and-stop.
        options: options of the learner, such as `sigma`.

    Returns:
        `lower` and `upper`, the theorem that `upper` comes from (`source`) and its largest term (`dominating`), the
        bounds of each theorem and, with `sharp`, `T_star`, `gap` and `sharp`; with `factor`, the column of this name.
        With a budget, it is the hardness `H` and `H2`, the `bound`, and the budget that is `enough` for `delta`. Values
        that are not known are missing.

    Raises:
        ValueError: if a value is not usable.
    """
    flags = {"printed": printed, "sharp": sharp, "factor": factor}
    flags = {name: checked(name, bool, value) for name, value in flags.items()}
    given: dict[str, Any] = {"delta": delta, "feedback": feedback, "users": users, "budget": budget}
    study = single_study("bounds", instance, learner, options, **given)
    if len(study.cells) > 1:
        raise ConfigError("bounds() takes one learner, one delta and one budget; got several")
    row = promised(study.cells, **flags).iloc[0]
    return row.rename("bounds")


# --- The results of a sweep: its tables, fits and figures -----------------------------------------------------------

_SHOWN = (*PLACE, "n", "mean_steps", "ci_low", "ci_high")
"""Columns of the summary that a notebook shows, followed by those of errors."""
_ERRORS = ("n_capped", "error_rate")


class Results:
    """The results of a sweep; made by `sweep` and `load`.

    Each table is a copy, so that changing it changes neither the results nor their files.

    Attributes:
        directory: absolute path of the files.
        name: name of the study.
    """

    def __init__(self, directory: Path, *, passing: bool = False) -> None:
        """Load a directory; if `passing`, it is removed together with this object."""
        self.directory, self._passing = directory.absolute(), passing
        self._stored = load_results(self.directory)
        self.name = self._stored.name
        if passing:
            weakref.finalize(self, _remove, self.directory, os.getpid())

    @property
    def summary(self) -> pd.DataFrame:
        """`summary.csv`, one row for each cell."""
        return self._stored.summary.copy()

    @property
    def trials(self) -> pd.DataFrame:
        """`trials.csv`, one row for each trial; it is read when it is first asked for.

        Raises:
            ValueError: if a later sweep has replaced it.
        """
        return self._stored.trials.copy()

    @property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: the config, seed, versions, machine and times."""
        return self._stored.manifest.model_dump()

    @property
    @in_words_of_python()
    def fits(self) -> pd.DataFrame:
        """The fits of the curves of the study; curves with too few points are left out."""
        from cascadebai_cli.workflows.tables import fits_table

        return fits_table(self._stored)

    @in_words_of_python()
    def fit(self, *, allow_capped: bool = False) -> pd.DataFrame:
        """Fit the curves and compare the learners, and write the tables into the directory, as `cascadebai fit` does.

        Args:
            allow_capped: also fit means with trials that reached the cap, which are lower limits.

        Returns:
            the table of the fits.

        Raises:
            ValueError: if there is nothing to fit.
        """
        from cascadebai_cli.workflows.tables import fit

        capped_too = checked("allow_capped", bool, allow_capped)
        return fit(self.directory, allow_capped=capped_too, watch=Onlooker()).tables[0].rows

    @in_words_of_python()
    def plot(self, **words: Any) -> "Figure":
        """Draw a figure.

        Args:
            words: keys of `plot` that replace those of the config: `kind`, `x`, `y`, `panels`, `lines`, `instances`,
                `learners`, `where`, `average`, `log`, `width`, `columns`, `height`, `labels`, `order`, `style`.

        Returns:
            the figure on one page; it is not registered with pyplot, and no setting of matplotlib is changed.

        Raises:
            ValueError: if the words do not make a figure of this study.
        """
        from cascadebai_cli.workflows.plot import figure

        return figure([self._stored], plain_value(words), Onlooker())

    def __repr__(self) -> str:
        return f"<Results of {self._in_words}, in {self.directory}>"

    def _repr_html_(self) -> str:
        cells = self._stored.summary
        shown = [name for name in (*_SHOWN, *_ERRORS) if name in cells]
        table = cells.assign(ci_low=cells["ci_low"].clip(lower=0))[shown]
        return (
            f"<p>{html.escape(f'{self._in_words}, in {self.directory}')}</p>{table.to_html(max_rows=20, index=False)}"
        )

    @property
    def _in_words(self) -> str:
        cells = self._stored.summary
        return f"{self.name}: {count(len(cells))} cells, {count(int(cells['n'].sum()))} trials"

    def __copy__(self) -> Self:
        return self  # it never changes, and its files exist once

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the directory's path.

        Raises:
            ConfigError: if the files are removed with this object, so that an unpickled copy would have none.
        """
        if self._passing:
            raise ConfigError(
                f"the files of {self.name} go when its results go; to pickle these, give sweep a directory"
            )
        return Results, (self.directory,)


def _remove(directory: Path, owner: int) -> None:
    """Remove a directory, unless this process is a fork of its owner."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


@in_words_of_python()
def load(directory: str | os.PathLike[str]) -> Results:
    """Load the results of a sweep; code that they name is not imported or run.

    Args:
        directory: directory of `sweep`, or of `cascadebai sweep`.

    Raises:
        ValueError: if the directory or one of its files is missing, or not what a sweep writes.
    """
    return Results(path_of("directory", directory, "that of a sweep"))


# --- `sweep`: running a study into a directory ----------------------------------------------------------------------


@in_words_of_python()
def sweep(
    study: str | os.PathLike[str] | Mapping[str, Any] | Study,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    *,
    fresh: bool = False,
    progress: bool | None = None,
    **keys: Any,
) -> Results:
    """Run all trials of a study that are missing, and return its results.

    Args:
        study: a config: its path, or its keys and values.
        out: directory of the results; trials that are there already are not run again. Without it, the files are
            removed together with the object that is returned.
        n_jobs: number of processes; -1 is one per core, -2 one less, and so on; 1 stays in this process.
        fresh: move an earlier result aside and start over.
        progress: whether longer runs show a line on stderr; if `None`, on a terminal and in a notebook.
        keys: keys of a config that replace those of the study, such as `trials=5`.

    Raises:
        ValueError: if the study is not usable, or the directory holds trials of another one; nothing has run.
        CascadeError: if no trial ends, the directory cannot be written to, or the backend breaks. If only some trials
            raise, there are warnings, and their cells have fewer rows.
    """
    given = None if out is None else path_of("out", out, "the path of a directory")
    read, backend, fresh = _study(study, keys), _backend(n_jobs), checked("fresh", bool, fresh)
    read.refuse_too_many_rows()

    def into(directory: Path, *, passing: bool = False) -> Results:
        work.sweep(work.Sweep(read, directory), backend=backend, fresh=fresh, watch=Onlooker(progress))
        if not holds_rows(directory):
            raise CascadeError(f"no trial ended; {directory / FAILURES} says why")
        return Results(directory, passing=passing)

    if given is not None:
        return into(given)
    directory = Path(tempfile.mkdtemp(prefix="cascadebai-"))
    try:
        return into(directory, passing=True)
    except Exception:  # after Ctrl-C the finished trials stay
        if not (directory / FAILURES).exists():
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _backend(n_jobs: Any) -> work.Backend:
    """Return the backend with `n_jobs` processes of this machine."""
    return work.Backend(n_jobs=checked("n_jobs", int, n_jobs))


def _study(study: object, keys: Mapping[str, Any]) -> Study:
    overrides = [Override(f"{key}:", (key,), plain_value(value, key)) for key, value in named_in_study(keys).items()]
    if isinstance(study, Mapping):
        return study_of(named_in_study(study), overrides)
    if isinstance(study, Study):
        return study if study.cells and not overrides else study_of(study.model_dump(mode="json"), overrides)
    return load_study(path_of("study", study, "the path of a config, or its keys and values"), overrides)


# --- `plan`: how many page views a test takes ------------------------------------------------------------------------


class Plan:
    """How many page views it takes to find the best items of a log; made by `plan`."""

    def __init__(self, done: planned.Plan) -> None:
        self._done = done

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers, as in `plan.json`."""
        return planned.as_json(self._done)

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
        return planned.write_plan(self._done, path_of("directory", directory, "one for the plan"), Onlooker())

    def __repr__(self) -> str:
        return f"<Plan: {self._in_words}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._in_words)}</p>{self.learners.to_html(index=False)}"

    @property
    def _in_words(self) -> str:
        question = self._done.question
        return f"the best {question.K} of {count(question.L)} items of {question.log.name}"


@in_words_of_python()
@with_keywords(*planned.OPTIONS)
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
    layout, wanted = planned.read_options(options)
    done = planned.plan(file, layout, wanted, backend=_backend(n_jobs), watch=Onlooker(progress))
    if done.failed:
        raise CascadeError("a run failed, so that nothing is known")
    return Plan(done)
