"""Draw the pictures of docs/figures.md, docs/sharp.md and docs/budget.md: `python -m experiments.figures`.

Each stands behind a block of YAML whose first line names the directories it is drawn from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures.style import styled
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path("docs")
PAGES = ("figures.md", "sharp.md", "budget.md")
BLOCK = re.compile(
    r"```yaml\n# (?P<directories>[^\n]*)\n(?P<config>.*?)```\n\n!\[[^\]]*\]\((?P<file>[^)]*)\)", re.DOTALL
)
DPI = 110
"""Small files that are sharp on a screen."""


@dataclass(frozen=True)
class Example:
    """A picture of a page: what it is drawn from, and where it lies beside the page."""

    directories: tuple[Path, ...]
    plot: Plot
    file: Path

    def figure(self, root: Path) -> "Figure":
        """The picture, drawn anew."""
        studies = [load_results(root / directory) for directory in self.directories]
        (page,) = drawing(studies, self.plot).pages
        return page


def examples(root: Path = Path()) -> Iterator[Example]:
    """The pictures of the pages below `root`."""
    for page in PAGES:
        for block in BLOCK.finditer((root / FOLDER / page).read_text(encoding="utf-8")):
            plot = Plot.model_validate(yaml.safe_load(block["config"])["plot"])
            yield Example(tuple(map(Path, block["directories"].split())), plot, Path(block["file"]))


def write(figure: "Figure", path: Path) -> None:
    """Draw a picture into a file."""
    styled(figure.savefig)(path, dpi=DPI, pil_kwargs={"optimize": True})


def main() -> None:
    """Draw all of them."""
    for example in examples():
        write(example.figure(Path()), FOLDER / example.file)


if __name__ == "__main__":
    main()
