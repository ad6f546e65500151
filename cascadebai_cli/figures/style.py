"""Styles, fonts and colours of figures."""

import io
import logging
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.files import open_regular
from cascadebai_cli.text import listed

# --- Letters that the font of the figures lacks are taken from an installed font that has them ----------------------

_MOST_LETTERS = 10
"""Largest number of letters that a warning names."""
_PLACEHOLDERS = ("Last Resort",)
"""Fonts that draw a box for every letter."""


@lru_cache(maxsize=1024)
def _letters(path: str) -> frozenset[int]:
    return frozenset(get_font(path).get_charmap())


@lru_cache(maxsize=1024)
def _families(letters: frozenset[int]) -> tuple[str, ...]:
    """Return installed fonts that together have as many of the letters as possible, that with most of them first."""
    if not letters:
        return ()
    upright = [
        font for font in fontManager.ttflist if font.style == "normal" and not font.name.startswith(_PLACEHOLDERS)
    ]
    found = {font.name: letters & _letters(font.fname) for font in sorted(upright, key=lambda font: font.name)}
    best = max(found, key=lambda name: len(found[name]))
    return (best, *_families(letters - found[best])) if found[best] else ()


def _set_fonts(figure: Figure) -> str:
    """Give each text of a figure the fonts that its letters need.

    Returns:
        the letters that no installed font has, each once; they are drawn as boxes.
    """
    lacking: dict[str, None] = {}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and (letters := _uncovered(text)):
            families = _families(letters)
            own = text.get_fontfamily()
            # in a text with formulas, matplotlib uses only the first font for the rest
            text.set_fontfamily([*families, *own] if "$" in text.get_text() else [*own, *families])
            lacking |= dict.fromkeys(chr(letter) for letter in sorted(letters) if not _has(families, letter))
    return "".join(lacking)


def warn_of_letters(pages: Sequence[Figure], name: str, warn: Callable[[str], None]) -> None:
    """Warn of the letters of a figure that no installed font has."""
    if letters := "".join(dict.fromkeys("".join(map(_set_fonts, pages)))):
        shown = letters[:_MOST_LETTERS] + ("..." if len(letters) > _MOST_LETTERS else "")
        warn(
            f"warning: {name}: no installed font has {shown}, so that boxes stand there; install a font for this "
            "script, such as one of Noto"
        )


def _uncovered(text: Text) -> frozenset[int]:
    letters = frozenset(ord(letter) for letter in text.get_text() if letter.isprintable())
    if max(letters, default=0) < 256:
        return frozenset()
    return letters - _letters(findfont(FontProperties(family=text.get_fontfamily()[0])))


def _has(families: tuple[str, ...], letter: int) -> bool:
    return any(letter in _letters(findfont(FontProperties(family=family))) for family in families)


@contextmanager
def _no_warnings_of_glyphs() -> Iterator[None]:
    """Suppress matplotlib's warnings of missing letters, repeated at each drawing; `warn_of_letters` warns once."""
    logger = logging.getLogger("matplotlib.mathtext")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
            yield
    finally:
        logger.setLevel(level)


# --- How lines (colour, marker, dash) and bars (colour, hatch) are told apart ---------------------------------------

_Dash = str | tuple[float, tuple[float, ...]]


class Look(NamedTuple):
    """How a line or a set of bars is drawn, so that two can be seen even if one covers the other."""

    color: str
    marker: str = "o"
    size: float = 3
    dash: _Dash = "-"
    hatch: str = ""
    width: float = 0.8

    def restyled(self, own: Mapping[str, Any], number: int = 0) -> "Look":
        """Return the look with what a style of the user sets of it.

        Args:
            number: number of the line, which takes this entry of the cycle of the style.
        """
        of_lines = {field: own[name] for name, field in _OF_LINES.items() if own.get(name, "None") != "None"}
        entries = list(own.get("axes.prop_cycle", [{}]))
        entry = entries[number % len(entries)]
        of_cycle = {_OF_CYCLE.get(name, name): value for name, value in entry.items() if name in _IN_CYCLE}
        found = self._replace(**{**of_lines, **of_cycle})
        return found._replace(dash="none") if self.dash == "none" else found


_IN_CYCLE = ("color", "marker", "linestyle", "linewidth", "markersize", "hatch")
_OF_CYCLE = {"linestyle": "dash", "linewidth": "width", "markersize": "size"}
_OF_LINES = {**{f"lines.{name}": field for name, field in _OF_CYCLE.items()}, "lines.marker": "marker"}


LOOKS = (
    Look("#0072B2", "o", 2.4, hatch="\\\\\\"),
    Look("#D55E00", "s", 2.6, hatch="..."),
    Look("#009E73", "^", 3.4, "--", "xxx"),
    Look("#CC79A7", "D", 3.0, (0, (4, 1, 1, 1)), "---"),
    Look("#000000", "v", 3.2),
    Look("#E69F00", "P", 4.0, "-.", "|||"),
    Look("#56B4E9", "X", 4.0, ":", "+++"),
    Look("#882255", ">", 3.4, "--", "ooo"),
    Look("#332288", "<", 3.4, (0, (5, 1, 1, 1, 1, 1)), "***"),
    Look("#999933", "p", 4.0, ":", "OO"),
    Look("#B0B0B0", "*", 5.0, (0, (3, 1, 1, 1)), "\\\\|||"),
    Look("#6B4C2A", "h", 4.0, "-.", "xx--"),
)
"""Looks of the lines of a panel. No two share a marker or a hatch. Colours that are hard to tell apart in grey or with
colour-blind eyes also differ in the dash (a test computes it). No marker is open, as an open one is a limit. The first
colours are those of Okabe and Ito."""

ORDER_LOOKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "T": (r"ascending $T_t(i)$ (Algorithm 1)", "#0072B2"),
        "mean": (r"ascending $\hat{\mu}_t(i)$", "#E69F00"),
        "-mean": (r"descending $\hat{\mu}_t(i)$", "#F6DA9C"),
        "U": (r"ascending $U_t(i)$", "#C44E00"),
        "-U": (r"descending $U_t(i)$", "#F0B48C"),
        "L": (r"ascending $L_t(i)$", "#007E5C"),
        "-L": (r"descending $L_t(i)$", "#8CD0BB"),
    }
)
"""Display order -> label and colour: the hue shows what is sorted by, a lighter shade the descending order."""


# --- The shared look of all figures, and their files, which depend on no clock, state or installed font -------------

TEXT_WIDTH = 6.75
"""Width in inches of the text of a page in the paper's format, which has two columns."""
COLUMN_WIDTH = 3.25
"""Width in inches of one of its columns."""

_STEPS_LABEL = "time complexity"
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})

STYLE: Mapping[Any, Any] = MappingProxyType(
    {
        # STIX comes with matplotlib, so letters are the same on every machine; they resemble those of the paper.
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
        "figure.dpi": 300,
        # what a style sets holds for files too
        "savefig.dpi": "figure",
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        # Publishers ask for fonts of type 42, which embed whole outlines; matplotlib's default is type 3.
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "cascadebai",
    }
)


@contextmanager
def style_of(own: Mapping[str, Any] = _NO_OPTIONS) -> Iterator[None]:
    """Apply the shared style with the settings `own` over it, without warnings of glyphs; restore all at the end.

    `@style_of()` above a function applies it while the function runs.
    """
    with mpl.rc_context(), _no_warnings_of_glyphs():
        mpl.rcdefaults()
        larger = own.get("font.size", STYLE["font.size"]) / STYLE["font.size"]
        sizes = {name: larger * STYLE[name] for name in STYLE if name.endswith(("labelsize", "titlesize", "fontsize"))}
        settings: dict[Any, Any] = {**STYLE, **sizes, **own}
        mpl.rcParams.update(settings)
        yield


class Picture(Figure):
    """A figure of `width` x `height` inches that arranges its panels itself and needs no display.

    It is saved with the settings of matplotlib with which it was made, whatever they are later.
    """

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)
        self._settings: dict[Any, Any] = dict(mpl.rcParams.copy())
        del self._settings["backend"]

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure to a file; arguments as for `matplotlib.figure.Figure.savefig`."""
        with mpl.rc_context(self._settings), _no_warnings_of_glyphs():
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows, with or without pyplot."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def render(
    pages: Sequence[Figure], format: str, *, title: str, rows_sha256: str, own: Mapping[str, Any] = _NO_OPTIONS
) -> list[bytes]:
    """Render a figure as files: one PDF, or one file per page.

    Files drawn again from the same rows are equal byte for byte.

    Args:
        format: `pdf`, `png` or `svg`.
        title: name of the study, kept in the metadata of each file.
        rows_sha256: hash of the rows that the figure shows, kept there too.
        own: settings of matplotlib that override the shared style.

    Raises:
        ConfigError: if a page is too small for its panels.
    """
    described = f"rows_sha256={rows_sha256}"
    for page in pages:
        _set_fonts(page)
    with style_of(own):
        for page in pages:
            _settle(page)
        if format == "pdf":
            return [_pdf(pages, _metadata(format, title, described))]
        marks = [described, *(f"{described}{page_mark(number)}" for number in range(2, len(pages) + 1))]
        return [_image(page, format, _metadata(format, title, mark)) for page, mark in zip(pages, marks, strict=True)]


def page_mark(number: int) -> str:
    """Return the end of the metadata of a further page, by which files of an earlier, longer figure are recognised."""
    return f"; page={number};"


def _settle(page: Figure) -> None:
    """Arrange the panels for good: the same way in each format, and only once."""
    if page.get_layout_engine() is not None and page.axes:
        if not arranged(page):
            width, height = page.get_size_inches()
            raise ConfigError(
                f"a page of {width:.3g} by {height:.3g} inches has no room for its panels and their labels; write a "
                "larger --width or --height, or fewer panels with --per-page"
            )
        page.set_layout_engine(None)


def arranged(page: Figure) -> bool:
    """Arrange the panels, and return whether there was room for them."""
    engine: Any = page.get_layout_engine()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            engine.execute(page)
        except UserWarning:
            return False
    return True


def _pdf(pages: Sequence[Figure], metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with PdfPages(buffer, metadata=metadata) as file:
        for page in pages:
            page.savefig(file, format="pdf")
    return buffer.getvalue()


def _image(page: Figure, format: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    page.savefig(buffer, format=format, metadata=metadata)
    return buffer.getvalue()


def _metadata(format: str, title: str, rows: str) -> dict[str, Any]:
    if format == "pdf":
        return {"Title": title, "Keywords": rows, "CreationDate": None}
    if format == "svg":
        return {"Title": title, "Keywords": [rows], "Date": None}
    return {"Title": title, "Description": rows}


def panel_letter(position: int) -> str:
    """Return `(a)` for 0, `(b)` for 1, ..., `(aa)` for 26, `(ab)` for 27, ..."""
    letters = ""
    place = position + 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return f"({letters})"


def label_steps(axes: Axes, largest: float, name: str = _STEPS_LABEL, unit: str = "steps") -> None:
    """Label a linear y axis, with thousands or millions taken out of the tick labels.

    Args:
        unit: its unit, empty for a bare number.
    """
    exponent = 3 * int(math.log10(largest) // 3) if largest >= 1e4 else 0
    ticks = ScalarFormatter(useOffset=False)
    ticks.set_scientific(exponent > 0)
    ticks.set_powerlimits((exponent, exponent))
    axes.yaxis.set_major_formatter(ticks)
    # The power of ten goes into the label; matplotlib would put it above the axis, beside the title.
    axes.yaxis.get_offset_text().set_visible(False)
    words = " ".join(filter(None, [f"$10^{exponent}$" if exponent else "", unit]))
    axes.set_ylabel(f"{name} ({words})" if words else name)


# --- Styles of the user: files that matplotlib reads, checked first, so that an error names the line; or names ------

_REFUSED = ("backend", "text.usetex", "text.latex", "webagg", "tk.", "macosx")
"""Settings that do not change a look, or need programs that may not be there; a style by name goes without them."""
_MOST_BYTES = 100_000
_FURTHER_STYLES = "scienceplots"
"""A package whose styles are known by their names too if it is installed."""


def read_style(names: Sequence[str]) -> Mapping[str, Any]:
    """Return the settings of some styles, of which a later one replaces what an earlier one sets.

    Args:
        names: each a `.mplstyle` file, or the name of a style that matplotlib or SciencePlots has.

    Raises:
        ConfigError: if a file cannot be read, a line is not `name: value` with a name and a value that matplotlib
            knows, or there is no style of a name.
    """
    own: dict[str, Any] = {}
    for name in names:
        path = Path(name)
        is_file = path.suffix or len(path.parts) > 1 or path.exists()
        own |= _of_file(path) if is_file else _of_name(name)
    return own


def _of_name(name: str) -> dict[str, Any]:
    from matplotlib.style import library  # reads many files, so only when it is needed

    found = find_spec(_FURTHER_STYLES)
    folders = (found.submodule_search_locations if found else None) or ()
    further = {path.stem: path for folder in folders for path in Path(folder).rglob("*.mplstyle")}
    if name not in library and name not in further:
        known = [known for known in (*library, *further) if not known.startswith("_")]
        raise ConfigError(f"style: {name} is neither a file nor the name of a style; {suggest(name, known)}")
    settings = library[name] if name in library else _read(further[name])
    return {key: value for key, value in settings.items() if not str(key).startswith(_REFUSED)}


def _of_file(path: Path) -> dict[str, Any]:
    lines = list(enumerate(_text(path).splitlines(), 1))
    for number, line in lines:
        name, colon, _ = line.partition("#")[0].partition(":")
        if name.strip():
            _check(f"style: {path}:{number}", name.strip(), bool(colon))
    try:
        settings = _read(path)
    except ValueError as error:
        raise ConfigError(f"style: {path}{_mistake(lines, str(error))}; see the documentation of matplotlib") from None
    cycle: Any = settings.get("axes.prop_cycle")
    for key in sorted(cycle.keys - {*_IN_CYCLE}) if cycle else ():
        raise ConfigError(f"style: {path}: axes.prop_cycle: {key} is not supported; use {listed(_IN_CYCLE)}")
    return settings


def _check(where: str, name: str, has_value: bool) -> None:
    if not has_value:
        raise ConfigError(f"{where}: a line is no setting; write name: value, such as font.size: 8")
    if name not in mpl.rcParams:
        raise ConfigError(f"{where}: '{name[:60]}' is not a setting of matplotlib; {suggest(name[:60], mpl.rcParams)}")
    if name.startswith(_REFUSED):
        raise ConfigError(f"{where}: {name} is not supported; leave it out")


def _mistake(lines: Sequence[tuple[int, str]], error: str) -> str:
    """Return the line of a value that matplotlib does not take, and what is wrong with it."""
    name = error.removeprefix("Key ").partition(":")[0]
    for number, line in reversed(lines):
        key, _, value = line.partition(":")
        if key.strip() == name:
            return f":{number}: '{value.partition('#')[0].strip()[:60]}' is no value of {name}"
        if repr(line)[1:-1] in error and line:
            return f":{number}: a quotation mark is not closed"
    return f": {error.partition(' in:')[0][:60]}"


def _read(path: Path) -> dict[str, Any]:
    found = mpl.rc_params_from_file(path, fail_on_error=True, use_default_template=False)
    return {str(name): value for name, value in found.items()}


def _text(path: Path) -> str:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return file.read(_MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"style: {path}: is not UTF-8 text; name a .mplstyle file") from None
    except OSError as error:
        raise ConfigError(f"style: {path}: cannot be read ({error.strerror}); name a .mplstyle file") from None
