"""User-defined code: how it is found, imported, hashed and checked against the protocol."""

import ast
import dis
import hashlib
import inspect
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec, resolve_name
from inspect import getattr_static
from operator import index
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Literal

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.protocol import Learner, RacingLearner, can_answer, check_list_length
from cascadebai_cli.text import shortened
from cascadebai_cli.version import __version__

# --- User-defined code: learners and families that a config names `module:object`, and classes of a notebook --------
#
# An object that is named `module:object` is imported in every process that runs trials, from the directory of the
# command or as it is installed. A class of a notebook, a script or a prompt cannot be imported: in this process and in
# its workers its name is `__main__:Class#HASH`, with a hash of its code. Rows of different code must not mix, so all
# code that an object runs is hashed.
#
# *Files.* The hash of a module covers the user's files that it imports, directly or not, and names and versions of the
# distributions of all other modules. Imports are read from the source, including those inside functions, so that the
# hash is the same in every process, and nothing is imported for it (`modulefinder` fails where a folder has no
# `__init__.py` or a file does not compile). Not covered are modules whose names are put together as the program runs,
# and files that are read as data.
#
# *Memory.* The hash of a class of a notebook covers the bytecode of its functions, their constants and defaults, and
# everything that they name (functions, classes, values), to any depth; for parts that come from a module it covers the
# module's files. Another version of Python compiles to other bytecode and gives another hash. For an object whose class
# comes from a module only the type counts.

MakeGenerator = Callable[[], np.random.Generator]
"""Makes the generator of a trial for a learner that draws."""
LIVE: dict[str, type] = {}
"""Name of a class that cannot be imported -> the class."""

_LIVE_PREFIX, _MARK = "__main__:", "#"
_SCRIPT = (None, "__main__", "__mp_main__")
"""Modules of a script, a notebook or a prompt; the last one is the script in a process that multiprocessing spawned."""
_OURS = ("cascadebai_cli", "cascadebai")
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_INSTALLED = {"site-packages", "dist-packages"}
_BY_NAME = ("import_module", "__import__")
"""Functions that import the module named by their first argument, if that is written out."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_HOLDERS: Mapping[Any, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    (staticmethod, classmethod): ("__func__",),
    cached_property: ("func",),
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
}
"""Kind of object -> attributes with the code that it runs."""

_Kind = Literal["class", "function"]
_KINDS: Mapping[_Kind, tuple[Callable[[Any], bool], str, str]] = {
    "class": (inspect.isclass, "classes", "folder.file:Class"),
    "function": (inspect.isfunction, "functions", "folder.file:function"),
}
"""Kind of object -> test for it, plural of the word, and example of a name."""


def is_own(name: str) -> bool:
    """Return whether a name is that of user-defined code."""
    return ":" in name


@lru_cache(maxsize=64)
def own_object(name: str, kind: _Kind) -> Any:
    """Import the object of that name, `module:object`, and return it.

    Raises:
        ConfigError: if the module has no such object, is part of Python, or fails to import.
    """
    module_name, _, object_name = name.partition(":")
    is_one, several, example = _KINDS[kind]
    module = _imported(name, module_name, example)
    made = getattr(module, object_name, None)
    if not is_one(made):
        there = [key for key, value in vars(module).items() if is_one(value) and value.__module__ == module.__name__]
        own = ", ".join(there) or "none"
        raise ConfigError(f"{name}: {module_name} has no {kind} '{object_name}'; its {several} are {own}")
    return made


@lru_cache(maxsize=64)
def own_hash(name: str, kind: _Kind) -> str:
    """Return the hash of all code that `module:object` runs, even if it is defined in another module."""
    return code_hash(name.partition(":")[0], own_object(name, kind).__module__)


def _imported(name: str, module_name: str, example: str) -> ModuleType:
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(f"{name}: '{module_name}' is not a module; write it as in an import, such as {example}")
    if _top(module_name) in sys.stdlib_module_names:
        raise _no_own_module(name, module_name)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end, so that a file there does not replace a module that others import
    try:
        invalidate_caches()
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        stem = module_name.removesuffix(".py")
        remedy = "start where it lies" if stem == module_name else f"write {stem}, the module, and not its file"
        raise ConfigError(f"{name}: no module '{error.name}' in {os.getcwd()} or installed; {remedy}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{name}: importing {module_name} fails with {in_words(error)}; correct the module"
        ) from error
    if module.__spec__ is None:
        raise _no_own_module(name, module_name)
    return module


def _no_own_module(name: str, module_name: str) -> ConfigError:
    return ConfigError(f"{name}: {module_name} is a part of Python or no file; name a module of your own")


def in_words(error: BaseException) -> str:
    """Return an error of user-defined code as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def enter(made: type) -> str:
    """Return the name of a class as an algorithm: `module:Class`, or one with its hash if it cannot be imported."""
    if not is_live(made) and "." not in made.__qualname__:
        return f"{made.__module__}:{made.__name__}"
    algorithm = f"{_LIVE_PREFIX}{made.__name__}{_MARK}{live_hash(made)}"
    LIVE[algorithm] = made
    return algorithm


def load_plugin(name: str) -> Callable[..., Learner]:
    """Return the class of that name, `module:Class` or `__main__:Class#HASH`.

    Raises:
        ConfigError: if there is none, or the module cannot be imported.
    """
    if name.startswith(_LIVE_PREFIX) and name not in LIVE:
        raise ConfigError(f"{name} is a class of a notebook or script that is not known here; put it into a module")
    made: Callable[..., Learner] = LIVE[name] if name in LIVE else own_object(name, "class")
    return made


def plugin_code(name: str) -> str:
    """Return the hash of all code that the class runs, by which rows of different versions are kept apart."""
    return name.rpartition(_MARK)[2] if name in LIVE else own_hash(name, "class")


def build_learner(
    name: str, made: Callable[..., Learner], make_rng: MakeGenerator | None, *, L: int, K: int, **others: Any
) -> Learner:
    """Return a learner, whose lists are checked unless a fast engine of this program runs it.

    Args:
        name: the algorithm in a config.
        make_rng: makes its generator, if its constructor takes `rng`; `None` for a learner that is only inspected.
        L, K, others: further arguments of the constructor; a list has at most `list_length` items, which may be the
            default of the constructor, else `K`.

    Raises:
        ConfigError: if the learner cannot be made, or does not follow the protocol.
    """
    M = others.get("list_length", _default_of(made, "list_length"))
    check_list_length(M)
    try:
        if "rng" in parameters(made):
            others["rng"] = make_rng() if make_rng else np.random.Generator(np.random.PCG64DXSM(0))
        learner: Any = made(L=L, K=K, **others)
    except CascadeError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name}: {in_words(error)}; it is made with L, K, delta, epsilon and its options") from error
    if _is_fast(learner) or _runs_our_way(learner):
        ours: Learner = learner
        return ours
    _refuse_incomplete(learner, name)
    checked = _CheckedAnswering if can_answer(learner) else _Checked
    return checked(learner, name, L, K, min(M or K, L))


def _is_fast(learner: object) -> bool:
    """Return whether it is a learner of this program that says which fast engines are exact for it."""
    return _top(type(learner).__module__) == _OURS[0] and hasattr(learner, "engines")


def _runs_our_way(learner: object) -> bool:
    """Return whether it is a racing learner that changes only the rule, so that the fast engines are exact for it."""
    return isinstance(learner, RacingLearner) and all(
        part not in vars(learner) and _top(_definer(type(learner), part).__module__) == _OURS[0] for part in _PARTS
    )


def _definer(made: type, part: str) -> type:
    return next(base for base in made.__mro__ if part in vars(base))


def _default_of(made: Callable[..., Learner], name: str) -> Any:
    """Return the default of a parameter of a constructor; `None` if it has none or there is no such parameter."""
    found = parameters(made).get(name)
    return None if found is None or found.default is found.empty else found.default


@cache
def parameters(made: Callable[..., Learner]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor by name; annotations that cannot be evaluated stay text.

    Raises:
        ConfigError: if it has no signature, as some classes not written in Python have none.
    """
    try:
        return dict(inspect.signature(made, eval_str=True).parameters)
    except (ValueError, TypeError):
        raise ConfigError(f"{made.__name__} does not say what it is made with; write it in Python") from None
    except Exception:
        return dict(inspect.signature(made).parameters)


def code_hash(*modules: str, own: bool = True) -> str:
    """Return 16 hexadecimal digits of a hash of the files that modules run; paths do not count.

    Args:
        modules: names of the modules.
        own: whether files of the same top-level packages count even if these are installed.
    """
    parts: dict[str, str] = {}
    tops, left = {_top(name) for name in modules if own}, list(modules)
    while left:
        for spec in _along(left.pop()):
            if spec.name not in parts:
                parts[spec.name], imports = _part(spec, own=_top(spec.name) in tops)
                left += imports
    return _digest("\n".join(sorted(f"{name} {part}" for name, part in parts.items() if part)).encode())[:16]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _top(name: str) -> str:
    return name.partition(".")[0]


def _along(name: str) -> Iterator[ModuleSpec]:
    """Yield the modules along a dotted name, as far as they exist."""
    first, *rest = name.split(".")
    spec = None
    with suppress(ImportError, ValueError):
        spec = find_spec(first)
    while spec is not None:
        yield spec
        spec = _below(spec, rest.pop(0)) if rest else None


def _below(spec: ModuleSpec, word: str) -> ModuleSpec | None:
    """Return a module of a package without importing the package, as `find_spec` would."""
    importers = map(pkgutil.get_importer, spec.submodule_search_locations or ())
    specs = [importer.find_spec(f"{spec.name}.{word}") for importer in importers if importer]
    found = [each for each in specs if each]
    return next((each for each in found if each.loader), found[0] if found else None)


def _part(spec: ModuleSpec, own: bool) -> tuple[str, tuple[str, ...]]:
    """Return what a module adds to the hash, and what it imports; nothing for a module without a file."""
    if spec.origin is None or not spec.has_location:
        return "", ()
    path, top = Path(spec.origin).resolve(), _top(spec.name)
    if not own and (top in _OURS or path.is_relative_to(_STANDARD) or not _INSTALLED.isdisjoint(path.parts)):
        return _distribution(top), ()
    return _file(spec.origin, spec.name, spec.submodule_search_locations is not None)


@lru_cache(maxsize=256)
def _distribution(top: str) -> str:
    """Return names and versions of the distributions that hold a top-level module; none for a module of Python."""
    with suppress(PackageNotFoundError):
        return f"{top}=={__version__ if top in _OURS else version(top)}"
    found = () if top in sys.stdlib_module_names else set(packages_distributions().get(top, ()))
    return " ".join(sorted(f"{name}=={version(name)}" for name in found))


@lru_cache(maxsize=4096)
def _file(path: str, module: str, is_package: bool) -> tuple[str, tuple[str, ...]]:
    """Return hash and imports of a file as it was at the first call, since the imported code does not change either."""
    content = Path(path).read_bytes()
    package = module if is_package else module.rpartition(".")[0]
    return _digest(content), tuple(dict.fromkeys(_imports(content, package)))


def _imports(content: bytes, package: str) -> Iterator[str]:
    tree = None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # compiled, or what Python will complain about
        tree = ast.parse(content)
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                with suppress(ImportError):
                    base = resolve_name("." * node.level + (node.module or ""), package)
                    yield from (f"{base}.{alias.name}" for alias in node.names)  # what is before the dot counts too
            case ast.Call(func=ast.Name(id=by) | ast.Attribute(attr=by), args=[ast.Constant(value=str(name)), *_]):
                yield from [name] if by in _BY_NAME else []


def live_hash(made: type) -> str:
    """Return 16 hexadecimal digits of a hash of what a class runs."""
    return _digest(_Reader().text(made).encode())[:16]


def is_live(value: Any) -> bool:
    """Return whether other processes cannot import a function or class by its name from a module."""
    name = getattr(value, "__module__", None)
    if name in _SCRIPT:
        return True
    found: Any = sys.modules.get(name)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not value


class _Reader:
    """Writes a value as text that is the same in any process; values that were met before are named by number."""

    def __init__(self) -> None:
        self._met: dict[int, Any] = {}

    def text(self, value: Any) -> str:
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r}"
        if id(value) in self._met:
            return f"#{list(self._met).index(id(value))}"
        self._met[id(value)] = value  # kept, so that no other value gets its id
        return f"({type(value).__name__} {' '.join(self._parts(value))})"

    def _parts(self, value: Any) -> Iterator[str]:
        match value:
            case ModuleType():
                yield f"{value.__name__} {code_hash(value.__name__, own=False)}"
            case BuiltinFunctionType():
                yield f"{value.__module__}.{value.__qualname__}"
            case type() | FunctionType() if not is_live(value):
                yield f"{value.__module__}.{value.__qualname__} {code_hash(value.__module__, own=False)}"
            case type():
                yield from map(self.text, value.__bases__)
                parts = {name: part for name, part in sorted(vars(value).items()) if _runs(name, part)}
                yield from map(self.text, parts.items())
            case FunctionType():
                yield from self._function(value)
            case CodeType():
                yield from self._code(value)
            case list() | tuple():
                yield from map(self.text, value)
            case set() | frozenset():
                yield from sorted(_Reader().text(each) for each in value)
            case Mapping():
                yield from map(self.text, value.items())
            case np.ndarray() | np.generic():
                yield f"{value.dtype} {value.shape} {_digest(np.ascontiguousarray(value).tobytes())}"
            case _:
                yield from self._object(value)

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield from map(self.text, (function.__code__, function.__defaults__, function.__kwdefaults__))
        filled = [cell for cell in function.__closure__ or () if cell != CellType()]  # a name may have no value yet
        yield from (self.text(cell.cell_contents) for cell in filled)
        names = _named_by(function.__code__, "LOAD_GLOBAL", "LOAD_NAME") & function.__globals__.keys()
        yield from map(self.text, ((name, function.__globals__[name]) for name in sorted(names)))

    def _code(self, code: CodeType) -> Iterator[str]:
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        yield from map(self.text, (code.co_code, *names, counts, *code.co_consts))
        yield from (code_hash(name, own=False) for name in sorted(_named_by(code, "IMPORT_NAME") - {""}))

    def _object(self, value: Any) -> Iterator[str]:
        """Yield what an object wraps or holds, and its attributes if its class is in no module."""
        made = type(value)
        module = "__main__" if made.__module__ in _SCRIPT else made.__module__
        yield f"{module}.{made.__qualname__} {getattr(value, '__name__', '')}"
        held = next((names for kind, names in _HOLDERS.items() if isinstance(value, kind)), ("__wrapped__",))
        yield from (self.text(getattr(value, name)) for name in held if hasattr(value, name))
        if is_live(made):
            yield from map(self.text, (made, getattr(value, "__dict__", {})))


def _runs(name: str, part: Any) -> bool:
    """Return whether a part of a class counts: its name, text and annotations do not."""
    return callable(part) or not (name.startswith("__") and name.endswith("__"))


def _named_by(code: CodeType, *operations: str) -> set[str]:
    """Return the names that certain operations take, in a function and in those inside it."""
    own = {str(step.argval) for step in dis.get_instructions(code) if step.opname in operations}
    return own.union(*(_named_by(each, *operations) for each in code.co_consts if isinstance(each, CodeType)))


# --- A user-defined learner is checked against the protocol at every step -------------------------------------------

_PARTS = ("select", "observe", "finished", "recommendation")
_VALUES = ("finished", "recommendation")
_UNORDERED = (set, frozenset, dict)


def _refuse_incomplete(learner: object, name: str) -> None:
    """Refuse an object that lacks a part of the protocol, or has a method in place of a property."""
    # a mock has every attribute that it is asked for, so only attributes count that are there without asking
    missing = [part for part in _PARTS if getattr_static(learner, part, None) is None]
    if missing:
        raise ConfigError(f"{name} lacks {', '.join(missing)}; a learner has {', '.join(_PARTS)}")
    for part in _VALUES:
        if callable(getattr_static(learner, part)):
            raise ConfigError(f"{name}: {part} is a method; write @property above it")


class _Checked:
    """A learner whose lists are checked: an empty list would be shown for ever, one that is too long would cheat.

    Args:
        L, K, M: number of items, of items to find, and largest number of items in a list.

    Raises:
        CascadeError: at every value that breaks the protocol.
    """

    def __init__(self, learner: Learner, name: str, L: int, K: int, M: int) -> None:
        self._learner, self.name, self._L, self._K, self._M = learner, name, L, K, M
        self.observe: Callable[[Sequence[int], Sequence[int]], None] = learner.observe

    @property
    def finished(self) -> bool:
        """Whether the learner has stopped."""
        answer: Any = self._learner.finished
        if not isinstance(answer, bool | np.bool_):
            raise CascadeError(f"{self.name}: finished is {_plain(answer)}; give True or False")
        return bool(answer)

    @property
    def any_order(self) -> bool:
        """Whether the learner says that its lists may be shown in any order."""
        return bool(getattr(self._learner, "any_order", False))

    @property
    def endless(self) -> bool:
        """Whether the learner says that it never stops by itself."""
        return bool(getattr(self._learner, "endless", False))

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`; before that none, and the learner is not asked."""
        return self._best("recommendation") if self.finished else ()

    def select(self) -> Sequence[int]:
        """Return the list to show."""
        shown: Any = self._learner.select()
        items = None if isinstance(shown, _UNORDERED) else self._items(shown)
        if not items or len(items) > self._M:
            raise self._refusal("select", shown, f"a list has 1 to {self._M}")
        return items

    def _best(self, part: str) -> tuple[int, ...]:
        """Return the `K` items that an attribute of the learner names."""
        answer: Any = getattr(self._learner, part)
        items = self._items(answer)
        if items is None or len(items) != self._K:
            raise self._refusal(part, answer, f"it has {self._K}")
        return tuple(items)

    def _items(self, answer: Any) -> list[int] | None:
        """Return different items as Python's own numbers; `None` if the answer is anything else."""
        try:
            given = list(answer)
            items = [index(item) for item in given]
        except TypeError:
            return None
        known = not any(isinstance(item, bool) for item in given) and all(0 <= item < self._L for item in items)
        return items if known and len(set(items)) == len(items) else None

    def _refusal(self, part: str, answer: Any, what: str) -> CascadeError:
        return CascadeError(
            f"{self.name}: {part} returned {_plain(answer)}; {what} different items, each from 0 to {self._L - 1}"
        )


class _CheckedAnswering(_Checked):
    """A checked learner that can be asked at any time."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that the learner would return now."""
        return self._best("answer")


def _plain(answer: object) -> str:
    return shortened(" ".join(str(answer).split()))
