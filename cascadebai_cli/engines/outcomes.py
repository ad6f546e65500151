"""Where the outcomes of a trial come from: streams of random bits, and stacks of rewards.

In a stack the n-th outcome of an item depends on the trial alone, whatever is read when and by whom.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.random import PCG64, PCG64DXSM, Generator, SeedSequence
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Sources of outcomes --------------------------------------------------------------------------------------------
#
# The n-th observation of item `i` is Bernoulli(`w(i)`), whatever the learner does. A source offers two views of this
# stack of rewards: `next`, one outcome at a time, and `stretch`, the next `n` outcomes of several items at once, kept
# as the keys of the rarer outcome.


_DENSE_RATE = 0.11
"""Mean rate of the rarer outcome from which it is cheaper to draw every outcome than to draw the rare ones only."""
_LARGEST_RATE = 3.5
"""Mean number of points in a cell (`_sparse`) from which it is cheaper to draw every outcome of the item."""


class Stretch(NamedTuple):
    """Outcomes of some rounds.

    Attributes:
        keys: `round << shift | item` of every rare outcome, ascending.
        clicks: whether the rare outcome is a click (else a skip).
    """

    keys: IntArray
    clicks: bool


class Outcomes(Protocol):
    """Where the outcomes of a trial come from."""

    def next(self, item: int) -> int:
        """Return the next outcome of `item`: 1 for a click, 0 for a skip."""
        ...

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Return outcomes `start, ..., start + rounds - 1` of each of `items`, all below `2 ** shift`."""
        ...

    def rarity(self, items: IntArray) -> float:
        """Return the expected number of keys per observation of `items`, from which the size of a stretch is chosen."""
        ...


class RandomOutcomes:
    """Outcomes drawn from a generator.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the only source of randomness.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights, self.rng = weights, rng

    def next(self, item: int) -> int:
        """Draw one Bernoulli(w) outcome."""
        return int(self.rng.random() < self.weights[item])

    def rarity(self, items: IntArray) -> float:
        """Return the mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Draw fresh outcomes; those drawn before and not used are forgotten, which does not change the law."""
        w = self.weights[items]
        clicks = bool(np.add.reduce(w) / len(w) <= 0.5)
        rate = w if clicks else 1 - w
        if np.add.reduce(rate) / len(w) > _DENSE_RATE:
            at, place = true_places(self._dense(rate, rounds))
            return Stretch(((at << shift) | items[place]).astype(key_type(rounds, shift)), clicks)
        return Stretch(self._sparse(rate, items, rounds, shift), clicks)

    def _dense(self, rate: FloatArray, rounds: int) -> BoolArray:
        """Return a mask of the outcomes that are the rare one, shape `(rounds, d)`.

        A 16-bit number decides unless it equals the 16-bit prefix of the rate; a second draw then settles it.
        """
        scaled = rate * 65536
        prefix = np.minimum(np.floor(scaled), 65535)
        drawn = self.rng.integers(0, 65536, size=(rounds, len(rate)), dtype=np.uint16)
        threshold = prefix.astype(np.uint16)
        rare = drawn < threshold
        tied = np.flatnonzero(drawn == threshold)
        rare.ravel()[tied] = self.rng.random(len(tied)) < (scaled - prefix)[tied % len(rate)]
        return rare

    def _sparse(self, rate: FloatArray, items: IntArray, rounds: int, shift: int) -> IntArray:
        """Return the keys of the rare outcomes.

        Points of a Poisson process fall into a cell of mean `-log(1 - rate)` at least once with probability `rate`,
        independently of the other cells; repeated points count once.
        """
        with np.errstate(divide="ignore"):
            mean = -np.log1p(-rate)
        often = mean > _LARGEST_RATE
        points = self.rng.poisson(np.where(often, 0, mean * rounds))
        keys = self.rng.integers(0, rounds, size=points.sum(), dtype=key_type(rounds, shift))
        keys <<= shift
        keys |= np.repeat(items.astype(keys.dtype), points)
        if often.any():
            at, place = true_places(self.rng.random((rounds, int(often.sum()))) < rate[often])
            keys = np.concatenate([keys, ((at << shift) | items[often][place]).astype(keys.dtype)])
        keys.sort()
        fresh = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        once: IntArray = keys[fresh]
        return once


def key_type(rounds: int, shift: int) -> type[np.signedinteger[Any]]:
    """Return the type of the keys of a stretch: as small as possible, for speed."""
    return np.int32 if rounds << shift < 2**31 else np.int64


def true_places(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return row and column of every true entry of a mask, many times faster than `np.nonzero`."""
    flat = np.flatnonzero(mask)
    row = flat // mask.shape[1]
    return row, flat - row * mask.shape[1]


# --- Generators of the items of a trial, all made at once -----------------------------------------------------------
#
# `rng.spawn(n)` hashes the seed anew for each child. The seeds of the children differ only in their last word, the
# number of the child. So the hash of the other words is computed once, and the rest for all children together: a step
# of `mix` for each word of the pool, then the words of the states (Melissa O'Neill's `seed_seq`, as NumPy has it and
# promises to keep it: NEP 19).


_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF = np.uint32(16)
_POOL = 4
_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
"""Multiplier with which PCG64 and PCG64DXSM make their first state."""
_DXSM = np.uint64(0xDA942042E4DD58B5)
"""Multiplier of PCG64DXSM."""
_ONE, _32, _LOWER = np.uint64(1), np.uint64(32), np.uint64(2**32 - 1)
_WORDS = 8
"""Number of 32-bit words of the state of a generator."""

_Words = NDArray[np.uint32]
_Long = tuple[NDArray[np.uint64], NDArray[np.uint64]]
"""Upper and lower half of numbers of 128 bits."""


class _Known(ISeedSequence):
    """A seed whose words are known."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> Any:
        """Return the known words, whatever is asked for: these generators always ask for four of 64 bits."""
        return self._words


def spawned(rng: Generator, n: int) -> list[Generator]:
    """Return generators that draw what those of `rng.spawn(n)` draw, without counting them as children of `rng`.

    Args:
        rng: a generator of any kind; only for PCG64 and PCG64DXSM are all made at once.
        n: number of generators.
    """
    words, made = _seeds(rng, n), cast(Any, type(rng.bit_generator))
    return rng.spawn(n) if words is None else [_generator(made, own) for own in words]


def _generator(made: Any, words: NDArray[np.uint64], drawn: int = 0) -> Generator:
    return Generator(made(_Known(words)).advance(drawn))


def _seeds(rng: Generator, n: int) -> NDArray[np.uint64] | None:
    """Return the words from which `spawned` makes its generators, shape `(n, 4)`; `None` if they are not known."""
    seed = rng.bit_generator.seed_seq
    if type(rng.bit_generator) not in (PCG64, PCG64DXSM) or not isinstance(seed, SeedSequence):
        return None
    if seed.pool_size != _POOL:
        return None
    child = np.arange(seed.n_children_spawned, seed.n_children_spawned + n, dtype=np.uint32)
    pool = [_mixed(seed.pool[i : i + 1], child, _hashed(seed) + i) for i in range(_POOL)]
    words = np.stack([_scrambled(pool[i % _POOL], _INIT_B, _MULT_B, i) for i in range(_WORDS)], axis=1)
    return words.view(np.uint64)


def _first_draws(words: NDArray[np.uint64], n: int) -> FloatArray:
    """Return the first draws of generators of the kind PCG64DXSM from the words of each, shape `(len(words), n)`.

    The `k`-th state is `A^k` times the first one, and `1 + A + ... + A^(k-1)` times the increment, modulo 2**128.
    """
    high, low, stream_high, stream = words.T[:, :, None]
    increment = stream_high << _ONE | stream >> np.uint64(63), stream << _ONE | _ONE
    first = _sum(_product(_sum((high, low), increment), *_halves([_FACTOR])), increment)
    powers, sums = _jumps(n)
    high, low = _sum(_product(first, *powers), _product(increment, *sums))
    high ^= high >> _32
    high *= _DXSM
    high ^= high >> np.uint64(48)
    high *= low | _ONE
    return np.asarray((high >> np.uint64(11)) * 2.0**-53)


@cache
def _jumps(n: int) -> tuple[_Long, _Long]:
    """Return the powers of `A` and their sums."""
    powers, sums = [1], [0]
    for _ in range(n - 1):
        sums.append(sums[-1] + powers[-1])
        powers.append(powers[-1] * int(_DXSM))
    return _halves(powers), _halves(sums)


def _halves(numbers: Sequence[int]) -> _Long:
    """Return the upper and the lower 64 of the last 128 bits of numbers."""
    upper, lower = ([number >> shift & 2**64 - 1 for number in numbers] for shift in (64, 0))
    return np.array(upper, np.uint64), np.array(lower, np.uint64)


def _sum(one: _Long, other: _Long) -> _Long:
    low = one[1] + other[1]
    return one[0] + other[0] + (low < one[1]), low


def _product(one: _Long, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> _Long:
    """Return the last 128 bits, from the products of halves of the lower words."""
    (a, b), (c, d) = ((word >> _32, word & _LOWER) for word in (one[1], low))
    middle = a * d + (b * d >> _32)
    carry = a * c + (middle >> _32) + (b * c + (middle & _LOWER) >> _32)
    return one[0] * low + one[1] * high + carry, one[1] * low


def _hashed(seed: SeedSequence) -> int:
    """Return how many hashes made the pool of a seed: `_POOL` for each word, with at least `_POOL` words of entropy."""
    return _POOL * (max(_words(seed.entropy), _POOL) + sum(map(_words, seed.spawn_key)))


def _words(number: Any) -> int:
    """Return how many 32-bit words a number takes, or the numbers of a sequence together."""
    return max(1, -(-int(number).bit_length() // 32)) if np.ndim(number) == 0 else sum(map(_words, number))


def _mixed(word: _Words, child: _Words, hashed: int) -> _Words:
    """Return a word of the pool after the number of the child was mixed in."""
    return _folded(_MIX_L * word - _MIX_R * _scrambled(child, _INIT_A, _MULT_A, hashed))


def _scrambled(word: _Words, first: int, factor: int, times: int) -> _Words:
    """Return a word hashed with the constant at this place in the sequence of all hashes."""
    before, after = (np.uint32(first * pow(factor, k, 1 << 32) % (1 << 32)) for k in (times, times + 1))
    return _folded((word ^ before) * after)


def _folded(word: _Words) -> _Words:
    return np.asarray(word ^ (word >> _HALF))


# --- Stacks of rewards that are read in bulk, item by item ----------------------------------------------------------


_KEPT = 1024
"""Number of outcomes before the largest `start` asked for that can still be read."""

_FIRST, _AT_ONCE = 64, 512
"""Number of outcomes of each item drawn at the first read, and smallest number of them drawn at once afterwards."""


class Stack(Protocol):
    """Where the outcomes of one trial come from."""

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Return outcomes `start, ..., start + n - 1` of `item`, which must not be written to.

        `start` must not be more than `_KEPT` below the largest `start` so far.
        """
        ...

    def forget(self) -> None:
        """Give the memory back; nothing is read after this."""


class RandomStack:
    """Outcomes drawn from one generator per item, so that no outcome depends on when others were read.

    The first outcomes of all items are drawn at the first read. An item's own generator is made once more are needed,
    and outcomes far before the first `start` are skipped without being drawn.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are its children.
        paired: whether sums too are those of the outcomes that other learners and engines meet.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator, *, paired: bool = False) -> None:
        self.weights, self._rng, self._paired = weights, rng, paired
        self.forget()  # nothing is drawn before the first read

    def forget(self) -> None:
        """Give the memory back."""
        self._streams: list[Generator | None] = []
        self._known: list[BoolArray] = []
        self._first: list[int] = []

    def _open(self) -> None:
        L = len(self.weights)
        self._words = _seeds(self._rng, L) if isinstance(self._rng.bit_generator, PCG64DXSM) else None
        self._streams, self._known, self._first = [None] * L, [np.zeros(0, bool)] * L, [0] * L
        if self._words is None:
            self._streams = list(spawned(self._rng, L))
        else:
            parts = np.array_split(self._words, -(-L // 128))  # so that arrays fit into the cache
            draws = np.concatenate([_first_draws(part, _FIRST) for part in parts])
            self._known = list(draws < self.weights[:, None])

    def _stream(self, item: int) -> Generator:
        """Return the generator of an item, which stands behind the outcomes that were drawn."""
        stream = self._streams[item]
        if stream is None and self._words is not None:
            stream = self._streams[item] = _generator(PCG64DXSM, self._words[item], _FIRST)
        return cast(Generator, stream)

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Draw Bernoulli(w) outcomes as far as needed, and return those asked for."""
        if not self._streams:
            self._open()
        known = self._known[item]
        if start + n > self._first[item] + len(known):
            known = self._read_on(item, max(0, start - _KEPT - self._first[item]), start + n)
        begin = start - self._first[item]
        return known[begin : begin + n]

    def clicks(self, item: int, start: int, n: int) -> int:
        """Return the clicks among `n` outcomes, for those who read sums alone, each behind the other."""
        if self._paired:
            return int(np.count_nonzero(self.peek(item, start, n)))
        if not self._streams:
            self._open()
        return int(self._stream(item).binomial(n, self.weights[item]))

    def _read_on(self, item: int, drop: int, end: int) -> BoolArray:
        """Drop the outcomes before `drop`, and draw up to `end`."""
        stream, known = self._stream(item), self._known[item]
        if drop > len(known):
            stream.bit_generator.advance(drop - len(known))  # type: ignore[attr-defined]  # a draw is one step of it
        self._first[item] += drop
        missing = end - self._first[item] - len(known[drop:])
        fresh = stream.random(max(missing, _AT_ONCE)) < self.weights[item]
        self._known[item] = np.concatenate([known[drop:], fresh])
        return self._known[item]


class ShuffledLooks:
    """Whether each item of a list is looked at, if every list is shown in a random order.

    Its items are the places of the list before it is shuffled, and its outcomes are those of the steps.

    Args:
        chances: chance that each place of the page is looked at, shape `(M,)`.
        rng: a generator for this alone.
    """

    def __init__(self, chances: FloatArray, rng: np.random.Generator) -> None:
        self.chances, self._rng = chances, rng
        self._known, self._first = np.zeros((0, len(chances)), bool), 0

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Draw orders and looks as far as needed, and return those asked for; what is not on the page is all ones."""
        if item >= len(self.chances):
            return np.ones(n, bool)
        if start + n > self._first + len(self._known):
            self._read_on(max(0, start - _KEPT - self._first), start + n)
        begin = start - self._first
        return self._known[begin : begin + n, item]

    def sums(self, n: int) -> list[int]:
        """Draw in how many of `n` steps each item is looked at, for those who read sums alone.

        Steps are told apart by how many places are looked at in them; the items share these places evenly.
        """
        M, found, shares = len(self.chances), [], np.ones(1)
        for look in self.chances:
            shares = np.convolve(shares, [1 - look, look])
        left = self._rng.multinomial(n, shares)
        for items in range(M, 0, -1):
            own = self._rng.binomial(left, np.arange(items + 1) / items)
            found.append(int(own.sum()))
            left = (left - own)[:items] + own[1:]
        return found

    def _read_on(self, drop: int, end: int) -> None:
        """Drop the steps before `drop`, and draw up to `end`."""
        M = len(self.chances)
        if drop > len(self._known):
            self._rng.bit_generator.advance(2 * M * (drop - len(self._known)))  # type: ignore[attr-defined]
        self._first += drop
        kept = self._known[drop:]
        drawn = self._rng.random((max(end - self._first - len(kept), _AT_ONCE), 2, M))
        looks, order = drawn[:, 0] < self.chances, drawn[:, 1].argsort(axis=1)
        self._known = np.concatenate([kept, np.take_along_axis(looks, order, axis=1)])


# --- A stack read by engines that ask for stretches -----------------------------------------------------------------


_BUFFER = 512
"""Number of outcomes of an item that are drawn at once when they are read one by one."""
_CHUNK = 2**16
"""Largest number of outcomes of an item that are drawn at once."""


class PairedOutcomes:
    """The stack of rewards of `RandomStack`, in the form of `Outcomes`.

    The n-th outcome of an item depends on the generator alone, and not on what is read, nor how. So all learners that
    are given this generator meet the same stack, whichever engine runs them. That takes as much time as there are
    outcomes, rare or not. One object is read by `next` alone, or by `stretch` alone.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are its children.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights = weights
        self._streams = spawned(rng, len(weights))
        self._drawn = [0] * len(weights)
        self._buffers: list[Iterator[int]] = [iter(())] * len(weights)

    def next(self, item: int) -> int:
        """Return the next outcome of the item."""
        for outcome in self._buffers[item]:
            return outcome
        clicks = self._streams[item].random(_BUFFER) < self.weights[item]
        self._buffers[item] = iter(clicks.astype(int).tolist())
        return next(self._buffers[item])

    def rarity(self, items: IntArray) -> float:
        """Return the mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Return outcomes of the stack; no `start` may lie before the end of the last stretch of one of the items."""
        clicks = bool(self.weights[items].mean() <= 0.5)
        kind = key_type(rounds, shift)
        parts = [(self._rare(item, start, rounds, clicks).astype(kind) << shift) | item for item in items.tolist()]
        return Stretch(np.sort(np.concatenate(parts)), clicks)

    def _rare(self, item: int, start: int, rounds: int, clicks: bool) -> IntArray:
        """Return which of the outcomes from `start` on are clicks, or skips."""
        w, stream = float(self.weights[item]), self._streams[item]
        if w in (0, 1):
            return np.arange(rounds if (w == 1) == clicks else 0)
        if start > self._drawn[item]:
            stream.bit_generator.advance(start - self._drawn[item])  # type: ignore[attr-defined]  # a draw is one step
        self._drawn[item] = start + rounds
        sizes = [(begin, min(_CHUNK, rounds - begin)) for begin in range(0, rounds, _CHUNK)]
        return np.concatenate([begin + np.flatnonzero((stream.random(n) < w) == clicks) for begin, n in sizes])
