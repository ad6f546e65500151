"""The only place where generators of trials are made."""

import numpy as np


def trial_seed(root: int, cell_id: str, trial: int) -> np.random.SeedSequence:
    """Seed of a trial, from the root seed, the content of the cell and the trial's number.

    Args:
        root: root seed of the study.
        cell_id: hexadecimal hash of the cell, a multiple of 8 digits; each 8 digits are one word.
        trial: from 0.
    """
    words = (int(cell_id[i : i + 8], 16) for i in range(0, len(cell_id), 8))
    return np.random.SeedSequence(root, spawn_key=(*words, trial))


def trial_generator(root: int, cell_id: str, trial: int) -> np.random.Generator:
    """The trial's own generator; arguments as for `trial_seed`."""
    return _generator(trial_seed(root, cell_id, trial))


def learner_generator(root: int, cell_id: str, trial: int) -> np.random.Generator:
    """For a learner that draws: the first child of the trial's seed, so that outcomes stay what they are."""
    return _generator(trial_seed(root, cell_id, trial).spawn(1)[0])


def _generator(seed: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(seed))
