# %% [markdown]
# # A tour of cascadebai
#
# Which `K` of `L` items are clicked most often, when a page shows `K` items and is read from the top to the first
# click? This notebook simulates learners that find out, compares them, adds one of its own, draws a figure for a
# paper, and plans a test from a log. It is made from `tour_cells.py` by `make tour`;
# `docs/python.md` says more.

# %%
import numpy as np
import pandas as pd

import cascadebai_cli as cb

# %% [markdown]
# ## Simulate
#
# An instance is the click probabilities of the items and the number of items to find. One row of the table is one
# trial: how many lists were shown until the learner stopped, how many items were looked at, and whether it found the
# best ones.

# %%
instance = cb.Instance([0.5, 0.45, 0.4, 0.2, 0.15, 0.1, 0.1, 0.05], K=3)
rows = cb.simulate(instance, "cascadebai", trials=100, seed=1, delta=0.1)
rows[["trial", "status", "steps", "observations", "correct"]].head()

# %% [markdown]
# Here `delta` is the largest probability of a wrong answer. The guarantee is cautious:

# %%
print(f"{rows['steps'].mean():,.0f} steps on average, {(rows['correct'] == 0).sum()} of {len(rows)} trials wrong")

# %% [markdown]
# What is proved about this instance: the lower bound of the paper, the sharp one, and the upper bound for Algorithm
# 1.

# %%
cb.bounds(instance, delta=0.1, sharp=True)[["lower", "sharp", "upper"]]

# %% [markdown]
# ## Compare learners

# %%
NAMES = ["cascadebai", "batrac", "kl-lucb++"]
compared = pd.concat(cb.simulate(instance, name, trials=100) for name in NAMES)
compared.groupby("learner")["steps"].agg(["mean", "sem"]).round(1).sort_values("mean")

# %% [markdown]
# Options of a learner are further arguments. With KL bounds in place of its radius, CascadeBAI needs far fewer steps:

# %%
sharper = cb.simulate(instance, "cascadebai", trials=100, confidence="kl")
print(f"{rows['steps'].mean() / sharper['steps'].mean():.1f} times fewer steps")

# %% [markdown]
# ## A learner of one's own
#
# A class with `select`, `observe`, `finished` and `recommendation`. This one looks at all items equally often, and
# stops when the intervals of the best `K` and of the rest part.


# %%
@cb.learner("uniform, Hoeffding")
class Uniform:
    """Uniform sampling with Hoeffding's intervals; each item and each number of observations has its share of delta."""

    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0) -> None:
        self.K, self.epsilon, self.log = K, epsilon, np.log(4 * L / delta)
        self.seen, self.clicks = np.zeros(L, int), np.zeros(L, int)
        self.finished, self.recommendation = False, ()

    def select(self) -> list[int]:
        """The items that were seen least."""
        return [int(item) for item in np.argsort(self.seen, kind="stable")[: self.K]]

    def observe(self, shown: list[int], outcomes: list[int]) -> None:
        """Take in 1 for a click and 0 for a skip of the first items shown."""
        items = shown[: len(outcomes)]
        self.seen[items] += 1
        self.clicks[items] += outcomes
        if self.seen.min() > 0:
            mean = self.clicks / self.seen
            radius = np.sqrt((self.log + 2 * np.log(self.seen)) / (2 * self.seen))
            best, rest = np.split(np.argsort(-mean, kind="stable"), [self.K])
            apart = (mean - radius)[best].min() > (mean + radius)[rest].max() - self.epsilon
            self.finished, self.recommendation = bool(apart), tuple(best.tolist())


own = cb.simulate(instance, "uniform, Hoeffding", trials=20)
pd.concat([compared, own]).groupby("learner")["steps"].mean().round(1).sort_values()

# %% [markdown]
# It runs in other processes as well (`n_jobs=2`), and its rows belong to exactly this code: after a change, they are
# others. For rows that others can repeat, the class belongs into a file; then it is `module:Class` in a config.
#
# ## A figure
#
# A study is a grid: here four sizes of `K`, and four learners. Without a directory its results live as long as the
# notebook.

# %%
study = {
    "study": "tour",
    "seed": 1,
    "trials": 20,
    "L": 12,
    "K": [2, 3, 4, 5],
    "instances": [{"name": "0.6 or 0.1", "family": "two_level", "w_star": 0.6, "w_prime": 0.1, "fit": {"model": "K"}}],
    "learners": [
        {"name": "CascadeBAI", "algorithm": "cascadebai"},
        {"name": "CascadeBAI, KL bounds", "algorithm": "cascadebai", "confidence": "kl"},
        {"name": "KL-LUCB++", "algorithm": "kl-lucb++"},
        {"name": "uniform", "algorithm": "uniform, Hoeffding"},
    ],
}
results = cb.sweep(study, n_jobs=1)
results.summary.pivot(index="K", columns="learner", values="mean_steps").round(0)

# %%
results.plot(kind="curves", width="column", height=3, log="y")

# %% [markdown]
# `results.plot(...).savefig("figure.pdf")` writes it, in the width of a column of a paper. The curves are fitted too:

# %%
results.fits[["learner", "model", "c1", "c2", "r2"]].round(3)

# %% [markdown]
# ## Plan a test
#
# A log says how often items were looked at and clicked. How many page views does it take to be sure of the best
# three?

# %%
log = pd.DataFrame({"item": list("abcdefgh"), "clicks": [210, 180, 160, 90, 80, 70, 50, 40], "views": 600})
plan = cb.plan(log, items="item", clicks="clicks", views="views", K=3, trials=20, per_day=500, n_jobs=1)
plan.learners[["name", "page_views_low", "page_views_median", "page_views_high", "days_median"]].round(1)

# %%
plan.items[["name", "rate", "low", "high", "chance"]].round(3)
