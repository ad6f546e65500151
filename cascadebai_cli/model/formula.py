"""Formulas such as `1 - 1/K**2`: one grammar gives their values and their LaTeX; `eval` is never used."""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from cascadebai_cli.errors import ConfigError, suggest

_NAMES = ("K", "L")
"""Names that a formula of a config may use."""
_LONGEST = 200
"""Largest number of characters of a formula, which also limits its depth."""
_DEEPEST = 10
"""Largest depth of powers and functions inside one another that is set as LaTeX."""


@dataclass(frozen=True)
class _Name:
    """`K`."""

    name: str


@dataclass(frozen=True)
class _Negative:
    """`-x`."""

    operand: "_Node"


@dataclass(frozen=True)
class _Operation:
    """`left symbol right` with one of `+ - * / **`."""

    symbol: str
    left: "_Node"
    right: "_Node"


@dataclass(frozen=True)
class _Call:
    """A function of `_FUNCTIONS` with its arguments."""

    name: str
    arguments: tuple["_Node", ...]


_Node = int | float | _Name | _Negative | _Operation | _Call
"""A formula."""


@dataclass(frozen=True)
class _Function:
    """A function: its value, the LaTeX around its arguments, and how many arguments it takes."""

    value: Callable[..., float]
    latex: str
    fewest: int = 1
    most: float = 1


_FUNCTIONS: Mapping[str, _Function] = MappingProxyType(
    {
        "sqrt": _Function(math.sqrt, r"\sqrt{%s}"),
        "log": _Function(lambda *x: _rounded(math.log(*x)), r"\log(%s)", most=2),
        "exp": _Function(lambda x: _rounded(math.exp(x)), r"\exp(%s)"),
        "min": _Function(min, r"\min(%s)", fewest=2, most=math.inf),
        "max": _Function(max, r"\max(%s)", fewest=2, most=math.inf),
    }
)


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    if low > high:
        raise ValueError
    return rng.uniform(low, high)


def _beta(rng: np.random.Generator, a: float, b: float) -> float:
    return rng.beta(a, b)


_DRAWS: Mapping[str, _Function] = MappingProxyType(
    {
        "uniform": _Function(_uniform, r"\mathrm{uniform}(%s)", fewest=2, most=2),
        "beta": _Function(_beta, r"\mathrm{beta}(%s)", fewest=2, most=2),
    }
)
"""Functions that draw their value from a generator, which is their first argument."""
_SYMBOLS: Mapping[type[ast.operator], str] = MappingProxyType(
    {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
)


def evaluate(formula: str | float, names: Mapping[str, float], rng: np.random.Generator | None = None) -> float:
    """Return the value of a formula.

    Args:
        formula: a number, or text with the names, `+ - * / **`, and `sqrt log exp min max`. Values of `log`, `exp` and
            powers with an exponent that is not whole are rounded to 13 significant digits; all else is exact to the
            last bit.
        names: values of the names, such as `K` and `L`.
        rng: generator for a formula that may draw: `uniform(low, high)`, `beta(a, b)`.

    Raises:
        ConfigError: if the formula is not understood or has no finite real value.
    """
    if not isinstance(formula, str):
        return float(formula)
    node = _parsed(formula, tuple(names), rng is not None)
    try:
        value = float(_value(node, names, rng))
    except OverflowError:
        raise ConfigError(f"{formula} is too large{_at(names)}; change the formula") from None
    except (ArithmeticError, ValueError):
        raise ConfigError(f"{formula} has no value{_at(names)}; change the formula") from None
    if not math.isfinite(value):
        raise ConfigError(f"{formula} is not finite{_at(names)}; change the formula")
    return value


def latex(formula: str | float, names: Collection[str] = _NAMES) -> str:
    r"""Return a formula as LaTeX without the dollars: `1 - 1/K**2` becomes `1 - 1/K^{2}`.

    Raises:
        ConfigError: if the formula is not understood, or is nested more deeply than LaTeX can show it legibly.
    """
    text = _latex(parse(str(formula), names))[0]
    if max(accumulate((brace == "{") - (brace == "}") for brace in text)) > _DEEPEST:
        raise ConfigError(f"{formula} nests powers and functions more than {_DEEPEST} deep; simplify the formula")
    return text


def parse(formula: str, names: Collection[str] = _NAMES, draws: bool = False) -> _Node:
    """Parse a formula; `draws` allows functions that draw from a generator.

    Raises:
        ConfigError: if the text is too long, uses something other than `names`, or is no formula.
    """
    functions = {**_FUNCTIONS, **_DRAWS} if draws else _FUNCTIONS
    if len(formula) > _LONGEST:
        raise ConfigError(f"{formula[:20]}... is longer than {_LONGEST} characters; shorten the formula")
    try:
        return _read(ast.parse(formula.strip(), mode="eval").body, names, functions)
    except _UnknownError as error:
        remedy = suggest(str(error), [*names, *functions])
        raise ConfigError(f"{formula} uses {error}, which is not known; {remedy}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConfigError(f"{formula!r} is not a formula; {_grammar(formula, names, functions)}") from None


_parsed = lru_cache(maxsize=256)(parse)


class _UnknownError(Exception):
    """A word that is neither a name nor a function."""


def _read(node: ast.expr, names: Collection[str], functions: Mapping[str, _Function]) -> _Node:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name not in functions:
            return _Name(_known(name, names))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _read(operand, names, functions)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _Negative(_read(operand, names, functions))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
            return _Operation(_SYMBOLS[type(op)], _read(left, names, functions), _read(right, names, functions))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            function = functions[_known(name, functions)]
            if function.fewest <= len(arguments) <= function.most:
                return _Call(name, tuple(_read(argument, names, functions) for argument in arguments))
    raise ValueError


def _known(word: str, words: Collection[str]) -> str:
    if word not in words:
        raise _UnknownError(word)
    return word


def _grammar(formula: str, names: Collection[str], functions: Collection[str]) -> str:
    if "^" in formula:
        return "write ** for a power"
    return f"use numbers, {', '.join(names)}, + - * / ** and {', '.join(functions)}"


def _at(names: Mapping[str, float]) -> str:
    return " at " + ", ".join(f"{name} = {value}" for name, value in names.items())


def _value(node: _Node, names: Mapping[str, float], rng: np.random.Generator | None) -> float:
    match node:
        case _Name(name):
            return names[name]
        case _Negative(operand):
            return -_value(operand, names, rng)
        case _Operation(symbol, left, right):
            return _OPERATIONS[symbol](_value(left, names, rng), _value(right, names, rng))
        case _Call(name, arguments):
            values = [_value(argument, names, rng) for argument in arguments]
            return _DRAWS[name].value(rng, *values) if name in _DRAWS else _FUNCTIONS[name].value(*values)
    return node


def _power(base: float, exponent: float) -> float:
    """Return small whole powers exactly, and others as rounded floats, which overflow instead of growing for ever."""
    if abs(base) < 2**53 and abs(exponent) <= 16 and exponent == int(exponent):
        exact = Fraction(base) ** int(exponent)
        return int(exact) if isinstance(base, int) and exponent >= 0 else float(exact)
    return _rounded(math.pow(base, exponent))


def _rounded(value: float) -> float:
    """Round to 13 significant digits.

    Machines differ in the last of 16 digits, and ids of cells, seeds and rows depend on the value.
    """
    return float(f"{value:.12e}")


_OPERATIONS: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": _power}
)

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""Precedences: how tightly the outermost operation of a formula binds."""


def _latex(node: _Node) -> tuple[str, int]:
    """Return the LaTeX of a formula and how tightly it binds."""
    match node:
        case _Name(name):
            return name, _ATOM
        case _Negative(operand):
            return "-" + _wrapped(operand, _PRODUCT), _SUM
        case _Operation(symbol, left, right):
            return _operation(symbol, left, right)
        case _Call(name, arguments):
            return _FUNCTIONS[name].latex % ", ".join(_latex(argument)[0] for argument in arguments), _ATOM
    digits, _, exponent = f"{node:g}".partition("e")
    return (rf"{digits} \times 10^{{{int(exponent)}}}", _PRODUCT) if exponent else (digits, _ATOM)


def _operation(symbol: str, left: _Node, right: _Node) -> tuple[str, int]:
    match symbol:
        case "+":
            return f"{_wrapped(left, _SUM)} + {_wrapped(right, _SUM)}", _SUM
        case "-":
            return f"{_wrapped(left, _SUM)} - {_wrapped(right, _PRODUCT)}", _SUM
        case "*":
            return _signed(_product(_leading(left), _wrapped(right, _PRODUCT)))
        case "/":
            return _signed(f"{_leading(left)}/{_wrapped(right, _POWER)}")
    return f"{_wrapped(left, _ATOM)}^{{{_latex(right)[0]}}}", _POWER


def _leading(node: _Node) -> str:
    # A sign in front of a product needs no brackets: -3/2.
    return _latex(node)[0] if isinstance(node, _Negative) else _wrapped(node, _PRODUCT)


def _signed(product: str) -> tuple[str, int]:
    return product, _SUM if product.startswith("-") else _PRODUCT


def _product(left: str, right: str) -> str:
    return rf"{left} \cdot {right}" if right[0].isdigit() else rf"{left}\,{right}"


def _wrapped(node: _Node, least: int) -> str:
    text, binding = _latex(node)
    return text if binding >= least else f"({text})"
