"""Cases of which `make test` runs some and `make test-all` every one."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def mostly_slow(cases: Iterable[Any], fast: Collection[Any]) -> Sequence[Any]:
    """The cases as parameters, slow but for those named; a tuple holds the values of several arguments."""
    return [case if case in fast else pytest.param(*_values(case), marks=pytest.mark.slow) for case in cases]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
