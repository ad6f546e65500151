"""The tables of trials, `trials.csv` and `timings.csv`; the row that is kept of a trial; intervals of many trials."""

import csv
import io
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from math import ceil, inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.store.columns import (
    CELL,
    COLUMNS,
    LATER,
    MOST_COUNT,
    OUTCOME,
    STATUSES,
    TABLES,
    TIMES_CSV,
    TIMINGS_CSV,
    TRIALS_CSV,
    TableFile,
    TrialRow,
)
from cascadebai_cli.store.files import AGAIN, as_csv, is_packed, reading, write_atomically
from cascadebai_cli.store.journal import CODES, Stored
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.fields import Enough, show

# --- Intervals: of a proportion, of a mean, and relative to a mean of whole numbers ---------------------------------


class MeanInterval(NamedTuple):
    """A mean with the standard deviation of the values, its standard error and the ends of its interval."""

    value: float
    sd: float
    se: float
    low: float
    high: float


@lru_cache(maxsize=4096)
def binomial_interval(successes: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson (1934) for a proportion.

    Args:
        successes: from 0 to `n`; no whole number if it comes from a mean of several shares.
        n: number of trials; if it is 0, both ends are nan.
    """
    if n == 0:
        return math.nan, math.nan
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


@lru_cache(maxsize=4096)
def t_quantile(n: int, level: float = 0.95) -> float:
    """Return how many standard errors the t interval of a mean of `n` values has on each side; nan below two values."""
    return float(stdtrit(n - 1, (1 + level) / 2)) if n > 1 else math.nan


def mean_interval(values: FloatArray, level: float = 0.95) -> MeanInterval:
    """Return the mean of some values and its t interval, whose ends are nan for a single value."""
    n, mean = len(values), float(values.sum() / len(values))
    sd = float(np.sqrt(((mean - values) ** 2).sum() / (n - 1))) if n > 1 else math.nan
    se = sd / n**0.5
    half = t_quantile(n, level) * se
    return MeanInterval(mean, sd, se, mean - half, mean + half)


def positive_mean_interval(values: FloatArray, level: float = 0.95) -> MeanInterval:
    """Return the mean of some positive values with an interval of positive ends: the t interval on a log scale.

    Its ends are `mean * exp(-h)` and `mean * exp(h)`, where `h` is half the t interval over the mean.
    """
    found = mean_interval(values, level)
    factor = np.exp((found.high - found.value) / found.value) if found.value > 0 else 1.0
    return found._replace(low=float(found.value / factor), high=float(found.value * factor))


def relative_half_width(values: NDArray[Any], level: float = 0.95) -> float:
    """Return half the width of the t interval over the mean, for positive whole numbers; nan below two of them.

    Sums of whole numbers are exact, so that no decision depends on the order of an addition.
    """
    whole = [int(value) for value in values]
    n, total = len(whole), sum(whole)
    if n < 2:
        return math.nan
    squares = n * sum(value**2 for value in whole) - total**2
    return t_quantile(n, level) * math.sqrt(squares / (n - 1)) / total if squares else 0.0


# --- How many trials a cell needs, given those that it has ----------------------------------------------------------
#
# The answer depends only on the trials with the first numbers, looked at in stages that follow from them, so that it
# is the same whatever was run when and where. Measuring until an interval is narrow makes it a little too narrow; as
# the stages are few, the effect is small.

_SMALLEST_STAGE, _LARGEST_STAGE = 1.25, 4
"""Smallest and largest factor by which the next stage has more trials."""

Limits = Mapping[str, int]
"""Cell -> number of its trials."""


def limits_of(trials: int | Enough, stored: Stored, cell_ids: Iterable[str]) -> Limits:
    """Return the number of trials of each cell."""
    return {cell_id: wanted(trials, stored.of(cell_id)) for cell_id in cell_ids}


def trials_of(config: Mapping[str, Any]) -> int | Enough:
    """Return the number of trials that a resolved config asks for, or the rule for it."""
    trials = config["trials"]
    return Enough.model_validate(trials) if isinstance(trials, Mapping) else trials


def wanted(trials: int | Enough, rows: NDArray[Any]) -> int:
    """Return the number of trials of one cell.

    Args:
        trials: the number of the config, or its rule.
        rows: the finished trials, sorted by trial.
    """
    if isinstance(trials, int):
        return trials
    stage = trials.at_least
    while stage < trials.at_most:
        there = rows[rows["trial"] < stage]
        if len(there) < stage:
            break
        more = max(_needed(trials, there), default=0.0)
        if more <= stage:
            break
        stage = ceil(min(max(more, _SMALLEST_STAGE * stage), _LARGEST_STAGE * stage))
    return min(stage, trials.at_most)


def misses_aim(trials: int | Enough, rows: Any) -> bool:
    """Return whether the trials of a cell, with columns `steps` and `correct`, do not reach the aim of a rule."""
    return not isinstance(trials, int) and max(_needed(trials, rows), default=0.0) > len(rows)


def likely_number(trials: int | Enough, rows: Any) -> int:
    """Return the number of trials that a cell is likely to get, by the `steps` and `correct` of the first of them."""
    if isinstance(trials, int) or len(rows) < 2:
        return trials if isinstance(trials, int) else trials.at_least
    return ceil(min(max(trials.at_least, *_needed(trials, rows)), trials.at_most))


def _needed(aims: Enough, rows: Any) -> Iterator[float]:
    """Yield for each aim the number of trials that is likely to reach it; that of `rows` if these reach it."""
    n = len(rows)
    if aims.relative_error is not None:
        wider = max(1.0, relative_half_width(rows["steps"]) / aims.relative_error)
        yield n * wider * wider  # `**` would raise an error for a large number, and not give infinity
    if aims.max_errors is not None:
        errors = int((rows["correct"] == 0).sum())
        yield n * max(1.0, aims.max_errors / errors if errors else inf)


# --- Reading the CSV tables of a result directory, with all digits and with the types of their columns --------------

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_ALL_DIGITS: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
"""For `read_csv`: before pandas 3.1 the last digit may be wrong without this option; later versions warn of it."""

_LONGEST_HEADER = 100_000
"""Largest header in bytes: a table that no sweep wrote may have a million columns, which takes long to read."""


def _refuse_long_header(path: Path, remedy: str) -> None:
    """Refuse a table whose header is too long."""
    with reading(path) as file:
        if len(file.readline(_LONGEST_HEADER)) == _LONGEST_HEADER:
            raise ConfigError(f"{path}: the header has {_LONGEST_HEADER} bytes or more, so no sweep wrote it; {remedy}")


def read_table(path: Path, remedy: str, needed: Collection[str] = ()) -> pd.DataFrame:
    """Return the table of a CSV file; words stay text, and an empty field is a missing value.

    Args:
        path: the file; if it has the name of a table of a sweep, the types of its columns are checked.
        remedy: what to do if it is damaged.
        needed: columns that it must have; if none are given, those that every table of its name has.

    Raises:
        ConfigError: if it is missing, cannot be read or is not such a table.
    """
    _refuse_long_header(path, remedy)
    known = TABLES.get(path.name, TableFile("", ()))
    words = {column.name: str for column in known.columns if column.type is str}
    try:
        with reading(path) as file:
            table: pd.DataFrame = pd.read_csv(
                file, dtype=words, keep_default_na=False, na_values=[""], low_memory=False, **_ALL_DIGITS
            )
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: not a table ({str(error).strip()}); {remedy}") from error
    for name in needed or known.names(table):
        if name not in table:
            raise ConfigError(f"{path}: column {name} is missing; {remedy}")
    for name in table.columns.intersection(known.names(table)):
        if name not in words and len(table) and not pd.api.types.is_numeric_dtype(table[name]):
            raise ConfigError(f"{path}: column {name} is not all numbers; {remedy}")
    return table


# --- `trials.csv`: written from the journal, read back and checked; its bytes do not depend on interruptions --------

CHUNK = 20_000
"""Number of rows that are in memory at once, unless a single cell has more."""

_FORMS = {
    str: (str, ".*", "text"),
    int: ("int64", "[0-9]{1,19}", "a whole number"),
    float: ("float64", r"[-+]?[0-9]*\.?[0-9]*(e[-+]?[0-9]+)?", "a number"),
    bool: ("Int8", "[01]?", "1, 0 or empty"),
}
"""Type of a column -> its type in pandas, a pattern of the texts that it may hold, and that in words."""
_MAY_LACK = {int: "Int64", bool: "Int8"}
"""Type of a column of `LATER` -> a type in pandas that allows missing values."""
_READ: dict[str, Any] = {
    "dtype": {
        column.name: _MAY_LACK[column.type] if column.when == "later" else _FORMS[column.type][0]
        for column in TABLES[TRIALS_CSV].columns
    },
    "keep_default_na": False,
    "na_values": {
        column.name: [""] for column in TABLES[TRIALS_CSV].columns if column.type is bool or column.when == "later"
    },
    "index_col": False,
    **_ALL_DIGITS,
}

InGrid = Mapping[str, Any]
"""The columns of a cell of a grid, and its budget if it has one."""


def holds_rows(directory: Path) -> bool:
    """Return whether there is a `trials.csv` with more than its header.

    Raises:
        ConfigError: if it is there but cannot be read.
    """
    path = directory / TRIALS_CSV
    if not (path.exists() or is_packed(path)):
        return False
    with reading(path) as file:
        return len(file.readlines(2 * len(",".join(TABLES[TRIALS_CSV].names())))) > 1


def write_trials(
    directory: Path, cells: Sequence[InGrid], stored: Stored, limits: Limits | None = None, *, packed: bool = False
) -> str:
    """Write `trials.csv`, with one row for each finished trial, sorted by cell of the grid and trial.

    Args:
        cells: cells in the order of the grid; rows of other cells are left out.
        limits: number of trials of each cell that are written; all by default.
        packed: write `trials.csv.gz` instead, as is done anyway if the file is packed already.

    Returns:
        SHA-256 of the rows as `trials.csv` holds them, in hexadecimal.
    """
    path = directory / TRIALS_CSV
    return write_atomically(path, _lines(cells, stored, limits), packed=packed or is_packed(path))


def _lines(cells: Sequence[InGrid], stored: Stored, limits: Limits | None) -> Iterator[str]:
    further = _further(cells)
    yield ",".join(TABLES[TRIALS_CSV].names([*further, *LATER])) + "\n"
    for cell in cells:
        start = as_csv([COLUMNS[name].type(cell[name]) for name in CELL])
        rows = rows_below(stored, cell["cell_id"], limits)
        texts = {name: CODES[name].texts(rows[name]) for name in OUTCOME}
        if further:
            texts |= {"budget": repeat(str(cell["budget"]), len(rows)), "right": CODES["right"].texts(rows["right"])}
        texts |= {name: CODES[name].texts(rows[name]) for name in LATER}
        for fields in zip(*texts.values(), strict=True):
            yield ",".join((start, *fields)) + "\n"


def _further(cells: Iterable[InGrid]) -> Sequence[str]:
    """Return the columns that only a study with budgets has."""
    return ("budget", "right") if any(cell.get("budget") is not None for cell in cells) else ()


def rows_below(stored: Stored, cell_id: str, limits: Limits | None) -> NDArray[Any]:
    """Return the rows of a cell, only those of trials below its limit if there is one."""
    rows = stored.of(cell_id)
    return rows if limits is None else rows[rows["trial"] < limits[cell_id]]


def trials_table(cells: Iterable[Cell], rows: Iterable[TrialRow]) -> pd.DataFrame:
    """Return the table that `trials.csv` would hold for trials in memory, sorted by cell."""
    known = {cell.cell_id: {**cell.content, "cell_id": cell.cell_id, "study": cell.study} for cell in cells}
    columns = TABLES[TRIALS_CSV].names(_further(known.values()))
    table = pd.DataFrame([{**known[row.cell_id], **row._asdict()} for row in rows], columns=columns)
    return table.astype({name: _READ["dtype"][name] for name in columns})


def read_rows(path: Path) -> Iterator[TrialRow]:
    """Yield the rows of `trials.csv`; errors as for `read_trials`."""
    for table in read_trials(path):
        there = [name for name in ("cell_id", *OUTCOME, *LATER, "right") if name in table]
        for values in zip(*(table[name] for name in there), strict=True):
            yield TrialRow(**dict(zip(there, map(_plain, there, values), strict=True)))


def _plain(name: str, value: Any) -> Any:
    return None if value is pd.NA else COLUMNS[name].type(value)


def read_trials(path: Path, chunk: int = CHUNK) -> Iterator[pd.DataFrame]:
    """Yield `trials.csv` in tables of whole cells; names stay text, `correct` is missing for capped trials.

    Args:
        path: a file sorted by cell.
        chunk: about the number of rows of a table; more if a cell has more.

    Raises:
        ConfigError: if it is missing, or not what a sweep writes.
    """
    rest: list[pd.DataFrame] = []
    for part in _checked(path, chunk):
        table = pd.concat([*rest, part])
        last = table["cell_id"] == table["cell_id"].iloc[-1]
        if not last.all():
            yield table[~last]
        rest = [table[last]]
    yield from rest


def _checked(path: Path, chunk: int) -> Iterator[pd.DataFrame]:
    _refuse_long_header(path, AGAIN)
    try:
        with reading(path) as file, pd.read_csv(file, chunksize=chunk, **_READ) as parts:
            for part in parts:
                if not _is_right(part):
                    raise ValueError("a value is out of range")
                if len(part):
                    for name in LATER:
                        if name not in part:
                            part[name] = pd.Series(pd.NA, index=part.index, dtype=_READ["dtype"][name])
                    yield part
    except ConfigError:
        raise
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{path}{_fault(path) or f': not a table ({str(error).strip()})'}; {AGAIN}") from error


def _is_right(part: pd.DataFrame) -> bool:
    columns = TABLES[TRIALS_CSV].names(part)
    if not set(columns) <= set(part):
        return False
    outcome = [COLUMNS[name] for name in columns[len(CELL) :]]
    # old versions of pandas ignore the type they are told for numbers beyond 64 bits
    told = (part[column.name].dtype == _READ["dtype"][column.name] for column in outcome if column.type is int)
    return all(told) and all(column.right(part).all() for column in outcome)


def _fault(path: Path) -> str | None:
    """Return line and words for the first fault; this is slow, and done only once it is known that there is one."""
    with reading(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        try:
            missing = [name for name in TABLES[TRIALS_CSV].names() if name not in (reader.fieldnames or ())]
            if missing:
                return f": column {missing[0]} is missing"
            faults = (f":{reader.line_num}: {fault}" for row in reader for fault in _faults(row))
            return next(faults, None)
        except UnicodeDecodeError:
            return " is not UTF-8 text"
        except csv.Error as error:
            return f":{reader.line_num}: not a table ({error})"


def _faults(row: Mapping[str, str]) -> Iterator[str]:
    for name in TABLES[TRIALS_CSV].names(row):
        kind, text = COLUMNS[name].type, row[name]
        _, pattern, what = _FORMS[kind]
        if name == "status":
            pattern, what = "|".join(STATUSES), COLUMNS[name].check[0]
        lacking = name in LATER and not text
        right = re.fullmatch(pattern, text, re.DOTALL) and not (kind is int and int(text) > MOST_COUNT)
        if not lacking and not right:
            yield f"{name}: {show(text)} is not {what}"


# --- How long trials took: `timings.csv`, trial by trial, and its sums in `times.csv`, which references keep --------


def write_timings(directory: Path, cells: Sequence[InGrid], stored: Stored, limits: Limits | None = None) -> str:
    """Write `timings.csv`, the wall time of each trial; arguments and result as for `write_trials`."""
    header = ",".join(TABLES[TIMINGS_CSV].names()) + "\n"
    rows = (
        f"{cell['cell_id']},{row['trial']},{row['seconds']:.6f}\n"
        for cell in cells
        for row in rows_below(stored, cell["cell_id"], limits)
    )
    return write_atomically(directory / TIMINGS_CSV, chain([header], rows))


def times_of(directory: Path, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the time on one core for each instance and learner, from `timings.csv`, or else from `times.csv`.

    Returns:
        the columns of `times.csv`; empty if neither file is there.

    Raises:
        ConfigError: if the file is damaged.
    """
    timings, times = directory / TIMINGS_CSV, directory / TIMES_CSV
    if timings.exists():
        return _times(summary, _read(timings))
    return _read(times) if times.exists() else TABLES[TIMES_CSV].frame([])


def _read(path: Path) -> pd.DataFrame:
    columns = TABLES[path.name].names()
    remedy = f"it needs the columns {', '.join(columns)}; sweep with --collect to write it again"
    return read_table(path, remedy)[columns]


def _times(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    trials = timings.merge(summary[["cell_id", "instance", "learner"]], on="cell_id")
    grouped = trials.groupby(["instance", "learner"], sort=False)["seconds"]
    times = grouped.agg(trials="count", total="sum", mean_seconds="mean").reset_index()
    return times.set_axis(TABLES[TIMES_CSV].names(), axis=1)
