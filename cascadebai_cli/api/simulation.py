"""The Python interface to single cells: trials and bounds."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.api.arguments import Onlooker, backend_of, checked_flag, in_words_of_python, single_study
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import CASCADING, Instance
from cascadebai_cli.workflows import run as work
from cascadebai_cli.workflows.tables import promised

# --- `simulate`: trials of one learner on one instance, as a table --------------------------------------------------


@in_words_of_python()
def simulate(
    instance: Instance,
    learner: str | type = "cascadebai",
    trials: int = 20,
    seed: int = 1,
    delta: float = 0.1,
    *,
    budget: int | None = None,
    max_steps: int | None = None,
    feedback: str = CASCADING.name,
    engine: str = "auto",
    rewards: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run trials of a learner on an instance.

    Args:
        instance: the problem.
        learner: `cascadebai`, `batrac`, `kl-lucb++`, `track-and-stop`, `uniform` or `sar`; a name that `cb.learner`
            gave, a class, or `module:Class`.
        trials: number of trials; a larger number begins with the same trials.
        seed: root seed; the same call gives the same rows, whatever the number of jobs.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        budget: steps after which the learner has to name its items; without it, it runs until it stops.
        max_steps: cap on the steps of a trial.
        feedback: what a step reveals, as for the key `feedback` of a config.
        engine: engine that runs the trials; `auto` is the fastest one that is exact.
        rewards: `{"rows": 100000, "reuse": True}` for rewards from a table; independent ones by default.
        n_jobs: number of processes; -1 is one per core, 1 stays in this process.
        progress: whether longer runs show a line on stderr; if `None`, on a terminal and in a notebook.
        options: options of the learner, such as `sigma`, `order` or `confidence` of `cascadebai`.

    Returns:
        one row for each trial, with the columns of `trials.csv`; a config with the same content gives the same rows,
        bit for bit.

    Raises:
        ValueError: if a value is not usable; nothing has run.
        CascadeError: if a trial raises.

    Example:
        >>> import cascadebai_cli as cb
        >>> cb.simulate(cb.Instance([0.8, 0.7, 0.1, 0.1], K=2), trials=3)["steps"].mean() > 0
        True
    """
    study = single_study(
        "simulate",
        instance,
        learner,
        options,
        seed=seed,
        trials=trials,
        delta=delta,
        budget=budget,
        max_steps=max_steps,
        feedback=feedback,
        engine=engine,
        rewards=rewards,
    )
    return work.simulate(study, backend=backend_of(n_jobs), watch=Onlooker(progress))


# --- `bounds`: the bounds of an instance ----------------------------------------------------------------------------


@in_words_of_python()
def bounds(
    instance: Instance,
    delta: float = 0.1,
    *,
    learner: str | type = "cascadebai",
    feedback: str = CASCADING.name,
    budget: int | None = None,
    printed: bool = False,
    sharp: bool = False,
    factor: bool = False,
    **options: Any,
) -> "pd.Series[Any]":
    """Return bounds on the number of steps or, with a budget, on the probability of an error.

    Args:
        instance: the problem.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        learner: as for `simulate`; only Algorithm 1 on cascading feedback has an upper bound on the steps.
        feedback: what a step reveals, as for the key `feedback` of a config.
        budget: steps after which the learner has to name its items; `uniform` and `sar` have a bound then.
        printed: use the constant 216 of `T-bar` as printed in the paper, instead of `256 sigma^2`.
        sharp: add the sharp lower bound, which takes seconds for hundreds of different weights.
        factor: add what mean steps over it come to as `delta` becomes small; takes seconds for track-and-stop.
        options: options of the learner, such as `sigma`.

    Returns:
        `lower` and `upper`, the theorem that `upper` comes from (`source`) and its largest term (`dominating`), the
        bounds of each theorem and, with `sharp`, `T_star`, `gap` and `sharp`; with `factor`, the column of this name.
        With a budget, it is the hardness `H` and `H2`, the `bound`, and the budget that is `enough` for `delta`. Values
        that are not known are missing.

    Raises:
        ValueError: if a value is not usable.
    """
    flags = {"printed": printed, "sharp": sharp, "factor": factor}
    flags = {name: checked_flag(name, value) for name, value in flags.items()}
    study = single_study("bounds", instance, learner, options, delta=delta, feedback=feedback, budget=budget)
    if len(study.cells) > 1:
        raise ConfigError("bounds() takes one learner, one delta and one budget; got several")
    row = promised(study.cells, **flags).iloc[0]
    return row.rename("bounds")
