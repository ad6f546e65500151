"""How hard an instance is, with a tolerance as well: a scale for the steps of sharp learners, not a bound."""

import numpy as np

from cascadebai_cli.model.divergence import divergence
from cascadebai_cli.model.instance import FloatArray
from cascadebai_cli.theory.lower import confidence_factor


def effort(weights: FloatArray, K: int, delta: float, epsilon: float, M: int | None = None) -> float:
    """Steps of the order of what a sharp learner takes, 1 at least.

    For `epsilon = 0` it is the lower bound [thm:lb_fix_conf_dep], infinite for a tie. With a tolerance nothing is
    proved; each item then need not be told from its rival any better than to `epsilon`: `w(K+1)` becomes
    `min(w(K+1), w(i) - epsilon)` for the best `K` items and `w(K)` becomes `max(w(K), w(i) + epsilon)` for the others.

    Args:
        weights: click probabilities, shape `(L,)`, in any order.
        K, delta, epsilon: as in the paper.
        M: items shown at once, `K` by default.
    """
    w = np.sort(weights)[::-1]
    best, others = w[:K], w[K:]
    divergences = np.concatenate(
        [
            divergence(best, np.clip(np.minimum(w[K], best - epsilon), 0, 1)),
            divergence(others, np.clip(np.maximum(w[K - 1], others + epsilon), 0, 1)),
        ]
    )
    with np.errstate(divide="ignore"):
        needed = float((1 / divergences).sum())
    return max(1.0, float(confidence_factor(delta)) * needed / _most_looked_at(w[::-1][: M or K]))


def _most_looked_at(poorest: FloatArray) -> float:
    """`mu~`: expected observations of a list of the poorest items."""
    return float(np.cumprod(np.concatenate([[1.0], 1 - poorest[:-1]])).sum())
