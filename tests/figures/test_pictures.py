"""Figures against committed pictures: drawn from small fixed tables, and from every reference that is committed.

`make baseline` draws the pictures anew after a change that is meant; look at them before they are committed.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import mostly_slow
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

import cascadebai_cli
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures import draw as drawers
from cascadebai_cli.figures import pictures as others
from cascadebai_cli.figures import style
from cascadebai_cli.figures.style import STYLE, style_of
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import drawing

HERE = Path(__file__).parent
BASELINE = HERE / "baseline"
DATA = HERE / "data"
REFERENCE = Path(cascadebai_cli.__file__).parents[1] / "results" / "reference"
DPI = 80
TOLERANCE = 0.1
"""Root mean square of the differences of the colour values, 0 to 255; pinned versions differ by 0."""


def pictures() -> dict[str, tuple[Path, Plot]]:
    """Name of a picture -> result directory and what is drawn of it."""
    fixed = {kind: (DATA / kind, Plot(kind=kind)) for kind in ("scaling", "curves", "bars", "error", "trace")}
    fixed |= {kind: (DATA / "scaling", Plot(kind=kind)) for kind in ("bounds", "schematic")}
    for manifest in sorted(REFERENCE.glob("*/manifest.json")):
        fixed[f"reference_{manifest.parent.name}"] = (manifest.parent, load_results(manifest.parent).study.plot)
    return fixed


PICTURES = pictures()
KINDS = [name for name in PICTURES if not name.startswith("reference_")]


def draw(name: str) -> Figure:
    directory, plot = PICTURES[name]
    (page,) = drawing([load_results(directory)], plot).pages
    return page


def compared_with_baseline(function: Callable[..., Figure]) -> Callable[..., Figure]:
    marked: Callable[..., Figure] = pytest.mark.mpl_image_compare(
        baseline_dir=str(BASELINE), tolerance=TOLERANCE, style=dict(STYLE), savefig_kwargs={"dpi": DPI}
    )(function)
    return marked


@pytest.mark.parametrize("name", mostly_slow(PICTURES, [*KINDS, "reference_table1"]))
@compared_with_baseline
def test_picture(name: str) -> Figure:
    return draw(name)


def test_every_baseline_has_its_picture() -> None:
    assert {path.name for path in BASELINE.glob("*.png")} == {f"test_picture_{name}.png" for name in PICTURES}


def difference(name: str, folder: Path) -> str | None:
    """What the comparison says of a figure as it is drawn now."""
    path = folder / "now.png"
    style_of()(draw(name).savefig)(path, dpi=DPI)
    return compare_images(str(BASELINE / f"test_picture_{name}.png"), str(path), TOLERANCE)


@pytest.mark.parametrize("name", mostly_slow(KINDS, ["curves"]))
def test_the_comparison_is_silent_without_a_fault(name: str, tmp_path: Path) -> None:
    assert difference(name, tmp_path) is None


COLOURS = [
    ("bars", drawers, "ORDER_LOOKS", {**drawers.ORDER_LOOKS, "-U": (drawers.ORDER_LOOKS["-U"][0], "#F0B490")}),
    ("bounds", drawers, "_LOWER", "#2e7d40"),
    ("schematic", others, "_OPTIMAL", "#8fce93"),
    ("scaling", drawers, "_POINTS", drawers._POINTS._replace(color="navy")),
    ("scaling", drawers, "_FIT", "darkred"),
    ("scaling", drawers, "_BAND", "darkcyan"),
    ("curves", drawers, "LOOKS", tuple(look._replace(color="#0072B3") for look in style.LOOKS)),
]


@pytest.mark.parametrize(("name", "module", "colour", "other"), mostly_slow(COLOURS, COLOURS[:3]))
def test_a_changed_colour_is_caught(
    name: str, module: object, colour: str, other: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(module, colour) != other
    monkeypatch.setattr(module, colour, other)
    found = difference(name, tmp_path)
    assert found is not None
    assert "did not match" in found


def test_a_moved_point_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = load_results(DATA / "scaling")
    largest = results.summary["mean_steps"].idxmax()
    results.summary.loc[largest, ["mean_steps", "ci_low", "ci_high"]] *= 1.05
    monkeypatch.setattr(f"{__name__}.load_results", lambda _: results)
    assert difference("scaling", tmp_path)
