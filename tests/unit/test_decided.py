"""A claim is decided only where its cells decide it: a reduced run never contradicts the full one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sweeps import ROOT

from cascadebai_cli.analysis.claims import (
    Ends,
    Verdict,
    claims_of,
)
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.store.summary import summarise
from experiments.artefacts import ARTEFACTS, REFERENCE, Artefact


def reduced(results: StudyResults, artefact: Artefact) -> StudyResults:
    """What `make reproduce FAST=1` sees of an artefact: the first trials of some cells, up to a smaller cap."""
    fast = artefact.fast
    rows = pd.read_csv(results.directory / "trials.csv")
    rows = rows[rows["trial"] < fast["trials"]]
    for axis in ("K", "L", "delta"):
        span = fast.get(axis, rows[axis].unique())
        wanted = range(span["from"], span["to"] + 1, span["step"]) if isinstance(span, dict) else span
        rows = rows[rows[axis].isin(list(wanted))]
    over = rows["steps"] > fast.get("max_steps", np.inf)
    cap = fast.get("max_steps", 1)
    seen = (rows["observations"] * cap / rows["steps"]).astype(int)
    rows = rows.assign(
        steps=rows["steps"].mask(over, cap),
        observations=rows["observations"].mask(over, seen),
        status=rows["status"].mask(over, "capped"),
        correct=rows["correct"].mask(over),
    )
    return replace(results, summary=summarise([rows]))


@pytest.mark.parametrize("artefact", ARTEFACTS, ids=lambda one: one.name)
def test_no_verdict_of_a_reduced_run_contradicts_that_of_the_full_one(artefact: Artefact) -> None:
    results = load_results(ROOT / REFERENCE / artefact.name)
    full, small = claims_of(results), claims_of(reduced(results, artefact))
    assert [claim.where for claim in small] == [claim.where for claim in full]
    assert not [claim for claim in full if claim.verdict in (Verdict.OPEN, Verdict.UNDECIDED)]
    for ours, theirs in zip(full, small, strict=True):
        assert theirs.verdict in (ours.verdict, Verdict.UNDECIDED), (ours, theirs)
    least = {"table1": 10, "figure2": 4, "figure1": 0, "figure4": 1}
    assert sum(claim.verdict != Verdict.UNDECIDED for claim in small) >= least[artefact.name]


def cells(**changes: Any) -> pd.DataFrame:
    main = {"instance": "x", "L": 9, "K": 2, "delta": 0.1, "epsilon": 0.0, "learner": "main", "n": 20, "n_capped": 0}
    main |= {"mean_steps": 100.0, "se_steps": 1.0}
    other = {**main, "learner": "other", "mean_steps": 120.0}
    return pd.DataFrame([{**main, **changes.get("main", {})}, {**other, **changes.get("other", {})}])


def test_a_capped_mean_bounds_a_ratio_on_one_side() -> None:
    low, high = (end[0] for end in Ends.of(cells(), "other", "main"))
    assert 1.15 < low < 1.2 < high < 1.25
    assert Ends.of(cells(other={"n_capped": 1}), "other", "main").high[0] == np.inf
    assert Ends.of(cells(other={"n_capped": 1}), "other", "main").low[0] == low
    assert Ends.of(cells(main={"n_capped": 1}), "other", "main").low[0] == 0
    single = Ends.of(cells(main={"n": 1, "se_steps": np.nan}), "other", "main")
    assert (single.low[0], single.high[0]) == (0, np.inf)


def test_with_many_settings_each_interval_is_wider_so_that_all_hold_at_once() -> None:
    many = pd.concat([cells().assign(K=K) for K in range(2, 82)])
    one, all_of_80 = (Ends.of(table, "other", "main") for table in (cells(), many))
    assert all_of_80.low[0] < one.low[0]
    assert all_of_80.high[0] > one.high[0]
    assert Ends.of(cells(), "other", "main", learners=80).low[0] == pytest.approx(all_of_80.low[0])


def test_a_verdict_stands_where_it_is_the_same_at_both_ends() -> None:
    ends = Ends(pd.Series([1.0, 2.0]), pd.Series([1.2, np.inf]))
    assert ends.verdict(lambda ratio: bool((ratio > 1.5).any())) == Verdict.HOLDS
    assert ends.verdict(lambda ratio: bool((ratio > 1.5).all())) == Verdict.FAILS
    assert ends.verdict(lambda ratio: bool((ratio > 1.1).all())) == Verdict.UNDECIDED
    assert ends.within(0.5, 3) == Verdict.UNDECIDED
    assert ends.within(0.5, np.inf) == Verdict.HOLDS
    assert ends.within(2.5, np.inf) == Verdict.FAILS
