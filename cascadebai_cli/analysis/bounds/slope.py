"""The slope that a bound itself would give: what Table 1 says in words, as a number."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.analysis.bounds.cell import cell_bounds
from cascadebai_cli.analysis.bounds.quantities import CLICK_CONSTANT
from cascadebai_cli.analysis.scaling import ScalingFit, fit_scaling
from cascadebai_cli.model.instance import Instance


def bound_slope(
    K: ArrayLike, instances: Sequence[Instance], delta: ArrayLike, model: str, constant: float = CLICK_CONSTANT
) -> ScalingFit:
    """Fit `model` to the upper bounds of the cells, as `fit_scaling` fits it to their mean steps.

    The bound is a worst case, so its `c1` is larger than the measured one; what the two share, if the bound is tight
    in `K`, is that the model fits both (`r2`), and that the ratio of the slopes does not depend on the setting much.

    Args:
        K: one value a cell, shape `(n,)`.
        instances: the cells' instances.
        delta: risk of each cell, a number or shape `(n,)`.
        model: a key of `scaling.MODELS`.
        constant: constant of `T-bar`, see `quantities.exact_constant`.

    Raises:
        ConfigError: as `fit_scaling`.
    """
    risks = np.broadcast_to(np.asarray(delta, dtype=np.float64), len(instances))
    bounds = [cell_bounds(i, float(d), constant).upper.steps for i, d in zip(instances, risks, strict=True)]
    return fit_scaling(K, bounds, model)


def two_level_instance(L: int, K: int, w_star: float, w_prime: float) -> Instance:
    """The instance of a row of `summary.csv` whose weights are two-level."""
    return Instance(np.repeat([w_star, w_prime], [K, L - K]), K)
