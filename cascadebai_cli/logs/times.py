"""Days, weeks, months and hours as reports write them, as numbers."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.sheet import Floats, floats_of

_DATES = (
    *("%Y%m%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y"),
    *("%m/%d/%y", "%G-W%V-%u", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%B %Y", "%b %Y"),
    *("%m/%Y", "%m.%Y"),
)
"""Ways to write a day besides 2026-04-01; a column is read in the one that fits the most of its cells."""

_CLOCK = r"[ ,T]+\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?( ?(Z|[A-Z]{3,4}|[-+]\d\d:?\d\d))?"
_REWRITTEN = (
    (r"^(.{8,}?) (?:-|–|to|bis) .{8,}$", r"\1"),  # a week with its first and its last day
    (r"^[^\W\d]+\.?, +", ""),  # the day of the week
    (_CLOCK + "$", ""),
    (r"^(\d{4})(?:年|\. ?)(\d{1,2})(?:月|\. ?)(\d{1,2})[日.]$", r"\1/\2/\3"),
)
"""What is left out of days that `_DATES` do not have; (pattern, what stands in its place)."""

_MONTH, _DAY, _HOUR = r"(19|20)\d\d(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])", r"([01]\d|2[0-3])"


def _formatted(written: str) -> Callable[["pd.Series[str]"], Floats]:
    return lambda times: _since_1970(pd.to_datetime(times, format=written, errors="coerce", utc=True))


_PACKED: tuple[tuple[str, Callable[["pd.Series[str]"], Floats]], ...] = (
    (_MONTH, _formatted("%Y%m")),
    (r"(19|20)\d\d(0[1-9]|[1-4]\d|5[0-3])", lambda times: _formatted("%G%V%u")(times + "1")),
    (_MONTH + _DAY + _HOUR, _formatted("%Y%m%d%H")),
    (_MONTH + _DAY + _HOUR + r"[0-5]\d", _formatted("%Y%m%d%H%M")),
    (r"1\d{9}", lambda times: floats_of(times) / 86_400),
    (r"1\d{12}", lambda times: floats_of(times) / 86_400_000),
    (r"(3[7-9]|4\d|5[0-7])\d{3}([.,]\d+)?", lambda times: floats_of(times.str.replace(",", ".")) - 25_569),
    (r"(?:KW|CW|W|Week|Woche) ?\d{1,2}", lambda times: floats_of(times.str.replace(r"\D+", "", regex=True))),
)
"""Columns whose numbers stand for days: months, weeks and hours without signs, seconds and milliseconds since 1970, and
the days of spreadsheets, which count from 1900; and the numbers of weeks."""


def moments(times: "pd.Series[str]") -> Floats:
    """Return times as numbers, days counted from 1970; NaN for what is neither a number nor a day.

    Raises:
        ConfigError: if the days may be read in two ways, such as 01/02/2026.
    """
    for pattern, read in _PACKED:
        if times.str.fullmatch(pattern).all():
            return read(times)
    numbers = floats_of(times)
    days = pd.to_datetime(
        times.str.replace(r" ?(UTC|GMT)$", "Z", regex=True), format="ISO8601", errors="coerce", utc=True
    )
    if not times.str.fullmatch(r"(19|20)\d{6}").all():
        if numbers.notna().any():
            return numbers
        if days.notna().any():
            return _since_1970(days)
    known = times.drop_duplicates()
    weekly = known + "-1" if known.str.fullmatch(r"\d{4}-W\d\d").all() else known
    read_days = _read_days(times.name, weekly)
    if read_days is None:
        return numbers
    return times.map(dict(zip(known, _since_1970(read_days), strict=True))).astype(float)


def _read_days(name: object, known: "pd.Series[str]") -> "pd.Series[pd.Timestamp] | None":
    """Return the days in the way of `_DATES` that fits most of the texts; `None` if none fits.

    Raises:
        ConfigError: if two ways fit as well and give different days.
    """
    plain = known
    for pattern, instead in _REWRITTEN:
        plain = plain.str.replace(pattern, instead, regex=True)
    ways = [pd.to_datetime(plain, format=date, errors="coerce", utc=True) for date in _DATES]
    ways.append(pd.to_datetime(plain, format="ISO8601", errors="coerce", utc=True))
    most = max(one.notna().sum() for one in ways)
    fitting = [one for one in ways if one.notna().sum() == most > 0]
    if len(fitting) > 1 and not fitting[0].equals(fitting[1]):
        told = " or ".join(str(one.dropna().iloc[0].date()) for one in fitting[:2])
        raise ConfigError(f"{name} {known.iloc[0]} may be {told}; write days as 2026-04-01")
    return fitting[0] if fitting else None


def _since_1970(days: "pd.Series[pd.Timestamp]") -> Floats:
    return ((days - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).astype(float)


_MOST_MISSING = 3
"""Largest number of missing times that are named."""
_DAYS = 10_000
"""Numbers from here on are days since 1970, from 1997 on."""


def missing_times(times: Floats, column: str) -> list[str]:
    """Return a note if times are missing between others that follow each other at one distance."""
    known = np.unique(times)
    months = _months(known)
    known = known if months is None else months
    in_words = _in_words if months is None else _month_in_words
    gaps = np.diff(known)
    if len(gaps) < 2 or not np.isclose(np.median(gaps), gaps.min()):
        return []
    sizes = np.rint(gaps / gaps.min()).astype(int)
    missing = [begin + step * gaps.min() for begin, size in zip(known, sizes, strict=False) for step in range(1, size)]
    if not missing:
        return []
    told = ", ".join(in_words(time) for time in missing[:_MOST_MISSING])
    more = f" and {len(missing) - _MOST_MISSING:,} more" if len(missing) > _MOST_MISSING else ""
    return [f"{column} has no rows at {told}{more}"]


def _months(known: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the numbers of the months since the year 0 if all times are the first days of months, at least three."""
    if len(known) < 3 or not ((known > _DAYS) & (known < 10 * _DAYS)).all():
        return None
    days = pd.to_datetime(known, unit="D")
    first = days.is_month_start & (days == days.floor("D"))
    return np.asarray(12.0 * days.year + days.month - 1, dtype=np.float64) if first.all() else None


def _in_words(time: float) -> str:
    if not _DAYS < time < 10 * _DAYS:
        return f"{time:g}"
    moment = pd.Timestamp(time, unit="D").round("s")
    return str(moment.date() if moment == moment.floor("D") else moment.strftime("%Y-%m-%d %H:%M"))


def _month_in_words(month: float) -> str:
    return f"{int(month) // 12}-{int(month) % 12 + 1:02}"
