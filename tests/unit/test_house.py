"""`make house` counts what its docstring says, on a package made by hand."""

import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "experiments" / "house.py"

FILES = {
    "__init__.py": '"""A package."""\n\nfrom made import first\n',
    "first.py": '''"""Two lines of

docstring."""

import os
from made.inner.second import twice

LIMIT, _HIDDEN = 1, 2  # a comment behind code
"""What a limit is."""
# a comment of its own
kept: int = 3


def twice_the(x):
    """Body of two lines."""

    y = x
    return twice(y)


class Box:
    INSIDE = 1

    async def open(self):
        from . import inner

        return inner, os
''',
    "inner/__init__.py": "",
    "inner/second.py": "from ..first import LIMIT\n\ndef twice(x):\n    return LIMIT * x\n\n\n\ndef _own(): return 0\n",
    "inner/third.py": "import made.first\n\nLIMIT = made.first.LIMIT\n",
    "tests/made_up.py": "ALL = 1\n",
    "inner/second_test.py": "ALL = 1\n",
    "notes.txt": "no code\n",
}
COUNTED = {
    "modules": "5",
    "lines": "41",  # 3, 27, 0, 8 and 3
    "code lines": "19",  # 1, 12, 0, 4 and 2
    "public names": "6",  # LIMIT, kept, twice_the, Box; twice; LIMIT
    "code lines a public name": "3",
    "one importer": "2",  # inner and inner.second, both by first
    "import edges": "5",  # first is imported by made, inner.second and inner.third
    "defined twice": "1",
    "body median / 90 % / most": "1.5 / 2 / 2",  # 2, 2, 1 and 1
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "made"


def house(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, HOUSE, *map(str, words)], capture_output=True, text=True)


def counted(*words: str | Path) -> dict[str, str]:
    printed = house(*words)
    assert printed.returncode == 0, printed.stderr
    return {line[:28].strip(): line[28:].strip() for line in printed.stdout.splitlines()}


def test_what_is_counted_in_a_package_made_by_hand(made):
    assert counted(made) == COUNTED


def test_a_commit_is_counted_as_it_was(made):
    def git(*words: str) -> None:
        someone = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        subprocess.run(["git", "-C", made.parent, *someone, *words], check=True, capture_output=True)

    git("init")
    git("add", "made")
    git("commit", "-m", "made")
    (made / "fourth.py").write_text("import made.first\n")
    assert counted(made)["modules"] == "6"
    assert counted(made, "--at", "HEAD") == COUNTED
    unknown = house(made, "--at", "nonsense")
    assert unknown.returncode
    assert "nonsense" in unknown.stderr


def test_a_folder_without_a_package_is_refused(tmp_path):
    refused = house(tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == f"{tmp_path}: no Python files of a package are here\n"


def test_long_tests_are_tests() -> None:
    """A name that is not found would bring a long test back into `make test` without a word."""
    root = Path(__file__).parents[2]
    for name in (root / "tests" / "long.txt").read_text().split():
        file, function = name.split("::")
        assert f"def {function}(" in (root / file).read_text()
