"""A test on a live page, from Python: ask for pages, tell clicks, see when it is over."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv

from cascadebai_cli.engines.jobs import Run
from cascadebai_cli.engines.simulate import Trial, new_job
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.posterior import DRAWS, Posterior, PosteriorRule
from cascadebai_cli.live.checks import Check, expected_pairs, findings
from cascadebai_cli.live.state import State, check_whole, checked_terms, counts_of, plain
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, BoolArray, FloatArray, IntArray
from cascadebai_cli.text import count, listed, quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RUNS, _SECONDS = 20, 2.0
"""Number of simulated runs that tell how many pages are still to come, and the most time that they take."""
_MOST_PAGES = 100_000
"""Most pages of one call, in which no other process can write."""
_POINTS = 60
"""Points of a curve."""
_SAMPLE = 5_000
"""Pages from which it is told how many would have two clicks."""
_MOST_NAMED = 5
"""Most items that a sentence names."""
_Place = Literal["in", "out", "open"]


class Page(NamedTuple):
    """A page to show: its number, from 1, by which its clicks are told, and the names of its items from the top."""

    id: int
    items: tuple[str, ...]


class Told(NamedTuple):
    """What is said of a page, by its number or its name in files; all of it must fit the page.

    What was `clicked`, and what it is said of that it was `skipped`, are names of items, positions from 1, or pairs of
    both; if there is a list of the latter, each item that counts is in one of the two. `columns` are the items of which
    a table speaks: the page shows no other ones, and those that it does not show may be said to be skipped.
    """

    page: Any
    clicked: Any
    skipped: Sequence[Any] | None = None
    columns: Sequence[str] | None = None


@dataclass(frozen=True)
class ItemStatus:
    """What is known of an item.

    Attributes:
        item: its name.
        looks, clicks: on pages that were told, down to the first click of each, or on all of it (`reads`).
        rate: clicks for each look, `None` without looks.
        low, high: interval of the click rate; with `bounds` the bounds by which the test stops, with `posterior` the
            central 95 % of the posterior.
        place: `in` if by these intervals it is among the best `K`, `out` if it is not, else `open`.
    """

    item: str
    looks: int
    clicks: int
    rate: float | None
    low: float
    high: float
    place: _Place


@dataclass(frozen=True)
class Status:
    """How far a test is.

    Attributes:
        done: whether it is over: at one moment, in the order in which pages were told, the answer was sure enough.
        answer: names of the best `K` items at that moment, the best first; `None` if the test is not over.
        best: the answer or, before there is one, the best `K` items as they are now.
        items: one entry for each item, in descending order of rate.
        asked, told, open: number of pages that were given out, that were told, and the difference.
        late: number of pages that were told after the test was over; they do not change the answer.
        chance: posterior probability that the answer is right, by the prior of the test and all that was told.
        more: how many more page views it takes: 5 %, median and 95 % of simulated runs; `None` where a run did not end.
        findings: what speaks against the assumptions of the test.
    """

    done: bool
    answer: tuple[str, ...] | None
    best: tuple[str, ...]
    items: tuple[ItemStatus, ...]
    asked: int
    told: int
    open: int
    late: int
    chance: float
    more: tuple[int | None, int | None, int | None]
    findings: tuple[Check, ...]


class Live:
    """A test that finds the `K` items with the largest click rates on a page that people look at from the top.

    Args:
        items: names of the items; `None` takes those of the log.
        K: number of items to find.
        delta: risk of a wrong answer, in `(0, 1)`.
        page_size: number of items on a page; `K` if `None`.
        epsilon: tolerance: an item that is worse than the `K`-th best by this counts as good enough.
        stopping: `bounds`, whose risk holds whatever the click rates are, or `posterior`, which stops much sooner and
            whose risk holds on average over uniform click rates.
        path: a new directory that keeps the test; `None` keeps it in memory.
        seed: seed of what is drawn.
        prior: what `posterior` believes of each click rate at first: `uniform`, `jeffreys`, or `log` for the mixture of
            beta laws that `plan` fits to the log.
        log: counts to start with, a CSV file or a pandas table with the columns `item`, `clicks`, `views` and, if
            known, `position`; or a pair of this and a `Layout` that names them. Its views must be looks. It is refused
            if its items are clicked less at lower positions, or if their rates are not the same in all rows.
        reads: what counts of a page: `click`, the items down to the first click, as people look from the top and
            leave; or `page`, every item, clicked or not, for people who look as they like. Then lists have a random
            order, and the click rate of an item is that on all places together.

    Attributes:
        terms: what the test is about.
        notes: sentences on items that are in the log or in the test only.

    Raises:
        ConfigError: (a `ValueError`) if a value is not usable, or the directory cannot be used.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        items: Sequence[str] | None,
        K: int,
        delta: float = 0.1,
        page_size: int | None = None,
        epsilon: float = 0.0,
        stopping: Literal["bounds", "posterior"] = "bounds",
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        prior: Literal["uniform", "jeffreys", "log"] = "uniform",
        log: Any = None,
        reads: Literal["click", "page"] = "click",
    ) -> None:
        known = {} if log is None else counts_of(log)
        chosen = {"stopping": stopping, "prior": prior, "reads": reads}
        names = list(known) or None if items is None else items
        terms = checked_terms(names, K, delta, page_size, epsilon, seed, known, **chosen)
        self._go_on(State(None if path is None else _directory(path), terms))
        self.notes = _differences(terms.items, known) if known else ()
        with self._state.changing():
            self._going_on(self._learner(*self._state.counts()))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Live":
        """Go on with the test in a directory; several processes may.

        Raises:
            ConfigError: if there is none, or it was written by another version.
        """
        return cls.__new__(cls)._go_on(State(_directory(path)))

    def _go_on(self, state: State) -> "Live":
        self._state, self.terms = state, state.terms
        return self

    def close(self) -> None:
        """Close the file; what was told is there already. A `with` block does this at its end."""
        self._state.close()

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, n: int = 1) -> list[Page]:
        """Return the next pages to show, at most 100,000.

        What is out and not yet told counts as much as is expected of it, so that many pages at once differ.

        Raises:
            ConfigError: for another number, or if nothing can be written.
        """
        with self.asking(n) as pages:
            return pages

    @contextmanager
    def asking(self, n: int) -> Iterator[list[Page]]:
        """Let a block have the next pages, as `ask`; they are given out only if the block ends well."""
        n = check_whole("n", n, 1, _MOST_PAGES)
        with self._state.changing():
            asked, _ = self._state.numbers()
            lists = self._next(*self._state.counts(), self._state.untold(), n, seed=asked)
            self._state.add(asked + 1, lists)
            yield [Page(number, self._names(shown)) for number, shown in enumerate(lists, asked + 1)]

    def tell(self, page_id: int, clicked: Any = None) -> None:
        """Take the clicks on a page; a page may be told late, and again with the same content.

        Args:
            page_id: its number, or its name in files.
            clicked: `None` for no click, the name of an item, its place from 1 as a whole number, or a list of several
                of these, of which the first by place is what counts, or all (`reads`).

        Raises:
            ConfigError: if the page or the item is unknown, or the page was told with another content.
        """
        self.tell_many([(page_id, clicked)])

    def tell_many(self, pages: Iterable[tuple[int, Any] | Told]) -> int:
        """Take the clicks on several pages, pairs as for `tell`; all are taken or, if one is wrong, none.

        Returns:
            how many of the pages were told for the first time.
        """
        new = 0
        with self._state.changing():
            learner = None if self._state.stop() else self._learner(*self._state.counts())
            for told in _told(pages):
                if (seen := self._tell(told)) is None:
                    continue
                new += 1
                if learner is not None:
                    learner.observe(*seen)
                    learner = self._going_on(learner)
        return new

    @property
    def done(self) -> bool:
        """Whether the test is over. Once it is, pages that are told late do not open it again."""
        with self._state.reading():
            return self._state.stop() is not None

    @property
    def answer(self) -> tuple[str, ...] | None:
        """Names of the `K` items with which the test ended, the best first; `None` if it is not over."""
        return self.best if self.done else None

    @property
    def best(self) -> tuple[str, ...]:
        """The answer or, before there is one, the names of the best `K` items as they are now."""
        with self._state.reading():
            return self._best()

    @property
    def status(self) -> Status:
        """How far the test is; takes up to some seconds, as it simulates how it may go on."""
        with self._state.reading():
            T, S = self._state.counts()
            asked, told = self._state.numbers()
            found, best, stop = tuple(self._findings(told)), self._best(), self._state.stop()
        items, out, answer = self._items(T, S), asked - told, best if stop else None
        chance = 1 - self._belief.chance_of_error(T, S, np.isin(self.terms.items, best))
        late, more = (told - stop[0], (0, 0, 0)) if stop else (0, self._more(T, S))
        return Status(bool(stop), answer, best, items, asked, told, out, late, chance, more, found)

    def picture(self) -> "Figure":
        """Return a matplotlib figure of the intervals of the items, by pages in the order in which they were told."""
        from cascadebai_cli.figures.pictures import draw_intervals

        with self._state.reading():
            items, clicked = self._state.history()
            best, stop = self._best(), self._state.stop()
        if not len(items):
            raise ConfigError(f"{self._state.name} has no page that was told, so that there is nothing to draw")
        over = stop[0] if stop else None
        views = np.unique([*np.linspace(1, len(items), _POINTS).astype(np.int64), over or 1])
        counts = [self._counted(items[:n], clicked[:n]) for n in views.tolist()]
        curves = np.array([(np.where(T, S / np.maximum(T, 1), np.nan), *self._intervals(T, S)) for T, S in counts])
        now = self._items(*counts[-1])
        order = [self.terms.items.index(one.item) for one in now]
        title = f"the best {self.terms.K} of {count(len(now))} items"
        names, places = [one.item for one in now], [one.place for one in now]
        return draw_intervals(names, places, best, views, curves.transpose(1, 2, 0)[:, order], title, over)

    # --- parts -----------------------------------------------------------------------------------------------------

    def _counted(self, items: IntArray, clicked: BoolArray) -> tuple[IntArray, IntArray]:
        """Return looks and clicks of each item with those of the start, given some pages, shape `(n, M)` each."""
        looked = self.terms.looked(clicked)
        seen = (np.bincount(items[of], minlength=len(self.terms.items)) for of in (looked, looked & clicked))
        looks, clicks = (known + np.array(start) for known, start in zip(seen, self.terms.start, strict=True))
        return looks, clicks

    def _findings(self, told: int) -> list[Check]:
        several, in_order = self._state.pages_with_several_clicks(), self.terms.reads == "click"
        pairs = 0.0 if in_order or several else self._expected_pairs(told)
        return findings(self._state.looks(), self.terms.items, several, in_order, pairs)

    def _expected_pairs(self, told: int) -> float:
        """Return how many pairs of clicks on one page are expected, as some thousand of all pages have them."""
        items, clicked = self._state.history(every=-(-told // _SAMPLE) or 1)
        return expected_pairs(items, clicked) * told / max(len(items), 1)

    def _learner(self, T: IntArray, S: IntArray, seed: int = 0) -> KLLucb | Posterior:
        """Return the learner that has seen these counts."""
        of, L, M = self.terms, len(self.terms.items), self.terms.page_size
        learner: KLLucb | Posterior = KLLucb(L, of.K, of.delta, of.epsilon, list_length=M)
        if of.stopping == "posterior":
            rng = np.random.default_rng([of.seed, seed])
            learner = Posterior(L, of.K, of.delta, of.epsilon, of.prior, M, rng=rng)
        learner.take_place(T, S)
        return learner

    @property
    def _belief(self) -> PosteriorRule:
        of = self.terms
        return PosteriorRule(len(of.items), of.K, of.delta, of.epsilon, of.prior, of.page_size)

    def _next(self, T: IntArray, S: IntArray, untold: IntArray, n: int, seed: int) -> list[list[int]]:
        """Return lists for the next pages, where what is expected of open pages counts as seen."""
        learner = self._learner(T, S, seed)
        rate, reads_all = (S + 0.5) / (T + 1), self.terms.reads == "page"
        ends, mixed = (0 * rate if reads_all else rate), np.random.default_rng([self.terms.seed, seed, 1])
        looks, lists = _expected_looks(untold, ends), list[list[int]]()
        while len(lists) < n:
            out = len(untold) + len(lists)
            more = np.rint(looks).astype(np.int64)
            learner.take_place(T + more, S + np.minimum(np.rint(looks * rate).astype(np.int64), more))
            made = [list(learner.select())]
            if isinstance(learner, Posterior):
                learner.next_draw = DRAWS  # its draws are good as long as nothing more is known
            made += [list(learner.select()) for _ in range(1, min(n - len(lists), max(1, out // 100), DRAWS))]
            looks += _expected_looks(np.array(made), ends)
            lists += [mixed.permutation(one).tolist() for one in made] if reads_all else made
        return lists

    def _going_on(self, learner: KLLucb | Posterior) -> KLLucb | Posterior | None:
        """Return the learner if the test goes on; at the first moment at which it does not, its answer is kept."""
        if not learner.finished:
            return learner
        self._state.end(learner.recommendation)
        return None

    def _best(self) -> tuple[str, ...]:
        stop = self._state.stop()
        return self._names(stop[1] if stop else self._learner(*self._state.counts()).recommendation)

    def _tell(self, told: Told) -> tuple[list[int], list[int]] | None:
        """Take what is said of a page; return the items that count with their outcomes, `None` if it was told before.

        Raises:
            ConfigError: if it does not fit the page, or what was told before.
        """
        named = isinstance(told.page, str) and "-" in told.page
        page = self.terms.page_called(told.page) if named else told.page
        if isinstance(page, bool) or not isinstance(page, int | np.integer):
            raise ConfigError(f"page {quoted(page)} is no number of a page; give the id that ask returned")
        items, known = self._state.page(page := int(page))
        shown = self._names(items)
        skipped = [one for one in told.skipped or () if one in shown or told.columns is None]
        clicks, skips = (_places(page, shown, said) for said in (told.clicked, skipped))
        outcomes = np.isin(np.arange(len(items)), clicks)
        looked = np.flatnonzero(self.terms.looked(outcomes[None])[0]).tolist()
        for place in set(clicks).intersection(skips):
            raise ConfigError(f"page {page} has a click and no click on position {place + 1}; one of them is wrong")
        unsaid = {*looked} - {*clicks, *skips} if told.skipped is not None else set()
        without = {place for place, name in enumerate(shown) if name not in (told.columns or shown)}
        for place in sorted(unsaid | without):
            sentence = f"page {page} shows {shown[place]}, of which the file says neither 0 nor 1, as it does of other"
            raise ConfigError(f"{sentence} items of this page; give each item of the page a row, or a column")
        if known is None:
            self._state.tell(page, clicks, items[: len(looked)])
            return items[: len(looked)], outcomes[looked].astype(int).tolist()
        if known != clicks:
            first, now = map(_clicks_in_words, (known, clicks))
            sentence = f"page {page} was told before with {first}, and now with {now}"
            raise ConfigError(f"{sentence}; the first is kept, so leave this page out")
        return None

    def _items(self, T: IntArray, S: IntArray) -> tuple[ItemStatus, ...]:
        (low, high), rate = self._intervals(T, S), S / np.maximum(T, 1)
        places = _decided(low, high, self.terms.K, self.terms.epsilon)

        def status(i: int) -> ItemStatus:
            seen = float(rate[i]) if T[i] else None
            return ItemStatus(self.terms.items[i], int(T[i]), int(S[i]), seen, float(low[i]), float(high[i]), places[i])

        return tuple(map(status, np.lexsort((-T, -rate)).tolist()))

    def _intervals(self, T: IntArray, S: IntArray) -> tuple[FloatArray, FloatArray]:
        terms = self.terms
        if terms.stopping == "bounds":
            rule, mean = LucbRule(len(T), terms.K, terms.delta, terms.epsilon), S / np.maximum(T, 1)
            return np.maximum(rule.lower(mean, T), 0), np.minimum(rule.upper(mean, T), 1)
        _, a, b = self._belief.components(T, S)
        if len(a) == 1:
            return betaincinv(a[0], b[0], 0.025), betaincinv(a[0], b[0], 0.975)
        _, centre, spread = self._belief.moments(T, S)
        low, high = (np.sin(np.clip(centre + side * spread, 0, np.pi / 2)) ** 2 for side in (-1.96, 1.96))
        return low, high

    def _more(self, T: IntArray, S: IntArray) -> tuple[int | None, int | None, int | None]:
        """Return quantiles of the page views of runs from here, with rates drawn from the posterior."""
        rng, until = np.random.default_rng(self.terms.seed), time.monotonic() + _SECONDS
        feedback, jobs = CASCADING if self.terms.reads == "click" else SEMI_BANDIT, []
        for i, weights in enumerate(self._belief.drawn(T, S, _RUNS, rng)):
            trial = Trial(weights, np.random.default_rng([self.terms.seed, i]))
            engine, job = new_job(self._learner(T, S, i), trial, feedback, "auto", None)
            jobs.append(job)
        ended = engine.run(jobs, lambda: time.monotonic() > until)
        steps = sorted(run.steps if isinstance(run, Run) else np.inf for _, run in ended)
        at = (steps[round(share * (len(steps) - 1))] for share in (0.05, 0.5, 0.95))
        low, middle, high = (None if one == np.inf else int(one) for one in at)
        return low, middle, high

    def _names(self, items: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.terms.items[item] for item in items)


def rehearsal(live: Live) -> Live:
    """Return a test in memory with the terms of another one, and nothing told."""
    return Live.__new__(Live)._go_on(State(None, live.terms))


def _differences(items: Sequence[str], known: Mapping[str, Any]) -> tuple[str, ...]:
    """Return sentences on the items that are in a log or in the test only."""
    left_out, new = [name for name in known if name not in items], [name for name in items if name not in known]
    return (
        *([f"left out, as the test does not have them: {_some(left_out)} of the log"] if left_out else []),
        *([f"not in the log, so that they begin with no views: {_some(new)}"] if new else []),
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return listed([*map(quoted, names[:_MOST_NAMED]), *([f"{count(more)} more"] if more > 0 else [])])


def _told(pages: Any) -> Iterator[Told]:
    for pair in pages if isinstance(pages, Iterable) else [pages]:
        if not isinstance(pair, Told) and (not isinstance(pair, list | tuple) or len(pair) != 2):
            raise ConfigError(f"tell_many takes pairs of a page and its clicks, but was given {quoted(pair)}")
        yield Told(*pair)


def _directory(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigError(f"path is {quoted(path)}, but must be the directory of a test")
    return Path(path)


def _places(page: int, shown: Sequence[str], said: Any) -> list[int]:
    """Return the places of some items of a page from 0, ascending."""
    several = said if isinstance(said, list | tuple | set) else [] if said is None else [said]
    return sorted({_place(page, shown, one) for one in several})


def _place(page: int, shown: Sequence[str], one: Any) -> int:
    if isinstance(one, tuple) and len(one) == 2:
        place = _place(page, shown, one[0])
        if place + 1 != one[1]:
            raise ConfigError(f"page {page} shows {one[0]} at position {place + 1}, not at {one[1]}")
        return place
    if isinstance(one, int | np.integer) and not isinstance(one, bool):
        if not 1 <= one <= len(shown):
            raise ConfigError(f"page {page} has no position {one}; give one from 1 to {len(shown)}")
        return int(one) - 1
    if not isinstance(one, str) or plain(one) not in shown:
        raise ConfigError(f"item {quoted(one)} is not on page {page}, which shows {', '.join(shown)}")
    return shown.index(plain(one))


def _expected_looks(lists: IntArray, ends: FloatArray) -> FloatArray:
    """Return how many looks the items of some pages will get, shape `(L,)`, if looks at them end a page so often."""
    goes_on = np.cumprod(1 - ends[lists], axis=1)
    looks = np.column_stack([np.ones(len(lists)), goes_on[:, :-1]])
    return np.bincount(lists.ravel(), looks.ravel(), len(ends)).astype(np.float64)


def _decided(low: FloatArray, high: FloatArray, K: int, epsilon: float) -> list[_Place]:
    """Return for each item whether it is in, out or open: fewer than `K` others may be better, or `K` others are."""
    may_be_better = (high[None, :] - epsilon > low[:, None]).sum(axis=1) - (high - epsilon > low)
    are_better = (low[None, :] > high[:, None]).sum(axis=1)
    return ["in" if m < K else "out" if b >= K else "open" for m, b in zip(may_be_better, are_better, strict=True)]


def _clicks_in_words(places: Sequence[int]) -> str:
    return f"a click on position {', '.join(str(place + 1) for place in places)}" if places else "no click"
