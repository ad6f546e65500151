"""Labels in the paper's letters: formulas of a config as LaTeX that matplotlib can set."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

FUNCTIONS = {"sqrt": r"\sqrt{%s}", "log": r"\log(%s)", "exp": r"\exp(%s)", "min": r"\min(%s)", "max": r"\max(%s)"}
SYMBOLS = {"L": "L", "delta": r"\delta", "epsilon": r"\epsilon"}
PRIME = "\N{PRIME}"
"""STIX has a well placed prime of its own; as a superscript it would float high above the letter."""
ADD, MULTIPLY, POWER, ATOM = range(4)
"""How tightly the outermost operation of a formula binds."""


def latex(formula: str | float) -> str:
    r"""A formula as LaTeX without the dollars: `1 - 1/K**2` becomes `1 - 1/K^{2}`.

    Raises:
        ValueError: if the formula has a part that configs do not allow.
    """
    try:
        tree = ast.parse(str(formula).strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{formula} is not a formula") from error
    return _convert(tree.body)[0]


def _convert(node: ast.expr) -> tuple[str, int]:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _number(value)
        case ast.Name(id=name) if name not in FUNCTIONS:
            return name, ATOM
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name] % ", ".join(_convert(argument)[0] for argument in arguments), ATOM
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return "-" + _wrapped(operand, MULTIPLY), ADD
        case ast.BinOp(left=left, op=op, right=right):
            return _operation(left, op, right)
    raise ValueError(f"{ast.unparse(node)} is not part of a formula")


def _number(value: float) -> tuple[str, int]:
    digits, _, exponent = f"{value:g}".partition("e")
    return (rf"{digits} \times 10^{{{int(exponent)}}}", MULTIPLY) if exponent else (digits, ATOM)


def _operation(left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[str, int]:
    match op:
        case ast.Add():
            return f"{_wrapped(left, ADD)} + {_wrapped(right, ADD)}", ADD
        case ast.Sub():
            return f"{_wrapped(left, ADD)} - {_wrapped(right, MULTIPLY)}", ADD
        case ast.Mult():
            return _signed(_product(_leading(left), _wrapped(right, MULTIPLY)))
        case ast.Div():
            return _signed(f"{_leading(left)}/{_wrapped(right, POWER)}")
        case ast.Pow():
            return f"{_wrapped(left, ATOM)}^{{{_convert(right)[0]}}}", POWER
    raise ValueError(f"{type(op).__name__} is not an operation of a formula")


def _leading(node: ast.expr) -> str:
    # A sign in front of a product needs no brackets: -3/2.
    return _convert(node)[0] if isinstance(node, ast.UnaryOp) else _wrapped(node, MULTIPLY)


def _signed(product: str) -> tuple[str, int]:
    return product, ADD if product.startswith("-") else MULTIPLY


def _product(left: str, right: str) -> str:
    return rf"{left} \cdot {right}" if right[0].isdigit() else rf"{left}\,{right}"


def _wrapped(node: ast.expr, least: int) -> str:
    text, binding = _convert(node)
    return text if binding >= least else f"({text})"


def weights_parts(entry: Mapping[str, Any]) -> list[str]:
    r"""`$w^* = 1/K$` and `$w' = 1/K^{2}$` for a two-level instance of a config, empty for every other."""
    if entry.get("family") != "two_level":
        return []
    try:
        return [f"$w^{{*}} = {latex(entry['w_star'])}$", f"$w{PRIME} = {latex(entry['w_prime'])}$"]
    except (KeyError, ValueError):
        return []


def instance_label(name: str, entry: Mapping[str, Any], separator: str = ", ") -> str:
    """The weights of an instance in the paper's letters, or its name where they have no short formula."""
    return separator.join(weights_parts(entry)) or plain(name)


def plain(text: str) -> str:
    """`text` set as it is: a dollar is a dollar."""
    return text.replace("$", r"\$")


def values_label(values: Mapping[str, Any], names: Sequence[str]) -> str:
    r"""`$L = 64, K = 16$` for those of `names` that `values` holds."""
    parts = [f"{SYMBOLS.get(name, name)} = {values[name]:g}" for name in names if name in values]
    return "$" + r",\ ".join(parts) + "$" if parts else ""


def panel_title(key: Mapping[str, Any], instances: Mapping[str, Mapping[str, Any]], varying: Sequence[str]) -> str:
    """The instance of a panel and whatever else differs between panels.

    Args:
        key: `instance` and further columns of the panel's cells.
        instances: config entries by name.
        varying: columns that differ between panels, out of `learner, L, delta, epsilon`.
    """
    name = str(key["instance"])
    learner = plain(str(key["learner"])) if "learner" in varying else ""
    values = values_label(key, [column for column in varying if column != "learner"])
    return ", ".join(filter(None, [instance_label(name, instances.get(name, {})), learner, values]))
