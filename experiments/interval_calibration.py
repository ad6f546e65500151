"""Do the 5 to 95 % ranges of rates hold, whatever the log is like? `python -m experiments.plan_calibration --logs 300`.

Logs of each kind are made from known rates: counts; counts by position, in a random order or with better items higher;
page views that are read from the top to the first click, in either order; and weeks in which rates scatter.
"""

import io
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from cascadebai_cli.logs.read import log_of
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.planning.options import Layout
from cascadebai_cli.planning.positions import Corrected
from cascadebai_cli.planning.rates import RateLaw
from cascadebai_cli.store.summary import binomial_interval
from cascadebai_cli.text import count, percent
from experiments.markdown import table

ITEMS, VIEWS, LOOKS, PLACES = 12, 1_200, (1.0, 0.7, 0.45, 0.3), 4
PAGES, WEEKS, SCATTER, DRAWS = 1_500, 12, 0.3, 100
COUNTS = Layout("item", "clicks", "views")
Made = tuple[pd.DataFrame, Layout]


def counts(w: FloatArray, rng: np.random.Generator) -> Made:
    """A row an item."""
    views = np.full(ITEMS, VIEWS)
    return pd.DataFrame({"item": np.arange(ITEMS), "clicks": rng.binomial(views, w), "views": views}), COUNTS


def positions(w: FloatArray, rng: np.random.Generator, *, ranked: bool) -> Made:
    """A row for each item and position; if ranked, most of the views of an item are where its rate belongs."""
    own = np.argsort(np.argsort(-w)) * PLACES // ITEMS
    chances = np.full((ITEMS, PLACES), 1 / PLACES)
    if ranked:
        chances = 0.4 / PLACES + 0.6 * (np.arange(PLACES) == own[:, None])
    views = rng.multinomial(VIEWS, chances)
    clicks = rng.binomial(views, w[:, None] * np.array(LOOKS))
    item, place = np.indices(views.shape)
    rows = {"item": item.ravel(), "place": place.ravel() + 1, "clicks": clicks.ravel(), "views": views.ravel()}
    return pd.DataFrame(rows), Layout("item", "clicks", "views", position="place")


def pages(w: FloatArray, rng: np.random.Generator, *, ranked: bool) -> Made:
    """A row for each item of a page that is read from the top to the first click."""
    shown = rng.permuted(np.tile(np.arange(ITEMS), (PAGES, 1)), axis=1)[:, :PLACES]
    if ranked:
        shown = np.take_along_axis(shown, np.argsort(-w[shown], axis=1), axis=1)
    attracts = rng.random(shown.shape) < w[shown]
    clicks = attracts & (np.cumsum(attracts, axis=1) == 1)
    rows = {"page": np.repeat(np.arange(PAGES), PLACES), "item": shown.ravel(), "click": clicks.ravel().astype(int)}
    return pd.DataFrame(rows), Layout("item", "click", event=True, page="page")


def weeks(w: FloatArray, rng: np.random.Generator) -> Made:
    """A row for each item and week, with rates of a beta law whose deviation is some share of the mean."""
    strength = (1 - w) / (w * SCATTER**2) - 1
    rates = rng.beta(w * strength, (1 - w) * strength, (WEEKS, ITEMS))
    item = np.indices(rates.shape)[1]
    clicks = rng.binomial(VIEWS, rates)
    return pd.DataFrame({"item": item.ravel(), "clicks": clicks.ravel(), "views": np.full(clicks.size, VIEWS)}), COUNTS


KINDS: Mapping[str, Callable[[FloatArray, np.random.Generator], Made]] = {
    "counts": counts,
    "positions, random order": lambda w, rng: positions(w, rng, ranked=False),
    "positions, better items higher": lambda w, rng: positions(w, rng, ranked=True),
    "pages, random order": lambda w, rng: pages(w, rng, ranked=False),
    "pages, better items higher": lambda w, rng: pages(w, rng, ranked=True),
    f"weeks that scatter by {percent(SCATTER)}": weeks,
}


def held(kind: str, seed: int) -> tuple[int, int]:
    """How many ranges of the items of one log hold the rate, and how many there are."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    w = rng.beta(2, 12, ITEMS)
    made, layout = KINDS[kind](w, rng)
    found = Corrected.of(log_of(pd.read_csv(io.StringIO(made.to_csv(index=False))), layout, "made.csv"))
    low, high = RateLaw.of(*found.counts(DRAWS, rng), DRAWS, seed).interval()
    true = w[[int(name) for name in found.log.names]]
    return int(((low <= true) & (true <= high)).sum()), len(true)


def ranges(number: int) -> str:
    """A row for each kind of log."""
    rows = []
    for kind in KINDS:
        inside, all_of_them = np.sum([held(kind, seed) for seed in range(number)], axis=0)
        low, high = binomial_interval(int(inside), int(all_of_them))
        share = percent(inside / all_of_them, 1)
        rows.append([kind, count(number), count(int(all_of_them)), share, f"{percent(low, 1)} to {percent(high, 1)}"])
    return table(["log", "logs", "ranges", "hold the rate", "95 % interval"], rows)
