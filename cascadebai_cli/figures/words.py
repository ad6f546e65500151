"""A figure in words: its title, what it shows for readers who do not see it, and what signs in it mean."""

from collections.abc import Iterator, Mapping
from typing import Any

from cascadebai_cli.figures.chart import Chart, Series
from cascadebai_cli.figures.kinds import KINDS
from cascadebai_cli.store.schema import POINT
from cascadebai_cli.text.columns import value_text
from cascadebai_cli.text.numbers import count, digits, number, percent

MOST_NAMED = 12
MEASURES: Mapping[str, tuple[str, str]] = {
    "steps": ("Mean steps", "steps"),
    "observations": ("Mean observations", "observations"),
    "error_rate": ("Share of wrong recommendations", "wrong"),
    "right": ("Mean number of right items", "right items"),
    "steps_per_lower_bound": ("Mean steps over the lower bound", "times the lower bound"),
    "steps_per_sharp_bound": ("Mean steps over the sharp lower bound", "times the sharp lower bound"),
}
"""What is measured -> the same as the beginning of a title, and behind a number."""
SCHEMATIC_TITLE = "The optimal items of each instance behind the lower bound"
SCHEMATIC = (
    "A grid with a row for each instance from 0 to L and a column for each item from 1 to L. Optimal items are green: "
    "items 1 to K in instance 0; in instance l up to K item l is white and item K + 1 green instead; in instance l "
    "above K item l is green and item K white instead."
)


def title_of(chart: Chart | None) -> str:
    """What a figure shows; without a chart it is the schematic."""
    if chart is None:
        return SCHEMATIC_TITLE
    average = chart.plot.average
    return _title(chart) + (f", averaged over {average}, with the intervals of these means" if average else "")


def _title(chart: Chart) -> str:
    fitted = any(series.fit is not None for panel in chart.panels for series in panel.series)
    of = " of each learner" if len(chart.lines) > 1 and not fitted else ""
    title = KINDS[chart.plot.kind].title.format(what=MEASURES[chart.y.column][0], of=of, x=chart.x.column)
    return title + (" with the fitted curve and its 95 % confidence band" if fitted else "")


def alternative(chart: Chart | None) -> str:
    """What a figure shows, in a few sentences with its main numbers."""
    if chart is None:
        return f"{SCHEMATIC_TITLE}. {SCHEMATIC}"
    describe = _groups if KINDS[chart.plot.kind].grouped else _curves
    sentences = list(describe(chart))
    more = [f"And {count(len(sentences) - MOST_NAMED)} more."] if len(sentences) > MOST_NAMED else []
    return " ".join([f"{title_of(chart)}.", *sentences[:MOST_NAMED], *more])


def _curves(chart: Chart) -> Iterator[str]:
    varying = [name for name in POINT[2:] if chart.points[name].nunique() > 1 and name != chart.x.column]
    for panel in chart.panels:
        for series in panel.series:
            ends = series.points.iloc[[0, -1]].to_dict("records")
            values = " to ".join(f"{_value(row, chart)} at {_place(row, chart)}" for row in ends)
            yield f"{_name(series, varying)}: from {values}."


def _groups(chart: Chart) -> Iterator[str]:
    for _, points in chart.points.groupby("x", sort=True):
        means = points.groupby("learner", sort=False)["y"].mean()
        low, high = str(means.idxmin()), str(means.idxmax())
        name = value_text(points[chart.x.column].iloc[0])
        yield (
            f"{name}: fewest {MEASURES[chart.y.column][1]} with {low}, {number(means[low])} on average; "
            f"most with {high}, {number(means[high])}."
        )


def _name(series: Series, varying: list[str]) -> str:
    words = [str(series.points[name].iloc[0]) for name in ("instance", "learner") if _one(series, name)]
    numbers = [f"{name} = {value_text(series.points[name].iloc[0])}" for name in varying if _one(series, name)]
    return ", ".join([*words, *numbers]) or series.label


def _one(series: Series, name: str) -> bool:
    return bool(series.points[name].nunique() == 1)


def _value(row: Mapping[Any, Any], chart: Chart) -> str:
    as_text = {"error_rate": percent, "steps": number, "observations": number}.get(chart.y.column, digits)
    shown = as_text(row["y"])
    limit = "at least " if row["is_limit"] else "at most " if row["is_ceiling"] else ""
    return f"{limit}{shown} {MEASURES[chart.y.column][1]}"


def _place(row: Mapping[Any, Any], chart: Chart) -> str:
    return f"{chart.x.column} = {value_text(row[chart.x.column])}"


def wrong_in_words(chart: Chart) -> str:
    """One sentence that names the points with a cross; empty if there is none."""
    points = chart.points
    wrong = points[points["is_wrong"]].to_dict("records")
    if not wrong:
        return ""
    varying = [name for name in POINT if points[name].nunique() > 1]
    named = "; ".join(_wrong(row, varying) for row in wrong[:MOST_NAMED])
    more = f"; and {count(len(wrong) - MOST_NAMED)} more" if len(wrong) > MOST_NAMED else ""
    return f"a cross marks recommendations that were wrong more often than delta: {named}{more}"


def _wrong(row: Mapping[Any, Any], varying: list[str]) -> str:
    stopped = int(row["n"] - row["n_capped"])
    wrong = row["error_rate"] * stopped
    whole = abs(wrong - round(wrong)) < 1e-6  # the mean of instances with different numbers of trials is no count
    often = f"{round(wrong)} of {stopped}" if whole else percent(row["error_rate"], 1)
    numbers = [f"{name} = {value_text(row[name])}" for name in varying if name not in ("instance", "learner")]
    place = ", ".join([str(row[name]) for name in ("instance", "learner") if name in varying] + numbers)
    return f"{place or row['learner']} ({often})"
