"""What all tests share: the same examples on every machine, one thread each, and the small study of many commands."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from sweeps import write_config
from threadpoolctl import threadpool_limits

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # for the processes that tests start
threadpool_limits(1)  # for the tests that run side by side: threads that wait for work take the time of other tests

settings.register_profile("the same everywhere", deadline=None, derandomize=True)
settings.load_profile("the same everywhere")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config of 4 cells with 6 trials each."""
    return write_config(tmp_path)


# --- Tests that take long: `make test` leaves them out, CI runs them, `make long` finds them anew -------------------


LONG = Path(__file__).parent / "long.txt"
"""Lists the test functions that take over `_SECONDS` of processor time with all their examples and processes."""
_SECONDS = 0.8
_spent: Counter[str] = Counter()


def _processor_time() -> float:
    return sum(os.times()[:4])


def _function(name: str) -> str:
    return name.partition("[")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long = set(LONG.read_text().split())
    for item in items:
        if _function(item.nodeid) in long:
            item.add_marker("long")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.user_properties.append(("seconds", -_processor_time()))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    item.user_properties.append(("seconds", _processor_time()))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        _spent[_function(report.nodeid)] += sum(value for name, value in report.user_properties if name == "seconds")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("LONG") == "write" and not hasattr(session.config, "workerinput"):
        LONG.write_text("".join(f"{name}\n" for name in sorted(_spent) if _spent[name] > _SECONDS))
