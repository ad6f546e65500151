"""What `live` does: files in and out, the status in words, and a rehearsal with simulated users."""

import csv
import json
import os
import re
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.posterior import PRIORS
from cascadebai_cli.live.live import Live, Page, Status, Told, rehearsal
from cascadebai_cli.live.state import Terms, plain
from cascadebai_cli.logs.layout import Layout
from cascadebai_cli.logs.read import read_rates
from cascadebai_cli.logs.sheet import STDIN, Faults, Sheet, marks_of, read_any_text, sheet_of, shown
from cascadebai_cli.model.users import USERS, Users
from cascadebai_cli.options import record_options
from cascadebai_cli.text import Table, count, listed, percent, quantity, quoted, values_of

# --- start, show and take -------------------------------------------------------------------------------------------


def start(directory: Path, items: str | None, log: Path | None, columns: str | None, **terms: Any) -> Live:
    """Make a new test in a new directory; `terms` are further arguments of `Live`.

    `items` names a file with a name on each line, below a line `item` if there is one (a first line such as
    `# names.txt` is left out), or `items.csv` of a plan, or has names with commas between them; `None` takes those of
    the log, whose columns are named with commas between them if they are not item, clicks, views and perhaps position.

    Raises:
        ConfigError: if a value is not usable; nothing is written then.
    """
    if items is None and log is None:
        raise ConfigError("there are no items; name them with --items, or give --log a file that has them")
    if columns is not None and log is None:
        raise ConfigError("--columns names the columns of a log, but there is none; add --log, or leave --columns out")
    named: list[Any] = [] if columns is None else values_of(columns)
    if columns is not None and (len(named) not in (3, 4) or len(set(named)) < len(named)):
        of = "the columns of item, clicks, views and perhaps position, each once"
        raise ConfigError(f"--columns {quoted(columns)}: name {of}")
    start_with = (log, Layout(*named)) if named else log
    return Live(None if items is None else _names(items), path=directory, log=start_with, **terms)


_NAMES = {"item", "items", "name", "names"}
"""Headers of a column of names."""


def _names(items: str) -> list[str]:
    path = Path(items)
    if not os.path.isfile(path):  # a Path raises an error for what is too long
        if "," in items:
            return values_of(items)
        raise ConfigError(f"--items {quoted(items)} is no file; give one with a name on each line, or names as a,b,c")
    text = read_any_text(path, shown(path))[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith("# "):  # a comment above the names, as in logs
        lines = lines[1:]
    if lines and lines[0].startswith("name,"):  # the items of a plan, in which a quote keeps formulas from running
        return [re.sub("^'(?=[=+@\t\r-])", "", name) for name in sheet_of(text, shown(path)).rows["name"]]
    _refuse_a_table(lines, path)
    names = lines[1:] if lines and lines[0].lower() in _NAMES else lines
    return [next(csv.reader([name]))[0] if _IN_QUOTES.fullmatch(name) else name for name in names]


_IN_QUOTES = re.compile(r"""(?=.*[,;\t]|.*."".*.)"(?:[^"]|"")*\"""")
"""A name that a spreadsheet had to put in quotes, as it has a separator or a quote itself."""


def _refuse_a_table(lines: Sequence[str], path: Path) -> None:
    """Refuse lines with several columns, some of them numbers, with a header or without; a name may hold commas."""
    for separator in ",;\t|":
        header, *rows = list(csv.reader(lines, delimiter=separator)) or [[]]
        if len(header) < 2 or not rows or any(len(row) != len(header) for row in rows):
            continue
        columns = list(zip(header, *rows, strict=True))
        without_header = sum(map(_are_counts, columns)) > (separator == ",")  # `3 for 1,20` is a name
        with_header = any(not re.search("[0-9]", name) and _are_counts(cells) for name, *cells in columns)
        if {cell.strip().lower() for cell in header} & _NAMES or with_header or without_header:
            fault = f"has several columns ({', '.join(header)}), but --items takes names alone"
            remedy = "give a name on each line, below a line item if you like; --log takes counts"
            raise ConfigError(f"{shown(path)} {fault}: {remedy}")


def _are_counts(cells: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[0-9][0-9.,' ]*", cell.strip()) for cell in cells)


_SHOWN = "page,position,item"
"""Header of the file that `show` writes."""


def show(live: Live, n: int, out: Path | None = None) -> str:
    """Return the next pages as CSV, a row for each place; with `out` they are given out only if they are written to it.

    Raises:
        ConfigError: if the file cannot be written or is another one than `show` wrote.
    """
    if out is None:
        return _as_csv(live.ask(n), live.terms)
    _refuse_another(out)
    part = out.parent / f".{out.name}.{os.getpid()}.part"
    special = out.is_symlink() or (out.exists() and not out.is_file())  # /dev/stdout or a pipe must stay what it is
    try:
        with live.asking(n) as pages:
            text = _as_csv(pages, live.terms)
            with (out if special else part).open("w", encoding="utf-8", newline="") as file:
                file.write(text)
        if not special:
            part.replace(out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error.strerror}); give --out another file") from error
    finally:
        with suppress(OSError):  # where nothing can be written, nothing can be removed
            part.unlink(missing_ok=True)
    return text


def _refuse_another(out: Path) -> None:
    """Refuse to write over a file that `show` did not write."""
    if out.is_file() and out.stat().st_size:
        with suppress(OSError), out.open("rb") as file:
            if file.readline().rstrip(b"\r\n") == _SHOWN.encode():
                return
        raise ConfigError(f"{out} is there and was not written by show; give --out another file")


def _as_csv(pages: Sequence[Page], terms: Terms) -> str:
    rows = [(terms.name_of(page.id), place, item) for page in pages for place, item in enumerate(page.items, 1)]
    return pd.DataFrame(rows, columns=_SHOWN.split(",")).to_csv(index=False, lineterminator="\n")


def take(
    live: Live, file: Path, names: Mapping[str, str | None] | None = None, separator: str | None = None
) -> tuple[int, int]:
    """Take the clicks of a file: all of its pages or, if one is wrong, none.

    The file has a row for each page with `page` and the `item` or the `position` of the click, empty for none (if both
    are there, they must fit); or the columns that `show` writes and `clicked` with 0 or 1; or beside `page` a column
    for each item with 0, 1 or nothing. `names` are what these columns are called in the file, if not so.

    Returns:
        how many pages were told for the first time, and how many are in the file.

    Raises:
        ConfigError: naming the line that is wrong.
    """
    name, line = shown(file), 0
    called = {column: plain(given) for column, given in (names or {}).items() if given}
    told = _told_in(file, name, live.terms, called, separator)

    def pages() -> Iterator[Told]:
        nonlocal line
        for line, said in told:  # noqa: B007
            yield said

    try:
        return live.tell_many(pages()), len({said.page for _, said in told})
    except ConfigError as error:
        if isinstance(error.__cause__, sqlite3.Error):  # no line is to blame for a full disk
            raise
        raise ConfigError(f"{name}:{line}: {error}; nothing of this file was taken") from error


_COLUMNS = {"page": ["page"], "item": ["item"], "position": ["position"], "clicked": ["clicked", "click", "clicks"]}
"""Columns, and what they are called in a file if nothing else is said."""
_SECOND = (
    "has a second row with another item or position, and no column clicked says which rows are clicks; name this "
    "column with --clicks, add one of 0 and 1, or keep one row for each page"
)


def _told_in(
    file: Path, name: str, terms: Terms, names: Mapping[str, str], separator: str | None
) -> list[tuple[int, Told]]:
    """Return what the file says of each page, and its first line there; of each row if each row is a page."""
    rows, of_items = _rows_in(file, name, terms, names, separator)
    is_a_page = of_items is not None or "clicked" not in rows
    begins: dict[int, tuple[int, int]] = {}  # of each page, or of each row that is one: its first line and its number
    clicks, skips = defaultdict[int, list[Any]](list), defaultdict[int, list[Any]](list)
    for line, page, one, click in _read(rows, name, terms):
        part = line if is_a_page else page
        begins.setdefault(part, (line, page))
        if one is not None:
            (clicks if click else skips)[part].append(one)
    if not begins:
        raise ConfigError(f"{name} has no rows below the header; nothing was taken")
    first = {page: part for part, (_, page) in reversed(begins.items())}
    for part, (line, page) in begins.items():
        now, before = clicks[part], clicks[first[page]]
        if now != before:
            twice = f"is there twice, with other clicks on line {first[page]}"
            _refuse(name, line, f"page {page} {_SECOND if now and before and 'clicked' not in rows else twice}")
    return [(line, Told(page, clicks[part], skips.get(part), of_items)) for part, (line, page) in begins.items()]


def _rows_in(
    file: Path, name: str, terms: Terms, names: Mapping[str, str], separator: str | None
) -> tuple[pd.DataFrame, list[str] | None]:
    """Return the rows of a file, and the columns of items from which they were made if it had such columns."""
    if file != STDIN and not file.is_file():
        raise ConfigError(f"{name} is not a file; name a CSV file with the columns page and item, or page and position")
    sheet = _whole_sheet(file, name, separator)
    rows = _named(sheet.rows, name, names, terms.items)
    of_items = [column for column in rows if column in terms.items and column not in _COLUMNS]
    is_wide = not {"item", "position"} & set(rows)
    if "page" not in rows or (is_wide and not of_items):
        needed = "page, and item or position of the click, or what show writes and a column clicked with 0 and 1"
        raise ConfigError(
            f"{name} has the columns {', '.join(sheet.header)}; it needs {needed}, or a column for each item"
        )
    if is_wide:
        has_zeros = any((marks_of(rows[column]) == 0).any() for column in of_items)
        return _row_an_item(rows, name, of_items, has_zeros), of_items
    both = terms.page_size == 1 and "clicked" not in rows and {"item", "position"} <= set(rows)
    if both and len(rows) and (rows[["item", "position"]] != "").any(axis=1).all():
        fault = "its rows are those of items that were shown, and nothing says which were clicked"
        remedy = "name it with --clicks, or give one row for each page"
        raise ConfigError(f"{name} has no column clicked: {fault}; {remedy}; nothing was taken")
    return rows, None


def _refuse(name: str, line: object, sentence: str) -> NoReturn:
    raise ConfigError(f"{name}:{line}: {sentence}; nothing was taken")


def _whole_sheet(file: Path, name: str, separator: str | None) -> Sheet:
    """Return the table of a file that was not cut off."""
    text = plain(read_any_text(file, name)[0])
    sheet = sheet_of(text, name, separator=separator)
    Faults(sheet).answer("nothing was taken")  # a name with a comma that is in no quotes
    ends = not len(sheet.rows) or text.endswith(("\n", "\r"))
    if not ends and (sheet.sizes[-1] < len(sheet.header) or not str(sheet.rows.iloc[-1, -1]).strip()):
        sentence = "the last line lacks its last value and its end, as if the file was cut off there"
        _refuse(name, sheet.rows.index[-1], f"{sentence}; take a whole copy, or end this line")
    return replace(sheet, rows=sheet.rows.apply(lambda column: column.str.strip()))


def _named(rows: pd.DataFrame, name: str, names: Mapping[str, str], items: Sequence[str]) -> pd.DataFrame:
    """Return the rows with columns called as here, those of the file in any case; none is there twice."""
    for given in names.values():
        if given not in rows:
            raise ConfigError(f"{name} has no column {quoted(given)}; it has {', '.join(map(str, rows.columns))}")
    low = {column.strip().lower(): column for column in sorted(map(str, rows))}  # of Page and page, the second
    found = {names.get(column) or _first(low, called, items): column for column, called in _COLUMNS.items()}
    kept = rows.loc[:, [column in found or column not in _COLUMNS for column in rows]].rename(columns=found)
    for column in kept.columns[kept.columns.duplicated()].intersection([*_COLUMNS, *items]):
        raise ConfigError(f"{name} has more than one column {column}; rename all but one; nothing was taken")
    return kept


def _first(low: Mapping[str, str], called: Sequence[str], items: Sequence[str]) -> str | None:
    """Return the first column that is called so, where other words than the first may be items of the test."""
    there = (low[word] for word in called if word in low and (word == called[0] or low[word] not in items))
    return next(there, None)


def _row_an_item(rows: pd.DataFrame, name: str, of_items: Sequence[str], has_zeros: bool) -> pd.DataFrame:
    """Return a row for each item of a page, given columns for the items; nothing means 0 where there are no zeros."""
    for line in rows.index[(rows[of_items] == "").all(axis=1)] if has_zeros else ():
        page = rows["page"][line] or "without a name"
        sentence = f"page {page} has neither a 0 nor a 1, though other pages have a 0 for what was not clicked"
        _refuse(name, line, f"{sentence}; write 0, or leave the page out if nobody looked at it")
    cells = (
        rows[["page", *of_items]]
        .melt("page", of_items, "item", "clicked", ignore_index=False)
        .sort_index(kind="stable")
    )
    empty = cells["clicked"] == ""
    return cells[~empty] if has_zeros else cells.assign(clicked=cells["clicked"].mask(empty, "0"))


def _marks(rows: pd.DataFrame, name: str) -> "pd.Series[bool]":
    marks = marks_of(rows["clicked"])
    for line, text in rows["clicked"][marks.isna()].items():
        _refuse(name, line, f"clicked {text!r} is neither 0 nor 1")
    return marks == 1


def _read(rows: pd.DataFrame, name: str, terms: Terms) -> Iterator[tuple[int, int, Any, bool]]:
    """Yield line, page, item or position (a pair of both, or `None` for neither), and whether this was clicked."""
    columns = (rows[column] if column in rows else [""] * len(rows) for column in ("page", "item", "position"))
    marks = _marks(rows, name) if "clicked" in rows else [None] * len(rows)
    for line, page, item, position, mark in zip(rows.index.tolist(), *columns, marks, strict=True):
        try:
            number, one = terms.page_called(page), _item_or_place(item, position)
            click = one is not None if mark is None else mark
            if click and one is None:
                raise ConfigError("the click has neither an item nor a position")
        except ConfigError as error:
            _refuse(name, line, str(error))
        yield line, number, one, click


def _item_or_place(item: str, position: str) -> Any:
    if not position:
        return item or None
    if not re.fullmatch(r"[0-9]{1,18}(\.0*)?", position):  # tables with gaps are often written with 1.0 for 1
        raise ConfigError(f"position {position!r} is no whole number")
    place = int(position.partition(".")[0])
    return (item, place) if item else place


# --- status ---------------------------------------------------------------------------------------------------------


def draw_to(live: Live, file: Path) -> None:
    """Write the picture of a test to a .png, .pdf or .svg file.

    Raises:
        ConfigError: for another kind of file, or if it cannot be written.
    """
    from cascadebai_cli.figures.style import render

    kind = file.suffix.removeprefix(".")
    if kind not in ("png", "pdf", "svg"):
        raise ConfigError(f"--picture {file}: name a .png, .pdf or .svg file")
    picture = render([live.picture()], kind, title=f"the best {live.terms.K}", rows_sha256="")[0]
    try:
        file.write_bytes(picture)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written ({error.strerror}); give --picture another file") from error


_MOST_FINDINGS = 5


def status_of(live: Live, form: Literal["text", "json"] = "text") -> str:
    """Return the status of a test as one screen, or all of it as JSON."""
    status = live.status
    if form == "json":
        return json.dumps(asdict(status), indent=2, ensure_ascii=False)
    rows = []
    for one in status.items:
        rate = "" if one.rate is None else quantity(one.rate)
        numbers = count(one.clicks), count(one.looks), rate, quantity(one.low), quantity(one.high)
        rows.append((one.item, one.place, *numbers))
    uniform, more = live.terms.prior == PRIORS["uniform"], len(status.findings) - _MOST_FINDINGS
    belief = "if all rates were equally likely at first" if uniform else "by the prior of this test"
    parts = [
        str(Table.of(("item", "", "clicks", "looks", "rate", "low", "high"), rows, words=2)),
        "",
        f"page views told {count(status.told)}, given out and not told {count(status.open)}",
        f"chance that the answer is right, {belief}: {percent(status.chance, 1)}",
        _end_in_words(status),
        *(f"look out: {one.sentence}" for one in status.findings[:_MOST_FINDINGS]),
        *([f"look out: {count(more)} more, see --format json"] if more > 0 else []),
    ]
    return "\n".join(parts)


def _end_in_words(status: Status) -> str:
    best = f"the best {len(status.best)}: {', '.join(status.best)}"
    if status.done:
        views = status.told - status.late
        after = f" after {count(views)} page view{'s' * (views != 1)}"
        late = f" ({count(status.late)} told later do not change it)" if status.late else ""
        return f"done{after}{late}. {best}"
    low, middle, high = (None if one is None else count(one) for one in status.more)
    if middle is None:
        return f"not done; {'many' if low is None else f'at least {low}'} more page views. So far {best}"
    end = f"{low} to {high}" if high else f"{low} or more"
    return f"not done; about {middle} more page views ({end}). So far {best}"


# --- rehearse -------------------------------------------------------------------------------------------------------


def rehearse(live: Live, rates: Path, pages: int, delay: int, lost: float, users: str, seed: int) -> Live:
    """Return a test in memory with the terms of another one, after simulated users went through its ask and tell.

    `rates` is a CSV file with the columns `item` and `rate`, `pages` the most page views, `delay` page views until the
    clicks of a page are told, `lost` the share of pages that are never told, and `users` a kind of users, with its
    first number if one is given, such as `position-based=0.7`.

    Raises:
        ConfigError: for a share, users or rates that are not usable.
    """
    live, rng = rehearsal(live), np.random.default_rng(seed)
    rate, who = _rates_of(live.terms.items, rates), _users_of(users)
    if not 0 <= lost < 1:
        raise ConfigError(f"--lost is {lost:g}, but must be a share from 0 to below 1")
    waiting: deque[tuple[int, tuple[int, list[int]]]] = deque()
    asked, size = 0, max(1, delay // 10)
    while asked < pages and not live.done:
        for page in live.ask(min(size, pages - asked)):
            asked += 1
            if rng.random() >= lost:
                waiting.append((asked + delay, (page.id, _clicks(page, rate, who, rng))))
        live.tell_many(waiting.popleft()[1] for _ in range(sum(due <= asked for due, _ in waiting)))
    return live


def _clicks(page: Page, rate: Mapping[str, float], users: Users, rng: np.random.Generator) -> list[int]:
    """Return the positions of the clicks on a page, from 1."""
    weights = [rate[item] for item in page.items]
    clicks = users.clicks(range(len(weights)), lambda place: int(rng.random() < weights[place]), rng.random)
    return [place for place, click in enumerate(clicks, 1) if click]


def _rates_of(items: Sequence[str], file: Path) -> dict[str, float]:
    if not file.is_file():
        raise ConfigError(f"--rates {file} is not a file; name a CSV file with the columns item and rate")
    names, rates = read_rates(file, {"item": "item", "rate": "rate"}, None, str(file))
    known = dict(zip(map(plain, names), rates.tolist(), strict=True))
    missing = [item for item in items if item not in known]
    if missing:
        raise ConfigError(f"{file} has no rate of {listed(missing[:5])}; give each item of the test a row")
    return known


def _users_of(text: str) -> Users:
    kind, equals, number = text.partition("=")
    try:
        if kind not in USERS:
            raise ConfigError(suggest(kind, USERS))
        if equals and not list(record_options(USERS[kind])):
            raise ConfigError(f"{kind} takes no number; write {kind}")
        return USERS[kind](*([float(number)] if equals else []))
    except ValueError as error:
        fault = error if isinstance(error, ConfigError) else f"{number!r} is no number; write one such as {kind}=0.7"
        raise ConfigError(f"--users {quoted(text)}: {fault}") from None
