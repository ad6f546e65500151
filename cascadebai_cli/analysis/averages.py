"""Means over instances that are alike but for one option, such as the draws of a family of random weights."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.intervals import binomial_interval, mean_interval
from cascadebai_cli.store.schema import PLACE
from cascadebai_cli.study.alike import alike


def averaged(results: Results, option: str | None) -> Results:
    """The results with one instance in place of all that differ in an option only; the same ones without an option.

    A cell is then the mean of the means of theirs, each counting once, with the t interval of these means, so that it
    says how far instances differ. The share of errors is the mean of theirs too; its interval is that of as many trials
    of each as the least of them has, which all their trials are where each has the same. Its id is that of all cells,
    with `+`.
    """
    if option is None:
        return results
    families = alike(results.study.instances, option)
    names = {entry.name: name for name, entries in families.items() for entry in entries}
    summary = results.summary.assign(instance=results.summary["instance"].map(lambda name: names.get(name, name)))
    several = {name for name, entries in families.items() if len(entries) > 1}
    rows = list(_rows(summary, several))
    entries = tuple(found[0].model_copy(update={"name": name}) for name, found in families.items())
    study = results.study.model_copy(update={"instances": entries})
    return replace(results, study=study, summary=pd.DataFrame(rows, columns=list(summary)))


def _rows(summary: pd.DataFrame, several: set[str]) -> Iterator[dict[Any, Any]]:
    for point, cells in summary.groupby([name for name in PLACE if name in summary], sort=False):
        yield _mean(cells) if point[0] in several else cells.iloc[0].to_dict()


def _mean(cells: pd.DataFrame) -> dict[Any, Any]:
    """One row for cells that are alike."""
    known = cells[cells["n"] > cells["n_capped"]]
    error_rate = float(known["error_rate"].mean())
    trials = 0 if known.empty else len(known) * int((known["n"] - known["n_capped"]).min())
    low, high = binomial_interval(error_rate * trials, trials)
    return {
        **cells.iloc[0].to_dict(),
        **cells[["w_star", "w_prime", "mean_observations"]].mean().to_dict(),
        **cells[["n", "n_capped"]].sum().to_dict(),
        **_interval(cells["mean_steps"], "mean_steps", "ci"),
        **(_interval(cells["mean_right"], "mean_right", "right") if "mean_right" in cells else {}),
        "cell_id": "+".join(cells["cell_id"]),
        "sd_steps": cells["mean_steps"].std(),
        "se_steps": cells["mean_steps"].sem(),
        "error_rate": error_rate,
        "error_low": low,
        "error_high": high,
    }


def _interval(values: "pd.Series[float]", name: str, ends: str) -> dict[str, float]:
    """The mean of some values under its name, and its interval."""
    mean = mean_interval(np.asarray(values, dtype=np.float64))
    return {name: mean.value, f"{ends}_low": mean.low, f"{ends}_high": mean.high}
