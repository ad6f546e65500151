"""The tables that go with a study, the data of figures, and the cells as a table for a paper."""

import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.cells import Cells, column_named
from cascadebai_cli.analysis.fits import makers
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.columns import (
    BUDGETS_CSV,
    CELL,
    COLUMNS,
    OF_QUANTILES,
    ORDERS_CSV,
    PLACE,
    POINT,
    RATIOS_CSV,
    SETTING,
    STATISTICS,
    SUMMARY_CSV,
    TABLES,
    Shown,
    cell_text,
    heading_of,
    interval,
    names_of,
    printed,
)
from cascadebai_cli.store.files import table_bytes
from cascadebai_cli.store.summary import ABOVE_DELTA, is_limit_of_quantile, wrong_too_often
from cascadebai_cli.study.kinds import KINDS, MEASURES, QUANTILES
from cascadebai_cli.study.plot import DERIVED
from cascadebai_cli.text import (
    FORMATS,
    NO_NUMBER,
    FormatName,
    Head,
    Table,
    is_missing,
    listed,
    value_text,
    with_error,
)

# --- The tables that go with a study --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A table of a study.

    Attributes:
        rows: all its rows, one for each fit, model, ratio or order.
        printed: the part that a reader wants to see; `str` makes text of it.
    """

    file: str
    rows: pd.DataFrame
    printed: Table


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables to print, at least one, and whether no trial of their study is missing."""

    tables: tuple[StudyTable, ...]
    whole: bool = True

    def text(self, name: FormatName) -> str:
        """Return the tables as text, one after the other.

        Args:
            name: `text`, `markdown` or `latex` for the part that a reader wants to see; `csv` or `json` for all rows
                and columns with all digits. Several tables are one object in JSON, and have their names as comments in
                CSV.

        Raises:
            ConfigError: if a table has a caption or a label that the format has no place for.
        """
        for table in self.tables:
            _refuse_unseen(table.printed, name)
        if name == "json":
            texts = {table.file: table.rows.to_json(orient="records", double_precision=15) for table in self.tables}
            return json.dumps({Path(file).stem: json.loads(text) for file, text in texts.items()}, indent=2)
        if name == "csv":
            names = [f"# {table.file}\n" * (len(self.tables) > 1) for table in self.tables]
            parts = [name + table_bytes(table.rows).decode() for name, table in zip(names, self.tables, strict=True)]
            return "\n".join(parts).rstrip("\n")
        return "\n\n".join(FORMATS[name](table.printed) for table in self.tables)


def _refuse_unseen(table: Table, name: FormatName) -> None:
    for option, given, places in (("--caption", table.caption, tuple(FORMATS)), ("--label", table.label, ("latex",))):
        if given and name not in places:
            raise ConfigError(
                f"{option} {given}: {name} has no place for it; leave it out, or use --format {places[-1]}"
            )


def study_table(results: StudyResults, file: str, *, allow_capped: bool = False) -> StudyTable:
    """Return a table of a study, with or without rows.

    Args:
        file: name of its file, such as `fits.csv`.
        allow_capped: also fit curves with trials that reached the cap.

    Raises:
        ConfigError: if a named model cannot be fitted.
    """
    table, printer = makers(allow_capped=allow_capped)[file]
    rows = table(results)
    return StudyTable(file, rows, Table((), ()) if rows.empty else printer(rows))


def tables_of(
    results: StudyResults, *, allow_capped: bool = False, files: Collection[str] | None = None
) -> Iterator[StudyTable]:
    """Yield the tables of a study that have a row; arguments as for `study_table`.

    Args:
        files: names of the files that are asked for; all by default.
    """
    compared = {RATIOS_CSV: "learners", ORDERS_CSV: "orders"}
    for file in makers(allow_capped=allow_capped):
        wanted = compared.get(file) in (None, results.study.plot.figure.about) and not results.has_budget
        if (results.has_budget if file == BUDGETS_CSV else wanted) and (files is None or file in files):
            table = study_table(results, file, allow_capped=allow_capped)
            if not table.rows.empty:
                yield table


# --- The numbers that a figure shows, as a table for readers --------------------------------------------------------


def figure_data(results: StudyResults, kind: str) -> pd.DataFrame:
    """Return one row for each point or bar of a figure; empty for a figure without data.

    Names and sizes that are the same everywhere are left out, except `instance` and `K`.
    """
    figure = KINDS[kind]
    if not figure.data:
        return pd.DataFrame()
    table = _with_fit(results) if figure.beside == "fit" else results.summary
    if {*QUANTILES} & {*figure.data}:
        table = results.summary.merge(results.quantiles, on="cell_id")
    if figure.beside == "bounds":
        table = results.bounds[results.bounds["learner"] == results.main_learner]
    if figure.points == "steps":
        table = Cells.of([results]).with_moments().table
    return _shown(table, figure.data)


def _shown(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    names = [name for name in POINT if name in ("instance", "K") or table[name].nunique() > 1]
    as_given = ("instance", "learner", "delta", "epsilon")
    rank = {name: {value: i for i, value in enumerate(dict.fromkeys(table[name]))} for name in as_given}
    ordered = table.sort_values(
        list(POINT), key=lambda column: column.map(rank[column.name]) if column.name in rank else column, kind="stable"
    )
    return ordered[[*names, *columns]].reset_index(drop=True)


def _with_fit(results: StudyResults) -> pd.DataFrame:
    table = results.summary.assign(fitted=np.nan)
    for curve in results.curves():
        if curve.models:
            table.loc[curve.points.index, "fitted"] = curve.best_named.predict(curve.values)
    return table


# --- The cells of a study: means, errors and their intervals ---------------------------------------------------------

_FEW = 4
"""Number of trials, or of instances that are averaged, below which an interval is wide by itself."""
_FEW_SAID = f"an interval of fewer than {_FEW} trials tells little"


def few_averaged(cells: pd.DataFrame, option: str) -> str:
    """Return a sentence about averages over too few instances for an interval; empty if there are enough."""
    numbers = cells["cell_id"].str.count(r"\+") + 1
    few = sorted({*numbers[(numbers > 1) & (numbers < _FEW)]})
    return f"an interval of {listed([*map(str, few)], 'or')} values of {option} tells little" if few else ""


def cells_printed(cells: pd.DataFrame) -> Table:
    """Return means, errors and their intervals, with the names, numbers and options that tell the cells apart.

    An option is printed if it varies and is not part of each learner's name. The mean of a cell with capped trials
    is a lower limit and has no interval. Intervals are cut to possible values, such as those from 0 on.
    """
    columns: list[str | Shown] = ["mean_steps", interval("ci_low", "ci_high")]
    columns += ["n_capped"] if (cells["n_capped"] > 0).any() else []
    columns += [Shown("wrong", _wrong), interval("error_low", "error_high")]
    columns += ["aim_missed"] if "aim_missed" in cells and (cells["aim_missed"] == 1).any() else []
    if "mean_right" in cells:
        # no interval ends below 0 or above K items
        low, high = cells["right_low"].clip(lower=0), cells["right_high"].clip(upper=cells["K"])
        cells = cells.assign(right_low=low, right_high=high)
        columns += ["mean_right", interval("right_low", "right_high")]
    shown = cells.assign(ci_low=cells["ci_low"].clip(lower=0), wrong_too_often=wrong_too_often(cells))
    table = printed(shown, [*PLACE, *_options_apart(cells), "n"], columns)
    return table.noted(_FEW_SAID) if cells["n"].between(2, _FEW - 1).any() else table


def _options_apart(cells: pd.DataFrame) -> list[str]:
    """Return the options that vary over the cells and are not part of each learner's name.

    A learner that does not have an option does not make it vary; lists and mappings, as a user's class may take, are
    left out.
    """
    known = (*TABLES[SUMMARY_CSV].names(cells), *OF_QUANTILES, *DERIVED)
    options = [str(name) for name in cells if name not in known and cells[name].map(pd.api.types.is_scalar).all()]
    return [name for name in options if not _in_names(cells, name) and cells[name].nunique() > 1]


def _wrong(row: Mapping[Any, Any]) -> str:
    return cell_text("error_rate", row) + ABOVE_DELTA * bool(row["wrong_too_often"])


def _in_names(cells: pd.DataFrame, option: str) -> bool:
    return all(
        is_missing(value) or value_text(value).lower() in str(name).lower()
        for name, value in zip(cells["learner"], cells[option], strict=True)
    )


# --- The cells as a paper prints them: columns that are asked for, one name across, the best marked -----------------

_USUAL = ("mean_steps",)
"""Columns that are printed if none are asked for."""
_RATES = ("error_rate",)
"""Columns that a printed page may show without their intervals."""
_MEANS = ("mean_steps", "mean_right")
"""Columns that are printed with half of their interval."""


def with_quantiles_if(results: StudyResults, names: Sequence[str]) -> pd.DataFrame:
    """Return the cells of results, with the quantiles of their steps if one of these is named."""
    cells = results.cells
    wanted = {*OF_QUANTILES} & {column_named(name.removeprefix("-")) for name in names}
    return cells.join(results.quantiles.drop(columns="cell_id")) if wanted else cells


def compact(cells: pd.DataFrame, columns: Sequence[str], pivot: str | None, *, on_a_page: bool = False) -> StudyTable:
    """Return chosen columns of the cells.

    A number with an interval is printed with half of it if it is in the middle, else with both ends. The best learner
    of a setting is marked if its interval lies apart from those of all others; one that is wrong too often is not.

    Args:
        columns: names of columns or of measures; the mean steps if there are none.
        pivot: column whose values stand beside each other, `None` for none.
        on_a_page: whether it is for a printed page, for which error rates are without intervals if it needs that;
            without columns and pivot it shows the mean steps (the right items if steps are a budget) and the error
            rate.

    Raises:
        ConfigError: if there is no such column.
    """
    if on_a_page and not (columns or pivot):
        measured = ("mean_right",) if "mean_right" in cells else _USUAL
        return replace(_compact(cells, (*measured, *_RATES), None, _RATES), rows=cells)
    whole = _compact(cells, columns, pivot)
    return _compact(cells, columns, pivot, _RATES) if on_a_page and whole.printed.wider_than_a_page else whole


def _compact(cells: pd.DataFrame, columns: Sequence[str], pivot: str | None, plain: Sequence[str] = ()) -> StudyTable:
    """Return the same; columns in `plain` are printed without their intervals."""
    wanted = list(dict.fromkeys(_known(cells, name, "--columns") for name in columns)) or list(_USUAL)
    if pivot is not None:
        _refuse_pivot(cells, pivot)
    names, above = _names(cells, wanted, pivot, only=bool(columns))
    shown = [name for name in wanted if name not in names]
    marks = {(i, name) for name in shown for i in _best(cells, name)}
    texts = {name: _texts(cells, name, () if name in plain else _ends(cells, name)) for name in shown}
    place = {i: (row, across) for row, across, i in _placed(cells, names, pivot)}
    across = list(dict.fromkeys(one for _, one in place.values()))
    lines = list(dict.fromkeys(row for row, _ in place.values()))
    at = {(row, one, name): (texts[name][i], (i, name) in marks) for i, (row, one) in place.items() for name in shown}
    heads = [(one, name) for one in across for name in shown]
    filled = [[at.get((row, *head), (NO_NUMBER, False)) for head in heads] for row in lines]
    table = Table(
        [*(Head(heading_of(name), _holds_words(cells, name)) for name in names), *_heads(heads, shown, pivot)],
        [[*map(value_text, row), *(text for text, _ in line)] for row, line in zip(lines, filled, strict=True)],
        above="; ".join(filter(None, [above, *_explained(cells, [n for n in shown if n not in plain], bool(marks))])),
        marked=frozenset(
            (row, len(names) + i) for row, line in enumerate(filled) for i, (_, marked) in enumerate(line) if marked
        ),
    )
    return StudyTable(SUMMARY_CSV, _wide(cells, names, shown, pivot), table)


def _known(cells: pd.DataFrame, name: str, option: str) -> str:
    column = column_named(name)
    if column not in cells:
        known = [*map(str, cells), *(word for word in MEASURES if column_named(word) in {*cells, *OF_QUANTILES})]
        raise ConfigError(f"{option} {name}: there is no such column; {suggest(name, known)}")
    return column


def _refuse_pivot(cells: pd.DataFrame, pivot: str) -> None:
    other = {*STATISTICS, *OF_QUANTILES, "cell_id", "study"} - {*PLACE}
    known = [str(name) for name in cells if name not in other]
    if pivot not in known:
        raise ConfigError(f"--pivot {pivot}: its values cannot stand side by side; {suggest(pivot, known)}")


def _names(cells: pd.DataFrame, wanted: Sequence[str], pivot: str | None, *, only: bool) -> tuple[list[str], str]:
    """Return the columns that tell the rows apart, and what all cells share, in words.

    If `only` some columns are wanted, numbers and options that follow from the names before them are left out.
    """
    options = [] if pivot == "learner" else _options_apart(cells)
    names, above = names_of(cells, [name for name in (*PLACE, *options) if name != pivot], wanted)
    if only:
        said = [name for name in ("instance", "learner") if name in (*names, pivot)]
        names = [name for name in names if name in (*said, *wanted) or not _follow(cells, name, said)]
    found = ", ".join(filter(None, [above, "" if "n" in wanted else _trials(cells)]))
    return names or [name for name in ("instance",) if name != pivot], found


def _follow(cells: pd.DataFrame, name: str, others: Sequence[str]) -> bool:
    """Return whether a column has one value where the others agree."""
    return bool(others) and cells.groupby(list(others), sort=False)[name].nunique(dropna=False).max() == 1


def _trials(cells: pd.DataFrame) -> str:
    least, most = (value_text(value) for value in (cells["n"].min(), cells["n"].max()))
    return f"{heading_of('n')} = {least}" + (f" to {most}" if least != most else "")


def _placed(
    cells: pd.DataFrame, names: Sequence[str], pivot: str | None
) -> Iterator[tuple[tuple[Any, ...], Any, Hashable]]:
    """Yield the row and the column of each cell, and its index."""
    for i, row in cells.iterrows():
        yield tuple(None if is_missing(row[name]) else row[name] for name in names), pivot and row[pivot], i


def _heads(heads: Sequence[tuple[Any, str]], shown: Sequence[str], pivot: str | None) -> Iterator[Head]:
    for value, name in heads:
        if pivot is None:
            yield Head(heading_of(name), name in COLUMNS and COLUMNS[name].type is str)
            continue
        over = value if isinstance(value, str) else f"{heading_of(pivot)} = {value_text(value)}"
        yield Head(heading_of(name), over=over) if len(shown) > 1 else Head(over)


def _holds_words(cells: pd.DataFrame, name: str) -> bool:
    return not pd.api.types.is_numeric_dtype(cells[name])


def _wide(cells: pd.DataFrame, names: Sequence[str], shown: Sequence[str], pivot: str | None) -> pd.DataFrame:
    """Return the same with all digits, and with the ends of all intervals."""
    known = [name for name in (*CELL, *PLACE) if name in cells and name not in ("study", "w_star", "w_prime")]
    values = list(dict.fromkeys(column for name in shown for column in (name, *_ends(cells, name))))
    if pivot is None:
        return cells[list(dict.fromkeys([*known, *names, *values]))]
    apart = [name for name in dict.fromkeys([*known, *names]) if name not in ("cell_id", pivot)]
    apart = [name for name in apart if name in names or cells[name].nunique(dropna=False) == 1]
    parts = [
        part.set_index(apart)[values].add_prefix(f"{_across(pivot, value)} ")
        for value, part in cells.groupby(pivot, sort=False, dropna=False)
    ]
    return pd.concat(parts, axis=1).reset_index()


def _across(pivot: str, value: object) -> str:
    return value if isinstance(value, str) else f"{pivot}={value_text(value)}"


# --- The text of a number with its interval -------------------------------------------------------------------------


def _ends(cells: pd.DataFrame, name: str) -> tuple[str, ...]:
    ends = name in COLUMNS and COLUMNS[name].ends
    return ends if ends and ends[0] in cells else ()


def _is_even(cells: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Return where a mean is in the middle of its interval, which holds no value that steps cannot have."""
    if name not in _MEANS or not _ends(cells, name):
        return pd.Series(False, index=cells.index)
    low, high = (cells[end] for end in _ends(cells, name))
    return (((low + high) / 2 - cells[name]).abs() <= 1e-9 * cells[name].abs() + 1e-12) & (low >= 0)


def _limits(cells: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Return where a number is a lower limit, since trials reached the cap."""
    if name in QUANTILES:
        return is_limit_of_quantile(cells, QUANTILES[name])
    return (cells["n_capped"] > 0) & (name == "mean_steps")


def _texts(cells: pd.DataFrame, name: str, ends: Sequence[str]) -> dict[Hashable, str]:
    even, limits, wrong = _is_even(cells, name), _limits(cells, name), wrong_too_often(cells) & (name == "error_rate")
    return {
        i: f">= {_plain(name, row)}"
        if limits[i]
        else _text(name, row, ends, bool(even[i])) + ABOVE_DELTA * bool(wrong[i])
        for i, row in zip(cells.index, cells.to_dict("records"), strict=True)
    }


def _plain(name: str, row: Mapping[Any, Any]) -> str:
    return cell_text(name, {**row, "n_capped": 0})


def _text(name: str, row: Mapping[Any, Any], ends: Sequence[str], even: bool) -> str:
    if not ends or any(is_missing(row[end]) for end in ends):
        return _plain(name, row)
    if even:
        return with_error(row[name], (row[ends[1]] - row[ends[0]]) / 2)
    low, high = (_plain(end, {**row, end: max(0, row[end])}) for end in ends)
    return f"{_plain(name, row)} ({low} to {high})"


def _explained(cells: pd.DataFrame, shown: Sequence[str], marked: bool) -> Iterator[str]:
    with_ends = [name for name in shown if _ends(cells, name)]
    uneven = [
        (~_is_even(cells, name) & cells[_ends(cells, name)[0]].notna() & ~_limits(cells, name)).any()
        for name in with_ends
    ]
    if any(_is_even(cells, name).any() for name in with_ends):
        yield "with each mean half of its 95 % interval"
    if any(uneven):
        yield "from ... to: the 95 % interval"
    if marked:
        yield "marked: the best learner, where its interval lies apart"


# --- The best learner of a setting ----------------------------------------------------------------------------------


def _best(cells: pd.DataFrame, name: str) -> Iterator[Hashable]:
    """Yield the cell of each setting whose interval lies apart from those of the other learners, on the better side."""
    best = name in COLUMNS and COLUMNS[name].best
    # With a budget fewer steps are no merit.
    if not best or not (ends := _ends(cells, name)) or ("budget" in cells and name not in ("error_rate", "mean_right")):
        return
    side = 1 if best == "least" else -1
    low, high = ends[::side]
    for _, group in _compared(cells, name).groupby([*SETTING, *(["budget"] if "budget" in cells else [])], sort=False):
        values, firsts, lasts = (side * group[column].to_numpy() for column in (name, low, high))
        nearest = int(np.argmin(values))
        others = np.delete(firsts, nearest)
        if len(others) and (lasts[nearest] < others).all() and not group["limit"].iloc[nearest]:
            yield group.index[nearest]


def _compared(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the cells that are not wrong too often, with the ends of limits, and where a number is one."""
    found = cells.assign(limit=_limits(cells, name))
    return found[~wrong_too_often(cells) & cells[name].notna()]
