"""The judge of rewards that are indexed by time: Algorithm 1 step by step in plain Python, sharing nothing.

`table[t][i]` is the outcome of item `i` at step `t + 1`; behind its last row the table begins anew.
"""

import math


class TooClose(Exception):
    """A comparison hangs on rounding."""


def judged(table, K, delta, epsilon=0.0, sigma=0.5, cap=math.inf):
    """`(steps, stopped, output, A, R, T)` of Algorithm 1."""
    L, D, A, R, t = len(table[0]), list(range(len(table[0]))), [], [], 0
    T, S = [0] * L, [0] * L
    while D and len(A) < K and len(R) < L - K and t < cap:
        row = table[t % len(table)]
        for i in sorted(D, key=lambda i: T[i])[:K]:
            T[i] += 1
            S[i] += row[i]
            if row[i]:
                break
        mean = {i: S[i] / T[i] if T[i] else 0.0 for i in D}
        C = {i: _radius(T[i], L, delta, sigma) for i in D}
        ranked = sorted(D, key=lambda i: -mean[i])
        j_prime, j_star = ranked[K - len(A) - 1], ranked[K - len(A)]
        rejected = [i for i in D if _less(mean[i] + C[i], mean[j_prime] - C[j_prime] - epsilon)]
        accepted = [i for i in ranked if _less(mean[j_star] + C[j_star] - epsilon, mean[i] - C[i])]
        A += [i for i in accepted if i not in rejected]
        R += rejected
        D = [i for i in D if i not in A and i not in R]
        t += 1
    stopped = not D or len(A) >= K or len(R) >= L - K
    return t, stopped, (A + D)[:K], A, R, T


def _radius(T, L, delta, sigma):
    rho = math.sqrt(delta / (12 * L))
    return 4 * sigma * math.sqrt(math.log(math.log2(2 * T) / rho) / T) if T else math.inf


def _less(a, b):
    if abs(a - b) < 1e-12:
        raise TooClose
    return a < b
