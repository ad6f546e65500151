"""Numbers as spreadsheets write them."""

import re

import numpy as np
import pandas as pd

GAPS = " \u00a0\u202f\u2009'’"
"""Signs between thousands that stand for nothing else."""
GROUPS = {sign: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{sign}\d{{3}})+$") for sign in ",."}
"""Numbers that have a comma, or a point, before every three digits."""
YES = {"1", "1.0", "true", "yes", "y", "t"}
NO = {"0", "0.0", "false", "no", "n", "f"}


def numbers_of(texts: "pd.Series[str]") -> tuple["pd.Series[float]", str | None]:
    """Numbers, NaN for what is none, and a sentence if commas or points were taken for thousands.

    A sign that stands before three digits in every number of the column that has it parts thousands; one that does
    not is the decimal sign. What is left is `float`'s.
    """
    plain = texts.str.translate(dict.fromkeys(map(ord, GAPS)))
    note = None
    for sign, pattern in GROUPS.items():
        having = plain[plain.str.contains(sign, regex=False)]
        if having.empty:
            continue
        grouped = having.str.match(pattern) | having.str.match(r"[-+]?[1-9]\d{0,2}(,\d{3})+\.\d+$")
        if grouped.all():
            plain = plain.str.replace(sign, "", regex=False)
            note = f"{having.iloc[0]} in column {texts.name} is read as {having.iloc[0].replace(sign, '')}"
        elif sign == ",":
            plain = plain.str.replace(",", ".", regex=False)
    return pd.to_numeric(plain.where(~plain.str.contains("_", regex=False)), errors="coerce"), note


def fault_of_number(text: str) -> str:
    """What is wrong with a text that is no number, or none that can be used."""
    if not text:
        return "is empty; write a number"
    if re.fullmatch(r"[-+]?(nan|inf|infinity)", text.lower()) or re.fullmatch(r"[-+]?[\d.]+e\+?\d+", text.lower()):
        return f"{text} is not a finite number; correct or remove the row"
    return f"{text!r} is not a number; write one such as 12 or 0.5"


def clicks_of(texts: "pd.Series[str]") -> "pd.Series[float]":
    """1 for a click, 0 for none, NaN for what is neither."""
    lower = texts.str.lower()
    return pd.Series(np.select([lower.isin(YES), lower.isin(NO)], [1.0, 0.0], np.nan), index=texts.index)
