"""Imports point one way, and never in a circle.

{cli, api} -> {workflows, planning, live} -> {analysis, figures, running} -> store -> study -> engines ->
learners -> theory -> model; errors, options, text and version are open to all. A room may be allowed one module of
another.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import cascadebai_cli

PACKAGE = Path(cascadebai_cli.__file__).parent
NAME = PACKAGE.name
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))

_STUDY = {"study", "engines", "learners", "model"}
ALLOWED = {
    "logs": set(),
    "model": set(),
    "theory": {"model"},
    "learners": {"theory", "model"},
    "engines": {"learners", "model"},
    "study": {"engines", "learners", "logs", "model"},
    "store": _STUDY,
    "running": {"store", *_STUDY},
    "analysis": {"store", "theory", *_STUDY},
    "figures": {"store", "theory", *_STUDY},
    "planning": {"analysis", "figures", "running", "store", "theory", "logs", *_STUDY},
    "live": {"planning.rates", "figures", "logs", "engines", "learners", "model"},
    "workflows": {"planning.files", "analysis", "figures", "running", "store", "theory", "logs", *_STUDY},
    "api": {"workflows", "planning", "running.watch", "analysis.results", "store", "study", "learners", "model"},
    "cli": {"workflows", "planning", "live", "running.interrupts", "running.watch", "study.kinds"},
}
FOR_TYPES = {"cli": {"running"}, "api": {"running"}}
"""What a room may name beyond that where only a type checker reads it."""
OWNERS = {"typer": "cli", "matplotlib": "figures", "statsmodels": "analysis", "jinja2": "workflows"}
EVERYWHERE = {"errors", "options", "text", "version"}


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


def at_runtime(source: str) -> ast.AST:
    """The tree of a source without what only a type checker reads."""
    tree: ast.AST = _Runtime().visit(ast.parse(source))
    return tree


def part_of(module: str) -> str:
    """Sub-package of a name in our package: `model` of `cascadebai_cli.model.problem`."""
    words = module.split(".")[1:]
    return words[0] if words and (words[0] in ALLOWED or words[0] in EVERYWHERE) else ""


def is_allowed(module: str, allowed: set[str]) -> bool:
    """Whether a name in our package is of an allowed sub-package, or of an allowed module of another one."""
    return part_of(module) in allowed or ".".join(module.split(".")[1:3]) in allowed


def violations(part: str, source: str) -> list[str]:
    """Imports of a source that the rule forbids to a module of the sub-package `part`."""
    everything, runtime = list(imported(ast.parse(source))), list(imported(at_runtime(source)))
    allowed = ALLOWED[part] | EVERYWHERE | {part}
    wrong = forbidden(runtime, allowed) | forbidden(everything, allowed | FOR_TYPES.get(part, set()))
    theirs = {name.split(".")[0] for name in runtime}
    wrong |= {name for name in theirs & set(OWNERS) if OWNERS[name] != part}
    return [f"{part} imports {other}" for other in wrong]


def forbidden(names: list[str], allowed: set[str]) -> set[str]:
    """Sub-packages of ours among dotted names that are not allowed."""
    return {part_of(name) for name in names if name.split(".")[0] == NAME and not is_allowed(name, allowed)}


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
        ("theory", "from cascadebai_cli.store.summary import read_summary"),
        ("store", "from cascadebai_cli import __version__"),
        ("running", "import cascadebai_cli"),
        ("workflows", "import typer"),
        ("cli", "from matplotlib.figure import Figure"),
        ("cli", "def f():\n    from cascadebai_cli.store.summary import read_summary"),
        ("cli", "from cascadebai_cli.running.runner import Backend"),
        ("api", "from cascadebai_cli.cli.console import Progress"),
        ("workflows", "from cascadebai_cli.api.functions import Results"),
        ("cli", "if TYPE_CHECKING:\n    from cascadebai_cli.analysis.bounds import learner_bounds"),
        ("workflows", "from cascadebai_cli.cli.console import tell"),
        ("figures", "import statsmodels.api as sm"),
    ],
)
def test_the_rule_catches_a_wrong_import(part, source):
    assert len(violations(part, source)) == 1


def test_what_only_a_type_checker_reads_may_come_from_further_down():
    assert violations("cli", "if TYPE_CHECKING:\n    from cascadebai_cli.running.worker import BlockResult") == []


# --- circles --------------------------------------------------------------------------------------------------------


def module_name(path: Path) -> str:
    """Dotted name of a file of the package."""
    return ".".join((NAME, *path.with_suffix("").parts)).removesuffix(".__init__")


def imports_of(source: str, modules: set[str]) -> set[str]:
    """Modules of ours that a source imports when it runs."""
    names = imported(at_runtime(source))
    found = (next((name for name in (full, full.rpartition(".")[0]) if name in modules), None) for full in names)
    return {name for name in found if name}


def circle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle, the first one again at the end; empty if none do."""
    try:
        TopologicalSorter({name: imports_of(source, set(sources)) for name, source in sources.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_in_the_end():
    assert circle({module_name(path): (PACKAGE / path).read_text() for path in MODULES}) == []


def test_a_circle_through_a_function_is_found():
    sources = {"a": "import b", "b": "def f():\n    from c import x", "c": "from a import y", "d": "import a"}
    found = circle(sources)
    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "c"}
    assert circle({**sources, "c": "if TYPE_CHECKING:\n    from a import y"}) == []


# --- verbs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("cli/*.py")), ids=lambda path: path.stem)
def test_a_verb_does_its_work_by_one_import(path):
    tree = ast.parse(path.read_text())
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        assert len([name for name in imported(function) if name.startswith(NAME)]) <= 1, function.name
