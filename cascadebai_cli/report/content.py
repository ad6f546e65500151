"""What a page consists of: text, ready to be set."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Facts = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        caption: what it holds.
        header: names of the columns.
        rows: one text a column; the first one names the row.
        words: columns of words, set flush left; the others hold numbers.
        csv: the same as a file to keep, empty for none.
        name: name of that file.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[str] = frozenset()
    csv: str = ""
    name: str = ""

    @property
    def flush_left(self) -> list[bool]:
        """Whether each column is set flush left."""
        return [name in self.words for name in self.header]

    @property
    def link(self) -> str:
        """The file as a link that needs no network."""
        return data_uri(self.csv.encode(), "text/csv")


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
    data: Table | None = None

    @property
    def width(self) -> float:
        """Width in inches at which the figure was drawn."""
        found = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', self.svg)
        return float(found[1]) / 72 if found else 6.75

    @property
    def source(self) -> str:
        """The figure as the source of an image."""
        return data_uri(self.svg, "image/svg+xml")


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
    tables: Sequence[Table] = ()
    settings: Facts = field(default_factory=dict)
    provenance: Facts = field(default_factory=dict)
    times: Table | None = None

    @property
    def anchor(self) -> str:
        """Where links to the section go."""
        return "study-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def data_uri(content: bytes, media: str) -> str:
    """`content` as an address that holds it."""
    return f"data:{media};base64,{base64.b64encode(content).decode()}"
