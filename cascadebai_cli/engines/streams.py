"""The generators of the items of a trial, all made at once.

`rng.spawn(n)` hashes the seed anew for each child. The seeds of children differ in their last word alone, the number of
the child, so the hash of the others is taken over and the rest is computed for all children together: a step of `mix`
for each word of the pool, then the words of the states (Melissa O'Neill's `seed_seq`, as NumPy has it and promises to
keep it: NEP 19).
"""

from typing import Any

import numpy as np
from numpy.random import PCG64, PCG64DXSM, Generator, SeedSequence
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_L, MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
HALF = np.uint32(16)
POOL = 4
WORDS = 8
"""Of the state of a generator."""

Words = NDArray[np.uint32]


class _Known(ISeedSequence):
    """A seed whose words are known."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> Any:
        """The words, whatever is asked for: these generators ask for four of 64 bits."""
        return self._words


def spawned(rng: Generator, n: int) -> list[Generator]:
    """Generators that draw what those of `rng.spawn(n)` draw; `rng` does not count them as its children.

    Args:
        rng: of any kind; all at once only for a PCG64 or PCG64DXSM.
        n: how many.
    """
    made: Any = type(rng.bit_generator)
    seed = rng.bit_generator.seed_seq
    if made not in (PCG64, PCG64DXSM) or not isinstance(seed, SeedSequence) or seed.pool_size != POOL:
        return rng.spawn(n)
    child = np.arange(seed.n_children_spawned, seed.n_children_spawned + n, dtype=np.uint32)
    pool = [_mixed(seed.pool[i : i + 1], child, _hashed(seed) + i) for i in range(POOL)]
    words = np.stack([_scrambled(pool[i % POOL], INIT_B, MULT_B, i) for i in range(WORDS)], axis=1)
    return [Generator(made(_Known(own))) for own in words.view(np.uint64)]


def _hashed(seed: SeedSequence) -> int:
    """How often a word was hashed for the pool of a seed: each of the first four for all four, as each that follows."""
    return POOL * (max(_words(seed.entropy), POOL) + sum(map(_words, seed.spawn_key)))


def _words(number: Any) -> int:
    """Words of 32 bits that a number takes, or a sequence of them."""
    return max(1, -(-int(number).bit_length() // 32)) if np.ndim(number) == 0 else sum(map(_words, number))


def _mixed(word: Words, child: Words, hashed: int) -> Words:
    """A word of the pool once the number of the child was mixed in."""
    return _folded(MIX_L * word - MIX_R * _scrambled(child, INIT_A, MULT_A, hashed))


def _scrambled(word: Words, first: int, factor: int, times: int) -> Words:
    """A word hashed with the constant of this place in the sequence of all that are hashed."""
    before, after = (np.uint32(first * pow(factor, k, 1 << 32) % (1 << 32)) for k in (times, times + 1))
    return _folded((word ^ before) * after)


def _folded(word: Words) -> Words:
    return np.asarray(word ^ (word >> HALF))
