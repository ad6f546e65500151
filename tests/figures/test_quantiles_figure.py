"""QQ plots of two samples."""

import numpy as np
import pytest

from cascadebai_cli.figures.style import render
from experiments.verify_simulators import POINTS, draw_quantiles


@pytest.mark.parametrize("panels", [1, 3, 6])
def test_a_panel_a_pair(panels: int) -> None:
    rng = np.random.default_rng(1)
    samples = {f"case {i}": (rng.normal(100, 5, 50), rng.normal(100, 5, 70)) for i in range(panels)}
    figure = draw_quantiles(samples, "step by step", "skip-ahead")
    assert [axes.get_title() for axes in figure.axes] == list(samples)
    assert render([figure], "png", title="q", rows_sha256="0")[0]


def test_points_are_quantiles_and_lie_on_the_diagonal_for_equal_samples() -> None:
    sample = np.random.default_rng(1).exponential(size=500)
    (axes,) = draw_quantiles({"same": (sample, np.sort(sample)[::-1])}, "a", "b").axes
    diagonal, points = axes.get_lines()
    x, y = points.get_data()
    assert len(x) == POINTS + 2
    np.testing.assert_allclose(x, y)
    assert (x[0], x[-1]) == (sample.min(), sample.max())
    assert list(diagonal.get_xdata()) == [sample.min(), sample.max()]
