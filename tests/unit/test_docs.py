"""What the texts for developers name is there."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|\.[\w./-]+)`|\]\(([^)#]+)\)")


@pytest.mark.parametrize("text", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_files_that_a_text_names_exist(text):
    named = [a or b for a, b in PATH.findall((ROOT / text).read_text(encoding="utf-8"))]
    assert len(named) > 5
    there = ROOT, ROOT / "cascadebai_cli"
    assert [name for name in named if not any((folder / name).exists() for folder in there)] == []


def test_the_hooks_use_the_pinned_tools():
    """A hook with a version of its own would drift from `make check`."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repo["repo"] for repo in hooks} == {"local"}
    assert {hook["entry"].split()[0] for repo in hooks for hook in repo["hooks"]} == {".venv/bin/ruff"}
    assert re.search("^ruff==", (ROOT / "constraints.txt").read_text(), re.M)
