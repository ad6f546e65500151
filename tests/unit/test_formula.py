import math
from fractions import Fraction

import pytest
from matplotlib.mathtext import MathTextParser

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.formula import evaluate, latex

NAMES = {"K": 20, "L": 128}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (0.25, 0.25),
        (1, 1.0),
        ("1/K", 0.05),
        ("1 - 1/K**2", 1 - 1 / 400),
        ("1/sqrt(K)", 1 / math.sqrt(20)),
        ("-K + +L", 108.0),
        ("K**-1.6", float(f"{20**-1.6:.12e}")),
        ("max(K/L, log(K)/10, exp(-K))", float(f"{math.log(20):.12e}") / 10),
        ("min(1, K)", 1.0),
        ("log(K, 2)", 4.321928094887),
        ("exp(1)", 2.718281828459),
        ("2**0.5", 1.414213562373),
        ("3**40", 12157665459060000000.0),
        ("sqrt(2)", math.sqrt(2)),
        ("(1/K)**2", float(Fraction(0.05) ** 2)),
        ("K**-3", 1 / 8000),
        ("-2**2", -4.0),
        ("3**2**2", 81.0),
        ("1 - 2 - 3", -4.0),
        (" (K) ", 20.0),
    ],
)
def test_values(formula, value):
    assert evaluate(formula, NAMES) == value
    assert type(evaluate(formula, NAMES)) is float


ALL = "K, L, sqrt, log, exp, min, max"
USE = "use numbers, K, L, + - * / ** and sqrt, log, exp, min, max"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1/k", "1/k uses k, which is not known; did you mean K?"),
        ("squrt(K)", "squrt(K) uses squrt, which is not known; did you mean sqrt?"),
        ("tan(K)", f"tan(K) uses tan, which is not known; use one of {ALL}"),
        ("open('x')", f"open('x') uses open, which is not known; use one of {ALL}"),
        ("1/K^2", "'1/K^2' is not a formula; write ** for a power"),
        ("1/", f"'1/' is not a formula; {USE}"),
        ("", f"'' is not a formula; {USE}"),
        ("a = 1/K", f"'a = 1/K' is not a formula; {USE}"),
        ("1; 2", f"'1; 2' is not a formula; {USE}"),
        ("K < L", f"'K < L' is not a formula; {USE}"),
        ("K if K else L", f"'K if K else L' is not a formula; {USE}"),
        ("K % 3", f"'K % 3' is not a formula; {USE}"),
        ("'a' * 9", f"\"'a' * 9\" is not a formula; {USE}"),
        ("True", f"'True' is not a formula; {USE}"),
        ("[K]", f"'[K]' is not a formula; {USE}"),
        ("K.real", f"'K.real' is not a formula; {USE}"),
        ("sqrt", f"'sqrt' is not a formula; {USE}"),
        ("max(K)", f"'max(K)' is not a formula; {USE}"),
        ("sqrt()", f"'sqrt()' is not a formula; {USE}"),
        ("exp(K, L)", f"'exp(K, L)' is not a formula; {USE}"),
        ("max(*K)", f"'max(*K)' is not a formula; {USE}"),
        ("sqrt(K, x=1)", f"'sqrt(K, x=1)' is not a formula; {USE}"),
        ("1j", f"'1j' is not a formula; {USE}"),
        ("~K", f"'~K' is not a formula; {USE}"),
        ("\0", f"'\\x00' is not a formula; {USE}"),
        ("(lambda: 1)()", f"'(lambda: 1)()' is not a formula; {USE}"),
        ("1/(K - 20)", "1/(K - 20) has no value at K = 20, L = 128; change the formula"),
        ("sqrt(-K)", "sqrt(-K) has no value at K = 20, L = 128; change the formula"),
        ("(-K)**0.5", "(-K)**0.5 has no value at K = 20, L = 128; change the formula"),
        ("9**9**9", "9**9**9 is too large at K = 20, L = 128; change the formula"),
        ("((9**16)**16)**16", "((9**16)**16)**16 is too large at K = 20, L = 128; change the formula"),
        ("1e308 * 10", "1e308 * 10 is not finite at K = 20, L = 128; change the formula"),
        ("1" + "+1" * 100, "1+1+1+1+1+1+1+1+1+1+... is longer than 200 characters; shorten the formula"),
    ],
)
def test_what_is_not_a_formula_is_one_sentence(formula, message):
    with pytest.raises(ConfigError) as error:
        evaluate(formula, NAMES)
    assert str(error.value) == message


def test_huge_powers_are_refused_at_once():
    """The exact result would have billions of digits; this test would not come back."""
    with pytest.raises(ConfigError, match="too large"):
        evaluate("(L**16)**(L**16)", NAMES)


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
def test_latex(formula, expected):
    assert latex(formula) == expected
    MathTextParser("agg").parse(f"${latex(formula)}$")


@pytest.mark.parametrize(
    "formula", ["1/", "open('x')", "K if L else 1", "K % 2", "'a'", "sqrt(K, x=1)", "K[0]", "sqrt", "1/k", "9" * 201]
)
def test_what_has_no_value_has_no_latex(formula):
    with pytest.raises(ConfigError) as of_latex:
        latex(formula)
    with pytest.raises(ConfigError) as of_value:
        evaluate(formula, NAMES)
    assert str(of_latex.value) == str(of_value.value)


@pytest.mark.parametrize("ulps", [-1, 1])
@pytest.mark.parametrize("formula", ["exp(-K/10)", "log(K)", "K**-1.6", "1 - 1/K**1.5"])
def test_the_last_bit_of_a_machine_does_not_show(monkeypatch, formula, ulps):
    """Another libm or fused multiply-add may give the next float; cells, seeds and rows must stay."""
    here = [evaluate(formula, {"K": K, "L": 128}) for K in range(2, 100)]
    for name in ("exp", "log", "pow"):
        other = getattr(math, name)
        monkeypatch.setattr(math, name, lambda *x, f=other: math.nextafter(f(*x), ulps * math.inf))
    assert [evaluate(formula, {"K": K, "L": 128}) for K in range(2, 100)] == here
