"""The look that all figures share, and how they become bytes: no clock, no state, no installed fonts."""

import io
import math
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from cascadebai_cli.figures.fonts import no_warnings_of_glyphs, set_fonts

P = ParamSpec("P")
T = TypeVar("T")

TEXT_WIDTH = 6.75
"""Width in inches of a page of text in the paper's format (two columns)."""
COLUMN_WIDTH = 3.25
"""Width in inches of one of its columns."""
PNG_DPI = 300

STEPS_LABEL = "time complexity"

STYLE: Mapping[Any, Any] = MappingProxyType(
    {
        # STIX comes with matplotlib: the same letters on every machine, close to those of the paper.
        "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.labelsize": 9,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 8,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "lines.linewidth": 1.2,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        # Type 42 embeds whole outlines, which publishers ask for; matplotlib's default is type 3.
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "cascadebai",
    }
)


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with the shared style, leaving matplotlib's settings as they were."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(dict(STYLE))
            return function(*args, **kwargs)

    return wrapper


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of `width` x `height` inches that arranges its panels itself and needs no display."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@styled
def render(figure: Figure, format: str, *, title: str, rows_sha256: str) -> bytes:
    """The figure as a file, equal byte for byte when drawn again from the same rows.

    Args:
        figure: what to draw.
        format: `pdf`, `png` or `svg`.
        title: name of the study, kept in the file's metadata.
        rows_sha256: hash of the rows that the figure shows, kept in the file's metadata.
    """
    buffer = io.BytesIO()
    metadata = _metadata(format, title, f"rows_sha256={rows_sha256}")
    set_fonts(figure)
    with no_warnings_of_glyphs():
        figure.savefig(buffer, format=format, dpi=PNG_DPI, metadata=metadata)
    return buffer.getvalue()


def _metadata(format: str, title: str, rows: str) -> dict[str, Any]:
    if format == "pdf":
        return {"Title": title, "Keywords": rows, "CreationDate": None}
    if format == "svg":
        return {"Title": title, "Keywords": [rows], "Date": None}
    return {"Title": title, "Description": rows}


def panel_letter(position: int) -> str:
    """`(a)` for 0, `(b)` for 1, ..."""
    return f"({chr(ord('a') + position)})"


def label_steps(axes: Axes, largest: float) -> None:
    """Label a linear y axis of steps, with thousands or millions taken out of the tick labels."""
    exponent = 3 * int(math.log10(largest) // 3) if largest >= 1e4 else 0
    ticks = ScalarFormatter(useOffset=False)
    ticks.set_scientific(exponent > 0)
    ticks.set_powerlimits((exponent, exponent))
    axes.yaxis.set_major_formatter(ticks)
    # The power of ten stands in the label; matplotlib would hang it over the axis, beside the title.
    axes.yaxis.get_offset_text().set_visible(False)
    unit = rf"$10^{exponent}$ steps" if exponent else "steps"
    axes.set_ylabel(f"{STEPS_LABEL} ({unit})")
