"""The terms of a test, and its state: a SQLite file with what was asked and what was told, and nothing else.

Each ask and each tell is one transaction, which several processes may make at once; what was acknowledged is on disk.
"""

import json
import os
import re
import secrets
import sqlite3
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.errors import CascadeError, ConfigError, suggest
from cascadebai_cli.learners.posterior import PRIORS, Laws
from cascadebai_cli.live.checks import of_all_places
from cascadebai_cli.logs.layout import Layout
from cascadebai_cli.logs.read import log_of, read_log
from cascadebai_cli.logs.sheet import read_any_text, sheet_of, shown
from cascadebai_cli.model.problem import BoolArray, IntArray
from cascadebai_cli.text import count, for_shell, p_value, quoted

_FILE = "live.sqlite"
_VERSION = 4
"""The format of the file."""
_BLOCK = 500
"""Pages of a block: looks are summed by block, to see whether click rates drift."""
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, items BLOB NOT NULL, clicks TEXT, told INTEGER)",
    "CREATE UNIQUE INDEX told ON pages (told)",
    "CREATE TABLE counts (item INTEGER PRIMARY KEY, T INTEGER NOT NULL, S INTEGER NOT NULL)",
    "CREATE TABLE looks (item INTEGER, place INTEGER, block INTEGER, T INTEGER NOT NULL, S INTEGER NOT NULL, "
    "PRIMARY KEY (item, place, block)) WITHOUT ROWID",
)
_BEFORE = 2
"""The format of version 1.1.0."""
_UPGRADE = (
    "ALTER TABLE pages ADD COLUMN told INTEGER",
    "UPDATE pages SET told = place FROM (SELECT id AS page, ROW_NUMBER() OVER (ORDER BY id) AS place FROM pages "
    "WHERE clicks IS NOT NULL) WHERE id = page",  # the order in which they were told is not known
    "CREATE UNIQUE INDEX told ON pages (told)",
    "DROP INDEX untold",
    "UPDATE meta SET value = json_set(value, '$.prior', json_array(json_array(0.0, json_extract(value, '$.prior')))) "
    "WHERE key = 'terms'",  # a prior was a single law
    f"UPDATE meta SET value = '{_VERSION}' WHERE key = 'version'",
)
"""What brings a file of this format to the one of now when it is opened."""


@dataclass(frozen=True)
class Terms:
    """What a test is about; it does not change. Arguments are those of `Live`, but for these.

    `prior` has the laws that the click rates may have, before any click and the log. `start` has the looks and the
    clicks of each item before the first page, from a log. `tag` has the letters before the numbers of its pages in
    files, so that pages of another test are refused; none in tests that were begun before there were such letters.
    """

    items: tuple[str, ...]
    K: int
    delta: float
    epsilon: float
    page_size: int
    stopping: str
    seed: int
    prior: Laws
    start: tuple[tuple[int, ...], tuple[int, ...]]
    tag: str = ""
    reads: str = "click"

    def looked(self, clicked: BoolArray) -> BoolArray:
        """Return which places of pages count, given where there are clicks, shape `(n, page_size)` both."""
        above = clicked.cumsum(axis=1) - clicked
        return np.asarray((above == 0) | (self.reads == "page"))

    def name_of(self, page: int) -> str:
        """Return what a page is called in files."""
        return f"{self.tag}-{page}" if self.tag else str(page)

    def page_called(self, name: str) -> int:
        """Return the number of a page from its name in a file, or from the number alone.

        Raises:
            ConfigError: if it is no name of a page, or that of another test.
        """
        found = re.fullmatch(r"(?:([a-z]+)-)?([0-9]{1,18})(?:\.0*)?", name)  # tables with gaps often have 1.0 for 1
        first = self.name_of(1)
        if found is None:
            raise ConfigError(f"page {name!r} is no name of a page; give those that show wrote, such as {first}")
        if found[1] and found[1] != self.tag:
            raise ConfigError(f"page {name} is one of another test; the pages of this one are called {first} and so on")
        return int(found[2])


def plain(name: str) -> str:
    """Return a name with each letter in one way, as some systems write `e` and an accent for one letter."""
    return unicodedata.normalize("NFC", name)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


class State:
    """The file of a test; `changing` and `reading` say what a block does with it.

    It is in a directory, or in memory if this is `None`. `new` are the terms of a new test; without them, the one that
    is there is gone on with.

    Raises:
        ConfigError: if the directory holds no test, or one of another version; for a new test, if it holds one already,
            or cannot be written to.
    """

    def __init__(self, directory: Path | None, new: Terms | None = None) -> None:
        self.name = str(directory or "this test")
        self._lock = threading.RLock()
        file = ":memory:" if directory is None else directory / _FILE
        if directory is not None and new is not None:
            _make(directory)
        elif directory is not None and not os.path.isfile(file):
            raise ConfigError(f"{directory} holds no test; `cascadebai live start {for_shell(directory)}` makes one")
        with self._in_words():
            self._db = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        if new is not None:
            self._begin(new)
        self.terms = self._terms()

    def _begin(self, terms: Terms) -> None:
        with self._in_words():
            self._db.execute("PRAGMA journal_mode = WAL")
        with self.changing():
            if self._is_begun():
                raise ConfigError(f"{self.name} holds a test already; name another directory, or go on with that one")
            for table in _TABLES:
                self._db.execute(table)
            start = zip(*terms.start, strict=True)
            held = {"version": _VERSION, "stop": None, "terms": asdict(terms)}
            self._db.executemany("INSERT INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in held.items()])
            self._db.executemany("INSERT INTO counts VALUES (?, ?, ?)", [(i, *row) for i, row in enumerate(start)])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _terms(self) -> Terms:
        with self.reading():
            if not self._is_begun():
                fault = (
                    f"{self.name} holds no test, as its {_FILE} is empty: if pages were given out, it is damaged, so"
                )
                raise ConfigError(f"{fault} take a copy of it; if not, its start was interrupted; start it again")
            version = self._meta("version")
        if version not in (_BEFORE, _VERSION):
            fault = f"was written by another version of this program (format {version}, this one reads {_VERSION})"
            raise ConfigError(f"{self.name} {fault}; take that version, or start a new test")
        if version == _BEFORE:
            with self.changing():  # another process may have done this by now
                for change in _UPGRADE if self._meta("version") == _BEFORE else ():
                    self._db.execute(change)
        with self.reading():
            held = {name: _as_tuple(value) for name, value in self._meta("terms").items()}
        return Terms(**{**held, "items": tuple(map(plain, held["items"]))})

    def reading(self) -> AbstractContextManager[None]:
        """Let a block see one moment, whatever other processes write."""
        return self.changing("DEFERRED")

    @contextmanager
    def changing(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Make a block one transaction: all of it is on disk at its end, or nothing."""
        with self._lock, self._in_words():
            self._db.execute(f"BEGIN {kind}")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "closed database" in str(error):
                raise ConfigError(f"{self.name} was closed; if it has a directory, Live.open goes on with it") from None
            if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                words = f"is damaged ({error}), and what was told is lost if there is no copy of it; "
                words += "put a whole copy in its place, or start a new test"
            else:
                busy = "locked" in str(error) or "within a transaction" in str(error)
                remedy = (
                    "let the other process or block that writes come to its end" if busy else "give room and rights"
                )
                words = f"cannot be used ({error}); nothing of this was written, and what was told before is kept: "
                words += f"{remedy}, and do it again"
            raise ConfigError(f"{self.name}: its {_FILE} {words}") from error

    # --- what a block does ---------------------------------------------------------------------------------------

    def counts(self) -> tuple[IntArray, IntArray]:
        """Return looks and clicks of each item, with those of the start, shape `(L,)` each."""
        T, S = np.array(self._db.execute("SELECT T, S FROM counts ORDER BY item").fetchall(), np.int64).T
        return T, S

    def numbers(self) -> tuple[int, int]:
        """Return how many pages were asked for, and how many were told."""
        return self._one("SELECT MAX(id) FROM pages")[0] or 0, self._one("SELECT MAX(told) FROM pages")[0] or 0

    def untold(self) -> IntArray:
        """Return the items of the pages that were not told, shape `(n, page_size)`."""
        return self._lists(blob for (blob,) in self._db.execute("SELECT items FROM pages WHERE told IS NULL"))

    def _lists(self, blobs: Iterable[bytes]) -> IntArray:
        return np.frombuffer(b"".join(blobs), np.int32).reshape(-1, self.terms.page_size).astype(np.int64)

    def add(self, first: int, lists: Sequence[Sequence[int]]) -> None:
        """Add pages with the numbers from `first` on."""
        rows = ((first + i, np.array(shown, np.int32).tobytes()) for i, shown in enumerate(lists))
        self._db.executemany("INSERT INTO pages VALUES (?, ?, NULL, NULL)", rows)

    def page(self, number: int) -> tuple[list[int], list[int] | None]:
        """Return the items of a page, and the places of its clicks from 0; `None` if it was not told.

        Raises:
            ConfigError: if there is no such page.
        """
        held = -1 if abs(number) >= 2**63 else number  # SQLite has no such numbers
        row = self._one("SELECT items, clicks FROM pages WHERE id = ?", held)
        if row is None:
            asked = self.numbers()[0]
            given = f"has pages 1 to {asked:,}" if asked else "has no pages yet"
            raise ConfigError(f"page {quoted(number)} was never given out; {self.name} {given}")
        return self._lists(row[:1])[0].tolist(), None if row[1] is None else json.loads(row[1])

    def tell(self, number: int, clicks: Sequence[int], seen: Sequence[int]) -> None:
        """Write down the places of the clicks on a page, and count the items that were seen, from the top."""
        change = "UPDATE pages SET clicks = ?, told = (SELECT COALESCE(MAX(told), 0) + 1 FROM pages) WHERE id = ?"
        self._db.execute(change, (json.dumps(clicks), number))
        looks = [(item, place, number // _BLOCK, int(place in clicks)) for place, item in enumerate(seen)]
        counts = [(item, click) for item, *_, click in looks]
        more = "ON CONFLICT DO UPDATE SET T = T + 1, S = S + excluded.S"
        self._db.executemany(f"INSERT INTO looks VALUES (?, ?, ?, 1, ?) {more}", looks)
        self._db.executemany(f"INSERT INTO counts VALUES (?, 1, ?) {more}", counts)

    def stop(self) -> tuple[int, list[int]] | None:
        """Return after how many pages that were told the test was over, and its answer; `None` if it is not."""
        held: tuple[int, list[int]] | None = self._meta("stop")
        return held

    def end(self, answer: Sequence[int]) -> None:
        """Keep this answer, and that the test is over by what was told up to now."""
        held = json.dumps((self.numbers()[1], answer))
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'stop'", (held,))

    def looks(self) -> IntArray:
        """Return rows of item, place, block, looks and clicks, shape `(n, 5)`."""
        return np.array(self._db.execute("SELECT * FROM looks").fetchall(), np.int64).reshape(-1, 5)

    def history(self, every: int = 1) -> tuple[IntArray, BoolArray]:
        """Return the items of each `every`-th page, in the order in which they were told, and which were clicked.

        Both have the shape `(n, page_size)`.
        """
        found = "SELECT items, clicks FROM pages WHERE told IS NOT NULL AND told % ? = 0 ORDER BY told"
        rows = self._db.execute(found, (every,)).fetchall()
        size = self.terms.page_size
        marks = {text: np.isin(np.arange(size), json.loads(text)) for text in {text for _, text in rows}}
        clicked = np.array([marks[text] for _, text in rows], bool).reshape(-1, size)
        return self._lists(blob for blob, _ in rows), clicked

    def pages_with_several_clicks(self) -> int:
        """Return how many pages have two clicks or more."""
        return int(self._one("SELECT COUNT(*) FROM pages WHERE clicks LIKE '%,%'")[0])

    def _one(self, query: str, *values: Any) -> Any:
        """Return the first row that a query finds; `None` if there is none."""
        return self._db.execute(query, values).fetchone()

    def _is_begun(self) -> bool:
        return self._one("SELECT 1 FROM sqlite_master WHERE name = 'meta'") is not None

    def _meta(self, key: str) -> Any:
        row = self._one("SELECT value FROM meta WHERE key = ?", key)
        if row is None:
            raise CascadeError(f"{self.name}: its {_FILE} lacks {key}; take a copy of it that is whole")
        return json.loads(row[0])


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _FILE).touch()
    except FileExistsError as error:
        raise ConfigError(f"{directory} cannot be written to, as it is a file; name a new directory") from error
    except OSError as error:
        raise ConfigError(f"{directory} cannot be written to ({error.strerror}); name another one") from error


# --- The terms of a test, from what a person gives -------------------------------------------------------------------


_CHOICES = {"stopping": ("bounds", "posterior"), "prior": (*PRIORS, "log"), "reads": ("click", "page")}
_SURE = 0.01
"""Largest p-value by which the positions of a log speak against taking its views for looks."""
_MOST_VIEWS = 1e9
"""Numbers of looks of a state that the simulated runs of `status` can count."""
_DECIMAL = "say --decimal . or --decimal ,"
_Counts = dict[str, tuple[int, int]]
"""Looks and clicks of each item of a log."""


def counts_of(log: Any) -> _Counts:
    """Return the counts of a log.

    Raises:
        ConfigError: if it cannot be read, or its counts are not those of looks and clicks on items of one rate each.
    """
    source, layout = log if isinstance(log, tuple) and len(log) == 2 else (log, None)
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if (path is None and not isinstance(source, pd.DataFrame)) or not isinstance(layout, Layout | None):
        needed = "a CSV file or a pandas table, or a pair of this and a Layout"
        raise ConfigError(f"log is {quoted(log)}, but must be {needed}")
    if layout is None:
        there = source.columns if path is None else _header(path)
        layout = Layout("item", "clicks", "views", "position" if "position" in there else None)
    try:
        read = log_of(source, layout) if path is None else read_log(path, layout)
    except ConfigError as error:  # `plan` has an option for this
        raise ConfigError(str(error).replace(_DECIMAL, "write whole numbers without such signs")) from error
    if not (read.clicks % 1 == 0).all() or not (read.views % 1 == 0).all():
        raise ConfigError(f"{read.name}: a test can start with whole numbers of clicks and views only")
    if (most := read.views.max()) > _MOST_VIEWS:
        of = f"{read.name}: item {read.names[int(read.views.argmax())]} has {most:g} views"
        raise ConfigError(f"{of}, {_MOST_VIEWS:g} is the most; leave the log out, or start with a part of it")
    if read.dispersion > 1:
        raise ConfigError(f"{read.name}: {read.notes[-1]}; a test cannot start with such counts, so leave the log out")
    if read.cells is not None:
        _refuse_positions(read.name, read.cells)
    counts = zip(read.views.astype(int).tolist(), read.clicks.astype(int).tolist(), strict=True)
    return dict(zip(map(plain, read.names), counts, strict=True))


def _header(path: Path) -> Sequence[str]:
    return sheet_of(read_any_text(path, shown(path))[0], shown(path)).header if path.is_file() else ()


def _refuse_positions(name: str, cells: pd.DataFrame) -> None:
    place = pd.to_numeric(cells["position"], errors="coerce")
    if place.isna().any():
        raise ConfigError(f"{name}: position {cells['position'][place.isna()].iloc[0]!r} is no number")
    looks = np.column_stack([cells["item"], place.rank(method="dense"), 0 * place, cells["views"], cells["clicks"]])
    worst = min((check.p for check in of_all_places(looks.astype(np.int64))), default=1.0)
    if worst < _SURE:
        fault = (
            f"items are clicked less at lower positions (p {p_value(worst)}), so that not all of its views are looks"
        )
        raise ConfigError(f"{name}: {fault}; start with the rows of the first position only, or leave the log out")


def checked_terms(
    items: Any, K: Any, delta: Any, page_size: Any, epsilon: Any, seed: Any, known: _Counts, **chosen: Any
) -> Terms:
    """Return the terms of a test, given the counts of its log, if there is one.

    `chosen` are those of which there are a few to choose from.

    Raises:
        ConfigError: naming the first value that is not usable.
    """
    names = _checked_names(items)
    checked: dict[str, Any] = {
        "K": check_whole("K", K, 1, len(names) - 1),
        "page_size": check_whole("page_size", K if page_size is None else page_size, 1, len(names)),
        "seed": check_whole("seed", seed, 0, 2**63 - 1),
        "delta": _check_number("delta", delta, "larger than 0 and smaller than 1", lambda value: 0 < value < 1),
        "epsilon": _check_number("epsilon", epsilon, "from 0 to below 1", lambda value: 0 <= value < 1),
    }
    for what, value in chosen.items():
        if value not in _CHOICES[what]:
            raise ConfigError(f"{what} is {quoted(value)}; {suggest(str(value), _CHOICES[what])}")
    checked |= {**chosen, "prior": _prior_of(chosen["prior"], chosen["stopping"], names, known), "tag": _new_tag()}
    looks, clicks = zip(*(known.get(name, (0, 0)) for name in names), strict=True)
    if known and not any(looks):
        raise ConfigError("the log has no view of an item of the test; give the items the names that they have there")
    return Terms(tuple(names), start=(looks, clicks), **checked)


def _checked_names(items: Any) -> list[str]:
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ConfigError(f"items is {quoted(items)}, but must be a list of names")
    names = list(items)
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ConfigError(f"items: {quoted(name)} is no name of an item; give a text for each")
        if name != name.strip():  # files are read without them
            raise ConfigError(f"items: {quoted(name)} is no name of an item; give a text without spaces at its ends")
    names = list(map(plain, names))
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise ConfigError(f"items: {quoted(name)} is there twice; give each item a name of its own")
    if len(names) < 2:
        raise ConfigError(f"items: there are {len(names)}, but a test needs at least 2")
    return names


def _prior_of(prior: str, stopping: str, names: Sequence[str], known: _Counts) -> Laws:
    if prior != "uniform" and stopping == "bounds":
        raise ConfigError(f"prior is {prior!r}, but stopping by bounds has no prior; give stopping posterior")
    if prior != "log":
        return PRIORS[prior]
    if not known:
        raise ConfigError("prior is 'log', but there is no log; name one, or take the prior uniform or jeffreys")
    if not any(clicks for _, clicks in known.values()):
        raise ConfigError("prior is 'log', but the log has no click, so that no law can be fitted; take uniform")
    from cascadebai_cli.planning.rates import fitted_prior  # takes half a second, and few tests need it

    looks, clicks = np.array(list(known.values())).T
    return fitted_prior(looks, clicks, [place for place, name in enumerate(known) if name in names])


def _new_tag() -> str:
    """Return four letters, without vowels, so that no spreadsheet reads `mar-17` as a date."""
    return "".join(secrets.choice("bcdfghjkmnpqrstvwxz") for _ in range(4))


def check_whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a value that is a whole number in a range; any other is refused."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ConfigError(f"{name} is {quoted(value)}, but must be a whole number from {least} to {count(most)}")
    return int(value)


def _check_number(name: str, value: Any, rule: str, fits: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not fits(value):
        raise ConfigError(f"{name} is {quoted(value)}, but must be a number {rule}")
    return float(value)
