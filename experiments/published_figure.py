"""The five rows of Table 2 with three lines each: `python -m experiments.published_figure`.

Draws results/reference/published_rewards/lines.png from the committed rows.
"""

import argparse

import numpy as np

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures.plan import draw_side_by_side
from cascadebai_cli.figures.style import render
from experiments.artefacts import REFERENCE
from experiments.published_weights import published_lines

NAME = "published_rewards"


def main() -> None:
    """Draw and keep."""
    argparse.ArgumentParser(description="Draw Table 2 with independent rewards and with a table.").parse_args()
    independent, reuse = (load_results(REFERENCE / name) for name in ("table1", NAME))
    K = np.arange(20, 61)
    figure = draw_side_by_side(
        {"independent rewards": independent.summary, "rewards from a table that is used again": reuse.summary},
        {name: (K, [line(int(k)) for k in K]) for name, line in published_lines().items()},
    )
    path = REFERENCE / NAME / "lines.png"
    path.write_bytes(render(figure, "png", title=NAME, rows_sha256=str(reuse.manifest.rows_sha256)))
    print(path)


if __name__ == "__main__":
    main()
