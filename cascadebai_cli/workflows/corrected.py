"""A log with positions becomes one of items that were looked at."""

from dataclasses import replace

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import Log
from cascadebai_cli.model.positions import Shown, examination, groups_of, looked_at


def corrected(log: Log) -> tuple[Log, dict[str, float]]:
    """The log with views that were looked at, and the examination of each position; as it is without positions.

    Raises:
        ConfigError: if items do not lead from every position to every other one.
    """
    if log.cells is None:
        return log, {}
    names = _in_order(log.cells["position"])
    if len(names) == 1:
        note = f"all rows have the position {names[0]}, so that nothing is to be corrected"
        return replace(log, notes=(*log.notes, note)), {names[0]: 1.0}
    place = pd.Categorical(log.cells["position"], categories=names).codes.astype(np.int64)
    counts = log.cells[["clicks", "views"]].to_numpy(np.float64).T
    shown = Shown(log.cells["item"].to_numpy(np.int64), place, *counts)
    groups = groups_of(shown)
    if (apart := groups != groups[0]).any():
        raise ConfigError(
            f"{log.name}: no clicked item was shown both at position {names[0]} and, by steps, at position "
            f"{names[int(apart.argmax())]}, so that nobody can tell a good position from good items; leave --position "
            "away, or log items at several positions"
        )
    theta, _ = examination(shown)
    chances = dict(zip(names, theta.tolist(), strict=True))
    told = ", ".join(f"{name} {chance:.3g}" for name, chance in list(chances.items())[:20])
    note = f"chance that a position is looked at, beside the best one: {told}; the views are corrected for it"
    return replace(log, views=looked_at(shown, theta), notes=(*log.notes, note)), chances


def _in_order(positions: "pd.Series[str]") -> list[str]:
    """Distinct positions, as numbers if they are."""
    names = positions.drop_duplicates()
    numbers = pd.to_numeric(names, errors="coerce")
    return list(names.iloc[np.argsort(numbers, kind="stable")] if numbers.notna().all() else names.sort_values())
