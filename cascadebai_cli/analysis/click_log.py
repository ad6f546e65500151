"""What a log of clicks and views says about the click probabilities of its items."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Click rates pulled towards their mean, those of few views more than those of many.

    Attributes:
        rates: `(clicks + strength mean) / (views + strength)`, shape `(L,)`.
        mean: mean rate of the items.
        strength: how many views the mean is worth; infinite if the rates do not differ by more than chance.
    """

    rates: FloatArray
    mean: float
    strength: float


def shrink(clicks: ArrayLike, views: ArrayLike) -> Shrinkage:
    """Posterior means of the click probabilities under a Beta distribution fitted to all items by moments.

    The largest of many raw rates are too large: an item is at the top for its rate and for luck. With a Beta law of
    mean `m` and variance `rho m (1 - m)` the raw rates have the variance `m (1 - m) (rho + (1 - rho) h)`, with `h` the
    mean of `1 / views`; this is solved for `rho`, and the strength is `1 / rho - 1`.

    Args:
        clicks: number of clicks of each item.
        views: number of views of each item, larger than 0.
    """
    c, n = np.asarray(clicks, dtype=np.float64), np.asarray(views, dtype=np.float64)
    raw = c / n
    mean, h = float(raw.mean()), float((1 / n).mean())
    spread = float(raw.var(ddof=1)) / (mean * (1 - mean)) if 0 < mean < 1 else 0.0
    rho = (spread - h) / (1 - h) if h < 1 else 0.0
    if rho <= 0:
        return Shrinkage(np.full(len(c), mean), mean, math.inf)
    strength = max(1 / rho - 1, 0.0)
    return Shrinkage((c + strength * mean) / (n + strength), mean, strength)


def suggested_epsilon(rate: float) -> float:
    """A tolerance to start with where there is a tie at `w(K) = rate`: a tenth of it, to one digit."""
    return float(f"{max(rate, 0.01) / 10:.0e}")
