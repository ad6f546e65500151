"""Code of a user's own: how it is found, imported, hashed and held to the protocol."""

import ast
import dis
import hashlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from inspect import getattr_static
from operator import index
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.protocol import Learner, can_answer, check_list_length
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.version import __version__

# --- ----------------------------------------------------------------------------------------------------------------
#
# The code behind a module: the files that it imports, directly or not, and the distributions that the rest is from.
#
# Imports are read from the source, those inside functions too, so that the answer is the same in every process. A name
# that is put together as the program runs, and a file that is read as data, cannot be seen.


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


# --- ----------------------------------------------------------------------------------------------------------------
#
# Code of one's own that a config names `module:object`: imported from the directory of the command, and hashed.


def is_own(name: str) -> bool:
    """Whether a name is that of code of one's own."""
    return ":" in name


def own_module(name: str, example: str) -> ModuleType:
    """The module of `module:object`, imported.

    Args:
        name: as in the config.
        example: a name of the right form, for the message.

    Raises:
        ConfigError: if there is none that is one's own, or the import fails.
    """
    module_name = name.partition(":")[0]
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(f"{name}: '{module_name}' is not a module; write it as in an import, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end: a file there must not take the place of a module that others import
    try:
        invalidate_caches()
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{name}: no module '{error.name}' in {os.getcwd()} or installed; start where it lies"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{name}: importing {module_name} fails with {in_words(error)}; correct the module"
        ) from error
    if is_standard(module.__spec__):
        raise ConfigError(f"{name}: {module_name} is a part of Python or no file; name a module of your own")
    return module


def in_words(error: BaseException) -> str:
    """An error of somebody else's code on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def own_hash(name: str, defined_in: str) -> str:
    """Hash of all code that `module:object` runs (`sources`), the object being defined in a module that may differ."""
    return code_hash(name.partition(":")[0], defined_in)


# --- A hash of code that stands in no module: that of a notebook, a script or a prompt ------------------------------
#
# What is hashed is what runs: the bytecode of functions, their constants and defaults, and all that they name,
# functions, classes and numbers alike, however deep; of what comes from a module its code (`sources`). Comments and the
# names of files do not count. Another Python compiles to other bytecode, so that it gives another hash. Of an object
# whose class comes from a module only the type counts.


_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_LOOKS_UP = ("LOAD_GLOBAL", "LOAD_NAME")
_SCRIPT = (None, "__main__", "__mp_main__")
"""Modules of a script, a notebook or a prompt; the last one is the script in a process that multiprocessing spawned."""
_WRAPPERS = (staticmethod, classmethod)
_OF_NO_USE = {"__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__qualname__", "__firstlineno__"}


def live_hash(made: type) -> str:
    """16 hexadecimal digits of a hash of what a class runs."""
    return hashlib.sha256(_Reader().text(made).encode()).hexdigest()[:16]


def is_live(value: Any) -> bool:
    """Whether a function or a class cannot be imported by its name from a module, as other processes would."""
    name = getattr(value, "__module__", None)
    if name in _SCRIPT:
        return True
    found: Any = sys.modules.get(name)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not value


class _Reader:
    """Writes out what a value is; what it has met before is named by its number."""

    def __init__(self) -> None:
        self._met: dict[int, Any] = {}

    def text(self, value: Any) -> str:
        """A text that is the same for the same content, in any process."""
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r}"
        if id(value) in self._met:
            return f"#{list(self._met).index(id(value))}"
        self._met[id(value)] = value  # kept, so that no other value gets its id
        return f"({type(value).__name__} {' '.join(self._parts(value))})"

    def _parts(self, value: Any) -> Iterator[str]:
        for kind, parts in _PARTS.items():
            if isinstance(value, kind):
                yield from parts(self, value)
                return
        yield from self._object(value)

    def _object(self, value: Any) -> Iterator[str]:
        """Of an object what it wraps, and its attributes if its class stands in no module."""
        module = "__main__" if type(value).__module__ in _SCRIPT else type(value).__module__
        yield f"{module}.{type(value).__qualname__} {getattr(value, '__name__', '')}"
        if hasattr(value, "__wrapped__"):
            yield self.text(value.__wrapped__)
        if is_live(type(value)):
            yield self.text(type(value))
            yield from self._mapping(getattr(value, "__dict__", {}))

    def _class(self, made: type) -> Iterator[str]:
        if not is_live(made):
            yield self._named(made)
            return
        yield from map(self.text, made.__bases__)
        for name, part in sorted(vars(made).items()):
            if name not in _OF_NO_USE and (not _is_special(name) or callable(part)):
                yield f"{name}={self.text(part)}"

    def _function(self, function: FunctionType) -> Iterator[str]:
        if not is_live(function):
            yield self._named(function)
            return
        yield self.text(function.__code__)
        yield self.text(function.__defaults__)
        yield self.text(function.__kwdefaults__)
        yield from (self.text(cell.cell_contents) for cell in function.__closure__ or () if _is_filled(cell))
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield f"{name}={self.text(function.__globals__[name])}"

    def _code(self, code: CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        yield from (self.text(names) for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
        yield from map(self.text, code.co_consts)
        yield from (code_hash(name, own=False) for name in sorted(_imported(code)))

    def _property(self, value: property) -> Iterator[str]:
        yield from map(self.text, (value.fget, value.fset, value.fdel))

    def _wrapper(self, value: Any) -> Iterator[str]:
        yield self.text(value.__func__)

    def _partial(self, value: Any) -> Iterator[str]:
        yield from map(self.text, (value.func, value.args, value.keywords))

    def _method(self, value: MethodType) -> Iterator[str]:
        yield from map(self.text, (value.__func__, value.__self__))

    def _list(self, values: Any) -> Iterator[str]:
        yield from map(self.text, values)

    def _set(self, values: Any) -> Iterator[str]:
        yield from sorted(_Reader().text(value) for value in values)

    def _mapping(self, values: Mapping[Any, Any]) -> Iterator[str]:
        yield from (f"{self.text(key)}={self.text(value)}" for key, value in values.items())

    def _array(self, values: Any) -> Iterator[str]:
        yield f"{values.dtype} {values.shape} {hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()}"

    def _module(self, module: ModuleType) -> Iterator[str]:
        yield f"{module.__name__} {code_hash(module.__name__, own=False)}"

    def _builtin(self, value: BuiltinFunctionType) -> Iterator[str]:
        yield f"{value.__module__}.{value.__qualname__}"

    def _named(self, value: Any) -> str:
        return f"{value.__module__}.{value.__qualname__} {code_hash(value.__module__, own=False)}"


_PARTS: dict[Any, Callable[[_Reader, Any], Iterator[str]]] = {
    type: _Reader._class,
    FunctionType: _Reader._function,
    CodeType: _Reader._code,
    property: _Reader._property,
    _WRAPPERS: _Reader._wrapper,
    partial: _Reader._partial,
    MethodType: _Reader._method,
    (list, tuple): _Reader._list,
    (set, frozenset): _Reader._set,
    Mapping: _Reader._mapping,
    (np.ndarray, np.generic): _Reader._array,
    ModuleType: _Reader._module,
    BuiltinFunctionType: _Reader._builtin,
}
"""Kind of value -> how it is written out."""


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # of a name that has no value yet
        return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    """Names that a function looks up outside of itself."""
    found = (step for part in _codes(code) for step in dis.get_instructions(part))
    return {str(step.argval) for step in found if step.opname in _LOOKS_UP}


def _imported(code: CodeType) -> set[str]:
    """Modules that a function imports."""
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME" and step.argval}


# --- Learners that stand in no module: classes of a notebook, a script or a prompt ----------------------------------
#
# A config cannot name them, as nobody else could import them. In this process, and in those that it sends its work to,
# they are called `__main__:Class#HASH` after their code (`live_code`): what is known of such a name never changes.


PREFIX, MARK = "__main__:", "#"

_CLASSES: dict[str, type] = {}
"""What a learner is called -> its class."""


def enter(made: type) -> str:
    """What a class is called as an algorithm: `module:Class` if it can be imported, else by its code as it is now."""
    if not is_live(made) and "." not in made.__qualname__:
        return f"{made.__module__}:{made.__name__}"
    algorithm = f"{PREFIX}{made.__name__}{MARK}{live_hash(made)}"
    _CLASSES[algorithm] = made
    return algorithm


def live_class(algorithm: str) -> type | None:
    """The class that is called so, if it is known here."""
    return _CLASSES.get(algorithm)


def live_code(algorithm: str) -> str | None:
    """The hash of its code."""
    return algorithm.rpartition(MARK)[2] if algorithm in _CLASSES else None


def sent_along(algorithms: Iterable[str]) -> dict[str, type]:
    """The classes among these that another process does not know."""
    return {name: _CLASSES[name] for name in algorithms if name in _CLASSES}


def take_in(classes: Mapping[str, type]) -> None:
    """Know these from now on."""
    _CLASSES.update(classes)


# --- A learner of one's own, held to the protocol at every step -----------------------------------------------------


PARTS = ("select", "observe", "finished", "recommendation")
_VALUES = ("finished", "recommendation")
_UNORDERED = (set, frozenset, dict)


def refuse_incomplete(learner: object, name: str) -> None:
    """Refuse an object that lacks a part of the protocol, or has one that only looks like it.

    Raises:
        ConfigError: with the parts.
    """
    # a mock has every attribute that it is asked for: only those count that are there without asking
    missing = [part for part in PARTS if getattr_static(learner, part, None) is None]
    if missing:
        raise ConfigError(f"{name} lacks {', '.join(missing)}; a learner has {', '.join(PARTS)}")
    for part in _VALUES:
        if callable(getattr_static(learner, part)):
            raise ConfigError(f"{name}: {part} is a method; write @property above it")


class Checked:
    """A learner whose lists are checked: an empty one would be shown for ever, one that is too long would cheat.

    Args:
        learner: the learner.
        name: for messages.
        L, K, M: numbers of items, of those to find, and of those in a list at most.

    Raises:
        CascadeError: at every value that breaks the protocol.
    """

    def __init__(self, learner: Learner, name: str, L: int, K: int, M: int) -> None:
        self._learner, self.name, self._L, self._K, self._M = learner, name, L, K, M
        self.observe: Callable[[Sequence[int], Sequence[int]], None] = learner.observe

    @property
    def finished(self) -> bool:
        """Whether it has stopped."""
        answer: Any = self._learner.finished
        if not isinstance(answer, bool | np.bool_):
            raise CascadeError(f"{self.name}: finished is {_shown(answer)}; give True or False")
        return bool(answer)

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`; before that none, as nothing is asked of it."""
        return self._best("recommendation") if self.finished else ()

    def select(self) -> Sequence[int]:
        """The list to show."""
        shown: Any = self._learner.select()
        items = None if isinstance(shown, _UNORDERED) else self._items(shown)
        if not items or len(items) > self._M:
            raise self._refusal("select", shown, f"a list has 1 to {self._M}")
        return items

    def _best(self, part: str) -> tuple[int, ...]:
        """The `K` items that are named by a part."""
        answer: Any = getattr(self._learner, part)
        items = self._items(answer)
        if items is None or len(items) != self._K:
            raise self._refusal(part, answer, f"it has {self._K}")
        return tuple(items)

    def _items(self, answer: Any) -> list[int] | None:
        """Different items as numbers of Python's own; `None` if the answer is anything else."""
        try:
            given = list(answer)
            items = [index(item) for item in given]
        except TypeError:
            return None
        known = not any(isinstance(item, bool) for item in given) and all(0 <= item < self._L for item in items)
        return items if known and len(set(items)) == len(items) else None

    def _refusal(self, part: str, answer: Any, what: str) -> CascadeError:
        return CascadeError(
            f"{self.name}: {part} returned {_shown(answer)}; {what} different items, each from 0 to {self._L - 1}"
        )


class CheckedAnswering(Checked):
    """One that can be asked at any time."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that it would return now."""
        return self._best("answer")


def _shown(answer: object) -> str:
    """A value on one line, shortened."""
    text = " ".join(str(answer).split())
    return text if len(text) <= 60 else text[:57] + "..."


# --- Learners of one's own: a class that is named `module:Class` and follows `protocol.Learner` ---------------------
#
# It is imported by that name in every process that runs trials, so the module must be importable there: from the
# directory in which the command was started, or installed.


MakeGenerator = Callable[[], np.random.Generator]
"""Makes the generator of a trial for a learner that draws."""


def same_generator() -> np.random.Generator:
    """For a learner that is only looked at: the same one each time."""
    return np.random.Generator(np.random.PCG64DXSM(0))


@lru_cache(maxsize=32)
def load_plugin(name: str) -> Callable[..., Learner]:
    """The class of that name, `module:Class`, or of a notebook (`live`).

    Raises:
        ConfigError: if there is none, or the module cannot be imported.
    """
    if (known := live_class(name)) is not None:
        return known
    if name.startswith(PREFIX):
        raise ConfigError(f"{name} is a class of a notebook or script that is not known here; put it into a module")
    module_name, _, class_name = name.partition(":")
    module = own_module(name, "folder.file:Class")
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        there = [key for key, value in vars(module).items() if isinstance(value, type)]
        own = [key for key in there if vars(module)[key].__module__ == module.__name__]
        raise ConfigError(
            f"{name}: {module_name} has no class '{class_name}'; its classes are {', '.join(own) or 'none'}"
        )
    return made


def build_plugin(name: str, make_rng: MakeGenerator, *, L: int, K: int, **others: Any) -> Learner:
    """A learner of that class, whose lists are checked.

    Args:
        name: `module:Class`.
        make_rng: makes its generator, if its constructor takes `rng`.
        L, K, others: further arguments of the constructor; `list_length`, else `K`, is the most of a list.

    Raises:
        ConfigError: if it cannot be made, or does not follow the protocol.
    """
    made, M = load_plugin(name), others.get("list_length")
    check_list_length(M)
    try:
        if "rng" in parameters(made):
            others["rng"] = make_rng()
        learner: Any = made(L=L, K=K, **others)
    except CascadeError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name}: {in_words(error)}; it is made with L, K, delta, epsilon and its options") from error
    refuse_incomplete(learner, name)
    if _runs_our_way(learner):
        ours: Learner = learner
        return ours
    checked = CheckedAnswering if can_answer(learner) else Checked
    return checked(learner, name, L, K, min(M or K, L))


def _runs_our_way(learner: object) -> bool:
    """Whether it is a racing learner that changes nothing but the rule, so that the fast engines are exact for it."""
    return isinstance(learner, RacingLearner) and all(
        part not in vars(learner) and _definer(type(learner), part).__module__.startswith(f"{OURS}.") for part in PARTS
    )


def _definer(made: type, part: str) -> type:
    return next(base for base in made.__mro__ if part in vars(base))


def parameters(made: Callable[..., Learner]) -> dict[str, inspect.Parameter]:
    """Parameters of a constructor by name; of annotations that cannot be evaluated, the text.

    Raises:
        ConfigError: if it has no signature, as some classes that are not written in Python.
    """
    try:
        return dict(inspect.signature(made, eval_str=True).parameters)
    except (ValueError, TypeError):
        raise ConfigError(f"{made.__name__} does not say what it is made with; write it in Python") from None
    except Exception:
        return dict(inspect.signature(made).parameters)


@lru_cache(maxsize=32)
def plugin_code(name: str) -> str:
    """Hash of all code that the class runs (`sources`): rows of an older version do not mix with newer ones."""
    return live_code(name) or own_hash(name, load_plugin(name).__module__)
