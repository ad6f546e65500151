"""Draw the pictures of docs/figures.md: `python -m experiments.figures`.

Each stands behind a block of YAML whose first line names the directories it is drawn from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cascadebai_cli.figures.style import styled
from cascadebai_cli.store.directory import load_results
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.drawings import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Path("docs/figures.md")
BLOCK = re.compile(
    r"```yaml\n# (?P<directories>[^\n]*)\n(?P<config>.*?)```\n\n!\[[^\]]*\]\((?P<file>[^)]*)\)", re.DOTALL
)
DPI = 110
"""Small files that are sharp on a screen."""


@dataclass(frozen=True)
class Example:
    """A picture of the page: what it is drawn from, and where it lies beside the page."""

    directories: tuple[Path, ...]
    plot: Plot
    file: Path

    def figure(self, root: Path) -> "Figure":
        """The picture, drawn anew."""
        studies = [load_results(root / directory) for directory in self.directories]
        (page,) = drawing(studies, self.plot).pages
        return page


def examples(page: Path = PAGE) -> Iterator[Example]:
    """The pictures of the page."""
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        plot = Plot.model_validate(yaml.safe_load(block["config"])["plot"])
        yield Example(tuple(map(Path, block["directories"].split())), plot, Path(block["file"]))


def write(figure: "Figure", path: Path) -> None:
    """Draw a picture into a file."""
    styled(figure.savefig)(path, dpi=DPI, pil_kwargs={"optimize": True})


def main() -> None:
    """Draw all of them."""
    for example in examples():
        write(example.figure(Path()), PAGE.parent / example.file)


if __name__ == "__main__":
    main()
