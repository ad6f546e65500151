"""A live test: it makes the run of its learner, takes clicks late or twice, and loses nothing that was acknowledged."""

import errno
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sweeps import call, environment

import cascadebai_cli as cb
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import PosteriorRule
from cascadebai_cli.live.checks import findings
from cascadebai_cli.live.files import _names, rehearse, show, start, status_of, take
from cascadebai_cli.live.live import _decided, rehearsal
from cascadebai_cli.live.state import State

NAMES = list("abcdef")
WEIGHTS = dict(zip(NAMES, [0.7, 0.6, 0.1, 0.1, 0.05, 0.05], strict=True))
ALL = np.array(list(WEIGHTS.values()))


def first_click(page, rng, weights=WEIGHTS):
    """The place of the click of a user of the cascade, or None."""
    return next((place for place, item in enumerate(page.items, 1) if rng.random() < weights[item]), None)


def books(directory):
    """Check the tables against each other, and return pages with their clicks (None for untold)."""
    with sqlite3.connect(directory / "live.sqlite") as db:
        pages = dict(db.execute("SELECT id, clicks FROM pages"))
        items = dict(db.execute("SELECT id, items FROM pages"))
        counts = {item: (T, S) for item, T, S in db.execute("SELECT item, T, S FROM counts")}
        sums = {item: (T, S) for item, T, S in db.execute("SELECT item, SUM(T), SUM(S) FROM looks GROUP BY item")}
        order = [place for (place,) in db.execute("SELECT told FROM pages WHERE clicks IS NOT NULL ORDER BY told")]
    clicks = {
        page: None if text is None else [int(one) for one in text.strip("[]").split(",") if one]
        for page, text in pages.items()
    }
    looks, clicked = Counter(), Counter()
    for page, places in clicks.items():
        shown = np.frombuffer(items[page], np.int32).tolist()
        if places is not None:
            looks.update(shown[: places[0] + 1] if places else shown)
            clicked.update(shown[places[0]] for _ in places[:1])
    assert counts == {item: (looks[item], clicked[item]) for item in counts}
    assert sums == {item: count for item, count in counts.items() if count[0]}
    assert order == list(range(1, sum(places is not None for places in clicks.values()) + 1))
    assert sorted(pages) == list(range(1, len(pages) + 1))
    return clicks


# --- the run ----------------------------------------------------------------------------------------------------------


def test_told_at_once_it_is_the_run_of_the_learner_step_for_step(tmp_path):
    live, learner, rng = cb.Live(NAMES, 2, path=tmp_path / "t"), KLLucb(6, 2, 0.1), np.random.default_rng(0)
    steps = 0
    while not learner.finished:
        [page] = live.ask()
        assert not live.done
        shown = learner.select()
        assert page == (steps + 1, tuple(NAMES[item] for item in shown))
        place = first_click(page, rng)
        learner.observe(shown, [int(i == place) for i in range(1, (place or len(shown)) + 1)])
        live.tell(page.id, place)
        steps += 1
    assert steps > 50
    assert live.done
    assert live.answer == tuple(NAMES[item] for item in learner.recommendation)
    status = live.status
    known = {one.item: (one.looks, one.clicks) for one in status.items}
    assert [known[name] for name in NAMES] == list(zip(learner.T.tolist(), learner.S.tolist(), strict=True))
    assert (status.asked, status.told, status.open, status.more) == (steps, steps, 0, (0, 0, 0))
    books(tmp_path / "t")


def run_late(weights, K, stopping, delay, seed, most=20_000):
    """The answer with clicks that come late, in another order, and a tenth of the pages lost."""
    names = [f"i{i}" for i in range(len(weights))]
    live, rng = cb.Live(names, K, stopping=stopping, seed=seed), np.random.default_rng(seed)
    rate, waiting = dict(zip(names, weights, strict=True)), deque()
    while not live.done and live._state.numbers()[0] < most:
        pages = live.ask(max(1, delay // 5))
        waiting.append([(page.id, first_click(page, rng, rate)) for page in pages if rng.random() < 0.9])
        if len(waiting) > 5:
            told = waiting.popleft()
            live.tell_many([told[i] for i in rng.permutation(len(told))])
    return set(live.answer)


@pytest.mark.parametrize("stopping", ["bounds", "posterior"])
def test_what_is_told_after_the_end_neither_opens_the_test_again_nor_changes_its_answer(stopping, tmp_path):
    live, rng = cb.Live(NAMES, 2, stopping=stopping, path=tmp_path), np.random.default_rng(5)
    late = live.ask(150)
    while not live.done:
        [page] = live.ask()
        live.tell(page.id, first_click(page, rng))
    ended, answer = live.status.told, live.answer
    assert (live.status.late, set(answer)) == (0, {"a", "b"})
    live.tell_many((page.id, [item for item in page.items if item not in answer]) for page in late)
    again = cb.Live.open(tmp_path)
    learner = again._learner(*again._state.counts())
    assert not learner.finished or learner.recommendation != tuple(map(NAMES.index, answer))  # by the counts of now
    status = again.status
    assert (again.done, again.answer, status.answer) == (True, answer, answer)
    assert (status.told, status.late, status.more) == (ended + 150, 150, (0, 0, 0))


@pytest.mark.parametrize("stopping", ["bounds", "posterior"])
def test_the_end_is_the_first_moment_in_the_order_told_also_within_one_call(stopping):
    one, many = (cb.Live(NAMES, 2, stopping=stopping, seed=1) for _ in range(2))
    rng = np.random.default_rng(2)
    pages = one.ask(2_000)
    told = [(page.id, first_click(page, rng)) for page in pages]
    assert [page.items for page in many.ask(2_000)] == [page.items for page in pages]
    many.tell_many(told)
    ended = many.status.told - many.status.late
    one.tell_many(told[: ended - 1])
    assert not one.done
    one.tell(*told[ended - 1])
    assert (one.done, one.answer) == (True, many.answer)


LATE = [(1, 2), (200, 8), (5_000, 8)]
"""By how many pages clicks are late, and how many runs there are of each instance."""


@pytest.mark.slow
@pytest.mark.parametrize("stopping", ["bounds", "posterior"])
def test_answers_are_wrong_at_most_as_often_as_allowed_however_late_pages_are_told(stopping):
    instances = [[0.6, 0.5, 0.2, 0.15, 0.1], [0.95, 0.9, 0.6, 0.6], [0.4, 0.3, 0.1, 0.1, 0.05, 0.02], [0.8, 0.5, 0.2]]
    wrong = [
        run_late(weights, 2, stopping, delay, seed) != {"i0", "i1"}
        for weights in instances
        for delay, seeds in LATE
        for seed in range(seeds)
    ]
    assert binomtest(sum(wrong), len(wrong), 0.1, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("n", [0, 1.5, True, "3", 10**6])
def test_a_number_of_pages_that_is_none_is_refused(n):
    with pytest.raises(ValueError, match=r"n is .* but must be a whole number from 1 to 100,000"):
        cb.Live(NAMES, 2).ask(n)


@pytest.mark.parametrize("stopping", ["bounds", "posterior"])
@pytest.mark.parametrize("weights", [[0.6, 0.5, 0.2, 0.15, 0.1], [0.95, 0.9, 0.6, 0.6]])
def test_late_and_lost_pages_change_nothing_but_time(weights, stopping):
    right = [run_late(weights, 2, stopping, 200, seed) == {"i0", "i1"} for seed in range(6)]
    assert sum(right) >= 5


def test_many_pages_at_once_show_more_than_one_list():
    live = cb.Live([f"i{i}" for i in range(40)], 5)
    pages = live.ask(2_000)
    shown = Counter(item for page in pages for item in page.items)
    assert len(shown) == 40
    assert max(shown.values()) < 3 * min(shown.values())


def test_draws_last_for_several_lists_of_a_batch_which_differ_all_the_same(monkeypatch):
    made, draw = [], PosteriorRule.draw
    monkeypatch.setattr(PosteriorRule, "draw", lambda *given: made.append(1) or draw(*given))
    live = cb.Live([f"i{i}" for i in range(60)], 5, stopping="posterior")
    shown = Counter(page.items for page in live.ask(5_000))
    assert len(made) < 700
    assert len(shown) > 4_900
    assert max(shown.values()) < 5


def test_what_is_out_counts_when_pages_are_chosen_in_the_next_call_too():
    live = cb.Live([f"i{i}" for i in range(40)], 5)
    first, second = live.ask(8), live.ask(8)
    assert not {page.items for page in first} & {page.items for page in second}


# --- a log to start with ----------------------------------------------------------------------------------------------


def table(item, clicks, views):
    """A log of two items, the second with the name 'more'."""
    return pd.DataFrame({"item": [item, "more"], "clicks": [clicks, clicks], "views": [views, views]})


LOG = pd.DataFrame({"item": NAMES[:5], "clicks": [70, 60, 9, 11, 0], "views": [100, 100, 100, 100, 20]})


def test_counts_of_a_log_are_the_start(tmp_path):
    LOG.to_csv(tmp_path / "log.csv", index=False)
    live = cb.Live(NAMES, 2, log=tmp_path / "log.csv", path=tmp_path / "t")
    expected = {"a": (100, 70), "b": (100, 60), "c": (100, 9), "d": (100, 11), "e": (20, 0), "f": (0, 0)}
    assert {one.item: (one.looks, one.clicks) for one in live.status.items} == expected
    assert live.status.told == 0
    [page] = live.ask()
    assert page.items[0] == "f"  # of which nothing is known
    live.tell(page.id, "f")
    again = cb.Live.open(tmp_path / "t")
    assert {(one.item, one.looks, one.clicks) for one in again.status.items if one.item in "af"} == {
        ("a", 100, 70),
        ("f", 1, 1),
    }
    assert live.picture().axes[0].lines


def test_a_log_may_be_all_that_is_needed():
    live = cb.Live(None, 2, log=LOG.assign(clicks=[70, 60, 9, 11, 2]), stopping="posterior")
    assert (live.done, live.answer, live.status.told, live.status.late) == (True, ("a", "b"), 0, 0)


def test_the_prior_that_is_fitted_to_a_log_is_nearer_to_its_rates():
    rng = np.random.default_rng(1)
    rates = rng.beta(2, 30, 60)
    names = [f"i{i}" for i in range(60)]
    log = pd.DataFrame({"item": names, "views": 400, "clicks": rng.binomial(400, rates)})
    fitted, flat = (cb.Live(None, 5, log=log, stopping="posterior", prior=prior) for prior in ("log", "uniform"))
    for _, law in fitted.terms.prior:
        chance, a, b = np.array(law).T
        assert chance.sum() == pytest.approx(1, abs=1e-4)
        assert 0.03 < chance[:-1] @ (a / (a + b))[:-1] / 0.9 < 0.1
    high = {live: {one.item: one.high for one in live.status.items} for live in (fitted, flat)}
    assert np.mean([high[fitted][name] < high[flat][name] for name in names]) > 0.6
    assert fitted.ask(3)
    rule = fitted._learner(*fitted._state.counts()).rule
    assert fitted.status.chance == pytest.approx(1 - rule.chance_of_error(*fitted._state.counts()))
    assert rehearsal(fitted).terms == fitted.terms


@pytest.mark.parametrize("falls", [True, False])
def test_a_log_whose_lower_positions_were_not_looked_at_is_refused(falls):
    rows = [(item, place, 2_000) for item in NAMES for place in (1, 2, 3)]
    log = pd.DataFrame(rows, columns=["item", "position", "views"])
    looked = 1 - 0.3 * (log["position"] - 1) if falls else 1
    log["clicks"] = np.random.default_rng(0).binomial(log["views"], log["item"].map(WEIGHTS) * looked)
    if falls:
        with pytest.raises(ValueError, match=r"less at lower positions .* not all of its views are looks"):
            cb.Live(None, 2, log=log)
    else:
        assert cb.Live(None, 2, log=log).status.items[0].looks == 6_000


def test_a_log_whose_rates_change_from_row_to_row_is_refused():
    rng = np.random.default_rng(0)
    log = pd.DataFrame([(item, day, 1_000) for item in NAMES for day in range(20)], columns=["item", "day", "views"])
    log["clicks"] = rng.binomial(1_000, rng.beta(3, 9, len(log)))
    with pytest.raises(ValueError, match=r"scatter .* a test cannot start with such counts"):
        cb.Live(None, 2, log=log)


def test_a_log_has_its_own_names_of_columns(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("ad;hits;seen\nx;5;20\ny;9;30\nz;1;12\n")
    live = start(tmp_path / "t", None, log, "ad, hits, seen", K=1)
    assert [(one.item, one.looks) for one in live.status.items] == [("y", 30), ("x", 20), ("z", 12)]
    with pytest.raises(ValueError, match="--columns 'ad': name the columns of item, clicks, views"):
        start(tmp_path / "u", None, log, "ad", K=1)
    with pytest.raises(ValueError, match="there are no items; name them with --items"):
        start(tmp_path / "u", None, None, None, K=1)


def test_items_of_a_plan_have_their_own_names_again(tmp_path):
    (tmp_path / "items.csv").write_text("name,clicks\n'=1+1,3\n'tis,2\n\"a, b\",1\n")
    assert _names(str(tmp_path / "items.csv")) == ["=1+1", "'tis", "a, b"]


def test_a_name_on_the_command_line_may_have_commas_if_it_stands_in_quotes():
    assert _names('red, "a, b",green') == ["red", "a, b", "green"]
    assert len(_names(",".join(map(str, range(1000, 1200))))) == 200  # longer than the name of a file may be


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("item\na\nb\n", ["a", "b"]),
        ("Name\na\nb\n", ["a", "b"]),
        ("Paris, France\nRome, Italy\n", ["Paris, France", "Rome, Italy"]),
        ("3 for 1,20\n4 for 1,40\n", ["3 for 1,20", "4 for 1,40"]),
        ('item\n"a, b"\n"say ""hi"""\n"Hot" deals\n"x"\n', ["a, b", 'say "hi"', '"Hot" deals', '"x"']),
        ("item,clicks,views\na,3,9\nb,1,8\n", None),
        ("Banner;Clicks\na;3\nb;1\n", None),
        ("colour,item\nred,a\nblue,b\n", None),
        ("red,3,9\nblue,1,8\n", None),
        ("red;3\nblue;1\n", None),
    ],
)
def test_a_file_of_items_has_one_column_of_names(text, names, tmp_path):
    (tmp_path / "items.csv").write_text(text)
    if names is None:
        with pytest.raises(ValueError, match=r"items\.csv has several columns .*--log takes counts"):
            _names(str(tmp_path / "items.csv"))
    else:
        assert _names(str(tmp_path / "items.csv")) == names


def test_items_that_only_the_log_or_only_the_test_has_are_named(tmp_path):
    assert cb.Live(None, 2, log=LOG).notes == cb.Live(NAMES, 2).notes == ()
    left_out, new = cb.Live(["a", "b", "f"], 2, log=LOG).notes
    assert left_out == "left out, as the test does not have them: 'c', 'd' and 'e' of the log"
    assert new == "not in the log, so that they begin with no views: 'f'"
    LOG.to_csv(tmp_path / "log.csv", index=False)
    done = run_live(tmp_path, "start", "t", "--log", "log.csv", "--items", "a,b,f", "-K", "2")
    assert (done.returncode, done.stderr) == (0, f"{left_out}\n{new}\n")


def run_live(directory, *words):
    """Run a command of `live` in a directory."""
    command = [sys.executable, "-m", "cascadebai_cli", "live", *words]
    return subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True, check=False)


# --- telling ----------------------------------------------------------------------------------------------------------


def test_the_same_click_in_all_its_forms_is_one_content():
    live = cb.Live(NAMES, 3)
    [page] = live.ask()
    for clicked in (page.items[1], 2, [2], (page.items[1], 2), {2}):
        live.tell(page.id, clicked)
    assert live.status.told == 1
    assert {(one.item, one.looks, one.clicks) for one in live.status.items if one.looks} == {("a", 1, 0), ("b", 1, 1)}


def test_several_clicks_count_up_to_the_first_by_place_and_are_remembered():
    live = cb.Live(NAMES, 3)
    [page] = live.ask()
    live.tell(page.id, ["c", "b"])
    assert sum(one.looks for one in live.status.items) == 2
    assert "1 page has two clicks or more" in live.status.findings[0].sentence


@pytest.mark.parametrize(
    ("page", "clicked", "sentence"),
    [
        (1, None, "page 1 was told before with a click on position 2, and now with no click"),
        (1, 1, "now with a click on position 1; the first is kept"),
        (2, "f", "item 'f' is not on page 2, which shows"),
        (2, 4, "page 2 has no position 4; give one from 1 to 3"),
        (2, 0, "page 2 has no position 0"),
        (2, True, "item True is not on page 2"),
        (3, None, "page 3 was never given out; this test has pages 1 to 2"),
        ("1", None, "page '1' is no number of a page"),
        (10**30, None, "was never given out; this test has pages 1 to 2"),
        (2, np.array([1, 2]), "item array([1, 2]) is not on page 2"),
        (2, np.array(["a"]), "is not on page 2"),
        (2, pd.Series([1]), "is not on page 2"),
        (2, pd.NA, "item <NA> is not on page 2"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_of_it_is_taken(page, clicked, sentence):
    live = cb.Live(NAMES, 3)
    live.ask(2)
    live.tell(1, 2)
    before = [live._state.counts()[i].tolist() for i in (0, 1)]
    with pytest.raises(ValueError, match="page") as error:
        live.tell_many([(2, None), (page, clicked)] if page != 2 else [(2, clicked)])
    assert sentence in str(error.value)
    assert [live._state.counts()[i].tolist() for i in (0, 1)] == before
    assert live.status.open == 1


def test_no_page_is_told_before_one_was_asked_for():
    with pytest.raises(ValueError, match="page 1 was never given out; this test has no pages yet"):
        cb.Live(NAMES, 3).tell(1)


@pytest.mark.parametrize("pages", [None, 5, "ab", [3], [(1, 2, 3)], {1: "a"}])
def test_what_is_no_pairs_of_pages_and_clicks_is_refused(pages):
    live = cb.Live(NAMES, 3)
    live.ask(3)
    with pytest.raises(ValueError, match="tell_many takes pairs of a page and its clicks"):
        live.tell_many(pages)
    assert live.status.told == 0


@pytest.mark.parametrize("path", [None, 5, ""])
def test_what_is_no_directory_is_refused(path):
    with pytest.raises(ValueError, match=rf"path is {path!r}, but must be the directory of a test"):
        cb.Live.open(path)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"items": "ab"}, "items is 'ab', but must be a list of names"),
        ({"items": 5}, "items is 5, but"),
        ({"items": ["a"]}, "items: there are 1"),
        ({"items": ["a", "b", "a"]}, "items: 'a' is there twice"),
        ({"items": ["a", ""]}, "items: '' is no name"),
        ({"K": 6}, "K is 6, but must be a whole number from 1 to 5"),
        ({"K": 2.0}, "K is 2.0, but"),
        ({"delta": 1}, "delta is 1, but must be a number larger than 0"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"page_size": 7}, "page_size is 7"),
        ({"stopping": "bound"}, "stopping is 'bound'; did you mean bounds"),
        ({"seed": -1}, "seed is -1"),
        ({"reads": "pages"}, "reads is 'pages'; did you mean page"),
        ({"prior": "uniforme", "stopping": "posterior"}, "prior is 'uniforme'; did you mean uniform"),
        ({"prior": "jeffreys"}, "stopping by bounds has no prior"),
        ({"prior": "log", "stopping": "posterior"}, "prior is 'log', but there is no log"),
        ({"items": None}, "items is None, but must be a list of names"),
        ({"log": table("z", 5, 9)}, "the log has no view of an item of the test"),
        ({"log": table("a", 0, 9), "prior": "log", "stopping": "posterior"}, "the log has no click"),
        ({"log": table("a", 4.5, 9)}, "whole numbers of clicks and views only"),
        ({"log": table("a", 10**9, 10**10)}, "table: item a has 1e.10 views, 1e.09 is the most"),
        ({"log": "none.csv"}, "none.csv is not a file"),
        ({"log": 5}, "log is 5, but must be a CSV file or a pandas table"),
        ({"log": {"a": (1, 2)}}, "log is {'a': (1, 2.}, but must be a CSV file"),
        ({"log": ("log.csv", 5)}, "or a pair of this and a Layout"),
        ({"path": 5}, "path is 5, but must be the directory of a test"),
        ({"items": ["a", "b "], "K": 1}, "items: 'b ' is no name of an item; give a text without spaces at its ends"),
    ],
)
def test_terms_that_are_not_usable_are_refused_and_nothing_is_written(changed, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence.replace("(", "\\(")):
        cb.Live(**{"items": NAMES, "K": 2, "path": tmp_path / "t", **changed})
    assert list(tmp_path.iterdir()) == []


def no_click(row):
    """A row for each item of a second page, of its position and name."""
    return "".join(map(row.format, range(1, 7), "bcdefa"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("page,item\n1,b\n2,\n", {}),
        ("PAGE;Position\n1;2\n2;\n", {}),
        ("page\tposition\titem\tclicked\n1\t1\ta\t0\n1\t2\tb\t1\n" + no_click("2\t{}\t{}\t0\n"), {}),
        ("page,a,b,c,d,e,f\n1,0,1,0,,,\n2,0,0,0,0,0,0\n", {}),
        ("page,a,b,c,d,e,f\n1,,1,,,,\n2,0,0,0,0,0,0\n", {}),
        ("view|name|hit\n1|b|yes\n" + no_click("2|{1}|no\n"), {"page": "view", "item": "name", "clicked": "hit"}),
        ("nr;Ort\n1;2\n2;\n", {"page": "nr", "position": "Ort"}),
        ("page,a,b,c,d,e,f\n1,,1,,,,\n2,,,,,,\n", {}),
        ("page,position,item,Click\n1,1,a,0\n1,2,b,1\n" + no_click("2,{},{},0\n"), {}),
        ("page,item,clicks\n1,a,0\n1,b,1\n" + no_click("2,{1},0\n"), {}),
        ("page,item,position\n1,b,2\n2,,\n", {}),
        ("page,item,position\n1,,2\n2,,\n", {}),
        ("page,position\n1.0,2.0\n2.0,\n", {}),
        ("page,position\n1,2\n2,\n1,2\n2,\n", {}),
        ("page,position,clicked\n1,2,1\n1,2,1\n1,,0\n2,,0\n", {}),
        ("page,a,b,c,d,e,f,clicks\n1,0,1,0,0,0,0,1\n2,0,0,0,0,0,0,0\n", {}),
        ("page,view,position\n/home,1,2\n/home,2,\n", {"page": "view"}),
        ("Page,page,position,note,note\n/home,1,2,,\n/home,2,,,\n", {}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_clicks_are_read_in_each_layout_that_plan_reads(text, names, encoding, tmp_path):
    live = cb.Live(NAMES, 3, page_size=6, path=tmp_path / "t")
    assert live.ask(2)[0].items == tuple(NAMES)
    (tmp_path / "clicks.csv").write_bytes(text.encode(encoding))
    assert take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv", names) == (2, 2)
    assert books(tmp_path / "t") == {1: [1], 2: []}


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("page,clicked\n1,1\n", {}, "or a column for each item"),
        ("page,item\n1,b\n", {"page": "view"}, "has no column 'view'; it has page, item"),
        ("page,a,f\n1,0,1\n", {}, "clicks.csv:2: item 'f' is not on page 1"),
        ("page,a,b\n1,0,x\n", {}, "clicked 'x' is neither 0 nor 1"),
        ("page,item,position\n1,b,1\n", {}, "clicks.csv:2: page 1 shows b at position 2, not at 1"),
        ("page,position,item\n1,1,a\n1,2,b\n", {}, "clicks.csv:3: page 1 has a second row with another item or"),
        ("page,position\n1,1\n1,2\n", {}, "no column clicked says which rows are clicks; name this column with --cl"),
        ("page,position,item,hit\n1,1,a,0\n1,2,b,0\n", {}, "name this column with --clicks"),
        ("page,a,b,c\n1,0,1,0\n2,,0,0\n", {}, "clicks.csv:3: page 2 shows d, of which the file says neither 0 nor 1"),
        ("page,a,b,c,d\n1,0,,0,\n", {}, "clicks.csv:2: page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,a,b,c,d\n1,0,0,0,0\n2,,,,\n", {}, "clicks.csv:3: page 2 has neither a 0 nor a 1, though other pages"),
        ("page,a,c\n1,,1\n", {}, "clicks.csv:2: page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,a,c\n1,1,\n", {}, "clicks.csv:2: page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,a,c\n1,1,0\n", {}, "clicks.csv:2: page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,a,c,d,e,f\n1,,1,,,\n2,0,0,0,0,0\n", {}, "page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,c,d,e,f\n1,1,,,\n2,0,0,0,0\n", {}, "clicks.csv:2: page 1 shows a, of which the file says neither 0"),
        ("page,position\n1,1.5\n", {}, "position '1.5' is no whole number"),
        ("page,position\n1,1\n1,\n", {}, "clicks.csv:3: page 1 is there twice, with other clicks on line 2"),
        ("page,item\n1,\n2,\n1,b\n", {}, "clicks.csv:4: page 1 is there twice, with other clicks on line 2"),
        ("page,a,b,c,d,e,f\n1,1,,,,,\n1,,1,,,,\n", {}, "clicks.csv:3: page 1 is there twice, with other clicks"),
        ("page,position,clicked\n1,2,1\n1,2,0\n", {}, "page 1 has a click and no click on position 2"),
        ("page,item,clicked\n1,zzz,0\n", {}, "clicks.csv:2: item 'zzz' is not on page 1, which shows a, b, c"),
        ("page,item,clicked\n1,a,0\n1,f,0\n", {}, "item 'f' is not on page 1, which shows a, b, c"),
        ("page,position,clicked\n1,4,0\n", {}, "page 1 has no position 4; give one from 1 to 3"),
        ("page,position,item,clicked\n1,2,a,0\n", {}, "page 1 shows a at position 1, not at 2"),
        ("page,a,c,B\n1,0,0,1\n", {}, "page 1 shows b, of which the file says neither 0 nor 1"),
        ("page,position,position\n1,1,2\n", {}, "clicks.csv has more than one column position"),
        ("page,position,clicked,clicked\n1,1,0,1\n", {}, "more than one column clicked"),
        ("page,a,a,b,c\n1,0,1,0,0\n", {}, "more than one column a"),
        ("page,item\n1,a, large\n", {}, "clicks.csv:2: 3 values for 2 columns"),
        ("page,click\n1,1\n", {}, "clicks.csv has the columns page, click; it needs page, and item or position"),
        ("page,item,clicked\n1,a,0\n2,,1\n", {}, "clicks.csv:3: the click has neither an item nor a position"),
    ],
)
def test_a_file_of_clicks_that_cannot_be_is_refused_and_nothing_is_taken(text, names, sentence, tmp_path):
    live = cb.Live(NAMES, 3, path=tmp_path / "t")
    live.ask(2)
    (tmp_path / "clicks.csv").write_text(text)
    with pytest.raises(ValueError, match=r"clicks\.csv") as error:
        take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv", names)
    assert sentence in str(error.value)
    assert live.status.told == 0


def test_items_may_be_called_as_columns_are(tmp_path):
    items = ["page", "item", "position", "clicked"]
    live = cb.Live(items, 2, page_size=4, path=tmp_path / "t")
    live.ask(2)
    for text in ("page,clicked\n1,1\n", "page,clicked,x\n1,1,0\n", "page,page,clicked\n1,1,0\n"):
        (tmp_path / "clicks.csv").write_text(text)
        with pytest.raises(ValueError, match=r"clicks\.csv has (more than one column page|the columns page, clicked)"):
            take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv")
    (tmp_path / "clicks.csv").write_text("page,item\n1,page\n2,clicked\n")
    assert take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv") == (2, 2)


def test_what_show_wrote_is_no_file_of_clicks_with_pages_of_one_item_either(tmp_path):
    live = cb.Live(NAMES, 1, path=tmp_path / "t")
    (tmp_path / "shown.csv").write_text(show(cb.Live.open(tmp_path / "t"), 3))
    with pytest.raises(ValueError, match="has no column clicked"):
        take(cb.Live.open(tmp_path / "t"), tmp_path / "shown.csv")
    assert live.status.told == 0


def test_pages_of_another_test_are_not_taken(tmp_path):
    for name in ("t", "u"):
        cb.Live(NAMES, 2, path=tmp_path / name).ask(2)
    mine, other = (cb.Live.open(tmp_path / name) for name in ("t", "u"))
    pages = [mine.terms.name_of(1), other.terms.name_of(2)]
    (tmp_path / "clicks.csv").write_text("page,position\n" + "".join(f"{page},1\n" for page in pages))
    with pytest.raises(
        ValueError, match=rf"clicks\.csv:3: page {pages[1]} is one of another test; .* {pages[0]} and so"
    ):
        take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv")
    with pytest.raises(ValueError, match="is one of another test"):
        mine.tell(pages[1], None)
    assert mine.status.told == 0
    mine.tell(pages[0], 1)
    assert (mine.status.told, mine.terms.page_called("1.0")) == (1, 1)


def test_a_test_that_was_begun_before_pages_had_names_goes_on(tmp_path):
    cb.Live(NAMES, 2, path=tmp_path / "t")
    with sqlite3.connect(tmp_path / "t" / "live.sqlite") as db:
        ((held,),) = db.execute("SELECT value FROM meta WHERE key = 'terms'")
        old = {name: value for name, value in json.loads(held).items() if name != "tag"}
        db.execute("UPDATE meta SET value = ? WHERE key = 'terms'", (json.dumps(old),))
    assert show(cb.Live.open(tmp_path / "t"), 1).splitlines()[1].startswith("1,1,")
    with pytest.raises(ValueError, match=r"page bcdf-1 is one of another test; the pages of this one are called 1 and"):
        cb.Live.open(tmp_path / "t").tell("bcdf-1", None)


def test_rates_of_a_rehearsal_may_have_decimal_commas(tmp_path):
    cb.Live(NAMES[:3], 1, path=tmp_path / "t")
    (tmp_path / "rates.csv").write_text("item;rate\na;0,9\nb;0,1\nc;0,05\n")
    done = call("live", "rehearse", tmp_path / "t", "--rates", tmp_path / "rates.csv", "--pages", 300)
    assert (done.code, "the best 1: a" in done.out) == (0, True)


def test_clicks_are_taken_from_stdin(tmp_path, monkeypatch):
    cb.Live(NAMES, 2, path=tmp_path / "t").ask(2)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"page,position\n1,2\n2,\n")))
    assert call("live", "take", tmp_path / "t", "-").out.startswith("2 pages taken")


def test_show_writes_over_its_own_files_only(tmp_path):
    live, out = cb.Live(NAMES, 2, path=tmp_path / "t"), tmp_path / "out.csv"
    out.write_text("page,position,item,clicked\n1,1,a,1\n")
    with pytest.raises(ValueError, match=r"out\.csv is there and was not written by show"):
        show(cb.Live.open(tmp_path / "t"), 1, out)
    assert (live.status.asked, out.read_text()[-2:]) == (0, "1\n")


@pytest.mark.parametrize("out", [".", "/", "t"])
def test_a_directory_is_no_file_to_show_pages_in(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    live = cb.Live(NAMES, 2, path=tmp_path / "t")
    with pytest.raises(ValueError, match="cannot be written"):
        show(cb.Live.open(tmp_path / "t"), 1, Path(out))
    assert (live.status.asked, [path.name for path in tmp_path.iterdir()]) == (0, ["t"])


def test_a_place_where_nothing_can_be_written_is_bad_usage(tmp_path, monkeypatch):
    live = cb.Live(NAMES, 2, path=tmp_path / "t")

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("open", "unlink"):  # where nothing can be written, nothing can be removed either
        monkeypatch.setattr(Path, name, refuse)
    done = call("live", "show", tmp_path / "t", "--out", tmp_path / "out.csv")
    assert (done.code, "out.csv cannot be written (Read-only file system)" in done.err) == (2, True)
    assert (".part" in done.err, live.status.asked) == (False, 0)


def _interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("interrupted", [(State, "add"), (Path, "open")])
def test_pages_are_given_out_only_if_they_are_in_the_file(interrupted, tmp_path, monkeypatch):
    live, out = cb.Live(NAMES, 2, path=tmp_path / "t"), tmp_path / "out.csv"
    earlier = "page,position,item\n9,1,a\n"
    out.write_text(earlier)
    monkeypatch.setattr(*interrupted, _interrupt)  # no signal, which a background job would ignore
    with pytest.raises(KeyboardInterrupt):
        show(cb.Live.open(tmp_path / "t"), 3, out)
    monkeypatch.undo()
    assert (out.read_text(), live.status.asked) == (earlier, 0)
    with pytest.raises(ValueError, match="cannot be written"):
        show(cb.Live.open(tmp_path / "t"), 3, tmp_path)
    assert live.status.asked == 0
    (tmp_path / "link").symlink_to(out)
    assert show(cb.Live.open(tmp_path / "t"), 2, tmp_path / "link") == out.read_text()
    (tmp_path / "link").unlink()
    assert show(cb.Live.open(tmp_path / "t"), 1, out) == out.read_text()
    assert (live.status.asked, sorted(path.name for path in tmp_path.iterdir())) == (3, ["out.csv", "t"])


# --- pages that are read as a whole -----------------------------------------------------------------------------------


def test_a_page_that_is_read_as_a_whole_counts_all_its_items_in_a_random_order(tmp_path):
    live = cb.Live(NAMES, 3, reads="page", path=tmp_path)
    pages = live.ask(400)
    first = Counter(page.items[0] for page in pages if {"a", "b", "c"} == set(page.items))
    assert all(count > 0.2 * sum(first.values()) for count in first.values())
    assert cb.Live.open(tmp_path).terms.reads == "page"
    [one, other] = live.ask(2)
    live.tell_many([(one.id, [1, 3]), (other.id, None)])
    known = {item.item: (item.looks, item.clicks) for item in live.status.items}
    for i, item in enumerate(one.items):
        assert known[item] == (1 + (item in other.items), int(i != 1))
    assert live.status.findings == ()  # two clicks on a page are innocent
    rates = [line.get_ydata()[-1] for line in live.picture().axes[0].lines if len(line.get_ydata())]
    assert np.array_equal(rates, [item.rate if item.looks else np.nan for item in live.status.items], equal_nan=True)


def test_a_page_that_is_read_as_a_whole_is_refused_if_some_of_its_rows_are_missing(tmp_path):
    live = cb.Live(NAMES, 3, reads="page", path=tmp_path / "t")
    one, other = live.ask(2)
    rows = [f"{page.id},{item},{int(i == 1)}\n" for page in (one, other) for i, item in enumerate(page.items)]
    for left_out, said in (([5], other), ([4, 5], other), ([0, 2], None)):  # at last, only what was clicked is told
        kept = "".join(row for i, row in enumerate(rows) if i not in left_out)
        (tmp_path / "clicks.csv").write_text("page,item,clicked\n" + kept)
        if said is None:
            assert take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv") == (2, 2)
            continue
        missing = said.items[min(left_out) - 3]
        with pytest.raises(ValueError, match=rf"csv:5: page 2 shows {missing}, of which the file says ne"):
            take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv")
        assert live.status.told == 0


def test_read_as_a_whole_it_makes_the_run_of_the_learner_on_whole_pages():
    live, learner, rng = cb.Live(NAMES, 2, reads="page"), KLLucb(6, 2, 0.1), np.random.default_rng(0)
    while not learner.finished:
        [page] = live.ask()
        shown = [NAMES.index(item) for item in page.items]
        assert set(shown) == set(learner.select())
        clicks = [int(rng.random() < WEIGHTS[item]) for item in page.items]
        learner.observe(shown, clicks)
        live.tell(page.id, [i for i, click in enumerate(clicks, 1) if click])
    assert (live.done, live.answer) == (True, tuple(NAMES[item] for item in learner.recommendation))
    assert live.status.told == learner.T.sum() / 2


@pytest.mark.parametrize(("reads", "blamed"), [("click", True), ("page", False)])
def test_users_who_look_at_places_by_chance_are_blamed_only_if_they_are_to_look_from_the_top(reads, blamed, tmp_path):
    live = cb.Live(NAMES, 2, page_size=3, delta=1e-9, reads=reads)
    (tmp_path / "rates.csv").write_text("item,rate\n" + "".join(f"{name},{w}\n" for name, w in WEIGHTS.items()))
    tried = rehearse(live, tmp_path / "rates.csv", 3_000, 0, 0.1, "position-based=0.6", 0)
    about = {one.about for one in tried.status.findings}
    assert about == ({"clicks", "place"} if blamed else set())
    assert set(tried.best) == {"a", "b"}


# --- status -----------------------------------------------------------------------------------------------------------


def test_in_and_out_by_the_intervals():
    low, high = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.6, 0.45, 0.4, 0.1])
    assert _decided(low, high, 1, 0) == ["in", "out", "out", "out"]
    assert _decided(low, high, 2, 0) == ["in", "open", "open", "out"]
    assert _decided(low, high, 2, 0.15) == ["in", "in", "open", "out"]


def test_status_tells_how_many_pages_are_still_to_come():
    live, rng = cb.Live(NAMES, 2), np.random.default_rng(3)
    for page in live.ask(100):
        live.tell(page.id, first_click(page, rng))
    low, middle, high = live.status.more
    assert low is not None
    assert middle is None or low <= middle <= (high or middle)


def test_an_item_without_looks_has_no_rate():
    live = cb.Live(NAMES, 2)
    assert {one.rate for one in live.status.items} == {None}
    assert {line.split()[4] for line in status_of(live).splitlines()[2:8]} == {"0"}
    assert '"rate": null' in status_of(live, "json")


def test_who_shows_or_takes_after_the_end_is_told_so(tmp_path):
    cb.Live(None, 2, log=LOG.assign(clicks=[70, 60, 9, 11, 2]), stopping="posterior", path=tmp_path / "over")
    cb.Live(NAMES, 2, path=tmp_path / "open")
    (tmp_path / "clicks.csv").write_text("page,item\n1,\n")
    for words in (("show",), ("take", "clicks.csv")):
        over, still = (run_live(tmp_path, words[0], name, *words[1:]) for name in ("over", "open"))
        assert over.stderr == "the test is over; `cascadebai live stop over` prints the answer\n"
        assert (over.returncode, still.returncode, still.stderr) == (0, 0, "")


def test_the_picture_ends_at_what_the_status_says():
    live, rng = cb.Live(NAMES, 2), np.random.default_rng(3)
    live.tell_many([(page.id, first_click(page, rng)) for page in live.ask(300)])
    axes = live.picture().axes[0]
    curves = [line for line in axes.lines if not line.get_label().startswith("over")]
    ends = [line.get_ydata()[-1] for line in curves if len(line.get_ydata())]
    assert ends == [one.rate for one in live.status.items]
    assert [text.get_text() for text in axes.texts] == [one.item for one in live.status.items]
    assert axes.get_xlim() == (0, 300)


def test_the_picture_of_many_items_names_the_best_and_their_rivals_and_marks_the_end():
    rng, names = np.random.default_rng(3), [f"i{i}" for i in range(16)]
    weights = dict(zip(names, [0.1] * 7 + [0.9, 0.8] + [0.1] * 7, strict=True))
    live = cb.Live(names, 2, stopping="posterior")
    while not live.done:
        live.tell_many([(page.id, first_click(page, rng, weights)) for page in live.ask(20)])
    told = live.status.told - live.status.late
    axes = live.picture().axes[0]
    assert [text.get_text() for text in axes.texts] == [one.item for one in live.status.items[:5]]
    assert {text.get_text() for text in axes.texts} > set(live.answer)
    assert [line.get_xdata()[0] for line in axes.lines if line.get_label().startswith("over")] == [told]
    assert len(axes.collections) == 5


def test_the_picture_goes_by_the_order_in_which_pages_were_told_with_late_and_lost_pages():
    live, rng = cb.Live(NAMES, 2, stopping="posterior", seed=1), np.random.default_rng(3)
    early = live.ask(30)
    while not live.done:
        for page in live.ask(20):
            if rng.random() < 0.9 and not live.done:
                live.tell(page.id, first_click(page, rng))
    ended = live.status.told
    at_the_end = {one.item: one.rate for one in live.status.items}
    live.tell_many([(page.id, page.items[0]) for page in early])  # after the end, though they were asked for first
    assert live.status.told > ended
    axes = live.picture().axes[0]
    over = next(line for line in axes.lines if line.get_label().startswith("over"))
    assert (over.get_xdata()[0], axes.get_xlim()) == (ended, (0, live.status.told))
    curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
    shown = [line.get_ydata()[list(line.get_xdata()).index(ended)] for line in curves]
    assert shown == [at_the_end[one.item] for one in live.status.items]


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="no page that was told"):
        cb.Live(NAMES, 2).picture()


# --- checks -----------------------------------------------------------------------------------------------------------


def simulated(rate, seed=0, blocks=20):
    """Looks and clicks by item, place and block, with rates by a function of these."""
    rng = np.random.default_rng(seed)
    cells = [(i, place, block, 40) for i in range(6) for place in range(3) for block in range(blocks)]
    return np.array([(*cell, rng.binomial(cell[3], rate(*cell[:3]))) for cell in cells])


def test_pages_as_assumed_are_seldom_blamed():
    blamed = sum(bool(findings(simulated(lambda item, *_: ALL[item], seed), NAMES, 0)) for seed in range(40))
    assert blamed <= 4


@pytest.mark.parametrize(
    ("rate", "about", "item"),
    [
        (lambda item, place, block: ALL[item] * (1 - 0.4 * (item == 1 and block > 9)), "drift", "b"),
        (lambda item, place, block: ALL[item] * (1 - 0.3 * place * (item == 0)), "place", "a"),
        (lambda item, place, block: ALL[item] * 0.93**place, "place", ""),
    ],
)
def test_pages_that_are_not_as_assumed_are_blamed(rate, about, item):
    found = findings(simulated(rate), NAMES, 0)
    assert (about, item) in {(one.about, one.item) for one in found}
    assert all(one.p < 0.01 for one in found)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_test_is_gone_on_with_after_it_was_closed_or_copied(tmp_path):
    live, rng = cb.Live(NAMES, 2, path=tmp_path / "t", seed=4), np.random.default_rng(0)
    for page in live.ask(50):
        live.tell(page.id, first_click(page, rng))
    live.close()
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    assert cb.Live.open(tmp_path / "copy").ask(5) == cb.Live.open(tmp_path / "t").ask(5)


def test_a_test_is_closed_at_the_end_of_a_block(tmp_path):
    with cb.Live(NAMES, 2, path=tmp_path / "t") as live:
        live.ask()
    for used in (lambda: live.ask(), lambda: live.done, lambda: live.tell(1), lambda: live.status):
        with pytest.raises(ValueError, match=r"t was closed; if it has a directory, Live\.open goes on with it$"):
            used()
    live.close()
    with pytest.raises(KeyError), cb.Live.open(tmp_path / "t") as again:
        raise KeyError
    with pytest.raises(ValueError, match="was closed"):
        again.ask()


def test_there_is_no_answer_before_the_end(tmp_path):
    live = cb.Live(["a", "b"], 1, stopping="posterior", path=tmp_path / "t")
    before, told = live.status, json.loads(status_of(live, "json"))
    assert (live.answer, before.answer, told["answer"], told["best"]) == (None, None, None, list(live.best))
    live.tell_many((page.id, "b" if "b" in page.items else None) for page in live.ask(100))
    after, told = live.status, json.loads(status_of(live, "json"))
    assert live.answer == after.answer == after.best == live.best == tuple(told["answer"]) == ("b",)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rates", "none.csv"], "--rates none.csv is not a file; name a CSV file with the columns item and rate"),
        (["--users", "position-based=1.5"], "--users 'position-based=1.5': looks is 1.5, but must be a probability"),
        (["--users", "position-based=x"], "--users 'position-based=x': 'x' is no number; write one such as pos"),
        (["--users", "position-based="], "--users 'position-based=': '' is no number; write one such as position-b"),
        (["--users", "no-skips=0.5"], "--users 'no-skips=0.5': no-skips takes no number; write no-skips"),
    ],
)
def test_what_is_wrong_with_a_rehearsal_is_said_in_its_own_words(words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cb.Live(["a", "b"], 1, path="t")
    Path("rates.csv").write_text("item,rate\na,0.5\nb,0.1\n")
    done = call("live", "rehearse", "t", "--rates", "rates.csv", *words)
    assert (done.code, done.err.startswith(f"error: {sentence}")) == (2, True)


def test_a_letter_with_an_accent_is_one_in_both_ways_to_write_it(tmp_path):
    one, other = "\u00e9t\u00e9", "e\u0301te\u0301"
    (tmp_path / "log.csv").write_text(f"item,clicks,views\n{other},3,9\nb,1,9\n")
    live = cb.Live([one, "b"], 1, page_size=2, log=tmp_path / "log.csv", path=tmp_path / "t")
    assert (live.notes, len(live.ask(3))) == ((), 3)
    live.tell(1, other)
    for text in (f"page,{other}\n2,{other}\n", f"page,{other},b\n3,1,0\n"):
        (tmp_path / "f.csv").write_text(text)
        assert take(live, tmp_path / "f.csv", {"item": other} if "2," in text else {}) == (1, 1)
    with sqlite3.connect(tmp_path / "t" / "live.sqlite") as db:
        ((held,),) = db.execute("SELECT value FROM meta WHERE key = 'terms'")
        old = {**json.loads(held), "items": [other, "b"]}
        db.execute("UPDATE meta SET value = ? WHERE key = 'terms'", (json.dumps(old),))
    assert {item.item: item.clicks for item in cb.Live.open(tmp_path / "t").status.items} == {one: 6, "b": 1}
    with pytest.raises(ValueError, match="is there twice"):
        cb.Live([one, other], 1)


def test_a_log_is_refused_with_a_remedy_that_a_test_has(tmp_path):
    (tmp_path / "log.csv").write_text("item;clicks;views\na;1.000;2.000\nb;1.000;2.000\n")
    done = call("live", "start", tmp_path / "t", "--log", tmp_path / "log.csv", "-K", 1)
    assert (done.code, "may be 1 or 1000; write whole numbers without such signs" in done.err) == (2, True)
    done = call("live", "start", tmp_path / "t", "--log", tmp_path / "log.csv", "--columns", "item,clicks,views,views")
    assert (done.code, "views and perhaps position, each once" in done.err) == (2, True)


def test_columns_are_those_of_a_log(tmp_path):
    done = call("live", "start", tmp_path / "t", "--items", "a,b,c", "-K", 1, "--columns", "a,b,c")
    assert (done.code, "--columns names the columns of a log, but there is none" in done.err) == (2, True)
    assert not (tmp_path / "t").exists()


def test_a_second_test_in_a_directory_is_refused(tmp_path):
    cb.Live(NAMES, 2, path=tmp_path).ask(3)
    with pytest.raises(ValueError, match="holds a test already"):
        cb.Live(NAMES, 2, path=tmp_path)
    assert len(books(tmp_path)) == 3


def test_a_directory_without_a_test_and_a_broken_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no test"):
        cb.Live.open(tmp_path)
    (tmp_path / "live.sqlite").write_text("no database " * 1000)
    with pytest.raises(ValueError, match="not a database"):
        cb.Live.open(tmp_path)


def test_a_file_that_was_cut_is_said_to_be_damaged(tmp_path):
    live = cb.Live(NAMES, 2, path=tmp_path)
    live.ask(2_000)
    live.close()
    whole = (tmp_path / "live.sqlite").read_bytes()
    (tmp_path / "live.sqlite").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"is damaged .* what was told is lost if there is no copy"):
        cb.Live.open(tmp_path).ask()
    (tmp_path / "live.sqlite").write_bytes(b"")
    with pytest.raises(ValueError, match="is empty: if pages were given out, it is damaged"):
        cb.Live.open(tmp_path)


def test_an_interrupted_start_can_be_started_again(tmp_path):
    (tmp_path / "live.sqlite").touch()
    with pytest.raises(ValueError, match="its start was interrupted; start it again"):
        cb.Live.open(tmp_path)
    assert cb.Live(NAMES, 2, path=tmp_path).ask()[0].id == 1


def as_of_1_1_0(directory, prior):
    """Bring the file of a test to the format of version 1.1.0, with this single law."""
    with sqlite3.connect(directory / "live.sqlite") as db:
        for change in (
            "DROP INDEX told",
            "ALTER TABLE pages DROP COLUMN told",
            "CREATE INDEX untold ON pages (id) WHERE clicks IS NULL",
            "INSERT INTO meta VALUES ('told', '20')",
            f"UPDATE meta SET value = json_set(value, '$.prior', json('{json.dumps(prior)}')) WHERE key = 'terms'",
            "UPDATE meta SET value = '2' WHERE key = 'version'",
        ):
            db.execute(change)


def test_a_test_of_the_format_before_goes_on(tmp_path):
    live, rng = cb.Live(NAMES, 2, path=tmp_path), np.random.default_rng(0)
    live.tell_many((page.id, first_click(page, rng)) for page in live.ask(40)[::2])
    status = live.status
    live.close()
    as_of_1_1_0(tmp_path, [[1.0, 1.0, 1.0]])
    upgraded = cb.Live.open(tmp_path).status
    assert replace(upgraded, more=status.more) == status  # how long it may still take is simulated while there is time
    again = cb.Live.open(tmp_path)
    again.tell(2, None)
    assert (again.status.told, len(books(tmp_path))) == (21, 40)


@pytest.mark.parametrize("prior", [((1.0, 0.5, 0.5),), ((0.25, 1.5, 20.25), (0.75, 1.0, 1.0))])
def test_a_test_whose_prior_was_one_law_goes_on_with_this_law(prior, tmp_path):
    live, rng = cb.Live(NAMES, 2, stopping="posterior", path=tmp_path, prior="jeffreys"), np.random.default_rng(0)
    live.tell_many((page.id, first_click(page, rng)) for page in live.ask(30))
    live.close()
    as_of_1_1_0(tmp_path, prior)
    again = cb.Live.open(tmp_path)
    assert again.terms == replace(live.terms, prior=((0.0, prior),))
    assert again.status.chance == pytest.approx(1 - again._belief.chance_of_error(*again._state.counts()))
    assert cb.Live.open(tmp_path).terms == again.terms


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ("1,c,1\n1,b,0\n", "a"),
        ("1,a,0\n1,c,0\n", "b"),
        ("1,a,0\n1,b,1\n", None),
        ("1,c,1\n1,a,0\n1,b,0\n", None),
        ("1,b,1\n", None),  # the click alone
    ],
)
def test_a_page_with_rows_for_some_items_has_one_for_each_that_was_looked_at(rows, missing, tmp_path):
    live = cb.Live(NAMES, 3)
    assert live.ask()[0].items == ("a", "b", "c")
    (tmp_path / "f.csv").write_text(f"page,item,clicked\n{rows}")
    if missing:
        with pytest.raises(
            ValueError, match=f"f.csv:2: page 1 shows {missing}, of which the file says.*nothing of this file"
        ):
            take(live, tmp_path / "f.csv")
    else:
        assert take(live, tmp_path / "f.csv") == (1, 1)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("page,item\n1,a\n2", True),
        ("page,position\n1,2\n2", True),
        ("page,position\n1,2\n2,", True),
        ("page,a,b,c\n1,0,1,0\n2,0,0", False),
        ("page,a,b,c\n1,0,1,0\n2,0,0,", False),
        ("page,a,b,c\n1,,1,\n2,,,", True),
    ],
)
def test_a_file_that_was_cut_off_in_its_last_line_is_refused(text, whole, tmp_path):
    live = cb.Live(list("abc"), 2, page_size=3)
    live.ask(2)
    (tmp_path / "f.csv").write_text(text)
    with pytest.raises(ValueError, match=r"f\.csv:3: the last line lacks its last value and its end"):
        take(live, tmp_path / "f.csv")
    assert live.status.told == 0
    (tmp_path / "f.csv").write_text(f"{text}\n")
    if whole:
        assert take(live, tmp_path / "f.csv") == (2, 2)
    else:
        with pytest.raises(ValueError, match=r"f\.csv:3: page 2 shows c, of which the file says neither 0 nor 1"):
            take(live, tmp_path / "f.csv")


def test_whole_pages_that_never_have_two_clicks_are_a_finding():
    def found(stops, n=300, rate=0.3):
        live, rng = cb.Live(NAMES, 2, page_size=3, reads="page"), np.random.default_rng(0)
        for page in live.ask(n):
            clicks = [place for place in (1, 2, 3) if rng.random() < rate]
            live.tell(page.id, clicks[:1] if stops else clicks)
        return [one.sentence for one in live.status.findings]

    (sentence,) = found(stops=True)
    assert "no page has two clicks" in sentence
    assert found(stops=False) == found(stops=True, n=15) == found(stops=False, n=40, rate=0.05) == []


def test_whether_pages_have_two_clicks_is_told_by_a_part_of_very_many(monkeypatch):
    live, rng = cb.Live(NAMES, 2, page_size=3, reads="page"), np.random.default_rng(0)
    live.tell_many([(page.id, first_click(page, rng, dict.fromkeys(NAMES, 0.2))) for page in live.ask(400)])
    monkeypatch.setattr("cascadebai_cli.live.live._SAMPLE", 400)
    of_all = live._expected_pairs(400)
    monkeypatch.setattr("cascadebai_cli.live.live._SAMPLE", 99)
    of_a_part = live._expected_pairs(400)
    assert of_a_part != of_all == pytest.approx(of_a_part, rel=0.4)


@pytest.mark.parametrize("version", [1, 3, 5])
def test_another_version_is_refused(version, tmp_path):
    cb.Live(NAMES, 2, path=tmp_path).close()
    with sqlite3.connect(tmp_path / "live.sqlite") as db:
        db.execute(f"UPDATE meta SET value = '{version}' WHERE key = 'version'")
    with pytest.raises(ValueError, match=rf"another version of this program \(format {version}, this one reads 4\)"):
        cb.Live.open(tmp_path)


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(tmp_path):
    live = cb.Live(NAMES, 2, path=tmp_path)
    pages = live.ask(200)
    live.tell_many((page.id, 1) for page in pages[:100])
    (size,) = live._state._db.execute("PRAGMA page_count").fetchone()
    live._state._db.execute(f"PRAGMA max_page_count = {size}")  # then SQLite says what it says on a full disk
    with pytest.raises(ValueError, match=r"is full.*nothing of this was written"):
        live.ask(5_000)
    live.close()
    assert [places is not None for places in books(tmp_path).values()] == [True] * 100 + [False] * 100
    again = cb.Live.open(tmp_path)
    again.tell_many((page.id, None) for page in pages[100:])
    assert again.status.told == 200


@pytest.mark.skipif(os.name != "posix", reason="needs limits of a process")
def test_a_process_that_may_write_no_more_says_so_in_one_sentence_and_all_is_taken_later(tmp_path):
    live = cb.Live(NAMES, 3, path=tmp_path / "t")
    pages = [page.id for page in live.ask(400)]
    live.close()
    (tmp_path / "clicks.csv").write_text("page,position\n" + "".join(f"{page},1\n" for page in pages))
    for words in ("take t clicks.csv", "show t -n 3000"):
        done = subprocess.run(
            f"ulimit -f 24; exec {sys.executable} -m cascadebai_cli live {words}",  # in blocks of 512 or 1024 bytes
            shell=True,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "its live.sqlite cannot be used" in done.stderr
        assert set(books(tmp_path / "t").values()) == {None}
    assert take(cb.Live.open(tmp_path / "t"), tmp_path / "clicks.csv") == (400, 400)
    assert list(books(tmp_path / "t").values()) == [[0]] * 400


def test_who_writes_while_another_writes_is_told_to_wait(tmp_path, monkeypatch):
    monkeypatch.setattr("cascadebai_cli.live.state._PATIENCE", 0.0)
    live, other = cb.Live(NAMES, 2, path=tmp_path), cb.Live.open(tmp_path)
    with live.asking(1):
        for one, words in ((other, "database is locked"), (live, "within a transaction")):
            with pytest.raises(ValueError, match=rf"{words}\).*let the other process or block that writes come to its"):
                one.ask()
    assert [len(other.ask()), live.status.asked] == [1, 2]


def test_a_file_that_cannot_be_written_to_is_one_sentence(tmp_path):
    live = cb.Live(NAMES, 2, path=tmp_path)
    live._state._db.execute("PRAGMA query_only = 1")
    with pytest.raises(ValueError, match="readonly"):
        live.ask()
    assert books(tmp_path) == {}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_to_is_one_sentence(tmp_path):
    cb.Live(NAMES, 2, path=tmp_path / "t").close()
    for path in (tmp_path / "t" / "live.sqlite", tmp_path / "t", tmp_path):
        path.chmod(0o500)
    with pytest.raises(ValueError, match="cannot be used"):
        cb.Live.open(tmp_path / "t").ask()
    with pytest.raises(ValueError, match="cannot be written to"):
        cb.Live(NAMES, 2, path=tmp_path / "new")
    tmp_path.chmod(0o700)


def test_a_file_in_the_place_of_the_directory_is_one_sentence(tmp_path):
    (tmp_path / "t").write_text("")
    with pytest.raises(ValueError, match="cannot be written to, as it is a file; name a new directory"):
        cb.Live(NAMES, 2, path=tmp_path / "t")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_what_was_acknowledged_is_there_once_whatever_was_killed(kills, tmp_path):
    directory = tmp_path / "t"
    cb.Live(NAMES, 3, page_size=3, path=directory).close()
    script = Path(__file__).parents[1] / "two_processes.py"
    subprocess.run([sys.executable, script, directory, str(kills)], check=True, env=environment())
    clicks = books(directory)
    lines = [line.split() for line in Path(f"{directory}.log").read_text().splitlines()]
    asked = Counter(int(line[1]) for line in lines if line[0] == "ask")
    told = [(int(line[1]), int(line[2])) for line in lines if line[0] == "tell"]
    assert len(told) > 3 * kills
    assert set(asked.values()) == {1}
    assert set(asked) <= set(clicks)
    assert all(clicks[page] == ([place - 1] if place else []) for page, place in told)


@pytest.mark.slow
@pytest.mark.parametrize("reads", ["click", "page"])
def test_a_million_pages_are_opened_in_less_than_five_seconds(reads, tmp_path):
    live = cb.Live([f"i{i}" for i in range(40)], 5, path=tmp_path, reads=reads)
    state: State = live._state
    with state.changing():
        state.add(1, [[i % 36 + j for j in range(5)] for i in range(1_000_000)])
        looks = [(item, place, block, 12, 3) for item in range(40) for place in range(5) for block in range(2000)]
        state._db.executemany("INSERT INTO looks VALUES (?, ?, ?, ?, ?)", looks)
        for change in (
            "UPDATE pages SET clicks = '[1]', told = id WHERE id <= 999000",
            "UPDATE counts SET T = 120000, S = 30000 + 10 * item",
        ):
            state._db.execute(change)
    live.close()
    start = time.perf_counter()
    opened = cb.Live.open(tmp_path)
    assert not opened.done
    assert opened.ask()[0].id == 1_000_001
    assert opened.status.told == 999_000
    assert time.perf_counter() - start < 5
