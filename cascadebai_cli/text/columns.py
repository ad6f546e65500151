"""Names of columns and values of tables, as a reader wants to see them."""

from types import MappingProxyType
from typing import Any

from cascadebai_cli.text.numbers import (
    NO_NUMBER,
    coefficient,
    count,
    digits,
    exponent,
    is_missing,
    p_value,
    parameter,
    share,
)

HEADINGS = MappingProxyType(
    {
        "n": "trials",
        "mean_steps": "mean steps",
        "sd_steps": "sd",
        "ci_low": "95 % from",
        "ci_high": "95 % to",
        "n_capped": "capped",
        "lower": "lower bound",
        "upper": "upper bound",
        "upper_over_measured": "upper bound / mean",
        "c1_se": "se of c1",
        "c2_se": "se of c2",
        "r2": "R²",
        "p_value": "p-value",
        "published_c1": "c1 published",
        "published_c2": "c2 published",
        "published_r2": "R² published",
        "published_p_value": "p-value published",
        "n_points": "points",
        "best_model": "smallest AIC",
        "loglog_slope": "log-log slope",
        "loglog_low": "slope 95 % from",
        "loglog_high": "slope 95 % to",
        "bound_c1": "c1 of the upper bound",
        "bound_c2": "c2 of the upper bound",
        "bound_r2": "R² of the upper bound",
        "bound_over_measured": "c1 of the bound / c1",
        "other": "compared with",
        "compared_with": "compared with",
        "ratio_low": "ratio 95 % from",
        "ratio_high": "ratio 95 % to",
        "much_worse": "much worse",
        "mean_seconds": "seconds a trial",
    }
)
"""Column of a file -> heading; every other column is its own heading."""

_FORMATS = MappingProxyType(
    {
        **dict.fromkeys(("r2", "bound_r2", "published_r2"), share),
        **dict.fromkeys(("p_value", "published_p_value"), p_value),
        **{f"{start}{name}": coefficient for start in ("", "published_", "bound_") for name in ("c1", "c2")},
        **dict.fromkeys(("c1_se", "c2_se"), coefficient),
        **dict.fromkeys(("delta", "epsilon"), parameter),
        **dict.fromkeys(("loglog_slope", "loglog_low", "loglog_high"), exponent),
    }
)


WORDS = ("study", "instance", "learner", "other", "model", "x")
"""Columns of names, which are set flush left."""


def value_text(value: Any) -> str:
    """A name or a number of the grid; a dash where there is none."""
    if isinstance(value, str):
        return value
    return NO_NUMBER if is_missing(value) else parameter(value)


def heading(column: str) -> str:
    """Heading of a column."""
    return HEADINGS.get(column, column)


def cell_text(column: str, value: Any) -> str:
    """A value as text; a dash where there is none."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return NO_NUMBER
    if column in _FORMATS:
        return _FORMATS[column](value)
    return count(value) if float(value).is_integer() or abs(value) >= 1000 else digits(value)
