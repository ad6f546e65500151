"""Which columns of somebody's file are items, clicks and views, or rates."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.click_rates import ClickRateFile, read_click_rates
from cascadebai_cli.study.fields import is_one_line

CLICKS = re.compile(r"click|success|hit|conver|funny|like", re.IGNORECASE)
VIEWS = re.compile(r"view|impression|shown|serve|rating|trial|total", re.IGNORECASE)
RATE = re.compile(r"rate|ctr|prob|weight", re.IGNORECASE)
ITEM = re.compile(r"item|name|id$|^id|title|ad$|^ad", re.IGNORECASE)
UNNAMED = "Unnamed: "
"""What pandas calls a column without a name, such as an index."""


def guessed(path: Path) -> ClickRateFile:
    """The file with the columns that fit best by their names and values.

    Raises:
        ConfigError: if it cannot be read, or no column can hold clicks or rates.
    """
    table = _table(path)
    numbers = table.apply(pd.to_numeric, errors="coerce").dropna(axis=1)
    item = _item(table)
    counts = numbers[[name for name in numbers if name != item and (numbers[name] >= 0).all()]]
    rates = [name for name in counts if (counts[name] <= 1).all()]
    pair = _pair(counts.drop(columns=rates))
    item = item and item.strip()  # as a config reads the header
    if pair:
        return ClickRateFile(path, clicks=pair[0].strip(), views=pair[1].strip(), item=item)
    if len(table.columns) == 1:
        read_click_rates(ClickRateFile(path, rate=str(table.columns[0])))  # which says what separates the columns
    rate = next((name for name in rates if RATE.search(name)), rates[0] if rates else None)
    if rate is None:
        raise ConfigError(
            f"{path}: no two columns can be clicks and views, and none a rate; "
            "give a file with a row an item and such columns"
        )
    return ClickRateFile(path, rate=rate.strip(), item=item)


def _table(path: Path) -> pd.DataFrame:
    """The columns that a config can name."""
    try:
        table = pd.read_csv(path, dtype=str, skipinitialspace=True)
    except FileNotFoundError:
        raise ConfigError(f"--from {path}: there is no such file; name a CSV file with a row an item") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"--from {path}: cannot be read ({reason}); name a CSV file with a row an item") from None
    return table[[name for name in map(str, table) if is_one_line(name.strip()) and not name.startswith(UNNAMED)]]


def _item(table: pd.DataFrame) -> str | None:
    """A column of names that are all there and all different: one that is called so, else the first one."""
    distinct = [str(name) for name in table if table[name].notna().all() and table[name].is_unique]
    words = [name for name in distinct if pd.to_numeric(table[name], errors="coerce").isna().any()]
    return next((name for name in distinct if ITEM.search(name)), words[0] if words else None)


def _pair(counts: pd.DataFrame) -> tuple[str, str] | None:
    """Columns of clicks and of views, of which there are as many or more in each row."""
    by_total = counts.sum().sort_values(ascending=False).index
    for views in sorted(map(str, by_total), key=lambda name: not VIEWS.search(name)):
        fitting = [str(name) for name in counts if name != views and (counts[name] <= counts[views]).all()]
        if fitting and (counts[views] > 0).all():
            return next((name for name in fitting if CLICKS.search(name)), fitting[0]), views
    return None


def clearest_K(weights: np.ndarray, most: int = 10) -> int:
    """The number of best items, up to `most`, that are told apart from the others by the largest gap.

    Raises:
        ConfigError: if all items are alike.
    """
    gaps = -np.diff(np.sort(weights)[::-1])[:most]
    if gaps.max() <= 0:
        raise ConfigError("the best items have the same rate; there is no set of them to find")
    return int(gaps.argmax()) + 1
