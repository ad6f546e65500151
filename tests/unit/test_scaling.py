"""The fits against numpy, scipy and the formulas of the textbook."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from cascadebai_cli.analysis.curves import MODELS, fit_models, fit_scaling, log_log_slope
from cascadebai_cli.errors import ConfigError

K = np.arange(20, 61)
REGRESSORS = {"K": K, "K^2": K**2, "sqrt(K)": K**0.5, "log(K)": np.log(K)}


def noisy(model: str, *, c1: float = 900.0, c2: float = 3000.0, seed: int = 3) -> NDArray[np.float64]:
    noise = np.random.default_rng(seed).normal(0, 500, len(K))
    return np.asarray(c1 * REGRESSORS[model] + c2 + noise)


@pytest.mark.parametrize("model", MODELS)
def test_planted_coefficients_come_back(model: str) -> None:
    fit = fit_scaling(K, 12.5 * REGRESSORS[model] + 700.0, model)
    assert fit.c1 == pytest.approx(12.5, rel=1e-9)
    assert fit.c2 == pytest.approx(700.0, rel=1e-9)
    assert fit.r2 == pytest.approx(1.0)
    assert fit.n_points == 41


@pytest.mark.parametrize("model", MODELS)
def test_agrees_with_scipy_and_numpy(model: str) -> None:
    y = noisy(model)
    fit = fit_scaling(K, y, model)
    expected = stats.linregress(REGRESSORS[model], y)
    assert fit.c1 == pytest.approx(expected.slope, rel=1e-9)
    assert fit.c2 == pytest.approx(expected.intercept, rel=1e-7)
    assert fit.c1_se == pytest.approx(expected.stderr, rel=1e-9)
    assert fit.c2_se == pytest.approx(expected.intercept_stderr, rel=1e-9)
    assert fit.r2 == pytest.approx(expected.rvalue**2, rel=1e-9)
    assert [fit.c1, fit.c2] == pytest.approx(np.polyfit(REGRESSORS[model], y, 1), rel=1e-7)


def test_p_value_is_the_f_test_against_the_constant_model() -> None:
    y = noisy("K", c1=40.0)
    fit = fit_scaling(K, y, "K")
    explained = np.sum((fit.predict(K) - y.mean()) ** 2)
    residual = np.sum((y - fit.predict(K)) ** 2)
    assert fit.p_value == pytest.approx(stats.f.sf(explained / (residual / (len(K) - 2)), 1, len(K) - 2), rel=1e-6)
    assert 1e-12 < fit.p_value < 0.05


def test_tiny_p_values_do_not_become_zero() -> None:
    assert 0 < fit_scaling(K, noisy("K", c1=20000.0), "K").p_value < 1e-50


def test_aic_is_that_of_the_normal_likelihood() -> None:
    y = noisy("K")
    for fit in fit_models(K, y):
        residual = np.sum((y - fit.predict(K)) ** 2)
        expected = len(K) * (np.log(2 * np.pi * residual / len(K)) + 1) + 2 * 2
        assert fit.aic == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("model", "c1"), [("K", 900.0), ("K^2", 20.0), ("sqrt(K)", 9000.0), ("log(K)", 30000.0)])
def test_the_planted_model_has_the_smallest_aic(model: str, c1: float) -> None:
    assert min(fit_models(K, noisy(model, c1=c1)), key=lambda fit: fit.aic).model == model


def test_band_is_the_textbook_interval_of_the_mean() -> None:
    y = noisy("K")
    fit = fit_scaling(K, y, "K")
    s = np.sqrt(np.sum((y - fit.predict(K)) ** 2) / (len(K) - 2))
    at = np.array([20.0, 33.3, 60.0])
    half = stats.t.ppf(0.975, len(K) - 2) * s * np.sqrt(1 / len(K) + (at - K.mean()) ** 2 / np.sum((K - K.mean()) ** 2))
    low, high = fit.band(at)
    assert low == pytest.approx(fit.predict(at) - half, rel=1e-9)
    assert high == pytest.approx(fit.predict(at) + half, rel=1e-9)


def test_band_covers_the_true_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    runs, hits = 2000, 0
    for _ in range(runs):
        fit = fit_scaling(K, 900.0 * K + rng.normal(0, 500, len(K)), "K")
        low, high = fit.band([25.0])
        hits += int(low[0] <= 900.0 * 25 <= high[0])
    # False alarm rate 1e-4 at a coverage of exactly 95 %.
    assert stats.binomtest(hits, runs, 0.95).pvalue > 1e-4


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_log_log_slope_is_the_exponent(exponent: float) -> None:
    noise = np.exp(np.random.default_rng(5).normal(0, 0.01, len(K)))
    slope = log_log_slope(K, 30 * K**exponent * noise)
    expected = stats.linregress(np.log(K), np.log(30 * K**exponent * noise))
    assert slope.value == pytest.approx(expected.slope, rel=1e-9)
    assert slope.low < exponent < slope.high
    half = stats.t.ppf(0.975, len(K) - 2) * expected.stderr
    assert [slope.low, slope.high] == pytest.approx([slope.value - half, slope.value + half], rel=1e-9)


def test_equal_means_have_no_explained_variance() -> None:
    fit = fit_scaling(K, np.full(len(K), 0.1), "K^2")
    assert (fit.c1, fit.c2, fit.c1_se) == (0.0, 0.1, 0.0)
    assert np.isnan(fit.r2)
    assert np.isnan(fit.p_value)
    low, high = fit.band(K)
    assert np.array_equal(low, high)
    assert log_log_slope(K, np.full(len(K), 0.1)).value == 0.0


def test_points_on_a_line_without_rounding_are_a_perfect_fit() -> None:
    fit = fit_scaling([1, 2, 4], [2.0, 4.0, 8.0], "K")
    assert fit.c1 == pytest.approx(2.0)
    assert fit.r2 == pytest.approx(1.0)
    assert fit.p_value < 1e-6


MORE = "add some to the config, or run its sweep to the end"


@pytest.mark.parametrize(
    ("points", "means", "model", "sentence"),
    [
        ([20, 21, 22], [1, 2, 3], "k", "k uses k, which is not known; did you mean K?"),
        ([20, 21], [1, 2], "K", f"a fit needs at least 3 values of K, not 2; {MORE}"),
        ([20, 20, 21, 21], [1, 2, 3, 4], "K", f"a fit needs at least 3 values of K, not 2; {MORE}"),
        ([], [], "K", f"a fit needs at least 3 values of K, not 0; {MORE}"),
        ([1, 2, 3], [1, 2], "K", "K of shape (3,) and means of shape (2,) do not pair up"),
        ([1, 2, 3], [1, np.nan, 2], "K", "K and the mean steps must be finite numbers"),
        ([0, 2, 3], [1, 2, 2], "log(K)", "K is 0, but must be at least 1"),
    ],
)
def test_what_cannot_be_fitted_is_refused(points: list[int], means: list[float], model: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit_scaling(points, means, model)
    assert str(caught.value) == sentence


def test_a_model_without_a_value_at_a_point_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        fit_scaling([0, 0.1, 0.2], [1, 2, 4], "log(epsilon)", "epsilon")
    assert str(caught.value) == "log(epsilon) has no value at epsilon = 0; change the formula, or leave 0 out"


def test_log_log_slope_needs_positive_means() -> None:
    with pytest.raises(ConfigError, match="a log-log slope needs positive means, not 0 steps"):
        log_log_slope([1, 2, 3], [0, 1, 2])
