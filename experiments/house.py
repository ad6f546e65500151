"""How heavy the house is: what the sources of a package count, without its tests (`tests/`, `test_*.py`, `*_test.py`).

- modules: files, each `__init__.py` too; lines: all of them;
- code lines: those that are not blank, not only a comment, and not within a string that stands alone (a docstring);
- public names: functions, classes and constants that the top level of a module defines, without a leading underscore,
  each once a module (a name that is only imported does not count);
- defined twice: public names that more than one module defines;
- import edges: pairs of modules of which one imports the other anywhere, within a function and for types too;
- one importer: modules that only one other module imports;
- body: code lines in the body of a function (a method and an inner function too) at the median, 90 % and most.

The numbers of commit 8e0acb4 and of four other packages are in `docs/architecture.md`.
"""

import argparse
import ast
import io
import statistics
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

Sources = dict[PurePosixPath, str]  # the path of each file, which begins with the package's name, and its text


def sources(package: Path, commit: str | None = None) -> Sources:
    """Files of a package without its tests; as they were at a commit of its repository if one is given."""
    files = _at(commit, package) if commit else {path: path.read_bytes() for path in package.rglob("*.py")}
    paths = {path: PurePosixPath(path.relative_to(package.parent)) for path in files}
    kept = {paths[path]: text.decode() for path, text in files.items() if not _is_test(paths[path])}
    return kept or sys.exit(f"{package}: no Python files of a package are here")


def _at(commit: str, package: Path) -> dict[Path, bytes]:
    command = ["git", "-C", str(package.parent), "archive", commit, package.name]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode:  # git itself has said why
        sys.exit(done.returncode)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        files = ((package.parent / member.name, archive.extractfile(member)) for member in archive)
        return {path: file.read() for path, file in files if file and path.suffix == ".py"}


def _is_test(path: PurePosixPath) -> bool:
    return "tests" in path.parts or path.stem.startswith("test_") or path.stem.endswith("_test")


def _code_lines(text: str, tree: ast.AST) -> set[int]:
    alone = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    said = {line for node in alone if isinstance(node.value.value, str) for line in _lines(node)}  # type: ignore[attr-defined]
    return {n for n, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"} - said


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def _bodies(tree: ast.AST, code: set[int]) -> list[int]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [sum(line in code for line in _lines(node) if line >= node.body[0].lineno) for node in functions]


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Assign(targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(ast.Name(name)):
            yield name


def _imported(path: PurePosixPath, tree: ast.AST, modules: set[str]) -> set[str]:
    """Modules of the package that one of them imports; `from a import b` is an edge to `a.b` or, if no module, `a`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = path.parts[: len(path.parts) - node.level] if node.level else ()
            start = ".".join([*above, *filter(None, [node.module])])
            found |= {name if (name := f"{start}.{alias.name}") in modules else start for alias in node.names}
    return found & modules


def weight(files: Sources) -> dict[str, str]:
    """What is counted, and its number as text."""
    trees = {path: ast.parse(text) for path, text in files.items()}
    code = {path: _code_lines(files[path], tree) for path, tree in trees.items()}
    defined = [{name for part in tree.body for name in _defined(part) if name[0] != "_"} for tree in trees.values()]
    names = Counter(name for module in defined for name in module)
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in trees}
    importers = Counter(name for path, tree in trees.items() for name in _imported(path, tree, modules))
    bodies = sorted(lines for path, tree in trees.items() for lines in _bodies(tree, code[path])) or [0]
    numbers = {
        "modules": len(trees),
        "lines": sum(len(text.splitlines()) for text in files.values()),
        "code lines": sum(map(len, code.values())),
        "public names": names.total(),
        "code lines a public name": round(sum(map(len, code.values())) / max(names.total(), 1)),
        "one importer": list(importers.values()).count(1),
        "import edges": importers.total(),
        "defined twice": sum(times > 1 for times in names.values()),
    }
    spread = f"{statistics.median(bodies):g} / {bodies[int(0.9 * len(bodies))]} / {bodies[-1]}"
    return {name: f"{number:,}" for name, number in numbers.items()} | {"body median / 90 % / most": spread}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the weight of this package, or of another one.")
    ours = Path(__file__).parents[1] / "cascadebai_cli"
    parser.add_argument("package", nargs="?", type=Path, default=ours, help="its folder; ours if left out")
    parser.add_argument("--at", metavar="COMMIT", help="the package as it was at this commit")
    given = parser.parse_args()
    for name, number in weight(sources(given.package.resolve(), given.at)).items():
        print(f"{name:<28}{number:>12}")
