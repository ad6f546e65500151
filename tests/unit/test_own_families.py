"""Instances by a formula in the item's index, drawn ones, and families that are a function of one's own."""
# ruff: noqa: E501 - the messages stand here as the user sees them

import sys

import numpy as np
import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.config import load_study, setting, stored_study

CONFIG = "seed: 1\nL: 6\nK: [2, 3]\ninstances:\n  - {}\n"
RANDOM = '{name: "draw {replicate}", family: random, replicate: [1, 2], w_star: "uniform(0.5, 0.9)", w_prime: "beta(1, 9) / 4"}'


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(entry, *settings):
        path = tmp_path / "study.yaml"
        path.write_text(CONFIG.format(entry))
        return load_study(path, list(map(setting, settings)))

    return load


@pytest.fixture
def family(tmp_path):
    """Writes a module and gives its name, another one in each test: what was imported stays imported."""
    name = f"family_{tmp_path.name}"

    def write(source):
        (tmp_path / f"{name}.py").write_text(source)
        return name

    return write


def weights(study, name=None):
    return [cell.weights.tolist() for cell in study.cells if name in (None, cell.instance)]


def refusal(load, entry):
    with pytest.raises(ConfigError) as error:
        load(entry)
    return str(error.value).rpartition("study.yaml:")[2]


def test_a_formula_speaks_of_the_item(load):
    study = load("{name: slope, family: formula, weight: 1 - i/(L + K)}")
    assert weights(study) == [[1 - i / 8 for i in range(1, 7)], [1 - i / 9 for i in range(1, 7)]]


def test_a_formula_that_is_no_weight_somewhere_is_refused(load):
    message = refusal(load, "{name: slope, family: formula, weight: i/5}")
    assert (
        message
        == "5: weight: i/5 = 1.2 at K = 2, L = 6, i = 6 is outside [0, 1]; a weight is the probability of a click"
    )
    assert refusal(load, "{name: slope, family: formula, weight: 1/j}").startswith("5: weight: 1/j uses j, which is")


def test_only_a_random_family_draws(load):
    assert "uses uniform, which is not known" in refusal(load, '{name: x, family: formula, weight: "uniform(0, 1)"}')


def test_draws_lie_where_they_should_and_differ(load):
    study = load(RANDOM)
    first, second = weights(study, "draw 1"), weights(study, "draw 2")
    assert all(0.5 <= w <= 0.9 for w in first[0][:2] + second[1][:3])
    assert all(0 <= w <= 0.25 for w in first[0][2:] + second[1][3:])
    assert len({*first[0], *second[0]}) == 12


def test_draws_follow_from_seed_and_replicate_alone(load):
    assert weights(load(RANDOM)) == weights(load(RANDOM))
    assert not set(weights(load(RANDOM))[0]) & set(weights(load(RANDOM, "seed=2"))[0])
    two, three = weights(load(RANDOM), "draw 1")
    assert two[:2] == three[:2]
    assert two[2:5] == three[3:6]


def test_draws_have_the_law_that_is_written(load):
    entry = '{name: x, family: random, w_star: "uniform(0.5, 0.9)", w_prime: "beta(2, 6)"}'
    drawn = np.array(weights(load(entry, "L=4000", "K=2000"))[0])
    assert abs(drawn[:2000].mean() - 0.7) < 4 * 0.4 / np.sqrt(12 * 2000)
    assert abs(drawn[2000:].mean() - 0.25) < 4 * np.sqrt(12 / 576) / np.sqrt(2000)


def test_a_draw_without_a_value_is_refused(load):
    entry = '{name: x, family: random, w_star: "uniform(0.9, 0.5)", w_prime: 0.1}'
    assert (
        refusal(load, entry) == "5: w_star: uniform(0.9, 0.5) has no value at K = 2, L = 6, i = 1; change the formula"
    )


def test_a_function_makes_the_weights(load, family):
    name = family("def steep(L, K, base, bonus=0.0):\n    return [base / (i + 1) + bonus for i in range(L)]\n")
    study = load(f"{{name: 'base {{base}}', family: '{name}:steep', base: [0.9, 0.5]}}", "K=2")
    assert weights(study) == [[base / (i + 1) for i in range(6)] for base in (0.9, 0.5)]


def test_its_cells_are_known_by_all_code_that_it_runs(load, family, tmp_path):
    (tmp_path / f"part_{tmp_path.name}.py").write_text("BASE = 0.8\n")
    name = family(
        f"from part_{tmp_path.name} import BASE\n\ndef steep(L, K):\n    return [BASE / (i + 1) for i in range(L)]\n"
    )
    cell = load(f"{{name: x, family: '{name}:steep'}}").cells[0]
    explicit = load(f"{{name: x, family: explicit, weights: {cell.weights.tolist()}}}", "L=null").cells[0]
    assert cell.weights_code is not None
    assert explicit.weights_code is None
    assert cell.cell_id != explicit.cell_id


BAD = [
    ("def f(L, K):\n    return [0.5]\n", "gives weights of shape (1,); return a list of L = 6"),
    (
        "def f(L, K):\n    return 1 / 0\n",
        "fails with ZeroDivisionError: division by zero at K = 2, L = 6; it is called with L, K and its options",
    ),
    ("def f(L, K):\n    return ['a'] * L\n", "fails with ValueError: could not convert string to float: 'a'"),
    (
        "import random\ndef f(L, K):\n    return [random.random() for _ in range(L)]\n",
        "gives other weights when it is called again",
    ),
    ("def f(L, K, need):\n    return [0.5] * L\n", "missing 1 required positional argument: 'need'"),
    ("def g(L, K):\n    return []\n", "has no function 'f'; its functions are g"),
    ("f = 3\n", "has no function 'f'; its functions are none"),
    ("1 / 0\n", "fails with ZeroDivisionError: division by zero; correct the module"),
]


@pytest.mark.parametrize(("source", "message"), BAD)
def test_a_function_that_gives_no_weights_is_refused(load, family, source, message):
    said = refusal(load, f"{{name: x, family: '{family(source)}:f'}}")
    assert said.startswith("5: family: ")
    assert message in said


def test_weights_outside_the_range_and_unknown_options_are_refused(load, family):
    name = family("def f(L, K, base=1.5):\n    return [base] * L\n")
    assert (
        refusal(load, f"{{name: x, family: '{name}:f'}}") == "5: instances: 'x': weight 1.5 of item 1 is outside [0, 1]"
    )
    assert refusal(load, f"{{name: x, family: '{name}:f', bsae: 1}}") == "5: bsae: unknown key; did you mean base?"


def test_a_weight_that_is_no_number_is_no_other_weight(load, family):
    name = family("def f(L, K):\n    return [float('nan')] * L\n")
    assert "outside [0, 1]" in refusal(load, f"{{name: x, family: '{name}:f'}}")


def test_no_part_of_python_is_a_family(load):
    assert "is a part of Python or no file" in refusal(load, "{name: x, family: 'os.path:join'}")
    assert "no module 'nowhere'" in refusal(load, "{name: x, family: 'nowhere:f'}")


@pytest.mark.parametrize("name", ["antigravity:x", "this:x", "idlelib.idle:x"])
def test_no_part_of_python_is_imported_before_it_is_refused(load, name):
    module = name.partition(":")[0]
    assert module not in sys.modules
    assert f"{module} is a part of Python or no file" in refusal(load, f"{{name: x, family: '{name}'}}")
    assert module not in sys.modules


def test_what_is_only_read_is_not_imported(load, family, tmp_path):
    name = family("def f(L, K):\n    return [0.5 - i / 20 for i in range(L)]\n")
    config = load(f"{{name: x, family: '{name}:f'}}").model_dump(mode="json")
    config["instances"][0]["family"] = f"trap_{tmp_path.name}:f"
    (tmp_path / f"trap_{tmp_path.name}.py").write_text("raise SystemExit('imported')\n")
    read = stored_study(config, tmp_path / "manifest.json")
    assert read.instances[0].family == f"trap_{tmp_path.name}:f"
    assert read.cells == ()
