"""The independent judge of runs with a budget: uniform looking, SAR, and what is answered, in plain Python.

Nothing here is imported from the package. `rewards[i][n]` is the outcome of the (n+1)-th observation of item `i`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Asked(NamedTuple):
    """How a run went until it was asked: steps, the answer, accepted and rejected items in order, counts."""

    steps: int
    answer: tuple[int, ...]
    accepted: tuple[int, ...]
    rejected: tuple[int, ...]
    counts: tuple[int, ...]


def answer(rewards, K, accepted: Sequence[int], rejected: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """The accepted, then the others that were not rejected in descending order of mean."""
    others = [i for i in range(len(rewards)) if i not in accepted and i not in rejected]
    return (*accepted, *ranked(rewards, others, counts))[:K]


def ranked(rewards, some: Sequence[int], counts: Sequence[int]) -> list[int]:
    """In descending order of mean, of equals the first in the order of `some`; means are exact fractions."""
    return sorted(some, key=lambda i: mean(rewards, i, counts), reverse=True)


def mean(rewards, i: int, counts: Sequence[int]) -> Fraction:
    return Fraction(sum(rewards[i][: counts[i]]), max(counts[i], 1))


def phase_lengths(L: int, budget: int) -> list[int]:
    """Bubeck et al. (2013), Figure 2: pulls of phase 1, ..., L - 1, all survivors together."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, L + 1))
    n = [0, *(math.ceil((budget - L) / (log_bar * (L + 1 - k))) for k in range(1, L))]
    return [(n[k] - n[k - 1]) * (L + 1 - k) for k in range(1, L)]


def look(rewards, K: int, M: int, steps: int, ends: Sequence[int], cascading: bool) -> Asked:
    """Show the `M` least observed survivors for `steps` steps; an item is decided at each of `ends`."""
    L = len(rewards)
    T, D, A, R, t = [0] * L, list(range(L)), [], [], 0
    while t < steps and len(A) < K and len(R) < L - K:
        for i in sorted(D, key=lambda i: T[i])[:M]:
            T[i] += 1
            if rewards[i][T[i] - 1] and cascading:
                break
        t += 1
        for _ in range(list(ends).count(t)):
            if len(A) < K and len(R) < L - K:
                decide(rewards, K, T, D, A, R)
    return Asked(t, answer(rewards, K, A, R, T), tuple(A), tuple(R), tuple(T))


def decide(rewards, K: int, T, D: list[int], A: list[int], R: list[int]) -> None:
    """The survivor with the largest gap to the other side: the best is accepted, the worst rejected, at a tie too."""
    order, k = ranked(rewards, D, T), K - len(A)
    w = [mean(rewards, i, T) for i in order]
    if w[0] - w[k] > w[k - 1] - w[-1]:
        A.append(order[0])
    else:
        R.append(order[-1])
    D.remove(order[0] if order[0] in A else order[-1])


def uniform(rewards, K: int, M: int, budget: int, cascading: bool = True) -> Asked:
    return look(rewards, K, M, budget, (), cascading)


def sar(rewards, K: int, M: int, budget: int, cascading: bool = True) -> Asked:
    lengths = phase_lengths(len(rewards), budget)
    ends = [sum(lengths[: k + 1]) for k in range(len(lengths))]
    return look(rewards, K, M, budget, ends, cascading)
