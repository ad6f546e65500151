"""The state of a test: a SQLite file with what was asked and what was told, and nothing else.

Each ask and each tell is one transaction, which several processes may make at once; what was acknowledged is on disk.
"""

import json
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.posterior import BetaMixture
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.text import for_shell, quoted

_FILE = "live.sqlite"
_VERSION = 2
_BLOCK = 500
"""Pages of a block: looks are summed by block, to see whether click rates drift."""
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pages (id INTEGER PRIMARY KEY, items BLOB NOT NULL, clicks TEXT)",
    "CREATE INDEX untold ON pages (id) WHERE clicks IS NULL",
    "CREATE TABLE counts (item INTEGER PRIMARY KEY, T INTEGER NOT NULL, S INTEGER NOT NULL)",
    "CREATE TABLE looks (item INTEGER, place INTEGER, block INTEGER, T INTEGER NOT NULL, S INTEGER NOT NULL, "
    "PRIMARY KEY (item, place, block)) WITHOUT ROWID",
)
_ADD = (
    "INSERT INTO looks VALUES (?, ?, ?, 1, ?) "
    "ON CONFLICT (item, place, block) DO UPDATE SET T = T + 1, S = S + excluded.S"
)


@dataclass(frozen=True)
class Terms:
    """What a test is about; it does not change.

    Attributes:
        items: names of the items.
        K: number of items to find.
        delta, epsilon: risk and tolerance.
        page_size: number of items on a page.
        stopping: `bounds` or `posterior`.
        seed: seed of what is drawn.
        prior: what is believed of each click rate at first.
        start: looks and clicks of each item before the first page, from a log.
        tag: letters before the numbers of its pages in files, so that pages of another test are not taken for its own;
            none in tests that were begun before there were such letters.
    """

    items: tuple[str, ...]
    K: int
    delta: float
    epsilon: float
    page_size: int
    stopping: str
    seed: int
    prior: BetaMixture
    start: tuple[tuple[int, ...], tuple[int, ...]]
    tag: str = ""

    def name_of(self, page: int) -> str:
        """Return what a page is called in files."""
        return f"{self.tag}-{page}" if self.tag else str(page)

    def page_called(self, name: str) -> int:
        """Return the number of a page from its name in a file, or from the number alone.

        Raises:
            ConfigError: if it is no name of a page, or that of another test.
        """
        found = re.fullmatch(r"(?:([a-z]+)-)?([0-9]{1,18})(?:\.0*)?", name)  # tables with gaps often have 1.0 for 1
        if found is None:
            raise ConfigError(
                f"page {name!r} is no name of a page; give those that show wrote, such as {self.name_of(1)}"
            )
        if found[1] and found[1] != self.tag:
            raise ConfigError(
                f"page {name} is one of another test; the pages of this one are called {self.name_of(1)} and so on"
            )
        return int(found[2])


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


class State:
    """The file of a test; `changing` and `reading` say what a block does with it.

    Args:
        directory: directory of the file; `None` keeps the state in memory.

    Raises:
        ConfigError: if it holds no test, or one of another version.
    """

    def __init__(self, directory: Path | None) -> None:
        self.name = str(directory or "this test")
        self._lock = threading.RLock()
        if directory is not None and not (directory / _FILE).is_file():
            raise ConfigError(f"{self.name} holds no test; `cascadebai live start {for_shell(directory)}` makes one")
        with self._in_words():
            self._db = sqlite3.connect(
                ":memory:" if directory is None else directory / _FILE,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )

    @classmethod
    def made(cls, directory: Path | None, terms: Terms) -> "State":
        """Return the state of a new test.

        Raises:
            ConfigError: if the directory cannot be written to, or holds a test.
        """
        if directory is not None:
            if (directory / _FILE).exists() and cls(directory)._begun():
                raise ConfigError(f"{directory} holds a test already; name another directory, or go on with that one")
            try:
                directory.mkdir(parents=True, exist_ok=True)
                (directory / _FILE).touch()
            except OSError as error:
                raise ConfigError(f"{directory} cannot be written to ({error.strerror}); name another one") from error
        state = cls(directory)
        with state._in_words():
            state._db.execute("PRAGMA journal_mode = WAL")
        with state.changing():
            if state._begun():
                raise ConfigError(f"{directory} holds a test already; name another directory, or go on with that one")
            for table in _TABLES:
                state._db.execute(table)
            start = zip(*terms.start, strict=True)
            held = {"version": _VERSION, "told": 0, "stop": None, "terms": asdict(terms)}
            state._db.executemany("INSERT INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in held.items()])
            state._db.executemany("INSERT INTO counts VALUES (?, ?, ?)", [(i, *row) for i, row in enumerate(start)])
        return state

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def terms(self) -> Terms:
        """Return what the test is about.

        Raises:
            ConfigError: if the file holds no test, or one of another version.
        """
        with self.reading():
            if not self._begun():
                raise ConfigError(
                    f"{self.name} holds no test, as its {_FILE} is empty: if pages were given out, it is damaged, so "
                    "take a copy of it; if not, its start was interrupted; start it again"
                )
            version = self._meta("version")
            if version != _VERSION:
                raise ConfigError(
                    f"{self.name} was written by another version of this program (format {version}, this one reads "
                    f"{_VERSION}); take that version, or start a new test"
                )
            held = self._meta("terms")
        return Terms(**{name: _as_tuple(value) for name, value in held.items()})

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Make a block one transaction: all of it is on disk at its end, or nothing."""
        with self._transaction("IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let a block see one moment, whatever other processes write."""
        with self._transaction("DEFERRED"):
            yield

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
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
            if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise ConfigError(
                    f"{self.name}: its {_FILE} is damaged ({error}), and what was told is lost if there is no copy of "
                    "it; put a whole copy in its place, or start a new test"
                ) from error
            raise ConfigError(
                f"{self.name}: its {_FILE} cannot be used ({error}); nothing of this was written, and what was told "
                "before is kept: give room and rights, and do it again"
            ) from error

    # --- what a block does ---------------------------------------------------------------------------------------

    def counts(self) -> tuple[IntArray, IntArray]:
        """Return looks and clicks of each item on pages that were told, shape `(L,)` each."""
        T, S = zip(*self._db.execute("SELECT T, S FROM counts ORDER BY item"), strict=True)
        return np.array(T, np.int64), np.array(S, np.int64)

    def numbers(self) -> tuple[int, int]:
        """Return how many pages were asked for, and how many were told."""
        (asked,) = self._db.execute("SELECT COALESCE(MAX(id), 0) FROM pages").fetchone()
        return asked, self._meta("told")

    def untold(self, page_size: int) -> IntArray:
        """Return the items of the pages that were not told, shape `(n, page_size)`."""
        found = [blob for (blob,) in self._db.execute("SELECT items FROM pages WHERE clicks IS NULL")]
        return np.frombuffer(b"".join(found), np.int32).reshape(-1, page_size).astype(np.int64)

    def add(self, first: int, lists: Sequence[Sequence[int]]) -> None:
        """Add pages with the numbers from `first` on."""
        rows = ((first + i, np.array(shown, np.int32).tobytes()) for i, shown in enumerate(lists))
        self._db.executemany("INSERT INTO pages VALUES (?, ?, NULL)", rows)

    def page(self, number: int) -> tuple[list[int], list[int] | None]:
        """Return the items of a page, and the places of its clicks from 0; `None` if it was not told.

        Raises:
            ConfigError: if there is no such page.
        """
        held = -1 if abs(number) >= 2**63 else number  # SQLite has no such numbers
        row = self._db.execute("SELECT items, clicks FROM pages WHERE id = ?", (held,)).fetchone()
        if row is None:
            raise ConfigError(
                f"page {quoted(number)} was never given out; {self.name} has pages 1 to {self.numbers()[0]:,}"
            )
        return np.frombuffer(row[0], np.int32).tolist(), None if row[1] is None else json.loads(row[1])

    def tell(self, number: int, items: Sequence[int], clicks: Sequence[int]) -> None:
        """Write down the clicks on a page, and count its items down to the first click."""
        self._db.execute("UPDATE pages SET clicks = ? WHERE id = ?", (json.dumps(list(clicks)), number))
        seen = items[: clicks[0] + 1] if clicks else items
        looks = [(item, place, number // _BLOCK, int(place in clicks)) for place, item in enumerate(seen)]
        self._db.executemany(_ADD, looks)
        self._db.executemany(
            "UPDATE counts SET T = T + 1, S = S + ? WHERE item = ?", [(click, item) for item, _, _, click in looks]
        )
        self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'told'")

    def stop(self) -> tuple[int, list[int]] | None:
        """Return after how many pages that were told the test was over, and its answer; `None` if it is not."""
        held = self._meta("stop")
        return held and (held[0], held[1])

    def end(self, answer: Sequence[int]) -> None:
        """Keep this answer, and that the test is over by what was told up to now."""
        held = json.dumps((self._meta("told"), list(answer)))
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'stop'", (held,))

    def looks(self) -> IntArray:
        """Return rows of item, place, block, looks and clicks, shape `(n, 5)`."""
        return np.array(self._db.execute("SELECT * FROM looks").fetchall(), np.int64).reshape(-1, 5)

    def history(self, page_size: int) -> tuple[IntArray, IntArray]:
        """Return items of the pages that were told, shape `(n, page_size)`, and places of first clicks, -1 for none."""
        rows = self._db.execute("SELECT items, clicks FROM pages WHERE clicks IS NOT NULL ORDER BY id").fetchall()
        items = np.frombuffer(b"".join(blob for blob, _ in rows), np.int32).reshape(-1, page_size)
        first = [-1 if text == "[]" else int(text.strip("[]").partition(",")[0]) for _, text in rows]
        return items.astype(np.int64), np.array(first, np.int64)

    def pages_with_several_clicks(self) -> int:
        """Return how many pages have two clicks or more."""
        (found,) = self._db.execute("SELECT COUNT(*) FROM pages WHERE clicks LIKE '%,%'").fetchone()
        return int(found)

    def _begun(self) -> bool:
        with self._in_words():
            return bool(self._db.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0])

    def _meta(self, key: str) -> Any:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise CascadeError(f"{self.name}: its {_FILE} lacks {key}; take a copy of it that is whole")
        return json.loads(row[0])
