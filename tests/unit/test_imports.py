"""Imports point one way.

cli -> workflows -> {report, analysis, figures, running} -> store -> study -> engines -> learners -> model,
theory -> model.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cascadebai_cli

PACKAGE = Path(cascadebai_cli.__file__).parent
NAME = PACKAGE.name
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))

_STUDY = {"study", "engines", "learners", "model"}
ALLOWED = {
    "text": set(),
    "model": set(),
    "theory": {"model"},
    "learners": {"model"},
    "engines": {"learners", "model"},
    "study": {"engines", "learners", "model"},
    "store": _STUDY,
    "running": {"store", *_STUDY},
    "analysis": {"text", "store", "theory", *_STUDY},
    "figures": {"store", "theory", *_STUDY},
    "report": {"text"},
    "workflows": {"text", "report", "analysis", "figures", "running", "store", "theory", *_STUDY},
    "cli": {"text", "workflows", "report", "analysis", "figures", "running", "store", "theory", *_STUDY},
}
OWNERS = {"typer": "cli", "matplotlib": "figures", "statsmodels": "analysis", "jinja2": "report"}
EVERYWHERE = {"", "errors"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all imports of a module, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class _Runtime(ast.NodeTransformer):
    """Leaves out what only a type checker reads."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        types_only = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if types_only else self.generic_visit(node)


def part_of(module: str) -> str:
    """Sub-package of a name in our package: `model` of `cascadebai_cli.model.instance`."""
    words = module.split(".")[1:]
    return words[0] if words and (words[0] in ALLOWED or words[0] in EVERYWHERE) else ""


def violations(part: str, source: str) -> list[str]:
    """Imports of a source that the rule forbids to a module of the sub-package `part`."""
    tree = ast.parse(source)
    ours = {part_of(name) for name in imported(tree) if name.split(".")[0] == NAME}
    wrong = [f"{part} imports {other}" for other in ours - EVERYWHERE - ALLOWED[part] - {part}]
    theirs = {name.split(".")[0] for name in imported(_Runtime().visit(tree))}
    return wrong + [f"{part} imports {name}" for name in theirs & set(OWNERS) if OWNERS[name] != part]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_only_what_its_place_allows(path):
    if len(path.parts) > 1:
        assert violations(path.parts[0], (PACKAGE / path).read_text()) == []


def test_all_sub_packages_are_known():
    assert {path.parts[0] for path in MODULES if len(path.parts) > 1} == set(ALLOWED)


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("model", "from cascadebai_cli.learners.registry import LearnerSpec"),
        ("engines", "import cascadebai_cli.study.cells"),
        ("analysis", "def f():\n    from cascadebai_cli.running.runner import Backend"),
        ("figures", "from cascadebai_cli import analysis"),
        ("store", "from cascadebai_cli.running.runner import Backend"),
        ("theory", "from cascadebai_cli.store.directory import Results"),
        ("workflows", "import typer"),
        ("cli", "from matplotlib.figure import Figure"),
        ("figures", "import statsmodels.api as sm"),
    ],
)
def test_the_rule_catches_a_wrong_import(part, source):
    assert len(violations(part, source)) == 1
