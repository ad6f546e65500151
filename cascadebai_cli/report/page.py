"""Tables and pictures become one page."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from cascadebai_cli.text.table import Table

# --- What a page consists of: text, ready to be set -----------------------------------------------------------------


_Facts = Mapping[str, str]


@dataclass(frozen=True)
class PageTable(Table):
    """A table under a caption.

    Args:
        columns, rows: of the table; the first text of a row names it.
        caption: what it holds.
        csv: the same as a file to keep, empty for none.
        name: name of that file.
    """

    caption: str = ""
    csv: str = ""
    name: str = ""

    @property
    def link(self) -> str:
        """The file as a link that needs no network."""
        return _data_uri(self.csv.encode(), "text/csv")


@dataclass(frozen=True)
class Picture:
    """A figure.

    Args:
        title: what it shows, for all readers.
        alternative: the same in words, for readers who do not see it.
        svg: the figure.
        data: its numbers; none for a drawing without any.
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
        """The figure as the source of an image."""
        return _data_uri(self.svg, "image/svg+xml")


@dataclass(frozen=True)
class Section:
    """A study.

    Args:
        title: heading.
        name: short name, for links.
        remarks: what a reader must know before the numbers, such as missing trials.
        pictures: figures with their data.
        tables: further tables.
        settings, provenance: pairs of a name and a text.
        times: run times.
    """

    title: str
    name: str
    remarks: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[PageTable] = ()
    settings: _Facts = field(default_factory=dict)
    provenance: _Facts = field(default_factory=dict)
    times: PageTable | None = None

    @property
    def anchor(self) -> str:
        """Where links to the section go."""
        return "study-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def _data_uri(content: bytes, media: str) -> str:
    """`content` as an address that holds it."""
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


# --- The page as HTML -----------------------------------------------------------------------------------------------


def render_page(title: str, version: str, claims: PageTable, sections: Sequence[Section]) -> str:
    """The whole page: no script, no clock and nothing that is loaded from elsewhere.

    Args:
        title: heading of the page.
        version: of the program.
        claims: what the paper says, what came out, the verdict.
        sections: the studies.
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
