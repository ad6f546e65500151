"""Blocks of published_numbers.md, from results/reference/published_weights and published_rewards."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.analysis.curves import MODELS
from cascadebai_cli.analysis.fits import fits_table
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.store.columns import MANIFEST
from cascadebai_cli.text import change, coefficient, count, difference, p_value, share
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, from_csv, plain, table
from experiments.published_weights import published_lines

# --- Other weights --------------------------------------------------------------------------------------------------

WEIGHTS = "published_weights"
SHOWN_K = (20, 30, 40, 50, 60)
NEAREST_PAIRS = 3
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
    rows = [line for _, part in pairs.groupby("row", sort=False) for line in _pair_lines(part.head(NEAREST_PAIRS))]
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
        for one in quoted.head(NEAREST_PAIRS).to_dict("records")
    ]
    return table(["w*", "w'", "mean steps", "sd", "over the quoted mean"], rows, numbers=3)


def weight_tries(quoted: pd.DataFrame) -> str:
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


def weight_fits() -> str:
    """Fits of the weights that meet the published lines, beside the published coefficients."""
    directory = REFERENCE / WEIGHTS
    if not (directory / MANIFEST).exists():
        return NOT_YET
    rows = [line for row in fits_table(load_results(directory)).to_dict("records") for line in _weight_fit_lines(row)]
    return table(["weights", "", "c1", "c2", "R²", "p-value"], rows, numbers=4)


def _weight_fit_lines(row: Mapping[Any, Any]) -> Iterator[list[str]]:
    for label, start in (("here", ""), ("published", "published_")):
        numbers = [coefficient(row[f"{start}c1"]), coefficient(row[f"{start}c2"]), share(row[f"{start}r2"])]
        yield [plain(row["instance"]) if not start else "", label, *numbers, p_value(row[f"{start}p_value"])]


def _of_weights(name: str, block: Callable[[pd.DataFrame], str]) -> Callable[[], str]:
    return from_csv(REFERENCE / WEIGHTS / f"{name}.csv", block)


# --- Rewards that are read again ------------------------------------------------------------------------------------

REWARDS = "published_rewards"
INDEPENDENT, REUSE = "independent", "used again"
NEAREST = 5
CAPPED = "never ended"

Row = Mapping[Any, Any]


@cache
def _results(name: str) -> StudyResults | None:
    directory = REFERENCE / name
    return load_results(directory) if (directory / "manifest.json").exists() else None


def _both(block: Callable[[StudyResults, StudyResults], str]) -> Callable[[], str]:
    """A block from the results with independent rewards and those with a table that is used again."""

    def written() -> str:
        independent, reuse = _results("table1"), _results(REWARDS)
        return block(independent, reuse) if independent and reuse else NOT_YET

    return written


def _fits(*found: StudyResults) -> Iterator[tuple[Row, ...]]:
    """The fits of one row of Table 2 after the other."""
    tables = [fits_table(results).set_index("instance", drop=False) for results in found]
    for name in tables[0].index:
        yield tuple(part.loc[name].to_dict() for part in tables)


def fits(independent: StudyResults, reuse: StudyResults) -> str:
    """Three lines a row: independent, with a table that is used again, published."""
    rows: list[list[str]] = []
    for one, other in _fits(independent, reuse):
        rows.append([one["instance"], INDEPENDENT, *_estimates(one)])
        rows.append(["", REUSE, *_estimates(other)])
        rows.append(["", "published", *_estimates({name: one[f"published_{name}"] for name in ESTIMATES})])
    return table(["row", "rewards", "c1", "c2", "R²", "p-value"], rows, numbers=4)


ESTIMATES = ("c1", "c2", "r2", "p_value")


def _estimates(fit: Row) -> list[str]:
    return [coefficient(fit["c1"]), coefficient(fit["c2"]), share(fit["r2"]), p_value(fit["p_value"])]


def distances(independent: StudyResults, reuse: StudyResults) -> str:
    """How far each fit is from the published one, in standard errors, and how much more it scatters."""
    header = ["row", "rewards"]
    for what in ("c1", "c2", "level"):
        header += [f"{what} differs by", "errors"]
    rows = []
    for pair in _fits(independent, reuse):
        for label, fit, results in zip((INDEPENDENT, REUSE), pair, (independent, reuse), strict=True):
            cells = results.summary[results.summary["instance"] == fit["instance"]]
            numbers = list(_apart(fit, cells["K"].to_numpy(float)))
            scatter = (1 - fit["r2"]) / (1 - fit["published_r2"])
            rows.append([fit["instance"] if label == INDEPENDENT else "", label, *numbers, f"{scatter:.2f}"])
    return table([*header, "1 - R² over published"], rows, numbers=7)


def _apart(fit: Row, K: NDArray[np.float64]) -> Iterator[str]:
    """Differences of c1, c2 and the level in the middle of the grid from the published line, each in standard errors.

    An error is that of a difference. The published ones follow from c1, R² and the 41 points.
    """
    x, ours = MODELS[fit["model"]](np.arange(20.0, 61.0)), MODELS[fit["model"]](K)
    error = fit["published_c1"] * math.sqrt((1 / fit["published_r2"] - 1) / (len(x) - 2))
    for at, name in ((None, "c1"), (0.0, "c2"), (x.mean(), "level")):
        if at is None:
            apart, errors = fit["c1"] - fit["published_c1"], math.hypot(error, fit["c1_se"])
            yield difference(fit["c1"], fit["published_c1"])
        else:
            line = fit["published_c1"] * at + fit["published_c2"]
            apart = fit["c1"] * at + fit["c2"] - line
            errors = math.hypot(_error_at(at, x, error), _error_at(at, ours, fit["c1_se"]))
            yield f"{apart:+,.0f}" if name == "c2" else change(apart / line)
        yield f"{apart / errors:+.1f}"


def _error_at(at: float, x: NDArray[np.float64], slope_error: float) -> float:
    """Standard error of a fitted line at one place, from that of its slope."""
    spread = ((x - x.mean()) ** 2).sum()
    return slope_error * math.sqrt(spread / len(x) + (at - x.mean()) ** 2)


def _at_shown(results: StudyResults, column: str) -> pd.DataFrame:
    return results.summary.pivot(index="instance", columns="K", values=column)[list(SHOWN_K)]


def means(independent: StudyResults, reuse: StudyResults) -> str:
    """Mean steps over the published line at some `K`, and what is left of it."""
    rows = []
    for name, line in published_lines().items():
        published = np.array([line(K) for K in SHOWN_K])
        for label, results in ((INDEPENDENT, independent), (REUSE, reuse)):
            over = _at_shown(results, "mean_steps").loc[name].to_numpy() / published
            rows.append([name if label == INDEPENDENT else "", label, *(f"{value:.3f}" for value in over)])
    return table(["row", "rewards", *(f"K = {K}" for K in SHOWN_K)], rows, numbers=len(SHOWN_K))


def left(_: StudyResults, reuse: StudyResults) -> str:
    """Steps by which the means stay below the published line."""
    rows = []
    for name in ("setting 1", "setting 2", "setting 4"):
        line = published_lines()[name]
        missing = np.array([line(K) for K in SHOWN_K]) - _at_shown(reuse, "mean_steps").loc[name].to_numpy()
        rows.append([name, *(f"{value:,.0f}" for value in missing)])
    return table(["published line less our mean, in steps", *(f"K = {K}" for K in SHOWN_K)], rows, len(SHOWN_K))


def scatter(independent: StudyResults, reuse: StudyResults) -> str:
    """Standard deviation of one trial over its mean, in the mean over all `K`."""
    rows = []
    for name in published_lines():
        parts = [results.summary[results.summary["instance"] == name] for results in (independent, reuse)]
        spreads = [float((part["sd_steps"] / part["mean_steps"]).mean()) for part in parts]
        rows.append([name, *(f"{100 * value:.1f} %" for value in spreads), f"{spreads[1] / spreads[0]:.2f}"])
    return table(["standard deviation of one trial", INDEPENDENT, REUSE, "times"], rows, numbers=3)


def slopes(independent: StudyResults, reuse: StudyResults) -> str:
    """`row 4 from -15.3 to -1.0 %`: what a table that is used again makes of the slopes that do not agree."""
    parts = []
    for one, other in _fits(independent, reuse):
        number = one["instance"].split()[-1]
        if number in "124":
            before, after = (difference(fit["c1"], fit["published_c1"]) for fit in (one, other))
            parts.append(f"row {number} from {before} to {after}")
    return ", ".join(parts)


def sizes(found: pd.DataFrame) -> str:
    """Mean steps over the published line by rows of the table."""
    wide = found.pivot(index=["row", "K"], columns="rows", values="over_published")
    rows = [[str(row), str(K), *(f"{value:.3f}" for value in wide.loc[(row, K)])] for row, K in wide.index]
    return table(["row", "K", *(f"{size:,}" for size in wide.columns)], rows, numbers=len(wide.columns))


def changes(found: pd.DataFrame) -> str:
    """Mean steps over the published line, the line through them, and the scatter of one trial."""
    groups = found.groupby(["change", "row"], sort=False)
    header = ["change", "row", "K = 20", "K = 40", "K = 60", "c1", "c2", "sd of a trial"]
    return table(header, [_changed(str(name), str(row), part) for (name, row), part in groups], numbers=6)


def _changed(name: str, row: str, part: pd.DataFrame) -> list[str]:
    at = {one["K"]: one for one in part.to_dict("records")}
    over = [_over(at[K]) if K in at else "" for K in (20, 40, 60)]
    line = ["", ""]
    if len(part) > 2 and not part["capped"].any():
        model = MODELS["K^2" if row == "setting 2" else "K"]
        line = [f"{value:,.0f}" for value in np.polyfit(model(part["K"].to_numpy(float)), part["mean_steps"], 1)]
    spread = (part["sd_steps"] / part["mean_steps"]).mean()
    known = pd.notna(spread) and not part["capped"].any()
    return [f"`{name}`" if "*" in name else name, row, *over, *line, f"{100 * spread:.1f} %" if known else ""]


def _over(cell: Row) -> str:
    if cell["capped"] == cell["trials"]:
        return CAPPED
    return f"{cell['over_published']:.3f} ± {cell['error']:.3f}"


def quoted(found: pd.DataFrame) -> str:
    """The tries that come nearest to the quoted number."""
    near = found.assign(apart=np.abs(np.log(found["over_quoted"]))).sort_values("apart", kind="stable").head(NEAREST)
    rows = [
        [
            *(f"`{one[name]}`" for name in ("w_star", "w_prime")),
            f"{one['rows']:,}",
            *(count(one[name]) for name in ("mean_steps", "sd_steps")),
            f"{one['over_quoted']:.3f}",
            f"{one['capped']:.0f} of {one['trials']:.0f}",
        ]
        for one in near.to_dict("records")
    ]
    header = ["w*", "w'", "rows of the table", "mean steps", "sd", "over the quoted mean", "stopped by the cap"]
    return table(header, rows, numbers=5)


def tries(found: pd.DataFrame) -> str:
    """How many pairs and tables were tried for the quoted number."""
    return str(len(found))


def lesson(found: pd.DataFrame) -> str:
    """How much a table that is used again bends a stopping time, by its rows."""
    rows = []
    for one in found.to_dict("records"):
        laps = one["over_independent"] * one["independent_mean"] / one["rows"]
        numbers = [f"{laps:,.1f}", f"{one['over_independent']:.3f} ± {one['error']:.3f}"]
        numbers += [f"{one['sd_over_independent']:.1f}", f"{one['wrong']:.0f} of {one['trials']:.0f}"]
        rows.append([one["row"], f"{one['rows']:,}", *numbers])
    header = ["row, K = 20", "rows of the table", "times round", "mean over independent", "sd over independent"]
    return table([*header, "wrong"], rows, numbers=5)


def _of_rewards(name: str, block: Callable[[pd.DataFrame], str]) -> Callable[[], str]:
    return from_csv(REFERENCE / REWARDS / f"{name}.csv", block)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "weights-exponents": _of_weights("solved", exponents),
    "weights-deviations": _of_weights("solved", deviations),
    "weights-pairs": _of_weights("pairs", nearest_pairs),
    "weights-quoted": _of_weights("quoted", quoted_pairs),
    "weights-tries": _of_weights("quoted", weight_tries),
    "weights-chance": _of_weights("quoted", chance),
    "weights-places": _of_weights("places", places),
    "weights-fits": weight_fits,
    "rewards-fits": _both(fits),
    "rewards-distances": _both(distances),
    "rewards-means": _both(means),
    "rewards-left": _both(left),
    "rewards-scatter": _both(scatter),
    "rewards-slopes": _both(slopes),
    "rewards-sizes": _of_rewards("sizes", sizes),
    "rewards-changes": _of_rewards("changes", changes),
    "rewards-quoted": _of_rewards("quoted", quoted),
    "rewards-tries": _of_rewards("quoted", tries),
    "rewards-lesson": _of_rewards("lesson", lesson),
}
