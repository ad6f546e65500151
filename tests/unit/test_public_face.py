"""What `import cascadebai_cli as cb` gives: loaded when it is used, and changed with the changelog only."""

import inspect
import pickle
import re
import subprocess
import sys
from array import array
from collections import deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweeps import environment

import cascadebai
import cascadebai_cli as cb

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
FACE = re.compile(r"```python\n(?P<names>.*?)```", re.S)
SECTION = re.compile(r"^## (.+)$", re.M)


def face() -> list[str]:
    """Names and signatures, and what the classes have."""
    return [described(name, getattr(cb, name)) for name in cb.__all__]


def described(name: str, value: object) -> str:
    if not inspect.isclass(value):
        return f"{name}{signature(value)}"
    members = [f"{key}{signature(part)}" for key, part in sorted(vars(value).items()) if not key.startswith("_")]
    return f"{name}{'' if name in MADE_BY_FUNCTIONS else signature(value)}: {', '.join(members)}"


MADE_BY_FUNCTIONS = ("Results", "Plan", "Learner")
"""Classes of which users make no objects."""


def signature(value: object) -> str:
    """Parameters with their defaults; what follows from annotations is for type checkers."""
    if not callable(value):
        return ""
    parameters = inspect.signature(value).parameters.values()
    return str(inspect.Signature([part.replace(annotation=part.empty) for part in parameters if part.name != "self"]))


def latest() -> re.Match[str]:
    found = FACE.search(CHANGELOG)
    assert found is not None
    return found


def test_names_and_signatures_are_those_of_the_changelog() -> None:
    """Who changes one writes the new list into the section of the next version; the first list there is the face."""
    assert face() == [line.strip() for line in latest()["names"].splitlines() if line.strip()]


def test_the_list_stands_under_a_version_that_this_is_or_is_to_be() -> None:
    before = SECTION.findall(CHANGELOG[: latest().start()])
    assert before[-1].split()[0] in ("Unreleased", cb.__version__)
    assert all(section.split()[0] in ("Unreleased", cb.__version__) for section in before[:2])


def test_a_changed_default_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(directory: str, strict: bool = True) -> None:
        """Another signature."""

    monkeypatch.setattr(cb, "load", load)
    assert "load(directory, strict=True)" in face()
    assert "load(directory)" not in face()


# --- loaded when it is used -----------------------------------------------------------------------------------------

HEAVY = ("numpy", "pandas", "pydantic", "matplotlib", "typer", "joblib")


@pytest.mark.parametrize("name", ["cascadebai_cli", "cascadebai"])
def test_an_import_loads_nothing_heavy(name: str) -> None:
    words = f"import sys, {name} as cb; dir(cb); print([m for m in {HEAVY} if m in sys.modules], cb.__version__)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout == f"[] {cb.__version__}\n"


def test_both_names_give_the_same() -> None:
    assert cascadebai.__all__ == cb.__all__
    assert [getattr(cascadebai, name) for name in cb.__all__] == [getattr(cb, name) for name in cb.__all__]
    assert cascadebai.__version__ == cb.__version__
    assert dir(cascadebai) == dir(cb)


def test_completion_offers_the_names_and_an_unknown_one_is_an_attribute_error() -> None:
    assert set(cb.__all__) < set(dir(cb))
    assert not hasattr(cb, "simulat")
    with pytest.raises(AttributeError, match="'cascadebai_cli' has no attribute 'simulat'"):
        _ = cb.simulat


@pytest.mark.parametrize("name", cb.__all__)
def test_every_name_explains_itself(name: str) -> None:
    text = inspect.getdoc(getattr(cb, name)) or ""
    assert text.splitlines()[0].endswith((".", ":"))
    missing = [part for part in parameters(getattr(cb, name)) if f"{part}" not in text]
    assert missing == []
    assert re.findall(r"`_\w+", text) == []  # names that a user cannot look up


def parameters(value: object) -> list[str]:
    if inspect.isclass(value) and value.__name__ in MADE_BY_FUNCTIONS:
        return []
    return [name for name in inspect.signature(value).parameters if name != "self"]  # type: ignore[arg-type]


# --- instances ------------------------------------------------------------------------------------------------------

WEIGHTS = [0.9, 0.5, 0.25, 0.125]


@pytest.mark.parametrize(
    "given",
    [
        WEIGHTS,
        tuple(WEIGHTS),
        np.array(WEIGHTS),
        np.array(WEIGHTS, dtype=object),
        pd.Series(WEIGHTS, index=list("abcd")),
        pd.Series(WEIGHTS, dtype="Float64"),
        pd.DataFrame({"w": WEIGHTS})["w"],
        pd.Index(WEIGHTS),
        [Fraction(9, 10), Decimal("0.5"), Fraction(1, 4), np.float64(0.125)],
        array("d", WEIGHTS),
        deque(WEIGHTS),
        dict.fromkeys(WEIGHTS).keys(),
        (w for w in WEIGHTS),
        np.ma.array(WEIGHTS),
    ],
    ids=lambda given: type(given).__name__,
)
@pytest.mark.parametrize("K", [2, np.int64(2), np.array(2)], ids=lambda K: type(K).__name__)
def test_weights_may_be_anything_that_is_like_an_array(given: object, K: object) -> None:
    if inspect.isgenerator(given):
        given = (w for w in WEIGHTS)  # the other one is used up
    instance = cb.Instance(given, K)  # type: ignore[arg-type]
    assert instance.weights.tolist() == WEIGHTS
    assert (type(instance.K), instance.K, instance.epsilon) == (int, 2, 0.0)


@pytest.mark.parametrize(
    ("weights", "K", "sentence"),
    [
        ("abc", 1, "an instance needs a list of weights, numbers in [0, 1], not 'abc'"),
        (0.5, 1, "an instance needs a list of weights, numbers in [0, 1], not 0.5"),
        (None, 1, "an instance needs a list of weights, numbers in [0, 1], not None"),
        ({"a": 0.5, "b": 0.1}, 1, "an instance needs a list of weights, not a mapping; give its values()"),
        (np.ones((2, 2)), 1, "an instance needs a list of at least 2 weights, not shape (2, 2)"),
        ([0.5, None], 1, "weight nan of item 2 is outside [0, 1]"),
        (np.ma.array([0.5, 0.1], mask=[False, True]), 1, "weight nan of item 2 is outside [0, 1]"),
        ([0.5, 1.5], 1, "weight 1.5 of item 2 is outside [0, 1]"),
        ([0.5, 1 + 2**-52], 1, "weight 1.0000000000000002 of item 2 is outside [0, 1]"),
        ({0.5, 0.1}, 1, "an instance needs a list of weights, not a set, which holds equal ones once"),
        ([0.5, 0.1], 2, "K is 2, but must be at least 1 and less than L = 2"),
        ([0.5, 0.1], 1.0, "K is 1.0, but must be a whole number"),
        ([0.5, 0.1], "1", "K is '1', but must be a whole number"),
        ([0.5, 0.5], 1, "w(K) = w(K+1) = 0.5 at K = 1: with epsilon = 0 the best K items are not unique; "),
    ],
)
def test_what_is_no_instance_is_a_value_error_in_one_sentence(weights: object, K: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        cb.Instance(weights, K)  # type: ignore[arg-type]


def test_an_instance_can_be_pickled() -> None:
    instance = pickle.loads(pickle.dumps(cb.Instance(WEIGHTS, 2, epsilon=0.1)))
    assert (instance.weights.tolist(), instance.K, instance.epsilon) == (WEIGHTS, 2, 0.1)
