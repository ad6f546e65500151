"""Figures as `cascadebai plot` draws them, without the files."""

from typing import Any

from matplotlib.figure import Figure

from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.figures.labels import Chart
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import chart, drawing


def words(results: StudyResults, said: dict[str, Any]) -> Plot:
    """The words of a study with others over them."""
    return Plot(**{**results.study.plot.model_dump(), **said})


def pages(*studies: StudyResults, **said: Any) -> list[Figure]:
    """The pages of a figure."""
    return list(drawing(studies, words(studies[0], said)).pages)


def figure(*studies: StudyResults, **said: Any) -> Figure:
    """The only page of a figure."""
    (page,) = pages(*studies, **said)
    return page


def data(*studies: StudyResults, **said: Any) -> Chart:
    """What a figure shows."""
    return chart(studies, words(studies[0], said))
