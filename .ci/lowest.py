"""Whether the lowest versions that `pyproject.toml` allows are true: the program and its tests with exactly these.

A virtual environment of its own gets the floor of every direct dependency; what these need in turn is up to them, and
the tools of the tests are the pinned ones. With `--newest` it gets the newest version of each instead.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOOR = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)")
TOOLS = ("hypothesis", "jsonschema", "psutil", "pytest", "pytest-cov", "pytest-mpl", "pytest-xdist")


def floors(pyproject: Path) -> dict[str, str]:
    """Lowest version of each direct dependency.

    Raises:
        ValueError: if one has no floor.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    found = [FLOOR.fullmatch(text) for text in project["dependencies"]]
    if None in found:
        raise ValueError(f"{pyproject}: a dependency has no lowest version; write name>=version")
    return dict(match.groups() for match in found if match)


def requirements(pyproject: Path, *, newest: bool) -> Iterator[str]:
    """What pip is told of each direct dependency; an environment that is new gets the newest that is allowed."""
    for name, version in floors(pyproject).items():
        yield f"{name}>={version}" if newest else f"{name}=={version}"


def pins(constraints: Path, names: Sequence[str]) -> Iterator[str]:
    """The lines of these packages."""
    for line in constraints.read_text(encoding="utf-8").split():
        if line.partition("==")[0] in names:
            yield line


def main() -> None:
    """Make the environment, then try the verbs and the tests in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest", action="store_true", help="try the newest versions in place of the lowest")
    parser.add_argument("--venv", type=Path, help="the environment; .venv-lowest or .venv-newest by default")
    parser.add_argument("tests", nargs="*", default=["tests/unit"], help="tests to run")
    given = parser.parse_args()
    place = given.venv or ROOT / f".venv-{'newest' if given.newest else 'lowest'}"
    wanted = list(requirements(ROOT / "pyproject.toml", newest=given.newest))
    print("\n".join(wanted), flush=True)
    venv.create(place, with_pip=True, clear=True)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    _run(python, "-m", "pip", "install", "--quiet", *wanted, *pins(ROOT / "constraints.txt", TOOLS), "-e", ROOT)
    with tempfile.TemporaryDirectory() as folder:
        _try(python, Path(folder) / "smoke")
    _run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    # old packages use what younger ones beneath them have replaced, which is no fault of ours
    _run(python, "-m", "pytest", "-n", "2", "-m", "not slow", "-W", "ignore::DeprecationWarning", *given.tests)


def _try(python: Path, results: Path) -> None:
    for words in (
        ("sweep", "configs/smoke.yaml", "--out", results),
        ("fit", results),
        ("plot", results),
        ("report", results, "--out", results / "report.html"),
    ):
        _run(python, "-m", "cascadebai_cli", *words)


def _run(*words: object) -> None:
    subprocess.run(list(map(str, words)), cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
