"""Labels in the paper's letters."""

import pytest

from cascadebai_cli.figures.labels import Labels, _values_label
from cascadebai_cli.study.instances import AnyInstance, Linear, TwoLevel


def test_two_level_instance_is_named_by_its_weights() -> None:
    entry = TwoLevel(name="setting 3", family="two_level", w_star="1/sqrt(K)", w_prime=0.1)
    assert Labels({"setting 3": entry}).name("instance", "setting 3") == "$w^{*} = 1/\\sqrt{K}$, $w\N{PRIME} = 0.1$"


def test_a_name_of_ones_own_says_more_than_the_weights_but_in_a_study_of_the_paper() -> None:
    entry = TwoLevel(name="easy", family="two_level", w_star=0.8, w_prime=0.1)
    assert Labels({"easy": entry}).name("instance", "easy") == "easy"
    assert Labels({"easy": entry}, of_paper={"easy"}).name("instance", "easy").startswith("$w^{*} = 0.8$")


@pytest.mark.parametrize(
    "entry",
    [
        None,
        Linear(name="x", family="linear", w_max=0.5, w_min=0.1),
        TwoLevel(name="x", family="two_level", w_star="open(K)", w_prime="1"),
    ],
)
def test_other_instances_keep_their_name(entry: AnyInstance | None) -> None:
    assert Labels({"the $5 shop": entry} if entry else {}).name("instance", "the $5 shop") == r"the \$5 shop"


def test_what_stands_for_a_value() -> None:
    labels = Labels({}, {"sigma": "scale", "half": r"$\frac{1}{2}$"})
    assert labels.name("learner", "half") == r"$\frac{1}{2}$"
    assert labels.name("sigma", 0.5) == "scale = 0.5"
    assert labels.name("delta", 0.05) == r"$\delta = 0.05$"
    assert labels.name("sigma", float("nan")) == "no scale"
    assert labels.name("confidence", "kl") == "kl"


def test_values() -> None:
    assert _values_label({"L": 64, "K": 16, "delta": 0.1, "epsilon": 0.05}, ["L", "K", "delta", "epsilon"]) == (
        r"$L = 64,\ K = 16,\ \delta = 0.1,\ \epsilon = 0.05$"
    )
    assert _values_label({"L": 64}, []) == ""


def test_the_weights_have_their_letters_on_an_axis():
    assert Labels().column("w_star") == "$w^{*}$"
    assert Labels().name("w_prime", 0.25) == "$w\N{PRIME}$ = 0.25"
