"""Every mistake in a config is refused with one line: file, line, key, value, remedy."""
# ruff: noqa: E501 - a case a line, and the messages stand here as the user sees them

from pathlib import Path

import numpy as np
import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.study.config import Override, load_study
from cascadebai_cli.study.document import END, load_yaml
from cascadebai_cli.study.fields import Context
from cascadebai_cli.study.study import Study

CONFIGS = Path(__file__).parents[2] / "configs"

GOOD = """\
study: small
seed: 1
trials: 2
L: 8
K: [2, 3]
delta: 0.1
epsilon: 0
instances:
  - name: two
    family: two_level
    w_star: 1/K
    w_prime: 1/K**2
learners:
  - name: CascadeBAI
    algorithm: cascadebai
    sigma: 0.5
"""
LAST = "    w_prime: 1/K**2"
"""Last line of the only instance: further keys and instances follow it."""

# fmt: off
BAD_VALUES = [
    ("trials: 2", "trails: 2", "3: trails: unknown key; did you mean trials?"),
    ("trials: 2", "trials: 0", "3: trials: 0 is too small; write 1 or more"),
    ("study: small", "study: a/b", "1: study: 'a/b' has a slash, but figures are named after it; leave the slash out"),
    ("study: small", f"study: {'x' * 201}", f"1: study: '{'x' * 56}... is longer than 200 bytes, but figures are named after it; shorten it"),
    ("w_star: 1/K", "w_star: .nan", "11: w_star: NaN is not finite; write a number such as 0.1"),
    ("trials: 2", "trials: true", "3: trials: true is not a whole number; write one without quotes or decimals"),
    ("trials: 2", "trials: 2.5", "3: trials: 2.5 is not a whole number; write one without quotes or decimals"),
    ("trials: 2", "trials: '2'", "3: trials: '2' is not a whole number; write 2"),
    ("trials: 2", "trials:", "3: trials: none is not a whole number; write one without quotes or decimals"),
    ("seed: 1", "seed: 1\nrewards: {rows: 0}", "3: rows: 0 is too small; write 1 or more"),
    ("seed: 1", "seed: 1\nrewards: {reuse: true}", "3: rows: missing; write for example rows: 100000"),
    ("seed: 1", "seed: 1\nrewards: {rows: 9, reuse: 1}", "3: reuse: 1 is not true or false; write one of them"),
    ("seed: 1", "seed: 1\nrewards: {row: 9}", "3: row: unknown key; did you mean rows?"),
    ("seed: 1", "seed: 1\nrewards: 9", "3: rewards: 9 is not a mapping; write keys and values"),
    ("seed: 1", "seed: 1\nrewards: {rows: 9}\nengine: skip-ahead", "16: learners: 'CascadeBAI': engine skip-ahead cannot read rewards from a table, which ties them to steps; use engine: auto"),
    ("seed: 1", "seed: 1\nengine: walk", "15: learners: 'CascadeBAI': engine walk needs rewards from a table, such as rewards: {rows: 100000}; use engine: auto"),
    ("seed: 1\n", "", "1: seed: missing; write for example seed: 1"),
    ("seed: 1", "seed: -1", "2: seed: -1 is too small; write 0 or more"),
    ("seed: 1", "seed: 1\nseed: 2", "3: seed: the key is already on line 2; leave one out"),
    ("K: [2, 3]", "K: [2, 8]", "5: K: 8 is not less than L = 8 of 'two'; choose a smaller K or more items"),
    ("K: [2, 3]", "K: 0", "5: K: 0 is too small; write 1 or more"),
    ("K: [2, 3]", "K: []", "5: K: the list is empty; give at least one entry"),
    ("K: [2, 3]", "K: [2, 2]", "5: K: 2 is listed twice; leave one out"),
    ("K: [2, 3]", "K: {from: 3, too: 4}", "5: too: unknown key; did you mean to?"),
    ("K: [2, 3]", "K:\n  from: 5\n  to: 3", "7: to: 3 is less than from: 5; exchange the two"),
    ("K: [2, 3]", "K: {from: 3}", "5: to: missing; write for example {from: 20, to: 60}"),
    ("K: [2, 3]", "K: 20..60", "5: K: '20..60' is not a whole number; write one without quotes or decimals"),
    ("K: [2, 3]\n", "", "8: instances: 'two' has no K; write K in the instance or at the top"),
    ("algorithm: cascadebai\n    sigma: 0.5", "algorithm: batrac\n    r: 2\n    feedback: cascading", "14: learners: 'CascadeBAI': BatRac with r > 1 shows an item more than once in a list, which cascading feedback does not define; use r: 1 or feedback: semi-bandit"),
    ("K: [2, 3]", "K: [2, 3", "6: not valid YAML (while parsing a flow sequence, expected ',' or ']', but got ':'); check indentation, colons, quotes and brackets"),
    ("L: 8\n", "", "8: instances: 'two' has no L; write L in the instance or at the top"),
    ("L: 8", "L: many", "4: L: 'many' is not a whole number; write one without quotes or decimals"),
    ("delta: 0.1", "delta: 1", "6: delta: 1 is too large; write a value less than 1"),
    ("delta: 0.1", "delta: 0", "6: delta: 0 is too small; write 1e-30 or more"),
    ("delta: 0.1", "delta: [0.1, 1.5]", "6: delta: 1.5 is too large; write a value less than 1"),
    ("delta: 0.1", "delta: 10%", "6: delta: '10%' is not a number; write one such as 0.1"),
    ("delta: 0.1", "delta: .nan", "6: delta: NaN is not finite; write a number such as 0.1"),
    ("epsilon: 0", "epsilon: -0.1", "7: epsilon: -0.1 is too small; write 0 or more"),
    ("epsilon: 0", "epsilon: none", "7: epsilon: none is not a number; write one such as 0.1"),
    ("epsilon: 0", "epsilon: {from: 1, to: 2}", '7: epsilon: {"from": 1, "to": 2} is not a number; write one such as 0.1'),
    ("epsilon: 0", "max_steps: 0", "7: max_steps: 0 is too small; write 1 or more"),
    ("epsilon: 0", "max_steps: 1e7", "7: max_steps: 10000000.0 is not a whole number; write 10000000"),
    ("epsilon: 0", "order: shuffled", "7: order: 'shuffled' is not known; use one of random, as_given"),
    ("epsilon: 0", "order: as given", "7: order: 'as given' is not known; did you mean as_given?"),
    ("epsilon: 0", "engine: skip_ahead", "7: engine: 'skip_ahead' is not known; did you mean skip-ahead?"),
    ("epsilon: 0", "feedback: semi", "7: feedback: 'semi' is not known; use one of cascading, semi-bandit, last-click, thinned"),
    ("epsilon: 0", "plot: {kind: line}", "7: kind: 'line' is not known; use one of scaling, curves, bars, bounds, error, quantiles, ecdf, trace, schematic"),
    ("epsilon: 0", "plot: bars", "7: plot: 'bars' is not a mapping; write keys and values"),
    ("family: two_level", "family: two-level", "10: family: 'two-level' is not known; did you mean two_level?"),
    ("family: two_level", "family: beta", "10: family: 'beta' is not known; use one of two_level, linear, explicit, csv, formula, random, module:function"),
    ("    family: two_level\n", "", "9: family: missing; write family: two_level, linear, explicit, csv, formula, random or module:function"),
    ("    w_prime: 1/K**2\n", "", "9: w_prime: missing; write for example w_prime: 1/K**2"),
    ("w_prime: 1/K**2", "w_prime: 1/k", "12: w_prime: 1/k uses k, which is not known; did you mean K?"),
    ("w_prime: 1/K**2", "w_prime: 1/K^2", "12: w_prime: '1/K^2' is not a formula; write ** for a power"),
    ("w_prime: 1/K**2", "w_prime: 1/(K - 2)", "12: w_prime: 1/(K - 2) has no value at K = 2, L = 8; change the formula"),
    ("w_prime: 1/K**2", "w_prime: 9**9**9", "12: w_prime: 9**9**9 is too large at K = 2, L = 8; change the formula"),
    ("w_prime: 1/K**2", "w_prime: __import__('os')", "12: w_prime: __import__('os') uses __import__, which is not known; use one of K, L, sqrt, log, exp, min, max"),
    ("w_prime: 1/K**2", "w_prime: 2/K", "9: instances: 'two': w_star = 0.5 is smaller than w_prime = 1; exchange them or change a formula"),
    ("w_prime: 1/K**2", "w_prime: 1/K", "9: instances: 'two': w(K) = w(K+1) = 0.5 at K = 2: with epsilon = 0 the best K items are not unique; change K or the weights, or allow an epsilon > 0"),
    ("w_prime: 1/K**2", "w_prime: -0.1", "12: w_prime: -0.1 is outside [0, 1]; a weight is the probability of a click"),
    ("w_prime: 1/K**2", "w_prime: true", "12: w_prime: true is neither a number nor a formula; write for example 0.5 or 1/K"),
    ("w_star: 1/K\n", "w_star: 3/K\n", "11: w_star: 3/K = 1.5 at K = 2, L = 8 is outside [0, 1]; a weight is the probability of a click"),
    (LAST, LAST + "\n    fit: {model: k^2}", "13: model: k**2 uses k, which is not known; did you mean K?"),
    (LAST, LAST + "\n    fit: {model: K, publisched: {c1: 3}}", "13: publisched: unknown key; did you mean published?"),
    (LAST, LAST + "\n    fit: {x: epsilon, model: [x, log(x)]}", "13: model: log(epsilon) has no value at epsilon = 0.0; change the formula"),
    (LAST, LAST + "\n    fit: K", "13: fit: 'K' is not a mapping; write keys and values"),
    (LAST, LAST + "\n    K: 9", "13: K: 9 is not less than L = 8 of 'two'; choose a smaller K or more items"),
    (LAST, LAST + "\n  - {name: two, family: linear, w_max: 0.5, w_min: 0.1}", "13: name: 'two' is used twice; give each entry its own name"),
    (LAST, LAST + "\n  - {name: same, family: two_level, w_star: 1/K, w_prime: K**-2}", "13: instances: instance 'same' with learner 'CascadeBAI' at L = 8, K = 2, delta = 0.1, epsilon = 0 repeats instance 'two' with learner 'CascadeBAI'; leave one of them out"),
    (LAST, LAST + "\n  - {name: e, family: explicit, weights: [0.5, 1.5, 0.1], K: 1}", "13: weights: 1.5 is outside [0, 1]; a weight is the probability of a click"),
    (LAST, LAST + "\n  - {name: e, family: explicit, weights: [0.5, 0.5, 0.1], K: 1}", "13: instances: 'e': w(K) = w(K+1) = 0.5 at K = 1: with epsilon = 0 the best K items are not unique; change K or the weights, or allow an epsilon > 0"),
    (LAST, LAST + "\n  - {name: e, family: explicit, weights: [0.5], K: 1}", "13: weights: 1 weights are listed; write 2 to 1000000"),
    (LAST, LAST + "\n  - {name: e, family: explicit, weights: [0.5, high], K: 1}", "13: weights: high uses high, which is not known; use one of K, L, sqrt, log, exp, min, max"),
    (LAST, LAST + "\n  - {name: c, family: csv, path: none.csv, rate: r}", "13: path: none.csv does not exist; a path in a config counts from its folder"),
    (LAST, LAST + "\n  - {name: c, family: csv, path: none, rate: r}", "13: path: none is not text; put it in quotes"),
    (LAST, LAST + "\n  - {name: c, family: csv, path: x.csv, clicks: r}", "13: instances: 'c' has only clicks; name the columns of clicks and views, or the one of rate"),
    (LAST, LAST + "\n  - {name: c, family: csv, path: x.csv, clicks: r, views: v, rate: q}", "13: instances: 'c' has clicks and views and rate; name the columns of clicks and views, or the one of rate"),
    (LAST, LAST + "\n  - {name: c, family: csv, path: x.csv}", "13: instances: 'c' has none of clicks, views, rate; name the columns of clicks and views, or the one of rate"),
    ("algorithm: cascadebai", "algorithm: cascade", "15: algorithm: 'cascade' is not known; did you mean cascadebai?"),
    ("algorithm: cascadebai", "algorithm: 3", "15: algorithm: 3 is not text; put it in quotes"),
    ("algorithm: cascadebai", "algorithm: [a]", '15: algorithm: ["a"] is not text; put it in quotes'),
    ("    algorithm: cascadebai\n", "", "14: algorithm: missing; write for example algorithm: kl-lucb++"),
    ("algorithm: cascadebai", "algorithm: batrac", "16: sigma: unknown key; use one of name, algorithm, feedback, shuffle, batch, K, delta, epsilon, b, r"),
    ("algorithm: cascadebai\n    sigma: 0.5", "algorithm: batrac\n    r: true", "16: r: true is not a whole number; write one without quotes or decimals"),
    ("algorithm: cascadebai\n    sigma: 0.5", "algorithm: batrac\n    b: 0", "14: learners: 'CascadeBAI': b is 0, but must be K or a whole number, at least 1"),
    ("sigma: 0.5", "sgima: 0.5", "16: sgima: unknown key; did you mean sigma?"),
    ("sigma: 0.5", "sigma: 0", "16: sigma: 0 is too small; write a value larger than 0"),
    ("sigma: 0.5", "sigma: 1e308", "16: sigma: 1e+308 is too large; write 1000 or less"),
    ("sigma: 0.5", "sigma: half", "16: sigma: 'half' is not a number; write one such as 0.1"),
    ("sigma: 0.5", "sigma: true", "16: sigma: true is not a number; write one such as 0.1"),
    ("    sigma: 0.5", "    sigma: 0.5\n  - {name: again, algorithm: cascadebai}", "17: learners: instance 'two' with learner 'again' at L = 8, K = 2, delta = 0.1, epsilon = 0 repeats instance 'two' with learner 'CascadeBAI'; leave one of them out"),
    ("    sigma: 0.5", "    sigma: 0.5\n  - {name: CascadeBAI, algorithm: cascadebai, sigma: 1}", "17: name: 'CascadeBAI' is used twice; give each entry its own name"),
    ("name: CascadeBAI", "name: 3", "14: name: 3 is not text; put it in quotes"),
    ("name: CascadeBAI", "name: ''", "14: name: the text is empty; write some"),
    ("name: CascadeBAI", 'name: "a\\nb"', "14: name: 'a\\nb' has blanks around it or a line break; write it as one plain line"),
]
# fmt: on
"""What is replaced in GOOD, by what, and the message behind `bad.yaml:`."""

# fmt: off
BAD_FILES = [
    ("", "1: no keys at the top; write lines such as seed: 1"),
    ("- a\n", "1: no keys at the top; write lines such as seed: 1"),
    ("just text", "1: no keys at the top; write lines such as seed: 1"),
    ("a: [b: *c", "1: not valid YAML (aliases are not read, write the value out); check indentation, colons, quotes and brackets"),
    ("seed: *x", "1: not valid YAML (aliases are not read, write the value out); check indentation, colons, quotes and brackets"),
    ("seed: 1\n\tK: 3", "2: not valid YAML (while scanning for the next token, found character '\\t' that cannot start any token); check indentation, colons, quotes and brackets"),
    ("? [a]\n: 3", "1: a key is a list or a mapping; write plain text before the colon"),
    ("seed: !!python/object:os.system 1", "1: not valid YAML (tags are not read, remove tag:yaml.org,2002:python/object:os.system); check indentation, colons, quotes and brackets"),
    ("seed: 1\n---\nseed: 2\n", "2: not valid YAML (expected a single document in the stream, but found another document); check indentation, colons, quotes and brackets"),
    ("seed: \x07", "1: has a character that YAML does not allow; remove it"),
    ("seed: 1\ninstances: []\nK: 1", "2: instances: the list is empty; give at least one entry"),
    ("seed: 1\ninstances: {name: a}\nK: 1", '2: instances: {"name": "a"} is not a list; write [...] or lines that start with a dash'),
    ("seed: 1\ninstances: [a]\nK: 1", "2: instances: 'a' is not a mapping; write keys and values"),
    ("seed: 1\nK: 1", "1: instances: missing; write for example instances: [{name: ramp, family: linear, w_max: 0.5, w_min: 0.1}]"),
    ("seed: 1\nlearners:\n  CascadeBAI: {}\nK: 1", "1: instances: missing; write for example instances: [{name: ramp, family: linear, w_max: 0.5, w_min: 0.1}]"),
]
# fmt: on
"""The whole file, and the message behind `bad.yaml:`."""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(text, *overrides):
        path = Path("bad.yaml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_study(path, overrides)

    return load


def message_of(load, text):
    with pytest.raises(ConfigError) as error:
        load(text)
    assert error.value.exit_code == 2
    return str(error.value)


@pytest.mark.parametrize(("old", "new", "message"), BAD_VALUES)
def test_a_bad_value_is_refused_in_one_line(load, tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    assert message_of(load, GOOD.replace(old, new)) == f"bad.yaml:{message}"
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_a_bad_file_is_refused_in_one_line(load, text, message):
    assert message_of(load, text) == f"bad.yaml:{message}"


def test_files_that_are_too_much(load):
    long, deep = "seed: " + "1" * 5000, "seed: " + "[" * 3000
    assert message_of(load, long) == "bad.yaml:1: has a number of thousands of digits; shorten it"
    assert message_of(load, deep) == "bad.yaml:1: is nested too deeply; a config has four levels"


def test_a_file_that_cannot_be_read(load, tmp_path):
    assert message_of(load, b"\xff") == "bad.yaml: is not UTF-8 text; save it as UTF-8"
    for name, problem in [
        ("none.yaml", "none.yaml: there is no such file; name a config such as configs/smoke.yaml"),
        (".", ".: cannot be read (Is a directory); name a YAML file"),
    ]:
        with pytest.raises(ConfigError) as error:
            load_study(Path(name))
        assert str(error.value) == problem


def test_what_only_the_learner_refuses(load):
    text = GOOD.replace("epsilon: 0", "epsilon: 0.05").replace("sigma: 0.5", "").replace("cascadebai", "batrac")
    problem = "epsilon is 0.05, but batrac has no tolerance; use epsilon: 0"
    assert message_of(load, text) == f"bad.yaml:14: learners: 'CascadeBAI': {problem}"


def test_the_first_mistake_of_the_file_is_reported(load):
    text = GOOD.replace("trials: 2", "trials: 0").replace("sigma: 0.5", "sigma: 0")
    assert message_of(load, text).startswith("bad.yaml:3: trials:")


def test_a_mistake_in_a_csv_names_both_files(load, tmp_path):
    (tmp_path / "x.csv").write_text("rate\n0.5\n1.5\n")
    text = GOOD.replace(LAST, LAST + "\n  - {name: c, family: csv, path: x.csv, rate: rate, K: 1}")
    problem = "x.csv:3: rate 1.5 must lie between 0 and 1; correct or remove the row"
    assert message_of(load, text) == f"bad.yaml:13: path: {problem}"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("L: 8", "L: {from: 5, to: 100000}", "'two' makes 199992 cells; make 100000 or fewer"),
        ("L: 8", "L: {from: 5, to: 10004}", "'two' makes 100090000 weights; make 20000000 or fewer"),
    ],
)
def test_a_grid_that_is_too_large_for_the_memory(load, old, new, problem):
    assert message_of(load, GOOD.replace(old, new)) == f"bad.yaml:9: instances: {problem}"


def test_the_good_config_is_good(load):
    study = load(GOOD)
    assert (study.study, study.seed, study.trials, study.K, study.delta) == ("small", 1, 2, (2, 3), (0.1,))
    assert [cell.K for cell in study.cells] == [2, 3]


def test_defaults(load):
    study = load("seed: 1\ninstances: [{name: e, family: explicit, weights: [0.9, 0.1], K: 1}]")
    assert (study.study, study.trials, study.delta, study.epsilon) == ("bad", 20, (0.1,), (0.0,))
    assert (study.order, study.engine, study.feedback, study.max_steps) == ("random", "auto", "cascading", None)
    assert study.rewards is None
    assert [(entry.name, entry.algorithm) for entry in study.learners] == [("CascadeBAI", "cascadebai")]
    assert study.plot.kind == "scaling"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("1_000", 1000),
        ("010", 10),
        ("-1", -1),
        ("none", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2020-06-12", "2020-06-12"),
        ("1/K**2", "1/K**2"),
        ("'1'", "1"),
    ],
)
def test_plain_values(tmp_path, text, value):
    path = tmp_path / "a.yaml"
    path.write_text(f"key: {text}\n")
    read = load_yaml(path).data["key"]
    assert read == value
    assert type(read) is type(value)


def test_lines_of_keys_and_entries(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# comment\na: 1\nb:\n  - {c: 2,\n     d: 3}\n  - 4\n")
    lines = load_yaml(path).lines
    assert lines == {("a",): 2, ("b",): 3, ("b", 0): 4, ("b", 0, "c"): 4, ("b", 0, "d"): 5, ("b", 1): 6}


def test_a_byte_order_mark_is_accepted(load):
    assert load(b"\xef\xbb\xbf" + GOOD.encode()).model_dump() == load(GOOD).model_dump()


@pytest.mark.parametrize(
    ("text", "points"),
    [("3", [3]), ("[2, 4]", [2, 4]), ("{from: 2, to: 4}", [2, 3, 4]), ("{from: 2, to: 7, step: 2}", [2, 4, 6])],
)
def test_ways_of_writing_K(load, text, points):
    cells = load(GOOD.replace("[2, 3]", text)).cells
    assert [cell.K for cell in cells] == points


def test_instances_override_the_numbers_of_the_study(load):
    more = "\n    K: 4\n    L: [9, 10]\n    delta: 0.2\n    epsilon: 0.01"
    other = "\n  - {name: other, family: two_level, w_star: 1/K, w_prime: 1/K**2}"
    cells = [cell for cell in load(GOOD.replace(LAST, LAST + more + other)).cells if cell.instance == "two"]
    assert [(c.K, c.L, c.delta, c.epsilon) for c in cells] == [(4, 9, 0.2, 0.01), (4, 10, 0.2, 0.01)]


def test_paths_count_from_the_folder_of_the_config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/x.csv").write_text("name,r\na,0.5\nb,0.1\n")
    entry = "{name: c, family: csv, path: x.csv, rate: r, item: name, K: 1}"
    (tmp_path / "sub/a.yaml").write_text(f"seed: 1\ninstances:\n  - {entry}\n")
    [cell] = load_study("sub/a.yaml").cells
    assert cell.items == ("a", "b")
    assert cell.weights.tolist() == [0.5, 0.1]


@pytest.mark.parametrize("name", ["smoke", "table1", "new_yorker"])
def test_a_resolved_study_is_a_config_again(name):
    study = load_study(CONFIGS / f"{name}.yaml")
    resolved = study.model_dump(mode="json")
    assert "configs" not in str(resolved)
    again = Study.model_validate(resolved, context=Context(CONFIGS))
    assert again.model_dump(mode="json") == resolved
    assert [cell.cell_id for cell in again.cells] == [cell.cell_id for cell in study.cells]


def test_a_study_that_is_not_run_reads_no_file_and_imports_no_learner(load):
    config = {
        "study": "s",
        "seed": 1,
        "instances": [{"name": "c", "family": "csv", "path": "none.csv", "rate": "r", "K": 1}],
        "learners": [{"name": "own", "algorithm": "nowhere:Class", "option": 3}],
    }
    study = Study.model_validate(config, context=Context(runs=False))
    assert study.learners[0].spec == LearnerSpec("nowhere:Class", {"option": 3})
    assert study.cells == ()


def test_a_file_is_read_once_for_all_points(tmp_path, monkeypatch):
    opened = []

    def read(path, *_):
        opened.append(path)
        return ("a", "b", "c"), np.array([0.5, 0.4, 0.1])

    monkeypatch.setattr("cascadebai_cli.logs.read.read_rates", read)
    path = tmp_path / "a.yaml"
    path.write_text("seed: 1\nK: [1, 2]\ninstances: [{name: c, family: csv, path: x.csv, rate: r}]\n")
    assert len(load_study(path).cells) == 2
    assert opened == [tmp_path / "x.csv"]


OWN = {"name": "printed", "algorithm": "cascadebai", "sigma": 1}


def test_values_of_the_command_line_take_the_place_of_those_of_the_file(load):
    study = load(
        GOOD,
        Override("--trials", ("trials",), 7),
        Override("--set max_steps:", ("max_steps",), 10),
        Override("--set K:", ("K",), {"from": 3, "to": 4}),
        Override("--set instances.0.w_star:", ("instances", 0, "w_star"), 0.4),
        Override("--plugin", ("learners", END), OWN),
    )
    assert (study.trials, study.max_steps, study.K) == (7, 10, (3, 4))
    assert [(cell.learner, cell.K) for cell in study.cells] == [
        ("CascadeBAI", 3),
        ("CascadeBAI", 4),
        ("printed", 3),
        ("printed", 4),
    ]
    assert {cell.problem.w_star for cell in study.cells} == {0.4}


def test_a_further_learner_stands_beside_the_default_one(load):
    text = GOOD[: GOOD.index("learners:")]
    assert [entry.name for entry in load(text, Override("x", ("learners", END), OWN)).learners] == [
        "CascadeBAI",
        "printed",
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (Override("--trials", ("trials",), 0), "--trials 0 is too small; write 1 or more"),
        (Override("--set trails:", ("trails",), 3), "--set trails: unknown key; did you mean trials?"),
        (
            Override("--set K:", ("K",), [2, 8]),
            "--set K: 8 is not less than L = 8 of 'two'; choose a smaller K or more items",
        ),
        (
            Override("--set w_prime:", ("instances", 0, "w_prime"), "1/k"),
            "--set w_prime: 1/k uses k, which is not known; did you mean K?",
        ),
        (
            Override("--set instances.1.L:", ("instances", 1, "L"), 3),
            "--set instances.1.L: instances.1.L leads nowhere in bad.yaml; name a key or an entry that is there",
        ),
        (
            Override("--set seed.L:", ("seed", "L"), 3),
            "--set seed.L: seed.L leads nowhere in bad.yaml; name a key or an entry that is there",
        ),
        (
            Override("--plugin", ("learners", END), OWN | {"sigma": 0}),
            "--plugin sigma: 0 is too small; write a value larger than 0",
        ),
    ],
    ids=str,
)
def test_a_mistake_on_the_command_line_names_the_option(load, override, message):
    with pytest.raises(ConfigError) as error:
        load(GOOD, override)
    assert str(error.value) == message


def test_the_mistakes_of_the_file_keep_their_line(load):
    with pytest.raises(ConfigError, match=r"^bad.yaml:6: delta: 2 is too large"):
        load(GOOD.replace("delta: 0.1", "delta: 2"), Override("--trials", ("trials",), 3))


def test_table1_is_the_grid_of_the_paper():
    study = load_study(CONFIGS / "table1.yaml")
    cells = study.cells
    assert len(cells) * study.trials == 4100
    assert {(c.L, c.delta, c.epsilon) for c in cells} == {(128, 0.1, 0.0)}
    assert [(c.instance, c.K) for c in cells] == [(f"setting {i}", K) for i in range(1, 6) for K in range(20, 61)]
    assert [i.fit.models for i in study.instances] == [("K",), ("K^2",), ("K",), ("K",), ("K^2",)]


def test_new_yorker_has_the_finalists_and_all_captions():
    finalists, everything = load_study(CONFIGS / "new_yorker.yaml").cells
    assert (finalists.L, finalists.K, finalists.problem.K_prime) == (29, 4, 4)
    assert (everything.L, everything.K, everything.problem.K_prime) == (3660, 10, 20)
    assert everything.items[0] == "1"
    assert everything.weights[0] == 4321 / 12738
