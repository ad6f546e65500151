"""Confidence radii that hold for all numbers of observations at once (law of the iterated logarithm)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray


@dataclass(frozen=True)
class IteratedLogRadius:
    """`C(T) = scale sqrt( ln( log2(2T) / rho ) / T )`, `C(0) = inf`.

    Source: Section 3 of the paper for CascadeBAI (`scale = 4 sigma`, `rho = sqrt(delta / (12 L))`), and
    Jun et al. (2016) for BatchRacing (`scale = 2`, `omega = sqrt(delta / (6 L))`). Decreasing in `T`.
    """

    scale: float
    rho: float

    def __call__(self, T: ArrayLike) -> FloatArray:
        """Radius after `T` observations, same shape as `T`."""
        count = np.asarray(T, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = self.scale * np.sqrt(np.log(np.log2(2 * count) / self.rho) / count)
        return np.where(count > 0, radius, np.inf)


def cascade_radius(L: int, delta: float, sigma: float) -> IteratedLogRadius:
    """Radius of Algorithm 1 for `sigma`-sub-Gaussian outcomes.

    Algorithm 1 prints the factor 4, its concentration theorem [thm:conc_log] has `4 sigma`, and clicks are
    1/2-sub-Gaussian, so 2 is the factor in force; `sigma = 1` gives the formula as printed.
    """
    return IteratedLogRadius(4 * sigma, float(np.sqrt(delta / (12 * L))))


def batch_racing_radius(L: int, delta: float) -> IteratedLogRadius:
    """Radius of BatchRacing, Jun et al. (2016)."""
    return IteratedLogRadius(2.0, float(np.sqrt(delta / (6 * L))))
