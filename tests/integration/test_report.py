"""The report as a reader gets it: self-contained, complete, accessible."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sweeps import call, refusal
from synthetic import scaling_config, write_results

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Elements with their attributes, text, and what is wrong with the nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "title"):
            self.text.append(data)

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def studies(folder: Path) -> list[Path]:
    fits = scaling_config(2, K=[20, 30, 40, 50, 60], title="Fits & <bounds>")
    pair = [{"name": name, "algorithm": "cascadebai"} for name in ("CascadeBAI", "twin")]
    pair[1]["feedback"] = "semi-bandit"
    curves = scaling_config(1, study="figure2", K=[20, 30], learners=pair, plot={"kind": "curves"})
    orders = [{"name": name, "algorithm": "cascadebai", "order": name} for name in ("T", "mean")]
    bars = scaling_config(2, study="figure1", L=[64], K=[16], learners=orders, plot={"kind": "bars"}, max_steps=9**6)
    for instance in (*curves["instances"], *bars["instances"]):
        del instance["fit"]
    for config in (fits, curves, bars):
        config["claims"] = "paper"
    return [
        write_results(folder / "table1", fits),
        write_results(folder / "figure2", curves),
        write_results(folder / "figure1", bars, cap=9**6),
    ]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    target = folder / "report.html"
    assert call("report", *studies(folder), "-o", target).code == 0
    return target


@pytest.fixture(scope="module")
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_elsewhere(page: Page, path: Path) -> None:
    addresses = [a.get("src", "") + a.get("href", "") for _, a in page.elements if a.get("src") or a.get("href")]
    assert addresses
    assert [address for address in addresses if not address.startswith(("data:", "#"))] == []
    assert page.of("script") == []
    style = path.read_text().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_it_is_well_formed_and_every_link_leads_somewhere(page: Page) -> None:
    assert page.wrong == []
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    inner = [a["href"][1:] for a in page.of("a") if a.get("href", "").startswith("#")]
    named = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    assert set(inner) | set(named) <= set(ids)


def test_every_figure_is_there_with_words_for_it(page: Page, path: Path) -> None:
    images = page.of("img")
    assert len(images) == 5  # fits, bounds, schematic, curves, bars
    for image in images:
        assert len(image["alt"]) > 80
        assert len(image["src"]) > 5_000
    first = pd.read_csv(path.parent / "table1" / "summary.csv")["mean_steps"][0]
    assert f"setting 1, CascadeBAI: from {first:,.0f} steps at K = 20 to" in images[0]["alt"]


def test_every_table_has_a_caption_and_headers(page: Page) -> None:
    assert len(page.of("caption")) == len(page.of("table")) >= 7
    heads = page.of("th")
    assert heads
    assert all(head.get("scope") in ("col", "row") for head in heads)


def test_the_page_says_its_language_and_fits_a_phone(page: Page) -> None:
    assert page.of("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.of("meta")
    assert page.of("a")[0] == {"class": "skip", "href": "#content"}


def test_the_claims_name_the_paper_and_say_what_a_verdict_means(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for words in ("Zhong, Cheung and Tan", "ICML 2020", "not decided that more trials", "agrees if its interval"):
        assert words in text
    assert ("Some slopes are lower than published" in text) == ('class="verdict lower"' in text)


def test_claims_settings_and_provenance_are_told(page: Page) -> None:
    text = " ".join(" ".join(page.text).split())
    for part in (
        "mean steps grow as c1 K + c2, like the upper bound",
        "slope c1 on K^2",
        "about as many steps as twin",
        "T needs no more steps than the best of the other orders",
        "hash of the config",
        "two_level, w_star = 1/K, w_prime = 1/K**2",
        "20 to 60 in steps of 10",
        "reached the cap and count with it",
    ):
        assert part in text, part


def test_names_of_a_config_cannot_become_markup(path: Path) -> None:
    assert "Fits &amp; &lt;bounds&gt;" in path.read_text(encoding="utf-8")


def test_the_same_results_give_the_same_page(tmp_path: Path, path: Path) -> None:
    assert call("report", *studies(tmp_path), "-o", tmp_path / "report.html").code == 0
    again = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert again == path.read_text(encoding="utf-8")


def test_the_same_study_in_three_directories_gets_three_places(tmp_path: Path) -> None:
    directory = studies(tmp_path)[2]
    copies = [shutil.copytree(directory, tmp_path / f"copy {number}") for number in (1, 2)]
    assert call("report", directory, *copies, "-o", tmp_path / "report.html").code == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    places = re.findall(r'<section id="(study-[^"]*)">', text)
    assert places == ["study-figure1", "study-figure1-2", "study-figure1-3"]


def test_an_unfinished_study_is_reported_and_pointed_out(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), complete=False)
    result = call("report", directory, "-o", tmp_path / "report.html")
    assert result.code == 1
    assert "the sweep is not complete" in result.err
    assert "Note:</strong> the sweep is not complete" in (tmp_path / "report.html").read_text(encoding="utf-8")


def own_study(folder: Path, **changes: Any) -> Path:
    config = scaling_config(1, study="mine", K=[30, 10, 20], title="Mine", **{"trials": 3, **changes})
    del config["instances"][0]["fit"]
    return write_results(folder / "mine", config, lambda cell: 1e5 * cell["K"], cap=2_500_000)


def test_the_page_of_a_study_of_ones_own_speaks_of_it(tmp_path: Path) -> None:
    assert call("report", own_study(tmp_path), "-o", tmp_path / "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in text
    assert "paper" not in text.split("<body>")[1].lower()
    assert 'id="claims"' not in text
    assert [float(k) for k in re.findall(r"<td>(10|20|30)</td>", text)][:3] == [10, 20, 30]


def test_lower_limits_are_printed_as_such(tmp_path: Path) -> None:
    assert call("report", own_study(tmp_path), "-o", tmp_path / "page.html").code == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert ">= 2,500,000" in " ".join(page.text)
    assert "to at least 2,500,000 steps at K = 30" in page.of("img")[0]["alt"]


def test_a_figure_that_cannot_be_chosen_is_a_remark_and_the_numbers_are_there(tmp_path: Path) -> None:
    directory = own_study(tmp_path, epsilon=[0.0, 0.05], plot={"kind": "curves", "panels": [], "lines": []})
    assert call("report", directory, "-o", tmp_path / "page.html").code == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "no figure: epsilon varies at K = 30 and is neither x, panels nor lines" in " ".join(page.text)
    assert "One row a point or bar" in page.text
    assert call("report", directory, "--where", "epsilon=0", "-o", tmp_path / "page.html").code == 0
    assert "no figure" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_part_of_a_fitted_study_that_is_too_small_for_its_fit_is_reported(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(2, trials=2, K=[20, 30, 40], claims="paper"))
    part = call("report", directory, "--where", "K=20", "-o", tmp_path / "r.html")
    assert part.code == 0
    assert "have fewer than" not in part.err
    assert "Fit of the model" not in (tmp_path / "r.html").read_text()


def test_more_cells_than_a_page_holds_are_refused(tmp_path: Path) -> None:
    directory = own_study(tmp_path, trials=1, L=list(range(64, 64 + 1700)))
    sentence = "mine has 5,100 cells, more than the 5,000 that a page holds; choose with --where, such as --where K=2"
    assert sentence in refusal("report", directory, "-o", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_pages_of_a_figure_follow_one_another(tmp_path: Path) -> None:
    config = scaling_config(1, K=[10, 20], epsilon=[0.01 * i for i in range(8)], plot={"kind": "curves", "x": "K"})
    del config["instances"][0]["fit"]
    assert call("report", write_results(tmp_path / "r", config), "-o", tmp_path / "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.index("(page 1 of 2)") < text.index("(page 2 of 2)")


def test_no_directory_no_page(tmp_path: Path) -> None:
    assert call("report", tmp_path / "nowhere", "-o", tmp_path / "report.html").code == 2
    assert not (tmp_path / "report.html").exists()


def test_a_damaged_study_no_page(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40], plot={"kind": "pie"}))
    result = call("report", directory, "-o", tmp_path / "report.html")
    assert result.code == 2
    sentence = (
        "the config is not valid any more: plot.kind: 'pie' is not known; use one of scaling, curves, bars, bounds"
    )
    assert result.err == f"error: {directory / 'manifest.json'}: {sentence}, error, quantiles, ecdf, trace, schematic\n"
    assert not (tmp_path / "report.html").exists()


def relative_luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_colour_of_text_contrasts_with_the_page(path: Path) -> None:
    style = path.read_text(encoding="utf-8").split("<style>")[1].split("</style>")[0]
    colors = set(re.findall(r"[{;]\s*color: (#[0-9a-f]{6})", style))
    assert len(colors) > 4
    for color in colors:
        assert 1.05 / (relative_luminance(color) + 0.05) >= 4.5, color
