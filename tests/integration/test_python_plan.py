"""Bounds and plans from Python: the numbers and the sentences of the command line."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweeps import call, refusal

import cascadebai_cli as cb
from cascadebai_cli.api.arguments import _in_python

LOG = pd.DataFrame({"item": list("abcdef"), "clicks": [600, 500, 100, 90, 80, 50], "views": 1000})
COLUMNS = {"items": "item", "clicks": "clicks", "views": "views"}
WORDS = ("--items", "item", "--clicks", "clicks", "--views", "views", "-K", 2, "--trials", 2, "--n-jobs", 1)
FEW = {"K": 2, "trials": 2, "n_jobs": 1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    LOG.to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


def without_names(content: dict[str, dict[str, object]]) -> dict[str, object]:
    return {**content, "asked": {key: value for key, value in content["asked"].items() if key != "file"}}


def test_a_plan_of_a_table_is_that_of_the_file(file: Path, tmp_path: Path) -> None:
    plan = cb.plan(LOG, **COLUMNS, **FEW)
    out = tmp_path / "out"
    code, printed, _ = call("plan", file, *WORDS, "--format", "json", "--out", out)
    assert code == 0
    assert without_names(plan.summary) == without_names(json.loads(printed))
    assert cb.plan(file, **COLUMNS, **FEW).summary == json.loads(printed)
    assert plan.save(tmp_path / "saved") == tmp_path / "saved"
    for name in ("items.csv", "page_views.csv"):
        assert (tmp_path / "saved" / name).read_bytes() == (out / name).read_bytes()
    assert plan.items["name"].tolist() == list("abcdef")
    assert plan.learners["page_views_median"].is_monotonic_increasing
    assert repr(plan) == "<Plan: the best 2 of 6 items of table>"
    assert "KL-LUCB++" in plan._repr_html_()


@pytest.mark.parametrize(
    "table",
    [
        LOG.groupby("item").sum(),
        LOG.assign(item=LOG["item"].astype("category"), clicks=LOG["clicks"].astype("Int64")),
        LOG.set_index(np.arange(6)[::-1]),
        pd.concat([LOG.assign(clicks=0, views=300), LOG.assign(views=700)]),
    ],
    ids=["index", "types", "reversed", "summed"],
)
def test_tables_of_any_making_hold_the_same_log(table: pd.DataFrame) -> None:
    given = {**COLUMNS, "K": np.int64(2), "trials": np.int64(2), "delta": Fraction(1, 20), "n_jobs": 1}
    assert cb.plan(table, **given).summary["learners"] == cb.plan(LOG, **COLUMNS, **FEW).summary["learners"]


def test_columns_without_names_are_called_by_their_numbers() -> None:
    plain = pd.DataFrame(LOG.to_numpy())
    found = cb.plan(plain, items=0, clicks=np.int64(1), views=2, **FEW)  # type: ignore[arg-type]
    assert found.summary["learners"] == cb.plan(LOG, **COLUMNS, **FEW).summary["learners"]


def test_page_views_as_rows_are_a_log() -> None:
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.random((200, 4)) < [0.6, 0.5, 0.1, 0.05], columns=list("abcd"))
    events = wide.melt(var_name="item", value_name="click")
    plans = [cb.plan(wide, wide=True, **FEW), cb.plan(events, items="item", clicks="click", event=True, **FEW)]
    assert plans[0].summary["learners"] == plans[1].summary["learners"]
    assert plans[0].items["clicks"].sum() == wide.to_numpy().sum()


def test_a_plan_of_a_budget_says_how_likely_it_is_right(tmp_path: Path) -> None:
    plan = cb.plan(LOG, **COLUMNS, **FEW, budget=np.int64(300), learner="sar")
    assert plan.summary["asked"]["budget"] == 300
    assert plan.learners["then_page_views"].tolist() == [300]
    assert plan.learners["then_all_right_value"].between(0, 1).all()
    assert (plan.save(tmp_path / "saved") / "plan.json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, ("--budget", 0)),
        ({"sure": 1}, ("--sure", 1)),
        ({"delta": 2}, ("--delta", 2)),
        ({"epsilon": -1}, ("--epsilon", -1)),
        ({"learner": "kl"}, ("--learner", "kl")),
        ({"per_day": 0}, ("--per-day", 0)),
        ({"K": 6}, ("-K", 6)),
        ({"n_jobs": 0}, ("--n-jobs", 0)),
    ],
)
def test_a_wrong_value_has_the_sentence_of_the_command_line_in_words_of_python(
    file: Path, options: dict[str, object], words: tuple[object, ...]
) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        cb.plan(file, **{**COLUMNS, **FEW, **options})  # type: ignore[arg-type]
    assert f"{error.value}\n" == _in_python(refusal("plan", file, *WORDS, *words))


@pytest.mark.parametrize(
    ("log", "options", "sentence"),
    [
        (LOG, {"views": "seen"}, "table:1: no column 'seen'; the columns are item, clicks, views"),
        (LOG.assign(clicks=[1, None, 1, 1, 1, 1]), {}, "table:3: clicks is empty; write a number"),
        (LOG.rename_axis("item"), {}, "table:1: more than one column 'item'; the columns are "),
        (LOG, {"K": 2.5}, "K: 2.5 is not a whole number; write one without quotes or decimals"),
        (LOG, {"learner": 5}, "learner: 5 is not a list; write [...] or lines that start with a dash"),
        (LOG, {"learner": "a\nb"}, "learner a\\nb is not known; use one of kl-lucb++, "),
        (LOG, {"learner": [5]}, "learner: 5 is not text; put it in quotes"),
        (LOG, {"trials": 1}, "trials: 1 is too small; write 2 or more"),
        (LOG, {"delta": "0.1"}, "delta: '0.1' is not a number; write one such as 0.1"),
        (LOG, {"truth": "prior"}, "truth: 'prior' is not known; did you mean posterior?"),
        ({"a": 1}, {}, "log: a dict is none; give a table, or the path of a CSV file"),
        ("no.csv", {}, "no.csv is not a file; name a CSV file"),
    ],
)
def test_what_is_no_log_is_a_value_error(log: object, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        cb.plan(log, **{**COLUMNS, **FEW, **options})  # type: ignore[arg-type]
    assert str(error.value).startswith(sentence)


CONFIG = {
    "seed": 1,
    "K": 2,
    "instances": [{"name": "i", "family": "explicit", "weights": [0.8, 0.7, 0.2, 0.1]}],
}


@pytest.mark.parametrize(
    ("algorithm", "keys", "flags"),
    [
        ("cascadebai", {}, ["sharp"]),
        ("kl-lucb++", {}, []),
        ("cascadebai", {"delta": 0.05}, ["printed"]),
        ("sar", {"budget": 500}, []),
    ],
)
def test_bounds_are_those_of_a_config(
    tmp_path: Path, algorithm: str, keys: dict[str, object], flags: list[str]
) -> None:
    config = {**CONFIG, **keys, "learners": [{"name": "a", "algorithm": algorithm}]}
    (tmp_path / "study.json").write_text(json.dumps(config))  # which is YAML
    words = [f"--{flag}" for flag in flags]
    code, printed, _ = call("bounds", tmp_path / "study.json", *words, "--format", "json")
    assert code == 0
    instance = cb.Instance([0.8, 0.7, 0.2, 0.1], K=2)
    found = cb.bounds(instance, learner=algorithm, **keys, **dict.fromkeys(flags, True))  # type: ignore[arg-type]
    assert len(found) >= 4
    expected = pd.Series(json.loads(printed)["bounds"][0])[list(found.index)]
    found = found.astype(object).where(found.notna(), None)
    pd.testing.assert_series_equal(found, expected, check_names=False, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize("keys", [{"delta": [0.1, 0.2]}, {"learner": "uniform", "budget": [10, 50]}])
def test_several_values_of_an_argument_have_no_bounds_of_which_the_first_would_stand_for_all(
    keys: dict[str, object],
) -> None:
    with pytest.raises(ValueError, match=r"^bounds\(\) takes one learner, one delta and one budget; got several$"):
        cb.bounds(cb.Instance([0.8, 0.7, 0.2], K=1), **keys)  # type: ignore[arg-type]
