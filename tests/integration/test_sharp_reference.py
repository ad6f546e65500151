"""What docs/sharp.md rests on: the committed study of all learners beside the sharp lower bound."""

import pytest
from cases import mostly_slow
from scipy import stats
from sweeps import ROOT

from cascadebai_cli.analysis.bounds import with_factor
from cascadebai_cli.store.columns import SUMMARY_CSV
from cascadebai_cli.store.trials import read_summary, read_table
from cascadebai_cli.study.config import load_study
from experiments.reference_tables import SHARP

LIMITS = ("CascadeBAI", "CascadeBAI, KL bounds", "track-and-stop")
"""Columns of the table of limits."""
GRADED = ("graded, high", "graded, half", "graded, low")


@pytest.fixture(scope="module")
def bounds():
    return read_table(ROOT / SHARP, "")


@pytest.fixture(scope="module")
def summary():
    return read_summary((ROOT / SHARP).with_name(SUMMARY_CSV))


def test_every_bound_is_certified(bounds):
    assert len(bounds) == 180
    assert (bounds["gap"] <= 1e-3).all()


def test_no_mean_is_below_the_bound_by_more_than_noise(bounds, summary):
    cells = bounds.merge(summary[["cell_id", "ci_high", "n_capped"]], on="cell_id", suffixes=("", "_"))
    assert len(cells) == len(bounds)
    assert (cells["n_capped"] == 0).all()
    assert (cells["ci_high"] >= cells["sharp"]).all()


@pytest.mark.parametrize(("delta", "most", "on_average"), [(1e-12, 2, 1.75), (1e-24, 1.6, 1.45)])
def test_track_and_stop_comes_near_the_bound_on_graded_instances(delta, most, on_average, bounds):
    mine = (bounds["learner"] == "track-and-stop") & bounds["instance"].isin(GRADED) & (bounds["delta"] == delta)
    factors = bounds.loc[mine, "measured_over_sharp"]
    assert len(factors) == len(GRADED)
    assert factors.max() <= most
    assert factors.mean() <= on_average


def test_no_learner_errs_more_often_than_delta(summary):
    for row in summary.to_dict("records"):
        wrong = round(row["error_rate"] * row["n"])
        assert stats.binomtest(wrong, row["n"], row["delta"], alternative="greater").pvalue > 1e-3 / len(summary)


@pytest.mark.parametrize("learner", mostly_slow(LIMITS, LIMITS[:2]))
def test_the_page_prints_what_the_factors_come_to(learner, bounds):
    cells = [cell for cell in load_study(ROOT / "configs" / "sharp.yaml").cells if cell.learner == learner]
    cells = [cell for cell in cells if cell.delta == 0.1]
    page = (ROOT / "docs" / "sharp.md").read_text(encoding="utf-8").partition("### What is left")[2]
    rows = {row[1].strip(): row[2:5] for row in (line.split("|") for line in page.splitlines()) if len(row) == 6}
    limits = with_factor(bounds.iloc[: len(cells)], cells)["factor"]
    for cell, limit in zip(cells, limits, strict=True):
        assert float(rows[cell.instance][LIMITS.index(learner)]) == pytest.approx(limit, rel=5e-3)
    least = bounds[(bounds["learner"] == learner) & (bounds["delta"] == 1e-24)]["measured_over_sharp"]
    assert (least.to_numpy() > 0.95 * limits.to_numpy()).all()
