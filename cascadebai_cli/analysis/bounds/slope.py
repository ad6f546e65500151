"""The slope that a bound itself would give: what Table 1 says in words, as a number."""

import pandas as pd

from cascadebai_cli.analysis.scaling import ScalingFit, fit_scaling


def bound_slope(cells: pd.DataFrame, model: str) -> ScalingFit | None:
    """Fit `model` to the upper bounds of cells, as `fit_scaling` fits it to their mean steps.

    The bound is a worst case, so its `c1` is the larger one. If the bound is tight in `K`, as the paper concludes from
    the fits, the model fits both, and the ratio of the two slopes is that of the values.

    Args:
        cells: columns `K, upper`, one row a value of `K`.
        model: a key of `scaling.MODELS`.

    Returns:
        The fit, `None` if a cell has no finite upper bound.

    Raises:
        ConfigError: as `fit_scaling`.
    """
    upper = cells["upper"].to_numpy(dtype=float)
    if not pd.notna(upper).all() or (upper == float("inf")).any():
        return None
    return fit_scaling(cells["K"].to_numpy(), upper, model)
