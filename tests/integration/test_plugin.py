"""A learner of one's own, imported by name in the workers."""

import sys

import numpy as np
import pytest
from sweeps import ROOT, call, finished, rows_in, sweep, write_config

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners import own as own_code
from cascadebai_cli.learners import registry
from cascadebai_cli.study.config import load_study, own_learner

UNIFORM = "experiments.uniform_kl:UniformKL"

OWN = """\
class Own:
    finished = True

    def __init__(self, L, K, delta, epsilon, start: int = 0, fail: bool = False):
        if fail:
            raise ValueError("no luck")
        self.recommendation = tuple(range(start, start + K))

    def select(self):
        return []

    def observe(self, shown, outcomes):
        pass


class Half:
    def __init__(self, L, K, delta, epsilon):
        pass

    def select(self):
        return []
"""


def forget(*modules):
    """As in a new process: what was imported and hashed is imported and hashed again."""
    for cached in (own_code.own_object, own_code.own_hash, own_code._file):
        cached.cache_clear()
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module in a fresh directory; each test has its own, as a module is imported once."""
    name = f"own_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_runs_in_workers_beside_the_learners_of_the_config(tmp_path):
    config = write_config(tmp_path, trials=8)
    done = finished("sweep", config, "--out", tmp_path / "out", "--plugin", UNIFORM, "--n-jobs", 2, folder=ROOT)
    assert done.returncode == 0, done.stderr
    found = rows_in(tmp_path / "out")
    assert {row["learner"] for row in found} == {"CascadeBAI", "UniformKL"}
    uniform = [row for row in found if row["learner"] == "UniformKL"]
    assert len(uniform) == 32
    assert sum(row["correct"] == "1" for row in uniform) >= 29
    assert {row["status"] for row in uniform} == {"stopped"}


def test_in_a_config_with_options(tmp_path, own):
    config = write_config(
        tmp_path, extra=f"learners:\n  - {{name: mine, algorithm: '{own}:Own', start: 2}}\norder: as_given\n"
    )
    assert sweep(config, tmp_path / "out").code == 0
    assert {(row["steps"], row["correct"]) for row in rows_in(tmp_path / "out")} == {("0", "0")}


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("{own}:Absent", "{own}:Absent: {own} has no class 'Absent'; its classes are Own, Half"),
        ("nowhere.at_all:Own", "nowhere.at_all:Own: no module 'nowhere'"),
        ("{own}.py/:Own", "'{own}.py/' is not a module; write it as in an import"),
        ("{own}:Half", "{own}:Half lacks observe, finished, recommendation"),
        ("{own}:Own', fail: 'yes", "'yes' is not true or false"),
        ("{own}:Own', stat: '1", "unknown key; did you mean"),
    ],
)
def test_mistakes_in_a_config_are_one_sentence(tmp_path, own, entry, sentence):
    config = write_config(
        tmp_path, extra=f"learners:\n  - {{name: mine, algorithm: '{entry.replace('{own}', own)}'}}\n"
    )
    with pytest.raises(ConfigError) as error:
        load_study(config)
    assert sentence.replace("{own}", own) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("uniform", "--plugin uniform names no class; write module:Class"),
        ("collections:Counter", "collections is a part of Python or no file; name a module of your own"),
        ("nowhere:Class", "no module 'nowhere'"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, name, sentence):
    result = call("run", write_config(tmp_path), "--plugin", name)
    assert result.code == 2
    assert sentence in result.err


def test_a_broken_module_says_why(tmp_path, own):
    (tmp_path / f"{own}_broken.py").write_text("1 / 0\n")
    with pytest.raises(ConfigError, match="fails with ZeroDivisionError: division by zero; correct the module"):
        load_study(write_config(tmp_path), [own_learner(f"{own}_broken:Own")])


def test_the_same_name_twice(tmp_path, own):
    with pytest.raises(ConfigError, match=r"^--plugin name: 'Own' is used twice; give each entry its own name$"):
        load_study(write_config(tmp_path), [own_learner(f"{own}:Own")] * 2)


def test_changed_code_is_another_cell(tmp_path, own, monkeypatch):
    """Rows of an older version of a class do not mix with those of a newer one."""

    def cell_ids():
        forget(own)
        return [cell.cell_id for cell in load_study(config, [own_learner(f"{own}:Own")]).cells]

    config = write_config(tmp_path)
    before = cell_ids()
    (tmp_path / f"{own}.py").write_text(OWN + "\n# changed\n")
    assert [a == b for a, b in zip(before, cell_ids(), strict=True)] == [True, True, False, False] * 2


def test_the_command_that_repeats_a_trial_names_the_plugin(tmp_path, own):
    source = OWN.replace("finished = True", "finished = False").replace("return []", "raise ValueError('no list')")
    (tmp_path / f"{own}_fails.py").write_text(source)
    config = write_config(tmp_path, trials=1)
    result = call("run", config, "--plugin", f"{own}_fails:Own", "--learner", "Own", "--n-jobs", 1)
    assert result.code == 1
    assert f"--plugin {own}_fails:Own" in result.err


LISTS = """\
class Own:
    finished, recommendation = False, ()

    def __init__(self, L, K, delta, epsilon, first: int = 0, items: int = 1, times: int = 1, list_length=None):
        self.shown = list(range(first, first + items)) * times

    def select(self):
        return self.shown

    def observe(self, shown, outcomes):
        self.finished = True
"""


@pytest.mark.parametrize(
    ("options", "returned"),
    [("items: 0", "[]"), ("items: 3", "[0, 1, 2]"), ("times: 2", "[0, 0]"), ("first: -1", "[-1]"), ("first: 6", "[6]")],
)
def test_lists_that_are_none_fail(tmp_path, own, options, returned):
    (tmp_path / f"{own}_lists.py").write_text(LISTS)
    config = write_config(
        tmp_path, trials=1, extra=f"learners:\n  - {{name: mine, algorithm: '{own}_lists:Own', {options}}}\n"
    )
    result = call("run", config, "--K", 2, "--n-jobs", 1)
    assert result.code == 1
    found = result.err
    assert f"{own}_lists:Own: select returned {returned}; a list has 1 to 2 different items, each from 0 to 5" in found


@pytest.mark.parametrize(("M", "part"), [(3, "recommendation"), (2, "select")])
def test_lists_may_be_as_long_as_list_length(tmp_path, own, M, part):
    (tmp_path / f"{own}_lists.py").write_text(LISTS)
    learner = f"{{name: mine, algorithm: '{own}_lists:Own', items: 3, list_length: {M}}}"
    result = call("run", write_config(tmp_path, trials=1, extra=f"learners:\n  - {learner}\n"), "--K", 2, "--n-jobs", 1)
    assert f"{own}_lists:Own: {part} returned" in result.err


def test_the_engine_that_cannot_run_it_is_named(tmp_path, own):
    config = write_config(tmp_path, extra=f"engine: lockstep\nlearners:\n  - {{name: mine, algorithm: '{own}:Own'}}\n")
    with pytest.raises(ConfigError, match=f"cannot run {own}:Own"):
        load_study(config)


class Guesses:
    """Shows `K` items at random for three steps, and names `named` of them."""

    def __init__(self, L, K, delta, epsilon, rng, named=None):
        self.L, self.K, self.rng, self.named, self.steps = L, K, rng, named or K, 0

    finished = property(lambda self: self.steps == 3)
    recommendation = property(lambda self: tuple(range(self.named)))

    def select(self):
        return self.rng.choice(self.L, self.K, replace=False).tolist()

    def observe(self, items, clicks):
        self.steps += 1


def test_a_learner_of_the_program_is_treated_as_one_of_a_user(monkeypatch):
    """It gets the generator of its trial, and its answer is checked, unless a fast engine runs it."""
    monkeypatch.setattr(registry, "ALGORITHMS", {**registry.ALGORITHMS, "guesses": Guesses})
    spec = registry.LearnerSpec("guesses")
    learner = spec.build(4, 2, 0.1, 0.0, lambda: np.random.default_rng(7))
    assert learner.select() == np.random.default_rng(7).choice(4, 2, replace=False).tolist()
    wrong = registry.LearnerSpec("guesses", {"named": 1}).build(4, 2, 0.1, 0.0)
    for _ in range(3):
        wrong.observe(wrong.select(), [0, 0])
    with pytest.raises(CascadeError, match=r"^guesses: recommendation returned \(0,\); it has 2 different items"):
        _ = wrong.recommendation
    assert type(registry.LearnerSpec("kl-lucb++").build(4, 2, 0.1, 0.0)).__name__ == "KLLucb"
