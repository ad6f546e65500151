"""What all tests share: the same examples on every machine, one thread each, and the small study of many commands."""

import os
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
