"""The study of a config with the values of the caller in place of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.config import Override, Study, load_study, own_learner, setting
from cascadebai_cli.study.enough import most_of
from cascadebai_cli.study.fields import MOST_TRIALS
from cascadebai_cli.text.numbers import count

MOST_ROWS = 20_000_000
"""Of one result directory: a sweep keeps some ten bytes a row in memory, and reading them back some fifty."""


@dataclass(frozen=True)
class Given:
    """What a caller gives in place of the values of a config.

    Args:
        trials, seed, max_steps: the same as the keys of these names.
        plugins: further learners, `module:Class` each.
        settings: any other values, `KEY=VALUE` each.
    """

    trials: int | None = None
    seed: int | None = None
    max_steps: int | None = None
    plugins: Sequence[str] = ()
    settings: Sequence[str] = ()

    @property
    def overrides(self) -> list[Override]:
        """The same for `load_study`, those of a name of their own last.

        Raises:
            ConfigError: if a text is not of the form that it should have.
        """
        numbers = {"trials": self.trials, "seed": self.seed, "max_steps": self.max_steps}
        named = [(f"--{key.replace('_', '-')}", key, value) for key, value in numbers.items() if value is not None]
        return [
            *map(setting, self.settings),
            *(Override(option, (key,), value) for option, key, value in named),
            *map(own_learner, self.plugins),
        ]

    @property
    def words(self) -> list[str]:
        """What of this changes cells, as it stands on a command line."""
        options = {"--set": self.settings, "--plugin": self.plugins}
        words = [word for option, values in options.items() for value in values for word in (option, value)]
        return words + (["--max-steps", str(self.max_steps)] if self.max_steps else [])


NOTHING = Given()


def read_study(config: Path, given: Given = NOTHING) -> Study:
    """The study of a config file with what is given in place of its values.

    Raises:
        ConfigError: if the config or a value is not usable.
    """
    return load_study(config, given.overrides)


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
    most = most_of(study.trials)
    if most * len(study.cells) > MOST_ROWS:
        raise ConfigError(
            f"{count(most)} trials of {count(len(study.cells))} cells are more than {count(MOST_ROWS)} rows; "
            "run fewer trials or cells"
        )
