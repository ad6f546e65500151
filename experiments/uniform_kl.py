"""A learner of one's own in 30 lines: show all items equally often, stop as soon as the KL bounds part.

cascadebai run configs/smoke.yaml --plugin experiments.uniform_kl:UniformKL --K 6 --instance "setting 1"
"""

import numpy as np

from cascadebai_cli.learners.bounds import kl_lower, kl_upper


class UniformKL:
    """Uniform sampling; each item has the risk delta / L."""

    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0) -> None:
        self.K, self.alpha, self.epsilon = K, delta / L, epsilon
        self.T, self.S = np.zeros(L, int), np.zeros(L, int)
        self.finished, self.recommendation = False, ()

    def select(self) -> list[int]:
        """Items to show, first to last."""
        return [int(item) for item in np.argsort(self.T, kind="stable")[: self.K]]

    def observe(self, shown: list[int], outcomes: list[int]) -> None:
        """Outcomes (1 a click, 0 a skip) of the first items shown."""
        seen = shown[: len(outcomes)]
        self.T[seen] += 1
        self.S[seen] += outcomes
        mean = self.S / np.maximum(self.T, 1)
        best, rest = np.split(np.argsort(-mean, kind="stable"), [self.K])
        lower = kl_lower(mean[best], self.T[best], self.alpha).min()
        upper = kl_upper(mean[rest], self.T[rest], self.alpha).max()
        self.finished, self.recommendation = bool(lower > upper - self.epsilon), tuple(best.tolist())
