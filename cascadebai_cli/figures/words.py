"""What the signs in a figure mean, point by point: for its caption."""

from collections.abc import Mapping
from typing import Any

from cascadebai_cli.figures.chart import Chart
from cascadebai_cli.store.schema import POINT
from cascadebai_cli.text.numbers import count, parameter

MOST_NAMED = 12


def wrong_in_words(chart: Chart) -> str:
    """One sentence that names the points with a cross; empty if there is none."""
    points = chart.points
    wrong = points[points["is_wrong"]].to_dict("records")
    if not wrong:
        return ""
    varying = [name for name in POINT if points[name].nunique() > 1]
    named = "; ".join(_named(row, varying) for row in wrong[:MOST_NAMED])
    more = f"; and {count(len(wrong) - MOST_NAMED)} more" if len(wrong) > MOST_NAMED else ""
    return f"a cross marks recommendations that were wrong more often than delta: {named}{more}"


def _named(row: Mapping[Any, Any], varying: list[str]) -> str:
    stopped = int(row["n"] - row["n_capped"])
    wrong = round(row["error_rate"] * stopped)
    numbers = [f"{name} = {parameter(row[name])}" for name in varying if name not in ("instance", "learner")]
    place = ", ".join([str(row[name]) for name in ("instance", "learner") if name in varying] + numbers)
    return f"{place or row['learner']} ({wrong} of {stopped})"
