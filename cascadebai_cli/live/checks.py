"""Does the page behave as the guarantee assumes? Tests on what was told, with p-values that are corrected together.

Assumed is that an item has one click rate, whenever and wherever it is looked at, and that users look from the top to
the first click. Under this, the clicks of an item in each block of pages, and at each place, are as its looks there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, ndtr

from cascadebai_cli.model.problem import BoolArray, IntArray
from cascadebai_cli.text import count, p_value

_LEVEL = 0.01
"""Largest corrected p-value that is told as a finding."""
_PERIODS = 8
_EXPECTED = 5.0
"""Least number of clicks and of skips to expect in each period, for the law of chi-square to be near enough."""
_LOWER = "clicked less at lower places than a cascade explains: some users do not look that far"
_ONLY_ONE = (
    "no page has two clicks, though the click rates make some likely: if the page reports only the first click, or "
    "users leave with it, items that they did not look at count as not clicked; a test that reads down to the click "
    "leaves them out"
)


@dataclass(frozen=True)
class Check:
    """What a test found.

    Attributes:
        about: `drift`, `place` or `clicks`.
        item: name of the item, empty if it is about all.
        p: corrected p-value.
        sentence: what it means.
    """

    about: str
    item: str
    p: float
    sentence: str


def findings(
    looks: IntArray, items: Sequence[str], several: int, in_order: bool = True, pairs: float = 0.0
) -> list[Check]:
    """Return what speaks against the assumptions, the strongest first; empty if nothing does.

    Args:
        looks: rows of item, place, block, looks and clicks.
        several: number of pages with two clicks or more.
        in_order: whether users are to look from the top; else places may differ, as lists have a random order.
        pairs: number of pairs of clicks on a page that are expected, if no page has two.
    """
    tests = []
    for item, name in enumerate(items):
        rows = looks[looks[:, 0] == item]
        if (p := _drift(rows)) is not None:
            sentence = f"the click rate of {name} drifts over time: the answer is about a rate that does not stay"
            tests.append(Check("drift", name, p, sentence))
        if in_order and (z := _z(rows)) is not None:
            tests.append(Check("place", name, float(ndtr(z)), f"{name} is {_LOWER}"))
    tests += of_all_places(looks) if in_order else []
    if pairs:
        tests.append(Check("clicks", "", float(np.exp(-pairs)), _ONLY_ONE))
    found = [one for one in _holm(tests) if one.p < _LEVEL]
    if several and in_order:
        pages = f"{count(several)} {'page has' if several == 1 else 'pages have'} two clicks or more"
        why = "users go on after a click, and what they look at below the first one is not used"
        found.insert(0, Check("clicks", "", 0.0, f"{pages}: {why}; a test that reads whole pages uses it"))
    return found


def _holm(tests: list[Check]) -> Iterator[Check]:
    """Yield the tests, the strongest first, with p-values by which all findings together are wrong so often at most."""
    least = 0.0
    for rank, one in enumerate(sorted(tests, key=lambda one: one.p)):
        least = max(least, min(1.0, one.p * (len(tests) - rank)))
        yield replace(one, p=least, sentence=f"{one.sentence} (p {p_value(least)})")


def of_all_places(looks: IntArray) -> list[Check]:
    """Return the same test of places for all items together, which sees what is small for each."""
    z = [value for item in np.unique(looks[:, 0]) if (value := _z(looks[looks[:, 0] == item])) is not None]
    return [Check("place", "", float(ndtr(sum(z) / np.sqrt(len(z)))), f"items are {_LOWER}")] if z else []


def expected_pairs(items: IntArray, clicked: BoolArray) -> float:
    """Return how many pairs of clicks on one page are expected if items are clicked independently of each other.

    None at all have then, by the law of Poisson, a chance of `exp` of minus this number. One look more than there was
    keeps the rates of items with few looks from being too large. Both arrays have the shape `(n, M)`.
    """
    looks, clicks = np.bincount(items.ravel()), np.bincount(items.ravel(), clicked.ravel())
    rates = (clicks / (looks + 1))[items]
    return float((rates.sum(axis=1) ** 2 - (rates**2).sum(axis=1)).sum() / 2)


def _drift(rows: IntArray) -> float | None:
    """Return the p-value of equal rates in up to eight periods of equal looks; `None` if there is too little."""
    T, S = rows[:, 3].sum(), rows[:, 4].sum()
    periods = int(min(_PERIODS, min(S, T - S) // _EXPECTED)) if T else 0
    if periods < 2:
        return None
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    _, block = np.unique(rows[:, 2], return_inverse=True)
    by_block = np.bincount(block, rows[:, 3]), np.bincount(block, rows[:, 4])
    before = np.cumsum(by_block[0]) - by_block[0] / 2
    period = np.unique((before * periods // T).astype(int), return_inverse=True)[1]
    t, s = np.bincount(period, by_block[0]), np.bincount(period, by_block[1])
    rate = S / T
    return float(chdtrc(len(t) - 1, ((s - t * rate) ** 2 / (t * rate * (1 - rate))).sum())) if len(t) > 1 else None


def _z(rows: IntArray) -> float | None:
    """Return how many standard deviations clicks at lower places are above what is expected (Cochran and Armitage)."""
    _, place, _, t, s = rows.T.astype(float)
    T, S = t.sum(), s.sum()
    if min(S, T - S) < _EXPECTED:
        return None
    rate = S / T
    variance = rate * (1 - rate) * ((t * place**2).sum() - (t * place).sum() ** 2 / T)
    return float((place * (s - t * rate)).sum() / np.sqrt(variance)) if variance > 0 else None
