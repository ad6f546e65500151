"""What all tests share: the same examples on every machine, and the small study that commands are tried on."""

from pathlib import Path

import pytest
from hypothesis import settings
from sweeps import write_config

settings.register_profile("the same everywhere", deadline=None, derandomize=True)
settings.load_profile("the same everywhere")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config of 4 cells with 6 trials each."""
    return write_config(tmp_path)
