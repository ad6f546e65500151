"""The summary of the display orders."""

from pathlib import Path

from synthetic import Cell, scaling_config, write_results

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.analysis.tables import StudyTable, study_table

FACTORS = {
    "T": [1.0, 1.0, 1.0, 1.0, 1.0],
    "same": [1.0, 1.04, 0.96, 1.0, 1.0],
    "mixed": [0.5, 1.0, 1.5, 1.9, 2.5],
    "stuck": [0.94, 1.06, 300.0, 300.0, 300.0],
}


def steps(cell: Cell) -> float:
    return 1e5 * FACTORS[str(cell["learner"])][int(str(cell["instance"])[-1]) - 1]


def orders_of(directory: Path) -> StudyTable:
    return study_table(load_results(directory), "orders.csv")


def learners() -> list[dict[str, str]]:
    orders = dict(zip(FACTORS, ["T", "L", "-U", "U"], strict=True))
    return [{"name": name, "algorithm": "cascadebai", "order": order} for name, order in orders.items()]


def test_settings_are_counted_by_how_far_the_means_are(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16], learners=learners(), plot={"kind": "bars"})
    orders = orders_of(write_results(tmp_path / "r", config, steps, spread=0.0, cap=10**7)).rows
    counts = orders.set_index("learner")[["settings", "better", "within", "worse", "much_worse", "capped"]]
    assert counts.loc["same"].tolist() == [5, 0, 5, 0, 0, 0]
    assert counts.loc["mixed"].tolist() == [5, 1, 1, 2, 1, 0]
    assert counts.loc["stuck"].tolist() == [5, 1, 0, 1, 3, 3]
    assert set(orders["compared_with"]) == {"T"}


def test_a_setting_that_lower_limits_leave_open_is_not_counted(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16], learners=learners(), plot={"kind": "bars"})
    table = orders_of(write_results(tmp_path / "r", config, steps, spread=0.0, cap=150_000))
    orders, printed = table.rows, table.printed
    counts = orders.set_index("learner")[["better", "within", "worse", "much_worse", "capped"]]
    assert counts.loc["mixed"].tolist() == [1, 1, 0, 0, 3]
    assert counts.loc["stuck"].tolist() == [1, 0, 1, 0, 3]
    assert printed.header[-2:] == ["not known", "capped"]
    assert [row[-2:] for row in printed.rows] == [["0", "0"], ["3", "3"], ["3", "3"]]


def test_nothing_is_within_a_limit_of_the_main_learner(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16], learners=learners(), plot={"kind": "bars"})
    orders = orders_of(write_results(tmp_path / "r", config, steps, spread=0.0, cap=100_000)).rows
    assert orders.set_index("learner").loc["mixed", ["better", "within", "worse", "much_worse"]].tolist() == [
        1,
        0,
        0,
        0,
    ]


def test_panels_count_as_settings_of_their_own(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16, 8], L=[64, 128], epsilon=[0.0, 0.05], learners=learners())
    orders = orders_of(write_results(tmp_path / "r", config, steps, spread=0.0)).rows
    assert orders["settings"].tolist() == [40, 40, 40]
    assert orders["within"].tolist() == [40, 8, 0]


def test_one_line_an_order(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16], learners=learners())
    printed = orders_of(write_results(tmp_path / "r", config, steps, spread=0.0, cap=10**7)).printed
    assert printed.above == "in how many of 5 settings the mean steps compare in this way with those of T"
    assert printed.header == ["learner", "better by 5 %", "within 5 %", "worse up to 2x", "worse than that", "capped"]
    assert printed.rows[1:] == [["mixed", "1", "1", "2", "1", "0"], ["stuck", "1", "0", "1", "3", "3"]]


def test_a_single_learner_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    config = scaling_config(5, K=[16], learners=learners()[:1])
    assert orders_of(write_results(tmp_path / "r", config, steps)).rows.empty
