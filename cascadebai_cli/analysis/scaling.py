"""How the mean number of steps grows with `K`: ordinary least squares as in Tables 1 and 2."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.regression.linear_model import OLS

from cascadebai_cli.errors import ConfigError

FloatArray = NDArray[np.float64]

MODELS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"K": np.positive, "K^2": np.square, "sqrt(K)": np.sqrt, "log(K)": np.log}
)
"""Name of a model -> its regressor; the model is `c1 * regressor(K) + c2`."""

MIN_POINTS = 3
"""Two points lie on every line: without a third there is no error to estimate."""


@dataclass(frozen=True, eq=False)
class ScalingFit:
    """`mean steps = c1 * regressor(K) + c2`, fitted by ordinary least squares.

    Args:
        model: a key of `MODELS`.
        c1, c2: slope and constant, in steps.
        c1_se, c2_se: their standard errors.
        r2: coefficient of determination; NaN if all means are equal.
        p_value: F-test against the constant model; NaN if all means are equal.
        n_points: number of values of `K`.
        aic: Akaike's criterion, comparable between models of the same points.
        covariance: of `(c1, c2)`, shape `(2, 2)`.
    """

    model: str
    c1: float
    c1_se: float
    c2: float
    c2_se: float
    r2: float
    p_value: float
    n_points: int
    aic: float
    covariance: FloatArray

    def predict(self, K: ArrayLike) -> FloatArray:
        """Fitted mean steps at `K`, of the same shape."""
        return np.asarray(_design(np.asarray(K, dtype=float), self.model) @ [self.c1, self.c2])

    def band(self, K: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Pointwise confidence limits of the fitted mean at `K`, lower and upper."""
        x = _design(np.asarray(K, dtype=float), self.model)
        spread = np.sqrt(np.einsum("ki,ij,kj->k", x, self.covariance, x))
        spread *= stats.t.ppf((1 + level) / 2, self.n_points - 2)
        fitted = self.predict(K)
        return fitted - spread, fitted + spread


@dataclass(frozen=True)
class Slope:
    """Slope of `log(mean steps)` on `log(K)`, that is the exponent of a power law, with its 95 % interval."""

    value: float
    low: float
    high: float


def fit_scaling(K: ArrayLike, mean_steps: ArrayLike, model: str) -> ScalingFit:
    """Fit one model to one point a value of `K`.

    Args:
        K: shape `(n,)`, with at least 3 different values.
        mean_steps: shape `(n,)`.
        model: a key of `MODELS`.

    Raises:
        ConfigError: if the model is not known, or the points do not determine it.
    """
    if model not in MODELS:
        raise ConfigError(f"fit: model: {model} is not known; use one of {', '.join(MODELS)}")
    x, y = _checked(K, mean_steps)
    if np.all(y == y[0]):
        return _constant(model, y)
    found = _ols(y, _design(x, model))
    return ScalingFit(
        model=model,
        c1=float(found.params[0]),
        c1_se=float(found.bse[0]),
        c2=float(found.params[1]),
        c2_se=float(found.bse[1]),
        r2=float(found.rsquared),
        p_value=float(found.f_pvalue),
        n_points=len(y),
        aic=float(found.aic),
        covariance=np.asarray(found.cov_params(), dtype=float),
    )


def fit_models(K: ArrayLike, mean_steps: ArrayLike) -> list[ScalingFit]:
    """All of `MODELS`, fitted to the same points."""
    return [fit_scaling(K, mean_steps, model) for model in MODELS]


def log_log_slope(K: ArrayLike, mean_steps: ArrayLike) -> Slope:
    """Exponent `b` of `mean steps ~ K^b` by least squares on logarithms.

    Raises:
        ConfigError: as `fit_scaling`, or if a mean is not positive.
    """
    x, y = _checked(K, mean_steps)
    if y.min() <= 0:
        raise ConfigError(f"a log-log slope needs positive means, not {y.min():g} steps")
    if np.all(y == y[0]):
        return Slope(0.0, 0.0, 0.0)
    found = _ols(np.log(y), _design(x, "log(K)"))
    low, high = found.conf_int(alpha=0.05)[0]
    return Slope(float(found.params[0]), float(low), float(high))


def _checked(K: ArrayLike, mean_steps: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(K, dtype=float), np.asarray(mean_steps, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise ConfigError(f"K of shape {x.shape} and means of shape {y.shape} do not pair up")
    if not (np.isfinite(x) & np.isfinite(y)).all():
        raise ConfigError("K and the mean steps must be finite numbers")
    if x.size and x.min() <= 0:
        raise ConfigError(f"K is {x.min():g}, but must be at least 1")
    distinct = len(np.unique(x))
    if distinct < MIN_POINTS:
        raise ConfigError(
            f"a fit needs at least {MIN_POINTS} values of K, not {distinct}; "
            "add some to the config, or run its sweep to the end"
        )
    return x, y


def _design(K: FloatArray, model: str) -> FloatArray:
    return np.column_stack([MODELS[model](K), np.ones_like(K)])


def _ols(y: FloatArray, design: FloatArray) -> Any:
    results = OLS(y, design).fit()
    # Points exactly on the curve have no residuals: F is infinite and so is the likelihood, which is right.
    with np.errstate(divide="ignore"):
        for lazy in ("rsquared", "f_pvalue", "aic"):
            getattr(results, lazy)
    return results


def _constant(model: str, y: FloatArray) -> ScalingFit:
    # Nothing varies, so there is no share of the variance to explain; rounding would invent one.
    nan, none = float("nan"), np.zeros((2, 2))
    return ScalingFit(model, 0.0, 0.0, float(y[0]), 0.0, nan, nan, len(y), -float("inf"), none)
