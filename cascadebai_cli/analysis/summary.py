"""One row a cell: how many steps, how sure, how often wrong."""

from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.intervals import binomial_interval, t_quantile

CELL = ["cell_id", "study", "instance", "learner", "L", "K", "w_star", "w_prime", "delta", "epsilon"]
STATISTICS = [
    "n",
    "mean_steps",
    "sd_steps",
    "se_steps",
    "ci_low",
    "ci_high",
    "mean_observations",
    "n_capped",
    "error_rate",
    "error_low",
    "error_high",
]


def read_trials(path: Path) -> pd.DataFrame:
    """`trials.csv` as it was written: names stay text, `correct` is missing for capped trials."""
    names = dict.fromkeys(["cell_id", "study", "instance", "learner", "status"], str)
    return pd.read_csv(
        path,
        dtype={**names, "correct": "Int8"},
        keep_default_na=False,
        na_values={"correct": [""]},
    )


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Statistics of each cell, in the order in which the cells appear.

    Steps of capped trials count with the cap; the error rate is that of the trials that stopped. Intervals are
    95 %: t for the mean, exact binomial for the error rate.

    Args:
        trials: as `trials.csv`.

    Returns:
        the columns `CELL` and `STATISTICS`.
    """
    groups = trials.groupby("cell_id", sort=False)
    rows = [{**part.iloc[0][CELL].to_dict(), **_statistics(part)} for _, part in groups]
    return pd.DataFrame(rows, columns=[*CELL, *STATISTICS])


def _statistics(part: pd.DataFrame) -> dict[str, Any]:
    n, steps = len(part), part["steps"].astype(float)
    mean, sd = float(steps.mean()), float(steps.std(ddof=1))
    se = sd / n**0.5
    half = t_quantile(n) * se
    return {
        "n": n,
        "mean_steps": mean,
        "sd_steps": sd,
        "se_steps": se,
        "ci_low": mean - half,
        "ci_high": mean + half,
        "mean_observations": float(part["observations"].mean()),
        "n_capped": int((part["status"] == "capped").sum()),
        **_errors(part),
    }


def _errors(part: pd.DataFrame) -> dict[str, float]:
    stopped = part[part["status"] == "stopped"]
    n, wrong = len(stopped), int((stopped["correct"] == 0).sum())
    low, high = binomial_interval(wrong, n)
    return {"error_rate": wrong / n if n else float("nan"), "error_low": low, "error_high": high}
