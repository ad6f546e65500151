import numpy as np

from cascadebai_cli.running.worker import trial_generator, trial_seed

CELL, OTHER = "0123456789abcdef", "0123456789abcdee"


def first_draws(root, cell_id, trial):
    return trial_generator(root, cell_id, trial).integers(0, 2**63, 4).tolist()


def test_seed_is_made_of_the_words_of_the_cell_and_the_trial():
    seed = trial_seed(20200612, CELL, 7)
    assert seed.entropy == 20200612
    assert seed.spawn_key == (0x01234567, 0x89ABCDEF, 7)


def test_draws_are_pinned():
    """Results that are kept depend on these numbers: they may never change."""
    rng = trial_generator(20200612, CELL, 7)
    assert rng.bit_generator.__class__ is np.random.PCG64DXSM
    assert rng.integers(0, 1000, 6).tolist() == PINNED


def test_equal_arguments_give_equal_draws_and_any_other_argument_gives_others():
    reference = first_draws(1, CELL, 0)
    assert first_draws(1, CELL, 0) == reference
    others = [first_draws(2, CELL, 0), first_draws(1, OTHER, 0), first_draws(1, CELL, 1)]
    assert len({tuple(draws) for draws in [reference, *others]}) == 4


PINNED = [338, 758, 839, 175, 413, 426]
