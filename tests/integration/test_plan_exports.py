"""`cascadebai plan` on exports as they are: one small file of each kind, and what is to be said of it."""

import json

import pytest
from sweeps import call

SLOTS = "item,slot,clicks,views\n" + "".join(
    f"i{i},{slot},{clicks},5000\n"
    for i, pair in enumerate([(271, 151), (306, 179), (353, 225), (376, 256), (450, 268), (513, 318), (565, 340)])
    for slot, clicks in enumerate(pair, start=1)
)
COUNTS = ("--items", "ad", "--clicks", "clicks", "--views", "views", "-K", 1)
BY_SLOT = ("--items", "item", "--clicks", "clicks", "--views", "views", "--position", "slot", "-K", 3)


def plan(folder, content, *words):
    """Plan from a log with as few runs as there can be."""
    (folder / "log.csv").write_text(content, encoding="utf-8")
    few = ("--trials", 2, "--learner", "cascadebai-kl", "--n-jobs", 1, "--quiet", "--format", "json")
    return call("plan", folder / "log.csv", *few, "--out", folder / "plan", *words)


def answer(folder, content, *words):
    """The content of `plan.json`."""
    result = plan(folder, content, *words)
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.mark.parametrize(
    ("row", "views", "said"),
    [("i0,9,2,2\n", 2, "position 9 (2 views)"), ("i0,9,0,0\n", 0, "position 9 (0 views)")],
)
def test_a_position_of_few_views_or_none_rules_nothing(tmp_path, monkeypatch, row, views, said):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.1)
    (tmp_path / "without").mkdir()
    found, without = answer(tmp_path, SLOTS + row, *BY_SLOT), answer(tmp_path / "without", SLOTS, *BY_SLOT)
    assert list(found["examination"]) == ["1", "2", "9"]
    assert found["examination"]["1"] == 1
    assert found["examination"]["2"] == pytest.approx(without["examination"]["2"], rel=0.02)
    assert found["rates"]["mean"] == pytest.approx(without["rates"]["mean"], rel=0.05)
    assert found["log"]["views"] == pytest.approx(without["log"]["views"], rel=0.01)
    assert any(said in note for note in found["log"]["notes"])


REFUSED = {
    "averages of positions": (
        "item,slot,clicks,views\na,1.0,5,50\nb,2.8,3,50\n",
        (*BY_SLOT[:-1], 1),
        "log.csv:3: slot 2.8 is an average of positions, from which nothing can be corrected; leave out --position",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_one_sentence(tmp_path, case):
    content, words, sentence = REFUSED[case]
    result = plan(tmp_path, content, *words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize(("place", "hinted"), [("2", True), ("2.8", False)])
def test_only_places_and_no_averages_are_hinted_at(tmp_path, place, hinted):
    log = f"ad,Position,clicks,views\na,1,500,1000\nb,{place},300,1000\nc,3,100,1000\n"
    notes = answer(tmp_path, log, *COUNTS)["log"]["notes"]
    assert any("looks like a position" in note for note in notes) == hinted
