"""What reports write beside counts: times in many ways, and rows that hold sums of others."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.sheet import Floats, Sheet, floats_of, numbers_of
from cascadebai_cli.text import listed

# --- Days, weeks, months and hours as reports write them, as numbers ------------------------------------------------

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


# --- Rows that hold sums of others: totals, averages, and the sums of groups of rows --------------------------------
#
# A row is left out if it is named as totals are and may be one, or if its numbers prove it. Coincidences are no proof:
# a row that is the sum of others in few clicks, or in equal views, may be an item (`_is_proof`).

_Values = NDArray[np.float64]
_Mask = NDArray[np.bool_]

_WORDS = (
    r"(grand |sub)?totals?|total(e|en|t)? (general|generale|général|geral|gesamt)|(gesamt|end)?(summe|ergebnis|gesamt)"
    r"|gesamt(summe|ergebnis)|insgesamt|somme|sum|suma|soma|somma|totale|totaal|eindtotaal|totalt|razem|celkem|yhteensä"
    r"|toplam|итого|всего|合計|総計|合计|总计|總計|小計|小计|총계|합계"
)
_TOTAL = re.compile(rf"({_WORDS})( ?:.*| ?\([\d.,]+\))?|--|(total of|results from) [\d.,]+ .*", re.IGNORECASE)
"""Names of rows that reports have for sums."""
_MAYBE_TOTAL = re.compile(r"(grand )?totals? ?[-,].*", re.IGNORECASE)
"""Names that totals have, and items too: a row is a total only if it is not less than all others together."""
_MEAN = re.compile(r"average|mean|durchschnitt|mittelwert|moyenne|media|promedio", re.IGNORECASE)
"""Names of averages, and of items too: a row is an average only if it has the average of all others."""
_FEWEST_SUMMED = 3
"""Number of rows whose sum a row must be to count as a total without having the name of one."""
_LARGEST_GROUP = 1000
"""Number of rows in which the sum of a group is looked for."""
_MOST_ROWS = 10_000
"""Number of rows from which on no groups are looked for: nobody has a table with so many made."""
_PROOF, _PROOF_IN_CLICKS = 100, 10
"""How many values the numbers of sums could have had instead, so that they are no coincidence; and clicks alone."""


def without_totals(sheet: Sheet, items: str, counts: tuple[str, ...], decimal: str | None) -> tuple[Sheet, list[str]]:
    """Return the sheet without rows that hold sums of others, and a note about them.

    Args:
        sheet: the rows.
        items: the column of the items' names.
        counts: the columns of clicks and views.
        decimal: their decimal sign; detected if `None`.

    Raises:
        ConfigError: if the rows add up to twice a total or more, and the sums among them cannot be told from items.
    """
    names = sheet.rows[items].str.strip().to_numpy(object)
    values = _values(sheet, counts, decimal)
    if not len(names):
        return sheet, []
    means = _named(names, _MEAN) & _has_mean(values)
    left_out = means | _named(names, _TOTAL)
    rest = values[:, ~left_out].sum(axis=1, keepdims=True)
    left_out |= _named(names, _MAYBE_TOTAL) & (2 * values >= rest).all(axis=0)
    left_out |= _unnamed_at_ends(names, values, left_out)
    doubled = _doubled(values[:, ~means], left_out[~means])
    summed = np.flatnonzero(~left_out)[_sums(names[~left_out], values[:, ~left_out], proven=doubled is not None)]
    left_out[summed] = True
    if doubled is not None and not len(summed):
        line, times = sheet.rows.index[~means][doubled[0]], doubled[1]
        raise ConfigError(
            f"{sheet.name}: the rows add up to {times} times the total on line {line}, so that sums of groups stand "
            "among the items; keep the rows of items alone"
        )
    if not left_out.any():
        return sheet, []
    note = _note(sheet, names, left_out, averages=bool(means.any()))
    return sheet.without(left_out), [note]


def _values(sheet: Sheet, counts: tuple[str, ...], decimal: str | None) -> _Values:
    """Return clicks and views, shape `(2, n)`; 0 for what is no number, and everywhere if numbers are in doubt."""
    try:
        values = np.stack([numbers_of(sheet.rows[column].str.strip(), decimal)[0] for column in counts])
    except ConfigError:  # told where the counts are read
        return np.zeros((2, len(sheet.rows)))
    return np.where(np.isfinite(values), values, 0.0)


def _named(names: NDArray[Any], pattern: re.Pattern[str]) -> _Mask:
    codes, different = pd.factorize(names)
    return np.array([pattern.fullmatch(name) is not None for name in different], bool)[codes]


def _has_mean(values: _Values) -> _Mask:
    """Return which rows have the average of all others, up to rounding."""
    others = (values.sum(axis=1, keepdims=True) - values) / max(values.shape[1] - 1, 1)
    near: _Mask = (np.abs(values - others) <= np.maximum(1.0, 0.01 * others)).all(axis=0)
    return near


def _unnamed_at_ends(names: NDArray[Any], values: _Values, totals: _Mask) -> _Mask:
    """Return the rows without a name above or below all others that are not less than all with a name together.

    The total of a report counts rows too that a filter has hidden.
    """
    named = (names != "") & ~totals
    whole = values[:, named].sum(axis=1, keepdims=True)
    places = np.flatnonzero(named)
    if not len(places):
        return np.zeros(len(names), bool)
    at_ends: _Mask = (names == "") & (values >= whole).all(axis=0) & (values[1] > 0)
    at_ends[places[0] : places[-1]] = False
    return at_ends


def _doubled(values: _Values, totals: _Mask) -> tuple[int, int] | None:
    """Return a total, and how many times it the other rows add up to, if that is 2 or more."""
    whole = values[:, ~totals].sum(axis=1)
    if np.array_equal(values[:, totals].sum(axis=1), whole):  # the totals of groups that are alike
        return None
    for place in np.flatnonzero(totals & (values > 0).all(axis=0)):
        times = round(whole[1] / values[1, place])
        if times >= 2 and np.allclose(whole, times * values[:, place], rtol=1e-12):
            return int(place), times
    return None


def _sums(names: NDArray[Any], values: _Values, *, proven: bool) -> NDArray[np.int64]:
    """Return the numbers of the rows that are sums of others.

    One is the sum of all others, and has no name or is the first or the last. Or all rows form groups, in which the
    last row, or in all groups the first, is the sum of the others.

    Args:
        names: names of the rows.
        values: clicks and views, shape `(2, n)`.
        proven: whether there must be such rows.
    """
    rows = len(names)
    equal = (values[1] > 0) & np.isclose(2 * values, values.sum(axis=1, keepdims=True), rtol=1e-12).all(axis=0)
    at_end = np.isin(np.arange(rows), (0, rows - 1)) & (proven or rows > _FEWEST_SUMMED)
    whole = np.flatnonzero(equal & ((names == "") | at_end))[:1]
    if len(whole) and names[whole[0]] and not proven and not _is_proof(values, [np.delete(np.arange(rows), whole)]):
        whole = whole[:0]
    everything, rest = np.arange(rows), np.delete(np.arange(rows), whole)
    for way in (everything, everything[::-1], rest, rest[::-1])[: 4 if len(whole) else 2]:
        groups = _groups(values[:, way]) or _nested(values[:, way])
        ends = way[[group[-1] for group in groups]] if groups else whole
        if groups and (not any(names[ends]) or _tell(values[:, way], groups, proven or len(way) < rows)):
            return np.union1d(ends, np.setdiff1d(everything, way))
    return whole


def _tell(values: _Values, groups: list[NDArray[np.int64]], proven: bool) -> bool:
    """Return whether groups whose sums have names are groups: not if they are only pairs of equal rows."""
    several = any(len(group) > 2 for group in groups)
    return several and (proven or _is_proof(values, [group[:-1] for group in groups]))


def _is_proof(values: _Values, groups: list[NDArray[np.int64]]) -> bool:
    """Return whether it is no coincidence that rows are the sums of these groups.

    A group of one row, and one whose rows have equal numbers, tell nothing.
    """
    chances = np.ones(2)
    for group in filter(len, groups):
        differ = np.ptp(values[:, group], axis=1) > 0
        chances *= np.where(differ, 1 + values[:, group].sum(axis=1), 1)
    return bool(chances[0] >= _PROOF_IN_CLICKS and chances.prod() >= _PROOF)


def _groups(values: _Values) -> list[NDArray[np.int64]]:
    """Return groups of rows whose last row is the sum of the others, if all rows form two such groups or more.

    A single row behind the groups may be the sum of all, a group of its own. Of several ways to form groups, one
    without groups of one row is preferred.
    """
    rows = values.shape[1]
    if not 2 < rows <= _MOST_ROWS:
        return []
    so_far = np.concatenate([np.zeros((2, 1)), np.cumsum(values, axis=1)], axis=1)
    before: dict[int, int] = {}
    open_ends, seen = [0], {0}
    while open_ends and rows not in seen:
        begin = open_ends.pop()
        ends = begin + 1 + np.arange(max(0, min(_LARGEST_GROUP, rows - begin - 1)))
        fits = np.isclose(values[:, ends], so_far[:, ends] - so_far[:, begin, None], rtol=1e-12).all(axis=0)
        after = [int(end) + 1 for end in ends[fits] if end + 1 - begin < rows and int(end) + 1 not in seen]
        if begin == rows - 1 and np.allclose(2 * values[:, begin], so_far[:, begin], rtol=1e-12):
            after = [rows]
        before |= dict.fromkeys(after, begin)
        seen.update(after)
        open_ends += sorted(after, key=lambda one: (one != begin + 2, -one))
    return _chain(before, rows) if rows in seen else []


def _nested(values: _Values) -> list[NDArray[np.int64]]:
    """Return groups, the last row of each the sum of those that are in no group yet, if some are groups of groups.

    In the end there are only rows that are sums. A group of one row is the last choice.
    """
    groups: list[NDArray[np.int64]] = []
    ends: set[int] = set()
    single: list[int] = []
    for row in range(values.shape[1] if values.shape[1] <= _MOST_ROWS else 0):
        whole, size = np.zeros(2), 0
        for number, other in enumerate(reversed(single[-_LARGEST_GROUP:]), 1):
            whole += values[:, other]
            if (whole > values[:, row] * (1 + 1e-12)).any():
                break
            size = number if np.allclose(whole, values[:, row], rtol=1e-12) and size < 2 else size
        if size:
            groups.append(np.array([*single[len(single) - size :], row]))
            ends.add(row)
            del single[len(single) - size :]
        single.append(row)
    deep = any(one in ends for group in groups for one in group[:-1].tolist())
    return groups if deep and ends.issuperset(single) else []


def _chain(before: dict[int, int], rows: int) -> list[NDArray[np.int64]]:
    """Return the groups that end with all rows, given where the group before each end begins."""
    groups, end = [], rows
    while end:
        groups.append(np.arange(before[end], end))
        end = before[end]
    return groups[::-1]


def _note(sheet: Sheet, names: NDArray[Any], left_out: _Mask, *, averages: bool) -> str:
    lines = sheet.rows.index[left_out]
    told = [f"{line} ({name or 'without a name'})" for line, name in zip(lines, names[left_out], strict=True)]
    kind = " or an average" if averages else ""
    what = f"is a total{kind} and is" if len(lines) == 1 else f"are totals{kind and ' or averages'} and are"
    return f"line{'s' * (len(lines) > 1)} {listed(told[:5])}{' and others' * (len(lines) > 5)} {what} left out"
