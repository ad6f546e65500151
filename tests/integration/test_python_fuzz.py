"""Every public function takes any value of any type: a sentence (`ValueError`) or a right answer, and nothing else."""

import datetime
import os
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cascadebai_cli as cb
from cascadebai_cli.errors import CascadeError

EXAMPLES = int(os.environ.get("FUZZ", "250"))
"""Calls in all; `FUZZ=10000 pytest tests/integration/test_python_fuzz.py` makes as many."""

WEIGHTS = [0.9, 0.7, 0.2, 0.1]
LOG = pd.DataFrame({"i": list("abcdef"), "c": [50, 40, 30, 20, 10, 5], "v": [100] * 6})
STUDY = {"seed": 1, "trials": 2, "K": 1, "instances": [{"name": "x", "family": "explicit", "weights": WEIGHTS}]}


def holding_itself() -> tuple[object, object]:
    mapping: dict[str, object] = {}
    mapping["a"] = mapping
    entries: list[object] = []
    entries.append(entries)
    return mapping, entries


EXTREMES = [
    *holding_itself(),
    *(None, True, False, 0, -1, 1, 2, 10**20, 10**400, 10**5000, -(10**5000), 1e-320, 1e308),
    *(float("nan"), float("inf"), -0.0, 1j, np.complex128(0.5 + 1j), np.float64(0.5), np.int8(1), np.bool_(True)),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("1e500"), Fraction(1, 3), Fraction(10**400), pd.NA, pd.NaT),
    *("", " ", "a", "x" * 5000, "\ud800", "a\nb", "\0", "\x1b[2J", "1", "0.1", "nan", "../x", "K", "1/K", "--n-jobs"),
    *(b"x", bytearray(b"ab"), object(), len, int, type, lambda: None, Ellipsis, NotImplemented, ValueError("x")),
    *(
        {1, 2},
        frozenset(),
        range(3),
        (),
        [],
        {},
        {"a": 1},
        {1: 2},
        {"relative_error": 0.1, "at_most": 3},
        [[1]],
        [None],
    ),
    *(np.array(3), np.array([]), np.zeros((2, 2)), np.array([1j, 0]), np.array(["a"]), np.array([0, 1], "M8[D]")),
    *(pd.DataFrame({"a": [1]}), pd.Series([0.9, 0.1]), pd.Timestamp("2026-01-01"), datetime.timedelta(1), Path("x")),
    *(cb.Instance(WEIGHTS, K=2), np.ma.masked, np.ma.array([0.5, 0.1], mask=[True, False]), memoryview(b"ab")),
]

AMONG_EXTREMES = st.integers(0, len(EXTREMES) - 1).map(lambda i: EXTREMES[i])  # some cannot be printed by hypothesis
VALUES = st.one_of(
    AMONG_EXTREMES,
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=8)
    | st.decimals(),
    st.recursive(
        AMONG_EXTREMES | st.floats(0, 1),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
        max_leaves=4,
    ),
)


def bounded(value: object) -> bool:
    """Whether a run with it is over soon: no large number of what is worked through."""
    if isinstance(value, complex | np.complexfloating | np.ma.MaskedArray):
        return True  # NumPy warns of what it drops
    try:
        return not 60 < abs(float(value)) < 1e18  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return True


def calls(results: cb.Results, plan: cb.Plan, folder: Path) -> dict[str, Callable[[Any], object]]:
    """Name -> call with one argument of any kind, for each argument of each public function."""
    instance = cb.Instance(WEIGHTS, K=2)
    made: dict[str, Callable[[Any], object]] = {
        "Instance weights": lambda x: cb.Instance(x, K=1),
        "Instance K": lambda x: cb.Instance(WEIGHTS, K=x),
        "Instance epsilon": lambda x: cb.Instance(WEIGHTS, K=1, epsilon=x),
        "Instance.right": instance.right,
        "Instance.is_correct": instance.is_correct,
        "learner": lambda x: cb.learner(x)(int if x != x else x),
        "load": cb.load,
        "sweep": lambda x: cb.sweep(x, n_jobs=1),
        "sweep out": lambda x: cb.sweep(STUDY, x, n_jobs=1),
        "plan": lambda x: cb.plan(x, items="i", clicks="c", views="v", n_jobs=1, trials=2, K=2),
        "plan name": lambda x: cb.plan(LOG.astype(object).assign(i=[x, *"bcdef"]), **words()),
        "plan clicks": lambda x: cb.plan(LOG.astype(object).assign(c=[x, *[9] * 5]), **words()),
        "Plan.save": plan.save,
        "Results.fit": lambda x: results.fit(allow_capped=x),
        "simulate instance": lambda x: cb.simulate(x, trials=2),
    }
    for key in (
        *("learner", "trials", "seed", "delta", "budget", "max_steps", "feedback", "engine", "rewards", "n_jobs"),
        *("progress", "sigma", "order", "confidence", "K", "unheard_of"),
    ):
        made[f"simulate {key}"] = lambda x, key=key: cb.simulate(instance, **{"trials": 2, "max_steps": 9, key: x})
    for key in ("delta", "learner", "feedback", "budget", "printed", "sharp", "sigma"):
        made[f"bounds {key}"] = lambda x, key=key: cb.bounds(instance, **{key: x})
    for key in (
        *("seed", "trials", "K", "L", "delta", "epsilon", "instances", "learners", "rewards", "engine", "fit", "plot"),
        *("zip", "fresh", "progress", "n_jobs", "budget", "max_steps", "feedback", "claims"),
    ):
        made[f"sweep {key}"] = lambda x, key=key: cb.sweep(STUDY, **{"n_jobs": 1, "max_steps": 9, key: x})
    for key in (*words(), *("position", "event", "wide", "decimal", "page_size", "delta", "budget", "sure", "truth")):
        made[f"plan {key}"] = lambda x, key=key: cb.plan(LOG, **{**words(), key: x})
    for key in ("learner", "per_day", "seed", "progress"):
        made[f"plan {key}"] = lambda x, key=key: cb.plan(LOG, **{**words(), key: x})
    for key in ("kind", "x", "y", "panels", "lines", "instances", "learners", "where", "average", "log", "width"):
        made[f"plot {key}"] = lambda x, key=key: results.plot(**{key: x})
    for key in ("columns", "height", "labels", "order", "style"):
        made[f"plot {key}"] = lambda x, key=key: results.plot(**{key: x})
    return made


def words() -> dict[str, Any]:
    return {"items": "i", "clicks": "c", "views": "v", "K": 2, "trials": 2, "n_jobs": 1, "epsilon": 0.05}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Callable[[Any], object]]]:
    folder, before = tmp_path_factory.mktemp("fuzz"), Path.cwd()
    os.chdir(folder)
    yield calls(cb.sweep(STUDY, "swept", n_jobs=1), cb.plan(LOG, **words()), folder)
    os.chdir(before)


def test_any_value_is_refused_in_a_sentence_or_gives_an_answer(made: dict[str, Callable[[Any], object]]) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=EXAMPLES < 1000,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.sampled_from(sorted(made)), VALUES.filter(bounded))
    def one(name: str, value: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what the package tells
            try:
                made[name](value)
            except CascadeError as refusal:
                text = str(refusal)
                assert text, name
                assert "\n" not in text, (name, text)
                assert len(text) < 1200, (name, text)
                assert not text.startswith("--"), (name, text)
            except Exception as error:
                error.add_note(name)
                raise

    one()
