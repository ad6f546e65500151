"""Claims and verdicts from planted results."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from synthetic import Cell, planted_steps, scaling_config, write_results

from cascadebai_cli.analysis.claims import _SENTENCES, Claim, _noise, claims_of
from cascadebai_cli.analysis.fits import CLOSE
from cascadebai_cli.analysis.results import load_results

CAP = 10**6


def claims(
    folder: Path, config: dict[str, Any], mean: Callable[[Cell], float] = planted_steps, **more: Any
) -> list[Claim]:
    return claims_of(load_results(write_results(folder / "r", config, mean, **more)))


def one(found: list[Claim], part: str) -> Claim:
    (claim,) = (claim for claim in found if part in claim.claim)
    return claim


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agrees"), (1.02, "agrees"), (0.9, "lower"), (1.2, "higher")])
def test_slope_against_the_published_one(factor: float, verdict: str, tmp_path: Path) -> None:
    found = claims(tmp_path, scaling_config(1), lambda cell: factor * 23802.95 * cell["K"], spread=1e-6)
    claim = one(found, "slope c1 on K")
    assert (claim.where, claim.published, claim.verdict) == ("setting 1", "23802.95", verdict)
    assert f" ({100 * (factor - 1):+.1f} %, 90 % interval " in claim.ours


@pytest.mark.parametrize(("wave", "verdict"), [(0, "holds"), (0.2, "nearly"), (2, "fails")])
def test_growth(wave: float, verdict: str, tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return float(1e4 * (cell["K"] + 15 * wave * (-1) ** cell["K"] + 50))

    found = claims(tmp_path, scaling_config(1), mean, spread=1e-6)
    claim = one(found, "R² as in Table 1: c1 K + c2")
    assert claim.published == "R² 0.9987"
    assert claim.verdict == verdict
    assert one(found, "grow as c1 K + c2").verdict == ("fails" if wave else "holds")


PLANTED = {"log K": np.log, "sqrt K": np.sqrt, "K^1.5": lambda K: K**1.5, "K^2": np.square}


@pytest.mark.parametrize("name", PLANTED)
def test_other_powers_are_as_straight_as_in_the_paper_and_do_not_grow_as_K(name: str, tmp_path: Path) -> None:
    found = claims(tmp_path, scaling_config(1), lambda cell: float(1e5 * PLANTED[name](cell["K"])), spread=0.01)
    assert one(found, "R² as in Table 1: c1 K + c2").verdict == "holds"
    assert one(found, "grow as c1 K + c2").verdict == "fails"


def test_growth_says_the_exponent_and_what_lacks(tmp_path: Path) -> None:
    claim = one(claims(tmp_path, scaling_config(1)), "grow as c1 K + c2")
    said = r"c1 K\^b \+ c2 has b = 0\.99\d \(0\.9\d\d to 1\.\d{3}\); lack of fit of K \d\.\d\d \(p = 0\.\d+\), of sqrt"
    assert re.match(said, claim.ours)
    assert claim.verdict == "holds"


@pytest.mark.parametrize(("power", "verdict"), [(1.03, "nearly"), (1.2, "fails"), (1.1, "not decided at this size")])
def test_a_model_that_is_wrong_by_little_is_nearly_right(power: float, verdict: str, tmp_path: Path) -> None:
    found = claims(tmp_path, scaling_config(1), lambda cell: float(1e5 * cell["K"] ** power), spread=0.002)
    assert one(found, "grow as c1 K + c2").verdict == verdict


def test_nothing_is_known_of_means_without_errors(tmp_path: Path) -> None:
    found = claims(tmp_path, scaling_config(1, trials=1))
    assert one(found, "grow as c1 K + c2").verdict == one(found, "slope c1").verdict == "not decided at this size"


@pytest.mark.parametrize(("spread", "verdict"), [(0.3, "not decided at this size"), (0.03, "agrees")])
def test_no_difference_is_no_agreement_where_the_errors_are_large(spread: float, verdict: str, tmp_path: Path) -> None:
    found = claims(tmp_path, scaling_config(1), lambda cell: 23802.95 * cell["K"], spread=spread)
    assert one(found, "slope c1 on K").verdict == verdict


def test_one_of_many_means_that_is_outside_by_chance_does_not_refute_the_bounds(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1), spread=0.3))
    bound = results.bounds["upper"].to_numpy()[7]
    for errors, verdict in ((2.5, "not decided at this size"), (6, "fails")):
        summary = results.summary.copy()
        summary.loc[7, "mean_steps"] = bound + errors * summary.loc[7, "se_steps"]
        assert (
            one(claims_of(replace(results, summary=summary)), "between the lower and the upper bound").verdict
            == verdict
        )


def test_without_published_values_nothing_is_compared(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40])
    del config["instances"][0]["fit"]["published"]
    assert not [claim for claim in claims(tmp_path, config) if "c1" in claim.claim]


def curves(ratio: float) -> tuple[dict[str, Any], Callable[[Cell], float]]:
    learners = [{"name": name, "algorithm": "cascadebai"} for name in ("CascadeBAI", "BatRac")]
    learners[1]["feedback"] = "semi-bandit"
    config = scaling_config(1, K=[20, 30], learners=learners, plot={"kind": "curves"})
    return config, lambda cell: 1e5 * (ratio if cell["learner"] == "CascadeBAI" else 1)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.3, "holds"), (0.8, "holds"), (1.6, "fails"), (0.6, "fails")])
def test_similar_to_the_learner_that_sees_as_much(ratio: float, verdict: str, tmp_path: Path) -> None:
    config, mean = curves(ratio)
    claim = one(claims(tmp_path, config, mean, spread=1e-6), "about as many steps as BatRac")
    assert claim.ours == f"{ratio:#.3g} to {ratio:#.3g} times as many"
    assert claim.verdict == verdict


def bars(steps: dict[str, float], settings: int = 2) -> tuple[dict[str, Any], Callable[[Cell], float]]:
    learners = [{"name": name, "algorithm": "cascadebai", "order": name} for name in ("T", "mean", "-U")]
    config = scaling_config(settings, K=[16], learners=learners, plot={"kind": "bars"}, max_steps=CAP)
    return config, lambda cell: steps[cell["learner"]] if cell["instance"] == "setting 1" else 2 * CAP


@pytest.mark.parametrize(
    ("steps", "ours", "verdict"),
    [
        ({"T": 1000, "mean": 1010, "-U": 4000}, "at most 0.99", "holds"),
        ({"T": 1000, "mean": 500, "-U": 4000}, "at most 2.00", "fails"),
        ({"T": 2 * CAP, "mean": 2 * CAP, "-U": CAP / 2}, "at most 2.00", "fails"),
        ({"T": 1000, "mean": 2 * CAP, "-U": 2 * CAP}, "at most 0.00100", "holds"),
        ({"T": 2 * CAP, "mean": 2 * CAP, "-U": 2 * CAP}, "nothing known", "open"),
    ],
)
def test_settings_where_every_order_reached_the_cap_say_nothing(
    steps: dict[str, float], ours: str, verdict: str, tmp_path: Path
) -> None:
    config, mean = bars(steps)
    claim = one(claims(tmp_path, config, mean, spread=1e-6, cap=CAP), "T needs no more steps")
    assert claim.ours.startswith(ours)
    assert claim.ours.endswith(f"in {1 + (verdict == 'open')} all orders reached the cap")
    assert claim.verdict == verdict


ORDER_STEPS = {"T": 1000.0, "mean": 1300.0, "-mean": 2500.0, "U": 1040.0, "-U": 1150.0, "L": 1030.0, "-L": 900.0}


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({}, {"U"}),
        ({"mean": 1000.0}, {"U", "mean"}),
        ({"-mean": 1900.0, "L": 1200.0}, {"U", "-mean", "L"}),
        ({"-U": 1300.0, "U": 1100.0}, {"-U"}),
    ],
)
def test_what_the_paper_says_of_each_order(changes: dict[str, float], failing: set[str], tmp_path: Path) -> None:
    steps = ORDER_STEPS | changes
    learners = [{"name": f"order {name}", "algorithm": "cascadebai", "order": name} for name in steps]
    config = scaling_config(3, K=[16], learners=learners, plot={"kind": "bars"})
    found = claims(tmp_path, config, lambda cell: steps[str(cell["learner"]).split()[-1]], spread=1e-6)
    sentences = {claim.claim.split()[1]: claim for claim in found if claim.claim.startswith("order ")}
    del sentences["T"]
    assert set(sentences) == {"mean", "-mean", "U", "-U", "L"}
    assert {name for name, claim in sentences.items() if claim.verdict == "fails"} == failing
    assert sentences["mean"].claim == "order mean takes more steps than order T in most settings"
    assert sentences["-mean"].ours.startswith(f"{steps['-mean'] / 1000:#.3g} to ")


def test_bounds_and_errors(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), lambda _: 1e12))
    found = claims_of(results)
    assert one(found, "between the lower and the upper bound").verdict == "fails"
    assert one(found, "right with probability at least").ours == "0 of 60 trials wrong (95 % interval 0 to 6 %)"
    results.summary["error_rate"] = 0.5
    claim = one(claims_of(results), "right with probability at least 1 - delta = 0.9")
    assert claim.verdict == "fails"
    assert claim.ours.startswith("30 of 60 trials wrong")
    assert claim.ours.endswith(", 10 of 20 in the worst cell")


@pytest.mark.parametrize(("wrong", "verdict"), [(3, "holds"), (12, "fails")])
def test_one_bad_cell_is_not_hidden_by_good_ones(tmp_path: Path, wrong: int, verdict: str) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=list(range(20, 60))), lambda _: 1e6))
    results.summary["error_rate"] = 0.0
    results.summary.loc[7, "error_rate"] = wrong / 20
    claim = one(claims_of(results), "right with probability at least")
    assert (claim.verdict, claim.ours.endswith(f", {wrong} of 20 in the worst cell")) == (verdict, True)


def test_the_guarantee_of_algorithm_1_is_judged_apart_from_other_orders(tmp_path: Path) -> None:
    learners = [{"name": name, "algorithm": "cascadebai", "order": name} for name in ("T", "U")]
    config = scaling_config(3, K=[16], learners=learners, plot={"kind": "bars"})
    results = load_results(write_results(tmp_path / "r", config, lambda _: 1000.0))
    results.summary.loc[results.summary["learner"] == "U", "error_rate"] = 0.9
    found = claims_of(results)
    assert one(found, "the items found by T are right").verdict == "holds"
    assert one(found, "the items found by the other orders, for which the paper proves nothing").verdict == "fails"


@pytest.mark.parametrize(("ratio", "expected"), [(1 + CLOSE, False), (1 + 2 * CLOSE, True)])
def test_a_mean_within_what_counts_as_close_is_not_more(ratio: float, expected: bool) -> None:
    for order in ("mean", "U"):
        assert _SENTENCES[order][1](pd.Series([ratio, ratio])) is expected


def test_means_that_differ_by_less_than_a_step_have_noise(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), lambda cell: 9.0))
    results.summary["mean_steps"], results.summary["se_steps"] = [9.0, 9.4, 9.2], 0.1
    assert _noise(results.curves()[0]) > 0
