"""Track-and-stop, step by step in plain Python: the judge of the learner and of its engine.

Shares nothing with the package. The optimal mixture is an argument, `mixture(T, S, K, steps, theta, M)`, since any
would do for the guarantee; `theory` is judged elsewhere.
"""

import math


def track_and_stop(table, K, delta, mixture, cascading=True, cap=10**9, M=None, stops=None):
    """Run on `table[item][n]`, the (n+1)-th outcome of an item; steps, whether it stopped, answer, counts, clicks.

    `stops(T, S, K, delta)` is another stopping rule than `may_stop`.
    """
    L, M = len(table), K if M is None else M
    T, S = [0] * L, [0] * L
    steps = 0
    plan, renewal, listed = None, 0.0, []
    while steps < cap:
        if min(T) < 1 or min(T) < math.sqrt(sum(T) / L):
            stretch = [sorted(range(L), key=lambda i: T[i])[:M]]
        else:
            theta = plan[3] if plan else math.nan
            if plan is None or steps >= renewal:
                plan, renewal = mixture(T, S, K, steps, theta, M), 1.25 * steps
                listed, due = [0] * len(plan[1]), [math.ceil(share * 0.3 * steps) for share in plan[2]]
            stretch = planned(T, S, K, plan, theta, max(1, steps // 32), listed, due)
        for shown in stretch:
            if steps == cap:
                return steps, False, best(T, S, K), T, S
            show(table, shown, T, S, cascading)
            steps += 1
        if (stops or may_stop)(T, S, K, delta):
            return steps, True, best(T, S, K), T, S
    return steps, False, best(T, S, K), T, S


def show(table, shown, T, S, cascading):
    """One user looks at the list from the top."""
    for item in shown:
        click = table[item][T[item]]
        T[item] += 1
        S[item] += int(click)
        if click and cascading:
            return


def best(T, S, K):
    """The `K` largest means; of equals the first."""
    return sorted(range(len(T)), key=lambda i: -(S[i] / T[i] if T[i] else 0.0))[:K]


def d(p, q):
    """Divergence of clicks."""
    clicks = p * math.log(p / q) if p > 0 else 0.0
    return clicks + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def may_stop(T, S, K, delta):
    """Every pair across the boundary is told apart."""
    if min(T) == 0:
        return False
    chosen = best(T, S, K)
    for a in chosen:
        for b in set(range(len(T))) - set(chosen):
            x = (S[a] + S[b]) / (T[a] + T[b])
            Z = 0.0 if x in (0, 1) else T[a] * d(S[a] / T[a], x) + T[b] * d(S[b] / T[b], x)
            if not math.log(4 * math.sqrt(T[a] * T[b]) * K * (len(T) - K) / delta) < Z:
                return False
    return True


def planned(T, S, K, plan, theta, length, listed, due):
    """One list for each step of the stretch; `listed` counts how often each list was shown."""
    level, lists, shares, _ = plan
    L = len(T)
    mean = [(S[i] + 0.5) / (T[i] + 1) for i in range(L)]
    chosen = set(best(T, S, K))
    low, high = max(mean[i] for i in range(L) if i not in chosen), min(mean[i] for i in chosen)
    if not low < theta < high:
        theta = (low + high) / 2
    per_look = []
    for i in range(L):
        distance = max(mean[i] - theta if i in chosen else theta - mean[i], math.sqrt(mean[i] * (1 - mean[i]) / T[i]))
        above, below = min(theta + distance, 1 - 1e-3 * (1 - theta)), max(theta - distance, 1e-3 * theta)
        per_look.append(d(above if i in chosen else below, theta))
    expected = [float(t) for t in T]
    stretch = []
    while len(stretch) < length:
        turn = min(range(len(lists)), key=lambda j: listed[j] / shares[j])
        size = min(length - len(stretch), math.ceil(length / 32), due[turn])
        listed[turn] += size
        shown = list_of_items(lists[turn], level, [e * g for e, g in zip(expected, per_look, strict=True)])
        reached = 1.0
        for item in shown:
            expected[item] += size * reached
            reached *= 1 - mean[item]
        stretch += [shown] * size
    return stretch


def list_of_items(shown, level, evidence):
    """The items of each level with the least evidence, the first of equals."""
    waiting = sorted(range(len(level)), key=lambda i: evidence[i])
    items = []
    for wanted in shown:
        item = next(i for i in waiting if level[i] == wanted)
        waiting.remove(item)
        items.append(item)
    return items
