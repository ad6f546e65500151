"""The independent judge itself: by hand on small tables, and bounds that refuse comparisons too close to call."""

import ast
import math
from pathlib import Path

import algorithm1
import kl_lucb_judge
import pytest
import rounding
from algorithm1 import Items, Verdict, around_the_mean, bat_rac, cascade_bai, cascade_interval, least_pulled
from kl_lucb_judge import kl_interval, kl_lucb
from rounding import Rough, Undecided, guarded

ONE_OVER_T = around_the_mean(lambda T: 1 / T)
WIDE = around_the_mean(lambda T: 100.0)
"""Nothing is identified."""
SURE, NEVER = [1] * 50, [0] * 50


@pytest.mark.parametrize("module", [algorithm1, kl_lucb_judge])
def test_shares_nothing_with_the_package(module):
    tree = ast.parse(Path(module.__file__).read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names <= {"math", "collections.abc", "functools", "typing", "algorithm1"}


def test_radius():
    """delta = 0.12, L = 1: rho = 0.1, C(1) = 2 sqrt(ln 10), C(8) = 2 sqrt(ln 40 / 8)."""
    interval = cascade_interval(1, 0.12)
    assert interval(1, 1) == pytest.approx((1 - 2 * math.sqrt(math.log(10)), 1 + 2 * math.sqrt(math.log(10))))
    assert interval(4, 8)[1] == pytest.approx(0.5 + 2 * math.sqrt(math.log(40) / 8))
    assert interval(0, 0) == (-math.inf, math.inf)


def test_two_items_by_hand():
    """The bounds of means 1 and 0 part at T = 3 and 2: 2/3 > 1/2; at 2 and 2 they touch, 1/2 = 1/2."""
    assert cascade_bai([SURE, NEVER], 1, ONE_OVER_T) == Verdict(5, True, (0,), (0,), (1,), (3, 2), (5,), (5,))


def test_no_click_shows_the_whole_list():
    """Items 2, 3 and 0 are shown behind 0 and 1: each step observes the two least observed ones."""
    assert cascade_bai([NEVER] * 4, 2, WIDE, cap=3) == Verdict(3, False, (0, 1), (), (), (2, 2, 1, 1))


def test_a_click_ends_the_step_unless_all_is_seen():
    assert cascade_bai([SURE] * 4, 2, WIDE, cap=3).counts == (1, 1, 1, 0)
    assert cascade_bai([SURE] * 4, 2, WIDE, cap=3, cascading=False).counts == (2, 2, 1, 1)


@pytest.mark.parametrize(("M", "counts"), [(1, (1, 1, 1, 0)), (3, (3, 2, 2, 2)), (4, (3, 3, 3, 3)), (9, (3, 3, 3, 3))])
def test_more_or_fewer_items_shown_than_wanted(M, counts):
    assert cascade_bai([NEVER] * 4, 2, WIDE, M=M, cap=3).counts == counts


@pytest.mark.parametrize(("M", "counts"), [(1, (2, 1, 1, 1)), (2, (2, 1, 2, 1)), (3, (3, 3, 2, 1)), (4, (3, 3, 3, 3))])
def test_kl_lucb_fills_the_list_with_the_nearest(M, counts):
    """All see skips only: 0 and 1 are best, 0 the weakest; the rival is the first of the less observed others."""
    found = kl_lucb([NEVER] * 4, 2, kl_interval(1e-9, 1e-9), M=M, cap=5 if M == 1 else 3)
    assert found.counts == counts


def test_what_both_rules_name_is_rejected():
    """Radius 1/100 each, epsilon 1/2: means 1, 0, 0; all are above the second mean less epsilon, two are bad."""
    narrow = around_the_mean(lambda T: 0.01)
    found = cascade_bai([SURE, NEVER, NEVER], 1, narrow, 0.5, cascading=False, M=3)
    assert (found.accepted, found.rejected) == ((0,), (1, 2))


def test_items_accepted_together_enter_by_mean():
    """At T = 2 the means are 1/2, 1 and 0."""
    sudden = around_the_mean(lambda T: 0.01 if T > 1 else 9.0)
    found = cascade_bai([[0, 1], [1, 1], [0, 0]], 2, sudden, cascading=False, M=3)
    assert found == Verdict(2, True, (1, 0), (1, 0), (2,), (2, 2, 2), (2, 2), (2,))


def test_survivors_complete_the_output():
    """Item 2, seen once, has the largest mean and no bounds to speak of; 0 is accepted and 1 rejected at T = 2."""
    sudden = around_the_mean(lambda T: 0.01 if T > 1 else 9.0)
    found = cascade_bai([[0, 1], [0, 0], [1, 1]], 2, sudden, cascading=False, M=1)
    assert found == Verdict(5, True, (0, 2), (0,), (1,), (2, 2, 1), (5,), (5,))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("T", [2, 0, 1, 3]),
        ("mean", [1, 0, 3, 2]),
        ("-mean", [2, 0, 3, 1]),
        ("U", [0, 3, 1, 2]),
        ("-U", [2, 1, 0, 3]),
        ("L", [1, 0, 3, 2]),
        ("-L", [2, 0, 3, 1]),
    ],
)
def test_display_orders_keep_ties_as_they_are(order, expected):
    items = Items([SURE] * 4, WIDE)
    items.w, items.low, items.high = [0.5, 0.2, 0.9, 0.5], [0.4, -0.5, 0.8, 0.4], [0.6, 0.9, 1.0, 0.6]
    assert items.displayed([2, 0, 1, 3], order) == expected


def test_pulls_one_after_the_other():
    assert least_pulled([0, 1, 2], [5, 3, 3], 2, 1) == [1, 2]
    assert least_pulled([0, 1, 2], [5, 3, 3], 9, 2) == [1, 2, 1, 2, 0, 0]
    assert least_pulled([0, 2], [5, 3, 4], 4, 3) == [2, 0, 2, 0]


def test_batch_racing_accepts_the_survivors_that_it_needs():
    """At T = 3, 1/3 < 2/3: item 2 goes, and two are left for two places."""
    found = bat_rac([SURE, SURE, NEVER], 2, ONE_OVER_T, b=3)
    assert found == Verdict(3, True, (0, 1), (0, 1), (2,), (3, 3, 3), (3, 3), (3,))


def test_kl_bounds_by_hand():
    """One skip at alpha = 0.1: -ln(1 - U) = ln 20; nothing is known before."""
    assert kl_interval(0.1, 0.1)(0, 1) == (0.0, pytest.approx(0.95, abs=1e-15))
    assert kl_interval(0.1, 0.1)(1, 1) == (pytest.approx(0.05, abs=1e-15), 1.0)
    assert kl_interval(0.1, 0.1)(0, 0) == (0.0, 1.0)


def test_kl_lucb_by_hand():
    """The boundary of means 1 and 0 is met at once; the less observed of the two is shown, the first of equals."""
    assert kl_lucb([SURE, NEVER], 1, ONE_OVER_T) == Verdict(5, True, (0,), (), (), (3, 2))


def test_rough_numbers():
    one, same, near, far = Rough(1.0, "a"), Rough(1.0, "a"), Rough(1.0 + 1e-13, "b"), Rough(2.0, "c")
    assert not one < same
    assert not one > same
    assert one < far
    assert far < 3.0
    assert sorted([far, one, -math.inf], reverse=True) == [far, one, -math.inf]
    assert far - one > one - 0.5
    assert not one - far > same - far
    for close in (lambda: one < near, lambda: one > near, lambda: one > 1.0, lambda: far - one > one - 0.0):
        with pytest.raises(Undecided):
            close()


def test_a_run_that_hangs_on_rounding_is_noticed():
    """The bounds touch at T = 2 and 2, which is exact here, but would not be with logarithms."""
    with pytest.raises(Undecided):
        cascade_bai([SURE, NEVER], 1, guarded(ONE_OVER_T))
    assert rounding.CLOSE < 1e-9
