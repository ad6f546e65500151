"""Correcting a log for the positions of its items: how often users look at each position, and how surely that is known.

The position-based model: a view of item `i` at position `p` is clicked with probability `theta(p) w(i)`. Both are
estimated together by maximum likelihood (Richardson, Dominowska and Ragno 2007; as a click model in Chuklin, Markov and
de Rijke 2015, section 3.3). Only products are observed, so `theta` is 1 at the position that is surely looked at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import Log
from cascadebai_cli.model.problem import FloatArray, IntArray
from cascadebai_cli.text import count, listed

# --- The estimate: how often each position is looked at, and the attraction of each item ----------------------------


_ITERATIONS, _SETTLED = 5000, 1e-9
_START = 200
"""Iterations of the model for small rates, a product of Poisson means, before those of the model for any rates."""
_PRIOR = 0.25
"""Clicks at each position of an item that is not there: they pull a position that is rarely seen to the average."""
_SURE, _ENOUGH = 2.0, 0.1
"""The position with `theta = 1` has the largest `log theta` less so many standard errors, among those with at
least this share of the clicks of the position with most."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Counts of items at positions, one entry per pair of item and position.

    Args:
        item, position: numbers of the item and of the position, from 0, shape `(n,)`.
        clicks, views: counts of the pair, shape `(n,)`.
    """

    item: IntArray
    position: IntArray
    clicks: FloatArray
    views: FloatArray

    def by_item(self, values: FloatArray) -> FloatArray:
        """Return sums over positions, shape `(L,)`."""
        return np.bincount(self.item, values).astype(np.float64)

    def by_position(self, values: FloatArray) -> FloatArray:
        """Return sums over items, shape `(P,)`."""
        return np.bincount(self.position, values).astype(np.float64)

    @property
    def with_prior(self) -> "Positions":
        """The counts, and those of one more item of the average rate, which is seen a little at each position."""
        P, L = int(self.position.max()) + 1, int(self.item.max()) + 1
        rate = max(self.clicks.sum(), _PRIOR) / max(self.views.sum(), 2 * _PRIOR)
        added = (np.full(P, L), np.arange(P), np.full(P, _PRIOR), np.full(P, _PRIOR / rate))
        mine = (self.item, self.position, self.clicks, self.views)
        return Positions(*(np.concatenate(pair) for pair in zip(mine, added, strict=True)))

    @property
    def groups(self) -> IntArray:
        """Return the group of each position as a number, shape `(P,)`; clicked items link the positions of a group.

        Scales of examination and attraction can be told apart only within a group.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        told = (self.views > 0) & np.isin(self.item, np.flatnonzero(self.by_item(self.clicks) > 0))
        P = int(self.position.max()) + 1
        size = P + int(self.item.max()) + 1
        edges = (np.ones(int(told.sum())), (self.position[told], P + self.item[told]))
        return np.asarray(connected_components(coo_array(edges, shape=(size, size)), directed=False)[1][:P], np.int64)

    @property
    def examination(self) -> tuple[FloatArray, FloatArray]:
        """Return the chance that each position is looked at, relative to the largest, and the attraction of each item.

        This is the EM algorithm: after a view without a click, the chance that the item was looked at is
        `theta (1 - w) / (1 - theta w)`, and the chance that a look would bring a click is
        `w (1 - theta) / (1 - theta w)`.

        Args:
            shown: counts whose positions are all in one group.

        Returns:
            `theta`, shape `(P,)`, and `w`, shape `(L,)`.
        """
        theta, w = _for_small_rates(self)
        views_at, views_of = self.by_position(self.views), np.maximum(self.by_item(self.views), 1e-300)
        missed = self.views - self.clicks
        for _ in range(_ITERATIONS):
            t, a = theta[self.position], w[self.item]
            per_miss = missed / np.maximum(1 - t * a, 1e-300)
            looked = self.by_position(self.clicks + per_miss * t * (1 - a)) / np.maximum(views_at, 1e-300)
            liked = self.by_item(self.clicks + per_miss * a * (1 - t)) / views_of
            moved = max(np.abs(looked - theta).max(), np.abs(liked - w).max())
            theta, w = looked, liked
            if moved < _SETTLED:
                break
        top = theta.max()
        return theta / top, np.minimum(w * top, 1)

    def looked_at(self, theta: ArrayLike) -> FloatArray:
        """Return the expected views of each item that were looked at, at least its clicks, shape `(L,)`."""
        seen = self.by_item(self.views * np.asarray(theta)[self.position])
        return np.maximum(seen, self.by_item(self.clicks))


def _for_small_rates(shown: Positions) -> tuple[FloatArray, FloatArray]:
    """Estimate both for clicks that are Poisson with mean `views theta w`, as a good start."""
    theta, clicks_at = np.ones(int(shown.position.max()) + 1), shown.by_position(shown.clicks)
    clicks_of = shown.by_item(shown.clicks)
    for _ in range(_START):
        w = clicks_of / np.maximum(shown.by_item(shown.views * theta[shown.position]), 1e-300)
        theta = clicks_at / np.maximum(shown.by_position(shown.views * w[shown.item]), 1e-300)
        theta /= theta.max()
    return np.minimum(theta, 1), np.minimum(w, 1)


# --- What the estimate is worth: counts of looks that say as much about the rates as the log does ---------------------
#
# By Fisher's information of the product model, a view at `p` says of `log theta(p) + log w(i)` as much as
# `mu / (1 - mu)` with `mu = theta(p) w(i)`. A look says `w / (1 - w)` of `log w(i)`; so `looks` of an item are worth
# its views if `looks w / (1 - w)` is the sum of the information of these views. The errors of `log theta` are normal,
# with the inverse of the information that remains of them when the rates are estimated too.


@dataclass(frozen=True, eq=False)
class Examined:
    """Positions with what is known about how often they are looked at.

    Attributes:
        shown: the counts.
        theta: chance that each position is looked at, beside the one that is surely looked at most, shape `(P,)`.
        w: attraction of each item, shape `(L,)`.
        errors: standard error of each `log theta`, shape `(P,)`.
        root: `root @ z`, with standard normal numbers `z`, are errors of `log theta`, shape `(P, P)`.
    """

    shown: Positions
    theta: FloatArray
    w: FloatArray
    errors: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, shown: Positions) -> "Examined":
        """Estimate all of it; the positions must be in one group, but for those without views."""
        enough = shown.with_prior
        theta, w = enough.examination
        told = _information(enough, theta, w)
        first = _surest(enough, theta)
        root = _root(enough, told, first)
        scale = theta[first]
        return cls(
            shown,
            np.minimum(theta / scale, 1),
            np.minimum(w * scale, 1)[:-1],
            np.sqrt((root**2).sum(axis=1)),
            root,
        )

    def counts(self, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw how often positions are looked at, and return clicks and looks that are worth as much as the log.

        Returns:
            clicks of each item under each draw, shape `(draws, L)`, and its looks, shape `(L,)`.
        """
        from scipy.sparse import coo_array

        shown, theta, (P, L) = self.shown, self.theta[self.shown.position], (len(self.theta), len(self.w))
        w = np.minimum(self.w, 1 - 0.5 / (shown.by_item(shown.views) + 1))
        looks = shown.by_item(shown.views * theta * ((1 - w[shown.item]) / (1 - theta * w[shown.item])))
        told = shown.views * theta / (1 - theta * w[shown.item])
        parts = told / np.maximum(shown.by_item(told), 1e-300)[shown.item]
        log = np.log(np.maximum(self.theta, 1e-300))[:, None]
        moved = np.minimum(log + self.root @ rng.standard_normal((P, draws)), 0) - log
        drawn = w[:, None] * np.exp(-(coo_array((parts, (shown.item, shown.position)), shape=(L, P)) @ moved))
        return np.asarray(np.minimum(drawn, 1).T * looks), looks


def _surest(shown: Positions, theta: FloatArray) -> int:
    """Return the position that is surely looked at most; one that is rarely clicked is not compared with."""
    clicks = shown.by_position(shown.clicks)
    low = np.log(np.maximum(theta, 1e-300)) - _SURE / np.sqrt(clicks)
    return int(np.argmax(np.where(clicks >= _ENOUGH * clicks.max(), low, -np.inf)))


def _information(shown: Positions, theta: FloatArray, w: FloatArray) -> FloatArray:
    """Return what each pair says of the logarithm of its chance of a click, shape `(n,)`."""
    mu = theta[shown.position] * w[shown.item]
    return np.asarray(shown.views * mu / np.maximum(1 - mu, 1 / (shown.views + 1)))


def _root(shown: Positions, told: FloatArray, first: int) -> FloatArray:
    """Return a root of the covariance of the errors of `log theta`, relative to those of the position `first`."""
    from scipy.sparse import coo_array

    P, L = int(shown.position.max()) + 1, int(shown.item.max()) + 1
    both = coo_array((told, (shown.position, shown.item)), shape=(P, L)).tocsr()
    shares = both.multiply(1 / np.maximum(both.sum(axis=0), 1e-300)[None, :])
    left = np.diag(shown.by_position(told)) - (shares @ both.T).toarray()
    rest = np.delete(np.arange(P), first)
    values, vectors = np.linalg.eigh(left[np.ix_(rest, rest)])
    root = np.zeros((P, P))
    root[np.ix_(rest, rest)] = vectors / np.sqrt(np.maximum(values, 1e-12))
    return root


# --- A log that is corrected ----------------------------------------------------------------------------------------


_MOST_POSITIONS = 1_000
_MOST_TOLD, _MOST_NAMED = 20, 3
_LITTLE = 0.5
"""Standard error of `log theta` from which on a position counts as little known."""


@dataclass(frozen=True, eq=False)
class Corrected:
    """A log with the views that were looked at, and what its positions say.

    Attributes:
        log: the log.
        seen: position -> chance that it is looked at, in order; empty without positions.
        examined: what is known of the positions; `None` if there is nothing to correct.
    """

    log: Log
    seen: Mapping[str, float] = field(default_factory=dict)
    examined: Examined | None = None

    def counts(self, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return clicks, shape `(L,)` or one row for each draw, and views that say as much of the rates as the log.

        Counts that scatter more than clicks do are worth so many times fewer.
        """
        if self.examined:
            return self.examined.counts(draws, rng)
        return self.log.clicks / self.log.dispersion, self.log.views / self.log.dispersion

    @property
    def looks(self) -> tuple[float, ...]:
        """How often the places of a page are looked at, from the top; positions of which little is known are none."""
        if not self.examined:
            return (1.0,)
        return tuple(self.examined.theta[self.examined.errors <= _LITTLE].tolist())

    @classmethod
    def of(cls, log: Log) -> "Corrected":
        """Return the log with the views that were looked at; one without positions is returned as it is.

        Raises:
            ConfigError: if some positions cannot be compared, as no items shown at both link them.
        """
        if log.cells is None:
            return cls(log)
        names = _in_order(log.cells["position"])
        if len(names) == 1:
            note = f"all rows have the position {names[0]}, so that nothing is to be corrected"
            return cls(replace(log, notes=(*log.notes, note)), {names[0]: 1.0})
        if len(names) > _MOST_POSITIONS:
            raise ConfigError(
                f"{log.name} has {count(len(names))} positions, {count(_MOST_POSITIONS)} is the most; name another "
                "column with --position"
            )
        place = pd.Categorical(log.cells["position"], categories=names).codes.astype(np.int64)
        shown = Positions(
            log.cells["item"].to_numpy(np.int64), place, *log.cells[["clicks", "views"]].to_numpy(np.float64).T
        )
        _refuse_apart(log.name, names, shown)
        found = Examined.of(shown)
        chances = dict(zip(names, found.theta.tolist(), strict=True))
        notes = (*log.notes, *_notes(chances, found))
        return cls(replace(log, views=shown.looked_at(found.theta), notes=notes), chances, found)


def _refuse_apart(name: str, names: Sequence[str], shown: Positions) -> None:
    groups, seen = shown.groups, shown.by_position(shown.views) > 0
    first = int(seen.argmax())
    if (apart := seen & (groups != groups[first])).any():
        raise ConfigError(
            f"{name}: no chain of clicked items links position {names[first]} to position "
            f"{names[int(apart.argmax())]}, so that good positions cannot be told from good items; leave out "
            "--position, or log items at several positions"
        )


def _notes(chances: Mapping[str, float], found: Examined) -> list[str]:
    """Say how often positions are looked at, and of which little is known."""
    told = ", ".join(f"{name} {chance:.3g}" for name, chance in list(chances.items())[:_MOST_TOLD])
    notes = [
        f"chance that a position is looked at, beside the best one: {told}; the views are corrected for it, and the "
        "simulated users look so too"
    ]
    views = found.shown.by_position(found.shown.views)
    little = [
        f"{name} ({count(n)} views)"
        for name, n, error in zip(chances, views, found.errors, strict=True)
        if error > _LITTLE
    ]
    if little:
        told = listed(little) if len(little) <= _MOST_NAMED else f"{', '.join(little[:_MOST_NAMED])} and others"
        notes.append(f"little is known of how often position {told} is looked at; the ranges take that into account")
    return notes


def _in_order(positions: "pd.Series[str]") -> list[str]:
    """Return the distinct positions in order, that of numbers if all are numbers."""
    names = positions.drop_duplicates()
    numbers = pd.to_numeric(names, errors="coerce")
    return list(names.iloc[np.argsort(numbers, kind="stable")] if numbers.notna().all() else names.sort_values())
