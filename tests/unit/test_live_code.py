"""The hash of code that stands in no module follows what runs, and nothing else."""

import subprocess
import sys
import textwrap
from typing import Any

import pytest
from sweeps import environment

from cascadebai_cli.learners.own import enter, is_live, live_hash, load_plugin, plugin_code
from cascadebai_cli.learners.protocol import RacingLearner

CELL = """\
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
import numpy as np
from cascadebai_cli.learners.bounds import kl_upper

STEP = 3
TABLE = {"a": [1, 2.5], "b": (None, "x")}
ARRAY = np.arange(4)

@dataclass
class Settings:
    width: int = 1

SETTINGS = Settings(5)
half = partial(max, 0.5)

@lru_cache
def cached(x):
    return x * 7

def inner(x):
    return x + STEP, cached(x), half(x), SETTINGS.width

def helper(x, more=2):
    return [inner(y) for y in range(x)]

class Base:
    limit = 10
    def rule(self):
        return lambda x: TABLE["a"][0] * x

class Mine(Base):
    '''What it does.'''
    size: int = 4
    def __init__(self, L, K, delta):
        self.L = L  # a comment
    @property
    def finished(self):
        return math.pi > self.L
    @cached_property
    def often(self):
        return self.L * 11
    @staticmethod
    def pick(x):
        return helper(x)
    def select(self):
        import json
        return kl_upper(ARRAY, self.L, 0.1), self.pick(2)
"""


def classes(cell: str, module: str = "__main__") -> dict[str, Any]:
    """What a notebook has after a cell."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(cell, "cell", "exec"), names)
    return names


def hash_of(cell: str = CELL) -> str:
    return live_hash(classes(cell)["Mine"])


def test_a_script_has_the_same_hash_in_a_process_that_it_has_spawned() -> None:
    assert live_hash(classes(CELL, "__mp_main__")["Mine"]) == hash_of()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ("'''What it does.'''", "'''Something else.'''"),
        ("STEP = 3", "STEP = 3\nOTHER = 1"),
        ("\n\ndef helper", "\n\n\n\ndef helper"),
        ('{"a": [1, 2.5], "b"', '{"a": [1, 2.5],     "b"'),
    ],
)
def test_comments_blanks_and_what_is_not_used_do_not_count(old: str, new: str) -> None:
    assert old in CELL
    assert hash_of(CELL.replace(old, new)) == hash_of()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 3", "STEP = 4"),
        ("[1, 2.5]", "[1, 2.25]"),
        ("np.arange(4)", "np.arange(5)"),
        ("np.arange(4)", "np.arange(4.0)"),
        ("x + STEP", "x - STEP"),
        ("more=2", "more=3"),
        ("x * 7", "x * 8"),
        ("self.L * 11", "self.L * 12"),
        ("max, 0.5", "max, 0.25"),
        ("max, 0.5", "min, 0.5"),
        ("Settings(5)", "Settings(6)"),
        ("limit = 10", "limit = 11"),
        ("math.pi > self.L", "math.pi < self.L"),
        ("TABLE", "ARRAY"),
        ("return helper(x)", "return inner(x)"),
        ("import json", "import cascadebai_cli"),
        ("@staticmethod", "@classmethod"),
        ("kl_upper(", "np.abs("),
        ("class Mine(Base)", "class Mine"),
    ],
)
def test_everything_that_runs_counts(old: str, new: str) -> None:
    assert old in CELL
    assert hash_of(CELL.replace(old, new)) != hash_of()


def test_it_is_the_same_in_another_process() -> None:
    words = f"{CELL}\nfrom cascadebai_cli.learners.own import live_hash\nprint(live_hash(Mine))"
    for seed in "12":
        done = subprocess.run(
            [sys.executable, "-c", words],
            env={**environment(), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == hash_of()


def test_what_a_class_is_made_with_counts_and_a_name_without_a_value_is_none() -> None:
    cell = """\
    def made(x):
        class Mine:
            def select(self):
                return x, later
        if x < 0:
            later = 1
        return Mine
    Mine = made({})
    """
    one, same, other = (hash_of(textwrap.dedent(cell).format(x)) for x in (1, 1, 2))
    assert one == same != other


def test_circles_have_an_end() -> None:
    cell = """\
    class Mine:
        def one(self):
            return Mine, other
    def other():
        return other, Mine, LIST
    LIST = [1]
    LIST.append(LIST)
    """
    assert len(hash_of(textwrap.dedent(cell))) == 16


def test_what_stands_in_a_module_is_called_by_its_name() -> None:
    assert not is_live(RacingLearner)
    assert enter(RacingLearner) == "cascadebai_cli.learners.protocol:RacingLearner"
    mine = classes(CELL)["Mine"]
    algorithm = enter(mine)
    assert algorithm == f"__main__:Mine#{live_hash(mine)}"
    assert (load_plugin(algorithm), plugin_code(algorithm)) == (mine, live_hash(mine))
