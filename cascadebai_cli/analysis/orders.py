"""Which display orders do as well as Algorithm 1, and which do not (Figures 1 and 4)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import ORDER_COLUMNS, SETTING

CLOSE = 0.05
"""Means that differ by no more than this share count as equal."""
FAR = 2.0
"""From this factor on a mean counts as much worse."""


def orders_table(results: Results) -> pd.DataFrame:
    """`orders.csv`: for each learner but the main one, in how many settings its mean steps are close or far.

    A setting is an instance at one `L, K, delta, epsilon`. Trials that reached the cap count with it, so that
    their learner looks better than it is.
    """
    main = results.main_learner
    joined = _beside_main(results.summary, main)
    others = [name for name in dict.fromkeys(results.summary["learner"]) if name != main]
    rows = [_row(results, name, joined[joined["learner"] == name]) for name in others]
    return pd.DataFrame(rows, columns=list(ORDER_COLUMNS))


def _beside_main(summary: pd.DataFrame, main: str) -> pd.DataFrame:
    base = summary.loc[summary["learner"] == main, [*SETTING, "mean_steps"]]
    return summary.merge(base.rename(columns={"mean_steps": "main_steps"}), on=list(SETTING))


def _row(results: Results, name: str, rows: pd.DataFrame) -> dict[str, Any]:
    ratio = rows["mean_steps"] / rows["main_steps"]
    return {
        "study": results.name,
        "learner": name,
        "compared_with": results.main_learner,
        "settings": len(rows),
        "better": int((ratio < 1 - CLOSE).sum()),
        "within": int(ratio.between(1 - CLOSE, 1 + CLOSE).sum()),
        "worse": int(((ratio > 1 + CLOSE) & (ratio <= FAR)).sum()),
        "much_worse": int((ratio > FAR).sum()),
        "capped": int((rows["n_capped"] > 0).sum()),
        "rows_sha256": results.rows_sha256,
    }


def orders_printed(orders: pd.DataFrame) -> str:
    """One sentence an order.

    Args:
        orders: as from `orders_table`.
    """
    return "\n".join(_sentence(row) for row in orders.to_dict("records"))


def _sentence(row: Mapping[Any, Any]) -> str:
    return (
        f"{row['learner']}: within {100 * CLOSE:g} % of {row['compared_with']} in {row['within']} of "
        f"{row['settings']} settings, better in {row['better']}, worse by up to {FAR:g}x in {row['worse']}, by more "
        f"in {row['much_worse']}; trials reached the cap in {row['capped']}"
    )
