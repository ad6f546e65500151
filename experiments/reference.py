"""Keep finished results as the reference: `python -m experiments.reference [NAME ...]`.

Copies what `cascadebai verify`, the tables of experiments/README.md and the pictures of the tests need from
results/NAME to results/reference/NAME.
"""

import argparse
import shutil
import sys
from pathlib import Path

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.directory import load_results, missing_trials
from cascadebai_cli.store.manifest import Manifest, write_manifest
from cascadebai_cli.store.schema import BOUND_FITS, BOUNDS, FITS, MODELS, ORDERS, RATIOS, SUMMARY, TRIALS
from cascadebai_cli.store.timings import times_of, write_times
from experiments.artefacts import ARTEFACTS, REFERENCE, RESULTS

TABLES = (
    *(TRIALS, SUMMARY, FITS, MODELS, BOUND_FITS, RATIOS, ORDERS, BOUNDS),
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
    write_times(target, times_of(directory, results.summary))
    write_manifest(target, _without_name(results.manifest), indent=1)
    return missing_trials(results)


def _without_name(manifest: Manifest) -> Manifest:
    machine = {key: value for key, value in manifest.machine.items() if key != "node"}
    return manifest.model_copy(update={"machine": machine})


def main() -> None:
    """Read the command line and keep what it names, by default every artefact that has results."""
    parser = argparse.ArgumentParser(description="Copy results into results/reference.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="directories below results; all that are there if none"
    )
    everything = [*(one.name for one in ARTEFACTS), "beyond", "published_weights", "published_rewards"]
    names = parser.parse_args().names or [name for name in everything if (RESULTS / name).is_dir()]
    for name in names:
        try:
            unfinished = keep(RESULTS / name, REFERENCE / name)
        except CascadeError as error:
            sys.exit(f"error: {error}")
        size = sum(path.stat().st_size for path in (REFERENCE / name).iterdir())
        print(f"{REFERENCE / name}: {size / 2**20:.1f} MiB" + "".join(f"; {line}" for line in unfinished))


if __name__ == "__main__":
    main()
