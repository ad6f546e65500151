"""Curves: mean steps against K, and models fitted to them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.store.columns import POINT
from cascadebai_cli.study.cells import LearnerEntry
from cascadebai_cli.study.fields import as_place
from cascadebai_cli.study.instances import Fit, formula_of
from cascadebai_cli.study.kinds import AXES
from cascadebai_cli.text import value_text

if TYPE_CHECKING:
    from cascadebai_cli.analysis.results import StudyResults


# --- The regressors of fits: formulas in the axis of a curve, such as `K^2` or `log(L)` -----------------------------

_Regressor = Callable[[FloatArray], FloatArray]

_USUAL: Mapping[str, _Regressor] = MappingProxyType(
    {"%s": np.positive, "%s^2": np.square, "sqrt(%s)": np.sqrt, "log(%s)": np.log}
)


def models_of(x: str) -> Mapping[str, _Regressor]:
    """Return the models that are compared with each other on an axis: name -> regressor."""
    return {name % x: regressor for name, regressor in _USUAL.items()}


MODELS = MappingProxyType(models_of("K"))
"""The models of the paper: `c1 * regressor(K) + c2`."""


def _regressor(model: str, x: str = "K") -> _Regressor:
    """Return the regressor of a model, a usual one or another formula in the axis `x`.

    Raises:
        ConfigError: if it is no formula; the regressor raises it too, where the formula has no value.
    """
    usual = models_of(x)
    if model in usual:
        return usual[model]
    formula = formula_of(model, x)
    return lambda values: np.array([evaluate(formula, {x: value}) for value in values.tolist()]).reshape(values.shape)


# --- How the mean number of steps grows with `K`, or another axis ---------------------------------------------------
#
# There are ordinary least squares as in Tables 1 and 2, which take all means as equally exact and all residuals as
# noise; and least squares that know from the trials how exact each mean is, and so tell a wrong model from noise.

MIN_POINTS = 3
"""Fewest points of a fit: two always lie on a line, and only a third one leaves an error to estimate."""
_LEAST = {"K": 1, "L": 1}
"""Axis -> its smallest value."""
_POWERS = np.linspace(-4, 6, 41)
"""Exponents from which the search for the best one starts; it has to end between the first and the last of them."""


@dataclass(frozen=True, eq=False)
class ScalingFit:
    """`mean steps = c1 * regressor(x) + c2`, fitted by ordinary least squares.

    Args:
        c1, c2: slope and constant, in steps.
        c1_se, c2_se: their standard errors.
        r2: coefficient of determination; NaN if all means are equal.
        p_value: F-test against the constant model; NaN if all means are equal.
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
    x: str = "K"

    def predict(self, values: ArrayLike) -> FloatArray:
        """Return the fitted mean steps at values of the axis, in the same shape."""
        return np.asarray(_design(np.asarray(values, dtype=float), self.model, self.x) @ [self.c1, self.c2])

    def band(self, values: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper pointwise confidence limits of the fitted mean at values of the axis."""
        from scipy import stats

        design = _design(np.asarray(values, dtype=float), self.model, self.x)
        spread = np.sqrt(np.einsum("ki,ij,kj->k", design, self.covariance, design))
        spread *= stats.t.ppf((1 + level) / 2, self.n_points - 2)
        fitted = self.predict(values)
        return fitted - spread, fitted + spread


class _Slope(NamedTuple):
    """Slope of `log(mean steps)` over the log of the axis, the exponent of a power law, with its 95 % interval."""

    value: float
    low: float
    high: float


def fit_scaling(values: ArrayLike, mean_steps: ArrayLike, model: str, x: str = "K") -> ScalingFit:
    """Return the fit of one model to points along an axis.

    Args:
        values: values of the axis, shape `(n,)`, at least 3 different ones.
        mean_steps: shape `(n,)`.

    Raises:
        ConfigError: if the model is not known, or the points do not determine it.
    """
    at, y = _checked(values, mean_steps, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        design = _design(at, model, x)
    if not np.isfinite(design).all():
        first = at[~np.isfinite(design).all(axis=1)][0]
        raise ConfigError(f"{model} has no value at {x} = {first:g}; change the formula, or leave {first:g} out")
    if np.all(y == y[0]):
        return _constant(model, y, x)
    if np.ptp(design[:, 0]) == 0:
        raise ConfigError(f"fit: model: {model} is the same at every {x}; name one that varies")
    found = _ols(y, design)
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
        x=x,
    )


def fit_models(values: ArrayLike, mean_steps: ArrayLike, x: str = "K") -> list[ScalingFit]:
    """Return the fits of all usual models of an axis that have a value at every point, to the same points."""
    at, y = _checked(values, mean_steps, x)
    with np.errstate(divide="ignore"):  # epsilon may be 0
        finite = [model for model, regressor_of in models_of(x).items() if np.isfinite(regressor_of(at)).all()]
    return [fit_scaling(at, y, model, x) for model in finite]


def log_log_slope(values: ArrayLike, mean_steps: ArrayLike, x: str = "K") -> _Slope:
    """Return the exponent `b` of `mean steps ~ x^b` by least squares on logarithms; nan if the axis holds a 0."""
    at, y = _checked(values, mean_steps, x)
    if y.min() <= 0:
        raise ConfigError(f"a log-log slope needs positive means, not {y.min():g} steps")
    if np.all(y == y[0]):
        return _Slope(0.0, 0.0, 0.0)
    if at.min() <= 0:
        return _Slope(np.nan, np.nan, np.nan)
    found = _ols(np.log(y), _design(at, f"log({x})", x))
    low, high = found.conf_int(alpha=0.05)[0]
    return _Slope(float(found.params[0]), float(low), float(high))


def _checked(values: ArrayLike, mean_steps: ArrayLike, x: str) -> tuple[FloatArray, FloatArray]:
    at, y = np.asarray(values, dtype=float), np.asarray(mean_steps, dtype=float)
    if at.shape != y.shape or at.ndim != 1:
        raise ConfigError(f"{x} of shape {at.shape} and means of shape {y.shape} do not pair up")
    if not (np.isfinite(at) & np.isfinite(y)).all():
        raise ConfigError(f"{x} and the mean steps must be finite numbers")
    if x in _LEAST and at.size and at.min() < _LEAST[x]:
        raise ConfigError(f"{x} is {at.min():g}, but must be at least {_LEAST[x]}")
    distinct = len(np.unique(at))
    if distinct < MIN_POINTS:
        raise ConfigError(
            f"a fit needs at least {MIN_POINTS} values of {x}, not {distinct}; "
            "add some to the config, or run its sweep to the end"
        )
    return at, y


def _design(values: FloatArray, model: str, x: str) -> FloatArray:
    return np.column_stack([_regressor(model, x)(values), np.ones_like(values)])


def _ols(y: FloatArray, design: FloatArray) -> Any:
    from statsmodels.regression.linear_model import OLS  # takes a second to load, so only when there is a fit

    results = OLS(y, design).fit()
    # Points exactly on the curve have no residuals: F is infinite and so is the likelihood, which is right.
    with np.errstate(divide="ignore"):
        for lazy in ("rsquared", "f_pvalue", "aic"):
            getattr(results, lazy)
    return results


def _constant(model: str, y: FloatArray, x: str) -> ScalingFit:
    # Nothing varies, so there is no share of the variance to explain; rounding would invent one.
    nan, none = float("nan"), np.zeros((2, 2))
    return ScalingFit(model, 0.0, 0.0, float(y[0]), 0.0, nan, nan, len(y), -float("inf"), none, x)


class _Estimate(NamedTuple):
    """A weighted sum of means, its standard error, and the error's degrees of freedom (Welch and Satterthwaite)."""

    value: Any
    se: Any
    freedom: Any

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of the t interval."""
        from scipy import stats

        half = self.se * stats.t.ppf((1 + level) / 2, self.freedom)
        return self.value - half, self.value + half


class _MeasuredFit(NamedTuple):
    """`mean steps = c1 * regressor(x) + c2` with standard errors that come from the noise of the trials alone.

    The errors are those of an estimate of the curve that is nearest to the true means, even if these lie on none.

    Attributes:
        lack_of_fit: squared residuals divided by what they are on average if the model is right.
        p_value: probability of at least this value if the model is right; small if noise cannot explain the residuals.
    """

    model: str
    c1: _Estimate
    c2: _Estimate
    lack_of_fit: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Means:
    """Means of trials along an axis, in arrays of shape `(n,)`.

    Args:
        at: values of the axis, at least 3 different ones.
        se: their standard errors, larger than 0.
        trials: number of trials of each mean, at least 2.
    """

    at: FloatArray
    mean: FloatArray
    se: FloatArray
    trials: FloatArray
    x: str = "K"

    def fit(self, model: str, *, weighted: bool = True) -> _MeasuredFit:
        """Fit a model, with the means weighted by their precision or all equally, as in the paper."""
        root = self._precision if weighted else np.ones_like(self.mean)
        design = _design(self.at, model, self.x)
        pull = _pull(design, root)
        return _MeasuredFit(model, self._sum(pull[0]), self._sum(pull[1]), *self._lack(design @ pull, root))

    def band(self, model: str, values: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper pointwise confidence limits of the curve fitted with equal weights.

        They come from the noise of the trials, and are wider by the root of the lack of fit if that is above 1 (Birge,
        1932): where the model misses the means by more than noise, a narrow band would seem to say where they are.
        """
        pull = _pull(_design(self.at, model, self.x), np.ones_like(self.mean))
        found = self._sum(_design(np.asarray(values, dtype=float), model, self.x) @ pull)
        wider = max(1.0, self.fit(model, weighted=False).lack_of_fit) ** 0.5
        return found._replace(se=wider * found.se).interval(level)

    def exponent(self) -> _Estimate:
        """Return the `b` for which `c1 x^b + c2` fits best, 0 for the logarithm; nan if none is within `_POWERS`.

        This family contains all models of Table 1, unlike the slope on a log-log scale, which has no `c2`. The error
        comes from the model linearised at the best `b` (Gauss and Newton).
        """
        if self.at.min() <= 0 or np.isnan(b := _power(self.at, self.mean, self._precision)):
            return _Estimate(np.nan, np.nan, np.nan)
        step = 1e-3
        slope = (_box_cox(self.at, b + step) - _box_cox(self.at, b - step)) / (2 * step)
        pull = _pull(np.column_stack([_box_cox(self.at, b), slope, np.ones_like(self.at)]), self._precision)
        found = self._sum(pull[1])
        return _Estimate(b, found.se / abs(pull[0] @ self.mean), found.freedom)

    @cached_property
    def _precision(self) -> FloatArray:
        """Reciprocal standard errors, smoothed by a power law in the means, as each single one is rough itself."""
        log, spread = np.log(self.mean), np.log(self.se * np.sqrt(self.trials))
        line = np.polyfit(log, spread, 1) if np.ptp(log) > 1e-6 else [0.0, spread.mean()]
        return np.asarray(np.sqrt(self.trials) / np.exp(np.polyval(line, log)))

    def _sum(self, weights: FloatArray) -> _Estimate:
        """Return sums of the means with weights of shape `(..., n)`."""
        shares = (weights * self.se) ** 2
        variance = shares.sum(axis=-1)
        return _Estimate(
            weights @ self.mean, np.sqrt(variance), variance**2 / (shares**2 / (self.trials - 1)).sum(axis=-1)
        )

    def _lack(self, hat: FloatArray, root: FloatArray) -> tuple[float, float]:
        """Return the lack of fit and its p-value: Box's F as in Brunner, Dette and Munk (1997), for unequal errors."""
        from scipy import stats

        rest = root[:, None] * (np.eye(len(hat)) - hat)
        spread = rest.T @ rest * self.se**2
        own = spread.diagonal()
        lack = float(((rest @ self.mean) ** 2).sum() / own.sum())
        above, below = (spread * spread.T).sum(), (own**2 / (self.trials - 1)).sum()
        return lack, float(stats.f.sf(lack, own.sum() ** 2 / above, own.sum() ** 2 / below))


def _power_of(model: str, values: FloatArray, x: str) -> float:
    """Return the `b` for which a model is `c1 x^b + c2` on the range of the values, 0 for a logarithm; nan if none."""
    at = np.linspace(np.min(values), np.max(values), 25)
    try:
        y = _regressor(model, x)(at) if at[0] > 0 else np.full(25, np.nan)
    except ConfigError:  # the model may have values at all points, and none somewhere between them
        return float("nan")
    if not np.isfinite(y).all() or np.isnan(b := _power(at, y, np.ones(25))):
        return float("nan")
    return b if _missed(at, y, np.ones(25), b) < 1e-8 * y.var() else float("nan")


def _power(at: FloatArray, y: FloatArray, root: FloatArray) -> float:
    """Return the exponent whose curve is nearest; nan if that is the first or the last of `_POWERS`."""
    from scipy import optimize

    nearest = int(np.argmin([_missed(at, y, root, b) for b in _POWERS]))
    if not 0 < nearest < len(_POWERS) - 1:
        return float("nan")
    ends, how = (_POWERS[nearest - 1], _POWERS[nearest + 1]), {"method": "bounded", "options": {"xatol": 1e-7}}
    return float(optimize.minimize_scalar(lambda b: _missed(at, y, root, b), bounds=ends, **how).x)


def _missed(at: FloatArray, y: FloatArray, root: FloatArray, b: float) -> float:
    """Return the weighted mean square of the residuals of `c1 x^b + c2`."""
    design = np.column_stack([_box_cox(at, b), np.ones_like(at)])
    return float(((root * (y - design @ (_pull(design, root) @ y))) ** 2).mean())


def _box_cox(at: FloatArray, b: float) -> FloatArray:
    """Return `(u^b - 1) / b`, or `log u` for `b = 0`; `u` is `at` over its geometric mean (Box and Cox, 1964)."""
    log = np.log(at) - np.log(at).mean()
    return np.asarray(np.expm1(b * log) / b if abs(b) > 1e-9 else log)


def _pull(design: FloatArray, root: FloatArray) -> FloatArray:
    """Return the matrix that maps means to coefficients of weighted least squares, shape `(p, n)`."""
    scale = np.abs(design).max(axis=0)
    return np.asarray(np.linalg.pinv(root[:, None] * design / scale) * root / scale[:, None])


# --- The cells of one curve: they differ only in its axis, and in what varies together with the axis ----------------

_GRID = 201
"""Number of points at which a fitted curve is drawn."""
_FAMILY = "learner family"
"""Column with what learners have in common that differ in one option."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Points over an axis.

    Attributes:
        key: the columns of `POINT` that are the same at all points, with their values.
        points: rows of the table, sorted by the axis.
    """

    key: Mapping[str, Any]
    x: str
    points: pd.DataFrame
    fit: Fit | None

    @staticmethod
    def of(results: "StudyResults") -> "Iterator[Curve]":
        """Yield the curves of some results.

        The axis is the one that `fit` of the instance names; without it `K`, or the number that varies instead of `K`.
        """
        for _, part in results.summary.groupby("instance", sort=False):
            entry = results.instances.get(str(part["instance"].iloc[0]))
            fit = entry.fit if entry else None
            x = fit.x if fit else _axis(part)
            yield from _curves(results, part if x in AXES else _by_option(results, part, x), x, fit)

    @property
    def name(self) -> str:
        """Instance and learner in words."""
        return f"{self.key['instance']}, {self.key['learner']}"

    @property
    def values(self) -> FloatArray:
        """Values of the axis, shape `(n,)`."""
        return self.points[self.x].to_numpy(dtype=float)

    @property
    def is_long_enough(self) -> bool:
        """Whether it has enough points for a fit."""
        return bool(self.points[self.x].nunique() >= MIN_POINTS)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the config names; none with too few points for a fit."""
        return self.fit.models if self.fit and self.is_long_enough else ()

    @property
    def n_capped(self) -> int:
        """Number of trials that reached the cap."""
        return int(self.points["n_capped"].sum())

    @property
    def limits(self) -> str:
        """The points with capped trials, in words; the means there are lower limits."""
        return f"{self.x} = {', '.join(map(value_text, self.points.loc[self.points['n_capped'] > 0, self.x]))}"

    @property
    def steps(self) -> FloatArray:
        """Mean steps at each value of the axis, shape `(n,)`."""
        return self.points["mean_steps"].to_numpy(dtype=float)

    @cached_property
    def means(self) -> Means | None:
        """Mean steps with standard errors; `None` if one of these is not known, or the points are too few."""
        se, trials = (self.points[name].to_numpy(dtype=float) for name in ("se_steps", "n"))
        known = self.is_long_enough and (se > 0).all() and (trials > 1).all()
        return Means(self.values, self.steps, se, trials, self.x) if known else None

    @cached_property
    def usual(self) -> Mapping[str, ScalingFit]:
        """The fits of the usual models by name; empty if the points are too few."""
        return {fit.model: fit for fit in fit_models(self.values, self.steps, self.x)} if self.is_long_enough else {}

    @property
    def best(self) -> ScalingFit:
        """The usual model with the smallest AIC."""
        return min(self.usual.values(), key=attrgetter("aic"))

    @cached_property
    def named(self) -> Mapping[str, ScalingFit]:
        """The fits of the models that the config names; empty if the points are too few.

        Raises:
            ConfigError: if one cannot be fitted, naming the curve.
        """
        at = self.values, self.steps
        try:
            return {model: self.usual.get(model) or fit_scaling(*at, model, self.x) for model in self.models}
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from error

    @property
    def best_named(self) -> ScalingFit:
        """The named model with the smallest AIC; errors as for `named`."""
        return min(self.named.values(), key=attrgetter("aic"))

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """The best named model on a fine grid of the axis, with its 95 % band.

        The band comes from the noise of the trials if that is known, else from the residuals of ordinary least squares.

        Returns:
            `x, fitted, low, high`; `low` is not below 0.
        """
        fit, x = self.best_named, np.linspace(self.values.min(), self.values.max(), _GRID)
        low, high = self.means.band(fit.model, x) if self.means else fit.band(x)
        return pd.DataFrame({"x": x, "fitted": fit.predict(x), "low": low.clip(min=0), "high": high})

    @cached_property
    def slope(self) -> _Slope:
        """The slope on a log-log scale; nan if some mean is 0 steps."""
        known = self.steps.min() > 0
        return log_log_slope(self.values, self.steps, self.x) if known else _Slope(np.nan, np.nan, np.nan)

    @cached_property
    def weighted(self) -> Mapping[str, _MeasuredFit]:
        """The weighted fits of the named and the usual models; empty if some mean has no standard error."""
        return {model: self.means.fit(model) for model in {**self.named, **self.usual}} if self.means else {}

    def rival(self, model: str) -> _MeasuredFit:
        """Return the weighted fit of the usual model with the smallest lack of fit, other than this model."""
        return min((self.weighted[other] for other in self.usual if other != model), key=attrgetter("lack_of_fit"))

    def power_of(self, model: str) -> float:
        """Return the `b` for which a model is `c1 x^b + c2` on the range of the axis; nan if there is none."""
        return _power_of(model, self.values, self.x)

    @cached_property
    def exponent(self) -> _Estimate:
        """The best exponent `b` of `c1 x^b + c2`; nan if some mean has no standard error."""
        return self.means.exponent() if self.means else _Estimate(np.nan, np.nan, np.nan)


def _curves(results: "StudyResults", cells: pd.DataFrame, x: str, fit: Fit | None) -> Iterator[Curve]:
    if cells.empty:
        return
    names = [name for name in POINT if name != x and name not in _beside(results, cells, x)]
    groups = [*names, *([_FAMILY] if _FAMILY in cells else [])]
    for values, points in cells.groupby(groups, sort=False):
        yield Curve(dict(zip(names, values, strict=False)), x, points.sort_values(x, kind="stable"), fit)


def _axis(cells: pd.DataFrame) -> str:
    """Return the one number that varies over the cells, or `K` if none or several do."""
    varying = [name for name in AXES if cells[name].nunique() > 1]
    return varying[0] if len(varying) == 1 else "K"


def _beside(results: "StudyResults", cells: pd.DataFrame, x: str) -> list[str]:
    """Return the columns that `zip` ties to the axis."""
    entry = results.instances.get(str(cells["instance"].iloc[0]))
    zipped = (entry.zip if entry else None) or results.study.zip
    return [name for name in zipped.values if name != x] if zipped and x in zipped.values else []


def _by_option(results: "StudyResults", cells: pd.DataFrame, option: str) -> pd.DataFrame:
    """Return the cells whose learner has an option, with its value, and with learners grouped regardless of it."""
    values = {name: entry.options for name, entry in results.learners.items()}
    there = cells[cells["learner"].map(lambda name: option in values.get(name, {}))]
    if not all(isinstance(values[name][option], int | float) for name in there["learner"].unique()):
        raise ConfigError(f"fit: x: {option} has values that are no numbers; name another axis")
    families = {name: _family(results.learners[name], option) for name in values}
    labels: dict[str, str] = {}
    for name in there["learner"].unique():
        labels.setdefault(families[name], as_place(name, option, values[name][option]))
    return there.assign(
        **{option: there["learner"].map(lambda name: values[name][option])},
        learner=there["learner"].map(lambda name: labels[families[name]]),
        **{_FAMILY: there["learner"].map(families)},
    )


def _family(entry: LearnerEntry, option: str) -> str:
    """Return what a learner has in common with others that differ in one option only, as a text."""
    rest = sorted((key, str(value)) for key, value in entry.options.items() if key != option)
    return repr((entry.algorithm, entry.feedback, rest))
