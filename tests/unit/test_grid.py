"""The grid of a study: one entry a value, numbers of a learner's own, values that go in pairs, values given as text."""

import subprocess
import sys

import pytest
from sweeps import environment

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.config import load_study, setting

CONFIG = """\
seed: 1
L: 8
K: [2, 3]
delta: 0.1
instances:
  - {name: two, family: two_level, w_star: 0.6, w_prime: 0.2}
learners:
  - {name: CascadeBAI, algorithm: cascadebai}
"""
LEARNER = "  - {name: CascadeBAI, algorithm: cascadebai}\n"


@pytest.fixture
def load(tmp_path):
    def load(text, *settings):
        path = tmp_path / "study.yaml"
        path.write_text(text)
        return load_study(path, list(map(setting, settings)))

    return load


def refusal(load, text, *settings):
    with pytest.raises(ConfigError) as error:
        load(text, *settings)
    return str(error.value).rpartition("study.yaml:")[2]


def numbers(study, learner=None):
    cells = [cell for cell in study.cells if learner in (None, cell.learner)]
    return [(cell.L, cell.K, cell.delta, cell.epsilon) for cell in cells]


def with_learners(*entries):
    return CONFIG.replace(LEARNER, "".join(f"  - {entry}\n" for entry in entries))


def test_an_option_in_the_name_makes_one_learner_a_value(load):
    entry = '{name: "{order} with sigma {sigma}", algorithm: cascadebai, sigma: [0.25, 1], order: [T, U]}'
    study = load(with_learners(entry, "{name: plain, algorithm: cascadebai}"))
    assert [(one.name, one.spec.options) for one in study.learners] == [
        ("T with sigma 0.25", {"sigma": 0.25, "order": "T"}),
        ("T with sigma 1", {"sigma": 1.0, "order": "T"}),
        ("U with sigma 0.25", {"sigma": 0.25, "order": "U"}),
        ("U with sigma 1", {"sigma": 1.0, "order": "U"}),
        ("plain", {}),
    ]
    assert len({cell.cell_id for cell in study.cells}) == 10


def test_the_cells_are_those_of_learners_that_are_written_out(load):
    short = load(with_learners('{name: "s {sigma}", algorithm: cascadebai, sigma: [0.25, 1]}'))
    long = load(
        with_learners(
            "{name: s 0.25, algorithm: cascadebai, sigma: 0.25}", "{name: s 1, algorithm: cascadebai, sigma: 1}"
        )
    )
    assert [cell.cell_id for cell in short.cells] == [cell.cell_id for cell in long.cells]
    assert [cell.learner for cell in short.cells] == [cell.learner for cell in long.cells]


def test_braces_that_name_no_key_stay_and_single_values_are_filled_in(load):
    study = load(with_learners('{name: "$s_{1}$ {name} {none} {sigma}", algorithm: cascadebai, sigma: 0.25}'))
    assert [one.name for one in study.learners] == ["$s_{1}$ {name} {none} 0.25"]


def test_an_instance_may_stand_for_several_too(load):
    text = CONFIG.replace("{name: two,", '{name: "w {w_star}",').replace("w_star: 0.6", "w_star: [0.6, 1/K]")
    assert [(entry.name, entry.w_star) for entry in load(text).instances] == [("w 0.6", 0.6), ("w 1/K", "1/K")]


BAD_LISTS = [
    (
        '{name: "s {sigma}", algorithm: cascadebai, sigma: [0.5, -1]}',
        "8: sigma: -1 is too small; write a value larger than 0",
    ),
    ('{name: "s {sigma}", algorithm: cascadebai, sigma: []}', "8: sigma: the list is empty; give at least one entry"),
    (
        '{name: "s {sigma}", algorithm: cascadebai, sigma: [1, 1]}',
        "8: name: 's 1' is used twice; give each entry its own name",
    ),
    (
        "{name: s, algorithm: cascadebai, sigma: [0.5, 1]}",
        "8: sigma: [0.5, 1] is not a number; write one such as 0.1; "
        "or write {sigma} into the name for one learner a value",
    ),
    ('{name: "{K}", algorithm: cascadebai, K: {from: 1, too: 3}}', "8: too: unknown key; did you mean to?"),
]


@pytest.mark.parametrize(("entry", "message"), BAD_LISTS)
def test_a_list_that_makes_no_learners_is_refused_where_it_stands(load, entry, message):
    assert refusal(load, with_learners(entry, "{name: last, algorithm: cascadebai}")) == message


def test_a_mistake_behind_a_spread_entry_names_its_own_line(load):
    text = with_learners('{name: "s {sigma}", algorithm: cascadebai, sigma: [1, 2, 3]}', "{name: x, algorithm: casc}")
    assert refusal(load, text).startswith("9: algorithm: 'casc' is not known")


def test_too_many_entries_are_refused_before_they_are_made(load):
    values = ", ".join(map(str, range(1, 400)))
    entry = f'{{name: "{{sigma}} {{K}}", algorithm: cascadebai, sigma: [{values}], K: [{values}]}}'
    assert refusal(load, with_learners(entry)) == "8: name: makes more than 100000 entries; list fewer values"


def test_numbers_of_a_learner_take_the_place_of_those_of_the_study(load):
    study = load(
        with_learners(
            "{name: all, algorithm: cascadebai}",
            "{name: exact, algorithm: batrac, b: 1, feedback: semi-bandit, epsilon: 0, K: 3}",
        ),
        "epsilon=[0, 0.1]",
    )
    assert numbers(study, "all") == [(8, K, 0.1, epsilon) for K in (2, 3) for epsilon in (0, 0.1)]
    assert numbers(study, "exact") == [(8, 3, 0.1, 0)]


def test_a_K_of_a_learner_is_refused_where_it_stands(load):
    assert refusal(load, with_learners("{name: all, algorithm: cascadebai, K: 8}")) == (
        "8: K: 8 is not less than L = 8 of 'two'; choose a smaller K or more items"
    )


def zipped(pairs, *more):
    return CONFIG.replace("K: [2, 3]\ndelta: 0.1\n", "".join(f"{line}\n" for line in (f"zip: {pairs}", *more)))


def test_zip_pairs_values(load):
    study = load(zipped("{K: [2, 4], delta: [0.1, 0.05]}", "epsilon: [0, 0.1]"))
    assert numbers(study) == [(8, 2, 0.1, 0), (8, 2, 0.1, 0.1), (8, 4, 0.05, 0), (8, 4, 0.05, 0.1)]


def test_zip_of_an_instance_takes_the_place_of_lists_of_the_study(load):
    text = CONFIG.replace("w_prime: 0.2}", "w_prime: 0.2, zip: {L: [8, 16, 16], K: {from: 2, to: 4}}}")
    assert numbers(load(text)) == [(8, 2, 0.1, 0), (16, 3, 0.1, 0), (16, 4, 0.1, 0)]


def test_a_zipped_study_reads_back_from_its_own_dump(load):
    study = load(zipped("{K: [2, 4], delta: [0.1, 0.05]}"))
    again = type(study).model_validate(study.model_dump(mode="json"))
    assert [cell.cell_id for cell in again.cells] == [cell.cell_id for cell in study.cells]


BAD_ZIPS = [
    (
        ("{K: [2, 4], delta: [0.1]}",),
        "3: zip: the lists have different lengths or none (2 of K, 1 of delta); write as many values of each",
    ),
    (("{K: [2, 4]}",), "3: zip: pairs nothing; give lists of two or more of L, K, delta, epsilon and budget"),
    (("{K: [2, 2], delta: [0.1, 0.1]}",), "3: K: [2, 0.1] is listed twice; leave one out"),
    (("{K: [2, 4], dleta: [0.1, 0.2]}",), "3: dleta: unknown key; did you mean delta?"),
    (("{K: [2, 9], delta: [0.1, 0.2]}",), "3: K: 9 is not less than L = 8 of 'two'; choose a smaller K or more items"),
    (
        ("{K: [2, 4], delta: [0.1, 0.05]}", "K: [2, 3]"),
        "4: K: is given here and in zip, for 'two'; leave one of them out",
    ),
]


@pytest.mark.parametrize(("lines", "message"), BAD_ZIPS)
def test_a_zip_that_pairs_nothing_is_refused(load, lines, message):
    assert refusal(load, zipped(*lines)) == message


OWN_K = CONFIG.replace("w_star: 0.6", "K: 4, w_star: 0.6").replace("K: [2, 3]\n", "")
HIDDEN = [
    (OWN_K, "K=3", "--set K: no cell uses it, since 'two' has its own K; write it there, or leave one of them out"),
    (
        CONFIG.replace(
            "family: two_level, w_star: 0.6, w_prime: 0.2", "family: explicit, weights: [0.9, 0.6, 0.3, 0.1]"
        ),
        "L=8",
        "--set L: no cell uses it, since all instances bring their own number of items; leave it out",
    ),
    (
        CONFIG.replace("w_star: 0.6", "delta: 0.3, w_star: 0.6").replace("cascadebai}", "cascadebai, delta: 0.2}"),
        "K=3",
        "study.yaml:6: delta: no cell uses it, since 'CascadeBAI' has its own delta",
    ),
]


@pytest.mark.parametrize(("text", "given", "message"), HIDDEN)
def test_a_value_that_no_cell_uses_is_refused_with_what_hides_it(load, text, given, message):
    with pytest.raises(ConfigError) as error:
        load(text, given)
    assert message in str(error.value)


def test_a_zipped_number_of_a_learner_is_refused(load):
    text = zipped("{K: [2, 4], delta: [0.1, 0.05]}").replace("algorithm: cascadebai}", "algorithm: cascadebai, K: 2}")
    assert refusal(load, text) == "7: K: is given here and in zip, for 'two'; leave one of them out"


def test_set_gives_any_value(load):
    study = load(
        CONFIG, "delta=0.05", "instances.0.w_star=1/K", "K={from: 3, to: 4}", "learners.0.name=mine", "title=x"
    )
    assert numbers(study) == [(8, 3, 0.05, 0), (8, 4, 0.05, 0)]
    assert study.instances[0].w_star == "1/K"
    assert (study.learners[0].name, study.title) == ("mine", "x")


BAD_SETTINGS = [
    ("delta", "--set delta: names no key and value; write KEY=VALUE, such as delta=0.05"),
    ("=3", "--set =3: names no key and value; write KEY=VALUE, such as delta=0.05"),
    ("delta=[", "--set delta: [ is no value of a config; write a number, a text, [...] or {...}"),
    ("delta=2", "--set delta: 2 is too large; write a value less than 1"),
    ("dleta=2", "--set dleta: unknown key; did you mean delta?"),
    ("delta=", "--set delta: none is not a number; write one such as 0.1"),
]


@pytest.mark.parametrize(("text", "message"), BAD_SETTINGS)
def test_a_setting_that_is_none_is_refused(load, text, message):
    with pytest.raises(ConfigError) as error:
        load(CONFIG, text)
    assert str(error.value) == message


def test_set_speaks_of_the_file_before_its_entries_are_spread(load):
    text = with_learners('{name: "s {sigma}", algorithm: cascadebai, sigma: [0.25, 1]}')
    assert [one.name for one in load(text, "learners.0.sigma=[2, 3, 4]").learners] == ["s 2", "s 3", "s 4"]
    with pytest.raises(ConfigError, match=r"^--set learners\.0\.sigma: -3 is too small"):
        load(text, "learners.0.sigma=[2, -3]")


# --- A number of the grid that some place does not know -------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "module", "name", "place"),
    [
        ("kinds.ALL_AXES += ('patience',)", "study.study", "patience", "field of Study"),
        ("del cells.Cell.__annotations__['delta']", "study.study", "delta", "field of Cell"),
    ],
)
def test_a_number_of_the_grid_names_the_place_that_lacks_it(changed, module, name, place):
    loaded = "cells" if "cells" in changed else "kinds"
    program = f"from cascadebai_cli.study import {loaded}\n{changed}\nimport cascadebai_cli.{module}"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert f"LookupError: {name}: a number of the grid without a {place}" in done.stderr
