"""Keep finished results as the reference: `python -m experiments.reference [NAME ...]`.

Copies what `cascadebai verify`, the tables of experiments/README.md and the pictures of the tests need from
results/NAME to results/reference/NAME.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from cascadebai_cli.analysis.times import TIMES, times_of
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.directory import load_results, missing_trials
from experiments.artefacts import ARTEFACTS, REFERENCE, RESULTS

TABLES = (
    "trials.csv",
    "summary.csv",
    "fits.csv",
    "models.csv",
    "bound_fits.csv",
    "ratios.csv",
    "orders.csv",
    "bounds.csv",
    *("solved.csv", "pairs.csv", "quoted.csv", "places.csv"),  # of published_weights
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
    times_of(results).to_csv(target / TIMES, index=False, float_format="%.6g", lineterminator="\n")
    _keep_manifest(directory / "manifest.json", target / "manifest.json")
    return missing_trials(results)


def _keep_manifest(source: Path, target: Path) -> None:
    manifest = json.loads(source.read_text(encoding="utf-8"))
    manifest.get("machine", {}).pop("node", None)
    target.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Read the command line and keep what it names, by default every artefact that has results."""
    parser = argparse.ArgumentParser(description="Copy results into results/reference.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="directories below results; all that are there if none"
    )
    everything = [*(one.name for one in ARTEFACTS), "beyond", "published_weights"]
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
