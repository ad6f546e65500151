"""`cascadebai bounds`: what the theorems promise for each cell of a study, beside what was measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.console import tell
from cascadebai_cli.cli.options import Config, path_of, read_study

if TYPE_CHECKING:
    import pandas as pd

    from cascadebai_cli.study.cells import Cell


def bounds(
    config: Config,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=path_of("--csv"), help="Write the table to this file as well."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=path_of("--results"),
            help="Directory of a sweep; results/NAME OF CONFIG if it exists.",
        ),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Constant 216 in T-bar, as printed, instead of 256 sigma^2.")
    ] = False,
) -> None:
    """Print the lower and the upper bound on the number of steps, and how far the measured mean is from both.

    The lower bound holds for the mean of any algorithm, the upper one for CascadeBAI with probability 1 - delta.
    """
    from cascadebai_cli.analysis.bounds import bounds_text, outside, with_measured
    from cascadebai_cli.cli.files import write_table
    from cascadebai_cli.study.cells import cells_of

    table = _promised(cells_of(read_study(config, None, None)), printed)
    table = with_measured(table, _measured(results, config))
    for sentence in outside(table):
        tell(f"warning: {sentence}")
    if csv:
        write_table(csv, table)
    typer.echo(bounds_text(table))


def _promised(cells: "Sequence[Cell]", printed: bool) -> "pd.DataFrame":
    import pandas as pd

    from cascadebai_cli.analysis.bounds import bounds_row
    from cascadebai_cli.theory.cell import learner_bounds

    names = ("cell_id", "study", "instance", "learner", "L", "K", "delta", "epsilon")
    return pd.DataFrame(
        {name: getattr(cell, name) for name in names}
        | {"w_star": cell.problem.w_star, "w_prime": cell.problem.w_prime}
        | bounds_row(
            learner_bounds(
                cell.problem, cell.delta, cell.spec.algorithm, cell.spec.options, cell.feedback, printed=printed
            )
        )
        for cell in cells
    )


def _measured(directory: Path | None, config: Path) -> "pd.DataFrame | None":
    """`summary.csv` of the sweep, if there is one; a directory that was asked for has to be one."""
    from cascadebai_cli.cli.results import warn
    from cascadebai_cli.store.directory import load_results

    usual = Path("results") / config.stem
    if directory is None and not (usual / "summary.csv").exists():
        tell(f"no measured steps: {usual} has no summary.csv; `cascadebai sweep {config}` makes it")
        return None
    results = load_results(directory or usual)
    warn(results)
    return results.summary
