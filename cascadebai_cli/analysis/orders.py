"""Which display orders do as well as Algorithm 1, and which do not (Figures 1 and 4)."""

from typing import Any

import pandas as pd

from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import ORDER_COLUMNS, SETTING
from cascadebai_cli.text.table import Table, noted, table_of

CLOSE = 0.05
"""Means that differ by no more than this share count as equal."""
FAR = 2.0
"""From this factor on a mean counts as much worse."""
KINDS = ("better", "within", "worse", "much_worse")
"""Columns that count settings by how far the means are."""


def orders_table(results: Results) -> pd.DataFrame:
    """`orders.csv`: for each learner but the main one, in how many settings its mean steps are close or far.

    A setting is an instance at one `L, K, delta, epsilon`. A mean with trials that reached the cap is a lower limit: a
    setting counts only where that leaves no doubt.
    """
    main = results.main_learner
    joined = _beside_main(results.summary, main)
    others = [name for name in dict.fromkeys(results.summary["learner"]) if name != main]
    rows = [_row(results, name, joined[joined["learner"] == name]) for name in others]
    return pd.DataFrame(rows, columns=list(ORDER_COLUMNS))


def _beside_main(summary: pd.DataFrame, main: str) -> pd.DataFrame:
    base = summary.loc[summary["learner"] == main, [*SETTING, "mean_steps", "n_capped"]]
    return summary.merge(base.rename(columns={"mean_steps": "main_steps", "n_capped": "main_capped"}), on=list(SETTING))


def _row(results: Results, name: str, rows: pd.DataFrame) -> dict[str, Any]:
    ratio = rows["mean_steps"] / rows["main_steps"]
    known, main_known = rows["n_capped"] == 0, rows["main_capped"] == 0
    return {
        "study": results.name,
        "learner": name,
        "compared_with": results.main_learner,
        "settings": len(rows),
        "better": int((known & (ratio < 1 - CLOSE)).sum()),
        "within": int((known & main_known & ratio.between(1 - CLOSE, 1 + CLOSE)).sum()),
        "worse": int((known & main_known & (ratio > 1 + CLOSE) & (ratio <= FAR)).sum()),
        "much_worse": int((main_known & (ratio > FAR)).sum()),
        "capped": int((rows["n_capped"] > 0).sum()),
        "rows_sha256": results.rows_sha256,
    }


def orders_printed(orders: pd.DataFrame) -> Table:
    """How many settings there are of each kind, a line an order; "not known" if limits leave it open somewhere.

    Args:
        orders: as from `orders_table`.
    """
    close = f"{100 * CLOSE:g} %"
    header = ["learner", f"better by {close}", f"within {close}", f"worse up to {FAR:g}x", "worse than that"]
    unknown = orders["settings"] - orders[list(KINDS)].sum(axis=1)
    columns = [*KINDS, *(["unknown"] if unknown.any() else []), "capped"]
    header += [*(["not known"] if unknown.any() else []), "capped"]
    rows = orders.assign(unknown=unknown).to_dict("records")
    lines = [[row["learner"], *(str(row[name]) for name in columns)] for row in rows]
    compared, settings = orders["compared_with"].iloc[0], orders["settings"].iloc[0]
    above = f"settings, out of {settings}, in which the mean steps are so far from those of {compared}"
    return noted(table_of(header, lines), above)
