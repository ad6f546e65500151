"""The page as HTML."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from cascadebai_cli.report.content import PageTable, Section


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
