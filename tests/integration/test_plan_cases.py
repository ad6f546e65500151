"""`cascadebai plan` on logs as platforms export them: the files in `tests/data`, and made ones of four layouts."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sweeps import call

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import Log, read_log
from cascadebai_cli.planning.options import Layout, Wanted
from cascadebai_cli.planning.positions import Corrected
from cascadebai_cli.planning.question import Question
from cascadebai_cli.planning.rates import RateLaw

DATA = Path(__file__).parents[1] / "data"
BY_SLOT = Layout("item", "clicks", "views", position="slot")


def asked(name: str, layout: Layout, **wanted: float) -> Question:
    return Question.of(DATA / f"{name}.csv", layout, Wanted(**wanted))


# --- Files of each kind ----------------------------------------------------------------------------------------------


def test_a_slot_that_is_rarely_seen_changes_the_answer_by_no_more_than_noise() -> None:
    """Nine two views: neither the scale of the correction nor a place of the page hangs on them."""
    found, without = (asked(name, BY_SLOT, K=3) for name in ("position_rare_slot", "position_rare_slot_without"))
    assert found.looks == pytest.approx(without.looks, rel=0.01)
    assert np.median(found.planned.efforts) == pytest.approx(np.median(without.planned.efforts), rel=0.15)
    assert found.planned.relative == pytest.approx(without.planned.relative, nan_ok=True)
    assert found.own == without.own
    assert any("little is known of how often position 9 (2 views)" in note for note in found.log.notes)


def test_a_slot_without_views_refuses_nothing() -> None:
    found, without = (asked(name, BY_SLOT, K=3) for name in ("position_zero_views", "position_rare_slot_without"))
    assert found.looks == pytest.approx(without.looks, rel=0.01)


AD = Layout("ad", "clicks", "views")
ADS = Layout("Ad group", "Clicks", "Impressions")
TOTALS = [
    ("totals_first", AD, 320, 3),
    ("totals_two", AD, 320, 3),
    ("totals_of_two_items", AD, 230, 2),
]


@pytest.mark.parametrize(("name", "layout", "clicks", "items"), TOTALS)
def test_totals_are_no_items(name: str, layout: Layout, clicks: int, items: int) -> None:
    log = read_log(DATA / f"{name}.csv", layout)
    assert (log.clicks.sum(), len(log.names)) == (clicks, items)
    assert any("left out" in note for note in log.notes)


def test_totals_of_several_levels_are_no_items() -> None:
    log = read_log(DATA / "google_ads_totals.csv", ADS)
    assert log.clicks.sum() == 5_988
    assert not {"--", ""} & set(log.names)


def test_the_grand_total_below_a_title_is_no_item() -> None:
    lines = (DATA / "ga4_grand_total.csv").read_text().splitlines()
    header = next(line for line in lines if line and not line.startswith("#")).split(",")
    log = read_log(DATA / "ga4_grand_total.csv", Layout(header[0], header[2], header[1]))
    assert "" not in log.names
    assert any("left out" in note for note in log.notes)


def test_rows_that_scatter_make_chances_smaller() -> None:
    found = asked("weeks_overdispersed", Layout("item", "clicks", "views"), K=2)
    assert 12 < found.log.dispersion < 22
    assert found.own_right < 0.8
    assert found.rates.homogeneity.p_value > 0.05


def test_items_are_ranked_by_their_expected_rates() -> None:
    found = asked("few_views_rank_first", Layout("item", "clicks", "views"), K=3)
    assert found.own_right > 0.3
    assert min(found.log.views[list(found.own)]) > 8


def test_a_click_may_come_a_day_after_its_view() -> None:
    log = read_log(DATA / "clicks_exceed_in_one_row.csv", AD)
    assert log.clicks.sum() == 47


# --- Made exports ----------------------------------------------------------------------------------------------------

RATES = {"red": 0.12, "blue": 0.11, "green, light": 0.09, "grey": 0.05}


def export(platform: str, seed: int) -> tuple[str, Layout, int]:
    """An export in the layout of a platform, its layout, and its clicks."""
    rng = np.random.default_rng(seed)
    views = {name: int(rng.integers(1_000, 90_000)) for name in RATES}
    clicks = {name: int(rng.binomial(n, RATES[name])) for name, n in views.items()}
    total = sum(clicks.values())
    match platform:
        case "search console":
            rows = [f'"{name}",{clicks[name]},{n},{clicks[name] / n:.2%},2.{seed}' for name, n in views.items()]
            header = "Top queries,Clicks,Impressions,CTR,Position"
            return "\n".join([header, *rows]) + "\n", Layout("Top queries", "Clicks", "Impressions"), total
        case "ad platform, German":
            dotted = lambda value: f"{value:,}".replace(",", ".")  # noqa: E731
            rows = [f"{name};{dotted(clicks[name])};{dotted(n)}" for name, n in views.items()]
            rows.append(f"Summe;{dotted(total)};{dotted(sum(views.values()))}")
            head = ["Bericht: Anzeigen", "01.04.2026 - 30.04.2026", "", "Anzeige;Klicks;Impressionen"]
            return "\r\n".join([*head, *rows]) + "\r\n", Layout("Anzeige", "Klicks", "Impressionen", decimal=","), total
        case "social network":
            rows = [f'"{name}"\t{clicks[name]}\t{n}' for name, n in views.items()]
            rows += [f"ad {i}\t\t{40 + i}" for i in range(3)]
            first = f"\t{total}\t{sum(views.values()) + 123}"
            return (
                "\n".join(["Ad name\tLink clicks\tReach", first, *rows]),
                Layout("Ad name", "Link clicks", "Reach"),
                total,
            )
        case _:
            days = [f"2026-04-{day:02}" for day in range(1, 9) if day != 5]
            share = {name: rng.multinomial(n, [1 / len(days)] * len(days)) for name, n in views.items()}
            hit = {name: rng.multinomial(clicks[name], [1 / len(days)] * len(days)) for name in views}
            rows = [f'{day},"{name}",{hit[name][i]},{share[name][i]}' for i, day in enumerate(days) for name in views]
            layout = Layout("creative", "clicks", "impressions", time="day")
            return "\n".join(["day,creative,clicks,impressions", *rows]), layout, total


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("platform", ["search console", "ad platform, German", "social network", "ad server, by day"])
def test_made_exports_are_read_rightly(tmp_path: Path, platform: str, seed: int) -> None:
    content, layout, clicks = export(platform, seed)
    (tmp_path / "log.csv").write_text(content, encoding="utf-16" if platform == "social network" else "utf-8")
    log = read_log(tmp_path / "log.csv", layout)
    assert log.clicks.sum() == clicks
    assert set(RATES) <= set(log.names)
    said = "\n".join(log.notes)
    expected = {
        "search console": "",
        "ad platform, German": "the header is on line 4; the lines above it are left out",
        "social network": "Link clicks is empty in 3 rows and 0 in none: empty is read as 0",
        "ad server, by day": "day has no rows at 2026-04-05",
    }
    assert expected[platform] in said
    assert ("left out" in said) == (platform in ("ad platform, German", "social network"))


# --- Files that went wrong -------------------------------------------------------------------------------------------

GOOD = "ad,clicks,views\nred,120,1000\nblue,110,1000\n"
REFUSED = {
    "no header": ("red,120,1000\nblue,110,1000\n", "this looks like a row of values: write a line with the names of"),
    "a second table": (GOOD + "\nland,Klicks,Views\nDE,5,50\n", "log.csv:5: a second table seems to begin here (land"),
    "rounded ids": (
        "ad,clicks,views\n1.23E+17,1,9\n1.23E+17,2,9\nb,1,9\n",
        "1.23E+17 is a number that a",
    ),
    "one empty cell": (GOOD + "green,,90\n", "log.csv:4: clicks is empty; write a number"),
    "a footer": (
        GOOD + "Exported on 2025-03-01,,\n",
        "log.csv:4: clicks is empty; write a number, or remove the row if it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_went_wrong_is_one_sentence(tmp_path: Path, case: str) -> None:
    content, sentence = REFUSED[case]
    (tmp_path / "log.csv").write_text(content)
    with pytest.raises(ConfigError) as refused:
        read_log(tmp_path / "log.csv", AD)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_can_be_read_nevertheless_is_said(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(GOOD + "ad,clicks,views\n1.23E+17,90,1000\n")
    log = read_log(tmp_path / "log.csv", AD)
    assert log.clicks.sum() == 320
    said = "\n".join(log.notes)
    assert "line 4 is the header again and is left out" in said
    assert "1.23E+17 is a number that a spreadsheet has rounded: the names of 1 items" in said


def test_a_reader_who_has_enough_ends_it_well(tmp_path: Path) -> None:
    """As `cascadebai plan log.csv | head -1`: the pipe is closed before the answer is printed."""
    (tmp_path / "log.csv").write_text(GOOD + "green,90,1000\n")
    words = ["plan", "log.csv", "--items", "ad", "--clicks", "clicks", "--views", "views", "-K", "1", "--trials", "2"]
    command = [sys.executable, "-m", "cascadebai", *words, "--n-jobs", "1", "--quiet", "--epsilon", "0.05"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as plan:
        assert plan.stdout
        assert plan.stderr
        plan.stdout.close()
        told = plan.stderr.read()
    assert (plan.returncode, told) == (0, b"")
    assert (tmp_path / "results" / "plan_log_K1" / "plan.json").exists()


# --- Drift, pages, a horizon -----------------------------------------------------------------------------------------


def days(slope: float, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    rows = [
        f"{day},item {i},{rng.binomial(2_000, 0.1 + (slope * day if i == 3 else 0))},2000"
        for day in range(20)
        for i in range(8)
    ]
    return "\n".join(["day,item,clicks,views", *rows])


TIMED = Layout("item", "clicks", "views", time="day")


def test_a_rate_that_falls_is_said(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(days(-0.002))
    said = "\n".join(read_log(tmp_path / "log.csv", TIMED).notes)
    assert "the rate of item 3 falls over day (p = " in said


def test_rates_that_stay_are_hardly_ever_said_to_drift(tmp_path: Path) -> None:
    """At a level of 1 % for all items together, 3 of 60 logs are too many."""
    drifting = 0
    for seed in range(60):
        (tmp_path / "log.csv").write_text(days(0.0, seed))
        drifting += "no rate drifts clearly over day" not in "\n".join(read_log(tmp_path / "log.csv", TIMED).notes)
    assert drifting <= 3


def test_a_time_is_a_number_or_a_day(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("day,item,clicks,views\nsoon,a,1,9\n2,b,1,9\n")
    with pytest.raises(ConfigError, match="day 'soon' is neither a number nor a day such as 2026-04-01"):
        read_log(tmp_path / "log.csv", TIMED)


W = np.linspace(0.35, 0.05, 8)


def cascade(rng: np.random.Generator, pages: int, *, ranked: bool) -> str:
    """Pages of four items, read from the top to the first click; a row for each item, in any order of rows."""
    rows = []
    for page in range(pages):
        chosen = rng.choice(8, 4, replace=False)
        shown = np.sort(chosen) if ranked else chosen
        clicked = False
        for place, item in enumerate(shown, start=1):
            click = not clicked and rng.random() < W[item]
            clicked |= bool(click)
            rows.append(f"{page},item {item},{place},{int(click)}")
    return "\n".join(["page,item,place,click", *rng.permutation(rows)])


def held(log: Log, seed: int) -> tuple[int, int]:
    """How many 90 % intervals hold the rates, and how many there are."""
    counts = Corrected.of(log) if not isinstance(log, Corrected) else log
    law = RateLaw.of(*counts.counts(60, np.random.default_rng(seed)), 60, seed)
    low, high = law.interval()
    true = W[[int(name.split()[1]) for name in counts.log.names]]
    return int(((low <= true) & (true <= high)).sum()), len(true)


@pytest.mark.parametrize("ranked", [True, False])
def test_intervals_of_a_log_of_pages_hold_as_often_as_they_say(tmp_path: Path, ranked: bool) -> None:
    by_page, naive = np.zeros(2), np.zeros(2)
    for seed in range(20):
        (tmp_path / "log.csv").write_text(cascade(np.random.default_rng([seed, ranked]), 500, ranked=ranked))
        layout = {"items": "item", "clicks": "click", "event": True}
        by_page += held(read_log(tmp_path / "log.csv", Layout(**layout, page="page", position="place")), seed)
        naive += held(read_log(tmp_path / "log.csv", Layout(**layout)), seed)
    assert 0.84 < by_page[0] / by_page[1] < 0.96
    assert naive[0] / naive[1] < 0.6


def test_a_page_needs_events(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(GOOD)
    with pytest.raises(ConfigError, match="a log of counts has no column --page ad; leave it out"):
        read_log(tmp_path / "log.csv", Layout("ad", "clicks", "views", page="ad"))


def test_a_horizon_sets_what_is_gained_against_what_is_lost(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("ad,clicks,views\na,12,100\nb,10,100\nc,2,100\n")
    words = ("--items", "ad", "--clicks", "clicks", "--views", "views", "-K", 1, "--trials", 4, "--n-jobs", 1)
    few = (*words, "--learner", "cascadebai-kl", "--quiet", "--per-day", 1_000_000)
    short, long = (
        call("plan", tmp_path / "log.csv", *few, "--horizon", days, "--out", tmp_path / f"{days}") for days in (1, 1000)
    )
    assert "clicks in 1000 days, without a test" in long.out.splitlines()[2]
    assert "in 1000 days, such a test and then the items that it finds bring" in long.out
    gained = [
        json.loads((tmp_path / name / "plan.json").read_text())["cost"]["clicks_gained"] for name in ("1", "1000")
    ]
    assert gained[0]["high"] < gained[1]["high"]
    assert short.code == long.code == 0
    refused = call("plan", tmp_path / "log.csv", *words, "--horizon", 3)
    assert (refused.code, "--horizon needs --per-day" in refused.err) == (2, True)
