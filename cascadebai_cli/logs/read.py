"""Reading logs of clicks and views, and click rates of items; all bad rows are named in one message."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.layout import Layout, MissingColumn
from cascadebai_cli.logs.reports import missing_times, moments, without_totals
from cascadebai_cli.logs.sheet import (
    STDIN,
    Faults,
    Floats,
    Sheet,
    columns_in,
    fault_of_number,
    floats_of,
    marks_of,
    numbers_of,
    read_any_text,
    sheet_of,
    shown,
)

# --- Logs -----------------------------------------------------------------------------------------------------------


_Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Log:
    """A log of clicks and views.

    Attributes:
        name: name of the file, for messages.
        names: names of the items, in the order in which they first occur.
        clicks, views: clicks and views of each item, shape `(L,)`.
        notes: sentences on how the file was understood and changed.
        cells: one row for each item and position, with the columns `item` (from 0), `position`, `clicks` and `views`;
            `None` without positions.
        dispersion: by how much the rows of an item scatter more than clicks do, as a factor of their variance; 1 if it
            is not clearly more.
    """

    name: str
    names: tuple[str, ...]
    clicks: _Numbers
    views: _Numbers
    notes: tuple[str, ...]
    cells: pd.DataFrame | None = None
    dispersion: float = 1.0


def read_log(path: Path, layout: Layout) -> Log:
    """Read a log; rows of one item are summed.

    Raises:
        ConfigError: if it is not usable; the message names the first ten faults.
    """
    if path != STDIN and not path.is_file():
        raise ConfigError(f"{path} is not a file; name a CSV file, or - for what comes through a pipe")
    wanted: Sequence[str] = ()
    with suppress(MissingColumn):  # another fault is told before a large file is read
        wanted = layout.columns
    text, remarks = read_any_text(path, shown(path), wanted)
    return _log(_sheet(text, shown(path), layout, layout.separator), remarks, layout)


def _sheet(text: str, name: str, layout: Layout, separator: str | None) -> Sheet:
    try:
        columns = layout.columns
    except MissingColumn as error:
        raise ConfigError(f"{name}: {error}; the columns are {columns_in(text, name, separator)}") from None
    return sheet_of(text, name, columns, separator)


def log_of(table: pd.DataFrame, layout: Layout, name: str = "table") -> Log:
    """Return the log in a table of pandas, read as if it were a file; an index with a name is a column.

    Raises:
        ConfigError: as for a file, whose header is line 1.
    """
    named = table.reset_index(allow_duplicates=True) if any(level is not None for level in table.index.names) else table
    try:
        text = named.to_csv(index=False)
    except (ValueError, ArithmeticError, RecursionError):  # half a character, a number of thousands of digits
        raise ConfigError(f"{name}: has a value that no file can hold; give names as text, and numbers") from None
    return _log(_sheet(text, name, layout, ","), [], layout)


def _log(sheet: Sheet, remarks: list[str], layout: Layout) -> Log:
    if layout.wide:
        return _wide(sheet, remarks)
    sheet, remarked = _without_remarks(sheet, layout)
    sheet, left_out = _one_table(sheet, layout)
    if layout.event:
        table, notes = _events(sheet, layout)
    else:
        sheet, totals = without_totals(sheet, str(layout.items), layout.columns[1:3], layout.decimal)
        table, notes = _counts(sheet, layout)
        notes += totals
    notes += [*remarked, *left_out, *_rounded_names(sheet.name, table["name"])]
    return _summed(sheet, table, [*remarks, *sheet.notes, *notes, *_hints(sheet, layout)], layout)


def _one_table(sheet: Sheet, layout: Layout) -> tuple[Sheet, list[str]]:
    """Return the rows without headers that stand among them again, and a note about these.

    Raises:
        ConfigError: if a second table begins behind an empty line.
    """
    rows, columns = sheet.rows, [str(layout.clicks), *([] if layout.event else [str(layout.views)])]
    again = (rows.apply(lambda column: column.str.strip()) == list(rows.columns)).all(axis=1).to_numpy()
    words = rows[columns].apply(lambda column: column.str.contains(r"[^\W\d_]{2}")).all(axis=1).to_numpy()
    lines = rows.index.to_numpy()
    begins = words & ~again & (np.diff(lines, prepend=lines[:1]) > 1)
    if begins.any():
        row = int(begins.argmax())
        told = ", ".join(rows.iloc[row])
        raise ConfigError(
            f"{sheet.name}:{lines[row]}: a second table seems to begin here ({told}); keep one table in the file"
        )
    if not again.any():
        return sheet, []
    return sheet.without(again), [f"{sheet.lines(again)} is the header again and is left out"]


def _without_remarks(sheet: Sheet, layout: Layout) -> tuple[Sheet, list[str]]:
    """Return the rows without lines that have no numbers, and a note about these: `# end`, or a sentence at the end.

    A sentence below the table stands alone on its line or behind an empty line.
    """
    counts = sheet.rows[list(layout.columns[1 : 2 if layout.event else 3])]
    empty = (counts.apply(lambda column: column.str.strip()) == "").all(axis=1).to_numpy()
    below = np.cumsum(~empty[::-1])[::-1] == 0
    apart = np.cumsum(below & (np.diff(sheet.rows.index, prepend=sheet.rows.index[:1]) > 1)) > 0
    names = sheet.rows[str(layout.items)].str.strip()
    alone = (sheet.sizes == 1) & ((names == "") | names.str.contains(" ")).to_numpy()  # a row cut short is a name
    remarks = empty & names.str.startswith("#").to_numpy() | below & (apart | alone)
    if not remarks.any():
        return sheet, []
    what = "is a remark and is" if remarks.sum() == 1 else "are remarks and are"
    return sheet.without(remarks), [f"{sheet.lines(remarks)} {what} left out"]


_ROUNDED = re.compile(r"\d[.,]\d+E\+\d\d", re.IGNORECASE)
"""A name of many digits after a spreadsheet has read it as a number."""


def _rounded_names(name: str, items: "pd.Series[str]") -> list[str]:
    """Return a note if names were rounded by a spreadsheet.

    Raises:
        ConfigError: if several rows have such a name, which may have been those of different items.
    """
    rounded = items[items.map(lambda item: _ROUNDED.fullmatch(item) is not None)]
    if rounded.empty:
        return []
    what = f"{rounded.iloc[0]} is a number that a spreadsheet has rounded"
    if rounded.duplicated().any():
        raise ConfigError(f"{name}: item {what}, so that different items may have this name; export names as text")
    return [f"item {what}: the names of {len(rounded):,} items have lost their last digits"]


def _wide(sheet: Sheet, remarks: list[str]) -> Log:
    unnamed = np.array([column == "" for column in sheet.rows.columns])
    if (sheet.rows.loc[:, unnamed].apply(lambda column: column.str.strip()) != "").any(axis=None):
        raise ConfigError(
            f"{sheet.name}: a column has no name; give each item its name, and keep only columns of items"
        )
    sheet = replace(sheet, rows=sheet.rows.loc[:, ~unnamed])
    faults = Faults(sheet)
    names = tuple(map(str, sheet.rows.columns))
    if len(set(names)) < len(names):
        raise ConfigError(f"{sheet.name}: two columns have the same name; give each item a name of its own")
    values = pd.DataFrame({name: _marks(faults, name) for name in names})
    faults.answer("write 0, 1 or nothing, and keep only the columns of items")
    _refuse_few(sheet.name, values.shape[1])
    notes = (*remarks, *sheet.notes)
    return Log(sheet.name, names, values.sum().to_numpy(float), values.notna().sum().to_numpy(float), notes)


def _marks(faults: Faults, column: str) -> Floats:
    """Return the outcomes of an item: 1 for a click, 0 for none, NaN where it was not shown."""
    texts = faults.texts(column)
    values = marks_of(texts)
    faults.add((texts != "") & values.isna(), lambda row: f"{column} {texts[row]!r} is neither 0 nor 1")
    return values


def _events(sheet: Sheet, layout: Layout) -> tuple[pd.DataFrame, list[str]]:
    faults = Faults(sheet)
    items, clicks = faults.texts(str(layout.items)), faults.texts(str(layout.clicks))
    value = marks_of(clicks)
    faults.add(value.isna(), lambda row: f"{layout.clicks} {clicks[row]!r} is neither 0 nor 1")
    table = pd.DataFrame({"name": items, "clicks": value, "views": 1.0})
    return _with_position(faults, table, layout), []


def _counts(sheet: Sheet, layout: Layout) -> tuple[pd.DataFrame, list[str]]:
    faults = Faults(sheet)
    try:
        said, empty = _empty_as_zero(faults.texts(str(layout.clicks)))
        clicks, of_clicks = numbers_of(said, layout.decimal)
        views, of_views = numbers_of(faults.texts(str(layout.views)), layout.decimal)
    except ConfigError as doubt:
        raise ConfigError(f"{sheet.name}: {doubt}") from None
    table = pd.DataFrame({"name": faults.texts(str(layout.items)), "clicks": clicks, "views": views})
    if clicks.between(0, 1).all() and (clicks % 1 > 0).any() and (views > 1).any():
        raise ConfigError(
            f"{sheet.name}: column {layout.clicks} has rates such as {said[clicks % 1 > 0].iloc[0]} and no counts; "
            "name the column with the numbers of clicks"
        )
    more, late = _more_clicks(faults, table, layout)
    _check_counts(faults, clicks, views, views < 0, "must be 0 or larger", more)
    return _with_position(faults, table, layout), [note for note in (of_clicks, of_views, empty, late) if note]


def _empty_as_zero(clicks: "pd.Series[str]") -> tuple["pd.Series[str]", str | None]:
    """Return the texts with 0 in empty cells, and a note, where that is how a file writes 0.

    It is if several cells are empty and none is 0; a single empty cell may be a slip of the hand.
    """
    empty = clicks == ""
    if empty.sum() < _SEVERAL or empty.all() or floats_of(clicks).eq(0).any():
        return clicks, None
    return clicks.mask(empty, "0"), f"{clicks.name} is empty in {empty.sum():,} rows and 0 in none: empty is read as 0"


_SEVERAL = 2


def _more_clicks(faults: Faults, table: pd.DataFrame, layout: Layout) -> tuple["pd.Series[bool]", str | None]:
    """Return the rows with more clicks than views of items of which the same holds, and a note about the others.

    A click may come a day after its view, and so stand in another row of the item.
    """
    item = [table["name"], *([faults.texts(layout.position)] if layout.position else [])]
    sums = table.groupby(item)[["clicks", "views"]].transform("sum")
    more, wrong = table["clicks"] > table["views"], sums["clicks"] > sums["views"]
    others = int((more & ~wrong).sum())
    rows = "1 row has" if others == 1 else f"{others:,} rows have"
    note = f"{rows} more {layout.clicks} than {layout.views}, but the rows of the item together have not"
    return more & wrong, note if others else None


def _check_counts(
    faults: Faults,
    clicks: Floats,
    views: Floats,
    wrong: "pd.Series[bool]",
    rule: str,
    more_clicks: "pd.Series[bool] | None" = None,
) -> None:
    """Collect the faults of clicks and views, two series named after their columns."""
    _check_numbers(faults, clicks, clicks < 0, "must be 0 or larger")
    _check_numbers(faults, views, wrong, rule)
    more, fewer = faults.texts(str(clicks.name)), faults.texts(str(views.name))
    remedy = "correct the row or name the right columns"
    too_many = clicks > views if more_clicks is None else more_clicks
    faults.add(too_many, lambda row: f"{clicks.name} {more[row]} exceeds {views.name} {fewer[row]}; {remedy}")


def _check_numbers(faults: Faults, values: Floats, wrong: "pd.Series[bool]", rule: str) -> None:
    texts = faults.texts(str(values.name))
    faults.add(~np.isfinite(values), lambda row: f"{values.name} {fault_of_number(texts[row])}")
    faults.add(wrong, lambda row: f"{values.name} {texts[row]} {rule}; correct or remove the row")


def _with_position(faults: Faults, table: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Return the table with the positions; all faults of the file are raised here."""
    faults.add(table["name"] == "", lambda row: f"{layout.items} is empty; give the item a name")
    if layout.position is not None:
        texts = faults.texts(layout.position)
        faults.add(texts == "", lambda row: f"{layout.position} is empty; write a position")
        faults.add(
            _are_averages(texts),
            lambda row: (
                f"{layout.position} {texts[row]} is an average of positions, from which nothing can be corrected; "
                "leave out --position, or export one row for each item and position"
            ),
        )
        table["position"] = texts
    if layout.page is not None:
        pages = faults.texts(layout.page)
        faults.add(pages == "", lambda row: f"{layout.page} is empty; write which page view the row is of")
        table["page"] = pages
    if layout.time is not None:
        times = faults.texts(layout.time)
        try:
            table["time"] = moments(times)
        except ConfigError as doubt:
            raise ConfigError(f"{faults.name}: {doubt}") from None
        wrong = "is neither a number nor a day such as 2026-04-01; write all days in this way, or remove the row"
        faults.add(table["time"].isna(), lambda row: f"{layout.time} {times[row]!r} {wrong}")
    faults.answer("")
    return table


def _summed(sheet: Sheet, table: pd.DataFrame, notes: list[str], layout: Layout) -> Log:
    if layout.page is not None:
        table = _looked_at(table, notes)
    corrects = layout.position is not None and layout.page is None
    several = int(table["name"].duplicated().sum())
    if several and not layout.event and not corrects:
        notes.append(f"{len(table):,} rows name {table['name'].nunique():,} items; rows of one item are summed")
    item, names = pd.factorize(table["name"])
    _refuse_few(sheet.name, len(names))
    sums = table[["clicks", "views"]].groupby(item).sum()
    scatter = 1.0 if layout.event or corrects else _dispersion(table, item)
    if scatter > 1:
        notes.append(
            f"the rows of an item scatter {scatter:.3g} times as much as clicks do by chance: its rate is not the same "
            "in all of them; chances, ranges and p take that into account"
        )
    if layout.time is not None:
        notes += [*missing_times(table["time"], layout.time), _drift(table.assign(item=item), names, scatter, layout)]
    cells = None
    if corrects:
        places = table.assign(item=item)
        cells = places.groupby(["item", "position"], sort=False, as_index=False)[["clicks", "views"]].sum()
    return Log(
        sheet.name,
        tuple(map(str, names)),
        sums["clicks"].to_numpy(float),
        sums["views"].to_numpy(float),
        tuple(notes),
        cells,
        scatter,
    )


def _looked_at(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the rows down to the last click of their page; those below it may not have been looked at.

    A page without a click was looked at as a whole. Its rows stand in their order, or in that of their positions.
    """
    for page, name in table.loc[table.duplicated(["page", "name"]), ["page", "name"]].itertuples(index=False):
        raise ConfigError(
            f"page {page} shows {name} twice; give each page view its own number (day and number, if numbers begin "
            "anew each day)"
        )
    place = np.arange(len(table))
    if "position" in table:
        numbers = pd.to_numeric(table["position"], errors="coerce")
        place = np.lexsort((place, numbers.fillna(np.inf))).argsort()
    at_click = pd.Series(np.where(table["clicks"] > 0, place, -1), table.index)
    last = at_click.groupby(table["page"]).transform("max")
    seen = (last < 0) | (place <= last)
    told = f"{table['page'].nunique():,} pages: {int((~seen).sum()):,} rows below the last click of their page"
    notes.append(f"{told} are no looks and are left out")
    return table[seen].reset_index(drop=True)


def _drift(table: pd.DataFrame, names: "pd.Index[str]", scatter: float, layout: Layout) -> str:
    """Say whether the rate of an item drifts: the trend test of Cochran and Armitage, corrected for all items.

    The variance is multiplied by the scatter of the rows, and the smallest p-value by the number of items (Bonferroni).
    """
    from scipy.special import erfc

    clicks, views, time = (table[name].to_numpy(float) for name in ("clicks", "views", "time"))
    item = table["item"].to_numpy()

    def total(values: _Numbers) -> _Numbers:
        return np.bincount(item, values, len(names)).astype(np.float64)

    n = np.maximum(total(views), 1e-300)
    rate, middle = total(clicks) / n, total(views * time) / n
    apart = time - middle[item]
    spread = rate * (1 - rate) * total(views * apart**2) * scatter
    told = np.flatnonzero((spread > 0) & (total(clicks) >= _FEWEST_CLICKS))
    if not len(told):
        return f"no item has clicks enough to see whether its rate drifts over {layout.time}"
    z = total(clicks * apart)[told] / np.sqrt(spread[told])
    worst = int(np.abs(z).argmax())
    p = min(1.0, len(told) * float(erfc(abs(z[worst]) / np.sqrt(2))))
    found = f"p = {p:.2g}, corrected for {len(told):,} items"
    if p >= _DRIFTS:
        return f"no rate drifts clearly over {layout.time} (smallest {found})"
    way = "rises" if z[worst] > 0 else "falls"
    return (
        f"the rate of {names[told[worst]]} {way} over {layout.time} ({found}): what the log says may no longer hold; "
        "keep the latest rows alone"
    )


_FEWEST_CLICKS, _DRIFTS = 5, 0.01
"""Fewest clicks of an item that is tested for drift, and p-value below which it drifts."""


_CLEAR, _LEAST_EXPECTED, _FEWEST_ROWS = 0.001, 1.0, 4
"""P-value from which on rows scatter clearly more, fewest expected clicks of a row that is compared, and how many such
rows the items must have on average."""


def _dispersion(table: pd.DataFrame, item: NDArray[np.int64]) -> float:
    """Return Pearson's chi-square of rows with the rate of their item over its degrees of freedom, at least 1."""
    from scipy.special import chdtrc  # `scipy.stats` takes half a second to load

    sums = table[["clicks", "views"]].groupby(item).transform("sum")
    rate = (sums["clicks"] / sums["views"].where(sums["views"] > 0)).fillna(0.0)
    expected = table["views"] * rate
    told = (expected >= _LEAST_EXPECTED) & (rate < 1)
    rows, items = int(told.sum()), len(np.unique(item[told]))
    if rows < _FEWEST_ROWS * max(items, 1):
        return 1.0
    freedom = rows - items
    found = float((((table["clicks"] - expected) ** 2) / (expected * (1 - rate)))[told].sum())
    return found / freedom if found > freedom and chdtrc(freedom, found) < _CLEAR else 1.0


def _refuse_few(name: str, items: int) -> None:
    if items < 2:
        raise ConfigError(f"{name} has {'1 item' if items else 'no items'} below the header; at least 2 are needed")


def _hints(sheet: Sheet, layout: Layout) -> list[str]:
    """Return a note about a column that looks like a position, if none is named."""
    if layout.position is not None:
        return []
    likely = [column for column in sheet.header if column not in layout.columns and _is_position(sheet, column)]
    return [
        f"column {column} looks like a position: items shown higher are looked at more, and --position {column} "
        "corrects the rates for that"
        for column in likely[:1]
    ]


def _is_position(sheet: Sheet, column: str) -> bool:
    """Return whether a column has a usual name, and no averages in the first rows."""
    if column.lower().strip("_ ") not in _POSITIONS:
        return False
    place = sheet.header.index(column)
    return not any(_AVERAGE.fullmatch(row[place].strip()) for row in sheet.first if place < len(row))


_POSITIONS = frozenset({"position", "pos", "rank", "slot", "place"})
"""Usual names of a column with the place where an item was shown."""


_AVERAGE = re.compile(r"\d+[.,]\d*[1-9]\d*")
"""A number that is no whole one, as reports have for averages."""


def _are_averages(texts: "pd.Series[str]") -> "pd.Series[bool]":
    """Return which texts are averages."""
    return texts.map(lambda text: _AVERAGE.fullmatch(text) is not None)


# --- Click rates of items, for a config -----------------------------------------------------------------------------


def read_rates(path: Path, columns: Mapping[str, str], top: int | None, name: str) -> tuple[tuple[str, ...], _Numbers]:
    """Return names and click rates of the items in the first `top` rows, one for each row.

    Args:
        path: the file.
        columns: key -> column, for `clicks` and `views` or for `rate`; for `item` too, else items are named 1, 2, ... .
        top: number of rows to read, in the order of the file; all if `None`.
        name: name of the file in messages.

    Raises:
        ConfigError: if it is not usable, as for a log.
    """
    if not path.exists():
        raise ConfigError(f"{name} does not exist; a path in a config counts from its folder")
    return rates_in(read_sheet(path, name, tuple(dict.fromkeys(columns.values())), top=top), columns, top)


def read_sheet(path: Path, name: str, columns: Sequence[str] = (), **more: Any) -> Sheet:
    """Return the rows of a file for a config: as for a log, but in UTF-8 only, as there are no remarks about others.

    Raises:
        ConfigError: if it is not usable.
    """
    text, remarks = read_any_text(path, name)
    if remarks:
        raise ConfigError(f"{name} is not UTF-8 text; save it as CSV in UTF-8")
    return sheet_of(text, name, columns, **more)


def rates_in(sheet: Sheet, columns: Mapping[str, str], top: int | None = None) -> tuple[tuple[str, ...], _Numbers]:
    """Return names and click rates as `read_rates` does, for a sheet that was read already."""
    faults = Faults(sheet, whole=True)
    names = _item_names(faults, columns.get("item"), len(sheet.rows))
    rates = _rates(faults, **{key: column for key, column in columns.items() if key != "item"})
    faults.answer("")
    if top is not None and len(names) < top:
        raise ConfigError(f"{sheet.name} has {len(names)} rows, fewer than top: {top}; lower top or leave it out")
    _refuse_few(sheet.name, len(names))
    return tuple(names), np.asarray(rates, dtype=np.float64)


def _item_names(faults: Faults, column: str | None, rows: int) -> list[str]:
    """Return the names of the items; collect faults of those that are empty or not unique."""
    if column is None:
        return [str(number) for number in range(1, rows + 1)]
    names = faults.texts(column)
    first = dict(zip(names[::-1], faults.lines[::-1], strict=True))
    faults.add(names == "", lambda row: f"{column} is empty; give the item a name")
    faults.add(
        names.duplicated(),
        lambda row: f"item {names[row]!r} is already on line {first[names[row]]}; give each item one row",
    )
    return names.tolist()


def _rates(faults: Faults, *, rate: str = "", clicks: str = "", views: str = "") -> Floats:
    if rate:
        rates = floats_of(faults.texts(rate).str.replace(",", ".", regex=False))  # no number from 0 to 1 has thousands
        _check_numbers(faults, rates, (rates < 0) | (rates > 1), "must lie between 0 and 1")
        return rates
    counts, shown = floats_of(faults.texts(clicks)), floats_of(faults.texts(views))
    _check_counts(faults, counts, shown, shown <= 0, "must be larger than 0")
    return counts / shown
