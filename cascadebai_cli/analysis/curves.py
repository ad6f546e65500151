"""The cells that make one curve: those that agree in everything but its axis, and what goes in pairs with that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.regressors import FloatArray
from cascadebai_cli.analysis.scaling import MIN_POINTS
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import POINT
from cascadebai_cli.study.fields import AXES
from cascadebai_cli.study.fit import Fit
from cascadebai_cli.study.learners import LearnerEntry, option_values
from cascadebai_cli.study.spread import as_place
from cascadebai_cli.text.columns import value_text

FAMILY = "learner family"
"""Column of what learners have in common that differ in one option."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Points over an axis.

    Attributes:
        key: the columns `POINT` that are the same at all points, with their values.
        x: name of the axis.
        points: rows of the table, sorted by the axis.
        fit: what the config says about fitting it, if it does.
    """

    key: Mapping[str, Any]
    x: str
    points: pd.DataFrame
    fit: Fit | None

    @property
    def name(self) -> str:
        """Instance and learner in words."""
        return f"{self.key['instance']}, {self.key['learner']}"

    @property
    def values(self) -> FloatArray:
        """Values of the axis, shape `(n,)`."""
        return self.points[self.x].to_numpy(dtype=float)

    @property
    def is_long_enough(self) -> bool:
        """Whether it has points enough for a fit."""
        return bool(self.points[self.x].nunique() >= MIN_POINTS)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the config names; none with too few points for a fit."""
        return self.fit.models if self.fit and self.is_long_enough else ()

    @property
    def n_capped(self) -> int:
        """Trials that reached the cap."""
        return int(self.points["n_capped"].sum())

    @property
    def limits(self) -> str:
        """Where there are some."""
        return f"{self.x} = {', '.join(map(value_text, self.points.loc[self.points['n_capped'] > 0, self.x]))}"

    @property
    def steps(self) -> FloatArray:
        """Mean steps at each of them."""
        return self.points["mean_steps"].to_numpy(dtype=float)


def curves_of(results: Results, table: pd.DataFrame | None = None, *, allow_capped: bool = False) -> Iterator[Curve]:
    """The curves of a table with the columns of `summary.csv`, which is that of the results by default.

    The axis is the one that `fit` of the instance names; without it `K`, or what varies in its place. A mean with
    trials that reached the cap is a lower limit: its curve is left out, unless that is allowed.
    """
    cells = results.summary if table is None else table
    for _, part in cells.groupby("instance", sort=False):
        entry = results.instances.get(str(part["instance"].iloc[0]))
        fit = entry.fit if entry else None
        x = fit.x if fit else _axis(part)
        found = _curves(results, part if x in AXES else _by_option(results, part, x), x, fit)
        yield from (curve for curve in found if allow_capped or not curve.n_capped)


def _curves(results: Results, cells: pd.DataFrame, x: str, fit: Fit | None) -> Iterator[Curve]:
    if cells.empty:
        return
    names = [name for name in POINT if name != x and name not in _beside(results, cells, x)]
    groups = [*names, *([FAMILY] if FAMILY in cells else [])]
    for values, points in cells.groupby(groups, sort=False):
        yield Curve(dict(zip(names, values, strict=False)), x, points.sort_values(x, kind="stable"), fit)


def _axis(cells: pd.DataFrame) -> str:
    """`K`, unless that is the same everywhere and one other number is not."""
    varying = [name for name in AXES if cells[name].nunique() > 1]
    return varying[0] if len(varying) == 1 else "K"


def _beside(results: Results, cells: pd.DataFrame, x: str) -> list[str]:
    """What goes in pairs with the axis."""
    entry = results.instances.get(str(cells["instance"].iloc[0]))
    zipped = (entry.zip if entry else None) or results.study.zip
    return [name for name in zipped.values if name != x] if zipped and x in zipped.values else []


def _by_option(results: Results, cells: pd.DataFrame, option: str) -> pd.DataFrame:
    """The cells whose learner has an option, with the value of it, and what is left of the learner without it."""
    values = {name: option_values(entry) for name, entry in results.learners.items()}
    there = cells[cells["learner"].map(lambda name: option in values.get(name, {}))]
    if not all(isinstance(values[name][option], int | float) for name in there["learner"].unique()):
        raise ConfigError(f"fit: x: {option} has values that are no numbers; name another axis")
    families = {name: _family(results.learners[name], option) for name in values}
    labels: dict[str, str] = {}
    for name in there["learner"].unique():
        labels.setdefault(families[name], as_place(name, option, values[name][option]))
    return there.assign(
        **{option: there["learner"].map(lambda name: values[name][option])},
        learner=there["learner"].map(lambda name: labels[families[name]]),
        **{FAMILY: there["learner"].map(families)},
    )


def _family(entry: LearnerEntry, option: str) -> str:
    """What an entry has in common with others that differ in one option only."""
    rest = sorted((key, str(value)) for key, value in option_values(entry).items() if key != option)
    return repr((entry.algorithm, entry.feedback, rest))
