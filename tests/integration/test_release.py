"""What is released: a wheel and an sdist that work in an empty environment, and data about them that agree."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from datetime import date
from email import message_from_string
from pathlib import Path

import pytest
import yaml
from sweeps import ROOT

import cascadebai_cli

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LEFT_OUT = shutil.ignore_patterns(".*", "results", "*.egg-info", "build", "dist", "__pycache__")
PACKAGES = ("cascadebai", "cascadebai_cli")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("release")
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "source", folder=folder)
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that was empty before the wheel was installed."""
    place = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(place, with_pip=True)
    (wheel,) = dist.glob("*.whl")
    programs = place / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, folder=place)
    return programs


def run(*words: object, folder: Path) -> str:
    """What a program prints; nothing of the repository is found by it."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_holds_the_packages_with_all_that_they_read(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        held = set(file.namelist())
    for package in PACKAGES:
        there = [path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {path.relative_to(ROOT).as_posix() for path in there} <= held
        assert f"{package}/py.typed" in held
    assert {name.split("/")[0] for name in held} == {*PACKAGES, f"cascadebai-{cascadebai_cli.__version__}.dist-info"}


@pytest.mark.slow
def test_the_sdist_holds_what_a_reader_needs(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    needed = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "docs/start.md", "configs/smoke.yaml", "Makefile"}
    assert needed <= held
    assert not [name for name in held if name.startswith((".venv", "results")) or name.endswith(".pyc")]


@pytest.mark.slow
def test_the_metadata_are_complete(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if name.endswith("METADATA")]
        found = message_from_string(file.read(name).decode())
    assert (found["Name"], found["Version"]) == ("cascadebai", cascadebai_cli.__version__)
    assert found["Description-Content-Type"] == "text/markdown"
    for key in ("Summary", "Author", "License-Expression", "Requires-Python", "Keywords", "Classifier"):
        assert found[key], key
    assert not found.get_all("Project-URL")


@pytest.mark.slow
def test_an_empty_environment_runs_the_smoke_study(installed: Path, tmp_path: Path) -> None:
    program = installed / "cascadebai"
    shutil.copy(ROOT / "configs" / "smoke.yaml", tmp_path)
    assert run(program, "--version", folder=tmp_path) == f"cascadebai {cascadebai_cli.__version__}\n"
    assert "Exit codes" in run(program, "--help", folder=tmp_path)
    for words in ("sweep smoke.yaml", "fit results/smoke", "plot results/smoke", "report results/smoke"):
        run(program, *words.split(), folder=tmp_path)
    assert (tmp_path / "results" / "smoke" / "smoke.pdf").read_bytes().startswith(b"%PDF")
    assert run(program, "schema", "config", folder=tmp_path) == (ROOT / "docs" / "config.schema.json").read_text()


@pytest.mark.slow
def test_both_names_can_be_imported_there(installed: Path, tmp_path: Path) -> None:
    words = (
        "import cascadebai, cascadebai_cli; print(cascadebai.__version__, cascadebai.__all__ == cascadebai_cli.__all__)"
    )
    assert run(installed / "python", "-c", words, folder=tmp_path) == f"{cascadebai_cli.__version__} True\n"


def test_the_citation_is_of_this_version() -> None:
    """Keys and values as the Citation File Format 1.2.0 wants them."""
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert (found["cff-version"], found["type"], found["license"]) == ("1.2.0", "software", PROJECT["license"])
    assert (found["title"], found["version"]) == (PROJECT["name"], cascadebai_cli.__version__)
    assert isinstance(found["date-released"], date)
    assert all(author.keys() <= {"name", "family-names", "given-names"} for author in found["authors"])
    paper = found["preferred-citation"]
    assert {"type", "title", "authors", "year"} <= set(paper)
    assert all({"family-names", "given-names"} == set(author) for author in paper["authors"])


def test_the_changelog_begins_with_this_version_and_its_day() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["date-released"]
    (first, *_) = [line for line in re.findall(r"^## (.+)$", text, re.MULTILINE) if line != "Unreleased"]
    assert first == f"{cascadebai_cli.__version__} ({released})"


def test_every_package_that_is_imported_is_required() -> None:
    """What is installed only because another package needs it may be gone tomorrow."""
    names = {"yaml": "pyyaml", "dask": "dask[distributed]", "distributed": "dask[distributed]"}
    required = {re.split(r"[>=<]", text)[0] for text in PROJECT["dependencies"]}
    known = {*required, "dask[distributed]", *sys.stdlib_module_names, *PACKAGES, "pydantic_core", "IPython"}
    for path in (ROOT / "cascadebai_cli").rglob("*.py"):
        found = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name in found if names.get(name, name) not in known] == [], path
