"""The look that all figures share, and how they become bytes: no clock, no state, no installed fonts."""

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
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
NOTHING: Mapping[str, Any] = MappingProxyType({})

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


@contextmanager
def style_of(own: Mapping[str, Any] = NOTHING) -> Iterator[None]:
    """The shared style, and `own` settings over it; matplotlib's settings are afterwards as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: dict[Any, Any] = {**STYLE, **own}
        mpl.rcParams.update(settings)
        yield


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with the shared style."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with style_of():
            return function(*args, **kwargs)

    return wrapper


class Picture(Figure):
    """A figure that is saved with the settings of matplotlib with which it was made, whatever they are then."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._settings: dict[Any, Any] = dict(mpl.rcParams.copy())
        del self._settings["backend"]

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure to a file; arguments as for `matplotlib.figure.Figure.savefig`."""
        with mpl.rc_context(self._settings), no_warnings_of_glyphs():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """What a notebook shows, with or without pyplot."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def new_figure(width: float, height: float) -> Picture:
    """An empty figure of `width` x `height` inches that arranges its panels itself and needs no display."""
    figure = Picture(figsize=(width, height), layout="constrained", dpi=PNG_DPI)
    FigureCanvasAgg(figure)
    return figure


def render(figure: Figure, format: str, *, title: str, rows_sha256: str, own: Mapping[str, Any] = NOTHING) -> bytes:
    """One page as a file; arguments as for `render_pages`."""
    return render_pages([figure], format, title=title, rows_sha256=rows_sha256, own=own)[0]


def render_pages(
    pages: Sequence[Figure], format: str, *, title: str, rows_sha256: str, own: Mapping[str, Any] = NOTHING
) -> list[bytes]:
    """A figure as files, equal byte for byte when drawn again from the same rows: one PDF, or a file a page.

    Args:
        pages: what to draw.
        format: `pdf`, `png` or `svg`.
        title: name of the study, kept in the metadata of each file.
        rows_sha256: hash of the rows that the figure shows, kept there too.
        own: settings of matplotlib that go over the shared style.
    """
    described = f"rows_sha256={rows_sha256}"
    for page in pages:
        set_fonts(page)
    with style_of(own), no_warnings_of_glyphs():
        for page in pages:
            _settle(page)
        if format == "pdf":
            return [_pdf(pages, _metadata(format, title, described))]
        marks = [described, *(f"{described}{page_mark(number)}" for number in range(2, len(pages) + 1))]
        return [_image(page, format, _metadata(format, title, mark)) for page, mark in zip(pages, marks, strict=True)]


def page_mark(number: int) -> str:
    """End of the metadata of a further page, by which whoever draws a shorter figure knows those of the one before."""
    return f"; page={number};"


def _settle(page: Figure) -> None:
    """Arrange the panels for good: the same in each format, and matplotlib does not do it again for each."""
    engine = page.get_layout_engine()
    if engine is not None and page.axes:
        engine.execute(page)
        page.set_layout_engine(None)


def _pdf(pages: Sequence[Figure], metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with PdfPages(buffer, metadata=metadata) as file:
        for page in pages:
            page.savefig(file, format="pdf", dpi=PNG_DPI)
    return buffer.getvalue()


def _image(page: Figure, format: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    page.savefig(buffer, format=format, dpi=PNG_DPI, metadata=metadata)
    return buffer.getvalue()


def _metadata(format: str, title: str, rows: str) -> dict[str, Any]:
    if format == "pdf":
        return {"Title": title, "Keywords": rows, "CreationDate": None}
    if format == "svg":
        return {"Title": title, "Keywords": [rows], "Date": None}
    return {"Title": title, "Description": rows}


def panel_letter(position: int) -> str:
    """`(a)` for 0, `(b)` for 1, ..., `(aa)` for 26, `(ab)` for 27, ..."""
    letters = ""
    place = position + 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return f"({letters})"


def label_steps(axes: Axes, largest: float, name: str = STEPS_LABEL, unit: str = "steps") -> None:
    """Label a linear y axis, with thousands or millions taken out of the tick labels.

    Args:
        axes: what to label.
        largest: largest value on the axis.
        name: what is measured.
        unit: in what, empty for a bare number.
    """
    exponent = 3 * int(math.log10(largest) // 3) if largest >= 1e4 else 0
    ticks = ScalarFormatter(useOffset=False)
    ticks.set_scientific(exponent > 0)
    ticks.set_powerlimits((exponent, exponent))
    axes.yaxis.set_major_formatter(ticks)
    # The power of ten stands in the label; matplotlib would hang it over the axis, beside the title.
    axes.yaxis.get_offset_text().set_visible(False)
    words = " ".join(filter(None, [f"$10^{exponent}$" if exponent else "", unit]))
    axes.set_ylabel(f"{name} ({words})" if words else name)
