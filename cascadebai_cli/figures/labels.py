"""Labels in the paper's letters, as LaTeX that matplotlib can set."""

from collections.abc import Mapping, Sequence
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.formula import latex
from cascadebai_cli.study.instances import AnyInstance, TwoLevel

SYMBOLS = {"L": "L", "delta": r"\delta", "epsilon": r"\epsilon"}
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


def instance_label(name: str, entry: AnyInstance | None, separator: str = ", ") -> str:
    """The weights of an instance in the paper's letters, or its name where they have no short formula."""
    return separator.join(weights_parts(entry)) or plain(name)


def plain(text: str) -> str:
    """`text` set as it is: a dollar is a dollar."""
    return text.replace("$", r"\$")


def values_label(values: Mapping[str, Any], names: Sequence[str]) -> str:
    r"""`$L = 64, K = 16$` for those of `names` that `values` holds."""
    parts = [f"{SYMBOLS.get(name, name)} = {values[name]:g}" for name in names if name in values]
    return "$" + r",\ ".join(parts) + "$" if parts else ""


def panel_title(key: Mapping[str, Any], instances: Mapping[str, AnyInstance], varying: Sequence[str]) -> str:
    """The instance of a panel and whatever else differs between panels.

    Args:
        key: `instance` and further columns of the panel's cells.
        instances: instances of the study by name.
        varying: columns that differ between panels, out of `learner, L, delta, epsilon`.
    """
    name = str(key["instance"])
    learner = plain(str(key["learner"])) if "learner" in varying else ""
    values = values_label(key, [column for column in varying if column != "learner"])
    return ", ".join(filter(None, [instance_label(name, instances.get(name)), learner, values]))
