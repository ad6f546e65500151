"""Letters that STIX lacks come from an installed font, or one remark names them; no warning for each glyph."""

from pathlib import Path

import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure
from sweeps import call, sweep, write_config

from cascadebai_cli.figures import style
from cascadebai_cli.figures.style import Picture, render, style_of

ARABIC, CHINESE = "مرحبا", "漢字"


@pytest.fixture(autouse=True)
def _only_the_fonts_of_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [font for font in font_manager.fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    style._families.cache_clear()


@style_of()
def figure_with(text: str) -> Figure:
    figure = Picture(2, 1)
    figure.text(0.1, 0.5, text)
    return figure


@pytest.mark.parametrize("text", [ARABIC, f"{ARABIC}, $K = 3$"])
def test_another_font_has_the_letters(text: str) -> None:
    figure = figure_with(text)
    assert style._set_fonts(figure) == ""
    assert "DejaVu Sans" in figure.texts[0].get_fontfamily()
    plain = render([figure_with(text.replace(ARABIC, CHINESE))], "svg", title="x", rows_sha256="0")
    assert render([figure], "svg", title="x", rows_sha256="0") != plain


@pytest.mark.parametrize("text", [CHINESE, f"{CHINESE}, $K = 3$"])
def test_letters_that_no_font_has_are_named_and_nothing_else_is_said(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning would be an error here."""
    figure = figure_with(text)
    assert style._set_fonts(figure) == "字漢"
    assert render([figure], "png", title="x", rows_sha256="0")[0]
    assert caplog.records == []


def test_plain_letters_are_left_to_the_font_of_the_paper() -> None:
    figure = figure_with("α < β, Größe, $K$")
    assert style._set_fonts(figure) == ""
    assert figure.texts[0].get_fontfamily() == ["STIXGeneral"]


def test_a_study_with_such_names(tmp_path: Path) -> None:
    config = write_config(
        tmp_path, extra=f"learners: [{{name: {ARABIC} {CHINESE}, algorithm: cascadebai}}]\nplot: {{kind: curves}}\n"
    )
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, tmp_path / "out").code == 0
    for verb in (["plot", tmp_path / "out"], ["report", tmp_path / "out", "--out", tmp_path / "page.html"]):
        code, _, err = call(*verb)
        assert code == 0
        assert err.splitlines() == [
            line for line in err.splitlines() if line.startswith("warning: study: no installed font has ")
        ]
        assert "字漢" in err
