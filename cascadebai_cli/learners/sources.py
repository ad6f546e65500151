"""The code behind a module: the files that it imports, directly or not, and the distributions that the rest is from.

Imports are read from the source, those inside functions too, so that the answer is the same in every process. A name
that is put together as the program runs, and a file that is read as data, cannot be seen.
"""

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

from cascadebai_cli.version import __version__

OURS = __name__.partition(".")[0]
_NAMES_OF_OURS = (OURS, "cascadebai")
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_INSTALLED = ("site-packages", "dist-packages")
_BY_NAME = ("import_module", "__import__")
"""Functions whose first argument, if it is written out, is a module that they import."""


class _File(NamedTuple):
    """Content of a file, and the names in the imports of it."""

    digest: str
    imports: tuple[str, ...]


def code_hash(*modules: str, own: bool = True) -> str:
    """16 hexadecimal digits of a hash of the code that modules run.

    Files count unless they come with Python or a distribution, of which count name and version. Paths do not.

    Args:
        modules: names of the modules.
        own: whether files of the same top-level packages count wherever they are.
    """
    parts: dict[str, str] = {}
    tops, left = set(map(_top, modules)) if own else set(), list(modules)
    while left:
        name = left.pop()
        for spec in _specs(name):
            if spec.name not in parts:
                parts[spec.name], imports = _part(spec, own=_top(spec.name) in tops)
                left += imports
    text = "\n".join(sorted(f"{name} {part}" for name, part in parts.items() if part))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_standard(spec: ModuleSpec | None) -> bool:
    """Whether a module comes with Python; one that is in no file, and no package, counts as such."""
    if spec is None or spec.origin is None or not spec.has_location:
        return spec is None or spec.submodule_search_locations is None
    path = Path(spec.origin).resolve()
    return path.is_relative_to(_STANDARD) and not _is_installed(path)


def _is_installed(path: Path) -> bool:
    return any(part in _INSTALLED for part in path.parts)


def _part(spec: ModuleSpec, own: bool) -> tuple[str, tuple[str, ...]]:
    """What a module adds to the hash, and what it imports; nothing of one without a file or of Python's own."""
    if spec.origin is None or is_standard(spec):
        return "", ()
    if not own and (_top(spec.name) in _NAMES_OF_OURS or _is_installed(Path(spec.origin))):
        return _distribution(_top(spec.name)), ()
    return _file(spec.origin, spec.name, spec.submodule_search_locations is not None)


def _top(name: str) -> str:
    return name.partition(".")[0]


@lru_cache(maxsize=256)
def _distribution(top: str) -> str:
    """Names and versions of the distributions that hold a top-level module."""
    try:
        return f"{top}=={__version__ if top in _NAMES_OF_OURS else version(top)}"
    except PackageNotFoundError:
        return " ".join(sorted(f"{name}=={version(name)}" for name in set(packages_distributions().get(top, ()))))


@lru_cache(maxsize=4096)
def _file(path: str, module: str, is_package: bool) -> _File:
    """A file as it is when it is first asked for: what is in memory does not change with the file."""
    content = Path(path).read_bytes()
    package = module if is_package else module.rpartition(".")[0]
    return _File(hashlib.sha256(content).hexdigest(), tuple(dict.fromkeys(_imports(content, package))))


def _imports(content: bytes, package: str) -> Iterator[str]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # compiled code, or what Python will complain about
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_imports(node, package)
        elif isinstance(node, ast.Call):
            yield from _called_imports(node)


def _from_imports(node: ast.ImportFrom, package: str) -> Iterator[str]:
    try:
        base = resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return
    yield from (f"{base}.{alias.name}" for alias in node.names)  # what comes before the last dot counts as well


def _called_imports(node: ast.Call) -> Iterator[str]:
    name = getattr(node.func, "attr", getattr(node.func, "id", None))
    first = node.args[0] if node.args else None
    if name in _BY_NAME and isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value


def _specs(name: str) -> Iterator[ModuleSpec]:
    """The modules along a dotted name, as far as there are any; none is imported for it."""
    path: list[str] | None = None
    words = name.split(".")
    for end in range(1, len(words) + 1):
        spec = _spec(".".join(words[:end]), path)
        if spec is None:
            return
        yield spec
        if spec.submodule_search_locations is None:
            return
        path = list(spec.submodule_search_locations)


def _spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Of the module in memory, if it is there, else of the one that would be imported."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__spec__", None)
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(name, path)
        except (ImportError, KeyError, AttributeError):  # inside of a package that was not imported
            continue
        if found is not None:
            return found
    return _namespace(name, path or [])


def _namespace(name: str, path: list[str]) -> ModuleSpec | None:
    """A folder without `__init__.py`, of which the machinery knows only once its package is imported."""
    folders = [folder for entry in path if (folder := Path(entry) / name.rpartition(".")[2]).is_dir()]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = list(map(str, folders))
    return spec if folders else None
