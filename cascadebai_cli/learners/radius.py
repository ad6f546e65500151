"""Confidence radii that hold for all numbers of observations at once (law of the iterated logarithm)."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray

TABLE = 2**21
"""Radii of smaller counts are looked up: evaluating the formula would dominate the time of a run."""


class IteratedLogRadius:
    """`C(T) = scale sqrt( ln( log2(2T) / rho ) / T )`, `C(0) = inf`.

    Source: Section 3 of the paper for CascadeBAI (`scale = 4 sigma`, `rho = sqrt(delta / (12 L))`), and
    Jun et al. (2016) for BatchRacing (`scale = 2`, `omega = sqrt(delta / (6 L))`). Decreasing in `T`.
    """

    def __init__(self, scale: float, rho: float) -> None:
        self.scale, self.rho = scale, rho
        self._known = _table(scale, rho, 1024)

    def __call__(self, T: ArrayLike) -> FloatArray:
        """Radius after `T` observations, same shape as `T`."""
        try:
            return np.asarray(self._known[T])  # type: ignore[index]
        except IndexError:
            return self._beyond(np.asarray(T))

    def _beyond(self, T: np.ndarray) -> FloatArray:
        """Radius of counts that the table does not hold yet, or never will."""
        if T.dtype.kind not in "iu" or T.max() >= TABLE:
            return _formula(self.scale, self.rho, T)
        while len(self._known) <= T.max():
            self._known = _table(self.scale, self.rho, 4 * len(self._known))
        return self(T)


def _formula(scale: float, rho: float, T: ArrayLike) -> FloatArray:
    count = np.asarray(T, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = scale * np.sqrt(np.log(np.log2(2 * count) / rho) / count)
    return np.where(count > 0, radius, np.inf)


@lru_cache(maxsize=32)
def _table(scale: float, rho: float, size: int) -> FloatArray:
    return _formula(scale, rho, np.arange(size))


def cascade_radius(L: int, delta: float, sigma: float) -> IteratedLogRadius:
    """Radius of Algorithm 1 for `sigma`-sub-Gaussian outcomes.

    Algorithm 1 prints the factor 4, its concentration theorem [thm:conc_log] has `4 sigma`, and clicks are
    1/2-sub-Gaussian, so 2 is the factor in force; `sigma = 1` gives the formula as printed.
    """
    return IteratedLogRadius(4 * sigma, float(np.sqrt(delta / (12 * L))))


def batch_racing_radius(L: int, delta: float) -> IteratedLogRadius:
    """Radius of BatchRacing, Jun et al. (2016)."""
    return IteratedLogRadius(2.0, float(np.sqrt(delta / (6 * L))))
