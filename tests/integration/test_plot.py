"""`plot` as a user calls it: words of a config, flags over them, pages, several directories."""

from pathlib import Path
from typing import Any

import drawn
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from sweeps import ROOT, call, finished, refusal
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.study.kinds import KINDS
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import _plot_words

LEARNERS = [{"name": "half", "algorithm": "cascadebai"}, {"name": "one", "algorithm": "cascadebai", "sigma": 1.0}]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    plot = {"kind": "curves", "x": "K", "labels": {"half": "ours"}, "format": ["svg"]}
    config = scaling_config(3, K=[20, 30], epsilon=[0.0, 0.05, 0.1], learners=LEARNERS, trials=2, plot=plot)
    return write_results(tmp_path / "r", config)


def names(result_out: str) -> list[str]:
    return [Path(line).name for line in result_out.splitlines()]


def test_nine_panels_take_two_pages(directory: Path, tmp_path: Path) -> None:
    assert names(call("plot", directory).out) == ["table1.svg", "table1-2.svg"]
    result = call("plot", directory, "--format", "pdf,png", "--out", tmp_path)
    assert names(result.out) == ["table1.pdf", "table1.png", "table1-2.png"]
    assert (tmp_path / "table1.pdf").read_bytes().count(b"/Type /Page ") == 2


@pytest.mark.parametrize("format", ["png", "svg"])
def test_pages_of_a_longer_figure_before_go_and_nothing_else_does(format: str, directory: Path) -> None:
    small = ("--format", format, "--where", "epsilon=0", "--instances", "setting 1", "--width", "column")
    call("plot", directory, "--format", format, "--per-page", 3)
    (directory / f"table1-4.{format}").write_bytes((directory / f"table1.{format}").read_bytes())  # a figure of its own
    (directory / f"table1-2-2.{format}").write_text("notes")
    done = call("plot", directory, *small)
    assert done.err == (
        f"pages of an earlier figure are removed: {directory}/table1-2.{format}, {directory}/table1-3.{format}\n"
    )
    left = sorted(path.name for path in directory.glob(f"*.{format}"))
    assert left == [f"table1-2-2.{format}", f"table1-4.{format}", f"table1.{format}"]
    assert call("plot", directory, *small).err == ""


def test_a_flag_wins_over_the_config(directory: Path) -> None:
    few = ("--where", "epsilon=0,0.05", "--instances", "setting 1", "--learners", "one", "--per-page", 1)
    assert names(call("plot", directory, *few).out) == ["table1.svg", "table1-2.svg"]
    assert names(call("plot", directory, *few, "--panels", "none", "--lines", "epsilon").out) == ["table1.svg"]


@pytest.mark.parametrize(
    ("plot", "kind", "axes"),
    [
        ({"kind": "bars", "x": "instance", "y": "observations"}, "ecdf", ("steps", "stopped")),
        ({"kind": "ecdf"}, "curves", ("K", "steps")),
        ({"kind": "ecdf"}, "quantiles", ("K", "spread")),
        ({"kind": "curves", "x": "epsilon", "y": "observations"}, "scaling", ("epsilon", "observations")),
    ],
)
def test_another_kind_leaves_the_axes_of_that_of_the_config(
    plot: dict[str, Any], kind: str, axes: tuple[str, str], tmp_path: Path
) -> None:
    config = scaling_config(1, K=[20, 30], epsilon=[0.0, 0.1], trials=2, plot={**plot, "where": {"epsilon": 0}})
    results = load_results(write_results(tmp_path / "r", config))
    found = _plot_words([results], None, {"kind": kind})
    chart = drawn.data(results, **{"x": None, "y": KINDS[kind].y, "lines": None, **found.model_dump()})
    assert (chart.x.column, chart.y.column) == axes
    (tmp_path / "own.yaml").write_text(f"plot: {plot}")
    assert call("plot", tmp_path / "r", "--config", tmp_path / "own.yaml", "--kind", kind, "--out", tmp_path).code == 0


@pytest.mark.parametrize("own", KINDS)
def test_every_kind_measures_what_it_measures_by_default_whatever_the_kind_of_the_config(
    own: str, tmp_path: Path
) -> None:
    config = scaling_config(1, K=[20, 30], trials=2, plot=Plot(kind=own).model_dump(mode="json"))
    results = load_results(write_results(tmp_path / "r", config))
    assert {kind: _plot_words([results], None, {"kind": kind}).y for kind in KINDS} == {
        kind: record.y for kind, record in KINDS.items()
    }


@pytest.mark.parametrize(("key", "value"), [("x", "K"), ("y", "observations")])
def test_a_kind_that_shows_steps_inside_trials_has_axes_of_its_own(key: str, value: str, directory: Path) -> None:
    said = refusal("plot", directory, "--kind", "trace", f"--{key}", value)
    assert said == f"--{key} '{value}' is not what trace shows; leave {key} out, or choose another kind\n"
    assert refusal("plot", directory, "--kind", "bars", "--y", "present") == (
        "--y 'present' cannot be shown by bars; choose another kind, such as trace\n"
    )


def test_warnings_are_about_the_cells_that_are_shown(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30], trials=2, plot={"kind": "curves", "x": "K"})
    r = write_results(tmp_path / "r", config, cap=500_000)
    assert "reached the cap" in call("plot", r, "--out", tmp_path / "a.svg").err
    assert call("plot", r, "--where", "K=20", "--out", tmp_path / "a.svg").err == ""
    assert call("plot", r, "--kind", "schematic", "--out", tmp_path / "a.svg").err == ""
    assert "reached the cap" in call("summary", r).err
    assert call("summary", r, "--where", "K=20").err == ""


def test_steps_that_are_a_budget_are_not_compared_with_bounds() -> None:
    said = refusal(
        "plot", ROOT / "results" / "reference" / "budget", "--kind", "curves", "--y", "steps_per_lower_bound"
    )
    assert said.startswith("y: steps_per_lower_bound compares steps with a bound, and in this study they are a")


def test_the_width_is_that_of_the_page(directory: Path, tmp_path: Path) -> None:
    for width, points in (("column", 234), ("text", 486), ("5", 360)):
        target = tmp_path / f"{width}.svg"
        assert call("plot", directory, "--width", width, "--where", "epsilon=0", "--out", target).code == 0
        assert f'width="{points}pt"' in target.read_text()


def test_a_figure_of_two_directories(tmp_path: Path) -> None:
    a, b = (write_results(tmp_path / name, scaling_config(1, K=[20, 30], trials=2)) for name in "ab")
    result = call("plot", a, b, "--kind", "curves", "--format", "svg")
    assert names(result.out) == ["table1_curves.svg"]
    assert (a / "table1_curves.svg").exists()
    assert f"{a} is given twice" in refusal("plot", a, a)


def test_figure_3_from_the_rows_of_table_1(tmp_path: Path) -> None:
    config = ROOT / "configs" / "figure3.yaml"
    result = call("plot", ROOT / "results" / "reference" / "table1", "--config", config, "--out", tmp_path)
    assert (result.code, names(result.out)) == (0, ["figure3.pdf", "figure3.png"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--x", "epsilo"), "--x 'epsilo' is not known; did you mean epsilon?"),
        (("--learners", "halv"), "--learners 'halv' is not known; did you mean half?"),
        (("--where", "sigma=2"), "sigma: 2 is in no cell; use one of 0.5, 1.0"),
        (
            ("--width", "1", "--height", "1"),
            "a page of 1 by 1 inches has no room for its panels and their labels; write a",
        ),
        (("--where", "sigma"), "--where sigma is no NAME=VALUE; write for example --where K=2"),
        (("--where", "K=20", "--where", "K=30"), "--where K=30: K is named twice; name it once"),
        (("--width", "wide"), "--width 'wide' is no width; write column, text, or inches from 1 to 40"),
        (("--per-page", "0"), "--per-page 0 is too small; write 1 or more"),
        (("--format", "jpg"), "--format 'jpg' is not known; did you mean png?"),
        (("--format", "png", "--out", "x.pdf"), "--format: x.pdf ends in .pdf; leave --format out"),
        (("--style", "nowhere.mplstyle"), "style: nowhere.mplstyle: cannot be read (No such file or directory)"),
        (("--config", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
    ],
)
def test_a_flag_that_cannot_be_used(directory: Path, words: tuple[str, ...], sentence: str) -> None:
    assert refusal("plot", directory, *words).startswith(sentence)
    assert not list(directory.glob("*.svg"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("font.size: large", "1: 'large' is no value of font.size"),
        ("# mine\nfont.siz: 8", "2: 'font.siz' is not a setting of matplotlib; did you mean font.size?"),
        ('font.size: 8\nfont.family: "serif # mine', "2: a quotation mark is not closed"),
        ("font.size", "1: a line is no setting; write name: value, such as font.size: 8"),
        ("text.usetex: true", "1: text.usetex is not supported; leave it out"),
        ("backend: module://evil", "1: backend is not supported; leave it out"),
    ],
)
def test_a_style_that_cannot_be_used(directory: Path, text: str, sentence: str) -> None:
    style = directory / "my.mplstyle"
    style.write_text(text)
    assert refusal("plot", directory, "--style", style).startswith(f"style: {style}:{sentence}")


def test_a_style_of_ones_own_changes_the_figure(directory: Path) -> None:
    plain = call("plot", directory, "--out", directory / "plain.svg")
    (directory / "my.mplstyle").write_text("axes.facecolor: 0.5  # grey\n")
    call("plot", directory, "--style", directory / "my.mplstyle", "--out", directory / "own.svg")
    assert plain.code == 0
    assert "#808080" in (directory / "own.svg").read_text()
    assert "#808080" not in (directory / "plain.svg").read_text()


def drawn_with(directory: Path, style: str, **words: Any) -> Figure:
    """The figure of the study with the text of a style, in which there is a comment with a quotation mark."""
    file = directory / "own.mplstyle"
    file.write_text(f'# as in a "paper\n{style}\n')
    words = {"kind": "curves", "x": "K", "where": {"epsilon": 0}, "instances": "setting 1", **words}
    return drawn.figure(load_results(directory), style=[str(file)], **words)


def test_what_a_style_sets_holds(directory: Path) -> None:
    style = """
lines.linewidth: 3   # "thick"
lines.markersize: 9
axes.prop_cycle: cycler('color', ['102030', 'a0b0c0'])
font.size: 18
legend.loc: upper left
figure.figsize: 5, 4
savefig.dpi: 50
"""
    page = drawn_with(directory, style)
    (axes,) = page.axes
    curves = [container[0] for container in axes.containers]
    assert [curve.get_color() for curve in curves] == ["#102030", "#a0b0c0"]
    assert {(curve.get_linewidth(), curve.get_markersize()) for curve in curves} == {(3.0, 9.0)}
    assert (axes.title.get_fontsize(), axes.xaxis.label.get_fontsize()) == (18, 18)
    assert axes.get_xticklabels()[0].get_fontsize() == 16
    assert axes.get_legend().get_texts()[0].get_fontsize() == 16
    page.draw_without_rendering()
    box, frame = axes.get_legend().get_window_extent(), axes.get_window_extent()
    assert box.x0 - frame.x0 < frame.x1 - box.x1
    assert list(page.get_size_inches()) == [5, 4]


def test_a_shorter_cycle_of_colours_still_tells_lines_apart(directory: Path) -> None:
    (axes,) = drawn_with(directory, "axes.prop_cycle: cycler('color', ['102030'])").axes
    first, second = (container[0] for container in axes.containers)
    assert first.get_color() == second.get_color()
    assert first.get_marker() != second.get_marker()


def test_bars_take_the_colours_of_a_style(directory: Path) -> None:
    words = {"kind": "bars", "x": None, "where": {"epsilon": 0, "K": 20}}
    (axes,) = drawn_with(directory, "axes.prop_cycle: cycler('color', ['102030', 'a0b0c0'])", **words).axes
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    assert [to_hex(container[0].get_facecolor()) for container in bars] == ["#102030", "#a0b0c0"]


def test_a_property_of_a_cycle_that_nothing_is_drawn_with_is_refused(directory: Path) -> None:
    (directory / "my.mplstyle").write_text("axes.prop_cycle: cycler('alpha', [0.5, 1])")
    said = refusal("plot", directory, "--style", directory / "my.mplstyle")
    assert "axes.prop_cycle: alpha is not supported; use color, marker, " in said


def test_styles_by_name_and_the_last_one_counts_most(directory: Path) -> None:
    words = {"kind": "curves", "x": "K", "where": {"epsilon": 0}, "instances": "setting 1"}
    results = load_results(directory)
    (axes,) = drawn.figure(results, style="ggplot", **words).axes
    assert to_hex(axes.get_facecolor()) == "#e5e5e5"
    assert axes.containers[0][0].get_color() == "#E24A33"
    (axes,) = drawn.figure(results, style=["ggplot", "tableau-colorblind10"], **words).axes
    assert (to_hex(axes.get_facecolor()), axes.containers[0][0].get_color()) == ("#e5e5e5", "#006BA4")
    assert refusal("plot", directory, "--style", "gplot").startswith(
        "style: gplot is neither a file nor the name of a style; did you mean ggplot?"
    )


def test_styles_of_scienceplots_go_without_latex(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scienceplots" / "styles" / "journals"
    folder.mkdir(parents=True)
    (tmp_path / "scienceplots" / "__init__.py").write_text("raise AssertionError('nothing of it is run')")
    (folder.parent / "science.mplstyle").write_text("text.usetex: True\nfont.family: serif\nfigure.figsize: 3.5, 2.6\n")
    (folder / "ieee.mplstyle").write_text("font.size: 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = {"kind": "curves", "x": "K", "where": {"epsilon": 0}, "instances": "setting 1"}
    page = drawn.figure(load_results(directory), style=["science", "ieee"], **words)
    assert page.axes[0].title.get_fontfamily() == ["serif"]
    assert page.axes[0].title.get_fontsize() == 7
    assert page.get_figwidth() == 3.5
    page.draw_without_rendering()


FAMILIES = """
seed: 1
trials: 2
delta: [0.1, 0.01]
instances:
  - {name: easy, family: two_level, L: 6, K: 2, w_star: 0.9, w_prime: 0.1}
  - {name: ramp, family: linear, L: 5, K: 2, w_max: 0.95, w_min: 0.1}
  - {name: listed, family: explicit, weights: [0.95, 0.6, 0.1], K: 1}
  - {name: shop, family: csv, path: clicks.csv, clicks: clicks, views: views, K: 2}
  - {name: curved, family: formula, weight: "0.9 / i", L: 4, K: 1}
  - {name: drawn, family: random, L: 6, K: 3, w_star: "uniform(0.8, 0.9)", w_prime: "uniform(0.1, 0.2)"}
learners:
  - {name: KL bounds, algorithm: cascadebai, confidence: kl}
  - {name: KL-LUCB++, algorithm: kl-lucb++}
"""


def test_one_panel_shows_instances_of_every_family_over_their_bounds(tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("clicks,views\n90,100\n80,100\n20,100\n10,100\n")
    (tmp_path / "mine.yaml").write_text(FAMILIES)
    assert call("sweep", tmp_path / "mine.yaml", "--out", tmp_path / "r", "--n-jobs", 1).code == 0
    chart = drawn.data(load_results(tmp_path / "r"), kind="curves", x="gap", y="steps_per_lower_bound")
    assert [panel.title for panel in chart.panels] == [(r"$\delta = 0.1$",), (r"$\delta = 0.01$",)]
    for panel in chart.panels:
        assert panel.points.groupby("instance").size().to_dict() == dict.fromkeys(
            ("easy", "ramp", "listed", "shop", "curved", "drawn"), 2
        )
    assert (chart.left_out, chart.x.joined) == ("", False)


def test_a_config_without_a_plot(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("seed: 1\n")
    assert "c.yaml: plot: missing; add lines such as plot: {kind: curves}" in refusal(
        "plot", directory, "--config", tmp_path / "c.yaml"
    )


def test_what_is_set_for_windows_does_not_count(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "nonsense")
    done = finished("plot", directory, "--out", tmp_path / "a.svg")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_help_of_kind_names_every_kind() -> None:
    shown = call("plot", "--help").out
    assert [kind for kind in KINDS if kind not in shown] == []
