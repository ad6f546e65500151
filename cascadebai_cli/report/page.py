"""One page of tables and pictures."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from cascadebai_cli.text import Table

# --- The parts of a page, as finished text --------------------------------------------------------------------------

_Facts = Mapping[str, str]


@dataclass(frozen=True)
class PageTable(Table):
    """A table under a caption.

    Args:
        columns, rows: contents of the table; the first text of a row is its name.
        caption: what the table holds.
        csv: the table as a CSV file for download, empty for none.
        name: name of that file.
    """

    caption: str = ""
    csv: str = ""
    name: str = ""

    @property
    def link(self) -> str:
        """Link to the file that needs no network."""
        return _data_uri(self.csv.encode(), "text/csv")


@dataclass(frozen=True)
class PagePicture:
    """A figure.

    Args:
        alternative: description for readers who do not see it.
        data: its numbers; `None` for a drawing without numbers.
    """

    title: str
    alternative: str
    svg: bytes
    data: PageTable | None = None

    @property
    def width(self) -> float:
        """Width in inches at which the figure was drawn."""
        found = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', self.svg)
        return float(found[1]) / 72 if found else 6.75

    @property
    def source(self) -> str:
        """Source of the image, as a data URI."""
        return _data_uri(self.svg, "image/svg+xml")


@dataclass(frozen=True)
class Section:
    """The section of a study.

    Args:
        name: short name of the study, for links.
        remarks: what a reader must know before the numbers, such as missing trials.
        settings, provenance: pairs of a name and a text.
    """

    title: str
    name: str
    remarks: Sequence[str] = ()
    pictures: Sequence[PagePicture] = ()
    tables: Sequence[PageTable] = ()
    settings: _Facts = field(default_factory=dict)
    provenance: _Facts = field(default_factory=dict)
    times: PageTable | None = None

    @property
    def anchor(self) -> str:
        """Anchor of the section for links."""
        return "study-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def _data_uri(content: bytes, media: str) -> str:
    """Return a data URI that holds `content`."""
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


# --- The page as HTML -----------------------------------------------------------------------------------------------


def render_page(title: str, version: str, claims: PageTable, sections: Sequence[Section]) -> str:
    """Return the whole page, without scripts, clock times and anything that is loaded from elsewhere.

    Args:
        claims: what the paper says, what was found, and the verdict.
    """
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    return _template().render(title=title, version=version, claims=claims, sections=sections, style=style)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("cascadebai_cli.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
