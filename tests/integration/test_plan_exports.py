"""`cascadebai plan` on exports as they are: one small file of each kind, and what is to be said of it."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweeps import call

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.live.live import Live
from cascadebai_cli.logs.read import read_log
from cascadebai_cli.planning.options import Layout, Wanted
from cascadebai_cli.planning.question import Question

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


@pytest.mark.parametrize(("learner", "said"), [("kl-lucb++", True), ("cascadebai-kl", False)])
@pytest.mark.parametrize("asked", [("--epsilon", 0.04), ("--budget", 2_000)])
def test_a_plan_says_in_which_order_lists_are_to_be_shown_where_places_differ(tmp_path, learner, said, asked):
    (tmp_path / "log.csv").write_text(SLOTS)
    words = (*BY_SLOT, *asked, "--trials", 2, "--learner", learner, "--n-jobs", 1, "--quiet")
    result = call("plan", tmp_path / "log.csv", *words, "--out", tmp_path / "plan")
    assert result.code == 0, result.err
    assert said == ("show each list in a random order, and count every item of a page" in result.out)
    assert said == ("`cascadebai live start --reads page` runs such a test" in result.out)
    assert "the test begins with" not in result.err


@pytest.mark.parametrize("learner", ["kl-lucb++", "cascadebai-kl"])
def test_the_test_that_a_plan_begins_reads_whole_pages_where_places_differ(tmp_path, learner):
    rows = [line.split(",") for line in SLOTS.splitlines()[1:]]
    few = "".join(f"{item},{slot},{int(clicks) // 20},250\n" for item, slot, clicks, _ in rows)
    (tmp_path / "log.csv").write_text("item,slot,clicks,views\n" + few)
    words = (*BY_SLOT, "--epsilon", 0.015, "--trials", 2, "--learner", learner, "--n-jobs", 1)
    result = call("plan", tmp_path / "log.csv", *words, "--out", tmp_path / "plan")
    begins = [line for line in result.err.splitlines() if line.startswith("the test begins with: cascadebai ")]
    assert len(begins) == (learner == "kl-lucb++")
    for line in begins:
        words = shlex.split(line.partition("cascadebai ")[2])
        looks = json.loads((tmp_path / "plan" / "plan.json").read_text())["examination"]
        assert float(words[words.index("--epsilon") + 1]) == pytest.approx(0.015 * (1 + looks["2"] * 2) / 3, rel=1e-3)
        assert call("live", "start", tmp_path / "test", *words[3:]).code == 0
        assert Live.open(tmp_path / "test").terms.reads == "page"


HEADER = "ad,clicks,views\n"
COLOURS = "red,120,1000\nblue,110,1000\ngreen,90,1000\n"
TOTALS = {
    "first": (HEADER + "Total,320,3000\n" + COLOURS, 320, "line 2 (Total) is a total and is left out"),
    "two": (
        HEADER + COLOURS + "Total: filtered,320,3000\nTotal: all,320,3000\n",
        320,
        "(Total: filtered) and 6 (Total",
    ),
    "of two items": (HEADER + "red,120,1000\nblue,110,1000\nTotal,230,2000\n", 230, "line 4 (Total) is a total"),
    "in German": (HEADER + COLOURS + "Summe,320,3000\n", 320, "line 5 (Summe) is a total"),
    "of a filter that hides rows": (HEADER + COLOURS + "--,321,3001\n--,0,0\n", 320, "5 (--) and 6 (--) are totals"),
    "without a name": (
        "# Exploration 1\n\nad,views,clicks\n,3000,320,Grand total\nred,1000,120\nblue,1000,110\ngreen,1000,90\n",
        320,
        "line 4 (without a name) is a total",
    ),
    "with another name": (HEADER + COLOURS + "all of them,320,3000\n", 320, "line 5 (all of them) is a total"),
}


@pytest.mark.parametrize("case", TOTALS)
def test_a_row_of_sums_is_no_item(tmp_path, case):
    content, clicks, sentence = TOTALS[case]
    found = answer(tmp_path, content, *COUNTS, "--epsilon", 0.05)
    assert found["log"]["clicks"] == clicks
    assert any(sentence in note for note in found["log"]["notes"])


def test_an_item_whose_name_begins_like_a_total_is_one(tmp_path):
    assert answer(tmp_path, HEADER + COLOURS + "Total recall,90,900\n", *COUNTS, "--epsilon", 0.05)["log"]["items"] == 4


def test_clicks_are_held_against_the_views_of_an_item_and_not_of_a_row(tmp_path):
    found = answer(tmp_path, HEADER + "a,2,1\na,10,300\nb,20,300\nc,15,300\n", *COUNTS, "--epsilon", 0.02)
    assert found["log"]["clicks"] == 47
    assert any(note.startswith("1 row has more clicks than views, but") for note in found["log"]["notes"])


def test_a_click_in_a_few_views_is_not_what_the_log_ranks_first(tmp_path):
    items = "".join(f"item {i},{100 - 9 * i},1000\n" for i in range(8))
    (tmp_path / "log.csv").write_text(HEADER + items + "new,1,5\n")
    question = Question.of(tmp_path / "log.csv", Layout("ad", "clicks", "views"), Wanted(K=2))
    assert question.own == (0, 1)


@pytest.mark.parametrize(("rival", "says"), [(250, "no test is needed: a, which"), (498, "a test is needed: a, which")])
def test_the_first_line_says_whether_a_test_is_needed(tmp_path, rival, says):
    result = plan(tmp_path, HEADER + f"a,500,1000\nb,{rival},1000\nc,100,1000\n", *COUNTS, "--format", "text")
    assert result.out.startswith(says)
    assert "the best items in place of these would bring " in result.out.splitlines()[1]


def test_truths_are_rounded_so_that_no_processor_changes_a_seed(tmp_path):
    (tmp_path / "log.csv").write_text(HEADER + COLOURS)
    question = Question.of(tmp_path / "log.csv", Layout("ad", "clicks", "views"), Wanted(K=1))
    assert (question.truths == np.round(question.truths, 12)).all()


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


def test_rows_that_scatter_more_than_clicks_widen_what_is_said(tmp_path):
    """Weeks in which an item is up to half as good again: the log alone would be far too sure."""
    rng = np.random.default_rng(3)
    weeks = "".join(
        f"item {i},{rng.binomial(50_000, rate * rng.uniform(0.5, 1.5))},50000\n"
        for i, rate in enumerate((0.02, 0.019, 0.018))
        for _ in range(40)
    )
    (tmp_path / "log.csv").write_text(HEADER + weeks)
    question = Question.of(tmp_path / "log.csv", Layout("ad", "clicks", "views"), Wanted(K=1))
    assert 30 < question.log.dispersion < 150
    assert any("scatter" in note for note in question.log.notes)
    assert question.rates.homogeneity.p_value > 0.01
    assert question.own_right < 0.95


def test_rows_that_scatter_as_clicks_do_change_nothing(tmp_path):
    rng = np.random.default_rng(4)
    rows = "".join(f"item {i},{rng.binomial(900, 0.1 + 0.02 * i)},900\n" for i in range(5) for _ in range(20))
    (tmp_path / "log.csv").write_text(HEADER + rows)
    assert read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views")).dispersion == 1


def test_points_between_thousands_stand_beside_commas_before_decimals(tmp_path: Path) -> None:
    """Before, 1.000 was 1 if another number of the column was 30,0."""
    path = tmp_path / "log.csv"
    path.write_text("ad;clicks;views\na;30,0;100,0\nb;20,0;100,0\nc;1.000;5.000\n")
    log = read_log(path, Layout("ad", "clicks", "views"))
    assert (log.clicks.tolist(), log.views.tolist()) == ([30, 20, 1000], [100, 100, 5000])
    path.write_text("ad;clicks;views\na;1.200,0;10.000,0\nb;30,5;900,0\nc;10;800\n")
    log = read_log(path, Layout("ad", "clicks", "views"))
    assert (log.clicks.tolist(), log.views.tolist()) == ([1200, 30.5, 10], [10_000, 900, 800])
    assert any("1.200,0 in column clicks is read as 1200.0" in note for note in log.notes)
    path.write_text("ad;clicks;views\na;30,5;100\nb;20.5;100\n")
    with pytest.raises(ConfigError, match=r"column clicks: 20\.5 has a point, others a comma before decimals"):
        read_log(path, Layout("ad", "clicks", "views"))


def test_a_row_of_averages_is_no_item(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("ad,clicks,views\na,30,100\nb,20,100\nc,10,100\nAverage,20,100\n")
    log = read_log(path, Layout("ad", "clicks", "views"))
    assert list(log.names) == ["a", "b", "c"]
    assert any("line 5 (Average) is a total or an average and is left out" in note for note in log.notes)


def test_page_numbers_that_begin_anew_are_refused(tmp_path: Path) -> None:
    """Before, the pages of all days with one number were one page."""
    path = tmp_path / "log.csv"
    path.write_text("day,pv,ad,clicked\n" + "".join(f"{d},1,{ad},0\n" for d in (1, 2) for ad in "abc"))
    with pytest.raises(ConfigError, match="page 1 shows a twice"):
        read_log(path, Layout("ad", "clicked", event=True, page="pv"))


def test_days_may_be_written_without_signs(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    days = ["20261128", "20261129", "20261130", "20261202"]
    path.write_text("day,ad,clicks,views\n" + "".join(f"{day},{ad},5,50\n" for day in days for ad in "abc"))
    log = read_log(path, Layout("ad", "clicks", "views", time="day"))
    assert any("day has no rows at 2026-12-01" in note for note in log.notes)


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("%d.%m.%Y", "2026-12-01"),
        ("%m/%d/%Y", "2026-12-01"),
        ("%d/%m/%y", "2026-12-01"),
        ("%b %d, %Y", "2026-12-01"),
        ("%d %B %Y", "2026-12-01"),
        ("%Y/%m/%d", "2026-12-01"),
    ],
)
def test_days_are_read_as_reports_write_them(tmp_path: Path, written: str, missing: str) -> None:
    days = [pd.Timestamp(f"2026-{day}") for day in ("11-28", "11-29", "11-30", "12-02")]
    rows = [f'"{day.strftime(written)}",{ad},5,50\n' for day in days for ad in "abc"]
    (tmp_path / "log.csv").write_text("day,ad,clicks,views\n" + "".join(rows))
    log = read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views", time="day"))
    assert any(f"day has no rows at {missing}" in note for note in log.notes)


def test_weeks_of_the_year_are_times(tmp_path: Path) -> None:
    rows = [f"2026-W{week},{ad},5,50\n" for week in (50, 51, 52, 53) for ad in "abc"] + ["2027-W02,a,5,50\n"]
    (tmp_path / "log.csv").write_text("week,ad,clicks,views\n" + "".join(rows))
    log = read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views", time="week"))
    assert any("week has no rows at 2027-01-04" in note for note in log.notes)


def test_days_that_may_be_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    rows = [f"0{day}/02/2026,{ad},5,50\n" for day in (1, 2, 3) for ad in "abc"]
    (tmp_path / "log.csv").write_text("day,ad,clicks,views\n" + "".join(rows))
    with pytest.raises(
        ConfigError, match=r"log\.csv: day 01/02/2026 may be 2026-02-01 or 2026-01-02; write days as 2026-04-01"
    ):
        read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views", time="day"))


def test_one_day_that_cannot_be_read_is_named_alone(tmp_path: Path) -> None:
    rows = [f"{day}.11.2026,{ad},5,50\n" for day in (28, 29, 30) for ad in "abc"] + ["soon,a,5,50\n"]
    (tmp_path / "log.csv").write_text("day,ad,clicks,views\n" + "".join(rows))
    with pytest.raises(ConfigError, match=r"log\.csv:11: day 'soon' is neither a number nor a day"):
        read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views", time="day"))


@pytest.mark.parametrize(
    ("encoding", "title", "columns"),
    [
        ("gb18030", "GB 18030", ("广告", "点击", "展示")),
        ("cp932", "Shift JIS", ("広告", "クリック", "表示")),
        ("cp1251", "Windows-1251", ("баннер", "клики", "показы")),
        ("cp1252", "Windows-1252", ("Anzeige", "Klicks", "Aufrüfe")),
    ],
)
def test_an_encoding_from_before_utf_8_is_told_by_the_columns(tmp_path: Path, encoding, title, columns) -> None:
    text = ",".join(columns) + f"\n{columns[0]} 1,20,200\nb,10,200\n"
    (tmp_path / "log.csv").write_bytes(text.encode(encoding))
    log = read_log(tmp_path / "log.csv", Layout(*columns))
    assert log.names == (f"{columns[0]} 1", "b")
    assert any(f"is read as {title}" in note for note in log.notes)


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gb18030", "红色横幅"),
        ("cp932", "赤いバナー"),
        ("big5", "紅色橫幅"),
        ("cp949", "빨간배너"),
        ("cp1251", "красный"),
    ],
)
def test_names_of_another_alphabet_under_plain_columns_are_refused(tmp_path: Path, encoding, names) -> None:
    """Before, they were read as Windows-1252."""
    (tmp_path / "log.csv").write_bytes(f"ad,clicks,views\n{names},20,200\nb,10,200\n".encode(encoding))
    with pytest.raises(ConfigError, match=r"log\.csv is not UTF-8 text.*; save it as CSV in UTF-8"):
        read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views"))


NESTED = [
    "All Search,505,8500",
    "Brand,360,4500",
    "red,200,2500",
    "blue,160,2000",
    "Generic,145,4000",
    "green,105,2500",
]
NESTED += ["grey,40,1500", "All Display,123,3700", "Banners,75,2600", "a,52,1500", "b,23,1100", "Films,48,1100"]
NESTED += ["c,31,600", "d,17,500"]


@pytest.mark.parametrize("grand", [[], ["Everything,628,12200"]])
@pytest.mark.parametrize("way", [1, -1])
def test_groups_of_groups_are_no_items(tmp_path: Path, grand: list[str], way: int) -> None:
    """Before, all sums of a pivot of two levels without a total were items."""
    counts = _counts_in(tmp_path, [*grand, *NESTED][::way])
    assert sorted(counts) == ["a", "b", "blue", "c", "d", "green", "grey", "red"]
    assert counts["red"] == (200, 2500)


def test_groups_of_groups_may_have_one_row(tmp_path: Path) -> None:
    rows = ["A,195,4100", "C1,165,3200", *ADS[:2], "C2,30,900", ADS[2], "B,9,100", "C3,9,100", "x,9,100"]
    for total in ([], ["Total,204,4200"]):
        assert _counts_in(tmp_path, [*rows, *total]) == {**COUNTED, "x": (9, 100)}


def test_items_that_form_groups_of_groups_by_chance_stay(tmp_path: Path) -> None:
    rows = ["a,1,10", "b,1,10", "c,2,20", "d,1,10", "e,1,10", "f,2,20", "g,4,40"]
    assert len(_counts_in(tmp_path, rows)) == 7


GROUPS = [["red,200,2000", "blue,160,2000", "Search,360,4000"], ["green,100,2000", "grey,80,1500", "Display,180,3500"]]


@pytest.mark.parametrize("grand", [[], ["All,540,7500"]])
@pytest.mark.parametrize("way", [1, -1])
def test_rows_that_sum_groups_are_no_items(tmp_path: Path, grand: list[str], way: int) -> None:
    """Before, the two campaigns were items beside their ads."""
    rows = [*GROUPS[0], *GROUPS[1], *grand][::way]
    (tmp_path / "log.csv").write_text("\n".join(["ad,clicks,views", *rows]) + "\n")
    log = read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views"))
    assert sorted(log.names) == ["blue", "green", "grey", "red"]
    assert any("(Search)" in note and "are totals and are left out" in note for note in log.notes)


def test_an_item_that_is_the_sum_of_two_others_by_chance_stays(tmp_path: Path) -> None:
    rows = ["a,1,10", "b,2,20", "c,3,30", "d,9,40"]
    (tmp_path / "log.csv").write_text("\n".join(["ad,clicks,views", *rows]) + "\n")
    assert read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views")).names == ("a", "b", "c", "d")


def _counts_in(folder: Path, rows: list[str], header: str = "ad,clicks,views") -> dict[str, tuple[float, float]]:
    """Return clicks and views of the items of a log with the columns ad, clicks and views."""
    (folder / "log.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    log = read_log(folder / "log.csv", Layout("ad", "clicks", "views"))
    return dict(zip(log.names, zip(log.clicks, log.views, strict=True), strict=True))


ADS = ["red,120,2000", "blue,45,1200", "green,30,900"]
COUNTED = {"red": (120, 2000), "blue": (45, 1200), "green": (30, 900)}
PIVOTS = {
    "a group of one row": ["C1,165,3200", *ADS[:2], "C2,30,900", ADS[2], "Grand Total,195,4100"],
    "a group of one row, without a total": ["C1,165,3200", *ADS[:2], "C2,30,900", ADS[2]],
    "groups above their sums": [*ADS[:2], "C1 Total,165,3200", ADS[2], "C2 Total,30,900", "Grand Total,195,4100"],
    "groups without names": [*ADS[:2], ",165,3200", ADS[2], ",30,900", ",195,4100"],
    "groups of one row, without names": [f"{row}\n,{row.split(',', 1)[1]}" for row in ADS],
}


@pytest.mark.parametrize("case", PIVOTS)
def test_sums_of_groups_of_one_row_are_no_items(tmp_path: Path, case: str) -> None:
    """Before, such a group made all sums of the file items."""
    assert _counts_in(tmp_path, PIVOTS[case]) == COUNTED


def test_a_group_without_clicks_and_views_is_no_item(tmp_path: Path) -> None:
    rows = ["C1,165,3200", *ADS[:2], "C2,0,0", "green,0,0", "grey,0,0", "Grand Total,165,3200"]
    assert list(_counts_in(tmp_path, rows)) == ["red", "blue", "green", "grey"]


@pytest.mark.parametrize(
    ("rows", "times"),
    [
        (["C1,120,2000", ADS[0], "C2,45,1200", ADS[1], "Total,165,3200"], 2),
        (
            [
                ADS[0],
                "A,195,4100",
                "C1,165,3200",
                ADS[1],
                "C2,30,900",
                ADS[2],
                "B,9,100",
                "C3,9,100",
                "x,9,100",
                "Total,204,4200",
            ],
            3,
        ),
    ],
)
def test_sums_that_cannot_be_told_from_items_are_refused(tmp_path: Path, rows: list[str], times: int) -> None:
    with pytest.raises(ConfigError, match=f"the rows add up to {times} times the total on line .* keep the rows of it"):
        _counts_in(tmp_path, rows)


@pytest.mark.parametrize(
    "rows",
    [
        ["a,1,10", "b,2,10", "c,3,10", "d,6,30"],
        ["a,1,10", "b,1,10", "c,2,20", "d,1,5", "e,1,5", "f,2,10"],
        ["a,0,100", "b,0,100", "c,0,200", "d,0,50", "e,0,50", "f,0,100"],
        ["a,20,200", *(f"{name},10,100" for name in "bcdefgh")],
        ["Total Care,20,200", "Total - new look,30,210", "Media,90,900", "Mean,15,90"],
    ],
)
def test_items_that_look_like_sums_by_chance_or_by_name_stay(tmp_path: Path, rows: list[str]) -> None:
    assert list(_counts_in(tmp_path, rows)) == [row.split(",")[0] for row in rows]


TOTAL_NAMES = [
    "合計",
    "总计",
    "Итого",
    "Totale",
    "Totaal",
    "Razem",
    "Total (3)",
    "Total of 3 results",
    "Results from 3 ads",
]


@pytest.mark.parametrize("name", [*TOTAL_NAMES, ""])
@pytest.mark.parametrize("way", [1, -1])
def test_totals_of_any_report_are_no_items_where_a_filter_hides_rows(tmp_path: Path, name: str, way: int) -> None:
    assert _counts_in(tmp_path, [*ADS, f"{name},250,5000"][::way]) == COUNTED


def test_totals_alike_on_every_day_are_no_sums_of_groups(tmp_path: Path) -> None:
    rows = [*ADS, "Total,195,4100"] * 3
    assert _counts_in(tmp_path, rows) == {name: (3 * k, 3 * n) for name, (k, n) in COUNTED.items()}


def _notes_of_days(folder: Path, days: list[str]) -> tuple[str, ...]:
    rows = [f'"{day}",{ad},5,50' for day in days for ad in "abc"]
    (folder / "log.csv").write_text("\n".join(["day,ad,clicks,views", *rows]) + "\n", encoding="utf-8")
    return read_log(folder / "log.csv", Layout("ad", "clicks", "views", time="day")).notes


GAPS = {
    "days of a spreadsheet": (["46320", "46321", "46322", "46324"], "2026-10-28"),
    "days of a spreadsheet, with hours": (["46320,25", "46321,25", "46322,25", "46324,25"], "2026-10-28 06:00"),
    "seconds": (["1792886400", "1792972800", "1793059200", "1793232000"], "2026-10-28"),
    "milliseconds": (["1792886400000", "1792972800000", "1793059200000", "1793232000000"], "2026-10-28"),
    "hours without signs": (["2026102522", "2026102523", "2026102600", "2026102602"], "2026-10-26 01:00"),
    "hours of a zone": ([f"2026-10-25 {hour}:00:00 UTC" for hour in (10, 11, 12, 14)], "2026-10-25 13:00"),
    "months without signs": (["202610", "202611", "202612", "202702"], "2027-01"),
    "months": (["2026-07", "2026-08", "2026-09", "2026-11"], "2026-10"),
    "months by name": (["October 2026", "November 2026", "December 2026", "February 2027"], "2027-01"),
    "weeks by name": (["KW 1", "KW 2", "KW 3", "KW 5"], "4"),
    "weeks from day to day": (
        ["2026-10-05 - 2026-10-11", "2026-10-12 - 2026-10-18", "2026-10-19 - 2026-10-25", "2026-11-02 - 2026-11-08"],
        "2026-10-26",
    ),
    "days with a time": ([f"{day}.10.2026 10:00" for day in (25, 26, 27, 29)], "2026-10-28"),
    "days with a time before noon": ([f"10/{day}/26, 1:00 AM" for day in (25, 26, 27, 29)], "2026-10-28"),
    "days of the week": (["So, 25.10.2026", "Mo, 26.10.2026", "Di, 27.10.2026", "Do, 29.10.2026"], "2026-10-28"),
    "days in Japanese": ([f"2026年10月{day}日" for day in (25, 26, 27, 29)], "2026-10-28"),
}


@pytest.mark.parametrize("case", GAPS)
def test_times_of_any_report_are_read(tmp_path: Path, case: str) -> None:
    """Before, some were refused, and a gap among others was told at a day of another year, or in no words at all."""
    days, missing = GAPS[case]
    assert f"day has no rows at {missing}" in _notes_of_days(tmp_path, days)


@pytest.mark.parametrize(
    "days",
    [["202610", "202611", "202612", "202701"], ["202651", "202652", "202653", "202701"]],
    ids=["months", "weeks"],
)
def test_no_month_and_no_week_is_missing_at_the_turn_of_the_year(tmp_path: Path, days: list[str]) -> None:
    assert not any("has no rows" in note for note in _notes_of_days(tmp_path, days))


def test_a_fault_of_many_rows_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"12 rows are not usable\. Lines 2, 3, 4 and 9 more: day 'soon' is neither"
    ) as told:
        _notes_of_days(tmp_path, ["soon"] * 4)
    assert str(told.value).count("soon") == 1


def test_remarks_below_the_rows_are_no_rows(tmp_path: Path) -> None:
    assert _counts_in(tmp_path, [*ADS, "# ---", "# end"]) == COUNTED
    rows = [*ADS, "", "# by day", "day,clicks,views", "1,2,3"]
    with pytest.raises(ConfigError, match=r"log\.csv:7: a second table seems to begin here \(day, clicks, views\)"):
        _counts_in(tmp_path, rows)


def test_rates_are_no_counts(tmp_path: Path) -> None:
    """Before, 6 % of 2,000 views were 0.06 clicks."""
    with pytest.raises(ConfigError, match=r"column clicks has rates such as 0\.06 and no counts"):
        _counts_in(tmp_path, ["red,0.06,2000", "blue,0.04,1200", "green,0,900"])
    assert _counts_in(tmp_path, ["red,0.5,1", "blue,2,3"]) == {"red": (0.5, 1), "blue": (2, 3)}


def test_a_column_without_a_name_is_no_item(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b,\n1,0,\n0,1,\n")
    assert read_log(tmp_path / "log.csv", Layout(wide=True)).names == ("a", "b")
    (tmp_path / "log.csv").write_text(",a,b\n0,1,0\n1,0,1\n")
    with pytest.raises(ConfigError, match="a column has no name; give each item its name"):
        read_log(tmp_path / "log.csv", Layout(wide=True))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_may_lack_its_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "log.csv").write_bytes("ad\tclicks\tviews\n靴,20\t20\t200\nb\t10\t200\n".encode(encoding))
    assert read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views")).names == ("靴,20", "b")
