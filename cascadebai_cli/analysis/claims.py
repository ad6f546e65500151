"""The claims of the paper, tested against the results of a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import outside
from cascadebai_cli.analysis.curves import Curve
from cascadebai_cli.analysis.fits import CLOSE, MUCH_WORSE, Mean, ratio_of_means
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.store.columns import SETTING
from cascadebai_cli.store.summary import binomial_interval, t_quantile
from cascadebai_cli.study.instances import Coefficients
from cascadebai_cli.text import change, coefficient, count, digits, exponent, share

# --- A claim of the paper and its verdict ---------------------------------------------------------------------------


class Verdict(StrEnum):
    """What is found of a claim: of a sentence (the first three), of a number (the next three), or of either."""

    HOLDS = "holds"
    NEARLY = "nearly"
    FAILS = "fails"
    AGREES = "agrees"
    LOWER = "lower"
    HIGHER = "higher"
    OPEN = "open"
    """There is no data."""
    UNDECIDED = "not decided at this size"
    """More trials, or a higher cap, could still decide it either way."""


class Claim(NamedTuple):
    """One line of the table of claims, as text.

    Attributes:
        where: instance or part of the figure.
        claim: the sentence.
        published: the value in the paper, empty if it only has words.
        ours: the value here.
    """

    where: str
    claim: str
    published: str
    ours: str
    verdict: Verdict


# --- Whether the cells of a study can decide a claim, or are too few, too noisy or too often capped -----------------


class Ends(NamedTuple):
    """Limits of the ratios of two learners, one pair for each setting."""

    low: "pd.Series[float]"
    high: "pd.Series[float]"

    @classmethod
    def of(cls, summary: pd.DataFrame, learner: str, main: str, learners: int = 1) -> "Ends":
        """Return intervals of the ratios of mean steps that hold together at 95 % (Bonferroni).

        So a claim about any, most or all ratios that is true at both ends is false in at most 5 % of cases, however
        many ratios there are. A capped mean is a lower limit only.

        Args:
            learner, main: the learners in the numerator and in the denominator.
            learners: how many are compared with the main one in the same claim.
        """
        ours, theirs = (summary[summary["learner"] == name] for name in (learner, main))
        joined = ours.merge(theirs, on=list(SETTING), suffixes=("_ours", "_main"))
        level = 1 - 0.05 / max(1, learners * len(joined))
        ends = [_ends(row, level) for row in joined.to_dict("records")]
        return cls(*(pd.Series([end[i] for end in ends], dtype=float) for i in (0, 1)))

    def verdict(self, holds: Callable[["pd.Series[float]"], bool]) -> Verdict:
        """Return the verdict on a sentence whose truth is monotone in the ratios, by its truth at both ends."""
        found = {holds(end) for end in self}
        return Verdict.UNDECIDED if len(found) > 1 else Verdict.HOLDS if True in found else Verdict.FAILS

    def within(self, least: float, most: float) -> Verdict:
        """Return the verdict on the sentence that all ratios lie within a range."""
        if ((self.low >= least) & (self.high <= most)).all():
            return Verdict.HOLDS
        return Verdict.FAILS if ((self.high < least) | (self.low > most)).any() else Verdict.UNDECIDED


def _ends(row: Mapping[Any, Any], level: float) -> tuple[float, float]:
    ours, main = (
        Mean(float(row[f"mean_steps_{side}"]), float(row[f"se_steps_{side}"]), int(row[f"n_{side}"]))
        for side in ("ours", "main")
    )
    ratio = ratio_of_means(ours, main, level)
    low = 0.0 if row["n_capped_main"] or np.isnan(ratio.low) else ratio.low
    return low, np.inf if row["n_capped_ours"] or np.isnan(ratio.high) else ratio.high


# --- What the paper says of the display orders (Section 6.1 and its appendix), tested against a study ---------------

_ALMOST = 1.2
"""Means up to this many times those of Algorithm 1 count as almost as good."""
_MOST = 0.5
"""More than this share of the settings counts as most of them."""

_SENTENCES: Mapping[str, tuple[str, Callable[["pd.Series[float]"], bool]]] = {
    "mean": ("takes more steps than {} in most settings", lambda ratio: bool((ratio > 1 + CLOSE).mean() > _MOST)),
    "U": ("takes more steps than {} in most settings", lambda ratio: bool((ratio > 1 + CLOSE).mean() > _MOST)),
    "-mean": ("takes far more steps than {} in some settings", lambda ratio: bool((ratio > MUCH_WORSE).any())),
    "L": ("does as well as {} in most settings", lambda ratio: bool((ratio <= 1 + CLOSE).mean() > _MOST)),
    "-U": ("does almost as well as {}", lambda ratio: bool((ratio <= _ALMOST).all())),
}
"""Display order -> what the paper says of it, and when that holds; it says nothing of the descending `L`."""


def _order_claims(results: StudyResults) -> Iterator[Claim]:
    """Yield the claims on all orders; nothing is decided if most settings have all orders at the cap."""
    main, by_learner = results.main_learner, results.summary.set_index([*SETTING, "learner"])
    means, capped = by_learner["mean_steps"].unstack(sort=False), by_learner["n_capped"].unstack(sort=False) > 0
    if main not in means or means.shape[1] < 2:
        return
    whole = means[means.notna().all(axis=1)]
    known = whole[~capped.loc[whole.index].all(axis=1)]
    silent = f"; in {len(whole) - len(known)} all orders reached the cap" if len(known) < len(whole) else ""
    settings = pd.MultiIndex.from_frame(results.summary[list(SETTING)])
    cells = results.summary[settings.isin(known.index)]
    others = [str(name) for name in known if name != main]
    best = [Ends.of(cells, name, main, len(others)) for name in others]
    decidable = len(known) >= _MOST * len(whole)
    yield _best(known, main, silent, _best_verdict(best) if decidable else Verdict.UNDECIDED)
    for name, entry in results.learners.items():
        order = str(entry.spec.options.get("order"))
        if name in others and order in _SENTENCES and len(known):
            ends = Ends.of(cells, name, main)
            verdict = ends.verdict(_SENTENCES[order][1]) if decidable else Verdict.UNDECIDED
            yield _sentence(name, order, known[name] / known[main], main, verdict)


def _best(means: pd.DataFrame, main: str, silent: str, verdict: Verdict) -> Claim:
    claim = f"{main} needs no more steps than the best of the other orders"
    if means.empty:
        return Claim("all settings", claim, "", f"nothing known{silent}", Verdict.OPEN)
    ratio = means[main] / means.drop(columns=main).min(axis=1)
    close = int((ratio <= 1 + CLOSE).sum())
    most = f"at most {digits(ratio.max())} times the best other; within {100 * CLOSE:g} % in {close} of {len(ratio)}"
    return Claim("all settings", claim, "", f"{most} settings{silent}", verdict)


def _best_verdict(ends: Sequence[Ends]) -> Verdict:
    """Return the verdict on the claim that no other order needs fewer steps by more than `CLOSE`."""
    least = 1 / (1 + CLOSE)
    if any((one.high < least).any() for one in ends):
        return Verdict.FAILS
    return Verdict.HOLDS if all((one.low >= least).all() for one in ends) else Verdict.UNDECIDED


def _sentence(name: str, order: str, ratio: "pd.Series[float]", main: str, verdict: Verdict) -> Claim:
    text, _ = _SENTENCES[order]
    worse, far = int((ratio > 1 + CLOSE).sum()), int((ratio > MUCH_WORSE).sum())
    ours = (
        f"{digits(ratio.min())} to {digits(ratio.max())} times as many; more than {100 * CLOSE:g} % more in {worse}, "
        f"more than {MUCH_WORSE:g} times in {far} of {len(ratio)} settings"
    )
    return Claim("all settings", f"{name} {text.format(main)}", "", ours, verdict)


# --- What the paper says of a study, what was measured, and the verdict ---------------------------------------------

_STRAIGHT = 0.97
"""R^2 from which a model counts as explaining the means; the smallest one in Table 1 is 0.973."""
_NEARLY_STRAIGHT = 0.9
"""R^2 from which it nearly does, to allow for reduced runs, which have fewer points and noisier means."""
_SAME = 0.03
"""Coefficients that differ by no more than this share agree."""
_POWER = 0.1
"""Exponents that differ by no more than this are the same; those of Table 1 and its rivals are 1/2 apart."""
_RISK = 0.05
"""Level of each test."""
_LEAST = 0.001
"""Smallest p-value that is printed as a number."""
_SIMILAR = 1.5
"""Means within this factor of each other count as similar; those of other kinds of learners differ by a factor of K."""


def claims_of_config(results: StudyResults) -> list[Claim]:
    """Return the claims of a config: those of the paper if it asks for them, else those on its published values.

    There are none if rewards are drawn again from a table, as the claims are about independent rewards, or for users
    other than those of the paper.
    """
    if not results.study.independent or results.study.has_users:
        return []
    return claims_of(results) if results.study.claims == "paper" else list(_scaling(results))


def claims_of(results: StudyResults) -> list[Claim]:
    """Return all claims that can be tested on a study, those of its figure first."""
    about = results.study.plot.figure.about
    found = {"growth": _scaling, "learners": _curves, "orders": _order_claims}[about](results) if about else ()
    return [*found, *_bounds(results), *_errors(results)]


def _scaling(results: StudyResults) -> Iterator[Claim]:
    """Yield for each curve the paper's criterion for a fit, a test of the model, and a comparison of the slopes."""
    for curve in results.curves(allow_capped=True):
        if curve.n_capped and curve.fit and curve.fit.published:
            claim = f"mean steps grow as c1 {curve.fit.models[0]} + c2"
            yield Claim(curve.name, claim, "", f"not known: the means at {curve.limits} are lower limits", Verdict.OPEN)
    fitted = [(curve, curve.fit.published) for curve in results.curves() if curve.models and curve.fit]
    known = [(curve, published, published.c1) for curve, published in fitted if published and published.c1]
    for curve, published, c1 in known:
        for found in (_straight(curve, published), _growth(curve, len(known)), _slope(curve, c1)):
            yield found._replace(where=_curve_name(results, curve))


def _curve_name(results: StudyResults, curve: Curve) -> str:
    """Return the name of a curve: its instance, and its learner if there are several."""
    return curve.name if results.summary["learner"].nunique() > 1 else str(curve.key["instance"])


def _noise(curve: Curve) -> float:
    """Return the upper 95 % limit of the share of a curve's variance that is noise of the means."""
    from scipy.special import chdtri

    steps, n = curve.steps, len(curve.steps)
    variance = (curve.points["se_steps"] ** 2).mean() * chdtri(n - 2, 0.05) / n if n > 2 else 0.0
    return float(variance / steps.var()) if steps.var() > 0 else 0.0


def _straight(curve: Curve, published: Coefficients) -> Claim:
    """Return the claim on the paper's criterion, R^2.

    It cannot tell powers apart: for K = 20 to 60, all of log K to K^2 are nearly straight lines in K.
    """
    model, r2 = curve.models[0], curve.named[curve.models[0]].r2
    if r2 + _noise(curve) >= _STRAIGHT:
        verdict = Verdict.HOLDS if r2 >= _STRAIGHT else Verdict.UNDECIDED
    else:
        verdict = Verdict.NEARLY if r2 >= _NEARLY_STRAIGHT else Verdict.FAILS
    theirs = "" if published.r2 is None else f"R² {share(published.r2)}"
    claim = f"R² as in Table 1: c1 {model} + c2 explains the means"
    return Claim("", claim, theirs, f"R² {share(r2)}", verdict)


def _growth(curve: Curve, claims: int) -> Claim:
    """Return the claim that the model is right up to noise and has the exponent of the means, and its rival is wrong.

    Each test has level 5 % over all such claims of a study. A model that is no power has no exponent to compare. The
    claim nearly holds if the model is wrong, but has a high R^2 and the exponent of the means.
    """
    model = curve.models[0]
    claim = f"mean steps grow as c1 {model} + c2, like the upper bound"
    if curve.means is None:
        return Claim("", claim, "", "not known: some mean has no error", Verdict.UNDECIDED)
    fit, rival, b = curve.weighted[model], curve.rival(model), curve.exponent
    lacks = ", ".join(f"of {one.model} {digits(one.lack_of_fit)} ({_chance(one.p_value)})" for one in (fit, rival))
    interval = "{} ({} to {})".format(*map(exponent, (b.value, *b.interval())))
    ours = f"c1 {curve.x}^b + c2 has b = {interval}; lack of fit {lacks}"
    off = [end - curve.power_of(model) for end in b.interval(1 - 2 * _RISK / claims)]
    wrong, rival_wrong = (one.p_value < _RISK / claims for one in (fit, rival))
    straight = curve.named[model].r2 >= _STRAIGHT
    return Claim("", claim, "", ours, _wrong(off, straight) if wrong else _right_so_far(off, rival_wrong))


def _wrong(off: Sequence[float], straight: bool) -> Verdict:
    """Return the verdict on a model that is wrong, from the limits of how far its exponent is off."""
    if straight and off[0] > -_POWER and off[1] < _POWER:
        return Verdict.NEARLY
    fails = not straight or np.isnan(off[0]) or off[0] > _POWER or off[1] < -_POWER
    return Verdict.FAILS if fails else Verdict.UNDECIDED


def _right_so_far(off: Sequence[float], rival_wrong: bool) -> Verdict:
    """Return the verdict on a model that may be right, from the limits of how far its exponent is off."""
    if off[0] > _POWER or off[1] < -_POWER:
        return Verdict.FAILS
    return Verdict.HOLDS if rival_wrong and not (off[0] <= -_POWER or off[1] >= _POWER) else Verdict.UNDECIDED


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= _LEAST else f"p < {_LEAST:g}"


def _slope(curve: Curve, theirs: float) -> Claim:
    """Return the claim on the slope, decided by two one-sided tests at 5 % each, with the errors of the trials."""
    model = curve.models[0]
    c1 = curve.named[model].c1
    claim, ours = f"slope c1 on {model}", f"{coefficient(c1)} ({change(c1 / theirs - 1)}"
    if curve.means is None:
        return Claim("", claim, coefficient(theirs), f"{ours})", Verdict.UNDECIDED)
    ends = curve.means.fit(model, weighted=False).c1.interval(1 - 2 * _RISK)
    low, high = sorted(end / theirs - 1 for end in ends)
    if low > -_SAME and high < _SAME:
        verdict = Verdict.AGREES
    else:
        verdict = Verdict.LOWER if high < -_SAME else Verdict.HIGHER if low > _SAME else Verdict.UNDECIDED
    return Claim("", claim, coefficient(theirs), f"{ours}, 90 % interval {change(low)} to {change(high)})", verdict)


def _curves(results: StudyResults) -> Iterator[Claim]:
    """Yield claims that the main learner needs as many steps as the one that observes about as many items a step."""
    summary, main = results.summary, results.main_learner
    if "mean_observations" not in summary:
        return
    for instance, part in summary.groupby("instance", sort=False):
        seen = part.groupby("learner", sort=False).apply(_observations_a_step)
        if main in seen and len(seen) > 1:
            yield _similar(str(instance), part, main, seen)


def _observations_a_step(rows: pd.DataFrame) -> float:
    return float(np.exp(np.log(rows["mean_observations"] / rows["mean_steps"]).mean()))


def _similar(instance: str, part: pd.DataFrame, main: str, seen: "pd.Series[float]") -> Claim:
    others = seen.drop(main)
    nearest = min(map(str, others.index), key=lambda name: abs(np.log(others[name] / seen[main])))
    ratio = _ratios(part, main, nearest)
    observed = f"{digits(float(seen[main]))} and {digits(float(others[nearest]))}"
    claim = f"about as many steps as {nearest}, which sees about as many items a step ({observed})"
    ours = f"{digits(ratio.min())} to {digits(ratio.max())} times as many"
    return Claim(instance, claim, "", ours, Ends.of(part, main, nearest).within(1 / _SIMILAR, _SIMILAR))


def _ratios(part: pd.DataFrame, main: str, other: str) -> "pd.Series[float]":
    ours, theirs = (part[part["learner"] == name].set_index(list(SETTING))["mean_steps"] for name in (main, other))
    return (ours / theirs).dropna()


def _bounds(results: StudyResults) -> Iterator[Claim]:
    table = results.bounds
    if table["upper"].isna().all():
        return
    bounded = table[table["upper"].notna()].merge(results.summary[["cell_id", "se_steps"]], on="cell_id")
    inside = len(bounded) - len(outside(bounded))
    lowest, highest = bounded["upper_over_measured"].min(), bounded["upper_over_measured"].max()
    ours = f"in {inside} of {len(bounded)} cells; upper bound {digits(lowest)} to {digits(highest)} times the mean"
    claim = "the mean lies between the lower and the upper bound"
    known = inside == len(bounded) and (bounded["n_capped"] > 0).mean() <= _MOST
    verdict = Verdict.FAILS if _refuted(bounded) else Verdict.HOLDS if known else Verdict.UNDECIDED
    yield Claim("all instances", claim, "", ours, verdict)


def _refuted(bounded: pd.DataFrame) -> bool:
    """Return whether some mean is significantly outside its bounds, at 5 % over all; a capped mean may be below."""
    half = bounded["se_steps"] * [t_quantile(int(n), 1 - _RISK / len(bounded)) for n in bounded["n"]]
    low, high = bounded["mean_steps"] - half, bounded["mean_steps"] + half
    return bool((((high < bounded["lower"]) & (bounded["n_capped"] == 0)) | (low > bounded["upper"])).any())


def _errors(results: StudyResults) -> Iterator[Claim]:
    """Yield claims on the guarantee; other orders than Algorithm 1's, for which nothing is proved, are judged apart."""
    if "error_rate" not in results.summary:
        return
    summary = results.summary.assign(stopped=results.summary["n"] - results.summary["n_capped"])
    main = summary["learner"] == results.main_learner
    if results.study.plot.figure.about != "orders" or main.all():
        yield _right(summary, "the items found are right with probability at least")
        return
    yield _right(summary[main], f"the items found by {results.main_learner} are right with probability at least")
    others = "the items found by the other orders, for which the paper proves nothing,"
    yield _right(summary[~main], f"{others} are right with probability at least")


def _per_cent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 0.995 else "100"


def _right(summary: pd.DataFrame, words: str) -> Claim:
    """Return the claim that the answers are right; it fails if some cell errs significantly more often than its delta.

    The tests have level 5 % over all cells. The claim holds if it could have failed, most trials stopped, and all cells
    together err less often than the largest delta.
    """
    claim = f"{words} 1 - delta = {1 - float(summary['delta'].min()):g}"
    cells = summary[summary["stopped"] > 0]
    if cells.empty:
        return Claim("all instances", claim, "", "no trial stopped before the cap", Verdict.OPEN)
    stopped = cells["stopped"].to_numpy()
    wrong = (cells["error_rate"] * cells["stopped"]).round().astype(int).to_numpy()
    low, high = binomial_interval(int(wrong.sum()), int(stopped.sum()))
    interval = f"95 % interval {_per_cent(low)} to {_per_cent(high)} %"
    ours = f"{count(wrong.sum())} of {count(stopped.sum())} trials wrong ({interval})"
    level = 1 - 0.1 / len(cells)
    lowest = np.array(
        [binomial_interval(int(errors), int(n), level)[0] for errors, n in zip(wrong, stopped, strict=True)]
    )
    if wrong.any():
        worst = lowest.argmax()
        ours += f", {wrong[worst]} of {stopped[worst]} in the worst cell"
    if (lowest > cells["delta"]).any():
        return Claim("all instances", claim, "", ours, Verdict.FAILS)
    # a test that could not fail even if all trials were wrong says nothing
    could_fail = max(binomial_interval(int(n), int(n), level)[0] for n in stopped) > cells["delta"].min()
    known = could_fail and high <= cells["delta"].max() and summary["n_capped"].sum() <= _MOST * summary["n"].sum()
    return Claim("all instances", claim, "", ours, Verdict.HOLDS if known else Verdict.UNDECIDED)
