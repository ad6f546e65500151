"""Documents: every block of code runs, every link leads somewhere, every page is in the index."""

import re
from pathlib import Path

import pytest
from cases import mostly_slow
from documents import LANGUAGES, commands, languages, run_page
from sweeps import ROOT

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
WITH_CODE = [path.name for path in PAGES if set(languages(path.read_text(encoding="utf-8"))) - {""}]
QUICK = {"README.md", "budget.md", "configs.md", "exactness.md", "families.md", "results.md", "sharp.md"}
TEXTS = [*PAGES, *(ROOT / "experiments").glob("*.md"), *ROOT.glob("*.md"), ROOT / "configs" / "data" / "README.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def path_of(name: str) -> Path:
    return next(path for path in PAGES if path.name == name)


@pytest.mark.parametrize("name", mostly_slow(WITH_CODE, QUICK))
def test_every_block_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    ran, skipped = run_page(path_of(name), tmp_path)
    assert ran + len(skipped) == len([language for language in languages(path_of(name).read_text()) if language])
    assert all(len(reason) > 10 for reason in skipped), "a block is left out without a reason"


def test_a_page_that_does_not_do_what_it_says_is_found_out(tmp_path: Path) -> None:
    for block in (
        "```console\n$ cascadebai --version\nanother program\n```\n",
        "```console\n$ cascadebai sweep nowhere.yaml\n```\n",
        "```yaml\nseed: one\n```\n",
        "```python\n1 / 0\n```\n",
        "```csv\na,b\n```\n",
    ):
        (tmp_path / "page.md").write_text(block)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with pytest.raises(Exception, match=r".+"):
            run_page(tmp_path / "page.md", folder)


def test_commands_go_on_over_lines() -> None:
    text = "$ cat > a <<END\n> one\n> END\n$ cat a\none\n"
    assert list(commands(text)) == [("cat > a <<END\none\nEND", ""), ("cat a", "one")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_blocks_are_in_languages_that_are_run(path: Path) -> None:
    assert set(languages(path.read_text(encoding="utf-8"))) <= {*LANGUAGES, ""}


@pytest.mark.parametrize("path", sorted(set(TEXTS)), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_resolves(path: Path) -> None:
    broken = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not resolves(path, link)]
    assert broken == []


def resolves(path: Path, link: str) -> bool:
    """Whether a link leads to a file that is there, and to a heading in it."""
    if "://" in link:
        return True
    name, _, heading = link.partition("#")
    target = (path.parent / name) if name else path
    if not target.exists():
        return False
    return not heading or heading in {anchor(found) for found in HEADING.findall(target.read_text(encoding="utf-8"))}


def anchor(heading: str) -> str:
    """The name of a heading in a link, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Two words, or three\n")
    assert [resolves(tmp_path / "b.md", link) for link in ("a.md", "a.md#two-words-or-three", "a.md#two", "c.md")] == [
        True,
        True,
        False,
        False,
    ]


def test_every_page_is_in_the_index() -> None:
    index = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in PAGES if path.parent.name == "docs"} - {"README.md"} <= index


def test_the_readme_is_one_screen_and_names_the_commands_of_the_house() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    for command in ("make reproduce", "make smoke", "make test"):
        assert command in text
