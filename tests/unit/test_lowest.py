"""`make check-lowest` tries what `pyproject.toml` says, and nothing that has no floor is a dependency."""

import importlib.util
from hashlib import sha256
from pathlib import Path

import pytest
from sweeps import sweep, tables

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


def test_the_newest_versions_are_whatever_is_allowed(lowest):
    wanted = list(lowest.requirements(ROOT / "pyproject.toml", newest=True))
    assert [text.replace(">=", "==") for text in wanted] == list(
        lowest.requirements(ROOT / "pyproject.toml", newest=False)
    )


STUDY = """\
seed: 7
trials: 3
L: 6
K: [1, 2]
instances:
  - {name: steps, family: two_level, w_star: 0.8, w_prime: 0.1}
  - {name: drawn, family: random, w_star: "uniform(0.6, 0.8)", w_prime: "uniform(0, 0.3)"}
learners:
  - {name: CascadeBAI, algorithm: cascadebai}
  - {name: BatRac, algorithm: batrac}
  - {name: KL, algorithm: kl-lucb++}
  - {name: one by one, algorithm: cascadebai, order: -U}
max_steps: 100000
"""
BYTES = (
    "9374c3ecbd21f12692623726c193b042675394a8a2fc04e077498ba053bf04fe",
    "7ca85421bb87363301bd5b8c556432ae7c16a2412320d0c9141e10bc43744226",
)
"""SHA-256 of `trials.csv` and `summary.csv` of this study, on every version of Python and of all packages."""


def test_a_small_study_gives_the_bytes_that_it_always_gave(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    assert sweep(tmp_path / "study.yaml", tmp_path / "out").code == 0
    assert tuple(sha256(table).hexdigest() for table in tables(tmp_path / "out")) == BYTES


def test_the_tools_of_the_tests_are_pinned(lowest):
    lines = list(lowest.pins(ROOT / "constraints.txt", lowest.TOOLS))
    assert [line.partition("==")[0] for line in lines] == sorted(lowest.TOOLS)


def test_a_dependency_without_a_floor_is_refused(lowest, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=2.0", "rich"]\n')
    with pytest.raises(ValueError, match="a dependency has no lowest version"):
        lowest.floors(tmp_path / "pyproject.toml")
