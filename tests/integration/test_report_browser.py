"""The report in a browser: nothing on the console, every image loads, the text is visible, wide and narrow."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, browser, find_browser
from sweeps import call
from synthetic import scaling_config, write_results

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium: apt-get install chromium")

BROKEN = "[...document.images].filter(i => !i.complete || i.naturalWidth == 0).length"
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TEXT = "document.body.innerText"
BOX = "document.querySelector('{}').getBoundingClientRect().{}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    directory = write_results(folder / "table1", scaling_config(2, K=[20, 30, 40]))
    assert call("report", directory, "-o", folder / "report.html").code == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def driver() -> Iterator[Browser]:
    with browser(str(PROGRAM)) as found:
        yield found


def faults(driver: Browser, page: Path, width: int) -> list[str]:
    """What is wrong with a page as a reader sees it."""
    driver.open(page, width)
    found = driver.complaints()
    if driver.value("document.images.length") == 0 or driver.value(BROKEN):
        found.append("an image does not load")
    text = str(driver.value(TEXT))
    if not all(
        words in text for words in ("slope c1 on K", "Mean steps against K", "Where the numbers come from", "root seed")
    ):
        found.append("text is missing")
    if float(driver.value(TOO_WIDE)) > 0:
        found.append("the page is wider than the window")
    if not float(driver.value(BOX.format("img", "height"))) > 100:
        found.append("the figure is not visible")
    return found


@pytest.mark.parametrize("width", [1200, 390])
def test_a_reader_sees_everything(driver: Browser, page: Path, width: int) -> None:
    assert faults(driver, page, width) == []


def test_data_open_on_demand(driver: Browser, page: Path) -> None:
    driver.open(page, 1200)
    height = "document.querySelector('details').getBoundingClientRect().height"
    closed = driver.value(height)
    driver.value("document.querySelector('summary').click()")
    assert driver.value(height) > closed + 100


@pytest.mark.parametrize(
    ("there", "instead", "fault"),
    [
        ('src="data:image/svg+xml;base64,', 'src="data:image/svg+xml;base64,AAAA', "an image does not load"),
        ("</main>", "<script>1</script></main>", "script"),
        ("</main>", '<img alt="" src="http://127.0.0.1:9/x.png"></main>', "http://127.0.0.1:9/x.png"),
        ("<body>", '<body style="visibility: hidden">', "text is missing"),
        ("<body>", '<body><div style="width: 3000px">x</div>', "the page is wider than the window"),
    ],
)
def test_faults_are_noticed(driver: Browser, page: Path, tmp_path: Path, there: str, instead: str, fault: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert there in text
    (tmp_path / "page.html").write_text(text.replace(there, instead, 1), encoding="utf-8")
    assert any(fault in line for line in faults(driver, tmp_path / "page.html", 1200))
