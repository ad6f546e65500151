"""Letters of a figure that cannot be shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cascadebai_cli.figures.fonts import set_fonts
from cascadebai_cli.workflows.watch import Watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LETTERS = 10


def warn_of_letters(pages: "Sequence[Figure]", name: str, watch: Watch) -> None:
    """Point out letters of a figure that no font has."""
    if letters := "".join(dict.fromkeys("".join(map(set_fonts, pages)))):
        shown = letters[:MOST_LETTERS] + ("..." if len(letters) > MOST_LETTERS else "")
        watch.warn(
            f"warning: {name}: no installed font has {shown}, so that boxes stand there; install a font for this "
            "script, such as one of Noto"
        )
