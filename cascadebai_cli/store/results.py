"""What a sweep left in its directory, read back and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import MANIFEST, SUMMARY_CSV, TRIALS_CSV
from cascadebai_cli.store.files import sha256_of
from cascadebai_cli.store.manifest import Manifest, read_manifest
from cascadebai_cli.store.summary import read_summary
from cascadebai_cli.study.config import Study, stored_study
from cascadebai_cli.study.fields import first_of
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.learners import LearnerEntry
from cascadebai_cli.text.table import for_shell


@dataclass(frozen=True, eq=False)
class Results:
    """The cells of a sweep and the config that they came from.

    Args:
        directory: where the files are.
        study: the study, as the manifest holds it; only to be read.
        summary: `summary.csv`, one row a cell.
        manifest: `manifest.json`.
        rows_sha256: hash of the `trials.csv` that `summary` was made from.
    """

    directory: Path
    study: Study
    summary: pd.DataFrame
    manifest: Manifest
    rows_sha256: str

    @property
    def name(self) -> str:
        """Name of the study; files are named after it."""
        return self.study.study

    @property
    def has_budget(self) -> bool:
        """Whether learners were asked after a budget of steps."""
        return "budget" in self.summary

    @property
    def instances(self) -> Mapping[str, AnyInstance]:
        """Instances of the study by name."""
        return {entry.name: entry for entry in self.study.instances}

    @property
    def learners(self) -> Mapping[str, LearnerEntry]:
        """Learners of the study by name."""
        return {entry.name: entry for entry in self.study.learners}

    @property
    def main_learner(self) -> str:
        """The learner that the others are compared with: the first plain Algorithm 1 of the config, else the first."""
        names = list(dict.fromkeys(self.summary["learner"]))
        plain = [name for name in names if name in self.learners and self.learners[name].is_algorithm_1]
        return str((plain or names)[0])


def load_results(directory: Path) -> Results:
    """Read `manifest.json` and `summary.csv` of a result directory; nothing that these name is imported.

    Raises:
        ConfigError: if the directory or one of the files is missing, or not what a sweep writes.
    """
    if not directory.is_dir():
        raise ConfigError(
            f"{directory} is not a directory; run `cascadebai sweep CONFIG --out {for_shell(directory)}` first"
        )
    manifest = read_manifest(directory)
    _refuse_changed(directory, manifest)
    return Results(
        directory=directory,
        study=stored_study(manifest.config, directory / MANIFEST),
        summary=read_summary(directory / SUMMARY_CSV),
        manifest=manifest,
        rows_sha256=manifest.rows_sha256 or sha256_of(directory / TRIALS_CSV) or "unknown",
    )


def _refuse_changed(directory: Path, manifest: Manifest) -> None:
    """What somebody has edited would go unnoticed into everything that is made from it."""
    for name, written in {TRIALS_CSV: manifest.rows_sha256, **manifest.tables}.items():
        if written and sha256_of(directory / name) not in (None, written):
            raise ConfigError(
                f"{directory / name} is not the one that the sweep wrote; "
                f"`cascadebai sweep CONFIG --out {for_shell(directory)} --collect` writes it again"
            )


def missing_trials(results: Results) -> list[str]:
    """One sentence for each way in which the sweep is not finished; empty if it is."""
    sentences = []
    wanted = first_of(results.study.trials)
    done = results.summary.loc[results.summary["n"] >= wanted, "cell_id"]
    cells = set(results.manifest.cells) | set(results.summary["cell_id"])
    short = len(cells - set(done))
    if short:
        sentences.append(
            f"{short} of {len(cells)} cells have fewer than {wanted} trials; run the sweep again to finish"
        )
    elif not results.manifest.complete:
        sentences.append("the sweep is not complete; run it again to finish")
    return sentences


def capped_trials(results: Results) -> list[str]:
    """One sentence for each curve with trials that reached `max_steps`."""
    summary = results.summary
    capped = summary[summary["n_capped"] > 0]
    return [
        f"{instance}, {learner}: {int(part['n_capped'].sum())} of {int(part['n'].sum())} trials "
        f"at K = {_listed(part['K'])} reached the cap and count with it"
        for (instance, learner), part in capped.groupby(["instance", "learner"], sort=False)
    ]


def _listed(values: "pd.Series[Any]", most: int = 6) -> str:
    distinct = [str(value) for value in dict.fromkeys(values)]
    return ", ".join(distinct[:most]) + (", ..." if len(distinct) > most else "")
