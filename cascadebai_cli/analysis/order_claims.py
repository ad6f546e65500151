"""What the paper says of the display orders (Section 6.1 and its appendix), held against the settings of a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from cascadebai_cli.analysis.decided import Ends, ratio_ends, verdict_between
from cascadebai_cli.analysis.orders import CLOSE, FAR
from cascadebai_cli.analysis.verdicts import FAILS, HOLDS, OPEN, UNDECIDED, Claim
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import SETTING
from cascadebai_cli.text.numbers import digits

ALMOST = 1.2
"""Means up to this many times those of Algorithm 1 count as almost as good."""
MOST = 0.5
"""More than this share of the settings is most of them."""

SENTENCES: Mapping[str, tuple[str, Callable[["pd.Series[float]"], bool]]] = {
    "mean": ("takes more steps than {} in most settings", lambda ratio: bool((ratio > 1 + CLOSE).mean() > MOST)),
    "U": ("takes more steps than {} in most settings", lambda ratio: bool((ratio > 1 + CLOSE).mean() > MOST)),
    "-mean": ("takes far more steps than {} in some settings", lambda ratio: bool((ratio > FAR).any())),
    "L": ("does as well as {} in most settings", lambda ratio: bool((ratio <= 1 + CLOSE).mean() > MOST)),
    "-U": ("does almost as well as {}", lambda ratio: bool((ratio <= ALMOST).all())),
}
"""Display order -> what the paper says of it, and when that holds; it says nothing of the descending `L`."""


def order_claims(results: Results) -> Iterator[Claim]:
    """The claims on all orders; settings in which all of them reached the cap say nothing, and are not to be most."""
    main, by_learner = results.main_learner, results.summary.set_index([*SETTING, "learner"])
    means, capped = by_learner["mean_steps"].unstack(sort=False), by_learner["n_capped"].unstack(sort=False) > 0
    if main not in means or means.shape[1] < 2:
        return
    whole = means[means.notna().all(axis=1)]
    known = whole[~capped.loc[whole.index].all(axis=1)]
    silent = f"; in {len(whole) - len(known)} all orders reached the cap" if len(known) < len(whole) else ""
    settings = pd.MultiIndex.from_frame(results.summary[list(SETTING)])
    cells = results.summary[settings.isin(known.index)]
    ends = {str(name): ratio_ends(cells, str(name), main) for name in known if name != main}
    decidable = len(known) >= MOST * len(whole)
    yield _best(known, main, silent, _best_verdict(list(ends.values())) if decidable else UNDECIDED)
    for name, entry in results.learners.items():
        order = str(entry.spec.options.get("order"))
        if name in ends and order in SENTENCES and len(known):
            verdict = verdict_between(ends[name], SENTENCES[order][1]) if decidable else UNDECIDED
            yield _sentence(name, order, known[name] / known[main], main, verdict)


def _best(means: pd.DataFrame, main: str, silent: str, verdict: str) -> Claim:
    claim = f"{main} needs no more steps than the best of the other orders"
    if means.empty:
        return Claim("all settings", claim, "", f"nothing known{silent}", OPEN)
    ratio = means[main] / means.drop(columns=main).min(axis=1)
    close = int((ratio <= 1 + CLOSE).sum())
    most = f"at most {digits(ratio.max())} times the best other; within {100 * CLOSE:g} % in {close} of {len(ratio)}"
    return Claim("all settings", claim, "", f"{most} settings{silent}", verdict)


def _best_verdict(ends: Sequence[Ends]) -> str:
    """Whether no other order needs fewer steps by more than `CLOSE`, wherever the means are in their intervals."""
    least = 1 / (1 + CLOSE)
    if any((one.high < least).any() for one in ends):
        return FAILS
    return HOLDS if all((one.low >= least).all() for one in ends) else UNDECIDED


def _sentence(name: str, order: str, ratio: "pd.Series[float]", main: str, verdict: str) -> Claim:
    text, _ = SENTENCES[order]
    worse, far = int((ratio > 1 + CLOSE).sum()), int((ratio > FAR).sum())
    ours = (
        f"{digits(ratio.min())} to {digits(ratio.max())} times as many; more than {100 * CLOSE:g} % more in {worse}, "
        f"more than {FAR:g} times in {far} of {len(ratio)} settings"
    )
    return Claim("all settings", f"{name} {text.format(main)}", "", ours, verdict)
