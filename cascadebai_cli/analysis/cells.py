"""The table of cells: averaged over instances, joined over studies, filtered, sorted and printed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.fits import ratios_table
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.columns import (
    BOUNDS_CSV,
    COLUMNS,
    PLACE,
    SETTING,
    TRACES_CSV,
)
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.summary import binomial_interval, mean_interval
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.study.document import read_value
from cascadebai_cli.study.fields import Entry
from cascadebai_cli.study.kinds import MEASURES
from cascadebai_cli.study.plot import Plot, alike
from cascadebai_cli.text import for_shell, values_of, with_quotes

# --- Means over instances that differ in one option only, such as the draws of a family of random weights -----------


def averaged(results: StudyResults, option: str | None) -> StudyResults:
    """Return results with one instance in place of all that differ in `option` only; without option, they stay as is.

    The mean of a new cell is the mean over the means of its cells, each counting once. Its interval is that of these
    means, on a log scale, as no number of steps is below 0: it shows how far instances differ. The error rate is a mean
    too; its interval counts as many trials of each cell as the one with the fewest has. The new id joins the ids of
    all cells by `+`.
    """
    if option is None:
        return results
    families = alike(results.study.instances, option)
    names = {entry.name: name for name, entries in families.items() for entry in entries}
    summary = results.summary.assign(instance=results.summary["instance"].map(lambda name: names.get(name, name)))
    several = {name for name, entries in families.items() if len(entries) > 1}
    rows = list(_rows(summary, several))
    entries = tuple(found[0].model_copy(update={"name": name}) for name, found in families.items())
    study = results.study.model_copy(update={"instances": entries})
    return results.derived(study=study, summary=pd.DataFrame(rows, columns=list(summary)))


def _rows(summary: pd.DataFrame, several: set[str]) -> Iterator[dict[Any, Any]]:
    for point, cells in summary.groupby([name for name in PLACE if name in summary], sort=False):
        yield _mean(cells) if point[0] in several else cells.iloc[0].to_dict()


def _mean(cells: pd.DataFrame) -> dict[Any, Any]:
    """Return the one row that takes the place of several cells."""
    known = cells[cells["n"] > cells["n_capped"]]
    error_rate = float(known["error_rate"].mean())
    trials = 0 if known.empty else len(known) * int((known["n"] - known["n_capped"]).min())
    low, high = binomial_interval(error_rate * trials, trials)
    return {
        **cells.iloc[0].to_dict(),
        **cells[["w_star", "w_prime", "mean_observations"]].mean().to_dict(),
        **cells[["n", "n_capped"]].sum().to_dict(),
        **_interval(cells["mean_steps"], "mean_steps", "ci", positive=True),
        **({"aim_missed": cells["aim_missed"].max()} if "aim_missed" in cells else {}),
        **(_interval(cells["mean_right"], "mean_right", "right") if "mean_right" in cells else {}),
        "cell_id": "+".join(cells["cell_id"]),
        "sd_steps": cells["mean_steps"].std(),
        "se_steps": cells["mean_steps"].sem(),
        "error_rate": error_rate,
        "error_low": low,
        "error_high": high,
    }


def _interval(values: "pd.Series[float]", name: str, ends: str, *, positive: bool = False) -> dict[str, float]:
    """Return the mean of some values under `name`, and the ends of its interval."""
    mean = mean_interval(np.asarray(values, dtype=np.float64), positive=positive)
    return {name: mean.value, f"{ends}_low": mean.low, f"{ends}_high": mean.high}


# --- Several result directories in one figure: a name that means different things in them gets the directory --------

_Column = Literal["instance", "learner"]


def with_names_apart(studies: Sequence[StudyResults]) -> tuple[StudyResults, ...]:
    """Return the same results, with the directory added to names that mean different things in several of them.

    Such a name is that of an instance with other weights, of a learner with other options, or of a learner of which
    two directories hold the same cell.
    """
    columns: tuple[_Column, _Column] = ("instance", "learner")
    for column in columns:
        for name in list(_clashing(studies, column)):
            studies = [_renamed(one, column, name, _place(one, studies)) for one in studies]
    return tuple(studies)


def _clashing(studies: Sequence[StudyResults], column: _Column) -> Iterator[str]:
    points = pd.concat([results.summary.reindex(columns=PLACE) for results in studies])
    repeated = set(points.loc[points.duplicated(), "learner"]) if column == "learner" else set()
    for name in dict.fromkeys(name for results in studies for name in _entries(results, column)):
        entries = [found[name] for found in (_entries(results, column) for results in studies) if name in found]
        if len(entries) > 1 and (name in repeated or len({_content(entry) for entry in entries}) > 1):
            yield name


def _entries(results: StudyResults, column: _Column) -> dict[str, Entry]:
    return dict(results.instances if column == "instance" else results.learners)


def _content(entry: Entry) -> str:
    return entry.model_dump_json(exclude={"name", "fit"})


def _place(results: StudyResults, studies: Sequence[StudyResults]) -> str:
    """Return the name of the directory, or its path if another directory has the same name."""
    shared = sum(other.directory.name == results.directory.name for other in studies) > 1
    return str(results.directory) if shared else results.directory.name


def _renamed(results: StudyResults, column: _Column, name: str, place: str) -> StudyResults:
    if name not in _entries(results, column):
        return results
    new = f"{name} ({place})"
    key = f"{column}s"
    entries = [e.model_copy(update={"name": new}) if e.name == name else e for e in getattr(results.study, key)]
    summary = results.summary.assign(**{column: results.summary[column].replace({name: new})})
    return results.derived(study=results.study.model_copy(update={key: tuple(entries)}), summary=summary)


# --- The cells of one or more studies as one table, with everything that a figure may show --------------------------

_STUDY = "study_number"
"""Column with the number of the study that a cell comes from."""
_MOST_NAMED = 20
"""Largest number of values that an error message lists."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one or more studies.

    Args:
        table: one row for each cell: `summary.csv`, columns that follow from the grid, and the options of learners.
    """

    studies: Sequence[StudyResults]
    table: pd.DataFrame

    @classmethod
    def of(cls, studies: Sequence[StudyResults], named: Collection[str] = ()) -> Self:
        """Return all cells; the hardness, which takes longer, is only there if it is `named`."""
        parts = [
            results.cells.assign(**{_STUDY: number}, directory=str(results.directory))
            for number, results in enumerate(studies)
        ]
        if "hardness" in named:
            parts = [part.assign(hardness=one.hardness) for part, one in zip(parts, studies, strict=True)]
        # A study without a budget has no such column, but a figure may ask for it.
        parts = [part if "budget" in part else part.assign(budget=np.nan) for part in parts]
        return cls(studies, pd.concat(parts, ignore_index=True))

    def chosen(self, plot: Plot) -> Self:
        """Return the cells that a plot asks for, with instances and learners in the order in which it names them.

        Raises:
            ConfigError: if a value that it names is in no cell, or it shows traces and a study has none.
        """
        cells = self.table
        for column, values in (("instance", plot.instances), ("learner", plot.learners), *plot.where.items()):
            if values:
                cells = cells[_matching(cells, column, values)]
        for column, names in (("learner", plot.learners), ("instance", plot.instances)):
            first = [*plot.order, *names]
            rank = {name: i for i, name in reversed(list(enumerate(first)))}
            cells = cells.sort_values(column, key=lambda c: c.map(rank).fillna(len(first)), kind="stable")
        found = replace(self, table=cells.reset_index(drop=True))
        return found.with_moments() if plot.figure.points == "steps" else found

    def with_moments(self) -> Self:
        """Return a row for each cell and step of its traces, with the share of trials whose answer is right after it.

        A trial that has ended keeps its last answer.

        Raises:
            ConfigError: if a study has no traces.
        """
        parts = [_moments(results).assign(**{_STUDY: number}) for number, results in enumerate(self.studies)]
        return replace(self, table=self.table.drop(columns="n").merge(pd.concat(parts), on=["cell_id", _STUDY]))

    @property
    def results(self) -> tuple[StudyResults, ...]:
        """The results of the studies that have cells here, with these cells only."""
        return tuple(results for results in _chosen_results(self.table, self.studies) if len(results.summary))

    def measured(self, plot: Plot) -> pd.DataFrame:
        """Return the table with what a plot draws of the cells beyond it: bounds, quantiles, differences, shares.

        Raises:
            ConfigError: if a study does not have it.
        """
        if plot.figure.beside == "bounds":
            return _between_bounds(self, plot)
        if plot.figure.points == "trials":
            return _with_trials(self.table, self.studies)
        known = {
            "steps_per_lower_bound": _with_bounds,
            "steps_per_sharp_bound": _with_sharp_bounds,
            "difference": _with_differences,
        }
        add = known.get(plot.y) or (_with_quantiles if MEASURES[plot.y].level else None)
        return add(self.table, self.studies) if add else self.table


def _chosen_results(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> tuple[StudyResults, ...]:
    """Return the same studies, with only the cells that are rows of `cells`."""
    return tuple(
        results.of_cells(cells.loc[cells[_STUDY] == place, "cell_id"]) for place, results in enumerate(studies)
    )


def _with_quantiles(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> pd.DataFrame:
    """Return the cells with quantiles of the steps of their trials, as in `StudyResults.quantiles`."""
    found = pd.concat([results.quantiles.assign(**{_STUDY: number}) for number, results in enumerate(studies)])
    return cells.merge(found, on=["cell_id", _STUDY], how="left")


def _with_differences(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> pd.DataFrame:
    """Return the cells of all learners but the main one, with how many steps fewer each takes, as in `ratios.csv`.

    Raises:
        ConfigError: if trials of different learners do not meet the same rewards, or steps are a budget.
    """
    for results in studies:
        if not results.study.paired or results.has_budget:
            why = "steps are a budget" if results.has_budget else "it is not paired; add paired: true, and sweep again"
            raise ConfigError(f"y: {results.directory} has no differences of learners in the same trials, as {why}")
    parts = [ratios_table(results).assign(**{_STUDY: number}) for number, results in enumerate(studies)]
    found = pd.concat(parts).drop(columns="learner").rename(columns={"other": "learner"})
    keys = [*SETTING, "learner", _STUDY]
    return cells.merge(found[[*keys, *MEASURES["difference"].columns]], on=keys)


def _with_trials(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> pd.DataFrame:
    """Return a row for each number of `steps` after which a trial of a cell stopped, and the share `stopped` by then.

    The first row of a cell has no step less than its first trial, and the last one the cap, if trials reached it.
    """
    return pd.concat([_stops(row, studies[int(row[_STUDY])]) for _, row in cells.iterrows()], ignore_index=True)


def _stops(row: "pd.Series[Any]", results: StudyResults) -> pd.DataFrame:
    steps, n_stopped = results.steps_of(str(row["cell_id"]))
    at, times = np.unique(steps[:n_stopped], return_counts=True)
    shares = np.cumsum([0, *times]) / len(steps)
    capped = n_stopped < len(steps)
    ends = np.concatenate([steps[:1], at, steps[-1:] if capped else []])
    return pd.DataFrame({**row.to_dict(), "steps": ends, "stopped": [*shares, *(shares[-1:] if capped else [])]})


def _with_bounds(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> pd.DataFrame:
    """Return the cells with their `lower` and `upper` bounds, NaN where none is known."""
    chosen = enumerate(_chosen_results(cells, studies))
    found = pd.concat([results.bounds.assign(**{_STUDY: number}) for number, results in chosen])
    return cells.merge(found[["cell_id", _STUDY, "lower", "upper"]], on=["cell_id", _STUDY], how="left")


def _between_bounds(cells: Cells, plot: Plot) -> pd.DataFrame:
    """Return the cells of the main learners with their bounds; without any upper bound raise `ConfigError`."""
    table = _with_bounds(cells.table, cells.studies)
    main = table[table["learner"].isin([results.main_learner for results in cells.results])]
    if main["upper"].isna().all():
        raise ConfigError(
            f"--kind: {plot.kind} needs cells with an upper bound, which is proved of CascadeBAI alone, and "
            f"{cells.studies[0].directory} has none; `cascadebai bounds CONFIG` prints the bounds that there are"
        )
    return main


def _moments(results: StudyResults) -> pd.DataFrame:
    path = results.directory / TRACES_CSV
    if not path.exists():
        raise ConfigError(
            f"--kind: trace needs {path}, which a sweep with record: [trace] writes; add that, and sweep again"
        )
    cells = read_table(path, AGAIN).groupby("cell_id", sort=False)
    return pd.DataFrame([{"cell_id": name, **moment} for name, traces in cells for moment in _shares(traces)])


def _shares(traces: pd.DataFrame) -> Iterator[dict[str, float]]:
    """Yield for each step that is not only the end of a trial, and for the last end, how often answers are right."""
    ends = traces.groupby("trial")["step"].transform("max")
    steps = sorted({*traces.loc[traces["step"] < ends, "step"], ends.max()})
    right = traces.pivot(index="step", columns="trial", values="correct").sort_index().ffill().loc[steps]
    n = right.shape[1]
    for step, number in zip(steps, right.sum(axis=1), strict=True):
        low, high = binomial_interval(float(number), n)
        yield {"step": step, "n": n, "present_rate": number / n, "present_low": low, "present_high": high}


def _with_sharp_bounds(cells: pd.DataFrame, studies: Sequence[StudyResults]) -> pd.DataFrame:
    """Return the cells with the column `sharp` of the file that `bounds --sharp --csv` writes beside the results.

    Raises:
        ConfigError: if there is no such file.
    """
    parts = [_sharp_bounds(results).assign(**{_STUDY: number}) for number, results in enumerate(studies)]
    return cells.merge(pd.concat(parts), on=["cell_id", _STUDY], how="left")


def _sharp_bounds(results: StudyResults) -> pd.DataFrame:
    path = results.directory / BOUNDS_CSV
    command = (
        f"`cascadebai bounds CONFIG --sharp --results {for_shell(results.directory)} --csv {for_shell(path)}` writes it"
    )
    if not path.exists():
        raise ConfigError(f"{path} is missing; {command}")
    return read_table(path, command, ["cell_id", "sharp"])[["cell_id", "sharp"]]


def _matching(cells: pd.DataFrame, column: str, values: Sequence[object]) -> "pd.Series[bool]":
    """Return which cells have one of the values in a column."""
    texts = cells[column].astype(str)
    found = pd.Series(False, index=cells.index)
    for value in values:
        same = (cells[column] == value) | (texts == str(value))
        if not same.any():
            there = list(dict.fromkeys(map(with_quotes, texts)))
            raise ConfigError(f"{column}: {value} is in no cell; {suggest(str(value), there[:_MOST_NAMED])}")
        found |= same
    return found


# --- Choosing and sorting the cells of a study ----------------------------------------------------------------------


def cells_with(cells: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Return the cells that meet all conditions `COLUMN=VALUE[,VALUE...]`; a value with a comma is in double quotes.

    Raises:
        ConfigError: if a condition is not of that form, two name the same column, there is no such column, or no cell
            with a value.
    """
    for column, values in _conditions(conditions).items():
        _check_column(cells, column, "--where")
        cells = cells[_matching(cells, column, values)]
    return cells


def _conditions(texts: Sequence[str]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for text in texts:
        column, values = _condition(text)
        if column in found:
            raise ConfigError(f"--where {text}: {column} is named twice; write all its values after one =, with commas")
        found[column] = values
    return found


def _condition(text: str) -> tuple[str, list[object]]:
    column, equals, values = text.partition("=")
    if not (column and equals and values):
        raise ConfigError(f"--where {text}: names no column and value; write COLUMN=VALUE, such as delta=0.1")
    read = [(value, read_value(value)) for value in values_of(values)]
    return column, [value if isinstance(found, list | dict) else found for value, found in read]


def ordered(cells: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the cells sorted by columns, the first of which counts most; `-` before a name reverses the order.

    Raises:
        ConfigError: if there is no such column.
    """
    for column in columns:
        _check_column(cells, column_named(column.removeprefix("-")), "--sort")
    for column in reversed(columns):
        name = column_named(column.removeprefix("-"))
        cells = cells.sort_values(name, ascending=not column.startswith("-"), kind="stable")
    return cells


def column_named(name: str) -> str:
    """Return the column of a measure of `plot`, such as `steps`; any other name as it is."""
    found = MEASURES.get(name)
    return found.columns[0] if found and not found.over and found.columns[0] in COLUMNS else name


def _check_column(cells: pd.DataFrame, column: str, option: str) -> None:
    if not column:
        raise ConfigError(
            f"{option} names no column; write for example {option} {'K=20' if option == '--where' else 'K'}"
        )
    if column not in cells:
        raise ConfigError(f"{option} {column}: there is no such column; {suggest(column, map(str, cells))}")
