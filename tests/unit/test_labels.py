"""Formulas of a config in the paper's letters."""

import pytest
from matplotlib.mathtext import MathTextParser

from cascadebai_cli.figures.labels import instance_label, latex, values_label


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("1/K", "1/K"),
        ("1/K**2", "1/K^{2}"),
        ("1 - 1/K**2", "1 - 1/K^{2}"),
        ("1-1/sqrt(K)", r"1 - 1/\sqrt{K}"),
        ("1 - K**(-3/2)", "1 - K^{-3/2}"),
        ("(1 + 1/K)/2", "(1 + 1/K)/2"),
        ("1/(2*K)", r"1/(2\,K)"),
        ("1/2/K", "1/2/K"),
        ("1/(2/K)", "1/(2/K)"),
        ("1 - (1/K - 1/L)", "1 - (1/K - 1/L)"),
        ("1 - (1/K + 1/L)", "1 - (1/K + 1/L)"),
        ("(K**2)**3", "(K^{2})^{3}"),
        ("2*3", r"2 \cdot 3"),
        ("-K", "-K"),
        ("1 - -K/2", "1 - (-K/2)"),
        ("-2*K", r"-2\,K"),
        ("-(K + 1)", "-(K + 1)"),
        ("log(K)/K", r"\log(K)/K"),
        ("min(0.5, 4/K)", r"\min(0.5, 4/K)"),
        ("exp(-K)", r"\exp(-K)"),
        (0.25, "0.25"),
        ("1e-5", r"1 \times 10^{-5}"),
    ],
)
def test_formula(formula: str | float, expected: str) -> None:
    assert latex(formula) == expected
    MathTextParser("agg").parse(f"${latex(formula)}$")


@pytest.mark.parametrize(
    "formula", ["1/", "open('x')", "K if L else 1", "K % 2", "'a'", "sqrt(K, x=1)", "K[0]", "sqrt"]
)
def test_other_expressions_are_refused(formula: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        latex(formula)


def test_two_level_instance_is_named_by_its_weights() -> None:
    entry = {"family": "two_level", "w_star": "1/sqrt(K)", "w_prime": 0.1}
    assert instance_label("setting 3", entry) == "$w^{*} = 1/\\sqrt{K}$, $w\N{PRIME} = 0.1$"


@pytest.mark.parametrize(
    "entry",
    [{}, {"family": "linear", "w_max": 0.5}, {"family": "two_level", "w_star": "open(K)", "w_prime": "1"}],
)
def test_other_instances_keep_their_name(entry: dict[str, object]) -> None:
    assert instance_label("the $5 shop", entry) == r"the \$5 shop"


def test_values() -> None:
    assert values_label({"L": 64, "K": 16, "delta": 0.1, "epsilon": 0.05}, ["L", "K", "delta", "epsilon"]) == (
        r"$L = 64,\ K = 16,\ \delta = 0.1,\ \epsilon = 0.05$"
    )
    assert values_label({"L": 64}, []) == ""
