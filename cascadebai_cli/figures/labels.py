"""Labels in the paper's letters, as LaTeX that matplotlib can set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.mathtext import MathTextParser

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.deal import Deal
from cascadebai_cli.model.formula import latex
from cascadebai_cli.study.instances import AnyInstance, TwoLevel
from cascadebai_cli.text.numbers import is_missing

SYMBOLS = {"delta": r"\delta", "epsilon": r"\epsilon", "sigma": r"\sigma", "L": "L", "K": "K"}
NUMBERS = ("L", "K", "delta", "epsilon")
MEASURES = {
    "steps": "time complexity",
    "observations": "observations",
    "error_rate": "error rate",
    "right": "right items",
    "steps_per_lower_bound": "steps / lower bound",
    "steps_per_sharp_bound": "steps / sharp lower bound",
}
PRIME = "\N{PRIME}"
"""STIX has a well placed prime of its own; as a superscript it would float high above the letter."""


def weights_parts(entry: AnyInstance | None) -> list[str]:
    r"""`$w^* = 1/K$` and `$w' = 1/K^{2}$` for a two-level instance, empty for every other and if it is not known."""
    if not isinstance(entry, TwoLevel):
        return []
    try:
        return [f"$w^{{*}} = {latex(entry.w_star)}$", f"$w{PRIME} = {latex(entry.w_prime)}$"]
    except ConfigError:
        return []


def plain(text: str) -> str:
    """`text` set as it is: a dollar is a dollar."""
    return text.replace("$", r"\$")


def values_label(values: Mapping[str, Any], names: Sequence[str]) -> str:
    r"""`$L = 64, K = 16$` for those of `names` that `values` holds."""
    parts = [f"{SYMBOLS.get(name, name)} = {values[name]:g}" for name in names if name in values]
    return "$" + r",\ ".join(parts) + "$" if parts else ""


@dataclass(frozen=True)
class Labels:
    """What stands in a figure for names and columns.

    Args:
        instances: instances of the studies by name.
        given: what the user wants to read instead; `$...$` is mathematics.
    """

    instances: Mapping[str, AnyInstance] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for word, text in self.given.items():
            _check(word, text)

    def column(self, name: str) -> str:
        """A column, for an axis."""
        if name in self.given:
            return self.given[name]
        if name == "budget":
            return "page views"
        if name == "gap":
            return "gap $w(K) - w(K+1)$"
        return f"${SYMBOLS[name]}$" if name in SYMBOLS else plain(name.replace("_", " "))

    def measure(self, name: str) -> str:
        """What is measured, for an axis."""
        return self.given.get(name, MEASURES[name])

    def name(self, column: str, value: Any) -> str:
        """A value of a column that holds names, or of any other with the name of its column."""
        text = str(value)
        if text in self.given:
            return self.given[text]
        if column == "instance":
            return ", ".join(self.weights(text)) or plain(text)
        if column in ("learner", "algorithm", "directory") or not isinstance(value, int | float | None):
            return plain(text)
        if column in NUMBERS and column not in self.given:
            return values_label({column: value}, [column])
        return f"no {self.column(column)}" if is_missing(value) else f"{self.column(column)} = {value:g}"

    def weights(self, name: str) -> list[str]:
        """The weights of an instance in the paper's letters; empty if another instance has the same."""
        own = weights_parts(self.instances.get(name))
        others = [weights_parts(entry) for other, entry in self.instances.items() if other != name]
        return [] if own in others else own

    def groups(self, column: str, names: Sequence[str]) -> tuple[str, ...]:
        """Names of the places of an axis; the weights of an instance stand in two lines."""
        return tuple(
            "\n".join(self.weights(name)) if self._has_weights(column, name) else self.name(column, name)
            for name in names
        )

    def _has_weights(self, column: str, name: str) -> bool:
        return column == "instance" and name not in self.given and bool(self.weights(name))

    def line(self, key: Mapping[str, Any], names: Sequence[str]) -> str:
        """A line of a figure."""
        return ", ".join(self._parts(key, names))

    def title(self, key: Mapping[str, Any], dealt: Deal) -> tuple[str, ...]:
        """The parts of the title of a panel."""
        return tuple(self._parts(key, [name for name in ("instance", "learner", *NUMBERS) if name in dealt.panels])) + (
            tuple(self._parts(key, [n for n in dealt.panels if n not in ("instance", "learner", *NUMBERS)]))
        )

    def _parts(self, key: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Names each on its own, numbers of the grid together."""
        numbers = [name for name in names if name in NUMBERS and name not in self.given]
        parts = [self.name(name, key[name]) for name in names if name not in numbers]
        return [*parts, values_label(key, numbers)] if numbers else parts


def _check(word: str, text: str) -> None:
    if text.count("$") % 2 == 0 and "$" in text:
        try:
            MathTextParser("path").parse(text)
        except ValueError as error:
            problem = str(error).strip().splitlines()[-1]
            raise ConfigError(f"labels: {word}: {text} cannot be set as mathematics ({problem})") from None
