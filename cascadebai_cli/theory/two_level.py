"""Closed forms for two click probabilities and `epsilon = 0` [assump:two_prob_cond]."""

from dataclasses import dataclass

import numpy as np

from cascadebai_cli.model.divergence import divergence
from cascadebai_cli.model.instance import FloatArray, Instance
from cascadebai_cli.theory.lower import confidence_factor
from cascadebai_cli.theory.quantities import CLICK_CONSTANT, Values, rho, t_bar, v


def observations_of_equals(k: Values, w: Values) -> FloatArray:
    """`g(w) = (1 - (1-w)^k) / w`: expected observations of `k` items of weight `w`; `k` at `w = 0`, 0 at `k = 0`."""
    count, weight = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(w, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = -np.expm1(count * np.log1p(-weight)) / weight
    return np.where((weight == 0) | (count == 0), count, value)


@dataclass(frozen=True)
class TwoLevel:
    """`K` items of weight `w_star`, `L - K` of weight `w_prime`.

    Every field may be an array, one entry a cell of a grid; they broadcast.

    Args:
        L: number of items.
        K: number of items to find.
        w_star: weight of the `K` best.
        w_prime: weight of the others, `0 < w_prime < w_star`.
        delta: risk.
        constant: constant of `T-bar`, see `quantities.exact_constant`.
    """

    L: Values
    K: Values
    w_star: Values
    w_prime: Values
    delta: Values
    constant: Values = CLICK_CONSTANT

    def mu(self, k: Values) -> FloatArray:
        """`mu_k` for `k <= K`: a list of items of weight `w_star`."""
        return observations_of_equals(k, self.w_star)

    @property
    def mu_tilde_K(self) -> FloatArray:
        """`mu~_K`.

        [cor:conf_lowbd_two_prob] prints `(1 - (1-w')^K) / w'`. That needs `K <= L-K` (or one more, as the last
        item shown does not matter): a longer list ends with items of weight `w_star`, which are counted here.
        """
        poor = np.minimum(self.K, self.L - self.K)
        reach_rich = (1 - np.asarray(self.w_prime)) ** poor
        rich = observations_of_equals(self.K - poor, self.w_star)
        return np.asarray(observations_of_equals(poor, self.w_prime) + reach_rich * rich)

    @property
    def T_bar(self) -> FloatArray:
        """`T-bar`, the same for every item, as every gap is `w* - w'`."""
        return t_bar(np.asarray(self.w_star - self.w_prime, dtype=np.float64), rho(self.L, self.delta), self.constant)

    def lower(self) -> FloatArray:
        """[cor:conf_lowbd_two_prob]: expected steps that any algorithm needs."""
        best = self.K / divergence(self.w_star, self.w_prime)
        others = (self.L - self.K) / divergence(self.w_prime, self.w_star)
        return np.asarray(confidence_factor(self.delta) * (best + others) / self.mu_tilde_K)

    def upper_terms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three terms of the bound in the proof of [prop:conf_upbd_two_prob], in steps.

        `2 (L T-bar - L + 1) / mu_K` to observe every item often enough, `(2 v_K^2 / mu_K^2) ln(2 / delta)` for
        the spread of the observations, and `L - 2`: the proof has the agent identify one item a step in
        `L - 2` further steps, but leaves them out of its bound; they are counted here. It also writes
        `rho = delta / (12 L)` (see `quantities.rho`) and `K* = 1` where `K' = K` is meant.
        """
        mu_K = self.mu(self.K)
        observing = 2 * (self.L * (self.T_bar - 1) + 1) / mu_K
        spread = 2 * (v(self.K, self.w_prime) / mu_K) ** 2 * np.log(2 / np.asarray(self.delta))
        return observing, spread, np.asarray(self.L - 2.0)

    def upper(self) -> FloatArray:
        """[prop:conf_upbd_two_prob] in steps: the sum of `upper_terms`."""
        observing, spread, identifying = self.upper_terms()
        return np.asarray(observing + spread + identifying)


def two_level_instance(L: int, K: int, w_star: float, w_prime: float, epsilon: float = 0.0) -> Instance:
    """The instance with these weights, best items first."""
    return Instance(np.repeat([w_star, w_prime], [K, L - K]), K, epsilon)
