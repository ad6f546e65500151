"""`make check-lowest` tries what `pyproject.toml` says, and nothing that has no floor is a dependency."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lowest():
    spec = importlib.util.spec_from_file_location("lowest", ROOT / ".ci" / "lowest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_has_a_floor_that_the_pinned_version_reaches(lowest):
    pinned = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().split())
    found = lowest.floors(ROOT / "pyproject.toml")
    assert {"numpy", "pandas", "typer"} <= set(found)
    for name, version in found.items():
        assert [int(part) for part in version.split(".")] <= [int(part) for part in pinned[name].split(".")], name


def test_the_tools_of_the_tests_are_pinned(lowest):
    lines = list(lowest.pins(ROOT / "constraints.txt", lowest.TOOLS))
    assert [line.partition("==")[0] for line in lines] == sorted(lowest.TOOLS)


def test_a_dependency_without_a_floor_is_refused(lowest, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=2.0", "rich"]\n')
    with pytest.raises(ValueError, match="a dependency has no lowest version"):
        lowest.floors(tmp_path / "pyproject.toml")
