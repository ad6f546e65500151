"""The study of a config with the values of the caller in place of its own."""

from collections.abc import Sequence
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.config import Override, Study, load_study, own_learner
from cascadebai_cli.study.fields import MOST_TRIALS
from cascadebai_cli.text.numbers import count

MOST_ROWS = 20_000_000
"""Of one result directory: a sweep keeps some ten bytes a row in memory, and reading them back some fifty."""


def read_study(
    config: Path,
    trials: int | None = None,
    seed: int | None = None,
    plugins: Sequence[str] = (),
    max_steps: int | None = None,
) -> Study:
    """The study of a config file.

    Args:
        config: the file.
        trials, seed, max_steps: in place of those of the file, if given.
        plugins: further learners, `module:Class` each.

    Raises:
        ConfigError: if the config or a value is not usable.
    """
    given = {"trials": trials, "seed": seed, "max_steps": max_steps}
    numbers = [
        Override(f"--{key.replace('_', '-')}", (key,), value) for key, value in given.items() if value is not None
    ]
    return load_study(config, [*numbers, *map(own_learner, plugins)])


def check_trials(trials: int | None) -> None:
    """Refuse a number of trials that is beyond all numbers of trials.

    Raises:
        ConfigError: if it is.
    """
    if trials is not None and trials > MOST_TRIALS:
        raise ConfigError(f"--trials {trials} is too large; give {MOST_TRIALS} or less")


def check_rows(study: Study) -> None:
    """Refuse more rows than fit into memory.

    Raises:
        ConfigError: if there are.
    """
    if study.trials * len(study.cells) > MOST_ROWS:
        raise ConfigError(
            f"{count(study.trials)} trials of {count(len(study.cells))} cells are more than {count(MOST_ROWS)} rows; "
            "run fewer trials or cells"
        )
