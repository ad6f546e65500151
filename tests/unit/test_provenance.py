"""Where numbers come from, in words."""

import pytest
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.text import spans
from cascadebai_cli.workflows.report import commit_text, settings


@pytest.mark.parametrize(
    ("git", "digits", "text"),
    [
        (None, None, "unknown"),
        ({}, 4, "unknown"),
        ({"commit": "0123456789abcdef", "dirty": False}, None, "0123456789abcdef"),
        ({"commit": "0123456789abcdef", "dirty": False}, 10, "0123456789"),
        ({"commit": "0123456789abcdef", "dirty": True}, 10, "0123456789, with changes"),
    ],
)
def test_commit(git, digits, text):
    assert commit_text(git, digits) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [([20, 22, 21], "20 to 22"), ([60, 20, 40], "20 to 60 in steps of 20"), ([1, 2, 4], "1, 2, 4"), ([3, 4], "3, 4")],
)
def test_whole_numbers_in_short(values, text):
    assert spans(values) == text


@pytest.mark.parametrize(("items", "text"), [(6, "weights = 0.5, 0.5, 0.5, 0.5, 0.5, 0.5"), (7, "7 weights")])
def test_many_weights_are_counted(items, text, tmp_path):
    config = scaling_config(1, L=[items], K=[2])
    config["instances"] = [{"name": "one", "family": "explicit", "weights": [0.5] * items}]
    assert text in settings(load_results(write_results(tmp_path / "r", config, lambda cell: 100)))["instance one"]
