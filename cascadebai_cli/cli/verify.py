"""`cascadebai verify`: does this code still give the numbers of the reference?"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.console import label, tell
from cascadebai_cli.cli.options import Jobs, path_of
from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.store.directory import Results
    from cascadebai_cli.workflows.baseline import Reference, Rows

MOST_SHOWN = 5


@dataclass(frozen=True)
class Plan:
    """What every artefact is checked with."""

    backend: "Backend"
    seed: int
    trials: int


def verify(
    reference: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=path_of("--reference"),
            help="Directory with a result directory for each artefact.",
        ),
    ] = Path("results/reference"),
    configs: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=path_of("--configs"),
            help="Folder from which the data files of their configs count.",
        ),
    ] = Path("configs"),
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this artefact; may be repeated.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Root seed of the fresh trials; a new one if not given.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=3, help="Fresh trials a cell.")] = 20,
    n_jobs: Jobs = -1,
) -> None:
    """Compare this code with the committed reference; exit code 1 if something has moved.

    (1) Bit for bit: a fixed set of trials of every artefact is run again and must give the same rows. (2) By
    statistics: fresh trials of the same cells must have the same mean steps; if nothing has moved, the probability
    of an alarm is at most 0.1 % a call. Before both, the tables must follow from the committed rows.
    """
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.workflows.studies import check_trials

    check_trials(trials)
    plan = Plan(Backend(n_jobs=n_jobs), secrets.randbits(32) if seed is None else seed, trials)
    artefacts = [_load(directory, configs) for directory in _directories(reference, only or [])]
    tests = sum(len(_groups(artefact)) + len(_cells(artefact)) for artefact in artefacts)
    tell(f"fresh trials have the root seed {plan.seed}")
    found = [line for artefact in artefacts for line in _check(artefact, plan, tests)]
    for line in found:
        typer.echo(f"moved: {line}")
    if found:
        raise typer.Exit(1)
    typer.echo(f"nothing has moved in {', '.join(artefact.name for artefact in artefacts)}")


def _directories(reference: Path, only: Sequence[str]) -> list[Path]:
    found = sorted(path.parent for path in reference.glob("*/manifest.json"))
    if not found:
        raise ConfigError(f"{reference} holds no result directory; give one with --reference")
    names = [path.name for path in found]
    for name in only:
        if name not in names:
            raise ConfigError(f"--only: {name} is not in {reference}; choose from {', '.join(names)}")
    return [path for path in found if not only or path.name in only]


def _load(directory: Path, configs: Path) -> "Reference":
    from cascadebai_cli.store.directory import load_results
    from cascadebai_cli.workflows.baseline import load_reference

    load_results(directory)  # first, as it says what is wrong with any of the files
    return load_reference(directory, configs)


def _check(artefact: "Reference", plan: Plan, tests: int) -> list[str]:
    """One line for everything that has moved in an artefact."""
    _remark_on_versions(artefact)
    lines = [*_check_tables(artefact), *_check_rows(artefact, plan), *_check_means(artefact, plan, tests)]
    return [f"{artefact.name}: {line}" for line in lines]


def _remark_on_versions(artefact: "Reference") -> None:
    from importlib.metadata import version

    from cascadebai_cli.engines.simulate import ENGINE_VERSION

    there = {"numpy": artefact.manifest["versions"].get("numpy"), "engine": artefact.manifest["engine_version"]}
    for name, here in (("numpy", version("numpy")), ("engine", ENGINE_VERSION)):
        if there[name] != here:
            tell(
                f"{artefact.name}: {name} {there[name]} in the reference, {here} here: rows may differ for that reason"
            )


def _check_tables(artefact: "Reference") -> Iterator[str]:
    """The summary must follow from the rows, the fits from the summary, and the rows be those of the manifest."""
    from cascadebai_cli.store.directory import load_results
    from cascadebai_cli.store.summary import summarise_file

    results = load_results(artefact.directory)
    if results.stale:
        yield "tables: trials.csv is not the file whose hash the manifest holds"
    table = summarise_file(artefact.directory / "trials.csv").to_csv(index=False, lineterminator="\n")
    if table.encode() != (artefact.directory / "summary.csv").read_bytes():
        yield "tables: summary.csv is not what trials.csv gives"
    if (artefact.directory / "fits.csv").exists() and not _same_fits(results):
        yield "tables: fits.csv is not what summary.csv gives"
    for cell_id in artefact.strangers[:MOST_SHOWN]:
        yield f"tables: cell {cell_id} of trials.csv is not made by the config any more"


def _same_fits(results: "Results") -> bool:
    """Apart from rounding, which linear algebra does in its own way on each machine."""
    from cascadebai_cli.analysis.agreement import same_numbers
    from cascadebai_cli.analysis.fits import fits_table
    from cascadebai_cli.store.reading import read_table

    remedy = f"`cascadebai fit {results.directory}` writes it"
    return same_numbers(read_table(results.directory / "fits.csv", (), (), remedy), fits_table(results))


def _cells(artefact: "Reference") -> list[int]:
    from cascadebai_cli.workflows.baseline import watched

    return watched(artefact)


def _check_rows(artefact: "Reference", plan: Plan) -> Iterator[str]:
    from cascadebai_cli.workflows.baseline import fixed_trials, run_again

    trials = fixed_trials(artefact, _cells(artefact))
    rows, raised = run_again(artefact.cells, trials, artefact.seed, plan.backend)
    count = sum(map(len, trials.values()))
    tell(f"{artefact.name}: bit for bit: {count} of {sum(map(len, artefact.rows.values())):,} trials run again")
    differing = [
        f"{_place(artefact, position)}, trial {trial}: {old} in the reference, {new} here"
        for position, found in sorted(rows.items())
        for trial, new in sorted(found.items())
        if new != (old := artefact.rows[position][trial])
    ]
    yield from _first("bit for bit", [*raised, *differing], "trials")


def _check_means(artefact: "Reference", plan: Plan, tests: int) -> Iterator[str]:
    from cascadebai_cli.analysis.agreement import compare_means, moved
    from cascadebai_cli.workflows.baseline import run_again

    cells = _cells(artefact)
    wanted = {position: range(plan.trials) for position in cells if len(artefact.rows[position]) > 1}
    if len(wanted) < len(cells):
        skipped = len(cells) - len(wanted)
        tell(f"{artefact.name}: by statistics: skipped for want of 2 trials in the reference: {skipped} of the cells")
    rows, raised = run_again(artefact.cells, wanted, plan.seed, plan.backend)
    positions = [position for position, trials in rows.items() if len(trials) > 1]
    old = _summary(artefact, {position: artefact.rows[position] for position in positions})
    fresh = _summary(artefact, {position: rows[position] for position in positions})
    found = compare_means(old, fresh, _groups(artefact))
    largest = max((abs(comparison.z) for comparison in found), default=0)
    tell(
        f"{artefact.name}: by statistics: {len(positions)} of {len(artefact.cells)} cells, {plan.trials} fresh trials "
        f"each; largest |z| {largest:.2f}"
    )
    names = {artefact.cells[position].cell_id: _place(artefact, position) for position in positions}
    lines = [
        f"{names.get(one.what, one.what)}: mean steps {100 * one.change:+.2f} %, z = {one.z:.1f}, p = {one.p_value:.1g}"
        for one in moved(found, tests)
    ]
    # What is wrong everywhere stands behind the cells: it comes first.
    yield from _first("by statistics", [*raised, *lines[::-1]], "comparisons")


def _place(artefact: "Reference", position: int) -> str:
    cell = artefact.cells[position]
    return f"{label(cell)} (cell {cell.cell_id})"


def _groups(artefact: "Reference") -> Mapping[str, list[str]]:
    """The watched cells of each learner where there are several, and all of them."""
    cells = [artefact.cells[position] for position in _cells(artefact)]
    groups = {"all watched cells": [cell.cell_id for cell in cells]}
    learners = list(dict.fromkeys(cell.learner for cell in cells))
    for learner in learners if len(learners) > 1 else []:
        groups[f"all watched cells of {learner}"] = [cell.cell_id for cell in cells if cell.learner == learner]
    return {name: members for name, members in groups.items() if len(members) > 1}


def _summary(artefact: "Reference", rows: "Rows") -> "pd.DataFrame":
    from cascadebai_cli.analysis.agreement import fresh_summary

    names = ("cell_id", "study", "instance", "learner", "L", "K", "delta", "epsilon")
    return fresh_summary(
        {name: getattr(artefact.cells[position], name) for name in names}
        | {"w_star": artefact.cells[position].problem.w_star, "w_prime": artefact.cells[position].problem.w_prime}
        | {"trial": trial, **outcome._asdict()}
        for position, trials in rows.items()
        for trial, outcome in trials.items()
    )


def _first(check: str, lines: Sequence[str], what: str) -> Iterator[str]:
    yield from (f"{check}: {line}" for line in lines[:MOST_SHOWN])
    if len(lines) > MOST_SHOWN:
        yield f"{check}: and {len(lines) - MOST_SHOWN} more {what}"
