"""Figures in words, for readers who do not see them."""

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from cascadebai_cli.analysis.provenance import spans
from cascadebai_cli.store.directory import Results
from cascadebai_cli.text.numbers import number

TITLES: Mapping[str, str] = {
    "scaling": "Mean steps against K with the fitted curve and its 95 % confidence band",
    "curves": "Mean steps of each learner against K",
    "bars": "Mean steps of each learner, a group of bars for each instance",
    "bounds": "Measured mean steps between the lower and the upper bound, against K",
    "schematic": "The optimal items of each instance behind the lower bound",
}
"""Kind of a figure -> what it shows."""

SCHEMATIC = (
    "A grid with a row for each instance from 0 to L and a column for each item from 1 to L. Optimal items are green: "
    "items 1 to K in instance 0; in instance l up to K item l is white and item K + 1 green instead; in instance l "
    "above K item l is green and item K white instead."
)


def alternative(results: Results, kind: str) -> str:
    """What a figure shows, in a few sentences with its main numbers."""
    if kind == "schematic":
        return SCHEMATIC
    describe: Callable[[pd.DataFrame], Iterator[str]] = _bars if kind == "bars" else _curves
    if kind == "bounds":
        describe = _curves
    return f"{TITLES.get(kind, results.name)}. " + " ".join(describe(results.summary))


def _curves(summary: pd.DataFrame) -> Iterator[str]:
    for (instance, learner), part in summary.groupby(["instance", "learner"], sort=False):
        ends = part.sort_values("K").iloc[[0, -1]]
        values = [f"{number(row['mean_steps'])} steps at K = {row['K']}" for row in ends.to_dict("records")]
        yield f"{instance}, {learner}: from {' to '.join(values)}."


def _bars(summary: pd.DataFrame) -> Iterator[str]:
    for instance, part in summary.groupby("instance", sort=False):
        means = part.groupby("learner", sort=False)["mean_steps"].mean()
        low, high = str(means.idxmin()), str(means.idxmax())
        sizes = f"L = {spans(part['L'].unique().tolist())}, K = {spans(part['K'].unique().tolist())}"
        yield (
            f"{instance} ({sizes}): fewest steps with {low}, {number(means[low])} on average; "
            f"most with {high}, {number(means[high])}."
        )
