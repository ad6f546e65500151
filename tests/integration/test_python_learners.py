"""Learners that are written in a notebook or a script: the same rows here and in other processes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sweeps import environment

import cascadebai_cli as cb
from cascadebai_cli.errors import CascadeError

CELL = """\
import numpy as np
import cascadebai as cb

def widened(mean):
    return mean * FACTOR

FACTOR = 1

@cb.learner("until {n}")
class Until:
    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0, n: int = 30) -> None:
        self.K, self.n, self.left = K, n, n
        self.T, self.S = np.zeros(L, int), np.zeros(L, int)

    @property
    def finished(self):
        return self.left == 0

    @property
    def recommendation(self):
        return np.argsort(-widened(self.S / np.maximum(self.T, 1)), kind="stable")[: self.K]

    def select(self):
        return np.argsort(self.T, kind="stable")[: self.K]

    def observe(self, shown, outcomes):
        seen = shown[: len(outcomes)]
        self.T[seen] += 1
        self.S[seen] += outcomes
        self.left -= 1

instance = cb.Instance([0.9, 0.5, 0.4, 0.1], K=2)
"""


def run(text: str, folder: Path) -> list[str]:
    """What a script prints."""
    (folder / "script.py").write_text(CELL + text)
    words = [sys.executable, "script.py"]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=100)
    # a pool of joblib that ends by an error may be unlucky, and its tracker of semaphores then says so at the very end
    said = [line for line in done.stderr.splitlines() if not re.search(r"resource_tracker|^  warnings\.warn\(", line)]
    assert said == []
    return done.stdout.splitlines()


def test_a_script_that_spawns_processes_has_the_same_rows_in_them(tmp_path: Path) -> None:
    """There its classes are those of `__mp_main__`, and so are objects that they use."""
    assert run(
        """
import multiprocessing

class Factor:
    def __rmul__(self, mean):
        return mean

FACTOR = Factor()

def rows(learner):
    return cb.simulate(instance, learner, trials=2, n_jobs=1)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([frame.equals(rows(given)) for given in (Until, "until {n}") for frame in pool.map(rows, [given])])
""",
        tmp_path,
    ) == ["[True, True]"]


def test_a_class_of_a_script_runs_in_other_processes_and_its_rows_follow_its_code(tmp_path: Path) -> None:
    same, other, kept = run(
        """\
here = cb.simulate(instance, Until, trials=6)
there = cb.simulate(instance, "until {n}", trials=6, n_jobs=2)
print(here.drop(columns="learner").equals(there.drop(columns="learner")), list(there["learner"].unique()))
FACTOR = -1
import warnings
warnings.filterwarnings("ignore", "(.*: )?4 of 6 cells are wrong more often than delta")
changed = cb.simulate(instance, Until, trials=6, n_jobs=2)
print(set(changed["cell_id"]) & set(here["cell_id"]), changed["correct"].sum() < here["correct"].sum())
study = {
    "seed": 1,
    "trials": 3,
    "instances": [{"name": "i", "family": "explicit", "weights": [0.9, 0.5, 0.1], "K": [1, 2]}],
    "learners": [{"name": "paper", "algorithm": "cascadebai"}, {"name": "n = {n}", "algorithm": Until, "n": [5, 6]}],
}
print(cb.sweep(study, "out", n_jobs=2).summary.groupby("learner")["mean_steps"].mean()[["n = 5", "n = 6"]].tolist())
""",
        tmp_path,
    )
    assert (same, other, kept) == ("True ['until {n}']", "set() True", "[5.0, 6.0]")
    results = cb.load(tmp_path / "out")
    assert results.manifest["config"]["learners"][1]["algorithm"].startswith("__main__:Until#")
    with pytest.warns(UserWarning, match="wrong more often") as told:
        assert results.plot(kind="curves").axes
    doubts, caption = (str(one.message) for one in told)
    assert ": 4 of 6 cells are wrong more often than delta: " in doubts
    assert caption.startswith("for the caption: a cross marks recommendations that were wrong more often")
    with pytest.raises(ValueError, match=r"__main__:Until#.* is a class of a notebook or script that is not known"):
        cb.sweep(results.manifest["config"])


def test_a_decorated_class_of_a_module_is_that_of_a_config(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CELL)
    (tmp_path / "study.yaml").write_text(
        "{seed: 1, trials: 4, K: 2, instances: [{name: instance, family: explicit, weights: [0.9, 0.5, 0.4, 0.1]}],"
        " learners: [{name: u, algorithm: 'mine:Until'}]}"
    )
    assert run(
        """\
import mine
of_config = cb.sweep("study.yaml", n_jobs=1).trials
for learner in (mine.Until, "mine:Until"):
    print(cb.simulate(instance, learner, trials=4)["cell_id"].equals(of_config["cell_id"]))
import importlib
old = mine.Until
importlib.reload(mine)
try:
    cb.simulate(instance, mine.Until)
except ValueError as error:
    print(error)
""",
        tmp_path,
    ) == [
        "True",
        "True",
        "mine:Until is not the class that was used before: its module was loaded anew; restart Python",
    ]


class Failing:
    """Raises."""

    finished, recommendation = False, ()

    def __init__(self, L: int, K: int, delta: float, epsilon: float) -> None:
        pass

    def select(self) -> list[int]:
        raise RuntimeError("never")

    def observe(self, shown: list[int], outcomes: list[int]) -> None:
        """Takes nothing in."""


def local(made: type) -> type:
    """The same class, in no module."""
    return type("Local", (made,), {"__module__": "__main__"})


INSTANCE = cb.Instance([0.9, 0.1], K=1)


def test_a_trial_that_raises_is_an_error_with_the_traceback_of_the_learner() -> None:
    with pytest.raises(
        CascadeError, match=r"^trial 0 of instance, Local: L = 2, .* failed: RuntimeError: never\b"
    ) as e:
        cb.simulate(INSTANCE, local(Failing))
    assert 'raise RuntimeError("never")' in e.value.__notes__[0]


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_sweep_goes_on_beside_trials_that_raise_and_ends_if_all_do(tmp_path: Path) -> None:
    entries = [{"name": "own", "algorithm": local(Failing)}, {"name": "paper", "algorithm": "cascadebai"}]
    study = {"seed": 1, "trials": 2, "K": 1, "instances": [{"name": "i", "family": "explicit", "weights": [0.9, 0.1]}]}
    with pytest.warns(UserWarning, match=r"trial 0 of i, own: .* failed: RuntimeError: never$"):
        results = cb.sweep({**study, "learners": entries}, tmp_path / "some", n_jobs=1)
    assert results.trials["learner"].unique().tolist() == ["paper"]
    with pytest.warns(UserWarning, match="failed"), pytest.raises(CascadeError, match=r"^no trial ended; ") as error:
        cb.sweep({**study, "learners": entries[:1]}, n_jobs=1)
    log = Path(str(error.value).removeprefix("no trial ended; ").removesuffix(" says why"))
    assert 'raise RuntimeError("never")' in log.read_text()
    shutil.rmtree(log.parent)


LOCKED = """\
import threading
lock = threading.Lock()

class Locked(Until):
    def select(self):
        with lock:
            return super().select()

print(len(cb.simulate(instance, Locked, trials=2)))
try:
    cb.simulate(instance, Locked, trials=4, n_jobs=2)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_what_other_processes_cannot_get_is_said_in_one_sentence(tmp_path: Path) -> None:
    worked, refused = run(LOCKED, tmp_path)
    assert worked == "2"
    assert refused.startswith("CascadeError a learner uses something that other processes cannot get, such as a lock")


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (
            local(Failing)(L=2, K=1, delta=0.1, epsilon=0.0),
            "a learner is a class, of which each trial makes one anew; ",
        ),
        (len, "a learner is a class, of which each trial makes one anew; <built-in function len> is none"),
        (int, "builtins:int: builtins is a part of Python or no file; name a module of your own"),
        (type("Empty", (), {"__module__": "__main__"}), "'Empty': __main__:Empty#"),
    ],
    ids=["object", "function", "int", "empty"],
)
def test_what_is_no_learner_is_a_value_error(learner: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        cb.simulate(INSTANCE, learner)  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["sar", "a:b", "", "a\nb", Failing])
def test_a_name_that_is_taken_or_no_name_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match=r"is no name for a learner|a learner needs a name; write @cb\.learner"):
        cb.learner(name)  # type: ignore[arg-type]


def test_the_protocol_tells_a_learner_from_others() -> None:
    assert isinstance(Failing(2, 1, 0.1, 0.0), cb.Learner)
    assert not isinstance(INSTANCE, cb.Learner)


def test_a_learner_that_never_stops_by_itself_needs_an_end() -> None:
    class Forever:
        endless, finished, recommendation = True, False, ()

        def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0) -> None:
            self.K = K

        def select(self) -> range:
            return range(self.K)

        def observe(self, shown: object, outcomes: object) -> None:
            pass

    instance = cb.Instance([0.9, 0.5, 0.1], K=2)
    with pytest.raises(ValueError, match="never stops by itself"):
        cb.simulate(instance, Forever, trials=1)
    assert list(cb.simulate(instance, Forever, trials=2, max_steps=7)["steps"]) == [7, 7]
