"""What the texts for developers name is there."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cascadebai_cli"
CODE = re.compile(r"`([A-Z]+_[A-Z_]+|[A-Z]{3,}|_[A-Za-z]\w+|[a-z]+_[a-z_]+|[A-Z][a-z]+[A-Z]?\w+|\w+\.py)`")
MODULE = re.compile(
    rf"`({'|'.join(sorted(path.parent.name for path in PACKAGE.glob('*/__init__.py')))})[./](?!yaml)(\w+)"
)
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|\.[\w./-]+)`|\]\(([^)#]+)\)")


@pytest.mark.parametrize("text", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_files_that_a_text_names_exist(text):
    named = [a or b for a, b in PATH.findall((ROOT / text).read_text(encoding="utf-8"))]
    assert len(named) > 5
    there = ROOT, ROOT / "cascadebai_cli"
    assert [name for name in named if not any((folder / name).exists() for folder in there)] == []


@pytest.mark.parametrize("text", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_code_that_a_text_names_exists(text):
    modules = list(PACKAGE.rglob("*.py"))
    there = {path.name for path in modules} | {
        name for path in modules for name in re.findall(r"\w+", path.read_text())
    }
    named = CODE.findall((ROOT / text).read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if name not in there] == []


def test_the_modules_that_a_docstring_names_exist():
    named = [(path, *found) for path in PACKAGE.rglob("*.py") for found in MODULE.findall(path.read_text())]
    assert len(named) > 5
    assert [one for one in named if not (PACKAGE / one[1] / f"{one[2]}.py").exists()] == []


def test_the_hooks_use_the_pinned_tools():
    """A hook with a version of its own would drift from `make check`."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repo["repo"] for repo in hooks} == {"local"}
    assert {hook["entry"].split()[0] for repo in hooks for hook in repo["hooks"]} == {".venv/bin/ruff"}
    assert re.search("^ruff==", (ROOT / "constraints.txt").read_text(), re.M)
