"""Options that several verbs share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from cascadebai_cli.experiment.config import Study

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="A study, as YAML.")]
Trials = Annotated[int | None, typer.Option("--trials", min=1, help="Trials a cell, instead of those of CONFIG.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Root seed, instead of that of CONFIG.")]
Jobs = Annotated[int, typer.Option("--n-jobs", help="Processes; -1 is one a core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="A learner of your own beside those of CONFIG; repeatable."),
]
BackendName = Literal["loky", "dask", "sequential"]


def read_study(config: Path, trials: int | None, seed: int | None, plugins: Sequence[str] | None = None) -> "Study":
    """The study of a config file with the values of the command line in place of its own.

    Raises:
        ConfigError: if the config or a value is not usable.
    """
    from cascadebai_cli.experiment.config import load_study, with_plugins
    from cascadebai_cli.experiment.fields import MOST_TRIALS

    if trials is not None and trials > MOST_TRIALS:
        raise ConfigError(f"--trials {trials} is too large; give {MOST_TRIALS} or less")
    given = {"trials": trials, "seed": seed}
    study = load_study(config).model_copy(update={key: value for key, value in given.items() if value is not None})
    return with_plugins(study, plugins or ())
