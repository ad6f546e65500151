"""A hash of code that stands in no module: that of a notebook, a script or a prompt.

What is hashed is what runs: the bytecode of functions, their constants and defaults, and all that they name, functions,
classes and numbers alike, however deep; of what comes from a module its code (`sources`). Comments and the names of
files do not count. Another Python compiles to other bytecode, so that it gives another hash. Of an object whose class
comes from a module only the type counts.
"""

import dis
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from cascadebai_cli.learners.sources import code_hash

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
