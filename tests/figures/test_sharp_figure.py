"""What the figure of steps over the sharp bound consists of."""

import pandas as pd
import pytest

from cascadebai_cli.figures.sharp import LABEL, draw_sharp
from cascadebai_cli.figures.style import render

DELTAS = [0.1, 1e-6, 1e-24]
TABLE = pd.DataFrame(
    [
        {"instance": name, "K": 2, "learner": learner, "delta": delta, "measured_over_sharp": place + factor}
        for place, name in enumerate(["a_1", "b"])
        for factor, learner in ((9.0, "slow"), (2.0, "fast"))
        for delta in DELTAS
    ]
)


def test_a_panel_an_instance_and_a_curve_a_learner():
    figure = draw_sharp(TABLE)
    assert [axes.get_title() for axes in figure.axes] == ["(a) a_1, $K = 2$", "(b) b, $K = 2$"]
    for place, axes in enumerate(figure.axes):
        slow, fast, bound = axes.lines
        assert list(slow.get_xdata()) == sorted(DELTAS)
        assert set(slow.get_ydata()) == {place + 9.0}
        assert set(fast.get_ydata()) == {place + 2.0}
        assert list(bound.get_ydata()) == [1, 1]
        assert (axes.get_xscale(), axes.get_yscale(), axes.xaxis_inverted()) == ("log", "log", True)
    assert [axes.get_ylabel() for axes in figure.axes] == [LABEL, ""]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["slow", "fast"]


@pytest.mark.parametrize("format", ["pdf", "png", "svg"])
def test_rendered(format):
    assert len(render(draw_sharp(TABLE), format, title="sharp", rows_sha256="0" * 64)) > 1000
