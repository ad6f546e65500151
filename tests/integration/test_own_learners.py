"""What a learner of one's own may do wrong, and what is said about it."""

import pytest
from cases import mostly_slow
from sweeps import call, finished, refusal, sweep, tables, write_config

SHELL = """\
import itertools
import random
from dataclasses import dataclass, field

import numpy as np

SEEN = []


class Own:
    finished, recommendation = False, ()

    def __init__(self, L, K, delta, epsilon):
        self.K, self.recommendation = K, tuple(range(K))

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        self.finished = True


"""


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """Writes a module with the class `Mine` and gives the name of the class."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"mine_{tmp_path.name}"

    def write(source):
        (tmp_path / f"{module}.py").write_text(SHELL + source)
        return f"{module}:Mine"

    return write


def run(tmp_path, name, *more):
    return call("run", write_config(tmp_path, trials=3), "--plugin", name, "--learner", "Mine", "--n-jobs", 1, *more)


DRAWS = """\
class Mine(Own):
    def __init__(self, L, K, delta, epsilon{argument}):
        super().__init__(L, K, delta, epsilon)
        {set}

    def observe(self, shown, outcomes):
        self.finished = {draw} < 0.1 or len(shown) > 1
"""


@pytest.mark.parametrize(
    ("set_", "draw"),
    [
        ("self.rng = np.random.default_rng()", "self.rng.random()"),
        ("pass", "random.random()"),
        ("pass", "np.random.random()"),
        ("self.n = len(SEEN)", "SEEN.append(0) or 9 / (len(SEEN) + 9 * self.n + 1)"),
    ],
)
def test_a_learner_that_cannot_be_repeated_is_refused(tmp_path, learner, set_, draw):
    name = learner(DRAWS.format(argument="", set=set_, draw=draw))
    result = run(tmp_path, name)
    assert result.code == 1
    assert "trial 0 of wide, Mine" in result.err
    assert "let its constructor take rng, the generator of the trial, and draw from that alone" in result.err


def test_the_first_trial_that_is_run_is_looked_at(tmp_path, learner):
    """Two random runs may be as long as one another, these cannot."""
    counts = "SEEN.append(0) or 9 / (len(SEEN) + 9 * self.n + 1)"
    name = learner(DRAWS.format(argument="", set="self.n = len(SEEN)", draw=counts))
    assert "trial 2 of" in run(tmp_path, name, "--trial", 2, "--K", 1, "--instance", "wide").err


def test_rng_is_a_generator_of_the_trial(tmp_path, learner):
    """The same rows in any process and order; other draws in each trial; outcomes as without it."""
    name = learner(DRAWS.format(argument=", rng", set="self.rng = rng", draw="self.rng.random()"))
    config = write_config(tmp_path, trials=8)
    options = ["--plugin", name, "--max-steps", 10**6]
    assert sweep(config, tmp_path / "one", *options).code == 0
    done = finished("sweep", config, "--out", tmp_path / "two", "--n-jobs", 2, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert tables(tmp_path / "one") == tables(tmp_path / "two")
    steps = [
        line.split(",")[-3] for line in (tmp_path / "one" / "trials.csv").read_text().splitlines() if "Mine" in line
    ]
    assert len(set(steps)) > len(steps) // 2


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("()", "()"),
        ("(0, 0)", "(0, 0)"),
        ("(0, 6)", "(0, 6)"),
        ("(-1, 0)", "(-1, 0)"),
        ("(0, 1, 2)", "(0, 1, 2)"),
        ("None", "None"),
        ("'ab'", "ab"),
        ("(0.0, 1.0)", "(0.0, 1.0)"),
        ("(True, False)", "(True, False)"),
        ("np.array([[0, 1]])", "[[0 1]]"),
    ],
)
def test_a_recommendation_that_is_none_fails(tmp_path, learner, answer, shown):
    name = learner(f"class Mine(Own):\n    recommendation = property(lambda self: {answer}, lambda self, _: None)\n")
    result = run(tmp_path, name, "--K", 2)
    assert result.code == 1
    assert f"recommendation returned {shown}; it has 2 different items, each from 0 to 5" in result.err


@pytest.mark.parametrize("answer", ["np.array([1, 0])", "{0, 1}", "[np.int32(0), np.uint8(1)]", "(i for i in (0, 1))"])
def test_a_recommendation_may_be_any_collection(tmp_path, learner, answer):
    name = learner(f"class Mine(Own):\n    recommendation = property(lambda self: {answer}, lambda self, _: None)\n")
    result = run(tmp_path, name, "--K", 2)
    assert (result.code, result.err.count("failed")) == (0, 0)


def test_of_a_capped_trial_nothing_is_asked(tmp_path, learner):
    name = learner(
        "class Mine(Own):\n"
        "    recommendation = property(lambda self: 1 / 0, lambda self, _: None)\n"
        "    def observe(self, shown, outcomes): pass\n"
    )
    result = run(tmp_path, name, "--max-steps", 5)
    assert result.code == 0
    assert "5" in result.out


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("class Mine(Own):\n    finished = property(lambda self: None)\n", "finished is None; give True or False"),
        ("class Mine(Own):\n    def observe(self, shown, outcomes): raise SystemExit(0)\n", "failed: SystemExit: 0"),
        ("class Mine(Own):\n    def select(self): return {0}\n", "select returned {0}; a list has 1 to"),
        ("class Mine(Own):\n    def select(self): return None\n", "select returned None; a list has 1 to"),
        (
            "from cascadebai_cli.learners.cascadebai import CascadeBAI\n"
            "class Mine(CascadeBAI):\n    def select(self): return []\n",
            "select returned []; a list has 1 to",
        ),
    ],
)
def test_a_trial_that_goes_wrong_says_so(tmp_path, learner, source, sentence):
    result = run(tmp_path, learner(source))
    assert result.code == 1
    assert sentence in result.err


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("class Mine(Own):\n    def finished(self): return True\n", "finished is a method; write @property above it"),
        ("from unittest.mock import Mock\nclass Mine(Mock): pass\n", "lacks select, observe, finished, recommendation"),
        ("import sys\nsys.exit()\n", "fails with SystemExit"),
        ("class Mine:\n    def __init__(self, L, K): pass\n", "it is made with L, K, delta, epsilon and its options"),
        ("class Mine(Own):\n    def __init__(self, **_): raise SystemExit\n", "it is made with L, K, delta, epsilon"),
    ],
)
def test_a_class_that_is_no_learner_is_refused(tmp_path, learner, source, sentence):
    assert sentence in refusal("run", write_config(tmp_path), "--plugin", learner(source))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("builtins:list", "builtins is a part of Python or no file; name a module of your own"),
        ("unittest.mock:Mock", "unittest.mock is a part of Python or no file"),
        ("sys:flags", "sys is a part of Python or no file"),
        ("numpy:ndarray", "numpy:ndarray"),
        ("numpy.random:Generator", "numpy.random:Generator"),
        pytest.param("pandas:DataFrame", "pandas:DataFrame", marks=pytest.mark.slow),
        ("cascadebai_cli.learners.protocol:Learner", "Protocols cannot be instantiated"),
    ],
)
def test_a_class_of_somebody_else_is_refused(tmp_path, name, sentence):
    assert sentence in refusal("sweep", write_config(tmp_path), "--out", tmp_path / "out", "--plugin", name)
    assert sentence in refusal("run", write_config(tmp_path, extra=f"learners: [{{name: x, algorithm: '{name}'}}]\n"))


def test_options_of_any_kind(tmp_path, learner):
    """Defaults that are no JSON, annotations that cannot be evaluated, types of pydantic's."""
    name = learner(
        "class Mine(Own):\n"
        "    def __init__(self, L, K, delta, epsilon, table=np.eye(2), other: 'Unknown' = None,\n"
        "                 names=frozenset('a'), rng: 'np.random.Generator' = None, step: float = 1.0):\n"
        "        super().__init__(L, K, delta, epsilon)\n"
    )
    config = write_config(
        tmp_path, extra=f"learners: [{{name: Mine, algorithm: '{name}', table: 3, other: [1], step: 2}}]\n"
    )
    assert sweep(config, tmp_path / "out").code == 0


def test_a_dataclass(tmp_path, learner):
    name = learner(
        "@dataclass\nclass Mine:\n    L: int\n    K: int\n    delta: float\n    epsilon: float\n"
        "    seen: list = field(default_factory=list)\n    finished: bool = False\n"
        "    @property\n    def recommendation(self): return range(self.K)\n"
        "    def select(self): return np.arange(self.K)\n"
        "    def observe(self, shown, outcomes): self.finished = True\n"
    )
    assert sweep(write_config(tmp_path), tmp_path / "out", "--plugin", name).code == 0


def test_a_cap_on_the_command_line(tmp_path, learner):
    name = learner("class Mine(Own):\n    def observe(self, shown, outcomes): pass\n")
    config = write_config(tmp_path, trials=2)
    assert sweep(config, tmp_path / "out", "--plugin", name, "--max-steps", 7).code == 0
    rows = [line for line in (tmp_path / "out" / "trials.csv").read_text().splitlines() if "Mine" in line]
    assert len(rows) == 8
    assert all(",capped,7," in row for row in rows)


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_a_cap_that_is_none(tmp_path, verb):
    assert call(verb, write_config(tmp_path), "--max-steps", 0).code == 2
    assert "--max-steps" in refusal(verb, write_config(tmp_path), "--max-steps", 10**19)


def test_the_command_that_repeats_a_trial_holds_the_cap(tmp_path, learner):
    name = learner("class Mine(Own):\n    def observe(self, shown, outcomes): 1 / 0\n")
    result = run(tmp_path, name, "--max-steps", 9)
    assert "--max-steps 9 --trial 0" in result.err


# Learners that need no step, and those that are refused when rows are there already

IDLE = """\
class Mine(Own):
    def __init__(self, L, K, delta, epsilon):
        super().__init__(L, K, delta, epsilon)
        self.finished = True
"""


@pytest.mark.parametrize("kind", mostly_slow(["scaling", "curves", "bars"], ["scaling"]))
def test_a_learner_that_needs_no_step(tmp_path, learner, kind):
    config = write_config(tmp_path, trials=3, extra=f"plot: {{kind: {kind}}}\n")
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    out = tmp_path / "out"
    assert sweep(config, out, "--plugin", learner(IDLE)).code == 0
    for words in (["fit", out], ["plot", out], ["report", out, "--out", tmp_path / "page.html"]):
        assert call(*words).code == 0, words
    assert sweep(config, out, "--plugin", f"mine_{tmp_path.name}:Mine").code == 0


@pytest.mark.parametrize("epsilon", ["1", "[0, 1.5]", "1e300"])
def test_a_tolerance_for_which_all_items_are_good_enough_is_refused(tmp_path, epsilon):
    config = write_config(tmp_path, extra=f"epsilon: {epsilon}\n")
    assert "write a value less than 1" in refusal("sweep", config, "--out", tmp_path / "out")


def test_after_a_learner_was_refused_the_sweep_goes_on_with_a_better_one(tmp_path):
    """Two processes, as a class is imported once in each."""
    good = DRAWS.format(argument=", rng", set="self.rng = rng", draw="self.rng.random()")
    counts = "0 if self.K == 1 else SEEN.append(0) or 9 / (len(SEEN) + 9 * self.n + 1)"
    bad = DRAWS.format(argument="", set="self.n = len(SEEN)", draw=counts)
    config = write_config(tmp_path)
    words = ("sweep", config, "--out", "out", "--n-jobs", 1, "--plugin", "mine:Mine")
    (tmp_path / "mine.py").write_text(SHELL + bad)
    done = finished(*words, folder=tmp_path)
    assert (done.returncode, "draw from that alone" in done.stderr) == (1, True), done.stderr
    assert " Mine" not in (tmp_path / "out" / "trials.csv").read_text()
    kept = (tmp_path / "out" / "trials.journal").read_bytes()
    (tmp_path / "mine.py").write_text(SHELL + good)
    done = finished(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "trials.journal").read_bytes().startswith(kept)
    assert finished(*words[:2], "--out", "other", *words[4:], folder=tmp_path).returncode == 0
    assert tables(tmp_path / "out") == tables(tmp_path / "other")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("raise BaseException('odd')", "BaseException: odd"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise MemoryError", "MemoryError"),
        ("raise Unprintable", "Unprintable"),
        ("raise ValueError('one\\ntwo')", "ValueError: one"),
    ],
)
def test_whatever_a_learner_raises_is_one_line(learner, tmp_path, source, line):
    shown = "class Unprintable(Exception):\n    def __str__(self):\n        raise RuntimeError\n\n\n"
    name = learner(f"{shown}class Mine(Own):\n    def select(self):\n        {source}\n")
    code, _, err = run(tmp_path, name, "--K", 1, "--instance", "wide", "--quiet")
    assert code == 1
    assert err.count(f" failed: {line}; repeat it with: ") == err.count("\n") - 1 == 3


def test_the_directory_that_a_learner_changes_to_is_left_again(learner, tmp_path):
    name = learner("class Mine(Own):\n    def select(self):\n        import os; os.chdir('/')\n        return [0]\n")
    config = write_config(tmp_path, trials=3)
    assert call("sweep", config.name, "--plugin", name, "--out", "out", "--n-jobs", 1, "--quiet").code == 0


FORKS = """\
class Mine(Own):
    def select(self):
        import os
        child = os.fork()
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        return [0]
"""


def test_a_process_that_a_learner_forks_ends_with_its_trial(learner, tmp_path):
    name = learner(FORKS)
    words = ("sweep", write_config(tmp_path, trials=1), "--out", "out", "--plugin", name, "--n-jobs", 1, "--quiet")
    done = finished(*words, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
