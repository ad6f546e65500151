"""Bounds and measured steps of many cells side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.feedback import CASCADING, Feedback
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import POINT, SUMMARY_CSV
from cascadebai_cli.study.instances import TwoLevel
from cascadebai_cli.study.learners import LearnerEntry
from cascadebai_cli.text.numbers import NO_NUMBER, is_missing, number
from cascadebai_cli.text.table import Table
from cascadebai_cli.theory.cell import CellBounds, cell_bounds
from cascadebai_cli.theory.lower import lower_bound
from cascadebai_cli.theory.quantities import PRINTED_CONSTANT, exact_constant
from cascadebai_cli.theory.two_level import two_level_instance

Row = dict[str, Any]

MEASURED = ("n", "mean_steps", "n_capped")


def bounds_row(bounds: CellBounds) -> Row:
    """The bounds of a cell as columns; `None` where there is no bound."""
    best = bounds.upper
    return {
        "lower": bounds.lower,
        "upper": best.steps if best else None,
        "source": best.source if best else None,
        "dominating": best.dominating if best else None,
        "upper_general": bounds.general.steps if bounds.general else None,
        "dominating_general": bounds.general.dominating if bounds.general else None,
        "upper_two_level": bounds.two_level.steps if bounds.two_level else None,
    }


def with_measured(bounds: pd.DataFrame, summary: pd.DataFrame | None) -> pd.DataFrame:
    """Add the measured mean of each cell and its ratios to both bounds.

    Args:
        bounds: one row a cell, with `cell_id`, `lower` and `upper`.
        summary: columns `cell_id` and `MEASURED`, as in `summary.csv`; cells that are not in it get no value.
    """
    source = pd.DataFrame(columns=["cell_id", *MEASURED]) if summary is None else summary
    table = bounds.merge(source[["cell_id", *MEASURED]], on="cell_id", how="left")
    numbers = table[["lower", "upper", "mean_steps"]].astype(float)
    table["measured_over_lower"] = numbers["mean_steps"] / numbers["lower"].where(numbers["lower"] != 0)
    table["upper_over_measured"] = numbers["upper"] / numbers["mean_steps"].where(numbers["mean_steps"] != 0)
    return table.astype({"upper": float, "mean_steps": float, "upper_general": float, "upper_two_level": float})


def outside(table: pd.DataFrame) -> list[str]:
    """One sentence for each cell whose measured mean is not between its bounds; a capped mean is only too small."""
    low = (table["mean_steps"] < table["lower"]) & (table["n_capped"] == 0)
    high = table["mean_steps"] > table["upper"]
    return [
        f"{row['instance']}, {row['learner']}, K = {row['K']}: the measured mean {number(row['mean_steps'])} is not "
        f"between the bounds {number(row['lower'])} and {number(row['upper'])}"
        for row in table[low | high].to_dict("records")
    ]


def bounds_of_results(results: Results) -> pd.DataFrame:
    """`summary.csv` of the two-level instances with their bounds, one row a cell; empty if there are none.

    A summary keeps the extreme weights only, which are all weights of a two-level instance.
    """
    rows = list(_rows_of_results(results))
    return with_measured(pd.DataFrame(rows), results.summary) if rows else pd.DataFrame()


def _rows_of_results(results: Results) -> Iterator[Row]:
    for cell in results.summary.to_dict("records"):
        learner = results.learners.get(cell["learner"])
        if learner and isinstance(results.instances.get(cell["instance"]), TwoLevel):
            yield {name: cell[name] for name in ("cell_id", *POINT)} | bounds_row(_bounds(results, cell, learner))


def _bounds(results: Results, cell: Mapping[Any, Any], learner: LearnerEntry) -> CellBounds:
    try:
        instance = two_level_instance(cell["L"], cell["K"], cell["w_star"], cell["w_prime"], cell["epsilon"])
    except ConfigError as error:
        raise ConfigError(f"{results.directory / SUMMARY_CSV}: {cell['instance']}: {error}") from error
    feedback = results.study.feedback_of(learner)
    return learner_bounds(instance, cell["delta"], learner.algorithm, learner.spec.options, feedback)


def learner_bounds(
    instance: Instance,
    delta: float,
    algorithm: str,
    options: Mapping[str, Any],
    feedback: Feedback = CASCADING,
    *,
    printed: bool = False,
) -> CellBounds:
    """Bounds for a learner of a config; only Algorithm 1 on cascading feedback has upper ones.

    Args:
        instance: the instance.
        delta: risk.
        algorithm: name of the algorithm.
        options: its options; `sigma` sets the constant of `T-bar`.
        feedback: what is observed of a list; of a list that does not end at the first click, all of it at most.
        printed: take the constant 216 as printed, instead of `256 sigma^2`.
    """
    spec = LearnerSpec(algorithm, options)
    if not spec.is_algorithm_1 or not feedback.ends_at_click:
        M = spec.most_shown(instance.K)
        return CellBounds(lower_bound(instance, delta, semi_bandit=not feedback.ends_at_click, M=M))
    constant = PRINTED_CONSTANT if printed else exact_constant(options.get("sigma", 0.5))
    return cell_bounds(instance, delta, constant)


def bounds_printed(table: pd.DataFrame) -> Table:
    """The table to print; of the names and sizes only those that tell the cells apart, and `K`."""
    names = names_of(table, POINT, always=("K",))
    sharp = {"sharp": "sharp", "measured_over_sharp": "measured/sharp"} if "sharp" in table else {}
    header = ["lower", "measured", "upper", "measured/lower", "upper/measured", "dominating", "source"]
    rows = [
        [*names.texts(row), *(number(row[name]) for name in sharp), *_line(row)] for row in table.to_dict("records")
    ]
    return names.table([*sharp.values(), *header], rows)


def _line(row: Mapping[Any, Any]) -> list[str]:
    at_least = ">= " if row["n_capped"] > 0 else ""
    return [
        number(row["lower"]),
        at_least + number(row["mean_steps"]),
        number(row["upper"]),
        number(row["measured_over_lower"]),
        number(row["upper_over_measured"]),
        *(NO_NUMBER if is_missing(row[name]) else row[name] for name in ("dominating", "source")),
    ]
