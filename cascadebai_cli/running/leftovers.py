"""What a sweep that was killed with its workers left in shared memory: its names hold the number of its process."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PLACES = ("/dev/shm", tempfile.gettempdir())
NAMES = ("sem.loky-{}-*", "joblib_memmapping_folder_{}_*")


def remove_leftovers(process: int) -> None:
    """Remove the semaphores and folders of a process that is gone, and nobody else's."""
    for place in {*PLACES, os.environ.get("JOBLIB_TEMP_FOLDER", PLACES[0])}:
        for name in NAMES:
            for path in Path(place).glob(name.format(process)):
                with suppress(OSError):
                    _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
