"""The results of a sweep: its directory, read and checked, and everything that is computed from it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from pydantic_core import PydanticCustomError

from cascadebai_cli.analysis.bounds import bounds_row, learner_bounds, with_measured
from cascadebai_cli.analysis.curves import MIN_POINTS, Curve
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import FloatArray, Instance
from cascadebai_cli.store.columns import MANIFEST, PLACE, POINT, SUMMARY_CSV, TRIALS_CSV
from cascadebai_cli.store.files import sha256_of
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.store.summary import doubts, quantiles_of
from cascadebai_cli.store.trials import read_summary, read_trials, times_of
from cascadebai_cli.study.cells import LearnerEntry, weights_key
from cascadebai_cli.study.config import Study, stored_study
from cascadebai_cli.study.instances import AnyInstance, TwoLevel, is_named_only
from cascadebai_cli.study.plot import DERIVED
from cascadebai_cli.text import count, for_shell
from cascadebai_cli.theory.budget import hardness
from cascadebai_cli.theory.paper import CellBounds, two_level_instance


@dataclass(frozen=True, eq=False)
class StudyResults:
    """The cells of a sweep and their config, with the tables that follow from them.

    Each of these tables is computed when it is first asked for, and kept as long as this object. If the directory has
    changed, load it again.

    Args:
        study: the study, as the manifest holds it; it cannot be run.
        summary: `summary.csv`, one row for each cell.
        rows_sha256: hash of the `trials.csv` that `summary` was made from.
        source: the results from which these were chosen or averaged; they keep the bounds of all cells.
    """

    directory: Path
    study: Study
    summary: pd.DataFrame
    manifest: Manifest
    rows_sha256: str
    source: "StudyResults | None" = None

    @property
    def name(self) -> str:
        """Name of the study; files are named after it."""
        return self.study.study

    @property
    def has_budget(self) -> bool:
        """Whether learners had to answer after a budget of steps."""
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

    @cached_property
    def missing(self) -> list[str]:
        """One sentence for each way in which the sweep is not finished; empty if it is."""
        wanted = self.study.first_trials
        done = self.summary.loc[self.summary["n"] >= wanted, "cell_id"]
        cells = {*self.manifest.cells, *self.summary["cell_id"]}
        if short := len(cells - set(done)):
            return [f"{short} of {len(cells)} cells have fewer than {wanted} trials; run the sweep again to finish"]
        return [] if self.manifest.complete else ["the sweep is not complete; run it again to finish"]

    @property
    def doubts(self) -> list[str]:
        """A sentence about cells that missed the aim of `trials`, and one about cells wrong more often than delta."""
        return doubts(self.summary)

    @property
    def capped(self) -> list[str]:
        """One sentence for each curve with trials that reached `max_steps`."""
        capped = self.summary[self.summary["n_capped"] > 0]
        return [
            f"{instance}, {learner}: {int(part['n_capped'].sum())} of {int(part['n'].sum())} trials "
            f"at K = {_listed(part['K'])} reached the cap and count with it"
            for (instance, learner), part in capped.groupby(["instance", "learner"], sort=False)
        ]

    def tell_gaps(self, tell: Callable[[str], None], shown: Collection[str] | None = None) -> None:
        """Tell of missing and of capped trials, and of doubts, in one line each.

        Args:
            shown: ids of the cells that are shown, of which alone it tells; all cells by default, and an average of
                cells has their ids joined by `+`.
        """
        chosen = self if shown is None else self.of_cells([one for ids in shown for one in ids.split("+")])
        capped = chosen.capped
        if len(capped) > 1:
            trials, of = int(chosen.summary["n_capped"].sum()), int(chosen.summary["n"].sum())
            where = f"`cascadebai summary {for_shell(self.directory)} --sort -n_capped` shows where"
            reached = f"{count(trials)} of {count(of)} trials, on {count(len(capped))} curves, reached the cap"
            capped = [f"{reached} and count with it; {where}"]
        for sentence in (*self.missing, *capped, *chosen.doubts):
            tell(f"warning: {self.directory}: {sentence}")

    @cached_property
    def times(self) -> pd.DataFrame:
        """The time on one core for each instance and learner, as `times.csv` has it; empty if it is not known."""
        return times_of(self.directory, self.summary)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """`trials.csv`, one row for each trial.

        Raises:
            ConfigError: if a later sweep has replaced it.
        """
        path = self.directory / TRIALS_CSV
        if sha256_of(path) not in (None, self.rows_sha256):
            raise ConfigError(f"{path} has been written anew since; load the directory again")
        return pd.concat(read_trials(path), ignore_index=True)

    @cached_property
    def steps_of_trials(self) -> "Mapping[str, pd.Series[int]]":
        """Id of each cell -> the steps of its trials by their numbers."""
        tables = read_trials(self.directory / TRIALS_CSV)
        return {
            str(cell_id): trials.set_index("trial")["steps"]
            for table in tables
            for cell_id, trials in table.groupby("cell_id", sort=False)
        }

    @cached_property
    def cells(self) -> pd.DataFrame:
        """`summary` with the gaps, and with the algorithms and options of the learners."""
        learner, entries = self.summary["learner"], self.learners
        values = {name: entry.options for name, entry in entries.items()}
        options = dict.fromkeys(name for given in values.values() for name in given if name not in (*PLACE, *DERIVED))
        return self.summary.assign(
            gap=self._gaps,
            algorithm=learner.map({name: entry.algorithm for name, entry in entries.items()}),
            **{option: learner.map({name: given.get(option) for name, given in values.items()}) for option in options},
        )

    @property
    def _gaps(self) -> "pd.Series[float]":
        """`w(K) - w(K+1)` of each cell; older manifests lack it, which leaves NaN except for two-level instances."""
        cells = self.summary
        two_level = {name: isinstance(entry, TwoLevel) for name, entry in self.instances.items()}
        width = (cells["w_star"] - cells["w_prime"]).where(cells["instance"].map(two_level).eq(True))
        return pd.to_numeric(cells["cell_id"].map(self.manifest.gaps), errors="coerce").astype(float).fillna(width)

    def curves(self, *, allow_capped: bool = False) -> list[Curve]:
        """Return the curves of the study, each with its fits.

        A mean with trials that reached the cap is a lower limit: its curve is left out, unless that is allowed.
        """
        return [curve for curve in self._curves if allow_capped or not curve.n_capped]

    def unfitted(self, *, allow_capped: bool = False) -> list[str]:
        """Return a sentence for each curve without a fit: it has capped trials, or a model but too few points."""
        return [why for curve in self._curves if (why := _why_not(curve, allow_capped))]

    @cached_property
    def _curves(self) -> tuple[Curve, ...]:
        return tuple(Curve.of(self))

    @cached_property
    def bounds(self) -> pd.DataFrame:
        """The bounds and the measured mean of each cell of `summary`, in the same order; NaN where no bound is known.

        The bounds of an average over several cells are the means of theirs.
        """
        rows = [
            {name: cell[name] for name in ("cell_id", *POINT)}
            | _mean_of_bounds([self._bounds_of(cell_id) for cell_id in cell["cell_id"].split("+")])
            for cell in self.summary.to_dict("records")
        ]
        return with_measured(pd.DataFrame(rows), self.summary).set_index(self.summary.index)

    @cached_property
    def _bounds_of(self) -> Callable[[str], dict[str, Any]]:
        """A function from the id of a cell to its bounds, for results made from these too."""
        return self.source._bounds_of if self.source else self._once(_bounds_of_cell)

    @property
    def hardness(self) -> "pd.Series[float]":
        """The sum over items of `1 / gap^2` of each cell; NaN where its weights are not known."""
        return self.summary["cell_id"].map(lambda ids: np.mean([self._hardness_of(one) for one in ids.split("+")]))

    @cached_property
    def _hardness_of(self) -> Callable[[str], float]:
        return self.source._hardness_of if self.source else self._once(_hardness_of_cell)

    def _once(self, of: Callable[..., Any]) -> Callable[[str], Any]:
        """Return a function from the id of a cell to what `of` tells of it, which is computed once for each."""
        cells = {row["cell_id"]: row for row in self.summary.to_dict("records")}
        weights_at = cache(self.weights_of)
        return cache(lambda cell_id: of(self, cells[cell_id], weights_at))

    def weights_of(self, name: str, L: int, K: int, key: str) -> FloatArray | None:
        """Return the weights of an instance at a point of the grid, from the manifest or as the config gives them.

        No file is opened and no code imported: `None` if the config only names the source of the weights.

        Args:
            key: hash of the weights in the manifest, empty in older ones.
        """
        if key in self.manifest.weights:
            return np.array(self.manifest.weights[key])
        entry = self.instances.get(name)
        if entry is None or is_named_only(entry.model_dump()):
            return None
        try:
            made = entry.family_in(Path(), self.study.seed)(L, K).weights
        except (ConfigError, PydanticCustomError):
            return None
        return made if key in ("", weights_key(made)) else None

    @cached_property
    def quantiles(self) -> pd.DataFrame:
        """Quantiles of the steps of each cell of `summary`, with the intervals of the median and of the 90 % quantile.

        A quantile is one of the values. If a trial that reached the cap has it, it is a lower limit.
        """
        rows = [{"cell_id": cell_id, **quantiles_of(self.steps_of(cell_id)[0])} for cell_id in self.summary["cell_id"]]
        return pd.DataFrame(rows, index=self.summary.index)

    def steps_of(self, cell_id: str) -> tuple[FloatArray, int]:
        """Return the steps of the trials of a cell in ascending order, those that stopped first, and their number."""
        parts = [self._steps[one] for one in cell_id.split("+")]
        stopped, capped = (np.sort(np.concatenate([part[i] for part in parts])) for i in (0, 1))
        return np.concatenate([stopped, capped]), len(stopped)

    @cached_property
    def _steps(self) -> Mapping[str, tuple[FloatArray, FloatArray]]:
        """Cell -> steps of the trials that stopped, and of those that reached the cap."""
        if self.source:
            return self.source._steps
        found: dict[str, tuple[FloatArray, FloatArray]] = {}
        for table in read_trials(self.directory / TRIALS_CSV):
            for cell_id, part in table.groupby("cell_id", sort=False):
                steps, is_capped = part["steps"].to_numpy(np.float64), (part["status"] == "capped").to_numpy()
                found[str(cell_id)] = (steps[~is_capped], steps[is_capped])
        return found

    def derived(self, **changes: Any) -> Self:
        """Return the same results with some attributes replaced, such as the cells or their names."""
        return replace(self, **changes, source=self.source or self)

    def of_cells(self, cell_ids: Collection[str]) -> Self:
        """Return the same results with only some of the cells."""
        chosen = self.summary["cell_id"].isin(set(cell_ids))
        return self if chosen.all() else self.derived(summary=self.summary[chosen])


def load_results(directory: Path) -> StudyResults:
    """Read `manifest.json` and `summary.csv` of a result directory; nothing that these name is imported.

    Raises:
        ConfigError: if the directory or one of the files is missing, or not what a sweep writes.
    """
    if not directory.is_dir():
        raise ConfigError(
            f"{directory} is not a directory; run `cascadebai sweep CONFIG --out {for_shell(directory)}` first"
        )
    manifest = Manifest.read(directory)
    _refuse_changed(directory, manifest)
    return StudyResults(
        directory=directory,
        study=stored_study(manifest.config, directory / MANIFEST),
        summary=read_summary(directory / SUMMARY_CSV),
        manifest=manifest,
        rows_sha256=manifest.rows_sha256 or sha256_of(directory / TRIALS_CSV) or "unknown",
    )


def _refuse_changed(directory: Path, manifest: Manifest) -> None:
    """Refuse files that were edited by hand, as everything made from them would be wrong without anyone noticing."""
    for name, written in {TRIALS_CSV: manifest.rows_sha256, **manifest.tables}.items():
        if written and sha256_of(directory / name) not in (None, written):
            raise ConfigError(
                f"{directory / name} is not the one that the sweep wrote; "
                f"`cascadebai sweep CONFIG --out {for_shell(directory)} --collect` writes it again"
            )


def _why_not(curve: Curve, allow_capped: bool) -> str:
    if curve.fit and not curve.is_long_enough:
        number = curve.points[curve.x].nunique()
        return (
            f"{curve.name}: no fit: it takes {MIN_POINTS} values of {curve.x}, not {number}; add some to the config, "
            "or run its sweep to the end"
        )
    if allow_capped or not (curve.n_capped and curve.is_long_enough):
        return ""
    return f"{curve.name}: no fit, since the means at {curve.limits} are lower limits; --allow-capped fits them too"


def _listed(values: "pd.Series[Any]", most: int = 6) -> str:
    distinct = [str(value) for value in dict.fromkeys(values)]
    return ", ".join(distinct[:most]) + (", ..." if len(distinct) > most else "")


# --- The bounds of a cell of some results ---------------------------------------------------------------------------

_WeightsAt = Callable[[str, int, int, str], FloatArray | None]


def _bounds_of_cell(results: StudyResults, cell: Mapping[Any, Any], weights_at: _WeightsAt) -> dict[str, Any]:
    """Return the bounds of a cell of some results; none where its weights or its learner are not known.

    Raises:
        ConfigError: if its weights make no instance.
    """
    learner = results.learners.get(cell["learner"])
    try:
        instance = _instance(results, cell, weights_at) if learner else None
    except ConfigError as error:
        raise ConfigError(f"{results.directory / SUMMARY_CSV}: {cell['instance']}: {error}") from error
    if not learner or not instance:
        return bounds_row(CellBounds(np.nan))
    feedback = results.study.feedback_of(learner, results.instances.get(cell["instance"]))
    return bounds_row(learner_bounds(instance, cell["delta"], learner.algorithm, learner.spec.options, feedback))


def _hardness_of_cell(results: StudyResults, cell: Mapping[Any, Any], weights_at: _WeightsAt) -> float:
    """Return the sum over items of `1 / gap^2` of a cell of some results; NaN where its weights are not known."""
    instance = _instance(results, cell, weights_at)
    return hardness(instance) if instance else np.nan


def _instance(results: StudyResults, cell: Mapping[Any, Any], weights_at: _WeightsAt) -> Instance | None:
    """Return the instance of a cell; for one of two levels, the largest and smallest weights in the summary suffice."""
    name, L, K = cell["instance"], cell["L"], cell["K"]
    if isinstance(results.instances.get(name), TwoLevel):
        return two_level_instance(L, K, cell["w_star"], cell["w_prime"], cell["epsilon"])
    weights = weights_at(name, L, K, str(results.manifest.cells.get(cell["cell_id"], {}).get("weights", "")))
    return None if weights is None else Instance(weights, K, cell["epsilon"])


def _mean_of_bounds(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the means of the lower and upper bounds of cells; for a single cell its own row."""
    if len(rows) == 1:
        return rows[0]
    means = {name: np.mean([np.nan if row[name] is None else row[name] for row in rows]) for name in ("lower", "upper")}
    return dict.fromkeys(rows[0]) | means
