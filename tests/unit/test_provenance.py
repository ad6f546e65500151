"""Where numbers come from, in words."""

import pytest

from cascadebai_cli.analysis.provenance import commit_text


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
