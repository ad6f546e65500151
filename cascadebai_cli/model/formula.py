"""Formulas in `K` and `L`, such as `1 - 1/K**2`, read by simpleeval: never by `eval`."""

import ast
import math
import operator
from collections.abc import Mapping
from typing import Any

from simpleeval import FunctionNotDefined, InvalidExpression, NameNotDefined, SimpleEval

from cascadebai_cli.errors import ConfigError, suggest

FUNCTIONS = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "min": min, "max": max}
LONGEST = 200
"""Characters of a formula; a limit on its depth, too."""

_NODES = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Name)


def evaluate(formula: str | float, names: Mapping[str, float]) -> float:
    """Value of a formula.

    Args:
        formula: a number, or text with the names, `+ - * / **`, and `sqrt log exp min max`.
        names: values of the names, `K` and `L`.

    Raises:
        ConfigError: if the formula is not understood or has no finite real value.
    """
    if not isinstance(formula, str):
        return float(formula)
    if len(formula) > LONGEST:
        raise ConfigError(f"{formula[:20]}... is longer than {LONGEST} characters; shorten the formula")
    value = _value(formula, names)
    if not math.isfinite(value):
        raise ConfigError(f"{formula} is not finite{_at(names)}; change the formula")
    return value


def _value(formula: str, names: Mapping[str, float]) -> float:
    try:
        tree = ast.parse(formula.strip(), mode="eval")
        return float(_evaluator(names).eval(formula, previously_parsed=tree.body))
    except (NameNotDefined, FunctionNotDefined) as error:
        unknown = str(getattr(error, "name", "") or getattr(error, "func_name", ""))
        remedy = suggest(unknown, [*names, *FUNCTIONS])
        raise ConfigError(f"{formula} uses {unknown}, which is not known; {remedy}") from None
    except (InvalidExpression, SyntaxError, TypeError, AttributeError, RecursionError):
        raise ConfigError(f"{formula!r} is not a formula; {_grammar(formula, names)}") from None
    except OverflowError:
        raise ConfigError(f"{formula} is too large{_at(names)}; change the formula") from None
    except (ArithmeticError, ValueError):
        raise ConfigError(f"{formula} has no value{_at(names)}; change the formula") from None


def _evaluator(names: Mapping[str, float]) -> SimpleEval:
    evaluator = SimpleEval(operators=_OPERATORS, functions=dict(FUNCTIONS), names=dict(names))
    evaluator.nodes = {kind: evaluator.nodes[kind] for kind in _NODES}
    evaluator.nodes[ast.Constant] = _number
    return evaluator


def _number(node: ast.Constant) -> int | float:
    if type(node.value) not in (int, float):
        raise InvalidExpression("only numbers")
    return node.value  # type: ignore[return-value]


def _power(base: float, exponent: float) -> float:
    """Small powers of whole numbers exactly, others as floats, which overflow instead of growing for ever."""
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) < 2**53 and 0 <= exponent <= 16:
        return int(base**exponent)
    return math.pow(base, exponent)


_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _grammar(formula: str, names: Mapping[str, float]) -> str:
    if "^" in formula:
        return "write ** for a power"
    return f"use numbers, {', '.join(names)}, + - * / ** and {', '.join(FUNCTIONS)}"


def _at(names: Mapping[str, float]) -> str:
    return " at " + ", ".join(f"{name} = {value}" for name, value in names.items())
