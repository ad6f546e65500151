"""What a sweep of very many cells does once must not be done once a cell."""

import inspect

import numpy as np
import pytest
from sweeps import call, sweep

from cascadebai_cli.learners import registry
from cascadebai_cli.store import summary

CONFIG = """\
seed: 1
trials: 1
L: 4
K: 2
delta: {deltas}
instances:
  - {{name: a, family: two_level, w_star: 0.9, w_prime: 0.1}}
learners:
  - {{name: x, algorithm: batrac, b: 1}}
"""


class Counter:
    """A function that counts how often it is called."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments, **named):
        self.calls += 1
        return self.function(*arguments, **named)


@pytest.mark.parametrize(
    ("module", "name"),
    [(inspect, "signature"), (np, "searchsorted"), (np, "setdiff1d"), (summary, "stdtrit"), (summary, "betaincinv")],
)
def test_a_finished_sweep_again(tmp_path, monkeypatch, module, name):
    calls = []
    for number in (5, 25):
        config, out = tmp_path / "study.yaml", tmp_path / str(number)
        config.write_text(CONFIG.format(deltas=[round(0.1 + i / 50, 2) for i in range(number)]))
        assert sweep(config, out).code == 0
        registry.options_of.cache_clear()
        summary.binomial_interval.cache_clear()
        summary.t_quantile.cache_clear()
        with monkeypatch.context() as patched:
            counter = Counter(getattr(module, name))
            patched.setattr(module, name, counter)
            assert call("sweep", config, "--out", out, "--quiet", "--backend", "sequential").code == 0
        calls.append(counter.calls)
    assert calls[0] == calls[1]
