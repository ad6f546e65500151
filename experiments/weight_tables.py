"""Blocks of published_numbers.md on other weights, from results/reference/published_weights."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.fits import fits_table
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.store.columns import MANIFEST
from cascadebai_cli.text import coefficient, count, p_value, share
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, from_csv, plain, table

NAME = "published_weights"
SHOWN_K = (20, 30, 40, 50, 60)
NEAREST = 3
ACCIDENT = 0.02
"""Two means this close on a log scale would count as a match."""


def exponents(solved: pd.DataFrame) -> str:
    """One line an unknown: the exponent that meets the published line, at some `K`."""
    header = ["row", "unknown", "printed x", *(f"x at K = {K}" for K in SHOWN_K), "standard error", "slope on ln K"]
    groups = solved.groupby(["row", "name"], sort=False)
    return table(
        header, [_exponent_line(str(row), str(name), part) for (row, name), part in groups], numbers=3 + len(SHOWN_K)
    )


def _exponent_line(row: str, name: str, part: pd.DataFrame) -> list[str]:
    at = part.set_index("K")["exponent"]
    values = [f"{at[K]:.3f}" if K in at and pd.notna(at[K]) else "none" for K in SHOWN_K]
    known = part.dropna(subset="exponent")
    slope = f"{np.polyfit(np.log(known['K']), known['exponent'], 1)[0]:+.3f}" if len(known) > 2 else ""
    return [row, plain(name), f"{part['printed'].iloc[0]:g}", *values, f"{known['error'].mean():.4f}", slope]


def deviations(solved: pd.DataFrame) -> str:
    """Mean steps with the printed weights over the published line."""
    found = solved.drop_duplicates(["row", "K"]).pivot(index="row", columns="K", values="printed_over_published")
    header = ["row", *(f"K = {K}" for K in found.columns)]
    return table(
        header, [[str(row), *(f"{value:.3f}" for value in found.loc[row])] for row in found.index], len(found.columns)
    )


def nearest_pairs(pairs: pd.DataFrame) -> str:
    """The pairs of simple weights that come nearest to each published line."""
    rows = [line for _, part in pairs.groupby("row", sort=False) for line in _pair_lines(part.head(NEAREST))]
    return table(["row", "w*", "w'", "means over the published line"], rows, numbers=1)


def _pair_lines(part: pd.DataFrame) -> Iterator[list[str]]:
    for one in part.to_dict("records"):
        span = f"{one['smallest_ratio']:.3f} to {one['largest_ratio']:.3f}"
        yield [one["row"], f"`{one['w_star']}`", f"`{one['w_prime']}`", span]


def quoted_pairs(quoted: pd.DataFrame) -> str:
    """The pairs that come nearest to the quoted number, and how many were tried."""
    rows = [
        [
            f"`{one['w_star']}`",
            f"`{one['w_prime']}`",
            *(count(one[n]) for n in ("mean_steps", "sd_steps")),
            f"{one['over_quoted']:.3f}",
        ]
        for one in quoted.head(NEAREST).to_dict("records")
    ]
    return table(["w*", "w'", "mean steps", "sd", "over the quoted mean"], rows, numbers=3)


def tries(quoted: pd.DataFrame) -> str:
    """How many pairs were tried for the quoted number."""
    return str(len(quoted))


def chance(quoted: pd.DataFrame) -> str:
    """How likely some pair would match by accident, were their means spread evenly on a log scale."""
    spread = float(np.log(quoted["mean_steps"].max() / quoted["mean_steps"].min()))
    return f"{100 * min(1.0, len(quoted) * 2 * ACCIDENT / spread):.0f} %"


def places(found: pd.DataFrame) -> str:
    """Mean steps over the published line for each place of the best items."""
    wide = found.pivot(index=["row", "K"], columns="place", values="over_published")
    names = list(dict.fromkeys(found["place"]))
    rows = [[str(row), str(K), *(f"{wide.loc[(row, K), name]:.3f}" for name in names)] for row, K in wide.index]
    return table(["row", "K", *names], rows, numbers=len(names))


def fits() -> str:
    """Fits of the weights that meet the published lines, beside the published coefficients."""
    directory = REFERENCE / NAME
    if not (directory / MANIFEST).exists():
        return NOT_YET
    rows = [line for row in fits_table(load_results(directory)).to_dict("records") for line in _fit_lines(row)]
    return table(["weights", "", "c1", "c2", "R²", "p-value"], rows, numbers=4)


def _fit_lines(row: Mapping[Any, Any]) -> Iterator[list[str]]:
    for label, start in (("here", ""), ("published", "published_")):
        numbers = [coefficient(row[f"{start}c1"]), coefficient(row[f"{start}c2"]), share(row[f"{start}r2"])]
        yield [plain(row["instance"]) if not start else "", label, *numbers, p_value(row[f"{start}p_value"])]


def _file(name: str, block: Callable[[pd.DataFrame], str]) -> Callable[[], str]:
    return from_csv(REFERENCE / NAME / f"{name}.csv", block)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "weights-exponents": _file("solved", exponents),
    "weights-deviations": _file("solved", deviations),
    "weights-pairs": _file("pairs", nearest_pairs),
    "weights-quoted": _file("quoted", quoted_pairs),
    "weights-tries": _file("quoted", tries),
    "weights-chance": _file("quoted", chance),
    "weights-places": _file("places", places),
    "weights-fits": fits,
}
