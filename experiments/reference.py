"""Keep finished results as the reference: `python -m experiments.reference [--take-up] [NAME ...]`.

Copies what `cascadebai verify`, the tables of experiments/README.md and the pictures of the tests need from
results/NAME to results/reference/NAME. With `--take-up` the other way round: the rows of the reference whose engines
draw and whose learners decide as they did become the journal of results/NAME, so that a sweep makes only the others.
"""

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    BOUNDS_CSV,
    BUDGETS_CSV,
    FITS_CSV,
    MODELS_CSV,
    ORDERS_CSV,
    RATIOS_CSV,
    SUMMARY_CSV,
    TIMES_CSV,
    TRIALS_CSV,
    WEIGHTED_FITS_CSV,
)
from cascadebai_cli.store.journal import Stored, write_journal
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.store.trials import read_rows, times_of
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text import count
from experiments.artefacts import ARTEFACTS, BEYOND, REFERENCE, RESULTS

TABLES = (
    *(
        TRIALS_CSV,
        f"{TRIALS_CSV}.gz",
        SUMMARY_CSV,
        FITS_CSV,
        MODELS_CSV,
        BOUND_FITS_CSV,
        RATIOS_CSV,
        ORDERS_CSV,
        BOUNDS_CSV,
        BUDGETS_CSV,
    ),
    WEIGHTED_FITS_CSV,
    *("solved.csv", "pairs.csv", "quoted.csv", "places.csv"),  # of published_weights
    *("sizes.csv", "changes.csv", "lesson.csv"),  # of published_rewards
)


def keep(directory: Path, target: Path) -> list[str]:
    """Copy a result directory, without journal, timings of single trials and the name of the machine.

    Returns:
        one sentence for each way in which the result is not finished.

    Raises:
        ConfigError: if `directory` is not a result directory.
    """
    results = load_results(directory)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in (*(directory / name for name in TABLES), *sorted(directory.glob("*.png"))):
        if path.exists():
            shutil.copyfile(path, target / path.name)
    times_of(directory, results.summary).to_csv(
        target / TIMES_CSV, index=False, float_format="%.6g", lineterminator="\n"
    )
    _without_name(results.manifest).write(target, indent=1)
    return results.missing


def take_up(source: Path, target: Path) -> int:
    """Begin a result directory with the rows of a reference whose engines and rules still have the same version.

    The reference keeps no time of a single trial: each gets the mean of its instance and learner.

    Returns:
        number of rows.

    Raises:
        ConfigError: if the reference is damaged, or `target` is there already.
    """
    if target.exists():
        raise ConfigError(f"{target} is there already; move it away")
    results = load_results(source)
    manifest = results.manifest
    cells = {cell_id: content for cell_id, content in manifest.cells.items() if _is_up_to_date(manifest, content)}
    times = times_of(source, results.summary).set_index(["instance", "learner"])["mean_seconds"]
    rows = (
        row._replace(seconds=float(times[cells[row.cell_id]["instance"], cells[row.cell_id]["learner"]]))
        for row in read_rows(source / TRIALS_CSV)
        if row.cell_id in cells
    )
    target.mkdir(parents=True)
    write_journal(target, rows)
    engines = {content["engine"] for content in cells.values()}
    versions = {name: number for name, number in manifest.engine_version.items() if name in engines}
    manifest.model_copy(update={"cells": cells, "engine_version": versions}).write(target)
    return len(Stored.read(target).rows)


def _is_up_to_date(manifest: Manifest, content: Mapping[str, Any]) -> bool:
    engine, spec = content["engine"], LearnerSpec(content["algorithm"], content)
    same_rule = content.get(Cell.RULE, 1) == spec.rule_version
    return same_rule and manifest.engine_version.get(engine) == ENGINES[engine].version


def _without_name(manifest: Manifest) -> Manifest:
    machine = {key: value for key, value in manifest.machine.items() if key != "node"}
    return manifest.model_copy(update={"machine": machine})


def main() -> None:
    """Read the command line and keep what it names, by default every artefact that has results."""
    parser = argparse.ArgumentParser(description="Copy results into results/reference.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="directories below results; all that are there if none"
    )
    others = ("beyond", "sharp", "budget_tracking", "published_weights", "published_rewards")
    everything = [*(one.name for one in (*ARTEFACTS, *BEYOND)), *others]
    parser.add_argument("--take-up", action="store_true", help="begin results/NAME with what still holds of them")
    given = parser.parse_args()
    names = given.names or [name for name in everything if (RESULTS / name).is_dir()]
    for name in names:
        try:
            if given.take_up:
                print(f"{RESULTS / name}: {count(take_up(REFERENCE / name, RESULTS / name))} rows")
                continue
            unfinished = keep(RESULTS / name, REFERENCE / name)
        except CascadeError as error:
            sys.exit(f"error: {error}")
        size = sum(path.stat().st_size for path in (REFERENCE / name).iterdir())
        print(f"{REFERENCE / name}: {size / 2**20:.1f} MiB" + "".join(f"; {line}" for line in unfinished))


if __name__ == "__main__":
    main()
